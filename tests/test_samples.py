"""The sample data sets are what their script draws, and READMEs vouch for the bytes of all data."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, cast

import pytest
from support import ROOT, run_cli

from mmscore.benchmarks import BENCHMARKS

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


def test_the_readme_of_derived_tables_names_each_and_its_digest() -> None:
    folder = SAMPLES.parent / "derived"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    named = dict(re.findall(r"^\| (\S+) \| [\d,]+ \| ([0-9a-f]{64}) \|$", readme, re.MULTILINE))
    tables = [*folder.glob("*.bin"), *(ROOT / "rust" / "src").rglob("tables.rs")]
    assert {(folder / name).resolve(): digest for name, digest in named.items()} == {
        table: hashlib.sha256(table.read_bytes()).hexdigest() for table in tables
    }


@pytest.mark.parametrize("name", BENCHMARKS)
def test_an_option_that_a_benchmark_does_not_have_is_named(name: str) -> None:
    ran = run_cli("info", name, "--data", str(SAMPLES), "--extra", "spilt=test")
    assert ran.code == 1 and f"`{name}` has no option `spilt`" in ran.err
    assert ("did you mean `split`?" in ran.err) == ("split" in BENCHMARKS[name].extra)
