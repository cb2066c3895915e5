"""Rows of a data file, one at a time: JSON, JSON Lines, CSV, TSV, Parquet.

Every reader yields `Row`s, plain dicts that also know their place in the file, and holds one of
them at a time, so a file may be larger than memory. Two rules hold for all formats:

* Text files are UTF-8 whatever the locale says. A byte order mark is dropped, LF, CR LF or CR ends
  a line (U+2028 inside a string splits nothing), blank lines are skipped.
* Large cells of the columns named in `late` are left in the file: the row holds a `Cell`, and
  whoever needs the content calls `Cell.read()` then. Of JSON, where prose stands beside media, only
  what begins like base64 or a `data:` URI is left, however deep inside the column.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from pathlib import Path

from mmscore.dataset.git_lfs import require_fetched
from mmscore.dataset.rows.csv_files import read_csv, read_tsv
from mmscore.dataset.rows.json_files import json_with_cells, read_json, read_jsonl
from mmscore.dataset.rows.parquet_files import read_parquet
from mmscore.dataset.rows.row import (
    HEAD_BYTES,
    Cell,
    Row,
    Want,
    missing_column,
    require_columns,
    split_parts,
)
from mmscore.errors import DataError

__all__ = [
    "HEAD_BYTES",
    "READERS",
    "Cell",
    "Row",
    "json_with_cells",
    "missing_column",
    "read",
    "require_columns",
    "split_parts",
]

READERS: dict[str, Callable[[Path, Want], Iterator[Row]]] = {
    ".json": read_json,
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
}
"""Suffix -> reader. A new format is a function in this folder and a row in this table."""


OTHER_FORMATS = dict.fromkeys(
    (".xlsx", ".xls", ".ods", ".numbers"), "save it as CSV (UTF-8) in the spreadsheet"
)
"""Suffixes of files that are not read -> what to do."""


def read(
    path: str | os.PathLike[str],
    *,
    columns: Iterable[str] | None = None,
    late: Container[str] = (),
    skipped: list[DataError] | None = None,
) -> Iterator[Row]:
    """The rows of a file, in order; the suffix decides the format (see `READERS`).

    Args:
        path: The file.
        columns: Keep only these; from Parquet, only these are read. One that no row can have is
            an error in the formats with a header.
        late: Columns whose cells become a `Cell` when larger than `base.LATE_BYTES`.
        skipped: A list that takes one error per bad row (ragged, broken JSON, not an object); bad
            rows are then left out. Without it the first bad row raises.

    Raises:
        DataError: There is no such file, its format is unknown, it is damaged or holds no row.
            All but an unknown format and a missing file are raised while iterating.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        other = "give the file the suffix of what it holds"
        raise DataError(
            f"`{path}` has no known row format, expected one of {', '.join(READERS)}",
            hint=OTHER_FORMATS.get(path.suffix.lower(), other),
        )
    if not path.is_file():
        found = "a folder" if path.is_dir() else "nothing"
        raise DataError(f"no data file at `{path}`, found {found}")
    require_fetched(path)
    want = Want(None if columns is None else frozenset(columns), late, skipped)
    return _at_least_one(reader(path, want), path, want)


def _at_least_one(rows: Iterator[Row], path: Path, want: Want) -> Iterator[Row]:
    try:
        for first in rows:
            yield first
            yield from rows
            return
    except OSError as error:
        raise DataError(f"cannot read `{path}`: {error.strerror or error}") from error
    bad = f" (bad rows skipped: {len(want.skipped)})" if want.skipped else ""
    raise DataError(f"0 samples in `{path}`{bad}")
