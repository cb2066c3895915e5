"""The records of a run's folder: `Prediction`, `Score` and `Judgement`, the lines of three files.

Each is read by `from_json`, which checks every field, and written by `to_json`; no other module
spells their keys. What `run.json` holds is `RunInfo`, in `store/run_info.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mmscore.error_text import listed, shown
from mmscore.store import spelling
from mmscore.store.messages import TURNS, Part, SentMessage, Turns
from mmscore.store.spelling import NONE, Record, RecordError, Shape, Spelling
from mmscore.types import FAILED, SCORED, Usage

Key = tuple[str, int]
"""What a sample's records are known by: its id and its repeat."""

JudgementKey = tuple[str, int, str, int]
"""What a judgement is known by: sample, its repeat, judge, the judge's repeat."""

_KEY = {"id": spelling.text(), "repeat": spelling.count(0)}
_JUDGEMENT_KEY = {**_KEY, "judge": spelling.text(), "judge_repeat": spelling.count(0)}


class Line(Record):
    """A record that is a line of a file, known by a key."""

    __slots__ = ()

    @property
    def key(self) -> Any:
        """What it is known by."""
        raise NotImplementedError


_TOKENS = Shape({"prompt_tokens": spelling.maybe(int), "completion_tokens": spelling.maybe(int)})


def _usage(value: dict[str, Any]) -> Usage:
    return Usage(*_TOKENS.read(value))


def _usage_json(usage: Usage) -> dict[str, Any]:
    return _TOKENS.write(usage)


_USAGE = Spelling(frozenset({dict}), {}, _usage, _usage_json, of=_TOKENS)


# --- predictions.jsonl ---------------------------------------------------------------------------


@dataclass(slots=True)
class SentMedium(Record):
    """What is kept of a medium that was sent; its bytes are not.

    Attributes:
        place: Where it lay, in words.
        sha256: The digest of its bytes as they were sent, or of its URL.
        bytes: How many.
        characters: The length of a data URI that went out as the data had it.
        mime: What it was labelled with.
        url: Whether its URL was sent instead of it.
        notes: How it was changed before it was sent.
        original: The digest of its bytes as they lay, where they were changed.
    """

    place: str
    sha256: str
    bytes: int | None = None
    characters: int | None = None
    mime: str | None = None
    url: bool | None = None
    notes: tuple[str, ...] | None = None
    original: str | None = None

    SHAPE: ClassVar = Shape(
        {
            "place": spelling.text(),
            "sha256": spelling.text(""),
            "bytes": spelling.maybe(int, always=False),
            "characters": spelling.maybe(int, always=False),
            "mime": spelling.maybe(str, always=False),
            "url": spelling.maybe(bool, always=False),
            "notes": spelling.maybe_texts(),
            "original": spelling.maybe(str, always=False),
        }
    )


_STATUSES = tuple(sorted(SCORED | FAILED))


def _status(value: str) -> str:
    if value not in SCORED and value not in FAILED:
        raise RecordError(f"found {shown(value)}, expected one of {listed(_STATUSES)}")
    return value


