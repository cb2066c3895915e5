"""Fetches members of a remote archive ahead of whoever reads them: joined, many at a time.

What a range costs is mostly the way to the server and back, so many must be under way; on a slow
link many only delay the one that is read first. So the window grows as long as more comes through.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

FIRST_WINDOW = 8
"""Ranges asked for at once at first."""

MOST_IN_FLIGHT = 32
"""Ranges asked for at once at most: as many connections as a hub may be asked to bear."""

BYTES_IN_FLIGHT = 16 * 1024 * 1024
"""Bytes asked for at once, unless a single range is longer; memory is bounded by it."""

GROUP_BYTES = 2 * 1024 * 1024
"""Neighbours are joined to ranges of at most this length."""

REWARD = 1.15
"""How many times as much must come through for the window to grow further."""

WASTE = 1 / 32
"""The share of a joined range that may be bytes nobody asked for."""


@dataclass(slots=True)
class Group:
    """Members that are fetched as one range.

    Attributes:
        first: Position of the first byte.
        end: Position after the last byte.
        indexes: The members in it.
    """

    first: int
    end: int
    indexes: list[int]
    _taken: bool = False
    _done: threading.Event = field(default_factory=threading.Event)
    _error: BaseException | None = None


def joined(wanted: Sequence[int], span: Callable[[int], tuple[int, int] | None]) -> list[Group]:
    """Members as ranges: neighbours joined, in the order in which the first of each is wanted."""
    order = {index: number for number, index in enumerate(wanted)}
    places = sorted(
        (place[0], place[1], index) for index in wanted if (place := span(index)) is not None
    )
    groups: list[Group] = []
    waste = 0
    for first, end, index in places:
        last = groups[-1] if groups else None
        if last is not None:
            gap = max(0, first - last.end)
            length = max(end, last.end) - last.first
            if length <= GROUP_BYTES and waste + gap <= length * WASTE:
                waste += gap
                last.end = max(end, last.end)
                last.indexes.append(index)
                continue
        groups.append(Group(first, end, [index]))
        waste = 0
    groups.sort(key=lambda group: min(order[index] for index in group.indexes))
    return groups


class Window:
    """How many ranges to ask for at once: twice as many as long as that brings more through.

    Attributes:
        size: How many.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.size = FIRST_WINDOW
        self._clock = clock
        self._best = 0.0
        self._begin()

    def came(self, length: int) -> None:
        """Count a range that arrived; a window's worth of them says what the size brings."""
        self._ranges += 1
        self._bytes += length
        if self._ranges < 2 * self.size:
            return
        rate = self._bytes / max(1e-6, self._clock() - self._since)
        if rate > self._best * REWARD:
            self._best = rate
            self.size = min(2 * self.size, MOST_IN_FLIGHT)
        self._begin()

    def _begin(self) -> None:
        self._since, self._ranges, self._bytes = self._clock(), 0, 0


class ReadAhead:
    """Fetches groups in their order, some at a time, ahead of whoever reads them."""

    def __init__(
        self,
        groups: Sequence[Group],
        fetch: Callable[[Group], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Begin at once."""
        self.groups = groups
        self._fetch = fetch
        self._of = {index: group for group in groups for index in group.indexes}
        self._at = 0
        self._window = Window(clock)
        self._changed = threading.Condition()
        self._closed = False
        self._threads = 0
        self._in_flight = 0
        with self._changed:
            self._add_threads()

    def wait(self, index: int) -> bool:
        """Return when the member's group is there; False for a member that was not expected.

        Raises:
            HubError: It could not be fetched.
        """
        group = self._of.get(index)
        if group is None:
            return False
        with self._changed:
            mine = not group._taken
            group._taken = True
        if mine:
            self._settle(group)
        group._done.wait()
        if group._error is not None:
            raise group._error
        return True

    def close(self) -> None:
        """Begin no further group."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _add_threads(self) -> None:
        """Start as many threads as the window has room for."""
        while self._threads < min(self._window.size, len(self.groups)):
            number = self._threads
            try:
                threading.Thread(target=self._work, name=f"ahead-{number}", daemon=True).start()
            except RuntimeError:  # the system gives no more: whoever reads fetches the rest
                return
            self._threads += 1

    def _settle(self, group: Group) -> None:
        try:
            self._fetch(group)
        except BaseException as error:
            group._error = error
        finally:
            group._done.set()

    def _work(self) -> None:
        """Fetch one group after the other, until there is none or one fails.

        Whoever needs a failed one is told; the others are fetched when they are asked for.
        """
        while (group := self._next()) is not None:
            length = group.end - group.first
            self._settle(group)
            with self._changed:
                self._in_flight -= length
                self._changed.notify_all()
                if group._error is not None:
                    return
                self._window.came(length)
                self._add_threads()

    def _next(self) -> Group | None:
        """The next group that nobody fetches yet, when there is room for it."""
        with self._changed:
            while not self._closed:
                while self._at < len(self.groups) and self.groups[self._at]._taken:
                    self._at += 1
                if self._at == len(self.groups):
                    return None
                group = self.groups[self._at]
                length = group.end - group.first
                if self._in_flight == 0 or self._in_flight + length <= BYTES_IN_FLIGHT:
                    group._taken = True
                    self._in_flight += length
                    return group
                self._changed.wait()
            return None
