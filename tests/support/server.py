"""A scripted HTTP/1.1 server on loopback: the endpoint, hub or file server a test needs.

    with serve([status(429, retry_after=1), reply("ANSWER: CT")]) as server:
        ask(server.url + "/v1")
        assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2

A script is one response (given to every request), a sequence (one for each request, the last one
repeated) or a function from request to response. Responses are values, so one is made out of
another: `slow(reply("x"), 0.2)`, `trickle(reply("x"), 10)`, `half_body(stream(["a", "b"]))`.
"""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from socketserver import ThreadingTCPServer
from typing import Any, Literal


@dataclass(frozen=True)
class Request:
    """What a client sent.

    Attributes:
        method: `GET`, `POST` ...
        path: The target as sent, query included.
        headers: By lower-case name.
        body: The bytes, chunked coding undone.
        connection: The number of the TCP connection, from 1.
        time: `time.monotonic()` at the end of the body.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int
    time: float

    @cached_property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def prompt(self) -> str:
        """The text of the last user message, its parts joined by line breaks."""
        users = [turn["content"] for turn in self.json["messages"] if turn["role"] == "user"]
        content = users[-1]
        if isinstance(content, str):
            return content
        return "\n".join(part["text"] for part in content if part["type"] == "text")


@dataclass(frozen=True)
class Response:
    """What the server does with one request.

    Attributes:
        status: The HTTP status; None sends nothing at all.
        headers: Besides `Content-Length` or `Transfer-Encoding`, which follow from `framing`.
        pieces: The body; each piece goes out in a packet of its own.
        framing: How the body's end is told; `none` leaves it to the headers given.
        delay: Seconds before the first byte. Ends early when the server closes.
        gap: Seconds between pieces.
        head_rate: Bytes a second of the head; None sends it at once.
        body_rate: Bytes a second of the body; None sends pieces at once.
        stop_after: Bytes of the body after which the server stops.
        end: What happens to the connection then: kept, closed (FIN) or aborted (RST).
    """

    status: int | None = 200
    headers: tuple[tuple[str, str], ...] = ()
    pieces: tuple[bytes, ...] = ()
    framing: Literal["length", "chunked", "close", "none"] = "length"
    delay: float = 0.0
    gap: float = 0.0
    head_rate: float | None = None
    body_rate: float | None = None
    stop_after: int | None = None
    end: Literal["keep", "close", "reset"] = "keep"

    @property
    def body(self) -> bytes:
        """The whole body, without framing."""
        return b"".join(self.pieces)


Script = Response | Sequence[Response] | Callable[[Request], Response]

USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
"""The tokens every completion reports unless told otherwise."""


# Responses: plain ones


def raw(status: int, body: bytes | str = b"", headers: Mapping[str, str] | None = None) -> Response:
    """Any status with any body."""
    data = body.encode() if isinstance(body, str) else body
    return Response(status, tuple((headers or {}).items()), (data,))


def as_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as a JSON body."""
    data = json.dumps(value, ensure_ascii=False)
    return raw(status, data, {"Content-Type": "application/json", **(headers or {})})


def status(code: int, message: str = "scripted", *, retry_after: object = None) -> Response:
    """An error in OpenAI's form; `retry_after` is seconds or an HTTP date."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    error = {"message": message, "type": "scripted", "code": code}
    return as_json({"error": error}, code, headers)


def redirect(url: str, code: int = 302) -> Response:
    """The client is sent elsewhere."""
    return raw(code, headers={"Location": url})


def html(code: int = 200) -> Response:
    """A gateway's page where JSON was due."""
    page = "<!doctype html><html><body><h1>Welcome to the gateway</h1></body></html>"
    return raw(code, page, {"Content-Type": "text/html"})


# Responses: chat completions


def reply(
    text: Any,
    finish_reason: str | None = "stop",
    usage: Mapping[str, int] | None = USAGE,
    **message: object,
) -> Response:
    """A chat completion; further keywords become fields of the message (`refusal=...`)."""
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish_reason,
    }
    answer: dict[str, object] = {"object": "chat.completion", "choices": [choice]}
    if usage is not None:
        answer["usage"] = dict(usage)
    return as_json(answer)


