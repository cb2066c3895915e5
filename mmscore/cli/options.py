"""The command line's argument tree, read from the table of options: what can be said, not done."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mmscore.cli.option_words import words_of
from mmscore.cli.task_values import destination, form_of
from mmscore.cli.usage import PROGRAM, Parser, unknown_command, unknown_words
from mmscore.config import options
from mmscore.config.kinds import Kind
from mmscore.config.option import Option


def parser(*, every: bool = False) -> argparse.ArgumentParser:
    """The whole tree; with `every`, its help shows the options that are seldom needed too."""
    top = Parser(
        prog=PROGRAM,
        description="Evaluate vision-language models behind any OpenAI-compatible endpoint.",
        epilog="try it with no model and no network: mmscore demo",
        formatter_class=_format,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="versions of mmscore, core, Python")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (words, arguments, example, positionals) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=words,
            description=words[0].upper() + words[1:] + ".",
            epilog=f"example:\n  {example}",
            usage=f"{PROGRAM} {name} {arguments}".rstrip(),
            formatter_class=_format,
            allow_abbrev=False,
        )
        for told in positionals:
            command.add_argument(**told)
        _add_options(command, name, every=every)
    return top


def _format(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=96)


def _add_options(command: argparse.ArgumentParser, name: str, *, every: bool) -> None:
    """Add the flags of a command, under the titles of the table."""
    if any(not row.common and row.flag != "--debug" for row in options.of_command(name)):
        command.add_argument("--help-all", action="help", help="show the seldom needed options too")
    for title, rows in options.SECTIONS.items():
        taken = [row for row in rows if row.takes(name)]
        shown = any(row.common or every for row in taken)
        group = command.add_argument_group(title) if title and shown else command
        for row in taken:
            _add(group, row, name, shown=row.common or every)


def _add(group: Any, row: Option, command: str, *, shown: bool) -> None:
    flag, kind = row.takes(command), form_of(row, command)
    told: dict[str, Any] = {
        "dest": destination(flag),
        "help": words_of(row, command) if shown else argparse.SUPPRESS,
        "default": None if row.place else row.default,
        "required": row.required,
    }
    if kind.form == "switch":
        told |= {"action": "store_true", "default": None if row.place else False}
    elif kind.form == "onoff":
        told |= {"action": argparse.BooleanOptionalAction}
    else:
        told |= {"metavar": row.metavar or kind.metavar, "type": _typed(kind)}
        if kind.choices:
            told["choices"] = kind.choices
        told |= _GATHERED.get(kind.form, {})
    group.add_argument(flag, **told)


_GATHERED = {
    "repeat": {"action": "append"},
    "several": {"nargs": "+"},
    "any": {"nargs": "*"},
}
"""Form of an option that takes more than one word -> how argparse gathers them."""


def _typed(kind: Kind) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return kind.parse(text)
        except ValueError as error:
            words = f"`{text}` is no number" if kind.parse in (int, float) else str(error)
            raise argparse.ArgumentTypeError(words) from None

    return read


def _benchmarks(nargs: str) -> dict[str, Any]:
    return {
        "dest": "benchmarks", "nargs": nargs, "metavar": "BENCH", "help": "see `mmscore list`",
    }  # fmt: skip


def _one(dest: str, metavar: str, words: str | None = None, **more: Any) -> dict[str, Any]:
    return {"dest": dest, "metavar": metavar, "help": words, **more}


_RUN_DIR = _one("run_dir", "RUN_DIR", "a run's folder")

COMMANDS: dict[str, tuple[str, str, str, Sequence[Mapping[str, Any]]]] = {
    "run": (
        "ask a model the questions of a benchmark, score and report",
        "BENCH... --model NAME --api-url URL [options]",
        "mmscore run slake --data SLAKE/ --model m --api-url http://127.0.0.1:8000/v1",
        [_benchmarks("*")],
    ),
    "check": (
        "look for all that would spoil a run, before the first question",
        "BENCH... [options]",
        "mmscore check slake --data SLAKE/ --model m --api-url http://127.0.0.1:8000/v1",
        [_benchmarks("*")],
    ),
    "eval": (
        "as `run`, with EvalScope's flags",
        "--model NAME --api-url URL --datasets NAME... [options]",
        "mmscore eval --model m --api-url http://127.0.0.1:8000/v1 --datasets slake --limit 10",
        [],
    ),
    "score": (
        "score saved replies again, or replies made elsewhere; only a judge needs the network",
        "RUN_DIR | BENCH --replies FILE [options]",
        "mmscore score slake --data SLAKE/ --replies replies.csv",
        [_one("target", "RUN_DIR | BENCH", "a run's folder; a benchmark")],
    ),
    "report": (
        "show a run's report, also of a half-finished run",
        "RUN_DIR [options]",
        "mmscore report outputs/20260101_120000-slake --json",
        [_RUN_DIR],
    ),
    "fetch": (
        "fetch what a run would need, and say where it lies",
        "BENCH... [options]",
        "mmscore fetch pmc_vqa --dry-run",
        [_benchmarks("+")],
    ),
    "cache": (
        "show what was fetched, or remove it",
        "[--clean [BENCH...]] [options]",
        "mmscore cache --clean pmc_vqa",
        [],
    ),
    "compare": (
        "pair runs sample by sample: what was gained and lost, and how sure that is",
        "RUN_A RUN_B [RUN...] [options]",
        "mmscore compare outputs/20260101_120000-slake outputs/20260102_120000-slake",
        [
            _one("run_a", "RUN_A", "the run that is compared against"),
            _one("run_b", "RUN_B", "the run whose gains and losses are told"),
            _one("more_runs", "RUN", "more runs, each compared with each", nargs="*"),
        ],
    ),
    "merge": (
        "make one run out of the runs of its shards",
        "SHARD_DIR... --out DIR [options]",
        "mmscore merge shard-1 shard-2 shard-3 --out whole",
        [_one("shard_dirs", "SHARD_DIR", "run folders, or a folder of them", nargs="+")],
    ),
    "table": (
        "lay several runs out, models down and benchmarks across",
        "RUN_DIR... [options]",
        "mmscore table outputs --format markdown",
        [_one("places", "RUN_DIR", "runs' folders, or a folder of runs", nargs="+")],
    ),
    "list": ("list the benchmarks", "[options]", "mmscore list", []),
    "info": (
        "tell a benchmark's subsets, metrics and prompt, and what its data hold",
        "BENCH [options]",
        "mmscore info slake --data SLAKE/",
        [_one("benchmark", "BENCH")],
    ),
    "help": (
        "explain a topic: options, config, environment, judge, filters ...",
        "[TOPIC]",
        "mmscore help environment",
        [_one("topic", "TOPIC", "none lists them", nargs="?")],
    ),
    "demo": (
        "run the whole job on drawn data against a built-in endpoint",
        "[options]",
        "mmscore demo",
        [],
    ),
}
"""Command -> what it does, its arguments in short, an example, its positionals."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments, read.

    Raises:
        UsageError: They cannot be read; no value that may be a key is in it.
    """
    if argv and not argv[0].startswith("-") and argv[0] not in COMMANDS:
        raise unknown_command(argv[0], list(COMMANDS))
    arguments, left = parser(every="--help-all" in argv).parse_known_args(argv)
    names = getattr(arguments, "benchmarks", None)
    if left and names and not any(word.startswith("-") for word in left):
        names += left  # benchmarks on both sides of a flag
    elif left:
        raise unknown_words(argv, arguments.command or "", left)
    return arguments


__all__ = ["COMMANDS", "PROGRAM", "parse", "parser"]
