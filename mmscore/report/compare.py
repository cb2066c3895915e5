"""Two runs side by side, sample by sample: the difference, and how sure it is.

Both runs answered the same questions, so their scores are paired. A test that forgets it (two
intervals that overlap, an unpaired z-test) misses differences that are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mmscore.errors import DataError
from mmscore.report.boxes import Style, clean, fitted_box, plain, wrapped
from mmscore.report.labels import metric_labels, number, percent
from mmscore.report.statistics import bootstrap, mcnemar, mean, total
from mmscore.store.lines import Line, metric_names
from mmscore.store.records import Key, Score
from mmscore.store.run_folder import Run

SCHEMA = 1
"""The version of the JSON form."""


@dataclass(frozen=True, slots=True)
class Flip:
    """One sample that the two runs scored differently.

    Attributes:
        id: The sample.
        repeat: Which asking of it.
        subset: Its subset.
        target: The reference answer.
        before: Its score in the first run.
        after: Its score in the second run.
        extracted_before: What was read out of the first run's reply.
        extracted_after: What was read out of the second run's reply.
    """

    id: str
    repeat: int
    subset: str
    target: str | None
    before: float
    after: float
    extracted_before: str | None
    extracted_after: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, paired by (id, repeat).

    Attributes:
        metric: What is compared.
        names: The two models, or the folders where the model is the same.
        pairs: Samples scored in both.
        only_first: Samples scored in the first run alone.
        only_second: Samples scored in the second run alone.
        scores: The mean of each over the pairs; None where there are none.
        difference: Second minus first.
        interval: 95 % paired bootstrap interval of the difference.
        gained: Better in the second run.
        lost: Worse in the second run.
        both: Fully right in both.
        neither: Not fully right in either, and equal.
        p: McNemar's exact two-sided p; None where a score is neither 0 nor 1, or samples repeat.
        subsets: Subset -> (pairs, first mean, second mean, gained, lost).
        flips: Every sample that differs, losses first.
        warnings: What makes the comparison doubtful.
    """

    metric: str
    names: tuple[str, str]
    pairs: int
    only_first: int
    only_second: int
    scores: tuple[float | None, float | None]
    difference: float | None
    interval: tuple[float, float] | None
    gained: int
    lost: int
    both: int
    neither: int
    p: float | None
    subsets: Mapping[str, tuple[int, float | None, float | None, int, int]]
    flips: tuple[Flip, ...]
    warnings: tuple[str, ...]


def compare(
    first: Run, second: Run, *, metric: str | None = None, force: bool = False
) -> Comparison:
    """Pair two runs and test their difference.

    Samples that failed or were not asked in one of them are left out and counted.

    Args:
        first: The run that is compared against.
        second: The run whose gains and losses are told.
        metric: What to compare; the first run's primary metric by default.
        force: Compare runs over unlike data all the same.

    Raises:
        DataError: The runs are of unlike benchmarks or data, or a metric is not in both.
    """
    warnings = _alike(first, second, force)
    lines = _scored(first), _scored(second)
    metric = metric or _metric(first, *lines)
    before, after = _values(lines[0], metric, first), _values(lines[1], metric, second)
    both_scored = [line for name, line in lines[0].items() if name in before and name in after]
    pairs = {line.key: (before[line.key], after[line.key]) for line in both_scored}
    flipped = [line for line in both_scored if before[line.key] != after[line.key]]
    whole = zip(
        flipped,
        first.whole(flipped),
        second.whole(lines[1][line.key] for line in flipped),
        strict=True,
    )
    flips = [
        _flip(line, pairs[line.key], one[0].target, (one[1], other[1]))
        for line, one, other in whole
    ]
    return Comparison(
        metric=metric,
        names=_names(first, second),
        pairs=len(pairs),
        only_first=len(before) - len(pairs),
        only_second=len(after) - len(pairs),
        subsets=_subsets(both_scored, pairs),
        flips=tuple(sorted(flips, key=lambda flip: flip.after - flip.before)),
        warnings=tuple(warnings),
        **_judged(pairs),
    )


def _judged(pairs: Mapping[Key, tuple[float, float]]) -> dict[str, Any]:
    """Counts, means and tests of the pairs, under their names in `Comparison`."""
    values = list(pairs.values())
    gained = sum(after > before for before, after in values)
    lost = sum(after < before for before, after in values)
    both = sum(pair == (1.0, 1.0) for pair in values)
    proportions = all(value in (0.0, 1.0) for pair in values for value in pair)
    once = len({name for name, _ in pairs}) == len(pairs)  # repeats are no independent coins
    return {
        "scores": (mean([before for before, _ in values]), mean([after for _, after in values])),
        "difference": mean([after - before for before, after in values]),
        "interval": bootstrap(_by_sample(pairs)),
        "gained": gained,
        "lost": lost,
        "both": both,
        "neither": len(values) - both - gained - lost,
        "p": mcnemar(gained, lost) if proportions and once else None,
    }


