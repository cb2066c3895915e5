"""The house keeps its floors: who may import whom, who may print, where Python is spoken in Rust.

A module imports from its own room and from rooms below it. A new module needs no entry here, a new
room a place in ROOMS, a new dependency a row in ONLY.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ROOT

ROOMS = (
    *("cli", "run", "plan", "benchmarks", "scoring", "model"),
    *("report", "store", "dataset", "web", "config"),
)
"""The rooms, highest first: a room imports only rooms below it."""

GROUND = [
    *("error_text", "disk", "types", "finish_reasons", "think", "version", "errors", "constants"),
]
"""What every room may import; each of these imports only those behind it."""

DOOR = ["__main__", "__init__", "api", "benchmark"]
"""Where users come in: public names, handed on from the rooms."""

PLACE = {name: place for place, name in enumerate(reversed([*DOOR, *ROOMS, *GROUND]))}

CORE = "mmscore._core"

ONLY = {
    CORE: {"dataset", "scoring", "version"},
    "requests": {"web"},
    "certifi": {"web"},
    "socket": {"web", "cli.demo"},
    "ssl": {"web"},
    "http.client": set(),
    "urllib.request": set(),
    "PIL": {"dataset.media"},
    "yaml": {"config"},
}
"""What only some rooms may import, or none. Whatever is not of the standard library is here."""

LATE = {"requests", "certifi", "ssl", "PIL", "yaml"}
"""Slow to import, so never at the top of a module."""

SPEAKERS = {"cli.main", "cli.data_commands", "__main__"}
"""May print, read `sys.argv` and exit."""

PACKAGE = ROOT / "mmscore"
SOURCES = sorted(PACKAGE.rglob("*.py"))


def module_of(source: Path) -> str:
    """`rows.tables` for `mmscore/rows/tables.py`, `rows` for `mmscore/rows/__init__.py`."""
    parts = source.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_of(source) for source in SOURCES}


def room_of(module: str) -> str:
    """`dataset` for `dataset.rows.text`: the folder right below the package, or the file there."""
    return module.partition(".")[0]


def imports(tree: ast.AST) -> Iterator[tuple[str, bool]]:
    """What a module imports, dotted, and whether it does so at its top."""
    top = set(ast.iter_child_nodes(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node in top) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            for alias in node.names:
                yield f"{node.module}.{alias.name}", node in top


def resolve(target: str) -> str:
    """The module of ours that `mmscore.a.b.c` means: `a.b`, `a` or the package's own `__init__`."""
    name = target.removeprefix("mmscore").removeprefix(".")
    while "." in name and name not in MODULES:
        name = name.rpartition(".")[0]
    return name if room_of(name) in PLACE else "__init__"


def holder(module: str, name: str) -> str | None:
    """The entry of ONLY that lets a module import `name`: its own, its room's, or none."""
    return next((one for one in ONLY[name] if is_under(module, one)), None)


def is_under(target: str, name: str) -> bool:
    return target == name or target.startswith(name + ".")


def faults(module: str, text: str) -> list[str]:
    """Every rule that a module with this text breaks, each in a sentence."""
    tree = ast.parse(text)
    found = list(_speech(tree)) if module not in SPEAKERS else []
    for target, at_top in imports(tree):
        limits = [name for name in ONLY if is_under(target, name)]
        for name in limits:
            if holder(module, name) is None:
                found.append(f"only {', '.join(sorted(ONLY[name]))} may import {name}")
        if limits and limits[0] in LATE and at_top:
            found.append(f"{limits[0]} is imported at the top; import it inside the function")
        if limits:
            continue
        if is_under(target, "mmscore"):
            found.extend(_climbs(module, resolve(target)))
        elif target.partition(".")[0] not in sys.stdlib_module_names:
            found.append(f"{target} is no dependency of ours; ONLY lists those")
    return found


def _climbs(module: str, target: str) -> Iterator[str]:
    """Why `module` may not import `target`, both of the package."""
    ours, theirs = room_of(module), room_of(target)
    if target == "benchmarks" and is_under(module, "benchmarks"):
        yield "a benchmark does not know the table that lists it"
    elif _is_a_benchmark(target) and module != "benchmarks":
        yield f"{target} is known by name to the table in benchmarks/__init__.py only"
    elif ours == "report" and theirs in ("dataset", "web"):
        yield f"report reads a run's folder only, not {target}"
    elif ours != theirs and PLACE[theirs] > PLACE[ours]:
        yield f"{module} may not import {target}, which stands above it in ROOMS"


def _is_a_benchmark(module: str) -> bool:
    shared = {"base", "openai_messages", "own_class", "own_data", "own_file", "tsv_rows"}
    room, _, name = module.partition(".")
    return room == "benchmarks" and bool(name) and name not in shared


