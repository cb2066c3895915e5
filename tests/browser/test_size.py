"""Pages of large runs: how large they are, how fast they open, how fast they are searched.

Times are those of a quiet machine: on a busy or slow one the limits are stretched by how much
longer the browser takes for a task of known length.
"""

from __future__ import annotations

import base64
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.browser import Tab
from support.browser_fixtures import counted, text
from support.pages import page_of
from support.runs import sample

from mmscore.report import PageImages

Show = Callable[..., Tab]

USUAL = 65.0
"""Milliseconds of `TASK` on a machine of 2024 with nothing else to do."""

TASK = """(() => {
  const started = performance.now();
  const rows = Array.from({ length: 120000 }, (_, i) => ({ id: `q${i}`, x: i / 7 }));
  JSON.parse(JSON.stringify(rows)).sort((a, b) => (a.x * 7919) % 13 - (b.x * 7919) % 13);
  return performance.now() - started;
})()"""

OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def slowness(tab: Tab) -> float:
    """How much slower than usual this browser is just now."""
    return max(1.0, float(min(tab.run(TASK) for _ in range(3))) / USUAL)


def drawn(count: int, words: int = 40) -> Iterator[dict[str, Any]]:
    rng = random.Random(count)
    known = [
        "the",
        "image",
        "shows",
        "a",
        "chest",
        "clear",
        "lungs",
        "mass",
        "肺部",
        "未见",
        "异常",
    ]
    for n in range(count):
        read = rng.choice(("yes", "no", "CT", "lung"))
        yield sample(
            n,
            float(rng.random() < 0.7),
            id=f"en_open/{n}",
            question=f"Does picture {n} contain a lung?\nAnswer in a word.\nThe last line counts.",
            reply=f"{' '.join(rng.choices(known, k=words))}\nANSWER: {read}",
            seconds=round(rng.random() * 3, 6),
            target=rng.choice(("yes", "no", "CT", "lung")),
            media=[{"place": f"imgs/{n // 12}.jpg", "sha256": str(n // 12), "mime": "image/jpeg"}],
            metadata={"modality": rng.choice(("CT", "MRI")), "question_id": n, "location": "Lung"},
            _extracted=read,
        )


def images(count: int) -> PageImages:
    """Images that cannot be drawn, each of the length of a scan."""
    rng = random.Random(0)
    bytes_of = (base64.b64encode(rng.randbytes(10_500)).decode() for _ in range(count))
    uris = {f"imgs/{n}.jpg": f"data:image/webp;base64,{text}" for n, text in enumerate(bytes_of)}
    return PageImages(uris, {}, 768)


def opened(show: Show, page: str) -> tuple[Tab, float]:
    """The page, and in how many seconds it could be used, of three times the fastest."""
    tabs = [show(page) for _ in range(3)]
    slow = slowness(tabs[-1])
    return tabs[-1], min(float(tab.run(OPENED)) for tab in tabs) / 1000 / slow


def test_a_page_of_slakes_size_is_small_and_soon_there(show: Show, tmp_path: Path) -> None:
    page = page_of(tmp_path / "run", list(drawn(2094)), images=images(180))
    assert len(page.encode()) < 4_000_000
    tab, seconds = opened(show, page)
    assert counted(tab) == "2,094 of 2,094 samples"
    assert seconds < 1.0


def test_twenty_thousand_samples_open_and_are_searched_while_one_types(
    show: Show, tmp_path: Path
) -> None:
    tab, seconds = opened(show, page_of(tmp_path / "run", list(drawn(20_000))))
    assert counted(tab) == "20,000 of 20,000 samples"
    assert seconds < 2.0
    tab.until("haystacks.every((text) => text !== undefined)", "the search to be prepared")
    slow = slowness(tab)
    for words, least, most in (
        ("picture 777", 20, 200),
        ("未见 mass", 18_000, 20_000),
        ("x y z", 0, 0),
    ):
        took, found = tab.run(
            f"""(() => {{
              const started = performance.now();
              state.search = "{words}";
              refresh(false);
              document.body.offsetHeight;
              return [performance.now() - started, shown.length];
            }})()"""
        )
        assert least <= found <= most
        assert took / slow < 300


@pytest.mark.timeout(600)
def test_a_hundred_thousand_samples_open(show: Show, tmp_path: Path) -> None:
    tab = show(page_of(tmp_path / "run", list(drawn(100_000, words=12))), "#sample=en_open/99999")
    assert counted(tab) == "100,000 of 100,000 samples"
    assert "Does picture 99999 contain a lung?" in text(tab, ".detail")
    assert tab.run("document.querySelectorAll('script[id^=part-]').length") > 300, "read when shown"
    assert float(tab.run(OPENED)) / 1000 / slowness(tab) < 5.0
