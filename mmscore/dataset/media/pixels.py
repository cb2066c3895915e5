"""Pixels of a decoded image as endpoints show them rightly: upright, opaque, of the size wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mmscore.dataset.media.depth import eight_bits, strips
from mmscore.errors import MediaError

if TYPE_CHECKING:
    from PIL import Image

LONGEST_ENLARGED = 8192
"""An image that `min_side` would make longer than this is padded instead of enlarged."""

IN_PLACE_BYTES = 64 * 1024 * 1024
"""Larger images are not copied to lose a channel of transparency that is opaque anyway."""

_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")


@dataclass(frozen=True, slots=True)
class ImageLimits:
    """What an endpoint takes; None is no limit. All that are given hold together.

    Attributes:
        max_bytes: Of the base64 form, the one that endpoints count.
        min_side: The shorter side in pixels. Smaller images are enlarged in proportion; where that
            would break another limit they are padded with white instead.
        max_pixels: Width times height. Larger images are made smaller in proportion.
    """

    max_bytes: int | None = None
    min_side: int | None = None
    max_pixels: int | None = None


NO_LIMITS = ImageLimits()
"""Of an endpoint that takes everything."""


def plain(image: Image.Image, data: bytes, name: str, notes: list[str]) -> Image.Image:
    """The first frame upright, in grey or RGB, opaque, with 8 bits a channel.

    A very large one may stay RGBA with every pixel opaque. The image given may be changed.

    Args:
        image: As it was decoded.
        data: The file it was decoded from.
        name: The image's place, for errors.
        notes: Takes a sentence for each change.

    Raises:
        MediaError: See `depth.eight_bits`.
    """
    frames = frames_of(image)
    if frames > 1 and image.format != "PNG":
        notes.append(f"first of {frames} frames")
    upright = _upright(eight_bits(image, data, name, notes), notes)
    if "transparency" in upright.info and not _shows_through(upright):
        del upright.info["transparency"]
    mode = upright.mode
    if mode in _ALPHA or "transparency" in upright.info:
        return _on_white(upright, notes)
    if mode in ("RGB", "L"):
        return upright
    if mode not in ("1", "P"):
        notes.append(f"{mode} to RGB")
    return upright.convert("L" if mode == "1" else "RGB")


def frames_of(image: Image.Image) -> int:
    """How many frames an animation has; 1 for a picture."""
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
    before, after = times(image.size), times(turned.size)
    notes.append(f"EXIF orientation {orientation} applied, {before} to {after}")
    return turned


# --- transparency --------------------------------------------------------------------------------


def _shows_through(image: Image.Image) -> bool:
    """Whether a pixel has the colour that is transparent; True where that is costly to tell."""
    key = image.info["transparency"]
    if image.mode not in ("L", "P", "1"):
        return True
    counts = image.histogram()[:256]
    if isinstance(key, bytes):
        return any(count for count, alpha in zip(counts, key, strict=False) if alpha < 255)
    return not isinstance(key, int) or key >= len(counts) or counts[key] > 0


def _on_white(image: Image.Image, notes: list[str]) -> Image.Image:
    """The image with its transparent pixels laid on white, strip by strip."""
    from PIL import Image

    layered = image if image.mode == "RGBA" else image.convert("RGBA")
    if layered.getchannel("A").getextrema() != (255, 255):
        for box in strips(layered):
            part = layered.crop(box)
            white = Image.new("RGBA", part.size, "white")
            layered.paste(Image.alpha_composite(white, part), box)
        notes.append("transparency laid on white")
    if 4 * layered.width * layered.height > IN_PLACE_BYTES:
        return layered
    return layered.convert("RGB")


# --- size ----------------------------------------------------------------------------------------


def fitted(size: tuple[int, int], limits: ImageLimits) -> tuple[tuple[int, int], tuple[int, int]]:
    """The size of the picture, and that of the canvas it stands on, so that both limits hold.

    Too many pixels are made fewer in proportion. A side that is too short then is made longer in
    proportion, as long as the limit of pixels allows it; otherwise the picture is padded to it, and
    made so much smaller that the canvas fits. It is never distorted, but for sides of less than
    a pixel.

    Raises:
        MediaError: No image keeps both limits.
    """
    most, least = limits.max_pixels, limits.min_side or 1
    if most is not None and least * least > most:
        raise MediaError(
            f"a side of at least {least} and at most {most} pixels cannot both be kept",
            hint=f"--max-pixels {least * least} or more, or a smaller --min-side",
        )
    picture = size
    if most is not None and size[0] * size[1] > most:
        width, height = _smaller(size, math.sqrt(most / (size[0] * size[1])))
        width = min(width, most)  # a side of less than one pixel was made one
        picture = width, min(height, most // width)
    if min(picture) >= least:
        return picture, picture
    factor = least / min(picture)
    width, height = (max(least, round(side * factor)) for side in picture)
    if max(width, height) <= LONGEST_ENLARGED and (most is None or width * height <= most):
        return (width, height), (width, height)
    longest = max(size) if most is None else min(max(size), most // least)
    if longest < max(picture):
        picture = _smaller(size, longest / max(size))
    return picture, (max(least, picture[0]), max(least, picture[1]))


def _smaller(size: tuple[int, int], factor: float) -> tuple[int, int]:
    """Sides made smaller in proportion and rounded down, so that a limit on the product holds."""
    return max(1, math.floor(size[0] * factor)), max(1, math.floor(size[1] * factor))


def resized(image: Image.Image, limits: ImageLimits, notes: list[str]) -> Image.Image:
    """The image in a size that keeps the limits of pixels; itself where it has such a size.

    Raises:
        MediaError: No image keeps both limits.
    """
    from PIL import ImageOps
    from PIL.Image import Resampling

    size, canvas = fitted(image.size, limits)
    if size != image.size:
        larger = size[0] * size[1] > image.width * image.height
        how = Resampling.BICUBIC if larger else Resampling.LANCZOS
        change = f"{times(image.size)} {'enlarged ' if larger else ''}to {times(size)}"
        image = scaled(image, size, how)
        limit = (
            f"shorter side at least {limits.min_side}"
            if larger
            else f"at most {limits.max_pixels} pixels"
        )
        notes.append(f"{change}, {limit}")
    if canvas != image.size:
        change = f"{times(image.size)} padded to {times(canvas)}"
        notes.append(f"{change}, shorter side at least {limits.min_side}")
        image = ImageOps.pad(image, canvas, color="white")
    return image


def scaled(image: Image.Image, size: tuple[int, int], how: Image.Resampling) -> Image.Image:
    """The image in another size; an opaque RGBA channel by channel, which takes less room."""
    from PIL import Image

    if image.mode != "RGBA":
        return image.resize(size, how)
    return Image.merge("RGB", [image.getchannel(band).resize(size, how) for band in "RGB"])


def shrunk(image: Image.Image, factor: float) -> Image.Image:
    """The image made smaller in proportion."""
    from PIL.Image import Resampling

    return scaled(image, _smaller(image.size, factor), Resampling.LANCZOS)


def times(size: tuple[int, int]) -> str:
    """A size as people write it."""
    return f"{size[0]}x{size[1]}"


# --- what one sees -------------------------------------------------------------------------------

DARK, BRIGHT = 24, 231
"""Grey values; an image with hardly a pixel above the first, or below the second, shows nothing."""

HARDLY = 1 / 1000
"""The share of its pixels that may."""


def blank(image: Image.Image) -> str | None:
    """`black` or `white` for an image that is nearly nothing else, else None."""
    counts = image.convert("L").histogram()
    few = HARDLY * image.width * image.height
    if sum(counts[DARK + 1 :]) <= few:
        return "black"
    return "white" if sum(counts[:BRIGHT]) <= few else None


__all__ = [
    "ImageLimits",
    "blank",
    "fitted",
    "frames_of",
    "plain",
    "resized",
    "scaled",
    "shrunk",
    "times",
]
