"""Lines and records of UTF-8 text files, with the places errors name."""

from __future__ import annotations

import os
import re
from collections import deque
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from typing import NamedTuple

from mmscore.errors import DataError, machine_error

RECORD_BYTES = 1 << 29
"""The longest record of a text file, 512 MiB; a longer one is a damaged file."""

BUFFER_BYTES = 1 << 18
"""How much is read at once; long lines are put together of so large pieces."""

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


class Place(NamedTuple):
    """Where a record lies in a text file, to be read again.

    Attributes:
        path: The file.
        stamp: Its size and time of change when the record was read.
        number: The record's first line, from 1.
        offset: Its first byte.
        length: Its bytes, the last line end not counted.
    """

    path: Path
    stamp: tuple[int, int]
    number: int
    offset: int
    length: int

    @property
    def name(self) -> str:
        """File and line, as errors name them."""
        return f"`{self.path}` line {self.number}"

    def read(self) -> Record:
        """The record once more.

        Raises:
            DataError: The file is gone or was changed since the record was read.
        """
        try:
            with self.path.open("rb") as file:
                unchanged = _stamp(file) == self.stamp
                file.seek(self.offset)
                raw = file.read(self.length) if unchanged else b""
        except OSError as error:
            raise machine_error(error, f"reading {self.name}") or DataError(
                f"cannot read {self.name}: {error.strerror or error}"
            ) from error
        if not unchanged:
            raise DataError(f"`{self.path}` was changed while it was in use")
        return Record(raw, b"", self.number, self.offset, self.path, self.stamp)

    def part(self, start: int, end: int) -> Place:
        """The place of some of its bytes, counted from its first."""
        return self._replace(offset=self.offset + start, length=end - start)


class Record(NamedTuple):
    """One line, or the lines of one record.

    Attributes:
        raw: The bytes without the last line end.
        end: The last line end; empty at the end of a file.
        number: The record's first line, from 1.
        offset: Its first byte in the file.
        path: The file.
        stamp: Its size and time of change when the record was read.
    """

    raw: bytes
    end: bytes
    number: int
    offset: int
    path: Path
    stamp: tuple[int, int]

    @property
    def place(self) -> Place:
        """Where it lies."""
        return Place(self.path, self.stamp, self.number, self.offset, len(self.raw))

    def text(self) -> str:
        """The record as text.

        Raises:
            DataError: It is not UTF-8; the byte is named.
        """
        try:
            return self.raw.decode()
        except UnicodeDecodeError:
            return decode(self.raw, self.place.name, self.offset)


def load_text(place: Place) -> str:
    """The text at a place."""
    record = place.read()
    return decode(record.raw, place.name, place.offset)


MOST_ALIKE = 16
"""So many beginnings like a cell's are looked at before its place is given up."""


def find_whole(raw: bytes, cell: bytes) -> int | None:
    """Where a record holds the bytes of a cell, which a quoted cell need not be; None if unclear.

    Any place that holds the same bytes will do, so a beginning is looked for: it is found much
    faster than a needle of megabytes.
    """
    at = -1
    for _ in range(MOST_ALIKE):
        at = raw.find(cell[:64], at + 1)
        if at < 0 or raw.startswith(cell, at):
            break
    else:
        return None
    return at if at >= 0 else None


