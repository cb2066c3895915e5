"""What of `generation_config` goes out: the reference's temperature, its names, and no nonsense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import run_cli
from support.server import Server, reply, serve

from mmscore.cli import demo
from mmscore.config.evalscope import sent_options, unsent_options
from mmscore.config.task import TaskConfig
from mmscore.errors import ConfigError
from mmscore.model.endpoint import body_options
from mmscore.run.task import run_task

NOTHING: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("said", "eval_type", "sent"),
    [
        (NOTHING, None, {"temperature": 0.0}),
        (NOTHING, "openai_api", {"temperature": 0.0}),
        ({"max_tokens": 5}, None, {"max_tokens": 5, "temperature": 0.0}),
        ({"max_tokens": 5}, "openai_api", {"max_tokens": 5}),
        ({"temperature": None}, None, NOTHING),
        ({"temperature": None}, "openai_api", NOTHING),
        ({"temperature": 0.7, "seed": 1}, None, {"temperature": 0.7, "seed": 1}),
        ({"temperature": 1, "stop_seqs": ["a"]}, "server", {"temperature": 1, "stop": ["a"]}),
        ({"temperature": 1, "stop_seqs": ["a"]}, None, {"temperature": 1, "stop": ["a"]}),
        ({"temperature": 1, "do_sample": True}, "openai_api", {"temperature": 1}),
        ({"temperature": 1, "min_p": 0.1}, None, {"temperature": 1, "min_p": 0.1}),
        ({"temperature": 1, "top_p": None}, None, {"temperature": 1}),
    ],
)
def test_what_is_sent(said: dict[str, Any], eval_type: str | None, sent: dict[str, Any]) -> None:
    assert sent_options(said, eval_type) == sent


@pytest.mark.parametrize("steering", [{"timeout": 5}, {"retries": 1}, {"stream": False}])
def test_what_steers_the_client_is_not_in_the_body(steering: dict[str, Any]) -> None:
    task = TaskConfig(generation_config={**steering, "batch_size": 4, "retry_interval": 2})
    assert body_options(task) == {"temperature": 0.0}


def test_only_a_task_of_evalscope_s_leaves_options_out() -> None:
    said = {"do_sample": True, "seed": 1, "extra_body": {"a": 1}, "stop": "x", "top_k": None}
    assert unsent_options(said, "openai_api") == ["do_sample", "stop"]
    assert unsent_options(said, None) == []


@pytest.fixture
def slake(tmp_path: Path) -> Path:
    demo.draw(tmp_path / "slake")
    return tmp_path / "slake"


def temperatures(server: Server) -> set[Any]:
    return {request.json.get("temperature", "none") for request in server.requests}


@pytest.mark.parametrize(
    ("options", "temperature"),
    [((), 0.0), (("--generation", "temperature=null"), "none"),
     (("--generation", "temperature=0.3"), 0.3), (("--generation", "max_tokens=9"), 0.0)],
)  # fmt: skip
def test_every_door_sends_the_temperature(
    options: tuple[str, ...], temperature: Any, slake: Path, tmp_path: Path
) -> None:
    asked = ("slake", "--data", str(slake), "--model", "m", "--limit", "1")
    with serve(lambda _: reply("ANSWER: x")) as server:
        url = ("--api-url", server.url)
        ran = run_cli("run", *asked, *url, *options, "--out", str(tmp_path / "run"))
        assert ran.code == 0, ran.err
        run_cli("check", *asked, *url, *options)
        assert server.requests and temperatures(server) == {temperature}
    config = json.loads((tmp_path / "run" / "run.json").read_text())["config"]
    said = config["generation_config"].get("temperature", "none")
    assert said == (None if temperature == "none" else temperature), "the run says what was sent"


def test_eval_and_the_library_send_it_too(slake: Path, tmp_path: Path) -> None:
    arguments = {"slake": {"local_path": str(slake)}}
    with serve(lambda _: reply("ANSWER: x")) as server:
        run_cli(
            *("eval", "--model", "m", "--api-url", server.url, "--datasets", "slake"),
            *("--dataset-args", json.dumps(arguments), "--limit", "1"),
            *("--work-dir", str(tmp_path / "runs")),
        )
        run_task(
            TaskConfig(
                model="m", api_url=server.url, datasets=["slake"], limit=1, dataset_args=arguments,
                out=str(tmp_path / "out"),
            )
        )  # fmt: skip
        assert len(server.requests) == 8 and temperatures(server) == {0.0}


DEEP: Any = {}
for _ in range(200):
    DEEP = {"a": DEEP}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("generation_config", {"temperature": float("nan")}, "`generation_config.temperature`"),
        ("generation_config", {"extra_body": {"x": [1, float("inf")]}}, "extra_body.x[1]"),
        ("generation_config", {"seed": 10**400}, "expected a finite number"),
        ("generation_config", {"stop": "\ud83d"}, "`generation_config.stop`"),
        ("generation_config", {"a": {1, 2}}, "is a set, which JSON does not know"),
        ("generation_config", DEEP, "nested more than 64 deep"),
        ("generation_config", {"timeout": "soon"}, "`generation_config.timeout`"),
        ("generation_config", {"retries": -1}, "`generation_config.retries`"),
        ("dataset_args", {"slake": {"extra_params": DEEP}}, "dataset_args.slake.extra_params"),
        ("dataset_args", {"slake": {"local_path": 5}}, "`dataset_args.slake.local_path`"),
        ("dataset_args", {"slake": {"local_path": "a\0b"}}, "NUL"),
        ("judge", {"strategy": "rule", "models": DEEP}, "`judge` is nested"),
        ("model", "a\ud83d", "`model` holds"),
        ("repeats", 10**9, "`repeats`"),
        ("shard", 5, "`shard`"),
        ("api_key", 5, "`api_key` is a number, expected a string"),
    ],
)
def test_nonsense_is_told_by_its_field(field: str, value: Any, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TaskConfig.from_dict({field: value})
    assert words in caught.value.message and len(caught.value.message) < 300


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--generation", "temperature=NaN"), "`--generation.temperature` is `nan`"),
        (("--generation", '{"a": -Infinity}'), "`--generation.a` is `-inf`"),
        (("--judge", "[" * 100_000), "--judge holds broken JSON"),
        (("--timeout", "inf"), "--timeout is `inf`, expected seconds above 0"),
        (("--limit", "nan"), "--limit is `nan`"),
    ],
)
def test_nonsense_is_told_before_the_first_request(options: tuple[str, ...], words: str) -> None:
    ran = run_cli("run", "slake", "--model", "m", "--api-url", "http://127.0.0.1:9/v1", *options)
    assert ran.code == 1 and words in ran.err and "fault of mmscore" not in ran.err


def test_a_file_that_is_nested_too_deeply_is_the_user_s_error(tmp_path: Path) -> None:
    for name, text in (("a.toml", "a = " + "[" * 20_000), ("a.json", "[" * 100_000)):
        (tmp_path / name).write_text(text)
        ran = run_cli("run", "--config", str(tmp_path / name))
        assert ran.code == 1 and "fault of mmscore" not in ran.err and name in ran.err


MODEL = {"model_id": "j", "api_url": "http://j/v1"}


def test_evalscope_s_older_words_for_a_judge() -> None:
    task = TaskConfig.from_dict(
        {
            "judge_strategy": "llm",
            "judge_model_args": {
                "model_id": "j",
                "api_url": "http://j/v1",
                "score_type": "numeric",
            },
        }
    )
    assert task.judge == {
        "strategy": "llm", "models": [MODEL], "contract": {"score_type": "numeric"},
    }  # fmt: skip
    assert TaskConfig(judge_strategy="rule").judge == {  # type: ignore[call-arg]
        "strategy": "rule", "models": [], "contract": {},
    }  # fmt: skip


def test_a_limit_of_zero_is_none() -> None:
    assert TaskConfig(limit=0).limit is None
    assert TaskConfig(limit=0.0).limit is None
