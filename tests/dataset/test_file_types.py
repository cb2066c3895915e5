"""Sounds and clips are told by their bytes, so that no other file is sent as one."""

from __future__ import annotations

import pytest
from support.images import image_file, knows_avif

from mmscore.dataset.media.file_types import require_kind
from mmscore.errors import MediaError
from mmscore.types import Kind


def box(kind: bytes, brand: bytes) -> bytes:
    return (24).to_bytes(4, "big") + kind + brand + b"\0\0\2\0isomiso2" + bytes(64)


SOUNDS = {
    "wav": b"RIFF\x24\0\0\0WAVEfmt " + bytes(40),
    "large wav": b"RF64\xff\xff\xff\xffWAVEds64" + bytes(40),
    "big-endian wav": b"RIFX\0\0\0\x24WAVEfmt " + bytes(40),
    "mp3 with tags": b"ID3\4\0\0" + bytes(40),
    "mp3": b"\xff\xfb\x90\x64" + bytes(40),
    "mp3 with checksums": b"\xff\xfa\x90\x64" + bytes(40),
    "mpeg 2 layer 3": b"\xff\xe3\x90\x64" + bytes(40),
    "mpeg layer 2": b"\xff\xfd\x90\x64" + bytes(40),
    "ogg": b"OggS" + bytes(40),
    "flac": b"fLaC" + bytes(40),
    "aac": b"\xff\xf1" + bytes(40),
    "m4a": box(b"ftyp", b"M4A "),
    "sound in an mp4": box(b"ftyp", b"isom"),
}
CLIPS = {
    "mp4": box(b"ftyp", b"isom"),
    "mp4 of another brand": box(b"ftyp", b"iso6"),
    "m4v": b"\0\0\0\x1cftypM4V " + bytes(40),
    "mov": box(b"ftyp", b"qt  "),
    "old mov": (16).to_bytes(4, "big") + b"moov" + bytes(64),
    "mov that begins with its data": (1).to_bytes(4, "big") + b"mdat" + bytes(64),
    "avi": b"RIFF\x24\0\0\0AVI LIST" + bytes(40),
    "mpeg programme": b"\0\0\1\xba" + bytes(40),
    "mpeg video": b"\0\0\1\xb3" + bytes(40),
    "transport stream": (b"\x47" + bytes(187)) * 3,
    "webm": b"\x1a\x45\xdf\xa3" + bytes(40),
    "ogg": b"OggS" + bytes(40),
}
NEITHER = {
    "nothing": b"",
    "text": b"MMSCORE_API_KEY=sk-1\0HOME=/root\0",
    "text in UTF-16": "MMSCORE".encode("utf-16"),
    "html": b"<!DOCTYPE html><html></html>" + bytes(400),
    "json": b'{"ftyp": "mp4"}' + b" " * 300,
    "a word that ends in a box": b"alcofree of all" + bytes(300),
    "a private key": b"-----BEGIN OPENSSH PRIVATE KEY-----\n" + b"A" * 300,
    "a document": b"%PDF-1.7" + bytes(40),
    "an archive": b"PK\3\4" + bytes(40),
    "a program": b"\x7fELF" + bytes(60),
    "a database": b"SQLite format 3\0" + bytes(60),
    "zeros": bytes(600),
    "an image": image_file("PNG"),
    "a photo": image_file("JPEG"),
    **({"an avif": image_file("AVIF")} if knows_avif() else {}),
    "a heic": (24).to_bytes(4, "big") + b"ftypheic" + bytes(64),
}


@pytest.mark.parametrize("data", SOUNDS.values(), ids=SOUNDS.keys())
def test_sounds_are_sent(data: bytes) -> None:
    require_kind(data, "audio", "x")


@pytest.mark.parametrize("data", CLIPS.values(), ids=CLIPS.keys())
def test_clips_are_sent(data: bytes) -> None:
    require_kind(data, "video", "x")


@pytest.mark.parametrize("kind", ["audio", "video"])
@pytest.mark.parametrize("data", NEITHER.values(), ids=NEITHER.keys())
def test_all_else_is_not(data: bytes, kind: Kind) -> None:
    with pytest.raises(MediaError, match=r"`x` is (no sound|no clip|empty)"):
        require_kind(data, kind, "x")


@pytest.mark.parametrize("name", ["wav", "mp3", "flac", "mpeg layer 2"])
def test_a_sound_is_no_clip(name: str) -> None:
    with pytest.raises(MediaError, match="is no clip"):
        require_kind(SOUNDS[name], "video", "x")
