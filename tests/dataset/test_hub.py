"""Data from hubs: found, fetched once, resumed, checked, kept; every fault a right result or a
clear error, and the token with nobody but the hub."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, run_cli
from support.clocks import hurried
from support.hubs import bytes_of, hub, mock_hub, paths, serving, sha256
from support.server import (
    Request,
    Response,
    as_json,
    drop,
    half_body,
    html,
    raw,
    reply,
    serve,
    status,
)

from mmscore.benchmarks import BENCHMARKS
from mmscore.dataset import local_files
from mmscore.dataset.hub import cache, download
from mmscore.dataset.hub.cache import Cache, cache_folder
from mmscore.dataset.hub.download import Wanted
from mmscore.dataset.hub.hub_files import HubFiles, locate
from mmscore.dataset.hub.repository import find_repository
from mmscore.errors import ConfigError, DataError, HubError, StorageError
from mmscore.web import retry, session
from mmscore.web.errors import Target, WebError
from mmscore.web.session import Web

SAMPLES = ROOT / "data" / "samples"
IDS = BENCHMARKS["slake"].dataset.ids if BENCHMARKS["slake"].dataset else {}
DATA = bytes(range(256)) * 4000
TABLE = {"o/n": {"test.json": DATA, "sub dir/ü.json": b"[]"}}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between attempts are not what is tested here, save where a test says so."""
    monkeypatch.setattr(retry, "SYSTEM", hurried())


def files(data: str | None = "modelscope:o/n", **options: Any) -> HubFiles:
    found = locate(data, "slake", IDS, **options)
    assert isinstance(found, HubFiles)
    return found


def published() -> dict[str, dict[str, bytes]]:
    contents = {}
    for name, benchmark in BENCHMARKS.items():
        for place in benchmark.dataset.ids.values() if benchmark.dataset else ():
            contents[place] = bytes_of(SAMPLES / name)
    return contents


# Finding