def _alike(first: Run, second: Run, force: bool) -> list[str]:
    """Whether two runs may be compared; what is unlike and only doubtful."""
    names = [run.benchmark.name for run in (first, second)]
    if names[0] != names[1]:
        raise DataError(f"cannot compare a run of `{names[0]}` with one of `{names[1]}`")
    one, other = first.info.fingerprints, second.info.fingerprints
    warnings = []
    if one.data != other.data:
        words = f"fingerprints {_start(one.data)} and {_start(other.data)}"
        sentence = f"the runs used unlike data ({words})"
        if not force:
            raise DataError(sentence, hint="use --force to compare the samples whose ids agree")
        warnings.append(sentence)
    for name, before, after in (
        ("prompts", one.prompt, other.prompt),
        ("scorers", one.scorer, other.scorer),
    ):
        if before != after:
            words = f"{_start(before)} and {_start(after)}"
            warnings.append(f"the runs used unlike {name} ({words})")
    judged = [_judge(run) for run in (first, second)]
    if judged[0] != judged[1]:
        warnings.append(f"the runs were judged unlike ({judged[0]}; {judged[1]})")
    return warnings


def _judge(run: Run) -> str:
    """Who scored a run, in words."""
    judge = run.info.judge
    if judge is None:
        return "by the rule alone"
    return f"{judge.strategy} by {', '.join(judge.models)} with {judge.prompt}"


def _start(fingerprint: object) -> str:
    return f"`{str(fingerprint)[:12]}`"


def _scored(run: Run) -> dict[Key, Line]:
    """The samples that have a score line, in the order of the data set."""
    return {line.key: line for line in run.lines if line.score is not None}


def _metric(run: Run, before: Mapping[Key, Line], after: Mapping[Key, Line]) -> str:
    """The benchmark's first metric that both runs have, else any that both have."""
    found = [metric_names(lines.values()) for lines in (before, after)]
    declared = [*run.benchmark.metrics, *found[0]]
    shared = next((name for name in declared if name in found[0] and name in found[1]), None)
    if shared is None and found[0] and found[1]:
        raise DataError(
            f"the runs share no metric: `{', '.join(found[0])}` and `{', '.join(found[1])}`",
            hint="score one of them again with the other's options: `mmscore score RUN_DIR`",
        )
    return shared or str(next(iter(declared), "score"))


def _values(lines: Mapping[Key, Line], metric: str, run: Run) -> dict[Key, float]:
    found = ((name, line.value(metric)) for name, line in lines.items())
    values = {name: value for name, value in found if value is not None}
    if not values and (names := run.metrics):
        raise DataError(f"`{run.directory}` has no metric `{metric}`, it has `{', '.join(names)}`")
    return values


def _flip(
    line: Line,
    scores: tuple[float, float],
    target: str | None,
    scored: tuple[Score | None, Score | None],
) -> Flip:
    return Flip(
        id=line.id,
        repeat=line.repeat,
        subset=line.subset,
        target=target,
        before=scores[0],
        after=scores[1],
        extracted_before=scored[0].extracted if scored[0] else None,
        extracted_after=scored[1].extracted if scored[1] else None,
    )


def _by_sample(pairs: Mapping[Key, tuple[float, float]]) -> list[float]:
    """One difference a sample: the mean over its repeats, which are not independent."""
    differences: dict[str, list[float]] = {}
    for (name, _), (before, after) in pairs.items():
        differences.setdefault(name, []).append(after - before)
    return [total(part) / len(part) for part in differences.values()]


def _subsets(
    lines: Sequence[Line], pairs: Mapping[Key, tuple[float, float]]
) -> dict[str, tuple[int, float | None, float | None, int, int]]:
    parts: dict[str, list[tuple[float, float]]] = {}
    for line in lines:
        parts.setdefault(line.subset, []).append(pairs[line.key])
    return {
        name: (
            len(part),
            mean([before for before, _ in part]),
            mean([after for _, after in part]),
            sum(after > before for before, after in part),
            sum(after < before for before, after in part),
        )
        for name, part in parts.items()
    }


