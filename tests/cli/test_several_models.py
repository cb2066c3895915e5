"""Several models in one command, and the table over runs."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from support import Ran, run_cli
from support.runs import sample, write_run
from support.server import Request, Response, reply, serve

from mmscore import TaskConfig, run_task


@pytest.fixture
def answers(data: Path) -> dict[str, str]:
    rows = json.loads((data / "test.json").read_text(encoding="utf-8"))
    return {row["question"]: row["answer"] for row in rows}


@pytest.fixture
def oracle(answers: dict[str, str]) -> Any:
    def answer(request: Request) -> Response:
        right = json.loads(request.body)["model"] == "good"
        return reply(f"ANSWER: {answers[request.prompt.splitlines()[0]] if right else 'x'}")

    return answer


def run(data: Path, url: str, out: Path, *more: str) -> Ran:
    return run_cli(
        *("run", "slake", "--data", str(data), "--api-url", url, "--out", str(out), *more)
    )


def test_each_model_has_its_folder_and_all_are_in_one_table(
    data: Path, oracle: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with serve(oracle) as server:
        ran = run(data, server.url, out, "--model", "good", "--model", "org/bad:7b")
    assert ran.code == 0, ran.err
    assert sorted(path.name for path in out.iterdir()) == ["good", "org-bad-7b"]
    last = ran.out[ran.out.rindex("┌") :]
    assert "100%*" in last and "org/bad:7b" in last and "0%" in last
    assert "better than the next one" in last


def test_json_of_several_is_one_array(data: Path, oracle: Any, tmp_path: Path) -> None:
    with serve(oracle) as server:
        ran = run(data, server.url, tmp_path, "--model", "good", "--model", "bad", "--json")
    assert [report["model"] for report in json.loads(ran.out)] == ["good", "bad"]


def test_a_task_names_services_of_their_own(data: Path, oracle: Any, tmp_path: Path) -> None:
    with serve(oracle) as one, serve(oracle) as other:
        results = run_task(
            TaskConfig(
                datasets=["slake"],
                dataset_args={"slake": {"local_path": str(data)}},
                work_dir=str(tmp_path),
                api_url=one.url,
                services=[
                    {"model": "good"},
                    {"model": "good", "model_id": "twin", "api_url": other.url},
                ],
            )
        )
        assert len(one.requests) == len(other.requests) == 24
    assert sorted(results) == ["good/slake", "twin/slake"]


@pytest.mark.parametrize(
    ("services", "words"),
    [
        ([{"model": "a"}, {"model": "a"}], "both called `a`"),
        ([{"model": "a", "modl": 1}], "unknown field `modl`"),
        (["a"], "entry 1 is a string"),
    ],
)
def test_services_that_are_none_are_told(tmp_path: Path, services: Any, words: str) -> None:
    task = tmp_path / "task.json"
    task.write_text(
        json.dumps({"datasets": ["slake"], "api_url": "http://127.0.0.1:1", "services": services})
    )
    ran = run_cli("run", "--config", str(task))
    assert ran.code == 1 and words in ran.err
    assert run_cli("run", "slake", "--model", "a", "--model", "a").code == 1


# --- the table over runs --------------------------------------------------------------------------


def drawn(folder: Path, model: str, right: int, **info: Any) -> Path:
    samples = [sample(n, float(n < right)) for n in range(40)]
    return write_run(folder, samples, model=model, **info)


def table(*words: str) -> Any:
    ran = run_cli("table", *words)
    assert ran.code == 0, ran.err
    return ran.out


def test_only_what_is_surely_better_is_marked(tmp_path: Path) -> None:
    drawn(tmp_path / "a", "first", 38)
    drawn(tmp_path / "b", "close", 37)
    cells = {cell["model"]: cell for cell in json.loads(table(str(tmp_path), "--json"))["cells"]}
    assert not any(cell["best"] for cell in cells.values())
    drawn(tmp_path / "b", "far", 10)
    cells = {cell["model"]: cell for cell in json.loads(table(str(tmp_path), "--json"))["cells"]}
    assert cells["first"]["best"] and not cells["far"]["best"]
    assert cells["first"]["score"] == 38 / 40 and cells["first"]["num"] == 40


def test_runs_of_unlike_data_have_no_best(tmp_path: Path) -> None:
    drawn(tmp_path / "a", "m", 40)
    drawn(tmp_path / "b", "n", 1, fingerprints={"data": "other", "prompt": "p", "scorer": "s"})
    out = table(str(tmp_path))
    assert "*" not in out and "of unlike data" in out


def test_of_two_runs_of_one_model_the_later_counts(tmp_path: Path) -> None:
    drawn(tmp_path / "a", "m", 40, started="2026-01-02T00:00:00+00:00")
    drawn(tmp_path / "b", "m", 1, started="2026-01-01T00:00:00+00:00")
    out = table(str(tmp_path))
    assert "100%" in out and "not the earlier one" in " ".join(out.split())


def test_the_forms_of_the_table(tmp_path: Path) -> None:
    drawn(tmp_path / "a", "=m|x", 40)
    rows = list(csv.DictReader(io.StringIO(table(str(tmp_path / "a"), "--format", "csv"))))
    assert rows[0]["score"] == "1.0" and rows[0]["model"] == "'=m|x"
    markdown = table(str(tmp_path / "a"), "--format", "markdown")
    assert markdown.startswith("| Model | slake |") and "=m\\|x" in markdown


def test_no_run_is_named(tmp_path: Path) -> None:
    ran = run_cli("table", str(tmp_path))
    assert ran.code == 1 and "holds no run" in ran.err
    folder = drawn(tmp_path / "a", "m", 1)
    (folder / "report.json").write_text('{"schema_version": 1}')
    ran = run_cli("table", str(folder))
    assert ran.code == 1 and "no report that this version reads" in ran.err
