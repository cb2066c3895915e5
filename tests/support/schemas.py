"""JSON Schemas: those of records drawn from their fields, and what in a value breaks one."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mmscore.store.info import RunInfo
from mmscore.store.messages import SentMessage
from mmscore.store.records import Judgement, Prediction, Score
from mmscore.store.spelling import Record, Shape, Spelling
from mmscore.store.texts import Text
from support import ROOT

FOLDER = ROOT / "mmscore" / "store" / "schemas"
REPORT = ROOT / "mmscore" / "report" / "schemas" / "report.schema.json"
DRAFT = "https://json-schema.org/draft/2020-12/schema"

RECORDS: Mapping[str, tuple[type[Record], str]] = {
    "run": (RunInfo, "run.json"),
    "prediction": (Prediction, "a line of predictions.jsonl and of replaced.jsonl"),
    "score": (Score, "a line of scores.jsonl"),
    "judgement": (Judgement, "a line of judgements.jsonl"),
    "text": (Text, "a line of texts.jsonl"),
}
"""Name of a schema -> the record, and where it stands."""

TYPES = {
    str: "string", int: "integer", float: "number", bool: "boolean", list: "array",
    dict: "object", type(None): "null",
}  # fmt: skip

ODD: Mapping[tuple[type, str], dict[str, Any]] = {
    (SentMessage, "parts"): {
        "type": "array",
        "items": {
            "anyOf": [
                {"type": "string", "description": "a text"},
                {"type": "integer", "description": "the place of a medium in `media`"},
                {"type": "null", "description": "the `question`"},
                {
                    "type": "object",
                    "description": "a text of texts.jsonl, by its id",
                    "properties": {"text": {"type": "string"}},
                    "required": ["text"],
                },
            ]
        },
    },
    (Prediction, "turns"): {
        "type": ["array", "null"],
        "items": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
    },
}
"""Fields that a table of types does not say whole."""


def drawn(name: str) -> str:
    """The schema of a record as its file holds it."""
    kind, place = RECORDS[name]
    schema = {"$schema": DRAFT, "title": place, **_object(kind.SHAPE, kind)}
    return json.dumps(schema, ensure_ascii=False, indent=2) + "\n"


def _object(shape: Shape, kind: type | None = None) -> dict[str, Any]:
    said = _said(kind) if kind else {}
    properties = {}
    for name, spelling in shape.spellings.items():
        odd = ODD.get((kind, name)) if kind else None
        words = {"description": said[name]} if name in said else {}
        properties[name] = {**(odd or _field(spelling)), **words}
    needed = [name for name, one in shape.spellings.items() if one.default is ...]
    return {"type": "object", "properties": properties, "required": needed}


def _field(spelling: Spelling) -> dict[str, Any]:
    kinds = set(spelling.kinds)
    if float in kinds:
        kinds.discard(int)
    names = [word for kind, word in TYPES.items() if kind in kinds]
    field: dict[str, Any] = {"type": names[0] if len(names) == 1 else names}
    inside = spelling.of
    if isinstance(inside, tuple):
        field["enum"] = list(inside)
    elif inside is not None and list in kinds:
        field["items"] = _inside(inside)
    elif isinstance(inside, Shape):
        field |= {**_object(inside), "type": field["type"]}
    elif isinstance(inside, type) and issubclass(inside, Record):
        field |= {**_object(inside.SHAPE, inside), "type": field["type"]}
    elif inside is not None:
        field["additionalProperties"] = {"type": TYPES[inside]}
    return field


def _inside(inside: Any) -> dict[str, Any]:
    return _object(inside.SHAPE, inside) if issubclass(inside, Record) else {"type": TYPES[inside]}


def _said(kind: type) -> dict[str, str]:
    """Field -> what the record's docstring says of it."""
    text = (inspect.getdoc(kind) or "").partition("Attributes:\n")[2]
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = re.fullmatch(r"    (\w+): (.*)", line)
        if match:
            name = match[1]
            found[name] = match[2]
        elif line.strip():
            found[name] += " " + line.strip()
    return found


def breaches(value: Any, schema: Mapping[str, Any], place: str = "$") -> Iterator[str]:
    """Where a value breaks a schema of the few words that ours are written with."""
    unknown = set(schema) - _WORDS
    assert not unknown, f"{place}: this validator does not know {unknown}"
    if "anyOf" in schema:
        if all(any(breaches(value, one, place)) for one in schema["anyOf"]):
            yield f"{place}: {value!r} is none of what it may be"
        return
    types = schema.get("type", list(TYPES.values()))
    types = [types] if isinstance(types, str) else types
    word = TYPES[type(value)]
    if word not in types and not (word == "integer" and "number" in types):
        yield f"{place}: {value!r} is {word}, expected {types}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{place}: {value!r} is none of {schema['enum']}"
    if isinstance(value, dict):
        yield from _of_object(value, schema, place)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{place}: {len(value)} items"
        for number, one in enumerate(value):
            yield from breaches(one, schema.get("items", {}), f"{place}[{number}]")


_WORDS = {
    *("$schema", "title", "description", "type", "properties", "required", "items", "anyOf"),
    *("enum", "additionalProperties", "minItems", "maxItems"),
}


def _of_object(value: dict[str, Any], schema: Mapping[str, Any], place: str) -> Iterator[str]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    yield from (f"{place}: no `{n}`" for n in schema.get("required", ()) if n not in value)
    for name, one in value.items():
        if name in properties:
            yield from breaches(one, properties[name], f"{place}.{name}")
        elif others is False:
            yield f"{place}: `{name}` is not in the schema"
        else:
            yield from breaches(one, others, f"{place}.{name}")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in RECORDS:
        Path(FOLDER / f"{name}.schema.json").write_text(drawn(name), encoding="utf-8")
