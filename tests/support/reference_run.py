"""EvalScope itself, run as a script by the interpreter that has it: tasks in, results out.

A line of standard input is one order in JSON, a line of standard output its answer, so one process
(the import alone takes seconds) serves any number of tasks.

    {"task": {...}}                            -> {"reports": ..., "samples": ...} or {"error": ...}
    {"parquet": PATH, "rows": [...], ...}      -> {}
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import logging
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")


def run(task: dict[str, Any]) -> dict[str, Any]:
    """The reports of a task, and the scores of each sample."""
    from evalscope.config import TaskConfig
    from evalscope.run import run_task

    with tempfile.TemporaryDirectory() as folder:
        try:
            run_task(TaskConfig(**task, work_dir=folder, no_timestamp=True))
        except BaseException as error:  # whatever ends a run is its result
            return {"error": f"{type(error).__name__}: {error}"[:2000]}
        return {
            "reports": {one.stem: _report(_read(one)) for one in Path(folder).glob("reports/*/*")},
            "samples": {
                one.stem: [_scored(json.loads(line)) for line in one.open(encoding="utf-8")]
                for one in Path(folder).glob("reviews/*/*.jsonl")
            },
        }


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _report(report: dict[str, Any]) -> dict[str, Any]:
    """Metric -> its score over all, and of each subset number and score."""
    return {
        _name(metric["identity"]): {
            "score": metric["score"],
            "macro": metric["macro_score"],
            "num": metric["num"],
            "subsets": {
                subset["name"]: [subset["num"], subset["score"]]
                for category in metric["categories"]
                for subset in category["subsets"]
            },
        }
        for metric in report["metrics"]
    }


def _name(identity: dict[str, Any]) -> str:
    dimensions = [str(value) for _, value in sorted(identity["dimensions"].items())]
    return " ".join([identity["name"], *dimensions])


def _scored(review: dict[str, Any]) -> dict[str, Any]:
    score = review["sample_score"]["score"]
    return {
        "index": review["index"],
        "target": review["target"],
        "extracted": score["extracted_prediction"],
        "value": score["value"],
        "status": score["status"],
    }


def write_parquet(path: str, rows: list[dict[str, Any]]) -> None:
    """Write rows to a Parquet file; `{"base64": TEXT}` stands for bytes."""
    import pyarrow
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([_bytes(row) for row in rows]), path)


def _bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_bytes(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"base64"}:
            return base64.b64decode(value["base64"])
        return {key: _bytes(item) for key, item in value.items()}
    return value


def main() -> None:
    """Serve orders until there are no more."""
    home = tempfile.mkdtemp()
    os.environ.update(HF_HOME=home, MODELSCOPE_CACHE=home, HOME=home)
    answers, sys.stdout = sys.stdout, io.StringIO()
    logging.disable(logging.CRITICAL)
    try:
        for line in sys.stdin:
            order = json.loads(line)
            with contextlib.redirect_stderr(io.StringIO()):
                if "task" in order:
                    answer = run(order["task"])
                else:
                    answer = {}
                    write_parquet(order["parquet"], order["rows"])
            print(json.dumps(answer), file=answers, flush=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
