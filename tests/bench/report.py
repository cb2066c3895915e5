"""Reading a run: CPU time and memory of its report, and the whole `mmscore score`.

    python tests/bench/report.py [--samples 2094 100000] [--rounds 5]

Draws run folders of its own, as a SLAKE run leaves them, in a temporary folder. A fresh process
reads each, so that memory is that of one report alone.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import cost_of, show

SUBSETS = {"en_open": "en", "en_closed": "en", "zh_open": "zh", "zh_closed": "zh"}
WORDS = (
    "the image",
    "shows",
    "a chest",
    "with clear",
    "lungs and",
    "no mass",
    "肺部",
    "未见",
    "异常",
)


def draw(folder: Path, count: int, words: int = 40) -> None:
    """Write the folder of a run of `count` samples, in the order in which threads end."""
    rng = random.Random(count)
    benchmark = {
        "name": "slake",
        "title": "SLAKE",
        "metrics": ["accuracy"],
        "subsets": SUBSETS,
        "groups": ["modality", "location"],
    }
    names = [*SUBSETS]
    planned = {name: len(range(place, count, 4)) for place, name in enumerate(names)}
    info = {
        "schema_version": 1,
        "benchmark": benchmark,
        "model": "m",
        "endpoint": "127.0.0.1",
        "config": {"datasets": ["slake"], "model": "m"},
        "versions": {},
        "fingerprints": {},
        "planned": planned,
        "repeats": 1,
        "seconds": 10.0,
        "stopped": None,
        "judge": None,
    }
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(json.dumps(info), encoding="utf-8")
    order = sorted(range(count), key=lambda index: index + rng.random() * 16)
    with (
        (folder / "predictions.jsonl").open("w", encoding="utf-8") as predictions,
        (folder / "scores.jsonl").open("w", encoding="utf-8") as scores,
    ):
        for index in order:
            answer = rng.choice(("yes", "no", "CT", "lung"))
            reply = f"{' '.join(rng.choices(WORDS, k=words))}\nANSWER: {answer}"
            prediction = {
                "id": f"{names[index % 4]}/{index}",
                "repeat": 0,
                "subset": names[index % 4],
                "index": index,
                "request": rng.randbytes(32).hex(),
                "status": "ok",
                "reply": reply,
                "reasoning": None,
                "finish_reason": "stop",
                "usage": {"prompt_tokens": rng.randrange(300, 900), "completion_tokens": words},
                "seconds": round(rng.random() * 3, 6),
                "first_token_seconds": None,
                "attempts": 1,
                "error": None,
                "media": [
                    {"place": f"imgs/xmlab{index // 10}/source.jpg", "sha256": "0" * 64,
                     "bytes": 30_000, "mime": "image/jpeg", "notes": []}
                ],
                "question": f"Does the picture {index} contain a lung?\nSay it in a word.",
                "target": rng.choice(("yes", "no", "CT", "lung")),
                "choices": [],
                "metadata": {"modality": rng.choice(("CT", "MRI", "X-Ray")), "location": "Lung",
                             "question_id": index, "answer_type": "OPEN"},
            }  # fmt: skip
            score = {
                "id": prediction["id"],
                "repeat": 0,
                "extracted": answer,
                "rule": "answer-line",
                "metrics": {"accuracy": float(answer == prediction["target"])},
            }
            predictions.write(
                json.dumps(prediction, ensure_ascii=False, separators=(",", ":")) + "\n"
            )
            scores.write(json.dumps(score, ensure_ascii=False, separators=(",", ":")) + "\n")


def peak() -> float:
    """Megabytes this process has held at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(folder: Path) -> dict[str, float]:
    """CPU milliseconds of each step on one folder, and megabytes the process grew by."""
    from mmscore.report import build, load, write
    from mmscore.report.terminal import render

    times: dict[str, float] = {}

    def timed(name: str, step: Callable[[], Any]) -> Any:
        started = time.process_time()
        value = step()
        times[name] = (time.process_time() - started) * 1000
        return value

    before = peak()
    run = timed("load", lambda: load(folder))
    times["MB after load"] = peak() - before
    report = timed("build", lambda: build(run))
    timed("terminal", lambda: render(report))
    timed("json", lambda: write(report, run, "json"))
    timed("csv", lambda: write(report, run, "csv"))
    times["all"] = sum(times[name] for name in ("load", "build", "terminal", "json", "csv"))
    times["MB"] = peak() - before
    timed("html", lambda: write(report, run, "html"))
    times["MB with html"] = peak() - before
    return times


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, nargs="+", default=[2094, 100_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(measure(options.folder)))
        return
    script = str(Path(sys.executable).with_name("mmscore"))
    with tempfile.TemporaryDirectory() as place:
        for count in options.samples:
            folder = Path(place) / str(count)
            draw(folder, count)
            rounds = options.rounds if count < 20_000 else 1
            command = [sys.executable, __file__, "--folder", str(folder)]
            found = [json.loads(subprocess.check_output(command)) for _ in range(rounds)]
            size = (folder / "predictions.jsonl").stat().st_size / 1e6
            print(f"{count} samples, {size:.0f} MB of predictions; CPU in ms")
            for name in found[0]:
                print(f"  {name:<16}{statistics.median(one[name] for one in found):>10.1f}")
            show(
                "  mmscore score", [cost_of([script, "score", str(folder)]) for _ in range(rounds)]
            )


if __name__ == "__main__":
    main()
