"""The house keeps its floors: who may import whom, who may print, where Python is spoken in Rust.

A module imports from lower floors, and inside its floor from those listed before it. A new module
needs a place in FLOORS; a new dependency needs a row in ONLY.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ROOT

FLOORS = (
    ("words", "constants errors wording literals records evalscope judge.config config"),
    (
        "bytes in",
        "net hub.faults hub.web hub.ranges hub.cache hub.links archive hub.ahead hub.remote"
        " hub.download hub.repository hub.local hub.files hub rows sources media",
    ),
    (
        "words out, judgement in",
        "prompts formats replies placeholders messages wire attach answers matching filters"
        " metrics scoring stats gate client judge.verdicts judge.asking judge",
    ),
    (
        "benchmarks",
        "benchmarks.base benchmarks.own_data benchmarks.tsv_rows benchmark benchmarks.own_file"
        " benchmarks",
    ),
    ("a run", "interrupts journal survey judge.panel recording resuming runner"),
    ("reading a run", "report compare"),
    (
        "the door",
        "arguments vlmevalkit endpoint planning result provenance run thumbnails rescore elsewhere"
        " merge about fetch inventory check demo"
        " __init__ progress process flags eval_options options cli __main__",
    ),
)
"""Modules of the package, lowest floor first; a folder stands for all modules in it that are not
listed by themselves."""

PLACE = {name: place for place, name in enumerate(" ".join(names for _, names in FLOORS).split())}

CORE = "mmscore._core"

ONLY = {
    CORE: {
        *("archive", "hub.remote", "rows", "sources", "media"),
        *("answers", "scoring", "metrics"),
    },
    "requests": {"net", "hub.web", "hub.faults"},
    "urllib3": {"hub.faults"},
    "certifi": {"net"},
    "http.client": {"net"},
    "PIL": {"media"},
    "yaml": {"config"},
}
"""What only some modules may import. Whatever is not of the standard library must be here."""

LATE = {"requests", "urllib3", "certifi", "PIL", "yaml"}
"""Slow to import, so never at the top of a module."""

SPEAKERS = {"cli", "__main__"}
"""May print, read `sys.argv` and exit."""

PACKAGE = ROOT / "mmscore"
SOURCES = sorted(PACKAGE.rglob("*.py"))


def module_of(source: Path) -> str:
    """`rows.tables` for `mmscore/rows/tables.py`, `rows` for `mmscore/rows/__init__.py`."""
    parts = source.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {module_of(source) for source in SOURCES}


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
    return name if name in MODULES or name in PLACE else "__init__"


def place(module: str) -> int | None:
    """Where a module stands: by its own name, else with its folder."""
    return PLACE.get(module, PLACE.get(module.partition(".")[0]))


def holder(module: str, name: str) -> str:
    """Who holds the permission to import `name` for a module: itself, else its folder."""
    return module if module in ONLY[name] else module.partition(".")[0]


def is_under(target: str, name: str) -> bool:
    return target == name or target.startswith(name + ".")


def faults(module: str, text: str) -> list[str]:
    """Every rule that a module with this text breaks, each in a sentence."""
    tree = ast.parse(text)
    found = list(_speech(tree)) if module not in SPEAKERS else []
    for target, at_top in imports(tree):
        limits = [name for name in ONLY if is_under(target, name)]
        for name in limits:
            if holder(module, name) not in ONLY[name]:
                found.append(f"only {', '.join(sorted(ONLY[name]))} may import {name}")
        if limits and limits[0] in LATE and at_top:
            found.append(f"{limits[0]} is imported at the top; import it inside the function")
        if limits:
            continue
        if target == "mmscore.__version__":
            continue  # a fact of the package, not a part of its door
        if is_under(target, "mmscore"):
            found.extend(_climbs(module, resolve(target)))
        elif target.partition(".")[0] not in sys.stdlib_module_names:
            found.append(f"{target} is no dependency of ours; ONLY lists those")
    return found


def _climbs(module: str, target: str) -> Iterator[str]:
    """Why `module` may not import `target`, both of the package."""
    ours, theirs = place(module), place(target)
    assert ours is not None and theirs is not None, f"{module} or {target} is not in FLOORS"
    if target == "benchmarks" and is_under(module, "benchmarks"):
        yield "a benchmark does not know the table that lists it"
    elif _is_a_benchmark(target) and module != "benchmarks":
        yield f"{target} is known by name to the table in benchmarks/__init__.py only"
    elif theirs > ours:
        yield f"{module} may not import {target}, which stands above it in FLOORS"


def _is_a_benchmark(module: str) -> bool:
    shared = (
        "benchmarks.base",
        "benchmarks.own_data",
        "benchmarks.tsv_rows",
        "benchmarks.own_file",
    )
    return module.startswith("benchmarks.") and module not in shared


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


@pytest.mark.parametrize("source", SOURCES, ids=module_of)
def test_a_module_has_a_place_and_a_name_that_hides_nothing(source: Path) -> None:
    name = module_of(source)
    assert place(name) is not None, f"{name} has no floor: add it to FLOORS in {Path(__file__)}"
    assert source.name not in ("types.py", "http.py"), "run as a script it hides the standard one"


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
        ("client", "from mmscore import runner", "may not import runner"),
        ("client", "import mmscore.runner", "may not import runner"),
        ("client", "def f():\n    from mmscore.runner import Run", "may not import runner"),
        ("errors", "from mmscore.records import Sample", "may not import records"),
        ("client", "from mmscore import run_task", "may not import __init__"),
        ("runner", "from mmscore.benchmarks.slake import BENCHMARK", "known by name"),
        ("benchmarks.slake", "from mmscore.benchmarks import find", "does not know the table"),
        ("benchmarks.slake", "from mmscore.journal import RUN", "may not import journal"),
        ("wire", "from mmscore import _core", "may import mmscore._core"),
        ("wire", "from mmscore._core import data_uri", "may import mmscore._core"),
        ("client", "import http.client", "may import http.client"),
        ("client", "from http import client", "may import http.client"),
        (
            "hub",
            "def f():\n    import requests",
            "only hub.faults, hub.web, net may import requests",
        ),
        ("net", "import requests.adapters", "imported at the top"),
        ("media", "from PIL import Image", "imported at the top"),
        ("stats", "import numpy", "no dependency of ours"),
        ("run", "print('hello')", "only cli may call print"),
        ("run", "import sys\nsys.stderr.write('x')", "sys.stderr"),
        ("run", "raise SystemExit(1)", "SystemExit"),
        ("run", "raise SystemExit", "SystemExit"),
    ],
)
def test_a_broken_rule_is_seen(module: str, text: str, fault: str) -> None:
    assert [sentence for sentence in faults(module, text) if fault in sentence]


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("runner", "from mmscore.benchmarks.base import Benchmark"),
        ("benchmarks", "from mmscore.benchmarks import slake"),
        ("benchmarks.slake", "from mmscore.benchmarks.base import Benchmark"),
        ("benchmarks.slake", "from mmscore import answers"),
        ("run", "from mmscore import __version__"),
        ("rows.tables", "from mmscore import _core\nfrom mmscore.rows.base import Row"),
        ("net", "import http.client\ndef f():\n    import requests"),
        ("demo", "from http.server import BaseHTTPRequestHandler"),
        ("cli", "import sys\nprint(sys.argv)\nsys.exit(0)"),
    ],
)
def test_what_the_rules_allow_is_left_alone(module: str, text: str) -> None:
    assert not faults(module, text)
