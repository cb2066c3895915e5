"""One task from start to report: `run_task` is what the command line calls too."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from mmscore import benchmarks, filters, journal, judging, vlmevalkit
from mmscore.arguments import chosen, data_place, extra_options, task_of
from mmscore.attach import Attacher
from mmscore.benchmarks.base import Benchmark, Options
from mmscore.client import Client, Service, completions_url, request_options
from mmscore.config import (
    DEFAULT_RETRIES,
    DEFAULT_TIMEOUT,
    TaskConfig,
    resolve_secret,
)
from mmscore.errors import ConfigError, StorageError
from mmscore.hub import Files, locate
from mmscore.judge import resolved
from mmscore.judge_config import JudgeConfig
from mmscore.media import ImageLimits
from mmscore.recording import replied
from mmscore.records import Sample, Source
from mmscore.result import Result, reported, versions
from mmscore.runner import Asking, Earlier, Progress, Run
from mmscore.survey import Selection, Survey, check_subsets, check_survey, select, survey
from mmscore.wire import build_request, media_of

WARNINGS_TOLD = 5
"""How many warnings about records are told before the rest is counted."""

NOT_STORED = frozenset({"api_key", "resume", "dry_run", "debug", "datasets", "out", "work_dir"}) | {
    *("use_cache", "rerun_review", "no_timestamp", "eval_config", "ignore_errors"),
}
"""Task fields that are no part of what a run measured, or are secret."""


@dataclass(frozen=True, slots=True)
class Events:
    """What the caller hears while a task runs; the library itself prints nothing.

    Attributes:
        start: Called with the benchmark, the planned counts and the run's folder.
        progress: Called after each sample, from any worker, one at a time.
        notice: Called with one sentence worth reading.
        fetching: Called while a file is fetched with its name, the bytes that are there, and the
            bytes it will have, where that is told.
    """

    start: Callable[[Benchmark, Mapping[str, int], Path], None] = lambda *_: None
    progress: Callable[[Progress], None] = lambda _: None
    notice: Callable[[str], None] = lambda _: None
    fetching: Callable[[str, int, int | None], None] = lambda *_: None


SILENT = Events()
"""Nobody listens."""


@dataclass(frozen=True, slots=True)
class Plan:
    """One benchmark of a task, surveyed and ready to be asked."""

    task: TaskConfig
    benchmark: Benchmark
    files: Files
    options: Options
    survey: Survey
    selection: Selection
    filter: Callable[[str], str]
    judge: JudgeConfig

    def samples(self) -> Iterator[Sample]:
        """All samples, with the user's system message in front."""
        return _samples(self.benchmark, self.files, self.options)

    def sources(self) -> Iterator[Source]:
        """Where the media of the selected samples lie, in the order they are asked."""
        for _, sample, _ in self.selection.items(self.samples()):
            for medium in media_of(sample.messages):
                if medium.source is not None:
                    yield medium.source

    @property
    def planned(self) -> dict[str, int]:
        """Subset -> requests this run will hold."""
        return self.selection.planned(self.samples())


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
    task = as_task(task_cfg)
    return {plan.benchmark.name: ask(plan, events) for plan in [*plans(task, events)]}


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


def plans(task: TaskConfig, events: Events = SILENT) -> Iterator[Plan]:
    """Yield the plan of each benchmark; all are checked before the first is asked."""
    if not task.datasets:
        raise ConfigError("no benchmark given", hint="name one, such as `mmscore run slake`")
    for name in task.dataset_args.keys() - set(task.datasets):
        if not any(benchmarks.is_file(given) for given in task.datasets):
            benchmarks.find(name)  # arguments of another benchmark are fine, of none are a slip
    for name in task.datasets:
        yield plan(task, name, events)


