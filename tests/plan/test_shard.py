"""Which shard a task of an engine is."""

from __future__ import annotations

import pytest

from mmscore.errors import ConfigError
from mmscore.plan.shard import shard_of


def slurm(index: int, count: int, lowest: int) -> dict[str, str]:
    return {
        "SLURM_ARRAY_TASK_ID": str(index),
        "SLURM_ARRAY_TASK_COUNT": str(count),
        "SLURM_ARRAY_TASK_MIN": str(lowest),
    }


@pytest.mark.parametrize(
    ("shard", "environment", "expected"),
    [
        ("auto", slurm(1, 8, 1), "1/8"),
        ("auto", slurm(8, 8, 1), "8/8"),
        ("auto", slurm(0, 8, 0), "1/8"),
        ("auto", slurm(7, 8, 0), "8/8"),
        ("auto", slurm(13, 4, 10), "4/4"),
        ("auto/8", slurm(2, 1, 2), "2/8"),  # one task run again: counted from 1
        ("auto/8", slurm(0, 1, 0), "1/8"),
        ("auto/8", slurm(3, 8, 0), "4/8"),
        ("auto/8", {**slurm(2, 1, 2), "MMSCORE_SHARD_FIRST": "0"}, "3/8"),
        ("auto", {"JOB_COMPLETION_INDEX": "0", "MMSCORE_SHARDS": "3"}, "1/3"),
        ("auto", {"JOB_COMPLETION_INDEX": "2", "MMSCORE_SHARDS": "3"}, "3/3"),
        ("auto/3", {"AWS_BATCH_JOB_ARRAY_INDEX": "1"}, "2/3"),
        ("auto/3", {"PARALLEL_SEQ": "1"}, "1/3"),
        ("auto", {"RANK": "0", "WORLD_SIZE": "2"}, "1/2"),
        # A scheduler's own word before that of what it runs.
        ("auto", {**slurm(3, 4, 1), "RANK": "0", "WORLD_SIZE": "1"}, "3/4"),
        ("auto", {**slurm(3, 4, 1), "MMSCORE_SHARDS": "6"}, "3/6"),
    ],
)
def test_an_engine_tells_the_shard(shard: str, environment: dict[str, str], expected: str) -> None:
    found = shard_of(shard, environment)
    assert found.shard == expected
    assert expected in found.told


@pytest.mark.parametrize(
    ("shard", "environment", "words"),
    [
        ("auto", {}, "SLURM_ARRAY_TASK_ID"),
        ("auto", {"JOB_COMPLETION_INDEX": "1"}, "of how many"),
        ("auto", {"PARALLEL_SEQ": "1"}, "of how many"),
        ("auto/3", {"PARALLEL_SEQ": "4"}, "outside 3 shards counted from 1"),
        ("auto/3", {"JOB_COMPLETION_INDEX": "3"}, "outside 3 shards counted from 0"),
        ("auto/3", {"JOB_COMPLETION_INDEX": "one"}, "expected a number"),
        ("auto", {"RANK": "0", "WORLD_SIZE": "0"}, "outside 0 shards"),
        ("auto/x", {}, "expected K/N"),
        ("automatic", {}, "expected K/N"),
    ],
)
def test_what_is_missing_is_named(shard: str, environment: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        shard_of(shard, environment)
    assert words in caught.value.message
