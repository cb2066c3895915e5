"""Image bytes as they are and as they are sent.

Bytes that an endpoint takes as they are go out unchanged, after a look at their structure. An image
is encoded anew only for a limit, for a format most servers refuse, or for a mode they would show
wrongly; each change is noted, so that the run's record says what the model really saw.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar, cast

import mmscore._core as _core
from mmscore.errors import MediaError

if TYPE_CHECKING:
    from PIL import Image

T = TypeVar("T")

_SENT_AS: dict[str, str] = {
    "image/jpeg": "image/jpeg",
    "image/png": "image/png",
    "image/apng": "image/png",  # every PNG reader shows an animated PNG's still image
}
"""Types that go out unchanged, and the type they are announced as."""

_LOSSY = frozenset({"image/jpeg", "image/webp", "image/avif", "image/heic"})
"""Types whose pixels went through a lossy encoder already, so JPEG costs nothing more."""

_JPEG_QUALITIES = (90, 75, 60)
"""Tried in this order before an image is made smaller."""

_SMALLEST_SIDE = 16
"""No image is made smaller than this to fit a limit of bytes: it would show nothing."""

_CONVERT = "convert it to JPEG or PNG"

_QUIET = threading.Lock()

_MOST_PIXELS = 100_000_000
"""Larger images are not decoded: one would take 300 MB and more, in each worker."""

_LONGEST_ENLARGED = 8192
"""An image that `min_side` would make longer than this is padded instead of enlarged."""


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """What an endpoint takes; None is no limit.

    Attributes:
        max_bytes: Of the base64 form, the one that endpoints count.
        min_side: The shorter side in pixels. Smaller images are enlarged in proportion (very long
            ones padded with white).
        max_pixels: Width times height. Larger images are made smaller in proportion.
    """

    max_bytes: int | None = None
    min_side: int | None = None
    max_pixels: int | None = None


@dataclass(frozen=True, slots=True)
class PreparedImage:
    """An image as it is sent.

    Attributes:
        data: Its bytes.
        mime: Their type.
        notes: What was changed, one short sentence each; empty where the bytes are the original's.
    """

    data: bytes
    mime: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedImage:
    """What a full decode of an image says.

    Attributes:
        mime: Its type.
        width: In pixels, as stored.
        height: In pixels, as stored.
        mode: Pillow's name of the kind of pixel (`RGB`, `L`, `I;16` ...).
        frames: More than 1 in an animation.
        notes: What is odd about it but does not keep it from being sent.
    """

    mime: str
    width: int
    height: int
    mode: str
    frames: int
    notes: tuple[str, ...] = ()


def prepare_image(
    data: bytes, limits: ImageLimits = ImageLimits(), *, name: str = "image"
) -> PreparedImage:
    """The image as it is sent.

    Unchanged if it is a JPEG or PNG within the limits. Encoded anew otherwise: formats most servers
    refuse, and what many show wrongly (16-bit grey is scaled to 8 bits, transparent pixels are laid
    on white, CMYK becomes RGB); EXIF orientation is applied then. Of an animation the first
    frame is sent.

    Args:
        data: The bytes of an image file.
        limits: What the endpoint takes.
        name: The image's place, for errors.

    Raises:
        MediaError: The bytes are no image, are cut short or damaged, cannot be decoded here, or
            cannot be made to fit.
    """
    mime = image_type(data, name=name)
    if mime in _SENT_AS:
        seen = _sound(data, mime, name)
        if not _must_change(seen, len(data), limits):
            return PreparedImage(data, _SENT_AS[mime])
    oddities: list[str] = []
    notes: list[str] = []
    with _decoded(data, mime, name, oddities) as image:
        plain = _plain(image, notes)
        if mime in _SENT_AS and not notes and _fits(plain.size, len(data), limits):
            # It could have been transparent, but no pixel is.
            return PreparedImage(data, _SENT_AS[mime])
        sized = _resized(plain, limits, notes)
        encoded, sent_as = _encoded(sized, mime, limits, notes, name)
    notes.append(f"{mime} of {len(data)} bytes to {sent_as} of {len(encoded)} bytes")
    return PreparedImage(encoded, sent_as, (*oddities, *notes))


def data_uri(data: bytes, mime: str) -> bytes:
    """`data:MIME;base64,...` as ASCII bytes."""
    return _core.data_uri(data, mime)


def thumbnail(data: bytes, side: int, *, name: str = "image") -> bytes:
    """A small WebP of an image as a data URI in ASCII, its longer side at most `side` pixels.

    At the same look it is a third smaller than a JPEG; where Pillow was built without it, a JPEG.

    Raises:
        MediaError: The bytes are no image, are damaged, or cannot be decoded here.
    """
    mime = image_type(data, name=name)
    with _decoded(data, mime, name, [], draft=(2 * side, 2 * side)) as image:
        small = _plain(image, [])
        small.thumbnail((side, side))
        try:
            return data_uri(_saved(small, "WEBP", 60), "image/webp")
        except (KeyError, OSError):
            return data_uri(_saved(small, "JPEG", 70), "image/jpeg")


def check_image(data: bytes, *, name: str = "image") -> CheckedImage:
    """What a full decode says: the look of `prepare_image`, then every pixel.

    Args:
        data: The bytes of an image file.
        name: The image's place, for errors.

    Raises:
        MediaError: The bytes are no image, are cut short or damaged, or cannot be decoded here.
    """
    mime = image_type(data, name=name)
    if mime in _SENT_AS:
        _sound(data, mime, name)
    oddities: list[str] = []
    with _decoded(data, mime, name, oddities) as image:
        frames = _frames(image)
        return CheckedImage(mime, image.width, image.height, image.mode, frames, tuple(oddities))


def image_type(data: bytes, *, name: str = "image") -> str:
    """The MIME type of an image by its bytes.

    Raises:
        MediaError: The bytes are of another or of no known type.
    """
    mime = _core.sniff(data)
    if mime is not None and mime.startswith("image/"):
        return mime
    if not data:
        raise MediaError(f"`{name}` is empty")
    if mime is not None:
        raise MediaError(f"`{name}` is no image but {mime}")
    raise MediaError(f"`{name}` is no image of a known type, it begins with {data[:16]!r}")


def _sound(data: bytes, mime: str, name: str) -> _core.Look:
    """The look of a JPEG or PNG that is whole."""
    seen = _core.look(data)
    if seen is None or not seen.width or not seen.height:
        raise MediaError(f"`{name}` is damaged: no dimensions in its {len(data)} bytes of {mime}")
    if not seen.complete:
        raise MediaError(
            f"`{name}` is cut short: its {len(data)} bytes of {mime} have no end mark",
            hint="fetch the file again",
        )
    return seen


def _must_change(seen: _core.Look, length: int, limits: ImageLimits) -> bool:
    """Whether a JPEG or PNG must be decoded, or at least looked at pixel by pixel."""
    grey_16 = seen.bits == 16 and seen.channels == 1
    cmyk = seen.channels == 4 and not seen.transparent
    shown_wrongly = seen.transparent or grey_16 or cmyk
    return shown_wrongly or not _fits((seen.width, seen.height), length, limits)


def _fits(size: tuple[int, int], length: int, limits: ImageLimits) -> bool:
    return (
        (limits.max_bytes is None or base64_length(length) <= limits.max_bytes)
        and (limits.min_side is None or min(size) >= limits.min_side)
        and (limits.max_pixels is None or size[0] * size[1] <= limits.max_pixels)
    )


def base64_length(length: int) -> int:
    """The number of characters that so many bytes have in base64."""
    return (length + 2) // 3 * 4


def _decoded(
    data: bytes,
    mime: str,
    name: str,
    oddities: list[str],
    *,
    draft: tuple[int, int] | None = None,
) -> Image.Image:
    """The image, decoded whole; a JPEG that need not be larger than `draft` at less cost.

    Pillow's decoders raise nearly anything on damaged input, so whatever they raise is a damaged
    image here.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        image, warned = _quietly(lambda: Image.open(BytesIO(data)))
        if any("EXIF" in warning for warning in warned):
            oddities.append("unreadable EXIF ignored")
        too_large = image.width * image.height > _MOST_PIXELS
        if not too_large:
            if draft is not None:
                image.draft(None, draft)
            image.load()
    except Image.DecompressionBombError:
        too_large = True
    except Exception as error:
        if isinstance(error, UnidentifiedImageError) and mime not in Image.MIME.values():
            message, hint = f"`{name}` is {mime}, which cannot be decoded here", _CONVERT
        else:
            message, hint = f"`{name}` is damaged {mime}: {error}", None
        raise MediaError(message, hint=hint) from error
    if too_large:
        limit = _MOST_PIXELS // 10**6
        raise MediaError(f"`{name}` has too many pixels, at most {limit} million are decoded")
    return image


