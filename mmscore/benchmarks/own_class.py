"""A benchmark of the user's own as a value; `mmscore.benchmark` hands it to its file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmscore.benchmarks.base import Files
from mmscore.dataset import rows
from mmscore.dataset.rows import Row
from mmscore.types import Kind, Message, Sample


@dataclass(frozen=True, slots=True)
class Medium:
    """An image, a sound or a clip in a prompt; `image`, `audio` and `video` make one.

    Attributes:
        kind: What it is.
        value: A path, an http(s) URL, a data URI, base64 text, or bytes.
    """

    kind: Kind
    value: object


Part = str | Medium

Prompt = Part | Sequence[Part] | Sequence[Message]
"""What is asked: a text, parts in order, or whole messages."""

Score = float | Mapping[str, float] | None
"""A value from 0 to 1 (False and True serve), one for each metric, or None: not to be scored."""


def whole_reply(reply: str, sample: Sample) -> str:
    """The reply without blanks around it: how a benchmark without a `parse` reads it."""
    return reply.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Benchmark:
    """A benchmark of your own.

    Attributes:
        name: Its name in reports and folders.
        load: The rows of the data set, in order, each a mapping; called more than once. `files`
            are those of `--data`, or of the folder of the benchmark's own file:
            `files.path("name.tsv")` is the path of one, `files.single` the name of the file that
            was given instead of a folder, `files.archive("name.zip")` a zip. Of a row, mmscore
            itself reads `id` or `index` (else rows are numbered), `answer`, `subset`, `choices`.
        prompt: What is asked of a row.
        score: How good an answer is; `sample.target` is the row's `answer`, `sample.metadata` holds
            what `keep` and `groups` name. An answer is None where `parse` found none.
        parse: Reads the answer out of a reply; by default the whole reply is the answer.
        metrics: What `score` gives, the primary metric first.
        groups: Columns by which the report is broken down.
        keep: Further columns that `parse` and `score` need.
        system: A system message before each question.
        title: The name in tables; `name` by default.
        about: What it measures, in a sentence.
    """

    name: str
    load: Callable[[Files], Iterable[Mapping[str, Any]]]
    prompt: Callable[[Mapping[str, Any]], Prompt]
    score: Callable[[Any, Sample], Score]
    parse: Callable[[str, Sample], str | None] = whole_reply
    metrics: tuple[str, ...] = ("accuracy",)
    groups: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    system: str | None = None
    title: str = ""
    about: str = ""


def read(path: str | Path) -> Iterator[Row]:
    """The rows of a JSON, JSON Lines, CSV, TSV or Parquet file, one at a time.

    A large cell of a column `image` stays in the file until it is sent.

    Raises:
        DataError: There is no such file, or it is damaged or empty.
    """
    return rows.read(path, late={"image"})


def image(value: object) -> Medium:
    """An image by its path, http(s) URL, data URI, base64 text, or bytes."""
    return Medium("image", value)


def audio(value: object) -> Medium:
    """A sound by its path, data URI, base64 text, or bytes."""
    return Medium("audio", value)


def video(value: object) -> Medium:
    """A clip by its path, http(s) URL, data URI, base64 text, or bytes."""
    return Medium("video", value)
