"""The first requests of a run as they would go out, media shortened; nothing is sent.

`--dry-run` and `check` show them, with an endpoint or without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from mmscore.error_text import shown
from mmscore.errors import DataError
from mmscore.model.attachments import MediaEncoder
from mmscore.model.endpoint import body_options
from mmscore.model.request import build_request, media_of
from mmscore.plan.plan import Plan
from mmscore.types import Sample

SHOWN_TEXT = 120
"""Of a longer text, both ends are shown."""

SHOWN_PAYLOAD = 48
"""Bytes of a medium's payload that are shown."""


def first_requests(plan: Plan, media: MediaEncoder) -> Iterator[tuple[Sample, dict[str, Any]]]:
    """Yield of each subset the first sample whose media can be sent, and its request's body."""
    options = body_options(plan.task)
    left = {subset for subset, count in plan.planned.items() if count}
    for sample in plan.samples():
        if not left:
            return
        if sample.subset not in left or sample.problem is not None:
            continue
        try:
            attachments = [media.attach(medium) for medium in media_of(sample.messages)]
        except DataError:
            continue
        left.discard(sample.subset)
        short = [
            replace(
                one,
                payload=one.payload[:SHOWN_PAYLOAD] + f"...({len(one.payload)} bytes)".encode(),
            )
            for one in attachments
        ]
        body = build_request(plan.task.model or "", sample.messages, short, options).body
        yield sample, json.loads(b"".join(body))


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
