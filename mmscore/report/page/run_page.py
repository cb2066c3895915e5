"""What the page of a run carries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mmscore.report.files import to_dict
from mmscore.report.labels import metric_labels
from mmscore.report.page.images import ImageList, PageImages
from mmscore.report.page.samples import (
    LOOKED_AT,
    PageSample,
    answer_texts,
    facts,
    fell_short,
    messages,
    sample_pieces,
    script_piece,
    shared_lines,
    whole_text,
    worst_first,
)
from mmscore.report.page.text import HiddenPaths, SharedLines, cut, inert, is_absolute
from mmscore.report.summary import Report, Row
from mmscore.store.lines import Line
from mmscore.store.records import Prediction, Score
from mmscore.store.run_folder import Run

_COUNTED = (
    *("coverage", "status", "shares", "bounds", "finished_only", "macro", "repeats"),
    *("usage", "timing", "judge", "changed_media", "stopped", "clustered"),
    "unknown_finish_reasons",
)
"""What the page says in words of its own, in the shape of `report.json`."""

_MADE_OF = ("endpoint", "config", "fingerprints", "versions", "started", "finished")


def run_pieces(report: Report, run: Run, images: PageImages, hidden: HiddenPaths) -> Iterator[str]:
    """The scripts of JSON that the page of a run is drawn from."""
    shared = shared_lines(some_predictions(run))
    pictures = ImageList(images, hidden)
    yield script_piece("page", inert(hidden.value(_page(report))))
    lines = worst_first(run.lines, lambda line: fell_short(line, report.primary))
    samples = (
        _sample(line, *whole, report.metrics, shared, pictures, hidden)
        for line, whole in zip(lines, run.whole(lines), strict=True)
    )
    yield from sample_pieces(samples, len(lines), {"images": [pictures.side, pictures.left_out()]})
    yield script_piece("lines", inert(list(shared.lines)))
    yield from image_pieces(pictures)


def image_pieces(pictures: ImageList) -> Iterator[str]:
    """The script that holds the images."""
    yield '<script type="application/json" id="images">['
    comma = ""
    for uri in pictures.uris():
        yield comma + inert(uri)
        comma = ","
    yield "]</script>\n"


def roots_of(run: Run) -> set[str]:
    """The folders that a run's configuration and its media name, below which names may be shown."""
    found: set[str] = set()
    waiting: list[object] = [dict(run.info.config), run.benchmark.file]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and is_absolute(value) and "\n" not in value:
            found.add(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def some_predictions(run: Run) -> Iterator[Prediction]:
    """Predictions of samples from all over the run, so many of each subset."""
    subsets: dict[str, list[Line]] = {}
    for line in run.lines:
        subsets.setdefault(line.subset, []).append(line)
    for lines in subsets.values():
        every = -(-len(lines) // LOOKED_AT)
        for prediction, _ in run.whole(lines[::every]):
            yield prediction


def _page(report: Report) -> dict[str, Any]:
    """All but the samples."""
    info = report.info.to_json()
    sections: list[tuple[str, tuple[Row, ...]]] = list(report.groups.items())
    if report.categories:
        sections.insert(0, ("category", report.categories))
    whole = to_dict(report)
    return {
        "kind": "run",
        "title": report.title,
        "model": report.model,
        "metrics": list(report.metrics),
        "primary": report.primary,
        "labels": metric_labels(report.metrics),
        "overall": [_bar(row) for row in report.overall],
        "scores": [_bar(row) for row in report.scores],
        "sections": [[name, [_bar(row) for row in rows]] for name, rows in sections],
        "groups": list(report.groups),
        "failures": [list(failure) for failure in report.failures[:20]],
        **{name: whole[name] for name in _COUNTED},
        "made_of": {name: info[name] for name in _MADE_OF},
    }


def _bar(row: Row) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ("metric", "name", "num", "shown", "low", "high")}


def _waited(prediction: Prediction) -> float | None:
    """Seconds in waits and retries before the attempt that answered; None where that is unknown."""
    if prediction.seconds is None or prediction.answer_seconds is None:
        return None
    return round(prediction.seconds - prediction.answer_seconds, 3) or None


def _sample(
    line: Line,
    prediction: Prediction,
    score: Score | None,
    metrics: tuple[str, ...],
    shared: SharedLines,
    pictures: ImageList,
    hidden: HiddenPaths,
) -> PageSample:
    read = score.extracted if score else None
    votes = score.judge.verdicts if score and score.judge else ()
    words = {
        "id": prediction.id,
        "subset": prediction.subset,
        "status": prediction.status,
        "rule": score.rule if score else None,
        "finish": prediction.finish_reason,
        "expected": prediction.target,
        "read": read,
        "verdict": [vote.verdict for vote in votes if vote.verdict] or None,
        **facts(prediction, hidden),
    }
    numbers = {
        "index": prediction.index,
        "repeat": prediction.repeat,
        "seconds": prediction.answer_seconds or prediction.seconds,
        "waited": _waited(prediction),
        "first": prediction.first_token_seconds,
        "in": prediction.usage.prompt_tokens,
        "out": prediction.usage.completion_tokens,
        "length": len(prediction.reply) if prediction.replied else None,
        "choices": len(prediction.choices) or None,
        "attempts": prediction.attempts,
        **{f"score:{metric}": line.value(metric) for metric in metrics},
    }
    texts = [
        messages(prediction, shared),
        [cut(choice) for choice in prediction.choices],
        whole_text(prediction.target),
        *answer_texts(prediction, score, hidden),
        pictures.media(prediction),
    ]
    return PageSample(words, numbers, texts)
