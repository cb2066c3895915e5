"""A run's folder as values, whatever state the run was left in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmscore.errors import DataError
from mmscore.journal import PREDICTIONS, RUN, SCORES, RecordReader, read_json
from mmscore.report.lines import Line, metric_names, read_lines

SCHEMA = 1
"""The version of `run.json` this module understands."""

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
    info = _info(directory / RUN)
    groups = info["benchmark"].get("groups") or ()
    return Run(directory, info, read_lines(directory / PREDICTIONS, directory / SCORES, groups))


def _info(path: Path) -> dict[str, Any]:
    hint = "give the folder that a run wrote, the one with run.json in it"
    if not path.is_file():
        raise DataError(f"`{path.parent}` is no run's folder: there is no run.json", hint=hint)
    info = read_json(path)
    version = info.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA:
        raise DataError(
            f"`{path}` has schema_version {version!r}, this mmscore reads up to {SCHEMA}",
            hint="a newer mmscore wrote it; upgrade with `pip install -U mmscore`",
        )
    if not isinstance(info.get("benchmark"), dict):
        raise DataError(f"`{path}` names no benchmark", hint=hint)
    return info
