"""A run's folder as values, whatever state the run was left in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmscore.errors import DataError
from mmscore.store.journal import PREDICTIONS, SCORES, RecordReader, read_run
from mmscore.store.lines import Line, metric_names, read_lines

Whole = tuple[dict[str, Any], dict[str, Any]]
"""The prediction record of a sample and its score record, which is empty where there is none."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run's folder holds.

    Attributes:
        directory: The folder.
        info: `run.json`.
        lines: What counts of each asked sample, in the order of the data set.
    """

    directory: Path
    info: Mapping[str, Any]
    lines: tuple[Line, ...]

    @property
    def benchmark(self) -> Mapping[str, Any]:
        """What `run.json` says of the benchmark."""
        found: Mapping[str, Any] = self.info["benchmark"]
        return found

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics that samples have, as first seen; empty where nothing was scored."""
        return metric_names(self.lines)

    def whole(self, lines: Iterable[Line] | None = None) -> Iterator[Whole]:
        """Yield all that the folder holds of samples, one sample in memory at a time.

        Args:
            lines: The samples; all, in the order of the data set, by default.

        Raises:
            DataError: The folder has changed since it was loaded.
        """
        with (
            closing(RecordReader(self.directory / PREDICTIONS)) as predictions,
            closing(RecordReader(self.directory / SCORES)) as scores,
        ):
            for line in self.lines if lines is None else lines:
                prediction = predictions.at(line.at)
                score = scores.at(line.score.at) if line.score is not None else {}
                if prediction["id"] != line.id or score.get("id", line.id) != line.id:
                    raise DataError(f"`{self.directory}` has changed while it was read")
                yield prediction, score


def load(directory: Path) -> Run:
    """A run's folder as values; half-finished and torn ones too.

    The last line of a sample counts, because a resumed run appends. A torn last line is left
    out: its sample was in flight when the run stopped.

    Raises:
        DataError: The folder is no run's folder, or a line inside a file is damaged.
    """
    info = read_run(directory)
    groups = info["benchmark"].get("groups") or ()
    return Run(directory, info, read_lines(directory / PREDICTIONS, directory / SCORES, groups))
