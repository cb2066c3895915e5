"""Exchanges over loopback: kept connections, early answers, proxies, and what ends all of it."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.sockets import Handler, answer, listening, read_request

from mmscore.errors import ConfigError, EndpointError
from mmscore.model.client import Client, Service, completions_url
from mmscore.web import wire
from mmscore.web.connection import ANSWER_LIMIT, Connections
from mmscore.web.errors import TransportError
from mmscore.web.urls import parse_url

LARGE = b"x" * 20_000_000


def asked(
    connections: Connections, body: bytes = b"{}", *, timeout: float = 10.0
) -> tuple[int, bytes]:
    head = connections.head("POST", {"Content-Type": "application/json"})
    with connections.ask(head, [body], deadline=connections.deadline(timeout)) as response:
        return response.status, response.read(ANSWER_LIMIT)


MADE: list[Connections] = []


def to(url: str, *, public_only: bool = False, **environ: str) -> Connections:
    MADE.append(Connections(parse_url(url), public_only=public_only, environ=environ))
    return MADE[-1]


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Closes what a test has left idle."""
    yield
    while MADE:
        MADE.pop().close()


def number_of(request: bytes) -> bytes:
    return request.rpartition(b"\r\n\r\n")[2]


def test_one_connection_serves_one_request_after_the_other() -> None:
    def echo(connection: socket.socket, number: int) -> None:
        while request := read_request(connection):
            connection.sendall(answer(number_of(request)))

    with listening(echo) as server:
        connections = to(server.url)
        for number in range(20):
            assert asked(connections, b"%d" % number) == (200, b"%d" % number)
        assert server.accepted == 1


def late_second_answer(connection: socket.socket, number: int) -> None:
    """As a gateway does that answered a time-out first and the real answer afterwards."""
    while request := read_request(connection):
        connection.sendall(answer(number_of(request)))
        time.sleep(0.02)
        connection.sendall(answer(b"the answer to another request"))


def closes_when_idle(connection: socket.socket, number: int) -> None:
    connection.sendall(answer(number_of(read_request(connection))))


def closes_when_asked_again(connection: socket.socket, number: int) -> None:
    connection.sendall(answer(number_of(read_request(connection))))
    read_request(connection)


def resets_when_asked_again(connection: socket.socket, number: int) -> None:
    connection.sendall(answer(number_of(read_request(connection))))
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    "server_of",
    [late_second_answer, closes_when_idle, closes_when_asked_again, resets_when_asked_again],
)
@pytest.mark.parametrize("pause", [0.0, 0.06])
def test_a_connection_that_went_stale_costs_neither_an_answer_nor_an_attempt(
    server_of: Handler, pause: float
) -> None:
    reply = b'{"choices":[{"message":{"content":"%s"}}]}'

    with listening(server_of) as server:
        client = Client(Service(completions_url(server.url), "m", retries=0))
        if server_of is late_second_answer:
            pause = max(pause, 0.06)
        for number in range(6):
            got = client.ask([reply % b"%d" % number])
            assert (got.status, got.text, got.attempts) == ("ok", str(number), 1)
            time.sleep(pause)
        client.close()


def test_a_broken_answer_is_never_asked_for_twice_in_silence() -> None:
    """Only a connection over which nothing came is stale; half an answer is a failed attempt."""

    def half(connection: socket.socket, number: int) -> None:
        connection.sendall(answer(number_of(read_request(connection))))
        read_request(connection)
        connection.sendall(b"HTTP/1.1 2")

    with listening(half) as server:
        connections = to(server.url)
        assert asked(connections) == (200, b"{}")
        with pytest.raises(TransportError) as caught:
            asked(connections)
        assert caught.value.kind == "truncated" and server.accepted == 1


def test_a_new_connection_that_says_nothing_is_a_failed_attempt() -> None:
    def silent(connection: socket.socket, number: int) -> None:
        read_request(connection)

    with listening(silent) as server:
        with pytest.raises(TransportError) as caught:
            asked(to(server.url))
        assert caught.value.kind == "closed" and server.accepted == 1


