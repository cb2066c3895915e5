"""What an endpoint may do to a run: nothing it sends ends one, leaks a key or holds it for ever."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from support import run_cli
from support.server import Request, Response, raw, reply, serve, status

from mmscore.error_text import without_secrets
from mmscore.errors import ConfigError
from mmscore.model.answer_bodies import read_body
from mmscore.model.client import Client, Service, completions_url
from mmscore.model.providers import OPENAI
from mmscore.think import split_think
from mmscore.web.urls import parse_url


@pytest.mark.parametrize("tag", ["<think>", '<think signature="', "<think", "</think>", "<think "])
def test_reasoning_tags_without_end_are_read_in_linear_time(tag: str) -> None:
    body = json.dumps({"choices": [{"message": {"content": tag * 200_000}}]})
    started = time.process_time()
    read_body(body, OPENAI)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>B", ("B", "a")),
        ("<think>a<think>b</think>C", ("C", "a<think>b")),
        ('x <think signature="s" redacted="true" >a</think> B', ("x  B", "a")),
        ("<thinks>a</think>B", ("<thinks>a</think>B", None)),
        ("</think> A <think>b", ("</think> A <think>b", None)),
    ],
)
def test_the_first_block_is_split_off(text: str, expected: tuple[str, str | None]) -> None:
    assert split_think(text) == expected


@pytest.mark.parametrize("count", [-1, 2**60, 10**400, "12", 1.5, True, [3], {}])
def test_a_token_count_that_cannot_be_is_none(count: Any) -> None:
    usage = {"prompt_tokens": count, "completion_tokens": 3}
    body = json.dumps({"choices": [{"message": {"content": "A"}}], "usage": usage})
    found = read_body(body, OPENAI).usage
    assert found.prompt_tokens is None and found.completion_tokens == 3


def ask(url: str, **service: Any) -> Any:
    client = Client(Service(completions_url(url), "m", retries=0, **service))
    try:
        return client.ask([b"{}"])
    finally:
        client.close()


def test_the_words_of_a_server_do_not_steer_the_terminal() -> None:
    with serve(status(400, "bad \x1b[31m\x07 \u202e news")) as server:
        error = ask(server.url).error
    assert error is not None and error.isprintable() and "news" in error


def test_a_url_that_a_request_line_cannot_carry_is_encoded() -> None:
    with serve(reply("A")) as server:
        assert ask(f"{server.url}/模型/a b%20c").status == "ok"
        (request,) = server.requests
    assert request.path == "/%E6%A8%A1%E5%9E%8B/a%20b%20c/chat/completions"


def test_an_ipv6_endpoint_is_named_as_one_writes_it() -> None:
    assert parse_url("http://[::1]:8000/v1").place == "[::1]:8000"


@pytest.mark.parametrize("key", ["sk-SECRET–x", "sk-\x00SECRET", "sk-SECRET\nx", "钥SECRET"])
def test_a_key_that_no_header_can_carry_is_told_without_it(key: str) -> None:
    with pytest.raises(ConfigError, match="of the API key is none") as caught:
        Client(Service("http://127.0.0.1:1/v1/chat/completions", "m", key))
    assert "SECRET" not in str(caught.value)


def test_the_line_break_of_a_key_file_is_no_part_of_the_key() -> None:
    with serve(reply("A")) as server:
        ask(server.url, api_key="sk-1\r\n")
        assert server.requests[0].headers["authorization"] == "Bearer sk-1"


def test_user_and_password_of_a_url_are_sent_as_such() -> None:
    with serve(reply("A")) as server:
        ask(server.url.replace("//", "//me:pass@"))
        assert server.requests[0].headers["authorization"] == "Basic bWU6cGFzcw=="


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h:1/v1", "http://h:1/v1"),
        ("http://u:p@h:1/v1?key=s#f", "http://h:1/v1"),
        ("http://u:p@[::1]:1", "http://[::1]:1"),
        ("u:p@h", "h"),
    ],
)
def test_what_a_url_may_hide_is_not_shown(url: str, expected: str) -> None:
    assert without_secrets(url) == expected


def run(data: Path, url: str, *more: str) -> Any:
    return run_cli(
        "run", "slake", "--data", str(data), "--api-url", url, "--model", "m", "--out",
        str(data.parent / "out"), "--progress", "none", *more,
    )  # fmt: skip


def test_what_a_url_may_hide_reaches_no_file(data: Path) -> None:
    with serve(reply("A")) as server:
        secret = server.url.replace("//", "//u:SECRET@") + "?key=SECRET"
        ran = run(data, secret)
        assert ran.code == 0 and server.requests[0].path.endswith("?key=SECRET")
        with serve(status(404)) as gone:
            other = data.parent / "other"
            lost = run(data, gone.url.replace("//", "//u:SECRET@"), "--out", str(other))
    assert lost.code == 4
    files = [
        path for path in data.parent.rglob("*.*") if path.suffix in (".json", ".jsonl", ".csv")
    ]
    assert len(files) > 5
    assert not [path for path in files if "SECRET" in path.read_text(encoding="utf-8")]
    assert "SECRET" not in ran.err + ran.out + lost.err


def test_a_request_that_is_always_limited_holds_up_nobody(data: Path) -> None:
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    unlucky = rows[0]["question"]

    def limited(request: Request) -> Response:
        return status(429) if request.prompt.startswith(unlucky) else reply("A")

    started = time.monotonic()
    with serve(limited) as server:
        ran = run(data, server.url, "--retries", "1", "--concurrency", "2")
    assert ran.code == 3
    found = json.loads((data.parent / "out" / "report.json").read_text(encoding="utf-8"))
    failed = sum(row["question"] == unlucky for row in rows)
    assert found["status"]["error"] == failed and found["status"]["ok"] == 24 - failed
    assert time.monotonic() - started < 30


def test_a_quota_of_nothing_is_told_soon(data: Path) -> None:
    started = time.monotonic()
    with serve(status(429, "no quota")) as server:
        ran = run(data, server.url, "--retries", "2")
    assert ran.code == 4 and "no quota" in ran.err
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("options", ["timeout=abc", "timeout=-1", "timeout=1e400", "retries=x"])
def test_an_option_that_steers_the_client_is_checked(data: Path, options: str) -> None:
    ran = run(data, "http://127.0.0.1:1", "--generation", options)
    assert ran.code == 1 and f".{options.partition('=')[0]}` is" in ran.err


@pytest.mark.parametrize("selection", [("--limit", "0.0001"), ("--shard", "500/900")])
def test_a_run_of_nothing_is_no_success(data: Path, selection: tuple[str, str]) -> None:
    ran = run(data, "http://127.0.0.1:1", *selection)
    assert ran.code == 1 and "0 of 24 samples" in ran.err


def test_choices_that_are_none_fail_the_attempt_not_the_run(data: Path) -> None:
    body = b'data: {"choices":5}\n\ndata: [DONE]\n\n'
    with serve(raw(200, body, {"Content-Type": "text/event-stream"})) as server:
        ran = run(data, server.url, "--stream", "--retries", "0")
    assert ran.code == 4 and "without a finish_reason" in ran.err
