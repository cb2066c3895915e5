"""What the command line can do, as functions: each command has one here, typed and silent.

`run_task` is `mmscore run`. The others take paths and values, print nothing, and raise the errors
that the command line would show.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mmscore.config.task import TaskConfig
    from mmscore.plan.check import Findings
    from mmscore.plan.events import Events
    from mmscore.plan.fetch import Fetched
    from mmscore.report.compare import Comparison
    from mmscore.report.model_table import ModelTable
    from mmscore.report.result import Result
    from mmscore.report.several import SeveralRuns

Place = str | os.PathLike[str]


def _silent(_: str) -> None:
    """Nobody hears of it."""


def check(
    task_cfg: TaskConfig | Mapping[str, Any] | Place, events: Events | None = None
) -> dict[str, Findings]:
    """Look for all that would spoil a run, before the first question: `mmscore check`.

    Args:
        task_cfg: The task that would be run, as `run_task` takes it.
        events: Who wants to hear of downloads.

    Returns:
        Benchmark -> what was found; `findings.exit_code` is 0 only if a run would start clean.

    Raises:
        ConfigError: The task is wrong.
        DataError: The data cannot be read at all.
        HubError: They cannot be fetched.
    """
    from mmscore.plan.check import check
    from mmscore.plan.events import SILENT
    from mmscore.run.task import as_task

    task = as_task(task_cfg)
    return {name: check(task, name, events or SILENT) for name in task.datasets}


def fetch(
    task_cfg: TaskConfig | Mapping[str, Any] | Place,
    events: Events | None = None,
    *,
    dry_run: bool = False,
    whole: bool = False,
) -> dict[str, Fetched]:
    """Fetch what a run would need: `mmscore fetch`.

    Args:
        task_cfg: The task that would be run; its endpoint is not asked.
        events: Who wants to hear of progress.
        dry_run: Only say what is new.
        whole: Fetch archives whole instead of the members that are asked.

    Returns:
        Benchmark -> where its data lie and how much of them is new.

    Raises:
        ConfigError: The task is wrong.
        HubError: The data cannot be fetched.
    """
    from mmscore.plan.events import SILENT
    from mmscore.plan.fetch import fetch
    from mmscore.run.task import as_task

    task = as_task(task_cfg)
    return {
        name: fetch(task, name, events or SILENT, dry_run=dry_run, whole=whole)
        for name in task.datasets
    }


def score_run(
    run_dir: Place,
    judge: Mapping[str, Any] | None = None,
    filters: Sequence[Mapping[str, Any]] | None = None,
    *,
    concurrency: int | None = None,
    notice: Callable[[str], None] = _silent,
) -> Result:
    """Score a run's saved replies again, in its folder: `mmscore score RUN_DIR`.

    Args:
        run_dir: The run's folder.
        judge: Judges to ask, as in a task; None keeps the verdicts that were given.
        filters: Instead of those of the run; None keeps these.
        concurrency: Judge requests in flight.
        notice: Who hears a sentence worth reading.

    Raises:
        ConfigError: The judge or a filter is wrong.
        DataError: The folder holds no run.
        EndpointError: A judge does not answer.
        StorageError: The folder cannot be written.
    """
    from mmscore.run.rescore import rescore

    return rescore(Path(run_dir), judge, filters, concurrency=concurrency, notice=notice)


def score_replies_file(
    task_cfg: TaskConfig | Mapping[str, Any] | Place,
    replies: Place,
    *,
    id_column: str | None = None,
    reply_column: str | None = None,
    partial: bool = False,
    notice: Callable[[str], None] = _silent,
) -> Result:
    """Score replies made elsewhere: `mmscore score BENCH --replies FILE`.

    Args:
        task_cfg: A task of one benchmark: its data, filters, judge, and the folder to write.
        replies: A CSV, TSV or JSON Lines file, or EvalScope's folder of predictions.
        id_column: The column with the samples' ids; found by its usual names where None.
        reply_column: The column with the replies, likewise.
        partial: Score what is there; samples without a reply count as not asked.
        notice: Who hears a sentence worth reading.

    Raises:
        ConfigError: The task is wrong.
        DataError: Data or replies are missing or damaged, or do not fit each other.
        EndpointError: A judge does not answer.
        StorageError: The folder cannot be written.
    """
    from mmscore.run.outside_replies import ReplyColumns, score_elsewhere
    from mmscore.run.task import as_task

    columns = ReplyColumns(id_column, reply_column)
    return score_elsewhere(
        as_task(task_cfg), Path(replies), columns, partial=partial, notice=notice
    )


def report(
    run_dir: Place,
    formats: Iterable[str] = ("json", "csv", "html"),
    *,
    html: Place | None = None,
    image_side: int | None = None,
) -> Result:
    """Build a run's report and write it into its folder: `mmscore report`.

    Args:
        run_dir: The run's folder, also of a half-finished run.
        formats: Which of `json`, `csv`, `html` to write; none builds it alone.
        html: Where the page is written; `report.html` in the folder by default.
        image_side: Pixels of the longer side of the page's images at most; 0 leaves them out.

    Raises:
        DataError: The folder holds no run.
        StorageError: The report cannot be written.
    """
    from mmscore.run.pages import report_with_page

    page = Path(html) if html else None
    return report_with_page(Path(run_dir), tuple(formats), html=page, image_side=image_side)


def compare(
    run_a: Place, run_b: Place, *, metric: str | None = None, force: bool = False
) -> Comparison:
    """Pair two runs sample by sample: `mmscore compare`.

    Args:
        run_a: The run that is compared against.
        run_b: The run whose gains and losses are told.
        metric: What to compare; the first run's primary metric by default.
        force: Compare runs over unlike data all the same.

    Raises:
        DataError: A folder holds no run, or the runs are of unlike benchmarks or data.
    """
    from mmscore.report.compare import compare
    from mmscore.store.run_folder import load

    return compare(load(Path(run_a)), load(Path(run_b)), metric=metric, force=force)


def compare_several(
    run_dirs: Iterable[Place], *, metric: str | None = None, force: bool = False
) -> SeveralRuns:
    """Compare three or more runs on the samples scored in all: `mmscore compare`.

    Args:
        run_dirs: Their folders, the one that the others are compared against first.
        metric: What to compare; the first run's primary metric by default.
        force: Compare runs over unlike data all the same.

    Raises:
        DataError: A folder holds no run, or the runs are of unlike benchmarks or data.
    """
    from mmscore.report.several import several
    from mmscore.store.run_folder import load

    return several([load(Path(folder)) for folder in run_dirs], metric=metric, force=force)


def compare_page(
    run_dirs: Iterable[Place],
    html: Place,
    *,
    metric: str | None = None,
    force: bool = False,
    image_side: int | None = None,
) -> Path:
    """Write a page with two or more runs side by side: `mmscore compare --html FILE`.

    Args:
        run_dirs: Their folders, the one that the others are compared against first.
        html: The file to write.
        metric: What to compare; the first run's primary metric by default.
        force: Compare runs over unlike data all the same.
        image_side: Pixels of the longer side of the page's images at most; 0 leaves them out.

    Raises:
        DataError: A folder holds no run, or the runs are of unlike benchmarks or data.
        StorageError: The file cannot be written.
    """
    from mmscore.run.pages import write_comparison
    from mmscore.store.run_folder import load

    runs = [load(Path(folder)) for folder in run_dirs]
    return write_comparison(runs, Path(html), metric=metric, force=force, image_side=image_side)


def merge(
    shard_dirs: Iterable[Place],
    out: Place,
    *,
    partial: bool = False,
    notice: Callable[[str], None] = _silent,
) -> Result:
    """Make one run out of the runs of its shards: `mmscore merge`.

    Args:
        shard_dirs: Their folders, a folder of them, or patterns.
        out: The merged run's folder.
        partial: Also where shards are missing.
        notice: Who hears what does not keep the shards from being merged.

    Raises:
        DataError: The runs are no shards of one run, or one is missing or there twice.
        StorageError: The folder cannot be written or holds a run already.
    """
    from mmscore.run.merge import merge, shard_folders

    folders = shard_folders([os.fspath(place) for place in shard_dirs])
    return merge(folders, Path(out), partial=partial, notice=notice)


def table(places: Iterable[Place]) -> ModelTable:
    """Lay several runs out, models down and benchmarks across: `mmscore table`.

    Args:
        places: Runs' folders, or folders of runs.

    Raises:
        DataError: A place holds no run.
    """
    from mmscore.report.model_table import model_table, run_folders

    return model_table(run_folders(map(Path, places)))
