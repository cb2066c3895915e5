"""What a caller hears while a task runs: the library itself prints nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mmscore.benchmarks.base import Benchmark


@dataclass(slots=True)
class Progress:
    """How far a run is; whoever is told gets a value of its own, safe to keep.

    Attributes:
        total: Requests planned in this run, kept ones included.
        kept: Samples whose earlier reply still holds.
        done: Samples that ended, kept ones included.
        failed: Samples that ended without a reply.
        right: Sum of the primary metric over the scored ones.
        scored: Samples with a primary metric.
        requests: Attempts sent.
        seconds: Since asking began.
    """

    total: int
    kept: int = 0
    done: int = 0
    failed: int = 0
    right: float = 0.0
    scored: int = 0
    requests: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Events:
    """What the caller hears while a task runs; the library itself prints nothing.

    Attributes:
        start: Called with the benchmark, the planned counts and the run's folder.
        progress: Called after each sample, from any worker, one at a time.
        notice: Called with one sentence worth reading.
        fetching: Called while a file is fetched with its name, the bytes that are there, and the
            bytes it will have, where that is told.
    """

    start: Callable[[Benchmark, Mapping[str, int], Path], None] = lambda *_: None
    progress: Callable[[Progress], None] = lambda _: None
    notice: Callable[[str], None] = lambda _: None
    fetching: Callable[[str, int, int | None], None] = lambda *_: None


SILENT = Events()
"""Nobody listens."""
