"""All benchmarks, by name. A new one is a file in this folder and a row in this table."""

from __future__ import annotations

from mmscore.benchmarks import general_vmcq, general_vqa, slake, tsv_mcq, tsv_vqa
from mmscore.benchmarks.base import Benchmark
from mmscore.config import nearest_hint
from mmscore.errors import ConfigError

BENCHMARKS: dict[str, Benchmark] = {
    module.BENCHMARK.name: module.BENCHMARK
    for module in (slake, general_vqa, general_vmcq, tsv_mcq, tsv_vqa)
}


def find(name: str) -> Benchmark:
    """The benchmark of that name.

    Raises:
        ConfigError: There is none; the nearest is named.
    """
    if name not in BENCHMARKS:
        raise ConfigError(f"unknown benchmark `{name}`", hint=nearest_hint(name, BENCHMARKS))
    return BENCHMARKS[name]