def _quietly(action: Callable[[], T]) -> tuple[T, list[str]]:
    """What the action returns, and the warnings Pillow had about odd headers.

    Filters of warnings belong to the process, so only one thread at a time may change them; the
    actions are short.
    """
    with _QUIET, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return action(), [str(warning.message) for warning in caught]


def _plain(image: Image.Image, notes: list[str]) -> Image.Image:
    """The first frame upright, in grey or RGB, opaque, with 8 bits a channel."""
    from PIL import Image

    frames = _frames(image)
    if frames > 1 and image.format != "PNG":
        notes.append(f"first of {frames} frames")
    upright = _upright(image, notes)
    mode = upright.mode
    if mode in ("RGB", "L") and "transparency" not in upright.info:
        return upright
    if mode.startswith("I") or mode == "F":
        return _eight_bits(upright, notes)
    if mode in ("LA", "La", "PA", "RGBA", "RGBa") or "transparency" in upright.info:
        layered = upright.convert("RGBA")
        if layered.getchannel("A").getextrema() == (255, 255):
            return layered.convert("RGB")
        white = Image.new("RGBA", layered.size, "white")
        notes.append("transparency laid on white")
        return Image.alpha_composite(white, layered).convert("RGB")
    if mode not in ("1", "P"):
        notes.append(f"{mode} to RGB")
    return upright.convert("L" if mode == "1" else "RGB")


