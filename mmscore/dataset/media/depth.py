"""Images of more than eight bits a channel, brought to eight by the depth their values use.

Cameras and scanners of 10, 12 or 14 bits write their values into files of 16, so that a division by
the file's range would show them nearly black. How many bits count is what the file declares (`sBIT`
of a PNG, `BitsPerSample` of a TIFF, the precision of JPEG 2000) or else what the largest value
needs: 8, 10, 12, 14 or 16. Pillow hands out grey values whole and of colours the upper byte alone;
their lower byte comes from a second decoding that reads the file in the other byte order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, cast
from zlib import crc32

from mmscore.dataset.media.decoding import png_chunks, without_texts
from mmscore.errors import MediaError

if TYPE_CHECKING:
    from PIL import Image

DEPTHS = (8, 10, 12, 14, 16)
"""The bits that values are taken to use where the file does not say."""

STRIP_BYTES = 4 * 1024 * 1024
"""Pixels are worked on in strips of about this size: a copy of a large image has no room."""

_FULL = 65535
_BITS_PER_SAMPLE, _PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0


def eight_bits(image: Image.Image, data: bytes, name: str, notes: list[str]) -> Image.Image:
    """The image with eight bits a channel; itself where it has no more, or shows rightly as it is.

    Args:
        image: As it was decoded.
        data: The file it was decoded from.
        name: The image's place, for errors.
        notes: Takes a sentence where values were scaled.

    Raises:
        MediaError: Its values use only bits that cannot be read here.
    """
    if image.mode.startswith("I") or image.mode == "F":
        return _grey(image, data, notes)
    if image.mode in ("RGB", "RGBA", "LA") and _is_deep_colour(image, data):
        return _colours(image, data, name, notes)
    return image


def top_value(largest: float, declared: int | None) -> int:
    """The value that becomes white: of the bits declared, or of those that the largest needs.

    Values above what is declared were shifted up to the file's whole range, as PNG has it.
    """
    if declared is not None and 0 < declared < 16:
        return (1 << declared) - 1 if largest < 1 << declared else _FULL
    bits = int(largest).bit_length()
    return (1 << next(depth for depth in DEPTHS if bits <= depth)) - 1


def strips(image: Image.Image) -> Iterator[tuple[int, int, int, int]]:
    """Yield boxes that cover the image from top to bottom."""
    rows = max(1, STRIP_BYTES // (4 * image.width))
    for top in range(0, image.height, rows):
        yield 0, top, image.width, min(top + rows, image.height)


# --- grey ----------------------------------------------------------------------------------------


def _grey(image: Image.Image, data: bytes, notes: list[str]) -> Image.Image:
    """Grey of 16 or 32 bits or floats, scaled to 8 bits.

    The whole range of the bits in use is scaled where the values lie in it (of floats 0 to 1 and 0
    to 255), so that pictures of one set stay comparable; otherwise their own range is.
    """
    low, high = _extrema(image)
    if image.mode == "F" or low < 0 or high > _FULL or _is_signed(data):
        start, end = _range(image.mode, low, high)
        scale = 255 / (end - start) if end > start else 0.0
        notes.append(f"grey {image.mode} scaled to 8 bits, {start:g} to {end:g}")
        return _by_strips(
            image,
            lambda part: (
                _wide(part).point(lambda value: value * scale + (0.5 - start * scale)).convert("L")
            ),
        )
    top = _declared_top(image, data, high)
    notes.append(f"grey {image.mode} scaled to 8 bits, 0 to {top}")
    table = _table(top)
    if image.mode != "I" and _tag(image, _PHOTOMETRIC) == (_WHITE_IS_ZERO,):
        table = [255 - value for value in table]
        notes.append("white is 0 in this file, so grey is turned round")
    return _by_strips(image, lambda part: part.convert("I").point(table, "L"))


def _declared_top(image: Image.Image, data: bytes, high: float) -> int:
    precision = _jpeg2000_precision(data)
    if precision is not None and precision < 16:
        # Pillow shifts such values up to 16 bits.
        return ((1 << precision) - 1) << (16 - precision)
    bits = _tag(image, _BITS_PER_SAMPLE)
    return top_value(high, bits[0] if bits else _significant_bits(data))


def _table(top: int) -> list[int]:
    """Value -> grey of 8 bits, rounded, for all values of 16 bits."""
    return [min(255, (value * 510 + top) // (2 * top)) for value in range(_FULL + 1)]


def _wide(image: Image.Image) -> Image.Image:
    return image if image.mode == "F" else image.convert("I").convert("F")


def _extrema(image: Image.Image) -> tuple[float, float]:
    """The smallest and the largest value."""
    pairs = [
        # One channel, so this is a pair of numbers.
        cast("tuple[float, float]", _wide(image.crop(box)).getextrema())
        for box in strips(image)
    ]
    return min(low for low, _ in pairs), max(high for _, high in pairs)


def _range(mode: str, low: float, high: float) -> tuple[float, float]:
    """The range that is scaled where the values are not those of so many bits."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return 0.0, 1.0
    usual = [(0.0, 1.0), (0.0, 255.0)] if mode == "F" else []
    return next((span for span in usual if span[0] <= low and high <= span[1]), (low, high))


