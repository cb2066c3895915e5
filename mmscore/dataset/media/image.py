"""Image bytes as they are and as they are sent.

Bytes that an endpoint takes as they are go out unchanged, after a look at their structure. An image
is encoded anew only for a limit, for a format most servers refuse, or for a mode they would show
wrongly; each change is noted, so that the run's record says what the model really saw. What is sent
as it is is decided here alone: a run asks `prepare_image`, a check `check_image`.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING

import mmscore._core as _core
from mmscore.dataset import git_lfs
from mmscore.dataset.media.decoding import DecodeMemory, decoded, ends_whole
from mmscore.dataset.media.pixels import (
    NO_LIMITS,
    ImageLimits,
    blank,
    frames_of,
    plain,
    resized,
    shrunk,
    times,
)
from mmscore.errors import MediaError

if TYPE_CHECKING:
    from PIL import Image

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


@dataclass(frozen=True, slots=True)
class PreparedImage:
    """An image as it is sent.

    Attributes:
        data: Its bytes.
        mime: Their type.
        notes: What was odd or changed, one short sentence each; empty for most images.
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
        sent: The image as it would be sent.
        sent_size: Its width and height in pixels.
        encoded_anew: Whether that has other pixels or another format.
        blank: `black` or `white` where it would show nothing else.
        notes: What is odd about the file but does not keep it from being sent.
    """

    mime: str
    width: int
    height: int
    mode: str
    frames: int
    sent: PreparedImage
    sent_size: tuple[int, int]
    encoded_anew: bool
    blank: str | None
    notes: tuple[str, ...] = ()


def prepare_image(
    data: bytes,
    limits: ImageLimits = NO_LIMITS,
    *,
    name: str = "image",
    memory: DecodeMemory | None = None,
) -> PreparedImage:
    """The image as it is sent.

    Unchanged if it is a JPEG or PNG within the limits. Encoded anew otherwise: formats most servers
    refuse, and what many show wrongly (values of more than 8 bits are scaled by the bits they use,
    transparent pixels are laid on white, CMYK becomes RGB); EXIF orientation is applied then. Of an
    animation the first frame is sent. One without an end mark is sent if all its pixels are there.

    Args:
        data: The bytes of an image file.
        limits: What the endpoint takes.
        name: The image's place, for errors.
        memory: What decoded images may take, shared by the threads that decode.

    Raises:
        MediaError: The bytes are no image, are cut short or damaged, cannot be decoded here, or
            cannot be made to fit.
    """
    file = _looked_at(data, name, memory or DecodeMemory())
    if file.goes_as_it_is(limits):
        return file.as_it_is()
    with file.pixels() as image:
        notes: list[str] = []
        shown = plain(image, file.data, name, notes)
        return file.as_sent(shown, limits, notes)


def check_image(
    data: bytes,
    limits: ImageLimits = NO_LIMITS,
    *,
    name: str = "image",
    memory: DecodeMemory | None = None,
) -> CheckedImage:
    """What a full decode says: what `prepare_image` would send, and what that shows.

    Args:
        data: The bytes of an image file.
        limits: What the endpoint takes.
        name: The image's place, for errors.
        memory: What decoded images may take, shared by the threads that decode.

    Raises:
        MediaError: As `prepare_image`, and where a pixel does not decode.
    """
    file = _looked_at(data, name, memory or DecodeMemory())
    with file.pixels() as image:
        facts = (*image.size, image.mode, frames_of(image))
        notes: list[str] = []
        shown = plain(image, file.data, name, notes)
        seen = blank(shown)
        untouched = file.goes_as_it_is(limits)
        sent = file.as_it_is() if untouched else file.as_sent(shown, limits, notes)
        anew = sent.data is not file.data
        look = _core.look(sent.data)
        size = (look.width, look.height) if look is not None else image.size
        return CheckedImage(file.type, *facts, sent, size, anew, seen, tuple(file.oddities))


def data_uri(data: bytes, mime: str) -> bytes:
    """`data:MIME;base64,...` as ASCII bytes."""
    return _core.data_uri(data, mime)


def thumbnail(data: bytes, side: int, *, name: str = "image") -> bytes:
    """A small WebP of an image as a data URI in ASCII, its longer side at most `side` pixels.

    At the same look it is a third smaller than a JPEG; where Pillow was built without it, a JPEG.

    Raises:
        MediaError: The bytes are no image, are damaged, or cannot be decoded here.
    """
    file = _looked_at(data, name, DecodeMemory())
    with file.pixels(draft=(2 * side, 2 * side)) as image:
        small = plain(image, file.data, name, [])
        small.thumbnail((side, side))
        try:
            return data_uri(_saved(small, "WEBP", 60), "image/webp")
        except (KeyError, OSError):
            return data_uri(_saved(small, "JPEG", 70), "image/jpeg")


def image_type(data: bytes, *, name: str = "image") -> str | None:
    """The MIME type of an image by its bytes; None where only a decoder can tell.

    Raises:
        MediaError: The bytes are of another type.
    """
    mime = _core.sniff(data)
    if mime is not None and mime.startswith("image/"):
        return mime
    if not data:
        raise MediaError(f"`{name}` is empty")
    if git_lfs.is_pointer(data):
        raise MediaError(f"`{name}` is a Git LFS pointer, not the file itself", hint=git_lfs.HINT)
    if mime is not None:
        raise MediaError(f"`{name}` is no image but {mime}")
    return None


@dataclass(slots=True)
class _ImageFile:
    """An image's bytes after a look at their structure.

    Attributes:
        data: The bytes, with an end mark where that was missing.
        mime: Their type; None where no first bytes tell.
        look: The structure of a JPEG or PNG.
        name: The image's place, for errors.
        memory: What decoded images may take.
        oddities: What is odd about the file.
    """

    data: bytes
    mime: str | None
    look: _core.Look | None
    name: str
    memory: DecodeMemory
    oddities: list[str]

    @property
    def type(self) -> str:
        """The type in a word."""
        return self.mime or "image of no known type"

    def goes_as_it_is(self, limits: ImageLimits) -> bool:
        """Whether it need not even be decoded: a JPEG or PNG that keeps the limits.

        Others are: transparent ones, of more than 8 bits a channel, and CMYK.
        """
        look = self.look
        if look is None or look.transparent or look.bits == 16 or look.channels == 4:
            return False
        return _fits((look.width, look.height), len(self.data), limits)

    def as_it_is(self) -> PreparedImage:
        """The bytes unchanged."""
        assert self.mime is not None
        return PreparedImage(self.data, _SENT_AS[self.mime], tuple(self.oddities))

    def pixels(self, draft: tuple[int, int] | None = None) -> AbstractContextManager[Image.Image]:
        """The decoded image while a block runs."""
        return decoded(self.data, self.mime, self.name, self.oddities, self.memory, draft=draft)

    def as_sent(self, shown: Image.Image, limits: ImageLimits, notes: list[str]) -> PreparedImage:
        """The image encoded anew; unchanged where it proved to show what it should as it is.

        Args:
            shown: Its pixels as they should be seen.
            limits: What the endpoint takes.
            notes: What was changed to make them so.

        Raises:
            MediaError: It cannot be made to fit.
        """
        if self.look is not None and not notes and _fits(shown.size, len(self.data), limits):
            return self.as_it_is()
        try:
            sized = resized(shown, limits, notes)
        except MediaError as error:
            raise MediaError(f"`{self.name}` cannot be sent: {error}", hint=error.hint) from None
        encoded, sent_as = _encoded(sized, self.type, limits, notes, self.name)
        change = f"{self.type} of {len(self.data)} bytes to {sent_as} of {len(encoded)} bytes"
        return PreparedImage(encoded, sent_as, (*self.oddities, *notes, change))


def _looked_at(data: bytes, name: str, memory: DecodeMemory) -> _ImageFile:
    """The file, of a JPEG or PNG with its structure.

    Raises:
        MediaError: It is no image, or a JPEG or PNG of which a part is missing.
    """
    mime = image_type(data, name=name)
    if mime not in _SENT_AS:
        return _ImageFile(data, mime, None, name, memory, [])
    look = _core.look(data)
    if look is None or not look.width or not look.height:
        raise MediaError(f"`{name}` is damaged: no dimensions in its {len(data)} bytes of {mime}")
    if look.complete:
        return _ImageFile(data, mime, look, name, memory, [])
    whole = ends_whole(data, mime, name, memory)
    if whole is None:
        raise MediaError(
            f"`{name}` is cut short: its {len(data)} bytes of {mime} have no end mark",
            hint="fetch the file again",
        )
    added = ", one was added" if len(whole) > len(data) else ""
    return _ImageFile(
        whole, mime, look, name, memory, [f"no end mark though all pixels are there{added}"]
    )


def _fits(size: tuple[int, int], length: int, limits: ImageLimits) -> bool:
    return (
        (limits.max_bytes is None or base64_length(length) <= limits.max_bytes)
        and (limits.min_side is None or min(size) >= limits.min_side)
        and (limits.max_pixels is None or size[0] * size[1] <= limits.max_pixels)
    )


def base64_length(length: int) -> int:
    """The number of characters that so many bytes have in base64."""
    return (length + 2) // 3 * 4


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
                before, after = times(image.size), times(smaller.size)
                size = "" if before == after else f", {before} to {after}"
                notes.append(f"JPEG quality {quality}{size}, at most {max_bytes} base64 bytes")
                return attempt, "image/jpeg"
        factor = min(0.9, math.sqrt(max_bytes / base64_length(len(attempt))))
        smaller = shrunk(smaller, factor)
        if min(smaller.size) < smallest:
            raise MediaError(
                f"`{name}` cannot be made to fit {max_bytes} base64 bytes and still show something",
                hint="raise `--max-image-bytes`",
            )


def _saved(image: Image.Image, kind: str, quality: int | None) -> bytes:
    # The original's colour profile may be of another mode, CMYK's for instance.
    out = BytesIO()
    if kind == "JPEG" and image.mode == "RGBA":
        image = image.convert("RGB")
    if kind == "PNG":
        image.save(out, "PNG", compress_level=6, icc_profile=None)
    elif kind == "WEBP":
        image.save(
            out, "WEBP", quality=quality, method=2, icc_profile=None
        )  # 4 takes twice as long
    else:
        image.save(out, "JPEG", quality=quality, icc_profile=None)
    return out.getvalue()


__all__ = [
    "CheckedImage",
    "ImageLimits",
    "PreparedImage",
    "base64_length",
    "check_image",
    "data_uri",
    "image_type",
    "prepare_image",
    "thumbnail",
]
