"""A run's folder from a stranger: no code of it runs, no key leaves, nothing outside it changes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import Ran, run_cli
from support.server import Request, Response, reply, serve

from mmscore.cli import demo
from mmscore.errors import StorageError
from mmscore.store.journal import AppendFile

VERDICT = '{"reasoning": "", "verdict": "A"}'
KEY = "sk-secret"
NAMES = ("run.json", "predictions.jsonl", "scores.jsonl", "judgements.jsonl", "replaced.jsonl")
REPORTS = ("report.json", "report.csv", "report.html")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the drawn set."""
    place = tmp_path_factory.mktemp("finished")
    demo.draw(place / "data")
    rows = json.loads((place / "data" / "test.json").read_text(encoding="utf-8"))
    answers = {row["question"]: row["answer"] for row in rows}
    with serve(lambda request: reply(answers[request.prompt.splitlines()[0]])) as server:
        ran = run_cli(
            "run", "slake", "--data", str(place / "data"), "--api-url", server.url, "--model",
            "m", "--out", str(place / "run"), "--progress", "none",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    return place / "run"


@pytest.fixture
def folder(finished: Path, tmp_path: Path) -> Path:
    """That run, as it came from a stranger."""
    return shutil.copytree(finished, tmp_path / "stranger")


def change(folder: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "run.json"
    info = json.loads(path.read_text(encoding="utf-8"))
    edit(info)
    path.write_text(json.dumps(info), encoding="utf-8")


def commands(folder: Path, tmp_path: Path) -> dict[str, tuple[str, ...]]:
    name = str(folder)
    return {
        "report": ("report", name),
        "score": ("score", name),
        "resume": ("run", "--resume", name, "--progress", "none"),
        "compare": ("compare", name, name),
        "merge": ("merge", name, "--out", str(tmp_path / "merged")),
    }


# --- code ----------------------------------------------------------------------------------------

EVIL = """
import pathlib
pathlib.Path(__file__).with_name("ran").touch()
"""


@pytest.mark.parametrize("command", ["report", "score", "resume", "compare", "merge"])
@pytest.mark.parametrize("where", ["file", "name", "inside"])
def test_no_command_runs_the_code_that_a_folder_names(
    folder: Path, tmp_path: Path, command: str, where: str
) -> None:
    evil = (folder if where == "inside" else tmp_path) / "evil.py"
    evil.write_text(EVIL, encoding="utf-8")
    sha256 = hashlib.sha256(evil.read_bytes()).hexdigest()
    named = {"name": str(evil)} if where == "name" else {"file": str(evil), "file_sha256": sha256}
    change(folder, lambda info: info["benchmark"].update(named))
    ran = run_cli(*commands(folder, tmp_path)[command])
    assert not evil.with_name("ran").exists()
    if command in ("score", "resume"):
        assert ran.code == 1 and "evil.py" in ran.err


OWN = """
from mmscore.benchmarks.own_class import Benchmark
print("this is loaded", flush=True)
def load(files):
    return [{"id": "a", "question": "q", "answer": "x"}]
def prompt(row):
    return row["question"]
def score(answer, sample):
    print("this is scored")
    return answer == sample.target
BENCHMARK = Benchmark(name="mine", load=load, prompt=prompt, score=score)
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run, in `out`, of a benchmark of one's own, whose file is returned."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(OWN, encoding="utf-8")
    with serve(reply("x")) as server:
        ran = run_cli(
            "run", str(file), "--api-url", server.url, "--model", "m", "--out", "out", "--json"
        )
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)["num"] == 1, "what the file prints is no data"
    return file


def test_a_file_of_ones_own_counts_where_one_stands_and_as_it_was(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = str(tmp_path / "out")
    assert run_cli("score", out, "--json").code == 0
    own.write_text(OWN + "\n# changed\n", encoding="utf-8")
    changed = run_cli("score", out)
    assert changed.code == 1 and "it has changed since" in changed.err
    assert run_cli("score", out, "--benchmark", str(own)).code == 0
    assert run_cli("score", out).code == 0, "scored by the changed file, it is known again"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    away = run_cli("score", out)
    assert away.code == 1 and f"--benchmark {own}" in away.err
    with serve(reply("x")) as server:
        resumed = run_cli("run", str(own), "--resume", out, "--api-url", server.url, "--json")
    assert resumed.code == 0 and json.loads(resumed.out)["num"] == 1


def test_a_file_of_ones_own_is_run_once_a_process(own: Path, tmp_path: Path) -> None:
    own.write_text(OWN.replace("this is loaded", "once more"), encoding="utf-8")
    with serve(reply("x")) as server:
        ran = run_cli(
            "run", str(own), "--api-url", server.url, "--model", "m", "--out",
            str(tmp_path / "again"), "--progress", "none",
        )  # fmt: skip
    assert ran.code == 0 and ran.err.count("once more") == 1


# --- keys and places -----------------------------------------------------------------------------


def resume(folder: Path, *more: str, **env: str) -> Ran:
    return run_cli("run", "--resume", str(folder), "--progress", "none", *more, env=env)


def asked_again(folder: Path) -> None:
    """Let the folder's run have nothing, so that resuming it asks."""
    for name in ("predictions.jsonl", "scores.jsonl"):
        (folder / name).write_bytes(b"")


@pytest.mark.parametrize(
    ("given", "env", "sent", "words"),
    [
        ((), {}, True, ""),  # an address on this machine, and no key to go with it
        ((), {"MMSCORE_API_KEY": KEY}, False, "only the run's folder"),
        ((), {"OPENAI_API_KEY": KEY}, False, "only the run's folder"),
        (("--api-key", KEY), {}, False, "only the run's folder"),
        ((), {"MMSCORE_API_URL": "http://127.0.0.1:1/v1"}, False, "the environment names"),
        (("--api-url", "{here}"), {"MMSCORE_API_KEY": KEY}, True, ""),
        ((), {"MMSCORE_API_KEY": KEY, "MMSCORE_API_URL": "{here}"}, True, ""),
    ],
)
def test_only_who_goes_on_with_a_run_names_where_a_key_goes(
    folder: Path, given: tuple[str, ...], env: dict[str, str], sent: bool, words: str
) -> None:
    asked_again(folder)
    with serve(reply("ANSWER: yes")) as server:

        def recorded(info: dict[str, Any]) -> None:
            info["config"]["api_url"] = server.url
            info["endpoint"] = server.url.removeprefix("http://")

        change(folder, recorded)
        flags = [text.format(here=server.url) for text in given]
        ran = resume(folder, *flags, **{k: v.format(here=server.url) for k, v in env.items()})
        assert bool(server.requests) is sent, ran.err
        assert words in ran.err
        if not sent:
            assert ran.code == 1 and "--api-url" in ran.err


@pytest.mark.parametrize("place", ["https://evil.example/v1", "http://10.0.0.1:8000"])
def test_a_place_that_only_the_folder_names_is_never_asked(folder: Path, place: str) -> None:
    asked_again(folder)
    change(folder, lambda info: info["config"].update(api_url=place))
    ran = resume(folder)
    assert ran.code == 1 and f"--api-url {place}" in ran.err


def test_no_variable_that_a_folder_names_is_read(folder: Path) -> None:
    asked_again(folder)
    options = {"extra_headers": {"X-Key": "$MY_KEY"}, "temperature": 0.5}
    change(folder, lambda info: info["config"].update(api_key="$MY_KEY", generation_config=options))
    with serve(reply("ANSWER: yes")) as server:
        ran = resume(folder, "--api-url", server.url, MY_KEY=KEY)
        assert ran.code == 0, ran.err
        for request in server.requests:
            assert KEY not in json.dumps(dict(request.headers)) + json.dumps(request.json)
            assert "$MY_KEY" not in json.dumps(request.json)
            assert request.json["temperature"] == 0.5


def judge_of(url: str) -> dict[str, Any]:
    models = [{"model_id": "j", "judge_id": "j", "api_url": url, "api_key": "$MY_KEY"}]
    return {"strategy": "llm", "models": models}


@pytest.mark.parametrize(
    ("given", "env", "sent"),
    [
        (("--judge-strategy", "llm"), {}, True),
        (("--judge-strategy", "llm"), {"MMSCORE_JUDGE_API_KEY": KEY}, False),
        (("--judge-strategy", "llm", "--judge-api-key", KEY), {}, False),
        (("--judge-strategy", "llm"), {"MMSCORE_JUDGE_API_URL": "http://127.0.0.1:1"}, False),
        (("--judge-api-url", "{here}"), {"MMSCORE_JUDGE_API_KEY": KEY}, True),
        ((), {"MMSCORE_JUDGE_API_KEY": KEY}, None),
    ],
)
@pytest.mark.parametrize("command", ["score", "resume"])
def test_only_who_judges_again_names_where_a_key_goes(
    folder: Path, command: str, given: tuple[str, ...], env: dict[str, str], sent: bool | None
) -> None:
    with serve(reply(VERDICT)) as judge:
        change(folder, lambda info: info["config"].update(judge=judge_of(judge.url)))
        words = ["--resume", str(folder), "--progress", "none", "--api-url", "http://127.0.0.1:1"]
        start = ["score", str(folder)] if command == "score" else ["run", *words]
        flags = [text.format(here=judge.url) for text in given]
        ran = run_cli(*start, *flags, env={"MY_KEY": "sk-other", **env})
        heads = [request.headers.get("authorization") for request in judge.requests]
        assert "Bearer sk-other" not in heads
        if sent is None:  # no flag of a judge: `score` asks nobody, `resume` is told
            assert not judge.requests and ran.code == (3 if command == "score" else 1)
        else:
            assert bool(judge.requests) is sent, ran.err
            assert sent or (ran.code == 1 and "--judge-api-url" in ran.err)


def test_more_of_this_machine_is_opened_by_the_command_line_alone(folder: Path) -> None:
    change(folder, lambda info: info["config"].update(media_root="/"))
    ran = resume(folder, "--api-url", "http://127.0.0.1:1")
    assert ran.code == 1 and "--media-root /" in ran.err


# --- links ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "command"),
    [
        *((name, "link", "score") for name in (*NAMES, *REPORTS)),
        *(("scores.jsonl", kind, "score") for kind in ("dangling", "pipe", "folder")),
        *(("predictions.jsonl", "link", command) for command in ("report", "resume", "merge")),
        *(("report.html", kind, "report") for kind in ("link", "dangling")),
    ],
)
def test_a_folder_with_a_link_in_it_is_refused(
    folder: Path, tmp_path: Path, name: str, kind: str, command: str
) -> None:
    target = tmp_path / "id_ed25519"
    if kind != "dangling":
        target.write_bytes(b"-----BEGIN KEY-----\nsecret without an end")
    before = target.read_bytes() if kind != "dangling" else None
    (folder / name).unlink(missing_ok=True)
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "folder":
        (folder / name).mkdir()
    else:
        (folder / name).symlink_to(target)
    ran = run_cli(*commands(folder, tmp_path)[command])
    assert ran.code == 1 and name in ran.err and "holds files of its own" in ran.err
    assert target.exists() == (before is not None)
    assert before is None or target.read_bytes() == before


def test_a_new_run_writes_through_no_link(data: Path, tmp_path: Path) -> None:
    out, target = tmp_path / "out", tmp_path / "precious"
    out.mkdir()
    (out / "scores.jsonl").symlink_to(target)
    ran = run_cli("run", "slake", "--data", str(data), "--api-url", "http://127.0.0.1:1",
                  "--model", "m", "--out", str(out))  # fmt: skip
    assert ran.code == 1 and "is a link" in ran.err
    assert not target.exists()


@pytest.mark.parametrize(
    ("content", "cut"),
    [
        (b'{"id":"a"}\n{"id":"b', True),
        (b'{"id":"a"}\n{', True),
        (b'{"id":"a"}\n\0\0\0\0', True),
        (b"-----BEGIN KEY-----\nsecret", False),
        (b"secret", False),
        (b'{\n  "auths": {}\n}', False),
        (b'{"auths": {}}', False),
    ],
)
def test_only_a_torn_record_is_cut_off(tmp_path: Path, content: bytes, cut: bool) -> None:
    path = tmp_path / "predictions.jsonl"
    path.write_bytes(content)
    if cut:
        with closing(AppendFile(path, lambda _: None)):
            assert path.read_bytes() == b'{"id":"a"}\n'
    else:
        with pytest.raises(StorageError, match="bytes that begin no record"):
            AppendFile(path, lambda _: None)
        assert path.read_bytes() == content


def test_a_file_that_has_another_name_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "notes").write_bytes(b'{"id":"a"}\n')
    (tmp_path / "predictions.jsonl").hardlink_to(tmp_path / "notes")
    with pytest.raises(StorageError, match="hard link"):
        AppendFile(tmp_path / "predictions.jsonl", lambda _: None)


