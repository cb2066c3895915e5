"""Hubs on loopback, in the forms of the real ones, as scripts of `server.serve`."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from support import SHARED
from support.server import Request, Response, Server, as_json, file, redirect, serve, status

Contents = Mapping[str, Mapping[str, bytes]]
"""Data set id -> path -> bytes."""


def hub(
    contents: Contents,
    *,
    token: str | None = None,
    listing: Callable[[list[dict[str, Any]]], list[dict[str, Any]]] = lambda files: files,
    **options: Any,
) -> Callable[[Request], Response]:
    """Both hubs at one address; `options` are those of `server.file`.

    Hugging Face's form leads to `/cdn/...` at another host name, as the real one leads to a
    storage. `listing` may change what the list calls tell.
    """

    def answer(request: Request) -> Response:
        url = urlsplit(request.path)
        parts = [unquote(part) for part in url.path.strip("/").split("/")]
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        match parts:
            case ["cdn", owner, name, *path]:
                return _file(contents, f"{owner}/{name}", "/".join(path), request, options)
        if token is not None and request.headers.get("authorization") != f"Bearer {token}":
            return status(401)
        match parts:
            case ["api", "v1", "datasets", owner, name, "repo"]:
                return _file(contents, f"{owner}/{name}", query["FilePath"], request, options)
            case ["api", "v1", "datasets", owner, name, "repo", "tree"]:
                return _modelscope_list(contents.get(f"{owner}/{name}"), query, listing)
            case ["api", "datasets", owner, name, "tree", _]:
                return _huggingface_list(contents.get(f"{owner}/{name}"), listing)
            case ["datasets", owner, name, "resolve", _, *path]:
                return _resolve(contents, f"{owner}/{name}", "/".join(path), request)
        return status(404)

    return answer


def _file(
    contents: Contents, repository: str, path: str, request: Request, options: Mapping[str, Any]
) -> Response:
    data = contents.get(repository, {}).get(path)
    return status(404) if data is None else file(data, request, **options)


def _modelscope_list(
    files: Mapping[str, bytes] | None, query: Mapping[str, str], change: Any
) -> Response:
    if files is None:
        return status(404)
    items = [
        {"Type": "blob", "Path": path, "Size": len(data), "Sha256": sha256(data)}
        for path, data in files.items()
    ]
    size, number = int(query["PageSize"]), int(query["PageNumber"])
    page = change(items)[size * (number - 1) : size * number]
    return as_json({"Code": 200, "Success": True, "Data": {"Files": page}})


def _huggingface_list(files: Mapping[str, bytes] | None, change: Any) -> Response:
    if files is None:
        return status(404)
    items = [{"type": "file", "path": path, "size": len(data)} for path, data in files.items()]
    return as_json(change([{"type": "directory", "path": "data"}, *items]))


def _resolve(contents: Contents, repository: str, path: str, request: Request) -> Response:
    data = contents.get(repository, {}).get(path)
    if data is None:
        return status(404)
    port = request.headers["host"].rpartition(":")[2]
    leads = redirect(f"http://localhost:{port}/cdn/{repository}/{path}")
    told = (("X-Linked-Size", str(len(data))), ("X-Linked-Etag", f'"{sha256(data)}"'))
    return Response(302, (*leads.headers, *told), leads.pieces)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def serving(
    monkeypatch: pytest.MonkeyPatch, script: Callable[[Request], Response]
) -> Iterator[Server]:
    """A hub that both hubs' variables name."""
    with serve(script) as server:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", server.url)
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@contextlib.contextmanager
def mock_hub(root: Path, *faults: str) -> Iterator[str]:
    """The mock hub of the shared folder, with faults; its URL."""
    tool = SHARED / "tools" / "mock_hub.py"
    if not tool.is_file():
        pytest.skip(f"no mock hub at {tool}; MMSCORE_SHARED names its folder")
    asked = [part for fault in faults for part in ("--fault", fault)]
    process = subprocess.Popen(
        [sys.executable, str(tool), str(root), "--port", "0", *asked],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def paths(server: Server) -> list[str]:
    """What was asked for, without queries."""
    return [urlsplit(request.path).path for request in server.requests]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The files below a folder by their path."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
