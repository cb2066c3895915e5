"""Runs with a judge, from the command line to the folder: one that helps, lies, breaks, dies."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import Ran, lines, run_cli, script_path
from support.server import Request, Response, Server, raw, reply, serve, slow, status

from mmscore.config.judge import JudgeConfig
from mmscore.config.task import TaskConfig
from mmscore.errors import ConfigError
from mmscore.run.task import run_task
from mmscore.scoring.judge.ask import GRADING, prompt_of, resolved

KEY = "sk-JUDGE-SECRET"
RIGHT = '{"reasoning": "same", "verdict": "A"}'
WRONG = '{"reasoning": "other", "verdict": "B"}'


@pytest.fixture
def model(answers: dict[str, str]) -> Iterator[Server]:
    """A model that answers every third question wrongly."""
    wrong = set([*answers][::3])

    def script(request: Request) -> Response:
        question = request.prompt.splitlines()[0]
        return reply("ANSWER: no idea" if question in wrong else f"ANSWER: {answers[question]}")

    with serve(script) as server:
        yield server


@pytest.fixture
def run(data: Path, tmp_path: Path, model: Server) -> Callable[..., Ran]:
    def run(judge: dict[str, Any] | str, *more: str, **environment: str) -> Ran:
        return run_cli(
            "run", "slake", "--data", str(data), "--api-url", model.url, "--model", "m",
            "--out", str(tmp_path / "out"), "--progress", "none", "--judge",
            judge if isinstance(judge, str) else json.dumps(judge), *more, env=environment,
        )  # fmt: skip

    return run


def judge_at(url: str, strategy: str = "llm_recall", **more: Any) -> dict[str, Any]:
    generation = more.pop("generation_config", {})
    model = {"model_id": "j", "api_url": url, "api_key": KEY, "generation_config": generation}
    return {"strategy": strategy, "models": model, **more}


def report(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def asked_about(request: Request) -> str:
    """The reply that a judge's request is about."""
    return request.prompt.partition("Answer to grade:\n")[2].partition("\n\n")[0]


# --- what a judge brings -----------------------------------------------------------------------


def test_recall_asks_only_about_what_the_rule_failed(run: Any, tmp_path: Path) -> None:
    with serve(reply(RIGHT)) as judge:
        ran = run(judge_at(judge.url))
        _, *asked = judge.requests
    assert ran.code == 0, ran.err
    assert len(asked) == 8 and {asked_about(one) for one in asked} == {"ANSWER: no idea"}
    built = report(tmp_path / "out")
    assert built["overall"] == {"accuracy": 1.0} and built["num"] == 24
    assert built["judge"]["judged"] == 8 and built["judge"]["share"] == 8 / 24
    assert built["judge"]["coverage"] == 1.0 and built["judge"]["models"] == {"j": "j"}
    assert built["judge"]["prompt"].startswith("grading:")
    assert built["judge"]["usage"] == {"prompt_tokens": 88, "completion_tokens": 24}
    assert built["judge"]["requests"] == 8
    assert built["usage"]["prompt_tokens"] == 24 * 11 and built["timing"]["requests"] == 24
    assert "33.3% of replies judged (8)" in ran.out and "88 tokens in" in ran.out


def test_recall_raises_and_never_lowers(run: Any, tmp_path: Path) -> None:
    with serve(reply(WRONG)) as judge:
        assert run(judge_at(judge.url)).code == 0
    assert report(tmp_path / "out")["overall"] == {"accuracy": 16 / 24}


def test_a_lying_judge_decides_everything_in_llm_and_the_report_says_so(
    run: Any, tmp_path: Path
) -> None:
    with serve(reply(RIGHT)) as judge:
        ran = run(judge_at(judge.url, "llm"))
        assert len(judge.requests) == 25
    assert report(tmp_path / "out")["overall"] == {"accuracy": 1.0}
    assert "100% of replies judged (24)" in ran.out and "j · llm · grading:" in ran.out


def test_the_request_is_text_and_what_the_reference_sends(run: Any, answers: Any) -> None:
    with serve(reply(RIGHT)) as judge:
        run(judge_at(judge.url), "--limit", "1", "--subset", "en_open")
        _, request = judge.requests
    question, answer = next(iter(answers.items()))
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.path == "/v1/chat/completions"
    body = request.json
    assert {k: v for k, v in body.items() if k != "messages"} == {
        "model": "j", "temperature": 0.0, "max_tokens": 4096,
    }  # fmt: skip
    (message,) = body["messages"]
    assert message["role"] == "user" and isinstance(message["content"], str)
    assert f"**User**: {question}\nAnswer the question with" in message["content"]
    assert f"Reference answer:\n{answer}\n" in message["content"]
    assert message["content"].endswith('"verdict": <"A" or "B">}')


