"""The columns of a record that hold media, and what a cell of them may hold.

The rules are those of EvalScope 1.14.1: which columns count, which comes first, what a cell may
hold, and what makes a record fail. A failure is a `DataError` whose message names the column; the
caller adds file and record.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeGuard

from mmscore.dataset.media.file_types import FORMATS, guess_format, type_of_name
from mmscore.dataset.media.paths import Roots
from mmscore.dataset.media.sources import (
    DATA_LIKE,
    DATA_URI,
    BytesSource,
    TextSource,
    held_name,
    is_base64_of,
    mime_of,
)
from mmscore.dataset.rows import HEAD_BYTES, Cell
from mmscore.error_text import shown, text_of, what
from mmscore.errors import DataError
from mmscore.types import Kind, Media, Source

KINDS: tuple[Kind, ...] = ("image", "video", "audio")
KIND: Mapping[str, Kind] = {kind: kind for kind in KINDS}
MOST_INDEXED = 100
"""The highest k of `image_k`; the list columns have no limit."""

INDEXED: Mapping[str, tuple[Kind, int]] = {
    f"{kind}_{number}": (kind, number) for kind in KINDS for number in range(1, MOST_INDEXED + 1)
}
"""Column name -> kind and placeholder number."""

LISTS: Mapping[Kind, str] = {kind: f"{kind}s" for kind in KINDS}
"""Kind -> name of the column that holds a list of them."""

MEDIA_COLUMNS = frozenset({*INDEXED, *LISTS.values()})
"""The columns whose cells may hold whole media, and are then left in their file."""

HTTP = ("http://", "https://")
UNKNOWN_IMAGE = "image/png"
"""What the reference calls image bytes that begin like nothing known."""


HINTS = ("start", "end", "fps")

NO_HINTS: Mapping[str, object] = {}


class FoundMedium(NamedTuple):
    """A media cell that passed the check of its column; whether it can be sent shows when used.

    Attributes:
        kind: The column's kind.
        url: A path, an http(s) URL, a data URI, or base64 text; or how one of the latter begins.
        cell: The whole data URI or base64 text of which `url` is the beginning.
        data: Bytes, which win over `url`.
        mime: The type of `data`.
        format: The format as written, None where it must be inferred.
        hints: `start`, `end`, `fps` of a clip as written.
    """

    kind: Kind
    url: str = ""
    cell: Cell | None = None
    data: bytes | Cell | None = None
    mime: str = ""
    format: object = None
    hints: Mapping[str, object] = NO_HINTS


Columns = Mapping[Kind, Mapping[int, FoundMedium]]
"""The media of a record, by kind and placeholder number."""


def is_media_column(name: str) -> bool:
    """Whether a column of this name can hold media or their format."""
    found = re.fullmatch(r"(image|video|audio)(s|_([1-9][0-9]*)(_format)?)", name)
    if found is None or found[3] is None:
        return found is not None
    return len(found[3]) <= 3 and int(found[3]) <= MOST_INDEXED


def columns_of(
    record: Mapping[str, Any], wanted: Mapping[Kind, Collection[int] | None] | None = None
) -> dict[Kind, dict[int, FoundMedium]]:
    """The media of a record, by kind and placeholder number; kinds without a column are left out.

    Of each kind, filled columns `image_1` to `image_100` come first; only where none of those
    looked at is filled does the list column `images` count. Cells that are missing, null or empty
    are skipped.

    Args:
        record: The row.
        wanted: The numbers to look at of each kind; None looks at all.

    Raises:
        DataError: A cell looked at holds something that is no medium of its kind.
    """
    filled: dict[Kind, dict[int, str]] = {}
    for column in record:
        if column in INDEXED:
            kind, number = INDEXED[column]
            value = record[column]
            if value is None or value == "":
                continue
            numbers = None if wanted is None else wanted.get(kind, ())
            if numbers is None or number in numbers:
                filled.setdefault(kind, {})[number] = column
    media = {}
    for kind in KINDS:
        if kind in filled:
            media[kind] = _indexed(record, kind, filled[kind])
        elif LISTS[kind] in record:
            media[kind] = _listed(record, kind, None if wanted is None else wanted.get(kind, ()))
    return media


def filled_columns(record: Mapping[str, Any]) -> Iterator[tuple[Kind, int | None, str]]:
    """Yield kind, number and name of each column of media that holds something.

    The number of a list column is None.
    """
    for column in record:
        if column in INDEXED and record[column] not in (None, ""):
            kind, number = INDEXED[column]
            yield kind, number, column
    for kind, column in LISTS.items():
        if record.get(column):
            yield kind, None, column


def _indexed(
    record: Mapping[str, Any], kind: Kind, filled: Mapping[int, str]
) -> dict[int, FoundMedium]:
    numbers = sorted(filled) if len(filled) > 1 else filled
    formats = kind in FORMATS
    return {
        number: _cell(
            record[filled[number]],
            kind,
            f"column `{filled[number]}`",
            record.get(f"{filled[number]}_format") if formats else None,
        )
        for number in numbers
    }


def _listed(
    record: Mapping[str, Any], kind: Kind, numbers: Collection[int] | None
) -> dict[int, FoundMedium]:
    values = record[LISTS[kind]]
    if not values or (numbers is not None and not numbers):
        return {}
    if not isinstance(values, list):
        raise DataError(f"column `{kind}s` is {what(values)}, expected a list of {kind}s")
    return {
        number: _cell(value, kind, f"column `{kind}s` item {number}", None)
        for number, value in enumerate(values, 1)
        if (numbers is None or number in numbers) and value is not None and value != ""
    }


def _cell(value: Any, kind: Kind, where: str, written: object) -> FoundMedium:
    """One cell, checked as far as the reference checks a column before it is used."""
    if isinstance(value, str) and not written:
        return FoundMedium(kind, value)
    found = _bytes_of(value, kind, where, written, NO_HINTS)
    if found is not None:
        return found
    value = said(value, kind)
    if isinstance(value, str | Cell):
        return _checked(kind, value, where, written, NO_HINTS)
    if is_bytes_as_numbers(value):
        raise bytes_as_numbers(value, where)
    if not isinstance(value, dict):
        raise DataError(
            f"{where} is {what(value)}, expected a path, a URL, a data URI, "
            "or an object with `path`, `bytes` or `url`"
        )
    written = value.get("format", written)
    hints = {name: value[name] for name in HINTS if name in value}
    held = value.get("bytes")
    if is_bytes_as_numbers(held):
        raise bytes_as_numbers(held, where)
    found = _bytes_of(held, kind, where, written, hints)
    if found is not None:
        return found
    return _checked(kind, said(_payload(value, kind, where), kind), where, written, hints)


def _bytes_of(
    held: object, kind: Kind, where: str, written: object, hints: Mapping[str, object]
) -> FoundMedium | None:
    """A medium of bytes, in the record or left in the file; None for anything else."""
    data = held.read() if isinstance(held, Cell) and not held.head else held
    if not isinstance(data, bytes | bytearray):
        return None
    mime = _mime(bytes(data), kind, where)
    _check_format(kind, written, where)
    kept = held if isinstance(held, Cell) else bytes(data)
    return FoundMedium(kind, "", None, kept, mime, written or None, hints)


def is_bytes_as_numbers(value: object) -> TypeGuard[list[int]]:
    """Whether a value is a list of numbers that are the bytes of a file."""
    if not isinstance(value, list) or len(value) < SHORTEST_FILE:
        return False
    return all(isinstance(one, int) and 0 <= one < 256 for one in value[:SHORTEST_FILE])


def bytes_as_numbers(value: list[int], where: str) -> DataError:
    """The error that names bytes which a writer spelled as numbers."""
    return DataError(
        f"{where} holds bytes as a list of {len(value)} numbers, expected a binary value",
        hint="write the column with bytes(...) for each list, as the type binary",
    )


SHORTEST_FILE = 8
"""A list of fewer numbers is no file's bytes."""


