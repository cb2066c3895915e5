"""Image files opened and decoded by Pillow, within one bound of memory for all threads together.

Pillow's decoders raise nearly anything on damaged input, so whatever they raise is a damaged image
here, said without the addresses of objects that its sentences hold.
"""

from __future__ import annotations

import threading
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar

from mmscore.error_text import reason
from mmscore.errors import MediaError

if TYPE_CHECKING:
    from PIL import Image

T = TypeVar("T")

MOST_PIXELS = 100_000_000
"""Larger images are not decoded: one would take 400 MB and more."""

DECODE_BYTES = 512 * 1024 * 1024
"""What the decoded images of all threads may take together."""

_CONVERT = "convert it to JPEG or PNG"

_QUIET = threading.Lock()

_FORMATS = {
    "image/jpeg": "JPEG",
    "image/png": "PNG",
    "image/apng": "PNG",
    "image/gif": "GIF",
    "image/webp": "WEBP",
    "image/bmp": "BMP",
    "image/tiff": "TIFF",
    "image/avif": "AVIF",
    "image/jpx": "JPEG2000",
    "image/x-icon": "ICO",
    "image/vnd.adobe.photoshop": "PSD",
}
"""The decoder of each type that is told by its first bytes."""

_SAFE = (*_FORMATS.values(), "PPM", "TGA", "PCX", "SGI", "SUN", "QOI", "DDS", "XBM", "XPM", "ICNS")
"""The decoders for bytes of no known type: those that start no other program, as EPS does."""

_BYTES_OF_MODE = {"1": 1, "L": 1, "P": 1, "I;16": 2, "I;16L": 2, "I;16B": 2}
"""Bytes of a pixel as Pillow stores it; of any other mode four."""


class DecodeMemory:
    """The memory of decoded images, shared by all threads that decode; they wait in a queue."""

    def __init__(
        self, total: int = DECODE_BYTES, on_first_wait: Callable[[], None] = lambda: None
    ) -> None:
        """Take how many bytes there are, and who hears that a thread had to wait."""
        self._total = total
        self._used = 0
        self._free = threading.Condition()
        self._queue = deque[object]()
        self._on_first_wait = on_first_wait
        self._told = False

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Hold so many bytes while the block runs; who wants more than there are has all."""
        size = min(size, self._total)
        ticket = object()
        with self._free:
            self._queue.append(ticket)
            waits = self._queue[0] is not ticket or self._used + size > self._total
            tell, self._told = waits and not self._told, self._told or waits
        if tell:
            self._on_first_wait()
        with self._free:
            # The first in the queue is the next, or large images would never have their turn.
            self._free.wait_for(
                lambda: self._queue[0] is ticket and self._used + size <= self._total
            )
            self._queue.popleft()
            self._used += size
            self._free.notify_all()
        try:
            yield
        finally:
            with self._free:
                self._used -= size
                self._free.notify_all()


@contextmanager
def decoded(
    data: bytes,
    mime: str | None,
    name: str,
    oddities: list[str],
    memory: DecodeMemory,
    *,
    draft: tuple[int, int] | None = None,
) -> Iterator[Image.Image]:
    """The image, decoded whole, while the block runs.

    Args:
        data: The bytes of an image file.
        mime: Their type; None leaves it to Pillow.
        name: The image's place, for errors.
        oddities: Takes what was odd about the file.
        memory: What decoded images may take.
        draft: A JPEG that need not be larger than this is decoded at less cost.

    Raises:
        MediaError: It is damaged, too large, or of a type that cannot be decoded here.
    """
    image, source = _first_good(data, mime, name, oddities, _opened)
    if image.width * image.height > MOST_PIXELS:
        raise _too_large(name)
    if draft is not None:
        image.draft(None, draft)
    # Twice: whatever is done with it makes a copy.
    size = 2 * image.width * image.height * _BYTES_OF_MODE.get(image.mode, 4)
    with memory.taken(size):
        try:
            image.load()
        except Exception as error:
            lean = without_texts(source)
            if lean is None:
                raise _fault(error, data, mime, name) from error
            image, _ = _first_good(lean, mime, name, oddities, _loaded)
        yield image


def _first_good(
    data: bytes,
    mime: str | None,
    name: str,
    oddities: list[str],
    read: Callable[[bytes, str | None], Image.Image],
) -> tuple[Image.Image, bytes]:
    """What was read, and from which bytes: a PNG whose texts are refused is read without them."""
    from PIL import Image

    try:
        image, warned = _quietly(lambda: read(data, mime))
    except Image.DecompressionBombError as error:
        raise _too_large(name) from error
    except Exception as error:
        lean = without_texts(data)
        if lean is None:
            raise _fault(error, data, mime, name) from error
        return _first_good(lean, mime, name, oddities, read)
    if any("EXIF" in warning for warning in warned):
        oddities.append("unreadable EXIF ignored")
    return image, data


def _opened(data: bytes, mime: str | None) -> Image.Image:
    from PIL import Image, UnidentifiedImageError

    wanted = [_FORMATS[mime]] if mime in _FORMATS else _SAFE
    if any(name not in Image.OPEN for name in wanted):
        Image.init()
    known = [name for name in wanted if name in Image.OPEN]
    if not known:
        raise UnidentifiedImageError
    return Image.open(BytesIO(data), formats=known)


def _loaded(data: bytes, mime: str | None) -> Image.Image:
    image = _opened(data, mime)
    image.load()
    return image


def _quietly(action: Callable[[], T]) -> tuple[T, list[str]]:
    """What the action returns, and the warnings Pillow had about odd headers.

    Filters of warnings belong to the process, so only one thread at a time may change them; the
    actions are short.
    """
    with _QUIET, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        return action(), [str(warning.message) for warning in caught]


def _fault(error: Exception, data: bytes, mime: str | None, name: str) -> MediaError:
    from PIL import Image, UnidentifiedImageError

    if not isinstance(error, UnidentifiedImageError):
        return MediaError(f"`{name}` is damaged {mime or 'image data'}: {reason(error)}")
    if mime is None:
        return MediaError(f"`{name}` is no image of a known type, it begins with {data[:16]!r}")
    if mime not in Image.MIME.values():
        return MediaError(f"`{name}` is {mime}, which cannot be decoded here", hint=_CONVERT)
    return MediaError(f"`{name}` is damaged {mime}: its header cannot be read")


def _too_large(name: str) -> MediaError:
    limit = MOST_PIXELS // 10**6
    return MediaError(
        f"`{name}` has too many pixels, at most {limit} million are decoded",
        hint="make it smaller",
    )


# --- PNG and JPEG files that lack or hold more than they should -----------------------------------


_PNG = b"\x89PNG\r\n\x1a\n"
_NOT_PIXELS = frozenset({b"tEXt", b"zTXt", b"iTXt", b"iCCP"})
"""Chunks of a PNG that may be as large as they like and change no pixel that is sent."""


def png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield kind, begin and end of each chunk of a PNG, as far as they are whole."""
    at = len(_PNG)
    while data.startswith(_PNG) and at + 12 <= len(data):
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            return
        yield data[at + 4 : at + 8], at, end
        at = end


