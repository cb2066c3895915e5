"""How a reply ended, by the endpoint's own word for it: one table for all who read replies.

Servers spell the same ending in dozens of ways. Each known word stands in one of four rows, and
words that nobody has seen yet are told by the stems they are made of; what is left is unknown.
"""

from __future__ import annotations

import json
import re
from typing import Literal

Ending = Literal["done", "truncated", "refused", "failed", "unknown"]
"""`done`, `truncated` and `refused` are replies; `failed` is none, whatever text came with it;
`unknown` is scored as if it were done, and named in the report."""

_WORDS: dict[Ending, str] = {
    "done": """
        stop eos eos_token end_of_text endoftext end_turn end_of_turn stop_sequence stop_token
        stop_string stop_word stop_words complete completed done end ended finish finished
        success succeeded normal tool_calls tool_call tool_use function_call
    """,
    "truncated": """
        length max_tokens max_token max_output_tokens max_completion_tokens max_new_tokens
        max_length max_len max_context token_limit tokens_limit output_limit limit model_length
        context_length context_window context_length_exceeded model_context_window_exceeded
        truncated incomplete time_limit response_too_long
    """,
    "refused": """
        content_filter content_filtered refusal refused safety sensitive recitation blocklist
        blocked prohibited_content spii image_safety guardrail_intervened guardrail moderation
        policy_violation error_toxic
    """,
    "failed": """
        error abort aborted cancel cancelled canceled user_cancel fail failed failure timeout
        timed_out network_error server_error internal_error insufficient_system_resource
        engine_overloaded overloaded unavailable interrupted disconnected killed preempted
        out_of_memory oom error_limit quota_exceeded rate_limit
    """,
}

_ENDINGS: dict[str, Ending] = {
    word: ending for ending, words in _WORDS.items() for word in words.split()
}

_STEMS: tuple[tuple[Ending, re.Pattern[str]], ...] = (
    # A word such as `content_filter_error` tells of no reply, so failures come first.
    (
        "failed",
        re.compile(
            "error|abort|cancel|fail|timeout|timed_out|overload|unavailable|disconnect|interrupt|"
            "exception|crash|insufficient|out_of_memory|exhausted|preempt"
        ),
    ),
    (
        "refused",
        re.compile("filter|safety|refus|sensitive|prohibit|moderat|policy|guardrail|block|toxic"),
    ),
    ("truncated", re.compile("length|max_.*tok|tok.*(limit|max)|context_window|truncat")),
)

_PREFIX = re.compile("(finish_?|stop_?)?reason[_.]+")
_LONGEST = 64
_NONE = frozenset({"", "null", "none"})


def ending_of(word: str | None) -> Ending:
    """How a reply ended; no word at all says that nothing went wrong."""
    if word is None:
        return "done"
    snake = re.sub("(?<=[a-z])(?=[A-Z])", "_", word)
    plain = re.sub(r"[^a-z0-9.]+", "_", snake.casefold()).strip("_")
    plain = _PREFIX.sub("", plain)
    known = _ENDINGS.get(plain)
    if known is not None:
        return known
    return next((ending for ending, stem in _STEMS if stem.search(plain)), "unknown")


def word_in(value: object) -> str | None:
    """The word that an answer's field holds, in one short line; None where it says nothing.

    Some servers put it into an object, as `{"type": "stop", "matched": 2}`.
    """
    if isinstance(value, dict):
        named = (value.get(key) for key in ("type", "reason", "kind", "name"))
        value = next((one for one in named if isinstance(one, str)), value)
    if value is None or value == {} or value == []:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = "".join(c if c.isprintable() else " " for c in text[:_LONGEST]).strip()
    return None if line.casefold() in _NONE else line
