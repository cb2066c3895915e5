"""The records of a run: read back as they were written, and told by field where they are none."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from support.runs import INFO, sample

from mmscore.store.info import RunInfo
from mmscore.store.records import Judgement, Prediction, Score
from mmscore.store.spelling import Record, RecordError

VOTE = {
    "judge": "j", "judge_repeat": 0, "verdict": "A", "value": 1.0, "reasoning": "right",
    "kind": None, "error": None,
}  # fmt: skip
USAGE = {"prompt_tokens": 10, "completion_tokens": None}
PREDICTION = {
    **{name: value for name, value in sample(3).items() if not name.startswith("_")},
    "media": [
        {"place": "a.jpg", "sha256": "0", "bytes": 3, "mime": "image/jpeg", "notes": ["turned"]},
        {"place": "http://x/b.png", "sha256": "1", "url": True},
        {"place": "row 3", "sha256": "2", "characters": 90, "mime": "image/png"},
    ],
}
SCORE = {
    "id": "q", "repeat": 0, "extracted": "yes", "rule": "answer-line", "metrics": {"accuracy": 1},
}  # fmt: skip
SUMMARY = {
    "value": 0.5, "error": None, "complete": True, "verdicts": [VOTE], "usage": USAGE,
    "requests": 2, "seconds": 0.25,
}  # fmt: skip
JUDGEMENT = {
    "id": "q", "repeat": 1, "judge": "j", "judge_repeat": 2, "request": "hash", "verdict": None,
    "value": None, "reasoning": None, "kind": "transport", "error": "refused",
    "attempts": [{"error": "refused"}], "usage": USAGE, "requests": 3, "seconds": 1.5,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "record"),
    [
        (Prediction, PREDICTION),
        (Prediction, {**PREDICTION, "target": None, "choices": ["a", "b"], "reasoning": "hm"}),
        (Score, SCORE),
        (Score, {**SCORE, "extracted": None, "metrics": {}, "error": "too many digits"}),
        (Score, {**SCORE, "judge": SUMMARY}),
        (Judgement, JUDGEMENT),
        (RunInfo, INFO),
        (RunInfo, {**INFO, "merged": ["1/2", "2/2"]}),
        (RunInfo, {**INFO, "benchmark": {**INFO["benchmark"], "file": "/home/me/mine.py"}}),
        (
            RunInfo,
            {
                **INFO,
                "judge": {
                    "strategy": "llm", "models": {"j": "gpt"}, "prompt": "grading:0",
                    "repeats": 1, "aggregation": "mean",
                },
            },
        ),
    ],
)  # fmt: skip
def test_a_record_reads_back_as_it_was_written(kind: type[Record], record: dict[str, Any]) -> None:
    before = copy.deepcopy(record)
    text = json.dumps(kind.from_json(record).to_json())
    assert text == json.dumps(record), "the same fields in the same order"
    assert record == before, "reading changes nothing"


def test_what_an_older_run_did_not_write_has_a_value() -> None:
    few = {name: PREDICTION[name] for name in ("id", "subset", "status", "reply", "question")}
    read = Prediction.from_json({**few, "target": None, "choices": [], "metadata": {}, "new": 1})
    assert (read.repeat, read.index, read.attempts, read.media, read.usage.prompt_tokens) == (
        0, 0, 0, (), None,
    )  # fmt: skip
    assert Score.from_json({"id": "q"}).metrics == {}


@pytest.mark.parametrize(
    ("kind", "record", "changes", "words"),
    [
        (Prediction, PREDICTION, {"id": 5}, "has a number as `id`, expected a string"),
        (Prediction, PREDICTION, {"status": "fine"}, "in `status` found `fine`, expected one of"),
        (Prediction, PREDICTION, {"reply": None}, "has null as `reply`, expected a string"),
        (Prediction, PREDICTION, {"attempts": True}, "has a boolean as `attempts`, expected a wh"),
        (Prediction, PREDICTION, {"seconds": 1e999}, "in `seconds` found a number beyond"),
        (Prediction, PREDICTION, {"media": [5]}, "in `media` holds a number, expected an object"),
        (Prediction, PREDICTION, {"media": [{}]}, "in `media` has no `place`"),
        (Prediction, PREDICTION, {"choices": ["a", 1]}, "in `choices` holds a number, expected a"),
        (Prediction, PREDICTION, {"turns": [["user"]]}, "in `turns` holds other than pairs"),
        (Prediction, PREDICTION, {"usage": {"prompt_tokens": "1"}}, "in `usage` has a string as"),
        (Score, SCORE, {"metrics": {"accuracy": "1"}}, "found the score '1' of `accuracy`"),
        (Score, SCORE, {"metrics": {"accuracy": 1e999}}, "found the score inf of `accuracy`"),
        (Score, SCORE, {"judge": {"verdicts": [{}]}}, "in `judge` in `verdicts` has no `judge`"),
        (Judgement, JUDGEMENT, {"attempts": ["x"]}, "in `attempts` holds a string, expected an"),
        (RunInfo, INFO, {"shard": 5}, "has a number as `shard`, expected a string or null"),
        (RunInfo, INFO, {"planned": {"a": "1"}}, "in `planned` holds a string, expected a whole"),
        (RunInfo, INFO, {"benchmark": {}}, "in `benchmark` has no `name`"),
        (RunInfo, INFO, {"schema_version": 99}, "has schema_version 99, this mmscore reads up to"),
    ],
)
def test_an_odd_field_is_told_by_its_name(
    kind: type[Record], record: dict[str, Any], changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(RecordError, match=words):
        kind.from_json({**record, **changes})


@pytest.mark.parametrize(
    "name", ["id", "subset", "status", "reply", "question", "target", "choices", "metadata"]
)
def test_a_prediction_lacks_nothing_that_scoring_needs(name: str) -> None:
    record = {key: value for key, value in PREDICTION.items() if key != name}
    with pytest.raises(RecordError, match=f"has no `{name}`"):
        Prediction.from_json(record)
