"""A file server whose every answer takes the way there and back, for what is fetched by ranges.

    python tests/bench/far_hub.py FOLDER --latency-ms 200     prints its address

`FOLDER/OWNER/NAME/...` is served in ModelScope's form; there are no faults.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

Head = tuple[str, dict[str, str]]


def listed(folder: Path) -> bytes:
    """The list of a data set's files."""
    files = [
        {"Type": "blob", "Path": path.relative_to(folder).as_posix(), "Size": path.stat().st_size}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    return json.dumps({"Code": 200, "Success": True, "Data": {"Files": files}}).encode()


def answer(root: Path, target: str, headers: dict[str, str]) -> bytes:
    """The answer to one GET."""
    url = urlsplit(target)
    parts = url.path.strip("/").split("/")
    folder = root / "/".join(parts[3:5])
    if parts[-1] == "tree":
        body, first = listed(folder), None
        size = len(body)
    else:
        path = folder / parse_qs(url.query)["FilePath"][0]
        size, first = path.stat().st_size, 0
        asked = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        first, last = (int(asked[1]), int(asked[2] or size - 1)) if asked else (0, size - 1)
        with path.open("rb") as file:
            file.seek(first)
            body = file.read(last + 1 - first)
        first = first if asked else None
    status = "200 OK" if first is None else "206 Partial Content"
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", 'ETag: "v1"']
    if first is not None:
        lines.append(f"Content-Range: bytes {first}-{first + len(body) - 1}/{size}")
    return "\r\n".join([*lines, "", ""]).encode() + body


async def serve(root: Path, latency: float) -> None:
    """Serve until the process is ended."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                headers = dict(line.lower().split(": ", 1) for line in head[1:] if line)
                await asyncio.sleep(latency)
                writer.write(answer(root, head[0].split()[1], headers))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=256)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--latency-ms", type=float, default=200)
    options = parser.parse_args()
    asyncio.run(serve(options.folder, options.latency_ms / 1000))


if __name__ == "__main__":
    main()
