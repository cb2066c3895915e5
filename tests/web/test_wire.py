"""Every wait has an end: told by a clock that the test turns, or by the kernel where it decides."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.sockets import listening

from mmscore.errors import MachineError
from mmscore.web import wire as module
from mmscore.web.connection import _tunnel
from mmscore.web.errors import TransportError
from mmscore.web.response import MOST_INTERIM, Source, read_response
from mmscore.web.urls import Proxy, parse_url
from mmscore.web.wire import CONNECT_TIMEOUT, SLICE, Deadline, Wire, connect, resolve


class Clock:
    """Stands still until something waits."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Peer:
    """A socket whose other side says `pieces`, one every `gap` seconds, and takes nothing."""

    def __init__(self, clock: Clock, gap: float, piece: Callable[[int], bytes]) -> None:
        self.clock, self.gap, self.piece = clock, gap, piece
        self.count = 0
        self.until = clock.now + gap
        self.bound = 0.0
        self.longest = 0.0

    def settimeout(self, seconds: float) -> None:
        self.bound = seconds

    def recv(self, most: int) -> bytes:
        wait = self.until - self.clock.now
        if wait > self.bound:
            self.clock.now += self.bound
            raise TimeoutError
        self.clock.now += max(0.0, wait)
        self.until = self.clock.now + self.gap
        self.count += 1
        return self.piece(self.count)[:most]

    def send(self, data: memoryview) -> int:
        self.clock.now += self.bound
        raise TimeoutError


def wire_to(peer: Peer, seconds: float, stopped: threading.Event | None = None) -> Wire:
    deadline = Deadline(seconds, "h:1", stopped or threading.Event(), peer.clock)
    one: Any = peer
    return Wire(one, deadline)


def read_all(wire: Wire) -> None:
    response = read_response(Source(wire.receive), "h:1")
    for _ in response.lines(1 << 30):
        pass


HEAD = b"HTTP/1.1 200 OK\r\nX: "
STREAM = b"HTTP/1.1 200 OK\r\n\r\n"
TRICKLES: dict[str, Callable[[int], bytes]] = {
    "silence": lambda number: b"",
    "a head": lambda number: HEAD[number - 1 : number] or b"x",
    "headers": lambda number: HEAD if number == 1 else b"X: 1\r\n",
    "a body": lambda number: STREAM if number == 1 else b"x",
    "lines of a stream": lambda number: STREAM if number == 1 else b": keep-alive\n\n",
    "chunks": lambda number: (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" if number == 1 else b"1\r\nx\r\n"
    ),
}


@pytest.mark.parametrize("gap", [0.3, 2.5, 7.0])
@pytest.mark.parametrize("what", TRICKLES)
def test_what_trickles_ends_with_its_time(what: str, gap: float) -> None:
    clock = Clock()
    peer = Peer(clock, 1e9 if what == "silence" else gap, TRICKLES[what])
    with pytest.raises(TransportError, match="no answer from h:1 within 60 s") as caught:
        read_all(wire_to(peer, 60.0))
    assert caught.value.kind == "timeout" and caught.value.retriable
    assert clock.now == pytest.approx(1060.0)


@pytest.mark.parametrize("status", [b"100 Continue", b"103 Early Hints"])
def test_interim_answers_end(status: bytes) -> None:
    clock = Clock()
    peer = Peer(clock, 0.1, lambda number: b"HTTP/1.1 " + status + b"\r\n\r\n")
    with pytest.raises(TransportError, match="answers that are none"):
        read_all(wire_to(peer, 300.0))
    assert peer.count == MOST_INTERIM
    peer = Peer(clock := Clock(), 30.0, peer.piece)
    with pytest.raises(TransportError, match="within 300 s"):
        read_all(wire_to(peer, 300.0))
    assert clock.now == pytest.approx(1300.0)


def test_a_body_that_nobody_takes_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(Wire, "readable", lambda self: False)
    with pytest.raises(TransportError, match="within 9 s"):
        wire_to(Peer(clock, 1e9, TRICKLES["silence"]), 9.0).send([b"x"])
    assert clock.now == pytest.approx(1009.0)


def test_a_proxy_that_trickles_ends_with_the_time_to_connect() -> None:
    clock = Clock()
    peer = Peer(clock, 0.5, TRICKLES["a head"])
    peer.send = lambda data: len(data)  # type: ignore[method-assign]
    wire = wire_to(peer, CONNECT_TIMEOUT)
    with pytest.raises(TransportError):
        _tunnel(wire, parse_url("https://h"), Proxy(False, "p", 1, None))
    assert clock.now == pytest.approx(1000.0 + CONNECT_TIMEOUT)


@pytest.mark.parametrize("what", TRICKLES)
def test_whoever_stops_is_heard_within_a_slice(what: str) -> None:
    clock, stopped = Clock(), threading.Event()
    peer = Peer(clock, 1e9 if what == "silence" else 0.9, TRICKLES[what])
    wire = wire_to(peer, 300.0, stopped)
    inner = peer.recv

    def recv(most: int) -> bytes:
        if clock.now >= 1005.0:
            stopped.set()
        return inner(most)

    peer.recv = recv  # type: ignore[method-assign]
    with pytest.raises(TransportError) as caught:
        read_all(wire)
    assert caught.value.kind == "aborted" and not caught.value.retriable
    assert clock.now <= 1005.0 + 2 * SLICE


