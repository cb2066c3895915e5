"""CountQA: how many things of a kind are in a photograph.

"CountQA: How Well Do MLLMs Count in the Wild?" (arXiv 2508.06585). 1,528
questions on 1,001 photographs taken for it, some crowded, some asking for the sum over several
kinds; counts go from 0 to 400.

Policy, as EvalScope 1.14.1 has it: the reply counts if it is an integer, else its first integer
does (the rule the paper states for its rewriter). So a model that counts aloud is scored on its
first number; a filter can choose another. `relaxed_acc` allows 5 %, and nothing where the count
is 0. A count of more than 4,300 digits, which ends the reference's run, is not scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmscore.benchmarks.base import Benchmark, Dataset, Files, Options
from mmscore.dataset.media.columns import bytes_as_numbers, is_bytes_as_numbers
from mmscore.dataset.media.sources import BytesSource
from mmscore.dataset.rows import Cell, Row, read, require_columns, split_parts
from mmscore.error_text import shown
from mmscore.errors import DataError
from mmscore.model.prompts import fill
from mmscore.scoring.answers import match_count, read_count
from mmscore.types import Extracted, Media, Message, Sample, Source, Text

SPLIT = "test"
TABLES = f"data/{SPLIT}-*.parquet"

SYSTEM_PROMPT = (
    "You are a helpful assistant that counts the number of items in an image. The user will "
    "provide an image and ask a question about the number of a certain type of item in the image. "
    "If the user question is referring to multiple objects, it means that you need to provide a "
    "sum of the number of items. You will count the number of items and return the number as an "
    "integer. Your output should STRICTLY be a single integer and nothing else."
)
"""Verbatim from the paper's appendix."""

NEEDED = ("image", "questions", "answers")
FACTS = ("is_focused", "categories")
SUBSET = "default"


def samples(files: Files, options: Options) -> Iterator[Sample]:
    """Yield one sample for each question of each photograph, in file order.

    An id is the photograph's row and the question's number, both from 1: `12-2`. Rows count over
    all files of the split.

    Raises:
        DataError: A table or a part of it is missing or damaged, lacks a column, or a row's
            questions and answers do not fit together.
    """
    tables = files.matching(TABLES)
    if files.single is None:  # of one file that the user names, the rest is not missed
        tables = split_parts(tables, SPLIT, files.name) or tables
    row = 0
    for table in tables:
        for record in read(files.path(table), late=("image",)):
            if record.number == 1:
                require_columns(NEEDED, record, f"`{record.path}`")
            row += 1
            source = _source(record, files, table, options)
            yield from _of_row(record, row, Media("image", source), options)


def _of_row(record: Row, row: int, image: Media, options: Options) -> Iterator[Sample]:
    questions, answers = _list(record, "questions"), _list(record, "answers")
    if len(questions) != len(answers):
        raise DataError(
            f"{record.place} has {len(questions)} questions and {len(answers)} answers, "
            "expected one for each"
        )
    facts = {name: record[name] for name in FACTS if name in record}
    system = Message("system", SYSTEM_PROMPT if options.system is None else options.system)
    for number, (question, answer) in enumerate(zip(questions, answers, strict=True), 1):
        if not isinstance(question, str):
            raise DataError(
                f"{record.place} has {shown(question)} as question {number}, expected a text"
            )
        asked = question
        if options.prompt_template is not None:
            asked = fill(options.prompt_template, question=question)
        yield Sample(
            id=f"{row}-{number}",
            subset=SUBSET,
            messages=(system, Message("user", (image, Text(asked)))),
            target=_target(record, number, answer),
            metadata=facts,
            unit=str(row),
        )


def _target(record: Row, number: int, answer: object) -> str:
    """The count as the reference reads it: blanks round it, a sign and any script's digits pass."""
    target = str(answer).strip()
    try:
        float(int(target))
    except (ValueError, OverflowError):
        raise DataError(
            f"{record.place} has {shown(answer)} as answer {number}, expected an integer"
        ) from None
    return target


def _list(record: Row, name: str) -> list[object]:
    value = record[name]
    if not isinstance(value, list):
        raise DataError(f"{record.place} has {shown(value)} as `{name}`, expected a list")
    return value


def _source(record: Row, files: Files, table: str, options: Options) -> Source:
    """Where the photograph is: a cell of the table, or a file beside it."""
    value = record["image"]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    held = value.get("bytes") if isinstance(value, dict) else value
    path = value.get("path") if isinstance(value, dict) else None
    place = f"{record.place} column `image`"
    match held:
        case Cell():
            return BytesSource(held.name, held)
        case bytes():
            return BytesSource(place, held)
        case None if isinstance(path, str) and path:
            beside = files.beside(table, path)
            return beside or options.roots(files, record.path).source(path)
    if is_bytes_as_numbers(held):
        raise bytes_as_numbers(held, place)
    raise DataError(f"{place} holds {shown(value)}, expected the bytes or the path of an image")


def parse(reply: str, sample: Sample) -> Extracted:
    """The count in decimal.

    Raises:
        DataError: It has more than 4,300 digits.
    """
    return read_count(reply)


def score(answer: str | None, sample: Sample) -> Mapping[str, float]:
    """Accuracy, and `relaxed_acc`: 1.0 for a count within 5 % of the right one."""
    if sample.target is None:
        return {}
    exact, relaxed = match_count(answer, sample.target)
    return {"accuracy": float(exact), "relaxed_acc": float(relaxed)}


BENCHMARK = Benchmark(
    name="count_qa",
    title="CountQA",
    about="how many things of a kind are in a photograph",
    paper="https://arxiv.org/abs/2508.06585",
    dataset=Dataset("evalscope/CountQA", "Jayant-Sravan/CountQA", (TABLES,)),
    subsets={SUBSET: "default"},
    metrics=("accuracy", "relaxed_acc"),
    groups=FACTS,
    prompt={"system": SYSTEM_PROMPT, "question": "{question}"},
    scorer="first-integer/1",
    samples=samples,
    parse=parse,
    score=score,
)
