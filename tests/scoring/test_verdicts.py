"""What a judge's reply is taken for, and what several verdicts come to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.benchmarks import find
from mmscore.benchmarks.base import Benchmark
from mmscore.config.judge import JudgeConfig
from mmscore.run.record import score_of
from mmscore.scoring.batch import score_replies
from mmscore.scoring.judge import panel
from mmscore.scoring.judge.ask import Judge
from mmscore.scoring.judge.verdicts import (
    Contract,
    Labels,
    Rating,
    VerdictError,
    combine,
    read_verdict,
)
from mmscore.types import Extracted, Reply, Sample

AB = Labels({"A": 1.0, "B": 0.0})
CONTRACTS: dict[str, Contract] = {
    "AB": AB,
    "CIP": Labels({"C": 1.0, "I": 0.0, "P": 0.5}),
    "numeric": Rating(),
}


def test_what_the_reference_accepts_is_accepted_with_the_same_value(golden: Any) -> None:
    rows = golden("judge_parse")
    accepted = [row for row in rows if row["out"]["ok"]]
    for row in accepted:
        verdict = read_verdict(row["in"]["reply"], CONTRACTS[row["in"]["contract"]])
        expected = row["out"]["value"]
        assert verdict.reasoning == expected["reasoning"], row
        if "verdict" in expected:
            assert verdict.said == expected["verdict"], row
        else:
            assert repr(verdict.value) == repr(expected["score"]), row
    assert len(accepted) > 90


def test_what_the_reference_refuses_is_refused_or_read_as_a_person_would(golden: Any) -> None:
    """Of the refused golden replies, those read here hold the value as a valid JSON member."""
    for row in golden("judge_parse"):
        if row["out"]["ok"]:
            continue
        contract = CONTRACTS[row["in"]["contract"]]
        try:
            verdict = read_verdict(row["in"]["reply"], contract)
        except VerdictError:
            continue
        assert row["out"]["kind"] in ("multiple", "no_object", "invalid_json", "schema")
        member = f'"{contract.key}": '
        values = [part for part in row["in"]["reply"].split(member)[1:] if part]
        assert values, row
        assert values[-1].lstrip('" ').lower().startswith(verdict.said.lower()) or (
            verdict.value == float(values[-1].strip(' "}\n').split("}")[0].strip('"'))
        ), row


MORE = [
    ('The 6" film shows it. {"verdict": "A"}', "A", "an odd quote before the object"),
    ('"{"verdict": "B"}"', "B", "the whole reply in quotes"),
    (r'Using \boxed{A} we get {"verdict": "B"}', "B", "other braces before the object"),
    ('set {a, b}: {"verdict": "A"}', "A", "a set in braces"),
    ('{{"verdict": "A"}}', "A", "doubled braces"),
    ('{"verdict": "A"}\nNo, wait.\n{"verdict": "B"}', "B", "the last verdict wins"),
    ('{"verdict": "maybe"}\n{"verdict": "A"}', "A", "the last verdict wins over a bad one"),
    ('{"reasoning": "line\nbreak\there", "verdict": "A"}', "A", "raw line breaks in a string"),
    (r'{"reasoning": "the angle \(x\)", "verdict": "A"}', "A", "LaTeX in a string"),
    ('{"reasoning": null, "verdict": "A"}', "A", "a reasoning that is no string"),
    ('{"verdict": " a "}', "A", "another case, blanks around"),
    ('maybe {"verdict": "B"}</think>{"verdict": "A"}', "A", "an unopened thought before"),
    ('<think>{"verdict": "B"} {"verdict": "B"}</think> {"verdict": "A"}', "A", "a thought before"),
]


@pytest.mark.parametrize(("reply", "said", "why"), MORE, ids=[row[2] for row in MORE])
def test_more_is_accepted_than_by_the_reference(reply: str, said: str, why: str) -> None:
    assert read_verdict(reply, AB).said == said


REFUSED = [
    ("", "empty", "nothing"),
    (" \n", "empty", "blanks"),
    ("A", "no JSON object", "a bare label"),
    ("The answer is correct, 1.0", "no JSON object", "a number in prose"),
    ('{"verdict": "C"}', 'expected "A" or "B"', "another label"),
    ('{"verdict": "A: CORRECT"}', 'expected "A" or "B"', "a label and more"),
    ('{"verdict": true}', 'expected "A" or "B"', "no string"),
    ('{"verdict": "A"', "no JSON object", "cut"),
    ('{"verdict": "A",}', "no JSON object", "a trailing comma"),
    ('{"outer": {"verdict": "A"}}', "no JSON object", "nested"),
    ('{"verdict": "A"} but then {"verdict": "B",}', "last `verdict`", "a broken later verdict"),
    ('{"verdict": "A"} {"verdict": "?"}', 'expected "A" or "B"', "a bad later verdict"),
    ('{"verdict": "A"} {"verdict": "A"} <think>', "reasoning", "a thought that goes on"),
    ("I cannot help with that.", "no JSON object", "a refusal"),
    ('{"a":' * 5000, "broken JSON objects", "deep"),
    ("{" * 100_000, "no JSON object", "many braces"),
    ('{"x' * 50_000, "broken", "many broken objects"),
    ('{"verdict": ' + "9" * 5000 + "}", "no JSON", "a number of 5,000 digits"),
]


@pytest.mark.parametrize(("reply", "words", "why"), REFUSED, ids=[row[2] for row in REFUSED])
def test_what_is_no_verdict_is_refused_with_a_reason(reply: str, words: str, why: str) -> None:
    with pytest.raises(VerdictError, match=words):
        read_verdict(reply, AB)


RATINGS: list[tuple[str, float | None]] = [
    ("0.5", 0.5), ('" 0.7 "', 0.7), ('"1e-1"', 0.1), ("true", 1.0), ("false", 0.0), ("-0.0", 0.0),
    ('"0.0_1"', 0.01), ("1", 1.0), ("NaN", None), ("Infinity", None), ("-Infinity", None),
    ("1.0000001", None), ("-0.1", None), ("95", None), ('"0,5"', None), ('"٠"', None),
    ('"95/100"', None), ("null", None), ("[0.5]", None), ("1e999", None), ('"nan"', None),
    (str(10**400), None),
]  # fmt: skip


@pytest.mark.parametrize(("written", "value"), RATINGS, ids=lambda value: str(value)[:12])
def test_a_rating_is_a_finite_number_from_0_to_1(written: str, value: float | None) -> None:
    reply = f'{{"score": {written}}}'
    if value is None:
        with pytest.raises(VerdictError, match="expected a number from 0 to 1"):
            read_verdict(reply, Rating())
    else:
        assert read_verdict(reply, Rating()).value == value


@given(st.text(alphabet='{}[]":,\\ AB\nverdict<>/think', max_size=60))
def test_no_reply_breaks_the_reader(reply: str) -> None:
    for contract in CONTRACTS.values():
        try:
            assert 0 <= read_verdict(reply, contract).value <= 1
        except VerdictError as error:
            assert str(error)


# --- several verdicts --------------------------------------------------------------------------

COMBINED: list[tuple[dict[str, list[float | None]], str, int, float | None, bool]] = [
    ({"a": [1.0]}, "mean", 1, 1.0, True),
    ({"a": [1.0, 0.0], "b": [1.0, 1.0]}, "mean", 1, 0.75, True),
    ({"a": [1.0, None]}, "mean", 1, 1.0, False),
    ({"a": [None], "b": [0.0]}, "mean", 1, 0.0, False),
    ({"a": [None], "b": [0.0]}, "mean", 2, None, False),
    ({"a": [None]}, "mean", 1, None, False),
    ({"a": [1.0], "b": [0.0], "c": [0.5]}, "median", 1, 0.5, True),
    ({"a": [1.0], "b": [0.0], "c": [0.0]}, "majority_vote", 1, 0.0, True),
    ({"a": [1.0], "b": [0.0]}, "majority_vote", 1, 1.0, False),
    ({"a": [None], "b": [0.0], "c": [1.0]}, "majority_vote", 1, None, False),
    ({"a": [0.0, 1.0]}, "majority_vote", 1, 0.0, False),
]


@pytest.mark.parametrize(("values", "how", "least", "score", "complete"), COMBINED)
def test_verdicts_are_combined(
    values: dict[str, list[float | None]],
    how: Any,
    least: int,
    score: float | None,
    complete: bool,
) -> None:
    outcome = combine(values, how, least)
    assert (outcome.value, outcome.complete) == (score, complete)
    assert (outcome.error is None) == (score is not None)


# --- the reference's flow ----------------------------------------------------------------------


class Scripted:
    """A judge's client that says its replies in turn, and the same again when asked once more."""

    def __init__(self, replies: list[Any]) -> None:
        self.replies = replies
        self.asked = 0
        self.service = self.stopped = None

    def ask(self, body: Sequence[bytes]) -> Reply:
        asked = json.loads(b"".join(body))["messages"]
        again = any(turn["role"] == "assistant" for turn in asked)
        self.asked += not again
        said = self.replies[self.asked - 1]
        if isinstance(said, dict):
            return Reply(status="error", error=said["raise"], attempts=1)
        return Reply(status="ok" if said else "no_answer", text=said, attempts=1)


