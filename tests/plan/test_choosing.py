"""Which samples of a real command line are asked, and what its check says of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Ran, run_cli
from support.server import Request, Response, Server, reply, serve, status


@pytest.fixture
def ask(data: Path, tmp_path: Path) -> Callable[..., Ran]:
    def call(server: Server, *more: str, out: str = "out", command: str = "run") -> Ran:
        where = ("--out", str(tmp_path / out)) if command == "run" else ()
        return run_cli(
            *(command, "slake", "--data", str(data), "--model", "m", "--api-url", server.url),
            *(*where, *more),
        )

    return call


def predictions(folder: Path) -> list[Any]:
    lines = (folder / "predictions.jsonl").read_text(encoding="utf-8").split("\n")
    return [json.loads(line) for line in lines if line]


def ids(folder: Path) -> set[str]:
    return {record["id"] for record in predictions(folder)}


def test_a_draw_is_recorded_and_gone_on_with(ask: Any, tmp_path: Path) -> None:
    with serve(reply("ANSWER: x")) as server:
        assert ask(server, "--sample", "2", "--seed", "5").code == 0
        drawn = ids(tmp_path / "out")
        assert len(drawn) == 8, "two of each subset"
        resumed = run_cli("run", "--resume", str(tmp_path / "out"), "--api-url", server.url)
        assert resumed.code == 0 and ids(tmp_path / "out") == drawn
        assert ask(server, "--sample", "2", "--seed", "5", out="again").code == 0
        assert ids(tmp_path / "again") == drawn
        assert ask(server, "--sample", "2", "--seed", "6", out="other").code == 0
        assert ids(tmp_path / "other") != drawn
    config = json.loads((tmp_path / "out" / "run.json").read_text())["config"]
    assert config["sample"] == 2 and config["seed"] == 5


def test_ids_are_asked_by_name(ask: Any, tmp_path: Path) -> None:
    with serve(reply("ANSWER: x")) as server:
        assert ask(server).code == 0
        some = sorted(ids(tmp_path / "out"))[3:6]
        listed = tmp_path / "ids.txt"
        listed.write_text("\n".join(some) + "\n")
        for n, form in enumerate((",".join(some), str(listed))):
            assert ask(server, "--ids", form, out=f"ids{n}").code == 0
            assert ids(tmp_path / f"ids{n}") == set(some)
        ran = ask(server, "--ids", f"{some[0]},nobody,neither", out="none")
    assert ran.code == 1 and "2 of 3 ids are of no sample" in ran.err
    assert "`neither`, `nobody`" in ran.err


@pytest.fixture
def half(data: Path) -> Callable[[Request], Response]:
    """Answers half right; of the others some are cut off and some refused by the server."""
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    order = {row["question"]: (n, row["answer"]) for n, row in enumerate(rows)}

    def answer(request: Request) -> Response:
        number, right = order[request.prompt.splitlines()[0]]
        if number % 2 == 0:
            return reply(f"ANSWER: {right}")
        if number % 4 == 1:
            return reply("ANSWER: x", finish_reason="length")
        return status(422)

    return answer


@pytest.mark.parametrize(
    ("kinds", "wanted"),
    [
        ((), lambda record: record["status"] != "ok"),
        (("truncated",), lambda record: record["status"] == "truncated"),
        (("failed",), lambda record: record["status"] == "error"),
        (("wrong", "error"), lambda record: record["status"] != "ok"),
    ],
)
def test_what_went_wrong_is_asked_again(
    ask: Any, half: Any, tmp_path: Path, kinds: tuple[str, ...], wanted: Any
) -> None:
    with serve(half) as server:
        assert ask(server).code == 3
        before = predictions(tmp_path / "out")
    words = [word for kind in kinds for word in ("--status", kind)]
    with serve(reply("ANSWER: y")) as server:
        ran = ask(server, "--from", str(tmp_path / "out"), *words, "--system", "x", out="second")
    assert ran.code == 0, ran.err
    assert ids(tmp_path / "second") == {record["id"] for record in before if wanted(record)}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--status", "wrog"), "did you mean `wrong`?"),
        (("--status", "unjudged"), "no sample of"),
        (("--ids", "a"), "both given"),
    ],
)
def test_an_earlier_run_that_does_not_fit(
    ask: Any, tmp_path: Path, words: tuple[str, ...], sentence: str
) -> None:
    with serve(reply("ANSWER: x")) as server:
        assert ask(server).code == 0
        ran = ask(server, "--from", str(tmp_path / "out"), *words, out="second")
    assert ran.code == 1 and sentence in ran.err


# --- the check takes the command line of the run --------------------------------------------------


def test_the_check_sends_the_runs_own_first_request(ask: Any) -> None:
    options = (
        *("--generation", "temperature=0.7", "--generation", "max_tokens=9", "--system", "S"),
        *("--prompt-template", "Q: {question}", "--sample", "1", "--seed", "3"),
        *("--concurrency", "1", "--timeout", "9", "--retries", "0", "--progress", "none"),
    )
    with serve(reply("ANSWER: x")) as server:
        assert ask(server, *options, command="check").code == 0
        assert ask(server, *options).code == 0
        checked, first = server.requests[:2]
        assert checked.body == first.body


def test_the_check_says_what_a_run_would_take(ask: Any) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 10}
    with serve(reply("ANSWER: x", usage=usage)) as server:
        ran = ask(server, "--repeats", "2", "--price", "1,100", "--json", command="check")
    (found,) = json.loads(ran.out)
    assert found["requests"] == 48 and found["tokens"] == [48_000, 480]
    assert found["cost"] == pytest.approx(0.048 + 0.048)


def test_the_check_of_a_resumed_run_counts_what_is_left(
    ask: Any, half: Any, tmp_path: Path
) -> None:
    with serve(half) as server:
        assert ask(server).code == 3
        ran = run_cli("check", "--resume", str(tmp_path / "out"), "--api-url", server.url, "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)[0]["requests"] == 6


def test_the_check_probes_the_judges(ask: Any, tmp_path: Path) -> None:
    judge = ("--judge-strategy", "llm_recall", "--judge-model", "j", "--judge-api-url")
    with serve(reply("ANSWER: x")) as server, serve(status(401)) as dead:
        ran = ask(server, *judge, dead.url, command="check")
        assert ran.code == 4 and "the judge `j`" in ran.out
    verdict = reply('{"verdict": "CORRECT", "reason": "same"}')
    with serve(reply("ANSWER: x")) as server, serve(verdict) as good:
        ran = ask(server, *judge, good.url, command="check")
    assert ran.code == 0 and "judge     llm_recall" in ran.out
