"""Models down, benchmarks across: what several runs came to, in one table.

A score is marked as the best of its column only where the paired difference to the next best is
significant: a table without that invites reading noise.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mmscore.error_text import listed
from mmscore.errors import DataError
from mmscore.report.boxes import Style, clean, fitted_box, plain, width, wrapped
from mmscore.report.compare import compare
from mmscore.report.labels import percent, span
from mmscore.store.run_folder import RUN, load

SIGNIFICANT = 0.05
"""A McNemar p below this is a difference; so is an interval that leaves out 0."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one model came to on one benchmark.

    Attributes:
        folder: The run's folder.
        metric: The primary metric.
        num: Replies scored.
        score: 0..1; None where nothing was scored.
        low: Lower end of the 95 % interval.
        high: Upper end.
        complete: Whether every planned sample was scored.
        best: Whether it is the best of its column, and surely so.
    """

    folder: str
    metric: str
    num: int
    score: float | None
    low: float | None
    high: float | None
    complete: bool
    best: bool = False


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Runs by model and benchmark.

    Attributes:
        benchmarks: The columns, as first met.
        models: The rows, as first met.
        cells: (model, benchmark) -> what it came to.
        notes: What must be known to read it, a sentence each.
    """

    benchmarks: tuple[str, ...]
    models: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values, a list of cells."""
        rows = [
            {"model": model, "benchmark": benchmark, **asdict(cell)}
            for (model, benchmark), cell in self.cells.items()
        ]
        return {"schema_version": 1, "cells": rows, "notes": list(self.notes)}


def run_folders(places: Iterable[Path]) -> list[Path]:
    """The runs' folders that are named, or that lie in named folders, oldest name first.

    Raises:
        DataError: A place is no folder, or holds no run.
    """
    found: list[Path] = []
    for place in places:
        if (place / RUN).is_file():
            found.append(place)
            continue
        inside = sorted(path.parent for path in place.glob(f"**/{RUN}")) if place.is_dir() else []
        if not inside:
            raise DataError(
                f"`{place}` holds no run", hint="give runs' folders, or a folder that holds some"
            )
        found += inside
    return list(dict.fromkeys(found))


def model_table(folders: Sequence[Path]) -> ModelTable:
    """The table of some runs; of two of one model and benchmark the later one counts.

    Raises:
        DataError: A folder holds no report, or one of another version.
    """
    reports = sorted(((_report(folder), folder) for folder in folders), key=_started)
    cells: dict[tuple[str, str], Cell] = {}
    notes: list[str] = []
    prints: dict[str, dict[str, set[str]]] = {}
    for report, folder in reports:
        place = str(report["model"]), str(report["dataset"])
        if place in cells:
            notes.append(
                f"`{place[0]}` on {place[1]}: the run in `{folder}` counts, "
                f"not the earlier one in `{cells[place].folder}`"
            )
        cells[place] = _cell(report, folder)
        data = str((report.get("fingerprints") or {}).get("data"))
        prints.setdefault(place[1], {}).setdefault(data, set()).add(place[0])
    for benchmark, by_data in prints.items():
        if len(by_data) > 1:
            parts = "; ".join(listed(sorted(models)) for models in by_data.values())
            notes.append(f"{benchmark}: the runs are of unlike data, so none is best: {parts}")
    benchmarks = tuple(dict.fromkeys(benchmark for _, benchmark in cells))
    for benchmark in benchmarks:
        if len(prints[benchmark]) == 1:
            _mark_best(cells, benchmark)
    models = tuple(dict.fromkeys(model for model, _ in cells))
    return ModelTable(benchmarks, models, cells, tuple(notes))


def _started(found: tuple[dict[str, Any], Path]) -> tuple[str, str]:
    return str((found[0].get("timing") or {}).get("started")), str(found[1])


def _report(folder: Path) -> dict[str, Any]:
    """The report in a folder, built anew where a stopped run left none."""
    path = folder / "report.json"
    try:
        found = json.loads(path.read_bytes())
        if found["schema_version"] == 1 and isinstance(found["overall"], dict):
            return dict(found)
    except FileNotFoundError:
        from mmscore.report.building import build
        from mmscore.report.files import to_dict

        return to_dict(build(load(folder)))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise DataError(
        f"`{path}` is no report that this version reads", hint=f"mmscore report {folder}"
    )


def _cell(report: dict[str, Any], folder: Path) -> Cell:
    try:
        metric = str(report["primary"])
        low, high = (report["intervals"].get(metric) or {}).values() or (None, None)
        cover = report["coverage"]
        complete = cover["scored"] >= cover["planned"]
        score = report["overall"].get(metric)
        return Cell(str(folder), metric, int(report["num"]), score, low, high, complete)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"`{folder / 'report.json'}` lacks what a report holds: {error}",
            hint=f"mmscore report {folder}",
        ) from None


def _mark_best(cells: dict[tuple[str, str], Cell], benchmark: str) -> None:
    """Mark the first of a column where it is surely better than the second."""
    column = [
        (cell.score, place)
        for place, cell in cells.items()
        if place[1] == benchmark and cell.score is not None
    ]
    if len(column) < 2:
        return
    column.sort(key=lambda entry: -entry[0])
    first, second = (cells[place] for _, place in column[:2])
    if first.metric != second.metric:
        return
    pair = compare(load(Path(second.folder)), load(Path(first.folder)), metric=first.metric)
    if pair.p is not None:
        surely = pair.p < SIGNIFICANT
    else:
        surely = pair.interval is not None and pair.interval[0] > 0
    if surely:
        place = column[0][1]
        cells[place] = Cell(**{**asdict(cells[place]), "best": True})


def to_text(table: ModelTable, style: Style = Style()) -> str:  # noqa: B008 - frozen
    """The table for a terminal."""
    head, rows = _grid(table, best="*")
    drawn = fitted_box(head, rows, frozenset(), style.columns)
    if style.columns and width(drawn.partition("\n")[0]) > style.columns:
        head, rows = _grid(table, best="*", spans=False)
        drawn = fitted_box(head, rows, frozenset(), style.columns)
    told = (wrapped(line, style.columns, 0) for line in _legend(table))
    lines = [drawn, *(part for parts in told for part in parts)]
    return "\n".join(lines) if style.boxes else plain("\n".join(lines))


def to_markdown(table: ModelTable) -> str:
    """The table as Markdown, the best in bold."""
    head, rows = _grid(table, best="**")
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines) + "\n"


def to_csv(table: ModelTable) -> str:
    """One line a cell, scores as fractions."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "benchmark", "metric", "num", "score", "low", "high", "best"])
    for (model, benchmark), cell in table.cells.items():
        names = [guarded(model), guarded(benchmark), guarded(cell.metric)]
        writer.writerow([*names, cell.num, cell.score, cell.low, cell.high, int(cell.best)])
    return out.getvalue()


def guarded(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text


def _grid(table: ModelTable, best: str, *, spans: bool = True) -> tuple[list[str], list[list[str]]]:
    head = ["Model", *map(clean, table.benchmarks)]
    rows = [
        [
            clean(model),
            *(
                _words(table.cells.get((model, name)), best, spans=spans)
                for name in table.benchmarks
            ),
        ]
        for model in table.models
    ]
    return head, rows


def _words(cell: Cell | None, best: str, *, spans: bool) -> str:
    if cell is None:
        return "-"
    text = percent(cell.score)
    if cell.best:
        text = f"{best}{text}{best}" if best == "**" else f"{text}{best}"
    text += f" ({span(cell.low, cell.high)})" if spans and cell.low is not None else ""
    return text if cell.complete else f"{text} n={cell.num}"


def _legend(table: ModelTable) -> Iterator[str]:
    if any(cell.best for cell in table.cells.values()):
        yield "* better than the next one (paired, p < 0.05)"
    if not all(cell.complete for cell in table.cells.values()):
        yield "n=  not every planned sample was scored"
    yield from (f"note: {clean(note)}" for note in table.notes)


FORMATS = {"csv": to_csv, "markdown": to_markdown}
"""Formats besides text and JSON."""
