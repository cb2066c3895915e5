"""Which samples of an earlier run are asked again: those that went wrong there, in some way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import get_args

from mmscore.error_text import nearest_hint
from mmscore.errors import ConfigError, DataError
from mmscore.store.lines import Line
from mmscore.store.run_folder import load
from mmscore.types import Status

WRONG_BELOW = 0.5
"""A reply whose primary score is lower went wrong; of a metric of 0 and 1, each that is not 1."""


def _is_wrong(line: Line, metric: str) -> bool:
    value = line.value(metric)
    return value is not None and value < WRONG_BELOW


def _is_unjudged(line: Line, metric: str) -> bool:
    score = line.score
    return score is not None and score.judged is not None and score.judged.error is not None


def _ended_as(status: str) -> Callable[[Line, str], bool]:
    return lambda line, _: line.status == status


KINDS: Mapping[str, Callable[[Line, str], bool]] = {
    "wrong": _is_wrong,
    "failed": lambda line, _: line.failed,
    "unjudged": _is_unjudged,
    **{name: _ended_as(name) for name in get_args(Status)},
}
"""What can be asked for -> whether a sample's line is so, given the primary metric."""


def check_kinds(kinds: Iterable[str]) -> None:
    """Stop on a kind that is none.

    Raises:
        ConfigError: It names the nearest.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise ConfigError(f"unknown status `{kind}`", hint=nearest_hint(kind, KINDS))


def ids_of(folder: Path, kinds: Iterable[str], benchmark: str) -> list[str]:
    """The ids of an earlier run's samples that are of one of the kinds, in its order.

    Args:
        folder: The run's folder.
        kinds: Names in `KINDS`.
        benchmark: What is asked now; the earlier run must be of it.

    Raises:
        ConfigError: A kind is unknown, or no sample is of any.
        DataError: The folder holds no run, or one of another benchmark.
    """
    wanted = list(kinds)
    check_kinds(wanted)
    run = load(folder)
    if run.info.benchmark.name != benchmark:
        raise DataError(
            f"`{folder}` holds a run of `{run.info.benchmark.name}`, expected one of `{benchmark}`"
        )
    metrics = run.info.benchmark.metrics
    primary = next((name for name in metrics if name in run.metrics), (*run.metrics, "")[0])
    found = dict.fromkeys(
        line.id for line in run.lines if any(KINDS[kind](line, primary) for kind in wanted)
    )
    if not found:
        raise ConfigError(f"no sample of `{folder}` is {' or '.join(wanted)}")
    return list(found)
