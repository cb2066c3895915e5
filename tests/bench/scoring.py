"""Time whole-list scoring, and the reference's on the same replies in the same run.

    python tests/bench/scoring.py

The reference is timed where `evalscope` can be imported. Both sides must agree before they are
timed. Prints the median and the fastest of the rounds, in nanoseconds for each reply.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import mmscore._core as _core
from mmscore.scoring.batch import score_replies

Score = Callable[[list[str], list[str]], list[Any]]

ROWS = 20_000
ROUNDS = 9

LINES = [
    ("ANSWER: CT", "CT"),
    ("The image shows the chest.\nANSWER: Left Lung", "Left Lung"),
    ("**ANSWER:** Yes.", "yes"),
    ("ANSWER: 是的", "是"),
    ("ANSWER: X光 (胸部)", "X-Ray"),
    ("The liver", "Heart"),
    ("ANSWER: Pay attention to diet, keep warm", "Keep warm, pay attention to diet"),
    ("No", "不是"),
]
CHOICES = [
    ("ANSWER: B", "B"),
    ("The scan shows a mass in the left lobe, so option C.\nANSWER: C", "C"),
    ("**Answer:** (D)", "A"),
    ("I think it is A", "A"),
]
COUNTS = [("12", "12"), ("There are 7 birds", "8"), ("**20**", "21"), ("none", "0")]


def rows(shapes: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    """Fresh strings, as a reader of replies would make them."""
    chosen = [shapes[place % len(shapes)] for place in range(ROWS)]
    return ["".join(list(reply)) for reply, _ in chosen], ["".join(list(it)) for _, it in chosen]


def nanoseconds(score: Score, replies: list[str], targets: list[str]) -> str:
    """The median and the minimum over the rounds, for each reply."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        score(replies, targets)
        seconds.append(time.perf_counter() - start)
    scale = 1e9 / ROWS
    return f"{statistics.median(seconds) * scale:8.0f} {min(seconds) * scale:8.0f}"


def reference() -> dict[str, Score]:
    """The reference's functions in a plain loop; empty where it is not installed."""
    try:
        count_qa = import_module("evalscope.benchmarks.count_qa.count_qa_adapter")
        slake = import_module("evalscope.benchmarks.slake.utils")
        multi_choices = import_module("evalscope.utils.multi_choices")
    except ImportError:
        return {}

    class State:
        choices = (None,) * 4

    state = State()

    def label(reply: str) -> str:
        return "".join(sorted(multi_choices.parse_answers(state, completion=reply)))

    def line(reply: str, target: str) -> float:
        return float(
            slake.normalize_answer(slake.parse_answer(reply)) == slake.normalize_answer(target)
        )

    def pairs(score: Callable[[str, str], float]) -> Score:
        return lambda replies, targets: list(map(score, replies, targets))

    return {
        "slake": pairs(line),
        "pmc_vqa": pairs(lambda reply, it: float(label(reply).lower() == it.strip().lower())),
        "count_qa": pairs(lambda reply, it: float(count_qa.parse_count(reply) == int(it))),
    }


def main() -> None:
    """Check that both sides agree, then time them."""
    core: dict[str, Score] = {
        "slake": _core.score_slake,
        "pmc_vqa": lambda replies, targets: _core.score_choices(replies, targets, 4, "en", False),
        "count_qa": _core.score_counts,
    }
    theirs = reference()
    print(f"{'nanoseconds for each reply':<28}{'median':>8} {'fastest':>8}")
    for name, shapes in {"slake": LINES, "pmc_vqa": CHOICES, "count_qa": COUNTS}.items():
        replies, targets = rows(shapes)
        sides: dict[str, Score] = {
            "core": core[name],
            "score_replies": partial(score_replies, name),
        }
        if name in theirs:
            sides["reference"] = theirs[name]
            expected = [row["accuracy"] for row in score_replies(name, replies, targets)]
            if theirs[name](replies, targets) != expected:
                raise SystemExit(f"{name}: the two sides differ")
        for side, score in sides.items():
            print(f"{f'{name}, {side}':<28}{nanoseconds(score, replies, targets)}")


if __name__ == "__main__":
    main()
