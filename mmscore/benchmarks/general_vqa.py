"""General-VQA: the user's own open questions about images, sounds and clips.

A record has `messages` in OpenAI's chat format, or plain texts with placeholders such as
`<image 1>` and the columns that fill them, and an `answer`, which may be missing.

Policy, as EvalScope 1.14.1 has it: the whole reply is scored, by BLEU-1..4 and ROUGE-1/2/L against
the answer, several answers being one text of a line each. ROUGE-L recall is the primary metric: it
rewards a reply that holds the answer, however long the reply. Beyond it, a reply to a record whose
answer is missing or blank is kept but not scored (there it counts as 0), and a record of a
`question` without `messages` is asked its media, then its question (there, nothing).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mmscore.benchmarks.base import Benchmark, Files, Options
from mmscore.benchmarks.openai_messages import read_messages
from mmscore.benchmarks.own_data import Draft, own_samples
from mmscore.dataset.media.columns import MEDIA_COLUMNS, columns_of, is_media_column
from mmscore.dataset.media.paths import Roots
from mmscore.dataset.media.placeholders import PLACEHOLDER, parts_of, resolve
from mmscore.dataset.rows import Cell, json_with_cells, missing_column
from mmscore.error_text import shown, what
from mmscore.errors import ConfigError, DataError
from mmscore.scoring.metrics import BLEU_KEYS, ROUGE_KEYS, bleu, rouge
from mmscore.scoring.reference_answers import open_target
from mmscore.types import Extracted, Kind, Sample

SPLIT = "test"

IMAGE_COLUMNS = ("image", "image_path")
"""The columns whose image a record without `messages` shows, if it has none in `image_1`."""

LATE = MEDIA_COLUMNS | {"messages", "image"}
"""The columns whose large cells stay in the data file until they are sent."""

PRIMARY = "Rouge-L-R"


def understood(column: str) -> bool:
    """Whether a column of this name means something here."""
    named = column in ("messages", "question", "answer", "id", *IMAGE_COLUMNS)
    return named or is_media_column(column)


def samples(files: Files, options: Options) -> Iterator[Sample]:
    """Yield the records of each subset, in file order.

    Raises:
        ConfigError: A prompt template is given, which these questions have no use for.
        DataError: A file is missing or damaged; with the option `strict`, a record is bad.
    """
    if options.prompt_template is not None:
        raise ConfigError(
            "`general_vqa` asks the messages as they are and has no prompt template",
            hint="put the words into the messages, or use --system",
        )
    return own_samples(files, options, SPLIT, draft, LATE, understood)


def draft(record: Mapping[str, Any], roots: Roots) -> Draft:
    """What a record asks.

    Raises:
        DataError: The record cannot be asked.
    """
    read: tuple[str, ...] = ()
    if "messages" not in record and isinstance(record.get("question"), str):
        record, read = _as_message(record)
    messages = _messages(record)
    doubts: tuple[DataError, ...] = ()
    if "messages" not in record:
        doubts = (missing_column("messages", record, "the record"),)
        messages = []
    elif not isinstance(messages, list) or not messages:
        found = "an empty list" if messages == [] else what(messages)
        doubts = (DataError(f"`messages` is {found}, expected a list of messages"),)
        messages = []
    resolved, faults = _resolved(messages, record, roots)
    target, odd = _target(record.get("answer"))
    messages = read_messages(resolved, roots)
    return Draft(messages, target, (), {}, doubts, tuple(odd), read, faults)


def _target(answer: object) -> tuple[str | None, list[str]]:
    """What replies are compared with, None where there is nothing, and what is odd about it."""
    target = open_target(answer)
    if target is None:
        return None, ["no answer, so the reply is not scored"]
    return target, [] if target else [f"`answer` is {shown(answer)}, which no reply equals"]


def _as_message(record: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A record of a question as one with a message, and which of `IMAGE_COLUMNS` was read.

    Where the question has no placeholder, its media stand before it.
    """
    read: tuple[str, ...] = ()
    image = next((name for name in IMAGE_COLUMNS if record.get(name)), None)
    if image is not None and not record.get("image_1") and not record.get("images"):
        kind = "images" if isinstance(record[image], list) else "image_1"
        record, read = {**record, kind: record[image]}, (image,)
    text = record["question"]
    if PLACEHOLDER.search(text) is None:
        media = columns_of(record)
        marks = [f"<{kind} {number}>" for kind in media for number in sorted(media[kind])]
        text = "".join([*marks, text])
    return {**record, "messages": [{"role": "user", "content": text}]}, read


