"""From the command line's flags to the fields of a task."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from mmscore.config.evalscope import json_mapping
from mmscore.errors import ConfigError

_DIRECT = {
    "model": "model",
    "api_url": "api_url",
    "api_key": "api_key",
    "limit": "limit",
    "concurrency": "eval_batch_size",
    "repeats": "repeats",
    "timeout": "timeout",
    "retries": "retries",
    "stream": "stream",
    "out": "out",
    "name": "name",
    "resume": "resume",
    "shard": "shard",
    "fresh": "fresh",
    "sample": "sample",
    "seed": "seed",
    "from_run": "from_run",
    "status": "from_status",
    "price": "price",
    "max_cost": "max_cost",
    "max_tokens_total": "max_tokens_total",
    "max_time": "max_time",
    "cache_replies": "cache_replies",
    "media_root": "media_root",
    "max_image_bytes": "max_image_bytes",
    "min_side": "min_side",
    "max_pixels": "max_pixels",
    "think": "think",
    "skip_bad_media": "skip_bad_media",
    "inline_urls": "inline_urls",
    "offline": "offline",
    "dry_run": "dry_run",
}
"""Flag -> the task field it sets."""

_PER_BENCHMARK = {
    "data": "local_path",
    "subset": "subset_list",
    "system": "system_prompt",
    "prompt_template": "prompt_template",
    "filter": "filters",
    "metrics": "metric_list",
    "extra": "extra_params",
}
"""Flag -> the key it sets in each benchmark's `dataset_args`."""

_EXTRA = {"strict": "strict", "multiple": "multiple", "template": "language", "split": "split"}
"""Flag -> the key it sets in each benchmark's `extra_params`."""


ENVIRONMENT = {
    "model": "MMSCORE_MODEL",
    "work_dir": "MMSCORE_WORK_DIR",
    "out": "MMSCORE_OUT",
    "shard": "MMSCORE_SHARD",
}
"""Task field -> the variable that says it where neither flag nor file does; a container is told so
what its command line leaves open. `endpoint` reads the address and the key."""


def task_values(arguments: argparse.Namespace, before: dict[str, Any]) -> dict[str, Any]:
    """The task fields that flags set, on top of those of a task file or an earlier run.

    Raises:
        ConfigError: A generation option or a template file is wrong.
    """
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    values = dict(before)
    values.update({field: given[flag] for flag, field in _DIRECT.items() if flag in given})
    if isinstance(given.get("model"), list):
        values.update(_models(given["model"]))
    if given.get("benchmarks"):
        values["datasets"] = given["benchmarks"]
    if given.get("generation"):
        before_it = values.get("generation_config") or {}
        values["generation_config"] = {**before_it, **_pairs(given["generation"], "--generation")}
    judge = judge_values(given, values.get("judge"))
    if judge is not None:
        values["judge"] = judge
    if "filter" in given:
        given["filter"] = filters_of(arguments)
    if "ids" in given:
        values["ids"] = _ids(given["ids"])
    if "prompt_template" in given:
        given["prompt_template"] = _template(given["prompt_template"])
    extra = {key: given[flag] for flag, key in _EXTRA.items() if flag in given}
    if "extra" in given or extra:
        given["extra"] = {**_pairs(given.get("extra", ()), "--extra"), **extra}
    args = _benchmark_arguments(given, values)
    if args:
        values["dataset_args"] = args
    said = {field: os.environ.get(variable) for field, variable in ENVIRONMENT.items()}
    return {**{field: value for field, value in said.items() if value}, **values}


def _ids(text: str) -> list[str]:
    """The ids that a flag gives: between commas, or one a line in a file."""
    from pathlib import Path

    path = Path(text).expanduser()
    try:
        if not path.is_file():
            return [one.strip() for one in text.split(",") if one.strip()]
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the ids in `{text}`: {error}") from None
    return [line.strip() for line in lines if line.strip()]


def _models(names: Sequence[str]) -> dict[str, Any]:
    """The task fields of one `--model`, or of several."""
    if len(names) == 1:
        return {"model": names[0]}
    return {"services": [{"model": name} for name in names]}


def _benchmark_arguments(
    given: Mapping[str, Any], values: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The `dataset_args` of a task with what flags say of each of its benchmarks."""
    args = {name: dict(value) for name, value in (values.get("dataset_args") or {}).items()}
    for name in values.get("datasets") or []:
        for flag, key in _PER_BENCHMARK.items():
            if flag in given:
                args.setdefault(name, {})[key] = given[flag]
    return args


def judge_values(given: Mapping[str, Any], before: Any) -> dict[str, Any] | None:
    """The `judge` field that flags set, on top of what a task file or an earlier run says.

    Returns:
        The mapping; None where no flag says anything of a judge.

    Raises:
        ConfigError: --judge is no JSON object, or flags speak of a judge that nobody names.
    """
    if not any(name.startswith("judge") for name in given):
        return None
    values = json_mapping(given["judge"], "--judge") if "judge" in given else dict(before or {})
    if "judge_strategy" in given:
        values["strategy"] = given["judge_strategy"]
    if "judge_model" in given:
        values["models"] = [{"model_id": given["judge_model"]}]
        if "strategy" not in values:
            raise ConfigError(
                "--judge-model without --judge-strategy",
                hint="llm judges every reply, llm_recall those that the rule failed",
            )
    for flag, key in (("judge_api_url", "api_url"), ("judge_api_key", "api_key")):
        if flag in given:
            models = values.get("models")
            if not models:
                raise ConfigError(f"--{flag.replace('_', '-')} without --judge-model")
            entries = [models] if isinstance(models, dict) else models
            values["models"] = [{**entry, key: given[flag]} for entry in entries]
    return values


def filters_of(arguments: argparse.Namespace) -> list[dict[str, Any]] | None:
    """The `filters` that flags give, in their order; None without any.

    Raises:
        ConfigError: An argument in JSON is broken.
    """
    if arguments.filter is None:
        return None
    return [dict([_filter(text)]) for text in arguments.filter]


def _filter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        return name, None
    return name, json_mapping(value, f"--filter {name}") if value.startswith("{") else value


def _pairs(texts: Sequence[str], flag: str) -> dict[str, Any]:
    """The mapping that a repeated flag gives: KEY=VALUE with a value in JSON or text, or JSON."""
    values: dict[str, Any] = {}
    for text in texts:
        if text.lstrip().startswith("{"):
            values.update(json_mapping(text, flag))
            continue
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise ConfigError(
                f"{flag} is `{text}`, expected KEY=VALUE or JSON",
                hint="such as --generation temperature=0" if flag == "--generation" else None,
            )
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
    return values


def _template(text: str) -> str:
    if not text.startswith("@"):
        return text
    from pathlib import Path

    try:
        return Path(text[1:]).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the template file `{text[1:]}`: {error}") from None
