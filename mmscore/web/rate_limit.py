"""How many requests may be under way to one place, and how fast they may follow one another.

What one worker learns of a limit holds for all: nobody else has to find out. Who may not start yet
waits in a queue, of which only the head is ever woken, by what lets it start.
"""

from __future__ import annotations

import threading
from collections import deque

from mmscore.web.retry import LONGEST_ADDED, SYSTEM, Clock, backoff

_SLICE = 1.0
"""Seconds after which who waits looks whether the run was stopped, if nobody says so."""


class RateLimiter:
    """Lets requests start; safe to use from any number of threads.

    As TCP does, a 429 halves the number of requests and holds all of them back for the time that
    the place asks for; each answer after that adds a little. Where the place names no time, or its
    time does not help, all wait longer each time until one is answered. Without 429s nobody waits.

    Attributes:
        passed: Requests that were answered.
        rounds: How often all were held back since one was.
        times: How often all were held back in all.
    """

    def __init__(self, clock: Clock = SYSTEM) -> None:
        """Begin without any limit."""
        self._clock = clock
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()
        self._in_flight = 0
        self._most = float("inf")
        self._open_at = float("-inf")
        self._held = 0.0
        self._not_ready = False
        self.passed = 0
        self.rounds = 0
        self.times = 0

    @property
    def seconds_left(self) -> float:
        """Seconds for which all are held back from now on."""
        return max(0.0, self._open_at - self._clock.now())

    @property
    def seconds_held(self) -> float:
        """Seconds for which all were held back so far, by 429s."""
        return max(0.0, self._held - self.seconds_left)

    def admit(self) -> float:
        """Let one more request start if it may; return the seconds to wait if not.

        0 says that it has started, infinity that another one must end first.
        """
        left = self._open_at - self._clock.now()
        if left > 0:
            return left
        if self._in_flight >= (1 if self._not_ready else self._most):
            return float("inf")
        self._in_flight += 1
        return 0.0

    def enter(self, stopped: threading.Event) -> bool:
        """Wait until one more request may start; False where `stopped` ends the wait before."""
        with self._lock:
            if not self._queue and self.admit() == 0:
                return True
            me = threading.Event()
            self._queue.append(me)
        while True:
            with self._lock:
                me.clear()
                wait = self.admit() if self._queue[0] is me else float("inf")
                if wait == 0 or stopped.is_set():
                    self._queue.remove(me)
                    self._wake_head()
                    return wait == 0
            self._clock.wait(me, min(wait, _SLICE))

    def leave(self, *, passed: bool) -> None:
        """Count a request as ended that met no limit.

        Args:
            passed: Whether it was answered; another failure says nothing of limits.
        """
        with self._lock:
            if passed:
                self.passed += 1
                self.rounds = 0
                self._not_ready = False
                if self._most != float("inf"):
                    self._most += 1.0 / self._most
            self._in_flight -= 1
            self._wake_head()

    def limited(self, asked: float | None) -> None:
        """Count a request as ended that was refused because there are too many.

        Args:
            asked: Seconds that the place asked to wait; None where it named none.
        """
        with self._lock:
            now = self._clock.now()
            # Those that were sent together meet the limit together: only the first counts.
            if now >= self._open_at:
                self._most = max(1.0, min(self._most, self._in_flight) / 2)
                self.rounds += 1
                self.times += 1
                self._hold(now, self._pause(asked))
            elif asked is not None:
                self._hold(now, asked)
            self._in_flight -= 1
            self._wake_head()

    def not_ready(self, seconds: float) -> None:
        """Count a request as ended that came too early: after a wait one at a time finds out."""
        with self._lock:
            self._not_ready = True
            self._open_at = max(self._open_at, self._clock.now() + seconds)
            self._in_flight -= 1
            self._wake_head()

    def wake(self) -> None:
        """Let all who wait look whether they were stopped."""
        with self._lock:
            for waiting in self._queue:
                waiting.set()

    def _hold(self, now: float, seconds: float) -> None:
        until = max(self._open_at, now + seconds)
        self._held += until - max(self._open_at, now)
        self._open_at = until

    def _pause(self, asked: float | None) -> float:
        """Seconds to hold all back: those asked for, and more where that did not help."""
        own = backoff(self.rounds, self._clock)
        if asked is None:
            return own
        return asked if self.rounds == 1 else max(asked, min(own, LONGEST_ADDED))

    def _wake_head(self) -> None:
        if self._queue:
            self._queue[0].set()
