"""Formats of sounds and clips: which can be sent, and how a name tells them.

The rules are those of EvalScope 1.14.1.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from functools import cache
from os.path import splitext

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


LFS_MARK = b"version https://git-lfs"


def is_lfs_pointer(data: bytes) -> bool:
    """Whether a file is what Git keeps in the place of a large one that was not fetched."""
    return data.startswith(LFS_MARK)
