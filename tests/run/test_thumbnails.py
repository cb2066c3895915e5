"""Small pictures in the HTML report, made from the data set where it still is."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import run_cli
from support.server import reply, serve

from mmscore.cli import demo
from mmscore.dataset.media.image import check_image, thumbnail
from mmscore.errors import MediaError
from mmscore.report import load
from mmscore.run import thumbnails


@pytest.fixture
def run(tmp_path: Path) -> Path:
    demo.draw(tmp_path / "SLAKE")
    with serve(reply("ANSWER: x")) as server:
        ran = run_cli(
            *("run", "slake", "--data", str(tmp_path / "SLAKE"), "--model", "m"),
            *("--api-url", server.url, "--out", str(tmp_path / "run"), "--progress", "none"),
        )
    assert ran.code == 0, ran.err
    return tmp_path / "run"


def places(run: Path) -> set[str]:
    lines = (run / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    return {note["place"] for line in lines for note in json.loads(line)["media"]}


def test_every_image_is_made_once_and_small(run: Path) -> None:
    made = thumbnails.thumbnails(load(run))
    assert set(made) == places(run) and len(made) < 24
    for uri in made.values():
        head, _, text = uri.partition(",")
        seen = check_image(base64.b64decode(text))
        assert head == "data:image/jpeg;base64" and seen.mime == "image/jpeg"
        assert max(seen.width, seen.height) <= thumbnails.SIDE


def test_the_html_report_shows_them(run: Path) -> None:
    assert run_cli("report", str(run)).code == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/jpeg;base64,") == len(places(run))


def test_without_the_data_the_report_is_written_all_the_same(run: Path) -> None:
    shutil.rmtree(run.parent / "SLAKE")
    ran = run_cli("report", str(run))
    assert ran.code == 0 and "Traceback" not in ran.err
    assert "data:image/jpeg" not in (run / "report.html").read_text(encoding="utf-8")


def test_an_image_that_was_not_the_one_sent_is_left_out(run: Path) -> None:
    data = run.parent / "SLAKE"
    path = run / "predictions.jsonl"
    text = path.read_text(encoding="utf-8")
    note: Any = json.loads(text.splitlines()[0])["media"][0]
    path.write_text(text.replace(note["sha256"], "0" * 64), encoding="utf-8")
    made = thumbnails.thumbnails(load(run))
    assert note["place"] not in made and len(made) == len(places(run)) - 1
    assert data.is_dir()


def test_no_more_than_fit(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thumbnails, "MOST", 2)
    assert len(thumbnails.thumbnails(load(run))) == 2
    monkeypatch.setattr(thumbnails, "MOST_BYTES", 10)
    assert not thumbnails.thumbnails(load(run))


def test_what_is_no_image_has_no_thumbnail() -> None:
    with pytest.raises(MediaError):
        thumbnail(b"no image", 100)
