"""Ctrl-C and SIGTERM: what they do to a process, and how a run that must end in order counts them.

A `KeyboardInterrupt` comes at any instruction, also in the midst of dealing with the one before;
no code that must finish its work is safe from the third. So from the first request to the written
report a signal is only counted, and the run looks at the count.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator

STOPPING = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """How often the user asked to stop.

    Attributes:
        count: Signals since counting began; stays 0 outside the main thread, which gets none.
    """

    __slots__ = ("count",)

    def __init__(self) -> None:
        """Begin at 0."""
        self.count = 0


@contextlib.contextmanager
def counted() -> Iterator[Interrupts]:
    """Count the signals that would raise `KeyboardInterrupt`; others keep their handlers."""
    found = Interrupts()
    before = {}

    def count(number: int, frame: object) -> None:
        found.count += 1

    try:
        for number in STOPPING:
            # Only what Python code answers: a signal that is ignored or kills stays as it is.
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, count)
    except ValueError:  # not the main thread
        pass
    try:
        yield found
    finally:
        for number, handler in before.items():
            ending = found.count > 0 and handler is _interrupt
            signal.signal(number, signal.SIG_IGN if ending else handler)


SWITCH_INTERVAL = 0.05
"""Seconds after which a thread that waits for the interpreter asks for it.

Each of many waiting threads wakes that often to no purpose, and all of ours give the interpreter
away within a millisecond anyway: with 1,024 of them the usual 5 ms cost three times the CPU.
"""


def own_process() -> None:
    """Set up a process that is ours alone: its signals, and how its threads take turns.

    SIGTERM does what Ctrl-C does, as containers stop their processes with it. The process ends
    after the first one: when a run has counted one, later ones are ignored, so that nothing keeps
    the process from its last words and its exit code.
    """
    for number in STOPPING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    sys.setswitchinterval(SWITCH_INTERVAL)


def ignore() -> None:
    """Let the process end with its exit code: nothing is left that could be interrupted."""
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)


def _interrupt(number: int, frame: object) -> None:
    raise KeyboardInterrupt
