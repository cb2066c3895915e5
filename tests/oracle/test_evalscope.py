"""Whole runs equal EvalScope's: what is sent, how each sample scores, what is reported.

The cases are drawn by a seed. `MMSCORE_REFERENCE_CASES` says how many, `MMSCORE_REFERENCE_SEED`
where to begin; by hand and weekly, `MMSCORE_REFERENCE_MINUTES` draws fresh ones for that long.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.side_by_side import NAMED, PUNKT, Reference, both, differences, reference

CASES = int(os.environ.get("MMSCORE_REFERENCE_CASES", "25"))
SEED = int(os.environ.get("MMSCORE_REFERENCE_SEED", "0"))
MINUTES = float(os.environ.get("MMSCORE_REFERENCE_MINUTES", "0"))

PYTHON = os.environ.get(NAMED) or sys.executable
"""The interpreter that has EvalScope; conftest hides the variable from the tests themselves."""


def _is_there() -> bool:
    found = subprocess.run([PYTHON, "-c", "import evalscope"], capture_output=True, check=False)
    return found.returncode == 0


pytestmark = [
    pytest.mark.skipif(not PUNKT.is_dir(), reason=f"no {PUNKT}; set MMSCORE_SHARED"),
    pytest.mark.skipif(not _is_there(), reason=f"no EvalScope; {NAMED} names a Python that has it"),
    pytest.mark.timeout(1200 + MINUTES * 120),
]


@pytest.fixture(scope="module")
def evalscope(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    with reference(PYTHON, tmp_path_factory.mktemp("reference")) as process:
        yield process


def compare(seed: int, folder: Path, evalscope: Reference) -> tuple[str, bool]:
    """The benchmark of a seed's case, and whether it ran; fails where the sides differ."""
    folder.mkdir()
    case, theirs, ours = both(seed, folder, evalscope)
    found = [*differences(theirs, ours)]
    told = "\n".join([f"seed {seed}: {case.benchmark} {case.args} {case.task}", *found[:6]])
    assert not found, told[:6000]
    shutil.rmtree(folder)
    return case.benchmark, theirs.error is None


def test_both_send_score_and_report_the_same(tmp_path: Path, evalscope: Reference) -> None:
    ran = Counter(
        compare(seed, tmp_path / str(seed), evalscope) for seed in range(SEED, SEED + CASES)
    )
    if CASES >= 25:  # what compares only errors compares nothing
        assert {name for name, whole in ran if whole} >= {"slake", "count_qa", "general_vqa"}


@pytest.mark.skipif(not MINUTES, reason="MMSCORE_REFERENCE_MINUTES says for how long")
def test_fresh_cases_for_as_long_as_there_is_time(tmp_path: Path, evalscope: Reference) -> None:
    end = time.monotonic() + MINUTES * 60
    while time.monotonic() < end:
        seed = random.randrange(1 << 40)
        compare(seed, tmp_path / str(seed), evalscope)
