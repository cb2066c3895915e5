"""Messages of the OpenAI chat format, as users write them, -> `Message` tuples.

What is accepted, refused and sent is what EvalScope 1.14.1 accepts, refuses and sends.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from mmscore.dataset.media.columns import NO_HINTS, found_of, media_part, said
from mmscore.dataset.media.paths import Roots
from mmscore.dataset.rows import Cell
from mmscore.error_text import shown, text_of, what
from mmscore.errors import DataError
from mmscore.think import split_think
from mmscore.types import Kind, Media, Message, Text

DETAILS = ("auto", "low", "high")
INTERNAL = re.compile(r"<internal>(.*?)</internal>", re.DOTALL)


def read_messages(messages: Sequence[Any], roots: Roots) -> tuple[Message, ...]:
    """The messages of a record.

    Args:
        messages: Dicts of the OpenAI format. A user message whose content was a string with
            placeholders has a tuple of parts here already and keeps it.
        roots: Where media paths start.

    Raises:
        DataError: A message or part is of another shape than the format's.
    """
    return tuple(
        [_message(message, f"message {at}", roots) for at, message in enumerate(messages, 1)]
    )


def _message(message: object, where: str, roots: Roots) -> Message:
    if not isinstance(message, dict):
        raise DataError(f"{where} is {what(message)}, expected an object with `role` and `content`")
    role = _field(message, "role", where)
    if role == "assistant":
        return _assistant(message, where, roots)
    if role == "tool":
        text, _ = _split_internal(_words(message.get("content") or "", where, roots), where)
        call = text_of(_field(message, "tool_call_id", where), f"{where} tool_call_id")
        return Message("tool", _split_thought(text)[0], {"tool_call_id": call})
    if role not in ("system", "developer", "user"):
        raise DataError(
            f"{where} has role {shown(role)}, expected system, developer, user, assistant or tool"
        )
    content = _field(message, "content", where)
    if isinstance(content, str):
        content = text_of(content, f"{where} content")
    elif not isinstance(content, tuple):
        parts = _listed(content, where)
        if role != "user":
            parts = _without_thoughts(parts)
        content = tuple([_part(part, place, roots) for part, place in parts])
    return Message("user" if role == "user" else "system", content)


def _field(holder: Mapping[str, Any], name: str, where: str) -> Any:
    if name not in holder:
        raise DataError(f"{where} has no `{name}`")
    return holder[name]


def _listed(content: object, where: str) -> list[tuple[dict[str, Any], str]]:
    """The parts of a content list, each with its place in words."""
    if content == {}:
        return []  # the reference walks over anything it can walk over
    if not isinstance(content, list):
        raise DataError(f"{where} content is {what(content)}, expected a string or a list of parts")
    parts = []
    for number, part in enumerate(content, 1):
        place = f"{where} part {number}"
        if not isinstance(part, dict):
            raise DataError(f"{place} is {what(part)}, expected an object with `type`")
        parts.append((part, place))
    return parts


def _type(part: Mapping[str, Any], where: str) -> Any:
    """The type of a part; a part with a single field may leave it out."""
    if "type" not in part and len(part) == 1:
        return next(iter(part))
    return _field(part, "type", where)


def _without_thoughts(parts: list[tuple[dict[str, Any], str]]) -> list[tuple[dict[str, Any], str]]:
    """The parts that are sent; a thought outside an assistant's turn is only checked."""
    sent = []
    for part, place in parts:
        if _type(part, place) == "reasoning":
            text_of(_field(part, "reasoning", place), f"{place} reasoning")
        else:
            sent.append((part, place))
    return sent


def _part(part: dict[str, Any], where: str, roots: Roots) -> Text | Media:
    kind = _type(part, where)
    if kind in ("text", "refusal"):
        return Text(_text(_field(part, kind, where), where, kind))
    if kind == "image_url":
        return _image(_field(part, kind, where), where, roots)
    if kind == "input_audio":
        return _audio(_field(part, kind, where), where, roots)
    if kind == "video_url":
        return _video(_field(part, kind, where), where, roots)
    if kind == "reasoning":
        raise DataError(f"{where} is `reasoning`, which only an assistant message may hold")
    raise DataError(
        f"{where} has type {shown(kind)}, expected text, image_url, input_audio or video_url"
    )


def _text(value: object, where: str, field: str) -> str:
    """A text of a part; a large one that begins like base64 was left in the data file."""
    if isinstance(value, Cell):
        value = value.read()
    return text_of(value, f"{where} {field}")


def _payload(value: object, key: str, kind: Kind, where: str) -> tuple[dict[str, Any], str | Cell]:
    """The fields of a part's medium, and what it is: see `placeholders.said`."""
    if not isinstance(value, dict):
        raise DataError(
            f"{where} is {what(value)}, expected an object with `{key}`",
            hint='write {"type": "image_url", "image_url": {"url": ...}}' if key == "url" else None,
        )
    held = _field(value, key, where)
    if isinstance(held, Cell):
        held = said(held, kind)
    return value, held if isinstance(held, Cell) else text_of(held, f"{where} {key}")


