"""Scores of whole lists of replies, for tools that bring their own.

One row of `SCORERS` for each benchmark; the work is done in the core without the interpreter's
lock. Scores equal the reference's (EvalScope 1.14.1) to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import mmscore._core as _core
from mmscore.error_text import nearest_hint
from mmscore.errors import DataError
from mmscore.scoring.metrics import bleu_list, rouge_list
from mmscore.scoring.reference_answers import open_target

Options = int | Sequence[str] | Mapping[str, str]
"""The options of one question: how many, their texts, or letters with texts."""

Choices = Options | Sequence[Options] | None
"""The options of all questions, or one entry for each reply."""

Targets = Sequence[Any]
"""The reference answers, each a string; of `general_vqa`, whose replies are compared with all of
them joined by a line feed, and of multiple choice also a list of them."""

Scored = dict[str, Any]
"""What one reply came to."""

PMC_VQA_OPTIONS = 4


def score_replies(
    benchmark: str,
    replies: Sequence[str],
    targets: Targets,
    *,
    choices: Choices = None,
) -> list[Scored]:
    """Scores of replies made anywhere, one row for each, in order.

    Args:
        benchmark: `slake`, `count_qa`, `pmc_vqa`, `general_vqa`, `general_vmcq` or `tsv_mcq`.
        replies: What the model said, without its reasoning.
        targets: The reference answers, strings.
        choices: The options: for `general_vmcq` their number or texts, for `tsv_mcq` letters with
            texts; either one for all replies or a sequence with one entry for each. `pmc_vqa`
            has four unless told otherwise.

    Returns:
        `{"extracted": answer, metric: score}` for each reply, scores from 0 to 1. `extracted` is
        "" where nothing could be read. `accuracy` is None, not 0, where a multiple-choice target
        is empty or a list of several, as the reference leaves such a sample out; the metrics of
        `general_vqa` are where its target is missing or blank, as in a run.

    Raises:
        ValueError: The benchmark is unknown, or its options are missing.
        TypeError: `tsv_mcq` is given a number of options instead of their texts.
        DataError: The lists differ in length, or a count cannot be compared: the target is no
            integer, or the reply's has more than 4,300 digits. The error names the row.
    """
    scorer = SCORERS.get(benchmark)
    if scorer is None:
        raise ValueError(f"no scorer for `{benchmark}`, {nearest_hint(benchmark, SCORERS)}")
    if len(replies) != len(targets):
        raise DataError(_unlike(len(targets), "targets", len(replies)))
    return scorer(replies, targets, choices)


def _score_slake(replies: Sequence[str], targets: Targets, choices: Choices) -> list[Scored]:
    return [
        {"extracted": extracted, "accuracy": accuracy}
        for extracted, _, accuracy in _core.score_slake(replies, targets)
    ]


def _score_counts(replies: Sequence[str], targets: Targets, choices: Choices) -> list[Scored]:
    return [
        {"extracted": extracted or "", "accuracy": accuracy, "relaxed_acc": relaxed}
        for extracted, _, accuracy, relaxed in _core.score_counts(replies, targets)
    ]


def _score_pmc_vqa(replies: Sequence[str], targets: Targets, choices: Choices) -> list[Scored]:
    return _score_choices(replies, targets, PMC_VQA_OPTIONS if choices is None else choices)


def _score_choices(replies: Sequence[str], targets: Targets, choices: Choices) -> list[Scored]:
    if isinstance(choices, int):
        counts: int | list[int] = choices
    else:
        counts = [_count(options) for options in _one_for_each(choices, len(replies))]
    single = [it if isinstance(it, str) else _single(it) for it in targets]
    return [
        {"extracted": extracted, "accuracy": accuracy}
        for extracted, _, accuracy in _core.score_choices(replies, single, counts, "en", False)
    ]


def _score_options(replies: Sequence[str], targets: Targets, choices: Choices) -> list[Scored]:
    options = [_lettered(options) for options in _one_for_each(choices, len(replies))]
    return [
        {"extracted": extracted, "accuracy": accuracy}
        for extracted, _, accuracy in _core.score_options(replies, targets, options)
    ]


def _score_texts(replies: Sequence[str], targets: Targets, choices: Choices) -> list[Scored]:
    answers = [open_target(target) for target in targets]
    references = [answer or "" for answer in answers]
    both = zip(bleu_list(replies, references), rouge_list(replies, references), strict=True)
    rows: list[Scored] = [
        {"extracted": reply, **orders, **overlaps}
        for reply, (orders, overlaps) in zip(replies, both, strict=True)
    ]
    for row, answer in zip(rows, answers, strict=True):
        if answer is None:  # a run leaves such a sample out
            row.update(dict.fromkeys(row.keys() - {"extracted"}))
    return rows


def _single(target: Sequence[str]) -> str:
    """The one reference answer; "" where there is none or more than one, which is not scored."""
    answers = {answer.strip() for answer in target} - {""}
    return answers.pop() if len(answers) == 1 else ""


def _one_for_each(choices: Choices, replies: int) -> Sequence[Options]:
    """The options of each reply, also where one entry stands for all."""
    match choices:
        case None:
            raise ValueError("the options of the questions are missing, pass `choices`")
        case int() | Mapping() | [str(), *_]:
            return [cast(Options, choices)] * replies
        case _ if len(choices) != replies:
            raise DataError(_unlike(len(choices), "sets of options", replies))
        case _:
            return choices


def _unlike(found: int, what: str, replies: int) -> str:
    return f"{found} {what} for {replies} replies, expected one for each"


def _count(options: Options) -> int:
    return options if isinstance(options, int) else len(options)


def _lettered(options: Options) -> list[tuple[str, str]]:
    if isinstance(options, Mapping):
        return list(options.items())
    if isinstance(options, int):
        raise TypeError("`choices` must hold the options' texts, a number of options is not enough")
    return [(chr(ord("A") + place), text) for place, text in enumerate(options)]


SCORERS: Mapping[str, Callable[[Sequence[str], Targets, Choices], list[Scored]]] = {
    "slake": _score_slake,
    "count_qa": _score_counts,
    "pmc_vqa": _score_pmc_vqa,
    "general_vqa": _score_texts,
    "general_vmcq": _score_choices,
    "tsv_mcq": _score_options,
}
"""How each benchmark scores."""
