"""Draws `report.png`, the picture of a run's page that the README shows, from the demo's run.

    PYTHONPATH=tests python data/build_page_picture.py

Needs Chromium. Times in the page are those of the run, so no two pictures are the same.
"""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from PIL import Image
from support.browser import Tab, browser

from mmscore.cli.demo import run_demo
from mmscore.plan.events import SILENT
from mmscore.run.pages import report_with_page

PICTURE = Path(__file__).with_name("report.png")
WIDTH, HEIGHT = 1240, 1760
COLORS = 256
"""Enough for a page of few colors, and a third of the bytes."""


def main() -> None:
    """Run the demo, open a wrong sample in its page, and write the picture."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        result = report_with_page(run_demo(folder / "demo", SILENT).folder)
        with browser(folder / "home") as running:
            tab = Tab(running, size=(WIDTH, HEIGHT))
            tab.open(result.files[-1], "#result=wrong&sample=8")
            # As a reader folds the patterns and scrolls up: scores and a sample in one picture.
            tab.run("document.querySelector('.patterns-fold').open = false")
            tab.run("document.querySelector('.pill').hidden = true; scrollTo(0, 0)")
            tab.run("document.activeElement.blur()")
            tab.run("Promise.all([...document.images].map((image) => image.decode()))")
            seen = folder / "seen.png"
            tab.screenshot(seen)
            picture = Image.open(io.BytesIO(seen.read_bytes())).convert("RGB")
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
