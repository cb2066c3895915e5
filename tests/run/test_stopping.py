"""Ctrl-C and SIGTERM: whatever a command waits for, it hears them, and the second ends it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from support import run_cli, script_path
from support.own_sets import asking, write
from support.server import reply, serve
from support.sockets import Handler, listening, read_request

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


def trickling(head: bytes, piece: bytes) -> Handler:
    """What says `head` and then a piece now and then, for ever."""

    def serve_one(connection: socket.socket, number: int) -> None:
        connection.recv(65536)
        connection.sendall(head)
        while True:
            time.sleep(0.1)
            connection.sendall(piece)

    return serve_one


def takes_nothing(connection: socket.socket, number: int) -> None:
    """What reads so slowly that a large request never gets out."""
    while connection.recv(1):
        time.sleep(0.1)


def limited(connection: socket.socket, number: int) -> None:
    while read_request(connection):
        connection.sendall(
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 100\r\nContent-Length: 0\r\n\r\n"
        )


def ended_after(
    command: Sequence[str], begun: Callable[[], bool], signals: int, env: Mapping[str, str]
) -> tuple[float, int, str]:
    """Seconds from the last of so many signals to the end of a process, its code and words."""
    process = subprocess.Popen(
        [script_path(), *command], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        env={**os.environ, **env}, text=True,
    )  # fmt: skip
    try:
        until = time.monotonic() + 30
        while not begun() and time.monotonic() < until:
            time.sleep(0.01)
        assert begun(), "it has not asked anything"
        for number in range(signals):
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM if number % 2 else signal.SIGINT)
        started = time.monotonic()
        _, words = process.communicate(timeout=30)
        return time.monotonic() - started, process.returncode, words
    finally:
        process.kill()
        process.wait()


OK = b"HTTP/1.1 200 OK\r\n"
EVENTS = OK + b"Content-Type: text/event-stream\r\n\r\n"
WAITS: list[tuple[str, str, Handler, int]] = [
    ("http", "silence", trickling(b"", b""), 2),
    ("http", "a head that trickles", trickling(OK, b"X: 1\r\n"), 2),
    ("http", "a body that trickles", trickling(OK + b"\r\n", b"x"), 2),
    ("http", "events that trickle", trickling(EVENTS, b": wait\n\n"), 2),
    ("http", "interim answers", trickling(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"), 2),
    ("http", "a request that is not taken", takes_nothing, 2),
    ("http", "a limit", limited, 1),
    ("https", "a handshake", trickling(b"", b""), 2),
    ("proxied https", "a tunnel", trickling(OK, b"X: 1\r\n"), 2),
    ("proxied http", "a proxy", trickling(OK, b"X: 1\r\n"), 2),
]


@pytest.mark.parametrize(("how", "what", "handler", "signals"), WAITS, ids=[w[1] for w in WAITS])
def test_a_run_ends_whatever_the_endpoint_makes_it_wait_for(
    how: str, what: str, handler: Handler, signals: int, tmp_path: Path
) -> None:
    text = "x" * 10_000_000 if handler is takes_nothing else "x"
    data = write(tmp_path, asking(text), asking(text + "y"))
    with listening(handler) as server:
        url, env = server.url, {}
        if how.startswith("proxied"):
            url, env = "http://model.example", {"ALL_PROXY": server.url}
        if how.endswith("https"):
            url = url.replace("http:", "https:")
        seconds, code, words = ended_after(
            [*run(data, url, tmp_path), "--stream"], lambda: server.accepted > 0, signals, env
        )
    assert code == 130 and "Traceback" not in words, words
    assert seconds < 2.0


def run(data: Path, url: str, folder: Path) -> list[str]:
    return [
        "run", "general_vqa", "--data", str(data), "--api-url", url, "--model", "m",
        "--out", str(folder / "out"), "--progress", "none",
    ]  # fmt: skip


TRICKLES = [trickling(OK, b"X: 1\r\n"), trickling(OK + b"\r\n", b"x")]


@pytest.mark.parametrize("handler", TRICKLES, ids=["head", "body"])
def test_a_run_ends_whatever_its_media_make_it_wait_for(handler: Handler, tmp_path: Path) -> None:
    with listening(handler) as server, serve(reply("x")) as endpoint:
        data = write(tmp_path, asking("<image 1>", image_1=f"{server.url}/a.png"))
        seconds, code, words = ended_after(
            [*run(data, endpoint.url, tmp_path), "--inline-urls"],
            lambda: server.accepted > 0,
            1,
            {},
        )
    assert code == 130 and "Traceback" not in words, words
    assert seconds < 2.0


@pytest.mark.parametrize("handler", TRICKLES, ids=["head", "body"])
def test_a_run_ends_whatever_its_judge_makes_it_wait_for(handler: Handler, tmp_path: Path) -> None:
    data = write(tmp_path, asking("x"))
    with listening(handler) as judge, serve(reply("x")) as endpoint:
        command = [
            *run(data, endpoint.url, tmp_path), "--judge-strategy", "llm", "--judge-model", "j",
            "--judge-api-url", judge.url,
        ]  # fmt: skip
        seconds, code, words = ended_after(command, lambda: judge.accepted > 0, 1, {})
    assert code == 130 and "Traceback" not in words, words
    assert seconds < 2.0


@pytest.mark.parametrize("handler", TRICKLES, ids=["head", "body"])
@pytest.mark.parametrize("command", ["fetch", "check"])
def test_fetching_ends_whatever_the_hub_makes_it_wait_for(command: str, handler: Handler) -> None:
    with listening(handler) as hub:
        seconds, code, words = ended_after(
            [command, "slake"], lambda: hub.accepted > 0, 1, {"MODELSCOPE_ENDPOINT": hub.url}
        )
    assert code == 130 and "Traceback" not in words, words
    assert seconds < 2.0


def test_a_timeout_holds_for_a_tunnel_that_trickles(tmp_path: Path) -> None:
    data = write(tmp_path, asking("x"))
    with listening(trickling(OK, b"X: 1\r\n")) as proxy:
        started = time.monotonic()
        ran = run_cli(
            *run(data, "https://model.example", tmp_path), "--timeout", "0.5", "--retries", "0",
            env={"HTTPS_PROXY": proxy.url},
        )  # fmt: skip
    assert ran.code == 4 and f"through the proxy 127.0.0.1:{proxy.port}" in ran.err
    assert time.monotonic() - started < 5
