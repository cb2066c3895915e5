"""A medium, where it lies -> what goes into the request, with a small memory of the last ones.

Benchmarks ask many questions about one image, so the encoded form of the last images is kept, up
to a fixed number of bytes; memory does not grow with the data set. Whatever is sent is looked at
before, wherever it comes from: bytes that are no image, sound or clip never leave this machine.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from mmscore.dataset.hub.linked_images import Links
from mmscore.dataset.media.decoding import DECODE_BYTES, DecodeMemory
from mmscore.dataset.media.file_types import require_kind
from mmscore.dataset.media.image import (
    CheckedImage,
    ImageLimits,
    PreparedImage,
    check_image,
    data_uri,
    prepare_image,
)
from mmscore.dataset.media.sources import DATA_LIKE, TextSource, mime_of
from mmscore.error_text import printable
from mmscore.errors import MediaError
from mmscore.model.request import Attachment
from mmscore.store.records import SentMedium
from mmscore.types import Media

REMEMBERED_BYTES = 8 * 1024 * 1024
"""How much encoded media is kept for the next question about the same image."""

MIME_OF_FORMAT = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "mp4": "video/mp4",
    "mpeg": "video/mpeg",
    "mov": "video/quicktime",
    "avi": "video/x-msvideo",
}

SAME_TYPES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}
"""Other names that data URIs have for a type, which every server understands."""


@dataclass(frozen=True, slots=True)
class CheckedMedium:
    """What a whole look at a medium says.

    Attributes:
        length: Its bytes, as they lie there.
        type: What they are.
        image: What decoding an image says; None for sounds and clips.
        notes: What is odd about it but does not keep it from being sent.
    """

    length: int
    type: str
    image: CheckedImage | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Found:
    """The bytes of a medium.

    Attributes:
        data: The bytes.
        place: Where they are from, in words.
        mime: What a data URI says they are; empty for all others.
        uri: The data URI, where it can go out as it is.
        oddities: What is odd about how they were written.
    """

    data: bytes
    place: str
    mime: str = ""
    uri: str | None = None
    oddities: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The place as errors show it."""
        return printable(self.place)


@dataclass(slots=True)
class _Making:
    """An attachment that one thread makes while others wait for it."""

    done: threading.Event = field(default_factory=threading.Event)
    made: Attachment | None = None
    error: BaseException | None = None

    def result(self) -> Attachment:
        """Wait for it.

        Raises:
            DataError: What the making raised.
        """
        self.done.wait()
        if self.error is not None:
            raise self.error
        assert self.made is not None
        return self.made


