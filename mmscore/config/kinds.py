"""What the value of an option may be: how its words are read, and what no value of it may be.

A kind knows nothing of flags or fields; it is told where a value stands, so that the error names
the flag that was typed or the field of the file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mmscore.config import mappings
from mmscore.error_text import shown, what
from mmscore.errors import ConfigError

Check = Callable[[Any, str], Any]
"""Takes a value and the name of its place; returns it as a task keeps it, or raises."""

LONGEST_TIMEOUT = 1e6
"""Eleven days, in seconds; what no system call takes is far above."""


def _as_it_is(value: Any, _: str) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """How an option's value looks.

    Attributes:
        check: Looks at a value from anywhere and returns it as a task keeps it.
        metavar: How help calls it.
        form: What a flag takes: `one` word, a `repeat`ed word, `several` words, `any` number of
            them, none at all (`switch`), or none with a `--no-` form beside it (`onoff`).
        parse: One word -> value; a ValueError is a wrong use of the command.
        read: What the flag gathered -> what a file would hold.
        choices: The only words there are.
        merges: A mapping that is laid over the one that stood there before.
        evalscope: The same as EvalScope's command line writes it, where that is another form.
    """

    check: Check
    metavar: str = "TEXT"
    form: Literal["one", "repeat", "several", "any", "switch", "onoff"] = "one"
    parse: Callable[[str], Any] = str
    read: Check = _as_it_is
    choices: tuple[str, ...] = ()
    merges: bool = False
    evalscope: Kind | None = None


def of_type(types: type | tuple[type, ...], words: str) -> Check:
    """A check that lets only these types pass; a boolean is no number."""

    def check(value: Any, place: str) -> Any:
        wrong = isinstance(value, bool) and types is not bool
        if wrong or not isinstance(value, types):
            raise ConfigError(f"{place} is {what(value)}, expected {words}")
        return value

    return check


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{place} is {what(value)}, expected a string")
    return mappings.check_encodable(value, place)


def _path(value: Any, place: str) -> str:
    path = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(path, str):
        raise ConfigError(f"{place} is {what(path)}, expected a path")
    if not path:
        raise ConfigError(f"{place} is empty, expected a path")
    if "\0" in path:
        raise ConfigError(f"{place} holds a NUL, which no path can")
    return path


def count(least: int, most: int = 10**12) -> Kind:
    """A whole number between two, both included."""

    def check(value: Any, place: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            upper = f" to {most:,}" if most < 10**12 else ""
            raise ConfigError(
                f"{place} is {shown(value)}, expected a whole number from {least}{upper}"
            )
        return value

    return Kind(check, "N", parse=int)


def _positive(most: float, words: str, *, nought: bool = False) -> Check:
    bound = "from" if nought else "above"

    def check(value: Any, place: str) -> float:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= most or (value == 0 and not nought):
            raise ConfigError(f"{place} is {shown(value)}, expected {words} {bound} 0")
        return value  # type: ignore[no-any-return]  # a number

    return check


def choice(*words: str, metavar: str = "NAME", hint: str | None = None) -> Kind:
    """One of some words."""

    def check(value: Any, place: str) -> str:
        if value not in words:
            known = " or ".join(f"`{word}`" for word in words)
            raise ConfigError(f"{place} is {shown(value)}, expected {known}", hint=hint)
        return str(value)

    return Kind(check, metavar, choices=words)


def check_limit(limit: Any, place: str = "`limit`") -> int | float | None:
    """`limit` as the reference reads it: a whole number counts samples, a float below 1 is a share.

    Raises:
        ConfigError: It is neither.
    """
    number = isinstance(limit, int | float) and not isinstance(limit, bool)
    if number and 0 <= limit <= 10**15:
        if limit == 0:
            return None  # as there: no limit
        if limit >= 1 and limit == int(limit):
            return int(limit)
        if 0 < limit < 1:
            return limit  # type: ignore[no-any-return]  # a number
    raise ConfigError(
        f"{place} is {shown(limit)}, expected a number of samples per subset, or a share of them "
        "between 0 and 1"
    )


def _sample(value: Any, place: str) -> int | float:
    size = check_limit(value, place)
    if size is None:
        raise ConfigError(f"{place} is {shown(value)}, expected a number or a share above 0")
    return size


def _limit_of(text: str) -> int | float:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    raise ValueError(f"`{text}` is no number")


def is_automatic(shard: object) -> bool:
    """Whether a task leaves its shard to the engine that started it: `auto` or `auto/N`."""
    return isinstance(shard, str) and shard.startswith("auto")


def parse_shard(shard: str | None, place: str = "`shard`") -> tuple[int, int] | None:
    """`K/N` as numbers, with 1 <= K <= N.

    Raises:
        ConfigError: It has another form.
    """
    if shard is None:
        return None
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", shard, re.ASCII) if _is_text(shard) else None
    if match:
        part, parts = int(match[1]), int(match[2])
        if 1 <= part <= parts:
            return part, parts
    raise ConfigError(
        f"{place} is {shown(shard)}, expected K/N with K from 1 to N, such as 1/4, or `auto`"
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _shard(value: Any, place: str) -> Any:
    if not is_automatic(value):
        parse_shard(value, place)
    return value


def parse_size(value: int | str, place: str = "the size") -> int:
    """Bytes in `5MB`, `500KB`, `1048576`; units count in powers of 1024, as the reference's do.

    Raises:
        ConfigError: It is no size.
    """
    units = {"": 1, "B": 1, "K": 1024, "KB": 1024, "M": 1024**2, "MB": 1024**2, "G": 1024**3}
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([A-Za-z]*)\s*", str(value), re.ASCII)
    if match and match[2].upper() in units and not isinstance(value, bool):
        size = int(float(match[1]) * units[match[2].upper()])
        if size > 0:
            return size
    raise ConfigError(f"{place} is {shown(value)}, expected a size in bytes, or a form like 5MB")


def _word_or_words(value: Any, place: str) -> list[str]:
    names = [value] if isinstance(value, str) else value
    return _words(names, place)


def _words(value: Any, place: str) -> list[str]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{place} is {what(value)}, expected a list")
    for one in value:
        if not isinstance(one, str):
            raise ConfigError(f"{place} holds {what(one)}, expected strings")
    return list(value)


def _ids(value: Any, place: str) -> list[str]:
    ids = [one.strip() for one in value.split(",")] if isinstance(value, str) else value
    ids = [one for one in _words(ids, place) if one]
    if not ids:
        raise ConfigError(f"{place} holds no ids, expected one or more texts")
    return ids


def _ids_in(text: str, flag: str) -> str | list[str]:
    """The ids that a flag gives: between commas, or one a line in a file."""
    path = Path(text).expanduser()
    try:
        if not path.is_file():
            return text
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{flag}: cannot read the ids in {shown(text)}: {error}") from None
    return [line.strip() for line in lines]


def _filters(texts: Sequence[str], flag: str) -> list[dict[str, Any]]:
    """The `filters` that a repeated flag gives, in their order."""
    found = []
    for text in texts:
        name, _, value = text.partition("=")
        is_json = value.startswith("{")
        argument = mappings.from_json(value, f"{flag} {name}") if is_json else value or None
        found.append({name: argument})
    return found


def _template(text: str, flag: str) -> str:
    """The text itself, or that of the file after `@`."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"{flag}: cannot read the template file {shown(text[1:])}: {error}"
        ) from None


