"""What `--help` says is looked at before it changes: each text is a file beside this one.

After a change that is meant, write them anew and read the difference:

    PYTHONPATH=tests python tests/cli/test_help.py && git diff tests/cli/help
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from support import run_cli

from mmscore.cli.main import ACTIONS
from mmscore.cli.options import COMMANDS, parse

FOLDER = Path(__file__).with_name("help")
SCREEN_LINES, SCREEN_COLUMNS = 60, 100
NAMES = ["mmscore", *COMMANDS]


def help_of(name: str) -> str:
    ran = run_cli(*([] if name == "mmscore" else [name]), "--help")
    assert ran.code == 0 and not ran.err
    return ran.out


@pytest.mark.parametrize("name", NAMES)
def test_the_help_is_the_one_that_was_read(name: str) -> None:
    assert help_of(name) == (FOLDER / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_help_fits_a_screen(name: str) -> None:
    lines = help_of(name).splitlines()
    assert len(lines) <= SCREEN_LINES and max(map(len, lines)) <= SCREEN_COLUMNS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_has_an_example_that_the_command_understands(name: str) -> None:
    example = re.search(r"^example:\n  mmscore (.+)$", help_of(name), re.MULTILINE)
    assert example, "no example"
    words = example[1].split()
    assert words[0] == name
    parse(words)  # exits where it is wrong


def test_every_command_does_something_and_no_file_is_left_over() -> None:
    assert set(ACTIONS) == set(COMMANDS)
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(NAMES)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.txt"):
        old.unlink()
    for name in NAMES:
        (FOLDER / f"{name}.txt").write_text(help_of(name), encoding="utf-8")
    sys.exit(0)
