"""How values of a user's data are named in errors, and the one check every sent text passes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from mmscore.errors import DataError

SHOWN_CHARACTERS = 120
"""How much of a value an error or a report shows."""


def printable(text: str) -> str:
    """A text in which nothing steers a terminal: what is not printable is escaped.

    Names of files, members, columns and hubs come from strangers; every message shows them so.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shown(value: object) -> str:
    """A value as errors show it: one line, short, control characters escaped, between backticks."""
    text = value[: SHOWN_CHARACTERS + 1] if isinstance(value, str) else repr(value)
    cut = text[:SHOWN_CHARACTERS]
    return f"`{printable(cut)}{'...' if len(text) > len(cut) else ''}`"


_ADDRESS = re.compile(r"\s*<[^<>]* at 0x[0-9A-Fa-f]+>| at 0x[0-9A-Fa-f]+")


def reason(error: BaseException) -> str:
    """What a library's exception says, fit for a sentence: one short line, no object's address."""
    words = _ADDRESS.sub("", str(error)).strip().rstrip(".") or type(error).__name__
    return printable(" ".join(words.split())[:SHOWN_CHARACTERS])


def what(value: object) -> str:
    """The kind of a JSON value in words."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "a boolean"
    names = {str: "a string", list: "a list", dict: "an object", int: "a number", float: "a number"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "other data")


def listed(names: Iterable[object], most: int = 8, mark: str = "`") -> str:
    """The first few names, each between marks, and how many more there are."""
    every = [f"{mark}{printable(str(name))}{mark}" for name in names]
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def text_of(value: object, where: str) -> str:
    """A string that can be sent.

    Raises:
        DataError: It is no string, or holds half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise DataError(f"{where} is {what(value)}, expected a string")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise DataError(
                f"{where} holds a lone surrogate (U+{ord(value[error.start]):04X}) at character "
                f"{error.start + 1}, which no request can carry",
                hint="the text was cut inside an emoji or decoded wrongly; export it again",
            ) from None
    return value


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is nearest, whatever its case, dashes or spaces; None where none is."""
    names = {_folded(name): name for name in known}
    near = difflib.get_close_matches(_folded(word), names, n=1, cutoff=0.5)
    return names[near[0]] if near else None


def _folded(word: str) -> str:
    return word.casefold().replace("-", "_").replace(" ", "_")


def nearest_hint(word: str, known: Iterable[str]) -> str:
    """The hint that names the nearest known word, else all of them."""
    names = list(known)
    near = nearest(word, names)
    return f"did you mean `{near}`?" if near else "known are " + ", ".join(f"`{n}`" for n in names)


def several_hint(subset: str) -> str | None:
    """What to type for several subsets that were given between commas; None for one."""
    parts = [part.strip() for part in subset.split(",")]
    return (
        "repeat the flag: " + " ".join(f"--subset {part}" for part in parts) if parts[1:] else None
    )


def without_secrets(url: str) -> str:
    """`url` without user, password and query, which may hold a key: fit for files and messages."""
    scheme, separator, rest = url.partition("://")
    if not separator:
        return url.partition("?")[0].rpartition("@")[2]
    place, slash, path = rest.partition("?")[0].partition("#")[0].partition("/")
    return f"{scheme}{separator}{place.rpartition('@')[2]}{slash}{path}"
