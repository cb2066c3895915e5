"""Open files: as many workers as the system allows, and a want of them is no sample's fault."""

from __future__ import annotations

import errno
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import lines, run_cli, script_path
from support.own_sets import asking, write
from support.server import reply, serve

from mmscore.run import descriptors
from mmscore.run.descriptors import RESERVED, workers_within_limit

resource = pytest.importorskip("resource")
INFINITY = resource.RLIM_INFINITY


@pytest.mark.parametrize(
    ("wanted", "soft", "hard", "workers", "then"),
    [
        (8, 1024, 4096, 8, 1024),
        (1024, 1024, 4096, 1024, 10 + RESERVED + 2048),
        (1024, 1024, INFINITY, 1024, 10 + RESERVED + 2048),
        (1024, INFINITY, INFINITY, 1024, INFINITY),
        (1024, 256, 256, (256 - 10 - RESERVED) // 2, 256),
        (1024, 256, 1010 + RESERVED, 500, 1010 + RESERVED),
        (8, 12, 12, 1, 12),
    ],
)
def test_the_limit_is_raised_or_fewer_are_at_work(
    wanted: int, soft: int, hard: int, workers: int, then: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, told = [(soft, hard)], list[str]()
    monkeypatch.setattr(descriptors, "_open_now", lambda: 10)
    monkeypatch.setattr(resource, "getrlimit", lambda which: limit[0])
    monkeypatch.setattr(resource, "setrlimit", lambda which, both: limit.__setitem__(0, both))
    assert workers_within_limit(wanted, 2, told.append) == workers
    assert limit[0] == (then, hard)
    assert len(told) == (workers < wanted)


def test_a_limit_that_cannot_be_raised_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(which: int, both: Any) -> None:
        raise ValueError("current limit exceeds maximum limit")

    monkeypatch.setattr(descriptors, "_open_now", lambda: 10)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (256, INFINITY))
    monkeypatch.setattr(resource, "setrlimit", refuse)
    told: list[str] = []
    assert 1 < workers_within_limit(1024, 2, told.append) < 128
    assert "ulimit -n" in told[0] and "not 1024" in told[0]


@pytest.mark.parametrize("hard", [90, 4096])
def test_a_run_under_a_low_limit_loses_nothing(hard: int, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serve(reply("ANSWER: x")) as server:
        command = [
            script_path(), "run", "slake", "--data", str(data), "--api-url", server.url,
            "--model", "m", "--concurrency", "64", "--out", str(out), "--repeats", "8",
            "--progress", "none",
        ]  # fmt: skip
        ran = subprocess.run(
            ["sh", "-c", f"ulimit -Sn 90; ulimit -Hn {hard}; exec \"$@\"", "sh", *command],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ("the limit of open files (90)" in ran.stderr) == (hard == 90)
    assert {one["status"] for one in lines(out / "predictions.jsonl")} == {"ok"}


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.EIO, errno.ESTALE])
def test_a_fault_of_the_machine_stops_the_run_and_is_no_samples(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [asking(f"{n} <image 1>", image_1="a.png") for n in range(12)]
    data, out = write(tmp_path, *rows), tmp_path / "out"
    image = Path(__file__).parents[2] / "data" / "samples"
    (tmp_path / "a.png").write_bytes(next(image.rglob("*.png")).read_bytes())
    real = os.open

    def opened(path: Any, *more: Any, **options: Any) -> int:
        if str(path).endswith("a.png") and len(server.requests) == 4:
            raise OSError(number, "broken")
        return real(path, *more, **options)

    with serve(reply("x")) as server:
        command = [
            "run", "general_vqa", "--data", str(data), "--api-url", server.url, "--model", "m",
            "--concurrency", "1", "--progress", "none",
        ]  # fmt: skip
        with monkeypatch.context() as patched:
            patched.setattr("mmscore.model.attachments.REMEMBERED_BYTES", 0)
            patched.setattr(os, "open", opened)
            ran = run_cli(*command, "--out", str(out))
        assert ran.code == 1 and "broken" in ran.err and "hint:" in ran.err
        assert "fault of mmscore" not in ran.err
        kept = lines(out / "predictions.jsonl")
        assert len(kept) == 4 and {one["status"] for one in kept} == {"ok"}
        again = run_cli("run", "--resume", str(out), "--progress", "none")
    assert again.code == 0 and len(lines(out / "predictions.jsonl")) == 12
    assert json.loads((out / "report.json").read_text(encoding="utf-8"))["status"]["ok"] == 12
