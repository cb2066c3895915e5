"""The records of a run's folder: what is kept of a sample, and the sample a record tells of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mmscore.benchmarks.base import Benchmark
from mmscore.error_text import what
from mmscore.errors import DataError
from mmscore.model.request import Attachment, Request, content_text, text_of
from mmscore.types import SCORED, Message, Reply, Sample

Judges = Callable[[Sample, int, str, dict[str, Any]], dict[str, Any]]
"""Adds the judges' word on a sample's reply to its score record."""


def replied(prediction: Mapping[str, Any]) -> bool:
    """Whether a prediction record holds a reply to score."""
    return prediction.get("status") in SCORED


def reply_of(prediction: Mapping[str, Any]) -> str:
    """The reply of a prediction record.

    Raises:
        DataError: It is no string: the record was changed by hand or by another program.
    """
    text = prediction.get("reply")
    if not isinstance(text, str):
        raise DataError(
            f"the prediction of sample `{prediction['id']}` has {what(text)} as `reply`, expected "
            "a string"
        )
    return text


def score_record(
    benchmark: Benchmark,
    sample: Sample,
    repeat: int,
    text: str,
    keep: Callable[[str], str],
    judges: Judges | None = None,
) -> dict[str, Any]:
    """The score record of a reply: what was read out of it, by which rule, and its metrics.

    A reply for which the rule has no value (a count of five thousand digits) has no metrics and is
    left out of the mean, as the reference leaves it out, instead of ending the run. After the rule,
    the judges: they see the reply as it came, not as it was filtered.
    """
    record: dict[str, Any] = {"id": sample.id, "repeat": repeat}
    try:
        extracted = benchmark.parse(keep(text), sample)
        metrics = dict(benchmark.score(extracted.value, sample))
    except DataError as error:
        record |= {"extracted": None, "rule": "none", "metrics": {}, "error": error.message}
    else:
        record |= {"extracted": extracted.value, "rule": extracted.rule, "metrics": metrics}
    return record if judges is None else judges(sample, repeat, text, record)


def prediction_record(
    index: int,
    sample: Sample,
    repeat: int,
    reply: Reply,
    request: Request | None,
    attachments: tuple[Attachment, ...] | list[Attachment],
) -> dict[str, Any]:
    """The line that `predictions.jsonl` keeps of a sample; it alone suffices to score again."""
    return {
        "id": sample.id,
        "repeat": repeat,
        "subset": sample.subset,
        "index": index,
        "request": request.hash if request else None,
        "status": reply.status,
        "reply": reply.text,
        "reasoning": reply.reasoning,
        "finish_reason": reply.finish_reason,
        "usage": {
            "prompt_tokens": reply.usage.prompt_tokens,
            "completion_tokens": reply.usage.completion_tokens,
        },
        "seconds": round(reply.seconds, 6),
        "first_token_seconds": reply.first_token_seconds,
        "attempts": reply.attempts,
        "error": reply.error,
        "media": [attachment.note for attachment in attachments],
        "question": text_of(sample.messages),
        **_turns(sample),
        "target": sample.target,
        "choices": list(sample.choices),
        "metadata": dict(sample.metadata),
    }


def _turns(sample: Sample) -> dict[str, Any]:
    """All turns in words, where there are more than the question."""
    if [message.role for message in sample.messages] == ["user"]:
        return {}
    return {"turns": [[message.role, content_text(message)] for message in sample.messages]}


def sample_of(record: Mapping[str, Any]) -> Sample:
    """The sample that a prediction record tells of, the words of its messages alone.

    Raises:
        DataError: The record lacks what a run writes there.
    """
    try:
        turns = record.get("turns") or [["user", record["question"]]]
        return Sample(
            id=record["id"],
            subset=record["subset"],
            messages=tuple(Message(role, text) for role, text in turns),
            target=record["target"],
            choices=tuple(record["choices"]),
            metadata=record["metadata"],
        )
    except (KeyError, TypeError, ValueError) as error:
        missing = f": no `{error.args[0]}`" if isinstance(error, KeyError) else ""
        raise DataError(
            f"the prediction of sample `{record['id']}` is no record of a run{missing}"
        ) from None
