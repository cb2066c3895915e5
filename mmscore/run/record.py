"""The records of a run, made: of a sample and its reply, and the sample a record tells of."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from mmscore.benchmarks.base import Benchmark
from mmscore.dataset.facts import plain
from mmscore.errors import DataError
from mmscore.model.request import Attachment, Request, text_of
from mmscore.store.messages import Part, SentMessage
from mmscore.store.records import Prediction, Score
from mmscore.types import Media, Message, Reply, Sample, Text

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
        # Of a sample that was asked once it is all there is, and a run folder is to stay small.
        answer_seconds=_rounded(reply.answer_seconds) if reply.attempts > 1 else None,
        first_token_seconds=_rounded(reply.first_token_seconds),
        attempts=reply.attempts,
        error=reply.error,
        media=tuple(attachment.sent for attachment in attachments),
        question=text_of(sample.messages),
        messages=_messages(sample, len(attachments)),
        turns=None,
        target=sample.target,
        choices=sample.choices,
        metadata=plain(sample.metadata),
        columns=plain(sample.columns) or None,
    )


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 6)


def _messages(sample: Sample, attached: int) -> tuple[SentMessage, ...] | None:
    """All messages of a sample; None where they are its media and then its question."""
    asked = max((n for n, m in enumerate(sample.messages) if m.role == "user"), default=-1)
    media = count()
    found = tuple(
        SentMessage(
            message.role,
            _parts(message, media, asked=number == asked),
            plain(message.extra) or None,
        )
        for number, message in enumerate(sample.messages)
    )
    plainly = SentMessage("user", (*range(attached), None))
    return None if found == (plainly,) else found


def _parts(message: Message, media: Iterator[int], *, asked: bool) -> tuple[Part, ...]:
    """What a message says and shows, in order, as it is sent."""
    if isinstance(message.content, str) or message.role != "user":
        return (None if asked else message.text,)
    texts = sum(isinstance(part, Text) for part in message.content)
    return tuple(
        next(media) if isinstance(part, Media) else None if asked and texts == 1 else part.text
        for part in message.content
    )


def in_words(sample: Sample) -> Sample:
    """The sample without its media: of replies made elsewhere nobody knows what was sent."""
    messages = tuple(Message(one.role, one.text) for one in sample.messages)
    return replace(sample, messages=messages)


def sample_of(prediction: Prediction) -> Sample:
    """The sample that a prediction tells of, the words of its messages alone."""
    return Sample(
        id=prediction.id,
        subset=prediction.subset,
        messages=tuple(Message(role, text) for role, text in prediction.said),
        target=prediction.target,
        choices=prediction.choices,
        metadata=prediction.metadata,
    )
