"""Words for a command line that cannot be read: which flag was meant, and the very line to type."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Sequence
from typing import NoReturn

from mmscore.cli.keys import masked
from mmscore.config import options
from mmscore.error_text import nearest, shown
from mmscore.errors import UsageError

PROGRAM = "mmscore"

GENERATION = ("temperature", "max_tokens", "top_p", "top_k", "max_completion_tokens", "stop")
"""Generation options that people type as flags."""

OTHER_NAMES = {
    "-m": "--model",
    "--model-name": "--model",
    "--batch-size": "--concurrency",
    "--workers": "--concurrency",
    "--num-workers": "--concurrency",
    "--parallel": "--concurrency",
    "--key": "--api-key",
    "--token": "--api-key",
    "--openai-api-key": "--api-key",
    "--url": "--api-url",
    "--base-url": "--api-url",
    "--api-base": "--api-url",
    "--endpoint": "--api-url",
    "--output": "--out",
    "--output-dir": "--out",
    "--out-dir": "--out",
    "-o": "--out",
    "--dataset-dir": "--data",
    "--data-dir": "--data",
    "--data-path": "--data",
    "--num-samples": "--limit",
    "-n": "--limit",
    "--system-prompt": "--system",
    "--verbose": "--debug",
}
"""What other tools call a flag -> ours."""

BENCHMARK_FLAGS = ("--datasets", "--dataset", "--benchmark", "--benchmarks", "--tasks", "--task")
"""What other tools put before the names of benchmarks."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours."""

    def error(self, message: str) -> NoReturn:
        """Tell what is wrong, without a value that may be a key.

        Raises:
            UsageError: Always.
        """
        command = self.prog.removeprefix(PROGRAM).strip()
        found = re.fullmatch(r"argument (?:-\w/)?(-[\w-]+): (.*)", message, re.DOTALL)
        hint = f"{PROGRAM} {command} --help" if command else f"{PROGRAM} --help"
        if not found:
            missing = message.removeprefix("the following arguments are required: ")
            words = f"`{self.prog}` needs {missing}" if missing != message else message
            raise UsageError(words, hint=hint)
        flag, words = found[1], found[2]
        if words.startswith("expected"):
            raise UsageError(
                f"{flag} is given without a value",
                hint=f"a value that begins with a dash is written {flag}=-VALUE",
            )
        wrong = re.fullmatch(r"invalid choice: (.*) \(choose from (.*)\)", words, re.DOTALL)
        if wrong:
            known = wrong[2].replace("'", "")
            raise UsageError(f"{flag} is {shown(wrong[1].strip(chr(39)))}, expected {known}")
        raise UsageError(f"{flag}: {words}", hint=hint)


def unknown_command(word: str, known: Sequence[str]) -> UsageError:
    """The error of a command that there is none of."""
    near = nearest(word, known)
    return UsageError(
        f"there is no command {shown(word)}",
        hint=f"did you mean `{PROGRAM} {near}`?" if near else f"{PROGRAM} --help lists them",
    )


def unknown_words(argv: Sequence[str], command: str, left: Sequence[str]) -> UsageError:
    """The error of arguments that a command does not take: the first flag, else the first word."""
    flags = [word.partition("=")[0] for word in left if word.startswith("-")]
    if not flags:
        return UsageError(
            f"`{PROGRAM} {command}` takes no further argument, found {len(left)}",
            hint=f"{PROGRAM} {command} --help",
        )
    return UsageError(
        f"`{PROGRAM} {command}` has no flag {shown(flags[0])}", hint=_hint(argv, command, flags)
    )


def _hint(argv: Sequence[str], command: str, unknown: Sequence[str]) -> str:
    """The line to type where it is known what was meant, else the nearest flag."""
    flags = [row.takes(command) for row in options.of_command(command)]
    words: Sequence[str] | None = argv
    for flag in unknown:
        words = words and _corrected(words, command, flag, flags)
    if words:
        return f"type: {PROGRAM} {shlex.join(masked(words, mask='KEY'))}"
    rows = [row for row in options.OPTIONS if row.flag == unknown[0]]
    others = sorted({name for row in rows for name in row.commands.split()})
    if others:
        return f"`{unknown[0]}` is a flag of: {', '.join(others)}"
    near = nearest(unknown[0], flags)
    return f"did you mean `{near}`?" if near else f"{PROGRAM} {command} --help-all lists them"


def _corrected(
    argv: Sequence[str], command: str, flag: str, flags: Sequence[str]
) -> Sequence[str] | None:
    """The arguments with the flag as it is called here; None where nobody knows what it is."""
    at, value, after = _around(argv, flag)
    name = flag.lstrip("-").replace("-", "_")
    if name in GENERATION:
        ours = "--generation-config" if command == "eval" else "--generation"
        if ours in flags:
            return _with_pair(argv[:at], ours, f"{name}={value or 'VALUE'}", after)
    if flag in BENCHMARK_FLAGS and "--datasets" not in flags and command in _NAMES_BENCHMARKS:
        count = next((n for n, word in enumerate(after) if word.startswith("-")), len(after))
        names = ([value] if value else []) + list(after[:count])
        rest = [word for word in argv[1:at] if word not in names]
        return [command, *names, *rest, *after[count:]]
    ours = OTHER_NAMES.get(flag) or _by_evalscope(flag) or flag
    ours = ours if ours in flags else _called(command, ours)
    return [*argv[:at], ours, *([] if value is None else [value]), *after] if ours else None


def _with_pair(before: Sequence[str], flag: str, pair: str, after: Sequence[str]) -> Sequence[str]:
    """The arguments with a generation option; EvalScope's flag takes all of them at once."""
    words = [*before, *after]
    if flag == "--generation-config" and flag in words:
        at = words.index(flag) + 1
        return [*words[:at], f"{words[at]},{pair}", *words[at + 1 :]]
    return [*before, flag, pair, *after]


_NAMES_BENCHMARKS = ("run", "check", "fetch")


def _around(argv: Sequence[str], flag: str) -> tuple[int, str | None, Sequence[str]]:
    """Where a flag stands, its value, and what comes after both."""
    for at, word in enumerate(argv):
        name, equals, value = word.partition("=")
        if name == flag:
            if equals:
                return at, value, argv[at + 1 :]
            has_value = at + 1 < len(argv) and not argv[at + 1].startswith("-")
            value_after = argv[at + 1] if has_value else None
            return at, value_after, argv[at + 1 + has_value :]
    return len(argv), None, ()


def _by_evalscope(flag: str) -> str:
    """Our flag for an option that EvalScope has by that flag."""
    name = flag.lstrip("-").replace("-", "_")
    return next((row.flag for row in options.OPTIONS if row.evalscope == name), "")


def _called(command: str, flag: str) -> str:
    """What a command calls the option that `run` has by that flag; empty where it has none."""
    return next((row.takes(command) for row in options.OPTIONS if row.flag == flag), "")
