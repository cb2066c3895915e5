"""What `run.json` holds: what a run measured, and of what its numbers were made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from mmscore.config.price import Price
from mmscore.store import spelling
from mmscore.store.spelling import Record, RecordError, Shape, Spelling

SCHEMA = 1
"""The version of `run.json` that is written and understood."""


@dataclass(frozen=True, slots=True)
class BenchmarkInfo(Record):
    """What a run keeps of its benchmark.

    Attributes:
        name: Its name on the command line.
        title: Its name in tables.
        metrics: Its metrics, the primary one first.
        subsets: Subset -> category.
        groups: Facts of samples by which reports are broken down.
        file: The Python file that defined it, if it was the user's own.
        file_sha256: The digest of that file.
    """

    name: str
    title: str | None
    metrics: tuple[str, ...]
    subsets: Mapping[str, str]
    groups: tuple[str, ...]
    file: str | None = None
    file_sha256: str | None = None

    SHAPE: ClassVar = Shape(
        {
            "name": spelling.text(),
            "title": spelling.maybe(str),
            "metrics": spelling.texts([]),
            "subsets": spelling.mapping(str),
            "groups": spelling.texts([]),
            "file": spelling.maybe(str, always=False),
            "file_sha256": spelling.maybe(str, always=False),
        }
    )


@dataclass(frozen=True, slots=True)
class Fingerprints(Record):
    """What tells whether two runs are of one thing.

    Attributes:
        data: Of the data set.
        prompt: Of the prompt templates and the system text.
        scorer: Name and version of the scoring rule and the filters.
    """

    data: str | None
    prompt: str | None
    scorer: str | None

    SHAPE: ClassVar = Shape(
        {
            "data": spelling.maybe(str),
            "prompt": spelling.maybe(str),
            "scorer": spelling.maybe(str),
        }
    )


@dataclass(frozen=True, slots=True)
class JudgeInfo(Record):
    """Who judged a run, and how.

    Attributes:
        strategy: When a judge is asked.
        models: The judges' names -> their models.
        prompt: The id of what they were asked.
        repeats: How often each was asked about a reply.
        aggregation: How several verdicts become one.
    """

    strategy: str | None
    models: Mapping[str, str]
    prompt: str | None
    repeats: int | None
    aggregation: str | None

    SHAPE: ClassVar = Shape(
        {
            "strategy": spelling.maybe(str),
            "models": spelling.mapping(str),
            "prompt": spelling.maybe(str),
            "repeats": spelling.maybe(int),
            "aggregation": spelling.maybe(str),
        }
    )


MOST_REPEATS = 100_000


def _repeats(value: int) -> int:
    if not 1 <= value <= MOST_REPEATS:
        raise RecordError(f"found {value}, expected 1 to {MOST_REPEATS}")
    return value


_PRICE = Shape({"input": spelling.number(), "output": spelling.number()})


def _price(value: dict[str, Any]) -> Price:
    return Price(*_PRICE.read(value))


class NewerRecordError(RecordError):
    """A record is of a newer mmscore."""


@dataclass(frozen=True, slots=True)
class RunInfo(Record):
    """What a run's folder says of the run.

    Attributes:
        schema_version: Of this record.
        benchmark: What was asked.
        model: The model's name in reports.
        endpoint: Where it was asked; None where replies came from elsewhere.
        config: The task's fields that were set, without secrets.
        versions: Of mmscore, its core and Python.
        fingerprints: What tells whether two runs are of one thing.
        price: What tokens cost; None where nobody said.
        planned: Subset -> how many requests the run holds.
        repeats: How often each sample is asked.
        shard: `K/N` of a shard.
        started: When it began, ISO 8601.
        finished: When it ended; None while it has not.
        seconds: How long was asked, all its sittings together.
        stopped: Why it ended early; None where it did not.
        reused: Replies that came from other runs' kept ones.
        judge: Who judged; None where nobody did.
        merged: The shards it was made of.
    """

    schema_version: int
    benchmark: BenchmarkInfo
    model: str | None
    endpoint: str | None
    config: Mapping[str, Any]
    versions: Mapping[str, str]
    fingerprints: Fingerprints
    price: Price | None
    planned: Mapping[str, int]
    repeats: int
    shard: str | None
    started: str | None
    finished: str | None
    seconds: float
    stopped: str | None
    reused: int
    judge: JudgeInfo | None
    merged: tuple[str, ...] | None = None

    SHAPE: ClassVar = Shape(
        {
            "schema_version": spelling.count(),
            "benchmark": spelling.one(BenchmarkInfo),
            "model": spelling.maybe(str),
            "endpoint": spelling.maybe(str),
            "config": spelling.facts(),
            "versions": spelling.mapping(str),
            "fingerprints": spelling.one(Fingerprints),
            "price": Spelling(
                frozenset({dict, spelling.NONE}), None, _price, Price.to_json, of=_PRICE
            ),
            "planned": spelling.mapping(int),
            "repeats": Spelling(frozenset({int}), 1, _repeats),
            "shard": spelling.maybe(str),
            "started": spelling.maybe(str),
            "finished": spelling.maybe(str),
            "seconds": spelling.number(0.0),
            "stopped": spelling.maybe(str),
            "reused": spelling.count(0),
            "judge": spelling.maybe_one(JudgeInfo),
            "merged": spelling.maybe_texts(),
        }
    )

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> RunInfo:
        """The run that `run.json` tells of.

        Raises:
            NewerRecordError: A newer mmscore wrote it, so its fields may be others.
            RecordError: It tells of none.
        """
        version = record.get("schema_version")
        if type(version) is int and version > SCHEMA:
            raise NewerRecordError(
                f"has schema_version {version}, this mmscore reads up to {SCHEMA}"
            )
        return cls(*cls.SHAPE.read(record))
