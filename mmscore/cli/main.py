"""The command line: the only module that prints, and the one that decides the exit code."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmscore.cli import process
from mmscore.cli.options import parse, parser
from mmscore.cli.task_values import filters_of, judge_values, task_values
from mmscore.errors import ConfigError, Exit, MmscoreError

if TYPE_CHECKING:
    from mmscore.benchmarks.base import Benchmark
    from mmscore.config.task import TaskConfig
    from mmscore.plan.events import Events, Progress
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
    try:
        return _dispatch(argv)
    except SystemExit as error:  # argparse: help is 0, a usage error is 2
        code = error.code if isinstance(error.code, int) else Exit.USAGE
        return _told(argv, out, "wrong usage, see standard error", code) if code else code
    except KeyboardInterrupt as error:
        if debug:
            raise
        _say("stopped")
        for note in getattr(error, "__notes__", ()):
            _say(f"{note}; go on with --resume")
        return _told(argv, out, "stopped", Exit.INTERRUPTED, error=error)
    except MmscoreError as error:
        if debug:
            raise
        _say(f"error: {error.message}")
        for note in getattr(error, "__notes__", ()):  # the hint is the first
            print(note, file=sys.stderr)
        return _told(argv, out, error.message, error.exit_code, hint=error.hint, error=error)
    except Exception as error:
        if debug:
            raise
        words = process.without_keys(f"{type(error).__name__}: {error}", argv)
        _say(f"error: {words}")
        print("hint: this is a fault of mmscore; --debug shows where it is", file=sys.stderr)
        return _told(argv, out, words, Exit.DATA, error=error)


def _told(
    argv: Sequence[str],
    out: process.Sturdy,
    message: str,
    code: int,
    *,
    hint: str | None = None,
    error: BaseException | None = None,
) -> int:
    """The exit code; under --json an error is JSON too, so that a reader always gets some."""
    if "--json" in argv and not out.written:
        notes = [note for note in getattr(error, "__notes__", ()) if note != f"hint: {hint}"]
        words = {"message": message, "hint": hint, "notes": notes, "exit_code": int(code)}
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
        before = _resumed(Path(arguments.resume), before)
    return as_task(TaskConfig.from_dict(task_values(arguments, before)))


def _eval(arguments: argparse.Namespace) -> int:
    from mmscore.cli.evalscope_flags import eval_values
    from mmscore.config.task import TaskConfig
    from mmscore.run.task import as_task

    return _perform(as_task(TaskConfig.from_dict(eval_values(arguments))), arguments)


def _perform(task: TaskConfig, arguments: argparse.Namespace) -> int:
    from mmscore.model import endpoint
    from mmscore.plan.plan import plans
    from mmscore.run.services import each_service
    from mmscore.run.task import ask

    every = each_service(task)
    if task.dry_run:
        return _dry_run(every[0], as_json=arguments.json)
    for one in every:
        endpoint.service(one)  # no endpoint or model is told before the data are read
    process.give_large_buffers_back()
    events = _events(arguments.progress)
    found = [plan for one in every for plan in plans(one, events)]
    results = []
    for plan in found:
        results.append(ask(plan, events))
        if not arguments.json:
            _show(results[-1], arguments)
    if arguments.json and len(results) > 1:
        reports = [json.loads(_report_json(result)) for result in results]
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


def _resumed(folder: Path, before: Mapping[str, Any]) -> dict[str, Any]:
    from mmscore.plan.benchmark_options import name_in
    from mmscore.store.run_folder import read_run

    info = read_run(folder)
    return {**info.config, "datasets": [name_in(info)], **before}


def _dry_run(task: TaskConfig, *, as_json: bool) -> int:
    from mmscore.model.endpoint import attacher
    from mmscore.plan.first_request import first_requests
    from mmscore.plan.plan import plans

    found = []
    for plan in plans(task, _events("auto")):
        first = {sample.subset: body for sample, body in first_requests(plan, attacher(task))}
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


def _events(form: str) -> Events:
    from mmscore.cli.progress import Teller
    from mmscore.plan.events import Events

    teller = Teller(form, sys.stderr)

    def start(benchmark: Benchmark, planned: Mapping[str, int], folder: Path) -> None:
        parts = ", ".join(f"{subset} {count}" for subset, count in planned.items())
        teller.notice(f"{benchmark.title}: {sum(planned.values())} samples ({parts}) -> {folder}")

    def progress(state: Progress) -> None:
        teller.tell(state)
        if state.done == state.total:
            teller.end()

    return Events(start, progress, teller.notice, teller.fetching)


def _show(result: Result, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print(_report_json(result), end="")
    else:
        from mmscore.report.boxes import style_of
        from mmscore.report.terminal import render

        print(render(result.report, style_of(sys.stdout, os.environ)))
        print(f"\nrun folder: {result.folder}", file=sys.stderr)


def _report_json(result: Result) -> str:
    return (result.folder / "report.json").read_text(encoding="utf-8")


def _score(arguments: argparse.Namespace) -> int:
    if arguments.replies:
        return _score_elsewhere(arguments)
    from mmscore.run.rescore import recorded_judge, rescore

    folder = Path(arguments.target)
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    judge = judge_values(given, recorded_judge(folder))
    result = rescore(
        folder,
        judge,
        filters_of(arguments),
        concurrency=arguments.concurrency,
        notice=_say,
    )
    _show(result, arguments)
    return result.exit_code


def _score_elsewhere(arguments: argparse.Namespace) -> int:
    from mmscore.config.task import TaskConfig
    from mmscore.run.outside_replies import ReplyColumns, score_elsewhere

    task = TaskConfig.from_dict(task_values(arguments, {"datasets": [arguments.target]}))
    columns = ReplyColumns(arguments.id_column, arguments.reply_column)
    replies = Path(arguments.replies).expanduser()
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
    from mmscore.report.result import reported
    from mmscore.run.thumbnails import thumbnails

    result = reported(Path(arguments.run_dir), ("json", "csv", "html"), thumbnails)
    _show(result, arguments)
    return result.exit_code


def _compare(arguments: argparse.Namespace) -> int:
    from mmscore.report import compare, load
    from mmscore.report.boxes import style_of

    first, second = load(Path(arguments.run_a)), load(Path(arguments.run_b))
    compared = compare.compare(first, second, metric=arguments.metric, force=arguments.force)
    if arguments.json:
        print(compare.to_json(compared), end="")
    else:
        print(compare.to_text(compared, style_of(sys.stdout, os.environ)))
    return Exit.COMPLETE


def _merge(arguments: argparse.Namespace) -> int:
    from mmscore.run.merge import merge

    result = merge([Path(folder) for folder in arguments.shard_dirs], Path(arguments.out))
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


def _list(arguments: argparse.Namespace) -> int:
    from mmscore.benchmarks import BENCHMARKS
    from mmscore.plan.fetch import kept_of, size_words

    rows: list[dict[str, Any]] = [
        {
            "name": benchmark.name,
            "title": benchmark.title,
            "about": benchmark.about,
            "metrics": list(benchmark.metrics),
            "subsets": list(benchmark.subsets),
            "cached_bytes": sum(one.bytes for one in kept_of(benchmark.name)),
        }
        for benchmark in BENCHMARKS.values()
    ]
    if arguments.json:
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return Exit.COMPLETE
    for row in rows:
        cached = f" [{size_words(row['cached_bytes'])} cached]" if row["cached_bytes"] else ""
        print(f"{row['name']:<14}{row['title']}: {row['about']}{cached}")
    return Exit.COMPLETE


def _fetch(arguments: argparse.Namespace) -> int:
    from mmscore.config.task import TaskConfig
    from mmscore.plan.fetch import fetch

    values = task_values(arguments, {})
    values.pop("dry_run", None)
    task = TaskConfig.from_dict(values)
    events = _events(arguments.progress)
    found = [
        fetch(task, name, events, dry_run=bool(arguments.dry_run), whole=arguments.whole)
        for name in arguments.benchmarks
    ]
    if arguments.json:
        print(json.dumps([one.facts() for one in found], ensure_ascii=False, indent=2))
    else:
        print("\n".join(map(str, found)))
    return Exit.COMPLETE


def _cache(arguments: argparse.Namespace) -> int:
    from mmscore.dataset.hub.cache import cache_folder
    from mmscore.plan.fetch import clean_cache, kept, size_words

    cleaned = arguments.clean is not None
    found = clean_cache(arguments.clean) if cleaned else kept()
    if arguments.json:
        rows = [{"source": one.source, "place": one.place, "bytes": one.bytes} for one in found]
        print(json.dumps(rows, ensure_ascii=False, indent=2))
        return Exit.COMPLETE
    for one in found:
        print(f"{one.source:<36}{size_words(one.bytes):>10}  {one.place}")
    total = size_words(sum(one.bytes for one in found))
    print(f"{'freed' if cleaned else 'in all'}: {total} in {cache_folder()}")
    return Exit.COMPLETE


def _check(arguments: argparse.Namespace) -> int:
    from mmscore.plan.check import check
    from mmscore.run.services import each_service

    events = _events(arguments.progress)
    code = Exit.COMPLETE
    facts = []
    for task in each_service(_task(arguments)):
        if not task.datasets:
            raise ConfigError("no benchmark given", hint="name one, such as `mmscore check slake`")
        for name in task.datasets:
            findings = check(task, name, events)
            facts.append(findings.facts())
            code = max(code, findings.exit_code)
            if not arguments.json:
                print(findings)
    if arguments.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
    return code


def _info(arguments: argparse.Namespace) -> int:
    from mmscore.plan.about import describe

    values = task_values(arguments, {"datasets": [arguments.benchmark]})
    facts, text = describe(arguments.benchmark, values)
    print(json.dumps(facts, ensure_ascii=False, indent=2) if arguments.json else text)
    return Exit.COMPLETE


def _demo(arguments: argparse.Namespace) -> int:
    from mmscore.cli.demo import run_demo

    result = run_demo(Path(arguments.out) if arguments.out else None, _events("none"))
    _show(result, arguments)
    return result.exit_code


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "eval": _eval,
    "check": _check,
    "score": _score,
    "report": _report,
    "compare": _compare,
    "merge": _merge,
    "table": _table,
    "fetch": _fetch,
    "cache": _cache,
    "list": _list,
    "info": _info,
    "demo": _demo,
}


def _say(sentence: str) -> None:
    print(f"mmscore: {sentence}", file=sys.stderr)
