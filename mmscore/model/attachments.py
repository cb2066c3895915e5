"""A medium, where it lies -> what goes into the request, with a small memory of the last ones.

Benchmarks ask many questions about one image, so the encoded form of the last images is kept, up
to a fixed number of bytes; memory does not grow with the data set.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import replace

from mmscore.dataset.hub.linked_images import Links
from mmscore.dataset.media.image import ImageLimits, data_uri, prepare_image
from mmscore.dataset.media.sources import TextSource, mime_of
from mmscore.errors import DataError, MediaError
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


class Attacher:
    """Makes attachments; safe to use from any number of threads."""

    def __init__(
        self,
        limits: ImageLimits,
        *,
        audio_as_uri: bool = False,
        links: Links | None = None,
        inline: bool = False,
    ) -> None:
        """Take the limits images must keep.

        Args:
            limits: What an image may measure; see `media.ImageLimits`.
            audio_as_uri: Send sounds as data URIs, as DashScope wants them, not as bare base64.
            links: What fetches media at URLs. Sounds have no URL form in a request, so they are
                always fetched, as EvalScope 1.14.1 does.
            inline: Fetch images and clips too, instead of leaving their URLs to the endpoint.
        """
        self._links = links
        self._inline = inline
        self._limits = limits
        self._limited = limits != ImageLimits()
        self._audio_as_uri = audio_as_uri
        self._lock = threading.Lock()
        self._remembered: OrderedDict[Media, Attachment] = OrderedDict()
        self._size = 0

    def stop(self) -> None:
        """End what is being fetched; its samples fail."""
        if self._links is not None:
            self._links.stop()

    def attach(self, medium: Media) -> Attachment:
        """What is sent for `medium`.

        Raises:
            DataError: Its bytes cannot be found or must not be sent.
        """
        with self._lock:
            known = self._remembered.get(medium)
            if known is not None:
                self._remembered.move_to_end(medium)
                return known
        attachment = self._make(medium)
        with self._lock:
            if medium not in self._remembered:
                self._remembered[medium] = attachment
                self._size += len(attachment.payload)
                while self._size > REMEMBERED_BYTES:
                    _, old = self._remembered.popitem(last=False)
                    self._size -= len(old.payload)
        return attachment

    def _make(self, medium: Media) -> Attachment:
        source = medium.source
        if source is None:
            return self._at_url(medium, medium.url or "")
        if isinstance(source, TextSource) and not (medium.kind == "image" and self._limited):
            uri = source.uri()
            if uri is not None:
                return self._as_written(uri, medium, source)
        return self._encoded(source.read(), medium, source.name)

    def _at_url(self, medium: Media, url: str) -> Attachment:
        if not (self._inline or medium.kind == "audio"):
            return _url_attachment(url)
        place = _shortened(url)
        if self._links is None:
            raise MediaError(f"`{place}` cannot be fetched here")
        data = self._links.read(url)
        mime = mime_of(data)
        if medium.kind != "image" and mime is not None and not mime.startswith(f"{medium.kind}/"):
            raise MediaError(f"`{place}` is no {medium.kind} but {mime}")
        if medium.kind == "video" and mime is None:
            raise MediaError(f"`{place}` is no video of a known type, it begins {data[:16]!r}")
        return self._encoded(data, replace(medium, mime=mime or medium.mime), place)

    def _encoded(self, data: bytes, medium: Media, place: str) -> Attachment:
        notes: tuple[str, ...] = ()
        lay = data
        if medium.kind == "image":
            prepared = prepare_image(data, self._limits, name=place)
            data, mime, notes = prepared.data, prepared.mime, prepared.notes
        else:
            known = MIME_OF_FORMAT.get(medium.format or "", f"{medium.kind}/{medium.format}")
            mime = medium.mime or known
        payload = data_uri(data, mime)
        if medium.kind == "audio" and not self._audio_as_uri:
            payload = payload.partition(b",")[2]
        digest = hashlib.sha256(data).hexdigest()
        original = hashlib.sha256(lay).hexdigest() if data != lay else None
        sent = SentMedium(
            place, digest, bytes=len(data), mime=mime, notes=notes or None, original=original
        )
        return Attachment(payload, digest, sent)

    def _as_written(self, uri: str, medium: Media, source: TextSource) -> Attachment:
        """A data URI goes out as it is, as the reference sends it; of a sound the base64 alone."""
        mime = uri[5 : uri.index(";")]
        if medium.kind == "audio" and not self._audio_as_uri:
            uri = uri.partition(",")[2]
        payload = _in_json(uri)
        digest = hashlib.sha256(payload).hexdigest()
        sent = SentMedium(source.name, digest, characters=len(payload), mime=mime)
        if medium.kind == "image":
            with suppress(DataError):  # what is no base64 goes out all the same
                data = TextSource(source.name, uri).read()
                held = hashlib.sha256(data).hexdigest()
                sent = replace(sent, sha256=held, bytes=len(data))
        return Attachment(payload, digest, sent)


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
