"""EvalScope's names for what is to be run: what they mean here, and which of them mean nothing.

A task written for EvalScope 1.14.1 runs here unchanged, or ends in an error that names what cannot
be honoured: a setting that is dropped in silence changes a score in silence.
"""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Mapping
from typing import Any

from mmscore.constants import EvalBackend, EvalType, HubType
from mmscore.error_text import nearest_hint, shown, what
from mmscore.errors import ConfigError

EVAL_TYPES = (
    *(EvalType.OPENAI_API, "server", "service"),
    *(EvalType.OPENAI_RESPONSES_API, EvalType.ANTHROPIC_API),
)
BACKENDS = (EvalBackend.NATIVE, EvalBackend.VLM_EVAL_KIT)
HUBS = (HubType.MODELSCOPE, HubType.HUGGINGFACE, HubType.LOCAL)

NOT_SUPPORTED: Mapping[str, tuple[tuple[object, ...], str]] = {
    "model_args": (({}, None), "mmscore asks an endpoint and loads no model"),
    "model_task": (("text_generation", None), "mmscore asks for text"),
    "chat_template": ((None,), "the endpoint applies its own template"),
    "agent_config": (({}, None), "mmscore runs no agents"),
    "sandbox": (({}, None, {"enabled": False}), "mmscore runs no code of a model"),
    "use_sandbox": ((False, None), "mmscore runs no code of a model"),
    "sandbox_type": (("docker", None), "mmscore runs no code of a model"),
    "sandbox_manager_config": (({}, None), "mmscore runs no code of a model"),
    "analysis_report": ((False, None), "`mmscore report` writes the report, with no model's words"),
    "enable_progress_tracker": ((False, None), "`--progress json` tells how far a run is"),
    "judge_worker_num": ((None,), "judges are asked `eval_batch_size` at a time"),
    "evalscope_version": ((), ""),
}
"""Task field -> the values that ask for nothing, and why any other is refused."""

ANY_VALUE = frozenset({"evalscope_version"})
"""Fields that EvalScope writes into its own configurations and that say nothing to run."""

DATASET_ARGUMENTS: Mapping[str, type | tuple[type, ...]] = {
    "local_path": str,
    "dataset_id": str,
    "subset_list": (list, tuple),
    "prompt_template": str,
    "system_prompt": str,
    "filters": (dict, list),
    "metric_list": (list, tuple),
    "max_image_bytes": (int, str),
    "extra_params": dict,
    "eval_split": str,
}
"""Key of a benchmark's `dataset_args` -> what it holds; None is the same as leaving it out."""

FIXED_ARGUMENTS: Mapping[str, tuple[object, ...]] = {
    "few_shot_num": (0,),
    "few_shot_random": (False,),
    "few_shot_prompt_template": ("",),
    "train_split": ("",),
    "shuffle": (False,),
    "shuffle_choices": (False,),
    "aggregation": ("mean",),
    "force_redownload": (False,),
    "review_timeout": (),
    "query_template": ("",),
}
"""Keys that EvalScope knows and that can have these values only."""

GENERATION_NAMES = {"stop_seqs": "stop"}
"""Generation options that have another name in a request."""

NOT_GENERATED = ("extra_headers", "extra_query", "response_schema")
"""Generation options of EvalScope that are no fields of a request's body."""


def without_unsupported(values: Mapping[str, Any]) -> dict[str, Any]:
    """The task fields without those that ask for nothing.

    Raises:
        ConfigError: One asks for what mmscore does not do.
    """
    for name, value in values.items():
        if name in NOT_SUPPORTED and name not in ANY_VALUE:
            harmless, reason = NOT_SUPPORTED[name]
            if value not in harmless:
                raise ConfigError(
                    f"`{name}` is {shown(value)}, which is not supported: {reason}",
                    hint=f"leave `{name}` out",
                )
    return {name: value for name, value in values.items() if name not in NOT_SUPPORTED}


def check_word(name: str, value: str | None, known: tuple[str, ...], reason: str) -> None:
    """Stop on a field with a value that it cannot have.

    Raises:
        ConfigError: It names those it can have.
    """
    if value is not None and value not in known:
        words = " or ".join(f"`{word}`" for word in known)
        raise ConfigError(
            f"`{name}` is {shown(value)}, which is not supported: {reason}",
            hint=f"expected {words}",
        )


def generation_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The generation options by their names in a request; what is None is left out.

    Raises:
        ConfigError: One is no field of a request's body.
    """
    for name in NOT_GENERATED:
        if options.get(name):
            raise ConfigError(
                f"`generation_config.{name}` is not supported",
                hint="`extra_body` goes into the request body as it is",
            )
    return {
        GENERATION_NAMES.get(name, name): value
        for name, value in options.items()
        if value is not None
    }


def check_dataset_arguments(benchmark: str, arguments: object) -> None:
    """Stop on arguments of a benchmark that are not known or not of their type.

    Raises:
        ConfigError: One is unknown (the nearest is named), of another type, or has a value that is
            not supported.
    """
    place = f"dataset_args.{benchmark}"
    if not isinstance(arguments, Mapping):
        raise ConfigError(f"`{place}` is {what(arguments)}, expected a mapping")
    for name, value in arguments.items():
        if value is None:
            continue
        if name in FIXED_ARGUMENTS:
            if value not in FIXED_ARGUMENTS[name]:
                only = " or ".join(repr(one) for one in FIXED_ARGUMENTS[name]) or "nothing"
                raise ConfigError(f"`{place}.{name}` is {shown(value)}, only {only} is supported")
        elif name not in DATASET_ARGUMENTS:
            hint = nearest_hint(str(name), DATASET_ARGUMENTS)
            raise ConfigError(f"`{place}` has an unknown key `{name}`", hint=hint)
        elif not isinstance(value, DATASET_ARGUMENTS[name]) or isinstance(value, bool):
            raise ConfigError(f"`{place}.{name}` is {what(value)}, expected {_kind(name)}")


def _kind(name: str) -> str:
    kinds = DATASET_ARGUMENTS[name]
    names = {str: "a string", int: "a number", dict: "a mapping", list: "a list"}
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    return " or ".join(names[kind] for kind in kinds if kind in names)


def key_values(text: str, flag: str) -> dict[str, Any]:
    """The mapping that a flag gives, as JSON or as EvalScope's `key=value,key=value`.

    Values are read as Python literals, `true` and `false` in any case too; all else is text.

    Raises:
        ConfigError: It is neither.
    """
    if text.lstrip().startswith("{"):
        return json_mapping(text, flag)
    values = {}
    for pair in text.strip().split(","):
        name, equals, value = (part.strip() for part in pair.partition("="))
        if not equals or not name:
            raise ConfigError(
                f"{flag} holds {shown(pair)}, expected key=value",
                hint=f'values with commas need JSON: {flag} \'{{"stop": ["a", "b"]}}\'',
            )
        values[name] = _literal(value)
    return values


def json_mapping(text: str, flag: str) -> dict[str, Any]:
    """The mapping that a flag gives as JSON.

    Raises:
        ConfigError: It is no JSON, or another value than a mapping.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{flag} holds broken JSON: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{flag} holds {what(value)}, expected a mapping in JSON")
    return value


def _literal(text: str) -> Any:
    words = {"true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text
