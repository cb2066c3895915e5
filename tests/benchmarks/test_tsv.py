"""VLMEvalKit's tables: prompts, cells that are text, images wherever they are, scores."""

from __future__ import annotations

import base64
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import run_cli
from support.server import Request, reply, serve

from mmscore.benchmarks import tsv_mcq, tsv_vqa
from mmscore.benchmarks.base import Options
from mmscore.dataset.hub.hub_files import locate
from mmscore.dataset.media.image import prepare_image
from mmscore.model.request import media_of, text_of
from mmscore.run.task import run_task
from mmscore.types import Sample


@pytest.fixture(scope="module")
def picture() -> bytes:
    """A small PNG, longer in base64 than a pointer can be."""
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = b"".join(b"\0" + bytes(24) for _ in range(8))
    head = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def write(folder: Path, *rows: dict[str, str], name: str = "set.tsv") -> Path:
    """A table of these rows; cells are quoted."""
    columns = list(dict.fromkeys(column for row in rows for column in row))

    def line(cells: list[str]) -> str:
        return "\t".join('"' + cell.replace('"', '""') + '"' for cell in cells) + "\n"

    lines = [line(columns), *(line([row.get(column, "") for column in columns]) for row in rows)]
    (folder / name).write_text("".join(lines), encoding="utf-8")
    return folder / name


def question(index: object, **cells: str) -> dict[str, str]:
    asked = {"index": str(index), "question": "Which?", "A": "Circle", "B": "Square", "answer": "A"}
    return {**asked, **cells}


def mcq(path: Path, **options: Any) -> list[Sample]:
    return list(tsv_mcq.samples(locate(str(path), "tsv_mcq"), Options(**options)))


def vqa(path: Path, **options: Any) -> list[Sample]:
    return list(tsv_vqa.samples(locate(str(path), "tsv_vqa"), Options(**options)))


def images(sample: Sample) -> list[bytes]:
    return [medium.source.read() for medium in media_of(sample.messages) if medium.source]


# --- prompts -------------------------------------------------------------------------------------


def test_the_prompt_is_vlmevalkit_s_to_the_character(tmp_path: Path) -> None:
    row = question(1, C="None", D="", E="nan", hint="Look closely.", category="Shapes")
    (sample,) = mcq(write(tmp_path, row))
    assert text_of(sample.messages) == (
        "Hint: Look closely.\n"
        "Question: Which?\n"
        "Options:\nA. Circle\nB. Square\nC. None\nE. nan\n"
        "Please select the correct answer from the options above. \n"
    )
    assert sample.metadata == {"index": "1", "category": "Shapes", "letters": "ABCE"}
    assert tsv_mcq.parse("E", sample).value == "E"
    assert tsv_mcq.parse("it is none", sample).value == "C"


def test_without_a_hint_there_is_no_line_of_it(tmp_path: Path) -> None:
    (sample,) = mcq(write(tmp_path, question(1, hint="")))
    assert text_of(sample.messages).startswith("Question: Which?\nOptions:\n")


def test_a_template_replaces_the_prompt(tmp_path: Path) -> None:
    path = write(tmp_path, question(1, hint="h"))
    (sample,) = mcq(path, prompt_template='{hint}|{question}|{options}|{"a": 1}')
    assert text_of(sample.messages) == 'h|Which?|A. Circle\nB. Square\n|{"a": 1}'
    (sample,) = vqa(path, prompt_template="{question}\n用一个单词或短语回答问题。")
    assert text_of(sample.messages) == "Which?\n用一个单词或短语回答问题。"


@pytest.mark.parametrize("text", ["None", "NA", "nan", "null", "", "N/A"])
def test_cells_are_text(text: str, tmp_path: Path) -> None:
    (sample,) = vqa(write(tmp_path, {"index": "NA", "question": "None", "answer": text}))
    assert (sample.id, sample.target) == ("NA", text or None)
    assert text_of(sample.messages) == "None"


# --- images --------------------------------------------------------------------------------------


def test_images_come_first_and_in_order(tmp_path: Path, picture: bytes) -> None:
    text = base64.b64encode(picture).decode()
    rows = [
        question(1, image=text),
        question(2, image="1"),
        question(3, image=json.dumps([text, text])),
        question(4, image=str([text, text])),
        question(5, image="data:image/png;base64," + text),
        question(6, image="3"),
        question(7, image="2"),
    ]
    samples = mcq(write(tmp_path, *rows))
    assert [images(sample) for sample in samples] == [
        *([[picture]] * 2), *([[picture, picture]] * 2), [picture], [picture, picture], [picture],
    ]  # fmt: skip
    (message,) = samples[2].messages
    kinds = [type(part).__name__ for part in message.content]
    assert kinds == ["Media", "Media", "Text"]


def test_paths_one_or_a_list_beside_the_table(tmp_path: Path, picture: bytes) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(picture)
    (tmp_path / "b.png").write_bytes(picture)
    rows = [
        question(1, image_path="images/a.png"),
        question(2, image_path="['images/a.png', 'b.png']"),
        question(3, image_path=json.dumps([str(tmp_path / "b.png")])),
        question(4, image_path="http://127.0.0.1:9/c.png"),
    ]
    samples = mcq(write(tmp_path, *rows))
    assert [len(images(sample)) for sample in samples] == [1, 2, 1, 0]
    assert media_of(samples[3].messages)[0].url == "http://127.0.0.1:9/c.png"


