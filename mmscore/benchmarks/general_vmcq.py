"""General-VMCQ: the user's own multiple-choice questions about images, sounds and clips.

A record has a `question`, its `options` (or columns `A`, `B`, `C` ...) and the label of the right
one as `answer`; question and options may hold placeholders such as `<image 1>`.

Policy, as EvalScope 1.14.1 has it: the step-by-step prompt, the choice read from the last
`ANSWER:` marker with a label, else from the last capital letter; every filled media column is
checked whether it is used or not; blank options, fewer than two, and an answer that is no label
are asked and scored, and told. Beyond the reference, the option `multiple` asks for all right
answers and compares sets, and `language` `zh` asks in Chinese.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from mmscore.benchmarks.base import Benchmark, Files, Options
from mmscore.benchmarks.own_data import Draft, own_samples
from mmscore.dataset.media.columns import MEDIA_COLUMNS, is_media_column
from mmscore.dataset.media.paths import Roots
from mmscore.dataset.media.placeholders import parts_of, resolve
from mmscore.dataset.rows import missing_column, require_columns
from mmscore.dataset.rows.python_literal import LONGEST, read_literal
from mmscore.error_text import shown, text_of, what
from mmscore.errors import ConfigError, DataError
from mmscore.model.prompts import (
    CHOICE_TEMPLATES,
    choice_labels,
    choice_prompt,
    choice_template,
    template_language,
)
from mmscore.scoring.answers import read_choice
from mmscore.scoring.reference_answers import joined, reference_answers
from mmscore.types import Extracted, Message, Sample

SPLIT = "val"

LETTERS = choice_labels(26)

ANSWERS = "answers"
"""The fact that says how many answers a question has, where it is not one."""


def understood(column: str) -> bool:
    """Whether a column of this name means something here."""
    named = column in ("question", "options", "answer", "id") or column in LETTERS
    return named or is_media_column(column)


def samples(files: Files, options: Options) -> Iterator[Sample]:
    """Yield the records of each subset, in file order.

    Raises:
        ConfigError: The option `language` has no such value.
        DataError: A file is missing or damaged; with the option `strict`, a record is bad.
    """
    language = options.extra.get("language", "en")
    if language not in ("en", "zh"):
        raise ConfigError(f"language is {shown(language)}, expected en or zh")
    multiple = bool(options.extra.get("multiple", False))
    template = options.prompt_template or choice_template(multiple=multiple, language=language)
    template = CHOICE_TEMPLATES.get(template, template)
    if options.prompt_template is not None and "language" not in options.extra:
        language = template_language(template)
    facts = {
        **({"multiple": True} if multiple else {}),
        **({"language": "zh"} if language == "zh" else {}),
    }
    read = partial(draft, template=template, facts=facts)
    return own_samples(files, options, SPLIT, read, MEDIA_COLUMNS, understood)


def draft(
    record: Mapping[str, Any],
    roots: Roots,
    template: str = choice_template(),
    facts: Mapping[str, Any] = {},
) -> Draft:
    """What a record asks.

    Args:
        record: The row.
        roots: Where media paths start.
        template: The prompt, with `{question}`, `{choices}` and `{letters}`.
        facts: What `parse` and `score` need to know: `multiple`, `language`.

    Raises:
        DataError: The record cannot be asked.
    """
    options = read_options(record)
    if "question" not in record or "answer" not in record:
        require_columns(("question", "answer"), record, "the record")
    if not "".join(options).isascii():
        for label, option in zip(choice_labels(len(options)), options, strict=True):
            text_of(option, f"option {label}")
    # The reference formats whatever a question is into the prompt.
    text = choice_prompt(template, _written(record["question"]), options)
    found = resolve([text], record, every=True, shown_kinds=frozenset())
    parts, _ = parts_of(found.texts[0], found.media, roots)
    warnings = []
    multiple = bool(facts.get("multiple"))
    answers = reference_answers(record["answer"])
    target = joined(answers)
    doubts = _option_doubts(options)
    try:
        labels = right_labels(answers, options, multiple=multiple)
    except DataError as error:
        doubts.append(error)
        labels = answers
    if multiple and labels:
        target = "".join(labels)
    elif len(answers) != 1:
        facts = {**facts, ANSWERS: len(answers)}
        warnings.append(_unscored(answers))
    return Draft(
        (Message("user", parts),),
        target,
        tuple(options),
        facts,
        tuple(doubts),
        tuple(warnings),
        media_faults=found.faults,
    )


def _unscored(answers: Sequence[str]) -> str:
    """What to say of a question whose reply only a judge can score."""
    if not answers:
        return "no answer, so the rule does not score the reply"
    return (
        f"{len(answers)} answers, so the rule does not score the reply (--multiple compares sets)"
    )


# --- options -----------------------------------------------------------------------------------


def read_options(record: Mapping[str, Any]) -> list[str]:
    """The option texts: of the column `options`, else of the columns `A`, `B`, `C` ...

    `options` is a list, or the text of one in JSON or as a Python literal; nothing in it is ever
    executed. Items that are no strings are written as Python writes them, as in the reference.

    Raises:
        DataError: There are no options, or they cannot be read.
    """
    value = record.get("options")
    if value is None or value == "":
        return _lettered(record)
    if isinstance(value, str):
        value = _list_of_text(value)
    elif not isinstance(value, list):
        raise DataError(f"`options` is {what(value)}, expected a list or its text")
    return [_written(item) for item in value]


def _lettered(record: Mapping[str, Any]) -> list[str]:
    filled = [letter for letter in LETTERS if record.get(letter) not in (None, "")]
    if not filled:
        raise DataError(
            "no options: neither a column `options` nor columns `A`, `B` ... are filled",
            hint=None if "options" in record else missing_column("options", record, "").hint,
        )
    expected = list(LETTERS[: len(filled)])
    if filled != expected:
        gap = next(letter for letter in expected if letter not in filled)
        raise DataError(f"option `{gap}` is empty but option `{filled[-1]}` is not")
    return [_written(record[letter]) for letter in filled]


def _list_of_text(text: str) -> list[Any]:
    try:
        value: Any = read_literal(text)
        items = list(value)
    except (ValueError, TypeError):
        hint = 'write ["first", "second"], or use columns A, B, C ...'
        if len(text) > LONGEST:
            hint = f"a Python list of {len(text)} characters must be written in JSON"
        raise DataError(
            f"`options` {shown(text)} is neither a JSON list nor a Python list", hint=hint
        ) from None
    if isinstance(value, set) and len(items) > 1:
        raise DataError(f"`options` {shown(text)} is a set, which has no order")
    return items


def _written(item: object) -> str:
    if isinstance(item, str):
        return item
    try:
        return str(item)
    except (ValueError, RecursionError):
        raise DataError(
            f"{what(item)} has too many digits or is nested too deeply to be written"
        ) from None


def _option_doubts(options: Sequence[str]) -> list[DataError]:
    doubts = []
    if len(options) < 2:
        number = "1 option" if options else "0 options"
        doubts.append(DataError(f"`options` has {number}, expected at least 2"))
    if not all(map(str.strip, options)):
        hint = "look for a doubled or trailing comma in `options`"
        for label, option in zip(choice_labels(len(options)), options, strict=True):
            if not option.strip():
                doubts.append(DataError(f"option {label} is empty", hint=hint))
    return doubts


# --- answers -----------------------------------------------------------------------------------


def right_labels(answers: Sequence[str], options: Sequence[str], *, multiple: bool) -> list[str]:
    """The labels of the right options, sorted.

    Args:
        answers: The answers as written. With `multiple`, one may name several labels: `A,C`,
            `AC`, `["A", "C"]`.
        options: The option texts.
        multiple: Whether several options may be right.

    Raises:
        DataError: An answer is no label of the options.
    """
    labels = choice_labels(len(options))
    if len(answers) == 1 and answers[0] in labels:
        return [answers[0]]
    by_name = {label.lower(): label for label in labels}
    named = [name for answer in answers for name in _names(answer, by_name, multiple)]
    for name in named:
        if name.lower() not in by_name:
            raise _no_label(name, options, labels)
    return sorted({by_name[name.lower()] for name in named})


def _names(answer: str, by_name: Mapping[str, str], multiple: bool) -> list[str]:
    if not multiple or answer.lower() in by_name:
        return [answer]
    if answer.startswith("["):
        return [_written(item).strip() for item in _list_of_text(answer)]
    names = [name for name in re.split(r"[\s,，、;；/|]+", answer) if name]
    if len(names) == 1 and all(letter.lower() in by_name for letter in names[0]):
        return list(names[0])
    return names


def _no_label(name: str, options: Sequence[str], labels: Sequence[str]) -> DataError:
    span = f"{labels[0]} to {labels[-1]}" if labels else "none"
    for label, option in zip(labels, options, strict=True):
        if option.strip().lower() == name.lower():
            return DataError(
                f"`answer` {shown(name)} is the text of option {label}, expected its label",
                hint=f"write {label}",
            )
    return DataError(
        f"`answer` {shown(name)} is no label of the {len(options)} options ({span})",
        hint="answers are labels: A to Z, then 1, 2, 3 ...; several need --multiple",
    )


# --- replies -----------------------------------------------------------------------------------


def parse(reply: str, sample: Sample) -> Extracted:
    """The label, or the joined labels, the reply chooses."""
    return read_choice(
        reply,
        len(sample.choices),
        language=sample.metadata.get("language", "en"),
        multiple=bool(sample.metadata.get("multiple", False)),
    )


def score(answer: str | None, sample: Sample) -> Mapping[str, float]:
    """Accuracy: 1.0 where the labels are those of the right options, in either case of letters.

    Without exactly one answer there is none, and the sample is left out, as in the reference.
    """
    if sample.target is None or ANSWERS in sample.metadata:
        return {}
    return {"accuracy": float((answer or "").strip().lower() == sample.target.strip().lower())}


BENCHMARK = Benchmark(
    name="general_vmcq",
    title="General-VMCQ",
    about="your own multiple-choice questions about images, sounds and clips",
    paper="",
    dataset=None,
    subsets={},
    metrics=("accuracy",),
    groups=(),
    prompt={
        "en": choice_template(),
        "zh": choice_template(language="zh"),
        "multiple": choice_template(multiple=True),
        "multiple zh": choice_template(multiple=True, language="zh"),
    },
    scorer="choice-label/1",
    extra=("strict", "split", "multiple", "language"),
    samples=samples,
    parse=parse,
    score=score,
    understood=understood,
)
