"""How records are spelt in JSON: one table of its fields, in their order, reads and writes each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from mmscore.error_text import what


class RecordError(ValueError):
    """A record is none of a run; its words go behind the record's place."""


NONE = type(None)

MOST = 2**53
"""What a number in a record may come to: beyond it JSON's readers differ."""


class Spelling(NamedTuple):
    """How a field stands in JSON.

    Attributes:
        kinds: The types its value may have.
        default: What it is where a record lacks it; without one a record must have it.
        read: From JSON's value to the field's; not called for null.
        write: From the field's value to JSON's; not called for None.
        always: Whether it is written where it is None.
        of: What a list or an object holds: a record, or the type of each value.
    """

    kinds: frozenset[type]
    default: Any = ...
    read: Callable[[Any], Any] | None = None
    write: Callable[[Any], Any] | None = None
    always: bool = True
    of: Any = None


class _Plan(NamedTuple):
    """How values of certain types are read: which are numbers, and which are read further."""

    numbers: tuple[int, ...]
    readers: tuple[tuple[int, Callable[[Any], Any]], ...]


class Shape:
    """The fields of an object of JSON, in the order in which they are written."""

    def __init__(self, spellings: Mapping[str, Spelling]) -> None:
        """Take the fields: name -> how it is spelt."""
        self.spellings = dict(spellings)
        self._names = tuple(spellings)
        self._defaults = tuple(one.default for one in spellings.values())
        self._plans: dict[tuple[type, ...], _Plan] = {}

    def read(self, record: Mapping[str, Any]) -> list[Any]:
        """The values of the fields in an object, in order.

        Raises:
            RecordError: One is missing, of another type, or no number that can be reckoned with.
        """
        values = [*map(record.get, self._names, self._defaults)]
        # The records of a file have few combinations of types: each is checked once, not each field
        # of each record, which would take as long as parsing its JSON.
        kinds = tuple(map(type, values))
        plan = self._plans.get(kinds)
        if plan is None:
            plan = self._plans[kinds] = self._plan(values)
        for place in plan.numbers:
            if not -MOST <= values[place] <= MOST:  # NaN is within nothing
                raise RecordError(f"in `{self._names[place]}` found a number beyond {MOST}")
        for place, read in plan.readers:
            try:
                values[place] = read(values[place])
            except RecordError as error:
                raise RecordError(f"in `{self._names[place]}` {error}") from None
        return values

    def _plan(self, values: list[Any]) -> _Plan:
        """What is to be done to values of these types, which are right."""
        numbers, readers = [], []
        for place, (name, spelling) in enumerate(self.spellings.items()):
            value = values[place]
            if value is ...:
                raise RecordError(f"has no `{name}`")
            if type(value) not in spelling.kinds:
                wanted = " or ".join(w for kind, w in _WORDS.items() if kind in spelling.kinds)
                raise RecordError(f"has {what(value)} as `{name}`, expected {wanted}")
            if type(value) in (int, float):
                numbers.append(place)
            if spelling.read is not None and value is not None:
                readers.append((place, spelling.read))
        return _Plan(tuple(numbers), tuple(readers))

    def write(self, value: object) -> dict[str, Any]:
        """The object of JSON that tells of a value with these fields."""
        made = {}
        for name, (_, _, _, write, always, _) in self.spellings.items():
            field = getattr(value, name)
            if field is not None:
                made[name] = field if write is None else write(field)
            elif always:
                made[name] = None
        return made


class Record:
    """A value that is kept as an object of JSON: its fields are those of `SHAPE`, in order.

    Nobody changes one after it was made. Those that stand in a run's folder by the thousand are not
    frozen all the same: that would make each take four times as long to make.
    """

    __slots__ = ()
    SHAPE: ClassVar[Shape]

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """The record that an object of JSON tells of; keys that nobody knows are passed over.

        Raises:
            RecordError: It tells of none.
        """
        return cls(*cls.SHAPE.read(record))

    def to_json(self) -> dict[str, Any]:
        """The object of JSON that tells of it."""
        return self.SHAPE.write(self)


_WORDS = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "a boolean",
    list: "a list",
    dict: "an object",
    NONE: "null",
}


def text(default: Any = ...) -> Spelling:
    """A string."""
    return Spelling(frozenset({str}), default)


def maybe(kind: type, *, always: bool = True) -> Spelling:
    """A value of a type, or null, which is also what is not there."""
    return Spelling(frozenset({kind, NONE}), None, always=always)


def maybe_number(*, always: bool = True) -> Spelling:
    """A finite number, or null."""
    return Spelling(frozenset({int, float, NONE}), None, always=always)


def count(default: Any = ...) -> Spelling:
    """A whole number."""
    return Spelling(frozenset({int}), default)


def number(default: Any = ...) -> Spelling:
    """A finite number."""
    return Spelling(frozenset({int, float}), default)


def facts(
    default: Any = ..., read: Callable[[dict[str, Any]], Mapping[str, Any]] | None = None
) -> Spelling:
    """An object with keys of the user's."""
    return Spelling(frozenset({dict}), default, read, dict)


def texts(default: Any = ...) -> Spelling:
    """A list of strings."""
    return Spelling(frozenset({list}), default, _texts, list, of=str)


def maybe_texts() -> Spelling:
    """A list of strings, or nothing."""
    return Spelling(frozenset({list, NONE}), None, _texts, list, always=False, of=str)


def one(of: type[Record], default: Any = ...) -> Spelling:
    """Another record inside this one."""
    return Spelling(frozenset({dict}), default, of.from_json, _written, of=of)


def maybe_one(of: type[Record], *, always: bool = True) -> Spelling:
    """Another record, or null."""
    return Spelling(frozenset({dict, NONE}), None, of.from_json, _written, always, of)


def each(of: type[Record]) -> Spelling:
    """A list of other records."""

    def read(values: list[Any]) -> tuple[Record, ...]:
        return tuple(map(of.from_json, objects(values)))

    return Spelling(frozenset({list}), [], read, _written_each, of=of)


def maybe_each(of: type[Record]) -> Spelling:
    """A list of other records, or nothing."""
    return each(of)._replace(kinds=frozenset({list, NONE}), default=None, always=False)


def objects(values: Iterable[Any]) -> tuple[dict[str, Any], ...]:
    """The same, all of them seen to be objects.

    Raises:
        RecordError: One is none.
    """
    return _all_of(dict, values)


def mapping(kind: type) -> Spelling:
    """An object with keys of the user's and values of one type."""

    def read(values: dict[str, Any]) -> dict[str, Any]:
        return _each_value(kind, values)

    return Spelling(frozenset({dict}), {}, read, dict, of=kind)


def _each_value(kind: type, values: dict[str, Any]) -> dict[str, Any]:
    for value in _all_of(kind, values.values()):
        if kind is int and not -MOST <= value <= MOST:
            raise RecordError(f"holds a number beyond {MOST}")
    return values


def _texts(values: list[Any]) -> tuple[str, ...]:
    return _all_of(str, values)


def _all_of(kind: type, values: Iterable[Any]) -> tuple[Any, ...]:
    found = tuple(values)
    for value in found:
        if type(value) is not kind:
            raise RecordError(f"holds {what(value)}, expected {_WORDS[kind]}")
    return found


def _written(value: Record) -> dict[str, Any]:
    return value.to_json()


def _written_each(values: tuple[Record, ...]) -> list[dict[str, Any]]:
    return [value.to_json() for value in values]
