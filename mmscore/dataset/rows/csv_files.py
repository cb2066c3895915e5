"""CSV and TSV.

The quoting rule, the same as that of Python's `csv`: a cell that begins with a double quote ends at
the next single one, may hold delimiters and line ends, and writes a quote as two. Any other quote
is text, so cells like ``[{"role": "user"}]`` need no quoting. Text behind a closing quote belongs
to the cell.

Beyond `csv`, nothing is merged or padded in silence: each row has the header's number of cells, and
a quote that runs over lines which look like records of their own is an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

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

QUOTE_HINT = 'write a cell that begins with a quote as """so"" it begins"'


CELLS_HINT = 'quote a cell that holds the delimiter or a line end: "a, ""b"", c"'

CLOSING = re.compile(rb'(?:[^"]++|"")*+"')
"""The inside of a quoted cell up to its closing quote."""


class Dialect:
    """How cells are told apart: by one delimiter and double quotes."""

    def __init__(self, delimiter: bytes) -> None:
        self.delimiter = delimiter
        self.opening = delimiter + b'"'
        self.is_prose = delimiter == b","
        mark = re.escape(delimiter)
        quoted, plain = rb'"((?:[^"]++|"")*+)"([^%b]*+)' % mark, rb"([^%b]*+)" % mark
        self.cell = re.compile(rb"(?:%b|%b)(%b?)" % (quoted, plain, mark))
        cell = rb"(?:%b|(?!\")%b)" % (quoted, plain)
        self.closed = re.compile(rb"%b(?:%b%b)*+" % (cell, mark, cell))

    def behind_quote(self, raw: bytes, at: int) -> int:
        """The index behind the first quote that opens a cell at or after `at`, -1 if none does."""
        if at == 0 and raw.startswith(b'"'):
            return 1
        if b'"' not in raw:  # one byte is found ten times faster than two
            return -1
        found = raw.find(self.opening, at)
        return found if found < 0 else found + len(self.opening)

    def ends_inside(self, raw: bytes, inside: bool) -> bool:
        """Whether a quoted cell is open at the end of a line, given whether one was before it."""
        if not inside and self.closed.fullmatch(raw):
            return False
        at = 0 if inside else self.behind_quote(raw, 0)
        while at >= 0:
            closed = CLOSING.match(raw, at)
            if closed is None:
                return True
            at = self.behind_quote(raw, closed.end())
        return False

    def has_text_behind_quote(self, raw: bytes) -> bool:
        """Whether a line that closes a quoted cell goes on with other than blanks in that cell."""
        closed = CLOSING.match(raw)
        return closed is not None and bool(raw[closed.end() :].split(self.delimiter, 1)[0].strip())

    def looks_whole(self, raw: bytes, width: int) -> bool:
        """Whether a line taken by itself, its quotes as text, is a row of that many cells.

        Two quotes in a row are the work of a writer that quotes, and a comma before a blank is
        prose ("yes, it is"), so neither is found in a row that a stray quote swallowed.
        """
        return (
            width > 1
            and b'""' not in raw
            and raw.count(self.delimiter) - raw.count(b", ") * self.is_prose == width - 1
        )

    def cells(self, raw: bytes) -> list[bytes]:
        """The cells of a whole record, unquoted."""
        if self.behind_quote(raw, 0) < 0:
            return raw.split(self.delimiter)
        found = self.cell.findall(raw)
        if len(found) > 1 and not found[-2][3]:
            found.pop()  # the nothing behind the last cell, which no delimiter announces
        return [
            _unquoted(quoted) + behind if quoted or behind else plain
            for quoted, behind, plain, _ in found
        ]


def _unquoted(raw: bytes) -> bytes:
    """The inside of a quoted cell; its line ends become LF, as where text is opened as text."""
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return raw.replace(b'""', b'"')


TSV, CSV = Dialect(b"\t"), Dialect(b",")


def read_tsv(path: Path, want: Want) -> Iterator[Row]:
    """Tab-separated rows under a header."""
    return _read_table(path, want, TSV)