def plan(task: TaskConfig, name: str, events: Events = SILENT) -> Plan:
    """Return the plan of one benchmark.

    Raises:
        ConfigError: The benchmark or one of its subsets is unknown.
        DataError: The data are missing, damaged or incomplete.
        HubError: The data cannot be fetched.
    """
    looked = look(task, name, events)
    check_survey(looked.survey, looked.files.name, skip_bad_media=task.skip_bad_media)
    return looked


def look(task: TaskConfig, name: str, events: Events = SILENT, *, whole: bool = False) -> Plan:
    """Return the plan of one benchmark, whatever is wrong with its samples.

    Args:
        task: The task.
        name: The benchmark.
        events: Who wants to hear of progress.
        whole: Fetch archives whole instead of the members that are read.

    Raises:
        ConfigError: The benchmark or one of its subsets is unknown.
        DataError: The data are missing or damaged.
        HubError: They cannot be fetched.
    """
    benchmark, args = chosen(name, task.dataset_args)
    task = task_of(task, benchmark, args)
    keep = filters.build(args.get("filters"))
    judge = resolved(JudgeConfig.from_dict(task.judge or {}))
    options = Options(
        subsets=tuple(args.get("subset_list") or ()),
        prompt_template=args.get("prompt_template"),
        system=args.get("system_prompt"),
        media_root=Path(task.media_root) if task.media_root else None,
        extra=extra_options(benchmark, args),
    )
    if benchmark.subsets:
        check_subsets(options.subsets, benchmark.subsets, name)
    files = find_files(task, name, events, whole=whole)
    found = survey(_samples(benchmark, files, options))
    order = [*(options.subsets or benchmark.subsets), *found.counts]
    counts = {subset: found.counts[subset] for subset in order if subset in found.counts}
    selection = select(counts, task.limit, task.shard, task.repeats)
    return Plan(task, benchmark, files, options, found, selection, keep, judge)


def find_files(
    task: TaskConfig, name: str, events: Events = SILENT, *, whole: bool = False
) -> Files:
    """The files of a benchmark's data set; nothing is fetched yet.

    Raises:
        ConfigError: The benchmark, the hub or the data set's id is unknown.
        DataError: There is nothing at that place.
    """
    benchmark, args = chosen(name, task.dataset_args)
    return locate(
        data_place(task, benchmark, args),
        name,
        benchmark.dataset.ids if benchmark.dataset else {},
        offline=task.offline,
        whole=whole,
        notice=events.notice,
        progress=events.fetching,
    )


def _samples(benchmark: Benchmark, files: Files, options: Options) -> Iterator[Sample]:
    from mmscore.records import Message

    for sample in benchmark.samples(files, options):
        # A record's own system message stays, as with the reference.
        if options.system is None or any(m.role == "system" for m in sample.messages):
            yield sample
        else:
            system = Message("system", options.system)
            yield replace(sample, messages=(system, *sample.messages))


def ask(plan: Plan, events: Events) -> Result:
    """Ask all samples of a plan and write the report, also when the run is cut short.

    Raises:
        ConfigError: No model or no endpoint is given.
        EndpointError: The model service cannot be used.
        StorageError: The run's folder cannot be written.
        KeyboardInterrupt: Stopped by the user.
    """
    client = Client(service(plan.task))
    folder = run_folder(plan)
    with ExitStack() as open_things:
        open_things.enter_context(closing(client))
        open_things.enter_context(closing(plan.files))
        asking = _asking(plan, client, folder, open_things, events)
        record = run_record(plan, client.place, folder)
        journal.write_json(folder / journal.RUN, record)
        events.start(plan.benchmark, record["planned"], folder)
        for warning in plan.survey.warnings[:WARNINGS_TOLD]:
            events.notice(warning)
        if len(plan.survey.warnings) > WARNINGS_TOLD:
            events.notice(f"and {len(plan.survey.warnings) - WARNINGS_TOLD} more such warnings")
        if plan.judge.models and not plan.judge.asks:
            events.notice(f"no judge is asked: strategy `{plan.judge.strategy}` scores by rule")
        run = Run(
            asking,
            plan.selection.items(plan.samples()),
            sum(record["planned"].values()),
            events.progress,
            events.notice,
        )
        stopped: BaseException | None = None
        try:
            if asking.judges is not None and not asking.earlier.predictions:
                asking.judges.ready()  # a dead judge is told before the model is asked
            plan.files.expect(plan.sources())
            run.run()
        except BaseException as error:
            stopped = error
    record["seconds"] = round(record["seconds"] + run.progress.seconds, 3)
    record["finished"] = None if stopped else now()
    record["stopped"] = (str(stopped) or type(stopped).__name__) if stopped else None
    return _close(folder, record, stopped)


