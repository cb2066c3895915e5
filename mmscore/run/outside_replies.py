"""Replies that were made elsewhere, scored here: no model, and no network unless a judge is given.

A file of replies is CSV, TSV, JSON or JSON Lines with a column of replies and, best, one of ids;
without ids, replies are taken in the order of the data set. Predictions of an mmscore run and of an
EvalScope run (one file, or its folder of files) are read as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, get_args

from mmscore.config.task import TaskConfig
from mmscore.dataset.rows import Row, read
from mmscore.disk import write_whole
from mmscore.error_text import listed, shown
from mmscore.errors import ConfigError, DataError
from mmscore.finish_reasons import word_in
from mmscore.model.error_answers import ReplyError
from mmscore.model.replies import read_message
from mmscore.plan.groups import check_groups
from mmscore.plan.plan import plan as plan_of
from mmscore.report.result import Result
from mmscore.report.spreadsheet import is_spreadsheet, read_spreadsheet
from mmscore.run.record import in_words, prediction_of
from mmscore.run.rescore import rescore
from mmscore.run.run_info import now, run_info
from mmscore.run.task import run_folder
from mmscore.store.info import RunInfo
from mmscore.store.journal import PREDICTIONS, encode
from mmscore.store.run_folder import write_run
from mmscore.store.texts import TextFile
from mmscore.think import ThinkRule
from mmscore.types import Reply, Sample, Status

ID_COLUMNS = ("id", "sample_id", "index", "qid", "question_id")
"""Columns that hold a sample's id, in the order they are looked for."""

REPLY_COLUMNS = ("reply", "prediction", "response", "output", "text")
"""Columns that hold a reply, in the order they are looked for."""

NAMES = ("index", "id", "qid")
"""Facts of a sample by which others may call it."""


@dataclass(frozen=True, slots=True)
class ReplyColumns:
    """Which columns of a file are read; None is found by name."""

    id: str | None = None
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class OutsideReply:
    """A reply as a file has it.

    Attributes:
        place: File and row, for errors.
        reply: What it came to.
        id: The sample's id as the file has it; None where replies are in order.
        repeat: Which asking of the sample.
        position: EvalScope's file name and row number, which say which sample it is.
        facts: Facts of the sample that the file repeats, to see that it is the same one.
    """

    place: str
    reply: Reply
    id: str | None = None
    repeat: int = 0
    position: tuple[str, int] | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)


def score_elsewhere(
    task: TaskConfig,
    replies: Path,
    columns: ReplyColumns = ReplyColumns(),
    *,
    partial: bool = False,
    concurrency: int | None = None,
    notice: Callable[[str], None] = lambda _: None,
) -> Result:
    """Score a file of replies to one benchmark, as a run's own; write a run's folder of it.

    Args:
        task: The benchmark, its data, subsets and filters, the limit, the judge, and the folder to
            write.
        replies: The file, or EvalScope's folder of predictions.
        columns: Which of its columns to read.
        partial: Score what is there; samples without a reply count as not asked.
        concurrency: Judge requests in flight.
        notice: Who hears a sentence worth reading.

    Raises:
        ConfigError: The benchmark is unknown, more than one is given, or the judge is wrong.
        DataError: The data or the replies are missing or damaged; a reply is of no sample, two are
            of one, or samples have none.
        EndpointError: A judge does not answer.
        StorageError: The folder cannot be written.
    """
    if len(task.datasets) != 1:
        raise ConfigError(f"{len(task.datasets)} benchmarks are given, expected one")
    plan = plan_of(replace(task, skip_bad_media=True, offline=True), task.datasets[0])
    check_groups(plan)
    items = [(index, sample) for index, sample, repeat in plan.items() if repeat == 0]
    given = list(_given(replies, plan.benchmark.name, columns, _think(task)))
    matched = list(_matched(given, items, partial=partial))
    if given and given[0].position is None and given[0].id is None:
        notice(f"`{replies}` has no ids: its replies are taken in the order of the data set")
    folder = run_folder(plan)
    info = run_info(plan, None, folder)
    repeats = 1 + max((reply.repeat for reply, _, _ in matched), default=0)
    info = replace(
        info,
        model=info.model or _name_of(replies, plan.benchmark.name),
        planned={name: count * repeats for name, count in info.planned.items()},
        repeats=repeats,
        finished=now(),
        stopped=None,
    )
    _write(folder, info, matched)
    return rescore(folder, task.judge, concurrency=concurrency, notice=notice)


def _think(task: TaskConfig) -> ThinkRule:
    return "reference" if task.think == "reference" else "strict"


Matched = tuple[OutsideReply, int, Sample]


