"""Shards merged into the run they are parts of; and what keeps them apart."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Ran, run_cli
from support.runs import sample, write_run
from support.server import Request, reply, serve

from mmscore.cli import demo

TIMES = {"seconds", "started", "finished", "timing", "shard", "config", "merged"}


@pytest.fixture(scope="module")
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a whole run and the three shards of it."""
    folder = tmp_path_factory.mktemp("shards")
    demo.draw(folder / "SLAKE")
    rows = json.loads((folder / "SLAKE" / "test.json").read_text(encoding="utf-8"))
    answers = {row["question"]: row["answer"] for row in rows}

    def answer(request: Request) -> Any:
        question = request.prompt.splitlines()[0]
        return reply(f"ANSWER: {answers[question] if len(question) % 2 else 'x'}")

    with serve(answer) as server:
        for name in ("whole", "1/3", "2/3", "3/3"):
            ran = run_cli(
                *("run", "slake", "--data", str(folder / "SLAKE"), "--model", "m"),
                *("--api-url", server.url, "--out", str(folder / name.replace("/", "-"))),
                *("--progress", "none", *(("--shard", name) if "/" in name else ())),
            )
            assert ran.code == 0, ran.err
    return folder


def merge(folder: Path, *names: str, out: str = "merged") -> Ran:
    return run_cli("merge", *(str(folder / name) for name in names), "--out", str(folder / out))


def timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in TIMES}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def test_shards_make_the_run_they_are_parts_of(shards: Path) -> None:
    ran = merge(shards, "3-3", "1-3", "2-3")
    assert ran.code == 0, ran.err
    made, whole = (
        timeless(json.loads((shards / name / "report.json").read_text()))
        for name in ("merged", "whole")
    )
    assert made == whole and 0 < made["overall"]["accuracy"] < 1
    lines = (shards / "merged" / "predictions.jsonl").read_text().splitlines()
    indexes = [json.loads(line)["index"] for line in lines]
    assert indexes == list(range(24)), "in the data set's order"
    compared = run_cli("compare", str(shards / "whole"), str(shards / "merged"), "--json")
    counts = json.loads(compared.out)["counts"]
    assert counts["gained"] == counts["lost"] == 0
    assert run_cli("score", str(shards / "merged")).code == 0


def test_a_missing_shard_is_named(shards: Path) -> None:
    ran = merge(shards, "1-3", "3-3", out="never")
    assert ran.code == 1 and "1 of 3 shards are missing: `2/3`" in ran.err
    assert "--shard 2/3" in ran.err and not (shards / "never").exists()


def test_a_shard_given_twice_and_a_whole_run_are_refused(shards: Path) -> None:
    ran = merge(shards, "1-3", "1-3", "2-3", "3-3", out="once")
    assert ran.code == 0, "named twice is there once"
    shutil.copytree(shards / "1-3", shards / "again" / "1-3")
    lines = (shards / "again" / "1-3" / "predictions.jsonl").read_text().splitlines(keepends=True)
    (shards / "again" / "1-3" / "predictions.jsonl").write_text("".join(lines[:5]))
    ran = merge(shards, "1-3", "again/1-3", "2-3", "3-3", out="never")
    assert ran.code == 1 and "are both shard 1/3" in ran.err
    assert "(8 of 8 answered)" in ran.err and "(5 of 8 answered)" in ran.err
    assert f"leave the less complete one out: `{shards / 'again' / '1-3'}`" in ran.err
    ran = merge(shards, "whole", out="never")
    assert ran.code == 1 and "a run of everything" in ran.err
    ran = merge(shards, "1-3", "2-3", "3-3", out="whole")
    assert ran.code == 1 and "already holds a run" in ran.err


@pytest.mark.parametrize("form", ["folder", "pattern"])
def test_shards_are_found_in_a_folder_and_by_a_pattern(
    shards: Path, tmp_path: Path, form: str
) -> None:
    for name in ("1-3", "2-3", "3-3", "whole"):
        shutil.copytree(shards / name, tmp_path / "all" / name)
    place = str(tmp_path / "all") if form == "folder" else str(tmp_path / "all" / "?-3")
    ran = run_cli("merge", place, "--out", str(tmp_path / "out"))
    assert ran.code == 0, ran.err
    assert json.loads((tmp_path / "out" / "report.json").read_text())["num"] == 24


