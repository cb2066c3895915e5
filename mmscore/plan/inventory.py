"""What a user's own files hold, in figures: rows, columns, options, places of media, repetitions.

A check tells it, so that a column misspelt or an option lost shows before any money is spent.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from mmscore.benchmarks.base import Benchmark
from mmscore.config.task import TaskConfig
from mmscore.dataset.media.sources import BytesSource, FileSource, TextSource
from mmscore.dataset.rows import READERS, Cell, read
from mmscore.error_text import shown
from mmscore.errors import DataError
from mmscore.model.attachments import Attacher
from mmscore.model.client import request_options
from mmscore.model.request import build_request, media_of
from mmscore.plan.plan import Plan
from mmscore.types import Media, Sample

SHOWN_REPETITIONS = 5

SHOWN_TEXT = 120
"""Of a longer text, both ends are shown."""


@dataclass(slots=True)
class FileFacts:
    """What one file of rows holds.

    Attributes:
        file: Its path.
        rows: How many.
        understood: Column -> rows in which it is filled, of those the benchmark reads.
        ignored: The same of all others.
    """

    file: str
    rows: int = 0
    understood: dict[str, int] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return it as lines of a check."""
        lines = [f"{self.file}: {self.rows} rows"]
        for word, columns in (("understood", self.understood), ("ignored", self.ignored)):
            if columns:
                listed = (f"{name}{_share(filled, self.rows)}" for name, filled in columns.items())
                lines.append(f"{word}: {', '.join(listed)}")
        return "\n            ".join(lines)


def _share(filled: int, rows: int) -> str:
    return "" if filled == rows else f" (filled in {filled})"


class _AllColumns:
    """Says of every column that its large cells stay in the file."""

    def __contains__(self, name: object) -> bool:
        return True


def file_facts(plan: Plan) -> Iterator[FileFacts]:
    """The facts of each file of rows that was read; none where the data are published ones."""
    reads = plan.benchmark.understood
    if reads is None:
        return
    for _, path in sorted(plan.files.used.items()):
        if path.suffix.lower() not in READERS:
            continue
        facts = FileFacts(str(path))
        skipped: list[DataError] = []
        for row in read(path, late=_AllColumns(), skipped=skipped):
            facts.rows += 1
            for name, value in row.items():
                columns = facts.understood if reads(name) else facts.ignored
                columns[name] = columns.get(name, 0) + _is_filled(value)
        yield facts


def _is_filled(value: object) -> bool:
    return isinstance(value, Cell) or (value is not None and value not in ("", [], {}))


def slips(facts: FileFacts, benchmark: Benchmark) -> Iterator[str]:
    """Columns that are ignored for their spelling only."""
    reads = benchmark.understood
    for name in facts.ignored:
        for meant in (name.strip().lower(), name.strip().upper(), name.strip()):
            if reads is not None and reads(meant) and meant not in facts.understood:
                yield f"column {shown(name)} of {facts.file} is ignored: did you mean `{meant}`?"
                break


@dataclass(slots=True)
class Inventory:
    """What the samples hold.

    Attributes:
        options: Number of options -> questions with so many.
        places: Where media are -> how many, each counted where it is shown.
        alike: Ids of samples with two options alike.
        single: Ids of samples with one option.
        repeated: Ids of samples that ask exactly the same, two or more each.
        same_ids: Values of the column `id` that occur more than once.
    """

    options: Counter[int] = field(default_factory=Counter)
    places: Counter[str] = field(default_factory=Counter)
    alike: list[str] = field(default_factory=list)
    single: list[str] = field(default_factory=list)
    repeated: list[list[str]] = field(default_factory=list)
    same_ids: list[str] = field(default_factory=list)

    def notes(self) -> Iterator[str]:
        """What is odd and may be meant, a sentence for each kind."""
        if self.alike:
            yield f"options are alike in {of_samples(self.alike)}"
        if self.single:
            yield f"there is one option only in {of_samples(self.single)}"
        if self.repeated:
            first = "; ".join(", ".join(ids[:4]) for ids in self.repeated[:SHOWN_REPETITIONS])
            count = sum(len(ids) - 1 for ids in self.repeated)
            yield f"{count} samples ask word for word what another asks, with its media: {first}"
        if self.same_ids:
            listed = ", ".join(shown(value) for value in self.same_ids[:SHOWN_REPETITIONS])
            yield f"{len(self.same_ids)} values of column `id` occur more than once: {listed}"