def _checked(
    kind: Kind, value: Any, where: str, written: object, hints: Mapping[str, object]
) -> FoundMedium:
    if written:
        _check_format(kind, written, where)
    return found_of(kind, value, written or None, hints)


def found_of(
    kind: Kind, value: str | Cell, written: object = None, hints: Mapping[str, object] = NO_HINTS
) -> FoundMedium:
    """What `said` gave, as a medium."""
    if isinstance(value, Cell):
        return FoundMedium(kind, value.head, value, None, "", written, hints)
    return FoundMedium(kind, value, None, None, "", written, hints)


def said(value: Any, kind: Kind) -> Any:
    """What a large cell holds; itself, with its beginning, where that is a data URI or base64.

    Those stay in their file until they are sent. Any other value is given back.
    """
    if not isinstance(value, Cell):
        return value
    head = value.head
    if not head:
        whole = value.read()
        if not isinstance(whole, str):
            return whole
        head = whole[:HEAD_BYTES]
    if DATA_LIKE.match(head) or is_base64_of(kind, head):
        return replace(value, head=head)
    return value.read()


def _check_format(kind: Kind, written: object, where: str) -> None:
    if written and kind in FORMATS and written not in FORMATS[kind]:
        raise _unsupported(kind, written, where)


def _mime(data: bytes, kind: Kind, where: str) -> str:
    sniffed = mime_of(data)
    mime = sniffed or UNKNOWN_IMAGE
    if not mime.startswith(f"{kind}/"):
        found = "unknown data" if sniffed is None else f"`{mime}`"
        raise DataError(f"{where} holds bytes of {found}, expected {kind} data")
    return mime


