"""Rows of a data file, one at a time: JSON, JSON Lines, CSV, TSV, Parquet.

Every reader yields `Row`s, plain dicts that also know their place in the file, and holds one of
them at a time, so a file may be larger than memory. Two rules hold for all formats:

* Text files are UTF-8 whatever the locale says. A byte order mark is dropped, LF or CR LF ends a
  line (U+2028 inside a string splits nothing), blank lines are skipped.
* Large cells of the columns named in `late` are left in the file: the row holds a `Cell`, and
  whoever needs the content calls `Cell.read()` then.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from mmscore.errors import DataError

LATE_BYTES = 4096
"""Cells up to this many bytes are always read at once; a handle would not be smaller."""

LATE_DEPTH = 8
"""How deep inside a JSON value large strings are looked for; deeper ones are read at once."""

RECORD_BYTES = 1 << 29
"""The longest record of a text file, 512 MiB; a longer one is a damaged file."""


class Row(dict[str, object]):
    """A row: column name -> value, and where it stands.

    Attributes:
        path: The file.
        number: The line in a text file where the record begins, else the row, both from 1.
    """

    __slots__ = ("number", "path")

    def __init__(self, values: Mapping[str, object], path: Path, number: int) -> None:
        super().__init__(values)
        self.path = path
        self.number = number

    @property
    def place(self) -> str:
        """The file and the line or row, as errors name them."""
        unit = "line" if self.path.suffix.lower() in LINE_FORMATS else "row"
        return f"`{self.path}` {unit} {self.number}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A large cell that was left in its file.

    Attributes:
        name: File, line or row, and column, as errors and reports name them.
        load: Reads the content again; called by `read`.
    """

    name: str
    load: Callable[[], object]

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


