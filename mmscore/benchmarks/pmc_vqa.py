"""PMC-VQA: multiple-choice questions about figures of biomedical papers.

"PMC-VQA: Visual Instruction Tuning for Medical Visual Question Answering"
(arXiv 2305.10415). The split `test_clean`, checked by people, has 2,000 questions with four
options each on 1,440 figures. They lie in an archive of 18 GB; of a remote one only the figures
that are asked about are fetched. The figures' licences are those of their papers (PubMed Central,
open access subset).

Policy, as EvalScope 1.14.1 has it: the letter is read from the last `ANSWER:` marker, else the
last capital letter counts; a target is compared whatever its case. The paper instead matches free
text with the nearest option.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mmscore.benchmarks.base import Benchmark, Dataset, Files, Options
from mmscore.dataset.rows import Row, read, require_columns
from mmscore.dataset.zip_archive import ArchiveMember
from mmscore.errors import DataError
from mmscore.model.prompts import CHOICE_TEMPLATES, SINGLE_ANSWER, choice_labels, choice_prompt
from mmscore.scoring.answers import clean_option, match_choice, read_choice
from mmscore.types import Extracted, Media, Message, Sample, Text

QUESTIONS = "test_clean.csv"
IMAGES = "images.zip"
IMAGE_FOLDER = "images"

LETTERS = tuple(choice_labels(4))
CHOICES = tuple(f"Choice {letter}" for letter in LETTERS)
NEEDED = ("Figure_path", "Question", *CHOICES, "Answer_label")
SUBSET = "default"


def samples(files: Files, options: Options) -> Iterator[Sample]:
    """Yield the questions in file order; an id is the row's number from 0, as in the reference.

    Raises:
        DataError: The table or the archive is missing or damaged, or a column is missing.
    """
    images = files.archive(IMAGES)
    template = options.prompt_template or SINGLE_ANSWER
    template = CHOICE_TEMPLATES.get(template, template)
    for number, record in enumerate(read(files.path(QUESTIONS))):
        if number == 0:
            require_columns(NEEDED, record, f"`{record.path}`")
        figure = record.text("Figure_path").strip()
        if not figure:
            raise DataError(f"{record.place} names no figure in `Figure_path`")
        choices = tuple(
            clean_option(record.text(column), letter)
            for column, letter in zip(CHOICES, LETTERS, strict=True)
        )
        image = ArchiveMember(images, f"{IMAGE_FOLDER}/{figure}")
        question = choice_prompt(template, record.text("Question").strip(), choices)
        target = record.text("Answer_label").strip()
        yield Sample(
            id=str(number),
            subset=SUBSET,
            messages=(Message("user", (Media("image", image), Text(question))),),
            target=target,
            choices=choices,
            metadata={"figure_path": figure},
            warnings=tuple(_oddities(record, target, choices)),
        )


def _oddities(record: Row, target: str, choices: tuple[str, ...]) -> Iterator[str]:
    if target.upper() not in LETTERS:
        yield f"{record.place} has the answer `{target}`, which is none of {', '.join(LETTERS)}"
    for letter, choice in zip(LETTERS, choices, strict=True):
        if not choice:
            yield f"{record.place} has no text for the option {letter}"


def parse(reply: str, sample: Sample) -> Extracted:
    """The chosen letter."""
    return read_choice(reply, len(sample.choices) or len(LETTERS))


def score(answer: str | None, sample: Sample) -> Mapping[str, float]:
    """Accuracy: 1.0 for the right letter; nothing where the target is empty."""
    right = match_choice(answer or "", sample.target or "")
    return {} if right is None else {"accuracy": float(right)}


BENCHMARK = Benchmark(
    name="pmc_vqa",
    title="PMC-VQA",
    about="multiple-choice questions about figures of biomedical papers",
    paper="https://arxiv.org/abs/2305.10415",
    dataset=Dataset("evalscope/PMC-VQA", "RadGenome/PMC-VQA", (QUESTIONS, IMAGES)),
    subsets={SUBSET: "default"},
    metrics=("accuracy",),
    groups=(),
    prompt={"en": SINGLE_ANSWER},
    scorer="choice-letter/1",
    samples=samples,
    parse=parse,
    score=score,
)
