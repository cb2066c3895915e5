"""Images as they are sent: unchanged, or changed and noted; hostile ones refused."""

from __future__ import annotations

import base64
import zlib
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, features

import mmscore._core as _core
from mmscore.dataset.media.image import (
    ImageLimits,
    PreparedImage,
    base64_length,
    check_image,
    image_type,
    prepare_image,
)
from mmscore.errors import DataError, MediaError


def encoded(image: Image.Image, kind: str, **options: Any) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def photo(width: int = 64, height: int = 48, mode: str = "RGB") -> Image.Image:
    """Smooth colours with some detail, so that encoders have work to do."""
    image = Image.new("RGB", (width, height))
    image.putdata(
        [((x * 5) % 256, (y * 7) % 256, (x * y) % 256) for y in range(height) for x in range(width)]
    )
    return image.convert(mode)


def noise(width: int, height: int) -> Image.Image:
    state, pixels = 1, bytearray()
    for _ in range(width * height * 3):
        state = state * 1103515245 + 12345 & 0x7FFFFFFF
        pixels.append(state >> 16 & 255)
    return Image.frombytes("RGB", (width, height), bytes(pixels))


def opened(prepared: PreparedImage) -> Image.Image:
    image = Image.open(BytesIO(prepared.data))
    image.load()
    assert Image.MIME[image.format or ""] == prepared.mime
    return image


AS_IS = {
    "jpeg": encoded(photo(), "JPEG"),
    "grey jpeg": encoded(photo(mode="L"), "JPEG"),
    "progressive jpeg": encoded(photo(), "JPEG", progressive=True),
    "jpeg with bytes after its end": encoded(photo(), "JPEG") + b"\0\0trailer",
    "png": encoded(photo(), "PNG"),
    "palette png": encoded(photo().quantize(16), "PNG"),
    "1-bit png": encoded(photo(mode="1"), "PNG"),
    "opaque rgba png": encoded(photo(mode="RGBA"), "PNG"),
    "1x1 png": encoded(photo(1, 1), "PNG"),
    "17x21 png": encoded(photo(17, 21), "PNG"),
}


@pytest.mark.parametrize("data", AS_IS.values(), ids=AS_IS.keys())
def test_what_endpoints_take_goes_out_unchanged(data: bytes) -> None:
    prepared = prepare_image(data, ImageLimits(max_bytes=10**6, min_side=1, max_pixels=10**6))
    assert prepared.data is data
    assert prepared.mime == image_type(data)
    assert prepared.notes == ()


def test_a_rotated_jpeg_goes_out_unchanged() -> None:
    data = encoded(photo(), "JPEG", exif=orientation(6))
    assert prepare_image(data).data is data


def test_an_animated_png_is_sent_as_the_png_it_is() -> None:
    frames = [photo(8, 8), photo(8, 8, "L").convert("RGB")]
    data = encoded(frames[0], "PNG", save_all=True, append_images=frames[1:])
    assert _core.sniff(data) == "image/apng"
    assert prepare_image(data) == PreparedImage(data, "image/png")


@pytest.mark.parametrize(
    ("kind", "sent_as"),
    [
        ("GIF", "image/png"),
        ("BMP", "image/png"),
        ("TIFF", "image/png"),
        ("ICO", "image/png"),
        ("WEBP", "image/jpeg"),
        pytest.param(
            *("AVIF", "image/jpeg"),
            marks=pytest.mark.skipif(
                "avif" not in features.get_supported_modules(),
                reason="this Pillow knows no AVIF, as before 11.3",
            ),
        ),
    ],
)
def test_other_formats_are_encoded_anew(kind: str, sent_as: str) -> None:
    data = encoded(photo(), kind)
    prepared = prepare_image(data)
    assert opened(prepared).size == Image.open(BytesIO(data)).size
    assert prepared.mime == sent_as
    *_, last = prepared.notes
    assert f"of {len(data)} bytes to {sent_as} of {len(prepared.data)} bytes" in last


def test_of_an_animation_the_first_frame_is_sent() -> None:
    first, second = Image.new("RGB", (8, 8), "red"), Image.new("RGB", (8, 8), "blue")
    data = encoded(first, "GIF", save_all=True, append_images=[second])
    prepared = prepare_image(data)
    assert opened(prepared).convert("RGB").getpixel((4, 4)) == (255, 0, 0)
    assert prepared.notes[0] == "first of 2 frames"


