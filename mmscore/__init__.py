"""Evaluate vision-language models behind any OpenAI-compatible endpoint.

`run_task` runs a benchmark; the scoring functions serve other tools. Nothing is imported before it
is used, so `import mmscore` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmscore.api import (
        check,
        compare,
        compare_page,
        compare_several,
        fetch,
        merge,
        score_replies_file,
        score_run,
        table,
    )
    from mmscore.config.task import TaskConfig
    from mmscore.errors import MmscoreError
    from mmscore.plan.events import Events
    from mmscore.report.result import Result
    from mmscore.run.task import run_task
    from mmscore.scoring.answers import (
        infer_option,
        normalize_answer,
        parse_answer_line,
        parse_choice,
        parse_count,
    )
    from mmscore.scoring.batch import score_replies
    from mmscore.scoring.metrics import bleu, bleu_list, rouge, rouge_list

__all__ = [
    "Events",
    "MmscoreError",
    "Result",
    "TaskConfig",
    "__version__",
    "bleu",
    "bleu_list",
    "check",
    "compare",
    "compare_page",
    "compare_several",
    "fetch",
    "infer_option",
    "merge",
    "normalize_answer",
    "parse_answer_line",
    "parse_choice",
    "parse_count",
    "report",
    "rouge",
    "rouge_list",
    "run_task",
    "score_replies",
    "score_replies_file",
    "score_run",
    "table",
]

_HOMES = {
    **dict.fromkeys(
        (
            *("check", "compare", "compare_page", "compare_several", "fetch", "merge"),
            *("score_replies_file", "score_run", "table"),
        ),
        "mmscore.api",
    ),
    "Events": "mmscore.plan.events",
    "MmscoreError": "mmscore.errors",
    "Result": "mmscore.report.result",
    "TaskConfig": "mmscore.config.task",
    "bleu": "mmscore.scoring.metrics",
    "bleu_list": "mmscore.scoring.metrics",
    "infer_option": "mmscore.scoring.answers",
    "normalize_answer": "mmscore.scoring.answers",
    "parse_answer_line": "mmscore.scoring.answers",
    "parse_choice": "mmscore.scoring.answers",
    "parse_count": "mmscore.scoring.answers",
    "rouge": "mmscore.scoring.metrics",
    "rouge_list": "mmscore.scoring.metrics",
    "run_task": "mmscore.run.task",
    "score_replies": "mmscore.scoring.batch",
}
"""Name -> the module that defines it, imported on first use. `report` is missing: the name is a
room of the package, which can be called."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from mmscore.version import VERSION

        return VERSION
    if name not in _HOMES:
        raise AttributeError(f"module `mmscore` has no attribute `{name}`")
    from importlib import import_module

    try:
        value = getattr(import_module(_HOMES[name]), name)
    except ImportError as error:
        if error.name == "mmscore" or "_core" in str(error):
            error.add_note(f"{__path__[0]} is mmscore's source without its core: leave that folder")
        raise
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