def test_what_a_killed_run_left_is_removed_and_what_is_being_written_stays(folder: Path) -> None:
    left = folder / "report.html.whole-4194399-7.part"
    left.write_bytes(b"<html>")
    precious = folder / "notes.part"
    precious.write_bytes(b"mine")
    assert run_cli("score", str(folder)).code == 0
    assert not left.exists() and precious.exists()


# --- odd files -----------------------------------------------------------------------------------


def test_damaged_scores_stop_neither_report_nor_resume(folder: Path) -> None:
    whole = json.loads((folder / "report.json").read_bytes())
    path = folder / "scores.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([b'\xff{"id"\n', *lines[1:-1], b'{"id":"x","metrics":[]}\n']))
    ran = run_cli("report", str(folder), "--json")
    assert ran.code == 0 and json.loads(ran.out)["num"] == whole["num"] - 2
    assert "2 damaged scores are left out" in ran.err and "scores.jsonl, line 1" in ran.err
    with serve(reply("no")) as server:
        ran = resume(folder, "--api-url", server.url)
        assert ran.code == 0 and "2 damaged scores are made anew" in ran.err
        assert not server.requests
    assert json.loads((folder / "report.json").read_bytes())["overall"] == whole["overall"]
    assert "damaged scores" not in run_cli("report", str(folder)).err


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda line: b"\xef\xbb\xbf" + line, "line 1` begins with a byte order mark"),
        (lambda line: line.replace(b'"status"', b'"state"'), "line 1` has no `status`"),
        (lambda line: line.replace(b'"attempts":1', b'"attempts":[]'), "a list as `attempts`"),
        (lambda line: line.replace(b'"attempts":1', b'"attempts":1' + b"0" * 400), "`attempts`"),
        (lambda line: line.replace(b'"seconds":', b'"seconds":1e999,"s":'), "`seconds`"),
    ],
)
@pytest.mark.parametrize("command", ["report", "score", "resume", "compare"])
def test_an_odd_record_is_told_by_line_and_field(
    folder: Path, tmp_path: Path, edit: Callable[[bytes], bytes], words: str, command: str
) -> None:
    path = folder / "predictions.jsonl"
    first, *others = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(edit(first) + b"".join(others))
    ran = run_cli(*commands(folder, tmp_path)[command])
    assert ran.code == 1 and words in ran.err and "fault of mmscore" not in ran.err, ran.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("shard", 5), ("repeats", 10**9), ("repeats", "x"), ("planned", {"a": 10**400}),
        ("planned", []), ("seconds", "1"), ("seconds", 10**400), ("judge", []), ("judge", 5),
        ("model", {}), ("versions", {"mmscore": 1}), ("price", {"input": "x"}),
        ("fingerprints", {"data": 5}), ("benchmark", {"name": "slake", "groups": "modality"}),
        ("benchmark", {"name": "slake", "subsets": {"en_open": []}}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["report", "score", "resume", "compare", "merge"])
