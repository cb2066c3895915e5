"""EvalScope and mmscore on the same case: what each sends, how each sample scores, both reports."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import SHARED, run_cli
from support.reference_cases import Case, draw
from support.server import Request, Response, as_json, serve

NAMED = "MMSCORE_REFERENCE"
"""The variable that names an interpreter which has EvalScope."""

RUNNER = Path(__file__).with_name("reference_run.py")
PUNKT = SHARED / "datasets" / "punkt_english"


class Reference:
    """A process of EvalScope that serves tasks."""

    def __init__(self, python: str, folder: Path) -> None:
        # NLTK opens files of its own folders only, so the model is copied into one.
        shutil.copytree(PUNKT, folder / "nltk" / "tokenizers" / "punkt_tab" / "english")
        self._process = subprocess.Popen(
            [python, str(RUNNER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "NLTK_DATA": str(folder / "nltk"), "PYTHONPATH": ""},
            text=True,
        )

    def __call__(self, **order: Any) -> Any:
        """The answer to one order."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()


@contextmanager
def reference(python: str, folder: Path) -> Iterator[Reference]:
    """EvalScope as long as the block lasts."""
    process = Reference(python, folder)
    try:
        yield process
    finally:
        process.close()


@dataclass
class Outcome:
    """What a run of one side came to, in a form that both can be compared in.

    Attributes:
        error: Why it did not run; None where it did.
        bodies: The request bodies.
        judged: Reference answer and reply of each request to the judge.
        samples: Subset, target and metrics of each sample that has a score.
        report: Metric -> subset -> number and score.
    """

    error: str | None = None
    bodies: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    samples: Counter[str] = field(default_factory=Counter)
    report: dict[str, dict[str, tuple[int, float]]] = field(default_factory=dict)


def both(seed: int, folder: Path, reference: Reference) -> tuple[Case, Outcome, Outcome]:
    """The case of a seed, and what EvalScope and mmscore make of it."""
    case = draw(seed, folder, lambda path, rows: reference(parquet=str(path), rows=rows))
    with serve(lambda request: _answer(request, case)) as server:
        task = _task(case, server.url)
        theirs = _theirs(reference(task=task), case)
        _sent(server.requests, theirs)
        count = len(server.requests)
        ours = _ours(task, case, folder / "run")
        _sent(server.requests[count:], ours)
    return case, theirs, ours


def differences(theirs: Outcome, ours: Outcome) -> Iterator[str]:
    """What differs, a line each."""
    if theirs.error or ours.error:
        if not (theirs.error and ours.error):
            yield f"theirs: {theirs.error or 'ran'}; ours: {ours.error or 'ran'}"
        return
    for name in ("bodies", "judged", "samples"):
        one, other = getattr(theirs, name), getattr(ours, name)
        yield from (
            f"{name}: only theirs {times} x {what}" for what, times in (one - other).items()
        )
        yield from (f"{name}: only ours {times} x {what}" for what, times in (other - one).items())
    if theirs.report != ours.report:
        yield f"report: theirs {theirs.report}, ours {ours.report}"


# --- the endpoint --------------------------------------------------------------------------------

JUDGED = re.compile(r"<gold>(.*)</gold><pred>(.*)</pred>", re.DOTALL)
PROBED = json.dumps(["4", "four"])
"""What mmscore asks a judge first, to see whether it can judge at all."""


def _answer(request: Request, case: Case) -> Response:
    if request.path.startswith("/judge"):
        verdict = "AB"[_hash(_judged(request) or "") % 2]
        return _completion(json.dumps({"reasoning": "so", "verdict": verdict}))
    return _completion(case.replies[_hash(request.prompt) % len(case.replies)])


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()[:6])


def _completion(text: str) -> Response:
    message = {"role": "assistant", "content": text}
    return as_json(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
    )


def _judged(request: Request) -> str | None:
    found = JUDGED.search(request.prompt)
    return found and json.dumps(found.groups())


