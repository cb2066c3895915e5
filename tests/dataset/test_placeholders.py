"""Placeholders, media columns and messages, against what the reference answered."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mmscore.benchmarks import general_vmcq, general_vqa
from mmscore.benchmarks.own_data import Draft
from mmscore.dataset.media.paths import FileSource, Roots
from mmscore.dataset.media.sources import BytesSource, TextSource, mime_of
from mmscore.errors import DataError
from mmscore.model.request import Attachment, build_request, media_of
from mmscore.store.records import SentMedium
from mmscore.types import Media, Message, Text

ROOTS = Roots.of(Path("set.jsonl"))
DRAFTS: Mapping[str, Callable[[Mapping[str, Any], Roots], Draft]] = {
    "general_vqa": general_vqa.draft,
    "general_vmcq": general_vmcq.draft,
}


def place(media: Media) -> str:
    """Where a medium is, as the reference's messages say it."""
    source = media.source
    if isinstance(source, FileSource):
        return source.given
    if isinstance(source, TextSource):
        return source.text()
    if isinstance(source, BytesSource):
        data = source.read()
        mime = mime_of(data) or "image/png"
        return f"data:{mime};base64,{base64.b64encode(data).decode()}"
    assert media.url is not None
    return media.url


def as_reference(part: Text | Media) -> dict[str, Any]:
    """A part as the reference's messages spell it."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    found: dict[str, Any] = {"type": part.kind, part.kind: place(part)}
    if part.kind == "image":
        return {**found, "detail": part.detail}
    found["format"] = part.format
    return found if part.fps is None else {**found, "fps": part.fps}


def expected_part(part: dict[str, Any]) -> dict[str, Any]:
    """A part of the reference's without what never leaves its process."""
    return {key: value for key, value in part.items() if key not in ("start", "end", "refusal")}


def check_message(message: Message, expected: dict[str, Any]) -> None:
    assert message.role == expected["role"]
    content = expected["content"]
    if expected["role"] == "assistant" and isinstance(content, list):
        # What the reference keeps as parts until it sends them, we keep as it is sent.
        texts = [part["text"] for part in content if part["type"] == "text"]
        thoughts = [part["reasoning"] for part in content if part["type"] == "reasoning"]
        assert message.content == "".join(f"\n{text}" for text in texts)
        assert message.extra.get("reasoning_content") == (thoughts[-1] if thoughts else None)
    elif isinstance(content, str):
        assert message.content == content
    else:
        assert not isinstance(message.content, str)
        parts = [as_reference(part) for part in message.content]
        assert parts == [expected_part(part) for part in content]


def attach(media: Media) -> Attachment:
    """A medium as the endpoint gets it."""
    url = place(media)
    if media.kind == "audio":
        url = url.partition(",")[2]
    return Attachment(json.dumps(url)[1:-1].encode(), "", SentMedium(url, ""))


def check(case: dict[str, Any]) -> None:
    draft, record = DRAFTS[case["in"]["task"]], case["in"]["record"]
    out = case["out"]
    if "raises" in out or "raises" in case.get("wire", {}):
        try:
            drafted = draft(record, ROOTS)
        except DataError as error:
            sentence = error.message
        else:
            raise AssertionError(f"was read as {drafted}")
        assert sentence
        assert sentence.isprintable()
        assert len(sentence) < 600
        return
    drafted = draft(record, ROOTS)
    assert len(drafted.messages) == len(out["messages"])
    for message, expected in zip(drafted.messages, out["messages"], strict=True):
        check_message(message, expected)
    assert list(drafted.choices) == (out["choices"] or [])
    target = out["target"]
    answers = [target] if isinstance(target, str) else target
    lines = dict.fromkeys(answer.strip() for answer in answers if answer.strip())
    assert (drafted.target or "") == "\n".join(lines)
    warned = [line for line in case.get("log", []) if "dropping the placeholder" in line]
    assert len([line for line in drafted.warnings if "no medium for" in line]) == len(warned)
    if "wire" in case:
        media = [attach(medium) for medium in media_of(drafted.messages)]
        sent = json.loads(b"".join(build_request("m", drafted.messages, media, {}).body))
        assert sent["messages"] == case["wire"]


def test_every_golden_record(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    """All lines: messages, target, choices, what is refused, and the body where it is given."""
    rows = golden("media")
    assert len(rows) > 700
    failed = []
    for number, case in enumerate(rows, 1):
        try:
            check(case)
        except (Exception, AssertionError) as error:
            failed.append(f"line {number} ({case['cat']}): {type(error).__name__} {error}")
    assert not failed, f"{len(failed)} of {len(rows)}:\n" + "\n".join(failed[:10])
