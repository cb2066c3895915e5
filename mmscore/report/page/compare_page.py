"""What the page of a comparison carries: two or more runs side by side, sample by sample."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mmscore.report.compare import Comparison, compare
from mmscore.report.labels import metric_labels
from mmscore.report.page.images import ImageList, PageImages
from mmscore.report.page.run_page import image_pieces, some_predictions
from mmscore.report.page.samples import (
    PageSample,
    answer_texts,
    facts,
    messages,
    sample_pieces,
    script_piece,
    shared_lines,
    whole_text,
)
from mmscore.report.page.text import HiddenPaths, SharedLines, cut, inert
from mmscore.report.pairing import GroupDifference, Paired, RunsBeside
from mmscore.report.several import SeveralRuns, several
from mmscore.store.lines import Line
from mmscore.store.records import Key
from mmscore.store.run_folder import Run, Whole

OUTCOMES = ("lost", "gained", "differ", "neither", "both", "unpaired")
"""What became of a sample, those that tell most first. Of two runs it was `lost` or `gained`, of
more they `differ`; all were right (`both`) or none was and all were alike (`neither`); or one of
them lacks it."""


@dataclass(frozen=True, slots=True)
class _Beside:
    """One sample in all runs.

    Attributes:
        lines: Its line in each run; None where it has none.
        outcome: A word of OUTCOMES.
    """

    lines: tuple[Line | None, ...]
    outcome: str

    @property
    def first(self) -> Line:
        """Its line in the first run that has one."""
        return next(line for line in self.lines if line is not None)


def compare_pieces(laid: RunsBeside, images: PageImages, hidden: HiddenPaths) -> Iterator[str]:
    """The scripts of JSON that the page of a comparison is drawn from."""
    shared = shared_lines(
        prediction for run in laid.runs[:1] for prediction in some_predictions(run)
    )
    pictures = ImageList(images, hidden)
    yield script_piece("page", inert(hidden.value(_page(laid))))
    samples = _samples(laid)
    pages = (
        _sample(sample, whole, laid.metric, shared, pictures, hidden)
        for sample, whole in zip(samples, _whole(laid.runs, samples), strict=True)
    )
    left_out = {"images": [pictures.side, pictures.left_out()]}
    yield from sample_pieces(pages, len(samples), left_out)
    yield script_piece("lines", inert(list(shared.lines)))
    yield from image_pieces(pictures)


def _page(laid: RunsBeside) -> dict[str, Any]:
    """All but the samples."""
    found = several(laid.runs, metric=laid.metric, force=True)
    pair = compare(*laid.runs, metric=laid.metric, force=True) if len(laid.runs) == 2 else None
    return {
        "kind": "compare",
        "title": laid.runs[0].benchmark.title or laid.runs[0].benchmark.name,
        "names": list(laid.names),
        "metric": laid.metric,
        "labels": metric_labels([laid.metric]),
        "num": found.num,
        "scores": [[one.name, one.score, one.low, one.high, one.left_out] for one in found.scores],
        "pair": _pair(pair) if pair else None,
        "cochran": found.cochran,
        "pairs": _pairs(found),
        "sections": [[name, [_group(row) for row in rows]] for name, rows in found.groups.items()],
        "groups": list(laid.runs[0].benchmark.groups),
        "warnings": list(laid.warnings),
        "made_of": _made_of(laid),
    }


def _difference(found: Paired) -> dict[str, Any]:
    return {
        name: getattr(found, name)
        for name in ("difference", "interval", "clustered", "gained", "lost", "p")
    }


def _pair(found: Comparison) -> dict[str, Any]:
    return {**_difference(found), "both": found.both, "neither": found.neither}


def _pairs(found: SeveralRuns) -> list[dict[str, Any]]:
    return [
        {**_difference(pair), "first": pair.first, "second": pair.second, "holm": pair.holm}
        for pair in found.pairs
    ]


def _group(row: GroupDifference) -> dict[str, Any]:
    more = _difference(row.paired) if row.paired else {}
    return {"name": row.name, "num": row.num, "scores": list(row.scores), **more}


def _made_of(laid: RunsBeside) -> dict[str, Any]:
    runs = {}
    for name, run in zip(laid.names, laid.runs, strict=True):
        info = run.info.to_json()
        runs[name] = {
            part: info[part]
            for part in ("endpoint", "config", "fingerprints", "versions", "started", "finished")
        }
    return {"runs": runs, "versions": dict(laid.runs[0].info.versions)}


def _samples(laid: RunsBeside) -> list[_Beside]:
    """All samples of all runs, those that tell most first."""
    by_key: dict[Key, list[Line | None]] = {}
    for place, run in enumerate(laid.runs):
        for line in run.lines:
            by_key.setdefault(line.key, [None] * len(laid.runs))[place] = line
    found = [_Beside(tuple(lines), _outcome(laid, key)) for key, lines in by_key.items()]
    return sorted(found, key=lambda one: (OUTCOMES.index(one.outcome), one.first.index))


def _outcome(laid: RunsBeside, key: Key) -> str:
    scores = [values[key] for values in laid.values if key in values]
    if len(scores) < len(laid.values):
        return "unpaired"
    if all(score >= 1.0 for score in scores):
        return "both"
    if len(set(scores)) == 1:
        return "neither"
    if len(scores) > 2:
        return "differ"
    return "gained" if scores[1] > scores[0] else "lost"


def _whole(runs: Sequence[Run], samples: Sequence[_Beside]) -> Iterator[list[Whole | None]]:
    """All that each run's folder holds of the samples, one sample in memory at a time."""
    asked = zip(*(one.lines for one in samples), strict=True)  # a column for each run
    readers = [run.whole(filter(None, lines)) for run, lines in zip(runs, asked, strict=False)]
    for one in samples:
        yield [
            next(reader) if line is not None else None
            for reader, line in zip(readers, one.lines, strict=True)
        ]


def _sample(
    sample: _Beside,
    whole: Sequence[Whole | None],
    metric: str,
    shared: SharedLines,
    pictures: ImageList,
    hidden: HiddenPaths,
) -> PageSample:
    prediction = next(one[0] for one in whole if one is not None)
    words: dict[str, Any] = {
        "id": prediction.id,
        "subset": prediction.subset,
        "outcome": sample.outcome,
        "expected": prediction.target,
        **facts(prediction, hidden),
    }
    numbers: dict[str, float | int | None] = {
        "index": prediction.index,
        "repeat": prediction.repeat,
        "choices": len(prediction.choices) or None,
    }
    replies = []
    for place, (one, line) in enumerate(zip(whole, sample.lines, strict=True)):
        read = one[1].extracted if one and one[1] else None
        words |= {f"read:{place}": read, f"status:{place}": one[0].status if one else None}
        numbers[f"score:{place}"] = line.value(metric) if line else None
        replies.append(answer_texts(*one, hidden) if one else None)
    texts = [
        messages(prediction, shared),
        [cut(choice) for choice in prediction.choices],
        whole_text(prediction.target),
        *([None] * 3),
        [],
        None,
        pictures.media(prediction),
        replies,
    ]
    return PageSample(words, numbers, texts)
