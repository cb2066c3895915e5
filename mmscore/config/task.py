"""One validated description of what to run, from flags, a dict, or a file.

Field names are EvalScope's where it has them, so a task written for it works here. A field nobody
knows is an error that names the nearest one: a typo must not silently change a score.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from mmscore.config import evalscope
from mmscore.config.judge import JudgeConfig
from mmscore.config.price import price_of
from mmscore.error_text import nearest_hint, what
from mmscore.errors import ConfigError, MissingExtraError

DEFAULT_CONCURRENCY = 8
DEFAULT_TIMEOUT = 300.0
DEFAULT_RETRIES = 5
LONGEST_TIMEOUT = 1e6
"""Eleven days, in seconds; what no system call takes is far above."""

CLIENT_OPTIONS = ("timeout", "retries", "retry_interval", "stream", "batch_size")
"""Keys of `generation_config` that steer the client and never reach the request body."""


@dataclass(slots=True)
class TaskConfig:
    """What to run.

    Attributes:
        model: The model's name as the endpoint knows it.
        api_url: The endpoint, with or without `/v1` and `/chat/completions`.
        api_key: Sent as a bearer token; `$NAME` takes it from the environment. Never written.
        services: Several services to ask the same: for each a mapping with `model`, and what else
            of `api_url`, `api_key`, `generation_config` ... is its own.
        datasets: Benchmark names.
        dataset_args: Per benchmark: `local_path`, `subset_list`, `prompt_template`,
            `system_prompt`, `filters`, `max_image_bytes`, `extra_params`.
        generation_config: Passed into the request body as it is, except `CLIENT_OPTIONS`.
        judge: A model that scores replies, as `JudgeConfig` reads it. Its keys are never written.
        limit: Samples per subset: a number, or a share as a float below 1.
        sample: Samples drawn from each subset instead: a number, or a share as a float below 1.
        seed: What `sample` draws by; the same everywhere for the same number.
        ids: Only the samples of these ids; in a string they stand between commas.
        from_run: A run whose samples are asked again, those that `from_status` names.
        from_status: `wrong`, `failed`, `truncated`, `unjudged` or another status.
        eval_batch_size: Requests in flight.
        repeats: How often each sample is asked.
        timeout: Seconds until one request must be answered.
        retries: New attempts after a failed one.
        stream: Ask for a stream of events.
        work_dir: Where run folders are made.
        out: This run's own folder instead.
        name: The end of the run folder's name.
        resume: A run folder to go on with.
        shard: `K/N`: the Kth of N contiguous parts; `auto`, `auto/N`: as the engine says.
        fresh: Refuse an `out` that holds a run already, though it be this very one.
        media_root: Where relative media paths start.
        max_image_bytes: Largest image in bytes of its base64 form.
        min_side: Smallest image side in pixels.
        max_pixels: Most pixels of an image.
        think: How reasoning inside a reply is split off: `strict` or `reference`.
        skip_bad_media: Run what is left when media are missing.
        inline_urls: Fetch media at http(s) URLs and send their bytes instead of the URLs.
        offline: Make no request but to the endpoint.
        dry_run: Show what would be asked; send nothing.
        debug: Let tracebacks through.
        price: `IN,OUT` for a million tokens, or a file of prices by model name.
        max_cost: Stop in order when so much was spent, at that price.
        max_tokens_total: Stop in order when so many tokens were used, prompt and completion.
        max_time: Stop in order after so many seconds of asking.
        cache_replies: A folder where replies are kept across runs; the same request to the same
            service is asked once.
        model_id: The model's name in reports, where it is to be another.
        eval_type: `openai_api`, as every model is reached here.
        eval_backend: `VLMEvalKit` where `eval_config` is one of its configurations.
        eval_config: That configuration, or the path of its file.
        dataset_dir: A folder that holds data sets by their names or hub ids.
        dataset_hub: `modelscope` or `huggingface`, for data sets that are to be fetched.
        use_cache: An earlier run's folder to go on with, as `resume`.
        rerun_review: Score kept replies anew.
        no_timestamp: Write into `work_dir` itself.
        ignore_errors: A sample that fails never ends a run, so this says nothing new.
        collect_perf: Times and tokens are always kept.
    """

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
    stream: bool | None = None
    work_dir: str = "outputs"
    out: str | None = None
    name: str | None = None
    resume: str | None = None
    shard: str | None = None
    fresh: bool = False
    media_root: str | None = None
    max_image_bytes: int | str | None = None
    min_side: int | None = None
    max_pixels: int | None = None
    think: str = "strict"
    skip_bad_media: bool = False
    inline_urls: bool = False
    offline: bool = False
    dry_run: bool = False
    debug: bool = False
    price: str | list[float] | dict[str, float] | None = None
    max_cost: float | None = None
    max_tokens_total: int | None = None
    max_time: float | None = None
    cache_replies: str | None = None
    model_id: str | None = None
    eval_type: str | None = None
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

    def __new__(cls, *args: object, **values: object) -> Self:
        """Name a field nobody knows, and the nearest one, before `__init__` would stop on it.

        Raises:
            ConfigError: A field is unknown, or one of EvalScope's that mean nothing here.
        """
        _check_names(values)
        return object.__new__(cls)

    def __post_init__(self) -> None:
        """Check each field on its own.

        Raises:
            ConfigError: A value is out of range or of the wrong type.
        """
        if isinstance(self.datasets, str):
            self.datasets = [self.datasets]
        self.limit = check_limit(self.limit)
        self._check_choice()
        for name in ("eval_batch_size", "repeats"):
            _check_count(name, getattr(self, name), 1)
        for name in ("min_side", "max_pixels"):
            if getattr(self, name) is not None:
                _check_count(name, getattr(self, name), 1)
        if self.retries is not None:
            _check_count("retries", self.retries, 0)
        if self.timeout is not None and not _is_positive(self.timeout):
            raise ConfigError(f"`timeout` is {self.timeout!r}, expected seconds above 0")
        if self.think not in ("strict", "reference"):
            raise ConfigError(f"`think` is {self.think!r}, expected `strict` or `reference`")
        if self.max_image_bytes is not None:
            self.max_image_bytes = parse_size(self.max_image_bytes)
        for name in ("dataset_args", "generation_config"):
            if not isinstance(getattr(self, name), dict):
                raise ConfigError(
                    f"`{name}` is a {type(getattr(self, name)).__name__}, expected a mapping"
                )
        _check_shard(self.shard)
        self._check_budget()
        self._check_services()
        if self.judge is not None:
            JudgeConfig.from_dict(self.judge)
        self._check_evalscope()

    def _check_choice(self) -> None:
        """Check what says which samples are asked, beside the limit."""
        self.sample = check_limit(self.sample, "sample")
        if self.seed is not None:
            _check_count("seed", self.seed, 0)
        if isinstance(self.ids, str):
            self.ids = [one.strip() for one in self.ids.split(",") if one.strip()]
        if isinstance(self.from_status, str):
            self.from_status = [self.from_status]
        if self.ids is not None and not (self.ids and all(isinstance(i, str) for i in self.ids)):
            raise ConfigError("`ids` holds no ids, expected one or more texts")
        if self.ids is not None and self.from_run is not None:
            raise ConfigError("`ids` and `from_run` are both given", hint="leave one of them out")

    def _check_services(self) -> None:
        if not isinstance(self.services, list):
            raise ConfigError(f"`services` is {what(self.services)}, expected a list of mappings")
        if self.services and self.resume:
            raise ConfigError("`services` and `resume` are both given: a run is of one model")

    def _check_budget(self) -> None:
        for name in ("max_cost", "max_tokens_total", "max_time"):
            value = getattr(self, name)
            if value is not None and not _is_positive(value):
                raise ConfigError(f"`{name}` is {value!r}, expected a number above 0")
        if self.max_cost is not None and price_of(self.price, self.model) is None:
            raise ConfigError(
                "`max_cost` is given without a price",
                hint="say what a million tokens cost: --price IN,OUT",
            )

    def _check_evalscope(self) -> None:
        """Check what only EvalScope's tasks say, and give it its meaning here."""
        check = evalscope.check_word
        check("eval_type", self.eval_type, evalscope.EVAL_TYPES, "models are asked by endpoint")
        check("eval_backend", self.eval_backend, evalscope.BACKENDS, "its tasks are not read")
        check("dataset_hub", self.dataset_hub, evalscope.HUBS, "it is not known")
        for name, arguments in self.dataset_args.items():
            evalscope.check_dataset_arguments(name, arguments)
        if self.use_cache and self.resume:
            raise ConfigError("`use_cache` and `resume` are both given, and mean the same")
        self.generation_config = evalscope.generation_options(self.generation_config)
        _check_steering(self.generation_config)
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
        return cls(**evalscope.without_unsupported(values))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> TaskConfig:
        """The task that a `.toml`, `.json` or (with the extra) `.yaml` file describes.

        Raises:
            ConfigError: The file is missing, broken or of another kind.
            MissingExtraError: A YAML file without the `yaml` extra.
        """
        return cls.from_dict(load_mapping(Path(path)))