@pytest.mark.parametrize("name", ["slake", "pmc_vqa", "count_qa"])
@pytest.mark.parametrize("where", ["default", "hf by option", "hf by variable", "id and revision"])
def test_a_run_finds_its_data_and_a_second_asks_the_hub_nothing(
    name: str, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {
        "hf by option": ["--data", "hf:"],
        "id and revision": ["--data", f"modelscope:{BENCHMARKS[name].dataset.modelscope}@v1.0"],  # type: ignore[union-attr]
    }.get(where, [])
    if where == "hf by variable":
        monkeypatch.setenv("MMSCORE_HUB", "hf")

    def run(out: str, *more: str) -> Any:
        ran = run_cli(
            "run", name, *options, "--model", "m", "--api-url", endpoint.url, "--out",
            str(tmp_path / out), "--progress", "none", *more,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        return json.loads((tmp_path / out / "run.json").read_text(encoding="utf-8"))

    with serve(reply("ANSWER: A 3")) as endpoint:
        with serving(monkeypatch, hub(published())) as server:
            first = run("first")
            assert server.requests
            asked = len(server.requests)
            run("second")
            assert len(server.requests) == asked
        third = run("third", "--offline")
        local = run_cli(
            "run", name, "--data", str(SAMPLES / name), "--model", "m", "--api-url", endpoint.url,
            "--out", str(tmp_path / "local"), "--progress", "none",
        )  # fmt: skip
    assert local.code == 0
    prints = [first, third, json.loads((tmp_path / "local" / "run.json").read_text())]
    assert len({one["fingerprints"]["data"] for one in prints}) == 1, "the same data, anywhere"
    revisions = {"id and revision": "Revision=v1.0"}
    if where in revisions:
        assert any(revisions[where] in request.path for request in server.requests)
    form = "/api/v1/" if where in ("default", "id and revision") else "/api/datasets/"
    assert any(path.startswith(form) for path in paths(server))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("hf:nobody", "names no data set"),
        ("modelscope:../up", "names no data set"),
        ("hf:a/b/c", "names no data set"),
        ("http://", "no URL with a host"),
        ("https://me:secret@host/data", "user name or password"),
    ],
)
def test_a_place_that_is_none_is_told(data: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        locate(data, "slake", IDS)
    assert "secret" not in caught.value.message


def test_an_unknown_hub_and_a_missing_path_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no data at"):
        locate("hub:a/b", "slake", IDS)
    with pytest.raises(DataError, match="needs its data"):
        locate(None, "general_vqa", {})
    monkeypatch.setenv("MMSCORE_HUB", "kaggle")
    with pytest.raises(ConfigError, match="MMSCORE_HUB is `kaggle`, expected one of modelscope"):
        locate(None, "slake", IDS)


@pytest.mark.parametrize(
    ("variables", "data", "url"),
    [
        ({}, "modelscope:o/n", "https://www.modelscope.cn/api/v1/datasets/o/n/repo?"),
        ({}, "hf:o/n@r/1", "https://huggingface.co/datasets/o/n/resolve/r%2F1/a%20b.json"),
        ({"MODELSCOPE_DOMAIN": "ms.example"}, "ms:o/n", "https://ms.example/api/v1/"),
        (
            {"MODELSCOPE_DOMAIN": "old", "MODELSCOPE_ENDPOINT": "http://new:1/"},
            "modelscope:o/n",
            "http://new:1/api/v1/",
        ),
        ({"HF_ENDPOINT": "https://mirror/x"}, "hf:o/n", "https://mirror/x/datasets/o/n/resolve/"),
        ({}, "https://host/folder?sig=1", "https://host/folder/a%20b.json?sig=1"),
    ],
)
def test_urls_are_those_of_the_hubs(
    variables: dict[str, str], data: str, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    repository = find_repository(data, IDS)
    assert repository is not None
    assert repository.target("a b.json").url.startswith(url)


def test_long_lists_come_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    many = {f"f{number:03}": b"" for number in range(450)}
    with serving(monkeypatch, hub({"o/n": many})) as server:
        assert len(files().entries()) == 450
        assert len(server.requests) == 3

    def pages(request: Request) -> Response:
        page = int(request.path.partition("cursor=")[2] or 0)
        link = f'<https://elsewhere.example/api?cursor={page + 1}>; rel="next"'
        item = {"type": "file", "path": f"f{page}", "size": 1}
        return as_json([item], headers={"Link": link} if page < 2 else {})

    with serving(monkeypatch, pages) as server:
        assert sorted(files("hf:o/n").entries()) == ["f0", "f1", "f2"]


# Refusals


@pytest.mark.parametrize(
    ("data", "variable"),
    [("modelscope:o/n", "MODELSCOPE_API_TOKEN"), ("hf:o/n", "HF_TOKEN")],
)
def test_the_token_opens_and_stays_with_the_hub(
    data: str, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch, hub(TABLE, token="T0k3n")) as server:
        with pytest.raises(WebError, match="401 Unauthorized") as caught:
            files(data).path("test.json")
        assert caught.value.hint is not None and f"set {variable}" in caught.value.hint
        monkeypatch.setenv(variable, "wrong")
        with pytest.raises(WebError) as caught:
            files(data).path("test.json")
        assert caught.value.hint is not None and f"token in {variable}" in caught.value.hint
        assert "wrong" not in str(caught.value) + caught.value.hint
        monkeypatch.setenv(variable, "T0k3n")
        assert files(data).path("test.json").read_bytes() == DATA
    strangers = [r for r in server.requests if r.path.startswith("/cdn/")]
    assert len(strangers) == (1 if data.startswith("hf") else 0)
    for request in strangers:
        assert "authorization" not in request.headers and "cookie" not in request.headers
    everything = b"".join(p.read_bytes() for p in cache_folder().rglob("*") if p.is_file())
    assert b"T0k3n" not in everything


def test_a_netrc_does_not_take_the_place_of_the_token(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone / ".netrc").write_text("machine 127.0.0.1 login me password hush\n", encoding="utf-8")
    (alone / ".netrc").chmod(0o600)
    monkeypatch.setenv("HF_TOKEN", "T")
    with serving(monkeypatch, hub(TABLE, token="T")) as server:
        assert files("hf:o/n").path("test.json").read_bytes() == DATA
    assert not any("Basic" in r.headers.get("authorization", "") for r in server.requests)


def test_proxies_are_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(monkeypatch, hub(TABLE)):
        assert files("hf:o/n").path("test.json").read_bytes() == DATA


@pytest.mark.parametrize(
    ("answer", "words", "hint"),
    [
        (status(404), "404 Not Found", "check the name `o/n`"),
        (raw(404, headers={"X-Error-Code": "RevisionNotFound"}), "404", "no revision `main`"),
        (raw(403, headers={"X-Error-Code": "GatedRepo"}), "403", "ask for access at https://hug"),
        (status(403), "403 Forbidden", "HF_TOKEN"),
        (html(), "is no JSON, it begins with", "something else than a hub"),
        (as_json({"error": "x"}), "has another form", "something else than this hub"),
        (as_json([]), "has no files", "check the name"),
        (raw(200, b"[]", {"Content-Encoding": "br"}), "packed as `br`", None),
        (status(500), "500 Internal Server Error", None),
        (status(429, retry_after=1), "429 Too Many Requests", "busy"),
        (drop(), "closed the connection", "check the network"),
        (half_body(as_json([{"type": "file", "path": "x" * 500}])), "ended|broke", None),
    ],
)
def test_what_a_hub_refuses_is_said_with_a_hint(
    answer: Response, words: str, hint: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch, lambda _: answer), pytest.raises(HubError, match=words) as caught:
        files("hf:o/n").path("test.json")
    if hint is not None:
        assert caught.value.hint is not None and hint in caught.value.hint
    assert caught.value.exit_code == 1


def test_modelscope_says_no_inside_a_200(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = as_json({"Code": 10010, "Success": False, "Message": "no such dataset"})
    with serving(monkeypatch, lambda _: answer), pytest.raises(HubError, match="no such dataset"):
        files().path("test.json")


def test_a_wrong_file_names_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, hub(TABLE)), pytest.raises(DataError) as caught:
        files().path("train.json")
    assert "no `train.json` in `o/n`" in caught.value.message
    assert "`test.json`" in caught.value.message


@pytest.mark.parametrize("name", ["../up", "/etc/passwd", "a/../../b", "a\\..\\b", ""])
def test_names_that_lead_out_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        serving(monkeypatch, hub({"o/n": {name: b"x"}})),
        pytest.raises(DataError, match="leads out"),
    ):
        files().path(name)


def test_offline_makes_no_request(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, hub(TABLE)) as server:
        with pytest.raises(HubError, match="--offline makes no request") as caught:
            files(offline=True).path("test.json")
        assert caught.value.hint is not None and "mmscore fetch" in caught.value.hint
        with pytest.raises(HubError, match="--offline"):
            files(offline=True).matching("*.json")
        assert not server.requests


# Downloads


def test_passing_faults_are_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "SYSTEM", hurried())
    faults = [drop(), status(503, retry_after=30), status(429), half_body(as_json([1] * 99))]
    good = hub(TABLE)
    count = 0

    def answer(request: Request) -> Response:
        nonlocal count
        count += 1
        return faults[count - 1] if count <= len(faults) else good(request)

    with serving(monkeypatch, answer):
        assert files().path("test.json").read_bytes() == DATA


