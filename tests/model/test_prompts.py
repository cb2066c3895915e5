"""Prompts are protocol: a changed character makes scores incomparable."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from mmscore.model.prompts import (
    CHOICE_TEMPLATES,
    choice_label,
    choice_labels,
    choice_prompt,
    choice_template,
    fill,
    template_language,
)

# SHA-256 of the reference's templates of the same names.
DIGESTS = {
    "SINGLE_ANSWER": "ba74492bd78ec5a4",
    "SINGLE_ANSWER_COT": "f759b2cf67b53500",
    "MULTIPLE_ANSWER": "eca8bc203e9716e5",
    "MULTIPLE_ANSWER_COT": "d41d05facef1841e",
    "CHINESE_SINGLE_ANSWER_TEMPLATE": "b4e03be507f9c64d",
    "CHINESE_SINGLE_ANSWER_TEMPLATE_COT": "53033f941b15e693",
    "CHINESE_MULTIPLE_ANSWER_TEMPLATE": "435e7c9be0ff6086",
    "CHINESE_MULTIPLE_ANSWER_TEMPLATE_COT": "76867440574b469e",
}


def test_templates_are_the_references_to_the_byte() -> None:
    digests = {
        name: hashlib.sha256(template.encode()).hexdigest()[:16]
        for name, template in CHOICE_TEMPLATES.items()
    }
    assert digests == DIGESTS


def test_every_golden_prompt(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    for case in golden("mcq_prompt"):
        asked = case["in"]
        template = CHOICE_TEMPLATES[asked["template"]]
        assert choice_prompt(template, asked["question"], asked["choices"]) == case["out"]


def test_labels_go_on_with_numbers() -> None:
    assert choice_labels(29)[-4:] == ("Z", "1", "2", "3")
    assert choice_label(0) == "A"
    assert choice_labels(0) == ()


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{question}", r"\frac{a}{b} {choices}"),
        ('{"answer": "{question}"}', r'{"answer": "\frac{a}{b} {choices}"}'),
        ("{{question}}", "{question}"),  # as `str.format` has it
        ("{0} {} {other} { question }", "{0} {} {other} { question }"),
        ("{question!s} {question:>9}", r"\frac{a}{b} {choices} \frac{a}{b} {choices}"),
        ("no placeholder", "no placeholder"),
        ("", ""),
    ],
)
def test_only_our_placeholders_are_filled_and_once(template: str, expected: str) -> None:
    values = {"question": r"\frac{a}{b} {choices}", "choices": "never"}
    assert fill(template, **values) == expected


def test_filling_without_values_changes_nothing() -> None:
    assert fill("{question}") == "{question}"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("multiple", [False, True])
def test_a_template_asks_for_its_own_marker(language: Any, multiple: bool) -> None:
    template = choice_template(multiple=multiple, language=language)
    assert template_language(template) == language
    assert ("答案：" in template) == (language == "zh")
    assert ("[LETTERS]" in template) == multiple


def test_only_the_chinese_templates_themselves_are_chinese() -> None:
    """A user's own Chinese words ask for the English marker, as in the reference."""
    assert template_language("问题：{question}\n{choices}") == "en"
