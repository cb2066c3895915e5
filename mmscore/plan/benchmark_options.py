"""What a task says of one of its benchmarks: its metrics, data, options, earlier run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmscore import benchmarks
from mmscore.benchmarks.base import Benchmark
from mmscore.config.task import TaskConfig
from mmscore.constants import HubType
from mmscore.error_text import nearest_hint, shown, what
from mmscore.errors import ConfigError, DataError
from mmscore.scoring.metrics import METRIC_GROUPS
from mmscore.store.run_folder import RUN, read_run
from mmscore.types import Sample


def chosen(
    name: str, dataset_args: Mapping[str, Mapping[str, Any]]
) -> tuple[Benchmark, dict[str, Any]]:
    """The benchmark of a name, with the metrics its arguments ask for; and those that say a thing.

    Raises:
        ConfigError: The benchmark or one of the metrics is unknown.
    """
    benchmark = benchmarks.find(name)
    given = (args for key, args in dataset_args.items() if _means(key, name, benchmark))
    args = {key: value for one in given for key, value in one.items() if _says(key, value)}
    return _measured(benchmark, args.get("metric_list")), args


def _says(key: str, value: object) -> bool:
    """Whether an argument says anything: an empty system prompt says that it is empty."""
    return bool(value) or (key == "system_prompt" and value == "")


def _means(key: str, name: str, benchmark: Benchmark) -> bool:
    """Whether arguments of that key are the benchmark's: a file may be named in several ways."""
    if key in (name, benchmark.name):
        return True
    return benchmark.file is not None and Path(key).expanduser().resolve() == benchmark.file


def _measured(benchmark: Benchmark, wanted: list[Any] | None) -> Benchmark:
    """The benchmark with some of its metrics, the first of them its primary one."""
    if not wanted:
        return benchmark
    if not isinstance(wanted, list):
        raise ConfigError(f"`metric_list` is {what(wanted)}, expected a list of names")
    metrics = tuple(_metrics(benchmark, wanted))

    def score(answer: str | None, sample: Sample) -> Mapping[str, float]:
        found = benchmark.score(answer, sample)
        return {metric: found[metric] for metric in metrics if metric in found}

    return replace(benchmark, metrics=metrics, score=score)


def _metrics(benchmark: Benchmark, wanted: list[Any]) -> list[str]:
    """The metrics that names mean, in any case: their own first, then those of a group's name.

    Those of groups (`Rouge`) are in the benchmark's order, so its primary metric stays first.

    Raises:
        ConfigError: The benchmark has no metric of a name.
    """
    known = {metric.lower(): metric for metric in benchmark.metrics}
    named, grouped = [], set[str]()
    for one in wanted:
        name = str(one).lower()
        group = {*METRIC_GROUPS.get(name, ())} & {*benchmark.metrics}
        if name in known:
            named.append(known[name])
        elif group:
            grouped |= group
        else:
            raise ConfigError(
                f"`{benchmark.name}` has no metric {shown(one)}",
                hint=nearest_hint(str(one), benchmark.metrics),
            )
    return list(dict.fromkeys([*named, *(one for one in benchmark.metrics if one in grouped)]))


def extra_options(benchmark: Benchmark, args: Mapping[str, Any]) -> dict[str, Any]:
    """The options only this benchmark knows; EvalScope's `eval_split` is one of the user's sets.

    Raises:
        ConfigError: It has no such option, or the split of a published data set is to be another.
    """
    extra = dict(args.get("extra_params") or {})
    if "eval_split" in args:
        if benchmark.dataset is not None:
            raise ConfigError(f"`eval_split` of `{benchmark.name}` cannot be chosen")
        extra.setdefault("split", args["eval_split"])
    for name in extra:
        if name not in benchmark.extra:
            raise ConfigError(
                f"`{benchmark.name}` has no option `{name}`",
                hint=nearest_hint(str(name), benchmark.extra)
                if benchmark.extra
                else "sets of your own have options: general_vqa, general_vmcq, tsv_vqa",
            )
    return extra


def data_place(task: TaskConfig, benchmark: Benchmark, args: Mapping[str, Any]) -> str | None:
    """Where a benchmark's data are: as given, in `dataset_dir`, at the hub; None by default."""
    given = args.get("local_path")
    if given:
        return str(given)
    published = benchmark.dataset
    hub = "hf" if task.dataset_hub == HubType.HUGGINGFACE else "modelscope"
    named = args.get("dataset_id")
    if named:
        return str(named) if ":" in named or Path(named).exists() else f"{hub}:{named}"
    if task.dataset_dir:
        names = [published.modelscope, published.huggingface] if published else []
        for name in (*names, benchmark.name):
            if (folder := Path(task.dataset_dir).expanduser() / name).is_dir():
                return str(folder)
    if benchmark.file is not None:
        return str(benchmark.file.parent)
    return f"hf:{published.huggingface}" if published and hub == "hf" else None


def task_of(task: TaskConfig, benchmark: Benchmark, args: Mapping[str, Any]) -> TaskConfig:
    """The task as it is for one of its benchmarks."""
    changes: dict[str, Any] = {}
    if args.get("max_image_bytes"):
        changes["max_image_bytes"] = args["max_image_bytes"]
    if earlier := task.use_cache or task.resume:
        folder = earlier_folder(Path(earlier).expanduser(), benchmark.name)
        changes.update(resume=str(folder), use_cache=None)
    return replace(task, **changes)


def earlier_folder(folder: Path, benchmark: str) -> Path:
    """The run of a benchmark in a folder: the folder itself, or one inside it of its name.

    Raises:
        DataError: There is none; another tool's folder is named as such.
    """
    for place in (folder, folder / benchmark):
        if (place / RUN).is_file():
            name = read_run(place).benchmark.name
            if name == benchmark:
                return place
            raise DataError(f"`{place}` holds a run of `{name}`, expected one of `{benchmark}`")
    if (folder / "predictions").is_dir():
        raise DataError(
            f"`{folder}` is a run folder of EvalScope, which does not keep what each reply was "
            "asked; its replies can be scored, not gone on with",
            hint=f"mmscore score {benchmark} --replies {folder / 'predictions'}",
        )
    raise DataError(
        f"`{folder}` holds no run of `{benchmark}`", hint="give the folder of a run of mmscore"
    )
