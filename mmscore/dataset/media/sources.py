"""Media that stand in a user's own records: base64 text, bytes of a row. `paths` has the files.

Each source implements `types.Source`; bytes are read when asked for and not kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import unquote
from zlib import crc32

import mmscore._core as _core
from mmscore.dataset.rows import Cell
from mmscore.errors import DataError, MediaError


def mime_of(data: bytes) -> str | None:
    """The MIME type that the first bytes tell, as `filetype` 1.2.0 decides; else None."""
    return _core.sniff(data)


@dataclass(frozen=True, slots=True)
class BytesSource:
    """Bytes of a Parquet column, with the record or left in the file.

    Attributes:
        name: The place in words.
        held: The bytes, or where they are.
    """

    name: str
    held: bytes | Cell = field(repr=False)

    def exists(self) -> bool:
        """Always: the record holds them."""
        return True

    def read(self) -> bytes:
        """The bytes, read from the file now if they were left there.

        Raises:
            DataError: The file is gone, was changed, or is damaged at that place.
        """
        held = self.held.read() if isinstance(self.held, Cell) else self.held
        if not isinstance(held, bytes):
            raise MediaError(f"{self.name} holds a text, expected bytes")
        return held


def held_name(where: str, held: str | bytes) -> str:
    """A name for a medium in a record that tells it from those of other records."""
    data = held.encode("utf-8", "replace") if isinstance(held, str) else held
    return f"{where}, checksum {crc32(data):08x}"


DATA_URI = re.compile(r"data:[^,]*;base64,")

DATA_LIKE = re.compile(r"\s*['\"]?(b')?(data:|[\w.+-]+/[\w.+-]+;base64,|;?base64,)", re.IGNORECASE)
"""How a text begins that is a data URI or was meant to be one; no path begins so."""

_PREFIX = re.compile(
    r"\s*(?:data:)?\s*([\w.+-]+/[\w.+-]+)?((?:;[^;,]{0,200})*?);?\s*base64\s*,\s*", re.IGNORECASE
)

NOT_PLAIN = "\t\n\v\f\r\x1c\x1d\x1e\x1f _-"
"""What stands in base64 that not every server takes: line breaks and the URL-safe alphabet."""


@dataclass(frozen=True, slots=True)
class HeldMedium:
    """What a text of base64 holds.

    Attributes:
        data: The bytes.
        mime: What its prefix says they are; empty where it says nothing.
        uri: The text itself, where it is a data URI that every server takes as it is.
        oddities: What was wrong about how it is written.
    """

    data: bytes = field(repr=False)
    mime: str
    uri: str | None = field(repr=False)
    oddities: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextSource:
    """Base64, with or without a `data:` prefix, in the record or left in the data file.

    Attributes:
        name: The place in words.
        held: The text, or where it is: either alphabet, line breaks allowed, padding optional.
    """

    name: str
    held: str | Cell = field(repr=False)

    def exists(self) -> bool:
        """Always: the record holds it."""
        return True

    def text(self) -> str:
        """The text as it is written.

        Raises:
            DataError: The file is gone, was changed, or is damaged at that place.
        """
        return self.held if isinstance(self.held, str) else str(self.held.read())

    def read(self) -> bytes:
        """The decoded bytes.

        Raises:
            DataError: The file was changed, or the text is not base64.
        """
        return self.medium().data

    def medium(self) -> HeldMedium:
        """The decoded bytes, and how they were written.

        Capitals, a doubled prefix, percent signs, quotes around the whole, and missing padding are
        understood.

        Raises:
            DataError: The file was changed, or the text is not base64.
        """
        text = self.text()
        payload, mime, oddities = _without_prefix(text)
        try:
            data = _core.decode_base64(payload)
        except DataError as error:
            raise MediaError(f"{self.name}: {error}") from error
        if len(payload) % 4 and mime and "\n" not in payload:
            oddities.append("padding added")
        return HeldMedium(data, mime, None if oddities else _as_it_is(text), tuple(oddities))


def _as_it_is(text: str) -> str | None:
    """The text where it is a data URI that every server takes as it is, else None."""
    prefix = DATA_URI.match(text)
    if prefix is None or (len(text) - prefix.end()) % 4:
        return None
    if any(text.find(mark, prefix.end()) >= 0 for mark in NOT_PLAIN):
        return None
    return text if text.find(",", prefix.end()) < 0 else None


def _without_prefix(text: str) -> tuple[str, str, list[str]]:
    """The base64 alone, the type its prefix says in small letters, and what was odd about it."""
    oddities = []
    start, prefixes, mime = 0, 0, ""
    quoted = re.match(r"\s*b?(['\"])", text)
    if quoted is not None:
        start, text = quoted.end(), text.rstrip().removesuffix(quoted[1])
        oddities.append("quotes taken off")
    while (prefix := _PREFIX.match(text, start)) is not None:
        prefixes += 1
        mime = mime or (prefix[1] or "").lower()
        start = prefix.end()
    if prefixes > 1:
        oddities.append(f"{prefixes} prefixes instead of one")
    if prefixes == 0 and text[start : start + 5].lower() == "data:":
        return text[start:], mime, oddities  # the decoder says what is wrong with it
    payload = text[start:] if start else text
    if "%" in payload:
        payload = unquote(payload)
        oddities.append("percent signs decoded")
    return payload, mime, oddities


BASE64 = re.compile(r"[A-Za-z0-9+/_\-\s]+={0,2}\s*")
SHORTEST_BASE64 = 16
HEAD_CHARACTERS = 128


def is_base64_of(kind: str, text: str) -> bool:
    """Whether a text is base64 of an image, a sound or a clip, by alphabet and first bytes.

    A path cannot be taken for it: its beginning would have to decode to a known file signature.
    The beginning of a text will do.
    """
    head = text[:HEAD_CHARACTERS]
    if len(head) < SHORTEST_BASE64 or "." in head:  # most paths are told by their dot
        return False
    head = "".join(head.split())
    try:
        found = mime_of(_core.decode_base64(head[: len(head) // 4 * 4]))
    except DataError:
        return False
    return found is not None and found.startswith(f"{kind}/") and bool(BASE64.fullmatch(text))
