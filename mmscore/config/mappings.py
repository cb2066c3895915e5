"""Mappings as a command line writes them: JSON, KEY=VALUE repeated, EvalScope's `key=value,...`."""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Mapping, Sequence
from typing import Any

from mmscore.error_text import shown, what
from mmscore.errors import ConfigError


def from_json(text: str, flag: str) -> dict[str, Any]:
    """The mapping that a flag gives as JSON.

    Raises:
        ConfigError: It is no JSON, or another value than a mapping.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{flag} holds broken JSON: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{flag} holds {what(value)}, expected a mapping in JSON")
    return value


def from_pairs(texts: Sequence[str], flag: str) -> dict[str, Any]:
    """The mapping that a repeated flag gives: KEY=VALUE with a value in JSON or text, or JSON.

    Raises:
        ConfigError: One is neither.
    """
    values: dict[str, Any] = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            values.update(from_json(text, flag))
            continue
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(
                f"{flag} is {shown(text)}, expected KEY=VALUE or JSON",
                hint="such as --generation temperature=0" if flag == "--generation" else None,
            )
        try:
            values[key] = json.loads(value)
        except (ValueError, RecursionError):
            values[key] = value
    return values


def from_evalscope(text: str, flag: str) -> dict[str, Any]:
    """The mapping that a flag gives, as JSON or as EvalScope's `key=value,key=value`.

    Values are read as Python literals, `true` and `false` in any case too; all else is text.

    Raises:
        ConfigError: It is neither.
    """
    if text.lstrip().startswith("{"):
        return from_json(text, flag)
    values = {}
    for pair in text.strip().split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise ConfigError(
                f"{flag} holds {shown(pair)}, expected key=value",
                hint=f'values with commas need JSON: {flag} \'{{"stop": ["a", "b"]}}\'',
            )
        values[name] = _literal(value)
    return values


def _literal(text: str) -> Any:
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


DEEPEST = 64
"""How deep a mapping of a task may be nested; no service reads deeper ones."""

_LARGEST = 10**300
"""Above it a whole number is no longer one everywhere; some thousand digits cannot be written."""


def checked(value: Any, place: str) -> Any:
    """A mapping that can be sent and written as JSON.

    Raises:
        ConfigError: It is no mapping, is nested too deeply, or holds a number that is none (NaN,
            Infinity), half of a surrogate pair, or what JSON does not know, such as a date.
    """
    if not isinstance(value, Mapping):
        raise ConfigError(f"{place} is {what(value)}, expected a mapping")
    name = place.strip("`")
    left: list[tuple[str, Any, int]] = [(name, value, 0)]
    while left:
        where, held, depth = left.pop()
        if depth > DEEPEST:
            raise ConfigError(f"`{name}` is nested more than {DEEPEST} deep")
        if isinstance(held, Mapping):
            left += ((f"{where}.{key}", inner, depth + 1) for key, inner in held.items())
        elif isinstance(held, list | tuple):
            left += ((f"{where}[{at}]", inner, depth + 1) for at, inner in enumerate(held))
        else:
            _check_scalar(where, held)
    return value


def _check_scalar(where: str, held: object) -> None:
    if held is None or isinstance(held, bool):
        return
    if isinstance(held, str):
        check_encodable(held, f"`{where}`")
    elif not isinstance(held, int | float):
        raise ConfigError(f"`{where}` is a {type(held).__name__}, which JSON does not know")
    elif not abs(held) < _LARGEST:
        raise ConfigError(f"`{where}` is {shown(held)}, expected a finite number")


def check_encodable(text: str, place: str) -> str:
    """A text that can be sent and written; the value itself is not shown.

    Raises:
        ConfigError: It holds half of a surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"{place} holds a byte or half of a character that is no text, at character "
            f"{error.start + 1}"
        ) from None
    return text
