"""VLMEvalKit's configurations, as EvalScope's VLMEvalKit backend takes them.

`eval_backend: VLMEvalKit` with `eval_config: {model, data, ...}` becomes a task over `tsv_mcq` and
`tsv_vqa`. A data set is a table by its name in VLMEvalKit's data folder; one with options in the
columns `A` and `B` is a set of multiple-choice questions, any other of open ones.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmscore.config.mappings import from_json
from mmscore.config.task import TaskConfig, load_mapping
from mmscore.constants import EvalBackend
from mmscore.dataset.rows import read
from mmscore.error_text import nearest_hint, shown, what
from mmscore.errors import ConfigError, DataError
from mmscore.store.run_folder import RUN, read_run

MODEL = "CustomAPIModel"
"""The one model class of VLMEvalKit that asks an endpoint which the configuration names."""

MODEL_FIELDS = {
    "type": "model",
    "api_base": "api_url",
    "key": "api_key",
    "timeout": "timeout",
    "retry": "retries",
    "stream": "stream",
}
"""Key of a model -> task field."""

SAMPLING = frozenset({"temperature", "max_tokens", "top_p", "top_k", "repetition_penalty", "seed"})
"""Keys of a model that go into the request body."""

FIELDS = {"limit": "limit", "work_dir": "work_dir", "nproc": "eval_batch_size"}
"""Key of the configuration -> task field."""

HARMLESS: Mapping[str, tuple[object, ...]] = {
    "mode": ("all",),
    "judge": ("exact_matching", "rule"),
    "verbose": (True, False),
    "ignore": (True, False),
    "rerun": (False,),
    "retry": (3,),
}
"""Keys of the configuration that can have these values only."""

HARMLESS_OF_MODEL: Mapping[str, tuple[object, ...]] = {
    "name": (MODEL,),
    "img_size": (-1,),
    "img_detail": (),
    "verbose": (True, False),
    "video_llm": (False,),
}
"""Keys of a model that can have these values only."""


def translated(task: TaskConfig) -> TaskConfig:
    """The task in mmscore's words; any task but VLMEvalKit's is left as it is.

    Raises:
        ConfigError: The configuration asks for what mmscore does not do; it is named.
        DataError: A data set's table is not there.
    """
    if task.eval_backend != EvalBackend.VLM_EVAL_KIT:
        if task.eval_config is not None:
            raise ConfigError(
                "`eval_config` is given without `eval_backend`",
                hint=f"`eval_backend: {EvalBackend.VLM_EVAL_KIT}` says whose it is",
            )
        return task
    config = _mapping(task.eval_config)
    known = {"model", "data", "reuse", *FIELDS, *HARMLESS}
    _check("eval_config", config, known, HARMLESS)
    changes = {FIELDS[key]: config[key] for key in FIELDS if config.get(key) is not None}
    changes.update(_model(config.get("model"), task))
    changes.update(_data(config.get("data"), changes.pop("system_prompt", None)))
    told = replace(task, eval_backend=None, eval_config=None, **changes)
    return _reusing(told) if config.get("reuse") else told


def data_folder() -> Path:
    """VLMEvalKit's data folder: the variable `LMUData`, if it names a folder, else `~/LMUData`."""
    given = os.environ.get("LMUData")  # noqa: SIM112 - VLMEvalKit's own spelling
    return Path(given) if given and Path(given).exists() else Path("~/LMUData").expanduser()


def _mapping(config: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if isinstance(config, str):
        text = config.lstrip().startswith("{")
        return from_json(config, "`eval_config`") if text else load_mapping(Path(config))
    if not isinstance(config, Mapping):
        raise ConfigError(f"`eval_config` is {what(config)}, expected a mapping")
    return config


def _check(
    place: str,
    values: Mapping[str, Any],
    known: set[str],
    harmless: Mapping[str, tuple[object, ...]],
) -> None:
    for key, value in values.items():
        if key not in known:
            raise ConfigError(
                f"`{place}` has an unknown key `{key}`", hint=nearest_hint(key, known)
            )
        if key in harmless and value is not None and value not in harmless[key]:
            only = " or ".join(repr(one) for one in harmless[key]) or "no value"
            raise ConfigError(f"`{place}.{key}` is {shown(value)}, only {only} is supported")


def _model(models: object, task: TaskConfig) -> dict[str, Any]:
    """The task fields that the one model sets."""
    models = models if isinstance(models, list) else [models]
    if len(models) != 1:
        raise ConfigError(
            f"`eval_config.model` names {len(models)} models, expected one",
            hint="run one configuration for each",
        )
    (model,) = models
    if not isinstance(model, Mapping) or model.get("name") != MODEL:
        name = model.get("name") if isinstance(model, Mapping) else model
        raise ConfigError(
            f"`eval_config.model` is {shown(name)}, which VLMEvalKit itself would load",
            hint=f"an endpoint is `name: {MODEL}` with `type`, `api_base` and `key`",
        )
    known = {"system_prompt", *MODEL_FIELDS, *SAMPLING, *HARMLESS_OF_MODEL}
    _check("eval_config.model", model, known, HARMLESS_OF_MODEL)
    changes = {field: model[key] for key, field in MODEL_FIELDS.items() if model.get(key)}
    sampling = {key: model[key] for key in model if key in SAMPLING and model[key] is not None}
    changes["generation_config"] = {**sampling, **task.generation_config}
    if model.get("system_prompt"):
        changes["system_prompt"] = model["system_prompt"]
    return changes


def _data(given: object, system: str | None) -> dict[str, Any]:
    """The benchmarks and their arguments that the names of data sets mean."""
    names: list[Any] = given if isinstance(given, list) else [given]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ConfigError("`eval_config.data` names no data set")
    folder = data_folder()
    tables: dict[str, list[str]] = {}
    for name in names:
        tables.setdefault(_benchmark_of(folder, name), []).append(name)
    arguments: dict[str, dict[str, Any]] = {}
    for benchmark, found in tables.items():
        arguments[benchmark] = {"local_path": str(folder), "subset_list": found}
        if len(found) == 1:
            arguments[benchmark]["local_path"] = str(folder / f"{found[0]}.tsv")
        if system is not None:
            arguments[benchmark]["system_prompt"] = system
    return {"datasets": list(tables), "dataset_args": arguments}


def _benchmark_of(folder: Path, name: str) -> str:
    path = folder / f"{name}.tsv"
    if Path(name).name != name:
        raise ConfigError(f"`eval_config.data` is {shown(name)}, expected a name without a path")
    if not path.is_file():
        there = sorted(file.stem for file in folder.glob("*.tsv"))
        raise DataError(
            f"no data set `{name}`: there is no `{path}`",
            hint=nearest_hint(name, there) if there else f"put {name}.tsv into {folder}",
        )
    first = next(read(path, late={"image"}))
    return "tsv_mcq" if "A" in first and "B" in first else "tsv_vqa"


def _reusing(task: TaskConfig) -> TaskConfig:
    """The task going on with the latest run of it in its folder of runs, if there is one."""
    if len(task.datasets) != 1:
        raise ConfigError(
            "`eval_config.reuse` goes on with one kind of data at a time, found tables of "
            "multiple-choice and of open questions",
            hint="run one configuration for each",
        )
    runs = sorted(Path(task.work_dir).glob(f"*/{RUN}"), key=lambda path: path.stat().st_mtime)
    for path in reversed(runs):
        info = read_run(path.parent)
        if (info.model, info.benchmark.name) == (task.model, task.datasets[0]):
            return replace(task, resume=str(path.parent))
    return task
