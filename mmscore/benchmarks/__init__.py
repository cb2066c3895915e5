"""All benchmarks, by name. A new one is a file in this folder and a row in this table."""

from __future__ import annotations

from mmscore.benchmarks import count_qa, general_vmcq, general_vqa, pmc_vqa, slake
from mmscore.benchmarks.base import Benchmark
from mmscore.config import nearest_hint
from mmscore.errors import ConfigError

BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK
    for module in (slake, pmc_vqa, count_qa, general_vqa, general_vmcq)
}


def find(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        ConfigError: There is none; the nearest is named.
    """
    if name not in BENCHMARKS:
        raise ConfigError(f"unknown benchmark `{name}`", hint=nearest_hint(name, BENCHMARKS))
    return BENCHMARKS[name]
