"""What a task comes to for each of its benchmarks: data found, samples counted, options checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmscore import benchmarks
from mmscore.benchmarks.base import Benchmark, Options
from mmscore.config.evalscope import unsent_options
from mmscore.config.judge import JudgeConfig
from mmscore.config.kinds import is_automatic
from mmscore.config.task import TaskConfig
from mmscore.dataset.hub.hub_files import Files, locate
from mmscore.error_text import listed
from mmscore.errors import ConfigError
from mmscore.model.prompts import CHOICE_TEMPLATES, shows
from mmscore.model.request import media_of
from mmscore.plan.benchmark_options import chosen, data_place, extra_options, task_of
from mmscore.plan.earlier_run import ids_of
from mmscore.plan.events import SILENT, Events
from mmscore.plan.selection import ASKED, Selection, Wanted, select
from mmscore.plan.shard import shard_of
from mmscore.plan.survey import (
    HAS_FAULT,
    SHOWS,
    Survey,
    check_ids,
    check_subsets,
    check_survey,
    survey,
    weight,
)
from mmscore.scoring import reply_filters
from mmscore.scoring.judge.ask import resolved
from mmscore.types import Message, Sample, Source


@dataclass(frozen=True, slots=True)
class Plan:
    """One benchmark of a task, surveyed and ready to be asked.

    Attributes:
        task: The task, as it is for this benchmark.
        benchmark: What is asked.
        files: Its data.
        options: What the user changed about it.
        survey: What the data hold.
        selection: Which of the samples are asked.
        filter: What happens to a reply before it is read.
        judge: Who is asked about replies.
        kept: The samples as the survey met them; None where they were too many to be kept, so that
            they are read once more when they are asked.
    """

    task: TaskConfig
    benchmark: Benchmark
    files: Files
    options: Options
    survey: Survey
    selection: Selection
    filter: Callable[[str], str]
    judge: JudgeConfig
    kept: tuple[Sample, ...] | None = None

    def items(self) -> Iterator[tuple[int, Sample, int]]:
        """Yield index, sample and repeat of all that is asked, in the order of the data."""
        samples = self.kept
        if samples is not None:
            return self.selection.items(samples)
        return self.selection.items(_samples(self.benchmark, self.files, self.options))

    def samples(self) -> Iterator[Sample]:
        """The selected samples, each once."""
        return (sample for _, sample, repeat in self.items() if repeat == 0)

    def sources(self) -> Iterator[Source]:
        """Where the media of the selected samples lie, in the order they are asked."""
        for sample in self.samples():
            for medium in media_of(sample.messages):
                if medium.source is not None:
                    yield medium.source

    @property
    def planned(self) -> Mapping[str, int]:
        """Subset -> requests this run will hold."""
        return self.selection.planned


MOST_KEPT = 4096
"""Samples of a data set that is kept whole between survey and asking."""

MOST_KEPT_CHARACTERS = 16 * 1024 * 1024
"""Text and media inside the records of such a data set, in all."""


class _Keeper:
    """Keeps the samples that pass, as long as they are few and small."""

    def __init__(self) -> None:
        self._samples: list[Sample] | None = []
        self._characters = 0

    def passing(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Yield the samples on."""
        for sample in samples:
            if self._samples is not None:
                self._samples.append(sample)
                self._characters += weight(sample)
                if len(self._samples) > MOST_KEPT or self._characters > MOST_KEPT_CHARACTERS:
                    self._samples = None
            yield sample

    @property
    def kept(self) -> tuple[Sample, ...] | None:
        """All of them; None where they were too many."""
        return None if self._samples is None else tuple(self._samples)


def check_names(task: TaskConfig) -> None:
    """Stop on a task that names no benchmark, or one that there is not; nothing is read yet.

    Raises:
        ConfigError: It names the nearest.
    """
    if not task.datasets:
        raise ConfigError("no benchmark given", hint="name one, such as `mmscore run slake`")
    for name in task.datasets:
        if not benchmarks.is_file(name):
            benchmarks.find(name)


def plans(task: TaskConfig, events: Events = SILENT) -> Iterator[Plan]:
    """Yield the plan of each benchmark; all are checked before the first is asked."""
    check_names(task)
    for name in task.dataset_args.keys() - set(task.datasets):
        if not any(benchmarks.is_file(given) for given in task.datasets):
            benchmarks.find(name)  # arguments of another benchmark are fine, of none are a slip
    for name in task.datasets:
        yield plan(task, name, events)


def plan(task: TaskConfig, name: str, events: Events = SILENT) -> Plan:
    """The plan of one benchmark.

    Raises:
        ConfigError: The benchmark or one of its subsets is unknown, or no sample is selected.
        DataError: The data are missing, damaged or incomplete.
        HubError: The data cannot be fetched.
    """
    looked = look(task, name, events)
    check_survey(looked.survey, looked.files.name, skip_bad_media=task.skip_bad_media)
    told = unseen_media(looked)
    if told is not None:
        first = looked.survey.media_faults[0]
        events.notice(f"{told}; `mmscore check` lists them, the first is {first}")
    if not any(looked.planned.values()):
        total = len(looked.survey.order)
        chosen_by = " and ".join(
            f"`{field}` {value}"
            for field, value in (
                *(("limit", task.limit), ("sample", task.sample), ("shard", task.shard)),
            )
            if value is not None
        )
        raise ConfigError(
            f"0 of {total} samples of `{name}` are selected by {chosen_by}",
            hint="take a larger limit (a share is rounded down) or fewer shards",
        )
    return looked