def _close(folder: Path, record: Mapping[str, Any], stopped: BaseException | None) -> Result:
    """Write the run's record and report; what stopped the run is raised after that."""
    try:
        journal.write_json(folder / journal.RUN, record)
        result = reported(folder)
    except StorageError:
        if stopped is None:
            raise
    if stopped is not None:
        stopped.add_note(f"run folder: {folder}")
        raise stopped
    return result


def _asking(
    plan: Plan, client: Client, folder: Path, open_things: ExitStack, events: Events
) -> Asking:
    def journal_of(name: str) -> journal.AppendFile:
        return open_things.enter_context(closing(journal.AppendFile(folder / name, events.notice)))

    predictions, scores = journal_of(journal.PREDICTIONS), journal_of(journal.SCORES)
    said = journal_of(judging.JUDGEMENTS) if plan.judge.asks else None
    judges = judging.panel_of(
        plan.judge, plan.benchmark, folder, said, events.notice, plan.task.eval_batch_size
    )
    if judges is not None:
        open_things.enter_context(closing(judges))
    return Asking(
        benchmark=plan.benchmark,
        client=client,
        options=body_options(plan.task),
        attach=attacher(plan.task).attach,
        filter=plan.filter,
        predictions=predictions,
        scores=scores,
        earlier=_earlier(folder, open_things, rescore=plan.task.rerun_review),
        concurrency=plan.task.eval_batch_size,
        judges=judges,
    )


def service(task: TaskConfig) -> Service:
    """The endpoint of a task.

    Raises:
        ConfigError: No model or no endpoint is given.
    """
    url = task.api_url or os.environ.get("MMSCORE_API_URL") or os.environ.get("OPENAI_BASE_URL")
    if not url:
        raise ConfigError("no endpoint given", hint="give --api-url or set MMSCORE_API_URL")
    if not task.model:
        raise ConfigError("no model given", hint="give the name the endpoint knows with --model")
    key = task.api_key or os.environ.get("MMSCORE_API_KEY") or os.environ.get("OPENAI_API_KEY")
    options = task.generation_config
    return Service(
        url=completions_url(url),
        model=task.model,
        api_key=resolve_secret(key),
        stream=bool(task.stream if task.stream is not None else options.get("stream", False)),
        timeout=float(task.timeout or options.get("timeout") or DEFAULT_TIMEOUT),
        retries=int(
            task.retries if task.retries is not None else options.get("retries", DEFAULT_RETRIES)
        ),
        think="reference" if task.think == "reference" else "strict",
    )


def body_options(task: TaskConfig) -> dict[str, Any]:
    """The generation options as they go into the request body."""
    return request_options(task.generation_config, stream=service(task).stream)


