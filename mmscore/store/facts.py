"""Values of strangers, as JSON can hold them: what a run keeps of a sample's facts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST = 20
"""How many levels of lists and objects a fact may have; what lies below is its text, cut."""

_LONGEST_TEXT_BELOW = 200
_MOST_BITS = 14_000
"""Python writes no integer of more digits than about this many bits make."""

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
