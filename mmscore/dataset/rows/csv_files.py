"""CSV and TSV.

Cells are told apart as `delimited` says. A table whose name promises another delimiter than its
header has (a `.csv` of semicolons or tabs, a `.tsv` of commas), or whose first line announces one
(`sep=;`), is read by that. A row shorter than the header ends in cells that are None, as in
EvalScope 1.14.1. Beyond `csv`, nothing is merged or dropped in silence: a longer row is an error,
and so is a quote that runs over lines which look like records of their own.

Short lines, the most of most tables, are read a block at a time by the `csv` module, which is fast;
large cells, which it would hold, and records that only a closer look can judge, are read by line.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from mmscore.dataset.rows.delimited import CLOSING, Dialect, announced, dialect_of
from mmscore.dataset.rows.row import HEAD_BYTES, LATE_BYTES, Cell, Row, Want, require_columns
from mmscore.dataset.rows.text import (
    RECORD_BYTES,
    Place,
    Record,
    TextFile,
    decode,
    find_whole,
    load_text,
    too_long,
)
from mmscore.errors import DataError

SWALLOWED_LINES = 100
"""After so many lines that all look like records, a quote is taken for a stray one."""

MOST_COLUMNS = 1 << 14
"""As many as a spreadsheet has; a header of more is one of a file that is something else."""

BLOCK_BYTES = 1 << 15
"""How much is handed to the `csv` module at once."""

SEARCHED_BYTES = 1 << 20
"""How much is searched at once for a closing quote that is far away."""

QUOTE_HINT = 'write a cell that begins with a quote as """so"" it begins"'

CELLS_HINT = 'quote a cell that holds the delimiter or a line end: "a, ""b"", c"'


class Table(NamedTuple):
    """What is known of a table once its header is read.

    Attributes:
        path: The file.
        dialect: How its cells are told apart.
        names: Its columns.
        want: What the caller wants of it.
    """

    path: Path
    dialect: Dialect
    names: list[str]
    want: Want


def read_tsv(path: Path, want: Want) -> Iterator[Row]:
    """Tab-separated rows under a header."""
    return _read_table(path, want, b"\t")


def read_csv(path: Path, want: Want) -> Iterator[Row]:
    """Comma-separated rows under a header."""
    return _read_table(path, want, b",")


def _read_table(path: Path, want: Want, delimiter: bytes) -> Iterator[Row]:
    with TextFile(path) as file:
        head = next((line for line in file if line.raw.strip()), None)
        if head is not None and head.number == 1 and (said := announced(head.raw)):
            delimiter = said
            head = next((line for line in file if line.raw.strip()), None)
            dialect = Dialect(said)
        elif head is not None:
            dialect = dialect_of(head.raw, delimiter)
        if head is None:
            return
        names = _header(_whole(head, file, dialect, 1), dialect)
        if want.columns is not None:
            require_columns(sorted(want.columns), names, f"`{path}`")
        yield from _rows(file, Table(path, dialect, names, want))


def _header(record: Record, dialect: Dialect) -> list[str]:
    """The column names. An unnamed column may occur twice, as spreadsheets write them."""
    names = [decode(cell, record.place.name, record.offset) for cell in dialect.cells(record.raw)]
    if len(names) > MOST_COLUMNS:
        raise DataError(
            f"{record.place.name} names {len(names)} columns, expected at most {MOST_COLUMNS}"
        )
    for name, times in Counter(names).items():
        if name and times > 1:
            raise DataError(f"{record.place.name} names {times} columns `{name}`")
    return names


# --- short lines, a block at a time ------------------------------------------------------------


def _rows(file: TextFile, table: Table) -> Iterator[Row]:
    """The rows behind the header: of each block what is short and plain, the rest by line."""
    while (block := file.ahead(BLOCK_BYTES)) is not None:
        end = file.offset + max(len(block), 1)
        yield from _plain_rows(file, table, block)
        if file.offset < end:
            yield from _rows_by_line(file, table, end)


