"""What bytes are, told by how they begin. Decides as the `filetype` package 1.2.0 does.

That package labels the media a reference run sends, so its order of looking is kept: images,
sounds, clips, then whatever else it knows.
"""

from __future__ import annotations

from collections.abc import Iterator

HEAD_BYTES = 8192
"""How many bytes are looked at."""

SIGNATURES: tuple[tuple[str, int, int, bytes], ...] = (
    # MIME type, shortest length, offset, bytes there
    ("image/vnd.dwg", 4, 0, b"AC10"),
    ("image/x-xcf", 10, 0, b"gimp xcf v"),
    ("image/jpeg", 3, 0, b"\xff\xd8\xff"),
    ("image/png", 4, 0, b"\x89PNG"),
    ("image/gif", 3, 0, b"GIF"),
    ("image/tiff", 10, 0, b"II*\0"),
    ("image/tiff", 10, 0, b"MM\0*"),
    ("image/bmp", 2, 0, b"BM"),
    ("image/vnd.ms-photo", 3, 0, b"II\xbc"),
    ("image/vnd.adobe.photoshop", 4, 0, b"8BPS"),
    ("image/x-icon", 4, 0, b"\0\0\1\0"),
    ("application/dicom", 133, 128, b"DICM"),
    ("audio/aac", 2, 0, b"\xff\xf1"),
    ("audio/aac", 2, 0, b"\xff\xf9"),
    ("audio/midi", 4, 0, b"MThd"),
    ("audio/mpeg", 3, 0, b"ID3"),
    ("audio/mpeg", 3, 0, b"\xff\xf2"),
    ("audio/mpeg", 3, 0, b"\xff\xf3"),
    ("audio/mpeg", 3, 0, b"\xff\xfb"),
    ("audio/mp4", 11, 4, b"ftypM4A"),
    ("audio/mp4", 11, 0, b"M4A "),
    ("audio/ogg", 4, 0, b"OggS"),
    ("audio/x-flac", 4, 0, b"fLaC"),
    ("audio/amr", 12, 0, b"#!AMR\n"),
    ("video/3gpp", 7, 0, b"ftyp3gp"),
    ("video/x-m4v", 11, 0, b"\0\0\0\x1cftypM4V"),
    ("video/x-ms-wmv", 10, 0, b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9"),
    ("video/x-flv", 4, 0, b"FLV\1"),
    ("application/font-sfnt", 5, 0, b"\0\1\0\0\0"),
    ("application/font-sfnt", 5, 0, b"OTTO\0"),
    ("application/x-brotli", 4, 0, b"\xce\xb2\xcf\x81"),
    ("application/x-rpm", 4, 0, b"\xed\xab\xee\xdb"),
    ("application/zip", 4, 0, b"PK\3\4"),
    ("application/zip", 4, 0, b"PK\5\6"),
    ("application/zip", 4, 0, b"PK\7\x08"),
    ("application/x-tar", 262, 257, b"ustar"),
    ("application/x-rar-compressed", 7, 0, b"Rar!\x1a\7\0"),
    ("application/x-rar-compressed", 7, 0, b"Rar!\x1a\7\1"),
    ("application/gzip", 3, 0, b"\x1f\x8b\x08"),
    ("application/x-bzip2", 3, 0, b"BZh"),
    ("application/x-7z-compressed", 6, 0, b"7z\xbc\xaf\x27\x1c"),
    ("application/pdf", 4, 0, b"%PDF"),
    ("application/pdf", 7, 0, b"\xef\xbb\xbf%PDF"),
    ("application/x-msdownload", 2, 0, b"MZ"),
    ("application/x-shockwave-flash", 3, 0, b"CWS"),
    ("application/x-shockwave-flash", 3, 0, b"FWS"),
    ("application/rtf", 5, 0, b"{\\rtf"),
    ("application/postscript", 2, 0, b"%!"),
    ("application/x-xz", 6, 0, b"\xfd7zXZ\0"),
    ("application/x-sqlite3", 4, 0, b"SQLi"),
    ("application/x-unix-archive", 7, 0, b"!<arch>"),
    ("application/x-executable", 53, 0, b"\x7fELF"),
    ("application/wasm", 8, 0, b"\0asm\1\0\0\0"),
)

GROUPS = ("image/", "application/dicom", "audio/", "video/", "application/")
"""The order in which kinds are looked for where several would match."""


def sniff(data: bytes) -> str | None:
    """The MIME type of bytes, None where their beginning says nothing."""
    head = bytes(data[:HEAD_BYTES])
    found = [*_structured(head), *_signed(head)]
    for group in GROUPS:
        for mime in found:
            if mime.startswith(group):
                return mime
    return None


def _signed(head: bytes) -> Iterator[str]:
    for mime, shortest, offset, mark in SIGNATURES:
        if len(head) >= shortest and head.startswith(mark, offset):
            yield mime


def _structured(head: bytes) -> Iterator[str]:
    """Types that need more than one fixed mark, each before the simpler type it resembles."""
    if _is_animated_png(head):
        yield "image/apng"
    if len(head) > 50 and head.startswith(b"\0\0\0\x0c") and head[16:24] == b"ftypjp2 ":
        yield "image/jpx"
    if len(head) > 9 and head[:4] in (b"II*\0", b"MM\0*") and head[8:10] == b"CR":
        yield "image/x-canon-cr2"
    yield from _riff(head)
    yield from _boxes(head)
    if head.startswith(b"\x1a\x45\xdf\xa3"):
        if b"\x42\x82\x88matroska" in head:
            yield "video/x-matroska"
        if b"\x42\x82\x84webm" in head:
            yield "video/webm"
    if len(head) > 3 and head.startswith(b"\0\0\1") and 0xB0 <= head[3] <= 0xBF:
        yield "video/mpeg"


def _riff(head: bytes) -> Iterator[str]:
    if len(head) > 11 and head.startswith(b"FORM") and head[8:12] == b"AIFF":
        yield "audio/x-aiff"
    if not head.startswith(b"RIFF"):
        return
    if len(head) > 13 and head[8:14] == b"WEBPVP":
        yield "image/webp"
    if len(head) > 11:
        kinds = {b"WAVE": "audio/x-wav", b"AVI ": "video/x-msvideo"}
        if head[8:12] in kinds:
            yield kinds[head[8:12]]


def _boxes(head: bytes) -> Iterator[str]:
    """ISO base media files name their brands in a first box that must lie within the head."""
    if len(head) < 16 or head[4:8] != b"ftyp":
        return
    size = int.from_bytes(head[:4], "big")
    if len(head) < size:
        return
    major = head[8:12]
    brands = {head[at : at + 4] for at in range(16, size, 4)}
    for brand, mime in ((b"heic", "image/heic"), (b"avif", "image/avif")):
        if major == brand or (major in (b"mif1", b"msf1") and brand in brands):
            yield mime
    if (brands | {major}) & {b"mp41", b"mp42", b"isom"}:
        yield "video/mp4"
    if major == b"qt  ":
        yield "video/quicktime"


def _is_animated_png(head: bytes) -> bool:
    """Whether an animation chunk comes before the first image data."""
    if not (len(head) > 8 and head.startswith(b"\x89PNG\r\n\x1a\n")):
        return False
    at = 8
    while at < len(head):
        name = head[at + 4 : at + 8]
        if name in (b"IDAT", b"IEND"):
            return False
        if name == b"acTL":
            return True
        at += 12 + int.from_bytes(head[at : at + 4], "big")
    return False
