"""VLMEvalKit's tables: rows of text cells, and images as base64, paths, or other rows' images.

The columns are those its custom data sets have: `index`, `question`, `answer`, options `A`, `B` and
on, `image` or `image_path`, `hint`, `category`, `l2-category`, `split`. Cells are text: `None`,
`NA` and `nan` are answers like any other, and only an empty cell is missing.

A large image stays in its file until the worker that sends it reads it, so memory does not grow
with the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from string import ascii_uppercase
from typing import Any, TypeGuard

from mmscore.benchmarks.base import Files, Options
from mmscore.benchmarks.own_data import Draft, Names, subset_files
from mmscore.dataset.facts import kept_columns
from mmscore.dataset.media.columns import columns_of, media_part, source_of
from mmscore.dataset.media.paths import Roots
from mmscore.dataset.media.sources import DATA_LIKE, TextSource, is_base64_of
from mmscore.dataset.rows import Cell, Row, read, require_columns
from mmscore.dataset.rows.python_literal import read_literal
from mmscore.error_text import shown
from mmscore.errors import DataError
from mmscore.types import Media, Sample, Text

GROUPS = ("category", "l2-category", "split")
"""The columns by which a report is broken down."""

COLUMNS = frozenset(
    {"index", "question", "answer", "image", "image_path", "hint", *GROUPS, *ascii_uppercase}
)

POINTER_CHARACTERS = 64
"""An `image` of so many characters or fewer is the index of the row whose image it shows."""

_SPLIT = "test"
_QUOTED = re.compile(r"""\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*([,\]])""")

TextContent = str | Cell
"""What a cell of text holds, or where it does."""

Content = TextContent | bytes | dict[str, Any] | list[Any]
"""What a cell holds, or where it does."""


def understood(column: str) -> bool:
    """Whether a column of this name means something in such a table."""
    return column in COLUMNS


@dataclass(frozen=True, slots=True)
class Images:
    """Where the images of a table's rows are.

    Attributes:
        roots: Where relative paths start.
        pointed: Index -> the image of a row that other rows point to.
    """

    roots: Roots
    pointed: Mapping[str, Content]

    @classmethod
    def of(cls, path: Path, roots: Roots) -> Images:
        """The images of a table; only those that others point to are remembered."""
        pointers = {
            _text(row, "image").strip()
            for row in _rows(path, ("index", "image"))
            if _is_pointer(row.get("image"))
        }
        pointed = {}
        if pointers:
            for row in _rows(path, ("index", "image")):
                if _text(row, "index") in pointers and row.get("image"):
                    pointed[_text(row, "index")] = _content(row["image"])
        return cls(roots, pointed)

    def of_row(self, row: Row) -> tuple[Media, ...]:
        """The images a row shows; none where the table has no column of images.

        Raises:
            DataError: The row has no image though the table has a column for it, or it points to a
                row that is not there or has none.
        """
        if row.get("image"):
            value = self._followed(_content(row["image"]))
            return tuple(_decoded(value) if _is_text(value) else self._held(value, row.place))
        if row.get("image_path"):
            return tuple(self._place(path) for path in _listed(_text(row, "image_path")))
        if "image" in row or "image_path" in row:
            raise DataError("no image: `image` and `image_path` are empty or not there")
        return ()

    def _followed(self, content: Content) -> Content:
        """The image at the end of a chain of pointers."""
        seen: list[str] = []
        while _is_pointer(content):
            index = str(content).strip()
            if index in seen:
                raise DataError(f"`image` points in a circle: {' -> '.join([*seen, index])}")
            seen.append(index)
            if index not in self.pointed:
                raise DataError(
                    f"`image` is {shown(index)}, too short for base64, and there is no row of that "
                    "index with an image",
                    hint="a path belongs into the column `image_path`",
                )
            content = self.pointed[index]
        return content

    def _held(self, value: Content, place: str) -> Iterator[Media]:
        """Images that are no text: bytes of a Parquet column, alone, in a struct or in a list."""
        where = f"{place} column `image`"
        columns = {"images": value} if isinstance(value, list) else {"image_1": value}
        for found in columns_of(columns).get("image", {}).values():
            yield replace(media_part(found, where, self.roots), detail=None)

    def _place(self, path: str) -> Media:
        source, url = source_of(path, "image", "column `image_path`", self.roots)
        return Media("image", source, url)


def tsv_samples(
    files: Files,
    options: Options,
    needed: tuple[str, ...],
    draft: Callable[[Row, tuple[Media, ...]], Draft],
) -> Iterator[Sample]:
    """The rows of all tables asked for as samples; the id is the row's index, if no other has it.

    Args:
        files: The user's folder or file.
        options: Their choices.
        needed: Columns a table must have besides `index` and `question`.
        draft: Makes a sample of a row and its images.

    Raises:
        ConfigError: A subset name leads out of the folder.
        DataError: A table is missing, damaged, or lacks a column.
    """
    names = Names()
    for subset, file in subset_files(files, options, _SPLIT):
        path = files.path(file)
        images = Images.of(path, options.roots(files, path))
        for number, row in enumerate(options.rows(path, _rows(path)), 1):
            require_columns(("index", "question", *needed), row, row.place)
            facts = {
                "index": _text(row, "index"),
                **{name: row[name] for name in GROUPS if row.get(name)},
            }
            name = names.of(_text(row, "index"), subset, number)
            columns = kept_columns(row, understood, options.keep)
            try:
                drafted = draft(row, images.of_row(row))
            except DataError as error:
                problem = f"{row.place}: {error.message}"
                problem += f" ({error.hint})" if error.hint else ""
                yield Sample(
                    name, subset, (), None, metadata=facts, problem=problem, columns=columns
                )
                continue
            yield Sample(
                name,
                subset,
                drafted.messages,
                drafted.target,
                drafted.choices,
                {**facts, **drafted.metadata},
                warnings=tuple(f"{row.place}: {warning}" for warning in drafted.warnings),
                columns=columns,
            )


def cell(row: Row, name: str) -> str:
    """The text of a cell; empty where the cell is or the column is not there."""
    return _text(row, name) if name in row else ""


def parts(images: tuple[Media, ...], text: str) -> tuple[Text | Media, ...]:
    """The content of the one message: images first, as VLMEvalKit has them."""
    return (*images, Text(text))


def unscored(target: str) -> tuple[str, ...]:
    """The warning of a row without an answer."""
    return () if target else ("no answer, so the reply is not scored",)


def _rows(path: Path, columns: tuple[str, ...] | None = None) -> Iterator[Row]:
    for row in read(path, late={"image"}):
        if columns is None:
            yield row
        elif "image" in row:
            yield Row.at({name: row[name] for name in columns if name in row}, path, row.number)
        else:
            return  # no row of this table has an image in it


def _text(row: Row, name: str) -> str:
    value = row[name]
    if value is None:
        return ""
    return value if isinstance(value, str) else str(value)


def _content(value: object) -> Content:
    kept = (str, Cell, bytes, dict, list)
    return value if isinstance(value, kept) else str(value)


def _is_text(value: Content) -> TypeGuard[TextContent]:
    return isinstance(value, str) or (isinstance(value, Cell) and value.head != "")


def _is_pointer(value: object) -> bool:
    """Whether a cell names another row; the smallest images are as short, and tell themselves."""
    if not isinstance(value, str) or not 0 < len(value.strip()) <= POINTER_CHARACTERS:
        return False
    return not (DATA_LIKE.match(value) or is_base64_of("image", value.strip()))


def _decoded(content: TextContent) -> Iterator[Media]:
    """The images of a cell of base64, one or a list."""
    name = _name(content)
    head = content.head if isinstance(content, Cell) else content[:1]
    if not head.lstrip().startswith("["):
        yield Media("image", TextSource(name, content))
        return
    for number in range(len(_base64_list(_read(content)))):
        item = Cell(f"{name} item {number + 1}", partial(_item, content, number))
        yield Media("image", TextSource(item.name, item))


def _name(content: TextContent) -> str:
    """What tells one image from another: where its cell is, or a digest of what the row holds."""
    if isinstance(content, Cell):
        return content.name
    return f"image {hashlib.sha256(content.encode('utf-8', 'replace')).hexdigest()[:16]} in the row"


def _item(content: TextContent, number: int) -> str:
    return _base64_list(_read(content))[number]


def _read(content: TextContent) -> str:
    return str(content.read()) if isinstance(content, Cell) else content


def _base64_list(text: str) -> list[str]:
    """The strings in the text of a list of base64, as JSON or Python writes it."""
    text = text.strip()
    found, at = [], 1
    while True:
        item = _QUOTED.match(text, at)
        if item is None:
            raise DataError("`image` is no list of base64 texts, as JSON or Python writes one")
        found.append(item[1] if item[1] is not None else item[2])
        at = item.end()
        if item[3] == "]":
            return found


def _listed(text: str) -> list[str]:
    """The paths in a cell: one, or the text of a list."""
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return [text]
    try:
        value = read_literal(text)
    except ValueError:
        value = None
    if not isinstance(value, list) or not value:
        raise DataError(f"`image_path` {shown(text)} is no path and no list of paths")
    return [str(path) for path in value]
