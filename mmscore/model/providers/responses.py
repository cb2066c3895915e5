"""OpenAI's Responses API: `input` items in, `output` items out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmscore.errors import MediaError
from mmscore.finish_reasons import word_in
from mmscore.model.error_answers import ReplyError, no_reply, reported, reported_error
from mmscore.model.media_slots import MediaSlots
from mmscore.model.providers.base import Provider
from mmscore.model.providers.openai import bearer, plain_options
from mmscore.model.replies import Spoken, token_usage
from mmscore.types import Media, Message, Text

_ENDED = frozenset({"completed", "incomplete", "failed", "cancelled"})

_DELTAS = {
    "response.output_text.delta": "text",
    "response.refusal.delta": "refusal",
    "response.reasoning_text.delta": "reasoning",
    "response.reasoning_summary_text.delta": "reasoning",
}
"""Events that bring something that was said, and what."""


def _options(generation: Mapping[str, Any], stream: bool) -> dict[str, Any]:
    """OpenAI's older names as this interface has them; others go out as they were given."""
    options = plain_options(generation)
    options.pop("n", None)
    limits = [options.pop(name, None) for name in ("max_completion_tokens", "max_tokens")]
    limit = next((one for one in limits if one is not None), None)
    if limit is not None:
        options.setdefault("max_output_tokens", limit)
    effort = options.pop("reasoning_effort", None)
    if effort is not None:
        options.setdefault("reasoning", {"effort": effort})
    form = options.pop("response_format", None)
    if isinstance(form, Mapping):
        held = form.get("json_schema")
        inner = held if isinstance(held, Mapping) else {}
        options.setdefault("text", {"format": {"type": form.get("type"), **inner}})
    return {"stream": True, **options} if stream else options


def _body(
    model: str, messages: Sequence[Message], media: MediaSlots, options: Mapping[str, Any]
) -> dict[str, Any]:
    return {"model": model, "input": [_item(one, media) for one in messages], **options}


def _item(message: Message, media: MediaSlots) -> dict[str, Any]:
    if message.role != "user" or isinstance(message.content, str):
        return {"role": message.role, "content": message.text}
    return {"role": "user", "content": [_part(part, media) for part in message.content]}


def _part(part: Text | Media, media: MediaSlots) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "input_text", "text": part.text}
    if part.kind != "image":
        raise MediaError(f"{RESPONSES.title} takes images, no {part.kind}")
    image = {"type": "input_image", "image_url": media.mark(media.take())}
    if part.detail is not None:
        image["detail"] = part.detail
    return image


def _read(data: Mapping[str, Any]) -> Spoken:
    if reported(data):
        raise reported_error(data)
    status = data.get("status", "completed")
    if status not in _ENDED:
        raise no_reply(f"no end: its status is `{word_in(status)}`", data)
    spoken = Spoken(usage=token_usage(data.get("usage"), "input_tokens", "output_tokens"))
    details = data.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    spoken.finish_reason = word_in(reason) if status == "incomplete" and reason else status
    output = data.get("output")
    if not isinstance(output, list):
        raise no_reply("no output", data)
    for kind, text in _said(output):
        getattr(spoken, kind).append(text)
    return spoken


def _said(output: Sequence[object]) -> Iterator[tuple[str, str]]:
    """What each item of an output says: text, a refusal or reasoning."""
    for item in output:
        if not isinstance(item, Mapping):
            continue
        for name in ("summary", "content"):
            held = item.get(name)
            for part in held if isinstance(held, list) else ():
                if not isinstance(part, Mapping):
                    continue
                if item.get("type") == "reasoning":
                    kind, text = "reasoning", part.get("text")
                elif part.get("type") == "refusal":
                    kind, text = "refusal", part.get("refusal")
                else:
                    kind, text = "text", part.get("text")
                if isinstance(text, str) and text:
                    yield kind, text


class ResponseEvents:
    """Puts a streamed response together; its last event holds all of it once more."""

    def __init__(self) -> None:
        self._spoken = Spoken()
        self._whole: Spoken | None = None

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take one event in; return whether it brought something that was said."""
        kind = str(event.get("type"))
        delta = event.get("delta")
        if kind in _DELTAS and isinstance(delta, str) and delta:
            getattr(self._spoken, _DELTAS[kind]).append(delta)
            return True
        response = event.get("response")
        if isinstance(response, Mapping) and kind.removeprefix("response.") in _ENDED:
            self._whole = _read({"output": [], **response})
        return False

    def ended(self, *, done: bool) -> Spoken:
        """What came.

        Raises:
            ReplyError: It ended before the response did.
        """
        whole = self._whole
        if whole is None:
            if done and self._spoken.size:
                return self._spoken
            raise ReplyError("the stream ended before the response was completed")
        if whole.size:
            return whole
        self._spoken.usage = whole.usage
        self._spoken.finish_reason = whole.finish_reason
        return self._spoken


def _is_reply(data: Mapping[str, Any]) -> bool:
    """Also of an event of a stream."""
    if data.get("object") == "response" or isinstance(data.get("output"), list):
        return True
    return str(data.get("type")).startswith("response.")


RESPONSES = Provider(
    name="responses",
    title="OpenAI's Responses API",
    route="/responses",
    eval_type="openai_responses_api",
    headers=bearer,
    options=_options,
    body=_body,
    read=_read,
    stream=ResponseEvents,
    is_reply=_is_reply,
    key_variables=("OPENAI_API_KEY",),
    other_routes={
        "/chat/completions": "leave out --provider, or give the URL up to /v1",
        "/messages": "give --provider anthropic, or the URL up to /v1",
    },
)