def test_a_generation_config_replaces_the_default(run: Any) -> None:
    options = {"temperature": 0.3, "extra_body": {"top_k": 1}, "timeout": 9, "retries": 1}
    with serve(reply(RIGHT)) as judge:
        run(judge_at(judge.url, generation_config=options))
        body = judge.requests[-1].json
    assert set(body) == {"model", "messages", "temperature", "top_k"}


def test_a_contract_of_ones_own(run: Any, tmp_path: Path) -> None:
    contract = {
        "system_prompt": "Be strict.",
        "prompt_template": '{pred}|{gold}|{question}|{x} {{pred}} {"a": 1} { gold }',
        "score_mapping": {"C": 1.0, "P": 0.5, "I": 0},
    }
    with serve(reply('{"verdict": "P"}')) as judge:
        run(judge_at(judge.url, contract=contract), "--subset", "en_open")
        system, user = judge.requests[-1].json["messages"]
    assert system == {"role": "system", "content": "Be strict."}
    assert user["content"].startswith("ANSWER: no idea|")
    assert '|{x} {ANSWER: no idea} {"a": 1} { gold }\n\n' in user["content"]
    assert user["content"].endswith('<"C", "I" or "P">}')
    assert report(tmp_path / "out")["overall"] == {"accuracy": pytest.approx((4 + 2 * 0.5) / 6)}
    assert report(tmp_path / "out")["judge"]["prompt"].startswith("custom:")


def test_what_is_put_into_a_prompt_is_not_expanded_again(run: Any, data: Path, model: Any) -> None:
    with serve(reply("{gold} {question}")) as hostile, serve(reply(WRONG)) as judge:
        run_cli(
            "run", "slake", "--data", str(data), "--api-url", hostile.url, "--model", "m",
            "--limit", "1", "--out", str(data / "o"), "--judge", json.dumps(judge_at(judge.url)),
        )  # fmt: skip
        assert asked_about(judge.requests[-1]) == "{gold} {question}"


def test_the_built_in_prompt_names_the_labels_it_wants() -> None:
    config = JudgeConfig.from_dict({"contract": {"score_mapping": {"no": 0, "half": 0.5, "ok": 1}}})
    ok, half, no = prompt_of(config).template.removeprefix(GRADING).splitlines()
    assert ok == "ok: the answer is right" and no == "no: the answer is wrong"
    assert half == "half: the answer is partly right, worth 0.5 of 1"
    assert prompt_of(config).id != prompt_of(JudgeConfig()).id


def test_a_rating_needs_no_reference_answer(run: Any, tmp_path: Path) -> None:
    with serve(reply('{"score": 0.25}')) as judge:
        run(judge_at(judge.url, "llm", contract={"score_type": "numeric"}))
        assert "Reference" not in judge.requests[-1].prompt
    assert report(tmp_path / "out")["overall"] == {"accuracy": 0.25}


def test_several_judges_and_repeats(run: Any, tmp_path: Path) -> None:
    with serve(reply(RIGHT)) as yes, serve(reply(WRONG)) as no:
        models = [
            {"model_id": "j", "judge_id": name, "api_url": url}
            for name, url in (("yes", yes.url), ("no", no.url), ("nay", no.url))
        ]
        ran = run({"strategy": "llm_recall", "models": models, "repeats": 2})
        assert len(yes.requests) == 1 + 16 and len(no.requests) == 2 * (1 + 16)
    assert ran.code == 0, ran.err
    built = report(tmp_path / "out")
    assert built["overall"]["accuracy"] == pytest.approx((16 + 8 / 3) / 24)
    assert built["judge"]["verdicts"] == {"yes": 16, "no": 16, "nay": 16}
    line = next(line for line in lines(tmp_path / "out" / "scores.jsonl") if "judge" in line)
    assert [one["verdict"] for one in line["judge"]["verdicts"]] == ["A", "A", "B", "B", "B", "B"]


