"""How the cells of CSV and TSV records are told apart: one delimiter, double quotes.

A cell that begins with a double quote ends at the next single one, may hold delimiters and line
ends, and writes a quote as two; text behind its closing quote belongs to it. Any other quote is
text. So Python's `csv` reads, and so does EvalScope 1.14.1, which uses it.
"""

from __future__ import annotations

import re

CLOSING = re.compile(rb'(?:[^"]++|"")*+"')
"""The inside of a quoted cell up to its closing quote."""

DELIMITERS = (b",", b"\t", b";")
"""What a table may be delimited by, whatever its name says."""

_SEPARATOR = re.compile(rb'"?sep=(.)"?', re.IGNORECASE)


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


def announced(raw: bytes) -> bytes | None:
    """The delimiter that a first line such as `sep=;` announces, as spreadsheets write one."""
    found = _SEPARATOR.fullmatch(raw)
    return None if found is None or found[1] in b'"\r\n' else found[1]


def dialect_of(header: bytes, own: bytes) -> Dialect:
    """The dialect of a header: that of the file's name, unless another tells its columns apart.

    Args:
        header: The line.
        own: The delimiter that the file's name promises.
    """
    others = (mark for mark in DELIMITERS if mark != own)
    for mark in (own, *others):
        dialect = Dialect(mark)
        if len(dialect.cells(header)) > 1:
            return dialect
    return Dialect(own)
