"""Several services asked the same in one task: a task for each, with a run folder of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmscore.config.task import TaskConfig
from mmscore.error_text import nearest_hint, what
from mmscore.errors import ConfigError
from mmscore.plan.plan import Plan
from mmscore.store.run_folder import safe_name

SERVICE_FIELDS = (
    *("model", "model_id", "api_url", "api_key", "eval_type", "generation_config"),
    *("eval_batch_size", "timeout", "retries", "stream", "price"),
)
"""What may differ between the services of one task."""


def result_name(plan: Plan, services: int) -> str:
    """What a result is known by: its benchmark, with the model in front where there are several."""
    name = plan.benchmark.name
    return name if services == 1 else f"{plan.task.model_id or plan.task.model}/{name}"


def each_service(task: TaskConfig) -> list[TaskConfig]:
    """One task for each of the services that are asked the same, each with a folder of its own.

    Raises:
        ConfigError: A service has a field that is none of a service's, or two are one model.
    """
    if not task.services:
        return [task]
    found: list[TaskConfig] = []
    for number, service in enumerate(task.services, 1):
        if not isinstance(service, Mapping):
            raise ConfigError(f"`services` entry {number} is {what(service)}, expected a mapping")
        for name in service:
            if name not in SERVICE_FIELDS:
                raise ConfigError(
                    f"`services` entry {number} has an unknown field `{name}`",
                    hint=nearest_hint(str(name), SERVICE_FIELDS),
                )
        found.append(replace(task, services=[], **service))
    names = [one.model_id or one.model for one in found]
    for called in names:
        if names.count(called) > 1:
            raise ConfigError(
                f"two services are both called `{called}`",
                hint="give one of them another name in reports: `model_id`",
            )
    if len(found) == 1:
        return found
    return [replace(one, **_own_place(one)) for one in found]


def _own_place(task: TaskConfig) -> dict[str, Any]:
    """Where one of several models keeps its run: below what they share."""
    model = safe_name(str(task.model_id or task.model))
    if task.out:
        return {"out": str(Path(task.out) / model)}
    if task.no_timestamp:
        return {"work_dir": str(Path(task.work_dir) / model)}
    return {"name": task.name or model}
