"""Image files drawn for tests: by Pillow, and byte by byte where Pillow writes no such file."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from PIL import Image, features

GREY, RGB, GREY_ALPHA, RGBA = 0, 2, 4, 6
"""PNG's numbers of colour types."""

CHANNELS = {GREY: 1, RGB: 3, GREY_ALPHA: 2, RGBA: 4}


def image_file(kind: str = "PNG", size: tuple[int, int] = (40, 30), **options: Any) -> bytes:
    """A picture of smooth colours in a format of Pillow's."""
    picture = Image.linear_gradient("L").resize(size)
    bands = (picture, picture.rotate(180), picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT))
    return saved(Image.merge("RGB", bands), kind, **options)


def knows_avif() -> bool:
    """Whether this Pillow writes AVIF, as it does since 11.3."""
    return "avif" in features.get_supported_modules()


def saved(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def deep_png(colour: int, values: Sequence[int], *chunks: bytes) -> bytes:
    """A PNG of one row with 16 bits a channel; `chunks` stand before its pixels."""
    width = len(values) // CHANNELS[colour]
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, 1, 16, colour, 0, 0, 0))
    row = b"\0" + struct.pack(f">{len(values)}H", *values)
    end = chunk(b"IDAT", zlib.compress(row)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + head + b"".join(chunks) + end


def deep_tiff(
    values: Sequence[int],
    channels: int = 1,
    *,
    order: str = "<",
    packed: bool = False,
    signed: bool = False,
    white_is_zero: bool = False,
) -> bytes:
    """A TIFF of one row with 16 bits a channel, in either byte order, zipped or not."""
    data = struct.pack(f"{order}{len(values)}{'h' if signed else 'H'}", *values)
    data = zlib.compress(data) if packed else data
    bits = struct.pack(f"{order}{channels}H", *[16] * channels)
    entries: list[tuple[int, int, int, int]] = [
        (256, 4, 1, len(values) // channels),
        (257, 4, 1, 1),
        (258, 3, channels, 0),
        (259, 3, 1, 8 if packed else 1),
        (262, 3, 1, 2 if channels > 1 else int(not white_is_zero)),
        (273, 4, 1, 0),
        (277, 3, 1, channels),
        (278, 4, 1, 1),
        (279, 4, 1, len(data)),
        *([(338, 3, 1, 2)] if channels == 4 else []),
        *([(339, 3, 1, 2)] if signed else []),
    ]
    behind = 8 + 2 + 12 * len(entries) + 4
    out = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(order + "IH", 8, len(entries))
    for tag, kind, count, value in entries:
        if tag == 258 and channels > 2:
            field = struct.pack(order + "I", behind)
        elif tag == 258:
            field = bits.ljust(4, b"\0")
        elif tag == 273:
            field = struct.pack(order + "I", behind + len(bits))
        else:
            field = struct.pack(order + ("I" if kind == 4 else "HH"), value, *([0] * (kind == 3)))
        out += struct.pack(order + "HHI", tag, kind, count) + field
    return out + bytes(4) + bits + data
