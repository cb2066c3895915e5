"""The JSON Schemas that are shipped say what a run's files hold, and what they may not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import lines, run_cli
from support.schemas import FOLDER, RECORDS, REPORT, breaches, drawn
from support.server import Request, Response, reply, serve, status

FILES = {
    "prediction": "predictions.jsonl",
    "score": "scores.jsonl",
    "judgement": "judgements.jsonl",
    "text": "texts.jsonl",
}


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", RECORDS)
def test_a_schema_is_the_record_that_is_read(name: str) -> None:
    """After a change: `PYTHONPATH=tests python -m support.schemas`."""
    assert (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8") == drawn(name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has some of everything: media, a system message, repeats, failures, a judge."""
    place = tmp_path_factory.mktemp("schemas")
    rows = [
        {"id": f"q{n}", "level": n, "answer": "a cat" if n else None, "messages": [
            {"role": "user", "content": f"What is this, number {n}?"},
        ]}
        for n in range(6)
    ]  # fmt: skip
    (place / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    def model(request: Request) -> Response:
        if "number 5" in request.prompt:
            return status(400)
        return reply("a cat", "length" if "number 4" in request.prompt else "stop")

    with serve(model) as server, serve(reply('{"reasoning": "so", "verdict": "A"}')) as judge:
        ran = run_cli(
            "run", "general_vqa", "--data", str(place / "own.jsonl"), "--api-url", server.url,
            "--model", "m", "--out", str(place / "run"), "--progress", "none", "--repeats", "2",
            "--system", "You are a careful reader of pictures, and you say what you see.",
            "--judge-strategy", "llm", "--judge-model", "j", "--judge-api-url", judge.url,
            "--group-by", "level", "--price", "1,2",
        )  # fmt: skip
    assert ran.code == 3, ran.err
    return place / "run"


@pytest.mark.parametrize("name", FILES)
def test_the_records_of_a_run_keep_to_their_schema(folder: Path, name: str) -> None:
    records = lines(folder / FILES[name])
    assert records
    assert not [breach for one in records for breach in breaches(one, schema(name))]


def test_a_run_and_its_report_keep_to_their_schemas(folder: Path) -> None:
    run = json.loads((folder / "run.json").read_bytes())
    assert not [*breaches(run, schema("run"))]
    report = json.loads((folder / "report.json").read_bytes())
    assert not [*breaches(report, json.loads(REPORT.read_bytes()))]
    assert report["groups"]["level"], "and not because there was nothing in it"


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("prediction", {"id": 5}, "$.id: 5 is integer"),
        ("prediction", {"status": "fine"}, "none of"),
        ("prediction", {"media": [{}]}, "$.media[0]: no `place`"),
        ("prediction", {"messages": [{"role": "user", "parts": [1.5]}]}, "none of what it may be"),
        ("score", {"metrics": []}, "$.metrics: [] is array"),
        ("judgement", {"usage": {"prompt_tokens": "1"}}, "$.usage.prompt_tokens"),
    ],
)
def test_a_schema_refuses_what_is_none(
    folder: Path, name: str, change: dict[str, Any], words: str
) -> None:
    record = {**lines(folder / FILES[name])[0], **change}
    assert any(words in breach for breach in breaches(record, schema(name)))


@pytest.mark.parametrize("name", ["scores", "overall", "coverage", "schema_version"])
def test_the_schema_of_reports_misses_what_is_missing(folder: Path, name: str) -> None:
    report = json.loads((folder / "report.json").read_bytes())
    without = {key: value for key, value in report.items() if key != name}
    assert [*breaches(without, json.loads(REPORT.read_bytes()))] == [f"$: no `{name}`"]
    more = {**report, "new": 1}
    assert [*breaches(more, json.loads(REPORT.read_bytes()))] == ["$: `new` is not in the schema"]
