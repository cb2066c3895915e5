"""Going on with a run: only replies to its own requests count, no folder ends in a traceback."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import Ran, lines, run_cli
from support.server import Request, Response, reply, serve, status

from mmscore.errors import DataError, StorageError
from mmscore.store import journal
from mmscore.store.journal import REPLACED
from mmscore.store.records import Score
from mmscore.store.run_folder import read_run


@pytest.fixture
def oracle(data: Path) -> Callable[[Request], Response]:
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    answers = {row["question"]: row["answer"] for row in rows}
    return lambda request: reply(f"ANSWER: {answers[request.prompt.splitlines()[0]]}")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def first(data: Path, out: Path, oracle: Any) -> Path:
    """A finished run of the model `m`."""
    with serve(oracle) as server:
        ran = run_cli(
            "run", "slake", "--data", str(data), "--api-url", server.url, "--model", "m",
            "--out", str(out), "--progress", "none",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    return out


def resume(out: Path, url: str, *more: str) -> Ran:
    return run_cli("run", "--resume", str(out), "--api-url", url, "--progress", "none", *more)


def report(out: Path) -> Any:
    return json.loads((out / "report.json").read_text(encoding="utf-8"))


def test_replies_of_one_model_never_count_for_another(first: Path, oracle: Any) -> None:
    with serve(status(401)) as dead:
        ran = resume(first, dead.url, "--model", "other")
        assert ran.code == 4 and "24 earlier replies were to other requests" in ran.err
        assert report(first)["model"] == "other" and report(first)["num"] == 0
        asked = len(dead.requests)
        ran = resume(first, dead.url, "--model", "m")
        assert ran.code == 0 and len(dead.requests) == asked, "paid replies were asked for again"
    assert report(first)["num"] == 24 and report(first)["overall"] == {"accuracy": 1.0}


@pytest.mark.parametrize(
    ("narrow", "wide", "num"),
    [
        (("--limit", "2"), ("--limit", "1000"), 8),
        (("--shard", "1/2"), ("--shard", "1/1"), 12),
    ],
)
def test_a_narrower_run_counts_what_it_selects(
    first: Path, narrow: tuple[str, ...], wide: tuple[str, ...], num: int
) -> None:
    before = (first / "report.csv").read_text(encoding="utf-8")
    with serve(status(401)) as dead:
        assert resume(first, dead.url, *narrow).code == 0
        assert report(first)["num"] == num == report(first)["coverage"]["planned"]
        assert resume(first, dead.url, *wide).code == 0
        assert not dead.requests
    assert (first / "report.csv").read_text(encoding="utf-8") == before


def test_a_kill_while_replies_are_sorted_loses_none(
    first: Path, oracle: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = iter((True, False))
    rewrite = journal.AppendFile.rewrite

    def killed(self: journal.AppendFile, lines: Any) -> None:
        if next(calls, False):
            raise KeyboardInterrupt  # between the two files
        rewrite(self, lines)

    monkeypatch.setattr(journal.AppendFile, "rewrite", killed)
    with serve(status(401)) as dead:
        assert resume(first, dead.url, "--limit", "2").code == 130
        assert resume(first, dead.url, "--limit", "2").code == 0
        assert resume(first, dead.url, "--limit", "99").code == 0
        assert not dead.requests
    assert report(first)["num"] == 24


def test_what_only_says_how_to_ask_changes_no_file(first: Path) -> None:
    before = (first / "predictions.jsonl").read_bytes()
    with serve(status(401)) as dead:
        assert resume(first, dead.url, "--concurrency", "3", "--timeout", "9").code == 0
    assert (first / "predictions.jsonl").read_bytes() == before
    assert not (first / REPLACED).exists()


def test_another_benchmark_does_not_go_into_the_folder(first: Path, data: Path) -> None:
    before = (first / "run.json").read_bytes()
    ran = run_cli("run", "count_qa", "--data", str(data), "--resume", str(first), "--model", "m")
    assert ran.code == 1 and "holds a run of `slake`, expected one of `count_qa`" in ran.err
    assert (first / "run.json").read_bytes() == before


def test_a_run_killed_before_its_first_record_leaves_the_folder_usable(
    data: Path, out: Path, oracle: Any
) -> None:
    out.mkdir()
    (out / "predictions.jsonl").touch()
    with serve(oracle) as server:
        ran = run_cli(
            "run", "slake", "--data", str(data), "--api-url", server.url, "--model", "m",
            "--out", str(out), "--progress", "none",
        )  # fmt: skip
    assert ran.code == 0, ran.err


def test_a_run_that_is_being_written_is_not_scored_again(first: Path) -> None:
    before = (first / "scores.jsonl").read_bytes()
    with closing(journal.AppendFile(first / "predictions.jsonl", print)):
        ran = run_cli("score", str(first))
    assert ran.code == 1 and "another process is writing" in ran.err
    assert (first / "scores.jsonl").read_bytes() == before


def test_a_folder_deleted_under_a_run_is_told_at_once(
    data: Path, out: Path, oracle: Callable[[Request], Response]
) -> None:
    gone = threading.Event()

    def delete(request: Request) -> Response:
        if not gone.is_set():
            gone.set()
            shutil.rmtree(out)
        return oracle(request)

    with serve(delete) as server:
        ran = run_cli(
            "run", "slake", "--data", str(data), "--api-url", server.url, "--model", "m",
            "--out", str(out), "--progress", "none", "--concurrency", "1",
        )  # fmt: skip
        assert len(server.requests) == 1
    assert ran.code == 1 and "was deleted while the run was writing it" in ran.err


def scored(name: str) -> Score:
    return Score(name, 0, "x", "rule", {"accuracy": 1.0})


def test_a_file_that_its_holder_replaced_is_not_taken_for_free(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    with closing(journal.AppendFile(path, print)) as file:
        file.append(scored("a"))
        file.rewrite([journal.encode(scored("b"))])
        file.append(scored("c"))
        with pytest.raises(StorageError, match="another process"):
            journal.AppendFile(path, print)
    assert [record["id"] for record in lines(path)] == ["b", "c"]


RUN = {"schema_version": 1, "benchmark": {"name": "slake"}, "config": {}, "fingerprints": {}}

FOREIGN_RUNS = [
    "", "\0\0", "[]", "null", "{}", '{"schema_version": 1}', '{"schema_version": "1"}',
    json.dumps({**RUN, "schema_version": 99}),
    json.dumps({**RUN, "benchmark": "slake"}),
    json.dumps({**RUN, "benchmark": {}}),
    json.dumps({**RUN, "config": []}),
    json.dumps({**RUN, "fingerprints": None}),
]  # fmt: skip

FOREIGN_RECORDS = [
    "{}", "[]", "garbage", "\0\0\0", '{"id": 1}',
    '{"id": "a", "repeat": 0, "status": "ok"}',
    '{"id": "a", "repeat": 0, "status": "ok", "request": "x", "reply": 5, "question": "q"}',
    '{"id": "a", "repeat": 0, "status": "ok", "request": "x", "reply": "r", "question": "q", '
    '"subset": "en_open", "target": "t", "choices": 7, "metadata": {}}',
]  # fmt: skip


@pytest.mark.parametrize("command", ["report", "score", "resume"])
@pytest.mark.parametrize("text", FOREIGN_RUNS)
def test_a_folder_that_is_no_run_is_one_sentence(tmp_path: Path, command: str, text: str) -> None:
    (tmp_path / "run.json").write_text(text, encoding="utf-8")
    words = ("run", "--resume") if command == "resume" else (command,)
    ran = run_cli(*words, str(tmp_path))
    assert ran.code == 1 and "run.json" in ran.err
    assert ran.err.startswith("mmscore: error: ") and "fault of mmscore" not in ran.err


@pytest.mark.parametrize("text", FOREIGN_RECORDS)
def test_a_damaged_record_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(json.dumps(RUN), encoding="utf-8")
    (tmp_path / "predictions.jsonl").write_text(text + "\n", encoding="utf-8")
    ran = run_cli("score", str(tmp_path))
    assert ran.code == 1 and ran.err.startswith("mmscore: error: "), ran.err
    assert "fault of mmscore" not in ran.err


def test_a_folder_without_a_run_is_told_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is no run's folder: there is no run\.json"):
        read_run(tmp_path)
