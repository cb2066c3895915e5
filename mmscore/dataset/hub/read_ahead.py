"""Fetches members of a remote archive ahead of whoever reads them: joined, a few at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

IN_FLIGHT = 6
"""Ranges asked for at once, ahead of whoever reads."""

GROUP_BYTES = 2 * 1024 * 1024
"""Neighbours are joined to ranges of at most this length; memory is bounded by it."""

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


class Ahead:
    """Fetches groups in their order, a few at a time, ahead of whoever reads them."""

    def __init__(self, groups: Sequence[Group], fetch: Callable[[Group], None]) -> None:
        """Begin at once."""
        self.groups = groups
        self._fetch = fetch
        self._of = {index: group for group in groups for index in group.indexes}
        self._rest = iter(groups)
        self._lock = threading.Lock()
        self._closed = threading.Event()
        for number in range(min(IN_FLIGHT, len(groups))):
            threading.Thread(target=self._work, name=f"ahead-{number}", daemon=True).start()

    def wait(self, index: int) -> bool:
        """Return when the member's group is there; False for a member that was not expected.

        Raises:
            HubError: It could not be fetched.
        """
        group = self._of.get(index)
        if group is None:
            return False
        self._settle(group)
        if group._error is not None:
            raise group._error
        return True

    def close(self) -> None:
        """Begin no further group."""
        self._closed.set()

    def _settle(self, group: Group) -> None:
        with self._lock:
            mine = not group._taken
            group._taken = True
        if not mine:
            group._done.wait()
            return
        try:
            self._fetch(group)
        except BaseException as error:
            group._error = error
        finally:
            group._done.set()

    def _work(self) -> None:
        while not self._closed.is_set():
            with self._lock:
                group = next(self._rest, None)
            if group is None:
                return
            if not group._taken:
                self._settle(group)
            if group._error is not None:
                return  # whoever needs it is told; the others are fetched when they are asked for
