"""Which parts of a command line are keys: they are shown nowhere, not even in a mistyped line.

A key is the value of a flag that the table calls secret, what a URL holds before its host and
behind its `?`, and in JSON or KEY=VALUE whatever stands under a name that only keys have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmscore.config import options
from mmscore.config.secrets import SECRET_OPTIONS

_NAMES = re.compile(r"(?i)api[_-]?key|authorization|token|password|secret|credential")
_COUNTS = re.compile(r"(?i)max|min|total|num|tokens")
"""What makes a name with `token` in it one of a number: `max_tokens`."""

_PAIR = re.compile(r"""(?i)["']?([\w-]+)["']?\s*[:=]\s*["']?([^"',}\s]+)""")
_URL = re.compile(r"""://(?:([^/\s"'@?]+)@)?[^\s"'?]*(?:\?([^\s"'#]+))?""")

PLACEHOLDERS = frozenset({"EMPTY", "empty", "none", "None", "dummy"})
"""What is given where a server wants no key: a word that may stand anywhere."""


def keys_in(argv: Sequence[str]) -> list[str]:
    """The keys among the arguments of a command, the longest first."""
    found = {key for _, _, keys in _words(argv) for key in keys}
    return sorted((key for key in found if key not in PLACEHOLDERS), key=len, reverse=True)


def masked(argv: Sequence[str], mask: str | None = None) -> list[str]:
    """The arguments with each key replaced, by as many `*` as it has bytes or by `mask`."""
    shown = []
    for flag, value, keys in _words(argv):
        for key in sorted(keys, key=len, reverse=True):
            value = value.replace(key, mask or "*" * len(key.encode(errors="surrogateescape")))
        shown.append(flag + value)
    return shown


def without_keys(text: str, argv: Sequence[str], environment: Mapping[str, str]) -> str:
    """A text with no key of the arguments or the environment in it."""
    said = (environment.get(name, "").strip() for row in _SECRET for name in row.env)
    for key in (*keys_in(argv), *said):
        if len(key) >= 4 and key not in PLACEHOLDERS:
            text = text.replace(key, "***")
    return text


_SECRET = [row for row in options.OPTIONS if row.secret]
_FLAGS = {row.flag for row in _SECRET if row.flag}
_GIVEN_BY_NAME = {row.flag for row in _SECRET if row.flag and row.kind.form == "repeat"}


def _words(argv: Sequence[str]) -> Iterator[tuple[str, str, set[str]]]:
    """Each argument as a flag with its `=`, or nothing, and a value, with the keys in the value."""
    before = ""
    for word in argv:
        flag, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            yield flag + equals, value, set(_keys(flag, value))
        elif word.startswith("--"):
            yield "", word, set()
        else:
            yield "", word, set(_keys(before, word))
        before = word


def _keys(flag: str, value: str) -> Iterator[str]:
    if flag in _GIVEN_BY_NAME:
        yield from _leaves(value.partition("=")[2])
    elif flag in _FLAGS and not value.lstrip().startswith("{"):
        yield value
    for user, query in _URL.findall(value):
        yield from filter(None, (user, query))
    try:
        read = json.loads(value) if value.lstrip().startswith(("{", "[")) else None
    except (ValueError, RecursionError):
        read = None
    if read is not None:
        yield from _in_json(read, secret=False)
    else:
        yield from (found for name, found in _PAIR.findall(value) if _is_secret(name))


def _is_secret(name: str) -> bool:
    if name in SECRET_OPTIONS:
        return True
    return bool(_NAMES.search(name)) and not _COUNTS.search(name)


def _in_json(value: Any, *, secret: bool, depth: int = 0) -> Iterator[str]:
    """The strings below names that only keys have."""
    if depth > 50:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _in_json(inner, secret=secret or _is_secret(name), depth=depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _in_json(inner, secret=secret, depth=depth + 1)
    elif secret and isinstance(value, str):
        yield from _leaves(value)


def _leaves(value: str) -> Iterator[str]:
    """A value, and what follows `Bearer` in it; a variable's name is no key."""
    if value and not value.startswith("$"):
        yield value
        if " " in value:
            yield value.rpartition(" ")[2]