def _write(folder: Path, info: RunInfo, matched: list[Matched]) -> None:
    with closing(TextFile(folder)) as texts:
        predictions = (
            texts.share(prediction_of(index, in_words(sample), given.repeat, given.reply))
            for given, index, sample in matched
        )
        write_whole(folder / PREDICTIONS, map(encode, predictions))
    write_run(folder, info)


# --- which reply is of which sample -------------------------------------------------------------


def _matched(
    given: list[OutsideReply], items: list[tuple[int, Sample]], *, partial: bool
) -> Iterator[Matched]:
    """Each reply with its sample.

    Raises:
        DataError: A reply is of no sample, two are of one, or (unless partial) samples have none.
    """
    if given and given[0].position is not None:
        find = _by_position(items)
    elif given and given[0].id is not None:
        find = _by_id(items)
    else:
        find = _in_order(given, items, partial=partial)
    seen: dict[tuple[int, int], str] = {}
    unknown = []
    for number, reply in enumerate(given):
        item = find(number, reply)
        if item is None:
            unknown.append(f"`{reply.id}` ({reply.place})")
            continue
        key = (item[0], reply.repeat)
        if key in seen:
            raise DataError(f"{reply.place} and {seen[key]} are both of sample `{item[1].id}`")
        seen[key] = reply.place
        yield reply, *item
    if unknown:
        names = listed(unknown, mark="")
        raise DataError(
            f"{len(unknown)} replies are of no sample that was asked for: {names}",
            hint=f"ids here are like `{items[0][1].id}`; see --subset and --limit too",
        )
    answered = {index for index, _ in seen}
    missing = [sample.id for index, sample in items if index not in answered]
    if missing and not partial:
        raise DataError(
            f"{len(missing)} of {len(items)} samples have no reply: {listed(missing)}",
            hint="score those there are with --partial",
        )


Find = Callable[[int, OutsideReply], tuple[int, Sample] | None]
"""From a reply's number and the reply to its sample, if it has one."""


def _by_id(items: list[tuple[int, Sample]]) -> Find:
    """Samples by their id, else by another name that only one of them has."""
    ids = {sample.id: (index, sample) for index, sample in items}
    others = [
        (str(sample.metadata[name]), (index, sample))
        for index, sample in items
        for name in NAMES
        if name in sample.metadata
    ]
    counts = Counter(name for name, _ in others)
    by_other = {name: item for name, item in others if counts[name] == 1}

    def find(number: int, given: OutsideReply) -> tuple[int, Sample] | None:
        name = given.id or ""
        if name not in ids and counts[name] > 1:
            raise DataError(f"{given.place} names sample `{name}`, which fits {counts[name]}")
        return ids.get(name) or by_other.get(name)

    return find


def _by_position(items: list[tuple[int, Sample]]) -> Find:
    """Samples by their subset and their place in it, as EvalScope numbers them."""
    subsets: dict[str, list[tuple[int, Sample]]] = {}
    for index, sample in items:
        subsets.setdefault(sample.subset, []).append((index, sample))

    def find(number: int, given: OutsideReply) -> tuple[int, Sample] | None:
        assert given.position is not None  # all of a file have one
        subset, row = given.position
        if subset not in subsets:
            known = listed(subsets)
            raise DataError(f"{given.place} is of the subset `{subset}`, known are {known}")
        if row >= len(subsets[subset]):
            return None
        index, sample = subsets[subset][row]
        for name, value in given.facts.items():
            if name in sample.metadata and sample.metadata[name] != value:
                raise DataError(
                    f"{given.place} is of the sample with `{name}` {value!r}, which is "
                    f"{sample.metadata[name]!r} in row {row} of `{subset}`",
                    hint="the replies are of other data, or of another order of them",
                )
        return index, sample

    return find


def _in_order(given: list[OutsideReply], items: list[tuple[int, Sample]], *, partial: bool) -> Find:
    if len(given) > len(items) or (len(given) < len(items) and not partial):
        raise DataError(
            f"{len(given)} replies without ids for {len(items)} samples, expected one for each",
            hint="give each its sample's id in a column `id`, or see --subset and --limit",
        )
    return lambda number, reply: items[number]


# --- what a file says ----------------------------------------------------------------------------


def _given(
    path: Path, benchmark: str, columns: ReplyColumns, think: ThinkRule
) -> Iterator[OutsideReply]:
    for file in _files(path, benchmark):
        read_row = None
        for row in _rows(file):
            if read_row is None:
                read_row = _reader(row, file, benchmark, columns, think)
            yield read_row(row)


def _rows(file: Path) -> Iterator[Row]:
    if is_spreadsheet(file):
        return (Row.at(cells, file, line) for line, cells in read_spreadsheet(file))
    return read(file, late={"messages"})


