"""`report.json` for programs, `report.csv` with one line a sample for spreadsheets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mmscore.report.repeats import Repeats
from mmscore.report.statistics import deviation, mean
from mmscore.report.summary import SCHEMA, Report, Row
from mmscore.store.records import JudgeSummary, Prediction, Score
from mmscore.store.run_folder import Run

_FORMULA = frozenset("=+-@\t\r")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def to_json(report: Report) -> str:
    """The report as versioned JSON; scores are fractions 0..1, unrounded, null where nothing is."""
    return json.dumps(to_dict(report), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def to_dict(report: Report) -> dict[str, Any]:
    """The report as plain values, in the shape of `report.json`."""
    info, cover = report.info, report.coverage
    return {
        "schema_version": SCHEMA,
        "model": report.model,
        "dataset": report.dataset,
        "num": report.main.num,
        "primary": report.primary,
        "scores": [_row(row, "subset", row.category) for row in report.scores],
        "overall": {row.metric: row.score for row in report.overall},
        "intervals": {row.metric: _pair(row.low, row.high) for row in report.overall},
        "clustered": {
            row.metric: {**_pair(*row.clustered), "clusters": report.images}
            for row in report.overall
            if row.clustered is not None
        },
        "macro": dict(report.macro),
        "categories": [_row(row, "category") for row in report.categories],
        "groups": {
            name: [_row(row, "value") for row in rows] for name, rows in report.groups.items()
        },
        "bounds": {
            metric: _pair(*pair) if pair else None for metric, pair in report.bounds.items()
        },
        "finished_only": dict(report.finished),
        "repeats": {metric: _repeats(found) for metric, found in report.repeats.items()},
        "status": dict(report.status),
        "shares": {name: report.share(name) for name in ("no_answer", "truncated", "refused")},
        "failures": [
            {"status": status, "error": sentence, "num": count}
            for status, sentence, count in report.failures
        ],
        "finish_reasons": dict(report.finish_reasons),
        "unknown_finish_reasons": report.unknown_reasons,
        "coverage": {name: getattr(cover, name) for name in cover.__slots__},
        "changed_media": report.changed_media,
        "usage": dict(report.usage),
        "timing": dict(report.timing),
        "judge": report.judge,
        "stopped": info.stopped,
        "shard": info.shard,
        "endpoint": info.endpoint,
        "config": dict(info.config),
        "fingerprints": info.fingerprints.to_json(),
        "versions": dict(info.versions),
    }


def _row(row: Row, name: str, category: str | None = None) -> dict[str, Any]:
    return {
        "metric": row.metric,
        name: row.name,
        **({"category": category} if category is not None else {}),
        "num": row.num,
        "score": row.score,
        "low": row.low,
        "high": row.high,
        "clustered": _pair(*row.clustered) if row.clustered else None,
    }


def _pair(low: float | None, high: float | None) -> dict[str, float | None]:
    return {"low": low, "high": high}


def _repeats(found: Repeats) -> dict[str, Any]:
    known = [score for score in found.scores if score is not None]
    return {
        "scores": list(found.scores),
        "mean": mean(known),
        "deviation": deviation(known),
        **found.to_json(),
    }


def csv_lines(run: Run) -> Iterator[str]:
    """One line a sample, in the order of the data set; RFC 4180 quoting, lines end in LF.

    A spreadsheet runs a cell that starts with `=`, `+`, `-` or `@`, and replies come from
    strangers: such text gets a leading apostrophe, unless it is a plain number. The journal
    keeps the reply as it was.
    """
    import csv

    writer = csv.writer(_Echo(), lineterminator="\n")
    metrics = run.metrics
    yield writer.writerow([*_COLUMNS, *map(_safe, metrics)])
    for prediction, score in run.whole():
        scores = score.metrics if score else {}
        cells = [cell(prediction, score, run) for cell in _COLUMNS.values()]
        safe = [_safe(cell) if type(cell) is str else cell for cell in cells]
        yield writer.writerow([*safe, *(scores.get(metric, "") for metric in metrics)])


class _Echo:
    """What a `csv` writer writes to so that `writerow` returns the line."""

    def write(self, text: str) -> str:
        return text


_COLUMNS: Mapping[str, Callable[[Prediction, Score | None, Run], object]] = {
    "id": lambda sample, *_: sample.id,
    "repeat": lambda sample, *_: sample.repeat,
    "subset": lambda sample, *_: sample.subset,
    "category": lambda sample, _, run: run.benchmark.subsets.get(sample.subset),
    "status": lambda sample, *_: sample.status,
    "question": lambda sample, *_: sample.question,
    "choices": lambda sample, *_: " | ".join(sample.choices),
    "target": lambda sample, *_: sample.target,
    "reply": lambda sample, *_: sample.reply,
    "extracted": lambda _, score, *__: score and score.extracted,
    "rule": lambda _, score, *__: score and score.rule,
    "judge": lambda _, score, *__: score and score.judge and _votes(score.judge),
    "error": lambda sample, *_: sample.error,
    "finish_reason": lambda sample, *_: sample.finish_reason,
    "prompt_tokens": lambda sample, *_: sample.usage.prompt_tokens,
    "completion_tokens": lambda sample, *_: sample.usage.completion_tokens,
    "seconds": lambda sample, *_: sample.seconds,
    "answer_seconds": lambda sample, *_: sample.answer_seconds,
    "first_token_seconds": lambda sample, *_: sample.first_token_seconds,
    "attempts": lambda sample, *_: sample.attempts,
    "media": lambda sample, *_: " | ".join(medium.place for medium in sample.media),
}
"""Column -> its cell of a sample."""


def _votes(judge: JudgeSummary) -> str:
    """Each judge's word, or why there is none."""
    return " | ".join(f"{vote.judge}: {vote.verdict or vote.error}" for vote in judge.verdicts)


def _safe(cell: str) -> str:
    text = cell.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if text[:1] in _FORMULA and not _PLAIN_NUMBER.fullmatch(text):
        return "'" + text
    return text