def _plain_rows(file: TextFile, table: Table, block: bytes) -> Iterator[Row]:
    """The rows of a block of lines up to one that needs a closer look; the file stands there then.

    So looks a large cell, a cell of several lines that may be a stray quote's work, a record that
    goes on behind the block, and all that is an error, which is told where it is read by line.
    """
    path, dialect, names, want = table
    lines = block.split(b"\n")
    if not lines[-1]:
        lines.pop()
    width, first = len(names), file.number + 1
    records, read = _records(block, lines, dialect, width)
    chosen = _chosen(names, want)
    for start, cells in records:
        if len(cells) != width:
            if not cells or (len(cells) == 1 and lines[start].isspace()):
                continue  # a blank line; in a table of one column, blanks are a value
            if len(cells) > width:
                read = start
                break
            cells += [None] * (width - len(cells))
        row = Row(zip(names, cells) if chosen is None else chosen(cells))  # noqa: B905 - as many
        row.path = path
        row.number = first + start
        yield row
    file.go_on(sum(map(len, lines[:read])) + min(read, block.count(b"\n")), read)


def _records(
    block: bytes, lines: list[bytes], dialect: Dialect, width: int
) -> tuple[Iterable[tuple[int, list[str | None]]], int]:
    """The records at the beginning of a block that are as they should be.

    Returns:
        For each the place of its first line and its cells; and how many lines they are in all.
    """
    text = _text(block, lines)
    if text is None:
        return [], 0
    mark = dialect.delimiter.decode()
    count = len(lines)
    found: list[Any]
    try:
        found = [*csv.reader(io.StringIO(text, newline=None), delimiter=mark)]
        if len(found) == count and (
            b'"' not in lines[-1] or _is_plain(lines[-1:], dialect, width, is_last=True)
        ):
            return enumerate(found), count
        found, start = [], 0
        reader = csv.reader(io.StringIO(text, newline=None), delimiter=mark)
        for cells in reader:
            end = reader.line_num
            if (end == count or end - start > 1) and not _is_plain(
                lines[start:end], dialect, width, is_last=end == count
            ):
                break
            found.append((start, cells))
            start = end
    except csv.Error:
        return [], 0  # told by line
    return found, start


def _text(block: bytes, lines: list[bytes]) -> str | None:
    """A block as text, if its lines are short and nothing in it is odd."""
    if not block or max(map(len, lines)) > LATE_BYTES or b"\0" in block:
        return None
    if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
        return None
    try:
        return block.decode()
    except UnicodeDecodeError:
        return None


def _is_plain(lines: list[bytes], dialect: Dialect, width: int, *, is_last: bool) -> bool:
    """Whether lines that make one record are as they should be, and the record ends in them."""
    if is_last and not dialect.closed.fullmatch(b"\n".join(lines)):
        return False
    if len(lines) == 1:
        return True
    if sum(map(len, lines)) > LATE_BYTES or dialect.has_text_behind_quote(lines[-1]):
        return False
    return not all(dialect.looks_whole(line, width) for line in lines)


def _chosen(
    names: list[str], want: Want
) -> Callable[[list[str | None]], dict[str, str | None]] | None:
    """What makes a row's values of its cells where not all columns are wanted."""
    if want.columns is None:
        return None
    kept = [(place, name) for place, name in enumerate(names) if name in want.columns]
    return lambda cells: {name: cells[place] for place, name in kept}


# --- line by line ------------------------------------------------------------------------------


def _rows_by_line(file: TextFile, table: Table, end: int) -> Iterator[Row]:
    """The rows that begin before a place of the file."""
    path, dialect, names, want = table
    for line in file:
        if not _is_blank(line.raw, dialect, len(names)):
            number = line.number
            try:
                values = _values(_whole(line, file, dialect, len(names)), table)
            except DataError as error:
                want.bad_row(error)
            else:
                del line  # it may be large, and whoever takes the row may take their time
                yield Row.at(values, path, number)
        if file.offset >= end:
            return


def _is_blank(raw: bytes, dialect: Dialect, width: int) -> bool:
    """Whether a line says nothing; in a table of one column, blanks are a value."""
    return not raw or (width > 1 and dialect.delimiter not in raw and raw.isspace())


