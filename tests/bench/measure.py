"""Measuring whole commands: wall time, CPU time, peak memory, as medians over rounds."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("MMSCORE_SHARED") or ROOT.parent / "shared")


@dataclass(frozen=True)
class Cost:
    """What one process took.

    Attributes:
        wall: Seconds from start to end.
        cpu: Seconds of user and system time, children included.
        peak: Megabytes of resident memory.
    """

    wall: float
    cpu: float
    peak: float


def cost_of(command: Sequence[str], env: Mapping[str, str] | None = None) -> Cost:
    """Run a command and return what it took.

    Raises:
        RuntimeError: It failed; the message holds the end of what it said.
    """
    started = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - started
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {said[-2000:].decode(errors='replace')}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def medians(costs: Sequence[Cost]) -> Cost:
    """The median of each figure."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.peak for cost in costs),
    )


def show(name: str, costs: Sequence[Cost], against: Cost | None = None) -> Cost:
    """Print one line: medians, the range of the wall times, and the ratio to another cost."""
    middle = medians(costs)
    least, most = min(c.wall for c in costs), max(c.wall for c in costs)
    ratio = f"  x{against.wall / middle.wall:.1f} wall" if against else ""
    ratio += f"  x{against.cpu / middle.cpu:.1f} cpu" if against else ""
    print(
        f"{name:<44}{middle.wall:>8.2f} s ({least:.2f}-{most:.2f}){middle.cpu:>8.2f} s cpu"
        f"{middle.peak:>7.0f} MB{ratio}",
        flush=True,
    )
    return middle


@contextmanager
def endpoint(*options: str) -> Iterator[str]:
    """The shared mock endpoint on a free port; gives its address without `/v1`."""
    command = [sys.executable, str(SHARED / "tools" / "mock_openai.py"), "--port", "0", *options]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().split()[-1].removesuffix("/v1")
    finally:
        process.terminate()
        process.communicate()


@contextmanager
def fast_endpoint(latency_ms: float = 0) -> Iterator[str]:
    """An endpoint that costs next to nothing; gives its address without `/v1`."""
    script = str(Path(__file__).with_name("fast_endpoint.py"))
    command = [sys.executable, script, "--latency-ms", str(latency_ms)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip().removesuffix("/v1")
    finally:
        process.terminate()
        process.communicate()


def compiled() -> None:
    """Write the bytecode of the package, as an installed one has it."""
    import compileall

    compileall.compile_dir(ROOT / "mmscore", quiet=1)


def stats(url: str) -> Any:
    """The endpoint's counters."""
    with urllib.request.urlopen(f"{url}/__stats") as answer:
        return json.load(answer)
