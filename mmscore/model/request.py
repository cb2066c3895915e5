"""The body of a chat completion request, with its media spliced in as bytes.

An image of some hundred kilobytes would pass through `json.dumps` character by character. So the
body is dumped once with a short mark where each medium goes, and the marks are replaced by the
encoded bytes; the same body with digests in the marks' places is what the request's hash is over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmscore.store.records import SentMedium
from mmscore.types import Media, Message, Text

_MARK = "\ue000mmscore:{}\ue001"


@dataclass(frozen=True, slots=True)
class Attachment:
    """A medium ready to be sent.

    Attributes:
        payload: The data URI, raw base64 or URL, in JSON-safe ASCII.
        digest: SHA-256 of the bytes that were encoded, or of the URL.
        sent: What the run keeps of it: place, digest, bytes, MIME type, changes.
    """

    payload: bytes
    digest: str
    sent: SentMedium


@dataclass(frozen=True, slots=True)
class Request:
    """One request.

    Attributes:
        body: The pieces of the body, in order; media are shared, not copied, between requests.
        hash: What a resumed run knows it by.
    """

    body: tuple[bytes, ...]
    hash: str


def build_request(
    model: str,
    messages: Sequence[Message],
    media: Sequence[Attachment],
    options: Mapping[str, Any],
) -> Request:
    """The request that asks `messages`; `media` is in the order of `media_of`."""
    marks = iter(range(len(media)))
    body = {
        "model": model,
        "messages": [_message(message, marks) for message in messages],
        **options,
    }
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        pieces = _split(text, len(media))
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8, but JSON can spell it.
        pieces = _split(json.dumps(body, separators=(",", ":")), len(media))
    return Request(
        body=_between(pieces, [medium.payload for medium in media]),
        hash=hashlib.sha256(
            b"".join(_between(pieces, [b"sha256:" + medium.digest.encode() for medium in media]))
        ).hexdigest(),
    )


def media_of(messages: Sequence[Message]) -> list[Media]:
    """All media that are sent, in order; only a user's turn carries any, as in the reference."""
    return [
        part
        for message in messages
        if message.role == "user" and not isinstance(message.content, str)
        for part in message.content
        if isinstance(part, Media)
    ]


def text_of(messages: Sequence[Message]) -> str:
    """The text of the last user message, its parts joined by newlines, as reports show it."""
    for message in reversed(messages):
        if message.role == "user":
            return content_text(message)
    return ""


def rendered(messages: Sequence[Message]) -> str:
    """All turns as one text, the way EvalScope 1.14.1 shows a question to a judge."""
    return "\n\n".join(
        f"**{message.role.capitalize()}**: {content_text(message)}" for message in messages
    )


def content_text(message: Message) -> str:
    """The text parts of a message, joined by newlines."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if isinstance(part, Text))


def _message(message: Message, marks: Iterator[int]) -> dict[str, Any]:
    content: object = message.content
    if message.role != "user":
        content = content_text(message)
    elif not isinstance(message.content, str):
        content = [_part(part, marks) for part in message.content]
    return {"role": message.role, "content": content, **message.extra}


def _part(part: Text | Media, marks: Iterator[int]) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    mark = _MARK.format(next(marks))
    if part.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": mark, "format": part.format}}
    if part.kind == "video":
        clip: dict[str, Any] = {"type": "video_url", "video_url": {"url": mark}}
        if part.fps is not None:
            clip["fps"] = part.fps
        return clip
    image: dict[str, Any] = {"url": mark}
    if part.detail is not None:
        image["detail"] = part.detail
    return {"type": "image_url", "image_url": image}


def _split(text: str, count: int) -> list[bytes]:
    pieces = []
    for number in range(count):
        mark = _MARK.format(number)
        if mark not in text:
            mark = json.dumps(mark)[1:-1]
        before, _, text = text.partition(mark)
        pieces.append(before.encode())
    pieces.append(text.encode())
    return pieces


def _between(pieces: Sequence[bytes], payloads: Sequence[bytes]) -> tuple[bytes, ...]:
    laid = [pieces[0]]
    for payload, piece in zip(payloads, pieces[1:], strict=True):
        laid += (payload, piece)
    return tuple(laid)
