"""What `run.json` keeps of a run, so that its numbers can be traced to what made them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mmscore.config import options
from mmscore.config.evalscope import with_temperature
from mmscore.config.judge import JudgeConfig
from mmscore.config.price import price_of
from mmscore.config.secrets import without_secret_options
from mmscore.config.task import TaskConfig
from mmscore.dataset.facts import not_finite, plain
from mmscore.disk import sha256_of
from mmscore.error_text import without_secrets
from mmscore.errors import ConfigError
from mmscore.plan.plan import Plan
from mmscore.scoring import reply_filters
from mmscore.scoring.judge import panel
from mmscore.store.info import SCHEMA, BenchmarkInfo, Fingerprints, RunInfo
from mmscore.store.run_folder import read_run
from mmscore.version import versions


def run_info(plan: Plan, place: str | None, folder: Path) -> RunInfo:
    """What `run.json` says when a run begins; `place` is the endpoint's, None where there is none.

    Raises:
        DataError: The run to go on with is damaged.
    """
    task, benchmark = plan.task, plan.benchmark
    before = read_run(folder) if task.resume else None
    filters = task.dataset_args.get(benchmark.name, {}).get("filters")
    price = price_of(task.price, task.model)
    return RunInfo(
        schema_version=SCHEMA,
        benchmark=BenchmarkInfo(
            name=benchmark.name,
            title=benchmark.title,
            metrics=panel.metrics_with(plan.judge, benchmark.metrics),
            subsets=benchmark.subsets,
            groups=tuple(dict.fromkeys((*benchmark.groups, *task.group_by))),
            file=str(benchmark.file) if benchmark.file else None,
            file_sha256=sha256_of(benchmark.file) if benchmark.file else None,
        ),
        model=task.model_id or task.model,
        endpoint=place,
        config=stored_config(task, plan.judge),
        versions=versions(),
        fingerprints=Fingerprints(
            data=plan.files.fingerprint(),
            prompt=_prompt_fingerprint(plan),
            scorer=reply_filters.scorer_id(benchmark.scorer, filters),
        ),
        price=price,
        planned=plan.planned,
        repeats=task.repeats,
        shard=task.shard,
        started=(before and before.started) or now(),
        finished=None,
        seconds=before.seconds if before else 0.0,
        stopped="not finished",
        reused=before.reused if before else 0,
        judge=panel.info_of(plan.judge),
    )


def stored_config(task: TaskConfig, judge: JudgeConfig) -> dict[str, Any]:
    """The task as a run keeps it: what was set, without secrets.

    Raises:
        ConfigError: A number in it is none: no request and no file can hold it.
    """
    default = asdict(TaskConfig())
    values = {
        name: value
        for name, value in asdict(task).items()
        if options.fields()[name].stored and value != default[name]
    }
    generation = with_temperature(task.generation_config, task.eval_type)
    values["generation_config"] = without_secret_options(generation)
    if "judge" in values:
        values["judge"] = panel.described(judge)
    # A URL that may hold a key is left out whole: cut short, it would be another one.
    if without_secrets(values.get("api_url", "")) != values.get("api_url", ""):
        del values["api_url"]
    for place, number in not_finite(values, ""):
        raise ConfigError(f"`{place}` is {number}, which is no number")
    kept: dict[str, Any] = plain(values)
    return kept


def _prompt_fingerprint(plan: Plan) -> str:
    used = plan.options.prompt_template or dict(plan.benchmark.prompt)
    text = json.dumps([used, plan.options.system], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
