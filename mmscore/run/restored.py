"""What a run's folder may say of going on with it, or of judging it again.

A folder may come from a stranger. So it names no key, no header and no code, and no place to send
anything to, but for one: an address on this machine, where no key would go with it. Everything else
comes from the command line, the environment or a task file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mmscore import benchmarks
from mmscore.benchmarks.base import Benchmark
from mmscore.config import options
from mmscore.config.secrets import SECRET_OPTIONS, without_secret_options
from mmscore.config.task import TaskConfig
from mmscore.disk import sha256_of
from mmscore.errors import ConfigError, DataError
from mmscore.plan.benchmark_options import chosen
from mmscore.store.info import RunInfo
from mmscore.store.run_folder import RUN, read_run
from mmscore.web.urls import is_this_machine, parse_url

ASKED_AGAIN = ("media_root", "allow_path")
"""Task fields that open more of this machine to a data set: given again, or the run stops."""

_URLS = ("MMSCORE_API_URL", "OPENAI_BASE_URL")
_KEYS = ("MMSCORE_API_KEY", "OPENAI_API_KEY")
_JUDGE_URLS = ("MMSCORE_JUDGE_API_URL", "MODELSCOPE_API_BASE")
_JUDGE_KEYS = ("MMSCORE_JUDGE_API_KEY", "MODELSCOPE_SDK_TOKEN")


# --- which benchmark -----------------------------------------------------------------------------


def benchmark_name(info: RunInfo, folder: Path) -> str:
    """The name by which a run's benchmark is found; of a user's own, its file.

    A file counts only if it lies right in the folder the user stands in, and is the very one that
    the run was made with: it is code, and the run's folder may be a stranger's.

    Raises:
        ConfigError: The file is not to be run unasked.
    """
    name, file = info.benchmark.name, info.benchmark.file
    if file is None:
        if benchmarks.is_file(name):
            raise DataError(f"`{folder / RUN}` gives its benchmark the name of a file, `{name}`")
        return name
    path = Path(file)
    here = path.parent == Path.cwd().resolve() and path.is_file()
    if here and sha256_of(path) == info.benchmark.file_sha256:
        return file
    why = "it has changed since" if here else "it is not in this folder"
    raise ConfigError(
        f"the run in `{folder}` is of a benchmark of its own, `{file}`, which is not run unasked: "
        f"{why}",
        hint=f"look at it, then name it: mmscore run {file} --resume {folder}; or "
        f"mmscore score {folder} --benchmark {file}",
    )


def benchmark_of(info: RunInfo, folder: Path, named: str | None = None) -> Benchmark:
    """The benchmark of a run, with the metrics it was run with.

    Args:
        info: The run.
        folder: Its folder.
        named: The file of a user's own benchmark, as the user names it now.

    Raises:
        ConfigError: There is none of that name, its file is gone, or is not to be run unasked.
        DataError: The named file defines another benchmark.
    """
    arguments = info.config.get("dataset_args") or {}
    if named is None:
        return chosen(benchmark_name(info, folder), arguments)[0]
    found = chosen(named, arguments)[0]
    if found.name != info.benchmark.name:
        raise DataError(
            f"`{folder}` holds a run of `{info.benchmark.name}`, `{named}` defines `{found.name}`"
        )
    return found


# --- a task that goes on -------------------------------------------------------------------------


def restored(info: RunInfo) -> dict[str, Any]:
    """The task fields that a run's folder may give back: no address, key, header or budget.

    Raises:
        ConfigError: A field is unknown, of another type or out of range.
    """
    unstored = {name for name, row in options.fields().items() if not row.stored}
    left_out = {*unstored, *ASKED_AGAIN, "api_url"}
    values = {
        name: value
        for name, value in info.config.items()
        if name not in left_out and name not in SECRET_OPTIONS
    }
    if isinstance(generation := values.get("generation_config"), dict):
        values["generation_config"] = without_secret_options(generation)
    if isinstance(judge := values.get("judge"), dict):
        values["judge"] = _judge(judge)
    try:
        TaskConfig.from_dict(values)
    except ConfigError as error:
        raise ConfigError(f"the `config` of a {RUN} is odd: {error.message}") from None
    return values


def resumed(
    folder: Path,
    file: Mapping[str, Any],
    flags: Callable[[dict[str, Any]], dict[str, Any]],
    *,
    named: bool,
) -> dict[str, Any]:
    """The task fields of a run that goes on.

    Args:
        folder: The run's folder.
        file: What a task file says, which counts more than the folder.
        flags: Puts what the command line says on top, which counts most.
        named: Whether it names the benchmark.

    Raises:
        ConfigError: As `benchmark_name`, `restored` and `going_on`.
        DataError: The folder holds no run.
    """
    info = read_run(folder)
    known = {**restored(info), **file}
    if not named and not known.get("datasets"):
        known["datasets"] = [benchmark_name(info, folder)]
    return going_on(flags(known), info, folder)


def judge_again(
    folder: Path, flags: Callable[[dict[str, Any] | None], dict[str, Any] | None]
) -> dict[str, Any] | None:
    """The judge that is asked about a run's replies again; None where the command line asks nobody.

    Args:
        folder: The run's folder.
        flags: Puts what the command line says of a judge on top of the recorded one.

    Raises:
        ConfigError: As `restored` and `going_on`.
        DataError: The folder holds no run.
    """
    info = read_run(folder)
    judge = flags(restored(info).get("judge"))
    return None if judge is None else judge_going_on(judge, info, folder)


def _judge(judge: Mapping[str, Any]) -> dict[str, Any]:
    models = judge.get("models")
    entries = [models] if isinstance(models, dict) else models or []
    if not isinstance(entries, list):
        return dict(judge)
    return {
        **judge,
        "models": [
            {
                **{name: value for name, value in entry.items() if name not in _LEFT_OUT},
                "generation_config": without_secret_options(entry.get("generation_config") or {}),
            }
            for entry in entries
            if isinstance(entry, dict)
        ],
    }


_LEFT_OUT = SECRET_OPTIONS | {"api_url"}


def going_on(
    values: Mapping[str, Any],
    info: RunInfo,
    folder: Path,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """The task fields of a run that goes on, with the addresses that may be asked.

    An address that is given now counts. Where none is given, the environment's counts if it is the
    one that was asked before; and the folder's own if it is on this machine and no key is set.

    Args:
        values: What the command line and a task file say, on top of `restored`.
        info: The run.
        folder: Its folder.
        environ: The environment.

    Raises:
        ConfigError: An address is needed and only the folder names it, or the environment names
            another; or the run was made with more of this machine open than is given now.
    """
    found = dict(values)
    for name in ASKED_AGAIN:
        if info.config.get(name) and not found.get(name):
            flag = f"--{name.replace('_', '-')}"
            raise ConfigError(
                f"the run in `{folder}` was made with {flag}, which is not taken from a folder",
                hint=f"give it again: {flag} {info.config[name]}",
            )
    if not found.get("api_url"):
        keys = [found.get("api_key"), *map(environ.get, _KEYS)]
        before = _place(info.config.get("api_url")) or info.endpoint
        url = _allowed(
            info.config.get("api_url"), before, _first(environ, _URLS), keys, "--api-url", folder
        )
        if url is not None:
            found["api_url"] = url
    if isinstance(found.get("judge"), dict):
        found["judge"] = judge_going_on(found["judge"], info, folder, environ)
    return found


def judge_going_on(
    judge: Mapping[str, Any],
    info: RunInfo,
    folder: Path,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """The judge that is asked again, with the addresses that may be asked.

    Raises:
        ConfigError: As `going_on`.
    """
    models = judge.get("models") or []
    entries = [models] if isinstance(models, dict) else models
    if not isinstance(entries, list):
        return dict(judge)  # whoever reads it says what is wrong
    if judge.get("strategy") in (None, "rule", "auto"):
        return dict(judge)
    before = info.config.get("judge") or {}
    recorded = {
        entry.get("judge_id") or entry.get("model_id"): entry.get("api_url")
        for entry in before.get("models") or ()
        if isinstance(entry, dict)
    }
    return {**judge, "models": [_addressed(one, recorded, folder, environ) for one in entries]}


def _addressed(
    model: Any, recorded: Mapping[Any, Any], folder: Path, environ: Mapping[str, str]
) -> Any:
    if not isinstance(model, dict) or model.get("api_url"):
        return model
    name = model.get("judge_id") or model.get("model_id")
    if name not in recorded:
        return model
    url = recorded[name]
    keys = [model.get("api_key"), *map(environ.get, _JUDGE_KEYS)]
    now = _first(environ, _JUDGE_URLS)
    found = _allowed(url, _place(url), now, keys, "--judge-api-url", folder)
    return model if found is None else {**model, "api_url": found}


def _allowed(
    recorded: Any,
    before: str | None,
    now: str | None,
    keys: list[str | None],
    flag: str,
    folder: Path,
) -> str | None:
    """The recorded address where it may be asked; None where the environment's is, or none is.

    Args:
        recorded: The address in the run's folder.
        before: `host:port` that was asked before.
        now: The address in the environment.
        keys: The keys that are set; one that is would go with the request.
        flag: What names an address on the command line.
        folder: The run's folder.

    Raises:
        ConfigError: Nothing may be asked without the flag.
    """
    if now is not None:
        if before is None or _place(now) == before:
            return None
        raise ConfigError(
            f"the run in `{folder}` asked `{before}`, the environment names `{_place(now)}`",
            hint=f"name the one to ask: {flag} {now}",
        )
    if not isinstance(recorded, str) or not recorded:
        return None
    if is_this_machine(parse_url(recorded).host) and not any(keys):
        return recorded
    raise ConfigError(
        f"only the run's folder `{folder}` names the address `{before}`: nothing is sent there "
        "unasked",
        hint=f"name it: {flag} {recorded}",
    )


def _place(url: Any) -> str | None:
    """`host:port` of an address; None of none."""
    return parse_url(url).place if isinstance(url, str) and url else None


def _first(environ: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((environ[name] for name in names if environ.get(name)), None)
