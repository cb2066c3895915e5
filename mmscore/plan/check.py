"""The pre-flight: all that would spoil a run, found before any money is spent.

Every medium of the run is read and decoded whole (a run itself only looks at the structure of what
it sends), and one question is asked where an endpoint is given.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from mmscore.benchmarks.base import Benchmark
from mmscore.config.task import TaskConfig
from mmscore.dataset.media.image import CheckedImage, base64_length, check_image
from mmscore.dataset.zip_archive import ArchiveMember
from mmscore.error_text import shown
from mmscore.errors import DataError, Exit
from mmscore.model.attachments import Attacher
from mmscore.model.client import Client
from mmscore.model.endpoint import attacher, body_options, service
from mmscore.model.request import build_request, media_of
from mmscore.plan.benchmark_options import chosen
from mmscore.plan.events import SILENT, Events
from mmscore.plan.first_request import first_requests, request_lines
from mmscore.plan.inventory import (
    FileFacts,
    RowCounter,
    inventory,
    of_samples,
    slips,
)
from mmscore.plan.plan import Plan, look
from mmscore.plan.survey import Survey
from mmscore.types import SCORED, Media, Sample

SMALL_SIDE = 28
"""Below this many pixels a side, some servers refuse an image or fail on it."""

LARGE_BASE64 = 10_000_000
"""Above this many characters, some endpoints refuse an image."""

SENT_AS_THEY_ARE = frozenset({"image/jpeg", "image/png", "image/apng"})

_SHOWN = 10


@dataclass(slots=True)
class Findings:
    """What a check found.

    Attributes:
        benchmark: The benchmark's name.
        source: Where the data are.
        counts: Subset -> samples the run would ask.
        files: What the user's own files hold; empty for published data.
        options: Number of options -> questions with so many.
        places: Where media are -> how many are shown from there.
        media: Distinct media by type.
        media_bytes: The bytes of all of them.
        smallest: Size and name of the image with the shortest side.
        largest: Size and name of the image with most pixels.
        request: Id and body of the first request, media shortened.
        endpoint: What the test request came to; None where no endpoint was given.
        endpoint_failed: Whether it failed.
        problems: What keeps a run from starting clean.
        notes: What is odd and may be meant.
    """

    benchmark: str
    source: str
    counts: Mapping[str, int]
    files: list[FileFacts] = field(default_factory=list)
    options: Mapping[int, int] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)
    media: Counter[str] = field(default_factory=Counter)
    media_bytes: int = 0
    smallest: tuple[int, int, str] | None = None
    largest: tuple[int, int, str] | None = None
    request: tuple[str, dict[str, Any]] | None = None
    endpoint: str | None = None
    endpoint_failed: bool = False
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> Exit:
        """0 only if a run would start clean."""
        if self.endpoint_failed:
            return Exit.ENDPOINT
        return Exit.DATA if self.problems else Exit.COMPLETE

    def facts(self) -> dict[str, Any]:
        """The same as JSON values."""
        values = {name: getattr(self, name) for name in self.__slots__}
        counted = {name: dict(values[name]) for name in ("counts", "media", "options", "places")}
        files = [asdict(facts) for facts in self.files]
        return {**values, **counted, "files": files, "clean": self.exit_code == Exit.COMPLETE}

    def __str__(self) -> str:
        """Return it as text."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{self.benchmark} in {self.source}"
        subsets = ", ".join(f"{name} {count}" for name, count in self.counts.items())
        yield f"  samples   {sum(self.counts.values())} ({subsets})"
        for facts in self.files:
            yield f"  file      {facts}"
        if self.options:
            counts = sorted(self.options.items())
            yield "  options   " + ", ".join(f"{number} in {count}" for number, count in counts)
        types = ", ".join(f"{count} {mime}" for mime, count in self.media.most_common())
        if types:
            yield f"  media     {types}; {self.media_bytes / 1e6:.1f} MB"
        if self.places:
            yield "  found     " + ", ".join(f"{n} {place}" for place, n in self.places.items())
        if self.smallest and self.largest:
            (w, h, small), (wide, high, large) = self.smallest, self.largest
            if small == large:
                yield f"  images    {w}x{h} ({small})"
            else:
                yield f"  images    from {w}x{h} ({small}) to {wide}x{high} ({large})"
        if self.request is not None:
            name, body = self.request
            lines = "\n            ".join(request_lines(body))
            yield f"  request   {name}\n            {lines}"
        yield f"  endpoint  {self.endpoint or 'not asked: give --api-url and --model'}"
        yield from (f"  note: {note}" for note in self.notes)
        yield from (f"  problem: {problem}" for problem in self.problems)
        count = len(self.problems)
        yield f"{count} problem{'s' * (count > 1)}" if count else "a run would start clean"