def _frames(image: Image.Image) -> int:
    try:
        return int(getattr(image, "n_frames", 1))
    except Exception:  # a later frame is damaged; only the first is sent
        return 1


def _upright(image: Image.Image, notes: list[str]) -> Image.Image:
    from PIL import ImageOps
    from PIL.ExifTags import Base

    try:
        orientation = image.getexif().get(Base.Orientation, 1)
        if orientation not in range(2, 9):
            return image
        turned = ImageOps.exif_transpose(image)
    except Exception as error:
        notes.append(f"unreadable EXIF ignored ({type(error).__name__})")
        return image
    before, after = _times(image.size), _times(turned.size)
    notes.append(f"EXIF orientation {orientation} applied, {before} to {after}")
    return turned


def _eight_bits(image: Image.Image, notes: list[str]) -> Image.Image:
    """Grey of 16 or 32 bits or floats, scaled to 8 bits.

    The whole range of the type is scaled where the values lie in it (16 bits; 0 to 1 and 0 to 255
    of floats), so that pictures of one set stay comparable; otherwise their own range is.
    """
    mode = image.mode
    wide = image if mode == "F" else image.convert("I").convert("F")
    # One channel, so this is a pair of numbers.
    low, high = cast("tuple[float, float]", wide.getextrema())
    if not (math.isfinite(low) and math.isfinite(high)):
        low, high = 0.0, 1.0
    ranges = [(0.0, 1.0), (0.0, 255.0)] if mode == "F" else [(0.0, 65535.0)]
    inside = (span for span in ranges if span[0] <= low and high <= span[1])
    start, end = next(inside, (low, high))
    scale = 255 / (end - start) if end > start else 0.0
    notes.append(f"grey {mode} scaled to 8 bits, {start:g} to {end:g}")
    return wide.point(lambda value: value * scale + (0.5 - start * scale)).convert("L")


