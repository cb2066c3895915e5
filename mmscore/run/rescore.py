"""A run scored again from its saved replies: no data set, no network, unless a judge is given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmscore.benchmarks.base import Benchmark
from mmscore.config.judge import JudgeConfig
from mmscore.config.task import DEFAULT_CONCURRENCY
from mmscore.disk import sha256_of, write_whole
from mmscore.report.result import Result, reported
from mmscore.run.record import sample_of, score_of
from mmscore.run.restored import benchmark_of, restored
from mmscore.scoring import reply_filters
from mmscore.store.info import BenchmarkInfo, RunInfo
from mmscore.store.journal import (
    JUDGEMENTS,
    PREDICTIONS,
    SCORES,
    AppendFile,
    encode,
)
from mmscore.store.reader import LastRecords
from mmscore.store.records import Key, Prediction
from mmscore.store.run_folder import read_run, write_run
from mmscore.store.texts import TextFile
from mmscore.version import versions

if TYPE_CHECKING:
    from mmscore.scoring.judge.panel import JudgePanel

AHEAD = 64
"""Replies for each worker that may be judged before the slowest of them is."""


def rescore(
    folder: Path,
    judge: Mapping[str, Any] | None = None,
    keep: Sequence[Mapping[str, Any]] | None = None,
    *,
    benchmark: str | None = None,
    group_by: Sequence[str] = (),
    concurrency: int | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> Result:
    """Score every saved reply of a run anew, write its scores and its report.

    Args:
        folder: The run's folder.
        judge: As in a task: asks these judges about the saved replies, each verdict once. None
            keeps the verdicts that were given and asks nobody.
        keep: Filters, as in a task, instead of those of the run; None keeps these.
        benchmark: The file of a benchmark of the user's own, which is not run unasked.
        group_by: Facts to break the report down by, besides those of the run.
        concurrency: Judge requests in flight; those of the run by default.
        notice: Who hears a sentence worth reading.

    Raises:
        ConfigError: The judge or a filter is wrong, or the benchmark's file must be named.
        DataError: The folder holds no run.
        EndpointError: A judge does not answer.
        StorageError: The folder cannot be written, or another process is writing it.
    """
    info = read_run(folder)
    restored(info)  # tells what is odd in its configuration
    found = benchmark_of(info, folder, benchmark)
    if keep is not None:
        info = _filtered(info, found, keep)
    filters = _arguments(info, found).get("filters")
    workers = concurrency or info.config.get("eval_batch_size") or DEFAULT_CONCURRENCY
    groups = tuple(dict.fromkeys((*info.benchmark.groups, *group_by)))
    info = replace(
        info,
        benchmark=replace(_described(info.benchmark, found), groups=groups),
        fingerprints=replace(
            info.fingerprints, scorer=reply_filters.scorer_id(found.scorer, filters)
        ),
        versions=versions(),
        judge=None,
    )
    with ExitStack() as open_things:
        # A run that is still writing would go on into the file that is about to be replaced.
        open_things.enter_context(closing(AppendFile(folder / PREDICTIONS, notice)))
        judges, at_once = None, False
        if judge is not None or info.config.get("judge"):
            info, judges, at_once = _panel(info, found, folder, judge, open_things, notice, workers)
        score = partial(_scored, found, reply_filters.build(filters), judges)
        lines = _lines(folder, score, workers if at_once else 0, judges)
        write_whole(folder / SCORES, lines)
    write_run(folder, info)
    return reported(folder)


def _described(before: BenchmarkInfo, benchmark: Benchmark) -> BenchmarkInfo:
    """What the run keeps of its benchmark, as it is now."""
    file = benchmark.file
    return replace(
        before,
        metrics=benchmark.metrics,
        file=str(file) if file else None,
        file_sha256=sha256_of(file) if file else None,
    )


def _arguments(info: RunInfo, benchmark: Benchmark) -> Mapping[str, Any]:
    """What the run's task said of its benchmark."""
    found: Mapping[str, Any] = (info.config.get("dataset_args") or {}).get(benchmark.name) or {}
    return found


def _filtered(info: RunInfo, benchmark: Benchmark, keep: Sequence[Mapping[str, Any]]) -> RunInfo:
    """The run with other filters."""
    arguments = {**_arguments(info, benchmark), "filters": [*keep]}
    every = {**(info.config.get("dataset_args") or {}), benchmark.name: arguments}
    return replace(info, config={**info.config, "dataset_args": every})


def _panel(
    info: RunInfo,
    benchmark: Benchmark,
    folder: Path,
    judge: Mapping[str, Any] | None,
    open_things: ExitStack,
    notice: Callable[[str], None],
    workers: int,
) -> tuple[RunInfo, JudgePanel | None, bool]:
    """The run with its judges, these, and whether they are asked now."""
    from mmscore.scoring.judge import panel  # late: with a judge comes the network
    from mmscore.scoring.judge.ask import resolved

    wanted = JudgeConfig.from_dict(info.config.get("judge") or {})
    file = None
    if judge is not None:
        wanted = resolved(JudgeConfig.from_dict(judge))
        info = replace(info, config={**info.config, "judge": panel.described(wanted)})
        if wanted.asks:
            file = AppendFile(folder / JUDGEMENTS, notice)
            open_things.enter_context(closing(file))
    metrics = panel.metrics_with(wanted, benchmark.metrics)
    info = replace(
        info,
        benchmark=replace(info.benchmark, metrics=metrics),
        judge=panel.info_of(wanted),
    )
    judges = panel.panel_of(wanted, benchmark.metrics, folder, file, notice, workers)
    if judges is not None:
        open_things.enter_context(closing(judges))
    return info, judges, file is not None


def _scored(
    benchmark: Benchmark,
    keep: Callable[[str], str],
    judges: JudgePanel | None,
    prediction: Prediction,
) -> bytes:
    sample = sample_of(prediction)
    score = score_of(benchmark, sample, prediction.repeat, prediction.reply, keep, judges)
    return encode(score)


def _lines(
    folder: Path,
    score: Callable[[Prediction], bytes],
    workers: int,
    judges: JudgePanel | None,
) -> Iterator[bytes]:
    """The score lines of all replies, in the order in which their samples first ended."""
    texts = TextFile(folder)
    path = folder / PREDICTIONS
    replies = LastRecords(path, Prediction, lambda one: one.replied, then=texts.restore)
    with closing(replies):
        if workers:
            yield from _at_once(score, replies, workers, judges)
        else:
            yield from map(score, replies.values())


def _at_once(
    score: Callable[[Prediction], bytes],
    replies: LastRecords[Prediction],
    workers: int,
    judges: JudgePanel | None,
) -> Iterator[bytes]:
    """The lines in order, judged by several workers; verdicts outlive an interruption."""
    from concurrent.futures import Future, ThreadPoolExecutor

    def one(key: Key) -> bytes:
        return score(replies[key])

    pool = ThreadPoolExecutor(workers)
    ahead: deque[Future[bytes]] = deque()
    try:
        for key in replies:
            ahead.append(pool.submit(one, key))
            if len(ahead) > AHEAD * workers:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        if judges is not None:
            judges.stop(abort=True)
        raise
    finally:
        pool.shutdown()
