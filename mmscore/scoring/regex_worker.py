"""Looks for a user's pattern in a reply, in a process that can be killed.

Python's `re` can take for ever on a pattern such as `(a+)+$`, and while it does, no other thread
runs and no signal is heard. So matching happens in a helper: this file run as a script, fed one
reply at a time through its pipes. The helper bounds its own CPU time, so it dies in time even if
whoever started it is gone. Only the standard library is imported here, which keeps its start short.
"""

from __future__ import annotations

import re
import signal
from typing import IO

CPU_SECONDS = 1.0
"""CPU time one reply may take."""

FOUND, NOTHING, EMPTY, MISSING = b"f", b"n", b"e", b"m"
"""A match; none at all; one of which every group is empty; fewer matches than asked for."""


def select(pattern: re.Pattern[str], number: int, text: str) -> tuple[bytes, str]:
    """The match of that number in `text`, as EvalScope 1.14.1's `regex` filter takes it.

    Of a pattern with several groups, the first group that holds anything counts.

    Returns:
        `FOUND` and the match, stripped; or what there is instead, with `MISSING` how many matches.
    """
    matches = pattern.findall(text)
    if not matches:
        return NOTHING, ""
    try:
        match = matches[number]
    except IndexError:
        return MISSING, str(len(matches))
    if isinstance(match, tuple):
        match = next(filter(None, match), None)
    return (EMPTY, "") if match is None else (FOUND, match.strip())


def send(pipe: IO[bytes], text: str) -> None:
    """Write one text with its length before it."""
    data = text.encode("utf-8", "surrogatepass")
    pipe.write(len(data).to_bytes(8, "big") + data)
    pipe.flush()


def receive(pipe: IO[bytes]) -> str | None:
    """Read one text; None where the other side is gone."""
    head = pipe.read(8)
    if len(head) < 8:
        return None
    size = int.from_bytes(head, "big")
    data = pipe.read(size)
    return data.decode("utf-8", "surrogatepass") if len(data) == size else None


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer replies until there are no more: a pattern and a number first, then texts."""
    # A Ctrl-C is for the run, which still wants its last replies read.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    bounded = hasattr(signal, "setitimer")  # not on Windows, where the run's side keeps the time
    pattern = re.compile(receive(requests) or "")
    number = int(receive(requests) or "0")
    while (text := receive(requests)) is not None:
        if bounded:
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        kind, match = select(pattern, number, text)
        if bounded:
            signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(kind)
        send(answers, match)


if __name__ == "__main__":
    with open(0, "rb") as stdin, open(1, "wb") as stdout:
        serve(stdin, stdout)
