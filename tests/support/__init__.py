"""What several tests share: tables of cases, golden files, the command line as a function."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("MMSCORE_SHARED") or ROOT.parent / "shared")
"""Real data sets and golden files, beside the repository; tests that need them skip without."""


def load_cases(name: str) -> list[dict[str, Any]]:
    """The rows of `tests/cases/NAME.json`, the table that cargo reads too.

    Each has `input`, `expected` and `why`; `case_id` makes a test's name of one.
    """
    rows = json.loads((ROOT / "tests" / "cases" / f"{name}.json").read_text(encoding="utf-8"))
    assert rows, f"{name}.json has no rows"
    return list(rows)


def case_id(case: Mapping[str, Any]) -> str:
    """The reason a case is there, for `parametrize(..., ids=case_id)`."""
    return str(case["why"])


def read_golden(file: Path) -> Iterator[dict[str, Any]]:
    r"""The rows of a golden file, with bytes and lone surrogates put back.

    Records end in `\n` alone: strings hold raw U+2028 and U+0085, which `splitlines` would cut.
    """
    with file.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            yield json.loads(line, object_hook=_restore)


def _restore(value: dict[str, Any]) -> Any:
    match value:
        case {"__bytes_b64__": str(text)}:
            return base64.b64decode(text)
        case {"__json_ascii__": str(text)}:
            return json.loads(text)
    return value


def lines(path: Path) -> list[dict[str, Any]]:
    """The records of a file of a run."""
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


def run_cli(*args: str, env: Mapping[str, str] | None = None) -> Ran:
    """`mmscore ARGS` in this process, with these variables besides those of the test."""
    from mmscore.cli.main import main

    # Real text streams over bytes: code may reconfigure them or write to `.buffer`.
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="\n") for _ in range(2))
    with (
        mock.patch.dict(os.environ, env or {}),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            code: object = main(list(args))
        except SystemExit as stop:  # argparse
            code = stop.code or 0
    assert isinstance(code, int), f"`mmscore {' '.join(args)}` returned {code!r}"
    return Ran(code, _written(out), _written(err))


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.detach()
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8")


def run_script(
    *args: str,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 60.0,
) -> Ran:
    """The installed `mmscore` script as a process of its own.

    Raises:
        subprocess.TimeoutExpired: It did not end in time; it is killed.
    """
    ended = subprocess.run(
        [script_path(), *args],
        env={**os.environ, **(env or {})},
        cwd=cwd,
        timeout=timeout,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def script_path() -> str:
    """Where the script of the interpreter that runs the tests is installed."""
    name = "mmscore.exe" if sys.platform == "win32" else "mmscore"
    return str(Path(sysconfig.get_path("scripts")) / name)