def _image(value: object, where: str, roots: Roots) -> Media:
    fields, url = _payload(value, "url", "image", f"{where} image_url")
    detail = fields.get("detail", "auto")
    if detail not in DETAILS:
        raise DataError(f"{where} has detail {shown(detail)}, expected {', '.join(DETAILS)}")
    return media_part(found_of("image", url), where, roots, detail=detail)


def _audio(value: object, where: str, roots: Roots) -> Media:
    fields, data = _payload(value, "data", "audio", f"{where} input_audio")
    written = _field(fields, "format", f"{where} input_audio")
    if not written:
        raise DataError(f"{where} has format {shown(written)}, expected wav or mp3")
    return media_part(found_of("audio", data, written), where, roots)


def _video(value: object, where: str, roots: Roots) -> Media:
    hints: Mapping[str, object] = NO_HINTS
    written = None
    if isinstance(value, Cell):
        value = said(value, "video")
    if isinstance(value, str | Cell):
        url = value if isinstance(value, Cell) else text_of(value, f"{where} video_url")
    else:
        fields, url = _payload(value, "url", "video", f"{where} video_url")
        written = fields.get("format") or None
        hints = {name: fields.get(name) for name in ("start", "end", "fps")}
    return media_part(found_of("video", url, written, hints), where, roots)


# --- assistant turns ---------------------------------------------------------------------------


def _split_thought(text: str) -> tuple[str, list[str]]:
    """A text without its first `<think>...</think>`, and what that held."""
    rest, thought = split_think(text)
    return rest, [] if thought is None else [thought]


def _split_internal(text: str, where: str) -> tuple[str, object]:
    """A text without its `<internal>` blocks, and the value of the first."""
    found = INTERNAL.search(text)
    if found is None:
        return text, None
    try:
        value = json.loads(base64.b64decode(found[1]).decode())
    except ValueError as error:
        raise DataError(f"{where} has an `<internal>` block that is not base64 JSON") from error
    return INTERNAL.sub("", text).strip(), value


def _words(content: object, where: str, roots: Roots) -> str:
    """Content as plain text, the texts of its parts on a line each."""
    if isinstance(content, str):
        return text_of(content, f"{where} content")
    listed = _without_thoughts(_listed(content, where))
    parts = [_part(part, place, roots) for part, place in listed]
    return "\n".join(part.text for part in parts if isinstance(part, Text))


def _assistant(message: Mapping[str, Any], where: str, roots: Roots) -> Message:
    """An assistant turn: text, and its last thought in a field of its own.

    A turn with a thought, or one given in parts, has a line break before each text on the wire,
    as the reference sends it; media in it are not sent.
    """
    content = message.get("content")
    given = message.get("reasoning_content") or message.get("reasoning")
    internal: object = None
    thoughts: list[str] = []
    if isinstance(content, str):
        content, internal = _split_internal(text_of(content, f"{where} content"), where)
        text, thoughts = _split_thought(content)
        texts = [text]
    elif content is None:
        text = text_of(message.get("refusal") or "", f"{where} refusal")
        # The reference looks for a thought in a refusal only where none is given apart.
        text, thoughts = _split_thought(text) if given is None else (text, [])
        texts = [text]
    else:
        texts, thoughts = _assistant_parts(content, where, roots)
    plain = isinstance(content, str | None) and not thoughts and given is None
    if given is not None:
        thoughts = [str(given), *thoughts]
    said = texts[0] if plain else "".join(f"\n{text}" for text in texts)
    if internal:
        said += (
            f"\n<internal>{base64.b64encode(json.dumps(internal).encode()).decode()}</internal>\n"
        )
    extra: dict[str, Any] = {}
    if message.get("tool_calls"):
        extra["tool_calls"] = _tool_calls(message["tool_calls"], where)
    if thoughts:
        thought = text_of(thoughts[-1], f"{where} reasoning")
        extra["reasoning_content"] = thought if thought.strip() else " "  # "" is refused by some
    return Message("assistant", said, extra)


def _assistant_parts(content: object, where: str, roots: Roots) -> tuple[list[str], list[str]]:
    texts, thoughts = [], []
    for part, place in _listed(content, where):
        kind = _type(part, place)
        if kind == "reasoning":
            thoughts.append(text_of(_field(part, kind, place), f"{place} reasoning"))
            continue
        read = _part(part, place, roots)
        if isinstance(read, Text):
            text, split = _split_thought(read.text) if kind == "text" else (read.text, [])
            thoughts += split
            texts.append(text)
    return texts, thoughts


def _tool_calls(calls: object, where: str) -> list[dict[str, Any]]:
    if not isinstance(calls, list):
        raise DataError(f"{where} tool_calls is {what(calls)}, expected a list")
    return [_tool_call(call, f"{where} tool call {at}") for at, call in enumerate(calls, 1)]


def _tool_call(call: object, where: str) -> dict[str, Any]:
    if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
        raise DataError(f"{where} is not an object with `id` and `function`")
    function = call["function"]
    name = text_of(_field(function, "name", where), f"{where} name")
    arguments = text_of(_field(function, "arguments", where), f"{where} arguments").strip()
    try:
        values = json.loads(arguments) if arguments.startswith("{") else {}
    except ValueError:
        values = {}  # the reference drops arguments it cannot read
    return {
        "id": text_of(_field(call, "id", where), f"{where} id"),
        "function": {"name": name, "arguments": json.dumps(values)},
        "type": "function",
    }
