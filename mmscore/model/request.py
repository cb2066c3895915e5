"""The request that asks one question: its body, and the hash that it is known by.

What the body looks like is the provider's; media are spliced in as bytes, and the same body with
digests in their places is what the hash is over.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmscore.model.media_slots import Attachment, MediaSlots
from mmscore.model.providers import OPENAI, Provider
from mmscore.types import Media, Message


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
    provider: Provider = OPENAI,
) -> Request:
    """The request that asks `messages`.

    Args:
        model: The model's name.
        messages: The conversation.
        media: What is sent for its media, in the order of `media_of`.
        options: Further fields of the body.
        provider: Whose form it has.

    Raises:
        MediaError: The provider takes no media of that kind.
    """
    slots = MediaSlots(media)
    body = provider.body(model, messages, slots, options)
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    try:
        pieces = slots.split(text)
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8, but JSON can spell it.
        pieces = slots.split(json.dumps(body, separators=(",", ":")))
    digest = hashlib.sha256(b"".join(slots.digested(pieces)))
    return Request(slots.filled(pieces), digest.hexdigest())


@dataclass(frozen=True, slots=True)
class RequestMaker:
    """Makes the requests to one service: those of a run, the one that is tried, those shown.

    Attributes:
        model: The model's name.
        options: Further fields of each body.
        attach: Turns a medium into what is sent; raises DataError for one that cannot be.
        provider: Whose form the bodies have.
    """

    model: str
    options: Mapping[str, Any]
    attach: Callable[[Media], Attachment]
    provider: Provider = OPENAI

    def make(self, messages: Sequence[Message]) -> tuple[Request, list[Attachment]]:
        """The request that asks `messages`, and the media in it, which are read for that.

        Raises:
            DataError: A medium is gone, broken or cannot be sent.
        """
        media = self.attachments(messages)
        return self.with_media(messages, media), media

    def attachments(self, messages: Sequence[Message]) -> list[Attachment]:
        """The media of a request, read; raises as `make`."""
        return [self.attach(medium) for medium in media_of(messages)]

    def with_media(self, messages: Sequence[Message], media: Sequence[Attachment]) -> Request:
        """The request with these media in the places of its own; raises as `make`."""
        return build_request(self.model, messages, media, self.options, self.provider)


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
            return message.text
    return ""


def rendered(messages: Sequence[Message]) -> str:
    """All turns as one text, the way EvalScope 1.14.1 shows a question to a judge."""
    return "\n\n".join(f"**{message.role.capitalize()}**: {message.text}" for message in messages)


__all__ = [
    "Attachment",
    "Request",
    "RequestMaker",
    "build_request",
    "media_of",
    "rendered",
    "text_of",
]
