"""When a request is sent again, and after how long: the one rule for models, judges and hubs.

Time and chance are passed in, so that a test sees every wait without waiting. A limit that holds
for all requests to a place at once is learnt in `rate_limit`; what one request does is here.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

FIRST_WAIT = 0.5
"""Seconds of the first wait that nobody asked for; each next one is twice as long."""

LONGEST_WAIT = 30.0
"""The longest of them."""

LONGEST_ASKED = 120.0
"""A place that asks for more patience than this is reported, not waited for."""

LONGEST_ADDED = 4.0
"""The most that is added to the time that was asked for, where waiting so long did not help."""

LIMITED_TIMES = 4
"""A 429 says that the request was fine: it may be tried this many times as often."""

SINGLED_OUT_TIMES = 2
"""Unless others were answered in between: then it is this request that is not taken, for being too
large say, and it may be tried this many times as often."""

UNREACHED_RETRIES = 2
"""New attempts at a place that has never answered: a wrong address should be told soon."""

AT_ONCE = 0.05
"""Seconds before something goes on that came further than before."""

_PASSING = frozenset({408, 409, 425, 429})
_FINAL = frozenset({501, 505, 511})


@dataclass(frozen=True, slots=True)
class Clock:
    """Time and chance.

    Attributes:
        now: Seconds from any beginning, never going back.
        today: Seconds since 1970, for dates.
        draw: A number between two others.
        wait: Waits so many seconds for an event; returns whether it is set.
    """

    now: Callable[[], float] = time.monotonic
    today: Callable[[], float] = time.time
    draw: Callable[[float, float], float] = random.uniform
    wait: Callable[[threading.Event, float], bool] = threading.Event.wait


SYSTEM = Clock()
"""The time of this machine."""


def may_pass(status: int) -> bool:
    """Whether an answer with this HTTP status may be another one later."""
    return status in _PASSING or (status >= 500 and status not in _FINAL)


def asks_again(headers: Mapping[str, str]) -> bool | None:
    """What the place itself says of a new attempt (`x-should-retry`); None where it says nothing.

    The clients of OpenAI and Anthropic obey it before any status.
    """
    return {"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower())


def asked_wait(headers: Mapping[str, str], clock: Clock = SYSTEM) -> float | None:
    """Seconds that an answer asks to wait; None where it names none, or none that there are.

    `retry-after-ms` is the finer word of some services for what `retry-after` says in seconds or
    as a date.
    """
    fine = _number(headers.get("retry-after-ms"))
    if fine is not None:
        return fine / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - clock.today())
    except (ValueError, OverflowError, OSError):
        return None


def _number(text: str | None) -> float | None:
    """A number as a header may hold it: no sign, no NaN, no digits of other scripts."""
    found = re.fullmatch(r"[0-9]{1,9}(?:\.[0-9]{0,9})?", (text or "").strip(" \t"))
    return float(found[0]) if found else None


def backoff(failures: float, clock: Clock = SYSTEM) -> float:
    """Seconds to wait after so many failures: twice as long each time, drawn apart."""
    longest: float = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(failures - 1, 16))
    return clock.draw(0.5, 1.0) * longest


@dataclass(frozen=True, slots=True)
class Fault:
    """What the rule needs to know of an attempt that failed.

    Attributes:
        retriable: Whether a new attempt may help.
        asked: Seconds that the place asked to wait.
        limited: Whether it said that there are too many requests.
        unreached: Whether the place has not answered anything yet, and did not now.
    """

    retriable: bool
    asked: float | None = None
    limited: bool = False
    unreached: bool = False


@dataclass(frozen=True, slots=True)
class Others:
    """How other requests to the same place fare.

    Attributes:
        passed_since: Whether one was answered since the last attempt of this one.
        ever_passed: Whether one was ever answered.
        rounds: How often in a row all of them were held back in vain.
    """

    passed_since: bool = False
    ever_passed: bool = True
    rounds: int = 0


class Attempts:
    """The attempts at one thing.

    Attributes:
        made: How many were begun.
    """

    def __init__(self, retries: int, patience: float = float("inf"), clock: Clock = SYSTEM) -> None:
        """Begin, now.

        Args:
            retries: New attempts after a failed one.
            patience: Seconds after which none is begun.
            clock: What tells the time.
        """
        self.made = 0
        self._retries = retries
        self._patience = patience
        self._clock = clock
        self._began = clock.now()
        self._failures = 0.0
        self._singled_out = 0

    @property
    def seconds(self) -> float:
        """Since the first one began."""
        return self._clock.now() - self._began

    def excuse(self, seconds: float) -> None:
        """Let a wait that was not this request's own not count."""
        self._began += seconds

    def next_wait(
        self, fault: Fault, others: Others = Others(), *, weight: float = 1.0
    ) -> float | None:
        """Seconds to wait before a new attempt; None where none is made.

        Args:
            fault: How the last one failed.
            others: How other requests to the place fare.
            weight: What it counts: less than 1 for one that came further than those before.
        """
        self._failures += weight
        retries = self._retries
        if fault.limited:
            self._singled_out += others.passed_since
            patient = LIMITED_TIMES * retries
            # Rounds that nobody passes count for all: fewer where nobody ever has, as with a
            # quota of nothing.
            if others.rounds > (patient if others.ever_passed else retries):
                return None
            if self._singled_out > SINGLED_OUT_TIMES * retries:
                return None
            retries = patient
        elif fault.unreached:
            retries = min(retries, UNREACHED_RETRIES)
        if not fault.retriable or self._failures > retries:
            return None
        wait = self._wait(fault) if weight >= 1 or fault.asked is not None else AT_ONCE
        return None if wait is None or self.seconds + wait > self._patience else wait

    def _wait(self, fault: Fault) -> float | None:
        own = backoff(self._failures, self._clock)
        if fault.limited:
            own = min(own, LONGEST_ADDED)  # what holds all of them back does so for longer
        if fault.asked is None:
            return own
        if fault.asked > LONGEST_ASKED:
            return None
        # Its word holds, but a place that always says "at once" must not be hammered.
        return fault.asked if self._failures <= 1 else max(fault.asked, own)

    def forget(self) -> None:
        """Count failures anew, because it came notably further."""
        self._failures = 0.0