def _name_of(path: Path, benchmark: str) -> str:
    """What the replies are called: the file's name, else that of the folder that says more."""
    if path.is_dir():
        return _files(path, benchmark)[0].parent.name
    return path.resolve().parent.name if path.name == PREDICTIONS else path.stem


def _files(path: Path, benchmark: str) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise DataError(f"no replies at `{path}`")
    found = sorted(path.rglob(f"{benchmark}_*.jsonl"))
    folders = {file.parent for file in found}
    if not found or len(folders) > 1:
        count = "no" if not found else f"{len(folders)} folders with"
        raise DataError(
            f"`{path}` holds {count} predictions of `{benchmark}`, expected one model's",
            hint="give a file of replies, or the folder predictions/MODEL of an EvalScope run",
        )
    return found


Reader = Callable[[Row], OutsideReply]


def _reader(
    row: Row, file: Path, benchmark: str, columns: ReplyColumns, think: ThinkRule
) -> Reader:
    """The function that reads this file's rows, by what its first one looks like."""
    if "model_output" in row and "index" in row:
        subset = file.stem.removeprefix(f"{benchmark}_")
        return lambda one: _of_evalscope(one, subset, think)
    if {"id", "reply", "status", "repeat"} <= row.keys() and columns == ReplyColumns():
        return _of_mmscore
    key = _column(columns.id, ID_COLUMNS, row, required=False)
    reply = _column(columns.reply, REPLY_COLUMNS, row, required=True)
    return lambda one: _plain(one, key, str(reply), think)


def _column(given: str | None, known: Iterable[str], row: Row, *, required: bool) -> str | None:
    if given is not None and given not in row:
        raise DataError(f"{row.place} has no column `{given}`, found {listed(row, 20)}")
    found = given or next((name for name in known if name in row), None)
    if found is None and required:
        raise DataError(
            f"{row.place} has no column of replies, found {listed(row, 20) or 'none'}",
            hint="name it with --reply-column",
        )
    return found


def _plain(row: Row, key: str | None, column: str, think: ThinkRule) -> OutsideReply:
    if column not in row:
        raise DataError(f"{row.place} has no `{column}`")
    value = row[column]
    content = value if isinstance(value, str | list) else "" if value is None else str(value)
    name = None
    if key is not None:
        if row.get(key) in (None, ""):
            raise DataError(f"{row.place} has no `{key}`")
        name = str(row[key])
    return OutsideReply(row.place, _completed({"content": content}, "stop", {}, think), name)


def _of_mmscore(row: Row) -> OutsideReply:
    status = row["status"]
    if status not in get_args(Status):
        raise DataError(f"{row.place} has the status {shown(status)}, which no reply has")
    reply = Reply(
        status=cast(Status, status),
        text=str(row.get("reply") or ""),
        reasoning=_text_or_none(row.get("reasoning")),
        finish_reason=_text_or_none(row.get("finish_reason")),
        error=_text_or_none(row.get("error")),
    )
    repeat = str(row["repeat"])
    number = int(repeat) if repeat.isdecimal() and len(repeat) < 10 else 0
    return OutsideReply(row.place, reply, str(row["id"]), number)


def _text_or_none(value: object) -> str | None:
    return None if value is None or value == "" else str(value)


def _of_evalscope(row: Row, subset: str, think: ThinkRule) -> OutsideReply:
    output: Any = row["model_output"]
    index = row["index"]
    if not isinstance(output, dict) or not isinstance(index, int):
        raise DataError(f"{row.place} is no prediction of EvalScope: `model_output` or `index`")
    facts: Any = row.get("metadata")
    facts = {"qid": facts["qid"]} if isinstance(facts, dict) and "qid" in facts else {}
    if output.get("error"):
        reply = Reply(status="error", error=str(output["error"])[:500])
    else:
        try:
            choice = output["choices"][0]
            message, reason = choice["message"], choice.get("stop_reason") or "stop"
            usage = output.get("usage") or {}
            counts = {
                "prompt_tokens": usage.get("input_tokens"),
                "completion_tokens": usage.get("output_tokens"),
            }
            reply = _completed({"content": message["content"]}, reason, counts, think)
        except (KeyError, IndexError, TypeError, AttributeError):
            raise DataError(f"{row.place} is no prediction of EvalScope: no reply in it") from None
    return OutsideReply(row.place, reply, position=(subset, index), facts=facts)


def _completed(
    message: Mapping[str, Any], reason: object, usage: Mapping[str, Any], think: ThinkRule
) -> Reply:
    """A reply read by the very rules by which an endpoint's is."""
    try:
        found = read_message(message, reason, usage, think)
    except ReplyError as error:
        return Reply("error", finish_reason=word_in(reason), error=str(error))
    return Reply(
        status=found.status,
        text=found.text,
        reasoning=found.reasoning,
        finish_reason=found.finish_reason,
        usage=found.usage,
    )