def test_a_broken_download_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    good = hub(TABLE)
    broken = True

    def answer(request: Request) -> Response:
        response = good(request)
        if broken and "FilePath" in request.path:
            return half_body(response) if "range" not in request.headers else drop()
        return response

    notices: list[str] = []
    with serving(monkeypatch, answer) as server:
        with pytest.raises(WebError):
            files(notice=notices.append).path("test.json")
        (part,) = cache_folder().rglob("*.part")
        assert part.stat().st_size == len(DATA) // 2
        assert not list(cache_folder().rglob("test.json")), "nothing under the final name"
        broken = False
        assert files().path("test.json").read_bytes() == DATA
        assert server.requests[-1].headers["range"] == f"bytes={len(DATA) // 2}-"
        assert server.requests[-1].headers["if-range"] == '"v1"'
    assert not list(cache_folder().rglob("*.part*"))


def test_a_part_of_another_version_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    other = DATA[::-1]

    def first(request: Request) -> Response:
        response = hub({"o/n": {"test.json": other}}, etag='"old"')(request)
        if "FilePath" not in request.path:
            return hub(TABLE)(request)
        return half_body(response) if "range" not in request.headers else drop()

    with serving(monkeypatch, first), pytest.raises(WebError):
        files().path("test.json")
    with serving(monkeypatch, hub(TABLE)):
        assert files().path("test.json").read_bytes() == DATA


