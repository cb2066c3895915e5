"""The demo's data set is whole and its endpoint answers each of its questions over real HTTP."""

from __future__ import annotations

import base64
import http.client
import io
import json
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from http.server import HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from PIL import Image
from support import run_cli, run_script

from mmscore.cli.demo import MODEL, Endpoint, demo_task, draw
from mmscore.errors import StorageError


def load(folder: Path) -> list[tuple[dict[str, Any], bytes]]:
    """Each row with its image."""
    draw(folder)
    rows = json.loads((folder / "test.json").read_text(encoding="utf-8"))
    with zipfile.ZipFile(folder / "imgs.zip") as archive:
        assert archive.testzip() is None
        return [(row, archive.read("imgs/" + row["img_name"])) for row in rows]


def ask(connection: http.client.HTTPConnection, question: str, image: bytes) -> tuple[int, Any]:
    url = "data:image/png;base64," + base64.b64encode(image).decode()
    content = [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "text", "text": question + "\nAnswer the question with a single word."},
    ]
    body = json.dumps({"model": MODEL, "messages": [{"role": "user", "content": content}]})
    connection.request("POST", "/v1/chat/completions", body)
    with connection.getresponse() as response:
        return response.status, json.load(response)


def test_the_data_set_has_all_subsets_and_pictures_that_decode(tmp_path: Path) -> None:
    rows = load(tmp_path / "new" / "folder")
    subsets = Counter((row["q_lang"], row["answer_type"]) for row, _ in rows)
    assert set(subsets.values()) == {6}
    assert len(subsets) == 4
    assert len({row["qid"] for row, _ in rows}) == 24
    assert len({image for _, image in rows}) == 6
    for _, image in rows:
        picture = Image.open(io.BytesIO(image))
        picture.load()
        assert (picture.format, picture.size) == ("PNG", (256, 256))
        assert len(set(picture.tobytes())) > 4, "something is drawn"


def test_the_data_set_is_the_same_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        draw(tmp_path / name)
    for file in ("test.json", "imgs.zip"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"cannot write the demo's data to `.*file/data`"):
        draw(tmp_path / "file" / "data")


def test_each_question_is_answered_and_the_odd_replies_are_there(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    with Endpoint() as endpoint:
        connection = http.client.HTTPConnection(urlsplit(endpoint.url).netloc, timeout=5)
        for row, image in load(tmp_path):
            status, value = ask(connection, row["question"], image)
            if status == 503:
                seen["busy"] += 1
                status, value = ask(connection, row["question"], image)
            assert status == 200, value
            choice = value["choices"][0]
            text = choice["message"]["content"]
            seen["truncated"] += choice["finish_reason"] == "length"
            seen["refused"] += "refusal" in choice["message"]
            seen["empty"] += text == ""
            seen["no line"] += bool(text) and "ANSWER:" not in text
            seen["right"] += text == f"ANSWER: {row['answer']}"
            assert value["usage"]["total_tokens"] > 0
        connection.close()
    assert seen == {
        "busy": 1,
        "truncated": 1,
        "refused": 1,
        "empty": 1,
        "no line": 3,
        "right": 12,
    }


def test_the_endpoint_looks_at_the_picture_and_lists_its_model(tmp_path: Path) -> None:
    (first, _), *_, (_, other_image) = load(tmp_path)
    with Endpoint() as endpoint:
        connection = http.client.HTTPConnection(urlsplit(endpoint.url).netloc, timeout=5)
        status, value = ask(connection, first["question"], other_image)
        assert (status, "own questions" in value["error"]["message"]) == (400, True)
        for body in ("", "[]", '{"messages": []}', '{"messages": [{"content": "hello"}]}'):
            connection.request("POST", "/v1/chat/completions", body)
            with connection.getresponse() as response:
                assert response.status == 400
                response.read()
        connection.request("GET", "/v1/models")
        with connection.getresponse() as response:
            assert json.load(response)["data"][0]["id"] == MODEL
        connection.close()


def test_two_endpoints_share_nothing(tmp_path: Path) -> None:
    with Endpoint() as one, Endpoint() as two:
        assert one.url != two.url
    with pytest.raises(ConnectionRefusedError):
        http.client.HTTPConnection(urlsplit(one.url).netloc, timeout=5).connect()


def test_the_task_names_the_data_and_the_endpoint() -> None:
    task = demo_task(Path("data"), "http://127.0.0.1:1/v1", Path("run"))
    assert task["dataset_args"] == {"slake": {"local_path": "data"}}
    assert (task["model"], task["out"]) == (MODEL, "run")
    assert "out" not in demo_task(Path("data"), "http://127.0.0.1:1/v1")


def test_the_command_runs_the_whole_job_and_reports_what_the_replies_deserve(
    tmp_path: Path,
) -> None:
    ran = run_cli("demo", "--out", str(tmp_path))
    assert ran.code == 0, ran.err
    report = json.loads((tmp_path / "run" / "report.json").read_text(encoding="utf-8"))
    assert report["overall"] == {"accuracy": pytest.approx(17 / 24)}
    by_subset = {row["subset"]: row["score"] for row in report["scores"]}
    assert by_subset["zh_closed"] == pytest.approx(5 / 6)
    counts = {name: count for name, count in report["status"].items() if count}
    assert counts == {"ok": 21, "no_answer": 1, "truncated": 1, "refused": 1}
    assert "OVERALL" in ran.out
    assert "70.8%" in ran.out


def test_the_installed_script_needs_nothing_but_an_empty_folder(tmp_path: Path) -> None:
    ran = run_script("demo", cwd=tmp_path)
    assert ran.code == 0, ran.err
    assert "70.8%" in ran.out
    assert str(tmp_path) not in ran.out, "stdout is the report alone"
    assert [path.name for path in tmp_path.iterdir()] == ["outputs"]


def test_importing_the_demo_imports_no_server_and_no_imaging() -> None:
    watched = "{'http.server', 'http.client', 'zipfile', 'PIL', 'requests'}"
    code = f"import sys, mmscore.cli.demo; print(sorted({watched} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, check=True, text=True
    )
    assert done.stdout == "[]\n"


def test_the_demo_needs_no_temporary_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object, **__: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "mkdtemp", none)
    monkeypatch.chdir(tmp_path)
    kept = run_cli("demo", "--out", str(tmp_path / "volume"))
    assert kept.code == 0, kept.err
    assert (tmp_path / "volume" / "data" / "test.json").exists()
    beside = run_cli("demo")
    assert beside.code == 0, beside.err
    (tmp_path / "outputs").rename(tmp_path / "moved")
    (tmp_path / "outputs").write_text("a file in the way")
    nowhere = run_cli("demo")
    assert nowhere.code == 1 and "hint: name a folder that can" in nowhere.err


def test_the_demo_runs_where_only_ipv6_has_a_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind = HTTPServer.server_bind

    def without_version4(self: HTTPServer) -> None:
        if self.address_family == socket.AF_INET:
            raise OSError(99, "Cannot assign requested address")
        bind(self)

    monkeypatch.setattr(HTTPServer, "server_bind", without_version4)
    if not _has_version6():
        pytest.skip("this machine has no IPv6 loopback to listen on")
    ran = run_cli("demo", "--out", str(tmp_path / "out"))
    assert ran.code == 0, ran.err


def _has_version6() -> bool:
    with socket.socket(socket.AF_INET6) as one:
        try:
            one.bind(("::1", 0))
        except OSError:
            return False
    return True
