"""OpenAI's chat completions, which nearly every server speaks, each in its own dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mmscore.config.task import CLIENT_OPTIONS
from mmscore.finish_reasons import word_in
from mmscore.model.error_answers import ReplyError, no_reply, reported_error
from mmscore.model.media_slots import MediaSlots
from mmscore.model.providers.base import Provider
from mmscore.model.replies import Spoken, token_usage
from mmscore.types import Media, Message, Text


def bearer(key: str | None) -> dict[str, str]:
    """The header that carries a key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def plain_options(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Generation options without those that steer the client, `extra_body` merged in."""
    options = {k: v for k, v in generation.items() if k not in CLIENT_OPTIONS}
    extra = options.pop("extra_body", None)
    if isinstance(extra, Mapping):
        options.update(extra)  # as the OpenAI client does
    return options


def _options(generation: Mapping[str, Any], stream: bool) -> dict[str, Any]:
    options = plain_options(generation)
    if stream:
        options = {"stream": True, "stream_options": {"include_usage": True}, **options}
    return options


# --- what is sent ------------------------------------------------------------------------------


def _body(
    model: str, messages: Sequence[Message], media: MediaSlots, options: Mapping[str, Any]
) -> dict[str, Any]:
    return {"model": model, "messages": [_message(one, media) for one in messages], **options}


def _message(message: Message, media: MediaSlots) -> dict[str, Any]:
    content: object = message.content
    if message.role != "user":
        content = message.text
    elif not isinstance(message.content, str):
        content = [_part(part, media) for part in message.content]
    return {"role": message.role, "content": content, **message.extra}


def _part(part: Text | Media, media: MediaSlots) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    mark = media.mark(media.take())
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


# --- what comes back ---------------------------------------------------------------------------


def _read(data: Mapping[str, Any]) -> Spoken:
    choices = data.get("choices")
    known = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
    if not known:
        raise no_reply("no choices", data)
    choice = _first(known)
    _check(choice)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise no_reply("no message in its choice", data)
    spoken = Spoken(
        finish_reason=word_in(choice.get("finish_reason")), usage=token_usage(data.get("usage"))
    )
    spoken.add_message(message)
    return spoken


def _first(choices: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The choice of the lowest index, as the reference takes; the first where there are none."""
    if all(type(one.get("index")) is int for one in choices):
        return min(choices, key=lambda one: int(one["index"]))
    return choices[0]


def _check(choice: Mapping[str, Any]) -> None:
    """Pass a choice that is none of a failure's.

    Raises:
        ReplyError: It reports an error, whatever text stands beside it.
    """
    if choice.get("error"):
        raise reported_error(choice)


class ChunkReader:
    """Puts the chunks of a streamed chat completion together.

    One choice was asked for, so the first choice of each chunk counts whatever its index: some
    servers number chunks there, or leave it out. Two answers in one stream are told by a choice
    that comes back after another one spoke, or that speaks after the other one ended.
    """

    def __init__(self) -> None:
        self._spoken = Spoken()
        self._began = False
        self._stranger: Mapping[str, Any] | None = None
        self._speaker: object = None
        self._silent: set[object] = set()
        self._ended_by: object = None

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take one chunk in; return whether it brought text or reasoning."""
        if event.get("usage"):
            self._spoken.usage = token_usage(event["usage"])
        choices = event.get("choices")
        held = choices if isinstance(choices, list) else ()
        known = [one for one in held if isinstance(one, dict)]
        if not known:
            if "choices" not in event:
                self._stranger = event
            return False
        self._began = True
        for choice in known:
            _check(choice)
        before = self._spoken.size
        self._take(known[0])
        brought = self._spoken.size > before
        if brought:
            self._spoke((str(event.get("id")), str(known[0].get("index"))))
        if any(_delta(one) != _delta(known[0]) and _says(_delta(one)) for one in known[1:]):
            raise _two_answers()
        reason = word_in(known[0].get("finish_reason"))
        if reason is not None:
            self._spoken.finish_reason = reason
            self._ended_by = self._speaker
        return brought

    def _take(self, choice: Mapping[str, Any]) -> None:
        delta = choice.get("delta")
        if isinstance(delta, dict) and delta:
            self._spoken.add_message(delta)
            return
        whole = choice.get("message")
        if not isinstance(whole, dict):
            return
        said = Spoken()
        said.add_message(whole)
        if not self._spoken.size:
            self._spoken.add_message(whole)
        elif said.text and "".join(said.text) != "".join(self._spoken.text):
            raise _two_answers()  # the last chunk of some servers holds the whole text again

    def _spoke(self, speaker: object) -> None:
        if speaker != self._speaker:
            if speaker in self._silent or self._ended_by is not None:
                raise _two_answers()
            self._silent.add(self._speaker)
            self._speaker = speaker

    def ended(self, *, done: bool) -> Spoken:
        """What came.

        Raises:
            ReplyError: It ended without a finish reason or `[DONE]`, so it was cut.
        """
        if self._spoken.finish_reason is None and not (done and self._began):
            if self._stranger is not None and not self._began:
                raise no_reply("no choices", self._stranger)
            lacking = "an answer and without a finish_reason" if done else "a finish_reason"
            raise ReplyError(f"the stream ended without {lacking}")
        return self._spoken


def _delta(choice: Mapping[str, Any]) -> object:
    return choice.get("delta") or choice.get("message")


def _says(delta: object) -> bool:
    return isinstance(delta, dict) and any(
        delta.get(key) for key in ("content", "reasoning_content", "reasoning", "refusal")
    )


def _two_answers() -> ReplyError:
    return ReplyError(
        "the stream holds two different answers; servers that mix up parallel streams need "
        "--concurrency 1"
    )


def _is_reply(data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("choices"), list)


_OTHER_ROUTES = {
    "/messages": "give --provider anthropic, or the URL up to /v1",
    "/responses": "give --provider responses, or the URL up to /v1",
    "/completions": "that route is of text completions, which take no images; give the URL up to "
    "/v1",
}

OPENAI = Provider(
    name="openai",
    title="OpenAI's chat completions",
    route="/chat/completions",
    eval_type="openai_api",
    headers=bearer,
    options=_options,
    body=_body,
    read=_read,
    stream=ChunkReader,
    is_reply=_is_reply,
    key_variables=("OPENAI_API_KEY",),
    other_routes=_OTHER_ROUTES,
)

DASHSCOPE = replace(
    OPENAI, name="dashscope", title="DashScope's chat completions", sounds_as_uri=True
)
"""DashScope takes sounds as data URIs only; the reference tells it by its address too."""