def inventory(samples: Iterable[Sample]) -> Inventory:
    """What samples hold; no medium is read."""
    found = Inventory()
    asked: dict[int, list[str]] = {}
    ids = Counter[str]()
    for sample in samples:
        if sample.problem is not None:
            continue
        if sample.choices:
            found.options[len(sample.choices)] += 1
            if len(set(sample.choices)) < len(sample.choices):
                found.alike.append(sample.id)
            if len(sample.choices) == 1:
                found.single.append(sample.id)
        if "id" in sample.metadata:
            ids[str(sample.metadata["id"])] += 1
        for medium in media_of(sample.messages):
            found.places[where_kept(medium)] += 1
        asked.setdefault(hash(repr((sample.subset, sample.messages))), []).append(sample.id)
    found.repeated = [same for same in asked.values() if len(same) > 1]
    found.same_ids = [value for value, times in ids.items() if times > 1]
    return found


def where_kept(medium: Media) -> str:
    """Where a medium is, in a word or two; of a path, the folder it was found from."""
    source = medium.source
    if source is None:
        return "at URLs"
    if isinstance(source, BytesSource | TextSource):
        return "in the rows"
    if isinstance(source, FileSource):
        root = source.root()
        return "missing" if root is None else f"in files from {root}"
    return "in the data set"


# --- one request ---------------------------------------------------------------------------------


def first_request(plan: Plan, attacher: Attacher) -> tuple[str, dict[str, Any]] | None:
    """Id and body of the first request whose media can be sent, media shortened; None if none."""
    for _, sample, _ in plan.selection.items(plan.samples()):
        if sample.problem is not None:
            continue
        try:
            media = [attacher.attach(medium) for medium in media_of(sample.messages)]
        except DataError:
            continue
        short = [
            replace(one, payload=one.payload[:40] + f"... {len(one.payload)} bytes".encode())
            for one in media
        ]
        task: TaskConfig = plan.task
        options = request_options(task.generation_config, stream=bool(task.stream))
        body = build_request(task.model or "", sample.messages, short, options).body
        return sample.id, json.loads(b"".join(body))
    return None


def request_lines(body: Mapping[str, Any]) -> Iterator[str]:
    """A request body in lines a person reads: turns and their parts, then the options."""
    for message in body["messages"]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for number, part in enumerate(parts):
            role = f"{message['role']}:" if number == 0 else ""
            yield f"{role:<11}{_part_line(part)}"
    options = {key: value for key, value in body.items() if key not in ("model", "messages")}
    if options:
        yield f"{'options:':<11}{json.dumps(options, ensure_ascii=False)}"


def _part_line(part: Mapping[str, Any]) -> str:
    kind = str(part["type"])
    if kind == "text":
        text = str(part["text"])
        if len(text) <= SHOWN_TEXT:
            return shown(text)
        return f"{shown(text[: SHOWN_TEXT // 2])} ... {shown(text[-SHOWN_TEXT // 2 :])}"
    held = part[kind]
    payload = held.get("url") or held.get("data") or ""
    more = [f"{key} {held[key]}" for key in ("detail", "format") if key in held]
    return ", ".join([f"{kind} {payload}", *more])


def of_samples(ids: Sequence[str]) -> str:
    """Samples by their ids, the first of many."""
    many = "" if len(ids) == 1 else "s"
    return f"sample{many} {', '.join(ids[:3])}{f' and {len(ids) - 3} more' if len(ids) > 3 else ''}"


__all__ = [
    "FileFacts",
    "Inventory",
    "file_facts",
    "first_request",
    "inventory",
    "of_samples",
    "request_lines",
    "slips",
]
