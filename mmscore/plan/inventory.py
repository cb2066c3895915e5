"""What a user's own files hold, in figures: rows, columns, options, places of media, repetitions.

A check tells it, so that a column misspelt or an option lost shows before any money is spent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmscore.benchmarks.base import Benchmark
from mmscore.dataset.media.paths import FileSource
from mmscore.dataset.media.sources import BytesSource, TextSource
from mmscore.dataset.rows import Cell
from mmscore.error_text import shown
from mmscore.model.request import media_of
from mmscore.types import Media, Sample

SHOWN_REPETITIONS = 5


@dataclass(slots=True)
class FileFacts:
    """What one file of rows holds.

    Attributes:
        file: Its path.
        rows: How many.
        understood: Column -> rows in which it is filled, of those the benchmark reads.
        ignored: The same of all others.
    """

    file: str
    rows: int = 0
    understood: dict[str, int] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return it as lines of a check."""
        lines = [f"{self.file}: {self.rows} rows"]
        for word, columns in (("understood", self.understood), ("ignored", self.ignored)):
            if columns:
                listed = (f"{name}{_share(filled, self.rows)}" for name, filled in columns.items())
                lines.append(f"{word}: {', '.join(listed)}")
        return "\n            ".join(lines)


def _share(filled: int, rows: int) -> str:
    return "" if filled == rows else f" (filled in {filled})"


class RowCounter:
    """Counts the rows of a user's files and their filled columns as they pass."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._reads = benchmark.understood
        self._facts: dict[Path, FileFacts] = {}

    def take(self, path: Path, row: Mapping[str, Any]) -> None:
        """Take one row of a file in."""
        reads = self._reads
        if reads is None:
            return
        facts = self._facts.setdefault(path, FileFacts(str(path)))
        facts.rows += 1
        for name, value in row.items():
            columns = facts.understood if reads(name) else facts.ignored
            columns[name] = columns.get(name, 0) + _is_filled(value)

    @property
    def files(self) -> list[FileFacts]:
        """The facts of each file; none where the data are published ones."""
        return [facts for _, facts in sorted(self._facts.items())]


def _is_filled(value: object) -> bool:
    return isinstance(value, Cell) or (value is not None and value not in ("", [], {}))


def slips(facts: FileFacts, benchmark: Benchmark) -> Iterator[str]:
    """Columns that are ignored for their spelling only."""
    reads = benchmark.understood
    for name in facts.ignored:
        for meant in (name.strip().lower(), name.strip().upper(), name.strip()):
            if reads is not None and reads(meant) and meant not in facts.understood:
                yield f"column {shown(name)} of {facts.file} is ignored: did you mean `{meant}`?"
                break


@dataclass(slots=True)
class Inventory:
    """What the samples hold.

    Attributes:
        options: Number of options -> questions with so many.
        places: Where media are -> how many, each counted where it is shown.
        alike: Ids of samples with two options alike.
        single: Ids of samples with one option.
        repeated: Ids of samples that ask exactly the same, two or more each.
        same_ids: Values of the column `id` that occur more than once.
    """

    options: Counter[int] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    alike: list[str] = field(default_factory=list)
    single: list[str] = field(default_factory=list)
    repeated: list[list[str]] = field(default_factory=list)
    same_ids: list[str] = field(default_factory=list)

    def notes(self) -> Iterator[str]:
        """What is odd and may be meant, a sentence for each kind."""
        if self.alike:
            yield f"options are alike in {of_samples(self.alike)}"
        if self.single:
            yield f"there is one option only in {of_samples(self.single)}"
        if self.repeated:
            first = "; ".join(", ".join(ids[:4]) for ids in self.repeated[:SHOWN_REPETITIONS])
            count = sum(len(ids) - 1 for ids in self.repeated)
            yield f"{count} samples ask word for word what another asks, with its media: {first}"
        if self.same_ids:
            listed = ", ".join(shown(value) for value in self.same_ids[:SHOWN_REPETITIONS])
            yield f"{len(self.same_ids)} values of column `id` occur more than once: {listed}"


def inventory(samples: Iterable[Sample]) -> Inventory:
    """What samples hold; no medium is read."""
    found = Inventory()
    asked: dict[int, list[str]] = {}
    ids = Counter[str]()
    for sample in samples:
        if sample.problem is not None:
            continue
        if sample.choices:
            found.options[len(sample.choices)] += 1
            if len(set(sample.choices)) < len(sample.choices):
                found.alike.append(sample.id)
            if len(sample.choices) == 1:
                found.single.append(sample.id)
        if "id" in sample.metadata:
            ids[str(sample.metadata["id"])] += 1
        for medium in media_of(sample.messages):
            found.places[where_kept(medium)] += 1
        asked.setdefault(hash(repr((sample.subset, sample.messages))), []).append(sample.id)
    found.repeated = [same for same in asked.values() if len(same) > 1]
    found.same_ids = list(ids)  # a sample keeps the id of its record where another has it too
    return found


def where_kept(medium: Media) -> str:
    """Where a medium is, in a word or two; of a path, the folder it was found from."""
    source = medium.source
    if source is None:
        return "at URLs"
    if isinstance(source, BytesSource | TextSource):
        return "in the rows"
    if isinstance(source, FileSource):
        root = source.root()
        return "missing" if root is None else f"in files from {root}"
    return "in the data set"


def of_samples(ids: Sequence[str]) -> str:
    """Samples by their ids, the first of many."""
    many = "" if len(ids) == 1 else "s"
    return f"sample{many} {', '.join(ids[:3])}{f' and {len(ids) - 3} more' if len(ids) > 3 else ''}"


__all__ = [
    "FileFacts",
    "Inventory",
    "RowCounter",
    "inventory",
    "of_samples",
    "slips",
]
