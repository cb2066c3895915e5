"""Short marks where media go in a request's body, and the bytes that take their places.

An image of some hundred kilobytes would pass through `json.dumps` character by character. So the
body is dumped with the marks, which are replaced by the encoded bytes afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mmscore.store.records import SentMedium

_MARK = "\ue000mmscore:{}\ue001"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A medium ready to be sent.

    Attributes:
        payload: The data URI, raw base64 or URL, in JSON-safe ASCII.
        digest: SHA-256 of the bytes that were encoded, or of the URL.
        sent: What the run's record says of it.
    """

    payload: bytes
    digest: str
    sent: SentMedium

    @property
    def is_data(self) -> bool:
        """Whether the payload is a data URI, not a URL."""
        return self.payload.startswith(b"data:")

    @property
    def base64(self) -> bytes:
        """The data of a data URI alone."""
        return self.payload.partition(b",")[2]

    @property
    def mime(self) -> str:
        """What a data URI says that it is."""
        return self.payload[5 : self.payload.index(b";")].decode("ascii", "replace")


class MediaSlots:
    """The media of one request, laid into its body in the order of the messages."""

    def __init__(self, media: Iterable[Attachment]) -> None:
        """Take the media, in the order in which `request.media_of` names them."""
        self._media = iter(media)
        self._payloads: list[tuple[bytes, bytes]] = []

    def take(self) -> Attachment:
        """The next medium; whoever takes it says with `mark` where it goes."""
        return next(self._media)

    def mark(self, medium: Attachment, payload: bytes | None = None) -> str:
        """What stands in the body where the bytes of a medium go.

        Args:
            medium: The medium.
            payload: What goes there, if not the medium's own payload.
        """
        mark = _MARK.format(len(self._payloads))
        held = medium.payload if payload is None else payload
        self._payloads.append((held, b"sha256:" + medium.digest.encode()))
        return mark

    def filled(self, pieces: Sequence[bytes]) -> tuple[bytes, ...]:
        """The pieces around the marks, with the bytes between them."""
        return _between(pieces, [payload for payload, _ in self._payloads])

    def digested(self, pieces: Sequence[bytes]) -> tuple[bytes, ...]:
        """The pieces around the marks, with digests between them: what a request is known by."""
        return _between(pieces, [digest for _, digest in self._payloads])

    def split(self, text: str) -> list[bytes]:
        """The pieces of a dumped body around its marks, whichever way JSON spelt them.

        Raises:
            UnicodeEncodeError: A lone surrogate is in it, which has no UTF-8.
        """
        pieces = []
        for number in range(len(self._payloads)):
            mark = _MARK.format(number)
            if mark not in text:
                mark = "\\ue000mmscore:{}\\ue001".format(number)  # noqa: UP032 - braces
            before, _, text = text.partition(mark)
            pieces.append(before.encode())
        pieces.append(text.encode())
        return pieces


def _between(pieces: Sequence[bytes], payloads: Sequence[bytes]) -> tuple[bytes, ...]:
    laid = [pieces[0]]
    for payload, piece in zip(payloads, pieces[1:], strict=True):
        laid += (payload, piece)
    return tuple(laid)
