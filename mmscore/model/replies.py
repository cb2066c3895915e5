"""What a model said, put together from whichever pieces it came in, and how that is read.

The text that is scored equals the reference's (EvalScope 1.14.1): the refusal if there is one, else
the content; parts of a list joined by a newline; and, unless the reasoning came in a field of its
own, without the first `<think>...</think>` block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mmscore.error_text import what
from mmscore.finish_reasons import ending_of, word_in
from mmscore.model.error_answers import ReplyError
from mmscore.think import ThinkRule, split_think, split_unpaired
from mmscore.types import Status, Usage

_MOST_TOKENS = 2**53
"""A token count above this is no count; it is also what JSON readers elsewhere take exactly."""


@dataclass(slots=True)
class Spoken:
    """What a model said, piece by piece.

    Attributes:
        text: The pieces of the answer.
        reasoning: The pieces of what was thought aloud.
        refusal: The pieces of a refusal.
        in_parts: Whether the answer came as a list of parts, reasoning apart.
        finish_reason: The endpoint's word for why it stopped.
        usage: Tokens.
    """

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    in_parts: bool = False
    finish_reason: str | None = None
    usage: Usage = field(default_factory=Usage)

    @property
    def size(self) -> int:
        """How many pieces there are."""
        return len(self.text) + len(self.reasoning) + len(self.refusal)

    def add_message(self, message: Mapping[str, Any]) -> None:
        """Take in a message, or a stream's delta, in the form of chat completions.

        Raises:
            ReplyError: Its content is none of the forms that content has.
        """
        content = message.get("content")
        if isinstance(content, str):
            _put(self.text, content)
        elif isinstance(content, (list, dict)):
            self._add_parts(content if isinstance(content, list) else [content])
        elif content is not None:
            raise ReplyError(f"the content of the answer is {what(content)}, expected a string")
        _put(self.reasoning, message.get("reasoning_content") or message.get("reasoning"))
        _put(self.refusal, message.get("refusal"))

    def _add_parts(self, parts: list[Any]) -> None:
        self.in_parts = True
        texts: list[str] = []
        for part in parts:
            if isinstance(part, str):
                texts.append(part)
            elif isinstance(part, dict):
                texts += _texts(part.get("text"))
                for key in ("thinking", "reasoning"):
                    _put(self.reasoning, "".join(_texts(part.get(key))))
                _put(self.refusal, part.get("refusal"))
        if texts:
            self.text.append("\n".join(texts))


def _put(pieces: list[str], piece: object) -> None:
    if isinstance(piece, str) and piece:
        pieces.append(piece)


def _texts(value: object) -> Iterator[str]:
    """The texts in a part's field: a string, or parts again, as some services nest them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        held = value.get("text", value.get("value"))
        if isinstance(held, str):
            yield held
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, (str, dict)):
                yield from _texts(one)


@dataclass(frozen=True, slots=True)
class Completion:
    """One completion, read.

    Attributes:
        text: What is scored.
        reasoning: What the model thought aloud.
        status: `ok`, `no_answer`, `truncated` or `refused`.
        finish_reason: The endpoint's own word.
        usage: Tokens.
    """

    text: str
    reasoning: str | None
    status: Status
    finish_reason: str | None
    usage: Usage


def read_message(
    message: Mapping[str, Any], finish_reason: object, usage: object, think: ThinkRule = "strict"
) -> Completion:
    """The completion in a message in the form of chat completions, wherever it was kept.

    Raises:
        ReplyError: It ended in a failure, or is no message.
    """
    spoken = Spoken(finish_reason=word_in(finish_reason), usage=token_usage(usage))
    spoken.add_message(message)
    return complete(spoken, think)


def complete(spoken: Spoken, think: ThinkRule) -> Completion:
    """What was said, read: reasoning split off, and how it ended.

    Raises:
        ReplyError: It ended in a failure: what was said until then is no answer.
    """
    reason = spoken.finish_reason
    ending = ending_of(reason)
    if ending == "failed":
        raise ReplyError(f"the endpoint broke the reply off: finish reason `{reason}`")
    reasoning = "".join(spoken.reasoning) or None
    text = "".join(spoken.text)
    if spoken.refusal:
        text = "".join(spoken.refusal)
    else:
        if reasoning is None and not spoken.in_parts:
            text, reasoning = split_think(text)
        if think == "strict":
            text, thought = split_unpaired(text)
            reasoning = "\n".join(filter(None, (reasoning, thought))) or None
    if spoken.refusal:
        status: Status = "refused"
    elif ending == "refused" or ending == "truncated":
        status = ending
    else:
        status = "ok" if text.strip() else "no_answer"
    return Completion(text, reasoning, status, reason, spoken.usage)


def token_usage(
    value: object, prompt: str = "prompt_tokens", completion: str = "completion_tokens"
) -> Usage:
    """Tokens as an answer counts them; None for what is no count."""
    if not isinstance(value, dict):
        return Usage()
    return Usage(token_count(value.get(prompt)), token_count(value.get(completion)))


def token_count(number: object) -> int | None:
    """A number of tokens; None where it is none."""
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _MOST_TOKENS:
        return number
    return None
