"""`report.json` for programs, `report.csv` with one line a sample for spreadsheets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mmscore.report.statistics import deviation, mean
from mmscore.report.summary import SCHEMA, Report, Row
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
        "macro": dict(report.macro),
        "categories": [_row(row, "category") for row in report.categories],
        "groups": {
            name: [_row(row, "value") for row in rows] for name, rows in report.groups.items()
        },
        "bounds": {
            metric: _pair(*pair) if pair else None for metric, pair in report.bounds.items()
        },
        "finished_only": dict(report.finished),
        "repeats": {metric: _repeats(scores) for metric, scores in report.repeats.items()},
        "status": dict(report.status),
        "shares": {name: report.share(name) for name in ("no_answer", "truncated", "refused")},
        "failures": [
            {"status": status, "error": sentence, "num": count}
            for status, sentence, count in report.failures
        ],
        "coverage": {name: getattr(cover, name) for name in cover.__slots__},
        "changed_media": report.changed_media,
        "usage": dict(report.usage),
        "timing": dict(report.timing),
        "judge": report.judge,
        "stopped": info.get("stopped"),
        "shard": info.get("shard"),
        "endpoint": info.get("endpoint"),
        "config": info.get("config") or {},
        "fingerprints": info.get("fingerprints") or {},
        "versions": info.get("versions") or {},
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
    }


def _pair(low: float | None, high: float | None) -> dict[str, float | None]:
    return {"low": low, "high": high}


def _repeats(scores: Iterable[float | None]) -> dict[str, Any]:
    listed = list(scores)
    known = [score for score in listed if score is not None]
    return {"scores": listed, "mean": mean(known), "deviation": deviation(known)}


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
    categories = run.benchmark.get("subsets") or {}
    for prediction, line in run.whole():
        scores = line.get("metrics") or {}
        cells = _cells(prediction, line, categories)
        yield writer.writerow([*map(_safe, cells), *(scores.get(metric, "") for metric in metrics)])


class _Echo:
    """What a `csv` writer writes to so that `writerow` returns the line."""

    def write(self, text: str) -> str:
        return text


_COLUMNS = (
    "id",
    "repeat",
    "subset",
    "category",
    "status",
    "question",
    "choices",
    "target",
    "reply",
    "extracted",
    "rule",
    "judge",
    "error",
    "finish_reason",
    "prompt_tokens",
    "completion_tokens",
    "seconds",
    "first_token_seconds",
    "attempts",
    "media",
)


def _cells(
    prediction: Mapping[str, Any], line: Mapping[str, Any], categories: Mapping[str, str]
) -> list[object]:
    usage = prediction.get("usage") or {}
    media = prediction.get("media") or ()
    made = {
        "repeat": prediction.get("repeat", 0),
        "category": categories.get(prediction.get("subset", "")),
        "choices": " | ".join(map(str, prediction.get("choices") or ())),
        "extracted": line.get("extracted"),
        "rule": line.get("rule"),
        "judge": _verdicts(line.get("judge")),
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
        "media": " | ".join(str(medium.get("place", "")) for medium in media),
    }
    return [made[name] if name in made else prediction.get(name) for name in _COLUMNS]


def _verdicts(judge: object) -> str | None:
    """Each judge's word, or why there is none."""
    if not isinstance(judge, dict):
        return None
    said = [(one["judge"], one["verdict"] or one["error"]) for one in judge.get("verdicts") or ()]
    return " | ".join(f"{name}: {word}" for name, word in said)


def _safe(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    text = cell.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if text[:1] in _FORMULA and not _PLAIN_NUMBER.fullmatch(text):
        return "'" + text
    return text
