"""What a user may say: the task, its judge, and EvalScope's names for both."""

from __future__ import annotations

from mmscore.config.task import TaskConfig

__all__ = ["TaskConfig"]
