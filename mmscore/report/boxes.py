"""A box table and the words in it, for terminals of any ability."""

from __future__ import annotations

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
    """

    color: bool = False
    boxes: bool = True


def style_of(stream: Stream, environ: Mapping[str, str]) -> Style:
    """What a stream can show: no color off a terminal or under NO_COLOR (no-color.org)."""
    color = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    try:
        "".join(_PLAIN).encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return Style(color=color, boxes=False)
    return Style(color=color)


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