def _sent(requests: list[Request], outcome: Outcome) -> None:
    for request in requests:
        if request.path.startswith("/judge"):
            outcome.judged[_judged(request) or "no gold and pred"] += _judged(request) != PROBED
        else:
            outcome.bodies[json.dumps(_without_detail(request.json), sort_keys=True)] += 1


def _without_detail(value: Any) -> Any:
    """A body without the `detail` that EvalScope adds to every image, which says nothing."""
    if isinstance(value, list):
        return [_without_detail(item) for item in value]
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if (k, v) != ("detail", "auto")}
        return {key: _without_detail(item) for key, item in kept.items()}
    return value


# --- the two sides -------------------------------------------------------------------------------


def _task(case: Case, url: str) -> dict[str, Any]:
    task = {
        "model": "m",
        "api_url": f"{url}/v1",
        "api_key": "k",
        "eval_type": "openai_api",
        "datasets": [case.benchmark],
        "dataset_args": {case.benchmark: case.args},
        "eval_batch_size": 4,
        **case.task,
    }
    if "judge" in task:
        task["judge"] = {
            **task["judge"],
            "models": [{"model_id": "j", "api_url": f"{url}/judge/v1", "api_key": "k"}],
        }
    return task


def _theirs(answer: dict[str, Any], case: Case) -> Outcome:
    if "error" in answer:
        return Outcome(answer["error"])
    if not answer["reports"]:
        return Outcome("no sample is selected, which it says nothing of")
    outcome = Outcome()
    for name, reviews in answer["samples"].items():
        subset = name.removeprefix(f"{case.benchmark}_")
        for review in reviews:
            target = review["target"] or ""
            target = target if isinstance(target, str) else "\n".join(target)
            outcome.samples[_sample(subset, target, review["value"])] += 1
    for metric, found in answer["reports"].get(case.benchmark, {}).items():
        outcome.report[METRICS.get(metric, metric)] = {
            subset: (num, score) for subset, (num, score) in found["subsets"].items()
        }
    return outcome


METRICS = {
    **{f"bleu {order}": f"bleu-{order}" for order in range(1, 5)},
    **{
        name: f"Rouge-{variant.upper()}-{statistic[0].upper()}"
        for variant in "12l"
        for statistic in ("recall", "precision", "f1")
        for name in (f"rouge {variant} {statistic}", f"rouge {statistic} {variant}")
    },
}
"""A metric of EvalScope's report -> its name here."""


def _sample(subset: str, target: str, values: dict[str, float]) -> str:
    named = {"accuracy" if name == "acc" else name: value for name, value in values.items()}
    exact = {name: float(named[name]).hex() for name in sorted(named)}
    return json.dumps([subset, target, exact])


def _ours(task: dict[str, Any], case: Case, folder: Path) -> Outcome:
    ran = run_cli("eval", *_flags({**task, "work_dir": str(folder)}), "--no-timestamp")
    if ran.code not in (0, 3):
        return Outcome(ran.err)
    outcome = Outcome()
    samples = {(one["id"], one["repeat"]): one for one in _lines(folder / "predictions.jsonl")}
    for score in _lines(folder / "scores.jsonl"):
        one = samples[score["id"], score["repeat"]]
        target = one["target"] or ""
        outcome.samples[_sample(one["subset"], target, score["metrics"])] += 1
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    for row in report["scores"]:
        if row["num"]:
            metric = outcome.report.setdefault(row["metric"], {})
            metric[row["subset"]] = (row["num"], round(row["score"], 4))  # as theirs are kept
    return outcome


def _flags(task: dict[str, Any]) -> Iterator[str]:
    """A task as EvalScope's command line says it."""
    for name, value in {**task, "think": "reference"}.items():
        yield f"--{name.replace('_', '-')}"
        if isinstance(value, list):
            yield from value
        else:
            yield json.dumps(value) if isinstance(value, dict) else str(value)


def _lines(path: Path) -> Iterator[Any]:
    with path.open(encoding="utf-8", newline="\n") as records:
        yield from map(json.loads, records)
