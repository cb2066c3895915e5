"""A server below HTTP: each connection is handed to a function as a socket.

def answer(connection: socket.socket, number: int) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 413 Too Large\r\n\r\n")

with listening(answer) as server:
    ask(server.url)
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

Handler = Callable[[socket.socket, int], None]
"""What happens on a connection, and its number from 1; it is closed when the function returns."""


@dataclass
class Listening:
    """A running server.

    Attributes:
        port: Its port on 127.0.0.1.
        accepted: How many connections were made.
        closing: Set when it ends; what waits should wait for this.
    """

    port: int
    accepted: int = 0
    closing: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`."""
        return f"http://127.0.0.1:{self.port}"


@contextlib.contextmanager
def listening(handler: Handler) -> Iterator[Listening]:
    """Runs a server as long as the block lasts; all its threads are joined at the end."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    server = Listening(listener.getsockname()[1])
    threads: list[threading.Thread] = []
    open_ones: list[socket.socket] = []

    def serve(connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError):
            handler(connection, number)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                server.accepted += 1
                open_ones.append(connection)
                threads.append(threading.Thread(target=serve, args=(connection, server.accepted)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield server
    finally:
        server.closing.set()
        for one in (listener, *open_ones):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)  # ends a call that waits; the next one fails
            one.close()
        accepting.join()
        for thread in threads:
            thread.join()


def read_request(connection: socket.socket) -> bytes:
    """One request: its head and as much of a body as Content-Length says; empty at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        came = connection.recv(65536)
        if not came:
            return b""
        data += came
    head, _, body = data.partition(b"\r\n\r\n")
    at = head.lower().find(b"content-length:")
    length = int(head[at + 15 :].split(b"\r\n")[0]) if at >= 0 else 0
    while len(body) < length:
        came = connection.recv(65536)
        if not came:
            return b""
        body += came
    return head + b"\r\n\r\n" + body


def answer(body: bytes, status: str = "200 OK", *headers: str) -> bytes:
    """An answer with a Content-Length."""
    lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body
