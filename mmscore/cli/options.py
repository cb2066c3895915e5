"""The command line's argument tree: what can be said, not what is done."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from mmscore.cli.evalscope_flags import add_flags
from mmscore.config.judge import STRATEGIES
from mmscore.config.task import DEFAULT_CONCURRENCY, DEFAULT_RETRIES, DEFAULT_TIMEOUT

PROGRAM = "mmscore"
PROGRESS_FORMS = ("auto", "bar", "lines", "json", "none")
FORMS_HELP = "how progress is told: " + ", ".join(PROGRESS_FORMS)
THINK_RULES = ("strict", "reference")
EXTRA_HELP = "an option of this benchmark alone"


def parser() -> argparse.ArgumentParser:
    """Return the whole tree."""
    top = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Evaluate vision-language models behind any OpenAI-compatible endpoint.",
        epilog="try it with no model and no network: mmscore demo",
        formatter_class=_format,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="versions of mmscore, core, Python")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, (words, arguments, example, fill) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=words,
            description=words[0].upper() + words[1:] + ".",
            epilog=f"example:\n  {example}",
            usage=f"{PROGRAM} {name} {arguments}".rstrip(),
            formatter_class=_format,
            allow_abbrev=False,
        )
        command.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)
        fill(command)
    return top


def _format(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=28, width=96)


def _run(command: argparse.ArgumentParser) -> None:
    command.add_argument("benchmarks", nargs="*", metavar="BENCH", help="see `mmscore list`")
    _endpoint(command)
    _data(command)
    _own_sets(command)
    asking = command.add_argument_group("asking")
    asking.add_argument(
        "--concurrency", type=int, metavar="N", help=f"requests in flight ({DEFAULT_CONCURRENCY})"
    )
    asking.add_argument(
        "--generation", action="append", metavar="KEY=VALUE", help="into the request body; or JSON"
    )
    asking.add_argument("--system", metavar="TEXT", help="a system message before each question")
    asking.add_argument(
        "--prompt-template", metavar="TEXT", help="or @FILE; {question} stands in it"
    )
    asking.add_argument("--repeats", type=int, metavar="K", help="ask each sample K times")
    asking.add_argument("--stream", action="store_true", default=None, help="ask for a stream")
    asking.add_argument(
        "--timeout", type=float, metavar="S", help=f"seconds a request ({DEFAULT_TIMEOUT:g})"
    )
    asking.add_argument(
        "--retries", type=int, metavar="N", help=f"new attempts a sample ({DEFAULT_RETRIES})"
    )
    asking.add_argument(
        "--think",
        choices=THINK_RULES,
        metavar="RULE",
        help="how <think> is split off: strict, reference",
    )
    for flag, kind, metavar in (
        ("--price", str, "IN,OUT"),
        ("--max-cost", float, "N"),
        ("--max-tokens-total", int, "N"),
        ("--max-time", float, "S"),
        ("--cache-replies", str, "DIR"),
    ):
        asking.add_argument(flag, type=kind, metavar=metavar, help=argparse.SUPPRESS)
    asking.add_argument("--dry-run", action="store_true", help="show the first requests, send none")
    _filters(asking)
    _judge(command)
    _folder(command)


def _filters(command: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    command.add_argument(
        "--filter", action="append", metavar="NAME=ARG", help="on replies before reading (repeat)"
    )


def _judge(command: argparse.ArgumentParser) -> None:
    judge = command.add_argument_group("judge")
    judge.add_argument("--judge", metavar="JSON", help="strategy, models, contract, repeats ...")
    judge.add_argument(
        "--judge-strategy", choices=STRATEGIES, metavar="NAME", help=" ".join(STRATEGIES)
    )
    judge.add_argument("--judge-model", metavar="MODEL", help="the judge's name at its endpoint")
    judge.add_argument("--judge-api-url", metavar="URL", help="or MMSCORE_JUDGE_API_URL")
    judge.add_argument("--judge-api-key", metavar="KEY", help="or MMSCORE_JUDGE_API_KEY")


def _eval(command: argparse.ArgumentParser) -> None:
    add_flags(command)
    _output(command)
    command.add_argument(
        "--progress", choices=PROGRESS_FORMS, default="auto", metavar="FORM", help=FORMS_HELP
    )


def _endpoint(command: argparse.ArgumentParser) -> None:
    endpoint = command.add_argument_group("endpoint")
    endpoint.add_argument(
        "--model",
        action="append",
        metavar="NAME",
        help="the name the endpoint knows (repeat); or MMSCORE_MODEL",
    )
    endpoint.add_argument("--api-url", metavar="URL", help="or MMSCORE_API_URL, OPENAI_BASE_URL")
    endpoint.add_argument("--api-key", metavar="KEY", help="better: MMSCORE_API_KEY")


def _data(command: argparse.ArgumentParser) -> None:
    data = command.add_argument_group("data")
    data.add_argument("--data", metavar="PLACE", help="path, modelscope:ID, hf:ID or a URL")
    data.add_argument("--subset", action="append", metavar="NAME", help="only this one (repeat)")
    data.add_argument("--limit", type=_limit, metavar="N|SHARE", help="first samples of a subset")
    data.add_argument("--sample", type=_limit, metavar="N|SHARE", help=argparse.SUPPRESS)
    data.add_argument("--seed", type=int, metavar="S", help=argparse.SUPPRESS)
    data.add_argument("--ids", metavar="FILE|A,B", help=argparse.SUPPRESS)
    data.add_argument("--from", dest="from_run", metavar="RUN_DIR", help=argparse.SUPPRESS)
    data.add_argument("--status", action="append", metavar="KIND", help=argparse.SUPPRESS)
    data.add_argument("--extra", action="append", metavar="KEY=VALUE", help=EXTRA_HELP)
    data.add_argument("--shard", metavar="K/N", help="the Kth of N parts; or auto")
    data.add_argument("--media-root", metavar="DIR", help="where relative media paths start")
    data.add_argument("--max-image-bytes", metavar="SIZE", help="shrink to this base64 size: 5MB")
    data.add_argument("--min-side", type=int, metavar="PX", help="enlarge smaller images")
    data.add_argument("--max-pixels", type=int, metavar="N", help="shrink larger images")
    data.add_argument(
        "--skip-bad-media", action="store_true", default=None, help="run what is left"
    )
    data.add_argument(
        "--inline-urls", action="store_true", default=None, help="fetch media at URLs, send bytes"
    )
    data.add_argument("--offline", action="store_true", default=None, help="fetch nothing")


def _own_sets(command: argparse.ArgumentParser) -> None:
    own = command.add_argument_group("sets of your own")
    own.add_argument("--strict", action="store_true", default=None, help="end at the first bad row")
    own.add_argument(
        "--multiple", action="store_true", default=None, help="several options may be right"
    )
    own.add_argument("--template", choices=("en", "zh"), metavar="LANG", help="en or zh choices")
    own.add_argument("--split", metavar="NAME", help="of files named SUBSET_SPLIT (test, val)")
    own.add_argument("--metrics", action="append", metavar="NAME", help="only this one (repeat)")


def _folder(command: argparse.ArgumentParser) -> None:
    folder = command.add_argument_group("run folder and output")
    folder.add_argument("--out", metavar="DIR", help="the run's folder (outputs/<time>-<name>)")
    folder.add_argument("--fresh", action="store_true", default=None, help=argparse.SUPPRESS)
    folder.add_argument("--name", metavar="NAME", help="the end of that folder's name")
    folder.add_argument("--resume", metavar="RUN_DIR", help="go on with an earlier run")
    folder.add_argument("--config", metavar="FILE", help="a task file: .toml, .json or .yaml")
    _output(folder)
    folder.add_argument(
        "--progress", choices=PROGRESS_FORMS, default="auto", metavar="FORM", help=FORMS_HELP
    )


def _output(group: Any) -> None:
    group.add_argument("--json", action="store_true", help="the report as JSON on stdout")


def _run_folder(command: argparse.ArgumentParser) -> None:
    command.add_argument("run_dir", metavar="RUN_DIR", help="a run's folder")
    _output(command)


def _score(command: argparse.ArgumentParser) -> None:
    command.add_argument("target", metavar="RUN_DIR | BENCH", help="a run's folder; a benchmark")
    replies = command.add_argument_group("replies made elsewhere")
    replies.add_argument(
        "--replies",
        metavar="FILE",
        help="CSV, TSV, JSON Lines with id and reply; predictions of mmscore or EvalScope",
    )
    replies.add_argument("--id-column", metavar="NAME", help="id, sample_id, index, qid")
    replies.add_argument("--reply-column", metavar="NAME", help="reply, prediction, response ...")
    replies.add_argument("--partial", action="store_true", help="not every sample has a reply")
    replies.add_argument("--data", metavar="PATH", help="the data set's folder or file")
    replies.add_argument("--subset", action="append", metavar="NAME", help="only this (repeat)")
    replies.add_argument("--limit", type=_limit, metavar="N|SHARE", help="first samples of each")
    replies.add_argument("--extra", action="append", metavar="KEY=VALUE", help=EXTRA_HELP)
    replies.add_argument("--model", metavar="NAME", help="whose replies they are, for the report")
    replies.add_argument(
        "--think",
        choices=THINK_RULES,
        metavar="RULE",
        help="how <think> is split off: strict, reference",
    )
    replies.add_argument("--out", metavar="DIR", help="the folder to write (outputs/<time>-<name>)")
    _judge(command)
    command.add_argument("--concurrency", type=int, metavar="N", help="judge requests in flight")
    _filters(command)
    _output(command)


def _compare(command: argparse.ArgumentParser) -> None:
    command.add_argument("run_a", metavar="RUN_A", help="the run that is compared against")
    command.add_argument("run_b", metavar="RUN_B", help="the run whose gains and losses are told")
    command.add_argument("--metric", metavar="NAME", help="the benchmark's first one by default")
    command.add_argument("--force", action="store_true", help="also over unlike data, by id")
    command.add_argument("--json", action="store_true", help="the comparison as JSON on stdout")


def _merge(command: argparse.ArgumentParser) -> None:
    command.add_argument("shard_dirs", nargs="+", metavar="SHARD_DIR", help="a shard's run folder")
    command.add_argument("--out", metavar="DIR", required=True, help="the merged run's folder")
    _output(command)


def _table(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "places", nargs="+", metavar="RUN_DIR", help="runs' folders, or a folder of runs"
    )
    command.add_argument(
        "--format",
        choices=("text", "csv", "json", "markdown"),
        default="text",
        metavar="FORM",
        help="text, csv, json, markdown",
    )
    _output(command)


def _list(command: argparse.ArgumentParser) -> None:
    _output(command)


def _fetch(command: argparse.ArgumentParser) -> None:
    command.add_argument("benchmarks", nargs="+", metavar="BENCH", help="see `mmscore list`")
    command.add_argument("--dry-run", action="store_true", help="say what is new, fetch no media")
    command.add_argument("--whole", action="store_true", help="archives whole, not members asked")
    _data(command)
    _output(command)
    command.add_argument(
        "--progress", choices=PROGRESS_FORMS, default="auto", metavar="FORM", help=FORMS_HELP
    )


def _cache(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--clean", nargs="*", metavar="BENCH", help="remove these, or all where none is named"
    )
    _output(command)


def _info(command: argparse.ArgumentParser) -> None:
    command.add_argument("benchmark", metavar="BENCH")
    _data(command)
    _output(command)


def _demo(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", metavar="DIR", help="keep the data and the run here")
    _output(command)


def _limit(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{text}` is no number") from None


COMMANDS = {
    "run": (
        "ask a model the questions of a benchmark, score and report",
        "BENCH... --model NAME --api-url URL [options]",
        "mmscore run slake --data SLAKE/ --model m --api-url http://127.0.0.1:8000/v1",
        _run,
    ),
    "check": (
        "look for all that would spoil a run, before the first question",
        "BENCH... [options]",
        "mmscore check slake --data SLAKE/ --model m --api-url http://127.0.0.1:8000/v1",
        _run,
    ),
    "eval": (
        "as `run`, with EvalScope's flags",
        "--model NAME --api-url URL --datasets NAME... [options]",
        "mmscore eval --model m --api-url http://127.0.0.1:8000/v1 --datasets slake --limit 10",
        _eval,
    ),
    "score": (
        "score saved replies again, or replies made elsewhere; only a judge needs the network",
        "RUN_DIR | BENCH --replies FILE [options]",
        "mmscore score slake --data SLAKE/ --replies replies.csv",
        _score,
    ),
    "report": (
        "show a run's report, also of a half-finished run",
        "RUN_DIR [options]",
        "mmscore report outputs/20260101_120000-slake --json",
        _run_folder,
    ),
    "fetch": (
        "fetch what a run would need, and say where it lies",
        "BENCH... [options]",
        "mmscore fetch pmc_vqa --dry-run",
        _fetch,
    ),
    "cache": (
        "show what was fetched, or remove it",
        "[--clean [BENCH...]] [options]",
        "mmscore cache --clean pmc_vqa",
        _cache,
    ),
    "compare": (
        "pair two runs sample by sample: what was gained and lost, and how sure that is",
        "RUN_A RUN_B [options]",
        "mmscore compare outputs/20260101_120000-slake outputs/20260102_120000-slake",
        _compare,
    ),
    "merge": (
        "make one run out of the runs of its shards",
        "SHARD_DIR... --out DIR [options]",
        "mmscore merge shard-1 shard-2 shard-3 --out whole",
        _merge,
    ),
    "table": (
        "lay several runs out, models down and benchmarks across",
        "RUN_DIR... [options]",
        "mmscore table outputs --format markdown",
        _table,
    ),
    "list": ("list the benchmarks", "[options]", "mmscore list", _list),
    "info": (
        "tell a benchmark's subsets, metrics and prompt, and what its data hold",
        "BENCH [options]",
        "mmscore info slake --data SLAKE/",
        _info,
    ),
    "demo": (
        "run the whole job on drawn data against a built-in endpoint",
        "[options]",
        "mmscore demo",
        _demo,
    ),
}
"""Command -> what it does, its arguments in short, an example, and what adds its arguments."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The arguments, read; exits with 2 on a usage error, as argparse does."""
    return parser().parse_args(argv)


__all__ = ["COMMANDS", "PROGRAM", "parse", "parser"]