def check(task: TaskConfig, name: str, events: Events = SILENT) -> Findings:
    """Look for all that would spoil a run of a benchmark.

    Args:
        task: The task as `run` would get it; without an endpoint nothing is asked.
        name: The benchmark.
        events: Who wants to hear of downloads.

    Raises:
        ConfigError: The benchmark, a subset or an option is unknown.
        DataError: The data cannot be read at all.
        HubError: They cannot be fetched.
    """
    rows = RowCounter(chosen(name, task.dataset_args)[0])
    plan = look(task, name, events, on_row=rows.take)
    found = Findings(name, plan.files.name, plan.planned, rows.files)
    _data_problems(found, plan.survey)
    _contents(found, plan)
    media = attacher(task, events.notice)
    with closing(plan.files):
        plan.files.expect(plan.sources())
        _decode_all(found, plan, media)
        first = next(first_requests(plan, media), None)
        found.request = (first[0].id, first[1]) if first else None
        if _endpoint_given(task):
            _ask_one(found, plan, media)
    return found


def _data_problems(found: Findings, survey: Survey) -> None:
    if not survey.lengths:
        found.problems.append(f"0 samples in {found.source}")
    if survey.duplicates:
        found.problems.append(
            f"{len(survey.duplicates)} sample ids occur twice: {_listed(survey.duplicates)}"
        )
    found.problems += survey.problems
    for place, ids in survey.missing.items():
        found.problems.append(f"{place} is missing; shown by {of_samples(ids)}")
    if survey.missing and survey.tried:
        found.problems.append(f"of the missing media, the first: {survey.tried}")
    found.notes += _shortened(survey.warnings)


def _contents(found: Findings, plan: Plan) -> None:
    """What the files and their questions hold."""
    for facts in found.files:
        found.notes += slips(facts, plan.benchmark)
    held = inventory(plan.samples())
    found.options = held.options
    if found.files:
        found.places = held.places
    found.notes += held.notes()


@dataclass(slots=True)
class _Oddities:
    """Images that are sent all the same, and may not be what an endpoint takes."""

    small: list[str] = field(default_factory=list)
    heavy: list[str] = field(default_factory=list)
    encoded: Counter[str] = field(default_factory=Counter)

    def add(self, image: CheckedImage, length: int, name: str) -> None:
        """Take an image in."""
        if min(image.width, image.height) < SMALL_SIDE:
            self.small.append(f"{name} ({image.width}x{image.height})")
        if base64_length(length) > LARGE_BASE64:
            self.heavy.append(name)
        if image.mime not in SENT_AS_THEY_ARE:
            self.encoded[image.mime] += 1

    def notes(self) -> Iterator[str]:
        """A sentence for each kind."""
        if self.small:
            yield (
                f"{len(self.small)} images have a side under {SMALL_SIDE} pixels, which some "
                f"servers refuse (--min-side {SMALL_SIDE} enlarges them): {_listed(self.small)}"
            )
        if self.heavy:
            yield (
                f"{len(self.heavy)} images are longer than {LARGE_BASE64 // 10**6} MB in base64, "
                f"which some endpoints refuse (--max-image-bytes shrinks them): "
                f"{_listed(self.heavy)}"
            )
        for mime, count in self.encoded.most_common():
            yield f"{count} images are {mime} and are sent as JPEG or PNG"


