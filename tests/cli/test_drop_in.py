"""EvalScope's and VLMEvalKit's commands, snippets and configurations, with one word changed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from support import SHARED, Ran, run_cli, script_path
from support.server import Request, Response, Server, reply, serve

from mmscore.benchmarks import BENCHMARKS
from mmscore.cli import demo
from mmscore.config.task import TaskConfig
from mmscore.errors import ConfigError, DataError
from mmscore.run.task import as_task, run_task

GUIDES = SHARED / "guides"
ENDPOINTS = (
    "OPENAI_API_COMPAT_URL",
    "https://dashscope.aliyuncs.com/compatible-mode/v1",
    "http://localhost:8000/v1/chat/completions",
)
KEYS = {"DASHSCOPE_API_KEY": "sk-test"}


def blocks(language: str) -> list[Any]:
    """The guides' code blocks of a language that name the reference, as parameters."""
    found = []
    for guide in sorted(GUIDES.glob("*.md")):
        text = guide.read_text(encoding="utf-8")
        fences = re.finditer(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
        for fence in fences:
            line = text[: fence.start()].count("\n") + 1
            if "evalscope" in fence[1] and "pip install" not in fence[1]:
                found.append(pytest.param(fence[1], id=f"{guide.stem}:{line}"))
    return found or [pytest.param("", marks=pytest.mark.skip(f"no guides at {GUIDES}"))]


def answer(request: Request) -> Response:
    """What a model says, and what a judge does."""
    if "verdict" in request.prompt:
        return reply('{"reasoning": "the same", "verdict": "A"}')
    return reply("ANSWER: A")


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(answer) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory like the one the guides are written for."""
    sets = SHARED / "datasets"
    if sets.is_dir():
        (tmp_path / "custom_eval").symlink_to(sets / "general" / "custom_eval")
        (tmp_path / "sets").mkdir()
        for name in ("slake", "count_qa", "pmc_vqa"):
            (tmp_path / "sets" / name).symlink_to(sets / name)
    monkeypatch.chdir(tmp_path)
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return tmp_path


def changed(text: str, url: str) -> str:
    """The one word changed, and the endpoint a loopback one."""
    for endpoint in ENDPOINTS:
        text = text.replace(endpoint, url)
    return text.replace("evalscope", "mmscore")


def skip_what_another_part_brings(text: str) -> None:
    missing = [name for name in ("count_qa", "pmc_vqa") if name in text and name not in BENCHMARKS]
    if missing:
        pytest.skip(f"no benchmark {missing[0]} yet")
    if "judge" in text and "judge" not in {field.name for field in fields(TaskConfig)}:
        pytest.skip("no judge yet")


def reports(folder: Path) -> list[Any]:
    return [json.loads(path.read_text()) for path in folder.rglob("report.json")]


# --- the guides ----------------------------------------------------------------------------------


@pytest.mark.parametrize("block", blocks("bash"))
def test_a_command_of_the_guides_runs(block: str, here: Path, server: Server) -> None:
    skip_what_another_part_brings(block)
    words = shlex.split(changed(block, server.url).replace("\\\n", " "), comments=True)
    assert words[:2] == ["mmscore", "eval"]
    ran = run_cli(*words[1:], "--dataset-dir", "sets", "--progress", "none")
    assert ran.code == 0, ran.err
    (report,) = reports(here / "outputs")
    assert report["num"] > 0 and report["status"]["ok"] == report["num"]
    # A judge is asked before the model, to see whether it answers.
    assert words[words.index("--model") + 1] in {one.json["model"] for one in server.requests}


@pytest.mark.parametrize("block", blocks("python"))
def test_a_snippet_of_the_guides_runs(block: str, here: Path, server: Server) -> None:
    skip_what_another_part_brings(block)
    if "config.yaml" in block:
        pytest.importorskip("yaml")
        lmu_data(here)
        (here / "config.yaml").write_text(changed(guide_configuration(), server.url))
    code = changed(block, server.url).replace("TaskConfig(", "TaskConfig(dataset_dir='sets', ", 1)
    # The guide's snippets follow each other on a page: one leaves out what another has imported.
    exec(compile(code, "snippet", "exec"), {"__name__": "snippet", "TaskConfig": TaskConfig})
    (report,) = reports(here / "outputs")
    assert report["num"] > 0


@pytest.mark.skipif(not GUIDES.is_dir(), reason=f"no guides at {GUIDES}")
def test_a_command_of_the_guides_runs_in_a_shell(here: Path, server: Server) -> None:
    text = next(p.values[0] for p in blocks("bash") if "general_vmcq" in str(p.values[0]))
    command = changed(str(text), server.url).replace("mmscore eval", f"'{script_path()}' eval")
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "general_vmcq" in ended.stdout.lower() or "General-VMCQ" in ended.stdout
    assert server.requests[0].headers["authorization"] == "Bearer sk-test"


# --- the forms themselves, without the guides ----------------------------------------------------


@pytest.fixture
def slake(here: Path) -> Path:
    demo.draw(here / "drawn" / "slake")
    return here / "drawn"


@pytest.fixture
def general(here: Path) -> Path:
    folder = here / "own" / "vqa"
    folder.mkdir(parents=True)
    asked = [{"role": "user", "content": "What is it?"}]
    lines = [{"messages": asked, "answer": "dog"}, {"messages": asked, "answer": "cat"}]
    (folder / "example.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def evaluate(server: Server, *words: str) -> Ran:
    return run_cli(
        *("eval", "--model", "m", "--api-url", server.url, "--api-key", "EMPTY"),
        *("--progress", "none", *words),
    )


def test_flags_mean_what_they_mean_there(slake: Path, here: Path, server: Server) -> None:
    ran = evaluate(
        server,
        *("--datasets", "slake", "--dataset-dir", str(slake), "--dataset-hub", "modelscope"),
        *("--limit", "2", "--eval-batch-size", "3", "--eval-type", "openai_api", "--seed", "1"),
        *("--generation-config", "temperature=0.5,max_tokens=64,stop_seqs=x,do_sample=True"),
        *("--repeats", "2", "--timeout", "30", "--ignore-errors", "--work-dir", "runs"),
        *("--dataset-args", '{"slake": {"subset_list": ["en_open"], "few_shot_num": 0}}'),
    )
    assert ran.code == 0, ran.err
    (report,) = reports(here / "runs")
    assert report["num"] == 4 and report["config"]["eval_batch_size"] == 3
    body = server.requests[0].json
    assert body["temperature"] == 0.5 and body["max_tokens"] == 64
    assert body["stop"] == "x"
    assert (
        "do_sample" not in body
        and "not sent, as EvalScope does not send it: `do_sample`" in ran.err
    )


def test_dataset_arguments_mean_what_they_mean_there(general: Path, server: Server) -> None:
    arguments = {
        "local_path": str(general),
        "subset_list": ["example"],
        "system_prompt": "Be brief.",
        "metric_list": ["bleu-1"],
        "max_image_bytes": "5MB",
        "extra_params": {"strict": True},
    }
    ran = evaluate(
        server,
        "--datasets",
        "general_vqa",
        "--dataset-args",
        json.dumps({"general_vqa": arguments}),
    )
    assert ran.code == 0, ran.err
    assert server.requests[0].json["messages"][0] == {"role": "system", "content": "Be brief."}
    (report,) = reports(Path("outputs"))
    assert set(report["overall"]) == {"bleu-1"}


def test_several_datasets_and_no_timestamp(general: Path, slake: Path, server: Server) -> None:
    ran = evaluate(
        server,
        *("--datasets", "slake", "general_vqa", "--limit", "1", "--dataset-dir", str(slake)),
        *("--dataset-args", json.dumps({"general_vqa": {"local_path": str(general)}})),
        *("--work-dir", "fixed", "--no-timestamp"),
    )
    assert ran.code == 0, ran.err
    assert Path("fixed/slake/report.json").is_file()
    assert Path("fixed/general_vqa/report.json").is_file()


def test_a_run_goes_on_with_use_cache(general: Path, server: Server) -> None:
    arguments = ("--dataset-args", json.dumps({"general_vqa": {"local_path": str(general)}}))
    ask = ("--datasets", "general_vqa", *arguments)
    evaluate(server, *ask, "--limit", "1", "--work-dir", "first", "--no-timestamp")
    ran = evaluate(server, *ask, "--use-cache", "first", "--rerun-review")
    assert ran.code == 0, ran.err
    assert len(server.requests) == 2, "only the second sample is asked"
    scores = Path("first/scores.jsonl").read_text().splitlines()
    assert len(scores) == 3, "the kept reply is scored anew"


def test_a_dry_run_sends_nothing(general: Path, server: Server) -> None:
    arguments = json.dumps({"general_vqa": {"local_path": str(general)}})
    ran = evaluate(server, "--datasets", "general_vqa", "--dataset-args", arguments, "--dry-run")
    assert ran.code == 0 and "total: 2 requests" in ran.out
    assert not server.requests


def test_the_snippet_of_the_readme_of_the_reference(general: Path, server: Server) -> None:
    from mmscore import run_task as exported
    from mmscore.constants import EvalType

    task = TaskConfig(
        model="m",
        api_url=server.url,
        api_key="EMPTY",
        eval_type=EvalType.OPENAI_API,
        datasets=["general_vqa"],
        dataset_args={"general_vqa": {"local_path": str(general), "subset_list": ["example"]}},
        generation_config={"n": 2, "stop_seqs": ["END"], "stream": False},
        eval_batch_size=5,
        limit=1,
    )
    result = exported(task_cfg=task)
    assert result["general_vqa"].report.main.num == 2, "`n` are repeats"
    assert server.requests[0].json["stop"] == ["END"]


def test_a_configuration_that_the_reference_wrote_itself(general: Path, server: Server) -> None:
    task = {
        "model": "m", "model_id": "My-Model", "model_args": {}, "model_task": "text_generation",
        "chat_template": None, "datasets": ["general_vqa"],
        "dataset_args": {"general_vqa": {"local_path": str(general), "few_shot_num": None}},
        "dataset_dir": "~/.cache/modelscope/hub/datasets", "dataset_hub": "modelscope",
        "repeats": 1, "generation_config": {"temperature": 0.0, "batch_size": 8},
        "eval_type": "openai_api", "eval_backend": "Native", "eval_config": None, "limit": None,
        "eval_batch_size": 8, "use_cache": None, "rerun_review": False, "work_dir": "outputs",
        "no_timestamp": False, "enable_progress_tracker": False, "ignore_errors": False,
        "debug": False, "dry_run": False, "seed": 42, "api_url": server.url, "api_key": "EMPTY",
        "timeout": None, "stream": None, "analysis_report": False, "collect_perf": True,
        "sandbox": {"enabled": False}, "use_sandbox": False, "sandbox_type": "docker",
        "sandbox_manager_config": {}, "agent_config": None, "evalscope_version": "1.14.1",
    }  # fmt: skip
    result = run_task(task)["general_vqa"]
    assert result.report.main.num == 2 and result.report.model == "My-Model"
    assert server.requests[0].json["model"] == "m"
    assert "batch_size" not in server.requests[0].json


# --- what is not supported is named --------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "named", "hint"),
    [
        ({"modle": "m"}, "`modle`", "`model`"),
        ({"eval_batchsize": 8}, "`eval_batchsize`", "`eval_batch_size`"),
        ({"eval_type": "llm_ckpt"}, "`llm_ckpt`", "openai_api"),
        ({"eval_type": "mock_llm"}, "`mock_llm`", "openai_api"),
        ({"eval_backend": "OpenCompass"}, "`OpenCompass`", "VLMEvalKit"),
        ({"eval_config": {"model": []}}, "`eval_backend`", "VLMEvalKit"),
        ({"dataset_hub": "kaggle"}, "`kaggle`", "huggingface"),
        ({"model_args": {"precision": "fp16"}}, "`model_args`", "leave"),
        ({"model_task": "image_generation"}, "`model_task`", "leave"),
        ({"chat_template": "{{ x }}"}, "`chat_template`", "leave"),
        ({"sandbox": {"enabled": True}}, "`sandbox`", "leave"),
        ({"agent_config": {"mode": "native"}}, "`agent_config`", "leave"),
        ({"analysis_report": True}, "`analysis_report`", "leave"),
        ({"enable_progress_tracker": True}, "`enable_progress_tracker`", "leave"),
        ({"generation_config": {"response_schema": {"a": "b"}}}, "response_schema", "extra_body"),
        ({"judge_strategy": "llm", "judge": {"strategy": "rule"}}, "`judge_strategy`", "`judge`"),
        ({"judge_model_args": {"score_pattern": "x"}}, "score_pattern", "score_mapping"),
        ({"dataset_args": {"slake": {"few_shot_num": 5}}}, "few_shot_num", None),
        ({"dataset_args": {"slake": {"shuffle_choices": True}}}, "shuffle_choices", "order"),
        ({"dataset_args": {"slake": {"subset_lst": ["a"]}}}, "`subset_lst`", "`subset_list`"),
        ({"dataset_args": {"slake": {"subset_list": "en_open"}}}, "subset_list", None),
        ({"dataset_args": {"slake": 5}}, "dataset_args.slake", None),
        ({"use_cache": "a", "resume": "b"}, "`resume`", None),
    ],
)
def test_what_is_not_supported_is_named(task: dict[str, Any], named: str, hint: str | None) -> None:
    with pytest.raises(ConfigError) as caught:
        as_task(task)
    assert named in caught.value.message
    assert hint is None or hint in f"{caught.value.message} {caught.value.hint}"
    assert "\n" not in caught.value.message


def test_a_wrong_keyword_of_the_class_is_named_too() -> None:
    with pytest.raises(ConfigError, match="`modle`") as caught:
        TaskConfig(modle="m")  # type: ignore[call-arg]
    assert caught.value.__notes__ == ["hint: did you mean `model`?"], "a traceback shows it"
    with pytest.raises(ConfigError, match="`sandbox`"):
        TaskConfig(sandbox={"enabled": True})  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--dataset-args", "{broken"), "--dataset-args holds broken JSON"),
        (("--dataset-args", "[1]"), "--dataset-args holds a list"),
        (("--generation-config", "temperature"), "expected key=value"),
        (("--judge", "llm"), "--judge holds broken JSON"),
        (("--model-args", "precision=fp16"), "`model_args`"),
        (("--eval-config", "{}"), "--eval-backend"),
        (("--use-cache", "nowhere"), "holds no run of `general_vqa`"),
    ],
)
def test_a_wrong_flag_is_one_sentence(
    words: tuple[str, str], sentence: str, general: Path, server: Server
) -> None:
    arguments = ("--dataset-args", json.dumps({"general_vqa": {"local_path": str(general)}}))
    ran = evaluate(server, "--datasets", "general_vqa", *arguments, *words)
    assert ran.code == 1 and sentence in ran.err
    assert not server.requests


@pytest.mark.parametrize(
    ("given", "meant"), [(10, 10), (10.0, 10), (1.0, 1), (1, 1), (0.5, 0.5), (None, None)]
)
def test_a_limit_means_what_it_means_there(given: Any, meant: Any) -> None:
    limit = TaskConfig(limit=given).limit
    assert limit == meant and type(limit) is type(meant)


def test_a_list_of_tasks_is_refused_in_a_sentence() -> None:
    with pytest.raises(ConfigError, match="found list"):
        run_task([TaskConfig(), TaskConfig()])  # type: ignore[arg-type]


def test_a_metric_that_is_none_is_named(general: Path) -> None:
    arguments = {"local_path": str(general), "metric_list": ["bleu-9"]}
    with pytest.raises(ConfigError, match="no metric `bleu-9`"):
        run_task({"datasets": ["general_vqa"], "dataset_args": {"general_vqa": arguments}})


@pytest.mark.parametrize("name", ["slake", "general_vmcq", "tsv_mcq", "tsv_vqa"])
def test_a_template_that_never_asks_is_refused(name: str, here: Path) -> None:
    arguments = {"local_path": str(here), "prompt_template": "Answer briefly. {questoin}"}
    with pytest.raises(ConfigError, match=r"no `\{question\}`"):
        run_task({"datasets": [name], "dataset_args": {name: arguments}, "model": "m"})


def test_arguments_of_no_benchmark_are_a_slip(general: Path) -> None:
    with pytest.raises(ConfigError, match="unknown benchmark `general_vqua`"):
        run_task({"datasets": ["general_vqa"], "dataset_args": {"general_vqua": {}}})


def test_the_folder_of_a_run_of_the_reference_is_named(
    general: Path, tmp_path: Path, server: Server
) -> None:
    (tmp_path / "there" / "predictions" / "m").mkdir(parents=True)
    arguments = {"general_vqa": {"local_path": str(general)}}
    with pytest.raises(DataError, match="run folder of EvalScope") as caught:
        run_task({
            "model": "m", "api_url": server.url, "datasets": ["general_vqa"],
            "dataset_args": arguments, "use_cache": str(tmp_path / "there"),
        })  # fmt: skip
    assert "--replies" in str(caught.value.hint)


# --- VLMEvalKit ----------------------------------------------------------------------------------


def guide_configuration() -> str:
    text = (GUIDES / "custom_multimodal.md").read_text(encoding="utf-8")
    found = re.search(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


MCQ = """index\tcategory\tanswer\tquestion\tA\tB\tC
1\tShapes\tA\tWhich shape?\tCircle\tSquare\tNone
2\tColors\tB\tWhich color?\tRed\tBlue\t
"""
VQA = """index\tanswer\tquestion
1\tCircle\tWhich shape?
"""


def lmu_data(home: Path) -> Path:
    folder = Path("~/LMUData").expanduser()
    folder.mkdir(exist_ok=True)
    (folder / "custom_mcq.tsv").write_text(MCQ)
    (folder / "custom_mcq_2.tsv").write_text(MCQ)
    (folder / "custom_vqa.tsv").write_text(VQA)
    return folder


def configuration(url: str, **changes: Any) -> dict[str, Any]:
    model = {"type": "qwen-vl-chat", "name": "CustomAPIModel", "api_base": url, "key": "EMPTY"}
    config = {
        "model": [{**model, "temperature": 0.0, "img_size": -1, **changes.pop("of_model", {})}],
        "data": ["custom_mcq"],
        "mode": "all",
        "limit": 10,
        "reuse": False,
        "work_dir": "outputs",
        "nproc": 1,
    }
    return {"eval_backend": "VLMEvalKit", "eval_config": {**config, **changes}}


def test_a_configuration_of_vlmevalkit_runs(here: Path, server: Server) -> None:
    lmu_data(here)
    url = server.url + "/v1/chat/completions"
    result = run_task(configuration(url))["tsv_mcq"]
    assert result.report.main.num == 2 and result.report.main.score == 0.5
    assert [row.name for row in result.report.groups["category"]] == ["Colors", "Shapes"]
    body = server.requests[0].json
    assert body["model"] == "qwen-vl-chat" and body["temperature"] == 0.0
    assert server.requests[0].path == "/v1/chat/completions"
    assert result.folder.parent == Path("outputs")


@pytest.mark.parametrize("suffix", ["json", "toml", "yaml"])
def test_it_may_be_in_any_kind_of_file(suffix: str, here: Path, server: Server) -> None:
    lmu_data(here)
    config = configuration(server.url)
    path = here / f"config.{suffix}"
    if suffix == "toml":
        path.write_text(
            'eval_backend = "VLMEvalKit"\n[eval_config]\ndata = ["custom_mcq"]\n'
            '[[eval_config.model]]\ntype = "m"\nname = "CustomAPIModel"\n'
            f'api_base = "{server.url}"\n'
        )
    else:  # JSON is YAML too
        path.write_text(json.dumps(config))
    if suffix == "yaml":
        pytest.importorskip("yaml")
    assert run_task(task_cfg=str(path))["tsv_mcq"].report.main.num == 2
    ran = run_cli("run", "--config", str(path), "--progress", "none")
    assert ran.code == 0 and "custom_mcq" in ran.out, ran.err


def test_tables_of_both_kinds_and_two_of_one(here: Path, server: Server) -> None:
    lmu_data(here)
    data = ["custom_mcq", "custom_mcq_2", "custom_vqa"]
    results = run_task(configuration(server.url, data=data))
    assert [row.name for row in results["tsv_mcq"].report.scores] == ["custom_mcq", "custom_mcq_2"]
    assert results["tsv_vqa"].report.metrics == ("exact_match",)


def test_the_data_folder_is_the_variable_s(
    here: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    lmu_data(here).rename(here / "elsewhere")
    monkeypatch.setenv("LMUData", str(here / "elsewhere"))
    assert run_task(configuration(server.url))["tsv_mcq"].report.main.num == 2


def test_reuse_goes_on_with_the_latest_run(here: Path, server: Server) -> None:
    lmu_data(here)
    first = run_task(configuration(server.url, limit=1))["tsv_mcq"]
    second = run_task(configuration(server.url, reuse=True))["tsv_mcq"]
    assert second.folder == first.folder and len(server.requests) == 2


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"data": ["custom_mqc"]}, "no data set `custom_mqc`"),
        ({"data": []}, "names no data set"),
        ({"data": ["../custom_mcq"]}, "a name without a path"),
        ({"mode": "infer"}, "eval_config.mode"),
        ({"judge": "chatgpt-0125"}, "eval_config.judge"),
        ({"datas": ["x"]}, "unknown key `datas`"),
        ({"model": ["qwen_chat"]}, "`qwen_chat`"),
        ({"model": [{"name": "llava_v1.5_7b"}]}, "`llava_v1.5_7b`"),
        ({"of_model": {"img_size": 448}}, "img_size"),
        ({"of_model": {"api_bas": "x"}}, "unknown key `api_bas`"),
    ],
)
def test_what_it_asks_beyond_is_named(
    changes: dict[str, Any], sentence: str, here: Path, server: Server
) -> None:
    lmu_data(here)
    with pytest.raises((ConfigError, DataError)) as caught:
        run_task(configuration(server.url, **changes))
    assert sentence in caught.value.message
    assert not server.requests
