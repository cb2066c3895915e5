"""Faults put in by hand, one line each, and whether the tests notice.

    python tests/faults/run.py [WORD]          # all, or those whose file or reason holds the word
    python tests/faults/run.py --write         # and keep the result in tests/faults/result.txt

Each fault of `python.toml` and `rust.toml` is put into a scratch copy of this repository, alone,
and the test that it names must fail there. A fault that nobody notices, and one whose line is not
there any more, end the script with 1. The copy has the core that is installed here; faults in
Rust are tested by `cargo test` with a target folder of their own.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTS = ("python.toml", "rust.toml")
TIMEOUT = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """One line made wrong.

    Attributes:
        file: Where.
        before: The text as it is, once in the file.
        after: The text as it must not be.
        test: The test that must fail: pytest's words, or the name of a cargo test.
        why: What a user would suffer.
    """

    file: str
    before: str
    after: str
    test: str
    why: str

    @property
    def is_rust(self) -> bool:
        """Whether cargo, not pytest, is to notice."""
        return self.file.endswith(".rs")


def faults() -> list[Fault]:
    """All faults of the lists, in their order."""
    found = []
    for name in LISTS:
        path = Path(__file__).with_name(name)
        if path.exists():
            rows = tomllib.loads(path.read_text(encoding="utf-8"))["fault"]
            found += [Fault(**row) for row in rows]
    return found


def scratch_copy(place: Path) -> None:
    """Lay the tracked files of this repository, and the built core, below `place`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        target = place / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    import mmscore._core

    core = Path(str(mmscore._core.__file__))
    shutil.copyfile(core, place / "mmscore" / core.name)


def command_of(fault: Fault) -> list[str]:
    """What runs the test that must notice."""
    if fault.is_rust:
        return ["cargo", "test", "--locked", "--test", "core", "--", "--exact", fault.test]
    return [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", fault.test]


def is_noticed(fault: Fault, place: Path, target: Path) -> str:
    """`noticed`, or why not."""
    path = place / fault.file
    text = path.read_text(encoding="utf-8")
    if text.count(fault.before) != 1:
        return f"the line is there {text.count(fault.before)} times"
    path.write_text(text.replace(fault.before, fault.after), encoding="utf-8")
    shared = os.environ.get("MMSCORE_SHARED", str(ROOT.parent / "shared"))
    environment = {
        **os.environ,
        "PYTHONPATH": str(place),
        "CARGO_TARGET_DIR": str(target),
        "MMSCORE_SHARED": shared,
        "CI": "1",
    }
    try:
        done = subprocess.run(
            command_of(fault), cwd=place, env=environment, capture_output=True, timeout=TIMEOUT
        )
    except subprocess.TimeoutExpired:
        return "noticed"  # a test that never ends is one that fails
    finally:
        path.write_text(text, encoding="utf-8")
    if done.returncode == 0:
        return "NOT noticed"
    words = done.stdout.decode(errors="replace") + done.stderr.decode(errors="replace")
    if "could not compile" in words or "SyntaxError" in words:
        return "does not build"
    if (
        "no tests ran" in words
        or "running 0 tests" in words
        or "error: no such" in words
        or "not found:" in words
    ):
        return "its test is not there"
    return "noticed"


def main() -> int:
    """Put in each fault, say what came of it; return 1 unless all were noticed."""
    parser = argparse.ArgumentParser(description="faults put in by hand")
    parser.add_argument("word", nargs="?", default="")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    chosen = [one for one in faults() if arguments.word in one.file + one.why]
    lines, missed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        place, target = Path(folder) / "copy", Path(folder) / "target"
        scratch_copy(place)
        for fault in chosen:
            result = is_noticed(fault, place, target)
            missed += result != "noticed"
            line = f"{result:<24}{fault.file}: {fault.why}"
            lines.append(line)
            print(line, flush=True)
    lines.append(f"{len(chosen) - missed} of {len(chosen)} noticed")
    print(lines[-1])
    if arguments.write:
        Path(__file__).with_name("result.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
