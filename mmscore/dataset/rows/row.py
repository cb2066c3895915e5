"""What all readers share: the row, the cell left in its file, and what a caller wants."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mmscore.error_text import listed, shown
from mmscore.errors import DataError

LATE_BYTES = 4096
"""Cells up to this many bytes are always read at once; a handle would not be smaller."""

HEAD_BYTES = 256
"""How much of a text that is left in its file is kept, to tell what it holds."""

LINE_FORMATS = frozenset({".jsonl", ".csv", ".tsv"})
"""The formats whose rows are found by line."""


class Row(dict[str, object]):
    """A row: column name -> value, and where it stands.

    Attributes:
        path: The file.
        number: The line in a text file where the record begins, else the row, both from 1.
    """

    __slots__ = ("number", "path")

    path: Path
    number: int

    @classmethod
    def at(cls, values: Mapping[str, object], path: Path, number: int) -> Row:
        """A row of these values at that place."""
        row = cls(values)
        row.path = path
        row.number = number
        return row

    @property
    def place(self) -> str:
        """The file and the line or row, as errors name them."""
        unit = "line" if self.path.suffix.lower() in LINE_FORMATS else "row"
        return f"`{self.path}` {unit} {self.number}"

    def text(self, column: str) -> str:
        """The text in a column that the row has.

        Raises:
            DataError: It holds something else.
        """
        value = self[column]
        if not isinstance(value, str):
            raise DataError(f"{self.place} has {shown(value)} as `{column}`, expected a text")
        return value


@dataclass(frozen=True, slots=True)
class Cell:
    """A large cell, or a large value inside one, that was left in its file.

    Attributes:
        name: File, line or row, and column, as errors and reports name them; two cells of one
            name are one.
        load: Reads the content again; called by `read`.
        head: How a text begins; empty for what a Parquet file holds.
    """

    name: str
    load: Callable[[], object] = field(repr=False, compare=False)
    head: str = field(default="", repr=False, compare=False)

    def read(self) -> object:
        """The content, as the row would have held it: `str` from text files, `bytes` from Parquet.

        Nothing is kept: each call reads the file.

        Raises:
            DataError: The file is gone, was changed, or is damaged at that place.
        """
        return self.load()


@dataclass(frozen=True, slots=True)
class Want:
    """What a caller wants of a file.

    Attributes:
        columns: The columns to keep, None for all.
        late: The columns whose large cells stay in the file.
        skipped: Takes the error of each bad row instead of its being raised; None raises.
    """

    columns: frozenset[str] | None
    late: Container[str]
    skipped: list[DataError] | None

    def bad_row(self, error: DataError) -> None:
        """Records a bad row, or raises where bad rows are not to be skipped."""
        if self.skipped is None:
            raise error
        self.skipped.append(error)


def require_columns(names: Iterable[str], found: Iterable[str], place: str) -> None:
    """Stop on a column that is missing.

    Args:
        names: The needed columns.
        found: The columns there are; a row will do.
        place: The file or row, as the error names it.

    Raises:
        DataError: It is named, with the nearest of those found.
    """
    found = list(found)
    for name in names:
        if name not in found:
            raise missing_column(name, found, place)


def missing_column(name: str, found: Iterable[str], place: str) -> DataError:
    """The error that names a missing column, those there are, and of them the nearest."""
    found = list(found)
    folded = {other.strip().casefold(): other for other in found}
    near = difflib.get_close_matches(name.strip().casefold(), folded, n=1, cutoff=0.6)
    hint = f"did you mean {shown(folded[near[0]])}?" if near else None
    columns = listed(map(shown, found), 20, mark="") or "none"
    return DataError(f"{place} has no column `{name}`, found {columns}", hint=hint)


PART = re.compile(r"(?P<split>.+)-(?P<part>\d{5})-of-(?P<parts>\d{5})(?:-[0-9a-f]+)?")
"""The stem of a file that holds one part of a split, as the `datasets` library names it."""


def split_parts(files: Iterable[str], split: str, place: str) -> list[str]:
    """The files of a split in order: `test-00000-of-00002.parquet` ..., or `test.parquet` alone.

    Args:
        files: File names or paths with `/`, as a folder or a hub lists them, of one format.
        split: The split.
        place: The folder or repository, as the error names it.

    Returns:
        The names as they were given; empty where there is none.

    Raises:
        DataError: Parts are missing, which are named, or there are two sets of parts.
    """
    files = list(files)
    whole = [file for file in files if PurePosixPath(file).stem == split]
    parts: dict[tuple[int, int], str] = {}
    for file in files:
        match = PART.fullmatch(PurePosixPath(file).stem)
        if match is None or match["split"] != split:
            continue
        part = int(match["part"]), int(match["parts"])
        if part in parts:
            raise DataError(f"{place} holds a part twice, `{parts[part]}` and `{file}`")
        parts[part] = file
    totals = {total for _, total in parts}
    if len(whole) + len(totals) > 1:
        found = ", ".join(f"`{file}`" for file in [*whole, *parts.values()][:5])
        raise DataError(f"{place} holds split `{split}` more than once: {found}")
    for total in totals:
        missing = [part for part in range(total) if (part, total) not in parts]
        if missing:
            raise DataError(
                f"{place} holds {len(parts)} of {total} parts of split `{split}`, "
                f"part {missing[0]:05d} is missing"
            )
    return whole or [parts[part] for part in sorted(parts)]
