"""The scripted server does on the wire what its script says: each fault, seen by a plain socket."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from support.server import (
    Request,
    Response,
    Script,
    drop,
    empty_choices,
    error_in_200,
    files,
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

BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": "Which organ?"}]})


def connect(url: str) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)


def post(connection: http.client.HTTPConnection) -> tuple[int, bytes]:
    connection.request("POST", "/v1/chat/completions", BODY)
    answer = connection.getresponse()
    return answer.status, answer.read()


def once(response: Response) -> tuple[int, bytes]:
    with serve(response) as server:
        connection = connect(server.url)
        try:
            return post(connection)
        finally:
            connection.close()


def on_the_wire(response: Response) -> bytes:
    """Every byte the server sends, then how it ended: `RST` is appended where it was reset."""
    with serve(response) as server:
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname or "", address.port or 0), 5) as raw_socket:
            raw_socket.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
            received = b""
            try:
                while part := raw_socket.recv(65536):
                    received += part
            except ConnectionResetError:
                received += b"RST"
    return received


def test_requests_are_kept_in_order_with_what_they_carried() -> None:
    with serve([status(429, retry_after=2), reply("Liver", refusal=None)]) as server:
        connection = connect(server.url)
        connection.request("POST", "/v1/chat/completions", BODY)
        limited = connection.getresponse()
        assert (limited.status, limited.getheader("Retry-After")) == (429, "2")
        assert "scripted" in json.load(limited)["error"]["message"]
        answers = [json.loads(post(connection)[1]) for _ in range(2)]
        connection.close()
    assert [answer["choices"][0]["message"]["content"] for answer in answers] == ["Liver"] * 2
    assert answers[0]["usage"]["total_tokens"] == 14
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 3
    assert server.requests[0].json["model"] == "m"
    assert server.requests[0].prompt == "Which organ?"
    assert server.requests[0].headers["content-length"] == str(len(BODY))
    assert server.connections == 1, "keep-alive is honoured"


def test_a_function_chooses_by_the_request_while_others_run() -> None:
    barrier = threading.Barrier(8, timeout=5)

    def script(request: Request) -> Response:
        barrier.wait()
        return reply(request.json["n"])

    found: dict[int, Any] = {}
    with serve(script) as server:

        def ask(number: int) -> None:
            connection = connect(server.url)
            connection.request("POST", "/", json.dumps({"n": number}))
            found[number] = json.load(connection.getresponse())["choices"][0]["message"]["content"]
            connection.close()

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {number: number for number in range(8)}
    assert (server.most_at_once, server.connections) == (8, 8)


def test_what_a_script_raises_fails_the_test() -> None:
    def script(request: Request) -> Response:
        raise KeyError(request.path)

    with pytest.raises(KeyError, match="/v1/chat"), serve(script) as server:
        connection = connect(server.url)
        with pytest.raises(http.client.RemoteDisconnected):
            post(connection)
        connection.close()


def test_a_chunked_request_body_is_put_together() -> None:
    with serve(raw(204)) as server:
        connection = connect(server.url)
        connection.request("POST", "/", iter([b"ab", b"c"]), encode_chunked=True)
        assert connection.getresponse().status == 204
        connection.close()
    assert server.requests[0].body == b"abc"


@pytest.mark.parametrize(
    ("response", "path", "expected"),
    [
        (null_content(), ("choices", 0, "message", "content"), None),
        (list_content("B", "hm"), ("choices", 0, "message", "content", 1, "text"), "B"),
        (reasoning("B", "hm"), ("choices", 0, "message", "reasoning_content"), "hm"),
        (reasoning("B", "hm", key="reasoning"), ("choices", 0, "message", "reasoning"), "hm"),
        (empty_choices(), ("choices",), []),
        (error_in_200("gone"), ("error", "message"), "gone"),
        (reply("cut", "length"), ("choices", 0, "finish_reason"), "length"),
    ],
)
def test_odd_completions_are_well_formed_http(
    response: Response, path: tuple[str | int, ...], expected: object
) -> None:
    code, body = once(response)
    value = json.loads(body)
    for step in path:
        value = value[step]
    assert (code, value) == (200, expected)


def test_html_and_redirects() -> None:
    assert once(html())[1].startswith(b"<!doctype html>")
    assert fetch(redirect("http://127.0.0.1:9/x"), {}) == (302, None, None, b"")


def test_drop_sends_nothing() -> None:
    assert on_the_wire(drop()) == b""


def test_reset_aborts_after_the_bytes_it_was_told() -> None:
    received = on_the_wire(reset(5, raw(200, "0123456789")))
    assert received.endswith(b"Content-Length: 10\r\n\r\n01234RST")
    assert on_the_wire(reset(None)) == b"RST"


def test_half_a_body_ends_with_a_closed_connection() -> None:
    assert on_the_wire(half_body(raw(200, "0123456789"))).endswith(b": 10\r\n\r\n01234")
    cut = on_the_wire(half_body(stream(["one", "two"])))
    assert b"one" in cut
    assert b"[DONE]" not in cut
    assert not cut.endswith(b"0\r\n\r\n"), "the last chunk would announce a whole body"


def test_hang_is_released_when_the_server_closes() -> None:
    started = time.monotonic()
    with serve(hang()) as server:
        connection = connect(server.url)
        connection.request("POST", "/", BODY)
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        connection.getresponse()
    connection.close()
    assert time.monotonic() - started < 3


def test_slow_and_trickle_take_their_time_and_arrive_whole() -> None:
    started = time.monotonic()
    assert once(slow(raw(200, "late"), 0.1)) == (200, b"late")
    assert time.monotonic() - started >= 0.1
    started = time.monotonic()
    assert once(trickle(raw(200, "0123456789"), 100, head=False)) == (200, b"0123456789")
    assert time.monotonic() - started >= 0.09
    assert once(trickle(raw(200, "ok"), 2000, body=False)) == (200, b"ok")


def events(body: bytes) -> list[bytes]:
    lines = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return [line.removeprefix(b"data: ") for line in lines if line.startswith(b"data: ")]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize("split_at", [None, (), 1, 7, (3, 200)])
def test_a_stream_is_the_same_text_however_it_is_cut(
    newline: Any, extras: bool, split_at: Any
) -> None:
    response = stream(["肝", "脏"], split_at=split_at, newline=newline, extras=extras)
    code, body = once(response)
    *parts, done = events(body)
    texts = [
        choice["delta"].get("content", "")
        for part in parts
        for choice in json.loads(part)["choices"]
    ]
    assert (code, "".join(texts), done) == (200, "肝脏", b"[DONE]")
    assert (b"id: 1" in body) is extras
    assert len(response.pieces) == {None: 5, (): 1, (3, 200): 3}.get(split_at, len(response.pieces))


def test_where_a_stream_puts_its_usage_and_its_end() -> None:
    own, last = (events(stream(["B"], usage=where).body) for where in ("own", "last"))
    assert [json.loads(event).get("choices") for event in own[2:-1]] == [[]]
    assert json.loads(last[1])["usage"] == json.loads(own[2])["usage"]
    bare = events(stream(["B", b"{broken"], usage="none", done=False, finish_reason=None).body)
    assert (len(bare), bare[1]) == (2, b"{broken")


@pytest.mark.parametrize(
    ("asked", "code", "content_range", "body"),
    [
        ("bytes=2-4", 206, "bytes 2-4/10", b"234"),
        ("bytes=7-", 206, "bytes 7-9/10", b"789"),
        ("bytes=-3", 206, "bytes 7-9/10", b"789"),
        ("bytes=0-99", 206, "bytes 0-9/10", b"0123456789"),
        ("bytes=10-", 416, "bytes */10", b""),
        ("bytes=0-1,4-5", 200, None, b"0123456789"),
        (None, 200, None, b"0123456789"),
    ],
)
def test_ranges(asked: str | None, code: int, content_range: str | None, body: bytes) -> None:
    found = fetch(files({"/a.zip": b"0123456789"}), {"Range": asked} if asked else {})
    assert found == (code, '"v1"', content_range, body)


def test_range_faults_and_validators() -> None:
    contents, asked = {"/a.zip": b"0123456789"}, {"Range": "bytes=2-5"}
    whole = (200, '"v1"', None, b"0123456789")
    wrong = fetch(files(contents, fault="wrong_range"), asked)
    assert wrong == (206, '"v1"', "bytes 3-5/10", b"2345")
    long = fetch(files(contents, fault="long_range"), asked)
    assert long == (206, '"v1"', "bytes 2-6/10", b"23456")
    with pytest.raises(http.client.IncompleteRead):
        fetch(files(contents, fault="short_range"), asked)
    assert fetch(files(contents, ranges=False), asked) == whole
    assert fetch(files(contents), {**asked, "If-Range": '"v0"'}) == whole
    assert fetch(files(contents), {}, path="/b.zip")[0] == 404


def test_head_tells_the_size_and_sends_no_body() -> None:
    with serve(files({"/a.zip": b"0123456789"})) as server:
        connection = connect(server.url)
        for _ in range(2):
            connection.request("HEAD", "/a.zip")
            with connection.getresponse() as response:
                assert (response.getheader("Content-Length"), response.read()) == ("10", b"")
        connection.close()
    assert server.connections == 1


def fetch(
    script: Script, headers: dict[str, str], *, path: str = "/a.zip?rev=1"
) -> tuple[int, str | None, str | None, bytes]:
    """Status, ETag, Content-Range and body of the response to one GET."""
    with serve(script) as server:
        connection = connect(server.url)
        connection.request("GET", path, headers=headers)
        try:
            with connection.getresponse() as response:
                return (
                    response.status,
                    response.getheader("ETag"),
                    response.getheader("Content-Range"),
                    response.read(),
                )
        finally:
            connection.close()
