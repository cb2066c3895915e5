"""Damaged, oversized and unfinished image files, and the memory that decoding may take."""

from __future__ import annotations

import subprocess
import sys
import threading
import zlib
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from support import SHARED
from support.images import chunk, image_file, knows_avif, saved

from mmscore.dataset.media import decoding, pixels
from mmscore.dataset.media.decoding import DecodeMemory
from mmscore.dataset.media.image import check_image, prepare_image
from mmscore.dataset.media.pixels import ImageLimits, fitted
from mmscore.errors import MediaError

JPEG, PNG = image_file("JPEG"), image_file("PNG")


def png_with(*chunks: bytes, mode: str = "RGBA") -> bytes:
    picture = Image.open(BytesIO(PNG)).convert(mode)
    if mode == "RGBA":
        picture.putpixel((0, 0), (0, 0, 0, 0))
    data = saved(picture)
    return data[:33] + b"".join(chunks) + data[33:]


LARGE = zlib.compress(bytes(2_000_000))
ANCILLARY = {
    "zTXt": chunk(b"zTXt", b"k\0\0" + LARGE),
    "iTXt": chunk(b"iTXt", b"k\0\1\0\0\0" + LARGE),
    "iCCP": chunk(b"iCCP", b"k\0\0" + LARGE),
    "a wrong checksum": chunk(b"tEXt", b"k\0v")[:-4] + b"....",
}


@pytest.mark.parametrize("more", ANCILLARY.values(), ids=ANCILLARY.keys())
def test_texts_and_profiles_of_a_png_spoil_nothing(more: bytes) -> None:
    plain = prepare_image(png_with())
    prepared = prepare_image(png_with(more))
    assert prepared.data == plain.data
    opaque = png_with(more, mode="RGB")
    assert prepare_image(opaque).data is opaque
    assert check_image(opaque).mode == "RGB"


@pytest.mark.parametrize("name", ["ztxt.png", "iccp.png", "ztxt_opaque.png"])
def test_such_files_seen_in_public(name: str) -> None:
    path = SHARED / "faults" / "P17" / name
    if not path.is_file():
        pytest.skip(f"no {path}; MMSCORE_SHARED names its folder")
    assert check_image(path.read_bytes()).sent.data


UNFINISHED = {
    "jpeg without its end": JPEG[:-2],
    "jpeg without its end, with a trailer": JPEG[:-2] + b"SEFT" * 100,
    "progressive jpeg without its end": image_file("JPEG", progressive=True)[:-2],
    "png without its end": PNG[:-12],
    "png with half of its end": PNG[:-6],
}


@pytest.mark.parametrize("data", UNFINISHED.values(), ids=UNFINISHED.keys())
def test_a_picture_without_an_end_mark_is_sent_when_it_is_whole(data: bytes) -> None:
    prepared = prepare_image(data)
    assert prepared.data.startswith(data)
    assert "no end mark though all pixels are there" in prepared.notes[0]
    with Image.open(BytesIO(prepared.data)) as image:
        image.load()  # as an endpoint would
    assert check_image(data).notes == prepared.notes


