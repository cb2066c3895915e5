"""The sample data sets are what their script draws, and the README vouches for the same bytes."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

import pytest
from support import ROOT

SAMPLES = ROOT / "data" / "samples"


class Script(Protocol):
    def main(self, arguments: Sequence[str]) -> None: ...


def script() -> Script:
    spec = importlib.util.spec_from_file_location(
        "build_samples", SAMPLES.parent / "build_samples.py"
    )
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return cast(Script, module)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("samples")
    script().main([str(folder)])
    return contents(folder)


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_script_draws_what_is_committed(built: dict[str, bytes]) -> None:
    committed = contents(SAMPLES)
    assert sorted(built) == sorted(committed)
    assert [name for name in built if built[name] != committed[name]] == []


def test_the_readme_names_each_file_and_its_digest(built: dict[str, bytes]) -> None:
    readme = (SAMPLES.parent / "README.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| samples/(\S+) \| ([0-9a-f]{64}) \|$", readme, re.MULTILINE))
    assert named == {name: hashlib.sha256(data).hexdigest() for name, data in built.items()}
