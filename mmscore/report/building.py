"""From a run's folder to its report: means, intervals and breakdowns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

from mmscore.report import counts
from mmscore.report.repeats import Repeats, repeats
from mmscore.report.statistics import clustered, interval, mean, total
from mmscore.report.summary import OVERALL, Coverage, Report, Row
from mmscore.store.lines import MISSING, Line
from mmscore.store.run_folder import Run


def build(run: Run) -> Report:
    """What a run came to, at any stage of it.

    Sums run in the order of the data set, so that a report is the same to the bit in whatever
    order the samples ended.
    """
    lines = run.lines
    metrics, primary = _metrics(run)
    subsets = _subsets(run)
    by_subset = _split(lines, lambda line: (line.subset,), subsets)
    categories = {name: _category(run, name) for name in subsets}
    ordered = sorted(subsets, key=lambda name: categories[name])  # stable, like the reference
    scores = tuple(
        _row(m, name, categories[name], by_subset[name]) for m in metrics for name in ordered
    )
    finished = [line for line in lines if line.status != "truncated"]
    return Report(
        info=run.info,
        metrics=metrics,
        primary=primary,
        scores=scores,
        overall=tuple(_overall(m, lines, scores) for m in metrics),
        macro={m: _macro(m, scores) for m in metrics},
        categories=_category_rows(metrics, lines, categories),
        groups=_groups(run, metrics),
        bounds={m: _bounds(m, lines) for m in metrics},
        finished={m: mean(_values(m, finished)) for m in metrics},
        repeats=_repeats(run, metrics),
        status=counts.status(run),
        failures=counts.failures(run),
        finish_reasons=counts.finish_reasons(run),
        coverage=_coverage(run),
        usage=counts.usage(run),
        timing=counts.timing(run),
        judge=counts.judge(run),
        images=len({line.cluster for line in lines if line.cluster is not None}),
        changed_media=counts.changed_media(run),
    )


def _metrics(run: Run) -> tuple[tuple[str, ...], str]:
    """Metric names as first seen in the scores (the reference's order), and the primary one.

    A judge may replace the benchmark's own metrics, so what was scored wins over what was
    announced.
    """
    declared = run.benchmark.metrics or ("score",)
    seen = run.metrics or declared
    return seen, next((name for name in declared if name in seen), seen[0])


def _subsets(run: Run) -> list[str]:
    return list(
        dict.fromkeys([*run.info.planned, *dict.fromkeys(line.subset for line in run.lines)])
    )


def _category(run: Run, subset: str) -> str:
    return run.benchmark.subsets.get(subset) or "default"


def _split(
    lines: Iterable[Line], names: Callable[[Line], Iterable[str]], known: Iterable[str] = ()
) -> dict[str, list[Line]]:
    """Lines by each of their names, known names first and present even when empty."""
    parts: dict[str, list[Line]] = {name: [] for name in known}
    for line in lines:
        for name in names(line):
            parts.setdefault(name, []).append(line)
    return parts


def _values(metric: str, lines: Iterable[Line]) -> list[float]:
    return [value for line in lines if (value := line.value(metric)) is not None]


def _row(metric: str, name: str, category: str, lines: Sequence[Line]) -> Row:
    values = _values(metric, lines)
    score = mean(values)
    low, high = interval(_independent(metric, lines)) or (None, None)
    shown = None if score is None else round(score, 4)
    return Row(
        metric, name, category, len(values), score, low, high, shown, _clustered(metric, lines)
    )


def _clustered(metric: str, lines: Sequence[Line]) -> tuple[float, float] | None:
    """The interval clustered by what samples show; None where each shows something of its own.

    A sample without media is a cluster of its own, and so are its repeats, which share its media.
    """
    found: dict[str, tuple[Hashable, list[float]]] = {}
    for line in lines:
        value = line.value(metric)
        if value is not None:
            shown = line.id if line.cluster is None else line.cluster
            found.setdefault(line.id, (shown, []))[1].append(value)
    clusters = [cluster for cluster, _ in found.values()]
    if len(set(clusters)) == len(clusters):
        return None
    return clustered([total(values) / len(values) for _, values in found.values()], clusters)


def _independent(metric: str, lines: Sequence[Line]) -> list[float]:
    """One value a sample: the mean of its repeats, which are not independent of each other."""
    if len({line.repeat for line in lines}) < 2:
        return _values(metric, lines)
    repeats: dict[str, list[float]] = {}
    for line in lines:
        if (value := line.value(metric)) is not None:
            repeats.setdefault(line.id, []).append(value)
    return [total(values) / len(values) for values in repeats.values()]


def _overall(metric: str, lines: Sequence[Line], scores: Sequence[Row]) -> Row:
    """All samples; `shown` is averaged from rounded scores as the reference does."""
    exact = _row(metric, OVERALL, "-", lines)
    parts: dict[str, list[Row]] = {}
    for row in scores:
        if row.metric == metric and row.num:
            parts.setdefault(row.category, []).append(row)
    pairs = [
        (_weighted([(r.shown, r.num) for r in rows]), sum(r.num for r in rows))
        for rows in parts.values()
    ]
    return replace(exact, shown=_weighted(pairs))


def _weighted(pairs: Sequence[tuple[float | None, int]]) -> float | None:
    if not pairs:
        return None
    weighted = total((score or 0.0) * num for score, num in pairs)
    return round(weighted / sum(num for _, num in pairs), 4)


def _macro(metric: str, scores: Sequence[Row]) -> float | None:
    """The mean of the subsets' scores; a subset with nothing scored is no zero."""
    return mean([row.score for row in scores if row.metric == metric and row.score is not None])


def _category_rows(
    metrics: Sequence[str], lines: Sequence[Line], categories: Mapping[str, str]
) -> tuple[Row, ...]:
    names = sorted(set(categories.values()))
    if names == ["default"]:
        return ()
    parts = _split(lines, lambda line: [categories[line.subset]], names)
    return tuple(_row(m, name, name, parts[name]) for m in metrics for name in names)


def _groups(run: Run, metrics: Sequence[str]) -> dict[str, tuple[Row, ...]]:
    """One row a metric and value of each metadata key that the samples have, largest first."""
    groups = {}
    for place, name in enumerate(run.benchmark.groups):
        parts = _split(run.lines, _labels_at(place))
        if any(label != MISSING for label in parts):
            rows = [_row(m, label, "", part) for m in metrics for label, part in parts.items()]
            rows.sort(key=lambda row: (metrics.index(row.metric), -row.num, row.name))
            groups[name] = tuple(rows)
    return groups


def _labels_at(place: int) -> Callable[[Line], Iterable[str]]:
    return lambda line: line.groups[place]


def _repeats(run: Run, metrics: Sequence[str]) -> dict[str, Repeats]:
    """What the repeats come to; empty where each sample was asked once."""
    count = run.info.repeats
    if count < 2:
        return {}
    return {metric: repeats(metric, run.lines, count) for metric in metrics}


def _bounds(metric: str, lines: Sequence[Line]) -> tuple[float, float] | None:
    """The score if all failed samples were wrong, and if all were right (both 0..1)."""
    failed = sum(line.lacks(metric) for line in lines)
    values = _values(metric, lines)
    if not failed:
        return None
    right, count = total(values), len(values) + failed
    return right / count, (right + failed) / count


def _coverage(run: Run) -> Coverage:
    lines = run.lines
    planned = sum(run.info.planned.values())
    failed = sum(line.failed for line in lines)
    scored = sum(line.score is not None and bool(line.score.names) for line in lines)
    pending = sum(line.score is None and not line.failed for line in lines)
    return Coverage(
        planned=max(planned, len(lines)),
        asked=len(lines),
        not_asked=max(planned - len(lines), 0),
        failed=failed,
        scored=scored,
        no_score=len(lines) - failed - scored - pending,
        pending=pending,
    )
