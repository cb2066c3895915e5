"""A run scored again from its saved replies: no data set, no network, unless a judge is given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmscore.benchmarks.base import Benchmark
from mmscore.config.judge import JudgeConfig
from mmscore.config.task import DEFAULT_CONCURRENCY
from mmscore.plan.benchmark_options import asked
from mmscore.report.result import Result, reported
from mmscore.run.record import replied, reply_of, sample_of, score_record
from mmscore.scoring import reply_filters
from mmscore.store import journal
from mmscore.version import versions

if TYPE_CHECKING:
    from mmscore.scoring.judge.panel import Panel

AHEAD = 64
"""Replies for each worker that may be judged before the slowest of them is."""


def rescore(
    folder: Path,
    judge: Mapping[str, Any] | None = None,
    keep: Sequence[Mapping[str, Any]] | None = None,
    *,
    concurrency: int | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> Result:
    """Score every saved reply of a run anew, write its scores and its report.

    Args:
        folder: The run's folder.
        judge: As in a task: asks these judges about the saved replies, each verdict once. None
            keeps the verdicts that were given and asks nobody.
        keep: Filters, as in a task, instead of those of the run; None keeps these.
        concurrency: Judge requests in flight; those of the run by default.
        notice: Who hears a sentence worth reading.

    Raises:
        ConfigError: The judge or a filter is wrong.
        DataError: The folder holds no run.
        EndpointError: A judge does not answer.
        StorageError: The folder cannot be written, or another process is writing it.
    """
    record = journal.read_run(folder)
    config = record["config"]
    benchmark = asked(record)
    args = config.setdefault("dataset_args", {}).setdefault(benchmark.name, {})
    if keep is not None:
        args["filters"] = [*keep]
    workers = concurrency or config.get("eval_batch_size") or DEFAULT_CONCURRENCY
    record["benchmark"]["metrics"], record["judge"] = [*benchmark.metrics], None
    with ExitStack() as open_things:
        # A run that is still writing would go on into the file that is about to be replaced.
        predictions = journal.AppendFile(folder / journal.PREDICTIONS, notice)
        open_things.enter_context(closing(predictions))
        judges, at_once = None, False
        if judge is not None or config.get("judge"):
            judges, at_once = _panel(record, benchmark, folder, judge, open_things, notice, workers)
        score = partial(_scored, benchmark, reply_filters.build(args.get("filters")), judges)
        lines = _lines(folder, score, workers if at_once else 0, judges)
        journal.write_whole(folder / journal.SCORES, lines)
    record["fingerprints"]["scorer"] = reply_filters.scorer_id(
        benchmark.scorer, args.get("filters")
    )
    record["versions"] = versions()
    journal.write_json(folder / journal.RUN, record)
    return reported(folder)


def _panel(
    record: dict[str, Any],
    benchmark: Benchmark,
    folder: Path,
    judge: Mapping[str, Any] | None,
    open_things: ExitStack,
    notice: Callable[[str], None],
    workers: int,
) -> tuple[Panel | None, bool]:
    """The judges, noted in the run's record, and whether they are asked now."""
    from mmscore.scoring.judge import panel  # late: with a judge comes the network
    from mmscore.scoring.judge.ask import resolved

    config = record["config"]
    wanted = JudgeConfig.from_dict(config.get("judge") or {})
    file = None
    if judge is not None:
        wanted = resolved(JudgeConfig.from_dict(judge))
        config["judge"] = panel.described(wanted)
        if wanted.asks:
            file = journal.AppendFile(folder / panel.JUDGEMENTS, notice)
            open_things.enter_context(closing(file))
    record["benchmark"]["metrics"] = panel.metrics_with(wanted, benchmark.metrics)
    record["judge"] = panel.facts(wanted)
    judges = panel.panel_of(wanted, benchmark.metrics, folder, file, notice, workers)
    if judges is not None:
        open_things.enter_context(closing(judges))
    return judges, file is not None


def recorded_judge(folder: Path) -> dict[str, Any] | None:
    """The judge of a run as its folder keeps it, without its key.

    Raises:
        DataError: The folder holds no run.
    """
    judge: dict[str, Any] | None = journal.read_run(folder)["config"].get("judge")
    return judge


def _scored(
    benchmark: Benchmark,
    keep: Callable[[str], str],
    judges: Panel | None,
    prediction: Mapping[str, Any],
) -> bytes:
    sample, (_, repeat) = sample_of(prediction), journal.key(prediction)
    reply = reply_of(prediction)
    return journal.encode(score_record(benchmark, sample, repeat, reply, keep, judges))


def _lines(
    folder: Path,
    score: Callable[[Mapping[str, Any]], bytes],
    workers: int,
    judges: Panel | None,
) -> Iterator[bytes]:
    """The score lines of all replies, in the order in which their samples first ended."""
    path = folder / journal.PREDICTIONS
    with closing(journal.LastRecords(path, journal.key, replied)) as replies:
        if workers:
            yield from _at_once(score, replies, workers, judges)
        else:
            yield from map(score, replies.values())


def _at_once(
    score: Callable[[Mapping[str, Any]], bytes],
    replies: journal.LastRecords[journal.Key],
    workers: int,
    judges: Panel | None,
) -> Iterator[bytes]:
    """The lines in order, judged by several workers; verdicts outlive an interruption."""
    from concurrent.futures import Future, ThreadPoolExecutor

    def one(key: journal.Key) -> bytes:
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
