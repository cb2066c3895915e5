"""What an endpoint answered, in whichever of the usual shapes: plain JSON or a stream of events.

The text that is scored equals the reference's (EvalScope 1.14.1): the refusal if there is one, else
the content; parts of a list joined by a newline; and, unless the reasoning came in a field of its
own, without the first `<think>...</think>` block.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mmscore.types import Status, Usage

ThinkRule = Literal["strict", "reference"]
"""`reference` removes the first complete block only; `strict` also reads past an unopened
`</think>` and takes a never-closed `<think>` for an answer that never came."""

_THINK_OPEN = re.compile(r'<think(?:\s+signature="[^"]*")?(?:\s+redacted="true")?\s*>')
_THINK_CLOSE = "</think>"
_EXCERPT = 200

_MOST_TOKENS = 2**53
"""A token count above this is no count; it is also what JSON readers elsewhere take exactly."""


class ReplyError(Exception):
    """The endpoint answered 200 with something that is no completion.

    Attributes:
        status: The status code an error object inside the answer names, if any.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion, read.

    Attributes:
        text: What is scored.
        reasoning: What the model thought aloud.
        status: `ok`, `no_answer`, `truncated` or `refused`.
        finish_reason: The endpoint's own word.
        usage: Tokens.
    """

    text: str
    reasoning: str | None
    status: Status
    finish_reason: str | None
    usage: Usage


def excerpt(body: str) -> str:
    """The beginning of `body` on one line, for an error's sentence.

    Control characters do not pass: a server's words must not steer the terminal that shows them.
    """
    words = " ".join(body[: 4 * _EXCERPT].split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
    return line if len(line) <= _EXCERPT else line[:_EXCERPT] + "..."


def read_completion(body: bytes, think: ThinkRule = "strict") -> Completion:
    """The completion in a plain JSON answer.

    Raises:
        ReplyError: The answer is no JSON, holds an error, or has no choices.
    """
    text = body.decode("utf-8-sig", errors="replace")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise ReplyError(f"the answer is not JSON: `{excerpt(text)}`") from None
    choice = _first_choice(data, text)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise ReplyError(f"the answer's choice has no message: `{excerpt(text)}`")
    return read_message(message, choice.get("finish_reason"), data.get("usage"), think)


def read_message(
    message: Mapping[str, Any], finish_reason: object, usage: object, think: ThinkRule = "strict"
) -> Completion:
    """The completion in a message, whichever way it came."""
    parts = _Parts()
    parts.add(message)
    return _complete(parts, finish_reason, _usage(usage), think)


def read_events(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects of a stream of server-sent events, up to `[DONE]`.

    Raises:
        ReplyError: An event is no JSON object or reports an error.
    """
    data: list[str] = []
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                data.append(value.removeprefix(" "))
            continue
        event = "\n".join(data)
        data.clear()
        if event == "[DONE]":
            return
        if event:
            yield _event(event)
    if data and "\n".join(data) != "[DONE]":
        yield _event("\n".join(data))


def _event(text: str) -> dict[str, Any]:
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        raise ReplyError(f"an event of the stream is not JSON: `{excerpt(text)}`") from None
    if not isinstance(event, dict):
        raise ReplyError(f"an event of the stream is no object: `{excerpt(text)}`")
    if event.get("error") or event.get("object") == "error":
        raise _reported(event, text)
    return event


class StreamReader:
    """Puts a streamed completion together, event by event."""

    def __init__(self) -> None:
        self._parts = _Parts()
        self._finish_reason: str | None = None
        self._usage = Usage()

    def add(self, event: Mapping[str, Any]) -> bool:
        """Take one event in; return whether it brought text or reasoning."""
        if event.get("usage"):
            self._usage = _usage(event["usage"])
        brought = False
        choices = event.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            delta = choice.get("delta") or choice.get("message")
            if isinstance(delta, dict):
                brought = self._parts.add(delta) or brought
            self._finish_reason = choice.get("finish_reason") or self._finish_reason
        return brought

    def completion(self, think: ThinkRule = "strict") -> Completion:
        """What came.

        Raises:
            ReplyError: The stream ended without a finish_reason, so it was cut.
        """
        if self._finish_reason is None:
            raise ReplyError("the stream ended without a finish_reason")
        return _complete(self._parts, self._finish_reason, self._usage, think)


