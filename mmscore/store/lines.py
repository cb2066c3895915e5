"""What reports count of each sample, a few hundred bytes a sample, read line by line.

Questions, replies and reasoning stay on the disk; `Line.at` says where.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from sys import intern
from typing import Any

from mmscore.errors import DataError
from mmscore.store.journal import Key, placed_records
from mmscore.types import FAILED

MISSING = "(none)"
"""The group value of samples that lack the key."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judges did about one reply.

    Attributes:
        error: Why there is no verdict; None where there is one.
        complete: Whether every judge that was asked gave one.
        given: The judges that did, once for each verdict.
        refused: The kinds of failure of the others.
        prompt_tokens: Tokens of all requests.
        completion_tokens: Tokens of all answers.
        requests: How many requests were sent.
        seconds: How long they took in all.
    """

    error: str | None
    complete: bool
    given: tuple[str, ...]
    refused: tuple[str, ...]
    prompt_tokens: int
    completion_tokens: int
    requests: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Score:
    """The score line of a reply.

    Attributes:
        names: Its metrics, in its order.
        values: Their values, finite.
        judged: What judges did; None where none was wanted.
        at: The byte of `scores.jsonl` where its line begins.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    judged: Judged | None
    at: int


@dataclass(slots=True)
class Line:
    """One asked sample; only `score` is set after it was made, while its run is read.

    Attributes:
        id: The sample.
        repeat: Which asking of it.
        index: Its place in the data set.
        subset: Its subset.
        status: How it ended.
        groups: Its values of each of the benchmark's groups, in their order.
        prompt_tokens: As the endpoint counted; None where it did not.
        completion_tokens: Likewise.
        seconds: From the first attempt to the end.
        first_token_seconds: From the last attempt to the first text.
        attempts: Requests sent.
        error: Why there is no reply.
        changed: Whether one of its media was re-encoded before it was sent.
        at: The byte of `predictions.jsonl` where its line begins.
        score: Its score; None where there is none. A failed sample has none, even if an earlier
            asking of it was scored.
    """

    id: str
    repeat: int
    index: int
    subset: str
    status: str
    groups: tuple[tuple[str, ...], ...]
    prompt_tokens: int | None
    completion_tokens: int | None
    seconds: float | None
    first_token_seconds: float | None
    attempts: int
    error: str | None
    changed: bool
    at: int
    score: Score | None = None

    @property
    def key(self) -> Key:
        """What the sample is known by."""
        return self.id, self.repeat

    @property
    def failed(self) -> bool:
        """Whether it has no reply."""
        return self.status in FAILED

    def value(self, metric: str) -> float | None:
        """Its value of a metric; None where it has none."""
        score = self.score
        if score is None or metric not in score.names:
            return None
        return score.values[score.names.index(metric)]

    def lacks(self, metric: str) -> bool:
        """Whether a failure, of the asking or of the judge, keeps it from having this metric."""
        if self.failed:
            return True
        score = self.score
        unjudged = score is not None and score.judged is not None and bool(score.judged.error)
        return unjudged and self.value(metric) is None


def labels_of(value: object) -> list[str]:
    """The group values of a sample; one with a list counts under each of its entries."""
    if isinstance(value, list):
        return list(dict.fromkeys(str(part) for part in value)) or [MISSING]
    return [MISSING] if value is None or value == "" else [str(value)]


def read_lines(predictions: Path, scores: Path, groups: Sequence[str]) -> tuple[Line, ...]:
    """The lines of a run in the order of the data set, whatever order the samples ended in.

    The last line of a sample counts, because a resumed run appends. A file that does not exist
    yet is an empty one.

    Args:
        predictions: Its `predictions.jsonl`.
        scores: Its `scores.jsonl`.
        groups: The metadata keys that the samples are grouped by.

    Raises:
        DataError: A line is damaged, or a score is not a finite number.
    """
    shared = _Shared()
    samples: dict[int, dict[str, Line]] = {}  # repeat -> id -> line: a key a sample costs more
    for at, record in _records(predictions):
        line = _line(record, at, groups, shared)
        samples.setdefault(line.repeat, {})[line.id] = line
    for at, record in _records(scores):
        found = samples.get(record.get("repeat", 0), {}).get(record["id"])
        score = _score(record, at, shared)
        if found is not None and not found.failed:
            found.score = score
    lines = [line for part in samples.values() for line in part.values()]
    samples.clear()
    lines.sort(key=attrgetter("index", "repeat", "id"))
    return tuple(lines)


def metric_names(lines: Iterable[Line]) -> tuple[str, ...]:
    """The metrics that samples have, as first seen in the order of the data set."""
    different = dict.fromkeys(line.score.names for line in lines if line.score is not None)
    return tuple(dict.fromkeys(name for names in different for name in names))


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    return placed_records(path) if path.exists() else iter(())


class _Shared:
    """Equal tuples kept once: most samples have the same metrics, groups and scores."""

    MOST = 4096
    """Where more differ, sharing saves nothing."""

    def __init__(self) -> None:
        self._known: dict[tuple[Any, ...], tuple[Any, ...]] = {}

    def __call__(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        known = self._known.get(value)
        if known is not None:
            return known
        if len(self._known) < self.MOST:
            self._known[value] = value
        return value


def _line(record: Mapping[str, Any], at: int, groups: Sequence[str], shared: _Shared) -> Line:
    usage = record.get("usage") or {}
    metadata = record.get("metadata") or {}
    error = record.get("error")
    return Line(
        id=record["id"],
        repeat=record.get("repeat", 0),
        index=record.get("index", 0),
        subset=intern(str(record.get("subset", ""))),
        status=intern(str(record.get("status", "error"))),
        groups=shared(tuple([tuple(labels_of(metadata.get(name))) for name in groups])),
        prompt_tokens=usage.get("prompt_tokens"),
        completion_tokens=usage.get("completion_tokens"),
        seconds=record.get("seconds"),
        first_token_seconds=record.get("first_token_seconds"),
        attempts=int(record.get("attempts") or 0),
        error=intern(str(error)) if error else None,
        changed=any(medium.get("notes") for medium in record.get("media") or ()),
        at=at,
    )


def _score(record: Mapping[str, Any], at: int, shared: _Shared) -> Score:
    metrics = record.get("metrics") or {}
    judge = record.get("judge")
    return Score(
        names=shared(tuple(metrics)),
        values=shared(tuple([_number(value, record) for value in metrics.values()])),
        judged=_judged(judge, shared) if isinstance(judge, dict) else None,
        at=at,
    )


def _number(value: object, record: Mapping[str, Any]) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    place = f"scores.jsonl, sample `{record['id']}`"
    raise DataError(f"{place}: found the score {value!r}, expected a finite number")


def _judged(judge: Mapping[str, Any], shared: _Shared) -> Judged:
    verdicts = judge.get("verdicts") or ()
    usage = judge.get("usage") or {}
    error = judge.get("error")
    return Judged(
        error=intern(str(error)) if error else None,
        complete=bool(judge.get("complete", True)),
        given=shared(tuple([one["judge"] for one in verdicts if not one["error"]])),
        refused=shared(tuple([str(one["kind"]) for one in verdicts if one["error"]])),
        prompt_tokens=usage.get("prompt_tokens") or 0,
        completion_tokens=usage.get("completion_tokens") or 0,
        requests=int(judge.get("requests") or 0),
        seconds=float(judge.get("seconds") or 0.0),
    )
