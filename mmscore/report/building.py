"""From a run's folder to its report: means, intervals and breakdowns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmscore.errors import DataError
from mmscore.records import FAILED
from mmscore.report import counts
from mmscore.report.folder import Run, key
from mmscore.report.summary import OVERALL, Coverage, Report, Row
from mmscore.stats import interval, mean, total

MISSING = "(none)"
"""The group value of samples that lack the key."""


@dataclass(frozen=True, slots=True)
class Item:
    """One asked sample, as far as scores are concerned."""

    id: str
    repeat: int
    subset: str
    status: str
    metrics: Mapping[str, float]
    metadata: Mapping[str, Any]
    unjudged: bool = False

    def lacks(self, metric: str) -> bool:
        """Whether a failure, of the asking or of the judge, keeps it from having this metric."""
        return self.status in FAILED or (self.unjudged and metric not in self.metrics)


def build(run: Run) -> Report:
    """What a run came to, at any stage of it.

    Sums run in the order of the data set, so that a report is the same to the bit in whatever
    order the samples ended.

    Raises:
        DataError: A score is not a finite number.
    """
    items = [_item(run, prediction) for prediction in run.predictions]
    metrics, primary = _metrics(run, items)
    subsets = _subsets(run, items)
    by_subset = _split(items, lambda item: [item.subset], subsets)
    categories = {name: _category(run, name) for name in subsets}
    ordered = sorted(subsets, key=lambda name: categories[name])  # stable, like the reference
    scores = tuple(
        _row(m, name, categories[name], by_subset[name]) for m in metrics for name in ordered
    )
    finished = [item for item in items if item.status != "truncated"]
    return Report(
        info=run.info,
        metrics=metrics,
        primary=primary,
        scores=scores,
        overall=tuple(_overall(m, items, scores) for m in metrics),
        macro={m: _macro(m, scores) for m in metrics},
        categories=_category_rows(metrics, items, categories),
        groups=_groups(run, metrics, items),
        bounds={m: _bounds(m, items) for m in metrics},
        finished={m: mean(_values(m, finished)) for m in metrics},
        repeats=_repeats(run, metrics, items),
        status=counts.status(run),
        failures=counts.failures(run),
        coverage=_coverage(run, items),
        usage=counts.usage(run),
        timing=counts.timing(run),
        judge=counts.judge(run),
        changed_media=counts.changed_media(run),
    )


def _item(run: Run, prediction: Mapping[str, Any]) -> Item:
    status = str(prediction.get("status", "error"))
    line = run.score_of(prediction)
    metrics = {name: _number(value, line) for name, value in (line.get("metrics") or {}).items()}
    return Item(
        id=prediction["id"],
        repeat=prediction.get("repeat", 0),
        subset=str(prediction.get("subset", "")),
        status=status,
        metrics=metrics,
        metadata=prediction.get("metadata") or {},
        unjudged=bool((line.get("judge") or {}).get("error")),
    )


def _number(value: object, line: Mapping[str, Any]) -> float:
    if isinstance(value, int | float) and math.isfinite(value):
        return float(value)
    place = f"scores.jsonl, sample `{line.get('id')}`"
    raise DataError(f"{place}: found the score {value!r}, expected a finite number")


def _metrics(run: Run, items: Sequence[Item]) -> tuple[tuple[str, ...], str]:
    """Metric names as first seen in the scores (the reference's order), and the primary one.

    A judge may replace the benchmark's own metrics, so what was scored wins over what was
    announced.
    """
    declared = tuple(run.benchmark.get("metrics") or ("score",))
    seen = tuple(dict.fromkeys(name for item in items for name in item.metrics)) or declared
    return seen, next((name for name in declared if name in seen), seen[0])


def _subsets(run: Run, items: Sequence[Item]) -> list[str]:
    planned = run.info.get("planned") or {}
    return list(dict.fromkeys([*planned, *(item.subset for item in items)]))


def _category(run: Run, subset: str) -> str:
    return str((run.benchmark.get("subsets") or {}).get(subset) or "default")


def _split(
    items: Iterable[Item], names: Callable[[Item], list[str]], known: Iterable[str] = ()
) -> dict[str, list[Item]]:
    """Items by each of their names, known names first and present even when empty."""
    parts: dict[str, list[Item]] = {name: [] for name in known}
    for item in items:
        for name in names(item):
            parts.setdefault(name, []).append(item)
    return parts


def _values(metric: str, items: Iterable[Item]) -> list[float]:
    return [item.metrics[metric] for item in items if metric in item.metrics]


def _row(metric: str, name: str, category: str, items: Sequence[Item]) -> Row:
    values = _values(metric, items)
    score = mean(values)
    low, high = interval(_independent(metric, items)) or (None, None)
    shown = None if score is None else round(score, 4)
    return Row(metric, name, category, len(values), score, low, high, shown)


def _independent(metric: str, items: Sequence[Item]) -> list[float]:
    """One value a sample: the mean of its repeats, which are not independent of each other."""
    repeats: dict[str, list[float]] = {}
    for item in items:
        if metric in item.metrics:
            repeats.setdefault(item.id, []).append(item.metrics[metric])
    return [total(values) / len(values) for values in repeats.values()]


def _overall(metric: str, items: Sequence[Item], scores: Sequence[Row]) -> Row:
    """All samples; `shown` is averaged from rounded scores as the reference does."""
    exact = _row(metric, OVERALL, "-", items)
    parts: dict[str, list[Row]] = {}
    for row in scores:
        if row.metric == metric and row.num:
            parts.setdefault(row.category, []).append(row)
    pairs = [
        (_weighted([(r.shown, r.num) for r in rows]), sum(r.num for r in rows))
        for rows in parts.values()
    ]
    return Row(
        metric, OVERALL, "-", exact.num, exact.score, exact.low, exact.high, _weighted(pairs)
    )


def _weighted(pairs: Sequence[tuple[float | None, int]]) -> float | None:
    if not pairs:
        return None
    weighted = total((score or 0.0) * num for score, num in pairs)
    return round(weighted / sum(num for _, num in pairs), 4)


def _macro(metric: str, scores: Sequence[Row]) -> float | None:
    """The mean of the subsets' scores; a subset with nothing scored is no zero."""
    return mean([row.score for row in scores if row.metric == metric and row.score is not None])


def _category_rows(
    metrics: Sequence[str], items: Sequence[Item], categories: Mapping[str, str]
) -> tuple[Row, ...]:
    names = sorted(set(categories.values()))
    if names == ["default"]:
        return ()
    parts = _split(items, lambda item: [categories[item.subset]], names)
    return tuple(_row(m, name, name, parts[name]) for m in metrics for name in names)


def _groups(run: Run, metrics: Sequence[str], items: Sequence[Item]) -> dict[str, tuple[Row, ...]]:
    """One row a metric and value of each metadata key that the samples have, largest first."""
    groups = {}
    for name in run.benchmark.get("groups") or ():
        parts = _split_by_metadata(items, name)
        if any(label != MISSING for label in parts):
            rows = [_row(m, label, "", part) for m in metrics for label, part in parts.items()]
            rows.sort(key=lambda row: (metrics.index(row.metric), -row.num, row.name))
            groups[name] = tuple(rows)
    return groups


def _split_by_metadata(items: Iterable[Item], name: str) -> dict[str, list[Item]]:
    return _split(items, lambda item: labels_of(item.metadata.get(name)))


def labels_of(value: object) -> list[str]:
    """The group values of a sample; one with a list counts under each of its entries."""
    if isinstance(value, list):
        return list(dict.fromkeys(str(part) for part in value)) or [MISSING]
    return [MISSING] if value is None or value == "" else [str(value)]


def _repeats(
    run: Run, metrics: Sequence[str], items: Sequence[Item]
) -> dict[str, tuple[float | None, ...]]:
    """The overall score of each repeat; empty where each sample was asked once."""
    count = int(run.info.get("repeats") or 1)
    if count < 2:
        return {}
    parts = [[item for item in items if item.repeat == number] for number in range(count)]
    return {m: tuple(mean(_values(m, part)) for part in parts) for m in metrics}


def _bounds(metric: str, items: Sequence[Item]) -> tuple[float, float] | None:
    """The score if all failed samples were wrong, and if all were right (both 0..1)."""
    failed = sum(item.lacks(metric) for item in items)
    values = _values(metric, items)
    if not failed:
        return None
    right, count = total(values), len(values) + failed
    return right / count, (right + failed) / count


def _coverage(run: Run, items: Sequence[Item]) -> Coverage:
    planned = sum(int(count) for count in (run.info.get("planned") or {}).values())
    failed = sum(item.status in FAILED for item in items)
    scored = sum(bool(item.metrics) for item in items)
    replied = [p for p in run.predictions if p.get("status") not in FAILED]
    pending = sum(key(p) not in run.scores for p in replied)
    return Coverage(
        planned=max(planned, len(items)),
        asked=len(items),
        not_asked=max(planned - len(items), 0),
        failed=failed,
        scored=scored,
        no_score=len(items) - failed - scored - pending,
        pending=pending,
    )
