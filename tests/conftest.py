"""Every test runs alone: its own home and cache, no settings of this machine, no network."""

from __future__ import annotations

import ipaddress
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from support import SHARED, read_golden

from mmscore.cli import demo

pytest_plugins = ["support.browser_fixtures"]

# By hand each run looks elsewhere; the verdict of a change must not depend on luck.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("random", deadline=None)
settings.load_profile("fixed" if os.environ.get("CI") else "random")

FOREIGN_PREFIXES = ("MMSCORE_", "OPENAI_", "MODELSCOPE_", "HF_")
FOREIGN = {
    *("http_proxy", "https_proxy", "all_proxy", "no_proxy", "no_color", "force_color", "term"),
    *("requests_ca_bundle", "curl_ca_bundle", "ssl_cert_file", "ssl_cert_dir"),
}


@pytest.fixture(autouse=True)
def alone(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Hides this machine's settings; returns the folder that stands in for the home."""
    for name in list(os.environ):
        if name.upper().startswith(FOREIGN_PREFIXES) or name.lower() in FOREIGN:
            monkeypatch.delenv(name)
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("MMSCORE_CACHE", str(home / "cache"))
    monkeypatch.setenv("COLUMNS", "80")  # argparse wraps to it
    return home


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Refuses every connection that leaves the machine, and fails the test that tried one.

    The refusal itself is an OSError, which code may well swallow or retry; so the attempts are
    kept and looked at when the test is over. Child processes are not watched.
    """
    attempts: list[str] = []
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    getaddrinfo = socket.getaddrinfo

    def check(host: object) -> None:
        if not _is_loopback(host):
            attempts.append(str(host))
            raise OSError(f"tests may not reach {host}")

    def guarded_connect(self: socket.socket, address: Any) -> None:
        check(_host(self, address))
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        check(_host(self, address))
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
        check(host)
        return getaddrinfo(host, *args, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)
    yield attempts
    if attempts:
        pytest.fail(f"the test tried to leave the machine: {', '.join(attempts)}")


def _host(connection: socket.socket, address: Any) -> object:
    inet = connection.family in (socket.AF_INET, socket.AF_INET6)
    return address[0] if inet else "localhost"


def _is_loopback(host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in (None, "", "localhost"):
        return True
    try:
        address = ipaddress.ip_address(str(name))
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The drawn sample set of `mmscore demo` in a folder of its own."""
    folder = tmp_path / "SLAKE"
    demo.draw(folder)
    return folder


@pytest.fixture
def answers(data: Path) -> dict[str, str]:
    """Question -> reference of the drawn set."""
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    return {row["question"]: row["answer"] for row in rows}


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data sets and golden files."""
    if not SHARED.is_dir():
        pytest.skip(f"no real data at {SHARED}; MMSCORE_SHARED names their folder")
    return SHARED


@pytest.fixture(scope="session")
def golden(shared: Path) -> Callable[[str], list[dict[str, Any]]]:
    """A function from a golden file's name to all its rows."""

    def read(name: str) -> list[dict[str, Any]]:
        rows = list(read_golden(shared / "golden" / f"{name}.jsonl"))
        assert rows, f"golden/{name}.jsonl is empty"
        return rows

    return read