def _models(names: Sequence[str], _: str) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


def _model(value: Any, place: str) -> str | list[str]:
    return _words(value, place) if isinstance(value, list) else str(_text(value, place))


def _services(value: Any, place: str) -> list[dict[str, Any]]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f"{place} is {what(value)}, expected a list of mappings")
    return list(value)


ANY = Kind(_as_it_is)
TEXT = Kind(_text)
PATH = Kind(_path, "PATH")
SWITCH = Kind(of_type(bool, "true or false"), form="switch")
ONOFF = replace(SWITCH, form="onoff")
PATIENCE = Kind(_positive(LONGEST_TIMEOUT, "seconds", nought=True), "S", parse=float)
SECONDS = Kind(_positive(LONGEST_TIMEOUT, "seconds"), "S", parse=float)
AMOUNT = Kind(_positive(1e15, "a number"), "N", parse=float)
LIMIT = Kind(check_limit, "N|SHARE", parse=_limit_of)
SAMPLE = Kind(_sample, "N|SHARE", parse=_limit_of)
SHARD = Kind(_shard, "K/N")
SIZE = Kind(parse_size, "SIZE")
TEMPLATE = Kind(_text, read=_template)
MODELS = Kind(_model, "NAME", form="repeat", read=_models, evalscope=Kind(_text, "NAME"))
SERVICES = Kind(_services)
WORDS = Kind(_words, "NAME", form="repeat")
SOME = Kind(_words, "NAME", form="any")
STATUSES = Kind(_word_or_words, "KIND", form="repeat")
FOLDERS = Kind(_word_or_words, "DIR", form="repeat")
IDS = Kind(_ids, "FILE|A,B", read=_ids_in)
DATASETS = Kind(_word_or_words, "NAME", form="several")
ARGUMENTS = Kind(of_type(Mapping, "a mapping"), "JSON", read=mappings.from_json)
MAPPING = Kind(mappings.checked, "JSON", read=mappings.from_json)
PAIRS = Kind(
    mappings.checked,
    "KEY=VALUE",
    form="repeat",
    read=mappings.from_pairs,
    merges=True,
    evalscope=Kind(mappings.checked, "OPTIONS", read=mappings.from_evalscope),
)
FILTERS = Kind(
    of_type((dict, list), "a mapping or a list"), "NAME=ARG", form="repeat", read=_filters
)
CONFIGURATION = Kind(of_type((dict, str), "a mapping or a path"), "FILE|JSON")