@pytest.mark.parametrize("fault", ["wrong_range", "short_range", "long_range"])
def test_a_server_that_resumes_wrongly_gives_no_wrong_bytes(
    fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = hub(TABLE, fault=fault)

    def answer(request: Request) -> Response:
        response = good(request)
        whole = "FilePath" in request.path and "range" not in request.headers
        return half_body(response) if whole and len(server.requests) < 3 else response

    with serving(monkeypatch, answer) as server:
        try:
            assert files().path("test.json").read_bytes() == DATA
        except HubError as error:
            assert "test.json" in error.message


def test_other_bytes_than_announced_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = {"o/n": {"test.json": DATA[:-1] + b"?"}}

    def answer(request: Request) -> Response:
        return hub(wrong if "FilePath" in request.path else TABLE)(request)

    with serving(monkeypatch, answer), pytest.raises(HubError, match="SHA-256") as caught:
        files().path("test.json")
    assert "twice" not in caught.value.message and caught.value.hint
    assert not list(cache_folder().rglob("test.json*[!k]"))


def test_hugging_face_tells_checksums_when_it_leads_to_the_storage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = hub(TABLE)

    def answer(request: Request) -> Response:
        if request.path.startswith("/cdn/"):
            return raw(200, b"x" * len(DATA))
        return good(request)

    with serving(monkeypatch, answer), pytest.raises(HubError, match="SHA-256"):
        files("hf:o/n").path("test.json")


def test_a_data_set_that_was_updated_is_listed_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, hub(TABLE)):
        files().entries()
    updated = {"o/n": {"test.json": b"new", "more.json": b"[]"}}
    with serving(monkeypatch, hub(updated)):
        assert files().path("test.json").read_bytes() == b"new"
    with serving(monkeypatch, hub({"o/n": {**updated["o/n"], "third.json": b"3"}})):
        assert files().matching("third*") == ["third.json"]


def test_two_threads_and_two_processes_fetch_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program = (
        "from mmscore.dataset.hub.hub_files import locate\n"
        "files = locate('modelscope:o/n', 'slake', {}, notice=print)\n"
        "assert len(files.path('test.json').read_bytes()) == 1024000\n"
    )
    slowly = hub(TABLE)

    def answer(request: Request) -> Response:
        response = slowly(request)
        if "FilePath" not in request.path:
            return response
        return Response(200, response.headers, tuple(_cut(response.body, 20)), gap=0.05)

    with serving(monkeypatch, answer) as server:
        command = [sys.executable, "-P", "-c", program]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        said = [process.communicate(timeout=60)[0] for process in running]
        assert [process.returncode for process in running] == [0, 0]
        assert sum("FilePath" in request.path for request in server.requests) == 1
    assert sum("another process is fetching" in words for words in said) == 1


def _cut(data: bytes, count: int) -> list[bytes]:
    size = len(data) // count
    return [data[at : at + size] for at in range(0, len(data), size)]


def test_a_full_disk_stops_with_the_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch, hub(TABLE)), monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: type("U", (), {"free": 1000})())
        with pytest.raises(StorageError, match="1024000 bytes are needed, 1000 are free") as caught:
            files().path("test.json")
        assert caught.value.hint is not None and "MMSCORE_CACHE" in caught.value.hint
    full = OSError(errno.ENOSPC, "No space left on device")

    class Full:
        def __init__(self, *_: object) -> None:
            raise full

    monkeypatch.setattr(download, "_write", Full)
    monkeypatch.setenv("MMSCORE_CACHE", str(tmp_path))
    with serving(monkeypatch, hub(TABLE)), pytest.raises(StorageError, match="no space left"):
        files().path("test.json")


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else False, reason="root may write")
def test_a_read_only_folder_by_its_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.chmod(0o500)
    _read_only_falls_back(tmp_path, monkeypatch)