def _check_names(values: Mapping[str, object]) -> None:
    known = [f.name for f in fields(TaskConfig)]
    for name in values:
        if name in evalscope.NOT_SUPPORTED:
            evalscope.without_unsupported({name: values[name]})
            raise ConfigError(f"`{name}` means nothing to mmscore", hint=f"leave `{name}` out")
        if name not in known:
            raise ConfigError(f"unknown task field `{name}`", hint=nearest_hint(name, known))


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
            "a YAML task file needs PyYAML", hint="pip install 'mmscore[yaml]'"
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


def check_limit(limit: object, name: str = "limit") -> int | float | None:
    """`limit`, or `sample`, as the reference reads it: a number counts, a float below 1 is a share.

    Raises:
        ConfigError: It is neither.
    """
    if limit is None or (isinstance(limit, int) and not isinstance(limit, bool) and limit > 0):
        return limit
    if isinstance(limit, float) and math.isfinite(limit):
        if 0.0 < limit < 1.0:
            return limit
        if limit >= 1.0 and limit.is_integer():
            return int(limit)
    raise ConfigError(
        f"`{name}` is {limit!r}, expected a number of samples per subset, or a share of them "
        "between 0 and 1"
    )


def _check_shard(shard: str | None) -> None:
    if not is_automatic(shard):
        parse_shard(shard)


