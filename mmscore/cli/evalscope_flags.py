"""The flags of `mmscore eval`: EvalScope's, by their names and in their forms."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmscore.config.evalscope import json_mapping, key_values
from mmscore.config.task import load_mapping
from mmscore.constants import EvalBackend
from mmscore.errors import ConfigError

TEXT = {
    "model": "NAME",
    "api_url": "URL",
    "api_key": "KEY",
    "eval_type": "TYPE",
    "dataset_dir": "DIR",
    "dataset_hub": "HUB",
    "use_cache": "RUN_DIR",
    "work_dir": "DIR",
    "eval_backend": "NAME",
    "eval_config": "FILE|JSON",
    "model_id": "NAME",
    # What follows is read so that the error can name it.
    "model_task": "",
    "chat_template": "",
    "sandbox_type": "",
}
"""Task field -> how its value is called."""

MAPPINGS = ("dataset_args", "judge", "judge_model_args", "agent_config", "sandbox")
"""Task fields given as JSON."""

PAIRS = ("generation_config", "model_args")
"""Task fields given as JSON or as `key=value,key=value`."""

HELP = {
    "model": "the name the endpoint knows",
    "api_url": "or MMSCORE_API_URL, OPENAI_BASE_URL",
    "api_key": "better: MMSCORE_API_KEY",
    "eval_type": "openai_api, as all models are asked",
    "datasets": "benchmarks: see `mmscore list`",
    "dataset_args": "per benchmark: local_path, subset_list ...",
    "dataset_dir": "a folder of data sets by name or hub id",
    "dataset_hub": "modelscope, huggingface or local",
    "limit": "samples a subset, or a share below 1",
    "repeats": "ask each sample K times",
    "generation_config": "JSON, or key=value,key=value",
    "eval_batch_size": "requests in flight",
    "timeout": "seconds a request",
    "stream": "ask for a stream",
    "seed": "nothing is drawn at random here",
    "ignore_errors": "no failed sample ends a run here",
    "judge": "a judge's configuration as JSON",
    "use_cache": "go on with an earlier run",
    "rerun_review": "score kept replies anew",
    "work_dir": "where run folders are made (outputs)",
    "no_timestamp": "write into that folder itself",
    "eval_backend": f"{EvalBackend.VLM_EVAL_KIT}, with --eval-config",
    "eval_config": "its configuration",
    "dry_run": "show the first requests, send none",
}
"""Task field -> what the help says; a flag without a row is read but not shown."""

GROUPS = {
    "endpoint": ("model", "api_url", "api_key", "eval_type"),
    "data": ("datasets", "dataset_args", "dataset_dir", "dataset_hub", "limit", "repeats"),
    "asking and scoring": (
        *("generation_config", "eval_batch_size", "timeout", "stream", "seed", "ignore_errors"),
        "judge",
    ),
    "run folder": ("use_cache", "rerun_review", "work_dir", "no_timestamp", "dry_run"),
    "another backend": ("eval_backend", "eval_config"),
}

NUMBERS: Mapping[str, type] = {
    "limit": float,
    "timeout": float,
    "repeats": int,
    "eval_batch_size": int,
    "seed": int,
    "judge_worker_num": int,
}

SWITCHES = ("stream", "ignore_errors", "rerun_review", "no_timestamp", "dry_run")
NOT_SHOWN = (
    *("model_id", "model_task", "chat_template", "sandbox_type", "judge_model_args"),
    *("agent_config", "sandbox", "model_args", "judge_strategy", "judge_worker_num"),
    *("enable_progress_tracker", "analysis_report", "use_sandbox"),
)


def add_flags(command: argparse.ArgumentParser) -> None:
    """Add EvalScope's flags to a command."""
    for title, names in GROUPS.items():
        group = command.add_argument_group(title)
        for name in names:
            _add(group, name, HELP[name])
    for name in NOT_SHOWN:
        _add(command, name, argparse.SUPPRESS)
    command.add_argument(
        "--collect-perf", action=argparse.BooleanOptionalAction, help=argparse.SUPPRESS
    )


def _add(group: Any, name: str, words: str) -> None:
    flag = "--" + name.replace("_", "-")
    if name == "datasets":
        group.add_argument(flag, nargs="+", metavar="NAME", help=words)
    elif name in SWITCHES or name in ("enable_progress_tracker", "analysis_report", "use_sandbox"):
        group.add_argument(flag, action="store_true", default=None, help=words)
    elif name in NUMBERS:
        group.add_argument(flag, type=NUMBERS[name], metavar="N", help=words)
    else:
        metavar = TEXT.get(name) or ("JSON" if name in MAPPINGS else "OPTIONS")
        group.add_argument(flag, metavar=metavar, help=words)


def eval_values(arguments: argparse.Namespace) -> dict[str, Any]:
    """The task fields that EvalScope's flags set.

    Raises:
        ConfigError: A flag holds no JSON, or other JSON than a mapping.
    """
    names = {name for group in GROUPS.values() for name in group} | {*NOT_SHOWN, "collect_perf"}
    given = {name: getattr(arguments, name) for name in names}
    values = {name: value for name, value in given.items() if value is not None and value != ""}
    for name in MAPPINGS:
        if name in values:
            values[name] = json_mapping(values[name], "--" + name.replace("_", "-"))
    for name in PAIRS:
        if name in values:
            values[name] = key_values(values[name], "--" + name.replace("_", "-"))
    if isinstance(values.get("limit"), float) and values["limit"].is_integer():
        # As EvalScope reads it: 1 and 1.0 are one sample, 0 is no limit.
        values["limit"] = int(values["limit"]) or None
    if "eval_config" in values:
        values = _with_eval_config(values)
    return values


def _with_eval_config(values: dict[str, Any]) -> dict[str, Any]:
    """The fields with the configuration read; a whole task file is taken apart."""
    text = values["eval_config"]
    is_json = text.lstrip().startswith("{")
    config = json_mapping(text, "--eval-config") if is_json else load_mapping(Path(text))
    if "eval_config" in config:
        return {**config, **values, "eval_config": config["eval_config"]}
    if "eval_backend" not in values:
        raise ConfigError(
            "--eval-config is given without --eval-backend",
            hint=f"--eval-backend {EvalBackend.VLM_EVAL_KIT} says whose it is",
        )
    return {**values, "eval_config": config}