def test_sixteen_bits_are_scaled_not_clipped() -> None:
    image = Image.new("I;16", (2, 1))
    image.putpixel((0, 0), 1000)
    image.putpixel((1, 0), 60000)
    prepared = prepare_image(encoded(image, "PNG"))
    seen = opened(prepared)
    assert (seen.mode, list(seen.tobytes())) == ("L", [4, 233])
    assert "scaled to 8 bits, 0 to 65535" in prepared.notes[0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 0.5, 1.0], [0, 128, 255]),
        ([0.0, 100.0, 255.0], [0, 100, 255]),
        ([-1000.0, 0.0, 1000.0], [0, 128, 255]),
        ([7.0, 7.0, 1e6], [0, 0, 255]),
        ([500.0, 500.0, 500.0], [0, 0, 0]),
    ],
)
def test_floats_are_scaled_by_a_range_that_fits(values: list[float], expected: list[int]) -> None:
    image = Image.new("F", (3, 1))
    image.putdata(values)
    assert list(opened(prepare_image(encoded(image, "TIFF"))).tobytes()) == expected


def test_transparent_pixels_are_laid_on_white() -> None:
    image = Image.new("RGBA", (2, 1), (0, 0, 0, 0))
    image.putpixel((0, 0), (0, 0, 0, 255))
    for data in [encoded(image, "PNG"), encoded(image.quantize(4), "PNG")]:
        prepared = prepare_image(data)
        seen = opened(prepared)
        assert [seen.getpixel((x, 0)) for x in (0, 1)] == [(0, 0, 0), (255, 255, 255)]
        assert prepared.notes[0] == "transparency laid on white"


def test_cmyk_becomes_rgb() -> None:
    data = encoded(Image.new("RGB", (16, 16), (200, 30, 60)).convert("CMYK"), "JPEG", quality=95)
    prepared = prepare_image(data)
    pixel = opened(prepared).getpixel((8, 8))
    assert isinstance(pixel, tuple)
    assert all(abs(found - wanted) < 12 for found, wanted in zip(pixel, (200, 30, 60), strict=True))
    assert prepared.notes[0] == "CMYK to RGB"


def orientation(value: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x0112] = value
    return exif


def test_orientation_is_applied_when_encoding_anew() -> None:
    image = Image.new("RGB", (40, 20), "red")
    image.paste("blue", (0, 0, 20, 20))
    data = encoded(image, "JPEG", exif=orientation(6), quality=95)
    prepared = prepare_image(data, ImageLimits(max_pixels=799))
    turned = opened(prepared)
    assert turned.width < turned.height
    top, bottom = (turned.getpixel((5, y)) for y in (3, turned.height - 4))
    assert isinstance(top, tuple)
    assert isinstance(bottom, tuple)
    assert (top[2] > 200, bottom[0] > 200) == (True, True)
    assert prepared.notes[0] == "EXIF orientation 6 applied, 40x20 to 20x40"
    assert turned.getexif().get(0x0112, 1) == 1, "or the next reader would turn it again"


def test_unreadable_exif_is_ignored() -> None:
    plain = encoded(photo(), "JPEG")
    bad = b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + b"\xff" * 40
    data = plain[:2] + b"\xff\xe1" + (len(bad) + 2).to_bytes(2, "big") + bad + plain[2:]
    assert prepare_image(data).data is data
    prepared = prepare_image(data, ImageLimits(max_pixels=1000))
    assert opened(prepared).width * opened(prepared).height <= 1000
    assert prepared.notes[0] == "unreadable EXIF ignored"
    assert check_image(data).notes == ("unreadable EXIF ignored",)


@pytest.mark.parametrize(
    ("size", "expected"),
    [((17, 21), (28, 35)), ((1, 1), (28, 28)), ((300, 27), (311, 28)), ((5000, 2), (5000, 28))],
)
def test_small_images_are_made_as_large_as_needed(
    size: tuple[int, int], expected: tuple[int, int]
) -> None:
    prepared = prepare_image(
        encoded(Image.new("RGB", size, "red"), "PNG"), ImageLimits(min_side=28)
    )
    assert opened(prepared).size == expected
    assert f"{size[0]}x{size[1]}" in prepared.notes[0]
    assert f"{expected[0]}x{expected[1]}" in prepared.notes[0]


def test_large_images_are_made_smaller_in_proportion() -> None:
    data = encoded(Image.new("RGB", (4130, 3564), "green"), "PNG")
    prepared = prepare_image(data, ImageLimits(max_pixels=200704))
    width, height = opened(prepared).size
    assert 0.98 * 200704 < width * height <= 200704
    assert abs(width / height - 4130 / 3564) < 0.01
    assert prepared.notes[0] == f"4130x3564 to {width}x{height}, at most 200704 pixels"


@pytest.mark.parametrize("limit", [3000, 20_000, 60_000])
def test_the_limit_counts_base64_and_is_kept(limit: int) -> None:
    data = encoded(noise(200, 150), "PNG")
    assert base64_length(len(data)) > limit
    prepared = prepare_image(data, ImageLimits(max_bytes=limit))
    uri = _core.data_uri(prepared.data, prepared.mime)
    assert len(uri.split(b",")[1]) <= limit
    assert opened(prepared).format == "JPEG"
    just = ImageLimits(max_bytes=base64_length(len(data)))
    assert prepare_image(data, just).data is data