def test_an_odd_run_json_is_told_by_field(
    folder: Path, tmp_path: Path, name: str, value: Any, command: str
) -> None:
    change(folder, lambda info: info.update({name: value}))
    ran = run_cli(*commands(folder, tmp_path)[command])
    assert ran.code == 1 and "run.json" in ran.err and f"`{name}`" in ran.err, ran.err
    assert "fault of mmscore" not in ran.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("repeats", "x"), ("eval_batch_size", []), ("dataset_args", []), ("dataset_args", {"a": 1}),
        ("dataset_args", {"slake": {"filters": 7}}), ("generation_config", 5), ("judge", 5),
        ("judge", {"models": 7, "strategy": "llm"}), ("limit", {}), ("timeout", "x"),
        ("dataset_args", {"slake": {"metric_list": 5}}), ("api_url", 5), ("api_url", "ftp://x"),
        ("judge", {"models": [{"model_id": 5}], "strategy": "llm"}), ("think", 3),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["report", "score", "resume"])
def test_an_odd_configuration_in_a_folder_is_no_fault_of_ours(
    folder: Path, tmp_path: Path, name: str, value: Any, command: str
) -> None:
    change(folder, lambda info: info["config"].update({name: value}))
    ran = run_cli(*commands(folder, tmp_path)[command])
    assert "fault of mmscore" not in ran.err and "Traceback" not in ran.err, ran.err