def preview(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield subset and body of the first request of each subset, media shortened."""
    attach = attacher(plan.task).attach
    shown: set[str] = set()
    for _, sample, _ in plan.selection.items(plan.samples()):
        if sample.subset in shown:
            continue
        shown.add(sample.subset)
        attachments = [attach(medium) for medium in media_of(sample.messages)]
        short = [
            replace(a, payload=a.payload[:48] + f"...({len(a.payload)} bytes)".encode())
            for a in attachments
        ]
        model = plan.task.model or ""
        request = build_request(model, sample.messages, short, body_options(plan.task))
        yield (
            sample.subset,
            json.dumps(json.loads(b"".join(request.body)), ensure_ascii=False, indent=2),
        )


def limits(task: TaskConfig) -> ImageLimits:
    """What images may measure, by the task."""
    size = task.max_image_bytes
    return ImageLimits(
        max_bytes=size if isinstance(size, int) else None,
        min_side=task.min_side,
        max_pixels=task.max_pixels,
    )


def attacher(task: TaskConfig) -> Attacher:
    """What turns a task's media into what is sent."""
    # DashScope takes sounds as data URIs only; the reference tells it by its address too.
    return Attacher(limits(task), audio_as_uri="dashscope" in (task.api_url or "").lower())


def run_folder(plan: Plan) -> Path:
    """The folder of the run: the one to go on with, or a new one."""
    task = plan.task
    if task.resume:
        folder = Path(task.resume)
        journal.read_json(folder / journal.RUN)
        return folder
    own = task.out or (task.work_dir if task.no_timestamp else None)
    if own:
        out = Path(own)
        return journal.use_folder(out / plan.benchmark.name if len(task.datasets) > 1 else out)
    return journal.new_folder(Path(task.work_dir), task.name or plan.benchmark.name)


def _earlier(folder: Path, open_things: ExitStack, *, rescore: bool) -> Earlier:
    predictions = journal.LastRecords(folder / journal.PREDICTIONS, journal.key, replied)
    open_things.enter_context(closing(predictions))
    if rescore:
        return Earlier(predictions)
    scores = journal.LastRecords(folder / journal.SCORES, journal.key)
    return Earlier(predictions, open_things.enter_context(closing(scores)))


def run_record(plan: Plan, place: str | None, folder: Path) -> dict[str, Any]:
    """What `run.json` says when a run begins; `place` is the endpoint's, None where there is none.

    Raises:
        DataError: The run to go on with is damaged.
    """
    task, benchmark = plan.task, plan.benchmark
    before = journal.read_json(folder / journal.RUN) if task.resume else {}
    return {
        "schema_version": 1,
        "benchmark": {
            "name": benchmark.name,
            "title": benchmark.title,
            "metrics": judging.metrics_with(plan.judge, benchmark.metrics),
            "subsets": dict(benchmark.subsets),
            "groups": list(benchmark.groups),
            **({"file": str(benchmark.file)} if benchmark.file else {}),
        },
        "model": task.model_id or task.model,
        "endpoint": place,
        "config": stored_config(task, plan.judge),
        "versions": versions(),
        "fingerprints": {
            "data": plan.files.fingerprint(),
            "prompt": _prompt_fingerprint(plan),
            "scorer": filters.scorer_id(
                benchmark.scorer, task.dataset_args.get(benchmark.name, {}).get("filters")
            ),
        },
        "planned": plan.planned,
        "repeats": task.repeats,
        "shard": task.shard,
        "started": before.get("started") or now(),
        "finished": None,
        "seconds": float(before.get("seconds") or 0.0),
        "stopped": "not finished",
        "judge": judging.facts(plan.judge),
    }


def stored_config(task: TaskConfig, judge: JudgeConfig) -> dict[str, Any]:
    """The task as a run keeps it: what was set, without secrets."""
    default = asdict(TaskConfig())
    values = {
        name: value
        for name, value in asdict(task).items()
        if name not in NOT_STORED and value != default[name]
    }
    if "judge" in values:
        values["judge"] = judging.described(judge)
    if "api_url" in values:
        parts = urlsplit(values["api_url"])
        values["api_url"] = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
    return values


def _prompt_fingerprint(plan: Plan) -> str:
    used = plan.options.prompt_template or dict(plan.benchmark.prompt)
    text = json.dumps([used, plan.options.system], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


__all__ = ["Events", "Plan", "Result", "TaskConfig", "ask", "plan", "plans", "run_task"]
