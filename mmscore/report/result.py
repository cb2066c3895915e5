"""What a run came to: its report and exit code, from its folder alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmscore import report
from mmscore.disk import make_folder
from mmscore.errors import Exit, StorageError


@dataclass(frozen=True, slots=True)
class Result:
    """What one benchmark came to.

    Attributes:
        folder: The run's folder.
        report: The report.
        exit_code: What the command line exits with for it.
        files: The reports that were written.
    """

    folder: Path
    report: report.Report
    exit_code: Exit
    files: tuple[Path, ...] = ()

    @property
    def num(self) -> int:
        """How many replies were scored."""
        return self.report.main.num

    @property
    def scores(self) -> dict[str, float | None]:
        """Metric -> the mean over all scored replies, 0..1; None where nothing was scored."""
        return {row.metric: row.score for row in self.report.overall}

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values, in the shape of `report.json`."""
        from mmscore.report.files import to_dict

        return to_dict(self.report)

    def __repr__(self) -> str:
        """Return where it lies and what it scored, in a line: a dict of results prints this."""
        return f"Result(folder={str(self.folder)!r}, num={self.num}, scores={self.scores})"

    def __str__(self) -> str:
        """Return the report as text, as the command line prints it."""
        from mmscore.report.terminal import render

        return render(self.report)


def reported(
    folder: Path,
    formats: tuple[str, ...] = ("json", "csv"),
    images: Callable[[report.Run], report.PageImages] = lambda _: report.PageImages(),
    *,
    html: Path | None = None,
    out: Path | None = None,
    group_by: Sequence[str] = (),
    must_write: bool = True,
    notice: Callable[[str], None] = lambda _: None,
) -> Result:
    """Build a run's report and write it.

    Args:
        folder: The run's folder.
        formats: Which reports to write.
        images: Makes small pictures for the one in HTML.
        html: Where that one is written; beside the others by default.
        out: The folder to write it in; the run's own by default.
        group_by: Facts to break it down by, besides those of the run.
        must_write: Whether a run's own folder that cannot be written is an error: a report can be
            looked at without.
        notice: Who hears of what was left out.

    Raises:
        DataError: The folder holds no run.
        StorageError: The report cannot be written.
    """
    damaged: list[str] = []
    run = report.load(folder, group_by=group_by, damaged=damaged.append)
    if damaged:
        notice(
            f"{len(damaged)} damaged scores are left out, the first: {damaged[0]}; "
            f"`mmscore score {folder}` makes them anew"
        )
    built = report.build(run)
    files: list[Path] = []
    try:
        if out is not None:
            make_folder(out)
        for name in formats:
            path = html if name == "html" else None
            shown = images(run) if name == "html" else None
            path = path or (out or folder) / f"report.{name}"
            files.append(report.write(built, run, name, path, shown))
    except StorageError as error:
        if must_write or out is not None or html is not None:
            raise
        notice(f"{error.message}: the report is only shown; --out DIR writes it elsewhere")
    failed = any(built.status.get(status, 0) for status in ("error", "timeout", "bad_media"))
    failed = failed or bool(built.judge and built.judge["failed"])
    code = Exit.INCOMPLETE if failed or run.info.stopped else Exit.COMPLETE
    return Result(folder, built, code, tuple(files))