def _speech(tree: ast.AST) -> Iterator[str]:
    """Where a module prints, reads the arguments or exits."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="print" | "input" | "exit" | "quit" as name)):
                yield f"line {node.lineno}: only cli may call {name}"
            case ast.Attribute(
                value=ast.Name(id="sys"), attr="argv" | "exit" | "stdout" | "stderr" as name
            ):
                yield f"line {node.lineno}: only cli may use sys.{name}"
            case ast.Attribute(value=ast.Name(id="os"), attr="_exit"):
                yield f"line {node.lineno}: only cli may use os._exit"
            case ast.Raise(exc=ast.Name(id="SystemExit") | ast.Call(func=ast.Name("SystemExit"))):
                yield f"line {node.lineno}: only cli may raise SystemExit"


@pytest.mark.parametrize("source", SOURCES, ids=module_of)
def test_a_module_keeps_to_its_floor(source: Path) -> None:
    assert not faults(module_of(source), source.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ONLY)
def test_whoever_may_import_it_does(name: str) -> None:
    users = {
        holder(module_of(source), name)
        for source in SOURCES
        for target, _ in imports(ast.parse(source.read_text(encoding="utf-8")))
        if is_under(target, name)
    }
    assert ONLY[name] == users, "a permission that nobody uses is an open door"


def test_each_room_has_a_place_and_each_place_a_room() -> None:
    assert {room_of(name) for name in MODULES} == set(PLACE)


@pytest.mark.parametrize("source", SOURCES, ids=module_of)
def test_a_file_fits_a_readers_head(source: Path) -> None:
    assert len(source.read_text(encoding="utf-8").split("\n")) <= 450, "one noun a file, 400 lines"


def test_only_the_binding_speaks_of_pyo3() -> None:
    sources = sorted((ROOT / "rust").rglob("*.rs"))
    binding = ROOT / "rust" / "src" / "py"
    assert any(binding in source.parents for source in sources)
    strangers = [
        str(source.relative_to(ROOT))
        for source in sources
        if binding not in source.parents and _says_pyo3(source.read_text(encoding="utf-8"))
    ]
    assert not strangers, "these belong under rust/src/py"


def _says_pyo3(text: str) -> bool:
    code = [line.partition("//")[0] for line in text.split("\n")]
    return any("pyo3" in line for line in code)


@pytest.mark.parametrize(
    ("module", "text", "fault"),
    [
        ("model.client", "from mmscore.run import loop", "may not import run.loop"),
        ("model.client", "import mmscore.run.loop", "may not import run.loop"),
        (
            "model.client",
            "def f():\n    from mmscore.run.loop import Run",
            "may not import run.loop",
        ),
        ("errors", "from mmscore.types import Sample", "may not import types"),
        ("model.client", "from mmscore import run_task", "may not import __init__"),
        ("run.loop", "from mmscore.benchmarks.slake import BENCHMARK", "known by name"),
        ("benchmarks.slake", "from mmscore.benchmarks import find", "does not know the table"),
        ("benchmarks.slake", "from mmscore.run.task import ask", "may not import run.task"),
        ("report.files", "from mmscore.dataset.rows import read", "reads a run's folder only"),
        ("model.request", "from mmscore import _core", "may import mmscore._core"),
        ("model.request", "from mmscore._core import data_uri", "may import mmscore._core"),
        ("model.client", "import socket", "may import socket"),
        ("web.connection", "import http.client", "may import http.client"),
        ("web.connection", "from http import client", "may import http.client"),
        ("dataset.hub", "def f():\n    import requests", "only web may import requests"),
        ("web.connection", "import requests.adapters", "imported at the top"),
        ("dataset.media.image", "from PIL import Image", "imported at the top"),
        ("report.statistics", "import numpy", "no dependency of ours"),
        ("run.task", "print('hello')", "only cli may call print"),
        ("run.task", "import sys\nsys.stderr.write('x')", "sys.stderr"),
        ("run.task", "raise SystemExit(1)", "SystemExit"),
        ("run.task", "raise SystemExit", "SystemExit"),
    ],
)
def test_a_broken_rule_is_seen(module: str, text: str, fault: str) -> None:
    assert [sentence for sentence in faults(module, text) if fault in sentence]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("run.loop", "from mmscore.benchmarks.base import Benchmark"),
        ("benchmarks", "from mmscore.benchmarks import slake"),
        ("benchmarks.slake", "from mmscore.benchmarks.base import Benchmark"),
        ("benchmarks.slake", "from mmscore.scoring import answers"),
        ("run.task", "from mmscore.version import VERSION"),
        ("dataset.rows.text", "import mmscore._core\nfrom mmscore.dataset.rows.row import Row"),
        ("web.connection", "import socket\ndef f():\n    import requests"),
        ("cli.demo", "from http.server import BaseHTTPRequestHandler"),
        ("cli.main", "import sys\nprint(sys.argv)\nsys.exit(0)"),
    ],
)
def test_what_the_rules_allow_is_left_alone(module: str, text: str) -> None:
    assert not faults(module, text)
