"""What one worker learns of an endpoint's limit holds for all: a gate before every request."""

from __future__ import annotations

import random
import threading
import time

FIRST_WAIT = 0.5
LONGEST_WAIT = 30.0
LONGEST_OWN_WAIT = 4.0
"""The most that is added to the time an endpoint asks for."""


def backoff(attempts: int) -> float:
    """Seconds to wait after so many attempts: twice as long each time, drawn apart."""
    longest: float = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempts - 1, 16))
    return random.uniform(0.5, 1.0) * longest


class Gate:
    """How many requests may be in flight, learnt from the endpoint's 429s by all workers at once.

    As TCP does: a limit that is met halves the number and closes the gate for the time the
    endpoint asks for; each success after that adds a little. Where the endpoint names no time, or
    its time does not help, the gate stays closed longer each time until a request passes.
    Without 429s it never holds anyone.

    Attributes:
        passed: Requests that were answered.
        closed_in_a_row: How often the gate was closed since one was.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._in_flight = 0
        self._most = float("inf")
        self._open_at = 0.0
        self.passed = 0
        self.closed_in_a_row = 0

    def enter(self, stopped: threading.Event) -> bool:
        """Wait until one more request may start; False where `stopped` ends the wait before."""
        with self._changed:
            while True:
                left = self._open_at - time.monotonic()
                if left <= 0 and self._in_flight < self._most:
                    self._in_flight += 1
                    return True
                if stopped.is_set():
                    return False
                self._changed.wait(min(left, 1.0) if left > 0 else 1.0)

    def leave(self, *, passed: bool) -> None:
        """Count a request as ended that met no limit.

        Args:
            passed: Whether it was answered; another failure says nothing of limits.
        """
        with self._changed:
            if passed:
                self.passed += 1
                self.closed_in_a_row = 0
                if self._most != float("inf"):
                    self._most += 1.0 / self._most
            self._in_flight -= 1
            self._changed.notify_all()

    def limited(self, asked: float | None) -> None:
        """Count a request as ended that the endpoint refused as too many.

        Args:
            asked: Seconds it asked to wait; None where it named none.
        """
        with self._changed:
            now = time.monotonic()
            # Those that were sent together meet the limit together: only the first counts.
            if now >= self._open_at:
                self._most = max(1.0, min(self._most, self._in_flight) / 2)
                self.closed_in_a_row += 1
                self._open_at = now + self._pause(asked)
            elif asked is not None:
                self._open_at = max(self._open_at, now + asked)
            self._in_flight -= 1
            self._changed.notify_all()

    def _pause(self, asked: float | None) -> float:
        """Seconds to stay closed: those asked for, and more where that did not help."""
        own = backoff(self.closed_in_a_row)
        if asked is None:
            return own
        return asked if self.closed_in_a_row == 1 else max(asked, min(own, LONGEST_OWN_WAIT))