def test_one_judge_of_two_that_fails_leaves_the_other(run: Any, tmp_path: Path) -> None:
    with serve(reply(RIGHT)) as good, serve(reply("I refuse.")) as bad:
        models = [{"model_id": "g", "api_url": good.url}, {"model_id": "b", "api_url": bad.url}]
        ran = run({"strategy": "llm_recall", "models": models})
        assert ran.code == 0 and "first reply is no verdict" in ran.err
        assert report(tmp_path / "out")["judge"]["incomplete"] == 8
        assert report(tmp_path / "out")["overall"] == {"accuracy": 1.0}
        ran = run({"strategy": "llm_recall", "models": models, "min_valid_judges": 2},
                  "--out", str(tmp_path / "two"))  # fmt: skip
    assert ran.code == 3
    assert report(tmp_path / "two")["judge"]["errors"][0]["error"].startswith("1 of 2 judges")


# --- what a judge breaks -----------------------------------------------------------------------

BROKEN = [
    (reply("I cannot help with that."), "no JSON object"),
    (reply(""), "empty"),
    (reply(None), "empty"),
    (reply('{"verdict": NaN}'), "`verdict` is"),
    (reply("Score: 1.0, 10/10"), "no JSON object"),
    (reply(None, refusal="I must refuse"), "no JSON object"),
    (reply('{"verdict": "A"', "length"), "cut off"),
    (reply('<think>maybe {"verdict": "A"}', "length"), "cut off"),
    (status(400, f"bad {KEY}"), "HTTP 400: bad ***"),
]


@pytest.mark.parametrize("strategy", ["llm", "llm_recall"])
@pytest.mark.parametrize(("response", "words"), BROKEN, ids=lambda value: str(value)[:20])
def test_what_a_judge_did_not_say_is_never_a_score(
    run: Any, tmp_path: Path, response: Response, words: str, strategy: str
) -> None:
    def script(request: Request) -> Response:
        return reply(RIGHT) if "How many legs" in request.prompt else response

    with serve(script) as judge:
        ran = run(judge_at(judge.url, strategy))
    built = report(tmp_path / "out")
    wanted = 24 if strategy == "llm" else 8
    assert ran.code == 3, ran.err
    assert built["judge"]["judged"] == 0 and built["judge"]["failed"] == wanted
    assert built["judge"]["coverage"] == 0.0
    assert any(words in reason["error"] for reason in built["judge"]["errors"])
    if strategy == "llm":
        assert built["num"] == 0 and built["coverage"]["no_score"] == 24
        assert "nothing was scored" in ran.out
    else:
        assert built["overall"] == {"accuracy": 16 / 24} and built["num"] == 24
        assert "8 replies without a verdict: their rule's score stands" in ran.out
    everything = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir())
    assert KEY not in everything + ran.out + ran.err


def test_nan_is_no_rating(run: Any, tmp_path: Path) -> None:
    with serve(reply('{"score": NaN}')) as judge:
        ran = run(judge_at(judge.url, "llm", contract={"score_type": "numeric"}))
    assert ran.code == 3 and report(tmp_path / "out")["num"] == 0
    assert "expected a number from 0 to 1" in " ".join(ran.out.split())


FINE = [
    reply(f"Here it is:\n```json\n{RIGHT}\n```\nHope this helps!"),
    reply(f"{WRONG}\nOn second thought:\n{RIGHT}"),
    reply(f"<think>{WRONG}</think>{RIGHT}"),
    reply(f"{RIGHT} and so on and on", "length"),
]


@pytest.mark.parametrize("response", FINE, ids=lambda value: str(value.body)[50:70])
def test_a_verdict_is_found_where_a_person_would_find_it(
    run: Any, tmp_path: Path, response: Response
) -> None:
    with serve(response) as judge:
        assert run(judge_at(judge.url)).code == 0
    assert report(tmp_path / "out")["overall"] == {"accuracy": 1.0}


