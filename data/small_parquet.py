"""A Parquet writer for small sets of CountQA's shape: plain pages, no compression, one schema.

The sample data must come out the same on every machine, which the libraries that write Parquet do
not promise; and the tests need files of that shape without such a library.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

Row = Mapping[str, Any]

MAGIC = b"PAR1"
BOOLEAN, BYTES = 0, 6
OPTIONAL, REPEATED = 1, 2
UTF8, LIST = 0, 3
PLAIN, RLE = 0, 3

I32, I64, TEXT, ITEMS, STRUCT = 5, 6, 8, 9, 12
"""Types of Thrift's compact protocol."""


class Column(NamedTuple):
    """A leaf of the schema.

    `levels` gives repetition level, definition level and value of each slot of a row.
    """

    path: tuple[str, ...]
    kind: int
    most_repeated: int
    most_defined: int
    levels: Callable[[Row], Iterable[tuple[int, int, Any]]]


def _image(part: str) -> Callable[[Row], Iterator[tuple[int, int, Any]]]:
    def levels(row: Row) -> Iterator[tuple[int, int, Any]]:
        image = row["image"]
        value = None if image is None else image[part]
        yield 0, (image is not None) + (value is not None), value

    return levels


def _texts(name: str) -> Callable[[Row], Iterator[tuple[int, int, Any]]]:
    def levels(row: Row) -> Iterator[tuple[int, int, Any]]:
        texts = row[name]
        if not texts:
            yield 0, int(texts is not None), None
        for number, text in enumerate(texts or ()):
            yield int(number > 0), 2 + (text is not None), text

    return levels


def _flag(row: Row) -> Iterator[tuple[int, int, Any]]:
    yield 0, int(row["is_focused"] is not None), row["is_focused"]


TEXT_LISTS = ("questions", "answers", "categories")

COLUMNS = (
    Column(("image", "bytes"), BYTES, 0, 2, _image("bytes")),
    Column(("image", "path"), BYTES, 0, 2, _image("path")),
    *(Column((name, "list", "element"), BYTES, 1, 3, _texts(name)) for name in TEXT_LISTS),
    Column(("is_focused",), BOOLEAN, 0, 1, _flag),
)


def write(path: Path, rows: Sequence[Row], group: int = 5) -> None:
    """Write rows with `image`, `questions`, `answers`, `categories` and `is_focused`."""
    out = bytearray(MAGIC)
    groups = []
    for first in range(0, len(rows), group):
        part = rows[first : first + group]
        chunks = [_chunk(out, column, part) for column in COLUMNS]
        size = sum(chunk.size for chunk in chunks)
        metas = [chunk.meta for chunk in chunks]
        fields = {1: (ITEMS, (STRUCT, metas)), 2: (I64, size), 3: (I64, len(part))}
        groups.append(_struct(fields))
    footer = _struct(
        {
            1: (I32, 1),
            2: (ITEMS, (STRUCT, list(_schema()))),
            3: (I64, len(rows)),
            4: (ITEMS, (STRUCT, groups)),
        }
    )
    path.write_bytes(bytes(out) + footer + struct.pack("<I", len(footer)) + MAGIC)


class _Chunk(NamedTuple):
    meta: bytes
    size: int


def _chunk(out: bytearray, column: Column, rows: Sequence[Row]) -> _Chunk:
    slots = [slot for row in rows for slot in column.levels(row)]
    page = b"".join(
        [
            _levels([r for r, _, _ in slots], column.most_repeated),
            _levels([d for _, d, _ in slots], column.most_defined),
            _values([v for _, d, v in slots if d == column.most_defined], column.kind),
        ]
    )
    data_page = {1: (I32, len(slots)), 2: (I32, PLAIN), 3: (I32, RLE), 4: (I32, RLE)}
    header = _struct(
        {1: (I32, 0), 2: (I32, len(page)), 3: (I32, len(page)), 5: (STRUCT, _struct(data_page))}
    )
    start = len(out)
    out += header + page
    size = len(header) + len(page)
    facts = {
        1: (I32, column.kind),
        2: (ITEMS, (I32, [_integer(PLAIN), _integer(RLE)])),
        3: (ITEMS, (TEXT, [_text(part) for part in column.path])),
        4: (I32, 0),
        5: (I64, len(slots)),
        6: (I64, size),
        7: (I64, size),
        9: (I64, start),
    }
    return _Chunk(_struct({2: (I64, start), 3: (STRUCT, _struct(facts))}), size)


def _levels(levels: Sequence[int], most: int) -> bytes:
    if most == 0:
        return b""
    runs = ((value, len(list(run))) for value, run in groupby(levels))
    encoded = b"".join(_varint(count << 1) + bytes([value]) for value, count in runs)
    return struct.pack("<I", len(encoded)) + encoded


def _values(values: Sequence[Any], kind: int) -> bytes:
    if kind == BOOLEAN:
        bits = sum(bool(value) << number for number, value in enumerate(values))
        return bits.to_bytes((len(values) + 7) // 8, "little")
    plain = [value.encode() if isinstance(value, str) else value for value in values]
    return b"".join(struct.pack("<I", len(value)) + value for value in plain)


def _schema() -> Iterator[bytes]:
    def node(name: str, repetition: int | None, **more: int) -> bytes:
        fields: dict[int, tuple[int, Any]] = {4: (TEXT, name)}
        if repetition is not None:
            fields[3] = (I32, repetition)
        numbers = {"kind": 1, "children": 5, "converted": 6}
        fields |= {numbers[key]: (I32, value) for key, value in more.items()}
        return _struct(dict(sorted(fields.items())))

    yield node("schema", None, children=5)
    yield node("image", OPTIONAL, children=2)
    yield node("bytes", OPTIONAL, kind=BYTES)
    yield node("path", OPTIONAL, kind=BYTES, converted=UTF8)
    for name in TEXT_LISTS:
        yield node(name, OPTIONAL, children=1, converted=LIST)
        yield node("list", REPEATED, children=1)
        yield node("element", OPTIONAL, kind=BYTES, converted=UTF8)
    yield node("is_focused", OPTIONAL, kind=BOOLEAN)


def _struct(fields: Mapping[int, tuple[int, Any]]) -> bytes:
    """A struct in the compact protocol: field number -> type and value, in order of number."""
    out = bytearray()
    last = 0
    for number, (kind, value) in fields.items():
        out.append((number - last) << 4 | kind)
        last = number
        match kind:
            case 5 | 6:
                out += _integer(value)
            case 8:
                out += _text(value)
            case 9:
                item, items = value
                size = len(items)
                out += bytes([size << 4 | item]) if size < 15 else bytes([0xF0 | item])
                out += b"" if size < 15 else _varint(size)
                out += b"".join(items)
            case 12:
                out += value
    return bytes(out) + b"\0"


def _integer(value: int) -> bytes:
    return _varint(value << 1 ^ value >> 63)


def _text(value: str) -> bytes:
    data = value.encode()
    return _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
