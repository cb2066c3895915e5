"""Hints in the words of the command that was typed: no hint names a flag that the command lacks.

Errors are raised far below the command line, and name the flags of `mmscore run`. `eval` has other
names for some of them, and other commands have not all of them.
"""

from __future__ import annotations

import re

from mmscore.config import options

_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
_COMMAND = re.compile(r"\bmmscore ([a-z]+)\b")


def fitting(text: str, command: str) -> str:
    """A text with each flag in it called as the command calls it.

    What follows `mmscore COMMAND` in the text is of that command and stays.
    """
    named = _COMMAND.search(text)
    first = named.start() if named else len(text)
    return _FLAG.sub(lambda found: _ours(found[0], command), text[:first]) + text[first:]


def _ours(flag: str, command: str) -> str:
    if not command or any(row.takes(command) == flag for row in options.OPTIONS):
        return flag
    rows = [row for row in options.OPTIONS if row.flag == flag]
    for row in rows:
        if row.takes(command):
            return row.takes(command)
        if command == "eval" and row.place.startswith("dataset_args.*."):
            return f"`{row.place.removeprefix('dataset_args.*.')}` in --dataset-args"
        if command == "eval" and row.place.startswith("judge."):
            return f"`{row.place.removeprefix('judge.').replace('.*', '')}` in --judge"
    return f"`mmscore {rows[0].commands.split()[0]}` with {flag}" if rows else flag
