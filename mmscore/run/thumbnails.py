"""Small pictures of what a run's samples showed, for its HTML report.

The journal keeps where an image lay and its digest, never its bytes; so thumbnails are made from
the data set when a report is asked for, and where it is gone there are none.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping
from dataclasses import replace

from mmscore.benchmarks import is_file
from mmscore.config.task import TaskConfig
from mmscore.dataset.media.image import thumbnail
from mmscore.errors import MmscoreError
from mmscore.model.request import media_of
from mmscore.plan.plan import plan
from mmscore.report import Run
from mmscore.run.restored import ASKED_AGAIN, restored
from mmscore.store.records import SentMedium
from mmscore.types import Source

SIDE = 160
"""The longer side in pixels."""

MOST = 1000
"""Images of a report; those of the first samples."""

MOST_BYTES = 4 * 1024 * 1024
"""Of all thumbnails together, as the page holds them."""


def thumbnails(of: Run) -> dict[str, str]:
    """Place of an image, as the journal names it -> a `data:` URI of it in small.

    Empty where the data set cannot be read any more; nothing is fetched for it. An image that is
    not the one that was sent is left out.
    """
    wanted = _wanted(of)
    made: dict[str, str] = {}
    if not wanted:
        return made
    with contextlib.suppress(MmscoreError, OSError):
        _make(of, wanted, made)
    return made


def _wanted(of: Run) -> dict[str, SentMedium]:
    """The images to show, by place, each once."""
    wanted: dict[str, SentMedium] = {}
    for prediction, _ in of.whole():
        for medium in prediction.media:
            if len(wanted) == MOST:
                return wanted
            if (medium.mime or "").startswith("image/"):
                wanted.setdefault(medium.place, medium)
    return wanted


def _make(of: Run, wanted: Mapping[str, SentMedium], made: dict[str, str]) -> None:
    name = of.info.benchmark.name
    if of.info.benchmark.file or is_file(name):
        return  # to find its samples would be to run its code
    # Folders that the run's folder opens are read for this, which is safe: nothing is shown but
    # bytes whose digest it knows.
    opened = {field: of.info.config[field] for field in ASKED_AGAIN if field in of.info.config}
    task = TaskConfig.from_dict({**restored(of.info), **opened, "datasets": [name]})
    found = plan(replace(task, offline=True, skip_bad_media=True), name)
    left, size = set(wanted), 0
    for sample in found.samples():
        for medium in media_of(sample.messages):
            source = medium.source
            if source is None or source.name not in left:
                continue
            left.discard(source.name)
            uri = _thumbnail(source, wanted[source.name])
            size += len(uri)
            if size > MOST_BYTES:
                return
            if uri:
                made[source.name] = uri
        if not left:
            return


def _thumbnail(source: Source, sent: SentMedium) -> str:
    """The `data:` URI; empty where the image is gone, damaged, or not the one that was sent."""
    try:
        data = source.read()
        if hashlib.sha256(data).hexdigest() not in (sent.sha256, sent.original):
            return ""
        return thumbnail(data, SIDE, name=source.name).decode("ascii")
    except MmscoreError:
        return ""
