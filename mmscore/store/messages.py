"""Messages as they were sent: roles, and texts and media in their places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mmscore.error_text import what
from mmscore.store import spelling
from mmscore.store.spelling import NONE, Record, RecordError, Shape, Spelling


@dataclass(frozen=True, slots=True)
class SharedText:
    """A text that stands in `texts.jsonl`, once for all messages it is in.

    Attributes:
        id: What it is known by there.
    """

    id: str


Part = str | int | SharedText | None
"""A part of a message: a text, the place of a medium in `media`, a shared text, or the question."""


def _parts(values: list[Any]) -> tuple[Part, ...]:
    return tuple(map(_part, values))


def _part(value: Any) -> Part:
    if value is None or type(value) in (str, int):
        return value  # type: ignore[no-any-return]
    if type(value) is dict and type(value.get("text")) is str:
        return SharedText(value["text"])
    raise RecordError(f"holds {what(value)}, expected a text, a place, a shared text or null")


def _parts_json(parts: tuple[Part, ...]) -> list[Any]:
    return [{"text": one.id} if isinstance(one, SharedText) else one for one in parts]


@dataclass(slots=True)
class SentMessage(Record):
    """One message as it was sent.

    Attributes:
        role: Who speaks.
        parts: What is said and shown, in order.
        extra: Fields that went out beside role and content.
    """

    role: str
    parts: tuple[Part, ...]
    extra: Mapping[str, Any] | None = None

    SHAPE: ClassVar = Shape(
        {
            "role": spelling.text(),
            "parts": Spelling(frozenset({list}), ..., _parts, _parts_json),
            "extra": Spelling(frozenset({dict, NONE}), None, None, dict, always=False),
        }
    )

    def words(self, question: str) -> str:
        """Its texts, joined by line feeds.

        Args:
            question: What stands where a part is the question.
        """
        texts = (question if part is None else part for part in self.parts)
        return "\n".join(text for text in texts if isinstance(text, str))


Turns = tuple[tuple[str, str], ...]
"""Role and text of each turn."""


def _turns(values: list[Any]) -> Turns:
    for turn in values:
        if type(turn) is not list or [*map(type, turn)] != [str, str]:
            raise RecordError("holds other than pairs of role and text")
    return tuple((role, text) for role, text in values)


def _turns_json(turns: Turns) -> list[list[str]]:
    return [[role, text] for role, text in turns]


TURNS = Spelling(frozenset({list, NONE}), None, _turns, _turns_json, always=False)
"""How turns are spelt; runs before `messages` kept those."""
