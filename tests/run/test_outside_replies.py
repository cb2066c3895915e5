"""Replies made elsewhere: every form of file, every way it can be wrong, no network."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Ran, run_cli
from support.server import reply, serve

from mmscore.config.task import TaskConfig
from mmscore.run.outside_replies import ReplyColumns, score_elsewhere

Rows = list[dict[str, Any]]


@pytest.fixture
def right(data: Path) -> Rows:
    """The right reply to each question, in the data set's order."""
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    return [{"id": row["qid"], "reply": f"ANSWER: {row['answer']}"} for row in rows]


@pytest.fixture
def score(data: Path, tmp_path: Path) -> Callable[..., Ran]:
    def score(replies: Path, *more: str) -> Ran:
        return run_cli(
            *("score", "slake", "--data", str(data), "--replies", str(replies)),
            *("--out", str(tmp_path / "out"), *more),
        )

    return score


def jsonl(path: Path, rows: Rows) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def table(path: Path, rows: Rows) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        delimiter = "\t" if path.suffix == ".tsv" else ","
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def report(tmp_path: Path) -> Any:
    return json.loads((tmp_path / "out" / "report.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["replies.jsonl", "replies.csv", "replies.tsv", "replies.json"])
def test_any_form_of_file_by_id_in_any_order(
    name: str, score: Any, right: Rows, tmp_path: Path
) -> None:
    right[0]["reply"] = "ANSWER: something else"
    mixed = right[::-1]
    if name.endswith(".json"):
        path = tmp_path / name
        path.write_text(json.dumps(mixed))
    else:
        path = (jsonl if name.endswith("l") else table)(tmp_path / name, mixed)
    ran = score(path)
    assert ran.code == 0, ran.err
    found = report(tmp_path)
    assert found["overall"] == {"accuracy": (len(right) - 1) / len(right)}
    assert found["model"] == "replies" and found["coverage"]["failed"] == 0
    assert "accuracy" in ran.out.lower()


def test_without_ids_the_order_is_the_data_set_s(score: Any, right: Rows, tmp_path: Path) -> None:
    rows = [{"response": row["reply"]} for row in right]
    ran = score(jsonl(tmp_path / "r.jsonl", rows), "--model", "GPT")
    assert ran.code == 0, ran.err
    assert report(tmp_path)["overall"] == {"accuracy": 1.0}
    assert report(tmp_path)["model"] == "GPT"


def test_columns_may_be_named(score: Any, right: Rows, tmp_path: Path) -> None:
    rows = [{"key": row["id"], "said": row["reply"], "reply": "no"} for row in right]
    path = jsonl(tmp_path / "r.jsonl", rows)
    ran = score(path, "--id-column", "key", "--reply-column", "said")
    assert ran.code == 0, ran.err
    assert report(tmp_path)["overall"] == {"accuracy": 1.0}


def test_a_limit_and_a_subset_ask_for_fewer(score: Any, data: Path, tmp_path: Path) -> None:
    rows = [
        {"id": row["qid"], "reply": row["answer"]}
        for row in json.loads((data / "test.json").read_text(encoding="utf-8"))
        if row["q_lang"] == "en" and row["answer_type"] == "OPEN"
    ]
    ran = score(jsonl(tmp_path / "r.jsonl", rows[:2]), "--subset", "en_open", "--limit", "2")
    assert ran.code == 0, ran.err
    assert report(tmp_path)["num"] == 2


def test_replies_are_read_as_an_endpoint_s_are(score: Any, right: Rows, tmp_path: Path) -> None:
    for row in right:
        row["reply"] = f"<think>ANSWER: a thought</think>{row['reply']}"
    right[0]["reply"] = None
    ran = score(jsonl(tmp_path / "r.jsonl", right))
    assert ran.code == 0, ran.err
    found = report(tmp_path)
    assert found["status"]["no_answer"] == 1
    assert found["overall"] == {"accuracy": (len(right) - 1) / len(right)}


def test_predictions_of_a_run_give_its_scores(score: Any, data: Path, tmp_path: Path) -> None:
    with serve(reply("ANSWER: Yes", usage={"prompt_tokens": 1})) as server:
        ran = run_cli(
            *("run", "slake", "--data", str(data), "--model", "m", "--api-url", server.url),
            *("--out", str(tmp_path / "run"), "--repeats", "2", "--progress", "none"),
        )
    assert ran.code == 0, ran.err
    ran = score(tmp_path / "run" / "predictions.jsonl")
    assert ran.code == 0, ran.err
    before = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report(tmp_path)["overall"] == before["overall"]
    assert report(tmp_path)["num"] == before["num"] == 48
    assert run_cli("compare", str(tmp_path / "run"), str(tmp_path / "out")).code == 0


def predictions_of_evalscope(folder: Path, data: Path) -> Path:
    """A folder as EvalScope 1.14.1 writes it: a file a subset, rows numbered within it."""
    there = folder / "predictions" / "some-model"
    there.mkdir(parents=True)
    subsets: dict[str, Rows] = {}
    for row in json.loads((data / "test.json").read_text(encoding="utf-8")):
        name = f"{row['q_lang']}_{row['answer_type'].lower()}"
        rows = subsets.setdefault(name, [])
        message = {"role": "assistant", "content": f"ANSWER: {row['answer']}"}
        rows.append({
            "index": len(rows), "model": "some-model", "messages": [],
            "model_output": {
                "model": "some-model", "error": None,
                "choices": [{"message": message, "stop_reason": "stop"}],
                "usage": {"input_tokens": 3, "output_tokens": 2},
            },
            "metadata": {"qid": row["qid"]},
        })  # fmt: skip
    for name, rows in subsets.items():
        jsonl(there / f"slake_{name}.jsonl", rows[::-1])
    return there


def test_predictions_of_evalscope_are_read_as_they_are(
    score: Any, data: Path, tmp_path: Path
) -> None:
    there = predictions_of_evalscope(tmp_path / "there", data)
    ran = score(there.parent)
    assert ran.code == 0, ran.err
    found = report(tmp_path)
    assert found["overall"] == {"accuracy": 1.0} and found["model"] == "some-model"
    assert found["usage"]["prompt_tokens"] == 3 * found["num"]
    one = run_cli(
        *("score", "slake", "--data", str(data), "--replies", str(there / "slake_en_open.jsonl")),
        *("--subset", "en_open", "--out", str(tmp_path / "one")),
    )
    assert one.code == 0, one.err


def test_predictions_over_other_data_are_seen(score: Any, data: Path, tmp_path: Path) -> None:
    there = predictions_of_evalscope(tmp_path / "there", data)
    file = there / "slake_en_open.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[0]["metadata"]["qid"] = 1
    jsonl(file, rows)
    ran = score(there)
    assert ran.code == 1 and "the sample with `qid` 1" in ran.err


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda rows: rows[1:], "1 of 24 samples have no reply"),
        (lambda rows: [*rows, {"id": "no-one", "reply": "x"}], "1 replies are of no sample"),
        (lambda rows: [*rows, rows[0]], "are both of sample"),
        (lambda rows: [{"reply": row["reply"]} for row in rows[1:]], "23 replies without ids"),
        (lambda rows: [{"id": row["id"], "said": "x"} for row in rows], "no column of replies"),
        (lambda rows: [*rows[1:], {"reply": "x"}], "has no `id`"),
        (lambda rows: [*rows[1:], {"id": "x"}], "has no `reply`"),
        (lambda rows: [], "0 samples"),
    ],
)
def test_what_does_not_fit_is_one_sentence(
    change: Callable[[Rows], Rows], sentence: str, score: Any, right: Rows, tmp_path: Path
) -> None:
    ran = score(jsonl(tmp_path / "r.jsonl", change(right)))
    assert ran.code == 1 and sentence in ran.err, ran.err
    assert not (tmp_path / "out").exists(), "nothing is written"