class TextFile:
    """The lines of a UTF-8 file, an iterator; LF, CR LF or CR alone ends a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = _open(path)
        self._stamp = _stamp(self._file)
        self._number = 0
        self._offset = self._file.tell()
        self._split: deque[bytes] = deque()

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()

    def __iter__(self) -> TextFile:
        return self

    def __next__(self) -> Record:
        line = self._split.popleft() if self._split else self._next_line()
        if not line:
            raise StopIteration
        self._number += 1
        length = len(line) - line.endswith(b"\n")
        length -= line.endswith(b"\r", 0, length)
        offset = self._offset
        self._offset += len(line)
        return Record(line[:length], line[length:], self._number, offset, self.path, self._stamp)

    def _next_line(self) -> bytes:
        """The next line; those that lie behind it in what was read are kept for the next calls."""
        pieces, length = [], 0
        while True:
            piece = self._file.readline(BUFFER_BYTES)
            if piece.endswith(b"\r") and self._file.peek(1)[:1] == b"\n":
                piece += self._file.read(1)
            pieces.append(piece)
            length += len(piece)
            if length > RECORD_BYTES:
                raise too_long(self.path, self._number + 1)
            at = piece.find(b"\r")
            if at >= 0 and piece[at:] != b"\r\n":
                return self._first_of(b"".join(pieces))
            if len(piece) < BUFFER_BYTES or piece.endswith(b"\n"):
                return b"".join(pieces) if len(pieces) > 1 else piece

    def _first_of(self, read: bytes) -> bytes:
        """The first line of what was read, in which CR alone ends lines."""
        first, *more = read.splitlines(keepends=True)
        if more and not more[-1].endswith((b"\r", b"\n")):
            self._file.seek(self._offset + len(read) - len(more.pop()))
        self._split.extend(more)
        return first

    @property
    def number(self) -> int:
        """How many lines were passed."""
        return self._number

    @property
    def offset(self) -> int:
        """Where the next line begins."""
        return self._offset

    def ahead(self, most: int) -> bytes | None:
        """The whole lines of the next `most` bytes, which stay ahead.

        Returns:
            The lines as they are; none where the first is longer, None at the end of the file.
        """
        self._split.clear()
        self._file.seek(self._offset)
        data = self._file.read(most)
        self._file.seek(self._offset)
        if len(data) == most:
            return data[: data.rfind(b"\n") + 1]
        return data or None

    def through(self, pattern: re.Pattern[bytes], most: int) -> bytes:
        """The next lines, to that in which what the pattern matches from their beginning ends.

        Args:
            pattern: What is looked for.
            most: Bytes that are looked at; where it does not end in them, all are given. A line
                that is longer is given alone.

        Returns:
            The lines as they are; empty at the end of the file.
        """
        data = self.ahead(most)
        if not data:
            line = None if data is None else next(self)
            return b"" if line is None else line.raw + line.end
        found = pattern.match(data)
        if found is not None:
            end = _LINE_END.search(data, found.end())
            data = data if end is None else data[: end.end()]
        self.go_on(len(data), count_lines(data))
        return data

    def go_on(self, count: int, lines: int) -> None:
        """Makes the line behind so many bytes, which are so many lines, the next."""
        self._split.clear()
        self._number += lines
        self._offset += count
        self._file.seek(self._offset)

    def go_behind(self, line: Record) -> None:
        """Makes the line behind the given one the next."""
        self._number, self._offset = line.number, line.offset
        self.go_on(len(line.raw) + len(line.end), 0)

    def rest(self) -> Record:
        """All that is left, as one record."""
        raw = self._file.read()
        return Record(raw, b"", self._number + 1, self._offset, self.path, self._stamp)


_LINE_END = re.compile(rb"\r\n?|\n")


def count_lines(data: bytes) -> int:
    """How many lines end in some bytes."""
    return data.count(b"\n") + data.count(b"\r") - data.count(b"\r\n")


def too_long(path: Path, number: int) -> DataError:
    """The error of a record beyond `RECORD_BYTES`."""
    return DataError(f"`{path}` line {number} begins a record of over {RECORD_BYTES >> 20} MiB")


def _open(path: Path) -> BufferedReader:
    """The file, open behind its byte order mark."""
    with path.open("rb") as start:
        head = start.read(32)
    what = next((what for mark, what in NOT_TEXT.items() if head.startswith(mark)), None)
    if what is None and b"\0" in head[:4]:
        what = "UTF-16 text without a byte order mark, or binary data"
    if what is not None:
        raise DataError(f"`{path}` is {what}, expected UTF-8 text", hint="save it as UTF-8")
    whole: BufferedReader = BufferedReader(path.open("rb", buffering=0), BUFFER_BYTES)
    whole.seek(len(BOM) if head.startswith(BOM) else 0)
    return whole


def _stamp(file: BufferedIOBase) -> tuple[int, int]:
    """Size and time of change, which tell a changed file."""
    status = os.fstat(file.fileno())
    return status.st_size, status.st_mtime_ns


def decode(raw: bytes, name: str, offset: int) -> str:
    """Bytes as text.

    Args:
        raw: The bytes.
        name: The place, as the error names it.
        offset: Where the bytes begin in their file.

    Raises:
        DataError: They are not UTF-8; the byte in the file is named.
    """
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        further = raw.count(b"\n", 0, error.start)
        raise DataError(
            f"{name} is not UTF-8 at byte {offset + error.start}"
            f"{f', {further} lines further' if further else ''}: found 0x{raw[error.start]:02x}",
            hint="save the file as UTF-8",
        ) from None