def test_a_part_of_an_exchange_takes_its_share_at_most() -> None:
    clock = Clock()
    whole = Deadline(5.0, "h:1", threading.Event(), clock)
    part, longer = whole.within(0.4), whole.within(60.0)
    assert part.slice() == pytest.approx(0.4)
    clock.now += 4.5
    assert longer.slice() == pytest.approx(0.5)
    with pytest.raises(TransportError):
        part.slice()
    whole.extend(60.0)
    clock.now += 50.0
    assert whole.slice() == SLICE


def test_a_name_that_nobody_tells_ends_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE", 0.01)
    told = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args: told.wait(30) and [])
    clock = Clock()

    def turning() -> float:
        clock.now += 1.0
        return clock.now

    deadline = Deadline(10.0, "h:1", threading.Event(), turning)
    with pytest.raises(TransportError) as caught:
        resolve("h", 1, deadline)
    told.set()
    assert caught.value.kind == "timeout" and clock.now < 1013


def test_a_name_is_found_where_no_thread_can_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", none_left)
    found = resolve("127.0.0.1", 80, Deadline(5.0, "h:1", threading.Event()))
    assert found[0][4][:2] == ("127.0.0.1", 80)


@pytest.mark.parametrize(
    "error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("x")]
)
def test_a_name_that_is_not_there_is_told(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object) -> None:
        raise error

    monkeypatch.setattr(socket, "getaddrinfo", fails)
    with pytest.raises(TransportError, match="cannot find `h`") as caught:
        resolve("h", 1, Deadline(5.0, "h:1", threading.Event()))
    assert caught.value.kind == "connect"


def addresses(*ports: int) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in ports]


def test_the_first_address_that_answers_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        closed = gone.getsockname()[1]
    with listening(lambda connection, number: None) as server:
        deadline = Deadline(5.0, "h:1", threading.Event())
        with connect(addresses(closed, server.port), "h:1", deadline) as one:
            assert one.getpeername()[1] == server.port
        with pytest.raises(TransportError, match="cannot connect to h:1: connection refused"):
            connect(addresses(closed, closed), "h:1", deadline)
        with pytest.raises(TransportError, match="no address"):
            connect([], "h:1", deadline)


def test_addresses_share_the_time_to_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ready", lambda one, *, writing, seconds: clock_on(seconds))
    clock = Clock()

    def clock_on(seconds: float) -> bool:
        clock.now += seconds
        return False

    class Silent(socket.socket):
        def connect(self, address: Any) -> None:
            raise BlockingIOError

    monkeypatch.setattr(module, "_new_socket", lambda family: Silent(family, socket.SOCK_STREAM))
    with pytest.raises(TransportError, match="cannot connect to h:1: timed out"):
        connect(addresses(1, 2), "h:1", Deadline(10.0, "h:1", threading.Event(), clock))
    assert clock.now == pytest.approx(1010.0)


def test_a_machine_without_descriptors_is_not_the_hosts_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(*args: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(socket, "socket", full)
    with pytest.raises(MachineError, match="too many open files") as caught:
        connect(addresses(1), "h:1", Deadline(5.0, "h:1", threading.Event()))
    assert "ulimit" in (caught.value.hint or "")


@pytest.fixture
def pair() -> Any:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_the_kernel_ends_a_call_on_a_silent_connection(pair: Any) -> None:
    stopped = threading.Event()
    wire = Wire(pair[0], Deadline(0.15, "h:1", stopped))
    started = time.monotonic()
    with pytest.raises(TransportError, match=r"within 0\.15 s"):
        wire.receive(10)
    assert 0.1 < time.monotonic() - started < 1.0
    wire.deadline = Deadline(0.15, "h:1", stopped)
    with pytest.raises(TransportError, match=r"within 0\.15 s"):
        wire.send([b"x" * 10_000_000])
    assert wire.cut
    wire.deadline = Deadline(30.0, "h:1", stopped)
    pair[1].sendall(b"late")
    assert wire.receive(10) == b"late"


def test_pieces_arrive_whole_and_in_order(pair: Any) -> None:
    pieces = [bytes([number % 251]) * (number * 37 % 5000) for number in range(400)]
    got = bytearray()

    def take() -> None:
        while data := pair[1].recv(65536):
            got.extend(data)

    taking = threading.Thread(target=take)
    taking.start()
    wire = Wire(pair[0], Deadline(30.0, "h:1", threading.Event()))
    wire.send(pieces)
    assert not wire.cut
    wire.close()
    taking.join()
    assert got == b"".join(pieces)


def test_what_is_said_in_the_midst_of_a_request_is_heard(
    pair: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SLICE", 0.02)
    pair[1].sendall(b"too large")
    wire = Wire(pair[0], Deadline(30.0, "h:1", threading.Event()))
    wire.send([b"x" * 10_000_000])
    assert wire.cut and wire.receive(100) == b"too large"


def test_the_end_of_a_connection_can_be_read(pair: Any) -> None:
    wire = Wire(pair[0], Deadline(30.0, "h:1", threading.Event()))
    assert not wire.readable()
    pair[1].close()
    assert wire.readable()