def _by_strips(image: Image.Image, change: Callable[[Image.Image], Image.Image]) -> Image.Image:
    from PIL import Image

    out = Image.new("L", image.size)
    for box in strips(image):
        out.paste(change(image.crop(box)), box)
    out.info = dict(image.info)
    out.info.pop("transparency", None)  # one of 16 bits, which no pixel of 8 has
    return out


# --- colours -------------------------------------------------------------------------------------


def _colours(image: Image.Image, data: bytes, name: str, notes: list[str]) -> Image.Image:
    """Colours of more than 8 bits, of which the image holds the upper eight.

    Where the values reach into the upper bits, those are what everybody shows, and the image is
    given back as it is. Otherwise all values are scaled by the bits they use.
    """
    bands = image.getbands()
    colours = len(bands) - (bands[-1] == "A")
    spans = cast("tuple[tuple[int, int], ...]", image.getextrema())
    upper = max(high for _, high in spans[:colours])
    key = image.info.get("transparency")
    if isinstance(key, tuple):  # a colour of 16 bits
        image.info["transparency"] = tuple(value >> 8 for value in key)
    shift = (_jpeg2000_precision(data) or 16) - 8
    declared = _significant_bits(data)
    if top_value(upper << shift, declared) >> shift >= 255:
        return image
    lower = _lower_bytes(image, data)
    largest = upper << shift
    if upper == 0 and lower is not None:
        below = cast("tuple[tuple[int, int], ...]", lower.getextrema())
        largest = max(high for _, high in below[:colours])
    elif upper == 0 and shift == 8:
        raise MediaError(
            f"`{name}` has values of 16 bits of which only the lower 8 are used, and those cannot "
            "be read here",
            hint="convert it to PNG",
        )
    top = top_value(largest, declared)
    notes.append(f"{image.mode} of {shift + 8} bits scaled to 8 bits, 0 to {top}")
    tops = [top] * colours
    if colours < len(bands):
        tops.append(top if spans[-1][1] <= top >> shift else (256 << shift) - 1)
    return _scaled(image, lower, tops, shift)


def _scaled(
    upper: Image.Image, lower: Image.Image | None, tops: Sequence[int], shift: int
) -> Image.Image:
    """Each channel scaled by its top value; done in place, for there may be no room for a copy."""
    from PIL import Image

    levels = [_levels(max(1, top >> shift)) for top in tops]
    tables = None if lower is None else [_table(top) for top in tops]
    for box in strips(upper):
        highs = upper.crop(box).split()
        if lower is None or tables is None:
            scaled = [high.point(table) for high, table in zip(highs, levels, strict=True)]
        else:
            scaled = [
                Image.frombytes("I;16", high.size, Image.merge("LA", (low, high)).tobytes())
                .convert("I")
                .point(table, "L")
                for high, low, table in zip(highs, lower.crop(box).split(), tables, strict=True)
            ]
        upper.paste(Image.merge(upper.mode, scaled), box)
    return upper