def test_what_is_there_is_reported_with_partial(shards: Path, tmp_path: Path) -> None:
    ran = run_cli(
        *("merge", str(shards / "1-3"), str(shards / "3-3")),
        *("--out", str(tmp_path / "out"), "--partial"),
    )
    assert ran.code == 3 and "shards are missing: 2/3" in ran.out
    assert json.loads((tmp_path / "out" / "report.json").read_text())["num"] == 16


def test_a_place_without_shards_is_named(tmp_path: Path) -> None:
    for place, words in ((tmp_path, "holds no run"), (tmp_path / "x*", "there is no folder")):
        ran = run_cli("merge", str(place), "--out", str(tmp_path / "out"))
        assert ran.code == 1 and words in ran.err


def drawn(folder: Path, second: Callable[[dict[str, Any]], None]) -> Ran:
    """Two shards drawn by hand, the second of them changed, merged."""
    for number in (1, 2):
        info: dict[str, Any] = {"shard": f"{number}/2", "samples": [sample(number)]}
        if number == 2:
            second(info)
        write_run(folder / str(number), info.pop("samples"), **info)
    return merge(folder, "1", "2")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"model": "other"}, "the model is `m` and `other`"),
        ({"fingerprints": {"data": "d2", "prompt": "p1", "scorer": "slake-1"}}, "the data"),
        ({"fingerprints": {"data": "d1", "prompt": "p2", "scorer": "slake-1"}}, "the prompt"),
        ({"fingerprints": {"data": "d1", "prompt": "p1", "scorer": "slake-2"}}, "the scorer"),
        ({"config": {"model": "m", "generation_config": {"t": 1}}}, "the options"),
        ({"benchmark": {"name": "pmc_vqa"}}, "the benchmark is `slake` and `pmc_vqa`"),
        ({"repeats": 2}, "the repeats"),
        ({"shard": "2/3"}, "is shard 2/3, others are of 2"),
        ({"samples": [sample(1)]}, "1 samples are in two shards: `q1`"),
    ],
)
def test_runs_that_are_not_of_one_are_refused(
    change: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    ran = drawn(tmp_path, lambda info: info.update(change))
    assert ran.code == 1 and sentence in ran.err, ran.err


def test_where_a_shard_ran_does_not_matter(tmp_path: Path) -> None:
    own = {"endpoint": "10.0.0.2:8000", "config": {"model": "m", "eval_batch_size": 2}}
    ran = drawn(tmp_path, lambda info: info.update(own, seconds=20.0))
    assert ran.code == 0, ran.err
    record = json.loads((tmp_path / "merged" / "run.json").read_text())
    assert record["endpoint"] == "127.0.0.1:8000, 10.0.0.2:8000"
    assert record["seconds"] == 20.0 and record["planned"] == {"en_open": 2}


def test_an_unfinished_shard_makes_an_unfinished_run(tmp_path: Path) -> None:
    left = {"stopped": "stopped by the user", "finished": None, "planned": {"en_open": 3}}
    ran = drawn(tmp_path, lambda info: info.update(left))
    assert ran.code == 3, ran.err
    assert "2 of 4 not asked" in ran.out


def test_comparing_from_the_command_line(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [sample(1), sample(2, 0.0)])
    write_run(tmp_path / "b", [sample(1), sample(2, 1.0)], model="n")
    ran = run_cli("compare", str(tmp_path / "a"), str(tmp_path / "b"))
    assert ran.code == 0 and "1 gained" in ran.out and "McNemar" in ran.out
    other = {"fingerprints": {"data": "d9", "prompt": "p1", "scorer": "slake-1"}}
    write_run(tmp_path / "c", [sample(1)], **other)
    ran = run_cli("compare", str(tmp_path / "a"), str(tmp_path / "c"))
    assert ran.code == 1 and "unlike data" in ran.err and "--force" in ran.err
    ran = run_cli("compare", str(tmp_path / "a"), str(tmp_path / "c"), "--force", "--json")
    assert ran.code == 0 and json.loads(ran.out)["pairs"] == 1
    ran = run_cli("compare", str(tmp_path / "a"), str(tmp_path / "b"), "--metric", "f1")
    assert ran.code == 1 and "`f1`" in ran.err


def test_unlike_versions_are_told(tmp_path: Path) -> None:
    ran = drawn(tmp_path, lambda info: info.update(versions={"mmscore": "0.0.9"}))
    assert ran.code == 0, ran.err
    assert "by mmscore 0.1.0" in ran.err and "by 0.0.9" in ran.err