@pytest.mark.parametrize("stays", [False, True], ids=["closes", "stays open"])
def test_a_refusal_before_the_body_is_read_is_heard(
    stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "SLICE", 0.05)

    def refuses(connection: socket.socket, number: int) -> None:
        connection.recv(1000)
        connection.sendall(answer(b"<h1>too large</h1>", "413 Content Too Large"))
        if stays:
            server.closing.wait(10)
        else:  # as nginx does: the rest of the body meets a closed connection
            time.sleep(0.02)

    with listening(refuses) as server:
        connections = to(server.url)
        for _ in range(3):
            assert asked(connections, LARGE) == (413, b"<h1>too large</h1>")
        assert server.accepted == 3


def test_bytes_behind_an_answer_end_its_connection() -> None:
    def two(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            connection.sendall(answer(b"one") + answer(b"two"))

    with listening(two) as server:
        connections = to(server.url)
        assert [asked(connections)[1] for _ in range(3)] == [b"one"] * 3
        assert server.accepted == 3


def test_the_end_of_a_stream_that_was_read_far_enough_is_waited_for() -> None:
    def streams(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            connection.sendall(
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n[DONE]\r\n"
            )
            time.sleep(0.02)
            connection.sendall(b"0\r\n\r\n")

    with listening(streams) as server:
        connections = to(server.url)
        for _ in range(3):
            head = connections.head("POST", {})
            with connections.ask(head, [b"x"], deadline=connections.deadline(5.0)) as response:
                assert next(response.pieces(100)) == b"[DONE]"
        assert server.accepted == 1


HANGS: dict[str, bytes] = {
    "silence": b"",
    "a head": b"HTTP/1.1 200 OK\r\nX: ",
    "a body": b"HTTP/1.1 200 OK\r\n\r\n",
    "interim answers": b"HTTP/1.1 100 Continue\r\n\r\n",
}


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("proxied", [False, True])
@pytest.mark.parametrize("what", HANGS)
def test_an_abort_ends_whatever_is_waited_for(
    what: str, scheme: str, proxied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over https it is the handshake that hangs, with a proxy its CONNECT."""
    monkeypatch.setattr(wire, "SLICE", 0.05)

    def hangs(connection: socket.socket, number: int) -> None:
        connection.recv(1000)
        connection.sendall(HANGS[what])
        while not server.closing.wait(0.02):
            connection.sendall(b"x" if what in ("a head", "a body") and scheme == "http" else b"")

    with listening(hangs) as server:
        url = server.url.replace("http", scheme)
        connections = to(url)
        if proxied:
            connections = to(f"{scheme}://model.example", ALL_PROXY=server.url)
        timer = threading.Timer(0.15, connections.abort)
        timer.start()
        started = time.monotonic()
        with pytest.raises(TransportError) as caught:
            asked(connections, timeout=300.0)
        timer.join()
    assert caught.value.kind in ("aborted", "tls")
    assert time.monotonic() - started < 2.0
    with pytest.raises(TransportError, match="stopped"):
        asked(connections)


def test_the_answer_is_limited() -> None:
    def endless(connection: socket.socket, number: int) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(LARGE)

    too_long = pytest.raises(TransportError, match="longer than 8388608 bytes")
    with listening(endless) as server, too_long:
        asked(to(server.url))


# Headers and proxies


@pytest.mark.parametrize("value", ["a\r\nX: b", "a\nb", "a\0b", "–"])
def test_a_header_that_cannot_be_sent_is_told(value: str) -> None:
    with pytest.raises(ConfigError):
        to("http://h").head("GET", {"X-Key": value})


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost", "127.0.0.1"])
def test_this_machine_is_reached_without_a_proxy(host: str) -> None:
    with listening(lambda c, n: c.sendall(answer(read_request(c)))) as server:
        url = server.url.replace("127.0.0.1", host)
        status, body = asked(to(url, http_proxy="http://127.0.0.1:9"))
    assert status == 200 and body.startswith(b"POST / HTTP/1.1\r\n")


PROXY_ANSWERS = [
    ("403 Forbidden", False),
    ("407 Proxy Authentication Required", False),
    ("302 Found", False),
    ("400 Bad Request", False),
    ("502 Bad Gateway", True),
    ("503 Service Unavailable", True),
    ("504 Gateway Timeout", True),
]


@pytest.mark.parametrize(("status", "retriable"), PROXY_ANSWERS)
def test_a_refusal_of_the_proxy_is_told_as_the_proxys(status: str, retriable: bool) -> None:
    def proxy(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(answer(b"<h1>no</h1>", status, "Location: http://login.example/"))

    with listening(proxy) as server, pytest.raises(TransportError) as caught:
        asked(to("https://model.example/v1", https_proxy=server.url))
    error = caught.value
    assert (error.kind, error.retriable) == ("proxy", retriable)
    assert f"the proxy 127.0.0.1:{server.port}" in str(error) and status in str(error)
    assert "model.example:443" in str(error)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_wants_a_password_ends_the_run_at_once(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def proxy(connection: socket.socket, number: int) -> None:
        while read_request(connection):
            connection.sendall(answer(b"", "407 Proxy Authentication Required"))

    with listening(proxy) as server:
        monkeypatch.setenv("ALL_PROXY", server.url)
        client = Client(Service(f"{scheme}://model.example/v1", "m", retries=5))
        with pytest.raises(EndpointError, match=r"the proxy .* 407") as caught:
            client.ask([b"{}"])
        assert server.accepted == 1
    assert "USER:PASSWORD" in (caught.value.hint or "")


def test_a_tunnel_is_asked_for_as_proxies_want_it() -> None:
    got: list[bytes] = []

    def proxy(connection: socket.socket, number: int) -> None:
        got.append(read_request(connection))
        connection.sendall(b"HTTP/1.1 200 Connection established\r\nContent-Length: 9\r\n\r\n")
        got.append(connection.recv(100))

    with listening(proxy) as server, pytest.raises(TransportError):
        through = server.url.replace("//", "//me:secret@")
        asked(to("https://bücher.example:8443/v1", https_proxy=through))
    lines = got[0].decode().split("\r\n")
    assert lines[0] == "CONNECT xn--bcher-kva.example:8443 HTTP/1.1"
    assert "Proxy-Authorization: Basic bWU6c2VjcmV0" in lines
    assert got[1][:1] == b"\x16", "TLS begins as soon as the tunnel stands"


@pytest.mark.parametrize(
    "said",
    [b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", b"SSH-2.0-x\r\n\r\n", b"", b"HTTP/1.1 200"],
)
def test_a_tunnel_that_is_none_fails_the_request(said: bytes) -> None:
    def proxy(connection: socket.socket, number: int) -> None:
        read_request(connection)
        connection.sendall(said)

    with listening(proxy) as server, pytest.raises(TransportError, match=r"the proxy 127\.0\.0\.1"):
        asked(to("https://model.example", https_proxy=server.url))


def test_nothing_goes_to_an_https_proxy_in_clear() -> None:
    got: list[bytes] = []

    def proxy(connection: socket.socket, number: int) -> None:
        got.append(connection.recv(1000))

    with listening(proxy) as server:
        through = server.url.replace("http://", "https://me:secret@")
        with pytest.raises(TransportError):
            asked(to("http://model.example", http_proxy=through))
    assert got[0][:1] == b"\x16" and b"secret" not in got[0] and b"model.example" not in got[0]


# Only public addresses


def leads_to(*hosts: str) -> Callable[..., Any]:
    def getaddrinfo(host: str, port: int, *more: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in hosts]

    return getaddrinfo


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.0.1"])
def test_a_name_that_leads_inside_is_not_followed(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", leads_to(host))
    connections = to("http://images.example", public_only=True)
    with pytest.raises(TransportError, match=f"leads to {host}, which is not public") as caught:
        asked(connections)
    assert caught.value.kind == "refused" and not caught.value.retriable


def test_what_was_checked_is_what_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name may lead elsewhere the next time it is asked for."""
    answers = iter([leads_to("10.0.0.1", "8.8.8.8"), leads_to("127.0.0.1")])
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args: next(answers)(*args))
    tried: list[Any] = []

    def connect(self: socket.socket, address: Any) -> None:
        tried.append(address[0])
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket.socket, "connect", connect)
    connections = to("http://images.example", public_only=True)
    with pytest.raises(TransportError, match="refused"):
        asked(connections)
    assert tried == ["8.8.8.8"]


def test_a_proxy_is_not_asked_for_what_leads_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    def getaddrinfo(host: str, port: int, *more: object) -> list[Any]:
        inside = "127.0.0.1" if host == "127.0.0.1" else "10.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (inside, port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    with listening(lambda c, n: c.sendall(answer(read_request(c)))) as server:
        for host in ("images.example", "169.254.169.254"):
            connections = to(f"http://{host}", public_only=True, http_proxy=server.url)
            with pytest.raises(TransportError, match="not public"):
                asked(connections)
        assert server.accepted == 0