def _payload(value: Mapping[str, Any], kind: Kind, where: str) -> str | Cell:
    path = value.get("path")
    if isinstance(path, str | Cell):
        return path
    payload = value.get("url") or value.get("data") or value.get(kind)
    if not isinstance(payload, str | Cell):
        keys = ", ".join(f"`{key}`" for key in value) or "no keys"
        raise DataError(
            f"{where} is an object with {keys}, expected one of "
            f"`path`, `bytes`, `url`, `data`, `{kind}` to hold the {kind}"
        )
    return payload


def _unsupported(kind: Kind, written: object, where: str) -> DataError:
    return DataError(
        f"{where} has format {shown(written)}, expected one of {', '.join(FORMATS[kind])}",
        hint="formats are written in lower case; leave it out to have it inferred",
    )


def media_part(found: FoundMedium, where: str, roots: Roots, *, detail: str = "auto") -> Media:
    """A checked cell as a part of a message.

    Raises:
        DataError: It names nothing, or its format is none that can be sent.
    """
    if found.kind == "image":
        source, url = _source(found, where, roots)
        return Media("image", source, url, None, None, detail)
    name = _name(found.url)
    format_ = found.format or guess_format(found.kind, name or f"data:{found.mime};")
    if format_ not in FORMATS[found.kind]:
        raise _unsupported(found.kind, format_, where)
    source, url = _source(found, where, roots)
    return Media(
        found.kind,
        source,
        url,
        format=str(format_),
        # As the reference labels the data URI of a sound or clip: by its bytes or its name.
        mime=found.mime or type_of_name(name),
        fps=_hints(found.hints, where).get("fps") if found.kind == "video" else None,
    )


def _name(url: str) -> str:
    """The part of a URL or path that tells what it leads to: not what a data URI holds."""
    prefix = DATA_URI.match(url)
    return url if prefix is None else prefix[0]


def _source(found: FoundMedium, where: str, roots: Roots) -> tuple[Source | None, str | None]:
    if found.data is not None:
        data = found.data
        name = data.name if isinstance(data, Cell) else held_name(where, data)
        return BytesSource(name, data), None
    if found.cell is not None:
        return TextSource(found.cell.name, found.cell), None
    return source_of(text_of(found.url, where), found.kind, where, roots)


def source_of(text: str, kind: Kind, where: str, roots: Roots) -> tuple[Source | None, str | None]:
    """Where the medium is that a text names: its source, or else the http(s) URL it is at.

    Args:
        text: A path, a `file:` or http(s) URL, a data URI, or base64.
        kind: What it should be.
        where: The cell, for the name of what stands in it.
        roots: Where paths start.

    Raises:
        DataError: It names a file of another machine.
    """
    if text[:8].lower().startswith(HTTP):
        return None, text
    if DATA_LIKE.match(text):
        return TextSource(held_name(where, text), text), None
    file = roots.source(text)
    if is_base64_of(kind, text) and not file.exists():
        return TextSource(held_name(where, text), text), None
    return file, None


def _hints(hints: Mapping[str, object], where: str) -> dict[str, float]:
    """Times and rates of a clip; all are checked though only the rate is ever sent."""
    numbers = {}
    for name, value in hints.items():
        if value is None:
            continue
        try:
            numbers[name] = float(value)  # type: ignore[arg-type]  # refused below
        except (TypeError, ValueError, OverflowError):
            raise DataError(f"{where} has {name} {shown(value)}, expected a number") from None
    return numbers