class _Parts:
    """Text, reasoning and refusal, gathered from a message or from a stream's deltas."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.refusal: list[str] = []
        self.is_list = False

    def add(self, message: Mapping[str, Any]) -> bool:
        before = len(self.text) + len(self.reasoning)
        content = message.get("content")
        if isinstance(content, str) and content:
            self.text.append(content)
        elif isinstance(content, list):
            self._add_list(content)
        thought = message.get("reasoning_content") or message.get("reasoning")
        if isinstance(thought, str) and thought:
            self.reasoning.append(thought)
        if isinstance(message.get("refusal"), str) and message["refusal"]:
            self.refusal.append(message["refusal"])
        return len(self.text) + len(self.reasoning) > before

    def _add_list(self, content: list[Any]) -> None:
        self.is_list = True
        texts = []
        for part in content:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict):
                if isinstance(part.get("text"), str):
                    texts.append(part["text"])
                for key in ("thinking", "reasoning"):
                    thought = part.get(key)
                    if isinstance(thought, list):  # Mistral nests text parts inside
                        thought = "".join(p.get("text", "") for p in thought if isinstance(p, dict))
                    if isinstance(thought, str) and thought:
                        self.reasoning.append(thought)
        if texts:
            self.text.append("\n".join(texts))


def _complete(parts: _Parts, finish_reason: object, usage: Usage, think: ThinkRule) -> Completion:
    reason = finish_reason if isinstance(finish_reason, str) else None
    reasoning = "".join(parts.reasoning) or None
    text = "".join(parts.text)
    if parts.refusal:
        text = "".join(parts.refusal)
    else:
        if reasoning is None and not parts.is_list:
            text, reasoning = split_think(text)
        if think == "strict":
            text, thought = _split_unpaired(text)
            reasoning = "\n".join(filter(None, (reasoning, thought))) or None
    return Completion(text, reasoning, _status(text, reason, bool(parts.refusal)), reason, usage)


def split_think(text: str) -> tuple[str, str | None]:
    """`text` without its first complete `<think>` block, and what the block held.

    The remainder is stripped only if a block was removed, as EvalScope 1.14.1 does.
    """
    opened = _THINK_OPEN.search(text)
    # One search for each tag: where the first has no end, none has, and looking again from each
    # of many tags would take quadratic time.
    close = text.find(_THINK_CLOSE, opened.end()) if opened else -1
    if opened is None or close < 0:
        return text, None
    rest = text[: opened.start()] + text[close + len(_THINK_CLOSE) :]
    return rest.strip(), text[opened.end() : close].strip()


def _split_unpaired(text: str) -> tuple[str, str | None]:
    """`text` past an unopened `</think>`, or none of it from a never-closed `<think>`; the rest."""
    close = text.find(_THINK_CLOSE)
    if close >= 0 and "<think" not in text[:close]:
        at = text.rfind(_THINK_CLOSE, 0, _next_open(text, close))
        return text[at + len(_THINK_CLOSE) :].strip(), text[:at].strip()
    opened = text.rfind("<think>")
    if opened >= 0 and _THINK_CLOSE not in text[opened:]:
        return "", text[opened + len("<think>") :].strip()
    return text, None


def _next_open(text: str, start: int) -> int:
    at = text.find("<think", start)
    return len(text) if at < 0 else at


def _status(text: str, finish_reason: str | None, refused: bool) -> Status:
    if refused or finish_reason == "content_filter":
        return "refused"
    if finish_reason == "length":
        return "truncated"
    return "ok" if text.strip() else "no_answer"


def _first_choice(data: object, text: str) -> Mapping[str, Any]:
    if isinstance(data, dict):
        if data.get("error"):
            raise _reported(data, text)
        choices = data.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            return choices[0]
    raise ReplyError(f"the answer has no choices: `{excerpt(text)}`")


def _reported(data: Mapping[str, Any], text: str) -> ReplyError:
    error = data.get("error") or data
    code = error.get("code") if isinstance(error, dict) else None
    status = code if isinstance(code, int) and 400 <= code < 600 else None
    return ReplyError(f"the endpoint answered with an error: {error_words(text)}", status)


def error_words(body: str) -> str:
    """The message in an error answer, else the beginning of the answer itself."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return f"`{excerpt(body)}`" if body.strip() else "an empty answer"
    if isinstance(data, dict):
        error = data.get("error", data)
        for holder in (error, data):
            if isinstance(holder, str) and holder:
                return excerpt(holder)
            if isinstance(holder, dict):
                for key in ("message", "detail", "msg"):
                    if isinstance(holder.get(key), str) and holder[key]:
                        return excerpt(holder[key])
    return f"`{excerpt(body)}`"


def _usage(value: object) -> Usage:
    if not isinstance(value, dict):
        return Usage()

    def count(key: str) -> int | None:
        number = value.get(key)
        if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST_TOKENS:
            return number
        return None

    return Usage(count("prompt_tokens"), count("completion_tokens"))
