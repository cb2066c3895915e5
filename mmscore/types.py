"""The values that cross floors: what is asked, what came back, what was read out of it.

All are frozen and small. A sample never holds an image's bytes, only a `Source` that says where
they are, so memory does not grow with the data set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Status = Literal["ok", "no_answer", "truncated", "refused", "error", "timeout", "bad_media"]
"""How a sample ended. The first four have a reply and are scored as the reference scores such a
reply; the last three are failures: not scored, and never counted as wrong answers."""

SCORED: frozenset[Status] = frozenset({"ok", "no_answer", "truncated", "refused"})
FAILED: frozenset[Status] = frozenset({"error", "timeout", "bad_media"})

Kind = Literal["image", "audio", "video"]


class Source(Protocol):
    """Where the bytes of one medium are; reading happens late, in the worker that sends them."""

    @property
    def name(self) -> str:
        """The place in words, as errors and reports show it."""

    def exists(self) -> bool:
        """Whether the bytes can be found, without reading them."""

    def read(self) -> bytes:
        """The bytes.

        Raises:
            DataError: The place is gone or what lies there is damaged.
        """


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of text in a message."""

    text: str


@dataclass(frozen=True, slots=True)
class Media:
    """An image, a sound or a clip in a message.

    Attributes:
        kind: What it is.
        source: Where its bytes are; None when `url` is sent as it is.
        url: An http(s) URL or a data URI that goes out unchanged.
        format: `wav`, `mp3`, `mp4` ... where the wire form needs it.
        mime: What a data URI of a sound or clip is labelled with; None goes by `format`.
        detail: OpenAI's `detail` of an image, sent only when set.
        fps: Frames a second to look at, a DashScope extension for clips, sent only when set.
    """

    kind: Kind
    source: Source | None = None
    url: str | None = None
    format: str | None = None
    mime: str | None = None
    detail: str | None = None
    fps: float | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. A plain string stays a plain string on the wire.

    Attributes:
        role: Who speaks.
        content: What is said, parts in order.
        extra: Fields that go out beside role and content: `reasoning_content`, `tool_calls` ...
    """

    role: str
    content: str | tuple[Text | Media, ...]
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Its text parts, joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


@dataclass(frozen=True, slots=True)
class Sample:
    """One question.

    Attributes:
        id: Unique within the benchmark, stable under `--limit` and sharding.
        subset: The subset it counts for.
        messages: What is asked.
        target: The reference answer; None is asked but not scored.
        choices: Option texts of a multiple-choice question, in order of their labels.
        metadata: Facts kept beside the prediction and used for groups.
        columns: The user's own columns that nothing here understands, kept as facts too.
        unit: What `limit` counts it with: samples of one unit stand together and are taken or left
            as one. None counts alone.
        problem: Why the record cannot be asked, in a sentence; None where it can.
        warnings: What is odd about the record but does not keep it from being asked.
        media_faults: Which of the record's media will not be seen, and which of its placeholders
            have none, a sentence each.
    """

    id: str
    subset: str
    messages: tuple[Message, ...]
    target: str | None
    choices: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    problem: str | None = None
    warnings: tuple[str, ...] = ()
    unit: str | None = None
    media_faults: tuple[str, ...] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the endpoint counted them; None where it said nothing."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What one chat completion came to, after all its attempts.

    Attributes:
        status: How it ended.
        text: The reply without its reasoning; empty where there is none.
        reasoning: What the model thought aloud, never scored; None where there is none.
        finish_reason: The endpoint's word for why it stopped.
        usage: Tokens.
        seconds: From the first attempt's start to the end, waiting included.
        answer_seconds: What the attempt took that answered; None where none did.
        first_token_seconds: From that attempt's start to the first piece of text (streams).
        attempts: How many requests were sent.
        error: The sentence that says why there is no reply.
        http_status: The HTTP status of the last answer, where there was one.
        hint: What to do about the error; it is shown, not kept.
        hopeless: Whether no other request to the service can end better.
    """

    status: Status
    text: str = ""
    reasoning: str | None = None
    finish_reason: str | None = None
    usage: Usage = Usage()
    seconds: float = 0.0
    answer_seconds: float | None = None
    first_token_seconds: float | None = None
    attempts: int = 0
    error: str | None = None
    http_status: int | None = None
    hint: str | None = None
    hopeless: bool = False


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was read out of a reply.

    Attributes:
        value: The answer; None where nothing could be read.
        rule: The name of the rule that fired.
    """

    value: str | None
    rule: str
