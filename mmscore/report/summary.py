"""What a run came to, as one value: scores with their intervals, and all that qualifies them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mmscore.finish_reasons import ending_of
from mmscore.report.repeats import Repeats
from mmscore.store.info import RunInfo

SCHEMA = 1
"""The version of `report.json`."""
OVERALL = "OVERALL"
TRUNCATED_WARNING = 0.05
"""The share of cut-off replies from which a score mostly tells of the token limit."""


@dataclass(frozen=True, slots=True)
class Row:
    """One score.

    Attributes:
        metric: The metric's name.
        name: The subset, category or group value; `OVERALL` for all samples.
        category: The category of a subset, `default` where there is none.
        num: How many replies were scored.
        score: Their mean, 0..1, unrounded; None where there are none.
        low: Lower end of the 95 % interval.
        high: Upper end of the 95 % interval.
        clustered: The interval that knows which samples show the same media; None where none do.
        shown: The score as tables show it. The reference keeps four decimals and averages those
            again for its OVERALL row; tables follow it so that they can be laid side by side.
    """

    metric: str
    name: str
    category: str
    num: int
    score: float | None
    low: float | None
    high: float | None
    shown: float | None
    clustered: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many samples (times repeats) got how far.

    Attributes:
        planned: To be asked.
        asked: With a line in the journal.
        not_asked: Planned and not asked, because the run stopped before.
        failed: Asked without a reply to score: error, timeout or bad media.
        scored: With at least one metric.
        no_score: Replied and looked at, but not scorable: no reference answer, or no verdict.
        pending: Replied and not yet scored.
    """

    planned: int
    asked: int
    not_asked: int
    failed: int
    scored: int
    no_score: int
    pending: int


@dataclass(frozen=True, slots=True)
class Report:
    """All that a run came to. Fractions are 0..1 and unrounded.

    Attributes:
        info: `run.json`: model, configuration, versions, fingerprints, times.
        metrics: Metric names in the order of tables.
        primary: The metric that stands for the run.
        scores: One row a metric and subset, in the order of the table.
        overall: One row a metric over all samples (micro average).
        macro: Metric -> mean of the subsets' scores; empty subsets are left out.
        categories: One row a metric and category; empty where no benchmark category exists.
        groups: Metadata key -> one row a metric and value.
        bounds: Metric -> score if all failed samples were wrong, and if all were right.
        finished: Metric -> score over replies that were not cut off.
        repeats: Metric -> what the repeats come to; empty for a single one.
        status: Status -> count.
        failures: The reasons of failed samples: (status, sentence, count), commonest first.
        finish_reasons: The endpoint's words for why replies ended -> count, commonest first.
        coverage: How many samples got how far.
        usage: Token totals, and the replies that came without a count.
        timing: Wall time, requests, retries, latency.
        judge: Samples with a verdict, judge failures and judge tokens; None without a judge.
        images: How many different media (or sets of them) the samples show.
        changed_media: Samples of which a medium was re-encoded before sending.
    """

    info: RunInfo
    metrics: tuple[str, ...]
    primary: str
    scores: tuple[Row, ...]
    overall: tuple[Row, ...]
    macro: Mapping[str, float | None]
    categories: tuple[Row, ...]
    groups: Mapping[str, tuple[Row, ...]]
    bounds: Mapping[str, tuple[float, float] | None]
    finished: Mapping[str, float | None]
    repeats: Mapping[str, Repeats]
    status: Mapping[str, int]
    failures: tuple[tuple[str, str, int], ...]
    finish_reasons: Mapping[str, int]
    coverage: Coverage
    usage: Mapping[str, Any]
    timing: Mapping[str, Any]
    judge: Mapping[str, Any] | None
    images: int
    changed_media: int

    @property
    def model(self) -> str:
        """The model that was asked."""
        return str(self.info.model or "")

    @property
    def dataset(self) -> str:
        """The benchmark's name."""
        return self.info.benchmark.name

    @property
    def title(self) -> str:
        """The benchmark's name in tables."""
        return self.info.benchmark.title or self.dataset

    @property
    def main(self) -> Row:
        """The overall row of the primary metric."""
        return next(row for row in self.overall if row.metric == self.primary)

    @property
    def unknown_reasons(self) -> dict[str, int]:
        """Those of the endpoint's words that nobody knows; their replies are scored."""
        words = self.finish_reasons.items()
        return {word: num for word, num in words if ending_of(word) == "unknown"}

    def share(self, status: str) -> float:
        """The share of replies that ended so; 0 where there is no reply."""
        replied = self.coverage.asked - self.coverage.failed
        return self.status[status] / replied if replied else 0.0
