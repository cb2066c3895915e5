"""The reference answers of a record, and the one text that replies are compared with."""

from __future__ import annotations

from typing import Any

from mmscore.error_text import text_of, what
from mmscore.errors import DataError


def reference_answers(value: object, where: str = "`answer`") -> list[str]:
    """The accepted answers of a record: those of a string or a list of strings.

    They are stripped, each is named once, empty ones are left out. The text they make is each on a
    line of its own, as EvalScope 1.14.1 joins them (`joined`).

    Raises:
        DataError: It is neither.
    """
    if isinstance(value, str):
        text = text_of(value, where).strip()
        return [text] if text else []
    values: list[Any] = value if isinstance(value, list) else [value]
    expected = "expected a string or a list of strings"
    for item in values:
        if not isinstance(item, str):
            inside = " holding " if isinstance(value, list) else ""
            found = f"{what(value) if inside else ''}{inside}{what(item)}"
            raise DataError(f"{where} is {found}, {expected}")
        text_of(item, where)
    return list(dict.fromkeys(item.strip() for item in values if item.strip()))


def open_target(answer: object) -> str | None:
    """What replies to an open question are compared with; None where there is nothing.

    As the reference: several answers are joined by a line feed, and `0`, `false`, `[]` are the
    empty text, which no reply equals. A missing or blank answer is not scored here.

    Raises:
        DataError: It is no text and no list of texts.
    """
    if answer is None or (isinstance(answer, str) and not answer.strip()):
        return None
    return joined(reference_answers(answer)) if answer else ""


def joined(answers: list[str]) -> str:
    """The one text that several answers make; a judge, and a rule that takes any text, gets it."""
    return "\n".join(answers)
