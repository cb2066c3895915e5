"""The command line: the only module that prints, and the one that decides the exit code."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmscore.cli import data_commands, pages, process
from mmscore.cli.hints import fitting
from mmscore.cli.keys import without_keys
from mmscore.cli.options import parse, parser
from mmscore.cli.task_values import filter_values, judge_values, task_values
from mmscore.errors import ConfigError, Exit, MmscoreError, UsageError

if TYPE_CHECKING:
    from mmscore.config.task import TaskConfig
    from mmscore.report.result import Result


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code.

    Args:
        argv: The arguments without the program's name; those of the process by default.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    process.speak_utf8(sys.stdout, sys.stderr, as_json="--json" in given)
    process.hide_keys(given)
    out, err = process.Sturdy(sys.stdout), process.Sturdy(sys.stderr)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _guarded(given, out)
        out.flush()
        if out.fault is not None:
            _say(f"error: standard output cannot be written: {out.fault.strerror}")
            code = code or Exit.DATA
        err.flush()
    return code


def _guarded(argv: Sequence[str], out: process.Sturdy) -> int:
    """Run the command; all that can end it becomes a sentence and an exit code."""
    debug = "--debug" in argv
    command = next((word for word in argv if not word.startswith("-")), "")

    def told(words: str, *, read: bool = True) -> str:
        return without_keys(fitting(words, command) if read else words, argv, os.environ)

    try:
        return _dispatch(argv)
    except SystemExit as error:  # --help
        return error.code if isinstance(error.code, int) else Exit.USAGE
    except KeyboardInterrupt as error:
        if debug:
            raise
        _say("stopped")
        notes = getattr(error, "__notes__", [])
        for note in notes:
            _say(f"{note}; {told('go on with --resume')}")
        return _told(argv, out, "stopped", Exit.INTERRUPTED, notes=notes)
    except MmscoreError as error:
        if debug:
            raise
        message = without_keys(error.message, argv, os.environ)
        _say(f"error: {message}")
        read = not isinstance(error, UsageError)  # whose hints are the command's own
        notes = getattr(error, "__notes__", [])  # the hint is the first
        notes = [told(note, read=read) for note in notes]
        for note in notes:
            print(note, file=sys.stderr)
        hint = error.hint and told(error.hint, read=read)
        return _told(argv, out, message, error.exit_code, hint=hint, notes=notes)
    except Exception as error:
        if debug:
            raise
        words = without_keys(f"{type(error).__name__}: {error}", argv, os.environ)
        _say(f"error: {words}")
        print("hint: this is a fault of mmscore; --debug shows where it is", file=sys.stderr)
        return _told(argv, out, words, Exit.DATA)


def _told(
    argv: Sequence[str],
    out: process.Sturdy,
    message: str,
    code: int,
    *,
    hint: str | None = None,
    notes: Sequence[str] = (),
) -> int:
    """The exit code; under --json an error is JSON too, so that a reader always gets some."""
    if "--json" in argv and not out.written:
        others = [note for note in notes if note != f"hint: {hint}"]
        words = {"message": message, "hint": hint, "notes": others, "exit_code": int(code)}
        print(json.dumps({"error": words}, ensure_ascii=False, indent=2))
    return code


def _dispatch(argv: Sequence[str]) -> int:
    arguments = parse(argv)
    if arguments.version:
        return _version()
    if arguments.command is None:
        print(parser().format_help(), end="", file=sys.stderr)
        return Exit.USAGE
    return ACTIONS[arguments.command](arguments)


def _version() -> int:
    from mmscore.version import versions

    print(" ".join(f"{name} {version}" for name, version in versions().items()))
    return Exit.COMPLETE


def _run(arguments: argparse.Namespace) -> int:
    return _perform(_task(arguments), arguments)


def _task(arguments: argparse.Namespace) -> TaskConfig:
    """The task that the flags of `run` and `check` describe, with its file or earlier run."""
    from mmscore.config.task import TaskConfig, load_mapping
    from mmscore.run.task import as_task

    file = arguments.config or os.environ.get("MMSCORE_CONFIG")
    before: dict[str, Any] = load_mapping(Path(file)) if file else {}
    if arguments.resume:
        from mmscore.run.restored import resumed

        flags = partial(task_values, arguments, environment=os.environ)
        values = resumed(Path(arguments.resume), before, flags, named=bool(arguments.benchmarks))
    else:
        values = task_values(arguments, before, os.environ)
    return as_task(TaskConfig.from_dict(values))


def _eval(arguments: argparse.Namespace) -> int:
    from mmscore.config.task import TaskConfig
    from mmscore.run.task import as_task

    values = task_values(arguments, {}, os.environ)
    return _perform(as_task(TaskConfig.from_dict(values)), arguments)


def _perform(task: TaskConfig, arguments: argparse.Namespace) -> int:
    from mmscore.cli.progress import events_of
    from mmscore.model import endpoint
    from mmscore.plan.plan import check_names, plans
    from mmscore.run.services import each_service
    from mmscore.run.task import ask

    every = each_service(task)
    if task.dry_run:
        return _dry_run(every[0], as_json=arguments.json)
    check_names(task)
    for one in every:
        endpoint.service(one)  # no endpoint or model is told before the data are read
    process.give_large_buffers_back()
    events = events_of(arguments.progress, sys.stderr)
    results = []
    with process.own_code(sys.stderr):
        found = [plan for one in every for plan in plans(one, events)]
    for plan in found:
        with process.own_code(sys.stderr):
            results.append(pages.with_page(ask(plan, events), arguments))
        if not arguments.json:
            _show(results[-1], arguments)
    if arguments.json and len(results) > 1:
        reports = [result.to_dict() for result in results]
        print(json.dumps(reports, ensure_ascii=False, indent=2))
    elif arguments.json:
        _show(results[0], arguments)
    elif len(every) > 1:
        _show_table([result.folder for result in results])
    return max(result.exit_code for result in results)


def _show_table(folders: Sequence[Path]) -> None:
    from mmscore.report.boxes import style_of
    from mmscore.report.model_table import model_table, to_text

    print("\n" + to_text(model_table(folders), style_of(sys.stdout, os.environ)))


def _dry_run(task: TaskConfig, *, as_json: bool) -> int:
    from mmscore.cli.progress import events_of
    from mmscore.model.endpoint import media_encoder
    from mmscore.plan.first_request import first_requests
    from mmscore.plan.plan import plans

    found = []
    with process.own_code(sys.stderr):
        drawn = [
            (
                plan,
                {
                    sample.subset: body
                    for sample, body in first_requests(
                        plan, media_encoder(task, data_host=plan.files.host)
                    )
                },
            )
            for plan in plans(task, events_of("auto", sys.stderr))
        ]
    for plan, first in drawn:
        found.append(
            {"dataset": plan.benchmark.name, "planned": dict(plan.planned), "first": first}
        )
        if as_json:
            continue
        total = sum(plan.planned.values())
        for subset, count in plan.planned.items():
            print(f"{plan.benchmark.name} {subset}: {count} requests")
        print(f"{plan.benchmark.name} total: {total} requests")
        for subset, body in first.items():
            print(f"\nfirst request of {subset}:\n{json.dumps(body, ensure_ascii=False, indent=2)}")
    if as_json:
        print(json.dumps(found if len(found) > 1 else found[0], ensure_ascii=False, indent=2))
    return Exit.COMPLETE


def _show(result: Result, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(json.dumps(result.to_dict(), ensure_ascii=False, indent=2))
    else:
        from mmscore.report.boxes import style_of
        from mmscore.report.terminal import render

        print(render(result.report, style_of(sys.stdout, os.environ)))
        print(f"\nrun folder: {result.folder}", file=sys.stderr)
        if result.files:
            print(pages.last_line(result), file=sys.stderr)


def _score(arguments: argparse.Namespace) -> int:
    if arguments.replies:
        return _score_elsewhere(arguments)
    from mmscore.run.rescore import rescore
    from mmscore.run.restored import judge_again

    folder = Path(arguments.target)
    with process.own_code(sys.stderr):
        result = rescore(
            folder,
            judge_again(folder, partial(judge_values, arguments)),
            filter_values(arguments),
            benchmark=arguments.benchmark,
            group_by=arguments.group_by or (),
            concurrency=arguments.concurrency,
            notice=_say,
        )
    _show(result, arguments)
    return result.exit_code


def _score_elsewhere(arguments: argparse.Namespace) -> int:
    from mmscore.config.task import TaskConfig
    from mmscore.run.outside_replies import ReplyColumns, score_elsewhere

    task = TaskConfig.from_dict(
        task_values(arguments, {"datasets": [arguments.target]}, os.environ)
    )
    columns = ReplyColumns(arguments.id_column, arguments.reply_column)
    replies = Path(arguments.replies).expanduser()
    with process.own_code(sys.stderr):
        result = score_elsewhere(
            task,
            replies,
            columns,
            partial=arguments.partial,
            concurrency=arguments.concurrency,
            notice=_say,
        )
    _show(result, arguments)
    return result.exit_code


def _report(arguments: argparse.Namespace) -> int:
    result = pages.reported(Path(arguments.run_dir), arguments, _say)
    _show(result, arguments)
    if arguments.open and result.files:
        _open(result.files[-1])
    return result.exit_code


def _open(page: Path) -> None:
    if not pages.show(page, os.environ):
        _say(f"no browser can be shown here; the page is {page}")


def _compare(arguments: argparse.Namespace) -> int:
    from mmscore.report.boxes import style_of

    text, page = pages.compared(arguments, style_of(sys.stdout, os.environ))
    print(text, end="")
    if page:
        _say(pages.files_line([page]))
    if page and arguments.open:
        _open(page)
    return Exit.COMPLETE


def _merge(arguments: argparse.Namespace) -> int:
    from mmscore.run.merge import merge, shard_folders

    folders = shard_folders(arguments.shard_dirs)
    result = merge(folders, Path(arguments.out), partial=arguments.partial, notice=_say)
    _show(result, arguments)
    return result.exit_code


def _table(arguments: argparse.Namespace) -> int:
    from mmscore.report.model_table import FORMATS, model_table, run_folders

    folders = run_folders(Path(place) for place in arguments.places)
    if arguments.json or arguments.format == "json":
        print(json.dumps(model_table(folders).to_json(), ensure_ascii=False, indent=2))
    elif arguments.format == "text":
        _show_table(folders)
    else:
        print(FORMATS[arguments.format](model_table(folders)), end="")
    return Exit.COMPLETE


def _check(arguments: argparse.Namespace) -> int:
    from mmscore.cli.progress import events_of
    from mmscore.plan.check import check
    from mmscore.run.services import each_service

    events = events_of(arguments.progress, sys.stderr)
    code = Exit.COMPLETE
    facts = []
    for task in each_service(_task(arguments)):
        if not task.datasets:
            raise ConfigError("no benchmark given", hint="name one, such as `mmscore check slake`")
        for name in task.datasets:
            with process.own_code(sys.stderr):
                findings = check(task, name, events)
            facts.append(findings.facts())
            code = max(code, findings.exit_code)
            if not arguments.json:
                print(findings)
    if arguments.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
    return code


def _demo(arguments: argparse.Namespace) -> int:
    from mmscore.cli.demo import run_demo
    from mmscore.cli.progress import events_of

    result = run_demo(Path(arguments.out) if arguments.out else None, events_of("none", sys.stderr))
    _show(result, arguments)
    return result.exit_code


def _help(arguments: argparse.Namespace) -> int:
    from mmscore.cli.help_topics import overview, topic_text

    print(topic_text(arguments.topic) if arguments.topic else overview(), end="")
    return Exit.COMPLETE


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "eval": _eval,
    "check": _check,
    "score": _score,
    "report": _report,
    "compare": _compare,
    "merge": _merge,
    "table": _table,
    **data_commands.ACTIONS,
    "help": _help,
    "demo": _demo,
}


def _say(sentence: str) -> None:
    print(f"mmscore: {sentence}", file=sys.stderr)