def count_qa() -> Benchmark:
    def parse(reply: str, sample: Sample) -> Extracted:
        return Extracted(reply, "reply")

    def score(answer: str | None, sample: Sample) -> dict[str, float]:
        (row,) = score_replies("count_qa", [answer or ""], [sample.target])
        return {name: row[name] for name in ("accuracy", "relaxed_acc")}

    return replace(find("slake"), metrics=("accuracy", "relaxed_acc"), parse=parse, score=score)


def judged(row: dict[str, Any]) -> tuple[dict[str, Any], list[Scripted]]:
    """Our score record for a golden row, and the judges' clients."""
    given = row["in"]
    benchmark = count_qa() if given["task"] == "count_qa" else find(given["task"])
    clients = [Scripted(replies) for replies in given["judges"]]
    names = [f"j{number}" for number in range(len(clients))]
    config = JudgeConfig.from_dict(
        {
            "strategy": given["strategy"],
            "models": [{"model_id": name, "api_url": "http://127.0.0.1"} for name in names],
            "repeats": given["repeats"],
            "aggregation": given["aggregation"],
            "min_valid_judges": given["min_valid_judges"],
            "contract": {"score_type": given["score_type"]},
        }
    )
    judges = [Judge(n, n, {}, client=c) for n, c in zip(names, clients, strict=True)]  # type: ignore[arg-type]
    asked = panel.JudgePanel(config, benchmark.metrics, judges, None, None, print)
    asked._probed = True
    choices = ("CT", "MRI", "X-Ray", "PET") if given["task"] == "general_vmcq" else ()
    sample = Sample("q", "s", (), given["target"] or None, choices)
    asking = asked if config.asks else None
    score = score_of(benchmark, sample, 0, given["prediction"], str, asking)
    return score.to_json(), clients


