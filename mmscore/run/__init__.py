"""A run: ask, read, score, record; and what is made of finished ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmscore.run.task import run_task

__all__ = ["run_task"]


def __getattr__(name: str) -> Any:
    # Late, so that whoever needs one module of this room does not load the whole run.
    if name != "run_task":
        raise AttributeError(f"module `mmscore.run` has no attribute `{name}`")
    from mmscore.run.task import run_task

    return run_task
