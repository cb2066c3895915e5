"""Prompt templates shared by the multiple-choice benchmarks, and the one way to fill a template.

Prompts are protocol: a changed character makes scores incomparable with published ones. The
templates are the interface of EvalScope 1.14.1 (which took the English ones from inspect_ai).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from string import Formatter
from typing import Literal

Language = Literal["en", "zh"]

SINGLE_ANSWER = """\
Answer the following multiple choice question. The entire content of your response should be of \
the following format: 'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of {letters}.

{question}

{choices}"""

SINGLE_ANSWER_COT = """\
Answer the following multiple choice question. The last line of your response should be of the \
following format: 'ANSWER: [LETTER]' (without quotes) where [LETTER] is one of {letters}. \
Think step by step before answering.

{question}

{choices}"""

MULTIPLE_ANSWER = """\
Answer the following multiple choice question where multiple answers may be correct. The entire \
content of your response should be of the following format: 'ANSWER: [LETTERS]' (without quotes) \
where [LETTERS] is one or more of {letters}.

{question}

{choices}"""

MULTIPLE_ANSWER_COT = """\
Answer the following multiple choice question where multiple answers may be correct. The last \
line of your response should be of the following format: 'ANSWER: [LETTERS]' (without quotes) \
where [LETTERS] is one or more of {letters}. Think step by step before answering.

{question}

{choices}"""

CHINESE_SINGLE_ANSWER = """\
回答下面的单项选择题，请选出其中的正确答案。你的回答的全部内容应该是这样的格式：\
"答案：[LETTER]"（不带引号），其中 [LETTER] 是 {letters} 中的一个。

问题：{question}
选项：
{choices}
"""

CHINESE_SINGLE_ANSWER_COT = """\
回答下面的单项选择题，请选出其中的正确答案。你的回答的最后一行应该是这样的格式：\
"答案：[LETTER]"（不带引号），其中 [LETTER] 是 {letters} 中的一个。请在回答前进行一步步思考。

问题：{question}
选项：
{choices}
"""

CHINESE_MULTIPLE_ANSWER = """\
回答下面的多项选择题，请选出其中的所有正确答案。你的回答的全部内容应该是这样的格式：\
"答案：[LETTERS]"（不带引号），其中 [LETTERS] 是 {letters} 中的一个或多个。
问题：{question}
选项：
{choices}
"""

CHINESE_MULTIPLE_ANSWER_COT = """\
回答下面的多项选择题，请选出其中的所有正确答案。你的回答的最后一行应该是这样的格式：\
"答案：[LETTERS]"（不带引号），其中 [LETTERS] 是 {letters} 中的一个或多个。\
请在回答前进行一步步思考。

问题：{question}
选项：
{choices}
"""

CHOICE_TEMPLATES: Mapping[str, str] = {
    "SINGLE_ANSWER": SINGLE_ANSWER,
    "SINGLE_ANSWER_COT": SINGLE_ANSWER_COT,
    "MULTIPLE_ANSWER": MULTIPLE_ANSWER,
    "MULTIPLE_ANSWER_COT": MULTIPLE_ANSWER_COT,
    "CHINESE_SINGLE_ANSWER_TEMPLATE": CHINESE_SINGLE_ANSWER,
    "CHINESE_SINGLE_ANSWER_TEMPLATE_COT": CHINESE_SINGLE_ANSWER_COT,
    "CHINESE_MULTIPLE_ANSWER_TEMPLATE": CHINESE_MULTIPLE_ANSWER,
    "CHINESE_MULTIPLE_ANSWER_TEMPLATE_COT": CHINESE_MULTIPLE_ANSWER_COT,
}
"""The choice templates by the names EvalScope gives them."""


def fill(template: str, /, **values: str) -> str:
    """The template filled by `str.format`, as the reference fills it: `{{` is a brace of the text.

    Whatever a value holds stays as it is, a question that says `{choices}` too. A template that
    `str.format` refuses (the reference ends there) has each `{name}` of `values` replaced and every
    other brace left alone, so it may show a JSON example.
    """
    names = tuple(values)
    if _is_format(template, names):
        return template.format(**values)
    pieces = list(_cut(template, names))
    pieces[1::2] = [values[name] for name in pieces[1::2]]
    return "".join(pieces)


def shows(template: str, name: str) -> bool:
    """Whether a template, once it is filled, shows what `name` stands for."""
    try:
        fields = [field for _, field, _, _ in Formatter().parse(template) if field is not None]
    except ValueError:
        return f"{{{name}}}" in template
    return any(re.split(r"[.\[]", field)[0] == name for field in fields)


@lru_cache(maxsize=64)
def _is_format(template: str, names: tuple[str, ...]) -> bool:
    try:
        template.format(**dict.fromkeys(names, "x"))
    except (LookupError, ValueError, AttributeError, TypeError):
        return False
    return True


@lru_cache(maxsize=64)
def _cut(template: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """A template as text, name, text, name ... text."""
    return tuple(re.split(rf"\{{({'|'.join(names)})\}}", template))


def choice_label(index: int) -> str:
    """The label of an option by its position from 0: A to Z, then 1, 2, 3 ..."""
    return chr(ord("A") + index) if index < 26 else str(index - 25)


@cache
def choice_labels(count: int) -> tuple[str, ...]:
    """The labels of the first `count` options."""
    return tuple(choice_label(index) for index in range(count))


def choice_prompt(template: str, question: str, choices: Sequence[str]) -> str:
    """A multiple-choice template filled with a question and its options, one `A) ...` line each.

    The placeholders are `{question}`, `{choices}` and `{letters}`.
    """
    labels = choice_labels(len(choices))
    lines = "\n".join([f"{label}) {choice}" for label, choice in zip(labels, choices, strict=True)])
    return fill(template, question=question, choices=lines, letters=",".join(labels))


def choice_template(*, multiple: bool = False, language: Language = "en") -> str:
    """The step-by-step template for one or several right answers in a language."""
    if language == "zh":
        return CHINESE_MULTIPLE_ANSWER_COT if multiple else CHINESE_SINGLE_ANSWER_COT
    return MULTIPLE_ANSWER_COT if multiple else SINGLE_ANSWER_COT


def template_language(template: str) -> Language:
    """The language whose answer marker a reply to this template carries.

    As in the reference, only the Chinese templates themselves ask for the Chinese marker.
    """
    chinese = (name for name in CHOICE_TEMPLATES if name.startswith("CHINESE"))
    return "zh" if any(CHOICE_TEMPLATES[name] == template for name in chinese) else "en"
