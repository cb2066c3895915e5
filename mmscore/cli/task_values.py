"""From the command line's flags and the environment to the fields of a task, by the table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmscore.config import mappings, options
from mmscore.config.kinds import Kind
from mmscore.config.option import Option
from mmscore.config.task import load_mapping
from mmscore.constants import EvalBackend, EvalType
from mmscore.error_text import what
from mmscore.errors import ConfigError


def task_values(
    arguments: argparse.Namespace, before: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, Any]:
    """The task fields that a command's flags set.

    Args:
        arguments: What the command line said.
        before: The fields of a task file or an earlier run: flags are laid over them.
        environment: The process's variables: they say what neither flag nor `before` says.

    Raises:
        ConfigError: A flag's value is wrong, or two flags do not fit.
    """
    values = dict(before)
    if getattr(arguments, "benchmarks", None):
        values["datasets"] = list(arguments.benchmarks)
    typed = [row for row in options.of_command(arguments.command) if row.place]
    typed.sort(key=lambda row: row.place.count("."))  # a whole mapping before what lies in it
    for row in typed:
        value = flag_value(arguments, row)
        if value is not None:
            values = _put(values, row, value, row.takes(arguments.command))
    if arguments.command == "eval":
        if "eval_config" in values:
            values = _with_eval_config(values)
        elif values.get("eval_backend") != EvalBackend.VLM_EVAL_KIT:
            values.setdefault("eval_type", EvalType.OPENAI_API)
            values = _with_default_subsets(values)
    return {**_said_by(environment, arguments.command, values), **values}


def judge_values(
    arguments: argparse.Namespace, before: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """The judge that flags describe, laid over an earlier one; None where no flag speaks of it.

    Raises:
        ConfigError: --judge is no JSON object, or flags speak of a judge that nobody names.
    """
    rows = [row for row in options.of_command(arguments.command) if row.place.startswith("judge")]
    if all(flag_value(arguments, row) is None for row in rows):
        return None
    judge: dict[str, Any] = task_values(arguments, {"judge": before}, {})["judge"]
    return judge


def filter_values(arguments: argparse.Namespace) -> list[dict[str, Any]] | None:
    """The `filters` that flags give, in their order; None without any.

    Raises:
        ConfigError: An argument in JSON is broken.
    """
    filters: list[dict[str, Any]] | None = flag_value(
        arguments, options.inside("dataset_args.*")["filters"]
    )
    return filters


def flag_value(arguments: argparse.Namespace, row: Option) -> Any:
    """What a flag says, as a task file would hold it; None where it was not typed.

    Raises:
        ConfigError: It is no such value.
    """
    flag = row.takes(arguments.command)
    typed = getattr(arguments, destination(flag), None)
    if typed is None or (arguments.command == "eval" and typed == ""):
        return None
    kind = form_of(row, arguments.command)
    value = kind.read(typed, flag)
    if isinstance(value, list) and row.place == "model":
        return [kind.check(one, flag) for one in value]
    return kind.check(value, flag)


def destination(flag: str) -> str:
    """The name by which argparse keeps a flag's value."""
    return flag.lstrip("-").replace("-", "_")


def form_of(row: Option, command: str) -> Kind:
    """How a command writes an option's value: `eval` as EvalScope does."""
    return (row.kind.evalscope if command == "eval" else None) or row.kind


def _put(values: dict[str, Any], row: Option, value: Any, flag: str) -> dict[str, Any]:
    """The fields with one more set, at the row's place."""
    if row.place == "model" and isinstance(value, list):
        return {**values, "services": [{"model": name} for name in value]}
    if row.place.startswith("judge.models.*."):
        return {**values, "judge": _with_judge_model(values.get("judge"), row.key, value, flag)}
    whole, each, inner = row.place.partition(".*.")
    if not each:
        return _laid_in(values, whole.split("."), value, row.kind.merges, "the task")
    held = _mapping(values.get(whole), whole)
    for name in values.get("datasets") or ():
        place = f"{whole}.{name}"
        held[name] = _laid_in(held.get(name), inner.split("."), value, row.kind.merges, place)
    return {**values, whole: held} if held else values


def _laid_in(
    held: object, way: Sequence[str], value: Any, merges: bool, place: str
) -> dict[str, Any]:
    """A copy of a mapping with a value set at the end of a way of keys."""
    found = _mapping(held, place)
    key, *rest = way
    if rest:
        found[key] = _laid_in(found.get(key), rest, value, merges, f"{place}.{key}")
    else:
        found[key] = {**_mapping(found.get(key), key), **value} if merges else value
    return found


def _mapping(held: object, place: str) -> dict[str, Any]:
    if held is not None and not isinstance(held, Mapping):
        raise ConfigError(f"`{place}` is {what(held)}, expected a mapping")
    return dict(held or {})


def _with_judge_model(held: object, key: str, value: Any, flag: str) -> dict[str, Any]:
    """The judge with one more thing said of its model, or of each of its models."""
    judge = _mapping(held, "judge")
    if key == "model_id":
        if "strategy" not in judge:
            raise ConfigError(
                "--judge-model without --judge-strategy",
                hint="llm judges every reply, llm_recall those that the rule failed",
            )
        return {**judge, "models": [{"model_id": value}]}
    models = judge.get("models")
    if not models:
        raise ConfigError(f"{flag} without --judge-model")
    entries = models if isinstance(models, list) else [models]
    return {**judge, "models": [{**_mapping(one, "judge.models"), key: value} for one in entries]}


def _said_by(
    environment: Mapping[str, str], command: str, said: Mapping[str, Any]
) -> dict[str, Any]:
    """The task fields that variables alone say; `late` ones are read where they are needed."""
    found = {}
    for name, row in options.fields().items():
        if row.late or name in said or not (row.takes(command) or command in ("run", "eval")):
            continue
        variable = next((one for one in row.env if environment.get(one)), None)
        if variable:
            try:
                value = row.kind.parse(environment[variable])
            except ValueError as error:
                raise ConfigError(f"the variable `{variable}`: {error}") from None
            found[name] = row.kind.check(value, f"the variable `{variable}`")
    return found


OWN_SETS = ("general_vqa", "general_vmcq")
"""The benchmarks of EvalScope that take a data file alone."""


def _with_default_subsets(values: dict[str, Any]) -> dict[str, Any]:
    """The fields with the subset that a data file alone is to EvalScope, `default`, said."""
    args = _mapping(values.get("dataset_args"), "dataset_args")
    for name in OWN_SETS:
        held = args.get(name)
        place = held.get("local_path") if isinstance(held, Mapping) else None
        if held and isinstance(place, str) and Path(place).is_file():
            args[name] = {"subset_list": ["default"], **held}
    return {**values, "dataset_args": args} if args else values


def _with_eval_config(values: dict[str, Any]) -> dict[str, Any]:
    """The fields with the configuration read; a whole task file is taken apart."""
    text = values["eval_config"]
    is_json = text.lstrip().startswith("{")
    config = mappings.from_json(text, "--eval-config") if is_json else load_mapping(Path(text))
    if "eval_config" in config:
        return {**config, **values, "eval_config": config["eval_config"]}
    if "eval_backend" not in values:
        raise ConfigError(
            "--eval-config is given without --eval-backend",
            hint=f"--eval-backend {EvalBackend.VLM_EVAL_KIT} says whose it is",
        )
    return {**values, "eval_config": config}
