"""How a command ends, whatever becomes of its streams: its exit code, its JSON, its last words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import run_cli, script_path
from support.server import hang, reply, serve, slow, status

from mmscore.cli import main as cli


@pytest.fixture
def command(data: Path) -> Callable[..., list[str]]:
    def command(url: str, *more: str) -> list[str]:
        return [
            "run", "slake", "--data", str(data), "--api-url", url, "--model", "m", "--out",
            str(data.parent / "out"), *more,
        ]  # fmt: skip

    return command


def replies(data: Path) -> int:
    return (data.parent / "out" / "predictions.jsonl").read_bytes().count(b"\n")


ENDS = {
    "its reader leaves": "2> >(head -c 1 >/dev/null)",
    "it is closed": "2>&-",
    "its disk is full": "2>/dev/full",
    "both are closed": ">&- 2>&-",
    "the table's reader leaves": "| head -1 >/dev/null; exit ${PIPESTATUS[0]}",
}


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_a_run_outlives_its_streams(command: Any, data: Path, end: str) -> None:
    with serve(slow(reply("A"), 0.02)) as server:
        words = " ".join(
            [script_path(), *command(server.url, "--progress", "bar", "--concurrency", "2")]
        )
        ended = subprocess.run(["bash", "-c", f"{words} {end}"], timeout=60, check=False)
    assert ended.returncode == 0
    assert replies(data) == 24


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_report_that_cannot_be_printed_is_told(command: Any, data: Path) -> None:
    with serve(reply("A")) as server, Path("/dev/full").open("w", encoding="utf-8") as full:
        ended = subprocess.run(
            [script_path(), *command(server.url)],
            stdout=full, stderr=subprocess.PIPE, timeout=60, check=False,
        )  # fmt: skip
    assert ended.returncode == 1 and replies(data) == 24
    assert b"standard output cannot be written" in ended.stderr
    assert b"Traceback" not in ended.stderr and b"Exception ignored" not in ended.stderr


def test_json_alone_is_on_stdout_however_a_command_ends(command: Any, tmp_path: Path) -> None:
    def out(code: int, *words: str) -> Any:
        ran = run_cli(*words, "--json")
        assert ran.code == code, ran.err
        return json.loads(ran.out)

    with serve(reply("A")) as server, serve(status(401)) as dead:
        assert out(0, *command(server.url))["num"] == 24
        assert out(0, *command(server.url, "--dry-run"))["planned"]["en_open"] == 6
        refused = out(1, *command(server.url, "--fresh"))["error"]["message"]
        assert "already holds a run" in refused
        assert out(2, "run", "--nonsense")["error"]["exit_code"] == 2
        several = command(server.url, "--out", str(tmp_path / "two"))
        assert "unknown" in out(1, "run", "slake", "nonsense", *several[2:])["error"]["message"]
        error = out(4, *command(dead.url, "--out", str(tmp_path / "dead")))["error"]
    assert "API key" in error["hint"] and str(tmp_path / "dead") in error["notes"][0]


def test_several_benchmarks_are_one_json_list(command: Any, data: Path, tmp_path: Path) -> None:
    own = tmp_path / "qa.jsonl"
    own.write_text(
        '{"messages": [{"role": "user", "content": "What?"}], "answer": "A"}\n', encoding="utf-8"
    )
    args = {"slake": {"local_path": str(data)}, "general_vqa": {"local_path": str(own)}}
    with serve(reply("A")) as server:
        task = tmp_path / "task.json"
        task.write_text(
            json.dumps(
                {"model": "m", "api_url": server.url, "datasets": [*args], "dataset_args": args,
                 "out": str(tmp_path / "both")}
            ),
            encoding="utf-8",
        )  # fmt: skip
        ran = run_cli("run", "--config", str(task), "--json", "--progress", "none")
    assert ran.code == 0, ran.err
    assert [one["dataset"] for one in json.loads(ran.out)] == ["slake", "general_vqa"]


@pytest.mark.skipif(sys.platform == "win32", reason="locales as in POSIX")
def test_json_is_utf_8_whatever_the_locale(command: Any) -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    with serve(reply("A")) as server:
        words = [script_path(), *command(server.url, "--dry-run", "--json", "--subset", "zh_open")]
        ended = subprocess.run(words, env=environment, capture_output=True, check=True)
    assert "请用一个中文词语或短语回答问题" in ended.stdout.decode("utf-8")


def test_a_fault_of_ours_is_a_sentence_without_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(arguments: Any) -> int:
        raise RuntimeError("cannot send sk-SECRET123")

    monkeypatch.setitem(cli.ACTIONS, "run", broken)
    ran = run_cli("run", "slake", "--api-key", "sk-SECRET123")
    assert ran.code == 1 and ran.err.startswith("mmscore: error: RuntimeError: cannot send ***")
    assert "Traceback" not in ran.err and "SECRET" not in ran.err
    with pytest.raises(RuntimeError):
        run_cli("run", "slake", "--debug")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("pause", [0.001, 0.02, 0.2])
def test_a_burst_of_signals_still_ends_in_a_report(
    command: Any, data: Path, number: int, pause: float
) -> None:
    with serve(hang()) as server:
        process = subprocess.Popen(
            [script_path(), *command(server.url, "--progress", "none")], stderr=subprocess.PIPE
        )
        while len(server.requests) < 8:
            time.sleep(0.005)
        while process.poll() is None:  # also while it ends; the system keeps no count of signals
            process.send_signal(number)
            time.sleep(pause)
        _, words = process.communicate(timeout=20)
    assert process.returncode == 130, words
    assert b"Traceback" not in words and b"--resume" in words
    assert (data.parent / "out" / "report.json").exists()


def test_fewer_threads_than_asked_are_told_and_enough(
    command: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = threading.Thread.start

    def scarce(self: threading.Thread) -> None:
        if self.name in ("worker-3", "worker-4"):
            raise RuntimeError("can't start new thread")
        start(self)

    with serve(reply("A")) as server:
        monkeypatch.setattr(threading.Thread, "start", scarce)
        ran = run_cli(*command(server.url, "--concurrency", "5"))
        monkeypatch.undo()
    assert ran.code == 0 and "the system gives 3 threads" in ran.err
    assert replies(data) == 24
