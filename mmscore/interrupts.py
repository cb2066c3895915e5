"""Ctrl-C and SIGTERM counted, not raised, while a run ends in order.

A `KeyboardInterrupt` comes at any instruction, also in the midst of dealing with the one before;
no code that must finish its work is safe from the third. So from the first request to the written
report a signal is only counted, and the run looks at the count.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Interrupts:
    """How often the user asked to stop.

    Attributes:
        count: Signals since counting began; stays 0 outside the main thread, which gets none.
    """

    count: int = 0


@contextlib.contextmanager
def counted() -> Iterator[Interrupts]:
    """Count the signals that would raise `KeyboardInterrupt`; others keep their handlers."""
    found = Interrupts()
    before = {}

    def count(number: int, frame: object) -> None:
        found.count += 1

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            # Only what Python code answers: a signal that is ignored or kills stays as it is.
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, count)
    except ValueError:  # not the main thread
        pass
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
