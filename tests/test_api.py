"""What the command line can do, from Python: the same results, nothing printed."""

from __future__ import annotations

import csv
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from support.server import reply, serve

import mmscore
from mmscore import api
from mmscore.cli.options import COMMANDS


@pytest.fixture
def task(data: Path, tmp_path: Path) -> dict[str, Any]:
    return {
        "model": "m",
        "datasets": ["slake"],
        "dataset_args": {"slake": {"local_path": str(data)}},
        "out": str(tmp_path / "out"),
    }


def test_a_whole_working_day(
    task: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(reply("ANSWER: yes")) as server:
        task["api_url"] = server.url
        assert mmscore.check(task)["slake"].exit_code == 0
        result = mmscore.run_task(task)["slake"]
    assert result.num == 24 and set(result.scores) == {"accuracy"}
    written = json.loads((result.folder / "report.json").read_text(encoding="utf-8"))
    assert result.to_dict() == written
    assert mmscore.score_run(result.folder).scores == result.scores
    again = mmscore.report(result.folder)  # type: ignore[operator]  # a room that can be called
    assert again.scores == result.scores
    assert (result.folder / "report.html").exists()
    replies = tmp_path / "replies.csv"
    with (result.folder / "report.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = [(row["id"], row["reply"]) for row in csv.DictReader(file)]
    with replies.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "reply"), *rows])
    elsewhere = mmscore.score_replies_file({**task, "out": str(tmp_path / "other")}, replies)
    assert elsewhere.scores == result.scores
    assert mmscore.compare(result.folder, elsewhere.folder).pairs == 24
    assert mmscore.table([result.folder]).models == ("m",)
    assert mmscore.fetch(task, dry_run=True)["slake"]
    said = capsys.readouterr()
    assert not said.out and not said.err


def test_shards_from_python(task: dict[str, Any], tmp_path: Path) -> None:
    with serve(reply("ANSWER: yes")) as server:
        for part in (1, 2):
            out = str(tmp_path / "shards" / str(part))
            mmscore.run_task({**task, "api_url": server.url, "shard": f"{part}/2", "out": out})
    assert mmscore.merge([tmp_path / "shards"], tmp_path / "whole").num == 24


def test_each_public_name_is_there_and_says_what_it_does() -> None:
    for name in mmscore.__all__:
        value = getattr(mmscore, name)
        assert name == "__version__" or (inspect.getdoc(value) or "").strip(), name
    commands = set(COMMANDS) - {
        "run",
        "eval",
        "cache",
        "list",
        "info",
        "demo",
        "help",
        "completion",
    }
    assert commands - {"score"} <= set(vars(api)), "each command that works on runs has a function"
