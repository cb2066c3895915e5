"""Shards on an engine: one command line, however often it is started, comes to one whole run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Ran, run_cli
from support.server import Request, Response, reply, serve, status

from mmscore.config import TaskConfig
from mmscore.plan.plan import plan


@pytest.fixture
def oracle(data: Path) -> Callable[[Request], Response]:
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    answers = {row["question"]: row["answer"] for row in rows}
    return lambda request: reply(f"ANSWER: {answers[request.prompt.splitlines()[0]]}")


@pytest.fixture
def shard(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Runs one array task with the same command line each time."""

    def run(url: str, index: int, count: int = 3, *more: str) -> Ran:
        monkeypatch.setenv("SLURM_ARRAY_TASK_ID", str(index))
        monkeypatch.setenv("SLURM_ARRAY_TASK_COUNT", str(count))
        monkeypatch.setenv("SLURM_ARRAY_TASK_MIN", "1")
        return run_cli(
            *("run", "slake", "--data", str(data), "--model", "m", "--api-url", url),
            *("--shard", "auto", "--out", str(tmp_path / f"shard-{index}"), *more),
        )

    return run


def test_a_shard_that_is_scheduled_again_goes_on(shard: Any, oracle: Any, tmp_path: Path) -> None:
    with serve(status(401)) as dead:
        assert shard(dead.url, 1).code == 4
    with serve(oracle) as server:
        ran = shard(server.url, 1)
        assert ran.code == 0, ran.err
        assert "shard 1/3: Slurm's SLURM_ARRAY_TASK_ID is 1" in ran.err
        assert "holds this run: going on with it" in ran.err
        asked = len(server.requests)
        assert asked == 8
        assert shard(server.url, 1).code == 0, "a whole one ends at once"
        assert len(server.requests) == asked


def test_the_variables_alone_are_enough(
    data: Path, oracle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    monkeypatch.setenv("MMSCORE_SHARDS", "2")
    monkeypatch.setenv("MMSCORE_SHARD", "auto")
    monkeypatch.setenv("MMSCORE_OUT", str(tmp_path / "mine"))
    with serve(oracle) as server:
        monkeypatch.setenv("MMSCORE_API_URL", server.url)
        monkeypatch.setenv("MMSCORE_MODEL", "m")
        for _ in range(2):
            ran = run_cli("run", "slake", "--data", str(data))
            assert ran.code == 0, ran.err
        assert len(server.requests) == 12
    assert json.loads((tmp_path / "mine" / "run.json").read_text())["shard"] == "2/2"


@pytest.mark.parametrize(
    ("again", "unlike"),
    [((1, 4), "shard"), ((1, 3, "--limit", "2"), "options"), ((1, 3, "--system", "x"), "options")],
)
def test_another_run_in_the_folder_is_an_error(
    shard: Any, oracle: Any, again: tuple[Any, ...], unlike: str
) -> None:
    with serve(oracle) as server:
        assert shard(server.url, 1).code == 0
        asked = len(server.requests)
        ran = shard(server.url, *again)
        assert ran.code == 1 and f"already holds a run, of another {unlike}" in ran.err
        assert len(server.requests) == asked


def test_shards_show_few_images_twice(data: Path) -> None:
    """Neighbours share images, so contiguous parts read little that another part reads too."""
    parts = 5
    shown = []
    for part in range(1, parts + 1):
        values = {"dataset_args": {"slake": {"local_path": str(data)}}, "shard": f"{part}/{parts}"}
        found = plan(TaskConfig.from_dict(values), "slake")
        shown.append({source.name for source in found.sources()})
    distinct = len(set[str]().union(*shown))
    assert sum(map(len, shown)) < distinct + parts