CUT = {
    f"{kind}, {part} %": data[: len(data) * part // 100]
    for kind, data in (
        ("jpeg", image_file("JPEG", (200, 150))),
        ("progressive", image_file("JPEG", (200, 150), progressive=True)),
        ("png", image_file("PNG", (200, 150))),
    )
    for part in (40, 60, 90)
}


@pytest.mark.parametrize("data", CUT.values(), ids=CUT.keys())
def test_a_picture_of_which_a_part_is_missing_is_not_sent(data: bytes) -> None:
    for trailer in (b"", b"\0" * 64):
        with pytest.raises(MediaError, match="is cut short"):
            prepare_image(data + trailer, name="x")


UNKNOWN = ["PPM", "TGA", "PCX", "SGI", "QOI", "DDS"]


@pytest.mark.parametrize("kind", UNKNOWN)
def test_bytes_of_no_known_type_are_handed_to_pillow(kind: str) -> None:
    Image.init()
    if kind not in Image.SAVE:
        pytest.skip(f"this Pillow writes no {kind}")
    prepared = prepare_image(image_file(kind))
    assert prepared.mime == "image/png"
    assert check_image(image_file(kind)).encoded_anew


def test_no_decoder_that_starts_other_programs_is_asked() -> None:
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"
    with pytest.raises(MediaError, match="is no image"):
        prepare_image(postscript)
    with pytest.raises(MediaError, match="is no image"):
        prepare_image(b"\n" + postscript)


DAMAGED = [
    b"\x89PNG\r\n\x1a\n" + bytes(40),
    b"GIF89a" + bytes(10),
    b"II*\0" + bytes(30),
    b"RIFF\x20\0\0\0WEBPVP8 " + bytes(30),
    b"\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14ftypjp2 " + bytes(60),
    b"8BPS" + bytes(40),
    b"\0\0\1\0\1\0" + bytes(40),
    b"P6 9 9 255\n",
    b"qoif" + bytes(20),
    *(
        image_file(kind)[: len(image_file(kind)) // 2]
        for kind in (
            "GIF",
            "BMP",
            "TIFF",
            "WEBP",
            "JPEG2000",
            "ICO",
            *(["AVIF"] if knows_avif() else []),
        )
    ),
]


@pytest.mark.parametrize("data", DAMAGED, ids=lambda data: repr(data[:6]))
def test_no_message_holds_the_address_of_an_object(data: bytes) -> None:
    for function in (prepare_image, check_image):
        with pytest.raises(MediaError) as caught:
            function(data, name="x")
        assert " at 0x" not in caught.value.message and "<" not in caught.value.message


# --- memory --------------------------------------------------------------------------------------


def test_what_is_decoded_at_once_stays_within_the_memory() -> None:
    memory = DecodeMemory(100)
    used, most, lock = 0, 0, threading.Lock()
    all_here = threading.Barrier(8)

    def take(size: int) -> None:
        nonlocal used, most
        all_here.wait()
        for _ in range(20):
            with memory.taken(size):
                with lock:
                    used += min(size, 100)
                    most = max(most, used)
                with lock:
                    used -= min(size, 100)

    threads = [threading.Thread(target=take, args=(size,)) for size in (10, 30, 60, 500) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert most <= 100


def test_who_wants_most_is_not_overtaken_for_ever() -> None:
    order, told = list[str](), list[str]()
    memory = DecodeMemory(100, lambda: told.append("waits"))

    def large() -> None:
        with memory.taken(100):
            order.append("large")

    def small() -> None:
        with memory.taken(10):
            order.append("small")

    with memory.taken(50):
        first = threading.Thread(target=large)
        first.start()
        while not memory._queue:
            pass
        second = threading.Thread(target=small)
        second.start()
        while len(memory._queue) < 2:
            pass
    first.join()
    second.join()
    assert order == ["large", "small"] and told == ["waits"]


@pytest.mark.skipif(sys.platform != "linux", reason="measures memory as Linux tells it")
def test_a_large_picture_from_a_small_file_takes_what_it_must() -> None:
    """400 MB as RGBA, and not the same again for each step."""
    script = """
from io import BytesIO
from PIL import Image
from mmscore.dataset.media.image import prepare_image
from mmscore.dataset.media.pixels import ImageLimits
import sys
data = sys.stdin.buffer.read()
prepare_image(data, ImageLimits(max_pixels=10_000))
# Not getrusage: its peak begins with that of the process that started this one.
status = open("/proc/self/status").read()
print(status.partition("VmHWM:")[2].split()[0])
"""
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "from PIL import Image; import sys; Image.new('RGBA', (5000, 5000), "
            "(1, 2, 3, 128)).save(sys.stdout.buffer, 'PNG')",
        ],
        stdout=subprocess.PIPE,
    ) as drawing:
        assert drawing.stdout is not None
        data = drawing.stdout.read()
    ran = subprocess.run(
        [sys.executable, "-c", script], input=data, capture_output=True, check=True, timeout=120
    )
    assert int(ran.stdout) < 220_000  # 100 MB of pixels, one channel more, and Python


# --- both limits ---------------------------------------------------------------------------------

SIDES = st.integers(1, 20_000)


@given(SIDES, SIDES, st.integers(1, 600), st.integers(1, 10**7))
def test_both_limits_hold_or_the_picture_is_refused(
    width: int, height: int, least: int, most: int
) -> None:
    limits = ImageLimits(min_side=least, max_pixels=most)
    try:
        picture, canvas = fitted((width, height), limits)
    except MediaError:
        assert least * least > most
        return
    assert canvas[0] * canvas[1] <= most and min(canvas) >= least
    assert picture[0] <= canvas[0] and picture[1] <= canvas[1]
    if min(picture) >= 20:  # a pixel more or less changes little there
        assert abs(picture[0] / picture[1] * height / width - 1) < 0.11


@pytest.mark.parametrize("size", [(40, 4000), (1, 9000), (9000, 1), (300, 27), (27, 27)])
def test_a_picture_is_padded_where_it_cannot_be_enlarged(size: tuple[int, int]) -> None:
    limits = ImageLimits(min_side=28, max_pixels=65_536)
    checked = check_image(saved(Image.new("RGB", size, "red")), limits)
    width, height = checked.sent_size
    assert width * height <= 65_536 and min(width, height) >= 28


def test_limits_that_no_picture_keeps_are_said_before_it_is_sent() -> None:
    with pytest.raises(MediaError, match="cannot both be kept") as caught:
        prepare_image(saved(Image.new("RGB", (20, 20))), ImageLimits(min_side=300, max_pixels=9000))
    assert "--max-pixels 90000" in (caught.value.hint or "")


# --- each limit, set to a small number, is felt --------------------------------------------------


def test_the_limit_of_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "MOST_PIXELS", 1000)
    with pytest.raises(MediaError, match="too many pixels"):
        check_image(PNG)


def test_the_length_up_to_which_a_picture_is_enlarged(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = ImageLimits(min_side=60)
    assert fitted((40, 30), limits) == ((80, 60), (80, 60))
    monkeypatch.setattr(pixels, "LONGEST_ENLARGED", 70)
    assert fitted((40, 30), limits) == ((40, 30), (60, 60))


def test_the_size_up_to_which_a_channel_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    data = png_with()
    assert Image.open(BytesIO(prepare_image(data).data)).mode == "RGB"
    monkeypatch.setattr(pixels, "IN_PLACE_BYTES", 100)
    image = Image.open(BytesIO(prepare_image(data).data))
    assert image.mode == "RGBA" and image.getchannel("A").getextrema() == (255, 255)
