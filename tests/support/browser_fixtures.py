"""A browser for all tests of pages, and the pages they look at: fixtures, for every test."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mmscore.report import PageImages
from support.browser import CHROMIUM, Browser, Tab, browser
from support.pages import page_of
from support.runs import sample

GREY = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCB"
    "d81ytgAAAABJRU5ErkJggg=="
)
"""One grey pixel."""


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser, started once."""
    if CHROMIUM is None:
        pytest.skip("no Chromium; on Debian: apt-get install chromium")
    with browser(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def show(chromium: Browser, tmp_path: Path) -> Iterator[Callable[..., Tab]]:
    """A function from a page's text or file to a tab that shows it; nothing in it may complain."""
    tabs: list[Tab] = []

    def shown(page: str | Path, fragment: str = "", **options: Any) -> Tab:
        file = page if isinstance(page, Path) else tmp_path / "page.html"
        if isinstance(page, str):
            file.write_bytes(page.encode("utf-8", "replace"))
        tab = Tab(chromium, **options)
        tabs.append(tab)
        tab.open(file, fragment)
        return tab

    yield shown
    for tab in tabs:
        complaints = tab.complaints()
        tab.close()
        assert not complaints


def drawn_samples() -> list[dict[str, Any]]:
    """120 samples: a third wrong, some failed, with facts, messages, media and a judge."""
    found = []
    for n in range(120):
        wrong = n % 3 == 0
        target = ("yes", "no", "CT")[n % 3 if n % 2 else 0]
        read = ("no" if n % 2 else "MRI") if wrong else target
        one = sample(
            n,
            0.0 if wrong else 1.0,
            subset="en_open" if n % 2 else "zh_open",
            question=f"Question {n} about the picture?\nAnswer in one word.",
            turns=[
                ["system", "You are careful."],
                ["user", f"Question {n} about the picture?\nAnswer in one word."],
            ],
            target=target,
            reply=f"ANSWER: {read}",
            seconds=n / 10,
            answer_seconds=n / 10,
            usage={"prompt_tokens": 100 + n, "completion_tokens": 1 + n % 7},
            finish_reason="length" if n % 10 == 5 else "stop",
            metadata={"modality": ("CT", "MRI")[n % 2], "patient": f"patient {n}"},
            media=[{"place": f"imgs/{n}.png", "sha256": "0", "mime": "image/png"}],
            reasoning="I think so." if n == 7 else None,
            _extracted=read,
        )
        if n == 11:
            one["_judge"] = {
                "value": 1.0,
                "error": None,
                "complete": True,
                "usage": {},
                "requests": 1,
                "seconds": 0.1,
                "verdicts": [
                    {"judge": "j1", "judge_repeat": 0, "verdict": "CORRECT", "value": 1.0}
                    | {"reasoning": "A quibble over laterality.", "kind": None, "error": None}
                ],
            }
        if n in (20, 21):
            one |= {"status": "timeout", "reply": "", "error": "no answer in 60 s"}
            one |= {"finish_reason": None, "_metrics": None}
        found.append(one)
    return found


@pytest.fixture(scope="session")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the drawn samples."""
    folder = tmp_path_factory.mktemp("drawn")
    images = {f"imgs/{n}.png": GREY for n in range(120) if n != 5}
    page = page_of(
        folder / "run", drawn_samples(), images=PageImages(images, {("gone", ""): 1}, 768)
    )
    file = folder / "report.html"
    file.write_text(page, encoding="utf-8")
    return file


def text(tab: Tab, selector: str) -> str:
    return str(tab.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))


def counted(tab: Tab) -> str:
    return text(tab, ".count")


def pick(tab: Tab, label: str, value: str) -> None:
    """Choose from a menu as a reader does."""
    tab.run(
        f"""(() => {{
          const menu = document.querySelector('select[aria-label="{label}"]');
          menu.value = {json.dumps(value)};
          menu.dispatchEvent(new Event("change", {{ bubbles: true }}));
        }})()"""
    )


AXE_OPTIONS = {"resultTypes": ["violations"]}


def check_accessibility(tab: Tab, script: str) -> None:
    tab.run(f"{script};0")
    found = tab.run(
        f"""axe.run(document, {json.dumps(AXE_OPTIONS)}).then((result) => result.violations.map(
          (one) => `${{one.id}}: ${{one.nodes.map((node) => node.html.slice(0, 200) +
            node.failureSummary).join(" | ")}}`))"""
    )
    assert found == []
