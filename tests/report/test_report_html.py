"""The page carries hostile text safely, needs nothing from outside and stays small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from support import ROOT
from support.runs import sample, write_run

from mmscore.report import WRITERS, build, load
from mmscore.report.html import TEXT_LIMIT

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<!-- <script>alert(1)</script> -->",
    "{{script}} {{data}} {{title}} {{policy}}",
    "\u2028\u2029 & &lt; \\u003c \\",
    "]]> ' \" ` ${alert(1)}",
]


class Page(HTMLParser):
    """The elements of a page and the text of its scripts, as a browser reads them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = [("", {})]
        self.texts: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1]
        name = attributes.get("type") or tag
        self.texts[name] = self.texts.get(name, "") + data


def page_of(directory: Path, samples: list[dict[str, Any]], **info: Any) -> str:
    thumbnails = info.pop("thumbnails", {})
    run = load(write_run(directory, samples, **info))
    return "".join(WRITERS["html"](build(run), run, thumbnails))


def data_of(page: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Page(page).texts["application/json"])
    return found


def rows_of(page: str) -> list[dict[str, Any]]:
    found = data_of(page)["samples"]
    return [dict(zip(found["fields"], row, strict=True)) for row in found["rows"]]


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    samples = [
        sample(
            i,
            reply=text,
            reasoning=text,
            question=text,
            target=text,
            choices=[text],
            error=text,
            metadata={"modality": text},
            media=[{"place": text, "mime": text, "notes": [text]}],
            _extracted=text,
        )
        for i, text in enumerate(HOSTILE)
    ]
    harmless = Page(page_of(tmp_path / "a", [sample(0)]))
    page = page_of(tmp_path / "b", samples, model=HOSTILE[0], benchmark={"title": HOSTILE[2]})
    hostile = Page(page)
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in harmless.tags]
    assert not [name for _, found in hostile.tags for name in found if name.startswith("on")]
    assert hostile.texts["script"] == harmless.texts["script"]
    rows = rows_of(page)
    for name in ("reply", "reasoning", "question", "target", "choices", "error", "extracted"):
        assert [row[name] for row in rows] == HOSTILE
    assert [row["media"][0]["place"] for row in rows] == HOSTILE
    assert data_of(page)["model"] == HOSTILE[0]
    assert data_of(page)["title"] == HOSTILE[2]


def test_the_script_never_makes_markup_of_text() -> None:
    script = ROOT / "mmscore" / "report" / "page.js"
    text = script.read_text(encoding="utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert word not in text


def test_the_policy_knows_its_own_script_and_style_and_nothing_else(tmp_path: Path) -> None:
    page = page_of(tmp_path, [sample(0)])
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for tag in ("script", "style"):
        body = page.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_nothing_is_loaded_from_outside(tmp_path: Path) -> None:
    parsed = Page(page_of(tmp_path, [sample(0)]))
    assert not [found for _, found in parsed.tags if "src" in found or "href" in found]
    assert "http" not in parsed.texts["script"]
    assert "url(" not in parsed.texts["style"]


def test_only_images_inside_the_page_become_thumbnails(tmp_path: Path) -> None:
    thumbnails = {"a.jpg": "data:image/jpeg;base64,AAAA", "b.jpg": "https://elsewhere/b.jpg"}
    page = page_of(tmp_path, [sample(0)], thumbnails=thumbnails)
    assert data_of(page)["thumbnails"] == {"a.jpg": "data:image/jpeg;base64,AAAA"}


def test_a_failed_sample_shows_why_and_no_score(tmp_path: Path) -> None:
    row = rows_of(page_of(tmp_path, [sample(0, 1.0, status="timeout", error="60 s")]))[0]
    assert (row["status"], row["error"], row["scores"]) == ("timeout", "60 s", [None])


def test_long_replies_are_cut_and_said_to_be(tmp_path: Path) -> None:
    row = rows_of(page_of(tmp_path, [sample(0, reply="x" * 200_000)]))[0]
    assert len(row["reply"]) < TEXT_LIMIT + 100
    assert row["reply"].endswith("180,000 more characters in predictions.jsonl")


@pytest.mark.parametrize("count", [2094])
def test_thousands_of_samples_stay_small(tmp_path: Path, count: int) -> None:
    question = "问题 " + "word " * 40
    samples = [sample(i, float(i % 2), question=question) for i in range(count)]
    assert len(page_of(tmp_path, samples).encode()) < 1_500_000


BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
TEMPLATE = "Answer the following multiple choice question, with one of {}.\n\n{}\n\nA) {}\nB) no"


@pytest.mark.skipif(BROWSER is None, reason="no Chromium to draw the page")
def test_the_list_shows_what_is_asked_and_not_the_instructions(tmp_path: Path) -> None:
    asked = [("A,B", "Which shape is it?", "round"), ("A,B,C", "Which color is it?", "red")]
    samples = [
        sample(n, question=TEMPLATE.format(*parts), _metrics={"accuracy": 1.0, "f1": 0.5})
        for n, parts in enumerate(asked)
    ]
    page = tmp_path / "page.html"
    page.write_text(page_of(tmp_path / "run", samples), encoding="utf-8")
    flags = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'home'}")
    drawn = subprocess.run(
        [str(BROWSER), *flags, "--dump-dom", page.as_uri()], capture_output=True, check=True
    ).stdout.decode()
    lines = re.findall(r'class="cut" dir="auto">([^<]*)<', drawn)
    assert lines == ["Which shape is it? A) round", "Which color is it? A) red"]
    assert "All metrics" in drawn
