"""A run's folder: made, opened, and read as values, whatever state the run was left in."""

from __future__ import annotations

import contextlib
import json
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmscore.disk import make_folder, open_for_reading, storage_error, words, write_whole
from mmscore.error_text import listed, nearest_hint, shown
from mmscore.errors import DataError, StorageError
from mmscore.store.info import BenchmarkInfo, NewerRecordError, RunInfo
from mmscore.store.journal import JUDGEMENTS, PREDICTIONS, REPLACED, SCORES
from mmscore.store.lines import Line, metric_names, read_lines
from mmscore.store.reader import RecordReader, json_object
from mmscore.store.records import Prediction, Score
from mmscore.store.spelling import RecordError
from mmscore.store.texts import TEXTS, TextFile

RUN = "run.json"

FILES = (
    *(RUN, PREDICTIONS, SCORES, JUDGEMENTS, REPLACED, TEXTS),
    *(f"report.{format}" for format in ("json", "csv", "html")),
)
"""What a run's folder may hold."""

Whole = tuple[Prediction, Score | None]
"""The prediction of a sample and its score, where there is one."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run's folder holds.

    Attributes:
        directory: The folder.
        info: `run.json`.
        lines: What counts of each asked sample, in the order of the data set.
        facts: The names of all facts that samples have, as first seen.
        predictions: Where the lines were read.
        scores: Where their scores were.
    """

    directory: Path
    info: RunInfo
    lines: tuple[Line, ...]
    facts: tuple[str, ...]
    predictions: RecordReader[Prediction]
    scores: RecordReader[Score]

    @property
    def benchmark(self) -> BenchmarkInfo:
        """What `run.json` says of the benchmark."""
        return self.info.benchmark

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that samples have, as first seen; empty where nothing was scored."""
        return metric_names(self.lines)

    def whole(self, lines: Iterable[Line] | None = None) -> Iterator[Whole]:
        """Yield all that the folder holds of samples; of a large run one sample at a time.

        Args:
            lines: The samples; all, in the order of the data set, by default.

        Raises:
            DataError: The folder has changed since it was loaded.
        """
        with closing(self.predictions) as predictions, closing(self.scores) as scores:
            for line in self.lines if lines is None else lines:
                prediction = predictions.at(line.at)
                score = scores.at(line.score.at) if line.score is not None else None
                if prediction.id != line.id or (score is not None and score.id != line.id):
                    raise DataError(f"`{self.directory}` has changed while it was read")
                yield prediction, score


def load(
    directory: Path,
    *,
    group_by: Sequence[str] = (),
    hold: bool = True,
    damaged: Callable[[str], None] | None = None,
) -> Run:
    """A run's folder as values; half-finished and torn ones too.

    The last line of a sample counts, because a resumed run appends. A torn last line is left
    out: its sample was in flight when the run stopped.

    Args:
        directory: The folder.
        group_by: Facts of the samples to break down by, besides those of the run.
        hold: Whether the records of a small run stay in memory, for those who read all of them.
        damaged: Who hears of a score that cannot be read, which is then as if it were not there;
            None stops on it.

    Raises:
        DataError: The folder is no run's folder, a line inside a file is damaged, or no sample has
            such a fact.
    """
    info = read_run(directory)
    groups = tuple(dict.fromkeys((*info.benchmark.groups, *group_by)))
    info = replace(info, benchmark=replace(info.benchmark, groups=groups))
    texts = TextFile(directory)
    predictions = RecordReader(directory / PREDICTIONS, Prediction, hold=hold, then=texts.restore)
    scores = RecordReader(directory / SCORES, Score, hold=hold)
    names: dict[str, None] = {}
    lines = read_lines(predictions, scores, groups, damaged, names)
    for name in group_by:
        if name not in names and lines:
            known = listed(sorted(names), 20) or "none"
            raise DataError(
                f"no sample of `{directory}` has a fact {shown(name)}, known are {known}",
                hint=nearest_hint(name, names) if names else None,
            )
    return Run(directory, info, lines, tuple(names), predictions, scores)


# --- run.json ------------------------------------------------------------------------------------

_HINT = "give the folder that a run wrote, the one with run.json in it"


def read_run(folder: Path) -> RunInfo:
    """What a run's folder says of the run.

    Raises:
        DataError: The folder is none of a run, or its `run.json` is damaged or of a newer mmscore.
    """
    path = folder / RUN
    check_files(folder)
    if not path.is_file():
        raise DataError(f"`{folder}` is no run's folder: there is no {RUN}", hint=_HINT)
    try:
        return RunInfo.from_json(_json_in(path))
    except NewerRecordError as error:
        raise DataError(
            f"`{path}` {error}",
            hint="a newer mmscore wrote it; upgrade this one",
        ) from None
    except RecordError as error:
        raise DataError(f"`{path}` is no record of a run: it {error}", hint=_HINT) from None


def _json_in(path: Path) -> dict[str, Any]:
    try:
        with open_for_reading(path) as file:
            return json_object(file.read())
    except OSError as error:
        raise DataError(f"cannot read `{path}`: {words(error)}", hint=_HINT) from None
    except ValueError as error:
        raise DataError(f"`{path}` {error}") from None


def write_run(folder: Path, info: RunInfo) -> None:
    """Write `run.json`; a reader sees the old one or the new one.

    Raises:
        StorageError: It cannot be written.
    """
    text = json.dumps(info.to_json(), ensure_ascii=False, indent=2, allow_nan=False)
    write_whole(folder / RUN, [text + "\n"])


def check_files(folder: Path) -> None:
    """Stop on a folder in which a file of a run is a link or no file at all.

    A run's folder may come from a stranger: nothing in it leads anywhere else.

    Raises:
        DataError: The first such file.
    """
    for name in FILES:
        path = folder / name
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            mode = path.lstat().st_mode
            if not stat.S_ISREG(mode):
                found = "a link" if stat.S_ISLNK(mode) else "no plain file"
                raise DataError(
                    f"`{path}` is {found}, a run's folder holds files of its own",
                    hint="look at where the folder came from; put the file itself in its place",
                )


# --- a folder for a run --------------------------------------------------------------------------


def new_folder(work_dir: Path, name: str) -> Path:
    """Make `work_dir/<time>-<name>`, with a number behind where that is taken.

    Raises:
        StorageError: It cannot be made.
    """
    stem = time.strftime("%Y%m%d_%H%M%S-") + safe_name(name)
    try:
        work_dir.mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            folder = work_dir / (stem if number == 1 else f"{stem}-{number}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise storage_error(work_dir, error) from None
    raise StorageError(f"`{work_dir}` holds ten thousand runs named `{stem}`")


def use_folder(folder: Path) -> Path:
    """Make `folder` for a new run.

    Raises:
        DataError: It holds a link where the run would have a file.
        StorageError: It cannot be made or already holds a run.
    """
    check_files(folder)
    make_folder(folder)
    # A run that was stopped before its first record left an empty file, which is nothing to keep.
    predictions = folder / PREDICTIONS
    if (folder / RUN).exists() or (predictions.exists() and predictions.stat().st_size):
        raise StorageError(
            f"`{folder}` already holds a run",
            hint=f"go on with it: --resume {folder}; or give another folder with --out",
        )
    return folder


def safe_name(name: str) -> str:
    """`name` as a short folder name that every file system takes."""
    plain = re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "run"
    return plain if len(plain.encode()) <= 80 else plain.encode()[:80].decode(errors="ignore")