def test_a_score_is_the_references_wherever_a_judge_answered(golden: Any) -> None:
    answered = 0
    for row in golden("judge_flow"):
        if any("}{" in str(said) for replies in row["in"]["judges"] for said in replies):
            continue  # two verdicts, which the reference refuses and we do not: see MORE
        record, clients = judged(row)
        ours = record["metrics"]
        theirs = {{"acc": "accuracy"}.get(k, k): v for k, v in row["out"]["value"].items()}
        summary, strategy = row["out"]["judge_summary"], row["in"]["strategy"]
        if summary is None:
            assert "judge" not in record, row
            assert {k: v for k, v in ours.items() if k in theirs} == theirs, row
            continue
        assert sum(client.asked for client in clients) == row["out"]["judge_calls"], row
        assert (record["judge"]["value"] is not None) == bool(summary["scored"]), row
        if not summary["scored"]:
            assert record["judge"]["error"], row
            assert ours == ({} if strategy == "llm" else theirs), row
            continue
        answered += 1
        assert record["judge"]["complete"] == (row["out"]["status"] == "success"), row
        if row["in"]["task"] == "general_vqa" and strategy == "llm_recall":
            merged = max(ours["accuracy"], ours["Rouge-L-R"])
            theirs_main = theirs.pop("Rouge-L-R")
            assert merged == theirs_main, row
        assert {k: v for k, v in ours.items() if k in theirs} == theirs, row
    assert answered > 130


def test_a_judge_adds_accuracy_beside_text_metrics_and_overwrites_none(golden: Any) -> None:
    rows = [r for r in golden("judge_flow") if r["in"]["task"] == "general_vqa"]
    rows = [r for r in rows if r["in"]["strategy"] == "llm_recall"]
    for row in rows:
        record, _ = judged(row)
        rule, _ = judged({**row, "in": {**row["in"], "strategy": "rule"}})
        assert {k: v for k, v in record["metrics"].items() if k != "accuracy"} == rule["metrics"]
