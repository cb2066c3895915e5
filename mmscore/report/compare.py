"""Two runs side by side, sample by sample: the difference, and how sure it is.

Both runs answered the same questions, so their scores are paired. A test that forgets it (two
intervals that overlap, an unpaired z-test) misses differences that are there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from mmscore.report.boxes import Style, clean, fitted_box, plain, wrapped
from mmscore.report.labels import metric_labels, number, percent
from mmscore.report.pairing import GroupDifference, Paired, beside, group_differences, paired
from mmscore.store.lines import Line
from mmscore.store.records import Score
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
class Comparison(Paired):
    """Two runs, paired by (id, repeat): what `Paired` says, and more.

    Attributes:
        metric: What is compared.
        names: The two models, or the folders where the model is the same.
        pairs: Samples scored in both.
        only_first: Samples scored in the first run alone.
        only_second: Samples scored in the second run alone.
        groups: `subset`, `category` and the benchmark's groups -> what each value came to.
        flips: Every sample that differs, losses first.
        warnings: What makes the comparison doubtful.
    """

    metric: str
    names: tuple[str, str]
    pairs: int
    only_first: int
    only_second: int
    groups: Mapping[str, tuple[GroupDifference, ...]]
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
    laid = beside((first, second), metric, force)
    before, after = laid.values
    pairs = laid.pairs(0, 1)
    flipped = [line for line in laid.common if before[line.key] != after[line.key]]
    theirs = {line.key: line for line in second.lines}
    whole = zip(
        flipped,
        first.whole(flipped),
        second.whole(theirs[line.key] for line in flipped),
        strict=True,
    )
    flips = [
        _flip(line, pairs[line.key], one[0].target, (one[1], other[1]))
        for line, one, other in whole
    ]
    return Comparison(
        metric=laid.metric,
        names=(laid.names[0], laid.names[1]),
        pairs=len(pairs),
        only_first=len(before) - len(pairs),
        only_second=len(after) - len(pairs),
        groups=group_differences(laid),
        flips=tuple(sorted(flips, key=lambda flip: flip.after - flip.before)),
        warnings=laid.warnings,
        **asdict(paired(laid.common, pairs)),
    )


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


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """The comparison as plain values: what `mmscore compare --json` prints."""
    return {
        "schema_version": SCHEMA,
        "metric": comparison.metric,
        "names": list(comparison.names),
        "pairs": comparison.pairs,
        "unmatched": {"first": comparison.only_first, "second": comparison.only_second},
        "scores": list(comparison.scores),
        "difference": difference_json(comparison),
        "counts": {
            name: getattr(comparison, name) for name in ("gained", "lost", "both", "neither")
        },
        "mcnemar_p": comparison.p,
        "subsets": [group_json(row, "subset") for row in comparison.groups.get("subset", ())],
        "groups": {
            name: [group_json(row, "value") for row in rows]
            for name, rows in comparison.groups.items()
            if name != "subset"
        },
        "flips": [
            {name: getattr(flip, name) for name in flip.__slots__} for flip in comparison.flips
        ],
        "warnings": list(comparison.warnings),
    }


def difference_json(found: Paired) -> dict[str, Any]:
    """A difference and its intervals as plain values."""
    low, high = found.interval or (None, None)
    value: dict[str, Any] = {"value": found.difference, "low": low, "high": high}
    if found.clustered is not None:
        value["clustered"] = dict(zip(("low", "high"), found.clustered, strict=True))
    return value


def group_json(row: GroupDifference, name: str) -> dict[str, Any]:
    """A subset or group as plain values; `difference` is of two runs alone."""
    found: dict[str, Any] = {name: row.name, "pairs": row.num, "scores": list(row.scores)}
    if row.paired is not None:
        found["difference"] = difference_json(row.paired)
        found |= {"gained": row.paired.gained, "lost": row.paired.lost}
    return found


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
    rows: list[tuple[str, int, tuple[float | None, ...], int, int]] = [
        (clean(row.name), row.num, row.scores, row.paired.gained, row.paired.lost)
        for row in comparison.groups.get("subset", ())
        if row.paired is not None
    ]
    if len(rows) != 1:
        counts = (comparison.gained, comparison.lost)
        rows.append(("OVERALL", comparison.pairs, comparison.scores, *counts))
    head = ["Metric", "Subset", "Pairs", "A", "B", "B − A", "Gained", "Lost"]
    cells = [
        [clean(label), name, str(num), *map(percent, scores), _points(*scores), str(g), str(lost)]
        for name, num, scores, g, lost in rows
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
        if comparison.clustered:
            low, high = comparison.clustered
            lines.append(f"  by image   95% CI {low * 100:+.1f} to {high * 100:+.1f}")
    if comparison.p is not None:
        lines.append(f"McNemar      exact p = {probability(comparison.p)}")
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


def probability(p: float) -> str:
    """A p value in words: four decimals, or an exponent where they would say 0."""
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