def null_content() -> Response:
    """A completion whose content is null."""
    return reply(None)


def list_content(text: str, thinking: str | None = None) -> Response:
    """A completion whose content is a list of parts."""
    parts: list[dict[str, str]] = [{"type": "text", "text": text}]
    if thinking is not None:
        parts.insert(0, {"type": "thinking", "thinking": thinking})
    return reply(parts)


def reasoning(text: str, thoughts: str, key: str = "reasoning_content") -> Response:
    """A completion with its thoughts in a field of their own."""
    thinking: dict[str, Any] = {key: thoughts}
    return reply(text, **thinking)


def empty_choices() -> Response:
    """A 200 without any choice."""
    return as_json({"object": "chat.completion", "choices": []})


def error_in_200(message: str = "the engine is gone") -> Response:
    """An error that calls itself a success."""
    return as_json({"error": {"message": message, "code": 500}})


# Responses: server-sent events


def stream(
    chunks: Sequence[str | Mapping[str, object] | bytes],
    *,
    split_at: int | Sequence[int] | None = None,
    gap: float = 0.0,
    newline: Literal["\n", "\r\n", "\r"] = "\n",
    extras: bool = False,
    finish_reason: str | None = "stop",
    usage: Literal["last", "own", "none"] = "own",
    done: bool = True,
) -> Response:
    """A streamed completion.

    Args:
        chunks: A text becomes `delta.content`, a mapping the delta itself, bytes an event's data.
        split_at: None sends one event in each packet; a number cuts the bytes every so many;
            a sequence cuts at those offsets, so that `()` is one packet for all.
        gap: Seconds between packets.
        newline: The line end.
        extras: Whether comments, `id:`, `event:` and `retry:` lines stand between.
        finish_reason: In a last event of its own with an empty delta; None leaves that event out.
        usage: In the last event with choices, in one of its own with no choices, or nowhere.
        done: Whether `[DONE]` ends it.
    """
    deltas = [{"content": chunk} if isinstance(chunk, str) else chunk for chunk in chunks]
    data = [delta if isinstance(delta, bytes) else _delta_event(delta) for delta in deltas]
    if finish_reason is not None:
        data.append(_delta_event({}, finish_reason, USAGE if usage == "last" else None))
    if usage == "own":
        data.append(_dump({"object": "chat.completion.chunk", "choices": [], "usage": USAGE}))
    if done:
        data.append(b"[DONE]")
    events = [_event(datum, number, newline, extras) for number, datum in enumerate(data)]
    pieces = tuple(events) if split_at is None else _cut(b"".join(events), split_at)
    headers = (("Content-Type", "text/event-stream; charset=utf-8"),)
    return Response(200, headers, pieces, framing="chunked", gap=gap)


