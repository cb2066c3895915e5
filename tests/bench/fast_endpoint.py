"""An endpoint that costs next to nothing, so that what is measured is who asks it.

    python tests/bench/fast_endpoint.py [--latency-ms 200]     prints its address

It counts the bytes of each body, looks at none of them, and gives every request the same answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource

CONTENT = "Looking at the scan.\nANSWER: Yes"
BODY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "m",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": CONTENT},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 900, "completion_tokens": 9, "total_tokens": 909},
    }
).encode()
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(BODY)
) + BODY


class Connection(asyncio.BufferedProtocol):
    """One connection: heads are read, bodies are counted."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._buffer = bytearray(256 * 1024)
        self._head = b""
        self._left = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return memoryview(self._buffer)

    def buffer_updated(self, count: int) -> None:
        start = 0
        while start < count:
            if self._left:
                taken = min(self._left, count - start)
                self._left -= taken
                start += taken
            else:
                start = self._read_head(start, count)
            if not self._left and not self._head:
                self._answer()

    def _read_head(self, start: int, count: int) -> int:
        self._head += self._buffer[start:count]
        end = self._head.find(b"\r\n\r\n")
        if end < 0:
            return count
        head = self._head[:end].lower()
        behind = len(self._head) - end - 4
        self._head = b""
        at = head.find(b"content-length:")
        self._left = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        return count - behind

    def _answer(self) -> None:
        if self._latency:
            asyncio.get_running_loop().call_later(self._latency, self._transport.write, ANSWER)
        else:
            self._transport.write(ANSWER)


async def serve(port: int, latency: float) -> None:
    """Serve until the process is ended."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(latency), "127.0.0.1", port, backlog=2048)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0)
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve(options.port, options.latency_ms / 1000))


if __name__ == "__main__":
    main()
