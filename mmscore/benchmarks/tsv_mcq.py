"""VLMEvalKit's custom multiple-choice tables, asked and scored as VLMEvalKit does.

Policy: its prompt, images first; the option letter is inferred from the reply without a judge
(exactly one letter among the last words, else `answer is X`, else exactly one option's text), and
a reply that commits to nothing is wrong, never a random guess. The answer is one of the row's
letters; a row whose answer is another could only be wrong, so it is named before the run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from string import ascii_uppercase

from mmscore.benchmarks.base import Benchmark, Files, Options
from mmscore.benchmarks.own_data import Draft
from mmscore.benchmarks.tsv_rows import GROUPS, cell, parts, tsv_samples, understood, unscored
from mmscore.dataset.rows import Row
from mmscore.error_text import shown
from mmscore.errors import DataError
from mmscore.model.prompts import fill
from mmscore.scoring.answers import read_option
from mmscore.types import Extracted, Media, Message, Sample

HINT = "Hint: {hint}\n"
QUESTION = "Question: {question}\n"
OPTIONS = "Options:\n{options}"
REQUEST = "Please select the correct answer from the options above. \n"


def samples(files: Files, options: Options) -> Iterator[Sample]:
    """Yield the rows of each table, in file order.

    Raises:
        ConfigError: A subset name leads out of the folder.
        DataError: A table is missing, damaged, or lacks a column.
    """
    read = partial(draft, template=options.prompt_template)
    return tsv_samples(files, options, ("A", "B"), read)


def draft(row: Row, images: tuple[Media, ...], template: str | None = None) -> Draft:
    """What a row asks.

    Args:
        row: The row.
        images: What it shows.
        template: Replaces VLMEvalKit's prompt; with `{question}`, `{options}` and `{hint}`.

    Raises:
        DataError: The row has no options, or its answer is none of them.
    """
    choices = {letter: cell(row, letter) for letter in ascii_uppercase if cell(row, letter)}
    if len(choices) < 2:
        number = "1 option" if choices else "0 options"
        raise DataError(f"{number} in the columns `A`, `B` ..., expected at least 2")
    target = cell(row, "answer").strip()
    if target and target not in choices:
        near = [letter for letter, text in choices.items() if text.strip() == target]
        near += [target.upper()] if target.upper() in choices else []
        raise DataError(
            f"`answer` is {shown(target)}, expected one of {', '.join(choices)}",
            hint=f"write {near[0]}" if near else "an option whose cell is empty is none",
        )
    text = prompt(cell(row, "question"), choices, cell(row, "hint"), template)
    letters = "".join(choices)
    gap = letters != ascii_uppercase[: len(letters)]
    return Draft(
        (Message("user", parts(images, text)),),
        target or None,
        tuple(choices.values()),
        {"letters": letters} if gap else {},
        warnings=unscored(target),
    )


def prompt(
    question: str, choices: Mapping[str, str], hint: str = "", template: str | None = None
) -> str:
    """The text that asks a question, VLMEvalKit's unless a template is given."""
    lines = "".join(f"{letter}. {text}\n" for letter, text in choices.items())
    if template is None:
        template = (HINT if hint else "") + QUESTION + OPTIONS + REQUEST
    return fill(template, question=question, options=lines, hint=hint)


def parse(reply: str, sample: Sample) -> Extracted:
    """The option the reply means."""
    letters = sample.metadata.get("letters") or ascii_uppercase[: len(sample.choices)]
    return read_option(reply, dict(zip(letters, sample.choices, strict=True)))


def score(answer: str | None, sample: Sample) -> Mapping[str, float]:
    """Accuracy: 1.0 where the letter is the right one."""
    return {} if sample.target is None else {"accuracy": float(answer == sample.target)}


BENCHMARK = Benchmark(
    name="tsv_mcq",
    title="TSV-MCQ",
    about="multiple-choice tables of VLMEvalKit",
    paper="",
    dataset=None,
    subsets={},
    metrics=("accuracy",),
    groups=GROUPS,
    prompt={"en": HINT + QUESTION + OPTIONS + REQUEST},
    scorer="vlmevalkit-option/1",
    samples=samples,
    parse=parse,
    score=score,
    understood=understood,
)
