"""CountQA from its Parquet files to its scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from small_parquet import write
from support import ROOT, run_cli
from support.server import Request, Response, reply, serve

from mmscore.benchmarks import BENCHMARKS, count_qa
from mmscore.benchmarks.base import Options
from mmscore.dataset.hub.hub_files import locate
from mmscore.errors import DataError
from mmscore.types import Media, Sample, Text

SAMPLES = ROOT / "data" / "samples" / "count_qa"

PICTURE = (SAMPLES / "data" / "beside.png").read_bytes()


def samples(data: Path, **options: Any) -> list[Sample]:
    files = locate(str(data), "count_qa")
    return list(count_qa.BENCHMARK.samples(files, Options(**options)))


def row(questions: Any = ("How many?",), answers: Any = ("3",), **more: Any) -> dict[str, Any]:
    image = {"bytes": PICTURE, "path": "a.png"}
    lists = {"questions": list(questions), "answers": list(answers), "categories": []}
    return {"image": image, **lists, "is_focused": True, **more}


def table(folder: Path, *rows: dict[str, Any], name: str = "test-00000-of-00001") -> Path:
    (folder / "data").mkdir(exist_ok=True)
    write(folder / "data" / f"{name}.parquet", rows)
    return folder


def image_of(sample: Sample) -> Media:
    part = sample.messages[1].content[0]
    assert isinstance(part, Media)
    return part


def test_the_prompt_is_the_papers() -> None:
    assert count_qa.SYSTEM_PROMPT == (
        "You are a helpful assistant that counts the number of items in an image. The user will "
        "provide an image and ask a question about the number of a certain type of item in the "
        "image. If the user question is referring to multiple objects, it means that you need to "
        "provide a sum of the number of items. You will count the number of items and return the "
        "number as an integer. Your output should STRICTLY be a single integer and nothing else."
    )


def test_each_question_of_each_row_is_a_sample_with_an_id_of_its_own() -> None:
    found = samples(SAMPLES)
    assert [(s.id, s.target) for s in found] == [
        ("1-1", "1"),
        ("2-1", "12"),
        ("2-2", "24"),
        ("3-1", "0"),
        ("3-2", "3"),
        ("4-1", "400"),
        ("4-2", "13"),
        ("5-1", "20"),
        ("6-1", "+7"),
        ("6-2", "１２"),
    ]
    assert found[1].metadata == {"is_focused": False, "categories": ["Tools", "Office"]}
    assert [message.role for message in found[4].messages] == ["system", "user"]
    assert found[4].messages[0].content == count_qa.SYSTEM_PROMPT
    assert found[4].messages[1].content[1] == Text(" How many {x}\nare there? ")


def test_photographs_are_read_late_from_cells_and_from_files_beside_the_table(
    tmp_path: Path,
) -> None:
    inside, beside = image_of(samples(SAMPLES)[0]), image_of(samples(SAMPLES)[7])
    assert inside.source is not None and beside.source is not None
    assert inside.source.read().startswith(b"\x89PNG") and beside.source.read() == PICTURE
    large = PICTURE + bytes(50_000)
    found = samples(table(tmp_path, row(image={"bytes": large, "path": "a.png"})))
    source = image_of(found[0]).source
    assert source is not None and not hasattr(source, "data"), "a large cell stays in its file"
    assert source.read() == large


def test_files_of_the_split_come_in_order_and_rows_count_on(tmp_path: Path) -> None:
    table(tmp_path, row(), name="test-00001-of-00002")
    table(tmp_path, row(answers=["8"]), row(), name="test-00000-of-00002")
    table(tmp_path, row(answers=["9"]), name="train-00000-of-00001")
    assert [(s.id, s.target) for s in samples(tmp_path)] == [
        ("1-1", "8"),
        ("2-1", "3"),
        ("3-1", "3"),
    ]
    assert len(samples(tmp_path / "data")) == 3, "the folder of the tables itself will do"
    assert len(samples(tmp_path / "data" / "test-00000-of-00002.parquet")) == 2


def test_a_part_that_is_missing_is_named_unless_one_file_is_meant(tmp_path: Path) -> None:
    table(tmp_path, row(), name="test-00001-of-00002")
    with pytest.raises(DataError, match="1 of 2 parts of split `test`, part 00000 is missing"):
        samples(tmp_path)
    assert len(samples(tmp_path / "data" / "test-00001-of-00002.parquet")) == 1


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (row(["a?", "b?", "c?"], ["1", "2"]), ["row 2", "3 questions and 2 answers"]),
        (row(answers=["12.0"]), ["row 2", "`12.0` as answer 1", "expected an integer"]),
        (row(answers=["1,024"]), ["row 2", "`1,024`"]),
        (row(answers=[None]), ["row 2", "`None` as answer 1"]),
        (row(questions=[None]), ["row 2", "`None` as question 1", "expected a text"]),
        (row(answers=["9" * 400]), ["row 2", "as answer 1"]),
        (row(questions=None or [], answers=["1"]), ["row 2", "0 questions and 1 answers"]),
        (row(image=None), ["row 2", "column `image`", "`None`"]),
        (row(image={"bytes": None, "path": None}), ["row 2", "column `image`"]),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, bad: dict[str, Any], words: list[str]) -> None:
    table(tmp_path, row(), bad)
    with pytest.raises(DataError) as caught:
        samples(tmp_path)
    for word in words:
        assert word in caught.value.message


def test_a_table_of_another_name_is_read_where_there_are_no_parts(tmp_path: Path) -> None:
    table(tmp_path, row(), name="test-mine")
    assert len(samples(tmp_path)) == 1
    table(tmp_path, row(), name="test-00000-of-00001")
    assert len(samples(tmp_path)) == 1, "and not beside the parts"


def test_a_file_of_another_kind_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no `data/test-\*\.parquet`.*an empty folder"):
        samples(tmp_path)
    table(tmp_path, row())
    whole = (tmp_path / "data/test-00000-of-00001.parquet").read_bytes()
    (tmp_path / "data/test-00000-of-00001.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"test-00000-of-00001\.parquet"):
        samples(tmp_path)


def test_replies_are_scored_as_the_golden_file_says(golden: Callable[[str], Any]) -> None:
    sample = samples(SAMPLES)[0]
    for case in golden("count_score"):
        target = case["in"]["reference"]
        if isinstance(case["out"], dict) and "raises" in case["out"]:
            continue
        one = Sample("1", "default", sample.messages, str(target))
        read = count_qa.parse(case["in"]["prediction"], one)
        expected = case["out"]
        assert (read.value or "") == expected["extracted"], case
        assert count_qa.score(read.value, one) == {
            "accuracy": expected["acc"],
            "relaxed_acc": expected["relaxed_acc"],
        }, case


def test_a_count_too_long_to_compare_is_refused_at_once() -> None:
    with pytest.raises(DataError, match="digits"):
        count_qa.parse("9" * 200_000, samples(SAMPLES)[0])


def test_a_run_from_file_to_table(tmp_path: Path) -> None:
    targets = {s.messages[1].content[1].text: s.target for s in samples(SAMPLES)}  # type: ignore[union-attr]

    def answer(request: Request) -> Response:
        target = targets[request.prompt]
        return reply("20 or so" if target == "20" else "391" if target == "400" else f"{target}.")

    with serve(answer) as server:
        ran = run_cli(
            "run", "count_qa", "--data", str(SAMPLES), "--model", "m", "--api-url", server.url,
            "--out", str(tmp_path / "out"), "--progress", "none",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert report["overall"] == {"accuracy": 0.9, "relaxed_acc": 1.0}
    assert set(report["groups"]) == {"is_focused", "categories"}
    assert "CountQA" in ran.out and "relaxed_acc" in ran.out


def test_it_is_listed() -> None:
    assert BENCHMARKS["count_qa"].metrics == ("accuracy", "relaxed_acc")
