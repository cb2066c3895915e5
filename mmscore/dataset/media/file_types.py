"""Formats of sounds and clips: which can be sent, how a name tells them, how their bytes do.

The rules about names are those of EvalScope 1.14.1.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from functools import cache
from os.path import splitext

import mmscore._core as _core
from mmscore.dataset import git_lfs
from mmscore.errors import MediaError
from mmscore.types import Kind

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

DATA_URI_TYPE = re.compile(r"data:([^;]+);")


def guess_format(kind: Kind, url: str) -> str:
    """The format of a sound or clip by its data URI, URL or path; the usual one if unclear."""
    path = url.split("?", 1)[0].split("#", 1)[0]
    typed = DATA_URI_TYPE.match(url)
    mime = (typed[1] if typed else type_of_name(path)) or ""
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


def type_of_name(path: str) -> str | None:
    """The MIME type that a path, URL or data URI tells by its name; None if none."""
    try:
        return _types().guess_type(path, strict=False)[0]
    except ValueError:  # a URL that is none
        return None


@cache
def _types() -> mimetypes.MimeTypes:
    """Python's own table; the machine's files of types would make results depend on it."""
    return mimetypes.MimeTypes()


# --- by content ----------------------------------------------------------------------------------


HOLDERS: Mapping[Kind, frozenset[str]] = {
    "audio": frozenset(
        {"video/mp4", "video/quicktime", "video/webm", "video/x-matroska", "video/3gpp"}
    ),
    "video": frozenset({"audio/ogg"}),
}
"""Types of the other name that may hold a sound alone, or a clip."""

_STILL_BRANDS = frozenset({b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"avif", b"avis"})
_CLIP_BOXES = frozenset({b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot"})
_WAVES = frozenset({b"RIFX", b"RF64", b"BW64"})


def require_kind(data: bytes, kind: Kind, place: str) -> None:
    """Stop on bytes that are no sound or no clip, so that no other file is ever sent as one.

    Args:
        data: The bytes.
        kind: What they should be.
        place: Where they are from, for the error.

    Raises:
        MediaError: They are something else.
    """
    noun = "sound" if kind == "audio" else "clip"
    if not data:
        raise MediaError(f"`{place}` is empty")
    if git_lfs.is_pointer(data):
        raise MediaError(f"`{place}` is a Git LFS pointer, not the file itself", hint=git_lfs.HINT)
    mime = _core.sniff(data)
    if mime is not None and (mime.startswith(f"{kind}/") or mime in HOLDERS[kind]):
        return
    if _SIGNS[kind](data) or (kind == "audio" and _is_clip(data)):
        return
    if mime is not None:
        raise MediaError(f"`{place}` is no {noun} but {mime}")
    raise MediaError(f"`{place}` is no {noun} of a known type, it begins with {data[:16]!r}")


def _is_sound(data: bytes) -> bool:
    """Whether it is a sound that the usual signatures miss: large waves, MPEG audio of any kind."""
    if data[:4] in _WAVES and data[8:12] == b"WAVE":
        return True
    if len(data) < 4 or data[0] != 0xFF or data[1] & 0xE0 != 0xE0:
        return False
    layer, bit_rate, sample_rate = data[1] >> 1 & 3, data[2] >> 4, data[2] >> 2 & 3
    # Layer I is heard nowhere, and its mark is the one of text in UTF-16.
    return layer in (1, 2) and bit_rate != 15 and sample_rate != 3


def _is_clip(data: bytes) -> bool:
    """Whether it is a clip that the usual signatures miss: other brands, old QuickTime, streams."""
    size, box = int.from_bytes(data[:4], "big"), data[4:8]
    if size in (0, 1) or 8 <= size <= len(data):
        if box == b"ftyp":
            return data[8:12] not in _STILL_BRANDS
        if box in _CLIP_BOXES:
            return True
    if data.startswith((b"\x1a\x45\xdf\xa3", b"\0\0\1\xba", b"\0\0\1\xb3")):
        return True
    # A transport stream: packets of 188 bytes, or of 192 with a time before each.
    return any(
        data[at : at + 1] == data[at + length : at + length + 1] == b"\x47"
        for at, length in ((0, 188), (4, 192))
    )


_SIGNS = {"audio": _is_sound, "video": _is_clip}
