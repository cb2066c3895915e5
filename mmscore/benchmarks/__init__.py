"""All benchmarks, by name. A new one is a file in this folder and a row in this table."""

from __future__ import annotations

from pathlib import Path

from mmscore.benchmarks import (
    count_qa,
    general_vmcq,
    general_vqa,
    pmc_vqa,
    slake,
    tsv_mcq,
    tsv_vqa,
)
from mmscore.benchmarks.base import Benchmark
from mmscore.benchmarks.own_file import SUFFIX, load_benchmark
from mmscore.error_text import nearest_hint
from mmscore.errors import ConfigError

BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK
    for module in (slake, pmc_vqa, count_qa, general_vqa, general_vmcq, tsv_mcq, tsv_vqa)
}


def is_file(name: str) -> bool:
    """Whether a benchmark's name is the path of a Python file that defines it."""
    return name.endswith(SUFFIX)


def find(name: str) -> Benchmark:
    """The benchmark of that name, or the one that the Python file of that path defines.

    Raises:
        ConfigError: There is none (the nearest is named), or the file defines none.
    """
    if is_file(name):
        found = load_benchmark(Path(name).expanduser())
        if found.name in BENCHMARKS:
            raise ConfigError(f"`{name}` defines `{found.name}`, which is a benchmark of mmscore")
        return found
    if name not in BENCHMARKS:
        raise ConfigError(f"unknown benchmark `{name}`", hint=nearest_hint(name, BENCHMARKS))
    return BENCHMARKS[name]
