"""What a model's tokens cost: read from a flag, a task, or a file of prices by model name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mmscore.error_text import nearest_hint, shown, what
from mmscore.errors import ConfigError

PER = 1_000_000
"""A price is for so many tokens."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in whatever currency the user thinks in.

    Attributes:
        input: Of the prompt, images included.
        output: Of the completion, reasoning included.
    """

    input: float
    output: float

    def of(self, prompt_tokens: int | None, completion_tokens: int | None) -> float:
        """What so many tokens cost; what the endpoint did not count costs nothing."""
        return ((prompt_tokens or 0) * self.input + (completion_tokens or 0) * self.output) / PER

    def to_json(self) -> dict[str, float]:
        """The two prices by their names."""
        return asdict(self)


def price_of(said: object, model: str | None) -> Price | None:
    """The price that a task states for its model.

    Args:
        said: `IN,OUT`, two numbers, a mapping with `input` and `output`, or the path of a TOML or
            JSON file in which the model's name leads to one of these; None for no price.
        model: The model's name as the endpoint knows it.

    Raises:
        ConfigError: It is none of these, a number is negative, or the file does not name the model.
    """
    if said is None:
        return None
    if isinstance(said, str) and not _is_pair(said):
        return _from_file(Path(said).expanduser(), model)
    return _read(said, "`price`")


def _is_pair(text: str) -> bool:
    return all(_number(part) is not None for part in text.split(","))


def _from_file(path: Path, model: str | None) -> Price:
    from mmscore.config.task import load_mapping

    if not path.is_file():
        raise ConfigError(
            f"`price` is {shown(str(path))}, expected IN,OUT per million tokens or a file of them",
            hint="such as --price 2.50,10",
        )
    prices = load_mapping(path)
    if model not in prices:
        raise ConfigError(
            f"`{path}` has no price of the model {shown(model or '')}",
            hint=nearest_hint(model or "", map(str, prices)) if prices else None,
        )
    return _read(prices[model], f"`{path}`: the price of `{model}`")


def _read(said: Any, place: str) -> Price:
    parts: list[Any]
    if isinstance(said, Mapping):
        unknown = set(said) - {"input", "output"}
        if unknown or len(said) < 2:
            raise ConfigError(f"{place} is {shown(said)}, expected `input` and `output`")
        parts = [said["input"], said["output"]]
    elif isinstance(said, str):
        parts = said.split(",")
    elif isinstance(said, list | tuple):
        parts = list(said)
    else:
        raise ConfigError(f"{place} is {what(said)}, expected IN,OUT per million tokens")
    numbers = [_number(part) for part in parts]
    if len(numbers) != 2 or any(number is None or number < 0 for number in numbers):
        raise ConfigError(
            f"{place} is {shown(said)}, expected two numbers of at least 0: IN,OUT per million "
            "tokens",
            hint="such as --price 2.50,10",
        )
    return Price(*(float(number) for number in numbers if number is not None))


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