def _levels(top: int) -> list[int]:
    """Upper byte -> grey of 8 bits, where no more than that byte is known."""
    return [min(255, (value * 510 + top) // (2 * top)) for value in range(256)]


def _lower_bytes(image: Image.Image, data: bytes) -> Image.Image | None:
    """The image of the lower bytes, in the same mode; None where Pillow cannot be made to read it.

    The byte that stands second is the lower one, and the upper one to a reader of the other byte
    order.
    """
    from PIL import Image

    data = without_texts(data) or data
    if image.format == "PNG" and data[25:26] == b"\x04":
        return _lower_grey_alpha(data)
    try:
        other = Image.open(BytesIO(data), formats=[image.format or ""])
        tiles = [_other_order(tile) for tile in other.tile]
        if not tiles or tiles == other.tile:
            return None
        other.tile = tiles  # type: ignore[assignment]  # tuples with names in newer versions
        other.load()
    except Exception:  # no such reader in this version: the upper bytes must do
        return None
    return other if (other.mode, other.size) == (image.mode, image.size) else None


_OTHER = {";16B": ";16L", ";16L": ";16B", ";16N": ";16B"}
"""Pillow's names of byte orders; `N` is this machine's, the upper byte last on all we know."""


def _other_order(tile: tuple[object, ...]) -> tuple[object, ...]:
    """A tile of Pillow's (codec, box, offset, arguments), read in the other byte order."""
    codec, box, offset, args = tile[:4]
    first = args[0] if isinstance(args, tuple) else args
    if not isinstance(first, str) or first[-4:] not in _OTHER:
        return tile
    changed = first[:-4] + _OTHER[first[-4:]]
    more = (changed, *args[1:]) if isinstance(args, tuple) else changed
    make = getattr(type(tile), "_make", tuple)
    return cast("tuple[object, ...]", make((codec, box, offset, more)))


def _lower_grey_alpha(data: bytes) -> Image.Image:
    """The lower bytes of a PNG of grey and alpha in 16 bits, as RGBA.

    Its four bytes a pixel are read as those of an RGBA image of 8 bits.
    """
    from PIL import Image

    head = b"IHDR" + data[16:24] + b"\x08\x06" + data[26:29]
    told = data[:12] + head + crc32(head).to_bytes(4, "big")
    with Image.open(BytesIO(told + data[33:]), formats=["PNG"]) as pairs:
        _, grey, _, alpha = pairs.split()
        return Image.merge("RGBA", (grey, grey, grey, alpha))


# --- what files declare --------------------------------------------------------------------------


def _is_deep_colour(image: Image.Image, data: bytes) -> bool:
    """Whether the file has more than eight bits of each colour."""
    if image.format == "PNG":
        return data[24:25] == b"\x10"
    precision = _jpeg2000_precision(data)
    if precision is not None:
        return 8 < precision <= 16
    return any(isinstance(bits, int) and bits == 16 for bits in _tag(image, _BITS_PER_SAMPLE))


def _significant_bits(data: bytes) -> int | None:
    """The most bits that a PNG's `sBIT` declares of a colour; None without one."""
    for kind, begin, end in png_chunks(data):
        if kind == b"sBIT":
            bits = data[begin + 8 : end - 4]
            return max(bits[: 3 if len(bits) > 2 else 1], default=None)
        if kind == b"IDAT":
            return None
    return None


_SIZE_MARK = re.compile(rb"\xff\x4f\xff\x51")


def _jpeg2000_size(data: bytes) -> int | None:
    """Sign and precision of the first component of JPEG 2000, as its header packs them."""
    if not data.startswith((b"\xff\x4f\xff\x51", b"\x00\x00\x00\x0cjP  ")):
        return None
    mark = _SIZE_MARK.search(data)
    at = mark.start() + 42 if mark is not None else len(data)
    return data[at] if at < len(data) else None


def _jpeg2000_precision(data: bytes) -> int | None:
    packed = _jpeg2000_size(data)
    return None if packed is None else (packed & 0x7F) + 1


def _is_signed(data: bytes) -> bool:
    packed = _jpeg2000_size(data)
    return packed is not None and packed >= 0x80


def _tag(image: Image.Image, number: int) -> tuple[int, ...]:
    """The values of a TIFF's tag; empty for any other file."""
    tags = getattr(image, "tag_v2", None)
    value = () if tags is None else tags.get(number, ())
    return value if isinstance(value, tuple) else (value,)


__all__ = ["eight_bits", "strips", "top_value"]