def _dump(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _delta_event(
    delta: Mapping[str, object],
    finish_reason: str | None = None,
    usage: Mapping[str, int] | None = None,
) -> bytes:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
    event: dict[str, object] = {"object": "chat.completion.chunk", "choices": [choice]}
    if usage is not None:
        event["usage"] = dict(usage)
    return _dump(event)


def _event(data: bytes, number: int, newline: str, extras: bool) -> bytes:
    end = newline.encode()
    before = [b": keep-alive", b"", b"event: message", b"id: %d" % number, b"retry: 10"]
    lines = [*(before if extras else ()), b"data: " + data, b""]
    return b"".join(line + end for line in lines)


def _cut(data: bytes, split_at: int | Sequence[int]) -> tuple[bytes, ...]:
    inner = range(split_at, len(data), split_at) if isinstance(split_at, int) else split_at
    return tuple(data[first:last] for first, last in pairwise((0, *inner, len(data))))


# Responses: faults of the wire


def drop() -> Response:
    """The connection closes before a byte of the response."""
    return Response(None, end="close")


def hang(seconds: float = 3600.0) -> Response:
    """Silence, then a closed connection; the server's own closing ends it early."""
    return Response(None, delay=seconds, end="close")


def reset(after: int | None = 20, response: Response | None = None) -> Response:
    """TCP RST after so many bytes of the body; None sends no byte at all before it."""
    whole = response or reply("ANSWER: never read whole")
    if after is None:
        return replace(whole, status=None, end="reset")
    return replace(whole, stop_after=after, end="reset")


def half_body(response: Response | None = None) -> Response:
    """Half of what was announced, then a closed connection."""
    whole = response or reply("ANSWER: never read whole")
    return replace(whole, stop_after=len(whole.body) // 2, end="close")


def trickle(
    response: Response, bytes_per_second: float, *, head: bool = True, body: bool = True
) -> Response:
    """The same response, byte by byte, so that no single read ever waits long."""
    return replace(
        response,
        head_rate=bytes_per_second if head else None,
        body_rate=bytes_per_second if body else None,
    )


def slow(response: Response, seconds: float) -> Response:
    """The same response after a wait."""
    return replace(response, delay=seconds)


# Files, for hubs and remote archives


def file(
    data: bytes,
    request: Request,
    *,
    etag: str | None = '"v1"',
    ranges: bool = True,
    fault: Literal["none", "wrong_range", "short_range", "long_range"] = "none",
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A file's bytes, or the range asked for.

    Args:
        data: The whole file.
        request: Its `Range` and `If-Range` count.
        etag: The validator sent and compared.
        ranges: Whether ranges are understood; otherwise every answer is the whole file.
        fault: `wrong_range` announces a start one byte late, `short_range` sends half of what it
            announces and closes, `long_range` sends and announces one byte more than asked.
        headers: Sent besides.
    """
    sent = {"Accept-Ranges": "bytes"} if ranges else {}
    sent |= ({} if etag is None else {"ETag": etag}) | dict(headers or {})
    asked = request.headers.get("range") if ranges else None
    span = _span(asked, len(data)) if asked else None
    if span is None or request.headers.get("if-range", etag) != etag:
        return raw(200, data, sent)
    first, last = span
    if first > last:
        return raw(416, headers={**sent, "Content-Range": f"bytes */{len(data)}"})
    if fault == "long_range":
        last = min(last + 1, len(data) - 1)
    start = first + (fault == "wrong_range")
    sent["Content-Range"] = f"bytes {start}-{last}/{len(data)}"
    part = raw(206, data[first : last + 1], sent)
    return half_body(part) if fault == "short_range" else part


def files(contents: Mapping[str, bytes], **options: Any) -> Callable[[Request], Response]:
    """A script that serves files by path (no query); options are those of `file`."""

    def answer(request: Request) -> Response:
        path = request.path.partition("?")[0]
        return file(contents[path], request, **options) if path in contents else status(404)

    return answer


def _span(asked: str, size: int) -> tuple[int, int] | None:
    """First and last byte of a single range; None where the header is to be ignored."""
    found = re.fullmatch(r"bytes=(\d*)-(\d*)", asked.strip())
    if found is None or found[0] == "bytes=-":
        return None
    if not found[1]:
        return max(0, size - int(found[2])), size - 1
    first = int(found[1])
    return (first, min(int(found[2] or size), size - 1)) if first < size else (1, 0)


# The server


@dataclass
class Server:
    """A running server.

    Attributes:
        url: `http://127.0.0.1:PORT`, without a path.
        requests: All requests so far, in the order in which their bodies ended.
        most_at_once: The largest number of requests that were open at one time.
    """

    url: str
    requests: list[Request] = field(default_factory=list)
    most_at_once: int = 0

    @property
    def connections(self) -> int:
        """How many TCP connections carried a request."""
        return len({request.connection for request in self.requests})


@contextlib.contextmanager
def serve(script: Script) -> Iterator[Server]:
    """Runs a server as long as the block lasts; all its threads are joined at the end.

    Raises:
        Exception: What the script raised, once the block is left.
    """
    listener = _Listener(script)
    accepting = threading.Thread(target=listener.serve_forever, args=(0.02,))
    accepting.start()
    try:
        yield listener.public
    except BaseException as error:
        for cause in listener.errors:
            error.add_note(f"the server's script raised {cause!r}")
        raise
    finally:
        listener.stop()
        accepting.join()
        listener.server_close()
    if listener.errors:
        raise listener.errors[0]


class _Listener(ThreadingTCPServer):
    request_queue_size = 1024
    daemon_threads = False  # so that server_close joins them

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = script
        self.public = Server(f"http://127.0.0.1:{self.server_address[1]}")
        self.lock = threading.Lock()
        self.closing = threading.Event()
        self.open: dict[socket.socket, int] = {}  # connection -> its number
        self.reset: set[socket.socket] = set()
        self.accepted = 0
        self.active = 0
        self.errors: list[BaseException] = []

    def stop(self) -> None:
        self.closing.set()
        self.shutdown()
        with self.lock:
            for connection in self.open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        with self.lock:
            self.accepted += 1
            self.open[request] = self.accepted
        return True

    def shutdown_request(self, request: Any) -> None:
        with self.lock:
            self.open.pop(request, None)
            aborted = request in self.reset
        if not aborted:
            super().shutdown_request(request)
            return
        # With a linger of zero, close sends RST; a shutdown before it would send FIN.
        request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error is not None and not isinstance(error, ConnectionError):
            self.errors.append(error)

    def begin(self, request: Request) -> Response:
        """Books a request and chooses its response."""
        with self.lock:
            number = len(self.public.requests)
            self.public.requests.append(request)
            self.active += 1
            self.public.most_at_once = max(self.public.most_at_once, self.active)
        if isinstance(self.script, Response):
            return self.script
        if isinstance(self.script, Sequence):
            return self.script[min(number, len(self.script) - 1)]
        return self.script(request)

    def finish(self) -> None:
        with self.lock:
            self.active -= 1


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def setup(self) -> None:
        super().setup()
        self.number = self.server.open[self.request]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def handle_one_request(self) -> None:
        self.close_connection = True
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._body(headers)
        if len(body) < int(headers.get("content-length", 0)):
            self.close_connection = True  # the client left in the middle
            return
        request = Request(self.command, self.path, headers, body, self.number, time.monotonic())
        try:
            self._respond(self.server.begin(request))
        finally:
            self.server.finish()

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        parts = []
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _respond(self, response: Response) -> None:
        if response.delay and self.server.closing.wait(response.delay):
            self.close_connection = True
            return
        if response.status is not None:
            self._send(_head(response), response.head_rate)
            if self.command != "HEAD":
                self._send_body(response)
        if response.end == "reset":
            self.server.reset.add(self.connection)
        if response.end != "keep" or response.framing == "close":
            self.close_connection = True

    def _send_body(self, response: Response) -> None:
        left = len(response.body) if response.stop_after is None else response.stop_after
        for number, piece in enumerate(response.pieces):
            if number and response.gap and self.server.closing.wait(response.gap):
                return
            part = piece[:left]
            left -= len(part)
            if part and response.framing == "chunked":
                part = b"%x\r\n%b\r\n" % (len(part), part)
            self._send(part, response.body_rate)
        if response.framing == "chunked" and response.stop_after is None:
            self._send(b"0\r\n\r\n", response.body_rate)

    def _send(self, data: bytes, rate: float | None) -> None:
        if rate is None:
            self.connection.sendall(data)
            return
        for at in range(len(data)):
            self.connection.sendall(data[at : at + 1])
            if self.server.closing.wait(1 / rate):
                raise ConnectionAbortedError


def _head(response: Response) -> bytes:
    assert response.status is not None
    try:
        reason = HTTPStatus(response.status).phrase
    except ValueError:
        reason = "Scripted"
    headers = list(response.headers)
    if response.framing == "length":
        headers.append(("Content-Length", str(len(response.body))))
    elif response.framing == "chunked":
        headers.append(("Transfer-Encoding", "chunked"))
    elif response.framing == "close":
        headers.append(("Connection", "close"))
    lines = [f"HTTP/1.1 {response.status} {reason}", *(f"{k}: {v}" for k, v in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")