def read(
    path: str | os.PathLike[str],
    *,
    columns: Iterable[str] | None = None,
    late: Container[str] = (),
    skipped: list[DataError] | None = None,
) -> Iterator[Row]:
    """The rows of a file, in order; the suffix decides the format (see `READERS`).

    Args:
        path: The file.
        columns: Keep only these; from Parquet, only these are read. One that no row can have is
            an error in the formats with a header.
        late: Columns whose cells become a `Cell` when larger than `LATE_BYTES`.
        skipped: A list that takes one error per bad row (ragged, broken JSON, not an object); bad
            rows are then left out. Without it the first bad row raises.

    Raises:
        DataError: There is no such file, its format is unknown, it is damaged or holds no row.
            All but an unknown format and a missing file are raised while iterating.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            f"`{path}` has no known row format, expected one of {', '.join(READERS)}",
            hint="give the file the suffix of what it holds",
        )
    if not path.is_file():
        found = "a folder" if path.is_dir() else "nothing"
        raise DataError(f"no data file at `{path}`, found {found}")
    want = Want(None if columns is None else frozenset(columns), late, skipped)
    return _at_least_one(reader(path, want), path, want)


def _at_least_one(rows: Iterator[Row], path: Path, want: Want) -> Iterator[Row]:
    count = 0
    try:
        for count, row in enumerate(rows, 1):  # noqa: B007 - counted, used after the loop
            yield row
    except OSError as error:
        raise DataError(f"cannot read `{path}`: {error.strerror or error}") from error
    if count == 0:
        bad = f" (bad rows skipped: {len(want.skipped)})" if want.skipped else ""
        raise DataError(f"0 samples in `{path}`{bad}")


def require_columns(names: Iterable[str], found: Iterable[str], place: str) -> None:
    """Nothing, where every name is among those found.

    Args:
        names: The needed columns.
        found: The columns there are; a row will do.
        place: The file or row, as the error names it.

    Raises:
        DataError: One is missing; it is named, with the nearest of those found.
    """
    found = list(found)
    for name in names:
        if name in found:
            continue
        folded = {other.strip().casefold(): other for other in found}
        near = difflib.get_close_matches(name.strip().casefold(), folded, n=1, cutoff=0.6)
        hint = f"did you mean `{folded[near[0]]}`?" if near else None
        columns = ", ".join(f"`{other}`" for other in found) or "none"
        raise DataError(f"{place} has no column `{name}`, found {columns}", hint=hint)


def require_unique(rows: Iterable[Row], column: str) -> Iterator[Row]:
    """The same rows; ends in an error where two hold the same value in a column.

    Raises:
        DataError: After the last row: the repeated values (five of them) and their rows.
    """
    first: dict[str, int] = {}
    repeated: dict[str, list[int]] = {}
    path = None
    for row in rows:
        path = row.path
        if column in row:
            value = str(row[column])
            if first.setdefault(value, row.number) != row.number:
                repeated.setdefault(value, [first[value]]).append(row.number)
        yield row
    if repeated:
        listed = "; ".join(
            f"`{value}` in {', '.join(map(str, numbers[:5]))}"
            for value, numbers in list(repeated.items())[:5]
        )
        raise DataError(f"`{path}` repeats {len(repeated)} values of column `{column}`: {listed}")


# --- text files --------------------------------------------------------------------------------

BOM = b"\xef\xbb\xbf"

NOT_TEXT = {
    b"\xff\xfe\x00\x00": "UTF-32 text",
    b"\x00\x00\xfe\xff": "UTF-32 text",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\x1f\x8b": "gzip data",
    b"PK\x03\x04": "a zip archive or an Excel workbook",
    b"PAR1": "Parquet data",
    b"version https://git-lfs": "a Git LFS pointer instead of the data",
    b"<!DOCTYPE": "an HTML page",
    b"<html": "an HTML page",
}
"""What a file that is not rows of UTF-8 text begins with."""


@dataclass(frozen=True, slots=True)
class Line:
    """A physical line: its bytes without the line end, its number from 1, its byte offset."""

    raw: bytes
    number: int
    offset: int


def _open_text(path: Path) -> BinaryIO:
    """The file, open behind its byte order mark."""
    with path.open("rb") as file:
        head = file.read(32)
    what = next((what for mark, what in NOT_TEXT.items() if head.startswith(mark)), None)
    if what is None and b"\0" in head[:4]:
        what = "UTF-16 text without a byte order mark, or binary data"
    if what is not None:
        raise DataError(f"`{path}` is {what}, expected UTF-8 text", hint="save it as UTF-8")
    file = path.open("rb")
    file.seek(len(BOM) if head.startswith(BOM) else 0)
    return file


def _lines(file: BinaryIO, path: Path) -> Iterator[Line]:
    """The physical lines of a text file; only a line feed ends one."""
    number, offset = 0, file.tell()
    while raw := file.readline(RECORD_BYTES + 1):
        number += 1
        if len(raw) > RECORD_BYTES:
            raise DataError(f"`{path}` line {number} is longer than {RECORD_BYTES >> 20} MiB")
        yield Line(raw.removesuffix(b"\n").removesuffix(b"\r"), number, offset)
        offset += len(raw)


@dataclass(frozen=True, slots=True)
class Record:
    """Where a record lies in a text file, to be read again."""

    path: Path
    stamp: tuple[int, int]
    number: int
    offset: int
    length: int

    @property
    def place(self) -> str:
        """File and line, as errors name them."""
        return f"`{self.path}` line {self.number}"

    def read(self) -> Line:
        """The record once more.

        Raises:
            DataError: The file is gone or was changed since the row was read.
        """
        try:
            with self.path.open("rb") as file:
                if _stamp(file) != self.stamp:
                    raise DataError(f"`{self.path}` was changed while it was in use")
                file.seek(self.offset)
                return Line(file.read(self.length), self.number, self.offset)
        except OSError as error:
            raise DataError(f"cannot read {self.place}: {error.strerror or error}") from error


def _stamp(file: BinaryIO) -> tuple[int, int]:
    """Size and time of change, which tell a changed file."""
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def _decode(raw: bytes, place: str, offset: int) -> str:
    """Bytes as text; `place` and the byte offset in the file name what is not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start)
        behind = f", {line} lines further" if line else ""
        raise DataError(
            f"{place} is not UTF-8 at byte {offset + error.start}{behind}: "
            f"found 0x{raw[error.start]:02x}",
            hint="save the file as UTF-8",
        ) from None


