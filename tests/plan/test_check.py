"""The pre-flight: it finds what would spoil a run, and says nothing of what would not."""

from __future__ import annotations

import csv
import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from small_parquet import write
from support import ROOT, Ran, run_cli
from support.server import reply, serve, status

SAMPLES = ROOT / "data" / "samples"


def picture(width: int, height: int, kind: str = "JPEG") -> bytes:
    out = io.BytesIO()
    Image.effect_noise((width, height), 90).convert("RGB").save(out, kind)
    return out.getvalue()


def draw(folder: Path, members: dict[str, bytes], *rows: tuple[str, ...]) -> Path:
    """A PMC-VQA with these figures; a row is figure, four options and the answer."""
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for name, data in members.items():
            archive.writestr(f"images/{name}", data)
    with (folder / "test_clean.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        letters = [f"Choice {letter}" for letter in "ABCD"]
        table.writerow(["Figure_path", "Question", *letters, "Answer_label"])
        table.writerows([row[0], f"What is {n}?", *row[1:]] for n, row in enumerate(rows))
    return folder


def check(name: str, data: Path, *more: str) -> tuple[Ran, dict[str, Any]]:
    ran = run_cli("check", name, "--data", str(data), "--json", *more)
    return ran, json.loads(ran.out)[0] if ran.out else {}


OPTIONS = ("red", "blue", "green", "grey")


@pytest.mark.parametrize("name", ["slake", "pmc_vqa", "count_qa"])
def test_the_samples_are_clean(name: str) -> None:
    ran, found = check(name, SAMPLES / name)
    assert ran.code == 0, found["problems"]
    assert found["clean"] and not found["problems"] and sum(found["counts"].values()) > 5
    text = run_cli("check", name, "--data", str(SAMPLES / name))
    assert text.code == 0 and text.out.endswith("a run would start clean\n")
    assert "not asked: give --api-url and --model" in text.out


@pytest.mark.parametrize("name", ["general_vqa", "general_vmcq"])
def test_the_samples_that_show_odd_placeholders_are_problems_for_them_alone(name: str) -> None:
    ran, found = check(name, SAMPLES / name)
    assert ran.code == 1 and sum(found["counts"].values()) > 5
    *faults, told = found["problems"]
    assert all("nothing refers to" in one or "no medium for" in one for one in faults)
    assert told.startswith("9 of 10 requests carry media")


def test_every_kind_of_bad_medium_is_found(tmp_path: Path) -> None:
    whole = picture(60, 60)
    members = {
        "good.jpg": whole,
        "cut.jpg": whole[: len(whole) * 6 // 10],
        "noise.jpg": whole[:200] + bytes(300) + whole[500:-2] + whole[-2:],
        "text.png": b"this is no picture",
        "empty.jpg": b"",
        "tiny.png": picture(17, 21, "PNG"),
        "web.webp": picture(40, 40, "WEBP"),
    }
    rows = [(name, *OPTIONS, "A") for name in (*members, "gone.jpg", "gone.jpg")]
    ran, found = check("pmc_vqa", draw(tmp_path, members, *rows))
    assert ran.code == 1 and not found["clean"]
    problems = "\n".join(found["problems"])
    assert "images/gone.jpg" in problems and "shown by samples 7, 8" in problems
    for name in ("cut.jpg", "text.png", "empty.jpg"):
        assert f"images/{name}" in problems
    assert "good.jpg" not in problems
    notes = "\n".join(found["notes"])
    assert "images/tiny.png (17x21)" in notes and "--min-side 28" in notes
    assert "1 image is image/webp" in notes
    assert found["smallest"] == [17, 21, "images/tiny.png"]
    text = run_cli("check", "pmc_vqa", "--data", str(tmp_path))
    assert text.out.rstrip().endswith("problems") and "problem: " in text.out


def test_large_images_and_odd_options_are_noted(tmp_path: Path) -> None:
    out = io.BytesIO()
    Image.effect_noise((3600, 3600), 120).save(out, "PNG")
    rows = [
        ("a.png", "x", "x", "y", "z", "A"),
        ("a.png", *OPTIONS, "E"),
        ("a.png", "", "b", "c", "d", "B"),
    ]
    ran, found = check("pmc_vqa", draw(tmp_path, {"a.png": out.getvalue()}, *rows))
    assert ran.code == 0, found["problems"]
    notes = "\n".join(found["notes"])
    assert "options are alike in sample 0" in notes
    assert "the answer `E`" in notes and "no text for the option A" in notes
    assert "--max-image-bytes" in notes


def test_duplicate_ids_are_problems(tmp_path: Path) -> None:
    data = Path(shutil.copytree(SAMPLES / "slake", tmp_path / "slake"))
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    rows[3]["qid"] = rows[1]["qid"]
    (data / "test.json").write_text(json.dumps(rows), encoding="utf-8")
    ran, found = check("slake", data)
    assert ran.code == 1 and found["problems"] == ["1 sample ids occur twice: 2"]


def test_a_damaged_photograph_in_a_parquet_file_is_found(tmp_path: Path) -> None:
    broken = picture(300, 300)[:9000]
    (tmp_path / "data").mkdir()
    row = {"questions": ["How many?"], "answers": ["1"], "categories": [], "is_focused": None}
    rows = [{**row, "image": {"bytes": broken, "path": "a.jpg"}}]
    write(tmp_path / "data" / "test-00000-of-00001.parquet", rows)
    ran, found = check("count_qa", tmp_path)
    assert ran.code == 1
    (problem,) = found["problems"]
    assert "row 1 column `image`" in problem and problem.endswith("shown by sample 1-1")


def test_one_question_is_asked_where_an_endpoint_is_given() -> None:
    with serve(reply("ANSWER: C")) as server:
        ran, found = check("pmc_vqa", SAMPLES / "pmc_vqa", "--model", "m", "--api-url", server.url)
        assert len(server.requests) == 1
    assert ran.code == 0 and "read as `C`" in found["endpoint"]


@pytest.mark.parametrize(
    ("answer", "words"),
    [(status(401, "bad key"), "bad key"), (status(404, "no model"), "no model")],
)
def test_an_endpoint_that_cannot_be_used_is_exit_code_4(answer: Any, words: str) -> None:
    with serve(answer) as server:
        ran, found = check("slake", SAMPLES / "slake", "--model", "m", "--api-url", server.url)
        assert len(server.requests) == 1
    assert ran.code == 4 and not found["clean"] and words in found["problems"][0]


def test_only_what_a_run_would_ask_is_looked_at(tmp_path: Path) -> None:
    members = {"good.jpg": picture(60, 60), "bad.jpg": b"no picture"}
    rows = [("good.jpg", *OPTIONS, "A"), ("bad.jpg", *OPTIONS, "A")]
    data = draw(tmp_path, members, *rows)
    assert check("pmc_vqa", data, "--limit", "1")[0].code == 0
    assert check("pmc_vqa", data)[0].code == 1


def test_several_benchmarks_end_with_the_worst_code(tmp_path: Path) -> None:
    ran = run_cli("check", "slake", "pmc_vqa", "--data", str(SAMPLES / "slake"))
    assert ran.code == 1 and "no `images.zip`" in ran.err


def test_help_shows_an_example() -> None:
    words: Callable[[str], str] = lambda command: run_cli(command, "--help").out  # noqa: E731
    for command in ("check", "fetch", "cache"):
        assert f"mmscore {command}" in words(command)
        assert "example" in words(command) and len(words(command).splitlines()) < 70
