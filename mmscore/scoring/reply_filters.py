r"""What happens to a reply before it is parsed: filters by name, applied in the order given.

Names, parameters and results are those of EvalScope 1.14.1. A task says them as a mapping, in
order, such as `{"remove_until": "</think>", "regex": {"regex_pattern": "(\\d+)"}}`; a list of such
mappings lets one filter come twice. An argument is a mapping of parameters, a list of them in
order, or the first one alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mmscore.error_text import nearest_hint, shown, what
from mmscore.errors import ConfigError
from mmscore.scoring import regex_worker

if TYPE_CHECKING:
    import subprocess

Step = Callable[[str], str]

DEFAULT_PATTERN = r"#### (\-?[0-9\.\,]+)"
FALLBACK = "[invalid]"

_LONGEST_WAIT = 30.0
"""Seconds for a match where CPU time cannot be bounded (Windows)."""


@dataclass(frozen=True, slots=True)
class Filter:
    """One kind of filter.

    Attributes:
        make: Takes the parameters by name, returns the step; raises ConfigError for bad ones.
        parameters: Their names, in the order in which a list gives them.
    """

    make: Callable[..., Step]
    parameters: tuple[str, ...] = ()


def build(given: object) -> Step:
    """The one function that applies all filters that a task gives, in order.

    Args:
        given: A mapping from filter names to arguments, a list of such mappings, or None.

    Raises:
        ConfigError: A name, a parameter or a pattern is wrong. The function itself raises it too:
            for a reply without the match asked for, or one on which a pattern takes too long.
    """
    steps = [_step(name, argument) for name, argument in listed(given)]

    def apply(reply: str) -> str:
        for step in steps:
            reply = step(reply)
        return reply

    return apply


def scorer_id(scorer: str, given: object) -> str:
    """The name of a scoring rule, with a mark of the filters that a reply went through before."""
    if not given:
        return scorer
    text = json.dumps(listed(given), ensure_ascii=False)
    return f"{scorer}+filters:{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def listed(given: object) -> list[tuple[str, Any]]:
    """Filter names with their arguments, in order.

    Raises:
        ConfigError: `given` has another form, or names no filter there is.
    """
    if given is None:
        return []
    parts = [given] if isinstance(given, Mapping) else given
    if not isinstance(parts, Sequence) or not all(isinstance(part, Mapping) for part in parts):
        raise ConfigError(
            f"`filters` is {what(given)}, expected a mapping from filter names to arguments",
            hint='such as {"regex": {"regex_pattern": "(\\\\d+)", "group_select": -1}}',
        )
    pairs = [(str(name), argument) for part in parts for name, argument in part.items()]
    for name, _ in pairs:
        if name not in FILTERS:
            raise ConfigError(f"unknown filter `{name}`", hint=nearest_hint(name, FILTERS))
    return pairs


def _step(name: str, argument: object) -> Step:
    filter_ = FILTERS[name]
    known = filter_.parameters
    if isinstance(argument, Mapping):
        for key in argument:
            if key not in known:
                raise ConfigError(
                    f"filter `{name}` has no parameter `{key}`",
                    hint=nearest_hint(str(key), known) if known else None,
                )
        values = {str(key): value for key, value in argument.items()}
    else:
        ordered = list(argument) if isinstance(argument, list | tuple) else [argument]
        if not known and ordered in ([None], [True], [""]):
            ordered = []  # `remove_whitespace` alone, or `true` as in a task file
        if len(ordered) > len(known):
            raise ConfigError(
                f"filter `{name}` has {len(ordered)} arguments, expected at most {len(known)}"
            )
        values = dict(zip(known, ordered, strict=False))
    return filter_.make(**values)


# --- text filters ------------------------------------------------------------------------------


def _remove_whitespace() -> Step:
    """Leading white space goes; the end of the reply stays as it is, as in the reference."""
    return str.lstrip


def _remove_until(delimiter: object = None) -> Step:
    """Everything through the first delimiter goes; a reply without it stays."""
    text = _text("remove_until", "delimiter", delimiter)
    if not text:
        raise ConfigError("filter `remove_until` has an empty delimiter")
    return lambda reply: reply.split(text, 1)[-1]


def _text(name: str, parameter: str, value: object) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"filter `{name}`: `{parameter}` is {what(value)}, expected a string")
    return value


# --- patterns ----------------------------------------------------------------------------------


def _regex(
    regex_pattern: object = DEFAULT_PATTERN,
    group_select: object = 0,
    fallback: object = FALLBACK,
) -> Step:
    """One match of a pattern; `group_select` counts matches from 0, from the end below 0."""
    pattern = _text("regex", "regex_pattern", regex_pattern)
    instead = _text("regex", "fallback", fallback)
    if not isinstance(group_select, int) or isinstance(group_select, bool):
        raise ConfigError(
            f"filter `regex`: `group_select` is {group_select!r}, expected a whole number: which "
            "match to take, from 0, or -1 for the last"
        )
    _check(pattern)
    matcher = _Matcher(pattern, group_select)

    def apply(reply: str) -> str:
        kind, match = matcher.find(reply)
        if kind == regex_worker.MISSING:
            raise ConfigError(
                f"filter `regex` takes match {group_select} of `{pattern}`, but this reply has "
                f"{match}: {shown(reply)}",
                hint="`group_select` counts matches from 0; -1 is the last one",
            )
        # That a match of empty groups strips the fallback is the reference's way.
        kinds = {regex_worker.NOTHING: instead, regex_worker.EMPTY: instead.strip()}
        return kinds.get(kind, match)

    return apply


def _check(pattern: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        raise ConfigError(
            f"filter `regex`: the pattern {shown(pattern)} is wrong: {error}"
        ) from None


class _Matcher:
    """A helper process that looks for one pattern; safe to use from any number of threads."""

    def __init__(self, pattern: str, number: int) -> None:
        self._pattern = pattern
        self._number = number
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def find(self, text: str) -> tuple[bytes, str]:
        """What `regex_worker.select` finds.

        Raises:
            ConfigError: It takes too long, or no helper can be started.
        """
        with self._lock:
            process = self._process = self._process or self._start()
            assert process.stdin is not None and process.stdout is not None
            timer = threading.Timer(_LONGEST_WAIT, process.kill)
            if not hasattr(signal, "setitimer"):
                timer.start()
            try:
                regex_worker.send(process.stdin, text)
                kind, match = process.stdout.read(1), regex_worker.receive(process.stdout)
            except BrokenPipeError:
                match = None
            finally:
                timer.cancel()
            if match is not None:
                return kind, match
            self._process = None
            _end(process)
        raise ConfigError(
            f"filter `regex`: the pattern {shown(self._pattern)} did not come to an end on this "
            f"reply of {len(text)} characters: {shown(text)}",
            hint="a repeat inside a repeat, such as (a+)+, tries every way to split the text; "
            "write it without",
        )

    def _start(self) -> subprocess.Popen[bytes]:
        import subprocess

        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", regex_worker.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise ConfigError(
                f"filter `regex` needs a helper process, which cannot be started: {error}"
            ) from None
        assert process.stdin is not None
        regex_worker.send(process.stdin, self._pattern)
        regex_worker.send(process.stdin, str(self._number))
        weakref.finalize(self, _end, process)
        return process


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a helper and let go of its pipes; also runs when the interpreter ends."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(BrokenPipeError):  # what it had not read needs no answer
                pipe.close()


FILTERS: Mapping[str, Filter] = {
    "regex": Filter(_regex, ("regex_pattern", "group_select", "fallback")),
    "extract": Filter(_regex, ("regex_pattern", "group_select", "fallback")),
    "remove_until": Filter(_remove_until, ("delimiter",)),
    "remove_whitespace": Filter(_remove_whitespace),
}
"""Name -> filter. `extract` is another name of `regex`, as in the reference."""
