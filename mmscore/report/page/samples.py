"""What a page says of single samples: short values by column, texts in parts read when shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mmscore.report.page.columns import Columns, short
from mmscore.report.page.text import HiddenPaths, SharedLines, cut, inert
from mmscore.store.lines import Line, labels_of
from mmscore.store.records import Prediction, Score

SAMPLES_LIMIT = 200_000
"""Samples that a page lists."""

TEXTS_LIMIT = 64 * 1024 * 1024
"""Bytes of questions and replies that a page carries, those of failed and wrong samples first."""

PART = 256
"""Samples whose texts are read at once."""

FACT_LIMIT = 100
"""Facts (metadata columns) of a sample that a page carries."""

LOOKED_AT = 400
"""Samples of each subset in which shared lines are looked for."""


@dataclass(frozen=True, slots=True)
class PageSample:
    """What a page says of one sample.

    Attributes:
        words: Column -> the sample's word or words.
        numbers: Column -> the sample's number.
        texts: What is shown when the sample is opened, JSON.
    """

    words: dict[str, Any]
    numbers: dict[str, float | int | None]
    texts: list[Any]


def sample_pieces(
    samples: Iterable[PageSample], asked: int, more: Mapping[str, Any]
) -> Iterator[str]:
    """The scripts that hold the samples, those to be read when shown first.

    Args:
        samples: All samples, those that matter most first; only as many are read as are listed.
        asked: How many there are.
        more: What stands beside the columns in the last script.
    """
    columns = Columns()
    part: list[str] = []
    carried = size = parts = 0
    for sample in islice(samples, SAMPLES_LIMIT):
        columns.add(sample.words, sample.numbers)
        if carried + 1 < columns.count:  # one had no room: those behind it matter less
            continue
        text = inert(sample.texts)
        size += len(text.encode("utf-8", "replace"))
        if size > TEXTS_LIMIT:
            continue
        carried += 1
        part.append(text)
        if len(part) == PART:
            yield script_piece(f"part-{parts}", f"[{','.join(part)}]")
            part.clear()
            parts += 1
    if part:
        yield script_piece(f"part-{parts}", f"[{','.join(part)}]")
    counts = {"asked": asked, "count": columns.count, "carried": carried, "part": PART}
    yield script_piece("samples", inert({**counts, **more, "columns": columns.to_json()}))


def script_piece(name: str, text: str) -> str:
    """A script that holds JSON, by its id."""
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def shared_lines(predictions: Iterable[Prediction]) -> SharedLines:
    """The lines that most of some predictions of a subset share."""
    return SharedLines((one.subset, [text for _, text in one.said]) for one in predictions)


def messages(prediction: Prediction, shared: SharedLines) -> list[list[Any]]:
    """Each message's role and the pieces of its text."""
    return [[role, *shared.pieces(prediction.subset, cut(text))] for role, text in prediction.said]


def answer_texts(prediction: Prediction, score: Score | None, hidden: HiddenPaths) -> list[Any]:
    """Reply, reasoning, what was read, verdicts, error; a reply that is what was read is 0."""
    reply, read = prediction.reply, score.extracted if score else None
    return [
        0 if reply and reply == read else cut(reply),
        prediction.reasoning and cut(prediction.reasoning),
        whole_text(read),
        _verdicts(score, hidden),
        prediction.error and hidden.sentence(cut(prediction.error)),
    ]


def _verdicts(score: Score | None, hidden: HiddenPaths) -> list[list[str | None]]:
    """Of each judge: its name, its verdict, why; and the error where there is no verdict."""
    if score is None or score.judge is None:
        return []
    found = [
        [
            vote.judge,
            vote.verdict,
            vote.reasoning and cut(vote.reasoning),
            vote.error and hidden.sentence(cut(vote.error)),
        ]
        for vote in score.judge.verdicts
    ]
    if score.judge.error and not found:
        found.append(["", None, None, hidden.sentence(cut(score.judge.error))])
    return found


def facts(prediction: Prediction, hidden: HiddenPaths) -> dict[str, list[str]]:
    """Column -> the sample's labels, for each fact that it has."""
    known = (pair for pair in prediction.facts.items() if pair[1] not in (None, "", []))
    return {
        f"fact:{name}": [str(hidden.value(label)) for label in labels_of(value)]
        for name, value in islice(known, FACT_LIMIT)
    }


def whole_text(text: str | None) -> str | None:
    """The text; None where the column, which shows a line of it, says all of it already."""
    return None if text is None or short(text) == text else cut(text)


def worst_first(lines: Sequence[Line], matters: Callable[[Line], bool]) -> list[Line]:
    """The lines that matter, then the others, each in their order."""
    return sorted(lines, key=lambda line: not matters(line))  # stable


def fell_short(line: Line, metric: str) -> bool:
    """Whether a sample failed, has no score or less than the whole one."""
    value = line.value(metric)
    return value is None or value < 1.0