def is_automatic(shard: str | None) -> bool:
    """Whether a task leaves its shard to the engine that started it: `auto` or `auto/N`."""
    return isinstance(shard, str) and shard.startswith("auto")


def parse_shard(shard: str | None) -> tuple[int, int] | None:
    """`K/N` as numbers, with 1 <= K <= N.

    Raises:
        ConfigError: It has another form.
    """
    if shard is None:
        return None
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", shard, re.ASCII)
    if match:
        part, parts = int(match[1]), int(match[2])
        if 1 <= part <= parts:
            return part, parts
    raise ConfigError(
        f"`shard` is `{shard}`, expected K/N with K from 1 to N, such as 1/4, or `auto`"
    )


def parse_size(value: int | str) -> int:
    """Bytes in `5MB`, `500KB`, `1048576`; units count in powers of 1024, as the reference's do.

    Raises:
        ConfigError: It is no size.
    """
    units = {"": 1, "B": 1, "K": 1024, "KB": 1024, "M": 1024**2, "MB": 1024**2, "G": 1024**3}
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", str(value), re.ASCII)
    if match and match[2].upper() in units:
        size = int(float(match[1]) * units[match[2].upper()])
        if size > 0:
            return size
    raise ConfigError(f"`{value}` is no size, expected bytes or a form like 5MB")


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


def _check_count(name: str, value: object, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(f"`{name}` is {value!r}, expected a whole number from {least}")


def _check_steering(options: Mapping[str, Any]) -> None:
    """Check the generation options that steer the client, as the fields of their names are."""
    timeout, retries = options.get("timeout"), options.get("retries")
    if timeout is not None and not _is_positive(timeout):
        raise ConfigError(f"`timeout` is {timeout!r}, expected seconds above 0")
    if retries is not None:
        _check_count("retries", retries, 0)


def _is_positive(value: object) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number and 0 < value <= LONGEST_TIMEOUT  # type: ignore[operator]  # a number


__all__ = [
    "CLIENT_OPTIONS",
    "DEFAULT_CONCURRENCY",
    "DEFAULT_RETRIES",
    "DEFAULT_TIMEOUT",
    "TaskConfig",
    "check_limit",
    "load_mapping",
    "parse_shard",
    "parse_size",
    "resolve_secret",
]
