"""One task from start to report: `run_task` is what the command line calls too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmscore.config.price import price_of
from mmscore.config.task import TaskConfig
from mmscore.errors import BudgetError, ConfigError, DataError, StorageError
from mmscore.model.client import Client
from mmscore.model.endpoint import media_encoder, requests_of, service
from mmscore.plan import vlmevalkit
from mmscore.plan.events import SILENT, Events
from mmscore.plan.groups import check_groups
from mmscore.plan.plan import Plan, plans
from mmscore.report.result import Result, reported
from mmscore.run.budget import Budget, Limits
from mmscore.run.interrupts import counted
from mmscore.run.kept_replies import KeptReplies
from mmscore.run.loop import Earlier, RunJob, RunLoop
from mmscore.run.resume import asks_the_same, bring_in_line
from mmscore.run.run_info import now, run_info
from mmscore.run.services import each_service, result_name
from mmscore.scoring.judge import panel
from mmscore.store.info import RunInfo
from mmscore.store.journal import JUDGEMENTS, PREDICTIONS, REPLACED, SCORES, AppendFile, encode
from mmscore.store.reader import LastRecords, RecordReader
from mmscore.store.records import Key, Prediction, Score
from mmscore.store.run_folder import RUN, new_folder, read_run, use_folder, write_run
from mmscore.store.texts import TextFile

WARNINGS_TOLD = 5
"""How many warnings about records are told before the rest is counted."""


def run_task(
    task_cfg: TaskConfig | Mapping[str, Any] | str | os.PathLike[str],
    events: Events = SILENT,
) -> dict[str, Result]:
    """Run a task: each of its benchmarks from loading to report.

    Args:
        task_cfg: The task, a mapping with its fields, or the path of a task file.
        events: Who wants to hear of progress.

    Returns:
        Benchmark name -> its result, in the order asked for.

    Raises:
        ConfigError: The task is wrong.
        DataError: The data are.
        EndpointError: The model service cannot be used.
        StorageError: The run's folder cannot be written.
        KeyboardInterrupt: Stopped by the user; what was answered is kept and reported.
    """
    every = each_service(as_task(task_cfg))
    found = [plan for task in every for plan in plans(task, events)]
    return {result_name(plan, len(every)): ask(plan, events) for plan in found}


def as_task(task_cfg: TaskConfig | Mapping[str, Any] | str | os.PathLike[str]) -> TaskConfig:
    """The task, whichever way it was given."""
    if isinstance(task_cfg, Mapping):
        task_cfg = TaskConfig.from_dict(task_cfg)
    elif isinstance(task_cfg, str | os.PathLike):
        task_cfg = TaskConfig.from_file(task_cfg)
    if not isinstance(task_cfg, TaskConfig):
        raise ConfigError(
            f"a task is a TaskConfig, a mapping or a file, found {type(task_cfg).__name__}",
            hint="run several tasks one after another",
        )
    return vlmevalkit.translated(task_cfg)


def ask(plan: Plan, events: Events) -> Result:
    """Ask all samples of a plan and write the report, also when the run is cut short.

    Raises:
        ConfigError: No model or no endpoint is given.
        EndpointError: The model service cannot be used.
        StorageError: The run's folder cannot be written.
        KeyboardInterrupt: Stopped by the user.
    """
    with ExitStack() as until_reported:
        return _ask(plan, events, until_reported)


def _ask(plan: Plan, events: Events, until_reported: ExitStack) -> Result:
    client = Client(service(plan.task), events.notice)
    check_groups(plan)
    plan, folder = _placed(plan, events)
    with ExitStack() as open_things:
        open_things.enter_context(closing(client))
        open_things.enter_context(closing(plan.files))
        info = run_info(plan, client.place, folder)
        asking = _job(plan, client, folder, info, open_things, events)
        write_run(folder, info)
        events.start(plan.benchmark, info.planned, folder)
        for warning in plan.survey.warnings[:WARNINGS_TOLD]:
            events.notice(warning)
        if len(plan.survey.warnings) > WARNINGS_TOLD:
            events.notice(f"and {len(plan.survey.warnings) - WARNINGS_TOLD} more such warnings")
        if plan.judge.models and not plan.judge.asks:
            events.notice(f"no judge is asked: strategy `{plan.judge.strategy}` scores by rule")
        run = RunLoop(
            asking,
            plan.items(),
            sum(info.planned.values()),
            events.progress,
            events.notice,
        )
        stopped: BaseException | None = None
        try:
            if asking.judges is not None and not asking.earlier.predictions:
                asking.judges.ready()  # a dead judge is told before the model is asked
            plan.files.expect(plan.sources())
            run.run(until_reported.enter_context(counted()))
        except BaseException as error:
            stopped = error
    info = replace(
        info,
        seconds=round(info.seconds + run.progress.seconds, 3),
        finished=None if stopped else now(),
        stopped=(str(stopped) or type(stopped).__name__) if stopped else None,
        reused=info.reused + run.reused,
    )
    return _close(folder, info, stopped, events)


def _close(folder: Path, info: RunInfo, stopped: BaseException | None, events: Events) -> Result:
    """Write the run's record and report; what stopped the run is raised after that.

    A budget that is used up ends a run as it was meant to: its report is the result.
    """
    try:
        write_run(folder, info)
        result = reported(folder)
    except StorageError:
        if stopped is None:
            raise
    if isinstance(stopped, BudgetError):
        events.notice(f"{stopped.message}; {stopped.hint}")
    elif stopped is not None:
        stopped.add_note(f"run folder: {folder}")
        raise stopped
    return result


def _job(
    plan: Plan,
    client: Client,
    folder: Path,
    info: RunInfo,
    open_things: ExitStack,
    events: Events,
) -> RunJob:
    def journal_of(name: str) -> AppendFile:
        return open_things.enter_context(closing(AppendFile(folder / name, events.notice)))

    predictions, scores = journal_of(PREDICTIONS), journal_of(SCORES)
    said = journal_of(JUDGEMENTS) if plan.judge.asks else None
    judges = panel.panel_of(
        plan.judge, plan.benchmark.metrics, folder, said, events.notice, plan.task.eval_batch_size
    )
    if judges is not None:
        open_things.enter_context(closing(judges))
    media = media_encoder(plan.task, events.notice, data_host=plan.files.host)

    def drop_downloads() -> None:
        plan.files.close()
        media.stop()

    asking = RunJob(
        benchmark=plan.benchmark,
        client=client,
        requests=requests_of(plan.task, media),
        filter=plan.filter,
        predictions=predictions,
        scores=scores,
        texts=open_things.enter_context(closing(TextFile(folder, events.notice))),
        concurrency=plan.task.eval_batch_size,
        judges=judges,
        drop_downloads=drop_downloads,
        budget=_budget(plan.task),
        kept_replies=_kept_replies(plan.task, client),
    )
    if plan.task.resume and not asks_the_same(read_run(folder), info):
        _sort_replies(plan, asking, folder, events)
    earlier = _earlier(asking, open_things, events, rescore=plan.task.rerun_review)
    return replace(asking, earlier=earlier)


def _budget(task: TaskConfig) -> Budget | None:
    limits = Limits(task.max_tokens_total, task.max_cost, task.max_time)
    return None if limits == Limits() else Budget(limits, price_of(task.price, task.model))


def _kept_replies(task: TaskConfig, client: Client) -> KeptReplies | None:
    if task.cache_replies is None:
        return None
    return KeptReplies(Path(task.cache_replies).expanduser(), client.place)


def _sort_replies(plan: Plan, asking: RunJob, folder: Path, events: Events) -> None:
    """Move away what earlier replies do not belong to the run as it is now, and say so."""

    def asked(known: frozenset[Key]) -> Iterator[tuple[int, Key, str | None]]:
        for index, sample, repeat in plan.items():
            if (sample.id, repeat) in known and sample.problem is None:
                with suppress(DataError):  # told when the sample's turn comes
                    yield index, (sample.id, repeat), asking.requests.make(sample.messages)[0].hash

    moved = bring_in_line(folder, asking.predictions, asking.scores, asked)
    if moved.away:
        events.notice(
            f"{moved.away} earlier replies were to other requests (model, prompt, options, data or "
            f"selection changed); they do not count and are kept in {folder / REPLACED}"
        )
    if moved.back:
        events.notice(f"{moved.back} replies of {folder / REPLACED} count again")


def run_folder(plan: Plan) -> Path:
    """The folder of the run: the one to go on with, or a new one."""
    task = plan.task
    if task.resume:
        return Path(task.resume)
    own = _own_folder(plan)
    if own is not None:
        return use_folder(own)
    return new_folder(Path(task.work_dir), task.name or plan.benchmark.name)


def _placed(plan: Plan, events: Events) -> tuple[Plan, Path]:
    """The plan and the run's folder; one that holds this very run is gone on with.

    A shard that died and is scheduled again has the same command line, so it must not matter
    whether the folder is there.

    Raises:
        StorageError: The folder holds another run, or holds one and `fresh` is set.
        DataError: The run in it is damaged.
    """
    folder = _own_folder(plan)
    if folder is None or plan.task.fresh or not (folder / RUN).exists():
        return plan, run_folder(plan)
    going_on = replace(plan, task=replace(plan.task, resume=str(folder)))
    before, going = read_run(folder), run_info(going_on, None, folder)
    unlike = [
        what
        for what, alike in (
            ("benchmark", before.benchmark.name == plan.benchmark.name),
            ("model", before.model == going.model),
            ("shard", before.shard == going.shard),
            ("data", before.fingerprints.data == going.fingerprints.data),
            ("options", asks_the_same(before, going)),
        )
        if not alike
    ]
    if unlike:
        raise StorageError(
            f"`{folder}` already holds a run, of another {unlike[0]}",
            hint=f"let it go on changed: --resume {folder}; or give another folder with --out",
        )
    events.notice(f"`{folder}` holds this run: going on with it")
    return going_on, folder


def _own_folder(plan: Plan) -> Path | None:
    """The folder that the task names for its run; None where a new one is to be made."""
    task = plan.task
    own = task.out or (task.work_dir if task.no_timestamp else None)
    if not own or task.resume:
        return None
    return Path(own) / plan.benchmark.name if len(task.datasets) > 1 else Path(own)


def _earlier(job: RunJob, open_things: ExitStack, events: Events, *, rescore: bool) -> Earlier:
    predictions = LastRecords(job.predictions.path, Prediction, lambda one: one.replied)
    open_things.enter_context(closing(predictions))
    if rescore:
        return Earlier(predictions)
    damaged: list[str] = []
    scores = LastRecords(job.scores.path, Score, damaged=damaged.append)
    if damaged:
        events.notice(f"{len(damaged)} damaged scores are made anew, the first: {damaged[0]}")
        good = RecordReader(job.scores.path, Score, hold=False).placed(lambda _: None)
        job.scores.rewrite(encode(score) for _, score in good)
        scores = LastRecords(job.scores.path, Score)
    return Earlier(predictions, open_things.enter_context(closing(scores)))


__all__ = ["Events", "Result", "as_task", "ask", "run_folder", "run_task"]
