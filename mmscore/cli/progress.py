"""How a run's progress is told: a bar on a terminal, lines in a log, JSON for a program."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from mmscore.plan.events import Events, Progress
from mmscore.report.boxes import cut, style_of

if TYPE_CHECKING:
    from mmscore.benchmarks.base import Benchmark

BAR_INTERVAL = 0.1
LINE_INTERVAL = 10.0
_WIDTH = 24


class ProgressPrinter:
    """Writes progress to a stream, no more often than its form asks for."""

    def __init__(self, form: str, stream: TextIO) -> None:
        """Choose the form: `auto` is a bar on a terminal that can draw one, lines elsewhere."""
        if form == "auto":
            drawn = stream.isatty() and os.environ.get("TERM") != "dumb"
            form = "bar" if drawn else "lines"
        self._form = form
        self._stream = stream
        self._interval = BAR_INTERVAL if form == "bar" else LINE_INTERVAL
        self._words = FORMS[form]
        self._last = time.monotonic() if form != "bar" else 0.0
        self._told = -1
        self._open = False

    def tell(self, progress: Progress) -> None:
        """Show where the run is, if it is time to."""
        now = time.monotonic()
        finished = progress.done == progress.total and self._told != progress.done
        if self._words is None or (now - self._last < self._interval and not finished):
            return
        self._last = now
        self._told = progress.done
        if self._form == "bar":
            self._draw(self._words(progress))
        else:
            self._stream.write(self._words(progress) + "\n")
        self._stream.flush()

    def fetching(self, what: str, done: int, total: int | None) -> None:
        """Show how far a download is, if it is time to."""
        now = time.monotonic()
        if self._words is None or now - self._last < self._interval:
            return
        self._last = now
        share = (
            f"{100 * done // total}% of {total / 1e6:.1f} MB" if total else f"{done / 1e6:.1f} MB"
        )
        if self._form == "bar":
            self._draw(f"fetching {what}: {share}")
        elif self._form == "json":
            state = {"fetching": what, "bytes": done, "total": total}
            self._stream.write(json.dumps(state, ensure_ascii=False) + "\n")
        else:
            self._stream.write(f"fetching {what}: {share}\n")
        self._stream.flush()

    def _draw(self, line: str) -> None:
        """Draw the bar's line anew; cut, for one that wraps could not be drawn over."""
        columns = style_of(self._stream, os.environ).columns
        self._stream.write(f"\r\x1b[K{cut(line, columns - 1)}")
        self._open = True

    def end(self) -> None:
        """Close the bar's line, so that what follows stands on its own."""
        if self._open:
            self._stream.write("\n")
            self._open = False

    def notice(self, sentence: str) -> None:
        """Say one sentence between two states of the bar."""
        self.end()
        if self._form == "json":
            self._stream.write(json.dumps({"notice": sentence}, ensure_ascii=False) + "\n")
        else:
            self._stream.write(f"mmscore: {sentence}\n")
        self._stream.flush()


def _rate(progress: Progress) -> tuple[float, float | None]:
    """Samples a second and seconds to go, by what this run itself asked."""
    asked = progress.done - progress.kept
    rate = asked / progress.seconds if progress.seconds > 0 else 0.0
    left = progress.total - progress.done
    return rate, (left / rate if rate > 0 else None)


def _state(progress: Progress) -> str:
    rate, left = _rate(progress)
    words = [f"{progress.done}/{progress.total}"]
    if progress.failed:
        words.append(f"{progress.failed} failed")
    words.append(f"{rate:.1f}/s")
    if left is not None and progress.done < progress.total:
        words.append(f"{_clock(left)} left")
    if progress.scored:
        words.append(f"score {100 * progress.right / progress.scored:.1f}%")
    return "  ".join(words)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _bar(progress: Progress) -> str:
    filled = _WIDTH * progress.done // max(1, progress.total)
    return f"[{'#' * filled}{'.' * (_WIDTH - filled)}] {_state(progress)}"


def _json(progress: Progress) -> str:
    rate, left = _rate(progress)
    return json.dumps(
        {
            "done": progress.done,
            "total": progress.total,
            "kept": progress.kept,
            "failed": progress.failed,
            "requests": progress.requests,
            "seconds": round(progress.seconds, 3),
            "rate": round(rate, 3),
            "seconds_left": None if left is None else round(left, 1),
        }
    )


FORMS: dict[str, Callable[[Progress], str] | None] = {
    "bar": _bar,
    "lines": _state,
    "json": _json,
    "none": None,
}


def events_of(form: str, stream: TextIO) -> Events:
    """What tells of a run on a stream, in the form that was asked for."""
    printer = ProgressPrinter(form, stream)

    def start(benchmark: Benchmark, planned: Mapping[str, int], folder: Path) -> None:
        parts = ", ".join(f"{subset} {count}" for subset, count in planned.items())
        printer.notice(f"{benchmark.title}: {sum(planned.values())} samples ({parts}) -> {folder}")

    def progress(state: Progress) -> None:
        printer.tell(state)
        if state.done == state.total:
            printer.end()

    return Events(start, progress, printer.notice, printer.fetching)
