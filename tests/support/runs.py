"""Run folders drawn for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

INFO: dict[str, Any] = {
    "schema_version": 1,
    "benchmark": {
        "name": "slake",
        "title": "SLAKE",
        "metrics": ["accuracy"],
        "subsets": {"en_open": "en", "zh_open": "zh"},
        "groups": ["modality"],
    },
    "model": "m",
    "endpoint": "127.0.0.1:8000",
    "config": {"model": "m"},
    "versions": {"mmscore": "0.1.0"},
    "fingerprints": {"data": "d1", "prompt": "p1", "scorer": "slake-1"},
    "price": None,
    "planned": {},
    "repeats": 1,
    "shard": None,
    "started": "2026-01-01T00:00:00+00:00",
    "finished": "2026-01-01T00:00:10+00:00",
    "seconds": 10.0,
    "stopped": None,
    "reused": 0,
    "judge": None,
}


def sample(index: int, value: float | None = 1.0, **changes: Any) -> dict[str, Any]:
    """A prediction line; `value` is its accuracy, None leaves it without a score line."""
    return {
        "id": f"q{index}",
        "repeat": 0,
        "subset": "en_open",
        "index": index,
        "request": "r",
        "status": "ok",
        "reply": f"ANSWER: {index}",
        "reasoning": None,
        "finish_reason": "stop",
        "usage": {"prompt_tokens": 10, "completion_tokens": 2},
        "seconds": 0.5,
        "answer_seconds": 0.4,
        "first_token_seconds": None,
        "attempts": 1,
        "error": None,
        "media": [{"place": "a.jpg", "sha256": "0", "bytes": 3, "mime": "image/jpeg", "notes": []}],
        "question": "What?",
        "target": str(index),
        "choices": [],
        "metadata": {"modality": "CT"},
        "_metrics": None if value is None else {"accuracy": value},
        **changes,
    }


def lines(records: Sequence[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def write_run(directory: Path, samples: Sequence[Mapping[str, Any]], **info: Any) -> Path:
    """A run's folder with these samples; `planned` counts them unless given."""
    planned: dict[str, int] = {}
    for one in samples:
        planned[one["subset"]] = planned.get(one["subset"], 0) + 1
    benchmark = {**INFO["benchmark"], **info.pop("benchmark", {})}
    directory.mkdir(parents=True, exist_ok=True)
    run = {**INFO, "planned": planned, **info, "benchmark": benchmark}
    (directory / "run.json").write_text(json.dumps(run), encoding="utf-8")
    predictions = [{k: v for k, v in s.items() if not k.startswith("_")} for s in samples]
    scores = [
        {
            "id": s["id"],
            "repeat": s["repeat"],
            "extracted": s.get("_extracted", "x"),
            "rule": "answer_line",
            "metrics": s["_metrics"],
            "judge": s.get("_judge"),
        }
        for s in samples
        if s["_metrics"] is not None
    ]
    (directory / "predictions.jsonl").write_text(lines(predictions), encoding="utf-8")
    (directory / "scores.jsonl").write_text(lines(scores), encoding="utf-8")
    return directory
