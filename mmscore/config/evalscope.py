"""EvalScope's names for what is to be run: what they mean here, and which of them mean nothing.

A task written for EvalScope 1.14.1 runs here unchanged, or ends in an error that names what cannot
be honoured: a setting that is dropped in silence changes a score in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmscore.config import options
from mmscore.config.option import Option
from mmscore.error_text import nearest_hint, shown, what
from mmscore.errors import ConfigError


def own_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The task fields by mmscore's names: older names translated, what asks for nothing left out.

    Raises:
        ConfigError: One is unknown (the nearest is named), or asks for what mmscore does not do.
    """
    meaningless = options.meaningless()
    for name, value in values.items():
        if name in meaningless:
            _check_only(meaningless[name], value, f"`{name}`")
        elif name not in options.fields():
            raise ConfigError(
                f"unknown task field `{name}`", hint=nearest_hint(str(name), options.fields())
            )
    own = {name: value for name, value in values.items() if name not in meaningless}
    judge = _older_judge(values)
    return own if judge is None else {**own, "judge": judge}


def _older_judge(values: Mapping[str, Any]) -> dict[str, Any] | None:
    """The judge as EvalScope's older names describe it; None where they say nothing.

    Raises:
        ConfigError: Both ways are used, or it asks for what there is no judge for.
    """
    older = {
        name: row.kind.check(values[name], f"`{name}`")
        for name, row in options.older_names().items()
        if values.get(name) is not None
    }
    if not older:
        return None
    if values.get("judge") is not None:
        raise ConfigError(
            f"`judge` and `{min(older)}` are both given",
            hint="leave the older one out: `judge` says it all",
        )
    model = dict(older.get("judge_model_args") or {})
    if "score_pattern" in model:
        raise ConfigError(
            "`judge_model_args.score_pattern` is not supported: a verdict is read as JSON",
            hint="`judge.contract.score_mapping` says what each verdict is worth",
        )
    contract = {key: model.pop(key) for key in _CONTRACT if key in model}
    strategy = older.get("judge_strategy", "auto")
    return {"strategy": strategy, "models": [model] if model else [], "contract": contract}


DEFAULT_TEMPERATURE = 0.0

_CONTRACT = ("system_prompt", "prompt_template", "score_mapping", "score_type")
"""Keys of `judge_model_args` that are no model's own."""


def _check_only(row: Option, value: object, place: str) -> None:
    """Stop on a value that asks for what mmscore does not do."""
    if row.ignored or value is None or row.only is None or value in row.only:
        return
    found = what(value) if row.secret else shown(value)
    raise ConfigError(
        f"{place} is {found}, which is not supported: {row.refused}",
        hint=f"leave `{row.key}` out",
    )


def sent_options(generation: Mapping[str, Any], eval_type: str | None) -> dict[str, Any]:
    """The generation options that are sent, by their names in a request.

    A task with an `eval_type` is one of EvalScope's, and only what EvalScope 1.14.1 sends is sent.
    It sends a temperature of 0.0 where no option is given at all; any other task sends it where
    none says a temperature. What is None is left out.
    """
    rows = options.inside("generation_config")
    names = {row.evalscope: key for key, row in rows.items() if row.evalscope}
    dropped = unsent_options(generation, eval_type)
    return {
        names.get(name, name): value
        for name, value in with_temperature(generation, eval_type).items()
        if value is not None and name not in dropped
    }


def with_temperature(generation: Mapping[str, Any], eval_type: str | None) -> dict[str, Any]:
    """The generation options with the temperature that goes out where nobody says one."""
    if "temperature" in generation or (eval_type and generation):
        return dict(generation)
    return {**generation, "temperature": DEFAULT_TEMPERATURE}


def unsent_options(generation: Mapping[str, Any], eval_type: str | None) -> list[str]:
    """The names of generation options that EvalScope would not send, in a task of EvalScope's."""
    if eval_type is None:
        return []
    names = {row.evalscope for row in options.inside("generation_config").values()}
    return [name for name, value in generation.items() if name not in names and value is not None]


def check_generation(generation: Mapping[str, Any]) -> None:
    """Stop on generation options that are not of their type, or that nothing can be made of.

    Raises:
        ConfigError: It names the option.
    """
    for name, row in options.inside("generation_config").items():
        if generation.get(name) is not None:
            row.kind.check(generation[name], f"`generation_config.{name}`")
    if generation.get("response_schema"):
        raise ConfigError(
            "`generation_config.response_schema` is not supported",
            hint="`extra_body` goes into the request body as it is, with `response_format` in it",
        )


def dataset_arguments(benchmark: str, arguments: object) -> dict[str, Any]:
    """The arguments of a benchmark, checked; None is the same as leaving one out.

    Raises:
        ConfigError: One is unknown (the nearest is named), of another type, or has a value that is
            not supported.
    """
    place = f"dataset_args.{benchmark}"
    if not isinstance(arguments, Mapping):
        raise ConfigError(f"`{place}` is {what(arguments)}, expected a mapping")
    rows = options.inside("dataset_args.*")
    found = {}
    for name, value in arguments.items():
        if name not in rows:
            hint = nearest_hint(str(name), [key for key, row in rows.items() if row.kept])
            raise ConfigError(f"`{place}` has an unknown key `{name}`", hint=hint)
        row = rows[name]
        if value is not None and row.kept:
            value = row.kind.check(value, f"`{place}.{name}`")
        _check_only(row, value, f"`{place}.{name}`")
        found[name] = value
    return found