@dataclass(slots=True)
class Prediction(Line):
    """What is kept of an asked sample; it alone suffices to score again.

    Attributes:
        id: The sample.
        repeat: Which asking of it, from 0.
        subset: Its subset.
        index: Its place in the data set.
        request: The hash of the whole request; None where none was made.
        status: How it ended, one of `mmscore.types.Status`.
        reply: The reply without its reasoning.
        reasoning: What the model thought aloud.
        finish_reason: The endpoint's word for why it stopped.
        usage: Tokens as the endpoint counted.
        seconds: From the first attempt to the end.
        answer_seconds: What the attempt took that answered; None where none did, or where the
            first one did, which took `seconds`.
        first_token_seconds: From that attempt's start to the first text.
        attempts: Requests sent.
        error: Why there is no reply.
        media: The media sent, in order.
        question: The text of the last user message.
        messages: All messages, where they are more than the media and then the question.
        turns: All turns in words, as runs kept them that had no `messages`.
        target: The reference answer; None where there is none.
        choices: The options, in the order of their labels.
        metadata: Facts of the sample.
        columns: The user's own columns that nothing here understands.
    """

    id: str
    repeat: int
    subset: str
    index: int
    request: str | None
    status: str
    reply: str
    reasoning: str | None
    finish_reason: str | None
    usage: Usage
    seconds: float | None
    answer_seconds: float | None
    first_token_seconds: float | None
    attempts: int
    error: str | None
    media: tuple[SentMedium, ...]
    question: str
    messages: tuple[SentMessage, ...] | None
    turns: Turns | None
    target: str | None
    choices: tuple[str, ...]
    metadata: Mapping[str, Any]
    columns: Mapping[str, Any] | None = None

    SHAPE: ClassVar = Shape(
        {
            **_KEY,
            "subset": spelling.text(),
            "index": spelling.count(0),
            "request": spelling.maybe(str),
            "status": Spelling(frozenset({str}), read=_status, of=_STATUSES),
            "reply": spelling.text(),
            "reasoning": spelling.maybe(str),
            "finish_reason": spelling.maybe(str),
            "usage": _USAGE,
            "seconds": spelling.maybe_number(),
            "answer_seconds": spelling.maybe_number(always=False),
            "first_token_seconds": spelling.maybe_number(),
            "attempts": spelling.count(0),
            "error": spelling.maybe(str),
            "media": spelling.each(SentMedium),
            "question": spelling.text(),
            "messages": spelling.maybe_each(SentMessage),
            "turns": TURNS,
            "target": Spelling(frozenset({str, NONE})),
            "choices": spelling.texts(),
            "metadata": spelling.facts(),
            "columns": Spelling(frozenset({dict, NONE}), None, None, dict, always=False),
        }
    )

    @property
    def key(self) -> Key:
        """What it is known by."""
        return self.id, self.repeat

    @property
    def facts(self) -> Mapping[str, Any]:
        """All that is known of the sample by name; the benchmark's own word counts."""
        return {**self.columns, **self.metadata} if self.columns else self.metadata

    @property
    def conversation(self) -> tuple[SentMessage, ...]:
        """All messages, those too that go without saying."""
        if self.messages is not None:
            return self.messages
        shown: tuple[Part, ...] = tuple(range(len(self.media)))
        if self.turns is None:
            return (SentMessage("user", (*shown, None)),)
        last = max((n for n, (role, _) in enumerate(self.turns) if role == "user"), default=-1)
        return tuple(
            SentMessage(role, (*shown, text) if number == last else (text,))
            for number, (role, text) in enumerate(self.turns)
        )

    @property
    def said(self) -> Turns:
        """Role and text of each message, as a judge is shown them."""
        return tuple((one.role, one.words(self.question)) for one in self.conversation)

    @property
    def replied(self) -> bool:
        """Whether it holds a reply to score."""
        return self.status in SCORED


# --- scores.jsonl --------------------------------------------------------------------------------


@dataclass(slots=True)
class JudgeVote(Record):
    """What one judge said of one reply, in short.

    Attributes:
        judge: The judge.
        judge_repeat: Which asking of it.
        verdict: Its verdict as it was written; None where there is none.
        value: The verdict's score, 0 to 1.
        reasoning: Why, in the judge's words.
        kind: What failed, where something did.
        error: Why there is no verdict.
    """

    judge: str
    judge_repeat: int
    verdict: str | None
    value: float | None
    reasoning: str | None
    kind: str | None
    error: str | None

    SHAPE: ClassVar = Shape(
        {
            "judge": spelling.text(),
            "judge_repeat": spelling.count(0),
            "verdict": spelling.maybe(str),
            "value": spelling.maybe_number(),
            "reasoning": spelling.maybe(str),
            "kind": spelling.maybe(str),
            "error": spelling.maybe(str),
        }
    )