def test_a_cache_that_cannot_be_written_falls_back_with_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMSCORE_CACHE", str(tmp_path))
    with serving(monkeypatch, hub(TABLE)):
        files().entries()
    monkeypatch.setattr(os, "access", lambda path, mode: str(tmp_path) not in str(path))
    _read_only_falls_back(tmp_path, monkeypatch)


def _read_only_falls_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MMSCORE_CACHE", str(folder))
    notices: list[str] = []
    with serving(monkeypatch, hub(TABLE)):
        path = files(notice=notices.append).path("test.json")
    assert path.read_bytes() == DATA and folder not in path.parents
    assert len(notices) == 1
    assert str(folder) in notices[0] and "MMSCORE_CACHE" in notices[0]


def test_progress_is_told_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, int, int | None]] = []
    with serving(monkeypatch, hub(TABLE)):
        files(progress=lambda *state: told.append(state)).path("test.json")
    assert told[-1] == ("`test.json`", len(DATA), len(DATA))
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_a_plain_url_serves_a_folder_and_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, hub(TABLE)) as server:
        folder = files(f"{server.url}/cdn/o/n/")
        assert folder.has("test.json") and not folder.has("other.json")
        assert folder.path("test.json").read_bytes() == DATA
        single = files(f"{server.url}/cdn/o/n/test.json")
        assert single.single == "test.json" and single.matching("data/*") == ["test.json"]
        assert single.path("test.json").read_bytes() == DATA
        with pytest.raises(WebError, match="404") as caught:
            folder.path("other.json")
        assert caught.value.hint == "check the URL given with --data"
        with pytest.raises(DataError, match="cannot list its files"):
            folder.matching("data/*.parquet")


def test_redirects_end_somewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    def circle(request: Request) -> Response:
        return raw(302, headers={"Location": request.path})

    with serve(circle) as server, pytest.raises(WebError, match="in a circle"):
        Web().json(Target(server.url, "the list"))
    elsewhere = raw(302, headers={"Location": "file:///etc/passwd"})
    with serve(elsewhere) as server, pytest.raises(WebError, match="leads to `file:"):
        Web().json(Target(server.url, "the list"))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://a/x", "https://a:443/y", True),
        ("http://a/x", "https://a/y", True),
        ("https://a/x", "http://a/y", False),
        ("https://a/x", "https://b/y", False),
        ("https://a/x", "https://a:444/y", False),
        ("http://a:1/x", "https://a:1/y", False),
        ("http://127.0.0.1:1/x", "http://localhost:1/y", False),
    ],
)
def test_who_may_see_the_token(one: str, other: str, same: bool) -> None:
    assert session.same_host(one, other) is same


# Every fault of the mock hub


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hub")
    for name, contents in published().items():
        for path, data in contents.items():
            target = folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    return folder


FAULTS = (
    "no-range", "cut:2000", "cut-once:1000", "etag-change:1", "etag-change:3", "short-range",
    "wrong-range", "status:503:2", "status:429:3", "slow:400000",
)  # fmt: skip
DEADLY = {
    "status:500:99": "500 Internal Server Error",
    "status:404:99": "404 Not Found",
    "token:T": "401 Unauthorized",
    "cut:1": "ended after 1 of",
}


