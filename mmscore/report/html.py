"""`report.html`: one file that opens by double click, with no server and no network."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmscore.report.labels import metric_labels
from mmscore.report.summary import Report, Row
from mmscore.report.terminal import notes
from mmscore.store.lines import labels_of
from mmscore.store.records import JudgeSummary, Prediction, Score, SentMedium
from mmscore.store.run_folder import Run

TEXT_LIMIT = 20_000
"""Characters of a question, reply or reasoning that the page carries; the journal has them all."""
_FIELDS = (
    "id",
    "repeat",
    "subset",
    "status",
    "question",
    "choices",
    "target",
    "reply",
    "reasoning",
    "extracted",
    "rule",
    "judge",
    "error",
    "finish",
    "seconds",
    "tokens",
    "scores",
    "groups",
    "media",
)


def html_pieces(report: Report, run: Run, thumbnails: Mapping[str, str]) -> Iterator[str]:
    """The whole page, one sample at a time.

    Replies and data are hostile: they travel as JSON whose `<`, `>` and `&` are escaped, become
    text nodes in the page, and a content security policy lets no other script run and nothing
    be loaded.

    Args:
        report: What the run came to.
        run: The run it was built from.
        thumbnails: Place of a medium, as the journal names it -> `data:image/...` URI.
    """
    here = Path(__file__)
    page = here.with_name("page.html").read_text(encoding="utf-8")
    script = here.with_name("page.js").read_text(encoding="utf-8")
    style = page[page.index("<style>") + len("<style>") : page.index("</style>")]
    parts = {
        "policy": _policy(f"\n{script}\n", style),
        "title": _escaped(f"{report.title} · {report.model}"),
        "script": script,
    }
    # One pass: a mark inside what was filled in is never filled in itself.
    for place, text in enumerate(re.split(r"\{\{(\w+)\}\}", page)):
        if place % 2 == 0:
            yield text
        elif text == "data":
            yield from _data_pieces(report, run, thumbnails)
        else:
            yield parts[text]


def _data_pieces(report: Report, run: Run, thumbnails: Mapping[str, str]) -> Iterator[str]:
    """The JSON the page shows; the samples stand last."""
    groups = list(report.groups)
    yield _inert(_data(report, thumbnails))[:-1]
    yield f',"samples":{{"fields":{_inert(_FIELDS)},"rows":['
    comma = ""
    for prediction, score in run.whole():
        yield comma + _inert(_sample(prediction, score, report.metrics, groups))
        comma = ","
    yield "]}}"


def _inert(value: object) -> str:
    """JSON that no HTML parser takes for markup, wherever in a page it stands."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _escaped(text: str) -> str:
    from html import escape

    return escape(text)


def _policy(script: str, style: str) -> str:
    """A content security policy that knows this script and this style by their digests."""
    return (
        f"default-src 'none'; img-src data:; script-src {_digest(script)}; "
        f"style-src {_digest(style)}; base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    from base64 import b64encode
    from hashlib import sha256

    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _data(report: Report, thumbnails: Mapping[str, str]) -> dict[str, Any]:
    info = report.info.to_json()
    sections: list[tuple[str, tuple[Row, ...]]] = list(report.groups.items())
    if report.categories:
        sections.insert(0, ("category", report.categories))
    return {
        "title": report.title,
        "model": report.model,
        "metrics": list(report.metrics),
        "primary": report.primary,
        "labels": metric_labels(report.metrics),
        "overall": [_bar(row) for row in report.overall],
        "scores": [_bar(row) for row in report.scores],
        "sections": [
            {"name": name, "rows": [_bar(row) for row in rows]} for name, rows in sections
        ],
        "notes": notes(report),
        "groups": list(report.groups),
        "thumbnails": {
            place: uri for place, uri in thumbnails.items() if uri.startswith("data:image/")
        },
        "provenance": {
            name: info[name]
            for name in ("endpoint", "config", "fingerprints", "versions", "started", "finished")
        },
        "footer": _footer(report),
    }


def _bar(row: Row) -> dict[str, Any]:
    return {
        "metric": row.metric,
        "name": row.name,
        "num": row.num,
        "shown": row.shown,
        "low": row.low,
        "high": row.high,
    }


def _footer(report: Report) -> str:
    version = report.info.versions.get("mmscore")
    made = f"mmscore {version}" if version else "mmscore"
    return f"{made} · {report.info.started or 'never started'}"


def _sample(
    prediction: Prediction, score: Score | None, metrics: tuple[str, ...], groups: list[str]
) -> list[Any]:
    found = {
        "id": prediction.id,
        "repeat": prediction.repeat,
        "subset": prediction.subset,
        "status": prediction.status,
        "target": prediction.target,
        "question": _cut(prediction.question),
        "reply": _cut(prediction.reply),
        "reasoning": _cut(prediction.reasoning),
        "error": prediction.error,
        "choices": "\n".join(prediction.choices),
        "extracted": _cut(score.extracted) if score else None,
        "rule": score.rule if score else None,
        "judge": _votes(score.judge) if score and score.judge else None,
        "finish": prediction.finish_reason,
        "seconds": prediction.seconds,
        "tokens": [prediction.usage.prompt_tokens, prediction.usage.completion_tokens],
        "scores": [score.metrics.get(metric) if score else None for metric in metrics],
        "groups": [labels_of(prediction.metadata.get(name)) for name in groups],
        "media": [_medium(medium) for medium in prediction.media],
    }
    return [found[name] for name in _FIELDS]


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= TEXT_LIMIT:
        return text
    hidden = len(text) - TEXT_LIMIT
    return f"{text[:TEXT_LIMIT]}\n… {hidden:,} more characters in predictions.jsonl"


def _votes(judge: JudgeSummary) -> str | None:
    """Each judge's word and why."""
    lines = []
    for vote in judge.verdicts:
        why = f" ({vote.reasoning})" if vote.reasoning else ""
        lines.append(f"{vote.judge}: {vote.verdict or vote.error}{why}")
    return _cut(" | ".join(lines))


def _medium(medium: SentMedium) -> dict[str, str]:
    return {
        "place": medium.place,
        "mime": medium.mime or "",
        "notes": "; ".join(medium.notes or ()),
    }
