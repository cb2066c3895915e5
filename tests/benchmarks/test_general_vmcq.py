"""The user's own multiple-choice questions: options, answers, prompts, choices."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, run_cli
from support.server import Request, Response, reply, serve

from mmscore.benchmarks.base import Options
from mmscore.benchmarks.general_vmcq import BENCHMARK, read_options, right_labels, samples
from mmscore.dataset.hub.hub_files import locate
from mmscore.errors import ConfigError, DataError
from mmscore.model.prompts import CHINESE_SINGLE_ANSWER_COT, SINGLE_ANSWER_COT
from mmscore.model.request import media_of
from mmscore.types import Sample, Text

SAMPLES = ROOT / "data" / "samples" / "general_vmcq"


def load(data: Path, **options: Any) -> list[Sample]:
    extra = options.pop("extra", {})
    return list(samples(locate(str(data), "general_vmcq"), Options(extra=extra, **options)))


def only(folder: Path, record: dict[str, Any], **options: Any) -> Sample:
    file = folder / "set.jsonl"
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    (sample,) = load(file, **options)
    return sample


def asking(**columns: Any) -> dict[str, Any]:
    return {"question": "Which?", "options": ["Cat", "Dog"], "answer": "A", **columns}


def prompt_of(sample: Sample) -> str:
    content = sample.messages[0].content
    assert not isinstance(content, str)
    return "".join(part.text if isinstance(part, Text) else f"[{part.kind}]" for part in content)


# --- the sample set -----------------------------------------------------------------------------


def test_the_sample_set_is_asked_whole() -> None:
    found = load(SAMPLES)
    assert [sample.id for sample in found] == [f"shapes/{number}" for number in range(1, 11)]
    assert [sample.problem for sample in found] == [None] * 10
    assert [sample.target for sample in found] == ["B", "B", "B", "a", *"ABBAB", ""]
    assert [len(sample.choices) for sample in found] == [2, 3, 2, 2, 2, 3, 2, 2, 2, 2]
    assert found[2].choices == ("Square", "it's a bar")
    assert found[5].choices == ("None", "One", "Two")
    assert found[8].choices == ("{choices}", "[0, 1)")
    assert prompt_of(found[0]).endswith("Which one is a bar?\n\nA) [image]\nB) [image]")
    assert prompt_of(found[8]).endswith("\n\n{question} ?\n\nA) {choices}\nB) [0, 1)")
    for sample in found:
        for medium in media_of(sample.messages):
            assert medium.source is not None
            assert medium.source.read()


def test_the_command_asks_and_scores(tmp_path: Path) -> None:
    def answer(request: Request) -> Response:
        return reply("It is B.\nANSWER: B" if "What is it?" in request.prompt else "ANSWER: A")

    with serve(answer) as server:
        ran = run_cli(
            *("run", "general_vmcq", "--data", str(SAMPLES), "--model", "m"),
            *("--api-url", server.url, "--out", str(tmp_path / "run"), "--json"),
        )
    assert ran.code == 0, ran.err
    # Rows 2, 3, 5 and 8 are right of the nine that have an answer.
    assert json.loads(ran.out)["overall"]["accuracy"] == pytest.approx(4 / 9)
    sound = next(
        part["input_audio"]
        for request in server.requests
        for part in request.json["messages"][0]["content"]
        if part["type"] == "input_audio"
    )
    assert sound["format"] == "wav"
    assert sound["data"].startswith("UklGR")


# --- options -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"options": ["a", 1, None, 2.5, True]}, ["a", "1", "None", "2.5", "True"]),
        ({"options": '["a", "b"]'}, ["a", "b"]),
        ({"options": "['a', \"it's b\"]"}, ["a", "it's b"]),
        ({"options": "('a', 'b')"}, ["a", "b"]),
        ({"options": r"['\d', 'b']"}, [r"\d", "b"]),
        ({"A": "a", "B": "b", "C": "", "D": None}, ["a", "b"]),
        ({"options": "", "A": "x", "B": 5}, ["x", "5"]),
        ({"options": ["from options", "y"], "A": "a"}, ["from options", "y"]),
    ],
)
def test_options_come_as_lists_texts_and_columns(
    record: dict[str, Any], expected: list[str]
) -> None:
    assert read_options(record) == expected


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"options": "a;b"}, "`options` `a;b` is neither a JSON list nor a Python list"),
    ({"options": "cat,dog,"}, "is neither a JSON list nor a Python list"),
    ({"options": "__import__('os').system('x')"}, "is neither a JSON list nor a Python list"),
    ({"options": "[1+1]"}, "is neither a JSON list nor a Python list"),
    ({"options": "5"}, "is neither a JSON list nor a Python list"),
    ({"options": "[" * 5000}, "is neither a JSON list nor a Python list"),
    ({"options": "-" * 100_000 + "1"}, "is neither a JSON list nor a Python list"),
    ({"options": "1" + "+1" * 100_000}, "is neither a JSON list nor a Python list"),
    ({"options": "['" + "a" * 300_000}, "is neither a JSON list nor a Python list"),
    ({"options": "{'b', 'a'}"}, "is a set, which has no order"),
    ({"options": {"a": 1}}, "`options` is an object, expected a list"),
    ({"options": None}, "no options"),
    ({"options": "", "A": "a", "C": "c"}, "option `B` is empty but option `C` is not"),
    ({"options": ["a", "\ud83d"]}, "option B holds a lone surrogate (U+D83D)"),
    ({"question": "\udc00?"}, "the text holds a lone surrogate"),
    ({"answer": 1}, "`answer` is a number, expected a string"),
    ({"answer": None}, "`answer` is null, expected a string"),
    ({"image_7": 5}, "column `image_7` is a number, expected a path"),
    ({"videos": "v.mp4"}, "column `videos` is a string, expected a list"),
    ({"question": "<audio 1>", "audio_1": "a.ogg", "audio_1_format": "ogg"}, "format `ogg`"),
    ({"question": "<image 1>", "image_1": {"path": ""}}, "path or URL is empty"),
]


@pytest.mark.parametrize(("change", "expected"), BAD_OPTIONS, ids=[bad for _, bad in BAD_OPTIONS])
def test_a_bad_record_is_named(tmp_path: Path, change: dict[str, Any], expected: str) -> None:
    started = time.perf_counter()
    sample = only(tmp_path, asking(**change))
    assert time.perf_counter() - started < 2
    assert sample.problem is not None
    assert sample.problem.startswith(f"`{tmp_path / 'set.jsonl'}` line 1: ")
    assert expected in sample.problem
    assert sample.problem.isprintable()
    assert len(sample.problem) < 700
    assert sample.messages == ()


@pytest.mark.parametrize(
    ("missing", "written", "said"),
    [
        ("question", "qestion", "the record has no column `question`, found `qestion`, "),
        ("answer", "Answer ", "the record has no column `answer`, found `Answer `, "),
        ("options", "option", "no options: "),
    ],
)
def test_a_missing_column_is_named_with_the_nearest(
    tmp_path: Path, missing: str, written: str, said: str
) -> None:
    record = asking()
    mistaken = {written: record.pop(missing), **record}
    problem = str(only(tmp_path, mistaken).problem)
    assert said in problem and problem.endswith(f"(did you mean `{written}`?)")


def test_of_many_columns_only_some_are_named(tmp_path: Path) -> None:
    record = {f"column {number}": "x" * 50 for number in range(10_000)}
    problem = str(only(tmp_path, {**record, "options": ["a", "b"]}).problem)
    assert "no column `question`" in problem and len(problem) < 700


def test_a_hostile_column_name_is_shown_harmless_and_short(tmp_path: Path) -> None:
    record = {"\x1b[2J" + "x" * 100_000: 1, "options": ["a", "b"]}
    problem = str(only(tmp_path, record).problem)
    assert "no column `question`" in problem and problem.isprintable() and len(problem) < 700


ODD: list[tuple[dict[str, Any], str]] = [
    ({"options": ["only"]}, "`options` has 1 option, expected at least 2"),
    ({"options": []}, "`options` has 0 options, expected at least 2"),
    ({"options": '["cat", "dog", ""]'}, "option C is empty"),
    ({"answer": "E"}, "`answer` `E` is no label of the 2 options (A to B)"),
    ({"answer": "dog"}, "`answer` `dog` is the text of option B, expected its label"),
    ({"answer": "A,B"}, "`answer` `A,B` is no label of the 2 options"),
]


@pytest.mark.parametrize(("change", "said"), ODD, ids=[said for _, said in ODD])
def test_what_is_odd_is_asked_and_told_and_refused_by_strict(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    sample = only(tmp_path, asking(**change))
    assert sample.problem is None and prompt_of(sample)
    assert said in sample.warnings[0]
    with pytest.raises(DataError) as caught:
        only(tmp_path, asking(**change), extra={"strict": True})
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("answer", "target", "scored"),
    [
        ("", "", {}),
        (" ", "", {}),
        ([], "", {}),
        (["A", "C"], "A\nC", {}),
        (["A", " A "], "A", {"accuracy": 1.0}),
        ("A\nC", "A\nC", {"accuracy": 0.0}),
    ],
)
def test_only_one_answer_is_scored_by_rule(
    tmp_path: Path, answer: object, target: str, scored: dict[str, float]
) -> None:
    sample = only(tmp_path, asking(answer=answer))
    assert sample.target == target  # a judge is shown the answers a line each
    assert BENCHMARK.score("A", sample) == scored
    assert bool(sample.warnings) == (scored != {"accuracy": 1.0})


def test_strict_ends_the_set_where_the_reference_does(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: column `image_7`"):
        only(tmp_path, asking(image_7=5), extra={"strict": True})


# --- prompts and answers -------------------------------------------------------------------------


def test_the_prompt_can_be_replaced_and_spoken_in_chinese(tmp_path: Path) -> None:
    assert prompt_of(only(tmp_path, asking())).startswith(SINGLE_ANSWER_COT[:60])
    own = only(tmp_path, asking(), prompt_template='{"q": "{question}"} {letters}')
    assert prompt_of(own) == '{"q": "Which?"} A,B'
    chinese = only(tmp_path, asking(), extra={"language": "zh"})
    assert "问题：Which?\n选项：\nA) Cat\nB) Dog\n" in prompt_of(chinese)
    assert BENCHMARK.parse("答案：B", chinese).value == "B"
    by_template = only(tmp_path, asking(), prompt_template=CHINESE_SINGLE_ANSWER_COT)
    assert by_template.metadata == chinese.metadata == {"language": "zh"}
    by_name = only(tmp_path, asking(), prompt_template="SINGLE_ANSWER")
    assert "The entire content of your response" in prompt_of(by_name)


def test_options_of_no_use_are_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="language is `de`, expected en or zh"):
        only(tmp_path, asking(), extra={"language": "de"})


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (["A,C"], ["A", "C"]),
        (["C, A"], ["A", "C"]),
        (["ca"], ["A", "C"]),
        (["A、C"], ["A", "C"]),
        (['["A", "C"]'], ["A", "C"]),
        (["['A']"], ["A"]),
        (["A", "C", "A"], ["A", "C"]),
        (["B"], ["B"]),
    ],
)
def test_several_right_answers_are_a_set_of_labels(answers: list[str], expected: list[str]) -> None:
    assert right_labels(answers, ["x", "y", "z"], multiple=True) == expected


def test_several_right_answers_are_compared_as_sets(tmp_path: Path) -> None:
    record = asking(options=["x", "y", "z"], answer="C,A")
    sample = only(tmp_path, record, extra={"multiple": True})
    assert "[LETTERS]" in prompt_of(sample)
    assert sample.target == "AC"

    def accuracy(text: str) -> float:
        return BENCHMARK.score(BENCHMARK.parse(text, sample).value, sample)["accuracy"]

    assert accuracy("ANSWER: A and C") == accuracy("ANSWER: CA") == 1.0
    assert accuracy("ANSWER: A") == accuracy("ANSWER: A, B, C") == accuracy("") == 0.0


def test_one_right_answer_is_compared_in_either_case(tmp_path: Path) -> None:
    sample = only(tmp_path, asking(answer=" b "))
    assert sample.target == "b"
    assert BENCHMARK.score("B", sample) == {"accuracy": 1.0}
    assert BENCHMARK.score(None, sample) == {"accuracy": 0.0}
    assert BENCHMARK.score("A", Sample("1", "s", (), None)) == {}


def test_thirty_options_are_labelled_and_asked(tmp_path: Path) -> None:
    texts = [f"option {number}" for number in range(30)]
    sample = only(tmp_path, asking(options=texts, answer="3"))
    assert sample.problem is None
    assert "\nZ) option 25\n1) option 26\n2) option 27" in prompt_of(sample)
    assert sample.choices[28] == "option 28"


@pytest.mark.parametrize("text", ["A " * 100_000, "ANSWER: " * 25_000, "B" * 200_000])
def test_a_reply_of_200_000_characters_is_scored_at_once(tmp_path: Path, text: str) -> None:
    sample = only(tmp_path, asking())
    started = time.perf_counter()
    BENCHMARK.score(BENCHMARK.parse(text, sample).value, sample)
    assert time.perf_counter() - started < 0.5  # a debug build on a busy machine
