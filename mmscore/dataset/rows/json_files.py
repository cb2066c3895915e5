"""JSON and JSON Lines: rows that are objects."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mmscore.dataset.rows.row import HEAD_BYTES, LATE_BYTES, Cell, Row, Want
from mmscore.dataset.rows.text import Place, Record, TextFile, load_text
from mmscore.error_text import what
from mmscore.errors import DataError

LATE_DEPTH = 8
"""How deep inside a JSON value large strings are looked for; deeper ones are read at once."""

LARGE_STRING = re.compile(
    rb'"((?:data:[^"\\\0-\x1f]{0,200}?,)?[A-Za-z0-9+/=_-]{%d,}+)"' % LATE_BYTES
)
"""A string of base64, with or without a `data:` prefix, as JSON has it without escapes.

Between two strings JSON has one of `,:[]{}`, so what fits is one string or the end of one."""

BEGINS_AS_MEDIA = re.compile(r"data:|\s*\[|[A-Za-z0-9+/_-]{64}")
"""How large strings begin that are left in the file, lists in JSON text too; prose is not."""

_MARK = "\x7fcell "
"""With a number, what stands for a string taken out; should a text say so too, all is put back."""

_parse_json = json.JSONDecoder().decode
_parse_start = json.JSONDecoder().raw_decode


def _parsed(text: str) -> object:
    """The value of a JSON text; blanks round it, and faults, are left to the slower parser."""
    try:
        value, end = _parse_start(text)
    except json.JSONDecodeError:
        end = -1
    return value if end == len(text) else _parse_json(text)


def _json_value(record: Record) -> object:
    """The value of a record that is a JSON text."""
    text = record.text()
    try:
        return _parsed(text)
    except json.JSONDecodeError as error:
        place = record.place
        at = place.offset + len(text[: error.pos].encode())
        fault = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        hint = None
        if fault == "extra data" and place.path.suffix.lower() == ".json":
            hint = "a file of one object a line is JSON Lines: name it `.jsonl`"
        if text.startswith("[") and place.path.suffix.lower() == ".jsonl":
            hint = "a list of objects is JSON: name the file `.json`"
        raise DataError(
            f"`{place.path}` line {place.number + error.lineno - 1} column {error.colno} "
            f"(byte {at}) is not JSON: {fault}",
            hint=hint,
        ) from None
    except RecursionError:
        raise DataError(f"{record.place.name} is JSON nested too deeply") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise DataError(f"{record.place.name}: {error}") from None


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DataError(f"{place} holds {what(value)}, expected an object")
    return value


def read_json(path: Path, want: Want) -> Iterator[Row]:
    """One document: a list of objects. It is held whole, so large sets belong into JSON Lines."""
    with TextFile(path) as file:
        record = file.rest()
    if not record.raw or record.raw.isspace():
        return
    document = _json_value(record)
    if not isinstance(document, list):
        raise DataError(f"`{path}` holds {what(document)} at the top, expected a list of objects")
    for number, value in enumerate(document, 1):
        try:
            values = _object(value, f"`{path}` row {number}")
        except DataError as error:
            want.bad_row(error)
            continue
        yield Row.at(_kept(values, want), path, number)


def read_jsonl(path: Path, want: Want) -> Iterator[Row]:
    """One object a line."""
    with TextFile(path) as file:
        for line in file:
            if not line.raw or line.raw.isspace():
                continue
            try:
                if len(line.raw) > LATE_BYTES and want.late:
                    values = _with_late(line, want)
                else:
                    value = _json_value(line)
                    values = value if isinstance(value, dict) else _object(value, line.place.name)
            except DataError as error:
                want.bad_row(error)
                continue
            number = line.number
            del line  # it may be large, and whoever takes the row may take their time
            yield Row.at(values if want.columns is None else _kept(values, want), path, number)


def _kept(values: dict[str, object], want: Want) -> dict[str, object]:
    if want.columns is None:
        return values
    return {name: value for name, value in values.items() if name in want.columns}


# --- large strings -----------------------------------------------------------------------------


def _with_late(line: Record, want: Want) -> dict[str, object]:
    """The object of a line with a `Cell` for each large string of the late columns."""
    place = line.place

    def left(start: int, end: int) -> Callable[[], object]:
        return partial(load_text, place.part(start, end))

    def is_late(at: tuple[str | int, ...]) -> bool:
        return at[0] in want.late

    lifted = _lifted(line.raw, f"{place.name} column", left, is_late)
    if lifted is not None:
        return _object(lifted, place.name)
    return _left_late(_object(_json_value(line), place.name), place, want)


def json_with_cells(cell: Cell) -> object:
    """The value of a cell of JSON text, its large strings of base64 left in the cell.

    Raises:
        ValueError: It is no JSON.
        RecursionError: It is nested too deeply.
    """
    text = str(cell.read())

    def left(start: int, end: int) -> Callable[[], object]:
        return lambda: str(cell.read()).encode()[start:end].decode()

    def written(value: str, at: tuple[str | int, ...]) -> object:
        load = partial(_follow, lambda: _parse_json(str(cell.read())), at)
        return Cell(f"{cell.name} at `{_path(at)}`", load, value[:HEAD_BYTES])

    lifted = _lifted(text.encode(), f"{cell.name} at", left, lambda _: True)
    return _replaced(_parse_json(text), (), _is_large, written) if lifted is None else lifted


def _lifted(
    raw: bytes,
    name: str,
    left: Callable[[int, int], Callable[[], object]],
    is_late: Callable[[tuple[str | int, ...]], bool],
) -> object:
    """The value of a JSON text whose large strings are taken out before it is read.

    So they are neither decoded nor copied, and found again by their place alone.

    Args:
        raw: The text.
        name: Its place in words, before a path inside it.
        left: Gives what reads some bytes of the text again.
        is_late: Whether the strings at a path are left; others are put back.

    Returns:
        The value; None where it is better read whole: no large string is there, one is part of
        another or lies too deep, or the text is no JSON, which is then told as such.
    """
    spans, pieces, last = {}, [], 0
    for number, string in enumerate(LARGE_STRING.finditer(raw)):
        mark = f"{_MARK}{number}"
        spans[mark] = string.span(1)
        pieces += [raw[last : string.start(1)], mark.encode()]
        last = string.end(1)
    if not spans:
        return None
    found = 0

    def cell(value: str, at: tuple[str | int, ...]) -> object:
        nonlocal found
        found += 1
        start, end = spans[value]
        if not is_late(at):
            return raw[start:end].decode()
        head = raw[start : min(end, start + HEAD_BYTES)].decode()
        return Cell(f"{name} `{_path(at)}`", left(start, end), head)

    try:
        value = _parse_json(b"".join([*pieces, raw[last:]]).decode())
        value = _replaced(value, (), spans.__contains__, cell)
    except (ValueError, RecursionError):
        return None
    return value if found == len(spans) else None


def _left_late(values: dict[str, object], place: Place, want: Want) -> dict[str, object]:
    """The row with a `Cell` for each large string of the late columns that begins like media."""

    def cell(value: str, at: tuple[str | int, ...]) -> object:
        load = partial(_follow, lambda: _json_value(place.read()), at)
        return Cell(f"{place.name} column `{_path(at)}`", load, value[:HEAD_BYTES])

    return {
        name: _replaced(value, (name,), _is_large, cell) if name in want.late else value
        for name, value in values.items()
    }


def _is_large(text: str) -> bool:
    return len(text) > LATE_BYTES and BEGINS_AS_MEDIA.match(text) is not None


def _replaced(
    value: object,
    at: tuple[str | int, ...],
    is_meant: Callable[[str], bool],
    new: Callable[[str, tuple[str | int, ...]], object],
) -> object:
    """A JSON value with some of its strings replaced, however deep up to `LATE_DEPTH`."""
    if isinstance(value, str):
        return new(value, at) if at and is_meant(value) else value
    if isinstance(value, list) and len(at) < LATE_DEPTH:
        return [_replaced(item, (*at, index), is_meant, new) for index, item in enumerate(value)]
    if isinstance(value, dict) and len(at) < LATE_DEPTH:
        return {key: _replaced(item, (*at, key), is_meant, new) for key, item in value.items()}
    return value


def _path(at: tuple[str | int, ...]) -> str:
    """A path inside a value, as Python would follow it: `messages[0].content[1].image_url.url`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in at)
    return "".join(steps).removeprefix(".")


def _follow(load: Callable[[], Any], at: tuple[str | int, ...]) -> object:
    value = load()
    for key in at:
        value = value[key]
    return value
