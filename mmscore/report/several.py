"""More than two runs side by side: whether they differ at all, and which pairs do.

With many models some pair differs by luck. So one test asks first whether all are alike, and the p
values of pairs are corrected for how many pairs there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from mmscore.report.boxes import Style, clean, fitted_box, plain, wrapped
from mmscore.report.compare import SCHEMA, difference_json, group_json, probability
from mmscore.report.labels import MISSING, metric_labels, number, percent, span
from mmscore.report.pairing import (
    GroupDifference,
    Paired,
    RunsBeside,
    beside,
    group_differences,
    paired,
)
from mmscore.report.statistics import cochran, holm, interval, total
from mmscore.store.run_folder import Run


@dataclass(frozen=True, slots=True)
class RunScore:
    """What one run came to on the samples scored in all.

    Attributes:
        name: The run.
        score: The mean; None where no sample was scored in all.
        low: Lower end of its 95 % interval.
        high: Upper end.
        left_out: Samples scored in this run and not in all.
    """

    name: str
    score: float | None
    low: float | None
    high: float | None
    left_out: int


@dataclass(frozen=True, slots=True)
class PairDifference(Paired):
    """How two of the runs differ: what `Paired` says, and more.

    Attributes:
        first: The place of one run.
        second: The place of the other, whose gains and losses are told.
        holm: McNemar's p, corrected for the number of pairs.
    """

    first: int
    second: int
    holm: float | None


@dataclass(frozen=True, slots=True)
class SeveralRuns:
    """Three or more runs, compared on the samples scored in all of them.

    Attributes:
        metric: What is compared.
        num: How many samples were scored in all.
        scores: What each run came to.
        cochran: Q, degrees of freedom and p of Cochran's test; None where a score is neither 0 nor
            1, or samples repeat.
        pairs: Every two runs.
        groups: `subset`, `category` and the benchmark's groups -> what each value came to.
        warnings: What makes the comparison doubtful.
    """

    metric: str
    num: int
    scores: tuple[RunScore, ...]
    cochran: tuple[float, int, float] | None
    pairs: tuple[PairDifference, ...]
    groups: dict[str, tuple[GroupDifference, ...]]
    warnings: tuple[str, ...]


def several(runs: Sequence[Run], *, metric: str | None = None, force: bool = False) -> SeveralRuns:
    """Lay runs beside each other and test their differences.

    Args:
        runs: Three or more; two do as well.
        metric: What to compare; the first run's primary metric by default.
        force: Compare runs over unlike data all the same.

    Raises:
        DataError: The runs are of unlike benchmarks or data, or a metric is not in all.
    """
    laid = beside(runs, metric, force)
    return SeveralRuns(
        metric=laid.metric,
        num=len(laid.common),
        scores=tuple(_score(laid, place) for place in range(len(runs))),
        cochran=_cochran(laid),
        pairs=_pairs(laid),
        groups=group_differences(laid),
        warnings=laid.warnings,
    )


def _score(laid: RunsBeside, place: int) -> RunScore:
    values = laid.values[place]
    by_sample: dict[str, list[float]] = {}
    for line in laid.common:
        by_sample.setdefault(line.id, []).append(values[line.key])
    means = [total(part) / len(part) for part in by_sample.values()]
    low, high = interval(means) or (None, None)
    found = [values[line.key] for line in laid.common]
    score = total(found) / len(found) if found else None
    return RunScore(laid.names[place], score, low, high, len(values) - len(found))


def _cochran(laid: RunsBeside) -> tuple[float, int, float] | None:
    rows = [[values[line.key] for values in laid.values] for line in laid.common]
    once = len({line.id for line in laid.common}) == len(rows)
    if not rows or not once or any(value not in (0.0, 1.0) for row in rows for value in row):
        return None
    return cochran(rows)


def _pairs(laid: RunsBeside) -> tuple[PairDifference, ...]:
    places = list(combinations(range(len(laid.runs)), 2))
    found = [paired(laid.common, laid.pairs(*pair)) for pair in places]
    exact = [one.p for one in found if one.p is not None]
    corrected = holm(exact) if len(exact) == len(found) else [None] * len(found)
    return tuple(
        PairDifference(**asdict(one), first=pair[0], second=pair[1], holm=p)
        for pair, one, p in zip(places, found, corrected, strict=True)
    )


def to_dict(found: SeveralRuns) -> dict[str, Any]:
    """The comparison as plain values: what `mmscore compare --json` prints of three or more."""
    names = [score.name for score in found.scores]
    q = found.cochran
    return {
        "schema_version": SCHEMA,
        "metric": found.metric,
        "names": names,
        "num": found.num,
        "scores": [
            {
                "name": one.name,
                "score": one.score,
                "low": one.low,
                "high": one.high,
                "left_out": one.left_out,
            }
            for one in found.scores
        ],
        "cochran": {"q": q[0], "degrees_of_freedom": q[1], "p": q[2]} if q else None,
        "pairs": [
            {
                "first": names[pair.first],
                "second": names[pair.second],
                "difference": difference_json(pair),
                "gained": pair.gained,
                "lost": pair.lost,
                "mcnemar_p": pair.p,
                "holm_p": pair.holm,
            }
            for pair in found.pairs
        ],
        "groups": {
            name: [group_json(row, "value") for row in rows] for name, rows in found.groups.items()
        },
        "warnings": list(found.warnings),
    }


def to_json(found: SeveralRuns) -> str:
    """The comparison as versioned JSON; scores are fractions 0..1, unrounded."""
    import json

    return json.dumps(to_dict(found), ensure_ascii=False, indent=2) + "\n"


def to_text(found: SeveralRuns, style: Style = Style()) -> str:  # noqa: B008 - frozen
    """The comparison for a terminal."""
    lines = [_scores(found, style.columns), ""]
    lines += [part for line in _told(found) for part in wrapped(line, style.columns, 0)]
    text = "\n".join([*lines, "", _pair_table(found, style.columns)])
    return text if style.boxes else plain(text)


def _scores(found: SeveralRuns, columns: int) -> str:
    label = clean(metric_labels([found.metric])[found.metric])
    head = ["Run", "Model", label, "95% CI", "Left out"]
    cells = [
        [
            _letter(place),
            clean(one.name),
            percent(one.score),
            span(one.low, one.high),
            str(one.left_out),
        ]
        for place, one in enumerate(found.scores)
    ]
    return fitted_box(head, cells, frozenset(("Left out",)), columns, dropped=["Left out"])


def _told(found: SeveralRuns) -> Iterator[str]:
    yield f"Samples      {number(found.num)} scored in all"
    if found.cochran:
        q, freedom, p = found.cochran
        yield f"Cochran's Q  {q:.2f}, {freedom} degrees of freedom, p = {probability(p)}"
    for warning in found.warnings:
        yield f"Warning      {clean(warning)}"
    if not found.num:
        yield "Warning      no sample was scored in all runs"


def _pair_table(found: SeveralRuns, columns: int) -> str:
    head = ["Pair", "Points", "95% CI", "Gained", "Lost", "McNemar p", "Holm p"]
    cells = [
        [
            f"{_letter(pair.second)} − {_letter(pair.first)}",
            MISSING if pair.difference is None else f"{pair.difference * 100:+.1f}",
            _span(pair.interval),
            str(pair.gained),
            str(pair.lost),
            MISSING if pair.p is None else probability(pair.p),
            MISSING if pair.holm is None else probability(pair.holm),
        ]
        for pair in found.pairs
    ]
    dropped = ["Gained", "Lost", "McNemar p"]
    return fitted_box(head, cells, frozenset(head[1:]), columns, dropped=dropped)


def _letter(place: int) -> str:
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place] if place < 26 else str(place + 1)


def _span(pair: tuple[float, float] | None) -> str:
    return MISSING if pair is None else f"{pair[0] * 100:+.1f} to {pair[1] * 100:+.1f}"