def test_a_table_without_images_is_asked_without(tmp_path: Path) -> None:
    (sample,) = mcq(write(tmp_path, question(1)))
    assert not media_of(sample.messages) and sample.problem is None


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([question(1, image="9")], "no row of that index"),
        ([question(1, image="2"), question(2, image="1")], "in a circle: 2 -> 1 -> 2"),
        ([question(1, image="1")], "in a circle: 1 -> 1"),
        ([question(1, image="a/picture.jpg")], "column `image_path`"),
        ([question(1, image="")], "no image"),
        ([question(1, image="[" + "x" * 100 + "]")], "no list of base64"),
        ([question(1, image_path="[not a list]")], "no path and no list"),
        ([question(1, answer="E")], "expected one of A, B"),
        ([question(1, answer="Square")], "write B"),
        ([question(1, answer="b")], "write B"),
        ([question(1, B="")], "1 option"),
    ],
)
def test_a_row_that_cannot_be_asked_says_why(
    rows: list[dict[str, str]], sentence: str, tmp_path: Path
) -> None:
    problem = mcq(write(tmp_path, *rows))[0].problem
    assert problem and sentence in problem and "line 2" in problem and "\n" not in problem


@pytest.mark.parametrize("column", ["index", "question", "A"])
def test_a_missing_column_is_named(column: str, tmp_path: Path) -> None:
    row = {name: cell for name, cell in question(1).items() if name != column}
    ran = run_cli("info", "tsv_mcq", "--data", str(write(tmp_path, row)))
    assert ran.code == 1 and f"no column `{column}`" in ran.err


def test_a_pointer_reaches_beyond_limit_and_shard(tmp_path: Path, picture: bytes) -> None:
    text = base64.b64encode(picture).decode()
    rows = [question(1, image="3"), question(2, image="3"), question(3, image=text)]
    path = write(tmp_path, *rows)
    with serve(reply("A")) as server:
        task = {"model": "m", "api_url": server.url, "datasets": ["tsv_mcq"],
                "dataset_args": {"tsv_mcq": {"local_path": str(path)}}}  # fmt: skip
        run_task({**task, "limit": 1, "out": str(tmp_path / "limited")})
        run_task({**task, "shard": "2/3", "out": str(tmp_path / "part")})
        sent = [request.json["messages"][0]["content"][0] for request in server.requests]
    assert len(sent) == 2 and sent[0] == sent[1]
    assert sent[0]["image_url"]["url"] == "data:image/png;base64," + text


def test_a_large_table_is_not_held_in_memory(tmp_path: Path) -> None:
    cell = base64.b64encode(bytes(range(256)) * 1200).decode()
    path = write(tmp_path, *(question(number, image=cell) for number in range(60)))
    assert path.stat().st_size > 20_000_000
    tracemalloc.start()
    samples = mcq(path)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(samples) == 60 and held < 1_000_000


# --- scores --------------------------------------------------------------------------------------


def test_every_golden_reply_means_what_it_means_there(
    golden: Callable[[str], list[dict[str, Any]]],
) -> None:
    for row in golden("vlmevalkit_infer"):
        choices = row["in"]["choices"]
        sample = Sample("1", "s", (), None, tuple(choices.values()), {"letters": "".join(choices)})
        found = tsv_mcq.parse(row["in"]["text"], sample).value or ""
        assert found == row["out"], row


@pytest.mark.parametrize(
    ("match", "reply_text", "metrics"),
    [
        ("exact", "Circle", {"exact_match": 1.0}),
        ("exact", " Circle\n", {"exact_match": 1.0}),
        ("exact", "circle", {"exact_match": 0.0}),
        ("caseless", "cIRCLE", {"caseless_match": 1.0}),
        ("caseless", "the circle", {"caseless_match": 0.0}),
        ("normalized", "The circle.", {"normalized_match": 1.0}),
    ],
)
def test_how_a_reply_is_compared(
    match: str, reply_text: str, metrics: dict[str, float], tmp_path: Path
) -> None:
    path = write(tmp_path, {"index": "1", "question": "?", "answer": "Circle "})
    (sample,) = vqa(path, extra={"match": match})
    assert tsv_vqa.score(tsv_vqa.parse(reply_text, sample).value, sample) == metrics


def test_a_row_without_an_answer_is_asked_and_not_scored(tmp_path: Path) -> None:
    (sample,) = mcq(write(tmp_path, question(1, answer="")))
    assert sample.target is None and sample.warnings and tsv_mcq.score("A", sample) == {}


def test_the_whole_job_on_the_tables(shared: Path, tmp_path: Path) -> None:
    def answer(request: Request) -> Any:
        return reply("B" if "color" in request.prompt else "A")

    data = shared / "datasets" / "lmu" / "custom_mcq.tsv"
    with serve(answer) as server:
        ran = run_cli(
            *("run", "tsv_mcq", "--data", str(data), "--model", "m", "--api-url", server.url),
            *("--out", str(tmp_path / "out"), "--progress", "none"),
        )
    assert ran.code == 0, ran.err
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    groups = {row["value"]: (row["num"], row["score"]) for row in report["groups"]["category"]}
    assert report["overall"] == {"accuracy": 3 / 5}
    assert groups == {"Shapes": (3, 2 / 3), "Colors": (2, 0.5)}
    assert "By category" in ran.out


def test_the_drawn_tables_have_images_that_can_be_sent(shared: Path) -> None:
    folder = shared / "datasets" / "lmu"
    counts = []
    for name in ("custom_mcq", "custom_mcq_base64", "custom_vqa"):
        for sample in vqa(folder / f"{name}.tsv"):
            assert sample.problem is None
            counts.append(len([prepare_image(data) for data in images(sample)]))
    assert counts == [1] * 5 + [1, 1, 2] + [1] * 5


def test_a_match_that_is_none_is_named(tmp_path: Path) -> None:
    path = str(write(tmp_path, question(1)))
    ran = run_cli("info", "tsv_vqa", "--data", path, "--extra", "match=loose")
    assert ran.code == 1 and "`match` is `loose`" in ran.err
