"""What is counted beside the scores: statuses, tokens, time, failures, verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, get_args

from mmscore.report.statistics import spread
from mmscore.store.lines import JudgeCounts, Line
from mmscore.store.run_folder import Run
from mmscore.types import Status


def status(run: Run) -> dict[str, int]:
    """Status -> count, every status named even at 0."""
    found = Counter(line.status for line in run.lines)
    return {name: found[name] for name in dict.fromkeys([*get_args(Status), *found])}


def finish_reasons(run: Run) -> dict[str, int]:
    """Why replies ended, by the endpoint's own words, commonest first."""
    found = Counter(line.finish_reason for line in run.lines if line.finish_reason)
    return dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0])))


def failures(run: Run) -> tuple[tuple[str, str, int], ...]:
    """Why samples failed: (status, sentence, count), commonest first."""
    found = Counter(
        (line.status, line.error or "no reason recorded") for line in run.lines if line.failed
    )
    ordered = sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
    return tuple((name, sentence, count) for (name, sentence), count in ordered)


def usage(run: Run) -> dict[str, Any]:
    """Token totals over the replies that came with a count, and how many came without."""
    replies = [line for line in run.lines if not line.failed]
    missing = sum(line.prompt_tokens is None and line.completion_tokens is None for line in replies)
    return {
        **tokens(replies),
        "replies": len(replies),
        "missing": missing,
        "missing_share": missing / len(replies) if replies else 0.0,
        "reused": run.info.reused,
        "cost": _cost(run),
    }


def _cost(run: Run) -> float | None:
    """What the run's own requests cost at its price; None without a price."""
    price = run.info.price
    if price is None:
        return None
    asked = tokens(line for line in run.lines if line.attempts)
    return price.of(asked["prompt_tokens"], asked["completion_tokens"])


def tokens(counted: Iterable[Line | JudgeCounts]) -> dict[str, int]:
    """Sums of what the endpoint counted."""
    prompt = completion = 0
    for one in counted:
        prompt += one.prompt_tokens or 0
        completion += one.completion_tokens or 0
    return {"prompt_tokens": prompt, "completion_tokens": completion}


def timing(run: Run) -> dict[str, Any]:
    """Wall time, requests, retries and latency; seconds everywhere."""
    asked = [line for line in run.lines if line.attempts]
    replied = [line for line in asked if not line.failed]
    attempts = sum(line.attempts for line in asked)
    seconds = run.info.seconds or None  # a killed run had no time to say
    written = usage(run)["completion_tokens"]
    first = (line.first_token_seconds for line in replied)
    # A record of an earlier version knows the whole time alone.
    answers = [line.answer_seconds or line.seconds for line in replied]
    waited = [
        line.seconds - line.answer_seconds
        for line in replied
        if line.seconds is not None and line.answer_seconds is not None
    ]
    return {
        "started": run.info.started,
        "finished": run.info.finished,
        "seconds": seconds,
        "requests": attempts,
        "retries": attempts - len(asked),
        "latency": spread(value for value in answers if value is not None),
        "waited": sum(waited),
        "first_token": spread(value for value in first if value is not None),
        "output_tokens_per_second": written / seconds if seconds and written else None,
    }


def judge(run: Run) -> dict[str, Any] | None:
    """What the judges did; None without any.

    `judged` replies have a verdict, `failed` ones should have and have none. `share` is of all
    scored replies, `coverage` of those a judge was wanted for; None where it was for none.
    """
    scores = [line.score for line in run.lines if line.score is not None]
    found = [score.judged for score in scores if score.judged is not None]
    about = run.info.judge
    if about is None and not found:
        return None
    failed = sum(one.error is not None for one in found)
    judged = len(found) - failed
    return {
        **(about.to_json() if about else {}),
        "judged": judged,
        "failed": failed,
        "incomplete": sum(one.error is None and not one.complete for one in found),
        "share": judged / len(scores) if scores else 0.0,
        "coverage": judged / len(found) if found else None,
        "verdicts": dict(Counter(name for one in found for name in one.given)),
        "failures": dict(Counter(kind for one in found for kind in one.refused)),
        "errors": reasons(one.error for one in found if one.error is not None),
        "usage": tokens(found),
        "requests": sum(one.requests for one in found),
        "seconds": sum(one.seconds for one in found),
    }


def reasons(sentences: Iterable[str]) -> list[dict[str, Any]]:
    """Sentences with how often each occurs, commonest first."""
    found = Counter(sentences)
    ordered = sorted(found.items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"error": sentence, "num": count} for sentence, count in ordered]


def changed_media(run: Run) -> int:
    """Samples of which a medium was re-encoded before it was sent."""
    return sum(line.changed for line in run.lines)
