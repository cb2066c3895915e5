"""Which samples a run asks: by limit, by lot, by name, and its share of them.

A selection is one byte a sample in the order of the data, worked out from what the survey kept, so
that it costs no pass over the data and is the same however often it is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from mmscore.config.kinds import parse_shard
from mmscore.errors import ConfigError
from mmscore.plan.survey import Survey
from mmscore.types import Sample

NOT_ASKED, ASKED_ELSEWHERE, ASKED = 0, 1, 2
"""What becomes of a sample: nothing, another shard asks it, this run does."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which samples the user asks for.

    Attributes:
        limit: First units of each subset: a number, or a share of them below 1.
        sample: Units drawn from each subset instead: a number, or a share of them below 1.
        seed: What they are drawn by.
        ids: The ids asked for; None for all.
        shard: `K/N`: the Kth of N contiguous parts.
        repeats: How often each sample is asked.
    """

    limit: int | float | None = None
    sample: int | float | None = None
    seed: int = 0
    ids: frozenset[str] | None = None
    shard: str | None = None
    repeats: int = 1

    @property
    def most(self) -> int | None:
        """The units of a subset behind which nothing can count; None where all must be read."""
        return self.limit if isinstance(self.limit, int) and self.ids is None else None

    def enough(self, subsets: Sequence[str]) -> EnoughRead | None:
        """Whether the data need not be read further; None where all must be.

        Args:
            subsets: All subsets there can be; empty where only the data tell.
        """
        if self.most is None or not subsets:
            return None
        return EnoughRead(self.most, tuple(subsets))


@dataclass(frozen=True, slots=True)
class EnoughRead:
    """Says of a survey whether each subset has all that a limit lets it have.

    Attributes:
        limit: Units of each subset.
        subsets: The subsets that must have them.
    """

    limit: int
    subsets: tuple[str, ...]

    def __call__(self, found: Survey) -> bool:
        """Whether no further sample can count."""
        read = found.lengths
        return all(one in read and read[one].units >= self.limit for one in self.subsets)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the samples are asked.

    Attributes:
        marks: One of `NOT_ASKED`, `ASKED_ELSEWHERE`, `ASKED` for each sample.
        planned: Subset name -> how many requests this run will send for it.
        repeats: How often each sample is asked.
    """

    marks: bytes
    planned: Mapping[str, int]
    repeats: int = 1

    def items(self, samples: Iterable[Sample]) -> Iterator[tuple[int, Sample, int]]:
        """Yield `(index, sample, repeat)`; the index counts selected samples over all shards.

        Nothing is read behind the last sample that is asked.
        """
        index = -1
        last = self.marks.rfind(ASKED) + 1
        for mark, sample in zip(self.marks[:last], samples, strict=False):
            index += mark != NOT_ASKED
            if mark == ASKED:
                for repeat in range(self.repeats):
                    yield index, sample, repeat


def select(found: Survey, wanted: Wanted, subsets: Iterable[str] = ()) -> Selection:
    """The selection of what was found; a limit counts per subset, as the reference's does.

    Args:
        found: The survey, made with the same seed and ids.
        wanted: What the user asks for.
        subsets: The subsets in the order in which they are to be told.

    Raises:
        ConfigError: Both a limit and a draw are given.
    """
    if wanted.limit is not None and wanted.sample is not None:
        raise ConfigError("`limit` and `sample` are both given", hint="leave one of them out")
    marks = bytearray(found.named or b"\1" * len(found.order))
    if wanted.sample is not None:
        _keep_units(found, marks, _drawn(found, marks, wanted.sample))
    elif wanted.limit is not None:
        _keep_first(found, marks, wanted.limit)
    _share_out(marks, parse_shard(wanted.shard))
    names = [*found.lengths]
    planned = dict.fromkeys([*(name for name in subsets if name in found.lengths), *names], 0)
    for mark, place in zip(marks, found.order, strict=True):
        if mark == ASKED:
            planned[names[place]] += wanted.repeats
    return Selection(bytes(marks), planned, wanted.repeats)


def _keep_first(found: Survey, marks: bytearray, limit: int | float) -> None:
    """Unmark all but the first units of each subset."""
    units = [0] * len(found.lengths)
    for begins, place, mark in zip(found.begins, found.order, marks, strict=True):
        units[place] += bool(begins and mark)
    most = [int(count * limit) if isinstance(limit, float) else limit for count in units]
    taken = [0] * len(most)
    kept = False
    for at, (begins, place) in enumerate(zip(found.begins, found.order, strict=True)):
        if begins and marks[at]:
            kept = taken[place] < most[place]
            taken[place] += kept
        if begins and not marks[at]:
            kept = False
        marks[at] = marks[at] if kept else NOT_ASKED


def _drawn(found: Survey, marks: Sequence[int], count: int | float) -> set[int]:
    """Where the drawn units begin: of each subset those with the lowest numbers."""
    places: list[list[int]] = [[] for _ in found.lengths]
    for at, (begins, place) in enumerate(zip(found.begins, found.order, strict=True)):
        if begins and marks[at]:
            places[place].append(at)
    by = found.draws.__getitem__
    drawn: set[int] = set()
    for one in places:
        most = int(len(one) * count) if isinstance(count, float) else count
        drawn.update(nsmallest(most, one, key=by))
    return drawn


def _keep_units(found: Survey, marks: bytearray, kept: set[int]) -> None:
    """Unmark all samples but those of the units that begin at the given places."""
    keeps = False
    for at, begins in enumerate(found.begins):
        if begins:
            keeps = at in kept
        if not keeps:
            marks[at] = NOT_ASKED


def _share_out(marks: bytearray, shard: tuple[int, int] | None) -> None:
    """Mark what this run asks and what other shards do: contiguous parts, alike within one.

    Neighbours share images more often than not, so a shard reads few that another reads too.
    """
    part, parts = shard or (1, 1)
    total = sum(map(bool, marks))
    first, behind = total * (part - 1) // parts, total * part // parts
    index = 0
    for at, mark in enumerate(marks):
        if mark:
            marks[at] = ASKED if first <= index < behind else ASKED_ELSEWHERE
            index += 1