def test_a_part_is_scored_when_asked_for(score: Any, right: Rows, tmp_path: Path) -> None:
    ran = score(jsonl(tmp_path / "r.jsonl", right[:5]), "--partial")
    assert ran.code == 0, ran.err
    found = report(tmp_path)
    assert found["num"] == 5 and found["coverage"]["not_asked"] == 19


def test_a_file_that_is_none_is_named(score: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for place, sentence in (
        ("nowhere.csv", "no replies at"),
        ("empty", "holds no predictions of `slake`"),
    ):
        ran = score(tmp_path / place)
        assert ran.code == 1 and sentence in ran.err


def test_a_name_that_fits_two_samples_is_not_guessed(tmp_path: Path) -> None:
    for name in ("one", "two"):
        text = "index\tquestion\tanswer\n1\tWhich?\tA\n"
        (tmp_path / f"{name}.tsv").write_text(text)
    replies = jsonl(tmp_path / "replies.jsonl", [{"id": "1", "reply": "A"}])
    ran = run_cli(
        *("score", "tsv_vqa", "--data", str(tmp_path), "--replies", str(replies)),
        *("--subset", "one", "--subset", "two", "--out", str(tmp_path / "out")),
    )
    assert ran.code == 1 and "have no reply: `two/1`" in ran.err, "the other one is `one`'s"


def test_from_python(data: Path, right: Rows, tmp_path: Path) -> None:
    task = TaskConfig(
        datasets=["slake"],
        dataset_args={"slake": {"local_path": str(data)}},
        out=str(tmp_path / "out"),
    )
    path = jsonl(tmp_path / "r.jsonl", right)
    result = score_elsewhere(task, path, ReplyColumns(id="id", reply="reply"))
    assert result.report.main.score == 1.0 and result.folder == tmp_path / "out"


# --- everything that scores a run scores these too ------------------------------------------------


def test_a_judge_is_asked_about_replies_made_elsewhere(
    score: Any, right: Rows, tmp_path: Path
) -> None:
    right[0]["reply"] = "ANSWER: in other words"
    verdict = '{"reasoning": "the same", "verdict": "A"}'
    with serve(lambda _: reply(verdict)) as judge:
        flags = (
            "--judge-model",
            "j",
            "--judge-api-url",
            judge.url,
            "--judge-api-key",
            "secret-key",
        )
        ran = score(jsonl(tmp_path / "r.jsonl", right), "--judge-strategy", "llm_recall", *flags)
    assert ran.code == 0, ran.err
    found = report(tmp_path)
    assert found["overall"]["accuracy"] == 1.0
    assert found["judge"]["judged"] == 1, "only what the rule failed"
    assert len(judge.requests) == 2, "the probe and the failed one"
    kept = [path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir()]
    assert not any("secret-key" in text for text in kept)


def test_a_judge_that_fails_scores_no_reply_made_elsewhere(
    score: Any, right: Rows, tmp_path: Path
) -> None:
    with serve(lambda _: reply("Quite right!")) as judge:
        flags = ("--judge-strategy", "llm", "--judge-model", "j", "--judge-api-url", judge.url)
        ran = score(jsonl(tmp_path / "r.jsonl", right), *flags)
    assert ran.code == 3, ran.err
    found = report(tmp_path)
    assert found["num"] == 0 and found["judge"]["failed"] == len(right)


@pytest.fixture
def counted(tmp_path: Path) -> tuple[Path, Path]:
    """A table, and replies whose last number answers it."""
    table = tmp_path / "count.tsv"
    table.write_text("index\tquestion\tanswer\n1\tHow many?\t12\n2\tHow many?\t7\n")
    rows = [{"id": "1", "reply": "3 and 9: 12"}, {"id": "2", "reply": "4 and 3 are 7."}]
    return table, jsonl(tmp_path / "r.jsonl", rows)


LAST_NUMBER = r'regex={"regex_pattern": "(\\d+)", "group_select": -1}'


def test_filters_run_before_replies_made_elsewhere_are_read(
    counted: tuple[Path, Path], tmp_path: Path
) -> None:
    table, replies = counted
    ask = ("score", "tsv_vqa", "--data", str(table), "--replies", str(replies))
    out = ("--out", str(tmp_path / "out"))
    ran = run_cli(*ask, *out, "--filter", LAST_NUMBER)
    assert ran.code == 0, ran.err
    assert report(tmp_path)["overall"]["exact_match"] == 1.0
    task = TaskConfig(
        datasets=["tsv_vqa"],
        dataset_args={
            "tsv_vqa": {"local_path": str(table), "filters": {"remove_until": ": "}},
        },
        out=str(tmp_path / "python"),
    )
    assert score_elsewhere(task, replies).report.main.score == 0.5


def test_a_run_is_scored_again_with_other_filters(
    counted: tuple[Path, Path], tmp_path: Path
) -> None:
    table, replies = counted
    out = str(tmp_path / "out")
    ask = ("score", "tsv_vqa", "--data", str(table), "--replies", str(replies))
    assert run_cli(*ask, "--out", out).code == 0
    plain = report(tmp_path)
    assert plain["overall"]["exact_match"] == 0.0
    assert run_cli("score", out, "--filter", LAST_NUMBER).code == 0
    filtered = report(tmp_path)
    assert filtered["overall"]["exact_match"] == 1.0
    assert filtered["fingerprints"]["scorer"] != plain["fingerprints"]["scorer"]
    assert run_cli("score", out).code == 0
    assert report(tmp_path)["overall"]["exact_match"] == 1.0, "they are the run's own now"
    wrong = run_cli("score", out, "--filter", "regex=(")
    assert wrong.code == 1 and "the pattern `(` is wrong" in wrong.err
    assert report(tmp_path)["overall"]["exact_match"] == 1.0


def test_replies_taken_in_order_are_said_to_be(score: Any, right: Rows, tmp_path: Path) -> None:
    ran = score(jsonl(tmp_path / "r.jsonl", [{"reply": row["reply"]} for row in right]))
    assert ran.code == 0 and "has no ids: its replies are taken in the order" in ran.err
