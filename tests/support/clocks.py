"""Clocks for tests: one that hurries, one that stands still until somebody waits."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from mmscore.web.retry import Clock


def hurried(longest: float = 0.01) -> Clock:
    """The time of this machine, on which no wait takes longer than that."""
    return Clock(wait=lambda event, seconds: event.wait(min(seconds, longest)))


@dataclass
class FakeClock:
    """A clock that goes on only while somebody waits, and remembers the waits.

    Attributes:
        time: What it shows; seconds since 1970 too.
        waits: All waits so far.
        drawn: The share of each range that is drawn: 0 its begin, 1 its end.
        on_wait: Called with the time after each wait.
    """

    time: float = 1_000_000_000.0
    waits: list[float] = field(default_factory=list)
    drawn: float = 1.0
    on_wait: Callable[[float], None] = lambda _: None

    def wait(self, event: threading.Event, seconds: float) -> bool:
        """Let so much time go by at once."""
        self.waits.append(seconds)
        if not event.is_set():
            self.time += seconds
        self.on_wait(self.time)
        return event.is_set()

    @property
    def clock(self) -> Clock:
        """The clock as it is passed in."""
        return Clock(
            now=lambda: self.time,
            today=lambda: self.time,
            draw=lambda low, high: low + (high - low) * self.drawn,
            wait=self.wait,
        )