class MediaEncoder:
    """Makes attachments; safe to use from any number of threads."""

    def __init__(
        self,
        limits: ImageLimits,
        *,
        audio_as_uri: bool = False,
        links: Links | None = None,
        inline: bool = False,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Take the limits images must keep.

        Args:
            limits: What an image may measure; see `media.ImageLimits`.
            audio_as_uri: Send sounds as data URIs, as DashScope wants them, not as bare base64.
            links: What fetches media at URLs.
            inline: Fetch what is at URLs, instead of leaving them to the endpoint. A sound has no
                URL form in a request, so without this it cannot be sent.
            notice: Told once when images wait for memory.
        """
        self._links = links
        self._inline = inline
        self._limits = limits
        self._audio_as_uri = audio_as_uri
        self._memory = DecodeMemory(on_first_wait=lambda: notice(WAITING))
        self._lock = threading.Lock()
        self._remembered: OrderedDict[Media, Attachment] = OrderedDict()
        self._making: dict[Media, _Making] = {}
        self._size = 0

    def stop(self) -> None:
        """End what is being fetched; its samples fail."""
        if self._links is not None:
            self._links.stop()

    def attach(self, medium: Media) -> Attachment:
        """What is sent for `medium`; of several threads that want it at once, one makes it.

        Raises:
            DataError: Its bytes cannot be found or must not be sent.
        """
        with self._lock:
            known = self._remembered.get(medium)
            if known is not None:
                self._remembered.move_to_end(medium)
                return known
            making = self._making.get(medium)
            if making is None:
                mine = self._making[medium] = _Making()
        if making is not None:
            return making.result()
        try:
            mine.made = self._make(medium)
        except BaseException as error:
            mine.error = error
            raise
        finally:
            self._remember(medium, mine)
        return mine.made

    def _remember(self, medium: Media, making: _Making) -> None:
        with self._lock:
            del self._making[medium]
            if making.made is not None:
                self._remembered[medium] = making.made
                self._size += len(making.made.payload)
                while self._size > REMEMBERED_BYTES:
                    _, old = self._remembered.popitem(last=False)
                    self._size -= len(old.payload)
        making.done.set()

    def check(self, medium: Media) -> CheckedMedium:
        """What a whole look at a medium says that would be sent; nothing of it is kept.

        Raises:
            DataError: As `attach`, and where an image does not decode whole.
        """
        found = self._found(medium)
        if medium.kind != "image":
            require_kind(found.data, medium.kind, found.name)
            kind = mime_of(found.data) or medium.kind
            return CheckedMedium(len(found.data), kind, None, found.oddities)
        image = check_image(found.data, self._limits, name=found.name, memory=self._memory)
        notes = (*found.oddities, *_label_note(found, image.sent), *image.notes)
        return CheckedMedium(len(found.data), image.mime, image, notes)

    def is_left_to_endpoint(self, medium: Media) -> bool:
        """Whether its URL is sent, not its bytes."""
        at_url = medium.source is None and not DATA_LIKE.match(medium.url or "")
        return at_url and medium.kind != "audio" and not self._inline

    def _make(self, medium: Media) -> Attachment:
        if self.is_left_to_endpoint(medium):
            return _url_attachment(medium.url or "")
        found = self._found(medium)
        if medium.kind == "image":
            return self._image(found)
        require_kind(found.data, medium.kind, found.name)
        if found.uri is not None:
            return self._as_written(found, found.uri, medium, found.oddities)
        mime = MIME_OF_FORMAT.get(medium.format or "", f"{medium.kind}/{medium.format}")
        told = mime_of(found.data) if medium.source is None else None
        label = told or medium.mime or mime
        return self._encoded(found, found.data, label, medium, found.oddities)

    def _found(self, medium: Media) -> _Found:
        source = medium.source
        if source is None and DATA_LIKE.match(medium.url or ""):
            source = TextSource("the data URI of the record", medium.url or "")
        if source is None:
            return self._fetched(medium, medium.url or "")
        if not isinstance(source, TextSource):
            return _Found(source.read(), source.name)
        held = source.medium()
        return _Found(held.data, source.name, held.mime, held.uri, held.oddities)

    def _fetched(self, medium: Media, url: str) -> _Found:
        place = _shortened(url)
        if not self._inline:
            raise MediaError(
                f"`{printable(place)}` is a sound at a URL, which no request can name; what is "
                "at URLs is fetched only when asked for",
                hint="--inline-urls",
            )
        if self._links is None:
            raise MediaError(f"`{printable(place)}` cannot be fetched here")
        return _Found(self._links.read(url), place)

    def _image(self, found: _Found) -> Attachment:
        """An image as `prepare_image` decides; a right data URI goes out as it is written."""
        image = prepare_image(found.data, self._limits, name=found.name, memory=self._memory)
        labelled = SAME_TYPES.get(found.mime, found.mime)
        medium = Media("image")
        if found.uri is not None and image.data is found.data and labelled == image.mime:
            return self._as_written(found, found.uri, medium, image.notes)
        notes = (*found.oddities, *_label_note(found, image), *image.notes)
        return self._encoded(found, image.data, image.mime, medium, notes)

    def _encoded(
        self, found: _Found, data: bytes, mime: str, medium: Media, notes: tuple[str, ...]
    ) -> Attachment:
        payload = data_uri(data, mime)
        if medium.kind == "audio" and not self._audio_as_uri:
            payload = payload.partition(b",")[2]
        digest = hashlib.sha256(data).hexdigest()
        original = None if data is found.data else hashlib.sha256(found.data).hexdigest()
        sent = SentMedium(
            found.place, digest, len(data), mime=mime, notes=notes or None, original=original
        )
        return Attachment(payload, digest, sent)

    def _as_written(
        self, found: _Found, uri: str, medium: Media, notes: tuple[str, ...]
    ) -> Attachment:
        """A data URI goes out as it is, as the reference sends it; of a sound the base64 alone."""
        mime = uri[5 : uri.index(";")]
        if medium.kind == "audio" and not self._audio_as_uri:
            uri = uri.partition(",")[2]
        payload = _in_json(uri)
        digest = hashlib.sha256(payload).hexdigest()
        sent = SentMedium(
            found.place, digest, characters=len(payload), mime=mime, notes=notes or None
        )
        if medium.kind == "image":
            held = hashlib.sha256(found.data).hexdigest()
            sent = replace(sent, sha256=held, bytes=len(found.data))
        return Attachment(payload, digest, sent)


WAITING = (
    "large images are decoded a few at a time: all together may take "
    f"{DECODE_BYTES >> 20} MiB of memory"
)


def _label_note(found: _Found, image: PreparedImage) -> tuple[str, ...]:
    """What to say of a data URI that names another type than its bytes have."""
    labelled = SAME_TYPES.get(found.mime, found.mime)
    known = mime_of(found.data) or image.mime
    same = not labelled or labelled == known or (labelled, known) == ("image/png", "image/apng")
    return () if same else (f"labelled {found.mime}, is {known}",)


def _in_json(text: str) -> bytes:
    """A text as the inside of a JSON string; base64, which needs no escapes, at no cost."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text.encode()
    return json.dumps(text)[1:-1].encode()


def _url_attachment(url: str) -> Attachment:
    digest = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()
    return Attachment(_in_json(url), digest, SentMedium(_shortened(url), digest, url=True))


def _shortened(url: str) -> str:
    return url if len(url) <= 200 else url[:80] + "..."
