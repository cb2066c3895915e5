"""Fetching: odd headers fail one request, waits end, and no name of strangers leads inside."""

from __future__ import annotations

import gzip
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.clocks import hurried
from support.server import Request, Response, raw, serve, status
from support.sockets import answer, listening, read_request

from mmscore.errors import ConfigError
from mmscore.web import retry, session, wire
from mmscore.web.errors import Target, WebError
from mmscore.web.retry import Clock
from mmscore.web.session import PACE_BYTES, PACE_SECONDS, Web

OPEN: list[Web] = []


@pytest.fixture(autouse=True)
def stopped(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Waits between attempts are not what is tested here; what is open is closed."""
    monkeypatch.setattr(retry, "SYSTEM", hurried())
    monkeypatch.setattr(wire, "SLICE", 0.05)
    yield
    while OPEN:
        OPEN.pop().stop()


def web(**options: Any) -> Web:
    OPEN.append(Web(**options))
    return OPEN[-1]


def fetched(url: str, *, of: Web | None = None, **target: Any) -> bytes:
    with (of or web()).get(Target(url, "`a.png`", **target)) as found:
        return b"".join(found.pieces())


# Odd answers


LOCATIONS = [
    ("http://[x/a.png", "leads to `http://\\[x/a.png`"),
    ("http://h:99999/", "is no URL"),
    ("http://", "in a circle"),
    ("http:///x", "in a circle"),
    ("file:///etc/passwd", "leads to `file:///etc/passwd`"),
    ("//[", "leads to"),
    ("gopher://h/", "leads to"),
    ("data:text/plain,x", "leads to"),
    (f"http://{'a' * 70}.example/", "is no URL"),
    ("http://127.0.0.1:0/", "cannot connect"),
]


@pytest.mark.parametrize(("location", "words"), LOCATIONS)
def test_an_odd_redirect_fails_its_request(location: str, words: str) -> None:
    refused = pytest.raises(WebError, match=words)
    with serve(raw(302, headers={"Location": location})) as server, refused as caught:
        fetched(server.url)
    assert caught.value.message.isprintable()


@pytest.mark.parametrize(
    "url", ["http://[x/a.png", "http://h:99999/a.png", "http://", "x", "http://a..b/"]
)
def test_an_odd_url_fails_its_request(url: str) -> None:
    with pytest.raises(WebError, match="cannot fetch"):
        fetched(url)


@pytest.mark.parametrize("location", ["/ü.png", "/%C3%BC.png"])
def test_a_redirect_may_hold_utf8(location: str) -> None:
    def lead(request: Request) -> Response:
        if request.path == "/":
            return raw(301, headers={"Location": location.encode().decode("latin-1")})
        return raw(200, request.path)

    with serve(lead) as server:
        assert fetched(server.url) == b"/%C3%BC.png"


ODD_HEADERS = [
    ("Content-Length", "-1"), ("Content-Length", "5, 6"), ("Content-Length", "\xb2"),
    ("Content-Length", "9" * 5000), ("Content-Length", "1e3"), ("Transfer-Encoding", "magic"),
    ("Content-Encoding", "magic"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), ODD_HEADERS)
def test_an_odd_header_fails_its_request(name: str, value: str) -> None:
    def odd(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(f"HTTP/1.1 200 OK\r\n{name}: {value}\r\n\r\nhello".encode("latin-1"))

    with listening(odd) as server, pytest.raises(WebError, match="cannot fetch"):
        fetched(server.url)


RETRY_AFTER = [
    ("3", 3.0), (" 3 ", 3.0), ("\xb2", None), ("-1", None), ("9" * 5000, None), ("1e400", None),
    ("nan", None), ("inf", None), ("", None), ("soon", None),
    ("Mon, 99 Foo 9999 99:99:99 GMT", None),
    ("Fri, 31 Dec 99999 23:59:59 GMT", None), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
    ("Thu, 01 Jan 0001 00:00:00 GMT", 0.0), ("3, 4", None),
]  # fmt: skip


@pytest.mark.parametrize(("value", "seconds"), RETRY_AFTER)
def test_an_odd_wait_is_none(value: str, seconds: float | None) -> None:
    refused = pytest.raises(WebError, match="503 Service Unavailable")
    with serve(status(503, retry_after=value)) as server, refused as caught:
        fetched(server.url)
    assert caught.value.retry_after == seconds


def test_what_comes_packed_is_unpacked() -> None:
    listing = json.dumps([{"a": "ü"}] * 1000).encode()
    packed = raw(200, gzip.compress(listing), {"Content-Encoding": "gzip"})
    with serve(packed) as server:
        assert web().json(Target(server.url, "the list"))[0] == [{"a": "ü"}] * 1000
        assert fetched(server.url) == listing


@pytest.mark.parametrize("body", [b"[" * 100_000, b'{"a":' * 50_000, b"\xff", b"", b"<html>"])
def test_a_listing_that_is_none_is_one_error(body: bytes) -> None:
    with serve(raw(200, body)) as server, pytest.raises(WebError, match="is no JSON"):
        web().json(Target(server.url, "the list"))


def test_a_listing_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LISTING_LIMIT", 1000)
    refused = pytest.raises(WebError, match="longer than 1000 bytes")
    with serve(raw(200, b"[" + b" " * 2000 + b"]")) as server, refused:
        web().json(Target(server.url, "the list"))


def test_the_token_stays_with_its_host() -> None:
    seen: list[dict[str, str]] = []

    def other(request: Request) -> Response:
        seen.append(dict(request.headers))
        return raw(200, b"x")

    with serve(other) as storage:
        lead = raw(302, headers={"Location": storage.url.replace("127.0.0.1", "localhost") + "/f"})
        with serve(lead) as hub:
            assert fetched(hub.url, secret={"Authorization": "Bearer T"}) == b"x"
            assert hub.requests[0].headers["authorization"] == "Bearer T"
    assert "authorization" not in seen[0]


def test_connections_are_shared_by_all_threads() -> None:
    with serve(raw(200, b"x")) as server:
        one = web()
        for _ in range(5):
            thread = threading.Thread(target=fetched, args=(server.url,), kwargs={"of": one})
            thread.start()
            thread.join()
        assert server.connections == 1


# Waits


def fast() -> float:
    """A clock on which a minute takes a tenth of a second."""
    return time.monotonic() * 600


def trickling(head: bytes, piece: bytes) -> Callable[[socket.socket, int], None]:
    def serve(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(head)
        while True:
            time.sleep(0.005)
            connection.sendall(piece)

    return serve


TRICKLES = [
    (b"", b""), (b"HTTP/1.1 200 OK\r\n", b"X: 1\r\n"), (b"HTTP/1.1 100 Continue\r\n\r\nX", b"X"),
    (b"HTTP/1.1 200 OK\r\n\r\n", b"x"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "piece"), TRICKLES)
def test_what_trickles_is_not_waited_for(head: bytes, piece: bytes) -> None:
    started = time.monotonic()
    refused = pytest.raises(WebError, match="within 60 s")
    with listening(trickling(head, piece)) as server, refused as caught:
        fetched(server.url, of=web(clock=Clock(now=fast)))
    assert caught.value.retriable and time.monotonic() - started < 1.0


def test_a_slow_download_goes_on_as_long_as_it_comes_further() -> None:
    """Three paces of bytes, each within its time, take longer than one time."""
    clock = [0.0]

    def steady(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (6 * PACE_BYTES))
        for _ in range(6):
            connection.sendall(b"x" * PACE_BYTES)

    got = 0
    with listening(steady) as server:
        asking = web(clock=Clock(now=lambda: clock[0])).get(Target(server.url, "`a.zip`"))
        with asking as found:
            for piece in found.pieces():
                got += len(piece)
                clock[0] += PACE_SECONDS * 0.4 * len(piece) / PACE_BYTES
    assert got == 6 * PACE_BYTES and clock[0] > 2 * PACE_SECONDS


def test_what_must_come_within_a_time_does_not_outlast_it_at_any_pace() -> None:
    clock = [0.0]

    def endless(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"x" * PACE_BYTES)

    with listening(endless) as server:
        one = web(clock=Clock(now=lambda: clock[0]))
        asking = one.get(Target(server.url, "the list"), seconds=300.0)
        with pytest.raises(WebError, match="the list"), asking as found:
            for _ in found.pieces():
                clock[0] += 1.0
    assert 300 <= clock[0] < 310


@pytest.mark.parametrize(("head", "piece"), TRICKLES)
def test_stopping_ends_what_is_under_way(head: bytes, piece: bytes) -> None:
    with listening(trickling(head, piece)) as server:
        one = web()
        timer = threading.Timer(0.1, one.stop)
        timer.start()
        started = time.monotonic()
        with pytest.raises(WebError, match="was stopped"):
            one.patiently(lambda: fetched(server.url, of=one))
        timer.join()
    assert time.monotonic() - started < 2.0


# Where a name may lead


@pytest.mark.parametrize("place", ["http://127.0.0.1:{}", "http://localhost:{}", "http://[::1]:{}"])
def test_a_redirect_does_not_lead_a_public_url_inside(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The public host is a proxy's answer here: no test may reach a real one."""
    inside: list[int] = []
    with listening(lambda connection, number: inside.append(number)) as target:

        def lead(connection: socket.socket, number: int) -> None:
            read_request(connection)
            to = place.format(target.port)
            connection.sendall(answer(b"", "302 Found", f"Location: {to}/a.png"))

        with listening(lead) as proxy:
            real = socket.getaddrinfo

            def getaddrinfo(host: str, port: int, *more: Any) -> Any:
                if host == "images.example":
                    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("8.8.8.8", port))]
                return real(host, port, *more)

            monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
            one = web(environ={"http_proxy": proxy.url})
            with pytest.raises(WebError, match="is not public") as caught:
                fetched("http://images.example/a.png", of=one, public_only=True)
    assert not inside and not caught.value.retriable


def test_a_url_of_this_machine_may_lead_on_here() -> None:
    def lead(request: Request) -> Response:
        return raw(302, headers={"Location": "/b"}) if request.path == "/" else raw(200, b"x")

    with serve(lead) as server:
        assert fetched(server.url) == b"x"
        with pytest.raises(WebError, match=r"leads to 127\.0\.0\.1, which is not public"):
            fetched(server.url, public_only=True)


def test_a_wrong_variable_is_the_users_error_and_no_samples() -> None:
    with pytest.raises(ConfigError, match="SSL_CERT_FILE"):
        fetched("https://127.0.0.1:1/", of=web(environ={"SSL_CERT_FILE": "/gone.pem"}))
