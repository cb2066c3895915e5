"""Anthropic's Messages API: the system text apart, content in blocks, a limit of tokens always."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mmscore.errors import MediaError
from mmscore.finish_reasons import word_in
from mmscore.model.error_answers import ReplyError, no_reply
from mmscore.model.media_slots import MediaSlots
from mmscore.model.providers.base import Provider
from mmscore.model.providers.openai import plain_options
from mmscore.model.replies import Spoken, token_count
from mmscore.types import Media, Message, Text, Usage

VERSION = "2023-06-01"
"""The version of the interface that is asked for."""

MOST_TOKENS = 4096
"""How long a reply may be where nothing is said, as in EvalScope 1.14.1; the service wants a
number."""

_PROMPT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def _headers(key: str | None) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def _options(generation: Mapping[str, Any], stream: bool) -> dict[str, Any]:
    """OpenAI's names as this interface has them; others go out as they were given."""
    options = plain_options(generation)
    options.pop("n", None)
    limits = [options.pop(name, None) for name in ("max_tokens", "max_completion_tokens")]
    limit = next((one for one in limits if one is not None), MOST_TOKENS)
    stop = options.pop("stop", None)
    if stop is not None:
        options.setdefault("stop_sequences", [stop] if isinstance(stop, str) else stop)
    return {"max_tokens": limit, **({"stream": True} if stream else {}), **options}


def _body(
    model: str, messages: Sequence[Message], media: MediaSlots, options: Mapping[str, Any]
) -> dict[str, Any]:
    system = "\n\n".join(one.text for one in messages if one.role in ("system", "developer"))
    turns = [_turn(one, media) for one in messages if one.role not in ("system", "developer")]
    return {
        "model": model,
        **({"system": system} if system else {}),
        "messages": turns,
        **options,
    }


def _turn(message: Message, media: MediaSlots) -> dict[str, Any]:
    if message.role != "user" or isinstance(message.content, str):
        return {"role": message.role, "content": message.text}
    blocks = [_block(part, media) for part in message.content if not _is_blank(part)]
    return {"role": "user", "content": blocks}


def _is_blank(part: Text | Media) -> bool:
    """Whether it is a text that the service would refuse the request for."""
    return isinstance(part, Text) and not part.text.strip()


def _block(part: Text | Media, media: MediaSlots) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    if part.kind != "image":
        raise MediaError(f"{ANTHROPIC.title} takes images, no {part.kind}")
    image = media.take()
    if not image.is_data:
        return {"type": "image", "source": {"type": "url", "url": media.mark(image)}}
    source = {
        "type": "base64",
        "media_type": image.mime,
        "data": media.mark(image, image.base64),
    }
    return {"type": "image", "source": source}


def _read(data: Mapping[str, Any]) -> Spoken:
    blocks = data.get("content")
    if not isinstance(blocks, list):
        raise no_reply("no content", data)
    spoken = _spoken(block for block in blocks if isinstance(block, Mapping))
    spoken.finish_reason = word_in(data.get("stop_reason"))
    spoken.usage = _usage(data.get("usage"), Usage())
    return spoken


def _spoken(blocks: Iterable[Mapping[str, Any]]) -> Spoken:
    """What blocks say: texts are joined by newlines, as the reference joins them."""
    texts: list[str] = []
    thoughts: list[str] = []
    for block in blocks:
        for name, found in (("text", texts), ("thinking", thoughts)):
            value = block.get(name)
            if isinstance(value, str) and value:
                found.append(value)
    apart = len(texts) != 1 or bool(thoughts)
    return Spoken(text=["\n".join(texts)], reasoning=thoughts, in_parts=apart)


def _usage(value: object, before: Usage) -> Usage:
    """Tokens as counted so far: a stream counts prompt and reply in different events."""
    if not isinstance(value, Mapping):
        return before
    prompt = [count for name in _PROMPT_TOKENS if (count := token_count(value.get(name)))]
    written = token_count(value.get("output_tokens"))
    return Usage(
        sum(prompt) if prompt else before.prompt_tokens,
        before.completion_tokens if written is None else written,
    )


class MessageEvents:
    """Puts a streamed message together, block by block."""

    def __init__(self) -> None:
        self._blocks: dict[object, dict[str, str]] = {}
        self._finish_reason: str | None = None
        self._usage = Usage()
        self._began = self._stopped = False

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take one event in; return whether it brought something that was said."""
        kind = event.get("type")
        message = event.get("message")
        if kind == "message_start" and isinstance(message, Mapping):
            if self._began:
                raise ReplyError("the stream holds two different answers")
            self._began = True
            self._usage = _usage(message.get("usage"), self._usage)
        elif kind == "message_stop":
            self._stopped = True
        elif kind == "message_delta":
            delta = event.get("delta")
            self._usage = _usage(event.get("usage"), self._usage)
            if isinstance(delta, Mapping):
                self._finish_reason = word_in(delta.get("stop_reason")) or self._finish_reason
        elif kind in ("content_block_start", "content_block_delta"):
            held = event.get("content_block" if kind == "content_block_start" else "delta")
            return isinstance(held, Mapping) and self._take(str(event.get("index")), held)
        return False

    def _take(self, index: str, held: Mapping[str, Any]) -> bool:
        block = self._blocks.setdefault(index, {})
        brought = False
        for name in ("text", "thinking"):
            value = held.get(name)
            if isinstance(value, str) and value:
                block[name] = block.get(name, "") + value
                brought = True
        return brought

    def ended(self, *, done: bool) -> Spoken:
        """What came.

        Raises:
            ReplyError: It ended before the message did.
        """
        if self._finish_reason is None and not (self._stopped or (done and self._blocks)):
            raise ReplyError("the stream ended before the message did")
        spoken = _spoken(self._blocks.values())
        spoken.finish_reason = self._finish_reason
        spoken.usage = self._usage
        return spoken


def _is_reply(data: Mapping[str, Any]) -> bool:
    """Also of an event of a stream."""
    return data.get("type") in ("message", "message_start")


ANTHROPIC = Provider(
    name="anthropic",
    title="Anthropic's Messages API",
    route="/messages",
    eval_type="anthropic_api",
    headers=_headers,
    options=_options,
    body=_body,
    read=_read,
    stream=MessageEvents,
    is_reply=_is_reply,
    key_variables=("ANTHROPIC_API_KEY",),
    other_routes={
        "/chat/completions": "leave out --provider, or give the URL up to /v1",
        "/responses": "give --provider responses, or the URL up to /v1",
    },
)
