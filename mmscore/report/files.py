"""`report.json`, for programs."""

from __future__ import annotations

import json
from typing import Any

from mmscore.report.repeats import Repeats
from mmscore.report.statistics import deviation, mean
from mmscore.report.summary import SCHEMA, Report, Row


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
