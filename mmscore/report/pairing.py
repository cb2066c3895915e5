"""Runs that answered the same questions, laid beside each other sample by sample."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mmscore.errors import DataError
from mmscore.report.statistics import clustered, difference_interval, mcnemar, mean, total
from mmscore.store.lines import MISSING, Line, metric_names
from mmscore.store.records import Key
from mmscore.store.run_folder import Run

Pairs = Mapping[Key, tuple[float, float]]
"""Sample -> its score in the first run and in the second."""


@dataclass(frozen=True, slots=True)
class Paired:
    """What two runs came to on the same samples.

    Attributes:
        scores: The mean of each; None where there are no samples.
        difference: Second minus first.
        interval: 95 % paired bootstrap interval of the difference.
        clustered: The interval that knows which samples show the same media; None where none do.
        gained: Better in the second run.
        lost: Worse in the second run.
        both: Fully right in both.
        neither: Not fully right in either, and equal.
        p: McNemar's exact two-sided p; None where a score is neither 0 nor 1, or samples repeat.
    """

    scores: tuple[float | None, float | None]
    difference: float | None
    interval: tuple[float, float] | None
    clustered: tuple[float, float] | None
    gained: int
    lost: int
    both: int
    neither: int
    p: float | None


def paired(lines: Sequence[Line], pairs: Pairs) -> Paired:
    """What the scores of two runs say together.

    Args:
        lines: The samples, of either run.
        pairs: Their scores in both.
    """
    values = [pairs[line.key] for line in lines]
    gained = sum(after > before for before, after in values)
    lost = sum(after < before for before, after in values)
    both = sum(pair == (1.0, 1.0) for pair in values)
    proportions = all(value in (0.0, 1.0) for pair in values for value in pair)
    differences, clusters = _by_sample(lines, pairs)
    return Paired(
        scores=(mean([before for before, _ in values]), mean([after for _, after in values])),
        difference=mean([after - before for before, after in values]),
        interval=difference_interval(differences),
        clustered=clustered(differences, clusters) if len(set(clusters)) < len(clusters) else None,
        gained=gained,
        lost=lost,
        both=both,
        neither=len(values) - both - gained - lost,
        # Repeats are no independent coins.
        p=mcnemar(gained, lost) if proportions and len(differences) == len(values) else None,
    )


def _by_sample(lines: Sequence[Line], pairs: Pairs) -> tuple[list[float], list[Hashable]]:
    """One difference a sample, the mean over its repeats, and what the sample shows."""
    differences: dict[str, list[float]] = {}
    clusters: dict[str, Hashable] = {}
    for line in lines:
        before, after = pairs[line.key]
        differences.setdefault(line.id, []).append(after - before)
        clusters[line.id] = line.id if line.cluster is None else line.cluster
    return [total(part) / len(part) for part in differences.values()], list(clusters.values())


@dataclass(frozen=True, slots=True)
class RunsBeside:
    """Runs beside each other.

    Attributes:
        runs: The runs, the one that the others are compared against first.
        names: Their models, or their folders where models are the same; no two are alike.
        metric: What is compared.
        values: For each run: sample -> its score.
        common: The samples scored in all of them, in the order of the data set.
        warnings: What makes the comparison doubtful.
    """

    runs: tuple[Run, ...]
    names: tuple[str, ...]
    metric: str
    values: tuple[dict[Key, float], ...]
    common: tuple[Line, ...]
    warnings: tuple[str, ...]

    def pairs(self, first: int, second: int) -> Pairs:
        """The scores of two of the runs, of the samples scored in all."""
        before, after = self.values[first], self.values[second]
        return {line.key: (before[line.key], after[line.key]) for line in self.common}


def beside(runs: Sequence[Run], metric: str | None = None, force: bool = False) -> RunsBeside:
    """Lay runs beside each other.

    Samples that failed or were not asked in one of them are left out.

    Args:
        runs: Two or more.
        metric: What to compare; the first run's primary metric by default.
        force: Also runs over unlike data, by id.

    Raises:
        DataError: The runs are of unlike benchmarks or data, or a metric is not in all.
    """
    first, *others = runs
    warnings = [sentence for other in others for sentence in _alike(first, other, force)]
    lines = [_scored(run) for run in runs]
    metric = metric or _metric(first, lines)
    values = tuple(_values(found, metric, run) for found, run in zip(lines, runs, strict=True))
    return RunsBeside(
        runs=tuple(runs),
        names=_names(runs),
        metric=metric,
        values=values,
        common=tuple(
            line for key, line in lines[0].items() if all(key in found for found in values)
        ),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _names(runs: Sequence[Run]) -> tuple[str, ...]:
    """A name for each run, no two alike."""
    models = [str(run.info.model) for run in runs]
    if len(set(models)) < len(models):
        models = [run.directory.name for run in runs]
    times = Counter(models)
    return tuple(
        f"{name} ({number})" if times[name] > 1 else name for number, name in enumerate(models, 1)
    )


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """What a subset, category or group of samples came to in several runs.

    Attributes:
        name: The value that its samples share.
        num: Samples scored in all runs.
        scores: The mean of each run.
        paired: What two runs say together; None of more.
    """

    name: str
    num: int
    scores: tuple[float, ...]
    paired: Paired | None


def group_differences(laid: RunsBeside) -> dict[str, tuple[GroupDifference, ...]]:
    """`subset`, `category` and each group of the benchmark -> its values, the largest first."""
    benchmark = laid.runs[0].benchmark
    categories = benchmark.subsets
    kinds: dict[str, Callable[[Line], Iterable[str]]] = {"subset": lambda line: (line.subset,)}
    if any(categories.values()):
        kinds["category"] = lambda line: (categories.get(line.subset) or "default",)
    for place, name in enumerate(benchmark.groups):
        kinds[name] = partial(_labels, place)
    found = {}
    for kind, labels in kinds.items():
        parts: dict[str, list[Line]] = {}
        for line in laid.common:
            for label in labels(line):
                parts.setdefault(label, []).append(line)
        if any(label != MISSING for label in parts):
            rows = [_group(laid, label, lines) for label, lines in parts.items()]
            if kind != "subset":
                rows.sort(key=lambda row: (-row.num, row.name))
            found[kind] = tuple(rows)
    return found


def _labels(place: int, line: Line) -> Iterable[str]:
    return line.groups[place]


def _group(laid: RunsBeside, name: str, lines: Sequence[Line]) -> GroupDifference:
    columns = [[values[line.key] for line in lines] for values in laid.values]
    scores = tuple(total(column) / len(lines) for column in columns)
    both = paired(lines, laid.pairs(0, 1)) if len(columns) == 2 else None
    return GroupDifference(name, len(lines), scores, both)


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


def _metric(run: Run, lines: Sequence[Mapping[Key, Line]]) -> str:
    """The benchmark's first metric that all runs have, else any that all have."""
    found = [metric_names(one.values()) for one in lines]
    declared = [*run.benchmark.metrics, *found[0]]
    shared = next((name for name in declared if all(name in names for names in found)), None)
    if shared is None and all(found):
        names = [f"`{', '.join(names)}`" for names in found]
        raise DataError(
            f"the runs share no metric: {' and '.join(names)}",
            hint="score one of them again with the other's options: `mmscore score RUN_DIR`",
        )
    return shared or str(next(iter(declared), "score"))


def _values(lines: Mapping[Key, Line], metric: str, run: Run) -> dict[Key, float]:
    found = ((name, line.value(metric)) for name, line in lines.items())
    values = {name: value for name, value in found if value is not None}
    if not values and (names := run.metrics):
        raise DataError(f"`{run.directory}` has no metric `{metric}`, it has `{', '.join(names)}`")
    return values
