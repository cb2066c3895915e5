"""The main job on the real test set: 2,094 questions, 180 images, an oracle right or wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support import run_cli

STATISTICS = {
    "en_open": (645, 195.09, 168, 257),
    "en_closed": (416, 187.99, 162, 253),
    "zh_open": (613, 67.07, 61, 79),
    "zh_closed": (420, 65.44, 60, 82),
}
"""Samples and prompt lengths (mean, least, most) as published with the reference."""


@contextmanager
def mock_endpoint(shared: Path, *options: str) -> Iterator[str]:
    command = [
        sys.executable, str(shared / "tools" / "mock_openai.py"), "--port", "0", "--answers",
        str(shared / "datasets" / "slake" / "answers.jsonl"), *options,
    ]  # fmt: skip
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        # "mock_openai listening on http://127.0.0.1:PORT/v1"
        yield process.stdout.readline().split()[-1].removesuffix("/v1")
    finally:
        process.terminate()
        process.communicate()


def stats(url: str) -> Any:
    with urllib.request.urlopen(f"{url}/__stats") as answer:
        return json.load(answer)


@pytest.mark.parametrize(("accuracy", "concurrency"), [("1.0", "8"), ("0.7", "32")])
def test_the_score_is_what_the_replies_deserve(
    shared: Path, tmp_path: Path, accuracy: str, concurrency: str
) -> None:
    with mock_endpoint(shared, "--oracle-accuracy", accuracy) as url:
        ran = run_cli(
            "run", "slake", "--data", str(shared / "datasets" / "slake"), "--api-url", url,
            "--model", "m", "--out", str(tmp_path / "out"), "--concurrency", concurrency,
        )  # fmt: skip
        seen = stats(url)
    assert ran.code == 0, ran.err
    built = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert built["num"] == seen["requests"] == 2094
    # A wrong turn's "something else" is right nowhere, so the endpoint's own count is the score.
    assert built["overall"]["accuracy"] == sum([1.0] * seen["right"]) / 2094
    assert seen["connections"] <= int(concurrency) + 1
    assert sum(path.stat().st_size for path in (tmp_path / "out").iterdir()) < 3_000_000


def test_counts_and_prompt_lengths_are_the_published_ones(shared: Path) -> None:
    ran = run_cli("info", "slake", "--data", str(shared / "datasets" / "slake"), "--json")
    data = json.loads(ran.out)["data"]
    assert data["samples"] == 2094 and data["media"] == 180 and data["missing_media"] == 0
    found = {
        name: (row["samples"], row["prompt_length_mean"], row["prompt_length_min"],
               row["prompt_length_max"])
        for name, row in data["subsets"].items()
    }  # fmt: skip
    assert found == STATISTICS