def test_a_broken_reply_is_told_so_and_asked_once_more(run: Any, tmp_path: Path) -> None:
    def script(request: Request) -> Response:
        turns = request.json["messages"]
        return reply(RIGHT if len(turns) > 1 else "yes, correct")

    with serve(script) as judge:
        assert run(judge_at(judge.url)).code == 0
        turns = judge.requests[-1].json["messages"]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "user"]
    assert turns[1]["content"] == "yes, correct" and "no JSON object" in turns[2]["content"]
    first = lines(tmp_path / "out" / "judgements.jsonl")[0]
    assert [attempt["reply"] for attempt in first["attempts"]] == ["yes, correct", RIGHT]
    assert first["requests"] == 2 and report(tmp_path / "out")["judge"]["requests"] == 16


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_cut_reply_gets_more_room_once(run: Any, name: str) -> None:
    def script(request: Request) -> Response:
        return reply(RIGHT) if request.json[name] > 100 else reply('{"verdict', "length")

    with serve(script) as judge:
        assert run(judge_at(judge.url, generation_config={name: 100})).code == 0
        limits = {request.json[name] for request in judge.requests}
    assert limits == {100, 400}


# --- a judge that is not there, or dies --------------------------------------------------------


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (status(401, "who are you"), "--judge-api-key"),
        (status(404, "no such model"), "--judge-model"),
    ],
)
def test_a_dead_judge_stops_the_run_before_the_model_is_asked(
    run: Any, model: Server, response: Response, words: str
) -> None:
    with serve(response) as judge:
        ran = run(judge_at(judge.url))
        assert len(judge.requests) == 1
    assert ran.code == 4 and model.requests == []
    assert "the judge `j` at 127.0.0.1" in ran.err and words in ran.err


def test_a_judge_that_is_not_there_stops_the_run(run: Any, model: Server) -> None:
    with serve(reply("x")) as gone:
        url = gone.url
    ran = run(judge_at(url))
    assert ran.code == 4 and model.requests == []
    assert "cannot connect" in ran.err and "--judge-api-url" in ran.err


def test_a_judge_that_dies_is_left_alone_and_judges_the_rest_later(
    run: Any, model: Server, tmp_path: Path
) -> None:
    alive = threading.Event()
    alive.set()

    def script(request: Request) -> Response:
        if len(judge.requests) > 5 and not alive.is_set():
            return status(500)
        return reply(RIGHT)

    with serve(script) as judge:
        alive.clear()
        config = judge_at(judge.url, "llm", generation_config={"retries": 0})
        ran = run(config, "--concurrency", "1")
        assert ran.code == 3 and "8 times in a row" in ran.err
        assert len(judge.requests) == 5 + 8 and len(model.requests) == 24
        built = report(tmp_path / "out")
        assert (built["judge"]["judged"], built["judge"]["failed"]) == (4, 20)
        assert built["num"] == 4 and built["overall"] == {"accuracy": 1.0}
        assert built["bounds"]["accuracy"] == {"low": 4 / 24, "high": 1.0}
        alive.set()
        ran = run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
    assert ran.code == 0, ran.err
    assert len(model.requests) == 24 and len(judge.requests) == 13 + 1 + 20
    assert report(tmp_path / "out")["judge"]["coverage"] == 1.0


