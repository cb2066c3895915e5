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
from mmscore.model.endpoint import requests_of
from mmscore.plan.plan import Plan
from mmscore.types import Sample

SHOWN_TEXT = 120
"""Of a longer text, both ends are shown."""

SHOWN_PAYLOAD = 48
"""Bytes of a medium's payload that are shown."""


def first_requests(plan: Plan, media: MediaEncoder) -> Iterator[tuple[Sample, dict[str, Any]]]:
    """Yield of each subset the first sample whose media can be sent, and its request's body."""
    requests = requests_of(plan.task, media)
    left = {subset for subset, count in plan.planned.items() if count}
    for sample in plan.samples():
        if not left:
            return
        if sample.subset not in left or sample.problem is not None:
            continue
        try:
            _, attachments = requests.make(sample.messages)
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
        body = requests.with_media(sample.messages, short).body
        yield sample, json.loads(b"".join(body))


def request_lines(body: Mapping[str, Any]) -> Iterator[str]:
    """A request body in lines a person reads: turns and their parts, then the options."""
    turns = body.get("messages") or body.get("input") or ()
    system = body.get("system")
    for message in [*([{"role": "system", "content": system}] if system else []), *turns]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for number, part in enumerate(parts):
            role = f"{message['role']}:" if number == 0 else ""
            yield f"{role:<11}{_part_line(part)}"
    shown_above = ("model", "messages", "input", "system")
    options = {key: value for key, value in body.items() if key not in shown_above}
    if options:
        yield f"{'options:':<11}{json.dumps(options, ensure_ascii=False)}"


def _part_line(part: Mapping[str, Any]) -> str:
    kind = str(part["type"])
    if "text" in part:
        text = str(part["text"])
        if len(text) <= SHOWN_TEXT:
            return shown(text)
        return f"{shown(text[: SHOWN_TEXT // 2])} ... {shown(text[-SHOWN_TEXT // 2 :])}"
    # Providers name what holds a medium by its kind, or `source`, or leave the holder out.
    held = part.get(kind) or part.get("source") or part
    payload = held.get("url") or held.get("data") or held.get("image_url") or ""
    more = [f"{key} {held[key]}" for key in ("detail", "format") if key in held]
    return ", ".join([f"{kind} {payload}", *more])
