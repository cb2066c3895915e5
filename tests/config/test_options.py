"""Each row of the table of options: by flag, by variable and in a file it sets the same field."""

from __future__ import annotations

import json
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from mmscore.cli.options import COMMANDS, parse
from mmscore.cli.task_values import destination, form_of, task_values
from mmscore.config import options
from mmscore.config.option import Option
from mmscore.config.task import TaskConfig
from mmscore.errors import ConfigError

JUDGE = {"strategy": "llm", "models": [{"model_id": "j"}]}

EXAMPLES: dict[str, tuple[list[str], Any]] = {
    "model": (["m"], "m"),
    "api_url": (["http://h/v1"], "http://h/v1"),
    "api_key": (["sk-1"], "sk-1"),
    "eval_type": (["openai_api"], "openai_api"),
    "provider": (["anthropic"], "anthropic"),
    "model_id": (["M"], "M"),
    "datasets": (["slake"], ["slake"]),
    "dataset_args": (['{"slake": {"local_path": "x"}}'], {"slake": {"local_path": "x"}}),
    "dataset_dir": (["sets"], "sets"),
    "dataset_hub": (["huggingface"], "huggingface"),
    "dataset_args.*.local_path": (["here"], "here"),
    "dataset_args.*.subset_list": (["a"], ["a"]),
    "limit": (["0.25"], 0.25),
    "dataset_args.*.extra_params": (["k=1"], {"k": 1}),
    "sample": (["5"], 5),
    "ids": (["a,b"], ["a", "b"]),
    "from_run": (["before"], "before"),
    "from_status": (["failed"], ["failed"]),
    "shard": (["2/4"], "2/4"),
    "media_root": (["media"], "media"),
    "allow_path": (["one"], ["one"]),
    "keep": (["level"], ["level"]),
    "group_by": (["level"], ["level"]),
    "max_image_bytes": (["5MB"], 5 * 1024**2),
    "min_side": (["28"], 28),
    "max_pixels": (["65536"], 65536),
    "skip_bad_media": ([], True),
    "inline_urls": ([], True),
    "offline": ([], True),
    "seed": (["7"], 7),
    "dataset_args.*.extra_params.strict": ([], True),
    "dataset_args.*.extra_params.multiple": ([], True),
    "dataset_args.*.extra_params.language": (["zh"], "zh"),
    "dataset_args.*.extra_params.split": (["val"], "val"),
    "dataset_args.*.metric_list": (["accuracy"], ["accuracy"]),
    "eval_batch_size": (["3"], 3),
    "generation_config": (["top_p=0.5"], {"top_p": 0.5}),
    "dataset_args.*.system_prompt": (["Be brief."], "Be brief."),
    "dataset_args.*.prompt_template": (["{question}?"], "{question}?"),
    "repeats": (["2"], 2),
    "stream": ([], True),
    "timeout": (["2.5"], 2.5),
    "retries": (["0"], 0),
    "wait_ready": (["0"], 0.0),
    "think": (["reference"], "reference"),
    "dry_run": ([], True),
    "dataset_args.*.filters": (["regex=x"], [{"regex": "x"}]),
    "ignore_errors": ([], True),
    "collect_perf": ([], True),
    "price": (["1,2"], "1,2"),
    "max_cost": (["3"], 3.0),
    "max_tokens_total": (["1000"], 1000),
    "max_time": (["60"], 60.0),
    "cache_replies": (["kept"], "kept"),
    "judge": ([json.dumps(JUDGE)], JUDGE),
    "judge.strategy": (["rule"], "rule"),
    "judge.models.*.model_id": (["j"], "j"),
    "judge.models.*.api_url": (["http://j/v1"], "http://j/v1"),
    "judge.models.*.api_key": (["sk-2"], "sk-2"),
    "out": (["out"], "out"),
    "fresh": ([], True),
    "name": (["n"], "n"),
    "resume": (["before"], "before"),
    "use_cache": (["before"], "before"),
    "rerun_review": ([], True),
    "work_dir": (["runs"], "runs"),
    "no_timestamp": ([], True),
    "eval_backend": (["Native"], "Native"),
    "eval_config": (['{"eval_config": {"data": []}}'], {"data": []}),
}
"""Place of an option -> the words typed after its flag, and what its place then holds."""

COMPANIONS = {
    "max_cost": ["--price", "1,1"],
    "judge.models.*.model_id": ["--judge-strategy", "llm"],
    "judge.models.*.api_url": ["--judge-strategy", "llm", "--judge-model", "j"],
    "judge.models.*.api_key": ["--judge-strategy", "llm", "--judge-model", "j"],
}
"""Place -> the flags without which its own says nothing."""

