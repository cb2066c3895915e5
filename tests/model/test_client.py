"""Asking an endpoint over real HTTP: what is retried, what is read, and what never hangs."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest
from support.server import (
    Response,
    drop,
    empty_choices,
    error_in_200,
    half_body,
    hang,
    html,
    list_content,
    null_content,
    raw,
    reasoning,
    redirect,
    reply,
    reset,
    serve,
    slow,
    status,
    stream,
    trickle,
)

from mmscore.errors import ConfigError
from mmscore.model.client import Client, Service, completions_url
from mmscore.types import Reply, Usage

BODY = (b'{"model":"m","messages":[{"role":"user",', b'"content":"hi"}]}')


def ask(url: str, **options: Any) -> Reply:
    options = {"timeout": 5.0, "retries": 2, **options}
    client = Client(Service(url=completions_url(url), model="m", **options))
    try:
        return client.ask(BODY)
    finally:
        client.close()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/chat/completions/", "http://h:1/v1/chat/completions"),
        ("https://h/a/b/v1?key=1", "https://h/a/b/v1/chat/completions?key=1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1/chat/completions"),
    ],
)
def test_every_usual_form_of_the_url_leads_to_the_same_route(given: str, expected: str) -> None:
    assert completions_url(given) == expected


@pytest.mark.parametrize("given", ["127.0.0.1:8000", "ftp://h/v1", "http://", "http://h:x/v1", ""])
def test_what_is_no_url_is_told(given: str) -> None:
    with pytest.raises(ConfigError):
        completions_url(given)


def test_the_route_of_text_completions_is_told() -> None:
    with pytest.raises(ConfigError, match="no images"):
        completions_url("http://h/v1/completions")


PLAIN = [
    (reply("ANSWER: CT"), "ok", "ANSWER: CT", None),
    (reply("ANSWER: CT", finish_reason=None), "ok", "ANSWER: CT", None),
    (list_content("ANSWER: CT"), "ok", "ANSWER: CT", None),
    (list_content("B", thinking="hm"), "ok", "B", "hm"),
    (reasoning("B", "hm"), "ok", "B", "hm"),
    (reasoning("B", "hm", key="reasoning"), "ok", "B", "hm"),
    (reply("<think>hm</think>\nB"), "ok", "B", "hm"),
    (reply("hm</think>B"), "ok", "B", "hm"),
    (reply("<think>A<think>x</think>y</think>B"), "ok", "B", "A<think>x\ny"),
    (reply("<think>A"), "no_answer", "", "A"),
    (null_content(), "no_answer", "", None),
    (reply("  \n"), "no_answer", "  \n", None),
    (reply("half a", finish_reason="length"), "truncated", "half a", None),
    (reply("", finish_reason="length", reasoning_content="long"), "truncated", "", "long"),
    (reply(None, refusal="I will not."), "refused", "I will not.", None),
    (reply("x", finish_reason="content_filter"), "refused", "x", None),
]


@pytest.mark.parametrize(("response", "expected", "text", "thoughts"), PLAIN)
def test_a_reply_is_read_in_every_usual_shape(
    response: Response, expected: str, text: str, thoughts: str | None
) -> None:
    with serve(response) as server:
        got = ask(server.url)
    assert (got.status, got.text, got.reasoning) == (expected, text, thoughts)
    assert got.attempts == 1


def test_the_reference_keeps_what_follows_the_first_thought() -> None:
    with serve(reply("hm</think>B")) as server:
        assert ask(server.url, think="reference").text == "hm</think>B"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("usage", ["own", "last"])
@pytest.mark.parametrize("split_at", [None, 1, 7, ()])
def test_a_stream_reads_the_same_however_it_is_cut(newline: Any, usage: Any, split_at: Any) -> None:
    script = stream(
        [{"reasoning_content": "想"}, "ANSWER: ", "胸腔"],
        newline=newline,
        usage=usage,
        split_at=split_at,
        extras=True,
    )
    with serve(script) as server:
        got = ask(server.url, stream=True)
    assert (got.status, got.text, got.reasoning) == ("ok", "ANSWER: 胸腔", "想")
    assert got.usage.completion_tokens is not None
    assert got.first_token_seconds is not None


def test_an_endpoint_that_does_not_stream_is_read_all_the_same() -> None:
    with serve(reply("ANSWER: CT")) as server:
        assert ask(server.url, stream=True).text == "ANSWER: CT"


PASSING = [
    status(408),
    status(409),
    status(425),
    status(429, retry_after=0),
    status(500),
    status(502),
    status(503, retry_after=0),
    html(),
    raw(200, b'{"choices": [{"mess'),
    raw(200, b""),
    raw(200, b"[" * 100_000),
    error_in_200(),
    empty_choices(),
    drop(),
    reset(),
    half_body(),
]


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_tried_again(fault: Response) -> None:
    with serve([fault, reply("ANSWER: CT")]) as server:
        got = ask(server.url)
    assert (got.status, got.text, got.attempts) == ("ok", "ANSWER: CT", 2)


@pytest.mark.parametrize(
    "fault",
    [
        stream(["ANSWER: "], finish_reason=None, done=False),
        half_body(stream(["a", "b"])),
        stream([b'{"error": {"message": "the engine is gone"}}']),
        stream([b"not json"]),
    ],
)
def test_a_broken_stream_is_tried_again(fault: Response) -> None:
    with serve([fault, stream(["ANSWER: CT"])]) as server:
        got = ask(server.url, stream=True)
    assert (got.text, got.attempts) == ("ANSWER: CT", 2)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422])
def test_the_last_word_of_an_endpoint_is_not_questioned(code: int) -> None:
    with serve(status(code, "no, never")) as server:
        got = ask(server.url)
        assert len(server.requests) == 1
    assert (got.status, got.http_status, got.text) == ("error", code, "")
    assert got.error is not None and "no, never" in got.error


def test_attempts_are_bounded() -> None:
    with serve(status(500)) as server:
        got = ask(server.url, retries=1)
        assert len(server.requests) == got.attempts == 2
    assert got.status == "error"


def test_the_error_of_a_server_is_never_a_reply() -> None:
    with serve(status(400, "ANSWER: CT")) as server:
        assert ask(server.url).text == ""


def test_a_redirect_is_told_and_the_key_stays_here() -> None:
    with serve(reply("x")) as other, serve(redirect(other.url, 307)) as server:
        got = ask(server.url, api_key="sk-SECRET123")
        assert other.requests == []
    assert got.error is not None and other.url in got.error


def test_a_key_that_the_server_echoes_is_masked() -> None:
    with serve(status(401, "bad key sk-SECRET123")) as server:
        got = ask(server.url, api_key="sk-SECRET123")
        assert server.requests[0].headers["authorization"] == "Bearer sk-SECRET123"
    assert got.error is not None and "SECRET" not in got.error


@pytest.mark.parametrize(
    "fault", [hang(), trickle(reply("x"), 10, body=False), trickle(reply("x"), 10, head=False)]
)
def test_no_request_outlives_its_timeout(fault: Response) -> None:
    started = time.monotonic()
    with serve(fault) as server:
        got = ask(server.url, timeout=0.4, retries=0)
    assert got.status == "timeout"
    assert time.monotonic() - started < 3


def test_a_stream_that_goes_on_for_ever_times_out() -> None:
    endless = stream(["a"] * 400, gap=0.05)
    with serve(endless) as server:
        got = ask(server.url, stream=True, timeout=0.5, retries=0)
    assert got.status == "timeout"


def test_an_endpoint_that_is_not_there_is_told_soon() -> None:
    with serve(reply("x")) as server:
        url = server.url
    started = time.monotonic()
    got = ask(url, retries=50)
    assert got.status == "error" and got.error is not None and "connect" in got.error
    assert time.monotonic() - started < 10


def test_connections_are_kept() -> None:
    with serve(reply("x")) as server:
        client = Client(Service(url=completions_url(server.url), model="m"))
        for _ in range(20):
            assert client.ask(BODY).status == "ok"
        client.close()
        assert server.connections == 1


def test_a_connection_that_went_stale_costs_no_sample() -> None:
    with serve([reply("x"), drop(), reply("y")]) as server:
        client = Client(Service(url=completions_url(server.url), model="m", retries=1))
        assert client.ask(BODY).text == "x"
        assert client.ask(BODY).text == "y"
        client.close()


def test_a_limit_slows_all_workers_and_loses_no_sample() -> None:
    """An endpoint that serves two at a time and refuses the others: all get through."""
    lock, serving, refused = threading.Lock(), [0], [0]

    def script(request: Any) -> Response:
        with lock:
            if serving[0] >= 2:
                refused[0] += 1
                return status(429, retry_after=0.05)
            serving[0] += 1
        time.sleep(0.02)
        with lock:
            serving[0] -= 1
        return reply("x")

    with serve(script) as server:
        client = Client(Service(url=completions_url(server.url), model="m", retries=5))
        got: list[Reply] = []
        threads = [threading.Thread(target=lambda: got.append(client.ask(BODY))) for _ in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        client.close()
    assert [one.status for one in got] == ["ok"] * 24
    assert refused[0] > 0


def test_a_wait_that_is_too_long_is_reported_not_slept() -> None:
    started = time.monotonic()
    with serve(status(429, retry_after=86400)) as server:
        got = ask(server.url)
    assert got.error is not None and "86400" in got.error
    assert time.monotonic() - started < 3


def test_a_slow_answer_within_its_time_is_an_answer() -> None:
    with serve(slow(reply("x"), 0.3)) as server:
        got = ask(server.url)
    assert got.status == "ok" and got.seconds >= 0.3


def test_usage_is_kept_as_told() -> None:
    with serve(reply("x", usage=None)) as server:
        assert ask(server.url).usage == Usage()
    with serve(reply("x", usage={"prompt_tokens": 7, "completion_tokens": 2})) as server:
        assert ask(server.url).usage == Usage(7, 2)


def test_loopback_is_never_proxied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with serve(reply("x")) as server:
        assert ask(server.url).status == "ok"


def test_a_proxy_is_used_for_other_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(reply("through the proxy")) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url.replace("//", "//user:pass@"))
        got = ask("http://model.example/v1")
        assert proxy.requests[0].path == "http://model.example/v1/chat/completions"
        assert proxy.requests[0].headers["proxy-authorization"].startswith("Basic ")
        monkeypatch.setenv("NO_PROXY", "10.0.0.0/8")
        from mmscore.web.urls import parse_url, proxy_for

        assert proxy_for(parse_url("http://10.1.2.3/v1")) is None
    assert got.text == "through the proxy"
