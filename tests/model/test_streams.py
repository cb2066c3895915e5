"""Streams and bodies as servers really send them: read, or one failed attempt with its reason."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any

import pytest
from support.server import Response, as_json, raw, reply, serve, stream

from mmscore.model.client import Client, Service, completions_url
from mmscore.types import Reply

EVENTS = {"Content-Type": "text/event-stream"}
JSON = {"Content-Type": "application/json"}


def ask(made: Response | list[Response], **options: Any) -> Reply:
    with serve(made) as server:
        options = {"retries": 0, "timeout": 5.0, **options}
        client = Client(Service(url=completions_url(server.url), model="m", **options))
        try:
            return client.ask([b"{}"])
        finally:
            client.close()


def chunk(
    text: str | None, index: Any = 0, reason: str | None = None, **more: Any
) -> dict[str, Any]:
    """One chunk of a stream; without a text its delta is empty."""
    delta = {} if text is None else {"content": text}
    choice = {"index": index, "delta": delta, "finish_reason": reason}
    return {"id": "x", "choices": [choice], **more}


def events(*chunks: Mapping[str, Any], done: bool = True, headers: Any = None) -> Response:
    lines = [f"data: {json.dumps(one)}\n\n" for one in chunks] + ["data: [DONE]\n\n"] * done
    return raw(200, "".join(lines), EVENTS if headers is None else headers)


def choice(**values: Any) -> Response:
    return as_json({"choices": [{"index": 0, "finish_reason": "stop", **values}]})


WHOLE = {"message": {"content": "ANSWER: B"}, "finish_reason": "stop", "index": 0}

READ = {
    "no finish reason, but done": events(chunk("ANSWER"), chunk(": B")),
    "an empty finish reason": events(chunk("ANSWER", 0, ""), chunk(": B", 0, "null")),
    "rising indexes": events(
        chunk("ANSWER"), chunk(": ", 1), chunk("B", 2), chunk("", 3, "stop")
    ),
    "rising indexes, ended by the first": events(
        chunk("ANSWER"), chunk(": ", 1), chunk("B", 2), chunk(None, 0, "stop")
    ),
    "no index": events(chunk("ANSWER", None), chunk(": B", None, "stop")),
    "an id for each chunk": events(
        chunk("ANSWER", id="1"), chunk(": B", id="2"), chunk(None, 0, "stop", id="3")
    ),
    "done is not said": events(chunk("ANSWER: B"), chunk(None, 0, "stop"), done=False),
    "the whole text again at the end": events(
        chunk("ANSWER"), chunk(": B"), {"choices": [{**WHOLE, "delta": {}}]}
    ),
    "a message, no deltas": events({"choices": [WHOLE]}),
    "events unasked, called JSON": events(chunk("ANSWER: B", 0, "stop"), headers=JSON),
    "events unasked, called nothing": events(chunk("ANSWER: B", 0, "stop"), headers={}),
    "JSON with done behind it": raw(
        200, json.dumps({"choices": [WHOLE]}) + "data: [DONE]\n\n", EVENTS
    ),
    "JSON with done behind it, called JSON": raw(
        200, json.dumps({"choices": [WHOLE]}) + "\n\ndata: [DONE]\n\n", JSON
    ),
    "JSON in lines, called a stream": raw(200, json.dumps({"choices": [WHOLE]}, indent=1), EVENTS),
    "no empty lines between events": raw(
        200,
        f"data: {json.dumps(chunk('ANSWER'))}\ndata: {json.dumps(chunk(': B', 0, 'stop'))}\n"
        "data: [DONE]\n",
        EVENTS,
    ),
    "a byte order mark": raw(200, b"\xef\xbb\xbf" + json.dumps({"choices": [WHOLE]}).encode()),
    "a byte order mark before events": raw(
        200, "\ufeff" + events(chunk("ANSWER: B", 0, "stop")).body.decode(), EVENTS
    ),
    "201 Created": as_json({"choices": [WHOLE]}, 201),
    "203 from a proxy": as_json({"choices": [WHOLE]}, 203),
    "gzip unasked": raw(
        200,
        gzip.compress(json.dumps({"choices": [WHOLE]}).encode()),
        {**JSON, "Content-Encoding": "gzip"},
    ),
    "deflate unasked": raw(
        200,
        zlib.compress(events(chunk("ANSWER: B", 0, "stop")).body),
        {**EVENTS, "Content-Encoding": "deflate"},
    ),
    "a second choice of the same text": as_json({"choices": [WHOLE, {**WHOLE, "index": 1}]}),
    "choices out of order": as_json({"choices": [
        {**WHOLE, "index": 1, "message": {"content": "A"}}, WHOLE]}),
    "content in an object": choice(message={"content": {"type": "text", "text": "ANSWER: B"}}),
    "content in odd parts": choice(message={"content": [
        {"thinking": [{"text": None}, 7, None]}, {"type": "text", "text": "ANSWER: B"}, 3, None,
        {"type": "text", "text": None}, {"type": "text"}, [], {"thinking": {"text": 5}},
    ]}),
    "text in a value": choice(message={"content": [{"text": {"value": "ANSWER: B"}}]}),
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", READ)
def test_what_means_an_answer_is_read(name: str, streamed: bool) -> None:
    got = ask(READ[name], stream=streamed)
    assert (got.status, got.text, got.error) == ("ok", "ANSWER: B", None)


NO_ANSWER = {
    "two choices in a chunk": (
        events({"choices": [chunk("A")["choices"][0], chunk("B", 1)["choices"][0]]}),
        "two different answers",
    ),
    "two answers by turns": (
        events(chunk("A"), chunk("B", 1), chunk("A"), chunk("B", 1)),
        "two different answers",
    ),
    "two answers by turns, by id": (
        events(chunk("A", id="1"), chunk("B", id="2"), chunk("A", 0, "stop", id="1")),
        "two different answers",
    ),
    "one answer after the other": (
        events(chunk("A", 0, "stop"), chunk("B", 1, "stop")),
        "two different answers",
    ),
    "another text at the end": (
        events(chunk("A"), {"choices": [{**WHOLE, "delta": {}}]}),
        "two different answers",
    ),
    "nothing at all, but done": (events(), "without"),
    "cut short": (events(chunk("A"), done=False), "without a finish_reason"),
    "an error among events": (
        events(chunk("A"), {"error": {"message": "gone", "code": 500}}),
        "answered with an error 500: gone",
    ),
    "an event that is named error": (
        raw(200, 'event: error\ndata: {"message": "engine died"}\n\n', EVENTS),
        "engine died",
    ),
    "a choice with an error": (
        events(chunk("A"), {"choices": [{"index": 0, "delta": {"content": "x"},
                                         "error": {"code": 502, "message": "Provider gone"}}]}),
        "answered with an error 502: Provider gone",
    ),
    "a page": (
        raw(200, "<html><head><title>Sign in</title></head><body><h1>Welcome</h1>"
            "<script>x</script> &amp; back</body></html>", EVENTS),
        "Sign in: Welcome & back",
    ),
    "another thing behind JSON": (
        raw(200, json.dumps({"choices": [WHOLE]}) + " and more", JSON), "not JSON"
    ),
    "content that is a number": (choice(message={"content": 5}), "content of the answer is"),
    "no message": (choice(text="ANSWER: B"), "no message"),
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("name", NO_ANSWER)
def test_what_is_no_answer_fails_its_attempt(name: str, streamed: bool) -> None:
    made, words = NO_ANSWER[name]
    got = ask(made, stream=streamed)
    assert (got.status, got.text) == ("error", "")
    assert got.error is not None and words in got.error
    again = ask([made, reply("B")], stream=streamed, retries=1)
    assert (again.status, again.text) == ("ok", "B")


ERRORS_IN_200 = [
    ({"error": {"message": "no", "code": 404}}, 404, True),
    ({"code": 404, "message": "no", "object": "error", "type": "NotFoundError"}, 404, True),
    ({"object": "error", "message": "no", "type": "NotFoundError"}, 404, True),
    ({"code": "401", "msg": "bad token"}, 401, True),
    ({"error": {"message": "no", "type": "authentication_error"}}, 401, True),
    ({"error": "quota of the day", "code": 429}, 429, False),
    ({"error": {"message": "slow down", "code": "rate_limit_exceeded"}}, 429, False),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, 503, False),
    ({"error": {"message": "too long", "type": "invalid_request_error"}}, 400, False),
    ({"error": True}, None, False),
    ({"choices": None, "message": "oops"}, None, False),
    ([{"error": {"code": 403, "status": "PERMISSION_DENIED", "message": "no"}}], None, False),
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("value", "code", "hopeless"), ERRORS_IN_200)
def test_an_error_that_calls_itself_a_success_is_one(
    value: Any, code: int | None, hopeless: bool, streamed: bool
) -> None:
    made = raw(200, f"data: {json.dumps(value)}\n\n", EVENTS) if streamed else as_json(value)
    got = ask(made, stream=streamed)
    assert (got.status, got.http_status, got.hopeless) == ("error", code, hopeless)


@pytest.mark.parametrize("code", [500, 502, 503, 529])
def test_a_choice_with_an_error_is_tried_again(code: int) -> None:
    bad = choice(message={"content": "ANSWER: A"}, error={"code": code, "message": "gone"})
    got = ask([bad, reply("B")], retries=1)
    assert (got.text, got.attempts) == ("B", 2)


def test_time_to_the_first_token_is_told_of_streams_nobody_asked_for_too() -> None:
    got = ask(stream(["a", "b"], gap=0.05))
    assert got.first_token_seconds is not None and got.answer_seconds is not None
    assert 0 < got.first_token_seconds < got.answer_seconds <= got.seconds