KEPT = [row for row in options.OPTIONS if row.kept]
TYPED = [
    pytest.param(row, command, id=f"{command} {row.takes(command)}")
    for row in KEPT
    for command in ("run", "eval")
    if row.takes(command)
]
SAID = [pytest.param(row, name, id=name) for row in KEPT if not row.late for name in row.env]


def at(task: TaskConfig, place: str) -> Any:
    """What a task holds at a place, of the benchmark `slake` and of the one judge."""
    field, *way = place.replace("*", "slake" if place.startswith("dataset") else "0").split(".")
    held = getattr(task, field)
    for key in way:
        held = held[int(key)] if key == "0" else held[key]
    return held


def test_every_option_has_an_example() -> None:
    ways_in = {row.place for row in KEPT if row.takes("run") or row.takes("eval")}
    assert set(EXAMPLES) == ways_in


@pytest.mark.parametrize(("row", "command"), TYPED)
def test_a_flag_reaches_its_field(row: Option, command: str) -> None:
    words, value = EXAMPLES[row.place]
    named = ["slake"] if command == "run" else ["--datasets", "slake"]
    typed = [*named, *COMPANIONS.get(row.place, ()), row.takes(command), *words]
    before = {"judge": JUDGE} if row.place == "judge.strategy" else {}
    task = TaskConfig.from_dict(task_values(parse([command, *typed]), before, {}))
    assert at(task, row.place) == value and type(at(task, row.place)) is type(value)


@pytest.mark.parametrize(("row", "variable"), SAID)
def test_a_variable_reaches_its_field_where_no_flag_does(row: Option, variable: str) -> None:
    words, value = EXAMPLES[row.place]
    task = TaskConfig.from_dict(task_values(parse(["run", "slake"]), {}, {variable: words[0]}))
    assert at(task, row.place) == value
    said = {row.place: value}
    assert task_values(parse(["run", "slake"]), said, {variable: "other"})[row.place] == value


@pytest.mark.parametrize("row", KEPT, ids=lambda row: row.place)
def test_a_file_reaches_the_same_field(row: Option, tmp_path: Path) -> None:
    if row.place not in EXAMPLES:
        pytest.skip("it is set in a file alone")
    held: Any = EXAMPLES[row.place][1]
    way = row.place.replace("dataset_args.*", "dataset_args.slake").split(".")
    for key in reversed(way):
        held = [{"model_id": "j", **held}] if key == "*" else {key: held}
    if row.place.startswith("judge.models"):
        held["judge"]["strategy"] = "llm"
    if row.place == "max_cost":
        held["price"] = "1,1"
    file = tmp_path / "task.json"
    file.write_text(json.dumps(held))
    assert at(TaskConfig.from_file(file), row.place) == EXAMPLES[row.place][1]


def test_the_fields_of_a_task_are_the_rows_of_the_table() -> None:
    assert [f.name for f in fields(TaskConfig)] and {f.name for f in fields(TaskConfig)} == set(
        options.fields()
    )


@pytest.mark.parametrize("name", options.fields())
def test_a_field_has_the_default_that_the_table_tells(name: str) -> None:
    field = next(f for f in fields(TaskConfig) if f.name == name)
    made = None if field.default_factory is MISSING else field.default_factory()
    assert (made or None if field.default is MISSING else field.default) == (
        options.fields()[name].default
    )


def test_a_task_documents_each_of_its_fields() -> None:
    told = str(TaskConfig.__doc__)
    assert all(f"        {name}: " in told for name in options.fields())
    assert not [row.place for row in options.OPTIONS if not (row.more or row.help)]


WRONG: list[Any] = [5, "x", [5], {"a": 5}, True, 10**400, float("nan"), [[]] * 3]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("name", options.fields())
def test_a_value_of_another_kind_is_the_user_s_error(name: str, value: Any) -> None:
    try:
        TaskConfig.from_dict({name: value})
    except ConfigError as error:
        assert name in f"{error.message} {error.hint}" or name == "price"
        assert not options.fields()[name].secret or str(value) not in error.message


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_takes_one_flag_twice(command: str) -> None:
    flags = [row.takes(command) for row in options.of_command(command)]
    assert len(flags) == len(set(flags))


@pytest.mark.parametrize("row", options.OPTIONS, ids=lambda row: row.place or row.flag)
def test_a_row_s_commands_are_ones(row: Option) -> None:
    assert set(row.commands.split()) <= set(COMMANDS)
    assert bool(row.flag) == bool(row.commands)
    assert destination("--a-b") == "a_b" and form_of(row, "run") is row.kind