def _decode_all(found: Findings, plan: Plan, media: Attacher) -> None:
    shows: dict[Media, list[str]] = {}
    left_to_endpoint = 0
    for sample in plan.samples():
        for medium in media_of(sample.messages):
            if medium.source is None and medium.kind != "audio" and not plan.task.inline_urls:
                left_to_endpoint += 1
            elif medium.source is None or medium.source.name not in plan.survey.missing:
                shows.setdefault(medium, []).append(sample.id)
    if left_to_endpoint:
        found.notes.append(
            f"{left_to_endpoint} media are at URLs, which the endpoint must fetch itself "
            "(--inline-urls sends their bytes)"
        )
    oddities = _Oddities()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for medium, seen in zip(shows, pool.map(partial(_decode, media), shows), strict=True):
            name = _short(medium)
            if isinstance(seen, str):
                found.problems.append(f"{seen}; shown by {of_samples(shows[medium])}")
                continue
            length, image = seen
            found.media_bytes += length
            found.media[image.mime if image else medium.kind] += 1
            if image is not None:
                _note_size(found, image, name)
                oddities.add(image, length, name)
                found.notes += [f"{name}: {note}" for note in image.notes]
    found.notes += oddities.notes()


def _short(medium: Media) -> str:
    """A medium in a list of many: without the archive, which is the same for all."""
    source = medium.source
    if isinstance(source, ArchiveMember):
        return source.member
    return source.name if source is not None else medium.url or ""


def _decode(media: Attacher, medium: Media) -> tuple[int, CheckedImage | None] | str:
    """Length and facts of a medium, or the sentence that says what is wrong with it."""
    try:
        if medium.source is None:
            return media.attach(medium).sent.bytes or 0, None
        data = medium.source.read()
        if medium.kind == "image":
            return len(data), check_image(data, name=medium.source.name)
    except DataError as error:
        return error.message
    return (len(data), None) if data else f"`{medium.source.name}` is empty"


def _note_size(found: Findings, image: CheckedImage, name: str) -> None:
    size = (image.width, image.height, name)
    if found.smallest is None or min(size[:2]) < min(found.smallest[:2]):
        found.smallest = size
    if found.largest is None or size[0] * size[1] > found.largest[0] * found.largest[1]:
        found.largest = size


def _endpoint_given(task: TaskConfig) -> bool:
    variables = ("MMSCORE_API_URL", "OPENAI_BASE_URL")
    given = task.api_url or any(os.environ.get(name) for name in variables)
    return bool(given and task.model)


def _ask_one(found: Findings, plan: Plan, attacher: Attacher) -> None:
    """Send the first question whose media can be sent."""
    with closing(Client(service(plan.task))) as client:
        for sample in plan.samples():
            try:
                media = [attacher.attach(medium) for medium in media_of(sample.messages)]
            except DataError:
                continue  # told already
            options = body_options(plan.task)
            body = build_request(plan.task.model or "", sample.messages, media, options).body
            _judge(found, plan.benchmark, client, sample, body)
            return
    found.endpoint = "not asked: no question can be sent"


def _judge(
    found: Findings, benchmark: Benchmark, client: Client, sample: Sample, body: Sequence[bytes]
) -> None:
    reply = client.ask(body)
    place = f"{client.place}, model {client.service.model}"
    if reply.status not in SCORED:
        found.endpoint = f"{place}: failed"
        found.endpoint_failed = True
        found.problems.append(f"the endpoint {client.place} cannot be used: {reply.error}")
        return
    read = benchmark.parse(reply.text, sample).value
    answer = "nothing" if read is None else shown(read)
    found.endpoint = (
        f"{place}: {reply.status} in {reply.seconds:.2f} s, replied {shown(reply.text)}, "
        f"read as {answer}"
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _shortened(sentences: list[str]) -> list[str]:
    more = len(sentences) - _SHOWN
    return [*sentences[:_SHOWN], *([f"and {more} more of the kind"] if more > 0 else [])]