def test_a_resumed_run_asks_no_judge_twice(run: Any, model: Server, tmp_path: Path) -> None:
    with serve(reply(RIGHT)) as judge:
        run(judge_at(judge.url, repeats=2))
        before, asked = report(tmp_path / "out"), len(judge.requests)
        written = len(lines(tmp_path / "out" / "scores.jsonl"))
        run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
        assert len(lines(tmp_path / "out" / "scores.jsonl")) == written == 24
        (tmp_path / "out" / "scores.jsonl").unlink()
        ran = run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
        assert ran.code == 0, ran.err
        assert len(judge.requests) == asked and len(model.requests) == 24
    after = report(tmp_path / "out")
    assert (after["judge"], after["scores"]) == (before["judge"], before["scores"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_stopped_at_any_moment_only_verdicts_in_flight_are_asked_again(
    data: Path, tmp_path: Path, model: Server, number: signal.Signals
) -> None:
    out = tmp_path / "out"
    with serve(slow(reply(RIGHT), 0.03)) as judge:
        config = {"strategy": "llm", "models": {"model_id": "j", "api_url": judge.url}}
        process = subprocess.Popen(
            [script_path(), "run", "slake", "--data", str(data), "--api-url", model.url,
             "--model", "m", "--concurrency", "3", "--progress", "none", "--out", str(out),
             "--judge", json.dumps(config)], stderr=subprocess.DEVNULL,
        )  # fmt: skip
        while len(judge.requests) < 10:
            time.sleep(0.005)
        process.send_signal(number)
        process.wait(timeout=20)
        said = (out / "judgements.jsonl").read_bytes().count(b"\n")
        stopped = len(judge.requests)
        assert stopped - 1 - said <= (3 if number == signal.SIGKILL else 0)
        ran = run_cli("run", "--resume", str(out), "--progress", "none")
        assert ran.code == 0, ran.err
        assert len(judge.requests) - stopped == 1 + 24 - said
    assert len(model.requests) <= 24 + 3
    assert report(out)["judge"]["judged"] == 24


def test_a_torn_verdict_is_asked_again(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "out" / "judgements.jsonl"
    with serve(reply(RIGHT)) as judge:
        run(judge_at(judge.url))
        path.write_bytes(path.read_bytes()[:-40])
        ran = run_cli("run", "--resume", str(tmp_path / "out"), "--progress", "none")
        assert ran.code == 0 and "torn last record" in ran.err
        assert len(judge.requests) == 1 + 8 + 1 + 1


def test_another_prompt_is_asked_again(run: Any, tmp_path: Path) -> None:
    with serve(reply(RIGHT)) as judge:
        run(judge_at(judge.url))
        more = judge_at(judge.url, contract={"system_prompt": "Be strict."})
        ran = run_cli(
            "run", "--resume", str(tmp_path / "out"), "--progress", "none", "--judge",
            json.dumps(more),
        )  # fmt: skip
        assert ran.code == 0 and len(judge.requests) == 2 * (1 + 8)


def test_judging_overlaps_with_asking_and_keeps_to_the_concurrency(run: Any, model: Server) -> None:
    with serve(slow(reply(RIGHT), 0.05)) as judge:
        run(judge_at(judge.url, "llm"), "--concurrency", "6")
        assert 2 <= judge.most_at_once <= 6
        first = min(request.time for request in judge.requests[1:])
    assert first < max(request.time for request in model.requests)


# --- saved replies -----------------------------------------------------------------------------


def test_saved_replies_are_judged_later(run: Any, model: Server, tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    run({"strategy": "rule"}, "--system", "Look closely.")
    assert report(tmp_path / "out")["judge"] is None
    with serve(reply(RIGHT)) as judge:
        ran = run_cli(
            "score", out, "--judge-strategy", "llm_recall", "--judge-model", "j",
            "--judge-api-url", judge.url, "--judge-api-key", KEY, "--concurrency", "4",
        )  # fmt: skip
        assert ran.code == 0, ran.err
        assert len(judge.requests) == 1 + 8 and len(model.requests) == 24
        assert "**System**: Look closely.\n\n**User**: " in judge.requests[-1].prompt
    judged = report(tmp_path / "out")
    assert judged["overall"] == {"accuracy": 1.0} and judged["judge"]["judged"] == 8
    ran = run_cli("score", out)  # the judge is gone; what it said stays
    assert ran.code == 0, ran.err
    again = report(tmp_path / "out")
    assert (again["judge"], again["scores"]) == (judged["judge"], judged["scores"])
    ran = run_cli("score", out, "--judge", '{"strategy": "rule"}')
    assert report(tmp_path / "out")["overall"] == {"accuracy": 16 / 24}
    everything = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir())
    assert KEY not in everything


def test_a_run_and_a_later_judging_ask_the_same(run: Any, tmp_path: Path) -> None:
    with serve(reply(RIGHT)) as judge:
        run(judge_at(judge.url), "--system", "S")
        asked = len(judge.requests)
        ran = run_cli(
            "score", str(tmp_path / "out"), "--judge-api-url", judge.url, "--judge-api-key", KEY
        )
        assert ran.code == 0 and len(judge.requests) == asked


def test_half_a_character_in_a_reply_does_not_lose_its_verdict(data: Path, tmp_path: Path) -> None:
    half = r'{"choices": [{"message": {"content": "\ud83d {pred}"}, "finish_reason": "stop"}]}'
    out = tmp_path / "out"
    with serve(raw(200, half)) as model, serve(reply(RIGHT)) as judge:
        ran = run_cli(
            "run", "slake", "--data", str(data), "--api-url", model.url, "--model", "m",
            "--limit", "1", "--out", str(out), "--judge", json.dumps(judge_at(judge.url, "llm")),
        )  # fmt: skip
    assert ran.code == 0, ran.err
    assert run_cli("score", str(out)).code == 0
    assert report(out)["judge"]["judged"] == 4


@pytest.mark.parametrize("strategy", ["auto", "rule"])
def test_a_judge_that_is_not_asked_is_told(run: Any, strategy: str, tmp_path: Path) -> None:
    ran = run(judge_at("http://127.0.0.1:9", strategy))
    assert ran.code == 0 and f"strategy `{strategy}` scores by rule" in ran.err
    assert report(tmp_path / "out")["judge"] is None


def test_no_key_is_kept_nor_the_variable_that_holds_it(run: Any, tmp_path: Path) -> None:
    with serve(reply(RIGHT)) as judge:
        config = judge_at(judge.url)
        config["models"]["api_key"] = "$MY_KEY"
        run(config, MY_KEY=KEY)
        assert judge.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    stored = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    assert "MY_KEY" not in json.dumps(stored)


# --- own data ----------------------------------------------------------------------------------


def own_task(tmp_path: Path, url: str, judge: dict[str, Any]) -> dict[str, Any]:
    rows = [
        {"messages": [{"role": "user", "content": "Name it."}], "answer": answer}
        for answer in ("a cat", "the cat sat", "", "a dog")
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "own.jsonl").write_text(text, encoding="utf-8")
    return {
        "model": "m", "api_url": url, "datasets": ["general_vqa"], "judge": judge,
        "dataset_args": {"general_vqa": {"local_path": str(tmp_path / "own.jsonl")}},
        "work_dir": str(tmp_path / "outputs"),
    }  # fmt: skip


def test_recall_on_general_vqa_reports_accuracy_beside_rouge(tmp_path: Path) -> None:
    with serve(reply("a cat")) as model, serve(reply(WRONG)) as judge:
        result = run_task(own_task(tmp_path, model.url, judge_at(judge.url)))["general_vqa"]
        assert len(judge.requests) == 1 + 2  # one reply holds its answer, one has no answer
    overall = report(result.folder)["overall"]
    assert overall["accuracy"] == pytest.approx(1 / 3)
    assert overall["Rouge-L-R"] > overall["accuracy"] and "bleu-1" in overall
    assert report(result.folder)["primary"] == "accuracy"


def test_llm_on_general_vqa_reports_accuracy_alone(tmp_path: Path) -> None:
    with serve(reply("a cat")) as model, serve(reply(RIGHT)) as judge:
        result = run_task(own_task(tmp_path, model.url, judge_at(judge.url, "llm")))["general_vqa"]
    built = report(result.folder)
    assert built["overall"] == {"accuracy": 1.0} and built["num"] == 3
    assert result.exit_code == 0


def test_llm_on_general_vqa_without_a_verdict_reports_no_accuracy_and_nothing_else(
    tmp_path: Path,
) -> None:
    with serve(reply("dog")) as model, serve(reply("Right!")) as judge:
        result = run_task(own_task(tmp_path, model.url, judge_at(judge.url, "llm")))["general_vqa"]
    assert result.report.metrics == ("accuracy",)
    assert result.report.main.num == 0 and result.report.main.score is None
    folder = str(result.folder)
    assert repr(result) == f"Result(folder={folder!r}, num=0, scores={{'accuracy': None}})"


# --- what is wrong from the start --------------------------------------------------------------

ONE = {"model_id": "j", "api_url": "http://127.0.0.1:9"}
WRONG_CONFIGS: list[tuple[Any, list[str]]] = [
    ({"strategy": "lmm"}, ["`lmm`", "llm_recall"]),
    ({"strategy": "llm"}, ["no judge to ask", "--judge-model"]),
    ({"strategy": "llm_recall", "models": []}, ["no judge to ask"]),
    ({"stratgey": "llm"}, ["`stratgey`", "`strategy`"]),
    ({"strategy": "llm", "models": {"api_url": "x"}}, ["model_id"]),
    ({"strategy": "llm", "models": {**ONE, "api_ulr": "x"}}, ["`api_ulr`", "`api_url`"]),
    ({"strategy": "llm", "models": [ONE, ONE]}, ["more than once", "judge_id"]),
    (
        {"models": [{**ONE, "judge_id": "a"}, {"model_id": "k", "judge_id": "a"}]},
        ["two judges", "`a`"],
    ),
    (
        {"models": ONE, "min_valid_judges": 2},
        ["min_valid_judges", "2", "at most the number of judges, 1"],
    ),
    ({"models": ONE, "repeats": 0}, ["repeats", "0"]),
    ({"models": ONE, "aggregation": "max"}, ["aggregation", "majority_vote"]),
    ({"models": {**ONE, "eval_type": "llm_ckpt"}}, ["eval_type", "openai_api"]),
    ({"models": {**ONE, "model_args": {"a": 1}}}, ["model_args", "not supported"]),
    ({"models": {**ONE, "generation_config": 5}}, ["generation_config", "a number"]),
    ({"models": {**ONE, "generation_config": {"timeout": "9s"}}}, ["timeout", "`9s`"]),
    ({"models": "j"}, ["`judge.models` is a string"]),
    ({"position_swap": "on"}, ["position_swap"]),
    ({"contract": {"prompt_template": "{gold}"}}, ["{pred}", "never shows the reply"]),
    ({"contract": {"prompt_template": "{pred}"}}, ["{gold}", "numeric"]),
    ({"contract": {"prompt_template": "x", "score_type": "numeric"}}, ["{pred}"]),
    ({"contract": {"score_type": "stars"}}, ["score_type", "`stars`"]),
    ({"contract": {"score_mapping": {"A": "one"}}}, ["score_mapping", "`A`"]),
    ({"contract": {"score_mapping": {"A": 5}}}, ["from 0 to 1", "fractions"]),
    ({"contract": {"score_mapping": {"A": float("nan")}}}, ["a finite number"]),
    ({"contract": {"score_mapping": ["A"]}}, ["a list"]),
    ({"contract": {"rubric": "x"}}, ["`rubric`"]),
    ("llm", ["`judge` is a string"]),
]


@pytest.mark.parametrize(("judge", "words"), WRONG_CONFIGS, ids=lambda value: str(value)[:50])
def test_a_wrong_judge_is_told_in_a_sentence(judge: Any, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        TaskConfig(judge=judge)
    said = f"{caught.value.message} {caught.value.hint}"
    for word in words:
        assert word in said
    assert "\n" not in said


WRONG_FLAGS = [
    (["--judge", "{"], "--judge holds broken JSON"),
    (["--judge", "[]"], "expected a mapping in JSON"),
    (["--judge-model", "j"], "without --judge-strategy"),
    (["--judge-api-key", "k"], "without --judge-model"),
    (["--judge-strategy", "llm"], "no judge to ask"),
    (["--judge-strategy", "llm", "--judge-model", "j"], "has no endpoint"),
    (["--judge-strategy", "llm", "--judge-model", "j", "--judge-api-url", "ftp://x"], "ftp"),
]


@pytest.mark.parametrize(("flags", "words"), WRONG_FLAGS, ids=lambda value: str(value)[:50])
def test_wrong_flags_are_told_before_anything_is_asked(
    data: Path, tmp_path: Path, model: Server, flags: list[str], words: str
) -> None:
    ran = run_cli(
        "run", "slake", "--data", str(data), "--api-url", model.url, "--model", "m",
        "--out", str(tmp_path / "out"), *flags,
    )  # fmt: skip
    assert ran.code == 1 and words in ran.err and "Traceback" not in ran.err
    assert model.requests == [] and not (tmp_path / "out").exists()


def test_the_environment_fills_what_the_task_leaves_open(monkeypatch: pytest.MonkeyPatch) -> None:
    config = JudgeConfig.from_dict({"models": {"model_id": "j"}})
    assert resolved(config).models[0].api_url is None  # nobody else is ever asked
    monkeypatch.setenv("MODELSCOPE_API_BASE", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("MODELSCOPE_SDK_TOKEN", "token")
    monkeypatch.setenv("JUDGE_SYSTEM_PROMPT", "Be kind.")
    found = resolved(config)
    assert found.models[0].api_url == "http://127.0.0.1:1/v1"
    assert found.models[0].api_key == "$MODELSCOPE_SDK_TOKEN"
    assert found.contract.system_prompt == "Be kind."
    elsewhere = JudgeConfig.from_dict(
        {"models": {"model_id": "j", "api_url": "http://127.0.0.1:2"}}
    )
    assert resolved(elsewhere).models[0].api_key is None  # the token stays with its host
    monkeypatch.setenv("JUDGE_PROMPT_TEMPLATE", "grade {pred}")
    with pytest.raises(ConfigError, match="gold"):
        resolved(config)


def test_a_tasks_key_is_not_in_its_words() -> None:
    task = TaskConfig(judge=judge_at("http://127.0.0.1:9"))
    assert KEY not in repr(task) and KEY not in repr(JudgeConfig.from_dict(task.judge))
