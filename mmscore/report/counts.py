"""What is counted beside the scores: statuses, tokens, time, failures, verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from mmscore.records import FAILED, Status
from mmscore.report.folder import Run
from mmscore.stats import spread


def status(run: Run) -> dict[str, int]:
    """Status -> count, every status named even at 0."""
    found = Counter(str(p.get("status", "error")) for p in run.predictions)
    return {name: found[name] for name in dict.fromkeys([*get_args(Status), *found])}


def failures(run: Run) -> tuple[tuple[str, str, int], ...]:
    """Why samples failed: (status, sentence, count), commonest first."""
    found = Counter(
        (str(p["status"]), str(p.get("error") or "no reason recorded"))
        for p in run.predictions
        if p.get("status") in FAILED
    )
    ordered = sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
    return tuple((name, sentence, count) for (name, sentence), count in ordered)


def usage(run: Run) -> dict[str, Any]:
    """Token totals over the replies that came with a count, and how many came without."""
    replies = [p for p in run.predictions if p.get("status") not in FAILED]
    counted = [p.get("usage") or {} for p in replies]
    missing = sum(
        u.get("prompt_tokens") is None and u.get("completion_tokens") is None for u in counted
    )
    return {
        **tokens(counted),
        "replies": len(replies),
        "missing": missing,
        "missing_share": missing / len(replies) if replies else 0.0,
    }


def tokens(counted: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Sums of what the endpoint counted."""
    prompt = completion = 0
    for one in counted:
        prompt += one.get("prompt_tokens") or 0
        completion += one.get("completion_tokens") or 0
    return {"prompt_tokens": prompt, "completion_tokens": completion}


def timing(run: Run) -> dict[str, Any]:
    """Wall time, requests, retries and latency; seconds everywhere."""
    asked = [p for p in run.predictions if p.get("attempts")]
    replied = [p for p in asked if p.get("status") not in FAILED]
    attempts = sum(int(p["attempts"]) for p in asked)
    seconds = run.info.get("seconds")
    written = usage(run)["completion_tokens"]
    first = [p["first_token_seconds"] for p in replied if p.get("first_token_seconds") is not None]
    return {
        "started": run.info.get("started"),
        "finished": run.info.get("finished"),
        "seconds": seconds,
        "requests": attempts,
        "retries": attempts - len(asked),
        "latency": spread(p["seconds"] for p in replied if p.get("seconds") is not None),
        "first_token": spread(first),
        "output_tokens_per_second": written / seconds if seconds and written else None,
    }


def judge(run: Run) -> dict[str, Any] | None:
    """What the judges did; None without any.

    `judged` replies have a verdict, `failed` ones should have and have none. `share` is of all
    scored replies, `coverage` of those a judge was wanted for; None where it was for none.
    """
    lines = [line for line in map(run.score_of, run.predictions) if line]
    found = [line["judge"] for line in lines if isinstance(line.get("judge"), dict)]
    about = run.info.get("judge")
    if not about and not found:
        return None
    failed = sum(bool(verdict.get("error")) for verdict in found)
    judged = len(found) - failed
    verdicts = [one for verdict in found for one in verdict.get("verdicts") or ()]
    given = Counter(one["judge"] for one in verdicts if not one["error"])
    refused = Counter(str(one["kind"]) for one in verdicts if one["error"])
    return {
        **(about if isinstance(about, dict) else {}),
        "judged": judged,
        "failed": failed,
        "incomplete": sum(not v.get("error") and not v.get("complete", True) for v in found),
        "share": judged / len(lines) if lines else 0.0,
        "coverage": judged / len(found) if found else None,
        "verdicts": dict(given),
        "failures": dict(refused),
        "errors": reasons(v["error"] for v in found if v.get("error")),
        "usage": tokens(v.get("usage") or {} for v in found),
        "requests": sum(int(v.get("requests") or 0) for v in found),
        "seconds": sum(float(v.get("seconds") or 0.0) for v in found),
    }


def reasons(sentences: Iterable[str]) -> list[dict[str, Any]]:
    """Sentences with how often each occurs, commonest first."""
    found = Counter(sentences)
    ordered = sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"error": sentence, "num": count} for sentence, count in ordered]


def changed_media(run: Run) -> int:
    """Samples of which a medium was re-encoded before it was sent."""
    return sum(any(m.get("notes") for m in p.get("media") or ()) for p in run.predictions)