def unseen_media(plan: Plan) -> str | None:
    """How many requests carry media, where some lack what their records name; None if none does."""
    if not plan.survey.media_faults:
        return None
    pairs = zip(plan.selection.marks, plan.survey.shows, strict=True)
    asked = [shows for mark, shows in pairs if mark == ASKED]
    repeats = plan.selection.repeats
    carry = repeats * sum(shows & SHOWS > 0 for shows in asked)
    lack = repeats * sum(shows & HAS_FAULT > 0 for shows in asked)
    if not lack:
        return None
    return (
        f"{carry} of {repeats * len(asked)} requests carry media: {lack} have media that nothing "
        "refers to, or placeholders without media"
    )


def look(
    task: TaskConfig,
    name: str,
    events: Events = SILENT,
    *,
    whole: bool = False,
    on_row: Callable[[Path, Mapping[str, Any]], None] | None = None,
) -> Plan:
    """The plan of one benchmark, whatever is wrong with its samples.

    Args:
        task: The task.
        name: The benchmark.
        events: Who wants to hear of progress.
        whole: Fetch archives whole instead of the members that are read.
        on_row: Hears of each row of the user's own files while they are surveyed.

    Raises:
        ConfigError: The benchmark or one of its subsets is unknown.
        DataError: The data are missing or damaged.
        HubError: They cannot be fetched.
    """
    benchmark, args = chosen(name, task.dataset_args)
    task = _with_shard(task_of(task, benchmark, args), events)
    if unsent := unsent_options(task.generation_config, task.eval_type):
        events.notice(
            f"not sent, as EvalScope does not send it: {listed(unsent)} of `generation_config`; "
            "`extra_body` is sent as it is"
        )
    keep = reply_filters.build(args.get("filters"))
    judge = resolved(JudgeConfig.from_dict(task.judge or {}))
    _check_template(args.get("prompt_template"))
    task = _with_ids(task, benchmark.name)
    wanted = _wanted(task, args)
    options = Options(
        subsets=tuple(args.get("subset_list") or ()),
        prompt_template=args.get("prompt_template"),
        system=args.get("system_prompt"),
        media_root=Path(task.media_root) if task.media_root else None,
        allow_paths=_allowed(task),
        extra=extra_options(benchmark, args),
        keep=tuple(task.keep),
        most=wanted.most,
        on_row=on_row,
    )
    if benchmark.subsets:
        check_subsets(options.subsets, benchmark.subsets, name)
    files = find_files(task, name, events, whole=whole)
    keeper = _Keeper()
    subsets = options.subsets or tuple(benchmark.subsets)
    found = survey(
        keeper.passing(_samples(benchmark, files, options)),
        seed=None if wanted.sample is None else wanted.seed,
        ids=wanted.ids,
        enough=wanted.enough(subsets),
    )
    if wanted.ids is not None:
        check_ids(found, wanted.ids, files.name)
    selection = select(found, wanted, subsets)
    options = replace(options, on_row=None)
    return Plan(task, benchmark, files, options, found, selection, keep, judge, keeper.kept)


def _with_ids(task: TaskConfig, benchmark: str) -> TaskConfig:
    """The task with the ids that an earlier run's samples have, where it names one."""
    if task.from_run is None:
        return task
    ids = ids_of(Path(task.from_run).expanduser(), task.from_status, benchmark)
    return replace(task, ids=ids, from_run=None)


def _wanted(task: TaskConfig, args: Mapping[str, Any]) -> Wanted:
    """Which samples a task asks for; EvalScope's `shuffle` makes of a limit a draw."""
    limit, sample = task.limit, task.sample
    if args.get("shuffle") and sample is None:
        limit, sample = None, limit
    return Wanted(
        limit=limit,
        sample=sample,
        seed=task.seed or 0,
        ids=None if task.ids is None else frozenset(task.ids),
        shard=task.shard,
        repeats=task.repeats,
    )


def _with_shard(task: TaskConfig, events: Events) -> TaskConfig:
    """The task with the shard that the engine says, where it is left to the engine."""
    if task.shard is None or not is_automatic(task.shard):
        return task
    found = shard_of(task.shard, os.environ)
    events.notice(found.told)
    return replace(task, shard=found.shard)


def _check_template(template: str | None) -> None:
    if template is not None and not shows(CHOICE_TEMPLATES.get(template, template), "question"):
        raise ConfigError(
            "the prompt template has no `{question}`, so it never shows what is asked",
            hint="write {question} where the question stands",
        )


def _allowed(task: TaskConfig) -> tuple[Path, ...]:
    """The folders whose media the data may name besides their own."""
    return tuple(Path(folder).expanduser() for folder in task.allow_path if folder)


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
        allow=_allowed(task),
        offline=task.offline,
        whole=whole,
        notice=events.notice,
        progress=events.fetching,
    )


def _samples(benchmark: Benchmark, files: Files, options: Options) -> Iterator[Sample]:
    for sample in benchmark.samples(files, options):
        # A record's own system message stays, as with the reference.
        if options.system is None or any(m.role == "system" for m in sample.messages):
            yield sample
        else:
            system = Message("system", options.system)
            yield replace(sample, messages=(system, *sample.messages))
