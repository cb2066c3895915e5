"""Evaluate vision-language models behind any OpenAI-compatible endpoint.

`run_task` runs a benchmark; the scoring functions serve other tools. Nothing is imported before it
is used, so `import mmscore` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmscore.answers import (
        infer_option,
        normalize_answer,
        parse_answer_line,
        parse_choice,
        parse_count,
    )
    from mmscore.config import TaskConfig
    from mmscore.errors import MmscoreError
    from mmscore.metrics import bleu, bleu_list, rouge, rouge_list
    from mmscore.planning import Events
    from mmscore.result import Result
    from mmscore.run import run_task
    from mmscore.scoring import score_replies

__all__ = [
    "Events",
    "MmscoreError",
    "Result",
    "TaskConfig",
    "__version__",
    "bleu",
    "bleu_list",
    "infer_option",
    "normalize_answer",
    "parse_answer_line",
    "parse_choice",
    "parse_count",
    "rouge",
    "rouge_list",
    "run_task",
    "score_replies",
]

_HOMES = {
    "Events": "mmscore.planning",
    "MmscoreError": "mmscore.errors",
    "Result": "mmscore.result",
    "TaskConfig": "mmscore.config",
    "bleu": "mmscore.metrics",
    "bleu_list": "mmscore.metrics",
    "infer_option": "mmscore.answers",
    "normalize_answer": "mmscore.answers",
    "parse_answer_line": "mmscore.answers",
    "parse_choice": "mmscore.answers",
    "parse_count": "mmscore.answers",
    "rouge": "mmscore.metrics",
    "rouge_list": "mmscore.metrics",
    "run_task": "mmscore.run",
    "score_replies": "mmscore.scoring",
}
"""Name -> the module that defines it, imported on first use."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from mmscore.answers import CORE_VERSION  # built from the same version as the package

        return CORE_VERSION
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
