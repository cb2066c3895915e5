"""What `mmscore help TOPIC` prints: texts beside this file, and what the table of options says.

A topic is a file in `topics/`; what can be read from a table or a record stands in none of them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mmscore.cli.option_words import words_of
from mmscore.cli.task_values import destination
from mmscore.config import options
from mmscore.config.option import Option
from mmscore.errors import ConfigError, Exit

FOLDER = Path(__file__).with_name("topics")
WIDTH = 96
COLUMN = 26


def topics() -> list[str]:
    """The names of all topics."""
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


def topic_text(name: str) -> str:
    """The text of a topic.

    Raises:
        ConfigError: There is none of that name.
    """
    from mmscore.error_text import nearest_hint

    if name not in topics():
        raise ConfigError(f"there is no help on `{name}`", hint=nearest_hint(name, topics()))
    written = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")
    more = "\n".join(READ.get(name, lambda: ())())
    return f"{written}\n\n{more}\n" if more else f"{written}\n"


def overview() -> str:
    """The topics, each with its title."""
    rows = []
    for name in topics():
        first = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").partition("\n")[0]
        rows.append(f"  {name:<14}{first}")
    return "mmscore help TOPIC\n\n" + "\n".join(rows) + "\n"


def _config() -> Iterator[str]:
    yield "Fields:"
    for name, row in options.fields().items():
        yield from _row(name, _with_default(row))
    for place, title in (
        ("dataset_args.*", "Keys of `dataset_args`, for each benchmark:"),
        ("generation_config", "Keys of `generation_config` that mean something here:"),
    ):
        rows = {key: row for key, row in options.inside(place).items() if row.kept}
        if rows:
            yield f"\n{title}"
        for key, row in rows.items():
            yield from _row(key, row.more or row.help)


def _with_default(row: Option) -> str:
    words = row.more or row.help
    if row.default in (None, False, []) or f"({row.default})" in words:
        return words
    default = ", ".join(row.default) if isinstance(row.default, list) else row.default
    return f"{words} (default: {default})"


def _options() -> Iterator[str]:
    for title, rows in options.SECTIONS.items():
        flagged = [row for row in rows if row.flag]
        if flagged:
            yield f"{title or 'output'}:"
        for row in flagged:
            metavar = row.metavar or row.kind.metavar
            flag = row.flag if row.kind.form == "switch" else f"{row.flag} {metavar}"
            yield from _row(flag, _of_option(row))
        if flagged:
            yield ""


def _of_option(row: Option) -> str:
    same = row.place == destination(row.flag)
    field = f"; field `{row.place}`" if row.place and not same else ""
    commands = row.commands.split()
    own = "" if "run" in commands else f"; {', '.join(commands)}"
    return f"{words_of(row, 'run')}{field}{own}"


def _environment() -> Iterator[str]:
    for row in options.OPTIONS:
        if row.env:
            instead = f"; or {row.flag}" if row.flag else ""
            yield from _row(", ".join(row.env), f"{row.more or row.help}{instead}")


def _exit_codes() -> Iterator[str]:
    for code, meaning in MEANINGS.items():
        yield from _row(str(int(code)), meaning)


MEANINGS = {
    Exit.COMPLETE: "complete: every sample has a reply",
    Exit.DATA: "the user's data or options are wrong, or a file cannot be written",
    Exit.USAGE: "wrong usage: an unknown flag, a missing argument",
    Exit.INCOMPLETE: "finished, with failed samples; the report counts and bounds them",
    Exit.ENDPOINT: "the model service, or a judge, cannot be used",
    Exit.INTERRUPTED: "interrupted; go on with --resume",
}


def _run_folder() -> Iterator[str]:
    from mmscore.store import info, records

    for title, kind in (
        ("run.json", info.RunInfo),
        ("predictions.jsonl", records.Prediction),
        ("scores.jsonl", records.Score),
        ("judgements.jsonl", records.Judgement),
    ):
        yield f"{title}:"
        for name, words in _attributes(kind.__doc__ or ""):
            yield from _row(name, words)
        yield ""


def _attributes(documentation: str) -> Iterable[tuple[str, str]]:
    """Name and meaning of each field that a docstring documents."""
    _, _, listed = documentation.partition("Attributes:\n")
    for entry in re.split(r"\n(?=\S)", textwrap.dedent(listed.replace("\n\n", "\n"))):
        name, _, words = " ".join(entry.split()).partition(": ")
        if words:
            yield name, words.rstrip(".")


def _row(name: str, words: str) -> Iterator[str]:
    """A name and its words, in two columns; a long name has a line of its own."""
    lines = textwrap.wrap(words, WIDTH - COLUMN - 2) or [""]
    if len(name) >= COLUMN:
        yield f"  {name}"
    else:
        yield f"  {name:<{COLUMN}}{lines.pop(0)}".rstrip()
    yield from (" " * (COLUMN + 2) + line for line in lines)


READ: dict[str, Callable[[], Iterator[str]]] = {
    "config": _config,
    "options": _options,
    "environment": _environment,
    "exit-codes": _exit_codes,
    "run-folder": _run_folder,
}
"""Topic -> what follows its text, read from tables and records."""
