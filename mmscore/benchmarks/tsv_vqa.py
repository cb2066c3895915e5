"""VLMEvalKit's custom open-question tables: images and the question, the whole reply is the answer.

VLMEvalKit leaves the score of such a set to its user; its own example asks for exact match, so that
is the default here, after blanks around both are dropped. The option `match` is more tolerant:
`caseless` folds case, `normalized` compares the canonical forms of SLAKE. Each has a metric of its
own name, so a tolerant score is never taken for the exact one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from mmscore.benchmarks.base import Benchmark, Files, Options
from mmscore.benchmarks.own_data import Draft
from mmscore.benchmarks.tsv_rows import GROUPS, cell, parts, tsv_samples, understood, unscored
from mmscore.dataset.rows import Row
from mmscore.error_text import shown
from mmscore.errors import ConfigError
from mmscore.model.prompts import fill
from mmscore.scoring.answers import normalize_answer
from mmscore.types import Extracted, Media, Message, Sample

TEMPLATE = "{question}"

METRICS = {
    "exact": "exact_match",
    "caseless": "caseless_match",
    "normalized": "normalized_match",
}
"""The option `match` -> the metric it gives."""


def samples(files: Files, options: Options) -> Iterator[Sample]:
    """Yield the rows of each table, in file order.

    Raises:
        ConfigError: The option `match` has no such value.
        DataError: A table is missing, damaged, or lacks a column.
    """
    match = options.extra.get("match", "exact")
    if match not in METRICS:
        raise ConfigError(f"`match` is {shown(match)}, expected one of {', '.join(METRICS)}")
    facts = {"match": match} if match != "exact" else {}
    read = partial(draft, template=options.prompt_template or TEMPLATE, facts=facts)
    return tsv_samples(files, options, (), read)


def draft(
    row: Row,
    images: tuple[Media, ...],
    template: str = TEMPLATE,
    facts: Mapping[str, str] = {},
) -> Draft:
    """What a row asks.

    Args:
        row: The row.
        images: What it shows.
        template: The prompt, with `{question}` and `{hint}`.
        facts: What `score` needs to know: `match`.
    """
    target = cell(row, "answer").strip()
    text = fill(template, question=cell(row, "question"), hint=cell(row, "hint"))
    message = Message("user", parts(images, text))
    return Draft((message,), target or None, metadata=facts, warnings=unscored(target))


def parse(reply: str, sample: Sample) -> Extracted:
    """The whole reply, blanks around it dropped."""
    return Extracted(reply.strip(), "reply")


def score(answer: str | None, sample: Sample) -> Mapping[str, float]:
    """1.0 where answer and reference are the same, under the name of how they were compared."""
    if sample.target is None:
        return {}
    match = sample.metadata.get("match", "exact")
    one, other = answer or "", sample.target
    if match == "caseless":
        one, other = one.casefold(), other.casefold()
    elif match == "normalized":
        one, other = normalize_answer(one), normalize_answer(other)
    return {METRICS[match]: float(one == other)}


BENCHMARK = Benchmark(
    name="tsv_vqa",
    title="TSV-VQA",
    about="open-question tables of VLMEvalKit",
    paper="",
    dataset=None,
    subsets={},
    metrics=tuple(METRICS.values()),
    groups=GROUPS,
    prompt={"en": TEMPLATE},
    scorer="match/1",
    extra=("match",),
    samples=samples,
    parse=parse,
    score=score,
    understood=understood,
)
