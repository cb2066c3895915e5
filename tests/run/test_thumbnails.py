"""Small pictures in the HTML report, made from the data set where it still is."""

from __future__ import annotations

import base64
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import run_cli
from support.pages import Page
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
    made = thumbnails.thumbnails(load(run), side=200)
    assert set(made.uris) == places(run) and len(made.uris) < 24
    assert not made.left_out
    for uri in made.uris.values():
        head, _, text = uri.partition(",")
        seen = check_image(base64.b64decode(text))
        assert head == "data:image/webp;base64" and seen.mime == "image/webp"
        assert max(seen.width, seen.height) == 200


def test_the_html_report_shows_them(run: Path) -> None:
    assert run_cli("report", str(run)).code == 0
    page = (run / "report.html").read_text(encoding="utf-8")
    assert page.count("data:image/webp;base64,") == len(places(run))


def test_without_the_data_the_report_is_written_all_the_same(run: Path) -> None:
    shutil.rmtree(run.parent / "SLAKE")
    ran = run_cli("report", str(run))
    assert ran.code == 0 and "Traceback" not in ran.err
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "data:image/webp" not in page
    ((why, sentence, number),) = Page(page).data("samples")["images"][1]
    assert (why, number) == ("gone", len(places(run)))
    assert "SLAKE" in sentence and str(run.parent) not in page


def test_an_image_that_was_not_the_one_sent_is_left_out(run: Path) -> None:
    data = run.parent / "SLAKE"
    path = run / "predictions.jsonl"
    text = path.read_text(encoding="utf-8")
    note: Any = json.loads(text.splitlines()[0])["media"][0]
    path.write_text(text.replace(note["sha256"], "0" * 64), encoding="utf-8")
    made = thumbnails.thumbnails(load(run))
    assert note["place"] not in made.uris and len(made.uris) == len(places(run)) - 1
    assert made.left_out == {("changed", ""): 1}
    assert data.is_dir()


def test_where_not_all_fit_those_of_wrong_samples_come_first(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = run / "scores.jsonl"
    scores = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    predictions = (run / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
    last = max(map(json.loads, predictions), key=lambda one: int(one["index"]))
    for score in scores:
        score["metrics"] = {"accuracy": float(score["id"] != last["id"])}
    path.write_text("".join(json.dumps(score) + "\n" for score in scores), encoding="utf-8")
    monkeypatch.setattr(thumbnails, "MOST", 2)
    made = thumbnails.thumbnails(load(run))
    assert last["media"][0]["place"] in made.uris and len(made.uris) == 2
    assert made.left_out == {("room", ""): len(places(run)) - 2}
    monkeypatch.setattr(thumbnails, "MOST", 100)
    monkeypatch.setattr(thumbnails, "MOST_BYTES", len(made.uris[last["media"][0]["place"]]) + 1)
    made = thumbnails.thumbnails(load(run))
    assert [*made.uris] == [last["media"][0]["place"]]
    assert made.left_out == {("room", ""): len(places(run)) - 1}


def test_no_image_is_made_where_none_is_wanted(run: Path) -> None:
    assert not thumbnails.thumbnails(load(run), side=0).uris


def test_what_is_no_image_has_no_thumbnail() -> None:
    with pytest.raises(MediaError):
        thumbnail(b"no image", 100)
