"""What a reply says: the answer line, the chosen labels, the count, the meant option.

Thin over the core. The rules are the reference's (EvalScope 1.14.1, VLMEvalKit for
`infer_option`), oddities included, so that scores compare. The `parse_...` functions give the
plain answer; their `read_...` twins also name the rule that fired.
"""

from __future__ import annotations

from collections.abc import Mapping

import mmscore._core as _core
from mmscore.model.prompts import Language
from mmscore.types import Extracted


def normalize_answer(answer: object) -> str:
    """The canonical form by which SLAKE compares answers.

    Lower case; asides in ( ) and （ ） dropped; punctuation, ASCII and full-width, as blanks;
    number words of both languages as digits; articles dropped; X-ray spellings and yes/no
    synonyms as one label each. The rule of EvalScope 1.14.1, which builds on the preparation of
    the data set's authors; so `None` the word is 0 and never no, and `Vitamin A` loses its A.

    Args:
        answer: Any value; None is the empty answer, all else goes through `str`.
    """
    return _core.normalize_answer("" if answer is None else str(answer))


def read_answer_line(reply: str | None) -> Extracted:
    """What stands after the last `ANSWER:`, by rule `answer-line`, else `whole-reply`."""
    return Extracted(*_core.parse_answer_line(reply or ""))


def parse_answer_line(reply: str | None) -> str:
    """What stands after the last `ANSWER:` of a reply, or the whole reply, stripped.

    The marker counts in any case and needs no word boundary. As in EvalScope 1.14.1, the last
    wins across lines only, and an empty last marker wins with an empty answer.

    Args:
        reply: What the model said; None is an empty reply.
    """
    return _core.parse_answer_line(reply or "")[0]


def read_choice(
    reply: str, n_choices: int, *, language: Language = "en", multiple: bool = False
) -> Extracted:
    """The chosen labels and the rule that fired; the value is None for no answer.

    The rules are `marker`, `marker-unusable`, `last-capital` and `none`.

    Raises:
        DataError: The language is unknown.
    """
    labels, rule = _core.parse_choice(reply, n_choices, language, multiple)
    return Extracted(labels or None, rule)


def parse_choice(
    reply: str, n_choices: int, *, language: Language = "en", multiple: bool = False
) -> str:
    """The labels a multiple-choice reply chooses, sorted and joined; "" for none.

    The last answer marker that is followed by a label decides (`ANSWER: B`, `**Answer:** (B)`,
    `答案：B`), in brackets or math typesetting too. Without any, the last capital letter does, if
    it is a label: a lenient guess, told apart by `read_choice`. The rule of EvalScope 1.14.1.

    Args:
        reply: What the model said.
        n_choices: How many options there are; labels are A to Z, then 1, 2, 3 ...
        language: Which marker the prompt asked for.
        multiple: Whether several options may be right.

    Raises:
        DataError: The language is unknown.
    """
    return _core.parse_choice(reply, n_choices, language, multiple)[0]


def read_count(reply: str) -> Extracted:
    """The count in decimal and the rule: `integer`, `first-integer`, or `none` without a value.

    Raises:
        DataError: The first integer has more than 4,300 digits.
    """
    return Extracted(*_core.parse_count(reply))


def parse_count(reply: str) -> int | None:
    """The first integer of a reply, None where it has no digit.

    Digits of any script count, signs and separators do not: `-5` is 5, `3.7` is 3, `1,024` is 1.
    The rule of the CountQA paper as EvalScope 1.14.1 reads it.

    Raises:
        DataError: The first integer has more than 4,300 digits, which `int` refuses.
    """
    digits, _ = _core.parse_count(reply)
    return None if digits is None else int(digits)


def clean_option(option: str, letter: str) -> str:
    """An option of PMC-VQA without blanks around it and the leading mark of its own letter.

    ` B:CT ` is `CT` for the letter B, and stays `B:CT` for any other.
    """
    return _core.clean_option(option, letter)


def match_choice(labels: str, target: str) -> bool | None:
    """Whether labels are the target, whatever the case; None where the target is empty."""
    return _core.match_choice(labels, target)


def match_count(count: str | None, target: str) -> tuple[bool, bool]:
    """Whether a count in decimal equals the target, and whether it lies within 5 % of it.

    Raises:
        DataError: The target is no integer, or too large for a double.
    """
    return _core.match_count(count, target)


def read_option(reply: str, choices: Mapping[str, str]) -> Extracted:
    """The inferred letter and the rule that fired; the value is None where nothing is inferred.

    The rules are `letter`, `answer-is`, `option-text`, `declined` (value `Z`) and `none`.
    """
    letter, rule = _core.infer_option(reply, list(choices.items()))
    return Extracted(letter or None, rule)


def infer_option(reply: str, choices: Mapping[str, str]) -> str:
    """The option letter VLMEvalKit infers from a reply without a judge.

    Exactly one option letter among the last four words; else `answer is X` with X from A to D;
    else exactly one option whose text occurs in a short reply (VLMEvalKit of 2026-08).

    Args:
        reply: What the model said.
        choices: Option letters with their texts.

    Returns:
        The letter, `Z` where the model declined to answer, or "".
    """
    return _core.infer_option(reply, list(choices.items()))[0]