def _resized(image: Image.Image, limits: ImageLimits, notes: list[str]) -> Image.Image:
    from PIL import Image, ImageOps

    if limits.max_pixels is not None and image.width * image.height > limits.max_pixels:
        factor = math.sqrt(limits.max_pixels / (image.width * image.height))
        smaller = _scaled(image, factor)
        change = f"{_times(image.size)} to {_times(smaller.size)}"
        notes.append(f"{change}, at most {limits.max_pixels} pixels")
        image = smaller
    short, long = sorted(image.size)
    if limits.min_side is None or short >= limits.min_side:
        return image
    factor = limits.min_side / short
    size = (max(limits.min_side, image.width), max(limits.min_side, image.height))
    if long * factor > _LONGEST_ENLARGED:
        larger, how = ImageOps.pad(image, size, color="white"), "padded"
    else:
        width, height = (max(limits.min_side, round(side * factor)) for side in image.size)
        larger, how = image.resize((width, height), Image.Resampling.BICUBIC), "enlarged"
    change = f"{_times(image.size)} {how} to {_times(larger.size)}"
    notes.append(f"{change}, shorter side at least {limits.min_side}")
    return larger


def _scaled(image: Image.Image, factor: float) -> Image.Image:
    """Made smaller in proportion; sides are rounded down, so a limit on the product holds."""
    from PIL import Image

    width, height = (max(1, math.floor(side * factor)) for side in image.size)
    return image.resize((width, height), Image.Resampling.LANCZOS)


def _encoded(
    image: Image.Image, mime: str, limits: ImageLimits, notes: list[str], name: str
) -> tuple[bytes, str]:
    """The image's file and its type: PNG where the original was lossless, unless it must shrink."""
    max_bytes = limits.max_bytes
    smallest = max(limits.min_side or 0, _SMALLEST_SIDE)
    first = ("JPEG", 95) if mime in _LOSSY else ("PNG", None)
    attempt = _saved(image, *first)
    if max_bytes is None or base64_length(len(attempt)) <= max_bytes:
        return attempt, f"image/{first[0].lower()}"
    smaller = image
    while True:
        for quality in _JPEG_QUALITIES:
            attempt = _saved(smaller, "JPEG", quality)
            if base64_length(len(attempt)) <= max_bytes:
                before, after = _times(image.size), _times(smaller.size)
                size = "" if before == after else f", {before} to {after}"
                notes.append(f"JPEG quality {quality}{size}, at most {max_bytes} base64 bytes")
                return attempt, "image/jpeg"
        factor = min(0.9, math.sqrt(max_bytes / base64_length(len(attempt))))
        smaller = _scaled(smaller, factor)
        if min(smaller.size) < smallest:
            raise MediaError(
                f"`{name}` cannot be made to fit {max_bytes} base64 bytes and still show something",
                hint="raise `--max-image-bytes`",
            )


def _saved(image: Image.Image, kind: str, quality: int | None) -> bytes:
    # The original's colour profile may be of another mode, CMYK's for instance.
    out = BytesIO()
    if kind == "PNG":
        image.save(out, "PNG", compress_level=6, icc_profile=None)
    elif kind == "WEBP":
        image.save(
            out, "WEBP", quality=quality, method=2, icc_profile=None
        )  # 4 takes twice as long
    else:
        image.save(out, "JPEG", quality=quality, icc_profile=None)
    return out.getvalue()


def _times(size: tuple[int, int]) -> str:
    return f"{size[0]}x{size[1]}"
