"""What reports count of each sample, a few hundred bytes a sample, read line by line.

Questions, replies and reasoning stay on the disk; `Line.at` says where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from sys import intern
from typing import Any

from mmscore.store.reader import RecordReader
from mmscore.store.records import JudgeSummary, Key, Prediction, Score
from mmscore.types import FAILED

MISSING = "(none)"
"""The group value of samples that lack the key."""


@dataclass(frozen=True, slots=True)
class JudgeCounts:
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
class ScoreLine:
    """The score line of a reply.

    Attributes:
        names: Its metrics, in its order.
        values: Their values, finite.
        judged: What judges did; None where none was wanted.
        answer: What was read out of the reply, as a hash.
        at: The byte of `scores.jsonl` where its line begins.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    judged: JudgeCounts | None
    answer: int
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
        answer_seconds: What the attempt took that answered; None where none did.
        first_token_seconds: From that attempt's start to the first text.
        attempts: Requests sent.
        finish_reason: The endpoint's word for why it stopped.
        error: Why there is no reply.
        changed: Whether one of its media was re-encoded before it was sent.
        cluster: A hash of what it shows: samples that show the same media have the same. None
            where it shows none.
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
    answer_seconds: float | None
    first_token_seconds: float | None
    attempts: int
    finish_reason: str | None
    error: str | None
    changed: bool
    cluster: int | None
    at: int
    score: ScoreLine | None = None

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


def read_lines(
    predictions: RecordReader[Prediction],
    scores: RecordReader[Score],
    groups: Sequence[str],
    damaged: Callable[[str], None] | None = None,
    names: dict[str, None] | None = None,
) -> tuple[Line, ...]:
    """The lines of a run in the order of the data set, whatever order the samples ended in.

    The last line of a sample counts, because a resumed run appends. A file that does not exist
    yet is an empty one.

    Args:
        predictions: Its `predictions.jsonl`.
        scores: Its `scores.jsonl`.
        groups: The metadata keys that the samples are grouped by.
        damaged: Who hears of a damaged score, which is passed over; None stops on it.
        names: Takes in the names of all facts that samples have.

    Raises:
        DataError: A line is damaged.
    """
    shared = _Shared()
    noted: set[tuple[str, ...]] = set()
    samples: dict[int, dict[str, Line]] = {}  # repeat -> id -> line: a key a sample costs more
    for at, prediction in predictions.placed() if predictions.path.exists() else ():
        line = _line(prediction, at, groups, shared)
        samples.setdefault(line.repeat, {})[line.id] = line
        if names is not None:
            _note(prediction, names, noted)
    for at, score in scores.placed(damaged) if scores.path.exists() else ():
        found = samples.get(score.repeat, {}).get(score.id)
        if found is not None and not found.failed:
            found.score = _score(score, at, shared)
    lines = [line for part in samples.values() for line in part.values()]
    samples.clear()
    lines.sort(key=attrgetter("index", "repeat", "id"))
    return tuple(lines)


def _note(of: Prediction, names: dict[str, None], noted: set[tuple[str, ...]]) -> None:
    """Take in the names of a sample's facts; most samples have the same."""
    facts = tuple(of.facts)
    if facts not in noted:
        names.update(dict.fromkeys(facts))
        if len(noted) < _Shared.MOST:
            noted.add(facts)


def metric_names(lines: Iterable[Line]) -> tuple[str, ...]:
    """The metrics that samples have, as first seen in the order of the data set."""
    different = dict.fromkeys(line.score.names for line in lines if line.score is not None)
    return tuple(dict.fromkeys(name for names in different for name in names))


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


def _line(of: Prediction, at: int, groups: Sequence[str], shared: _Shared) -> Line:
    facts = of.facts
    return Line(
        id=of.id,
        repeat=of.repeat,
        index=of.index,
        subset=intern(of.subset),
        status=intern(of.status),
        groups=shared(tuple([tuple(labels_of(facts.get(name))) for name in groups])),
        prompt_tokens=of.usage.prompt_tokens,
        completion_tokens=of.usage.completion_tokens,
        seconds=of.seconds,
        answer_seconds=of.answer_seconds,
        first_token_seconds=of.first_token_seconds,
        attempts=of.attempts,
        finish_reason=intern(of.finish_reason) if of.finish_reason else None,
        error=intern(of.error) if of.error else None,
        changed=any(medium.notes for medium in of.media),
        cluster=hash(tuple(medium.sha256 for medium in of.media)) if of.media else None,
        at=at,
    )


def _score(of: Score, at: int, shared: _Shared) -> ScoreLine:
    return ScoreLine(
        names=shared(tuple(of.metrics)),
        values=shared(tuple(map(float, of.metrics.values()))),
        judged=None if of.judge is None else _judged(of.judge, shared),
        answer=hash(of.extracted),
        at=at,
    )


def _judged(judge: JudgeSummary, shared: _Shared) -> JudgeCounts:
    return JudgeCounts(
        error=intern(judge.error) if judge.error else None,
        complete=judge.complete,
        given=shared(tuple([vote.judge for vote in judge.verdicts if not vote.error])),
        refused=shared(tuple([str(vote.kind) for vote in judge.verdicts if vote.error])),
        prompt_tokens=judge.usage.prompt_tokens or 0,
        completion_tokens=judge.usage.completion_tokens or 0,
        requests=judge.requests,
        seconds=judge.seconds,
    )
