"""PMC-VQA from its table and archive to its scores."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, run_cli
from support.server import Request, Response, reply, serve

from mmscore.benchmarks import pmc_vqa
from mmscore.benchmarks.base import Options
from mmscore.dataset.hub.hub_files import locate
from mmscore.errors import DataError
from mmscore.model.prompts import choice_prompt
from mmscore.types import Media, Sample, Text

SAMPLES = ROOT / "data" / "samples" / "pmc_vqa"

PROMPT = (
    "Answer the following multiple choice question. The entire content of your response should be "
    "of the following format: 'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of "
    "A,B,C,D.\n\n{}\n\nA) {}\nB) {}\nC) {}\nD) {}"
)


def samples(data: Path, **options: Any) -> list[Sample]:
    return list(pmc_vqa.BENCHMARK.samples(locate(str(data), "pmc_vqa"), Options(**options)))


def asked(sample: Sample) -> str:
    part = sample.messages[0].content[1]
    assert isinstance(part, Text)
    return part.text


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES, tmp_path / "data"))


def test_rows_become_prompts_with_options_freed_of_their_marks() -> None:
    found = samples(SAMPLES)
    assert [sample.id for sample in found] == [str(number) for number in range(10)]
    assert asked(found[0]) == PROMPT.format(
        "Which shape is bright?", "square", "circle", "none of them", "both of them"
    )
    assert asked(found[3]) == PROMPT.format(
        'Where is the "bar", if any?\nSee arrow.',
        "Left, top", "none of them", "both of them", "cannot be told",
    )  # fmt: skip
    assert asked(found[4]) == PROMPT.format("What do {braces} mean?", "{b}", "{a}", "{}", "{0}")
    assert asked(found[5]) == PROMPT.format("Which option?", "B:w", "A:y", "x", "z")
    assert [sample.target for sample in found[:3]] == ["A", "B", "C"]
    assert found[0].metadata == {"figure_path": "PMC0000001_FIG1.jpg"}
    media = found[0].messages[0].content[0]
    assert isinstance(media, Media) and media.source is not None
    assert media.source.exists() and media.source.read()


def test_another_template_and_an_unpacked_archive(copy: Path) -> None:
    with zipfile.ZipFile(copy / "images.zip") as archive:
        archive.extractall(copy)
    (copy / "images.zip").unlink()
    found = samples(copy, prompt_template="{letters}|{question}|{choices}")
    assert asked(found[1]).startswith("A,B,C,D|Which shape is dark?|A) square\nB)")
    assert all(medium.source.exists() for medium in map(media_of, found) if medium.source)


def media_of(sample: Sample) -> Media:
    part = sample.messages[0].content[0]
    assert isinstance(part, Media)
    return part


def test_option_prompts_and_marks_are_those_of_the_golden_files(
    golden: Callable[[str], Any],
) -> None:
    from mmscore.scoring.answers import clean_option

    for case in golden("pmc_choice_prefix"):
        assert clean_option(case["in"]["choice"], case["in"]["letter"]) == case["out"], case
    for case in golden("mcq_prompt"):
        given = case["in"]
        from mmscore.model.prompts import CHOICE_TEMPLATES

        template = CHOICE_TEMPLATES.get(given["template"], given["template"])
        assert choice_prompt(template, given["question"], given["choices"]) == case["out"], case


def test_replies_are_read_as_the_golden_file_says(golden: Callable[[str], Any]) -> None:
    four = [
        case
        for case in golden("mcq_parse")
        if case["in"]["n_choices"] == 4
        and case["in"]["lang"] == "en"
        and not case["in"]["multiple"]
    ]
    assert len(four) > 200
    sample = samples(SAMPLES)[0]
    for case in four:
        read = pmc_vqa.parse(case["in"]["text"], sample)
        assert (read.value or "") == case["out"], case
        right = pmc_vqa.score(read.value, sample)
        assert right == {"accuracy": float(case["out"] == "A")}


def test_a_missing_column_is_named_with_the_nearest(copy: Path) -> None:
    table = copy / "test_clean.csv"
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace("Figure_path", "figure path"), encoding="utf-8")
    with pytest.raises(DataError, match="no column `Figure_path`") as caught:
        samples(copy)
    assert caught.value.hint == "did you mean `figure path`?"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: row.replace("PMC0000001_FIG2.jpg", " "), "names no figure"),
        (lambda row: row + ",more", "line 4"),
        (lambda row: row.rpartition(",")[0], "line 4"),
    ],
)
def test_a_bad_row_is_named(copy: Path, change: Callable[[str], str], words: str) -> None:
    table = copy / "test_clean.csv"
    rows = table.read_text(encoding="utf-8").split("\n")
    rows[3] = change(rows[3])
    table.write_text("\n".join(rows), encoding="utf-8")
    with pytest.raises(DataError, match=words):
        samples(copy)


def test_odd_but_legal_rows_carry_a_warning(copy: Path) -> None:
    table = copy / "test_clean.csv"
    rows = table.read_text(encoding="utf-8").split("\n")
    rows[3] = rows[3].replace(" B:ring ", " B: ").rpartition(",")[0] + ",E"
    table.write_text("\n".join(rows), encoding="utf-8")
    warnings = samples(copy)[2].warnings
    assert len(warnings) == 2 and "line 4" in warnings[0]
    assert "`E`" in warnings[0] and "option B" in warnings[1]


def test_all_missing_figures_are_named_before_the_first_request(copy: Path) -> None:
    table = copy / "test_clean.csv"
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace("0000002_FIG10", "9_FIG9").replace("1_FIG2", "8_FIG8"))
    with serve(reply("ANSWER: A")) as server:
        ran = run_cli(
            "run", "pmc_vqa", "--data", str(copy), "--model", "m", "--api-url", server.url
        )
    assert ran.code == 1 and not server.requests
    assert "PMC9_FIG9.jpg" in ran.err and "PMC0000008_FIG8.jpg" in ran.err
    assert "2 media of 7 samples cannot be found" in ran.err


def test_a_run_from_file_to_table(tmp_path: Path) -> None:
    right = {asked(sample): sample.target for sample in samples(SAMPLES)}

    def answer(request: Request) -> Response:
        letter = right[request.prompt]
        return reply("I cannot say" if letter == "D" else f"ANSWER: {letter}")

    with serve(answer) as server:
        ran = run_cli(
            "run", "pmc_vqa", "--data", str(SAMPLES), "--model", "m", "--api-url", server.url,
            "--out", str(tmp_path / "out"), "--progress", "none",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    report = json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))
    assert report["overall"] == {"accuracy": 0.9}
    assert "PMC-VQA" in ran.out
