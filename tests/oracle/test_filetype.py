"""Types by first bytes, against the package `filetype` that the reference asks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mmscore._core as _core

filetype = pytest.importorskip("filetype", reason="the oracle package is not installed")

MARKS = [
    b"AC10", b"gimp xcf v", b"\xff\xd8\xff", b"\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14ftypjp2 ",
    b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n\0\0\0\4IHDR\0\0\0\0\0\0\0\0\0\0\0\0acTL",
    b"\x89PNG\r\n\x1a\n\0\0\0\0IDAT", b"GIF", b"RIFF\0\0\0\0WEBPVP", b"RIFF\0\0\0\0WAVE",
    b"RIFF\0\0\0\0AVI ", b"II\x2a\0", b"II\x2a\0\0\0\0\0CR", b"MM\0\x2a\0\0\0\0CR", b"BM",
    b"II\xbc", b"8BPS", b"\0\0\1\0", b"\0\0\0\x18ftypheic", b"\0\0\0\x1cftypmif1\0\0\0\0miafheic",
    b"\0\0\0\x1cftypmsf1\0\0\0\0avifheic", b"\0\0\0\x14ftypavif", b"\0\0\0\x20ftypisom",
    b"\0\0\0\x18ftypmp42", b"\0\0\0\x14ftypqt  ", b"\0\0\0\x1cftypM4V", b"\0\0\0\x20ftypM4A",
    b"M4A ", b"ftyp3gp", b"\0\0\0\x18ftypxxxx\0\0\0\0mp41", b"\0\0\0\x12ftypxxxx\0\0\0\0isom",
    b"\0\0\0\0ftypheic", b"\xff\xff\xff\xffftypheic", b"\x1a\x45\xdf\xa3\x42\x82\x84webm",
    b"\x1a\x45\xdf\xa3..\x42\x82\x88matroska", b"\x1a\x45\xdf\xa3", b"\xff\xf1", b"\xff\xf9",
    b"\xff\xfb", b"\xff\xf2", b"\xff\xf3", b"ID3", b"MThd", b"OggS", b"fLaC", b"#!AMR\n",
    b"FORM\0\0\0\0AIFF", b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9", b"\0\0\1\xb3", b"\0\0\1\xc0",
    b"FLV\1", b"wOFF\0\1\0\0", b"wOF2OTTO", b"wOFFtrue", b"\0\1\0\0\0", b"OTTO\0",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"PK\3\4", b"PK\5\6", b"PK\7\4", b"PK\3\6",
    b"Rar!\x1a\7\1", b"Rar!\x1a\7\2",
    b"\x1f\x8b\x08", b"BZh", b"7z\xbc\xaf\x27\x1c", b"%PDF", b"\xef\xbb\xbf%PDF", b"MZ", b"CWS",
    b"FWS", b"{\\rtf", b"NES\x1a", b"Cr24", b"MSCF", b"ISc(", b"%!", b"\xfd7zXZ\0", b"SQLi",
    b"!<arch>\ndebian-binary", b"!<arch>", b"\x1f\xa0", b"\x1f\x9d", b"\x89LZO\0\r\n\x1a", b"LZIP",
    b"\x7fELF", b"\x04\x22\x4d\x18", b"\x28\xb5\x2f\xfd", b"\x21\xb5\x2f\xfd",
    b"\x50\x2a\x4d\x18\2\0\0\0xx\x28\xb5\x2f\xfd", b"\x5f\x2a\x4d\x18\0\0\0\0", b"\0asm\1\0\0\0",
    b"\xce\xb2\xcf\x81", b"\xed\xab\xee\xdb", b"\x89PNG", b"RIFF\0\0\0\0WEBP",
]  # fmt: skip

NEXT = b"PK\3\4" + b"\0" * 26
"""The next member's header up to its name."""

INSIDE = [
    (30, b"mimetypeapplication/epub+zip"),
    (30, b"mimetypeapplication/vnd.oasis.opendocument.text"),
    (30, b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"),
    (30, b"mimetypeapplication/vnd.oasis.opendocument.presentation"),
    (30, b"word/"),
    (30, b"[Content_Types].xml" + b"\0" * 40 + NEXT + b"xl/"),
    (
        30,
        b"_rels/.rels"
        + b"\0" * 9
        + (b"PK\3\4" + b"\0" * 40) * 3
        + b"PK\3\4"
        + b"\0" * 26
        + b"ppt/",
    ),
    (30, b"docProps" + b"\0" * 9 + NEXT * 4 + NEXT + b"ppt/"),
    (128, b"DICM"),
    (257, b"ustar"),
    (34, b"LP"),
    (512, b"\xec\xa5\xc1\0"),
    (512, b"\xfd\xff\xff\xff\0\0\0"),
    (512, b"\xfd\xff\xff\xff\1\1\1\1\1\1\0\0"),
    (512, b"\x09\x08\x10\0\0\x06\x05\0"),
    (512, b"\xa0\x46\x1d\xf0"),
    (1600, b"\xe2\0\0\0\x5c\0\x70\0\x04\0\0Calc"),
    (2072, b"\0\xb9\x29\xe8\x11\0\0\0MS PowerPoint 97"),
    (2076, b"\0\x0a\0\0\0MSWordDoc\0\x10\0\0\0Word.Document.8\0\xf49\xb2q"),
    (8100, b"\x42\x82\x84webm" + b"\x42\x82\x88matroska" * 9),
]


def placed(mark: bytes, at: int, inside: bytes, length: int, filler: int) -> bytes:
    data = bytearray([filler]) * max(length, at + len(inside))
    data[: len(mark)] = mark
    data[at : at + len(inside)] = inside
    return bytes(data)


@pytest.mark.parametrize("mark", MARKS)
def test_every_mark_at_every_length(mark: bytes) -> None:
    for filler in (0, 1, 0x41, 0xFF):
        whole = mark + bytes([filler]) * 140
        for length in range(len(whole) + 1):
            data = whole[:length]
            assert _core.sniff(data) == filetype.guess_mime(data), (length, filler)


@pytest.mark.parametrize("mark", MARKS)
def test_marks_deep_inside(mark: bytes) -> None:
    for at, inside in INSIDE:
        for length in (0, 600, 2100, 2200, 9000):
            for filler in (0, 1):
                data = placed(mark, at, inside, length, filler)
                assert _core.sniff(data) == filetype.guess_mime(data), (at, inside, length)


@given(st.sampled_from(MARKS), st.sampled_from(MARKS), st.binary(max_size=40), st.integers(0, 60))
@settings(max_examples=500)
def test_mixtures(first: bytes, second: bytes, rest: bytes, cut: int) -> None:
    data = (first[:cut] + second + rest)[:8192]
    assert _core.sniff(data) == filetype.guess_mime(data)


def test_nothing_is_of_no_type() -> None:
    assert _core.sniff(b"") is None
    assert _core.sniff(b"just a text") is None
