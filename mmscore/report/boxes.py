"""A box table and the words in it, for terminals of any ability."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

_PLAIN = {
    "─": "-", "│": "|", "┌": "+", "┬": "+", "┐": "+", "├": "+", "┼": "+", "┤": "+", "└": "+",
    "┴": "+", "┘": "+", " ↑": "", "·": "-", "–": "-", "—": "-", "−": "-", "×": "x", "…": "...",
}  # fmt: skip
_PLAIN_PATTERN = re.compile("|".join(_PLAIN))


class Stream(Protocol):
    """What must be known of an output to write to it well."""

    @property
    def encoding(self) -> str | None:
        """The name of its encoding, if it has one."""

    def isatty(self) -> bool:
        """Whether a person is looking at it."""


@dataclass(frozen=True, slots=True)
class Style:
    """What an output can show.

    Attributes:
        color: Escape sequences for bold and yellow.
        boxes: Box drawing, arrows and dashes; otherwise ASCII stands in.
        columns: How wide it is; 0 for as wide as need be.
    """

    color: bool = False
    boxes: bool = True
    columns: int = 0


def style_of(stream: Stream, environ: Mapping[str, str]) -> Style:
    """What a stream can show: no color off a terminal or under NO_COLOR (no-color.org).

    It is as wide as COLUMNS says, else as its terminal is, else 80 columns.
    """
    columns = _columns(stream, environ)
    color = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    try:
        "".join(_PLAIN).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return Style(color=color, boxes=False, columns=columns)
    return Style(color=color, columns=columns)


NARROWEST = 20
"""Columns below which nothing is fitted any more."""

USUAL = 80
"""Columns of an output that nobody knows the width of."""


def _columns(stream: Stream, environ: Mapping[str, str]) -> int:
    said = environ.get("COLUMNS", "")
    if said.isdecimal():
        return max(NARROWEST, int(said))
    if stream.isatty():
        with contextlib.suppress(OSError, AttributeError, ValueError):
            return max(NARROWEST, os.get_terminal_size(stream.fileno()).columns)  # type: ignore[attr-defined]  # a file's
    return USUAL


def plain(text: str) -> str:
    """The same text with ASCII in the place of boxes, arrows and dashes."""
    return _PLAIN_PATTERN.sub(lambda found: _PLAIN[found[0]], text)


def clean(text: object) -> str:
    """Text from outside without what would steer a terminal: controls, bidi marks, surrogates."""
    words = str(text)
    if words.isprintable():
        return words
    return "".join(c if c.isprintable() else " " if c in "\t\n\r" else "?" for c in words)


def width(text: str) -> int:
    """Columns a text takes on a terminal: two for wide East Asian characters, none for marks."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def pad(text: str, size: int, *, right: bool = False) -> str:
    """Text filled with blanks to a width in columns; `right` puts it at the right edge."""
    fill = " " * (size - width(text))
    return fill + text if right else text + fill


def cut(text: str, size: int) -> str:
    """A text that takes at most `size` columns, with an ellipsis where it was cut."""
    if width(text) <= size:
        return text
    kept = ""
    for character in text:
        if width(kept + character) > size - 1:
            break
        kept += character
    return kept + "…"


def fitted_box(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: frozenset[str],
    columns: int,
    *,
    titled: Sequence[Sequence[str]] = (),
    dropped: Sequence[str] = (),
) -> str:
    """A ruled table no wider than `columns`.

    Where it is too wide, columns go in this order until it fits: the groups of `titled`, each into
    the line above the table where all its rows say the same; then those of `dropped`. What is still
    too wide has its widest column cut.

    Args:
        head: The column names.
        rows: The cells.
        right: The columns whose cells stand at the right edge.
        columns: How wide it may be; 0 for as wide as need be.
        titled: Groups of columns that a line above may tell instead.
        dropped: Columns that may go, the first one first.
    """
    left = list(range(len(head)))
    title: list[str] = []

    def drawn() -> str:
        return box([head[n] for n in left], [[row[n] for n in left] for row in rows], right)

    def too_wide() -> bool:
        return bool(columns) and width(drawn().partition("\n")[0]) > columns

    for group in titled:
        places = [n for n in left if head[n] in group]
        if too_wide() and places and all(len({row[n] for row in rows}) == 1 for n in places):
            title += [rows[0][n] for n in places]
            left = [n for n in left if n not in places]
    for name in dropped:
        if too_wide() and len(left) > 2:
            left = [n for n in left if head[n] != name]
    if too_wide():
        rows = _cut_widest(left, rows, width(drawn().partition("\n")[0]) - columns)
    return "\n".join([cut(" · ".join(title), columns), drawn()] if title else [drawn()])


def _cut_widest(left: Sequence[int], rows: Sequence[Sequence[str]], excess: int) -> list[list[str]]:
    """The rows with their widest column narrowed by so many columns."""
    sizes = {n: max((width(row[n]) for row in rows), default=0) for n in left}
    widest = max(sizes, key=sizes.__getitem__)
    size = max(4, sizes[widest] - excess)
    return [
        [cut(cell, size) if n == widest else cell for n, cell in enumerate(row)] for row in rows
    ]


def wrapped(text: str, columns: int, indent: int) -> list[str]:
    """A text as lines that fit, those after the first behind `indent` blanks.

    It is broken at blanks; a word longer than a line stays whole.
    """
    if not columns or width(text) + indent <= columns:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        longer = f"{line} {word}" if line else word
        if line and width(longer) + indent > columns:
            lines.append(line)
            line = word
        else:
            line = longer
    return [*lines, line]


def box(head: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[str]) -> str:
    """A ruled table, drawn as the reference's: a column is its widest cell, or its head plus two.

    Args:
        head: The column names.
        rows: The cells.
        right: The columns whose cells stand at the right edge.
    """
    sizes = [
        max(width(name) + 2, *(width(row[column]) for row in rows)) if rows else width(name) + 2
        for column, name in enumerate(head)
    ]

    def line(cells: Sequence[str]) -> str:
        padded = [
            pad(cell, size, right=name in right)
            for cell, size, name in zip(cells, sizes, head, strict=True)
        ]
        return "│ " + " │ ".join(padded) + " │"

    def rule(left: str, cross: str, end: str) -> str:
        return left + cross.join("─" * (size + 2) for size in sizes) + end

    body = f"\n{rule('├', '┼', '┤')}\n".join(line(cells) for cells in [head, *rows])
    return f"{rule('┌', '┬', '┐')}\n{body}\n{rule('└', '┴', '┘')}"
