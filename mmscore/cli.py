"""The command line: the only module that prints, and the one that decides the exit code."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from mmscore.errors import Exit, MmscoreError
from mmscore.options import judge_values, parse, parser, task_values


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code.

    Args:
        argv: The arguments without the program's name; those of the process by default.
    """
    arguments_given = sys.argv[1:] if argv is None else list(argv)
    debug = "--debug" in arguments_given
    _speak_utf8()
    _hide_key(arguments_given)
    try:
        with _termination():
            return _dispatch(arguments_given)
    except SystemExit as error:  # argparse: help is 0, a usage error is 2
        return error.code if isinstance(error.code, int) else Exit.USAGE
    except KeyboardInterrupt as error:
        if debug:
            raise
        _say("stopped")
        for note in getattr(error, "__notes__", ()):
            _say(f"{note}; go on with --resume")
        return Exit.INTERRUPTED
    except MmscoreError as error:
        if debug:
            raise
        _say(f"error: {error.message}")
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        for note in getattr(error, "__notes__", ()):
            print(note, file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read the output has closed it; nothing is left to be told.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.COMPLETE


def _dispatch(argv: Sequence[str]) -> int:
    arguments = parse(argv)
    if arguments.version:
        return _version()
    if arguments.command is None:
        print(parser().format_help(), end="", file=sys.stderr)
        return Exit.USAGE
    return ACTIONS[arguments.command](arguments)


def _version() -> int:
    from mmscore.result import versions

    print(" ".join(f"{name} {version}" for name, version in versions().items()))
    return Exit.COMPLETE


def _run(arguments: argparse.Namespace) -> int:
    from mmscore import run
    from mmscore.config import TaskConfig, load_mapping

    before: dict[str, Any] = load_mapping(Path(arguments.config)) if arguments.config else {}
    if arguments.resume:
        before = _resumed(Path(arguments.resume), before)
    task = run.as_task(TaskConfig.from_dict(task_values(arguments, before)))
    return _perform(task, arguments)


def _eval(arguments: argparse.Namespace) -> int:
    from mmscore.config import TaskConfig
    from mmscore.eval_options import eval_values
    from mmscore.run import as_task

    return _perform(as_task(TaskConfig.from_dict(eval_values(arguments))), arguments)


def _perform(task: Any, arguments: argparse.Namespace) -> int:
    from mmscore import endpoint, planning, run

    if task.dry_run:
        return _dry_run(task)
    endpoint.service(task)  # no endpoint or model is told before the data are read
    _give_large_buffers_back()
    events = _events(arguments.progress)
    plans = list(planning.plans(task, events))
    code = Exit.COMPLETE
    for plan in plans:
        result = run.ask(plan, events)
        _show(result, arguments)
        code = max(code, result.exit_code)
    return code


def _resumed(folder: Path, before: Mapping[str, Any]) -> dict[str, Any]:
    from mmscore import journal

    record = journal.read_json(folder / journal.RUN)
    benchmark = record["benchmark"]
    name = benchmark.get("file") or benchmark["name"]
    return {**record["config"], "datasets": [name], **before}


def _dry_run(task: Any) -> int:
    from mmscore import planning, run

    for plan in planning.plans(task, _events("auto")):
        total = sum(plan.planned.values())
        for subset, count in plan.planned.items():
            print(f"{plan.benchmark.name} {subset}: {count} requests")
        print(f"{plan.benchmark.name} total: {total} requests")
        for subset, body in run.preview(plan):
            print(f"\nfirst request of {subset}:\n{body}")
    return Exit.COMPLETE


def _events(form: str) -> Any:
    from mmscore.planning import Events
    from mmscore.progress import Teller

    teller = Teller(form, sys.stderr)

    def start(benchmark: Any, planned: Mapping[str, int], folder: Path) -> None:
        parts = ", ".join(f"{subset} {count}" for subset, count in planned.items())
        teller.notice(f"{benchmark.title}: {sum(planned.values())} requests ({parts}) -> {folder}")

    def progress(state: Any) -> None:
        teller.tell(state)
        if state.done == state.total:
            teller.end()

    return Events(start, progress, teller.notice, teller.fetching)


def _show(result: Any, arguments: argparse.Namespace) -> None:
    if arguments.json:
        print((result.folder / "report.json").read_text(encoding="utf-8"), end="")
    else:
        from mmscore.report.boxes import style_of
        from mmscore.report.terminal import render

        print(render(result.report, style_of(sys.stdout, os.environ)))
        print(f"\nrun folder: {result.folder}", file=sys.stderr)


def _score(arguments: argparse.Namespace) -> int:
    if arguments.replies:
        return _score_elsewhere(arguments)
    from mmscore.rescore import recorded_judge, rescore

    folder = Path(arguments.target)
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    judge = judge_values(given, recorded_judge(folder))
    result = rescore(folder, judge, concurrency=arguments.concurrency, notice=_say)
    _show(result, arguments)
    return result.exit_code


def _score_elsewhere(arguments: argparse.Namespace) -> int:
    from mmscore.config import TaskConfig
    from mmscore.elsewhere import Columns, score_elsewhere

    task = TaskConfig.from_dict(task_values(arguments, {"datasets": [arguments.target]}))
    columns = Columns(arguments.id_column, arguments.reply_column)
    replies = Path(arguments.replies).expanduser()
    result = score_elsewhere(task, replies, columns, partial=arguments.partial)
    _show(result, arguments)
    return result.exit_code


def _report(arguments: argparse.Namespace) -> int:
    from mmscore.result import reported
    from mmscore.thumbnails import thumbnails

    result = reported(Path(arguments.run_dir), ("json", "csv", "html"), thumbnails)
    _show(result, arguments)
    return result.exit_code


def _compare(arguments: argparse.Namespace) -> int:
    from mmscore import compare
    from mmscore.report import load
    from mmscore.report.boxes import style_of

    first, second = load(Path(arguments.run_a)), load(Path(arguments.run_b))
    compared = compare.compare(first, second, metric=arguments.metric, force=arguments.force)
    if arguments.json:
        print(compare.to_json(compared), end="")
    else:
        print(compare.to_text(compared, style_of(sys.stdout, os.environ)))
    return Exit.COMPLETE


def _merge(arguments: argparse.Namespace) -> int:
    from mmscore.merge import merge

    result = merge([Path(folder) for folder in arguments.shard_dirs], Path(arguments.out))
    _show(result, arguments)
    return result.exit_code


def _list(arguments: argparse.Namespace) -> int:
    from mmscore.benchmarks import BENCHMARKS
    from mmscore.fetch import kept_of, size_words

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
    from mmscore.config import TaskConfig
    from mmscore.fetch import fetch

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
    from mmscore.cache import cache_folder
    from mmscore.fetch import clean_cache, kept, size_words

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
    from mmscore.check import check
    from mmscore.config import TaskConfig

    task = TaskConfig.from_dict(task_values(arguments, {}))
    events = _events(arguments.progress)
    code = Exit.COMPLETE
    facts = []
    for name in arguments.benchmarks:
        findings = check(task, name, events)
        facts.append(findings.facts())
        code = max(code, findings.exit_code)
        if not arguments.json:
            print(findings)
    if arguments.json:
        print(json.dumps(facts, ensure_ascii=False, indent=2))
    return code


def _info(arguments: argparse.Namespace) -> int:
    from mmscore.about import describe

    values = task_values(arguments, {"datasets": [arguments.benchmark]})
    facts, text = describe(arguments.benchmark, values)
    print(json.dumps(facts, ensure_ascii=False, indent=2) if arguments.json else text)
    return Exit.COMPLETE


def _demo(arguments: argparse.Namespace) -> int:
    import tempfile

    from mmscore import demo
    from mmscore.run import run_task

    with tempfile.TemporaryDirectory(prefix="mmscore-demo-") as folder, demo.Endpoint() as endpoint:
        data = Path(arguments.out) / "data" if arguments.out else Path(folder)
        demo.draw(data)
        out = Path(arguments.out) / "run" if arguments.out else None
        task = demo.demo_task(data, endpoint.url, out or _demo_folder())
        (result,) = run_task(task, _events("none")).values()
    _show(result, arguments)
    return result.exit_code


def _demo_folder() -> Path:
    """A new folder below `outputs`, or below the temporary folder where this one is read-only."""
    import tempfile

    from mmscore.errors import StorageError
    from mmscore.journal import new_folder

    try:
        return new_folder(Path("outputs"), "demo")
    except StorageError:
        return Path(tempfile.mkdtemp(prefix="mmscore-demo-run-"))


ACTIONS: dict[str, Callable[[argparse.Namespace], int]] = {
    "run": _run,
    "eval": _eval,
    "check": _check,
    "score": _score,
    "report": _report,
    "compare": _compare,
    "merge": _merge,
    "fetch": _fetch,
    "cache": _cache,
    "list": _list,
    "info": _info,
    "demo": _demo,
}


def _say(sentence: str) -> None:
    print(f"mmscore: {sentence}", file=sys.stderr)


def _hide_key(argv: Sequence[str]) -> None:
    """Blank a key given as an argument where other users' `ps` would show it (Linux)."""
    keys = [following for flag, following in pairwise(argv) if flag == "--api-key"]
    keys += [flag.partition("=")[2] for flag in argv if flag.startswith("--api-key=")]
    if not any(keys):
        return
    with contextlib.suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # arg_start and arg_end of proc(5)
        with Path("/proc/self/mem").open("r+b", buffering=0) as memory:
            memory.seek(start)
            title = memory.read(end - start)
            for key in filter(None, keys):
                title = title.replace(key.encode(), b"*" * len(key.encode()))
            memory.seek(start)
            memory.write(title)


def _give_large_buffers_back() -> None:
    """Let glibc return a freed image to the system at once.

    Left alone, it keeps what each thread freed for that thread: with eight workers and images of
    4 MB that is 60 MB more, for no gain in time. Other C libraries have no such knob.
    """
    import ctypes

    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)


_MMAP_THRESHOLD = -3
"""`M_MMAP_THRESHOLD` of glibc's <malloc.h>: larger buffers are mapped, and unmapped when freed."""


def _speak_utf8() -> None:
    """Let no character of a question or a reply end the program, whatever the locale."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


@contextlib.contextmanager
def _termination() -> Iterator[None]:
    """Take SIGTERM for a Ctrl-C: containers stop their processes with it."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
