"""What a judge's reply says, and what several replies come to: pure functions, no network.

The contract is one JSON object with a `verdict` (one of the labels) or a `score` (0 to 1). What
EvalScope 1.14.1 accepts is accepted with the same value. Beyond it, a reply that a person would
read without doubt is read too; of several verdicts the last wins. Nothing else ever becomes a
score: no number is looked for in prose, nothing is clamped.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from mmscore.error_text import shown

Aggregation = Literal["mean", "median", "majority_vote"]

DEFAULT_MAPPING: Mapping[str, float] = {"A": 1.0, "B": 0.0}

_MOST_BROKEN = 16
"""Broken objects in one reply after which it is given up: each may cost a look at all of it."""

_TOKEN = re.compile(r'[\\"{}]')
_OBJECT_START = re.compile(r'\{(?=\s*["}])')
_VALID_OR_LONE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_LENIENT = json.JSONDecoder(strict=False)  # raw line breaks inside strings


class VerdictError(Exception):
    """The reply does not say a verdict; the message says why, in words a judge understands."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said.

    Attributes:
        said: The label, or the number as it was written.
        value: Its score, 0 to 1.
        reasoning: Why, in the judge's words.
    """

    said: str
    value: float
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Labels:
    """The contract of a verdict that is one of some labels.

    Attributes:
        scores: Label -> score.
    """

    scores: Mapping[str, float]
    key = "verdict"

    @property
    def wanted(self) -> str:
        """What the value must be, in words."""
        *most, last = (f'"{label}"' for label in sorted(self.scores))
        return f"{', '.join(most)} or {last}" if most else last

    def read(self, value: object, *, exactly: bool) -> tuple[str, float]:
        """The label and its score; not `exactly`, blanks around it and its case do not matter.

        Raises:
            VerdictError: It is none of the labels.
        """
        if isinstance(value, str):
            if value in self.scores:
                return value, self.scores[value]
            alike = [label for label in self.scores if _same_word(label, value)]
            if len(alike) == 1 and not exactly:
                return alike[0], self.scores[alike[0]]
        raise VerdictError(f"`verdict` is {_json(value)}, expected {self.wanted}")


@dataclass(frozen=True, slots=True)
class Rating:
    """The contract of a score from 0 to 1."""

    key = "score"
    wanted = "a number from 0 to 1"

    def read(self, value: object, *, exactly: bool) -> tuple[str, float]:
        """The number as written and as a float; a string that holds one counts.

        Raises:
            VerdictError: It is no number, not finite, or out of range.
        """
        number = math.nan
        if isinstance(value, int | float):
            number = float(value) if -1 <= value <= 2 else math.inf
        elif isinstance(value, str) and value.strip().isascii():
            with contextlib.suppress(ValueError):
                number = float(value)
        if not 0.0 <= number <= 1.0:
            raise VerdictError(f"`score` is {_json(value)}, expected {self.wanted}")
        return str(value).strip(), number


Contract = Labels | Rating


def _same_word(label: str, value: str) -> bool:
    return label.strip().casefold() == value.strip().casefold()


def _json(value: object) -> str:
    return shown(json.dumps(value, ensure_ascii=False))


def read_verdict(reply: str, contract: Contract) -> Verdict:
    """The verdict in a reply.

    A reply with exactly one object, counted as EvalScope 1.14.1 counts, is read as it reads it.
    Else these are accepted too: other braces and stray quotes around the object; several objects,
    of which the last with the key counts; raw line breaks and unknown escapes inside its strings;
    a label in another case or between blanks; a `reasoning` that is no string; text before the
    last `</think>` is not looked at.

    Raises:
        VerdictError: There is none, or the last one cannot be read.
    """
    if not reply.strip():
        raise VerdictError("the reply is empty")
    try:
        return _as_the_reference(reply, contract)
    except VerdictError:
        return _as_a_person(reply, contract)


def _as_the_reference(reply: str, contract: Contract) -> Verdict:
    spans = [*_spans(reply)]
    if len(spans) != 1:
        raise VerdictError(f"{len(spans)} JSON objects in the reply, expected one")
    try:
        found = json.loads(spans[0])
    except (ValueError, RecursionError):
        raise VerdictError("the object is no JSON") from None
    return _verdict(found, contract, exactly=True)


def _spans(reply: str) -> Iterator[str]:
    """The balanced `{...}` at the top level, a double quote anywhere opening a string."""
    depth = start = escaped = 0
    quoted = False
    for token in _TOKEN.finditer(reply):
        mark, place = token[0], token.start()
        if quoted:
            if place < escaped:
                continue
            if mark == "\\":
                escaped = place + 2
            elif mark == '"':
                quoted = False
        elif mark == '"':
            quoted = True
        elif mark == "{":
            start = start if depth else place
            depth += 1
        elif mark == "}" and depth:
            depth -= 1
            if depth == 0:
                yield reply[start : place + 1]


def _as_a_person(reply: str, contract: Contract) -> Verdict:
    text = reply[reply.rfind("</think>") + len("</think>") :] if "</think>" in reply else reply
    if "<think>" in text:
        raise VerdictError("the reply ends inside its reasoning")
    text = _VALID_OR_LONE.sub(lambda found: found[0] if found[0] != "\\" else r"\\", text)
    last, end = None, 0
    for found, after in _objects(text):
        if contract.key in found:
            last, end = found, after
    if last is None:
        raise VerdictError(f"no JSON object with `{contract.key}` in the reply")
    if re.search(rf"""["'“]{contract.key}["'”]""", text[end:]):
        raise VerdictError(f"the last `{contract.key}` is not inside a valid JSON object")
    return _verdict(last, contract, exactly=False)


def _objects(text: str) -> Iterator[tuple[dict[str, Any], int]]:
    """The JSON objects that stand in a text, and where each ends."""
    place = broken = 0
    while start := _OBJECT_START.search(text, place):
        try:
            found, place = _LENIENT.raw_decode(text, start.start())
            yield found, place
        except (ValueError, RecursionError):
            place = start.end()
            broken += 1
            if broken > _MOST_BROKEN:
                raise VerdictError("too many broken JSON objects in the reply") from None


def _verdict(found: Mapping[str, Any], contract: Contract, *, exactly: bool) -> Verdict:
    if contract.key not in found:
        raise VerdictError(f"the object has no `{contract.key}`")
    reasoning = found.get("reasoning", "")
    if not isinstance(reasoning, str):
        if exactly:
            raise VerdictError("`reasoning` is no string")
        reasoning = ""
    said, value = contract.read(found[contract.key], exactly=exactly)
    return Verdict(said, value, reasoning)


# --- several verdicts --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the verdicts on one reply come to.

    Attributes:
        value: The score; None where too few judges said a verdict.
        error: Why there is none.
        complete: Whether every judge said a verdict each time and no tie had to be broken.
    """

    value: float | None
    error: str | None = None
    complete: bool = True


def combine(
    values: Mapping[str, Sequence[float | None]], aggregation: Aggregation, least: int
) -> Outcome:
    """One score out of all judges' verdicts, as EvalScope 1.14.1 combines them.

    The repeats of one judge are combined first, then the judges, each with equal weight. A tied
    majority goes to the first repeat, and among judges to the first one; without its verdict there
    is no score.

    Args:
        values: Judge -> the scores of its repeats, None for one that failed; in order.
        aggregation: How.
        least: How many judges must have said a verdict.
    """
    valid = {judge: [v for v in said if v is not None] for judge, said in values.items()}
    per_judge, tied = {}, False
    for judge, said in valid.items():
        if said:
            per_judge[judge], even = _combined(said, aggregation)
            tied |= even
    if len(per_judge) < max(1, least):
        return Outcome(None, f"{len(per_judge)} of {len(values)} judges gave a verdict", False)
    score, even = _combined([*per_judge.values()], aggregation)
    if even:
        first = next(iter(values))
        if first not in per_judge:
            return Outcome(None, f"the judges are tied and `{first}` gave no verdict", False)
        score = per_judge[first]
    whole = all(v is not None for said in values.values() for v in said)
    return Outcome(score, None, whole and not tied and not even)


def _combined(values: Sequence[float], aggregation: Aggregation) -> tuple[float, bool]:
    """The combined value, and whether a tie went to the first."""
    if aggregation == "median":
        return float(statistics.median(values)), False
    if aggregation == "mean":
        return sum(values) / len(values), False
    counts = {value: values.count(value) for value in values}
    most = [value for value, count in counts.items() if count == max(counts.values())]
    return (values[0], True) if len(most) > 1 else (most[0], False)
