"""Which shard of how many this process is, told by the engine that started it.

`--shard auto` reads the index and the count that an engine puts into the environment of each of its
tasks; `--shard auto/8` reads the index alone, for engines that do not know the count (or know that
of one rerun task only).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from mmscore.errors import ConfigError

COUNT = "MMSCORE_SHARDS"
"""The variable that says how many shards there are where the engine does not."""

FIRST = "MMSCORE_SHARD_FIRST"
"""The variable that says which index the first shard has, where it is not the engine's own."""


@dataclass(frozen=True, slots=True)
class Engine:
    """How an engine tells a task which of how many it is.

    Attributes:
        name: What people call it.
        index: The variable with the task's index.
        first: The index of the first task.
        count: The variable with the number of tasks; None where there is none.
        lowest: The variable with the index of the first task, where users choose it.
    """

    name: str
    index: str
    first: int
    count: str | None = None
    lowest: str | None = None


ENGINES = (
    Engine(
        "Slurm", "SLURM_ARRAY_TASK_ID", 1, "SLURM_ARRAY_TASK_COUNT", lowest="SLURM_ARRAY_TASK_MIN"
    ),
    Engine("Kubernetes", "JOB_COMPLETION_INDEX", 0),
    Engine("AWS Batch", "AWS_BATCH_JOB_ARRAY_INDEX", 0),
    Engine("GNU parallel", "PARALLEL_SEQ", 1),
    Engine("torchrun or MPI", "RANK", 0, "WORLD_SIZE"),
)
"""In the order in which they are looked for: a scheduler's own word before that of what it runs."""


@dataclass(frozen=True, slots=True)
class FoundShard:
    """A shard that the environment named.

    Attributes:
        shard: `K/N`, K from 1.
        told: The sentence that says where it comes from.
    """

    shard: str
    told: str


def shard_of(shard: str, environment: Mapping[str, str]) -> FoundShard:
    """The shard that `auto` or `auto/N` means here.

    Args:
        shard: What the task says.
        environment: The process's variables.

    Raises:
        ConfigError: No engine is there, a number is missing (which variable says it is named) or
            is none, or the index is outside the count.
    """
    match = re.fullmatch(r"auto(?:/(\d{1,9}))?", shard, re.ASCII)
    if match is None:
        raise ConfigError(f"`shard` is `{shard}`, expected K/N, `auto` or `auto/N`")
    engine = next((one for one in ENGINES if environment.get(one.index)), None)
    if engine is None:
        names = ", ".join(f"{one.index} ({one.name})" for one in ENGINES)
        raise ConfigError(
            f"`shard` is `{shard}`, and no variable says which shard this is: {names}",
            hint="start it as an array task of one of these, or say --shard K/N",
        )
    index = _number(environment, engine.index)
    first = _first(engine, environment, alone=match[1] is not None)
    count = int(match[1]) if match[1] else _count(engine, environment)
    part = index - first + 1
    if not 1 <= part <= count:
        raise ConfigError(
            f"{engine.index} is {index}, outside {count} shards counted from {first}",
            hint=f"number the tasks from {first} to {first + count - 1}, or set {FIRST} or {COUNT}",
        )
    told = f"shard {part}/{count}: {engine.name}'s {engine.index} is {index}, counted from {first}"
    return FoundShard(f"{part}/{count}", told)


def _first(engine: Engine, environment: Mapping[str, str], *, alone: bool) -> int:
    """The index that the first task has.

    A rerun of one task (`--array=2`) tells its own index as the lowest one, so with `auto/N` the
    lowest index counts only where it can be the array's: 0 or 1.
    """
    if environment.get(FIRST):
        return _number(environment, FIRST)
    if engine.lowest is None or not environment.get(engine.lowest):
        return engine.first
    lowest = _number(environment, engine.lowest)
    return lowest if not alone or lowest == 0 else engine.first


def _count(engine: Engine, environment: Mapping[str, str]) -> int:
    for name in (COUNT, engine.count):
        if name is not None and environment.get(name):
            return _number(environment, name)
    raise ConfigError(
        f"{engine.name} says which shard this is ({engine.index}), and nothing says of how many",
        hint=f"set {COUNT}, or say --shard auto/N",
    )


def _number(environment: Mapping[str, str], name: str) -> int:
    text = environment[name].strip()
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise ConfigError(f"{name} is `{text[:40]}`, expected a number")
    return int(text)
