"""What the page of a run carries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mmscore.report.files import to_dict
from mmscore.report.labels import metric_labels
from mmscore.report.page.images import ImageList, PageImages
from mmscore.report.page.samples import (
    LOOKED_AT,
    PageSample,
    facts,
    messages,
    sample_pieces,
    shared_lines,
    whole_text,
    worst_first,
)
from mmscore.report.page.text import HiddenPaths, SharedLines, cut, inert, is_absolute
from mmscore.report.summary import Report, Row
from mmscore.store.lines import Line
from mmscore.store.run_folder import Run

_COUNTED = (
    *("coverage", "status", "shares", "bounds", "finished_only", "macro", "repeats"),
    *("usage", "timing", "judge", "changed_media", "stopped"),
)
"""What the page says in words of its own, in the shape of `report.json`."""

_MADE_OF = ("endpoint", "config", "fingerprints", "versions", "started", "finished")


def run_pieces(report: Report, run: Run, images: PageImages) -> Iterator[str]:
    """The scripts of JSON that the page of a run is drawn from."""
    hidden = HiddenPaths(roots_of(run))
    shared = shared_lines(_some(run))
    pictures = ImageList(images, hidden)
    yield _script("page", inert(hidden.value(_page(report))))
    lines = worst_first(run.lines, lambda line: _fell_short(line, report.primary))
    samples = (
        _sample(line, *whole, report.metrics, shared, pictures, hidden)
        for line, whole in zip(lines, run.whole(lines), strict=True)
    )
    yield from sample_pieces(samples, len(lines), {"images": [pictures.side, pictures.left_out()]})
    yield _script("lines", inert(list(shared.lines)))
    yield from image_pieces(pictures)


def image_pieces(pictures: ImageList) -> Iterator[str]:
    """The script that holds the images."""
    yield '<script type="application/json" id="images">['
    comma = ""
    for uri in pictures.uris():
        yield comma + inert(uri)
        comma = ","
    yield "]</script>\n"


def _script(name: str, text: str) -> str:
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def roots_of(run: Run) -> set[str]:
    """The folders that a run's configuration and its media name, below which names may be shown."""
    found: set[str] = set()
    waiting: list[object] = [run.info.get("config"), run.benchmark.get("file")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str) and is_absolute(value) and "\n" not in value:
            found.add(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
    return found


def _some(run: Run) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Subset and prediction of samples from all over the run, so many of each subset."""
    subsets: dict[str, list[Line]] = {}
    for line in run.lines:
        subsets.setdefault(line.subset, []).append(line)
    for subset, lines in subsets.items():
        every = -(-len(lines) // LOOKED_AT)
        for prediction, _ in run.whole(lines[::every]):
            yield subset, prediction


def _fell_short(line: Line, primary: str) -> bool:
    """Whether a sample failed, has no score or less than the whole one."""
    value = line.value(primary)
    return value is None or value < 1.0


def _page(report: Report) -> dict[str, Any]:
    """All but the samples."""
    info = report.info
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
        "made_of": {name: info[name] for name in _MADE_OF if name in info},
    }


def _bar(row: Row) -> dict[str, Any]:
    return {
        name: getattr(row, name) for name in ("metric", "name", "num", "shown", "low", "high")
    }


def _sample(
    line: Line,
    prediction: Mapping[str, Any],
    score: Mapping[str, Any],
    metrics: tuple[str, ...],
    shared: SharedLines,
    pictures: ImageList,
    hidden: HiddenPaths,
) -> PageSample:
    reply, read = prediction.get("reply"), score.get("extracted")
    choices = [cut(str(choice)) for choice in prediction.get("choices") or ()]
    verdicts = _verdicts(score.get("judge"), hidden)
    target = prediction.get("target")
    words = {
        "id": line.id,
        "subset": line.subset,
        "status": line.status,
        "rule": score.get("rule"),
        "finish": prediction.get("finish_reason"),
        "expected": target,
        "read": read,
        "verdict": [str(one[1]) for one in verdicts if one[1]] or None,
        **facts(prediction, hidden),
    }
    numbers = {
        "index": line.index,
        "repeat": line.repeat,
        "seconds": line.seconds,
        "first": line.first_token_seconds,
        "in": line.prompt_tokens,
        "out": line.completion_tokens,
        "length": None if line.failed or reply is None else len(reply),
        "choices": len(choices) or None,
        "attempts": line.attempts,
        **{f"score:{metric}": line.value(metric) for metric in metrics},
    }
    texts = [
        messages(prediction, shared),
        choices,
        whole_text(target),
        0 if reply and reply == read else reply and cut(reply),
        prediction.get("reasoning") and cut(prediction["reasoning"]),
        whole_text(read),
        verdicts,
        prediction.get("error") and hidden.sentence(cut(str(prediction["error"]))),
        pictures.media(prediction),
    ]
    return PageSample(words, numbers, texts)


def _verdicts(judge: object, hidden: HiddenPaths) -> list[list[str | None]]:
    """Of each judge: its name, its verdict, why; and the error where there is no verdict."""
    if not isinstance(judge, dict):
        return []
    return [
        [
            str(one.get("judge", "")),
            one.get("verdict"),
            one.get("reasoning") and cut(one["reasoning"]),
            one.get("error") and hidden.sentence(cut(one["error"])),
        ]
        for one in judge.get("verdicts") or ()
    ]
