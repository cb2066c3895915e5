"""The README says what is true: output, commands and values are the ones that come out."""

from __future__ import annotations

import ast
import re
import shlex

import pytest
from support import ROOT, run_cli

from mmscore.cli.options import COMMANDS, parse

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def commands() -> list[str]:
    joined = "\n".join(body for kind, body in BLOCKS if kind in ("console", "sh"))
    lines = joined.replace("\\\n", " ").splitlines()
    return [line.removeprefix("$ ") for line in lines if re.match(r"(\$ )?mmscore ", line)]


@pytest.mark.parametrize("command", commands())
def test_a_command_is_one(command: str) -> None:
    words = shlex.split(command, comments=True)
    assert words[1] in COMMANDS
    parse(words[1:])


def test_the_output_shown_is_what_the_demo_prints() -> None:
    shown = next(body for _, body in BLOCKS if "mmscore demo" in body)
    lines = [line for line in shown.splitlines() if line and line[0] not in "$."]
    printed = run_cli("demo").out.splitlines()
    assert lines and [line for line in lines if line not in printed] == []


def test_the_values_shown_come_out() -> None:
    shown = next(body for kind, body in BLOCKS if kind == "python" and "normalize_answer(" in body)
    names: dict[str, object] = {}
    exec(shown, names)
    claims = [line.split("#") for line in shown.splitlines() if "#" in line]
    assert len(claims) >= 3
    for code, value in claims:
        assert eval(code, names) == ast.literal_eval(value.strip())


def test_the_chinese_readme_has_the_same_commands() -> None:
    def of(name: str) -> list[str]:
        text = (ROOT / name).read_text(encoding="utf-8")
        blocks = re.findall(r"^```(?:console|sh)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
        return sorted(line for line in lines if re.match(r"(\$ )?(mmscore|export|pip) ", line))

    assert of("README.zh.md") == of("README.md")
