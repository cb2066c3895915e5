"""Small sets of a user's own open questions, written and loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmscore.benchmarks.base import Options
from mmscore.benchmarks.general_vqa import samples
from mmscore.dataset.hub.hub_files import locate
from mmscore.model.request import media_of
from mmscore.types import Media, Sample


def load(data: Path, **options: Any) -> list[Sample]:
    extra = options.pop("extra", {})
    return list(samples(locate(str(data), "general_vqa"), Options(extra=extra, **options)))


def write(folder: Path, *records: Mapping[str, Any], name: str = "set.jsonl") -> Path:
    file = folder / name
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def asking(text: str, **columns: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}], "answer": "x", **columns}


def only(data: Path, **options: Any) -> Sample:
    (sample,) = load(data, **options)
    return sample


def image_of(sample: Sample) -> Media:
    (medium,) = media_of(sample.messages)
    return medium
