"""`report.csv`: one line a sample, for spreadsheets, and read back as it was."""

from __future__ import annotations

import contextlib
import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mmscore.errors import DataError
from mmscore.store.records import Prediction, Score
from mmscore.store.run_folder import Run

BOM = "\ufeff"
"""Without it, spreadsheets take UTF-8 for the machine's old encoding."""

MOST_FACTS = 1_000
"""Columns of facts; a set of records that each have columns of their own has no end of them."""

GUARD = "'"
"""Stands before a cell that a spreadsheet would run, and before one that begins with it."""

_GUARDED = frozenset("=+-@\t\r\n'\uff1d\uff0b\uff0d\uff20")
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")
_QUOTED = re.compile('[",\x00-\x1f\x7f-\x9f\u2028\u2029]|^ | $')
_ARCHIVE_PATH = re.compile(r" in (?:/|[A-Za-z]:\\).*", re.DOTALL)


def csv_lines(run: Run) -> Iterator[str]:
    """Yield the lines, in the order of the data set; RFC 4180 quoting, lines end in LF.

    A spreadsheet runs a cell that starts with `=`, `+`, `-` or `@`, and replies come from
    strangers: such text gets a leading apostrophe, unless it is a plain number, and so does text
    that begins with one: to take one off again is to have the text as it was. A NUL, which no CSV
    can hold, is U+FFFD. Whatever steers lines or terminals stands between quotes.
    """
    metrics, facts = run.metrics, run.facts[:MOST_FACTS]
    taken = {*COLUMNS, *metrics}
    names = [f"{name} (fact)" if name in taken else name for name in facts]
    yield BOM + _line([*COLUMNS, *metrics, *names])
    cells = tuple(COLUMNS.values())
    for prediction, score in run.whole():
        scores = score.metrics if score else {}
        known = prediction.facts
        yield _line(
            [
                *[cell(prediction, score, run) for cell in cells],
                *[scores.get(metric) for metric in metrics],
                *[known.get(name) for name in facts],
            ]
        )


def is_spreadsheet(path: Path) -> bool:
    """Whether a file is a `report.csv`, by how it begins."""
    head = ",".join(COLUMNS)
    with contextlib.suppress(OSError, UnicodeDecodeError), path.open(encoding="utf-8-sig") as file:
        return file.read(len(head)) == head
    return False


def read_spreadsheet(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the lines of a `report.csv`: where each ends, and its cells as they were.

    Other readers of CSV take any end of a line inside a cell for a line feed; here a reply has to
    come back as it was.

    Raises:
        DataError: It cannot be read, or is damaged.
    """
    csv.field_size_limit(2**31 - 1)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            names = next(rows)
            for cells in rows:
                if len(cells) != len(names):
                    raise DataError(
                        f"`{path}` line {rows.line_num} has {len(cells)} cells, expected "
                        f"{len(names)}",
                        hint="score the replies in the run's folder instead",
                    )
                yield rows.line_num, dict(zip(names, map(unguarded, cells), strict=True))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"cannot read `{path}`: {error}") from None


def unguarded(cell: str) -> str:
    """A cell of a `report.csv` as it was before it was guarded."""
    return cell[1:] if cell[:1] == GUARD else cell


def _line(cells: Iterable[Any]) -> str:
    return ",".join([_text(c) if type(c) is str else _other(c) for c in cells]) + "\n"


def _text(text: str) -> str:
    if text[:1] in _GUARDED and not _PLAIN_NUMBER.fullmatch(text):
        text = GUARD + text
    if _QUOTED.search(text) is None:
        return text
    return '"' + text.replace("\0", "\N{REPLACEMENT CHARACTER}").replace('"', '""') + '"'


def _other(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, int | float):
        return repr(value)
    return _text(json.dumps(value, ensure_ascii=False))


def _votes(score: Score | None, said: Callable[[Any], object]) -> str | None:
    """A word for each judge; None where none was asked."""
    if score is None or score.judge is None:
        return None
    words = [(vote.judge, said(vote)) for vote in score.judge.verdicts]
    return " | ".join(f"{judge}: {word}" for judge, word in words if word not in (None, ""))


def _place(place: str) -> str:
    """Where a medium lay, without the folders of the machine."""
    return _ARCHIVE_PATH.sub("", place)


def _conversation(sample: Prediction) -> str | None:
    """All messages where they are more than the media and the question, media by their number."""
    if sample.messages is None and sample.turns is None:
        return None
    turns = []
    for message in sample.conversation:
        parts = [
            sample.question
            if part is None
            else f"[medium {part + 1}]"
            if isinstance(part, int)
            else str(part)
            for part in message.parts
        ]
        turns.append(f"{message.role}: " + "\n".join(parts))
    return "\n\n".join(turns)


COLUMNS: Mapping[str, Callable[[Prediction, Score | None, Run], object]] = {
    "id": lambda sample, *_: sample.id,
    "repeat": lambda sample, *_: sample.repeat,
    "subset": lambda sample, *_: sample.subset,
    "category": lambda sample, _, run: run.benchmark.subsets.get(sample.subset),
    "status": lambda sample, *_: sample.status,
    "question": lambda sample, *_: sample.question,
    "choices": lambda sample, *_: " | ".join(sample.choices),
    "target": lambda sample, *_: sample.target,
    "reply": lambda sample, *_: sample.reply,
    "extracted": lambda _, score, *__: score and score.extracted,
    "rule": lambda _, score, *__: score and score.rule,
    "judge": lambda _, score, *__: _votes(score, lambda vote: vote.verdict or vote.error),
    "judge_reason": lambda _, score, *__: _votes(score, lambda vote: vote.reasoning),
    "error": lambda sample, *_: sample.error,
    "finish_reason": lambda sample, *_: sample.finish_reason,
    "prompt_tokens": lambda sample, *_: sample.usage.prompt_tokens,
    "completion_tokens": lambda sample, *_: sample.usage.completion_tokens,
    "seconds": lambda sample, *_: sample.seconds,
    "answer_seconds": lambda sample, *_: sample.answer_seconds,
    "first_token_seconds": lambda sample, *_: sample.first_token_seconds,
    "attempts": lambda sample, *_: sample.attempts,
    "media": lambda sample, *_: " | ".join([_place(medium.place) for medium in sample.media]),
    "messages": lambda sample, *_: _conversation(sample),
}
"""Column -> its cell of a sample; metrics and facts follow."""