# --- JSON and JSON Lines -----------------------------------------------------------------------

_parse_json = json.JSONDecoder().decode


def _json_value(text: str, path: Path, line: int, offset: int) -> object:
    """The value of a JSON text that begins at this line and byte of its file."""
    try:
        return _parse_json(text)
    except json.JSONDecodeError as error:
        at = offset + len(text[: error.pos].encode(errors="surrogatepass"))
        what = error.msg[:1].lower() + error.msg[1:]
        hint = None
        if what == "extra data" and path.suffix.lower() == ".json":
            hint = "a file of one object a line is JSON Lines: name it `.jsonl`"
        raise DataError(
            f"`{path}` line {line + error.lineno - 1} column {error.colno} (byte {at}) "
            f"is not JSON: {what.removesuffix(' at')}",
            hint=hint,
        ) from None
    except RecursionError:
        raise DataError(f"`{path}` line {line} is JSON nested too deeply") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise DataError(f"`{path}` line {line}: {error}") from None


KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DataError(f"{place} holds {KINDS[type(value)]}, expected an object")
    return value


def _read_json(path: Path, want: Want) -> Iterator[Row]:
    """One document: a list of objects. It is held whole, so large sets belong into JSON Lines."""
    with _open_text(path) as file:
        start = file.tell()
        text = _decode(file.read(), f"`{path}`", start)
    if not text.strip():
        return
    document = _json_value(text, path, 1, start)
    if not isinstance(document, list):
        raise DataError(
            f"`{path}` holds {KINDS[type(document)]} at the top, expected a list of objects"
        )
    for number, value in enumerate(document, 1):
        try:
            values = _object(value, f"`{path}` row {number}")
        except DataError as error:
            want.bad_row(error)
            continue
        yield Row(_kept(values, want), path, number)


def _kept(values: dict[str, object], want: Want) -> dict[str, object]:
    if want.columns is None:
        return values
    return {name: value for name, value in values.items() if name in want.columns}


def _read_jsonl(path: Path, want: Want) -> Iterator[Row]:
    """One object a line."""
    with _open_text(path) as file:
        stamp = _stamp(file)
        for line in _lines(file, path):
            if not line.raw or line.raw.isspace():
                continue
            try:
                values = _json_line(line, path)
            except DataError as error:
                want.bad_row(error)
                continue
            if len(line.raw) > LATE_BYTES and want.late:
                record = Record(path, stamp, line.number, line.offset, len(line.raw))
                values = _leave_late(values, record, want)
            yield Row(_kept(values, want), path, line.number)


def _json_line(line: Line, path: Path) -> dict[str, object]:
    place = f"`{path}` line {line.number}"
    text = _decode(line.raw, place, line.offset)
    return _object(_json_value(text, path, line.number, line.offset), place)


def _leave_late(values: dict[str, object], record: Record, want: Want) -> dict[str, object]:
    """The row with a `Cell` for each large string of the late columns, however deep inside."""

    def leave(value: object, at: tuple[str | int, ...]) -> object:
        if isinstance(value, str) and len(value) > LATE_BYTES:
            return Cell(f"{record.place} column `{at[0]}`", partial(_json_cell, record, at))
        if isinstance(value, list) and len(at) < LATE_DEPTH:
            return [leave(item, (*at, index)) for index, item in enumerate(value)]
        if isinstance(value, dict) and len(at) < LATE_DEPTH:
            return {key: leave(item, (*at, key)) for key, item in value.items()}
        return value

    return {
        name: leave(value, (name,)) if name in want.late else value
        for name, value in values.items()
    }


def _json_cell(record: Record, at: tuple[str | int, ...]) -> object:
    value: Any = _json_line(record.read(), record.path)
    for key in at:
        value = value[key]
    return value


READERS: dict[str, Callable[[Path, Want], Iterator[Row]]] = {
    ".json": _read_json,
    ".jsonl": _read_jsonl,
}
"""Suffix -> reader. A new format is a function here and a row in this table."""

LINE_FORMATS = frozenset({".jsonl", ".csv", ".tsv"})
"""The formats whose rows are found by line."""