def _messages(record: Mapping[str, Any]) -> Any:
    """The messages as written, read from JSON text where they are that."""
    messages = record.get("messages")
    if isinstance(messages, list) or not isinstance(messages, str | Cell):
        return messages
    try:
        return json.loads(messages) if isinstance(messages, str) else json_with_cells(messages)
    except json.JSONDecodeError as error:
        raise DataError(
            f"`messages` is not JSON at line {error.lineno} column {error.colno}: {error.msg}",
            hint="in a CSV or TSV file, a cell of JSON is quoted and its quotes are doubled",
        ) from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"`messages` cannot be read as JSON: {error}") from None


def _resolved(
    messages: list[Any], record: Mapping[str, Any], roots: Roots
) -> tuple[list[Any], tuple[str, ...]]:
    """The messages with plain user texts cut at their placeholders, and what will not be seen.

    A text of which nothing would be left keeps its placeholders.
    """
    messages = [_with_text(message) for message in messages]
    places = [at for at, message in enumerate(messages) if _is_plain(message)]
    texts = [messages[at]["content"] for at in places]
    found = resolve(texts, record, every=False, shown_kinds=_kinds_in(messages))
    for at, pieces in zip(places, found.texts, strict=True):
        if len(pieces) > 1:
            parts, _ = parts_of(pieces, found.media, roots)
            if parts:
                messages[at] = {**messages[at], "content": parts}
    return messages, found.faults


PART_KINDS: Mapping[str, Kind] = {
    "image_url": "image",
    "input_audio": "audio",
    "video_url": "video",
}
"""Type of a part of OpenAI's format -> the kind of medium it holds."""


def _kinds_in(messages: list[Any]) -> frozenset[Kind]:
    """The kinds of media that stand in the messages themselves."""
    contents = (message.get("content") for message in messages if isinstance(message, dict))
    parts = (part for content in contents if isinstance(content, list) for part in content)
    types = (str(part.get("type")) for part in parts if isinstance(part, dict))
    return frozenset(PART_KINDS[name] for name in types if name in PART_KINDS)


def _with_text(message: Any) -> Any:
    """A message with its text, where that is long, unlike prose, and was left in the data file."""
    if isinstance(message, dict):
        content = message.get("content")
        if isinstance(content, Cell):
            return {**message, "content": content.read()}
    return message


def _is_plain(message: Any) -> bool:
    """Whether it is a user's plain text; placeholders count nowhere else."""
    if not isinstance(message, dict) or message.get("role") != "user":
        return False
    return isinstance(message.get("content"), str)


def parse(reply: str, sample: Sample) -> Extracted:
    """The whole reply is the answer."""
    return Extracted(reply, "reply")


def score(answer: str | None, sample: Sample) -> Mapping[str, float]:
    """BLEU and ROUGE of the reply against the one answer, in the order of the reference's table."""
    if sample.target is None:
        return {}
    return {**bleu(answer or "", sample.target), **rouge(answer or "", sample.target)}


METRICS = (PRIMARY, *(name for name in ROUGE_KEYS if name != PRIMARY), *BLEU_KEYS)

BENCHMARK = Benchmark(
    name="general_vqa",
    title="General-VQA",
    about="your own open questions about images, sounds and clips",
    paper="",
    dataset=None,
    subsets={},
    metrics=METRICS,
    groups=(),
    prompt={},
    scorer="bleu-rouge/1",
    extra=("strict", "split"),
    samples=samples,
    parse=parse,
    score=score,
    understood=understood,
)
