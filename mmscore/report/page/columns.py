"""What a page must have of every sample at once: short values by column, equal ones said once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

VALUE_LIMIT = 160
"""Characters of a value that lists and filters show."""


def short(text: str) -> str:
    """The text in a line's length."""
    return text if len(text) <= VALUE_LIMIT else text[: VALUE_LIMIT - 1] + "…"


class CodedColumn:
    """A column of words: each different one once, and for each sample its place; -1 is none."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._shown: dict[str, None] = {}
        self._codes: list[int | list[int]] = []

    def add(self, value: str | Sequence[str] | None) -> None:
        """The next sample's word; one with several counts under each."""
        if value is None:
            self._codes.append(-1)
        elif isinstance(value, str):
            self._codes.append(self._place(value))
        else:
            places = list(dict.fromkeys(self._place(part) for part in value))
            self._codes.append(places[0] if len(places) == 1 else places or -1)

    def _place(self, word: str) -> int:
        if word not in self._places:
            self._places[word] = len(self._places)
            self._shown[self._unlike(short(word))] = None
        return self._places[word]

    def _unlike(self, word: str) -> str:
        """The word with a number behind where another one looks the same when shortened."""
        if word not in self._shown:
            return word
        numbers = itertools.count(2)
        return next(name for n in numbers if (name := f"{word} ({n})") not in self._shown)

    def to_json(self) -> dict[str, Any]:
        """`values`, the different words, and `codes`, one for each sample."""
        return {"values": list(self._shown), "codes": self._codes}


class NumberColumn:
    """A column of numbers; None is none."""

    def __init__(self) -> None:
        self._numbers: list[float | int | None] = []

    def add(self, value: float | int | None) -> None:
        """The next sample's number."""
        whole = isinstance(value, float) and value.is_integer()
        self._numbers.append(int(value) if whole and value is not None else value)

    def to_json(self) -> list[float | int | None]:
        """The numbers, in the order of the samples."""
        return self._numbers


Column = TypeVar("Column", CodedColumn, NumberColumn)


class Columns:
    """Columns by name, made when first added to; each has a value for each sample."""

    def __init__(self) -> None:
        self._words: dict[str, CodedColumn] = {}
        self._numbers: dict[str, NumberColumn] = {}
        self.count = 0

    def add(self, words: Mapping[str, Any], numbers: Mapping[str, float | int | None]) -> None:
        """The next sample's values; a name that others have and it lacks is none."""
        self._next(self._words, CodedColumn, words)
        self._next(self._numbers, NumberColumn, numbers)
        self.count += 1

    def _next(
        self, columns: dict[str, Column], new: Callable[[], Column], values: Mapping[str, Any]
    ) -> None:
        for name in [name for name in values if name not in columns]:
            columns[name] = new()
            for _ in range(self.count):
                columns[name].add(None)
        for name, column in columns.items():
            column.add(values.get(name))

    def to_json(self) -> dict[str, Any]:
        """Name -> column, in the order in which names first came."""
        return {
            name: column.to_json()
            for columns in (self._words, self._numbers)
            for name, column in columns.items()
        }