def _values(record: Record, table: Table) -> dict[str, object]:
    """The row of a record; every cell is text, empty where it is, None where it is not there."""
    _, dialect, names, want = table
    cells = dialect.cells(record.raw)
    if len(cells) > len(names):
        raise DataError(
            f"{record.place.name} has {len(cells)} cells, expected {len(names)}", hint=CELLS_HINT
        )
    if b"\0" in record.raw:
        at = record.offset + record.raw.index(b"\0")
        raise DataError(f"{record.place.name} holds a NUL byte (byte {at} of the file)")
    values: dict[str, object] = {}
    for column, (name, cell) in enumerate(zip_longest(names, cells)):
        if want.columns is not None and name not in want.columns:
            continue
        if cell is None:
            values[name] = None
            continue
        if len(cell) > LATE_BYTES and name in want.late:
            values[name] = _left(record, dialect, column, name, cell)
            continue
        try:
            values[name] = cell.decode()
        except UnicodeDecodeError:
            record.text()  # raises with the byte in the file
    return values


def _left(record: Record, dialect: Dialect, column: int, name: str, cell: bytes) -> Cell:
    """The handle of a cell: it is read alone where the file holds it as it is."""
    place = record.place
    at = find_whole(record.raw, cell)
    load = partial(_load, place, dialect, column)
    if at is not None:
        load = partial(load_text, place.part(at, at + len(cell)))
    return Cell(f"{place.name} column `{name}`", load, cell[:HEAD_BYTES].decode(errors="replace"))


def _load(place: Place, dialect: Dialect, column: int) -> str:
    cell = dialect.cells(place.read().raw)[column]
    return decode(cell, place.name, place.offset)


# --- records of several lines ------------------------------------------------------------------


def _whole(line: Record, file: TextFile, dialect: Dialect, width: int) -> Record:
    """The record that begins with a line, with the lines its quoted cells run over.

    As long as all lines look like records they are looked at one by one, for the quote may be a
    stray one; after that the closing quote is searched for, however far away it is.

    Raises:
        DataError: The quote is a stray one. The file then goes on behind the line that holds it.
    """
    if dialect.behind_quote(line.raw, 0) < 0 or not dialect.ends_inside(line.raw, inside=False):
        return line
    parts, length = [line.raw, line.end], len(line.raw) + len(line.end)
    alike = dialect.looks_whole(line.raw, width)
    while more := _next_line(file) if alike else file.through(CLOSING, SEARCHED_BYTES):
        parts.append(more)
        length += len(more)
        last, end = _last_line(more)
        alike = alike and dialect.looks_whole(last, width)
        closed = not dialect.ends_inside(last, inside=True)
        if alike and (closed or file.number - line.number >= SWALLOWED_LINES):
            what = f"swallows the lines to {file.number}, which look like whole rows"
            raise _stray_quote(line, file, what)
        if length > RECORD_BYTES:
            raise too_long(file.path, line.number)
        if closed and dialect.has_text_behind_quote(last):
            what = f"ends in line {file.number} amid text"
            raise _stray_quote(line, file, what)
        if closed:
            return line._replace(raw=b"".join(parts)[: length - len(end)], end=end)
    raise _stray_quote(line, file, "never ends")


def _next_line(file: TextFile) -> bytes:
    line = next(file, None)
    return b"" if line is None else line.raw + line.end


def _last_line(lines: bytes) -> tuple[bytes, bytes]:
    """The last of some lines, and its end."""
    raw = lines[: len(lines) - lines.endswith(b"\n")]
    raw = raw[: len(raw) - raw.endswith(b"\r")]
    begin = max(raw.rfind(b"\n"), raw.rfind(b"\r")) + 1
    return raw[begin:], lines[len(raw) :]


def _stray_quote(line: Record, file: TextFile, what: str) -> DataError:
    file.go_behind(line)
    return DataError(
        f"{line.place.name} has a cell that begins with a quote and {what}", hint=QUOTE_HINT
    )
