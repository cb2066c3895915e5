"""Small pictures of what a run's samples showed, for its HTML report.

The journal keeps where an image lay and its digest, never its bytes; so they are made from the data
set when a report is asked for, and where it is gone there are none.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice

from mmscore.benchmarks import is_file
from mmscore.config.task import TaskConfig
from mmscore.dataset.media.image import thumbnail
from mmscore.errors import MmscoreError
from mmscore.model.request import media_of
from mmscore.plan.plan import plan
from mmscore.report import PageImages, Run
from mmscore.report.page.samples import SAMPLES_LIMIT, fell_short, worst_first
from mmscore.run.restored import ASKED_AGAIN, restored
from mmscore.store.records import SentMedium
from mmscore.types import Source

SIDE = 768
"""The longer side in pixels: enough to read a scan or a chart."""

MOST = 5000
"""Images of a page."""

MOST_BYTES = 24 * 1024 * 1024
"""Of all images together, as the page holds them."""

_AT_ONCE = 32
"""Images in memory at once."""

_WORKERS = 4
"""Threads that read and encode; Pillow lets others run meanwhile."""

Wanted = dict[str, SentMedium]
"""Place of an image, as the journal names it -> what the journal says of it."""


def thumbnails(of: Run, side: int = SIDE) -> PageImages:
    """The images of a run's samples, and why others are left out; nothing is fetched for them.

    Those of failed and wrong samples come first where not all have room.

    Args:
        of: The run.
        side: Pixels of the longer side at most; 0 wants none.
    """
    if side <= 0:
        return PageImages()
    left_out: Counter[tuple[str, str]] = Counter()
    made: dict[str, str] = {}
    worse, others = _wanted(of, left_out)
    try:
        for wanted in (worse, others):
            _make(of, wanted, side, made, left_out)
            left_out["gone", ""] += len(wanted)
    except (MmscoreError, OSError) as error:
        sentence = error.message if isinstance(error, MmscoreError) else str(error)
        left_out["gone", sentence] += len(worse) + len(others)
    return PageImages(made, +left_out, side)


def first_images(runs: Sequence[Run], side: int = SIDE) -> PageImages:
    """The images of the first of some runs over the same data whose data set is still there."""
    found = PageImages()
    for run in runs:
        found = thumbnails(run, side)
        if found.uris:
            break
    return found


def _wanted(of: Run, left_out: Counter[tuple[str, str]]) -> tuple[Wanted, Wanted]:
    """The images of listed samples that fell short, and those of others alone; each image once."""
    primary = next(iter(of.metrics), "")
    worse: Wanted = {}
    others: Wanted = {}
    by_url: set[str] = set()
    listed = worst_first(of.lines, lambda line: fell_short(line, primary))[:SAMPLES_LIMIT]
    for line, (prediction, _) in zip(listed, of.whole(listed), strict=True):
        wanted = worse if fell_short(line, primary) else others
        for medium in prediction.media:
            if medium.url:
                by_url.add(medium.place)
            elif (medium.mime or "").startswith("image/"):
                wanted.setdefault(medium.place, medium)
    others = {place: medium for place, medium in others.items() if place not in worse}
    left_out["url", ""] += len(by_url)
    left_out["room", ""] += max(0, len(worse) + len(others) - MOST)
    return (
        dict(islice(worse.items(), MOST)),
        dict(islice(others.items(), max(0, MOST - len(worse)))),
    )


def _make(
    of: Run, wanted: Wanted, side: int, made: dict[str, str], left_out: Counter[tuple[str, str]]
) -> None:
    """Make the images that are found and have room; those dealt with are no longer wanted."""
    size = sum(map(len, made.values()))
    sources = _sources(of, wanted)
    with ThreadPoolExecutor(_WORKERS) as pool:
        while found := list(islice(sources, _AT_ONCE)):
            uris = pool.map(lambda source: _thumbnail(source, wanted[source.name], side), found)
            for source, uri in zip(found, uris, strict=True):
                del wanted[source.name]
                if not uri.startswith("data:"):
                    left_out[uri, ""] += 1
                elif size + len(uri) > MOST_BYTES:
                    left_out["room", ""] += 1 + len(wanted)
                    wanted.clear()
                    return
                else:
                    made[source.name] = uri
                    size += len(uri)


def _sources(of: Run, wanted: Mapping[str, object]) -> Iterator[Source]:
    """Where the wanted images are, in the order of the data set, each once."""
    if not wanted:
        return
    name = of.info.benchmark.name
    if of.info.benchmark.file or is_file(name):
        return  # to find its samples would be to run its code
    # Folders that the run's folder opens are read for this, which is safe: nothing is shown but
    # bytes whose digest it knows.
    opened = {field: of.info.config[field] for field in ASKED_AGAIN if field in of.info.config}
    task = TaskConfig.from_dict({**restored(of.info), **opened, "datasets": [name]})
    seen: set[str] = set()
    for sample in plan(replace(task, offline=True, skip_bad_media=True), name).samples():
        for medium in media_of(sample.messages):
            source = medium.source
            if source is not None and source.name in wanted and source.name not in seen:
                seen.add(source.name)
                yield source


def _thumbnail(source: Source, sent: SentMedium, side: int) -> str:
    """The `data:` URI, or the word for why there is none."""
    try:
        data = source.read()
    except (MmscoreError, OSError):
        return "gone"
    if hashlib.sha256(data).hexdigest() not in (sent.sha256, sent.original):
        return "changed"
    try:
        return thumbnail(data, side, name=source.name).decode("ascii")
    except MmscoreError:
        return "damaged"
