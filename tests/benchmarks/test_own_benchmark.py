"""A benchmark of the user's own: the README's example, and every way such a file can be wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, run_cli
from support.server import Request, Response, Server, reply, serve

from mmscore.benchmarks import find
from mmscore.run.task import run_task

TABLE = """index\tanswer\tquestion\tcategory
1\tCircle\tWhich shape?\tShapes
2\tBlue\tWhich color?\tColors
"""

HEAD = """
from mmscore.benchmarks.own_class import Benchmark, image, read

def load(files):
    return read(files.path("custom_vqa.tsv"))

def prompt(row):
    return row["question"]

def score(answer, sample):
    return answer == sample.target
"""
END = '\nBENCHMARK = Benchmark(name="my_task", load=load, prompt=prompt, score=score)\n'


def example() -> str:
    """The example of the README's section."""
    section = (ROOT / "README.md").read_text(encoding="utf-8").partition("Your own benchmark")[2]
    found = re.search(r"^```python\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert found, "the README has no example of a benchmark of one's own"
    return found[1]


def write(folder: Path, code: str) -> str:
    path = folder / "my_task.py"
    path.write_text(code, encoding="utf-8")
    (folder / "custom_vqa.tsv").write_text(TABLE, encoding="utf-8")
    return str(path)


def answer(request: Request) -> Response:
    return reply("Circle" if "shape" in request.prompt else "blue")


@pytest.fixture
def server() -> Iterator[Server]:
    with serve(answer) as running:
        yield running


def run(file: str, server: Server, *more: str) -> Any:
    out = str(Path(file).parent / "out")
    words = ("run", file, "--model", "m", "--api-url", server.url, "--out", out)
    return run_cli(*words, "--progress", "none", *more)


def test_the_example_of_the_readme_runs(tmp_path: Path, server: Server) -> None:
    ran = run(write(tmp_path, example()), server)
    assert ran.code == 0, ran.err
    assert server.requests[0].prompt.endswith("\n用一个单词或短语回答问题。")
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["overall"] == {"exact_match": 0.5} and report["num"] == 2
    assert report["dataset"] and "By category" in ran.out


def test_all_that_a_built_in_benchmark_can(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, HEAD + END)
    monkeypatch.chdir(tmp_path)
    ran = run(file, server, "--limit", "1", "--repeats", "2")
    assert ran.code == 0, ran.err
    out = str(tmp_path / "out")
    assert run_cli("score", out).code == 0
    assert run_cli("report", out, "--json").code == 0
    resumed = run_cli("run", "--resume", out, "--api-url", server.url, "--progress", "none")
    assert resumed.code == 0, resumed.err
    assert len(server.requests) == 2, "nothing is asked twice"
    told = run_cli("info", file)
    assert "2 samples" in told.out, told.err


def test_it_runs_from_python_and_beside_others(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, HEAD + END)
    monkeypatch.chdir(tmp_path)
    result = run_task({"model": "m", "api_url": server.url, "datasets": ["my_task.py"]})
    assert result["my_task"].report.main.score == 0.5


def test_arguments_may_name_the_file_or_the_benchmark(tmp_path: Path, server: Server) -> None:
    file = write(tmp_path, HEAD + END)
    for key in (file, "my_task"):
        task = {"model": "m", "api_url": server.url, "datasets": [file],
                "dataset_args": {key: {"system_prompt": "Be brief."}},
                "work_dir": str(tmp_path / "runs")}  # fmt: skip
        run_task(task)
        assert server.requests[-1].json["messages"][0]["content"] == "Be brief."


def test_media_messages_and_scores_of_several_kinds(tmp_path: Path, server: Server) -> None:
    code = """
from mmscore.benchmarks.own_class import Benchmark, Message, image

def load(files):
    yield {"id": "a", "answer": "Circle", "picture": "http://127.0.0.1:9/x.png", "kind": ["k"]}
    yield {"id": 7, "answer": 1, "picture": None}

def prompt(row):
    if row["picture"]:
        return ["shape in", image(row["picture"]), "?"]
    return [Message("system", "S"), Message("user", "hello")]

def parse(reply, sample):
    return reply if sample.metadata.get("kind") else None

def score(answer, sample):
    return {"right": answer == sample.target, "length": 0.25} if answer else None

BENCHMARK = Benchmark(name="own", title="Own", load=load, prompt=prompt, parse=parse, score=score,
                      metrics=("right", "length"), groups=("kind",))
"""
    ran = run(write(tmp_path, code), server, "--concurrency", "1")
    assert ran.code == 0, ran.err
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["overall"] == {"right": 1.0, "length": 0.25}
    assert report["coverage"]["no_score"] == 1
    content = server.requests[0].json["messages"][0]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text"]
    assert server.requests[1].json["messages"] == [
        {"role": "system", "content": "S"}, {"role": "user", "content": "hello"},
    ]  # fmt: skip


def test_a_benchmark_in_mmscore_s_own_words_serves_too(tmp_path: Path) -> None:
    code = "from mmscore.benchmarks.slake import BENCHMARK as B\nfrom dataclasses import replace\n"
    found = find(write(tmp_path, code + 'BENCHMARK = replace(B, name="mine")\n'))
    assert found.name == "mine" and found.file == (tmp_path / "my_task.py").resolve()


def test_a_changed_file_is_another_scorer(tmp_path: Path) -> None:
    first = find(write(tmp_path, HEAD + END)).scorer
    assert find(write(tmp_path, HEAD + "# changed\n" + END)).scorer != first


def test_it_may_import_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "my_helper_of_my_task.py").write_text("NAME = 'helped'\n")
    code = "from my_helper_of_my_task import NAME\n" + HEAD + END.replace('"my_task"', "NAME")
    assert find(write(tmp_path, code)).name == "helped"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("x = (", "my_task.py` line 1 is no Python"),
        ("raise RuntimeError('no luck')", "line 1 raised RuntimeError: no luck"),
        ("import nothing_of_that_name", "line 1 raised ModuleNotFoundError"),
        ("raise SystemExit", "line 1 raised SystemExit"),
        ("x = 1", "defines no `BENCHMARK`"),
        ("BENCHMARK = 5", "defines `BENCHMARK` as `int`"),
        (HEAD + END.replace("score=score", "score=1"), "`score` of"),
        (HEAD + END.replace('"my_task"', '""'), "has the name ''"),
        (HEAD + END.replace('"my_task"', '"slake"'), "is a benchmark of mmscore"),
        (HEAD + END.replace("score=score", "score=score, metrics='accuracy'"), "names in a tuple"),
        (HEAD + END.replace(", score=score", ""), "raised TypeError"),
        (HEAD.replace("custom_vqa.tsv", "nowhere.tsv") + END, "no `nowhere.tsv`"),
        (HEAD.replace('return read(files.path("custom_vqa.tsv"))', "return 1 / 0") + END,
         "`load` of"),
        (HEAD.replace('return read(files.path("custom_vqa.tsv"))', "yield 1 / 0") + END,
         "line 5 raised ZeroDivisionError: division by zero"),
        (HEAD.replace('return read(files.path("custom_vqa.tsv"))', "return [1]") + END,
         "gave `int`, expected mappings"),
        (HEAD.replace('row["question"]', 'row["qestion"]') + END, "line 8 raised KeyError"),
        (HEAD.replace('row["question"]', "exit(0)") + END, "line 8 raised SystemExit"),
        (HEAD.replace('return read(files.path("custom_vqa.tsv"))', "exit(0)") + END,
         "`load` of"),
        (HEAD.replace('row["question"]', "5") + END, "`prompt` gave `int`"),
        (HEAD.replace('row["question"]', "[5]") + END, "part 1 of the prompt is `int`"),
        (HEAD.replace('row["question"]', '[image("nowhere.png")]') + END, "cannot be found"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_before_a_request(
    code: str, sentence: str, tmp_path: Path, server: Server
) -> None:
    ran = run(write(tmp_path, code), server)
    assert ran.code == 1 and sentence in ran.err, ran.err
    assert "Traceback" not in ran.err and not server.requests


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("return 1 / 0", "line 11 raised ZeroDivisionError: division by zero for sample `"),
        ("exit(0)", "line 11 raised SystemExit: 0 for sample `"),
        ("return 'good'", "gave `good` as `accuracy`"),
        ("return 42", "gave `42` as `accuracy`"),
        ("return -0.5", "expected a number from 0 to 1"),
        ("return float('nan')", "gave `nan`"),
        ("return {'f1': 1.0}", "gave `f1`"),
        ("return [1.0]", "gave `[1.0]`"),
    ],
)
def test_a_score_that_is_nonsense_stops_the_run_and_keeps_the_replies(
    body: str, sentence: str, tmp_path: Path, server: Server
) -> None:
    code = HEAD.replace("return answer == sample.target", body) + END
    ran = run(write(tmp_path, code), server, "--concurrency", "1")
    assert ran.code == 1 and sentence in ran.err, ran.err
    assert "Traceback" not in ran.err
    file = write(tmp_path, HEAD + END)
    resumed = run_cli("run", file, "--resume", str(tmp_path / "out"), "--api-url", server.url)
    assert resumed.code == 0, resumed.err
    assert len(server.requests) == 2, "what was answered is not asked again"


def test_a_parse_that_fails_names_the_sample(tmp_path: Path, server: Server) -> None:
    code = HEAD + "\ndef parse(reply, sample):\n    return 5\n"
    ran = run(
        write(tmp_path, code + END.replace("score=score", "score=score, parse=parse")), server
    )
    assert ran.code == 1 and "gave `int` for sample `" in ran.err


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = run_cli("info", str(tmp_path / "nowhere.py"))
    assert ran.code == 1 and "no benchmark file" in ran.err
