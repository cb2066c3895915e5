"""Parquet: rows in small batches, large cells streamed on their own."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from mmscore._core import ParquetFile
from mmscore.dataset.rows.row import Cell, Row, Want, require_columns
from mmscore.errors import DataError


def read_parquet(path: Path, want: Want) -> Iterator[Row]:
    """The rows of a Parquet file; structs are dicts, maps are lists of pairs.

    Large values of a late column are `Cell`s wherever they stand: as the cell, in its struct
    (`{"bytes": Cell, "path": "a.png"}`), or in the structs of its list. Whether a value is null is
    known at once. A relative path in such a struct is relative to the Parquet file.
    """
    file = ParquetFile.open(path)
    names = file.columns()
    if want.columns is not None:
        require_columns(sorted(want.columns), names, f"`{path}`")
    columns = {name for name in names if want.columns is None or name in want.columns}
    late = {name for name in columns if name in want.late}

    def cell(column: str, leaf: int, row: int, element: int) -> Cell:
        name = f"`{path}` row {row + 1} column `{column}`"
        name += f" item {element + 1}" if element else ""
        return Cell(name, partial(_load, file, leaf, row, element))

    for number, values in enumerate(file.rows(columns, late, cell), 1):
        yield Row.at(values, path, number)


def _load(file: ParquetFile, leaf: int, row: int, element: int) -> bytes | str:
    value = file.cell(leaf, row, element)
    if value is None:
        raise DataError(f"row {row + 1} of a Parquet file was changed while it was in use")
    return value
