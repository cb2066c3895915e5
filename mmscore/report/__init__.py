"""Reading a run: its folder as values, its report, and the report in every format.

Only the journal is read, so a report can be made again at any time, also of a run that is not
finished. Nothing here prints: functions return text or write the file they are given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from mmscore.disk import write_whole
from mmscore.report.building import build
from mmscore.report.page.images import PageImages
from mmscore.report.summary import Coverage, Report, Row
from mmscore.store.run_folder import Run, load

__all__ = ["WRITERS", "Coverage", "PageImages", "Report", "Row", "Run", "build", "load", "write"]


Pieces = Callable[[Report, Run, PageImages], Iterable[str]]
"""Makes a report's text piece by piece, so that it need not be in memory whole."""


def _json(report: Report, run: Run, images: PageImages) -> Iterable[str]:
    from mmscore.report.files import to_json

    return [to_json(report)]


def _csv(report: Report, run: Run, images: PageImages) -> Iterable[str]:
    from mmscore.report.spreadsheet import csv_lines

    return csv_lines(run)


def _html(report: Report, run: Run, images: PageImages) -> Iterable[str]:
    from mmscore.report.html import html_pieces

    return html_pieces(report, run, images)


WRITERS: Mapping[str, Pieces] = {"json": _json, "csv": _csv, "html": _html}
"""Format -> what makes the text of `report.<format>`; only HTML shows images."""


def write(
    report: Report,
    run: Run,
    format: str,
    path: Path | None = None,
    images: PageImages | None = None,
) -> Path:
    """Write a report and return its path.

    Args:
        report: What the run came to.
        run: The run it was built from.
        format: A key of `WRITERS`.
        path: The file; `report.<format>` in the run's own folder by default.
        images: What the samples of an HTML report show; none by default.

    Raises:
        StorageError: The file cannot be written; an older one is left as it was.
    """
    path = path or run.directory / f"report.{format}"
    write_whole(path, WRITERS[format](report, run, images or PageImages()))
    return path


class _Room(ModuleType):
    """This room, which is also the function `report` of the package's door."""

    def __call__(self, *args: Any, **values: Any) -> Any:
        """Do what `mmscore.api.report` does; the name `mmscore.report` is the room's."""
        return import_module("mmscore.api").report(*args, **values)


sys.modules[__name__].__class__ = _Room
