"""`mmscore help TOPIC`: works offline, says every row of the table, and fits 100 columns."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest
from support import ROOT, run_cli

from mmscore.cli.help_topics import MEANINGS, topics
from mmscore.config import options
from mmscore.errors import Exit

NAMED = ("config", "options", "environment", "exit-codes", "filters", "judge", "run-folder")


def topic(name: str) -> str:
    ran = run_cli("help", name)
    assert ran.code == 0 and not ran.err
    return ran.out


def test_the_topics_are_listed_each_with_its_title() -> None:
    listed = run_cli("help").out
    assert set(NAMED) <= set(topics())
    for name in topics():
        assert re.search(rf"^  {name} +{re.escape(topic(name).splitlines()[0])}$", listed, re.M)


@pytest.mark.parametrize("name", NAMED)
def test_a_topic_fits_a_terminal(name: str) -> None:
    assert max(map(len, topic(name).splitlines())) <= 100


def test_every_field_every_flag_and_every_variable_is_told() -> None:
    config, flags, variables = topic("config"), topic("options"), topic("environment")
    assert [name for name in options.fields() if f"\n  {name}" not in config] == []
    assert [row.flag for row in options.OPTIONS if row.flag and f"  {row.flag}" not in flags] == []
    named = {name for row in options.OPTIONS for name in row.env}
    assert [name for name in named if not re.search(rf"\b{name}\b", variables)] == []


def test_every_exit_code_is_told() -> None:
    assert set(MEANINGS) == set(Exit)
    assert all(f"\n  {int(code)} " in topic("exit-codes") for code in Exit)


def test_every_filter_is_told() -> None:
    from mmscore.scoring.reply_filters import FILTERS

    assert all(f"--filter {name}" in topic("filters") for name in FILTERS)


def test_the_records_of_a_run_are_told_by_their_own_fields() -> None:
    from mmscore.store.records import Prediction

    names = [field.name for field in fields(Prediction)]
    assert all(f"\n  {name}" in topic("run-folder") for name in names)


def test_a_topic_that_is_none_names_the_nearest() -> None:
    ran = run_cli("help", "judges")
    assert ran.code == 1 and "did you mean `judge`?" in ran.err


VARIABLE = re.compile(
    r"[\"']((?:MMSCORE|OPENAI|HF|HUGGING|MODELSCOPE|JUDGE|SLURM|AWS|SSL|XDG|REQUESTS|CURL|NO|LMU)"
    r"(?:_[A-Z_]+|Data))[\"']"
)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "mmscore").rglob("*.py")), ids=lambda path: path.name
)
def test_a_variable_that_is_read_is_a_row(path: object) -> None:
    named = {name for row in options.OPTIONS for name in row.env}
    read = set(VARIABLE.findall((ROOT / str(path)).read_text(encoding="utf-8")))
    assert read - named - {"NO_ANSWER"} == set()
