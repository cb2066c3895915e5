"""A report's page as a browser reads it, without a browser."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mmscore.report import WRITERS, PageImages, build, load
from support.runs import write_run

TEXTS = (
    *("messages", "choices", "target", "reply", "reasoning", "read", "verdicts", "error", "media"),
)


class Page(HTMLParser):
    """The elements of a page and the text of its scripts and styles.

    Attributes:
        tags: Name and attributes of each element, in order.
        texts: The id of an element, or its name without one -> its text.
    """

    def __init__(self, page: str) -> None:
        """Read a page."""
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = [("", {})]
        self.texts: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1]
        name = attributes.get("id") or tag
        self.texts[name] = self.texts.get(name, "") + data

    def data(self, name: str) -> Any:
        """The JSON in the script of that id."""
        return json.loads(self.texts[name])

    def samples(self) -> list[dict[str, Any]]:
        """All that the page holds of each sample, those it lists first first."""
        held = self.data("samples")
        parts = [name for name in self.texts if name.startswith("part-")]
        texts = [text for name in parts for text in self.data(name)]
        samples = []
        for n in range(held["count"]):
            short = {name: _value(column, n) for name, column in held["columns"].items()}
            whole = dict(zip(TEXTS, texts[n], strict=True)) if n < len(texts) else {}
            if whole:
                whole["read"] = short.get("read") if whole["read"] is None else whole["read"]
            samples.append({**short, **whole})
        return samples


def _value(column: Any, n: int) -> Any:
    if isinstance(column, list):
        return column[n]
    codes = column["codes"][n]
    if isinstance(codes, list):
        return [column["values"][code] for code in codes]
    return None if codes < 0 else column["values"][codes]


def page_of(directory: Path, samples: list[dict[str, Any]], **info: Any) -> str:
    """The page of a run with these samples; `images` is what they showed."""
    images = info.pop("images", PageImages())
    run = load(write_run(directory, samples, **info))
    return "".join(WRITERS["html"](build(run), run, images))
