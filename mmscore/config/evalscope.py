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

GENERATION_NAMES = {"stop_seqs": "stop"}
"""Generation options that have another name in a request."""

NOT_GENERATED = ("extra_headers", "extra_query", "response_schema")
"""Generation options of EvalScope that are no fields of a request's body."""


def without_unsupported(values: Mapping[str, Any]) -> dict[str, Any]:
    """The task fields without those that ask for nothing.

    Raises:
        ConfigError: One asks for what mmscore does not do.
    """
    meaningless = options.meaningless()
    for name, value in values.items():
        if name in meaningless:
            _check_only(meaningless[name], value, f"`{name}`")
    return {name: value for name, value in values.items() if name not in meaningless}


def _check_only(row: Option, value: object, place: str) -> None:
    """Stop on a value that asks for what mmscore does not do."""
    if row.ignored or value is None or row.only is None or value in row.only:
        return
    if row.refused:
        raise ConfigError(
            f"{place} is {shown(value)}, which is not supported: {row.refused}",
            hint=f"leave `{row.key}` out",
        )
    only = " or ".join(repr(one) for one in row.only) or "nothing"
    raise ConfigError(f"{place} is {shown(value)}, only {only} is supported")


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