def test_a_folder_that_cannot_be_written_is_reported_all_the_same(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def refused(path: Path, *_: Any) -> int:
        if folder in path.parents:
            raise PermissionError(30, "Read-only file system")
        return made_anew(path)

    from mmscore import disk

    made_anew = disk._made_anew
    monkeypatch.setattr(disk, "_made_anew", refused)
    ran = run_cli("report", str(folder))
    assert ran.code == 0 and "OVERALL" in ran.out
    assert ran.err.count("the report is only shown; --out DIR writes it elsewhere") == 1
    ran = run_cli("report", str(folder), "--out", str(tmp_path / "new" / "place"))
    assert ran.code == 0 and "only shown" not in ran.err
    assert {path.name for path in (tmp_path / "new" / "place").iterdir()} == {
        "report.json", "report.csv", "report.html",
    }  # fmt: skip
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


# --- what is no number ---------------------------------------------------------------------------


def test_what_is_no_number_reaches_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code = OWN.replace('"id": "a"', '"id": "a", "size": float("nan"), "deep": [float("inf")]')
    code = code.replace('name="mine"', 'name="mine", keep=("size", "deep")')
    Path("mine.py").write_text(code, encoding="utf-8")

    def answer(request: Request) -> Response:
        return reply("x")

    with serve(answer) as server:
        start = ("run", "mine.py", "--api-url", server.url, "--model", "m", "--progress", "none")
        ran = run_cli(*start, "--out", "told", "--generation", '{"temperature": NaN}')
        assert ran.code == 1 and "temperature" in ran.err and not server.requests
        ran = run_cli(*start, "--out", "out")
        assert ran.code == 0, ran.err
    record = json.loads(Path("out/predictions.jsonl").read_text(encoding="utf-8"))
    assert record["metadata"] == {"size": None, "deep": [None]}
    assert run_cli("report", "out").code == 0


def test_a_row_with_no_number_in_it_is_kept_as_null(data: Path, tmp_path: Path) -> None:
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    text = json.dumps([{**row, "location": float("nan")} for row in rows])
    (data / "test.json").write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    with serve(reply("ANSWER: yes")) as server:
        ran = run_cli("run", "slake", "--data", str(data), "--api-url", server.url, "--model", "m",
                      "--limit", "1", "--out", str(out), "--progress", "none")  # fmt: skip
    if ran.code == 0:  # told before the first request is as good
        assert "NaN" not in (out / "predictions.jsonl").read_text(encoding="utf-8")
        assert run_cli("report", str(out)).code == 0
    else:
        assert ran.code == 1 and not server.requests
