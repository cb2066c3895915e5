"""The pages of runs, with images made from their data sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from mmscore.disk import write_whole
from mmscore.report.pairing import beside
from mmscore.report.result import Result, reported
from mmscore.run.thumbnails import SIDE, first_images, thumbnails
from mmscore.store.run_folder import Run


def report_with_page(
    folder: Path,
    formats: Sequence[str] = ("json", "csv", "html"),
    *,
    html: Path | None = None,
    image_side: int | None = None,
    out: Path | None = None,
    group_by: Sequence[str] = (),
    must_write: bool = True,
    notice: Callable[[str], None] = lambda _: None,
) -> Result:
    """Build a run's report and write it, its page with images.

    Args:
        folder: The run's folder, also of a half-finished run.
        formats: Which of `json`, `csv`, `html` to write.
        html: Where the page is written; beside the others by default.
        image_side: Pixels of the longer side of its images at most; 0 leaves them out.
        out: The folder to write them in; the run's own by default.
        group_by: Facts to break it down by, besides those of the run.
        must_write: Whether a run's own folder that cannot be written is an error.
        notice: Who hears of what was left out.

    Raises:
        DataError: The folder holds no run.
        StorageError: A report cannot be written.
    """
    images = partial(thumbnails, side=SIDE if image_side is None else image_side)
    return reported(
        folder,
        tuple(formats),
        images,
        html=html,
        out=out,
        group_by=group_by,
        must_write=must_write,
        notice=notice,
    )


def write_comparison(
    runs: Sequence[Run],
    html: Path,
    *,
    metric: str | None = None,
    force: bool = False,
    image_side: int | None = None,
) -> Path:
    """Write a page with runs side by side, and return its place.

    Args:
        runs: Two or more, the one that the others are compared against first.
        html: The file to write.
        metric: What to compare; the first run's primary metric by default.
        force: Compare runs over unlike data all the same.
        image_side: Pixels of the longer side of its images at most; 0 leaves them out.

    Raises:
        DataError: The runs are of unlike benchmarks or data, or a metric is not in all.
        StorageError: The file cannot be written.
    """
    from mmscore.report.html import compare_html

    laid = beside(runs, metric, force)
    images = first_images(runs, SIDE if image_side is None else image_side)
    write_whole(html, compare_html(laid, images))
    return html