def read_csv(path: Path, want: Want) -> Iterator[Row]:
    """Comma-separated rows under a header."""
    return _read_table(path, want, CSV)


def _read_table(path: Path, want: Want, dialect: Dialect) -> Iterator[Row]:
    with TextFile(path) as file:
        head = next((line for line in file if line.raw.strip()), None)
        if head is None:
            return
        names = _header(_whole(head, file, dialect, 1), dialect)
        if want.columns is not None:
            require_columns(sorted(want.columns), names, f"`{path}`")
        for line in file:
            if _is_blank(line.raw, dialect, len(names)):
                continue
            number = line.number
            try:
                values = _values(_whole(line, file, dialect, len(names)), dialect, names, want)
            except DataError as error:
                want.bad_row(error)
                continue
            del line  # it may be large, and whoever takes the row may take their time
            yield Row(values, path, number)


def _is_blank(raw: bytes, dialect: Dialect, width: int) -> bool:
    """Whether a line says nothing; in a table of one column, blanks are a value."""
    return not raw or (width > 1 and dialect.delimiter not in raw and raw.isspace())


def _header(record: Record, dialect: Dialect) -> list[str]:
    """The column names. An unnamed column may occur twice, as spreadsheets write them."""
    names = [decode(cell, record.place.name, record.offset) for cell in dialect.cells(record.raw)]
    if b"\r" in record.raw and b"\n" not in record.raw:
        raise DataError(f"`{record.path}` ends its lines with CR alone, expected LF or CR LF")
    for name, times in Counter(names).items():
        if name and times > 1:
            raise DataError(f"{record.place.name} names {times} columns `{name}`")
    return names


def _values(record: Record, dialect: Dialect, names: list[str], want: Want) -> dict[str, object]:
    """The row of a record; every cell is text, an empty one is the empty string."""
    cells = dialect.cells(record.raw)
    if len(cells) != len(names):
        raise DataError(
            f"{record.place.name} has {len(cells)} cells, expected {len(names)}", hint=CELLS_HINT
        )
    if b"\0" in record.raw:
        at = record.offset + record.raw.index(b"\0")
        raise DataError(f"{record.place.name} holds a NUL byte (byte {at} of the file)")
    values: dict[str, object] = {}
    for column, (name, cell) in enumerate(zip(names, cells, strict=True)):
        if want.columns is not None and name not in want.columns:
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


def _whole(line: Record, file: TextFile, dialect: Dialect, width: int) -> Record:
    """The record that begins with a line, with the lines its quoted cells run over.

    Raises:
        DataError: The quote is a stray one. The file then goes on behind the line that holds it.
    """
    if dialect.behind_quote(line.raw, 0) < 0 or not dialect.ends_inside(line.raw, inside=False):
        return line
    parts, length = [line.raw, line.end], len(line.raw) + len(line.end)
    alike = dialect.looks_whole(line.raw, width)
    for last in file:
        parts += [last.raw, last.end]
        length += len(last.raw) + len(last.end)
        alike = alike and dialect.looks_whole(last.raw, width)
        closed = not dialect.ends_inside(last.raw, inside=True)
        if alike and (closed or last.number - line.number >= SWALLOWED_LINES):
            what = f"swallows the lines to {last.number}, which look like whole rows"
            raise _stray_quote(line, file, what)
        if length > RECORD_BYTES:
            raise too_long(file.path, line.number)
        if closed and dialect.has_text_behind_quote(last.raw):
            what = f"ends in line {last.number} amid text"
            raise _stray_quote(line, file, what)
        if closed:
            return line._replace(raw=b"".join(parts[:-1]), end=last.end)
    raise _stray_quote(line, file, "never ends")


def _stray_quote(line: Record, file: TextFile, what: str) -> DataError:
    file.go_behind(line)
    return DataError(
        f"{line.place.name} has a cell that begins with a quote and {what}", hint=QUOTE_HINT
    )
