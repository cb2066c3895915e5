"""How a reply ended: every word that servers have for it, and what becomes of the sample."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.server import reply, serve, stream

from mmscore.finish_reasons import ending_of, word_in
from mmscore.model.client import Client, Service, completions_url
from mmscore.types import Reply

ENDINGS = {
    "done": "stop eos_token end_turn stop_sequence COMPLETE tool_calls function_call STOP Stop "
    "FinishReason.STOP completed",
    "truncated": "length max_tokens MAX_TOKENS max_output_tokens model_length LENGTH maxTokens "
    "model_context_window_exceeded max-tokens token_limit FINISH_REASON_MAX_TOKENS "
    "max_completion_tokens_reached output_length_limit",
    "refused": "content_filter refusal safety SAFETY sensitive recitation RECITATION blocklist "
    "prohibited_content SPII guardrail_intervened content_filtered image_safety unsafe_policy "
    "content_moderation",
    "failed": "error abort ABORT aborted cancelled canceled network_error engine_overloaded "
    "insufficient_system_resource timeout ERROR internal_error server_overloaded_error "
    "request_cancelled generation_failed worker_crashed",
    "unknown": "other language repetition foo 天 malformed_function_call finish_reason_unspecified",
}  # fmt: skip


@pytest.mark.parametrize(
    ("word", "ending"), [(word, ending) for ending in ENDINGS for word in ENDINGS[ending].split()]
)
def test_each_word_has_its_row(word: str, ending: str) -> None:
    assert ending_of(word) == ending


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, None), ("", None), ("null", None), ("None", None), ({}, None), ([], None),
        ("stop", "stop"), (" stop\n", "stop"), ({"type": "length", "length": 8}, "length"),
        ({"type": "stop", "matched": 2}, "stop"), ({"reason": "abort"}, "abort"), (7, "7"),
        (True, "true"), ({"x": 1}, '{"x": 1}'), ("a\x1b[31mb", "a [31mb"), ("x" * 999, "x" * 64),
    ],
)  # fmt: skip
def test_the_word_is_found_in_whatever_holds_it(value: Any, word: str | None) -> None:
    assert word_in(value) == word


@given(st.text())
def test_every_text_has_an_ending(text: str) -> None:
    assert ending_of(text) in ENDINGS


def ask(url: str, **options: Any) -> Reply:
    client = Client(Service(url=completions_url(url), model="m", **{"retries": 0, **options}))
    try:
        return client.ask([b"{}"])
    finally:
        client.close()


STATUS = {"done": "ok", "truncated": "truncated", "refused": "refused", "failed": "error",
          "unknown": "ok"}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("ending", STATUS)
def test_a_reply_ends_as_its_word_says(ending: str, streamed: bool) -> None:
    for word in ENDINGS[ending].split()[:3]:
        reason: Any = {"type": word} if word.isupper() else word
        made = stream(["half"], finish_reason=reason) if streamed else reply("half", reason)
        with serve(made) as server:
            got = ask(server.url, stream=streamed)
        assert got.status == STATUS[ending], word
        assert got.text == ("" if ending == "failed" else "half")
        if ending == "failed":
            assert got.error is not None and word in got.error


@pytest.mark.parametrize("streamed", [False, True])
def test_a_failed_reply_is_asked_for_again(streamed: bool) -> None:
    bad = stream(["A"], finish_reason="abort") if streamed else reply("A", "abort")
    good = stream(["B"]) if streamed else reply("B")
    with serve([bad, good]) as server:
        got = ask(server.url, stream=streamed, retries=1)
    assert (got.status, got.text, got.attempts) == ("ok", "B", 2)


@pytest.mark.parametrize("word", ["length", "content_filter", "SAFETY", "sensitive"])
def test_an_empty_reply_says_why_it_is_empty(word: str) -> None:
    with serve(reply("", word)) as server:
        assert ask(server.url).status == ("truncated" if word == "length" else "refused")
