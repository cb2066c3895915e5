"""The fixtures keep their promise: no test sees this machine's settings or leaves it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import read_golden
from support.server import reply, serve


def test_a_test_sees_no_settings_of_this_machine(alone: Path) -> None:
    assert Path.home() == alone
    assert os.environ["MMSCORE_CACHE"].startswith(str(alone))
    assert not [name for name in os.environ if "proxy" in name.lower() or name == "OPENAI_API_KEY"]


@pytest.mark.parametrize("host", ["192.0.2.1", "endpoint.invalid", "2001:db8::1", "10.1.2.3"])
def test_an_attempt_to_leave_the_machine_is_refused_and_remembered(
    host: str, outside: list[str]
) -> None:
    with pytest.raises(OSError, match="may not reach"):
        socket.create_connection((host, 80), timeout=1)
    assert outside == [host]
    outside.clear()


def test_a_bare_socket_cannot_leave_either(outside: list[str]) -> None:
    with socket.socket() as bare, pytest.raises(OSError, match="may not reach"):
        bare.connect_ex(("192.0.2.1", 80))
    assert outside == ["192.0.2.1"]
    outside.clear()


def test_loopback_is_open_by_each_of_its_names(outside: list[str]) -> None:
    with serve(reply("x")) as server:
        port = int(server.url.rpartition(":")[2])
        for host in ("127.0.0.1", "localhost"):
            socket.create_connection((host, port), timeout=1).close()
    assert outside == []


def test_golden_records_end_in_a_line_feed_alone(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    row = '{"in": {"text": "a\u2028b\u0085c"}, "out": {"__bytes_b64__": "/w=="}}\n'
    file.write_text(row + '{"in": {"__json_ascii__": "\\"\\\\ud83d\\""}, "out": 1}\n', "utf-8")
    first, second = read_golden(file)
    assert first == {"in": {"text": "a\u2028b\u0085c"}, "out": b"\xff"}
    assert second["in"] == "\ud83d"


def test_the_golden_files_are_read_whole(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    assert len(golden("slake_normalize")) == 7564
    assert len(golden("word_tokenize")) == 2129
