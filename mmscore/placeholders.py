"""Placeholders `<image N> <video N> <audio N>` in text, and the columns that fill them.

The rules are those of EvalScope 1.14.1: which columns count, which comes first, what a cell may
hold, and what makes a record fail. A failure is a `DataError` whose message names the column; the
caller adds file and record.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from os.path import splitext
from typing import Any

from mmscore.errors import DataError
from mmscore.records import Kind, Media, Source, Text
from mmscore.sources import Base64Source, BytesSource, FileSource, Roots, is_base64_of, mime_of
from mmscore.wording import shown, text_of, what

PLACEHOLDER = re.compile(r"<(image|video|audio)[_ ](\d+)>")
"""One separator, lower case; the number in any decimal digits, leading zeros allowed."""

KINDS: tuple[Kind, ...] = ("image", "video", "audio")
KIND: Mapping[str, Kind] = {kind: kind for kind in KINDS}
MOST_INDEXED = 100
"""The highest k of `image_k`; the list columns have no limit."""

INDEXED: Mapping[Kind, Mapping[str, int]] = {
    kind: {f"{kind}_{number}": number for number in range(1, MOST_INDEXED + 1)} for kind in KINDS
}
"""Kind -> column name -> placeholder number."""

FORMATS: Mapping[Kind, tuple[str, ...]] = {
    "video": ("mp4", "mpeg", "mov", "avi"),
    "audio": ("mp3", "wav"),
}
DEFAULT_FORMAT: Mapping[Kind, str] = {"video": "mp4", "audio": "mp3"}
SUBTYPES: Mapping[Kind, Mapping[str, str]] = {
    "video": {"quicktime": "mov", "x-msvideo": "avi"},
    "audio": {
        **dict.fromkeys(("mpeg", "mpga", "x-mp3"), "mp3"),
        **dict.fromkeys(("x-wav", "wave", "vnd.wave"), "wav"),
    },
}
"""MIME subtypes that have another name as a format."""

HTTP = ("http://", "https://")
DATA_URI = re.compile(r"data:[^,]*;base64,")
NEEDS_DECODING = re.compile(r"[\s_-]")
"""What stands in base64 that not every server takes: line breaks and the URL-safe alphabet."""

DATA_URI_TYPE = re.compile(r"data:([^;]+);")

UNKNOWN_IMAGE = "image/png"
"""What the reference calls image bytes that begin like nothing known."""


@dataclass(frozen=True, slots=True)
class Found:
    """A media cell that passed the check of its column; whether it can be sent shows when used.

    Attributes:
        kind: The column's kind.
        url: A path, an http(s) URL, a data URI, or base64 text.
        data: Bytes, which win over `url`.
        mime: The type of `data`.
        format: The format as written, None where it must be inferred.
        hints: `start`, `end`, `fps` of a clip as written.
    """

    kind: Kind
    url: str = ""
    data: bytes | None = None
    mime: str = ""
    format: object = None
    hints: Mapping[str, object] = field(default_factory=dict)


def is_media_column(name: str) -> bool:
    """Whether a column of this name can hold media or their format."""
    found = re.fullmatch(r"(image|video|audio)(s|_([1-9][0-9]*)(_format)?)", name)
    if found is None or found[3] is None:
        return found is not None
    return len(found[3]) <= 3 and int(found[3]) <= MOST_INDEXED


def numbers_in(text: str) -> dict[Kind, set[int]]:
    """The placeholder numbers a text refers to, by kind.

    Raises:
        DataError: A number is longer than Python converts.
    """
    numbers: dict[Kind, set[int]] = {kind: set() for kind in KINDS}
    for found in PLACEHOLDER.finditer(text):
        numbers[KIND[found[1]]].add(_number(found))
    return numbers


def _number(found: re.Match[str]) -> int:
    try:
        return int(found[2])
    except ValueError:
        raise DataError(
            f"placeholder {shown(found[0])} has a number of {len(found[2])} digits"
        ) from None


def cells(
    record: Mapping[str, Any], kind: Kind, wanted: Collection[int] | None = None
) -> dict[int, Found]:
    """The media of one kind in a record, by placeholder number.

    Filled columns `image_1` to `image_100` come first; only where none of those looked at is
    filled does the list column `images` count. Cells that are missing, null or empty are skipped.

    Args:
        record: The row.
        kind: Which columns.
        wanted: The numbers to look at; None looks at all.

    Raises:
        DataError: A cell looked at holds something that is no medium of this kind.
    """
    if wanted is not None and not wanted:
        return {}
    found: dict[int, tuple[str, Any, object]] = {}
    for column in INDEXED[kind].keys() & record.keys():
        number, value = INDEXED[kind][column], record[column]
        if value is not None and value != "" and (wanted is None or number in wanted):
            written = record.get(f"{column}_format") if kind in FORMATS else None
            found[number] = (f"column `{column}`", value, written)
    found = found or _listed(record, kind, wanted)
    return {
        number: _cell(value, kind, where, written)
        for number, (where, value, written) in sorted(found.items())
    }


def _listed(
    record: Mapping[str, Any], kind: Kind, wanted: Collection[int] | None
) -> dict[int, tuple[str, Any, object]]:
    values = record.get(f"{kind}s")
    if not values:
        return {}
    if not isinstance(values, list):
        raise DataError(f"column `{kind}s` is {what(values)}, expected a list of {kind}s")
    return {
        number: (f"column `{kind}s` item {number}", value, None)
        for number, value in enumerate(values, 1)
        if (wanted is None or number in wanted) and value is not None and value != ""
    }


def _cell(value: Any, kind: Kind, where: str, written: object) -> Found:
    """One cell, checked as far as the reference checks a column before it is used."""
    fields: Mapping[str, Any] = {}
    url, data, mime = "", None, ""
    if isinstance(value, str):
        url = value
    elif not isinstance(value, dict):
        raise DataError(
            f"{where} is {what(value)}, expected a path, a URL, a data URI, "
            "or an object with `path`, `bytes` or `url`"
        )
    else:
        fields = value
        if isinstance(value.get("bytes"), bytes | bytearray):
            data = bytes(value["bytes"])
            mime = _mime(data, kind, where)
        else:
            url = _payload(value, kind, where)
    written = fields.get("format", written)
    if written and kind in FORMATS and written not in FORMATS[kind]:
        raise _unsupported(kind, written, where)
    hints = {name: fields.get(name) for name in ("start", "end", "fps")}
    return Found(kind, url, data, mime, written or None, hints)


def _mime(data: bytes, kind: Kind, where: str) -> str:
    sniffed = mime_of(data)
    mime = sniffed or UNKNOWN_IMAGE
    if not mime.startswith(f"{kind}/"):
        found = "unknown data" if sniffed is None else f"`{mime}`"
        raise DataError(f"{where} holds bytes of {found}, expected {kind} data")
    return mime


def _payload(value: Mapping[str, Any], kind: Kind, where: str) -> str:
    if isinstance(value.get("path"), str):
        return str(value["path"])
    payload = value.get("url") or value.get("data") or value.get(kind)
    if not isinstance(payload, str):
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


def parts_of(
    text: str, media: Mapping[Kind, Mapping[int, Found]], roots: Roots
) -> tuple[tuple[Text | Media, ...], list[str]]:
    """A text cut at its placeholders, each replaced by its medium.

    Text that is only white space is dropped; a placeholder without a medium is dropped too.

    Returns:
        The parts, and the placeholders dropped, each once.

    Raises:
        DataError: A medium that is used cannot be sent.
    """
    parts: list[Text | Media] = []
    dropped: dict[str, None] = {}
    last = 0
    for match in PLACEHOLDER.finditer(text):
        parts += _text_part(text[last : match.start()])
        last = match.end()
        kind, number = KIND[match[1]], _number(match)
        found = media[kind].get(number)
        if found is None:
            dropped[f"<{kind} {number}>"] = None
        elif found.data is None and not found.url:
            raise DataError(f"{kind} {number} is an object whose path or URL is empty")
        else:
            parts.append(media_part(found, f"{kind} {number}", roots))
    parts += _text_part(text[last:])
    return tuple(parts), list(dropped)


def _text_part(text: str) -> list[Text | Media]:
    return [Text(text_of(text, "the text"))] if text.strip() else []


def media_part(found: Found, where: str, roots: Roots, *, detail: str = "auto") -> Media:
    """A checked cell as a part of a message.

    Raises:
        DataError: It names nothing, or its format is none that can be sent.
    """
    format_ = None
    if found.kind in FORMATS:
        format_ = found.format or guess_format(found.kind, found.url or f"data:{found.mime};")
        if format_ not in FORMATS[found.kind]:
            raise _unsupported(found.kind, format_, where)
    source, url = _source(found, where, roots)
    return Media(
        found.kind,
        source,
        url,
        format=str(format_) if format_ else None,
        mime=_label(found),
        detail=detail if found.kind == "image" else None,
        fps=_hints(found.hints, where).get("fps") if found.kind == "video" else None,
    )


def _label(found: Found) -> str | None:
    """How the reference labels the data URI of a sound or clip: by its bytes or its name."""
    if found.kind == "image":
        return None
    return found.mime or _type_of_name(found.url)


def _source(found: Found, where: str, roots: Roots) -> tuple[Source | None, str | None]:
    if found.data is not None:
        return BytesSource(where, found.data, found.mime), None
    url = text_of(found.url, where)
    if url.startswith(HTTP):
        return None, url
    prefix = DATA_URI.match(url)
    if prefix is not None:
        if NEEDS_DECODING.search(url, prefix.end()) is None:
            return None, url
        return Base64Source(where, url[prefix.end() :]), None
    file = FileSource(url, roots)
    if is_base64_of(found.kind, url) and not file.exists():
        return Base64Source(where, url), None
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


def guess_format(kind: Kind, url: str) -> str:
    """The format of a sound or clip by its data URI, URL or path; the usual one if unclear."""
    path = url.split("?", 1)[0].split("#", 1)[0]
    typed = DATA_URI_TYPE.match(url)
    mime = (typed[1] if typed else _type_of_name(path)) or ""
    subtype = mime.removeprefix(f"{kind}/").lower() if mime.startswith(f"{kind}/") else ""
    suffix = splitext(path)[1].lstrip(".").lower()  # noqa: PTH122 - a URL is no path
    other_names = SUBTYPES[kind]
    if subtype in FORMATS[kind] or subtype in other_names:
        return other_names.get(subtype, subtype)
    if suffix in FORMATS[kind]:
        return suffix
    # A clip's suffix is no subtype, a sound's may be.
    return (
        other_names.get(suffix, DEFAULT_FORMAT[kind]) if kind == "audio" else DEFAULT_FORMAT[kind]
    )


def _type_of_name(path: str) -> str | None:
    try:
        return _types().guess_type(path, strict=False)[0]
    except ValueError:  # a URL that is none
        return None


@cache
def _types() -> mimetypes.MimeTypes:
    """Python's own table; the machine's files of types would make results depend on it."""
    return mimetypes.MimeTypes()
