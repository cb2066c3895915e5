"""The Rust core. Import it through the modules of this package, not directly."""

from collections.abc import Sequence
from typing import Literal

__version__: str

# Text: reading answers out of replies, and scoring whole lists of them.
#
# A lone surrogate, which has no UTF-8, is read as U+FFFD. Every reader also names the rule that
# fired; the names are stable and recorded with each run. White space, digits and case are those
# of CPython 3.11 (Unicode 14) on every Python.

def normalize_answer(answer: str) -> str:
    """SLAKE's canonical form of an answer (EvalScope 1.14.1)."""

def parse_answer_line(reply: str) -> tuple[str, Literal["answer-line", "whole-reply"]]:
    """The text after the last `ANSWER:`, else the whole reply, and which of the two it is."""

def parse_choice(
    reply: str, n_choices: int, language: str, multiple: bool
) -> tuple[str, Literal["marker", "marker-unusable", "last-capital", "none"]]:
    """The chosen labels, sorted and joined, and how they were found.

    The rules are `marker` (a label follows an answer marker), `marker-unusable` (labels follow,
    but no answer to this question), `last-capital` and `none`.

    Args:
        reply: What the model said.
        n_choices: How many options there are; labels are A to Z, then 1, 2, 3 ...
        language: `en` (`ANSWER:`) or `zh` (`答案：`).
        multiple: Whether several options may be right.

    Raises:
        DataError: The language is unknown.
    """

def parse_count(reply: str) -> tuple[str | None, Literal["integer", "first-integer", "none"]]:
    """The first integer in decimal digits, None where there is no digit, and how it was found.

    Raises:
        DataError: It has more than 4,300 digits, which Python's `int` refuses.
    """

def clean_option(option: str, letter: str) -> str:
    """An option of PMC-VQA, stripped, without the leading mark of its own letter (`B:`)."""

def infer_option(
    reply: str, choices: Sequence[tuple[str, str]]
) -> tuple[str, Literal["declined", "letter", "answer-is", "option-text", "none"]]:
    """The letter VLMEvalKit infers without a judge, `Z` for declined, or nothing; and how."""

def match_choice(labels: str, target: str) -> bool | None:
    """Whether labels are the target, whatever the case; None where the target is empty."""

def match_count(count: str | None, target: str) -> tuple[bool, bool]:
    """Whether a count, as `str(int)` prints it, equals the target, and lies within 5 % of it.

    Raises:
        DataError: The target is no integer, or too large for a double.
    """

def score_slake(replies: Sequence[str], targets: Sequence[str]) -> list[tuple[str, str, float]]:
    """Extracted answer, rule and accuracy of each reply.

    Raises:
        DataError: The lists differ in length.
    """

def score_choices(
    replies: Sequence[str],
    targets: Sequence[str],
    n_choices: Sequence[int] | int,
    language: str,
    multiple: bool,
) -> list[tuple[str, str, float | None]]:
    """Extracted labels, rule and accuracy of each reply; None where the target is empty.

    Raises:
        DataError: The lists differ in length, or the language is unknown.
    """

def score_counts(
    replies: Sequence[str], targets: Sequence[str]
) -> list[tuple[str | None, str, float, float]]:
    """Extracted count, rule, accuracy and relaxed accuracy of each reply.

    Raises:
        DataError: The lists differ in length, or a row has a target that is no integer, a target
            too large for a double, or a reply whose count has more than 4,300 digits.
    """

def score_options(
    replies: Sequence[str],
    targets: Sequence[str],
    choices: Sequence[Sequence[tuple[str, str]]],
) -> list[tuple[str, str, float]]:
    """Inferred letter, rule and accuracy of each reply.

    Raises:
        DataError: The lists differ in length.
    """
