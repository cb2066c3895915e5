"""Values of strangers, as JSON can hold them: what a run keeps of a sample's facts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

DEEPEST = 20
"""How many levels of lists and objects a fact may have; what lies below is its text, cut."""

_LONGEST_TEXT_BELOW = 200
_MOST_BITS = 14_000
"""Python writes no integer of more digits than about this many bits make."""

LONGEST = 500
"""Characters of a column's value that are kept as a fact; more where the user names the column."""

LONGEST_NAMED = 20_000
MOST_COLUMNS = 50
MOST_CHARACTERS = 4_000
"""Of all columns of a sample together, names included."""

_AS_IT_IS = frozenset({str, bool, type(None)})


def plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it: NaN and Infinity are null, what JSON does not know is text."""
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is int:
        return value if value.bit_length() <= _MOST_BITS else None
    if kind is float:
        return value if math.isfinite(value) else None
    if depth == DEEPEST:
        return _text(value)[:_LONGEST_TEXT_BELOW]
    if isinstance(value, Mapping):
        return {str(name): plain(one, depth + 1) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one, depth + 1) for one in value]
    if isinstance(value, float | int):  # numpy's and enums' own kinds of them
        return plain(float(value) if isinstance(value, float) else int(value), depth)
    return _text(value)


def _text(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:
        return "..."


def not_finite(value: Any, place: str) -> Iterator[tuple[str, float]]:
    """Yield where in a value NaN and Infinity stand, and which."""
    if isinstance(value, float) and not math.isfinite(value):
        yield place, value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield from not_finite(one, f"{place}.{name}" if place else str(name))
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            yield from not_finite(one, f"{place}[{number}]")


def kept_columns(
    record: Mapping[str, Any], understood: Callable[[str], bool], named: Collection[str]
) -> dict[str, Any]:
    """The columns of a user's record that are kept as facts of its sample.

    Args:
        record: The record.
        understood: Whether a column means something to the benchmark, so that it is no such fact.
        named: The columns that the user wants, and no others; empty for all that are not understood
            and fit.
    """
    found: dict[str, Any] = {}
    room = MOST_CHARACTERS
    for name, value in record.items():
        if (name not in named if named else understood(name)) or _is_nothing(value):
            continue
        kept, size = _cut(plain(value), LONGEST_NAMED if named else LONGEST)
        room -= len(name) + size
        if not named and (room < 0 or len(found) == MOST_COLUMNS):
            break
        found[name] = kept
    return found


def _is_nothing(value: Any) -> bool:
    """Whether there is nothing to keep: no value, or what an image's cell holds."""
    return value is None or value == "" or not isinstance(value, _KEPT)


_KEPT = (str, int, float, list, tuple, dict)


def _cut(value: Any, longest: int) -> tuple[Any, int]:
    """The value, or the beginning of its text where that is too long; and how long it is."""
    if isinstance(value, bool | int | float) or value is None:
        return value, 8
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(text) <= longest:
        return value, len(text)
    return f"{text[:longest]}…", longest
