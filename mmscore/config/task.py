"""One validated description of what to run, from flags, a dict, or a file.

Field names are EvalScope's where it has them, so a task written for it works here. A field nobody
knows is an error that names the nearest one: a typo must not silently change a score.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from mmscore.config import evalscope, options
from mmscore.config.judge import JudgeConfig
from mmscore.config.kinds import parse_shard
from mmscore.config.options import DEFAULT_CONCURRENCY, DEFAULT_RETRIES, DEFAULT_TIMEOUT
from mmscore.config.price import price_of
from mmscore.errors import ConfigError, MissingExtraError

CLIENT_OPTIONS = tuple(
    key for key, row in options.inside("generation_config").items() if row.steers
)
"""Keys of `generation_config` that steer the client and never reach the request body."""


class _Named(type):
    """Reads the fields of a task by name, EvalScope's older ones too, before they are set."""

    def __call__(cls, *args: Any, **values: Any) -> Any:
        """Make a task.

        Raises:
            ConfigError: A field is unknown, or asks for what mmscore does not do.
        """
        return super().__call__(*args, **evalscope.own_fields(values))


@dataclass(slots=True)
class TaskConfig(metaclass=_Named):
    """What to run: each field is a row of the table of options, which says what it means."""

    model: str | None = None
    api_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    services: list[dict[str, Any]] = field(default_factory=list, repr=False)
    datasets: list[str] = field(default_factory=list)
    dataset_args: dict[str, dict[str, Any]] = field(default_factory=dict)
    generation_config: dict[str, Any] = field(default_factory=dict)
    judge: dict[str, Any] | None = field(default=None, repr=False)
    limit: int | float | None = None
    sample: int | float | None = None
    ids: list[str] | None = None
    from_run: str | None = None
    from_status: list[str] = field(default_factory=lambda: ["wrong", "failed"])
    eval_batch_size: int = DEFAULT_CONCURRENCY
    repeats: int = 1
    timeout: float | None = None
    retries: int | None = None
    wait_ready: float | None = None
    stream: bool | None = None
    work_dir: str = "outputs"
    out: str | None = None
    name: str | None = None
    resume: str | None = None
    shard: str | None = None
    fresh: bool = False
    media_root: str | None = None
    allow_path: list[str] = field(default_factory=list)
    keep: list[str] = field(default_factory=list)
    group_by: list[str] = field(default_factory=list)
    max_image_bytes: int | str | None = None
    min_side: int | None = None
    max_pixels: int | None = None
    think: str = "strict"
    skip_bad_media: bool = False
    inline_urls: bool = False
    offline: bool = False
    dry_run: bool = False
    price: str | list[float] | dict[str, float] | None = None
    max_cost: float | None = None
    max_tokens_total: int | None = None
    max_time: float | None = None
    cache_replies: str | None = None
    model_id: str | None = None
    eval_type: str | None = None
    provider: str | None = None
    eval_backend: str | None = None
    eval_config: dict[str, Any] | str | None = field(default=None, repr=False)
    dataset_dir: str | None = None
    dataset_hub: str | None = None
    use_cache: str | None = None
    rerun_review: bool = False
    no_timestamp: bool = False
    ignore_errors: bool = False
    seed: int | None = None
    collect_perf: bool = True

    def __post_init__(self) -> None:
        """Check each field on its own, then what only several say together.

        Raises:
            ConfigError: A value is out of range or of the wrong type, or two contradict each other.
        """
        for spelled in fields(self):
            name, value = spelled.name, getattr(self, spelled.name)
            if value is None:
                made = spelled.default_factory
                value = spelled.default if made is MISSING else made()
            if value is not None:
                value = options.fields()[name].kind.check(value, f"`{name}`")
            setattr(self, name, value)
        self.dataset_args = {
            name: evalscope.dataset_arguments(name, arguments)
            for name, arguments in self.dataset_args.items()
        }
        if self.judge is not None:
            JudgeConfig.from_dict(self.judge)
        self._check_contradictions()
        self._read_generation()

    def _check_contradictions(self) -> None:
        if self.max_cost is not None and price_of(self.price, self.model) is None:
            raise ConfigError(
                "`max_cost` is given without a price",
                hint="say what a million tokens cost: --price IN,OUT",
            )
        if self.ids is not None and self.from_run is not None:
            raise ConfigError("`ids` and `from_run` are both given", hint="leave one of them out")
        if self.services and self.resume:
            raise ConfigError("`services` and `resume` are both given: a run is of one model")
        if self.use_cache and self.resume:
            raise ConfigError("`use_cache` and `resume` are both given, and mean the same")

    def _read_generation(self) -> None:
        evalscope.check_generation(self.generation_config)
        several = self.generation_config.get("n")
        if isinstance(several, int) and several > 1:
            # One request has one reply here, and each of them is kept, so several are repeats.
            self.repeats = several
            self.generation_config = {**self.generation_config, "n": 1}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TaskConfig:
        """The task that a mapping describes.

        Raises:
            ConfigError: A field is unknown (the nearest is named) or out of range.
        """
        return cls(**values)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> TaskConfig:
        """The task that a `.toml`, `.json` or (with the extra) `.yaml` file describes.

        Raises:
            ConfigError: The file is missing, broken or of another kind.
            MissingExtraError: A YAML file without the `yaml` extra.
        """
        return cls.from_dict(load_mapping(Path(path)))


def load_mapping(path: Path) -> dict[str, Any]:
    """The mapping in a TOML, JSON or YAML file.

    Raises:
        ConfigError: The file is missing, broken or holds something else.
        MissingExtraError: A YAML file without the `yaml` extra.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(f"cannot read the task file `{path}`: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"the task file `{path}` is not UTF-8: {error.reason}") from None
    parse = _PARSERS.get(path.suffix.lower())
    if parse is None:
        raise ConfigError(
            f"the task file `{path}` ends in `{path.suffix}`, expected .toml, .json or .yaml"
        )
    try:
        value = parse(text)
    except ValueError as error:
        raise ConfigError(f"the task file `{path}` is broken: {error}") from None
    except RecursionError:
        raise ConfigError(f"the task file `{path}` is nested too deeply") from None
    if not isinstance(value, dict):
        raise ConfigError(
            f"the task file `{path}` holds a {type(value).__name__}, expected a mapping"
        )
    return value


def _parse_toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)


def _parse_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise MissingExtraError(
            "a YAML task file needs PyYAML", hint="pip install pyyaml"
        ) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


_PARSERS: dict[str, Callable[[str], Any]] = {
    ".toml": _parse_toml,
    ".json": json.loads,
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
}


def resolve_secret(value: str | None) -> str | None:
    """`value`, or what the environment holds for a value of the form `$NAME`.

    Raises:
        ConfigError: The variable is not set.
    """
    if value is None or not re.fullmatch(r"\$\{?[A-Za-z_][A-Za-z0-9_]*\}?", value):
        return value
    name = value.strip("${}")
    if name not in os.environ:
        raise ConfigError(f"the API key names the environment variable `{name}`, which is not set")
    return os.environ[name]


def _documentation() -> str:
    rows = (f"        {name}: {row.more or row.help}." for name, row in options.fields().items())
    return f"{TaskConfig.__doc__}\n\n    Attributes:\n" + "\n".join(rows)


TaskConfig.__doc__ = _documentation()

__all__ = [
    "CLIENT_OPTIONS",
    "DEFAULT_CONCURRENCY",
    "DEFAULT_RETRIES",
    "DEFAULT_TIMEOUT",
    "TaskConfig",
    "load_mapping",
    "parse_shard",
    "resolve_secret",
]