def without_texts(data: bytes) -> bytes | None:
    """A PNG without its texts and colour profile; None where it has none, or is no PNG."""
    kept = [_PNG]
    whole = len(_PNG)
    for kind, begin, end in png_chunks(data):
        whole = end
        if kind not in _NOT_PIXELS:
            kept.append(data[begin:end])
    kept.append(data[whole:])
    lean = b"".join(kept)
    return lean if len(lean) < len(data) else None


JPEG_END = b"\xff\xd9"
_FILLERS = (b"\x00" * 64, b"\x55" * 64)


def ends_whole(data: bytes, mime: str, name: str, memory: DecodeMemory) -> bytes | None:
    """The file as it can be sent, though it has no end mark; None where a part is missing.

    Some writers leave the mark out, or put their own trailer there. A JPEG that ends right behind
    its last pixel is read by most decoders only once the mark is added. Whether a pixel is missing
    shows in that what follows the data would change the picture; zeros are no data, but what stands
    in the place of a part that was never written.
    """
    if mime != "image/jpeg":
        whole = _inflates_whole(data) and _pixels(data, mime, name, memory) is not None
        return data if whole else None
    bare = data.rstrip(b"\0")
    bare += b"\0" if bare.endswith(b"\xff") and len(bare) < len(data) else b""
    if len(bare) == len(data) and _pixels(data, mime, name, memory) is not None:
        return data
    first, second = (_pixels(bare + more + JPEG_END, mime, name, memory) for more in _FILLERS)
    return bare + JPEG_END if first is not None and first == second else None


def _inflates_whole(data: bytes) -> bool:
    """Whether the compressed pixels of a PNG reach to their checksum."""
    inflating = zlib.decompressobj()
    at = len(_PNG)
    try:
        while at + 8 < len(data) and not inflating.eof:
            length = int.from_bytes(data[at : at + 4], "big")
            if data[at + 4 : at + 8] == b"IDAT":
                rest = data[at + 8 : at + 8 + length]
                while rest and not inflating.eof:
                    inflating.decompress(rest, _PIECE)
                    rest = inflating.unconsumed_tail
            at += 12 + length
    except zlib.error:
        return False
    return inflating.eof


_PIECE = 64 * 1024


def _pixels(data: bytes, mime: str, name: str, memory: DecodeMemory) -> bytes | None:
    """A digest of all pixels; None where they do not decode."""
    import hashlib

    try:
        with decoded(data, mime, name, [], memory) as image:
            return hashlib.sha256(image.tobytes()).digest()
    except MediaError:
        return None


__all__ = [
    "DECODE_BYTES",
    "MOST_PIXELS",
    "DecodeMemory",
    "decoded",
    "ends_whole",
    "png_chunks",
    "without_texts",
]
