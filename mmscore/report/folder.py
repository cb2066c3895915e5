"""A run's folder as values, whatever state the run was left in."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmscore.errors import DataError
from mmscore.records import FAILED

SCHEMA = 1
"""The version of `run.json` this module understands."""

Key = tuple[str, int]
"""What a sample's line is known by: its id and its repeat."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a run's folder holds.

    Attributes:
        directory: The folder.
        info: `run.json`.
        predictions: The last line of each (id, repeat), in the order of the data set.
        scores: The last line of each (id, repeat) of `scores.jsonl`.
    """

    directory: Path
    info: Mapping[str, Any]
    predictions: tuple[Mapping[str, Any], ...]
    scores: Mapping[Key, Mapping[str, Any]]

    @property
    def benchmark(self) -> Mapping[str, Any]:
        """What `run.json` says of the benchmark."""
        found: Mapping[str, Any] = self.info["benchmark"]
        return found

    def score_of(self, prediction: Mapping[str, Any]) -> Mapping[str, Any]:
        """The score line of a prediction; empty where there is none.

        A failed prediction has none, even if an earlier asking of the sample was scored.
        """
        if prediction.get("status") in FAILED:
            return {}
        return self.scores.get(key(prediction), {})


def key(line: Mapping[str, Any]) -> Key:
    """The (id, repeat) of a line."""
    return line["id"], line.get("repeat", 0)


def load(directory: Path) -> Run:
    """A run's folder as values; half-finished and torn ones too.

    The last line of a sample counts, because a resumed run appends. A torn last line is left
    out: its sample was in flight when the run stopped.

    Raises:
        DataError: The folder is no run's folder, or a line inside a file is damaged.
    """
    info = _info(directory / "run.json")
    last = {key(line): line for line in _lines(directory / "predictions.jsonl")}
    scores = {key(line): line for line in _lines(directory / "scores.jsonl")}
    # Samples end in any order; sums must not depend on it.
    ordered = sorted(last.values(), key=lambda p: (p.get("index", 0), p.get("repeat", 0), p["id"]))
    return Run(directory, info, tuple(ordered), scores)


def _info(path: Path) -> dict[str, Any]:
    hint = "give the folder that a run wrote, the one with run.json in it"
    if not path.is_file():
        raise DataError(f"`{path.parent}` is no run's folder: there is no run.json", hint=hint)
    info = _object(_bytes(path), str(path))
    version = info.get("schema_version")
    if not isinstance(version, int) or version > SCHEMA:
        raise DataError(
            f"`{path}` has schema_version {version!r}, this mmscore reads up to {SCHEMA}",
            hint="a newer mmscore wrote it; upgrade with `pip install -U mmscore`",
        )
    if not isinstance(info.get("benchmark"), dict):
        raise DataError(f"`{path}` names no benchmark", hint=hint)
    return info


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSONL file; nothing where it does not exist yet.

    A record is whole only with its newline: what follows the last one is torn, and a resumed run
    cuts it off.
    """
    if not path.exists():
        return
    for number, line in enumerate(_bytes(path).split(b"\n")[:-1], 1):
        record = _object(line, f"{path}, line {number}")
        if not isinstance(record.get("id"), str):
            raise DataError(f"`{path}`, line {number} has no `id`")
        yield record


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read `{path}`: {error.strerror}") from error


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _object(data: bytes, place: str) -> dict[str, Any]:
    try:
        value = _DECODER.decode(data.decode())
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"`{place}` is no JSON: {error}",
            hint="only the last line may be torn; restore the file or remove that line",
        ) from error
    if not isinstance(value, dict):
        raise DataError(f"`{place}` holds {type(value).__name__}, expected an object")
    return value
