"""What a benchmark must say about itself: a value, not a class to inherit from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from mmscore.dataset.media.paths import Roots
from mmscore.dataset.rows import Row
from mmscore.dataset.zip_archive import Archive
from mmscore.types import Extracted, Sample, Source


class Files(Protocol):
    """The files of one data set, wherever they live."""

    @property
    def name(self) -> str:
        """The place in words."""

    @property
    def single(self) -> str | None:
        """The name of the file that was given instead of a folder, if one was."""

    def names(self) -> list[str]:
        """The names of the files right inside the folder, sorted."""

    def path(self, file: str) -> Path:
        """The local path of a file of the data set, fetched if need be."""

    def has(self, file: str) -> bool:
        """Whether the data set holds that file or folder."""

    def matching(self, pattern: str) -> list[str]:
        """The data set's files that fit a pattern (`data/test-*.parquet`), sorted."""

    def beside(self, table: str, path: str) -> Source | None:
        """The medium that a path in a table names; None where the user's folders hold it."""

    def archive(self, file: str) -> Archive:
        """A zip of the data set, or the unpacked folder of the same name."""


@dataclass(frozen=True, slots=True)
class Options:
    """What a user may change about a benchmark.

    Attributes:
        subsets: The subsets asked for; empty means all.
        prompt_template: Replaces the benchmark's own template.
        system: The system message that comes first, instead of the benchmark's own.
        media_root: Where relative media paths start.
        allow_paths: Further folders whose media may be read.
        extra: Options only this benchmark knows, as `Benchmark.extra` names them.
        keep: Columns of the user's own files to keep as facts; empty keeps what is not understood.
        most: Units of a subset that are asked at the most, so that nobody reads further; None for
            all.
        on_row: Hears of each row of the user's own files: its file and what it holds.
    """

    subsets: tuple[str, ...] = ()
    prompt_template: str | None = None
    system: str | None = None
    media_root: Path | None = None
    allow_paths: tuple[Path, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    most: int | None = None
    on_row: Callable[[Path, Mapping[str, Any]], None] | None = None

    def roots(self, files: Files, path: Path, *more: Path) -> Roots:
        """Where the media lie that the records of one of the data set's files name.

        Args:
            files: The data set.
            path: The file.
            more: Folders that belong to the data too.
        """
        given = getattr(files, "root", None)
        folders = [*([] if given is None else [given]), *more]
        return Roots.of(path, self.media_root, more=folders, allow=self.allow_paths)

    def rows(self, path: Path, rows: Iterator[Row]) -> Iterator[Row]:
        """The rows of one of the user's files, each a sample: no more than are asked."""
        for row in islice(rows, self.most):
            if self.on_row is not None:
                self.on_row(path, row)
            yield row


@dataclass(frozen=True, slots=True)
class Dataset:
    """Where a published data set lives.

    Attributes:
        modelscope: Its id on ModelScope.
        huggingface: Its id on Hugging Face.
        files: The files a run needs, archives included; a `*` stands for several.
    """

    modelscope: str
    huggingface: str
    files: tuple[str, ...]

    @property
    def ids(self) -> Mapping[str, str]:
        """Hub -> the data set's id there."""
        return {"modelscope": self.modelscope, "hf": self.huggingface}


@dataclass(frozen=True, slots=True)
class Benchmark:
    """All a run needs to know of a benchmark.

    Attributes:
        name: The name on the command line.
        title: The name in tables.
        about: What it measures, in a sentence.
        paper: URL of the paper.
        dataset: Where it is published; None where the user brings the data.
        subsets: Subset name -> category; empty where the data decide.
        metrics: Metric names as the reference spells them, the primary one first.
        groups: Metadata keys by which the report is broken down.
        prompt: The prompt template(s), as shown by `mmscore info`.
        scorer: Name and version of the scoring rule, kept with each run.
        samples: All samples in order; called once to survey and once to run.
        parse: Reads the answer out of a reply.
        score: Metric name -> value in 0..1; empty where the sample cannot be scored.
        extra: The names of options that only this benchmark knows.
        file: The Python file it is defined in, if it is the user's own.
        understood: Whether a column of the user's own file means something; None where the data
            are published ones.
    """

    name: str
    title: str
    about: str
    paper: str
    dataset: Dataset | None
    subsets: Mapping[str, str]
    metrics: tuple[str, ...]
    groups: tuple[str, ...]
    prompt: Mapping[str, str]
    scorer: str
    samples: Callable[[Files, Options], Iterator[Sample]]
    parse: Callable[[str, Sample], Extracted]
    score: Callable[[str | None, Sample], Mapping[str, float]]
    extra: tuple[str, ...] = ()
    file: Path | None = None
    understood: Callable[[str], bool] | None = None
