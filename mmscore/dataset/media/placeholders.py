"""Placeholders such as `<image 1>` in text, and the media that take their places.

Which placeholders count, and what becomes of one without a medium, is as in EvalScope 1.14.1.
Beyond it, `<image>`, `<video>` and `<audio>` without a number, as ms-swift and ShareGPT write them,
stand for the record's media of that kind in their order; they stay words where no medium is left
for them, or where the record numbers its placeholders of that kind.

A medium that nothing refers to, and a placeholder without a medium, are told: such a question would
be asked without what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmscore.dataset.media.columns import (
    KIND,
    KINDS,
    Columns,
    columns_of,
    filled_columns,
    media_part,
)
from mmscore.dataset.media.paths import Roots
from mmscore.error_text import listed, shown, text_of
from mmscore.errors import DataError
from mmscore.types import Kind, Media, Text

PLACEHOLDER = re.compile(r"<(image|video|audio)(?:[_ ](\d+))?>")
"""One separator, lower case; the number in any decimal digits, leading zeros allowed, or none."""

_NOUN = r"(?:image|img|picture|photo|video|clip|audio|sound)s?"
_NUMBER = r"[\s_:#-]*(?:\d+|here|placeholder|pad|token)?\s*"
LOOKALIKE = re.compile(
    rf"<\|?\s*/?\s*{_NOUN}{_NUMBER}\|?/?>|\[\s*{_NOUN}{_NUMBER}\]|\{{+\s*{_NOUN}{_NUMBER}\}}+",
    re.IGNORECASE,
)
"""What may be meant as a placeholder."""

_NUMBERED = re.compile(rf"<\|?\s*{_NOUN}[\s_:#-]*\d+\s*\|?/?>", re.IGNORECASE)
"""What can hardly be meant otherwise."""

Pieces = list[str]
"""A text cut at its placeholders: text, kind, number, text, kind, number ... text."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The texts of a record and the media that belong into them.

    Attributes:
        texts: Each text, cut at the placeholders that count.
        media: The media, by kind and number.
        faults: What of the record's media will not be seen, a sentence each.
    """

    texts: list[Pieces]
    media: Columns
    faults: tuple[str, ...]


def resolve(
    texts: Sequence[str], record: Mapping[str, Any], *, every: bool, shown_kinds: frozenset[Kind]
) -> Resolved:
    """Find the media that the placeholders of a record refer to.

    Args:
        texts: The texts in which placeholders count, in order.
        record: The row with the columns of media.
        every: Check each filled column, not only those referred to.
        shown_kinds: Kinds of which the record shows media in another way already.

    Raises:
        DataError: A column that is looked at holds something else than a medium of its kind.
    """
    cuts = [_cut(text) for text in texts]
    marks = [(cut[at], cut[at + 1]) for cut in cuts for at in range(1, len(cut), 3)]
    wanted: dict[Kind, set[int] | None] = {}
    for kind, number in marks:
        if number is not None:
            numbers = wanted.setdefault(KIND[str(kind)], set())
            assert numbers is not None
            numbers.add(_number(str(kind), number))
    in_order = {KIND[str(kind)] for kind, number in marks if number is None} - wanted.keys()
    wanted.update(dict.fromkeys(in_order))
    media = columns_of(record, None if every else wanted) if every or wanted else {}
    left = {kind: iter(sorted(media.get(kind, ()))) for kind in in_order}
    pieces = [_numbered(cut, left) for cut in cuts]
    faults = _faults(texts, pieces, record, media, shown_kinds)
    return Resolved(pieces, media, tuple(faults))


def _cut(text: str) -> list[str | None]:
    return PLACEHOLDER.split(text) if "<" in text else [text]


def _numbered(cut: Sequence[str | None], left: Mapping[Kind, Iterator[int]]) -> Pieces:
    """A cut text with a number for each placeholder; one that gets none is text again."""
    pieces = [str(cut[0])]
    for at in range(1, len(cut), 3):
        kind, number, behind = str(cut[at]), cut[at + 1], str(cut[at + 2])
        if number is None:
            following = next(left.get(KIND[kind], iter(())), None)
            number = None if following is None else str(following)
        if number is None:
            pieces[-1] += f"<{kind}>{behind}"
        else:
            pieces += [kind, number, behind]
    return pieces


def _number(kind: str, digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise DataError(
            f"placeholder {shown(f'<{kind} {digits}>')} has a number of {len(digits)} digits"
        ) from None


def parts_of(
    pieces: Sequence[str], media: Columns, roots: Roots
) -> tuple[tuple[Text | Media, ...], list[str]]:
    """A text cut at its placeholders (see `cut`), each replaced by its medium.

    Text that is only white space is dropped; a placeholder without a medium is dropped too.

    Returns:
        The parts, and the placeholders dropped, each once.

    Raises:
        DataError: A medium that is used cannot be sent.
    """
    parts: list[Text | Media] = []
    dropped: dict[str, None] = {}
    for at, text in enumerate(pieces[::3]):
        if text and not text.isspace():
            parts.append(Text(text_of(text, "the text")))
        if at * 3 + 1 == len(pieces):
            break
        kind = KIND[pieces[at * 3 + 1]]
        number = _number(kind, pieces[at * 3 + 2])
        found = media[kind].get(number) if kind in media else None
        if found is None:
            dropped[f"<{kind} {number}>"] = None
        elif found.data is None and not found.url:
            raise DataError(f"{kind} {number} is an object whose path or URL is empty")
        else:
            parts.append(media_part(found, f"{kind} {number}", roots))
    return tuple(parts), list(dropped)


# --- what is not seen ----------------------------------------------------------------------------


def _faults(
    texts: Sequence[str],
    pieces: Sequence[Pieces],
    record: Mapping[str, Any],
    media: Columns,
    shown_kinds: frozenset[Kind],
) -> Iterator[str]:
    """A sentence for each placeholder without a medium, and for media that nothing refers to."""
    used: dict[Kind, set[int]] = {kind: set() for kind in KINDS}
    missing: dict[str, None] = {}
    for cut in pieces:
        for kind, digits in zip(cut[1::3], cut[2::3], strict=True):
            number = _number(kind, digits)
            if number in media.get(KIND[kind], ()):
                used[KIND[kind]].add(number)
            else:
                missing[f"<{kind} {number}>"] = None
    yield from (f"no medium for {one}, so it is left out" for one in missing)
    bare = dict.fromkeys(kind for cut in pieces for text in cut[::3] for kind in _bare(text))
    for kind in bare.keys() - shown_kinds:
        yield f"no medium for <{kind}>, so it is asked as a word"
    unseen = dict(_unseen(record, used, shown_kinds))
    odd = listed(_lookalikes(texts)) if unseen or not any(used.values()) else ""
    for kind, names in unseen.items():
        meant = f"; {odd} is none" if odd else ""
        yield (
            f"nothing refers to {names}, so it is not sent: write `<{kind} 1>` where it belongs"
            f"{meant}"
        )
    if not unseen and not shown_kinds and any(map(_NUMBERED.fullmatch, _lookalikes(texts))):
        yield f"no medium for {odd}, so it is asked as words"


def _bare(text: str) -> Iterator[Kind]:
    """The kinds of the placeholders without a number that are left in a text."""
    if "<" in text:
        yield from (KIND[mark[1]] for mark in PLACEHOLDER.finditer(text) if mark[2] is None)


def _unseen(
    record: Mapping[str, Any], used: Mapping[Kind, set[int]], shown_kinds: frozenset[Kind]
) -> Iterator[tuple[Kind, str]]:
    """The filled columns of each kind that no placeholder refers to, by name."""
    unseen: dict[Kind, list[str]] = {}
    lists: list[tuple[Kind, str]] = []
    for kind, number, column in filled_columns(record):
        if kind in shown_kinds:
            continue
        if number is None:
            lists.append((kind, column))
        else:
            names = unseen.setdefault(kind, [])
            if number not in used[kind]:
                names.append(f"`{column}`")
    for kind, column in lists:
        held = record[column]
        if kind not in unseen and isinstance(
            held, list
        ):  # where both are filled, it does not count
            filled = [at for at, one in enumerate(held, 1) if one not in (None, "")]
            items = [str(at) for at in filled if at not in used[kind]]
            if items:
                which = "" if len(items) == len(filled) else f"item {listed(items, mark='')} of "
                unseen[kind] = [f"{which}`{column}`"]
    yield from ((kind, listed(names, mark="")) for kind, names in unseen.items() if names)


def _lookalikes(texts: Sequence[str]) -> list[str]:
    """What looks like a placeholder and is none, each once."""
    found = (mark[0] for text in texts for mark in LOOKALIKE.finditer(text))
    return [one for one in dict.fromkeys(found) if not PLACEHOLDER.fullmatch(one)]


__all__ = ["PLACEHOLDER", "Resolved", "parts_of", "resolve"]
