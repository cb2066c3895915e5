"""BLEU and ROUGE as a user calls them."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import mmscore._core as _core
from mmscore import bleu, rouge, score_replies
from mmscore.scoring import metrics

GOLDEN = Path(os.environ.get("MMSCORE_SHARED", Path(__file__).parents[3] / "shared")) / "golden"


def golden(name: str) -> Iterator[dict[str, Any]]:
    path = GOLDEN / name
    if not path.is_file():
        pytest.skip(f"no {path}; set MMSCORE_SHARED")
    with path.open(encoding="utf-8", newline="\n") as file:
        yield from map(json.loads, file)


def test_bleu_equals_every_golden_row() -> None:
    rows = list(golden("bleu.jsonl"))
    pairs = [(row["in"]["prediction"], row["in"]["reference"]) for row in rows]
    expected = [row["out"] for row in rows]
    assert [metrics.bleu(*pair) for pair in pairs] == expected
    assert metrics.bleu_list(*zip(*pairs, strict=True)) == expected


def test_rouge_equals_every_golden_row() -> None:
    rows = list(golden("rouge.jsonl"))
    pairs = [(row["in"]["prediction"], row["in"]["reference"]) for row in rows]
    expected = [row["out"] for row in rows]
    assert [metrics.rouge(*pair) for pair in pairs] == expected
    assert metrics.rouge_list(*zip(*pairs, strict=True)) == expected


def test_tokens_equal_every_golden_row() -> None:
    for row in golden("word_tokenize.jsonl"):
        assert _core.word_tokenize(row["in"]["text"]) == row["out"], row
    for row in golden("jieba_cut.jsonl"):
        assert _core.jieba_cut(row["in"]["text"]) == row["out"], row


def test_each_bleu_is_one_order_with_a_brevity_penalty() -> None:
    scores = metrics.bleu("the left lung", "the left lower lung")
    assert list(scores) == ["bleu-1", "bleu-2", "bleu-3", "bleu-4"]
    assert scores["bleu-1"] == pytest.approx(0.7165313105737893)
    assert scores["bleu-2"] == pytest.approx(0.7165313105737893 / 2)
    assert 0.0 < scores["bleu-3"] < 1e-300
    assert set(metrics.bleu("liver", "lung").values()) == {0.0}


def test_a_perfect_rouge_f_is_just_below_one() -> None:
    scores = metrics.rouge("左肺下叶", "左肺下叶")
    assert scores["Rouge-L-R"] == scores["Rouge-1-P"] == 1.0
    assert scores["Rouge-L-F"] == 0.999999995
    assert set(metrics.rouge(" \n", "lung").values()) == {0.0}


def test_lists_of_unequal_length_are_refused() -> None:
    for score in (metrics.bleu_list, metrics.rouge_list):
        with pytest.raises(ValueError, match="2 predictions, 1 references"):
            score(["a", "b"], ["a"])
        assert score([], []) == []


def test_text_that_has_no_utf8_is_scored() -> None:
    assert metrics.bleu("lung \ud83d", "lung \ud83d")["bleu-2"] == 1.0
    assert metrics.rouge("肺 \udc00", "肺 a")["Rouge-1-R"] == 0.5
    assert _core.word_tokenize("a\ud83d b") == ["a\ufffd", "b"]
    assert _core.jieba_cut("肺\ud83d\udc00") == ["肺", "🐀"]


def test_threads_share_the_tables() -> None:
    rows = ["右肺上叶可见结节。"] * 500, ["右肺可见结节。"] * 500
    expected = metrics.rouge_list(*rows)
    found: list[bool] = []

    def work() -> None:
        found.append(metrics.rouge_list(*rows) == expected)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 4


@pytest.mark.parametrize(
    ("target", "as_if"),
    [
        (["a cat", " a dog "], "a cat\na dog"),
        (["a cat", "", "a cat"], "a cat"),
        (" a cat ", "a cat"),
        (("a cat",), "a cat"),
    ],
)
def test_lists_are_scored_as_a_run_scores_several_answers(target: Any, as_if: str) -> None:
    targets = [list(target) if isinstance(target, tuple) else target]
    reply = "a cat a dog"
    (row,) = score_replies("general_vqa", [reply], targets)
    assert row == {"extracted": reply, **bleu(reply, as_if), **rouge(reply, as_if)}


def test_what_has_no_answer_is_not_scored_and_what_none_can_equal_is_0() -> None:
    missing, blank, empty = score_replies("general_vqa", ["x"] * 3, [None, "  ", []])
    for row in (missing, blank):
        assert {value for name, value in row.items() if name != "extracted"} == {None}
    assert empty["bleu-1"] == 0 and empty["Rouge-L-R"] == 0
