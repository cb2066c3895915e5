"""The pre-flight: all that would spoil a run, found before any money is spent.

Every medium of the run is read and decoded whole (a run itself only looks at the structure of what
it sends), and one question is asked where an endpoint is given.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from mmscore.config.price import price_of
from mmscore.config.task import TaskConfig
from mmscore.dataset.media.paths import LOOK_THERE
from mmscore.error_text import printable, shown
from mmscore.errors import DataError, EndpointError, Exit
from mmscore.model.attachments import MediaEncoder
from mmscore.model.client import Client
from mmscore.model.endpoint import media_encoder, requests_of, service
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
from mmscore.plan.media_check import check_media
from mmscore.plan.plan import Plan, look, unseen_media
from mmscore.plan.survey import Survey
from mmscore.scoring.judge.ask import judge_of, probe, prompt_of
from mmscore.store.run_folder import load
from mmscore.types import SCORED, Reply, Sample, Usage

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
        judge: What the judges' probes came to; None where no judge is asked.
        requests: Requests that a run would still send; replies that stand are not asked again.
        tokens: Prompt and completion tokens that it would take, as the test request's usage tells
            them; None where no usage is known.
        cost: What they would cost; None without a price.
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
    judge: str | None = None
    requests: int = 0
    tokens: tuple[int, int] | None = None
    cost: float | None = None
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
        if self.judge is not None:
            yield f"  judge     {self.judge}"
        yield f"  a run     {self._size()}"
        yield from (f"  note: {note}" for note in self.notes)
        yield from (f"  problem: {problem}" for problem in self.problems)
        count = len(self.problems)
        yield f"{count} problem{'s' * (count > 1)}" if count else "a run would start clean"

    def _size(self) -> str:
        text = f"{self.requests:,} requests"
        if self.tokens is not None:
            text += f", about {self.tokens[0]:,} tokens in and {self.tokens[1]:,} out"
        return text if self.cost is None else f"{text}, cost about {self.cost:,.4g}"


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
    found.requests = sum(plan.planned.values()) - _standing(plan)
    _data_problems(found, plan.survey)
    told = unseen_media(plan)
    if told is not None:
        found.problems += [*_shortened(plan.survey.media_faults), told]
    _contents(found, plan)
    media = media_encoder(task, events.notice, data_host=plan.files.host)
    with closing(plan.files):
        plan.files.expect(plan.sources())
        _media(found, plan, media)
        first = next(first_requests(plan, media), None)
        found.request = (first[0].id, first[1]) if first else None
        if _endpoint_given(task):
            _ask_one(found, plan, media)
    _judges(found, plan)
    return found


def _data_problems(found: Findings, survey: Survey) -> None:
    if not survey.lengths:
        found.problems.append(f"0 samples in {found.source}")
    if survey.duplicates:
        found.problems.append(
            f"{len(survey.duplicates)} sample ids occur twice: {_listed(survey.duplicates)}"
        )
    found.problems += survey.problems
    missing = []
    for place, ids in survey.missing.items():
        fault = survey.faults.get(place)
        sentence = f"{printable(place)} is missing"
        if fault is not None and fault.hint != LOOK_THERE:
            sentence = f"{fault.message} ({fault.hint})" if fault.hint else fault.message
        elif fault is not None:
            missing.append(fault.message)
        found.problems.append(f"{sentence}; shown by {of_samples(ids)}")
    if missing:
        found.problems.append(f"of the missing media, the first: {missing[0]}")
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


def _media(found: Findings, plan: Plan, media: MediaEncoder) -> None:
    """Every medium, decoded whole."""
    seen = check_media(plan, media)
    found.media, found.media_bytes = seen.types, seen.bytes
    found.smallest, found.largest = seen.smallest, seen.largest
    found.problems += seen.problems
    found.notes += seen.notes


def _endpoint_given(task: TaskConfig) -> bool:
    variables = ("MMSCORE_API_URL", "OPENAI_BASE_URL")
    given = task.api_url or any(os.environ.get(name) for name in variables)
    return bool(given and task.model)


def _ask_one(found: Findings, plan: Plan, media: MediaEncoder) -> None:
    """Send the first question whose media can be sent."""
    with closing(Client(service(plan.task))) as client:
        requests = requests_of(plan.task, media)
        for sample in plan.samples():
            try:
                request, _ = requests.make(sample.messages)
            except DataError:
                continue  # told already
            _test(found, plan, client, sample, request.body)
            return
    found.endpoint = "not asked: no question can be sent"


def _standing(plan: Plan) -> int:
    """Replies of the run to go on with that need not be asked for again."""
    if plan.task.resume is None:
        return 0
    return sum(not line.failed for line in load(Path(plan.task.resume)).lines)


def _estimate(found: Findings, plan: Plan, usage: Usage) -> None:
    """What all requests would take if each were like the test request."""
    if usage.prompt_tokens is None and usage.completion_tokens is None:
        return
    each = usage.prompt_tokens or 0, usage.completion_tokens or 0
    found.tokens = each[0] * found.requests, each[1] * found.requests
    price = price_of(plan.task.price, plan.task.model)
    found.cost = None if price is None else price.of(*found.tokens)


def _judges(found: Findings, plan: Plan) -> None:
    """Probe the run's judges."""
    if not plan.judge.asks:
        return
    prompt = prompt_of(plan.judge)
    said = []
    for model in plan.judge.models:
        judge = judge_of(model, ask=True)
        try:
            odd = probe(judge, prompt)
        except EndpointError as error:
            found.endpoint_failed = True
            found.problems.append(error.message)
            said.append(f"{judge.id}: failed")
        else:
            said.append(odd or f"{judge.id}: gives verdicts")
        finally:
            if judge.client is not None:
                judge.client.close()
    found.judge = f"{plan.judge.strategy}; {'; '.join(said)}"


def _test(
    found: Findings, plan: Plan, client: Client, sample: Sample, body: Sequence[bytes]
) -> None:
    try:
        reply = client.ask(body)
    except EndpointError as error:
        reply = Reply("error", error=error.message, hint=error.hint)
    _estimate(found, plan, reply.usage)
    place = f"{client.place}, model {client.service.model}"
    if reply.status not in SCORED:
        found.endpoint = f"{place}: failed"
        found.endpoint_failed = True
        hint = f"; {reply.hint}" if reply.hint else ""
        found.problems.append(f"the endpoint {client.place} cannot be used: {reply.error}{hint}")
        return
    read = plan.benchmark.parse(plan.filter(reply.text), sample).value
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
