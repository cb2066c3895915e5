"""Images of more than eight bits a channel: what is bright in them is bright when it is sent."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import chain, repeat

import pytest
from PIL import Image
from support.images import GREY, GREY_ALPHA, RGB, RGBA, chunk, deep_png, deep_tiff, saved

from mmscore.dataset.media.depth import eight_bits, top_value
from mmscore.dataset.media.image import PreparedImage, check_image, prepare_image
from mmscore.errors import MediaError

STEPS = 16
FULL = 65535


def ramp(top: int) -> list[int]:
    """Values from 0 to `top` in equal steps."""
    return [round(top * step / (STEPS - 1)) for step in range(STEPS)]


def with_alpha(values: Sequence[int], channels: int, alpha: int) -> list[int]:
    return [one for value in values for one in (*repeat(value, channels), alpha)]


def times(values: Sequence[int], channels: int) -> list[int]:
    return list(chain.from_iterable(repeat(value, channels) for value in values))


def jpeg2000(values: Sequence[int]) -> bytes:
    data = struct.pack(f"<{len(values)}H", *values)
    return saved(Image.frombytes("I;16", (len(values), 1), data), "JPEG2000")


def tiff_of(channels: int, order: str, *, packed: bool) -> Callable[[list[int]], bytes]:
    def made(values: list[int]) -> bytes:
        pixels = with_alpha(values, 3, FULL) if channels == 4 else times(values, channels)
        return deep_tiff(pixels, channels, order=order, packed=packed)

    return made


FILES: dict[str, Callable[[list[int]], bytes]] = {
    "grey png": lambda values: deep_png(GREY, values),
    "grey and alpha png": lambda values: deep_png(GREY_ALPHA, with_alpha(values, 1, FULL)),
    "rgb png": lambda values: deep_png(RGB, times(values, 3)),
    "rgba png": lambda values: deep_png(RGBA, with_alpha(values, 3, FULL)),
    "grey jpeg 2000": jpeg2000,
    **{
        f"tiff of {channels}, {order} {packed}": tiff_of(channels, order, packed=packed)
        for channels in (1, 3, 4)
        for order in "<>"
        for packed in (False, True)
    },
}


def greys(prepared: PreparedImage) -> list[int]:
    image = Image.open(BytesIO(prepared.data))
    return list(image.convert("RGB").convert("L").tobytes())


@pytest.mark.parametrize("depth", [8, 10, 12, 14, 16])
@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
def test_values_are_scaled_by_the_bits_they_use(
    file: Callable[[list[int]], bytes], depth: int
) -> None:
    seen = greys(prepare_image(file(ramp((1 << depth) - 1))))
    assert all(abs(a - b) <= 1 for a, b in zip(seen, ramp(255), strict=True)), seen


@pytest.mark.parametrize("depth", range(8, 17))
@pytest.mark.parametrize("file", FILES.values(), ids=FILES.keys())
def test_no_depth_comes_out_dark(file: Callable[[list[int]], bytes], depth: int) -> None:
    data = file(ramp((1 << depth) - 1))
    assert max(greys(prepare_image(data))) >= 127
    assert check_image(data).blank is None


@pytest.mark.parametrize("depth", [9, 11, 12, 13])
def test_significant_bits_count_where_a_png_declares_them(depth: int) -> None:
    half = ramp((1 << depth) // 2 - 1)
    declared = chunk(b"sBIT", bytes([depth]))
    assert max(greys(prepare_image(deep_png(GREY, half, declared)))) in (127, 128)
    colours = deep_png(RGB, times(half, 3), chunk(b"sBIT", bytes([depth] * 3)))
    assert max(greys(prepare_image(colours))) in (127, 128)
    # The format's own way is to shift such values up; then they use all bits.
    shifted = [value << 16 - depth for value in ramp((1 << depth) - 1)]
    assert max(greys(prepare_image(deep_png(GREY, shifted, declared)))) >= 254


@pytest.mark.parametrize(
    ("largest", "declared", "expected"),
    [
        (0, None, 255),
        (255, None, 255),
        (256, None, 1023),
        (4095, None, 4095),
        (4096, None, 16383),
        (16384, None, 65535),
        (100, 12, 4095),
        (4095, 12, 4095),
        (4096, 12, 65535),
        (100, 16, 255),
        (100, 0, 255),
    ],
)
def test_which_value_becomes_white(largest: int, declared: int | None, expected: int) -> None:
    assert top_value(largest, declared) == expected


@pytest.mark.parametrize("depth", [8, 12])
def test_alpha_of_the_same_depth_is_opaque(depth: int) -> None:
    top = (1 << depth) - 1
    for colour, channels in ((RGBA, 3), (GREY_ALPHA, 1)):
        prepared = prepare_image(deep_png(colour, with_alpha(ramp(top), channels, top)))
        assert all(abs(a - b) <= 1 for a, b in zip(greys(prepared), ramp(255), strict=True))
        assert "transparency" not in " ".join(prepared.notes)


def test_transparent_pixels_of_deep_colours_are_laid_on_white() -> None:
    data = deep_png(RGBA, [4095, 0, 0, FULL, 0, 0, 0, 0])
    prepared = prepare_image(data)
    image = Image.open(BytesIO(prepared.data)).convert("RGB")
    assert [image.getpixel((x, 0)) for x in (0, 1)] == [(255, 0, 0), (255, 255, 255)]


def test_colours_of_full_depth_go_out_as_they_are() -> None:
    data = deep_png(RGB, times(ramp(FULL), 3))
    assert prepare_image(data) == PreparedImage(data, "image/png")


def test_signed_values_are_scaled_by_their_own_range() -> None:
    seen = greys(prepare_image(deep_tiff([-1024, 0, 1024, 3071], signed=True)))
    assert seen == [0, 64, 128, 255]


def test_white_may_be_zero() -> None:
    prepared = prepare_image(deep_tiff([0, 2048, 4095], white_is_zero=True))
    assert greys(prepared) == [255, 127, 0]
    assert "white is 0" in " ".join(prepared.notes)


def test_colours_of_jpeg_2000_are_scaled_by_the_byte_that_can_be_read() -> None:
    # Pillow writes no such file, so the header alone says what the decoded upper bytes are of.
    header = b"\xff\x4f\xff\x51" + bytes(38)
    for precision, top in ((16, 15), (14, 63)):
        image = Image.frombytes("RGB", (STEPS, 1), bytes(times(ramp(top), 3)))
        notes: list[str] = []
        seen = eight_bits(image, header + bytes([precision - 1]), "x", notes)
        assert max(seen.convert("L").tobytes()) == 255
        assert f"RGB of {precision} bits scaled" in notes[0]
    dark = Image.new("RGB", (2, 2))
    with pytest.raises(MediaError, match="only the lower 8 are used"):
        eight_bits(dark, header + b"\x0f", "x", [])


def test_nearly_black_and_nearly_white_are_told() -> None:
    for values, expected in (([3] * 64, "black"), ([250] * 64, "white"), (ramp(255), None)):
        image = Image.frombytes("L", (len(values), 1), bytes(values))
        assert check_image(saved(image)).blank == expected
