"""The commands that speak of data sets alone: what there is, where it lies, what it holds."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from typing import Any

from mmscore.cli.process import own_code
from mmscore.cli.task_values import task_values
from mmscore.errors import Exit


def _list(arguments: argparse.Namespace) -> int:
    from mmscore.benchmarks import BENCHMARKS
    from mmscore.plan.fetch import kept_of, size_words

    rows: list[dict[str, Any]] = [
        {
            "name": benchmark.name,
            "title": benchmark.title,
            "about": benchmark.about,
            "metrics": list(benchmark.metrics),
            "subsets": list(benchmark.subsets),
            "cached_bytes": sum(one.bytes for one in kept_of(benchmark.name)),
        }
        for benchmark in BENCHMARKS.values()
    ]
    if arguments.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return Exit.COMPLETE
    for row in rows:
        cached = f" [{size_words(row['cached_bytes'])} cached]" if row["cached_bytes"] else ""
        print(f"{row['name']:<14}{row['title']}: {row['about']}{cached}")
    return Exit.COMPLETE


def _fetch(arguments: argparse.Namespace) -> int:
    from mmscore.cli.progress import events_of
    from mmscore.config.task import TaskConfig
    from mmscore.plan.fetch import fetch

    task = TaskConfig.from_dict(task_values(arguments, {}, os.environ))
    events = events_of(arguments.progress, sys.stderr)
    with own_code(sys.stderr):
        found = [
            fetch(task, name, events, dry_run=bool(arguments.dry_run), whole=arguments.whole)
            for name in arguments.benchmarks
        ]
    if arguments.json:
        print(json.dumps([one.facts() for one in found], ensure_ascii=False, indent=2))
    else:
        print("\n".join(map(str, found)))
    return Exit.COMPLETE


def _cache(arguments: argparse.Namespace) -> int:
    from mmscore.dataset.hub.cache import cache_folder
    from mmscore.plan.fetch import clean_cache, kept, size_words

    cleaned = arguments.clean is not None
    found = clean_cache(arguments.clean) if cleaned else kept()
    if arguments.json:
        rows = [{"source": one.source, "place": one.place, "bytes": one.bytes} for one in found]
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return Exit.COMPLETE
    for one in found:
        print(f"{one.source:<36}{size_words(one.bytes):>10}  {one.place}")
    total = size_words(sum(one.bytes for one in found))
    print(f"{'freed' if cleaned else 'in all'}: {total} in {cache_folder()}")
    return Exit.COMPLETE


def _info(arguments: argparse.Namespace) -> int:
    from mmscore.plan.about import describe

    values = task_values(arguments, {"datasets": [arguments.benchmark]}, os.environ)
    with own_code(sys.stderr):
        facts, text = describe(arguments.benchmark, values)
    print(json.dumps(facts, ensure_ascii=False, indent=2) if arguments.json else text)
    return Exit.COMPLETE


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "fetch": _fetch,
    "cache": _cache,
    "list": _list,
    "info": _info,
}