@pytest.mark.parametrize("data", ["modelscope:", "hf:"])
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", ["pmc_vqa", "count_qa", "slake"])
def test_a_fault_ends_in_the_right_bytes(
    name: str, fault: str, data: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mock_hub(root, fault) as url:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", url)
        monkeypatch.setenv("HF_ENDPOINT", url)
        fetched = run_cli("fetch", name, "--data", data, "--progress", "none")
        assert fetched.code == 0, fetched.err
    checked = run_cli("check", name, "--data", data, "--offline", "--json")
    assert checked.code == 0, checked.out
    local = run_cli("check", name, "--data", str(SAMPLES / name), "--json")
    for key in ("counts", "media", "media_bytes", "problems"):
        assert json.loads(checked.out)[0][key] == json.loads(local.out)[0][key]


@pytest.mark.parametrize("fault", DEADLY)
def test_a_deadly_fault_is_one_clear_sentence(
    fault: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mock_hub(root, fault) as url:
        monkeypatch.setenv("MODELSCOPE_ENDPOINT", url)
        fetched = run_cli("fetch", "pmc_vqa", "--progress", "none")
    assert fetched.code == 1 and not fetched.out
    assert re.search(f"^mmscore: error: .*({DEADLY[fault]})", fetched.err, re.MULTILINE)
    assert "Traceback" not in fetched.err and "IncompleteRead" not in fetched.err


# Commands


def test_fetch_says_what_is_needed_and_new(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, hub(published())):
        dry = json.loads(run_cli("fetch", "pmc_vqa", "--dry-run", "--json").out)[0]["needs"]
        assert dry[1]["members"] == [3, 4] and dry[1]["new"] == dry[1]["bytes"] > 0
        some = run_cli("fetch", "pmc_vqa", "--limit", "2")
        assert some.code == 0 and "1 of 4 members" in some.out
        full = run_cli("fetch", "pmc_vqa")
        assert "3 of 4 members" in full.out
        again = json.loads(run_cli("fetch", "pmc_vqa", "--json").out)[0]["needs"]
        assert [need["new"] for need in again] == [0, 0]
        assert all(Path(need["place"]).exists() for need in again)
        whole = run_cli("fetch", "pmc_vqa", "--whole")
        assert whole.code == 0
    assert list(cache_folder().rglob("files/images.zip"))
    assert run_cli("fetch", "pmc_vqa", "--offline").code == 0


def test_fetch_of_local_data_fetches_nothing() -> None:
    ran = run_cli("fetch", "pmc_vqa", "--data", str(SAMPLES / "pmc_vqa"))
    assert ran.code == 0 and "fetched: 0 bytes" in ran.out


def test_the_cache_is_shown_and_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, hub(published())):
        for arguments in (["slake"], ["count_qa"], ["count_qa", "--data", "hf:"]):
            assert run_cli("fetch", *arguments).code == 0
    shown = run_cli("cache").out
    assert "modelscope:evalscope/SLAKE" in shown and "hf:Jayant-Sravan/CountQA" in shown
    assert "cached]" in run_cli("list").out
    wrong = run_cli("cache", "--clean", "nothing")
    assert wrong.code == 1 and "`modelscope:evalscope/SLAKE`" in wrong.err
    run_cli("cache", "--clean", "count_qa")
    left = json.loads(run_cli("cache", "--json").out)
    assert [one["source"] for one in left] == ["modelscope:evalscope/SLAKE"]
    assert "freed" in run_cli("cache", "--clean").out
    assert json.loads(run_cli("cache", "--json").out) == []
    assert "cached]" not in run_cli("list").out


def test_the_cache_stands_where_the_platform_puts_caches(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MMSCORE_CACHE")
    if sys.platform.startswith("linux"):
        assert cache_folder() == alone / "mmscore"
        monkeypatch.delenv("XDG_CACHE_HOME")
        assert cache_folder() == alone / ".cache" / "mmscore"
    monkeypatch.setenv("MMSCORE_CACHE", "~/here")
    assert cache_folder() == alone / "here"


def test_nothing_is_written_for_a_lock_that_another_holds(tmp_path: Path) -> None:
    target = Target("http://127.0.0.1:9/x", "`x`")
    path = tmp_path / "x"
    waited = threading.Event()
    path.write_bytes(b"whole")
    with cache.only_writer(path, lambda: None):
        other = threading.Thread(
            target=download.download, args=(Web(), Wanted(target), path, lambda _: waited.set())
        )
        other.start()
        assert waited.wait(5)
    other.join(5)
    assert path.read_bytes() == b"whole"


def test_digests_are_those_of_hashlib(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(DATA)
    assert local_files.file_digest(tmp_path / "x") == sha256(DATA)
    assert Cache(tmp_path).find("x") == tmp_path / "x" and Cache(tmp_path).find("y") is None
    found: Callable[..., Path | None] = Cache(tmp_path).find
    assert found("") is None
