"""Answers read from replies, and scores of whole lists: what a user of the functions relies on."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from support import load_cases

from mmscore.errors import DataError
from mmscore.scoring import answers
from mmscore.scoring.batch import SCORERS, score_replies
from mmscore.types import Extracted


def table(name: str) -> list[Any]:
    return [pytest.param(row["input"], row["expected"], id=row["why"]) for row in load_cases(name)]


@pytest.mark.parametrize(("answer", "expected"), table("normalize"))
def test_normalize(answer: str, expected: str) -> None:
    assert answers.normalize_answer(answer) == expected


@pytest.mark.parametrize(("reply", "expected"), table("answer_line"))
def test_answer_line(reply: str, expected: list[str]) -> None:
    assert answers.read_answer_line(reply) == Extracted(*expected)
    assert answers.parse_answer_line(reply) == expected[0]


@pytest.mark.parametrize(("reply", "expected"), table("count"))
def test_count(reply: str, expected: list[Any]) -> None:
    assert answers.read_count(reply) == Extracted(*expected)
    assert answers.parse_count(reply) == (None if expected[0] is None else int(expected[0]))


@pytest.mark.parametrize(("case", "expected"), table("choice"))
def test_choice(case: dict[str, Any], expected: list[str]) -> None:
    asked = {"language": case["language"], "multiple": case["multiple"]}
    read = answers.read_choice(case["reply"], case["choices"], **asked)
    assert read == Extracted(expected[0] or None, expected[1])
    assert answers.parse_choice(case["reply"], case["choices"], **asked) == expected[0]


@pytest.mark.parametrize(("case", "expected"), table("option"))
def test_option(case: dict[str, Any], expected: list[str]) -> None:
    options = dict(case["options"])
    assert answers.read_option(case["reply"], options) == Extracted(
        expected[0] or None, expected[1]
    )
    assert answers.infer_option(case["reply"], options) == expected[0]


@pytest.mark.parametrize(("case", "expected"), table("clean_option"))
def test_clean_option(case: dict[str, str], expected: str) -> None:
    assert answers.clean_option(case["option"], case["letter"]) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [(None, ""), (True, "yes"), (False, "no"), (3.14, "3 14"), (-7, "7"), (1e22, "1e 22")],
)
def test_normalize_takes_any_value(answer: object, expected: str) -> None:
    assert answers.normalize_answer(answer) == expected


def test_no_reply_is_an_empty_answer() -> None:
    assert answers.parse_answer_line(None) == ""


def test_lone_surrogates_are_text_like_any_other() -> None:
    assert answers.normalize_answer("The \ud83d.") == "\ufffd"
    assert answers.parse_choice("ANSWER: B \udc00", 4) == "B"
    assert answers.parse_count("\ud800 7 \udfff") == 7
    assert answers.infer_option("\ud800" * 6, {"A": "\ud800", "B": "ab"}) == "A"
    rows = score_replies("slake", ["ANSWER: \ud83d"], ["\ud83d"])
    assert rows == [{"extracted": "\ufffd", "accuracy": 1.0}]


def test_unknown_language_is_named() -> None:
    with pytest.raises(DataError, match="unknown language `fr`, expected `en` or `zh`"):
        answers.parse_choice("B", 4, language="fr")  # type: ignore[arg-type]


def test_each_benchmark_scores_with_its_metrics() -> None:
    assert score_replies("slake", ["ANSWER: Yes."], ["是"]) == [
        {"extracted": "Yes.", "accuracy": 1.0}
    ]
    assert score_replies("count_qa", ["21", "many"], ["20", "20"]) == [
        {"extracted": "21", "accuracy": 0.0, "relaxed_acc": 1.0},
        {"extracted": "", "accuracy": 0.0, "relaxed_acc": 0.0},
    ]
    assert score_replies("pmc_vqa", ["ANSWER: B", "ANSWER: E"], ["b", "B"]) == [
        {"extracted": "B", "accuracy": 1.0},
        {"extracted": "", "accuracy": 0.0},
    ]
    assert score_replies("general_vmcq", ["E", "E"], ["E", "E"], choices=[list("vwxyz"), 4]) == [
        {"extracted": "E", "accuracy": 1.0},
        {"extracted": "", "accuracy": 0.0},
    ]
    assert score_replies("tsv_mcq", ["a cat"], ["B"], choices={"A": "dog", "B": "cat"}) == [
        {"extracted": "B", "accuracy": 1.0}
    ]


def test_a_target_that_is_not_one_answer_is_left_out() -> None:
    rows = score_replies("pmc_vqa", ["A"] * 4, ["", ["A", "B"], [" A ", "A"], "A"])
    assert [row["accuracy"] for row in rows] == [None, None, 1.0, 1.0]


def test_one_set_of_options_serves_all_replies() -> None:
    replies, targets = ["A cat", "a dog"], ["B", "A"]
    shared = score_replies("tsv_mcq", replies, targets, choices=["dog", "cat"])
    own = score_replies("tsv_mcq", replies, targets, choices=[["dog", "cat"]] * 2)
    assert shared == own
    assert [row["extracted"] for row in shared] == ["A", "A"]


@pytest.mark.parametrize(
    ("benchmark", "targets", "choices", "sentence"),
    [
        ("slak", ["a"], None, "no scorer for `slak`, did you mean `slake`\\?"),
        ("???", ["a"], None, "known are `slake`, `count_qa`"),
        ("slake", ["a", "b"], None, "2 targets for 1 replies, expected one for each"),
        ("count_qa", ["1.5"], None, "row 1: the target is `1.5`, expected an integer"),
        ("count_qa", ["1" + "0" * 309], None, "row 1: the target has 310 digits and is too large"),
        ("count_qa", ["9" * 4301], None, "row 1: the integer of the target has 4301 digits"),
        ("general_vmcq", ["A"], None, "the options of the questions are missing"),
        ("general_vmcq", ["A"], [4, 4], "2 sets of options for 1 replies"),
    ],
)
def test_what_cannot_be_scored_is_said(
    benchmark: str, targets: list[str], choices: Any, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        score_replies(benchmark, ["1"], targets, choices=choices)


def test_threads_score_alike() -> None:
    replies = ["ANSWER: CT", "the left lung", "答案：A", "不是"] * 500
    targets = ["ct", "Left Lung", "A", "no"] * 500
    expected = score_replies("slake", replies, targets)
    found: list[object] = []
    workers = [
        threading.Thread(target=lambda: found.append(score_replies("slake", replies, targets)))
        for _ in range(8)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [expected] * 8


def test_scoring_imports_neither_requests_nor_pillow() -> None:
    code = "import sys, mmscore.scoring; print({'requests', 'PIL'} & set(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"


def scored(benchmark: str, given: dict[str, Any]) -> dict[str, Any]:
    (row,) = score_replies(benchmark, [given["prediction"]], [given["reference"]])
    return {"acc" if name == "accuracy" else name: value for name, value in row.items()}


def counted(given: dict[str, Any]) -> str | None:
    count = answers.parse_count(given["prediction"])
    return None if count is None else str(count)


def chosen(given: dict[str, Any]) -> str:
    asked = {"language": given["lang"], "multiple": given["multiple"]}
    return answers.parse_choice(given["text"], given["n_choices"], **asked)


GOLDEN: dict[str, Callable[[dict[str, Any]], object]] = {
    "slake_normalize": lambda given: answers.normalize_answer(given["answer"]),
    "slake_parse_answer": lambda given: answers.parse_answer_line(given["prediction"]),
    "slake_score": lambda given: scored("slake", given),
    "count_parse": counted,
    "count_score": lambda given: scored("count_qa", given),
    "mcq_parse": chosen,
    "pmc_choice_prefix": lambda given: answers.clean_option(given["choice"], given["letter"]),
    "vlmevalkit_infer": lambda given: answers.infer_option(given["text"], given["choices"]),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_every_golden_line(name: str, golden: Callable[[str], list[dict[str, Any]]]) -> None:
    differing = []
    for line in golden(name):
        try:
            found = GOLDEN[name](line["in"])
        except ValueError as error:
            raised = {kind.__name__ for kind in type(error).__mro__}
            expected = line["out"]
            if not isinstance(expected, dict) or expected.get("raises") not in raised:
                differing.append((line, repr(error)))
            continue
        if found != line["out"]:
            differing.append((line, repr(found)))
    assert not differing


def test_every_benchmark_of_this_module_is_known() -> None:
    assert set(SCORERS) == {
        *("slake", "count_qa", "pmc_vqa", "general_vqa", "general_vmcq", "tsv_mcq")
    }
