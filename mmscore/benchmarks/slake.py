"""SLAKE: short answers to questions about radiology images, in English and Chinese.

"SLAKE: A Semantically-Labeled Knowledge-Enhanced Dataset for Medical Visual Question
Answering", ISBI 2021 (arXiv 2102.09542), CC BY 4.0. The test split has 2,094 questions on 180
images; each counts for one of four subsets, language by answer type.

Policy, as EvalScope 1.14.1 has it: the answer is read from the last `ANSWER:` line, else the whole
reply counts; it is right if its canonical form equals the reference's. Exact match is strict on
purpose (`T2` is not `T2-weighted`), so open questions score low by design.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmscore.benchmarks.base import Benchmark, Dataset, Files, Options
from mmscore.dataset.rows import Row, read, require_columns
from mmscore.dataset.zip_archive import Archive, ArchiveMember
from mmscore.errors import DataError
from mmscore.model.prompts import fill
from mmscore.scoring.answers import normalize_answer, read_answer_line
from mmscore.types import Extracted, Media, Message, Sample, Text

QUESTIONS = "test.json"
IMAGES = "imgs.zip"
IMAGE_FOLDER = "imgs"

PROMPTS = {
    "en": """{question}
Answer the question with a single word or phrase in English.
The last line of your response must be of the form "ANSWER: <answer>" (without quotes).""",
    "zh": """{question}
请用一个中文词语或短语回答问题。
回答的最后一行必须是 "ANSWER: <答案>" 的形式（不含引号）。""",
}

SUBSETS = {"en_open": "en", "en_closed": "en", "zh_open": "zh", "zh_closed": "zh"}

NEEDED = ("qid", "img_name", "question", "answer", "q_lang", "answer_type")
FACTS = ("qid", "img_name", "answer_type", "content_type", "modality", "base_type", "location")


def samples(files: Files, options: Options) -> Iterator[Sample]:
    """Yield the test questions in file order.

    Raises:
        DataError: A record lacks a field, or its language or answer type is unknown.
    """
    images = files.archive(IMAGES)
    for record in read(files.path(QUESTIONS)):
        require_columns(NEEDED, record, record.place)
        subset = _subset(record)
        if options.subsets and subset not in options.subsets:
            continue
        template = options.prompt_template or PROMPTS[str(record["q_lang"])]
        image = ArchiveMember(images, _member(images, record.text("img_name")))
        question = fill(template, question=record.text("question").strip())
        yield Sample(
            id=str(record["qid"]),
            subset=subset,
            messages=(Message("user", (Media("image", image), Text(question))),),
            target=record.text("answer").strip(),
            metadata={name: record[name] for name in FACTS if name in record},
        )


def _member(images: Archive, image: str) -> str:
    """The image's name in the published archive, else its own, which any prefix may precede."""
    published = f"{IMAGE_FOLDER}/{image}"
    return published if images.has(published) else image


def _subset(record: Row) -> str:
    subset = f"{record['q_lang']}_{str(record['answer_type']).lower()}"
    if subset not in SUBSETS:
        raise DataError(
            f"{record.place} has the language `{record['q_lang']}` and the answer type "
            f"`{record['answer_type']}`, expected en or zh and OPEN or CLOSED"
        )
    return subset


def parse(reply: str, sample: Sample) -> Extracted:
    """The answer line; without one the whole reply counts."""
    return read_answer_line(reply)


def score(answer: str | None, sample: Sample) -> Mapping[str, float]:
    """Accuracy: 1.0 where the canonical forms are equal."""
    if sample.target is None:
        return {}
    return {"accuracy": float(normalize_answer(answer) == normalize_answer(sample.target))}


BENCHMARK = Benchmark(
    name="slake",
    title="SLAKE",
    about="short answers about CT, MRI and X-ray images, English and Chinese",
    paper="https://arxiv.org/abs/2102.09542",
    dataset=Dataset("evalscope/SLAKE", "BoKelvin/SLAKE", (QUESTIONS, IMAGES)),
    subsets=SUBSETS,
    metrics=("accuracy",),
    groups=("content_type", "modality"),
    prompt=PROMPTS,
    scorer="slake-normalized-match/1",
    samples=samples,
    parse=parse,
    score=score,
)