def test_an_image_that_cannot_fit_is_refused() -> None:
    with pytest.raises(MediaError, match="cannot be made to fit 100 base64 bytes"):
        prepare_image(encoded(noise(64, 64), "PNG"), ImageLimits(max_bytes=100))


JPEG, PNG = AS_IS["jpeg"], AS_IS["png"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "`x.png` is empty"),
        (b"this is a text file\n", "`x.png` is no image of a known type, it begins with b'this"),
        (b"%PDF-1.7 ...", "`x.png` is no image but application/pdf"),
        (
            JPEG[: len(JPEG) * 6 // 10],
            "`x.png` is cut short: its .* bytes of image/jpeg",
        ),
        (PNG[: len(PNG) * 6 // 10], "`x.png` is cut short: its .* bytes of image/png have no end"),
        (PNG[:20], "`x.png` is damaged: no dimensions"),
        (b"\xff\xd8\xff\xd9", "`x.png` is damaged: no dimensions"),
        (encoded(photo(), "GIF")[:300], "`x.png` is damaged image/gif"),
        (encoded(photo(), "WEBP")[:200], "`x.png` is "),
        (encoded(photo(), "TIFF")[:300], "`x.png` is "),
        (b"BM" + b"\0" * 60, "`x.png` is "),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + b"\0" * 40, "`x.png` is image/heic, which cannot"),
    ],
)
def test_what_is_no_sound_image_is_not_sent(data: bytes, message: str) -> None:
    for function in (prepare_image, check_image):
        with pytest.raises(MediaError, match=message):
            function(data, name="x.png")


def test_pixels_that_do_not_decode_are_found_by_the_check() -> None:
    at = PNG.index(b"IDAT") + 20
    data = PNG[:at] + bytes(byte ^ 0xFF for byte in PNG[at : at + 60]) + PNG[at + 60 :]
    assert prepare_image(data).data is data
    with pytest.raises(MediaError, match="is damaged image/png"):
        check_image(data)


def test_the_check_tells_what_it_decoded() -> None:
    checked = check_image(encoded(photo(17, 21), "JPEG"))
    assert (checked.mime, checked.width, checked.height, checked.mode, checked.frames) == (
        "image/jpeg",
        17,
        21,
        "RGB",
        1,
    )


def test_a_pixel_bomb_is_refused() -> None:
    bomb = bytearray(encoded(Image.new("1", (8, 8)), "BMP"))
    bomb[18:26] = (60_000).to_bytes(4, "little") * 2
    png = bytearray(encoded(photo(mode="LA"), "PNG"))
    png[16:24] = (20_000).to_bytes(4, "big") * 2
    png[29:33] = zlib.crc32(png[12:29]).to_bytes(4, "big")
    for data in (bytes(bomb), bytes(png)):
        with pytest.raises(MediaError, match="has too many pixels"):
            prepare_image(data)


@given(st.sampled_from(sorted(AS_IS)), st.data())
def test_damage_ends_in_an_image_or_a_media_error(kind: str, data: st.DataObject) -> None:
    bytes_ = bytearray(AS_IS[kind])
    for at in data.draw(st.lists(st.integers(0, len(bytes_) - 1), max_size=4)):
        bytes_[at] = data.draw(st.integers(0, 255))
    try:
        prepared = prepare_image(bytes(bytes_), ImageLimits(max_pixels=500, max_bytes=4000))
    except MediaError:
        return
    assert base64_length(len(prepared.data)) <= 4000


# The core's functions, judged by what they stand for.


@given(st.binary(max_size=200), st.sampled_from(["image/png", "audio/x-wav", ""]))
def test_data_uri_equals_the_standard_library(data: bytes, mime: str) -> None:
    expected = f"data:{mime};base64,{base64.b64encode(data).decode()}".encode()
    assert _core.data_uri(data, mime) == expected


@given(st.binary(max_size=200), st.booleans(), st.booleans(), st.integers(0, 80))
def test_decode_base64_reads_every_spelling(
    data: bytes, url_safe: bool, padded: bool, every: int
) -> None:
    text = (base64.urlsafe_b64encode if url_safe else base64.b64encode)(data).decode()
    text = text if padded else text.rstrip("=")
    if every:
        text = "\r\n".join(text[at : at + every] for at in range(0, len(text), every))
    assert _core.decode_base64(text) == data
    assert _core.decode_base64(text.encode()) == data
    assert _core.decode_base64(f"data:image/png;base64,{text}") == data


@pytest.mark.parametrize("text", ["a", "aG!k", "\ud83d", "é", "data:,hello"])
def test_decode_base64_refuses_what_cannot_be(text: str) -> None:
    with pytest.raises(DataError, match="bad base64 at position"):
        _core.decode_base64(text)
