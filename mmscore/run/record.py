"""The records of a run, made: of a sample and its reply, and the sample a record tells of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from mmscore.benchmarks.base import Benchmark
from mmscore.errors import DataError
from mmscore.model.request import Attachment, Request, text_of
from mmscore.store.facts import plain
from mmscore.store.records import Prediction, Score, Turns
from mmscore.types import Message, Reply, Sample

Judges = Callable[[Sample, int, str, Score], Score]
"""Adds the judges' word on a sample's reply to its score."""


def score_of(
    benchmark: Benchmark,
    sample: Sample,
    repeat: int,
    text: str,
    keep: Callable[[str], str],
    judges: Judges | None = None,
) -> Score:
    """The score of a reply: what was read out of it, by which rule, and its metrics.

    A reply for which the rule has no value (a count of five thousand digits) has no metrics and is
    left out of the mean, as the reference leaves it out, instead of ending the run. After the rule,
    the judges: they see the reply as it came, not as it was filtered.
    """
    try:
        extracted = benchmark.parse(keep(text), sample)
        metrics = _finite(benchmark.score(extracted.value, sample))
    except DataError as error:
        score = Score(sample.id, repeat, None, "none", {}, error=error.message)
    else:
        score = Score(sample.id, repeat, extracted.value, extracted.rule, metrics)
    return score if judges is None else judges(sample, repeat, text, score)


def _finite(metrics: Mapping[str, float]) -> dict[str, float]:
    for name, value in metrics.items():
        if not math.isfinite(value):
            raise DataError(f"the score `{name}` is {value}, which is no number")
    return dict(metrics)


def prediction_of(
    index: int,
    sample: Sample,
    repeat: int,
    reply: Reply,
    request: Request | None = None,
    attachments: Sequence[Attachment] = (),
) -> Prediction:
    """What is kept of a sample and how it ended; it alone suffices to score again."""
    return Prediction(
        id=sample.id,
        repeat=repeat,
        subset=sample.subset,
        index=index,
        request=request.hash if request else None,
        status=reply.status,
        reply=reply.text,
        reasoning=reply.reasoning,
        finish_reason=reply.finish_reason,
        usage=reply.usage,
        seconds=round(reply.seconds, 6),
        answer_seconds=_rounded(reply.answer_seconds),
        first_token_seconds=_rounded(reply.first_token_seconds),
        attempts=reply.attempts,
        error=reply.error,
        media=tuple(attachment.sent for attachment in attachments),
        question=text_of(sample.messages),
        turns=_turns(sample),
        target=sample.target,
        choices=sample.choices,
        metadata=plain(sample.metadata),
    )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _turns(sample: Sample) -> Turns | None:
    """All turns in words, where there are more than the question."""
    if [message.role for message in sample.messages] == ["user"]:
        return None
    return tuple((message.role, message.text) for message in sample.messages)


def sample_of(prediction: Prediction) -> Sample:
    """The sample that a prediction tells of, the words of its messages alone."""
    turns = prediction.turns or (("user", prediction.question),)
    return Sample(
        id=prediction.id,
        subset=prediction.subset,
        messages=tuple(Message(role, text) for role, text in turns),
        target=prediction.target,
        choices=prediction.choices,
        metadata=prediction.metadata,
    )
