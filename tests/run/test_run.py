"""A run as its user meets it, from the command line to the folder, through all kinds of trouble."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Ran, lines, run_cli, script_path
from support.server import Request, Response, hang, html, raw, reply, serve, slow, status

from mmscore.run.task import Events, run_task

TIMES = {"seconds", "started", "finished", "timing", "wall_seconds"}


@pytest.fixture
def oracle(answers: dict[str, str]) -> Callable[[Request], Response]:
    return lambda request: reply(f"ANSWER: {answers[request.prompt.splitlines()[0]]}")


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Callable[..., Ran]:
    def run(url: str, *more: str, **environment: str) -> Ran:
        return run_cli(
            "run", "slake", "--data", str(data), "--api-url", url, "--model", "m", "--out",
            str(tmp_path / "out"), "--progress", "none", *more, env=environment,
        )  # fmt: skip

    return run


def report(folder: Path) -> Any:
    return timeless(json.loads((folder / "report.json").read_text(encoding="utf-8")))


def timeless(value: Any) -> Any:
    """A report without what differs between two runs of the same: times."""
    if isinstance(value, dict):
        return {k: timeless(v) for k, v in value.items() if k not in TIMES}
    return [timeless(v) for v in value] if isinstance(value, list) else value


def test_all_right_is_one(run: Any, oracle: Any, tmp_path: Path) -> None:
    with serve(oracle) as server:
        ran = run(server.url)
    assert ran.code == 0, ran.err
    assert report(tmp_path / "out")["overall"] == {"accuracy": 1.0}
    assert "OVERALL" in ran.out and "100%" in ran.out
    assert len(lines(tmp_path / "out" / "predictions.jsonl")) == 24
    assert {line["rule"] for line in lines(tmp_path / "out" / "scores.jsonl")} == {"answer-line"}


def test_a_run_folder_holds_text_only_and_no_image(run: Any, oracle: Any, tmp_path: Path) -> None:
    with serve(oracle) as server:
        run(server.url, "--limit", "1")
    for path in (tmp_path / "out").iterdir():
        text = path.read_text(encoding="utf-8")
        assert "base64" not in text and "\r" not in text and text.endswith("\n")


def test_the_request_is_minimal(run: Any, oracle: Any) -> None:
    with serve(oracle) as server:
        run(server.url, "--limit", "1", "--subset", "en_open")
        (request,) = server.requests
    assert set(request.json) == {"model", "messages", "temperature"}
    (message,) = request.json["messages"]
    image, text = message["content"]
    assert set(image) == {"type", "image_url"} and set(image["image_url"]) == {"url"}
    assert image["image_url"]["url"].startswith("data:image/png;base64,")
    assert text["text"].endswith('form "ANSWER: <answer>" (without quotes).')


def test_generation_options_go_out_as_given(run: Any, oracle: Any) -> None:
    with serve(oracle) as server:
        run(server.url, "--limit", "1", "--subset", "en_open", "--generation", "temperature=0",
            "--generation", '{"max_tokens": 64, "extra_body": {"top_k": 5}, "stop": ["x"]}',
            "--generation", "reasoning_effort=low")  # fmt: skip
        (request,) = server.requests
    body = {key: value for key, value in request.json.items() if key not in ("model", "messages")}
    assert body == {
        "temperature": 0, "max_tokens": 64, "top_k": 5, "stop": ["x"], "reasoning_effort": "low",
    }  # fmt: skip


def test_system_and_template_change_the_question(run: Any, oracle: Any) -> None:
    with serve(reply("ANSWER: x")) as server:
        run(server.url, "--limit", "1", "--subset", "zh_open", "--system", "Be brief.",
            "--prompt-template", 'Q: {question} {"json": 1}')  # fmt: skip
        (request,) = server.requests
    system, user = request.json["messages"]
    assert system == {"role": "system", "content": "Be brief."}
    assert re.fullmatch(r'Q: .+ \{"json": 1\}', user["content"][1]["text"])


def test_failures_are_failures_not_wrong_answers(
    run: Any, oracle: Any, answers: dict[str, str], tmp_path: Path
) -> None:
    bad = set(list(answers)[:3])

    def script(request: Request) -> Response:
        asked = request.prompt.splitlines()[0]
        return status(400, "image too large") if asked in bad else oracle(request)

    with serve(script) as server:
        ran = run(server.url, "--concurrency", "1")
    assert ran.code == 3
    built = report(tmp_path / "out")
    assert built["overall"] == {"accuracy": 1.0}
    assert built["status"]["error"] == 3 and built["num"] == 21
    assert "87.5" in ran.out  # the bound with all failures wrong


def test_a_resumed_run_asks_only_for_what_failed(
    run: Any, oracle: Any, answers: dict[str, str], tmp_path: Path
) -> None:
    bad = set(list(answers)[:3])
    healthy = threading.Event()

    def script(request: Request) -> Response:
        asked = request.prompt.splitlines()[0]
        return status(400) if asked in bad and not healthy.is_set() else oracle(request)

    with serve(script) as server:
        assert run(server.url).code == 3
        healthy.set()
        before = len(server.requests)
        ran = run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
        assert len(server.requests) - before == 3
    assert ran.code == 0, ran.err
    assert report(tmp_path / "out")["num"] == 24


@pytest.mark.parametrize("change", [("--model", "other"), ("--generation", "temperature=1")])
def test_what_changed_is_asked_again_and_said(
    run: Any, oracle: Any, change: tuple[str, str], tmp_path: Path
) -> None:
    with serve(oracle) as server:
        run(server.url)
        ran = run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none", *change)
        assert len(server.requests) == 48
    assert ran.code == 0 and "24 earlier replies" in ran.err
    assert report(tmp_path / "out")["num"] == 24


def test_an_edited_question_is_asked_again_alone(
    run: Any, answers: dict[str, str], data: Path, tmp_path: Path
) -> None:
    with serve(reply("ANSWER: CT")) as server:
        run(server.url)
        rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
        rows[5]["question"] += "?"
        (data / "test.json").write_text(json.dumps(rows), encoding="utf-8")
        run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
        assert len(server.requests) == 25


def test_a_torn_record_is_cut_off_wherever_it_was_torn(
    run: Any, oracle: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with serve(oracle) as server:
        run(server.url, "--concurrency", "1", "--limit", "2")
        whole = report(out)
        kept = {name: (out / name).read_bytes() for name in ("predictions.jsonl", "scores.jsonl")}
        last = kept["predictions.jsonl"].rstrip(b"\n").rfind(b"\n") + 1
        for cut in range(last, len(kept["predictions.jsonl"]), 97):
            (out / "predictions.jsonl").write_bytes(kept["predictions.jsonl"][:cut])
            (out / "scores.jsonl").write_bytes(kept["scores.jsonl"])
            before = len(server.requests)
            ran = run_cli("run", "--resume", str(out), "--progress", "none")
            assert ran.code == 0, ran.err
            assert len(server.requests) - before == 1
            assert ("torn last record" in ran.err) == (cut > last)
            assert report(out) == whole


def test_killed_at_any_moment_only_requests_in_flight_are_asked_again(
    oracle: Any, data: Path, tmp_path: Path
) -> None:
    out, whole = tmp_path / "out", tmp_path / "whole"
    with serve(lambda request: slow(oracle(request), 0.02)) as server:
        command = [
            script_path(), "run", "slake", "--data", str(data), "--api-url", server.url,
            "--model", "m", "--progress", "none", "--concurrency", "3", "--out",
        ]  # fmt: skip
        subprocess.run([*command, str(whole)], check=True, capture_output=True)
        before = len(server.requests)
        process = subprocess.Popen([*command, str(out)], stderr=subprocess.DEVNULL)
        while len(server.requests) - before < 10:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = (out / "predictions.jsonl").read_bytes().count(b"\n")
        killed = len(server.requests)
        ran = run_cli("run", "--resume", str(out), "--progress", "none")
        asked_again = len(server.requests) - killed
    assert ran.code == 0, ran.err
    assert asked_again == 24 - kept
    assert (killed - before) - kept <= 3
    assert report(out) == report(whole)


def test_an_interrupt_finishes_what_is_in_flight(oracle: Any, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serve(lambda request: slow(oracle(request), 0.2)) as server:
        process = subprocess.Popen(
            [script_path(), "run", "slake", "--data", str(data), "--api-url", server.url,
             "--model", "m", "--concurrency", "2", "--out", str(out)],
            stderr=subprocess.PIPE,
        )  # fmt: skip
        while len(server.requests) < 2:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=20)
        asked = len(server.requests)
    assert process.returncode == 130
    assert len(lines(out / "predictions.jsonl")) == asked < 24
    assert b"--resume" in words and (out / "report.json").exists()


def test_a_second_interrupt_does_not_wait(data: Path, tmp_path: Path) -> None:
    with serve(hang()) as server:
        process = subprocess.Popen(
            [script_path(), "run", "slake", "--data", str(data), "--api-url", server.url,
             "--model", "m", "--out", str(tmp_path / "out")],
            stderr=subprocess.PIPE,
        )  # fmt: skip
        while len(server.requests) < 8:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=5) == 130
        process.communicate()


@pytest.mark.parametrize("limit", ["2", "0.5"])
def test_a_limit_counts_per_subset(run: Any, oracle: Any, limit: str, tmp_path: Path) -> None:
    with serve(oracle) as server:
        run(server.url, "--limit", limit)
    rows = report(tmp_path / "out")["scores"]
    assert [row["num"] for row in rows] == [2 if limit == "2" else 3] * 4


def test_shards_cover_everything_once(run: Any, oracle: Any, tmp_path: Path) -> None:
    ids: list[str] = []
    with serve(oracle) as server:
        for part in "123":
            out = str(tmp_path / part)
            assert run(server.url, "--shard", f"{part}/3", "--out", out).code == 0
            ids += [line["id"] for line in lines(tmp_path / part / "predictions.jsonl")]
    assert len(ids) == len(set(ids)) == 24


def test_repeats_ask_each_sample_again(run: Any, oracle: Any, tmp_path: Path) -> None:
    with serve(oracle) as server:
        run(server.url, "--repeats", "3", "--limit", "1")
        assert len(server.requests) == 12
    keys = {(x["id"], x["repeat"]) for x in lines(tmp_path / "out" / "predictions.jsonl")}
    assert len(keys) == 12


def test_a_dry_run_sends_nothing_and_shows_the_requests(run: Any, tmp_path: Path) -> None:
    with serve(reply("x")) as server:
        ran = run(server.url, "--dry-run", "--limit", "2")
        assert server.requests == []
    assert ran.code == 0 and not (tmp_path / "out").exists()
    assert "total: 8 requests" in ran.out
    assert ran.out.count("first request of") == 4 and len(ran.out) < 6000


def test_replies_are_paired_with_their_samples_in_any_order(
    run: Any, oracle: Callable[[Request], Response], tmp_path: Path
) -> None:
    def script(request: Request) -> Response:
        return slow(oracle(request), (len(request.body) * 7919 % 10) / 100)

    with serve(script) as server:
        run(server.url, "--concurrency", "16")
    assert report(tmp_path / "out")["overall"] == {"accuracy": 1.0}


def test_concurrency_is_what_was_asked(run: Any, oracle: Callable[[Request], Response]) -> None:
    most, now, lock = [0], [0], threading.Lock()

    def script(request: Request) -> Response:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.1)
        with lock:
            now[0] -= 1
        return oracle(request)

    with serve(script) as server:
        run(server.url, "--concurrency", "12")
    assert most[0] == 12


FATAL = [
    (status(401, "wrong key"), ["401", "wrong key", "--api-key"]),
    (status(404, "the model `m` does not exist"), ["404", "does not exist", "--model"]),
    (html(), ["not JSON"]),
    (raw(500, "boom"), ["500"]),
    (status(400, "image is too large"), ["too large", "--max-image-bytes"]),
]


@pytest.mark.parametrize(("response", "words"), FATAL, ids=lambda value: str(value)[:30])
def test_an_unusable_endpoint_stops_the_run(
    run: Any, response: Response, words: list[str], tmp_path: Path
) -> None:
    with serve(response) as server:
        ran = run(server.url, "--retries", "0", "--concurrency", "1")
        asked = len(server.requests)
    assert ran.code == 4 and asked <= 8
    for word in words:
        assert word in ran.err
    assert ran.err.count("mmscore: error:") == 1 and "Traceback" not in ran.err
    assert len(lines(tmp_path / "out" / "predictions.jsonl")) == asked


def test_an_endpoint_that_dies_midway_stops_the_run_and_resumes(
    run: Any, oracle: Any, tmp_path: Path
) -> None:
    count = [0]

    def script(request: Request) -> Response:
        count[0] += 1
        return oracle(request) if count[0] <= 5 or count[0] > 13 else status(500)

    with serve(script) as server:
        ran = run(server.url, "--retries", "0", "--concurrency", "1")
        assert ran.code == 4 and "in a row" in ran.err
        again = run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
    assert again.code == 0, again.err
    assert report(tmp_path / "out")["overall"] == {"accuracy": 1.0}


def test_the_endpoint_is_not_there(run: Any) -> None:
    with serve(reply("x")) as server:
        url = server.url
    ran = run(url)
    assert ran.code == 4 and "cannot connect" in ran.err and "hint:" in ran.err


def no_folder(data: Path) -> None:
    shutil.rmtree(data)


def no_archive(data: Path) -> None:
    (data / "imgs.zip").unlink()


def cut_archive(data: Path) -> None:
    whole = (data / "imgs.zip").read_bytes()
    (data / "imgs.zip").write_bytes(whole[: len(whole) // 2])


def no_image(data: Path) -> None:
    rewrite_archive(data, lambda name: None if "demo3" in name else name)


def broken_json(data: Path) -> None:
    text = (data / "test.json").read_text(encoding="utf-8")
    (data / "test.json").write_text(text.replace('"img_id":', '"img_id"', 1), encoding="utf-8")


def not_a_list(data: Path) -> None:
    (data / "test.json").write_text('{"a": 1}', encoding="utf-8")


def unknown_language(data: Path) -> None:
    edit(data, q_lang="fr")


def missing_field(data: Path) -> None:
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    del rows[3]["img_name"]
    (data / "test.json").write_text(json.dumps(rows), encoding="utf-8")


def duplicate(data: Path) -> None:
    edit(data, qid=1)


def edit(data: Path, **fields: object) -> None:
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    rows[3] |= fields
    (data / "test.json").write_text(json.dumps(rows), encoding="utf-8")


def rewrite_archive(data: Path, rename: Callable[[str], str | None]) -> None:
    with zipfile.ZipFile(data / "imgs.zip") as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(data / "imgs.zip", "w") as new:
        for name, content in members.items():
            target = rename(name)
            if target:
                new.writestr(target, content)


BAD_DATA = [
    (no_folder, ["no data at"]),
    (no_archive, ["imgs.zip", "found `test.json`"]),
    (cut_archive, ["imgs.zip"]),
    (no_image, ["1 medium of 4 samples", "demo3/source.png", "--skip-bad-media"]),
    (broken_json, ["test.json", "line", "column"]),
    (not_a_list, ["an object", "expected a list"]),
    (unknown_language, ["row 4", "`fr`"]),
    (missing_field, ["row 4", "img_name"]),
    (duplicate, ["ids occur twice", "`1`"]),
]


@pytest.mark.parametrize(
    ("spoil", "words"), BAD_DATA, ids=lambda value: getattr(value, "__name__", "")
)
def test_bad_data_is_one_sentence_before_the_first_request(
    run: Any, data: Path, spoil: Any, words: list[str]
) -> None:
    spoil(data)
    with serve(reply("x")) as server:
        ran = run(server.url)
        assert server.requests == []
    assert ran.code == 1
    assert ran.err.count("\n") <= 2 and ran.err.startswith("mmscore: error: ")
    for word in words:
        assert word in ran.err, ran.err


@pytest.mark.parametrize(
    "rename",
    [lambda name: name.removeprefix("imgs/"), lambda name: "SLAKE/" + name, lambda name: name],
    ids=["none", "longer", "usual"],
)
def test_an_archive_may_have_another_prefix_and_junk(
    run: Any, oracle: Any, data: Path, rename: Any
) -> None:
    rewrite_archive(data, rename)
    with zipfile.ZipFile(data / "imgs.zip", "a") as archive:
        archive.writestr("__MACOSX/imgs/demo1/._source.png", b"junk")
    with serve(oracle) as server:
        assert run(server.url).code == 0


def test_an_unpacked_folder_serves_as_the_archive(run: Any, oracle: Any, data: Path) -> None:
    with zipfile.ZipFile(data / "imgs.zip") as archive:
        archive.extractall(data)
    (data / "imgs.zip").unlink()
    with serve(oracle) as server:
        assert run(server.url).code == 0


def test_a_byte_order_mark_is_no_trouble(run: Any, oracle: Any, data: Path) -> None:
    text = (data / "test.json").read_text(encoding="utf-8")
    (data / "test.json").write_text(text, encoding="utf-8-sig")
    with serve(oracle) as server:
        assert run(server.url).code == 0


def test_an_image_that_is_none_is_not_sent(
    run: Any, oracle: Any, data: Path, tmp_path: Path
) -> None:
    with zipfile.ZipFile(data / "imgs.zip") as old:
        members = {name: old.read(name) for name in old.namelist()}
    with zipfile.ZipFile(data / "imgs.zip", "w") as new:
        for name, content in members.items():
            new.writestr(name, b"no image" if "demo2" in name else content)
    with serve(oracle) as server:
        ran = run(server.url)
        assert len(server.requests) == 20
    assert ran.code == 3
    built = report(tmp_path / "out")
    assert built["status"]["bad_media"] == 4 and built["overall"] == {"accuracy": 1.0}


def test_the_rest_can_be_run_without_the_missing_images(run: Any, oracle: Any, data: Path) -> None:
    no_image(data)
    with serve(oracle) as server:
        ran = run(server.url, "--skip-bad-media")
        assert len(server.requests) == 20
    assert ran.code == 3


BAD_OPTIONS = [
    (("--subset", "en_opne"), ["en_opne", "did you mean `en_open`?"]),
    (("--limit", "-1"), ["--limit"]),
    (("--limit", "1.5"), ["limit"]),
    (("--shard", "3/2"), ["shard"]),
    (("--concurrency", "0"), ["--concurrency", "from 1"]),
    (("--generation", "temperature"), ["KEY=VALUE"]),
    (("--max-image-bytes", "much"), ["size"]),
    (("--prompt-template", "@/nowhere"), ["/nowhere"]),
    (("--resume", "/nowhere"), ["/nowhere"]),
]


@pytest.mark.parametrize(("options", "words"), BAD_OPTIONS, ids=lambda value: " ".join(value))
def test_a_wrong_option_is_one_sentence(
    run: Any, options: tuple[str, ...], words: list[str]
) -> None:
    ran = run("http://127.0.0.1:9", *options)
    assert ran.code == 1 and "Traceback" not in ran.err
    for word in words:
        assert word in ran.err, ran.err


def test_no_endpoint_and_no_model_are_told(data: Path) -> None:
    ran = run_cli("run", "slake", "--data", str(data), "--model", "m")
    assert ran.code == 1 and "--api-url" in ran.err
    ran = run_cli("run", "slake", "--data", str(data), "--api-url", "http://127.0.0.1:9")
    assert ran.code == 1 and "--model" in ran.err
    ran = run_cli("run", "--api-url", "http://127.0.0.1:9", "--model", "m")
    assert ran.code == 1 and "no benchmark" in ran.err
    ran = run_cli("run", "slak", "--api-url", "http://127.0.0.1:9", "--model", "m")
    assert ran.code == 1 and "`slake`" in ran.err


def test_the_environment_may_name_endpoint_and_key(data: Path, tmp_path: Path) -> None:
    with serve(reply("ANSWER: CT")) as server:
        ran = run_cli(
            "run", "slake", "--data", str(data), "--model", "m", "--limit", "1", "--out",
            str(tmp_path / "o"), env={"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "sk-env"},
        )  # fmt: skip
        assert server.requests[0].headers["authorization"] == "Bearer sk-env"
    assert ran.code == 0


def test_a_container_may_be_told_all_by_its_environment(data: Path, tmp_path: Path) -> None:
    file = tmp_path / "task.json"
    args = {"slake": {"local_path": str(data)}}
    file.write_text(json.dumps({"datasets": ["slake"], "dataset_args": args, "limit": 1}))
    with serve(reply("ANSWER: CT")) as server:
        variables = {
            "MMSCORE_API_URL": server.url, "MMSCORE_API_KEY": "sk-env", "MMSCORE_MODEL": "m",
            "MMSCORE_CONFIG": str(file), "MMSCORE_WORK_DIR": str(tmp_path / "runs"),
        }  # fmt: skip
        ran = run_cli("run", env=variables)
        assert [request.json["model"] for request in server.requests] == ["m"] * 4
    assert ran.code == 0, ran.err
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_the_key_is_nowhere(run: Any, tmp_path: Path) -> None:
    key = "sk-SECRET123"
    with serve(status(401, f"{key} is not known")) as server:
        ran = run(server.url.replace("//", "//name:hidden@"), "--api-key", key)
    everything = (
        ran.out
        + ran.err
        + "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir())
    )
    assert key not in everything and "hidden" not in everything


def test_two_runs_into_one_folder_are_kept_apart(run: Any, oracle: Any, tmp_path: Path) -> None:
    with serve(oracle) as server:
        assert run(server.url).code == 0
        asked = len(server.requests)
        for more in (("--limit", "3"), ("--system", "x"), ("--fresh",)):
            ran = run(server.url, *more)
            assert ran.code == 1 and "already holds a run" in ran.err and "--resume" in ran.err
        assert len(server.requests) == asked


def test_a_folder_that_is_being_written_is_locked(
    run: Any, oracle: Any, data: Path, tmp_path: Path
) -> None:
    from mmscore.store.journal import AppendFile

    with serve(oracle) as server:
        run(server.url, "--limit", "1")
        holder = AppendFile(tmp_path / "out" / "predictions.jsonl", print)
        ran = run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
        holder.close()
    assert ran.code == 1 and "another process is writing" in ran.err


def test_a_folder_that_cannot_be_written_is_told(run: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    ran = run("http://127.0.0.1:9", "--out", str(tmp_path / "file" / "run"))
    assert ran.code == 1 and "cannot write" in ran.err and "--out" in ran.err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_stops_cleanly(
    run: Any, oracle: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = [0]
    write = os.write

    def full_after_ten(fd: int, line: bytes) -> int:
        if b'"request"' in line:
            written[0] += 1
            if written[0] > 10:
                write(fd, line[:20])
                with open("/dev/full", "wb", buffering=0) as full:  # noqa: PTH123
                    full.write(b"x")  # raises ENOSPC
        return write(fd, line)

    with serve(oracle) as server:
        monkeypatch.setattr("mmscore.store.journal.os.write", full_after_ten)
        ran = run(server.url, "--concurrency", "1")
        assert ran.code == 1 and "no space left" in ran.err and "--resume" in ran.err
        assert len(lines(tmp_path / "out" / "predictions.jsonl")) == 10
        monkeypatch.undo()
        ran = run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
        assert ran.code == 0 and len(server.requests) == 25


def test_scoring_again_needs_no_network_and_changes_nothing(
    run: Any, oracle: Any, data: Path, tmp_path: Path
) -> None:
    with serve(oracle) as server:
        run(server.url)
    before = report(tmp_path / "out")
    shutil.rmtree(data)
    (tmp_path / "out" / "scores.jsonl").unlink()
    ran = run_cli("score", str(tmp_path / "out"))
    assert ran.code == 0, ran.err
    assert report(tmp_path / "out") == before


def test_json_is_the_only_thing_on_stdout(run: Any, oracle: Any) -> None:
    with serve(oracle) as server:
        ran = run(server.url, "--json")
    assert json.loads(ran.out)["dataset"] == "slake"


@pytest.mark.parametrize("form", ["bar", "lines", "json", "none"])
def test_progress_goes_to_stderr(run: Any, oracle: Any, form: str) -> None:
    with serve(oracle) as server:
        ran = run(server.url, "--progress", form)
    assert "24/24" not in ran.out
    assert ("24" in ran.err) or form == "none"
    if form == "json":
        assert [json.loads(line) for line in ran.err.splitlines() if line.startswith("{")]


def test_python_runs_a_task_twice_without_memory_of_the_first(
    data: Path, oracle: Any, tmp_path: Path
) -> None:
    with serve(oracle) as server:
        task = {
            "model": "m", "api_url": server.url, "datasets": ["slake"], "limit": 1,
            "dataset_args": {"slake": {"local_path": str(data), "subset_list": ["en_open"]}},
            "work_dir": str(tmp_path / "outputs"),
        }  # fmt: skip
        seen: list[int] = []
        first = run_task(task, Events(progress=lambda state: seen.append(state.done)))["slake"]
        second = run_task({**task, "limit": 2})["slake"]
    assert (first.report.coverage.scored, second.report.coverage.scored) == (1, 2)
    assert first.folder != second.folder and first.exit_code == 0
    assert seen[-1] == 1 and "OVERALL" not in str(first) and "SLAKE" in str(first)


def test_a_task_file_runs(data: Path, oracle: Any, tmp_path: Path) -> None:
    with serve(oracle) as server:
        file = tmp_path / "task.toml"
        file.write_text(
            f'model = "m"\napi_url = "{server.url}"\ndatasets = ["slake"]\nlimit = 1\n'
            f'out = "{tmp_path / "o"}"\n[dataset_args.slake]\nlocal_path = "{data}"\n',
            encoding="utf-8",
        )
        ran = run_cli("run", "--config", str(file))
        assert len(server.requests) == 4
    assert ran.code == 0, ran.err
