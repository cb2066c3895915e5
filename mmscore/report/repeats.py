"""What several replies to one sample say together: how often one of k is right, and what most say.

The replies of a sample are not independent of each other, so every figure is first worked out for
each sample, and intervals are over samples.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mmscore.report.statistics import interval, mean
from mmscore.store.lines import Line


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over samples with its 95 % interval.

    Attributes:
        score: The mean, 0..1.
        low: Lower end of the interval; None where there is none.
        high: Upper end.
    """

    score: float
    low: float | None
    high: float | None

    def to_json(self) -> dict[str, float | None]:
        """The same as JSON values."""
        return {"score": self.score, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class RepeatedSample:
    """The scored replies of one sample, in the order of their repeats.

    Attributes:
        id: The sample.
        values: Their scores.
        answers: What was read out of them, as hashes: equal ones are equal answers.
    """

    id: str
    values: tuple[float, ...]
    answers: tuple[int, ...]

    @property
    def right(self) -> int:
        """How many replies are fully right."""
        return sum(value >= 1.0 for value in self.values)

    def pass_at(self, k: int) -> float | None:
        """The chance that of k replies, drawn without return, at least one is right.

        Source: the unbiased estimator of "Evaluating Large Language Models Trained on Code"
        (arXiv 2107.03374): 1 - C(n - c, k) / C(n, k). None where there are fewer than k replies.
        """
        count = len(self.values)
        if k > count:
            return None
        return 1.0 - math.comb(count - self.right, k) / math.comb(count, k)

    @property
    def majority(self) -> float:
        """The score of the commonest answer; of answers that are equally common, the first."""
        commonest = Counter(self.answers).most_common(1)[0][0]
        return self.values[self.answers.index(commonest)]


@dataclass(frozen=True, slots=True)
class Repeats:
    """What K replies a sample come to.

    Attributes:
        scores: The overall score of each repeat.
        pass_at: k -> the mean of pass@k over samples; empty where scores are no right or wrong.
        majority: The score of the commonest answers.
        samples: How many samples have a scored reply.
    """

    scores: tuple[float | None, ...]
    pass_at: dict[int, Figure]
    majority: Figure | None
    samples: int

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values, beside mean and deviation."""
        return {
            "pass_at": {str(k): figure.to_json() for k, figure in self.pass_at.items()},
            "majority": None if self.majority is None else self.majority.to_json(),
            "samples": self.samples,
        }


def repeated(metric: str, lines: Iterable[Line]) -> list[RepeatedSample]:
    """The samples with their scored replies, in the order of the data."""
    found: dict[str, list[tuple[int, float, int]]] = {}
    for line in lines:
        value = line.value(metric)
        if value is not None and line.score is not None:
            found.setdefault(line.id, []).append((line.repeat, value, line.score.answer))
    samples = []
    for name, replies in found.items():
        _, values, answers = zip(*sorted(replies), strict=True)
        samples.append(RepeatedSample(name, values, answers))
    return samples


def repeats(metric: str, lines: Sequence[Line], count: int) -> Repeats:
    """What the repeats of a run come to for a metric.

    Args:
        metric: The metric.
        lines: All lines of the run, in the order of the data.
        count: How often each sample was asked.
    """
    by_repeat: list[list[float]] = [[] for _ in range(count)]
    for line in lines:
        value = line.value(metric)
        if value is not None and line.repeat < count:
            by_repeat[line.repeat].append(value)
    samples = repeated(metric, lines)
    binary = all(value in (0.0, 1.0) for sample in samples for value in sample.values)
    passes: dict[int, Figure] = {}
    for k in range(1, count + 1) if binary else ():
        chances = [chance for one in samples if (chance := one.pass_at(k)) is not None]
        if chances:
            passes[k] = _figure(chances)
    majority = _figure([sample.majority for sample in samples]) if samples else None
    return Repeats(tuple(map(mean, by_repeat)), passes, majority, len(samples))


def _figure(values: Sequence[float]) -> Figure:
    low, high = interval(values) or (None, None)
    return Figure(math.fsum(values) / len(values), low, high)
