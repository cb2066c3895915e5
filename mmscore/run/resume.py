"""Going on with a run whose questions have changed: which earlier replies still belong to it.

A report counts every reply in `predictions.jsonl`. So before a run goes on with another model,
prompt, data set or selection, replies that answer none of its requests are moved to
`replaced.jsonl`: a run that stops at once must not show them under its new name. Nothing that was
paid for is thrown away; a reply whose request is asked again later is moved back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mmscore.config import options
from mmscore.store.info import RunInfo
from mmscore.store.journal import PREDICTIONS, REPLACED, SCORES, AppendFile, encode
from mmscore.store.reader import RecordReader
from mmscore.store.records import Key, Prediction, Score

Asked = tuple[int, Key, str | None]
"""A request of a run: its sample's place in the data set, its sample and repeat, its hash."""

Place = tuple[str, int]
"""A file of the run's folder, and the byte where a line begins."""


def asks_the_same(before: RunInfo, now: RunInfo) -> bool:
    """Whether two runs' records stand for the same requests, media apart."""
    return _questions(before) == _questions(now)


def _questions(info: RunInfo) -> tuple[Any, ...]:
    config = options.compared(info.config, "way", "score")
    prints = info.fingerprints
    return config, prints.data, prints.prompt, info.planned, info.repeats, info.shard


@dataclass(frozen=True, slots=True)
class Moved:
    """What became of earlier replies.

    Attributes:
        away: Replies that belong to no request of this run any more.
        back: Replies that had been replaced and belong to it again.
    """

    away: int
    back: int


def bring_in_line(
    folder: Path,
    predictions: AppendFile,
    scores: AppendFile,
    asked: Callable[[frozenset[Key]], Iterable[Asked]],
) -> Moved:
    """Let `predictions.jsonl` hold the replies to this run's requests alone.

    A kill at any moment leaves each reply in at least one of the two files, and the next call
    sorts them again.

    Args:
        folder: The run's folder.
        predictions: Its `predictions.jsonl`, open for writing.
        scores: Its `scores.jsonl`, likewise.
        asked: Yields the requests of this run whose samples are among those it is given.

    Raises:
        DataError: A record of the folder is damaged.
        StorageError: The folder cannot be written.
    """
    found: dict[tuple[Key, str | None], Place] = {}
    stored: set[tuple[Key, str | None]] = set()
    for name in (REPLACED, PREDICTIONS):
        if (folder / name).exists():
            for at, prediction in RecordReader(folder / name, Prediction).placed():
                if prediction.replied:
                    reply = prediction.key, prediction.request
                    found[reply] = (name, at)
                    if name == REPLACED:
                        stored.add(reply)
    ours: list[tuple[int, Place]] = []
    kept: set[Key] = set()
    for index, sample, request in asked(frozenset(sample for sample, _ in found)):
        place = found.pop((sample, request), None)
        if place is not None:
            ours.append((index, place))
            if place[0] == PREDICTIONS:
                kept.add(sample)
    away = [(reply, at) for reply, (name, at) in found.items() if name == PREDICTIONS]
    with ExitStack() as readers:
        read = {
            name: readers.enter_context(closing(RecordReader(folder / name, Prediction))).at
            for name in (REPLACED, PREDICTIONS)
        }
        if away:
            with closing(AppendFile(folder / REPLACED, lambda _: None)) as replaced:
                for reply, at in away:
                    if reply not in stored:
                        replaced.append(read[PREDICTIONS](at))
        predictions.rewrite(
            encode(replace(read[name](at), index=index)) for index, (name, at) in ours
        )
    scores.rewrite(
        encode(score)
        for _, score in RecordReader(folder / SCORES, Score).placed(lambda _: None)
        if score.key in kept
    )
    return Moved(len(away), len(ours) - len(kept))
