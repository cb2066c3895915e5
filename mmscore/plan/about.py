"""What a benchmark is, and what its data hold: `mmscore info`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmscore import benchmarks
from mmscore.benchmarks.base import Benchmark
from mmscore.config.task import TaskConfig
from mmscore.plan.survey import Survey


def describe(name: str, values: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """The facts of a benchmark, as values and as text.

    Args:
        name: The benchmark.
        values: Task fields; with a `local_path` in them, the data are surveyed too.

    Raises:
        ConfigError: The benchmark or a subset is unknown.
        DataError: The data are missing or damaged.
    """
    benchmark = benchmarks.find(name)
    facts = _facts(benchmark)
    given = values.get("dataset_args", {}).get(name, {}).get("local_path")
    if given or benchmark.file is not None:  # a user's own lies beside its data
        from mmscore.plan.plan import plan

        facts["data"] = _data(plan(TaskConfig.from_dict(values), name).survey)
    return facts, _text(facts)


def _facts(benchmark: Benchmark) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "name": benchmark.name,
        "title": benchmark.title,
        "about": benchmark.about,
        "paper": benchmark.paper,
        "metrics": list(benchmark.metrics),
        "subsets": dict(benchmark.subsets),
        "groups": list(benchmark.groups),
        "scorer": benchmark.scorer,
        "options": list(benchmark.extra),
        "prompt": dict(benchmark.prompt),
    }
    if benchmark.dataset:
        facts["modelscope"] = benchmark.dataset.modelscope
        facts["huggingface"] = benchmark.dataset.huggingface
        facts["files"] = list(benchmark.dataset.files)
    return facts


def _data(found: Survey) -> dict[str, Any]:
    total = sum(lengths.count for lengths in found.lengths.values())
    characters = sum(lengths.total for lengths in found.lengths.values())
    return {
        "samples": total,
        "media": found.media,
        "missing_media": len(found.missing),
        "prompt_length_mean": round(characters / total, 2) if total else 0.0,
        "subsets": {
            subset: {
                "samples": lengths.count,
                "prompt_length_mean": round(lengths.mean, 2),
                "prompt_length_min": lengths.least,
                "prompt_length_max": lengths.most,
            }
            for subset, lengths in sorted(found.lengths.items())
        },
    }


def _text(facts: Mapping[str, Any]) -> str:
    lines = [f"{facts['title']} (`{facts['name']}`): {facts['about']}", ""]
    for label, key in (
        ("paper", "paper"),
        ("ModelScope", "modelscope"),
        ("Hugging Face", "huggingface"),
        ("files", "files"),
        ("metrics", "metrics"),
        ("subsets", "subsets"),
        ("also by", "groups"),
        ("scorer", "scorer"),
        ("options", "options"),
    ):
        value = facts.get(key)
        if value:
            lines.append(f"  {label:<13}{value if isinstance(value, str) else ', '.join(value)}")
    for language, prompt in facts["prompt"].items():
        lines += ["", f"prompt ({language}):", *(f"  {line}" for line in prompt.splitlines())]
    if "data" in facts:
        lines += ["", *_data_lines(facts["data"])]
    return "\n".join(lines)


def _data_lines(data: Mapping[str, Any]) -> list[str]:
    lines = [
        f"data: {data['samples']} samples, {data['media']} media"
        + (f", {data['missing_media']} of them missing" if data["missing_media"] else ""),
        f"  {'subset':<14}{'samples':>8}  prompt length: {'mean':>7}{'min':>6}{'max':>6}",
    ]
    for subset, row in data["subsets"].items():
        lines.append(
            f"  {subset:<14}{row['samples']:>8}{row['prompt_length_mean']:>24.2f}"
            f"{row['prompt_length_min']:>6}{row['prompt_length_max']:>6}"
        )
    return lines
