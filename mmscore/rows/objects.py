"""JSON and JSON Lines: rows that are objects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from mmscore.errors import DataError
from mmscore.rows.base import LATE_BYTES, Cell, Row, Want
from mmscore.rows.text import Place, Record, TextFile

LATE_DEPTH = 8
"""How deep inside a JSON value large strings are looked for; deeper ones are read at once."""

_parse_json = json.JSONDecoder().decode


def _json_value(record: Record) -> object:
    """The value of a record that is a JSON text."""
    text, place = record.text(), record.place
    try:
        return _parse_json(text)
    except json.JSONDecodeError as error:
        at = place.offset + len(text[: error.pos].encode())
        what = error.msg[:1].lower() + error.msg[1:].removesuffix(" at")
        hint = None
        if what == "extra data" and place.path.suffix.lower() == ".json":
            hint = "a file of one object a line is JSON Lines: name it `.jsonl`"
        raise DataError(
            f"`{place.path}` line {place.number + error.lineno - 1} column {error.colno} "
            f"(byte {at}) is not JSON: {what}",
            hint=hint,
        ) from None
    except RecursionError:
        raise DataError(f"{place.name} is JSON nested too deeply") from None
    except ValueError as error:  # an integer of more digits than Python converts
        raise DataError(f"{place.name}: {error}") from None


KINDS = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}


def _object(value: object, place: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DataError(f"{place} holds {KINDS[type(value)]}, expected an object")
    return value


def read_json(path: Path, want: Want) -> Iterator[Row]:
    """One document: a list of objects. It is held whole, so large sets belong into JSON Lines."""
    with TextFile(path) as file:
        record = file.rest()
    if not record.raw or record.raw.isspace():
        return
    document = _json_value(record)
    if not isinstance(document, list):
        raise DataError(
            f"`{path}` holds {KINDS[type(document)]} at the top, expected a list of objects"
        )
    for number, value in enumerate(document, 1):
        try:
            values = _object(value, f"`{path}` row {number}")
        except DataError as error:
            want.bad_row(error)
            continue
        yield Row(_kept(values, want), path, number)


def read_jsonl(path: Path, want: Want) -> Iterator[Row]:
    """One object a line."""
    with TextFile(path) as file:
        for line in file:
            if not line.raw or line.raw.isspace():
                continue
            try:
                values = _object(_json_value(line), line.place.name)
            except DataError as error:
                want.bad_row(error)
                continue
            if len(line.raw) > LATE_BYTES and want.late:
                values = _leave_late(values, line.place, want)
            yield Row(_kept(values, want), path, line.place.number)


def _kept(values: dict[str, object], want: Want) -> dict[str, object]:
    if want.columns is None:
        return values
    return {name: value for name, value in values.items() if name in want.columns}


def _leave_late(values: dict[str, object], place: Place, want: Want) -> dict[str, object]:
    """The row with a `Cell` for each large string of the late columns, however deep inside."""

    def leave(value: object, at: tuple[str | int, ...]) -> object:
        if isinstance(value, str) and len(value) > LATE_BYTES:
            return Cell(f"{place.name} column `{at[0]}`", partial(_load, place, at))
        if isinstance(value, list) and len(at) < LATE_DEPTH:
            return [leave(item, (*at, index)) for index, item in enumerate(value)]
        if isinstance(value, dict) and len(at) < LATE_DEPTH:
            return {key: leave(item, (*at, key)) for key, item in value.items()}
        return value

    return {
        name: leave(value, (name,)) if name in want.late else value
        for name, value in values.items()
    }


def _load(place: Place, at: tuple[str | int, ...]) -> object:
    value: Any = _json_value(place.read())
    for key in at:
        value = value[key]
    return value