@dataclass(slots=True)
class JudgeSummary(Record):
    """What all judges said of one reply.

    Attributes:
        value: Their score, 0 to 1; None where there is no verdict.
        error: Why there is none.
        complete: Whether every judge that was asked gave one.
        verdicts: What each said.
        usage: Tokens of all requests.
        requests: How many were sent.
        seconds: How long they took in all.
    """

    value: float | None
    error: str | None
    complete: bool
    verdicts: tuple[JudgeVote, ...]
    usage: Usage
    requests: int
    seconds: float

    SHAPE: ClassVar = Shape(
        {
            "value": spelling.maybe_number(),
            "error": spelling.maybe(str),
            "complete": Spelling(frozenset({bool}), True),
            "verdicts": spelling.each(JudgeVote),
            "usage": _USAGE,
            "requests": spelling.count(0),
            "seconds": spelling.number(0.0),
        }
    )


MOST_SCORE = 1e100
"""What a score may come to, so that no sum of them is infinite."""


def _metrics(values: dict[str, Any]) -> dict[str, Any]:
    for name, value in values.items():
        if type(value) not in (int, float) or not -MOST_SCORE <= value <= MOST_SCORE:
            raise RecordError(f"found the score {value!r} of `{name}`, expected a finite number")
    return values


@dataclass(slots=True)
class Score(Line):
    """What a reply is worth.

    Attributes:
        id: The sample.
        repeat: Which asking of it.
        extracted: What was read out of the reply; None where nothing could be.
        rule: The rule that fired.
        metrics: Metric -> value, finite; empty where the reply is left out of the means.
        error: Why it is left out.
        judge: What judges said; None where none was asked.
    """

    id: str
    repeat: int
    extracted: str | None
    rule: str
    metrics: Mapping[str, float]
    error: str | None = None
    judge: JudgeSummary | None = None

    SHAPE: ClassVar = Shape(
        {
            **_KEY,
            "extracted": spelling.maybe(str),
            "rule": spelling.text(""),
            "metrics": spelling.facts({}, _metrics),
            "error": spelling.maybe(str, always=False),
            "judge": spelling.maybe_one(JudgeSummary, always=False),
        }
    )

    @property
    def key(self) -> Key:
        """What it is known by."""
        return self.id, self.repeat


# --- judgements.jsonl ----------------------------------------------------------------------------


@dataclass(slots=True)
class Judgement(Line):
    """All that one judge said of one reply; the short of it is `vote`.

    Attributes:
        id: The sample.
        repeat: Which asking of it.
        judge: The judge.
        judge_repeat: Which asking of the judge.
        request: The hash of the whole request.
        verdict: As in `JudgeVote`, and so are the four that follow.
        attempts: What it answered each time: `reply` and `finish_reason`, or `error`.
        usage: Tokens over all attempts.
        requests: HTTP requests sent.
        seconds: From the first to the last.
    """

    id: str
    repeat: int
    judge: str
    judge_repeat: int
    request: str
    verdict: str | None
    value: float | None
    reasoning: str | None
    kind: str | None
    error: str | None
    attempts: tuple[Mapping[str, Any], ...]
    usage: Usage
    requests: int
    seconds: float

    SHAPE: ClassVar = Shape(
        {
            **_JUDGEMENT_KEY,
            "request": spelling.text(),
            "verdict": spelling.maybe(str),
            "value": spelling.maybe_number(),
            "reasoning": spelling.maybe(str),
            "kind": spelling.maybe(str),
            "error": spelling.maybe(str),
            "attempts": Spelling(frozenset({list}), [], spelling.objects, list),
            "usage": _USAGE,
            "requests": spelling.count(0),
            "seconds": spelling.number(0.0),
        }
    )

    @property
    def key(self) -> JudgementKey:
        """What it is known by."""
        return self.id, self.repeat, self.judge, self.judge_repeat

    @property
    def vote(self) -> JudgeVote:
        """What the judge said, in short."""
        return JudgeVote(*[getattr(self, name) for name in JudgeVote.SHAPE.spellings])
