"""The body of a successful answer, read: one JSON object or a stream of events.

Which of the two it is, the body itself says: servers send events that nobody asked for, JSON where
events were announced, and `[DONE]` behind either.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mmscore.error_text import what
from mmscore.model.error_answers import (
    ReplyError,
    error_words,
    excerpt,
    reported,
    reported_error,
)
from mmscore.model.providers import Provider, other_form
from mmscore.model.replies import Completion, Spoken, complete
from mmscore.think import ThinkRule
from mmscore.web.response import bounded_json

_FIELD = re.compile(r"(?:data|event|id|retry)?:|(?:data|event|id|retry)$")
"""What a line of a stream begins with; a comment begins with the colon."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_DONE = "[DONE]"


def read_body(text: str, provider: Provider, think: ThinkRule = "strict") -> Completion:
    """The completion in a whole body; see `read_lines`.

    Raises:
        ReplyError: It is no completion.
    """
    try:
        data = bounded_json(text)
    except ValueError:
        return read_lines(_LINE_END.split(text), provider, think)
    return complete(_read(data, provider), think)


def read_lines(
    lines: Iterable[str],
    provider: Provider,
    think: ThinkRule = "strict",
    first: Callable[[], None] = lambda: None,
) -> Completion:
    """The completion in the lines of a body, as they arrive.

    Args:
        lines: Without their ends.
        provider: Whose form they have.
        think: How reasoning is split off.
        first: Called when the first piece of what was said has come.

    Raises:
        ReplyError: They are no completion, or end before it does.
    """
    rest = iter(lines)
    start = next((line for line in rest if line.strip("\ufeff \t")), "").lstrip("\ufeff")
    lines = itertools.chain([start], rest)
    if not _FIELD.match(start):
        return complete(_read(_leading_json("\n".join(lines)), provider), think)
    reader = provider.stream()
    began = done = False
    waiting = True
    for event in _events(lines):
        if event is None:
            done = True
            break
        if not began:
            _check_form(event, provider)
            began = True
        if reader.add(event) and waiting:
            waiting = False
            first()
    return complete(reader.ended(done=done), think)


def _read(data: object, provider: Provider) -> Spoken:
    if not isinstance(data, dict):
        raise ReplyError(f"the answer is {what(data)}, expected an object: {excerpt(str(data))}")
    if reported(data):
        raise reported_error(data)
    _check_form(data, provider)
    return provider.read(data)


def _check_form(data: dict[str, Any], provider: Provider) -> None:
    """Pass what is not in the form of another provider.

    Raises:
        ReplyError: It is; names whose.
    """
    other = None if provider.is_reply(data) else other_form(data, provider)
    if other is not None:
        raise other


def _leading_json(text: str) -> object:
    """The JSON value at the beginning of a text, behind which nothing but `[DONE]` may stand.

    Raises:
        ReplyError: It is something else.
    """
    text = text.strip("\ufeff \t\n")
    try:
        _, end = json.JSONDecoder().raw_decode(text)
        if text[end:].replace("data:", "").strip() in ("", _DONE):
            return bounded_json(text[:end])
    except (ValueError, RecursionError):
        pass
    raise ReplyError(f"the answer is not JSON: {error_words(text)}")


def _events(lines: Iterable[str]) -> Iterator[dict[str, Any] | None]:
    """The JSON objects of a stream of server-sent events; None where it says that it is done.

    Raises:
        ReplyError: An event is no JSON object or reports an error.
    """
    name = ""
    data: list[str] = []
    for line in itertools.chain(lines, [""]):
        if line:
            key, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if key == "data":
                data.append(value)
            elif key == "event":
                name = value
            continue
        yield from _of_event(name, data)
        name = ""
        data.clear()


def _of_event(name: str, data: list[str]) -> Iterator[dict[str, Any] | None]:
    """What one event holds: an object, the end, or nothing."""
    text = "\n".join(data).strip()
    if not text:
        return
    if text == _DONE:
        yield None
        return
    try:
        event = bounded_json(text)
    except ValueError:
        if len(data) > 1:  # some servers leave out the empty lines between events
            for line in data:
                yield from _of_event(name, [line])
            return
        raise ReplyError(f"an event of the stream is not JSON: `{excerpt(text)}`") from None
    if not isinstance(event, dict):
        raise ReplyError(f"an event of the stream is no object: `{excerpt(text)}`")
    if name == "error" or reported(event):
        raise reported_error(event)
    yield event