def _names(first: Run, second: Run) -> tuple[str, str]:
    models = str(first.info.model), str(second.info.model)
    return models if models[0] != models[1] else (first.directory.name, second.directory.name)


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values: what `mmscore compare --json` prints."""
    low, high = comparison.interval or (None, None)
    return {
        "schema_version": SCHEMA,
        "metric": comparison.metric,
        "names": list(comparison.names),
        "pairs": comparison.pairs,
        "unmatched": {"first": comparison.only_first, "second": comparison.only_second},
        "scores": list(comparison.scores),
        "difference": {"value": comparison.difference, "low": low, "high": high},
        "counts": {
            name: getattr(comparison, name) for name in ("gained", "lost", "both", "neither")
        },
        "mcnemar_p": comparison.p,
        "subsets": [
            {"subset": name, "pairs": pairs, "scores": [a, b], "gained": gained, "lost": lost}
            for name, (pairs, a, b, gained, lost) in comparison.subsets.items()
        ],
        "flips": [
            {name: getattr(flip, name) for name in flip.__slots__} for flip in comparison.flips
        ],
        "warnings": list(comparison.warnings),
    }


def to_json(comparison: Comparison) -> str:
    """The comparison as versioned JSON; scores are fractions 0..1, unrounded."""
    import json

    words = json.dumps(to_dict(comparison), ensure_ascii=False, indent=2, allow_nan=False)
    return words + "\n"


def to_text(comparison: Comparison, style: Style = Style(), flips: int = 10) -> str:  # noqa: B008
    """The comparison for a terminal.

    Args:
        comparison: The two runs.
        style: What the output can show.
        flips: How many lost and how many gained samples to list; the JSON form has all.
    """
    label = metric_labels([comparison.metric])[comparison.metric]
    first, second = map(clean, comparison.names)
    lines = [f"A = {first}", f"B = {second}", "", _table(comparison, label, style.columns), ""]
    told = [*_verdict(comparison)]
    told += [f"Warning      {clean(warning)}" for warning in comparison.warnings]
    lines += [part for line in told for part in wrapped(line, style.columns, 0)]
    lines += _listed(comparison, flips, style.columns)
    text = "\n".join(lines)
    return text if style.boxes else plain(text)


def _table(comparison: Comparison, label: str, columns: int) -> str:
    rows = [
        (clean(name), pairs, a, b, gained, lost)
        for name, (pairs, a, b, gained, lost) in comparison.subsets.items()
    ]
    if len(rows) != 1:
        counts = (comparison.gained, comparison.lost)
        rows.append(("OVERALL", comparison.pairs, *comparison.scores, *counts))
    head = ["Metric", "Subset", "Pairs", "A", "B", "B − A", "Gained", "Lost"]
    cells = [
        [clean(label), name, str(pairs), percent(a), percent(b), _points(a, b), str(g), str(lost)]
        for name, pairs, a, b, g, lost in rows
    ]
    return fitted_box(
        head,
        cells,
        frozenset(head[2:]),
        columns,
        titled=[("Metric",)],
        dropped=["Gained", "Lost", "Pairs"],
    )


def _points(a: float | None, b: float | None) -> str:
    return "—" if a is None or b is None else f"{(b - a) * 100:+.1f}"


def _verdict(comparison: Comparison) -> list[str]:
    lines = []
    if comparison.difference is not None:
        text = f"Difference   {comparison.difference * 100:+.1f} points (B − A)"
        if comparison.interval:
            low, high = comparison.interval
            text += f", 95% CI {low * 100:+.1f} to {high * 100:+.1f} (paired bootstrap)"
        lines.append(text)
    if comparison.p is not None:
        lines.append(f"McNemar      exact p = {_probability(comparison.p)}")
    lines.append(
        f"Samples      {number(comparison.gained)} gained · {number(comparison.lost)} lost"
        f" · {number(comparison.both)} right in both · {number(comparison.neither)} in neither"
    )
    if comparison.only_first or comparison.only_second:
        lines.append(
            f"Unmatched    {number(comparison.only_first)} scored in A alone"
            f" · {number(comparison.only_second)} in B alone"
        )
    if not comparison.pairs:
        lines.append("Warning      no sample was scored in both runs")
    return lines


def _probability(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else f"{p:.1e}"


def _listed(comparison: Comparison, most: int, columns: int) -> list[str]:
    lost = comparison.flips[: comparison.lost][:most]
    gained = comparison.flips[comparison.lost :][:most]
    if not lost and not gained:
        return []
    cells = [_line(flip) for flip in (*lost, *gained)]
    head = ["Flip", "Sample", "Target", "A read", "B read"]
    lines = ["", fitted_box(head, cells, frozenset(), columns, dropped=["Target"])]
    hidden = len(comparison.flips) - len(cells)
    if hidden:
        lines.append(f"… {hidden} more with --json")
    return lines


def _line(flip: Flip) -> list[str]:
    kind = "lost" if flip.after < flip.before else "gained"
    name = clean(flip.id) + (f" #{flip.repeat}" if flip.repeat else "")
    words = (flip.target, flip.extracted_before, flip.extracted_after)
    return [kind, name, *map(_short, words)]


def _short(text: object, size: int = 32) -> str:
    words = "—" if text is None else clean(text)
    return words if len(words) <= size else words[: size - 1] + "…"
