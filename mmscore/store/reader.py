"""The records of a run's files, read in order and looked up where they lie."""

from __future__ import annotations

import codecs
import json
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

from mmscore.disk import open_for_reading, words
from mmscore.errors import DataError
from mmscore.store.records import Line
from mmscore.store.spelling import RecordError

AnyLine = TypeVar("AnyLine", bound=Line)

HELD_BYTES = 4 * 1024 * 1024
"""Of a file no longer than this the records stay in memory once they were read in order."""

_BUFFER = 1 << 16
"""Samples end nearly in the order of the data set: the next record is most often in the buffer."""


class RecordReader(Generic[AnyLine]):
    """The records of a file of a run, in order or by the byte where their line begins.

    Any thread may ask. Whoever reads a small file in order and looks its records up afterwards
    parses each once; of a large one, one record is in memory at a time.
    """

    def __init__(
        self,
        path: Path,
        kind: type[AnyLine],
        *,
        hold: bool = True,
        then: Callable[[AnyLine], AnyLine] | None = None,
    ) -> None:
        """Remember the file; it is opened for the first record.

        Args:
            path: The file.
            kind: What its lines are.
            hold: Whether the records of a small file stay in memory.
            then: What is done to each record that is looked up or read in order.
        """
        self.path = path
        self._kind = kind
        self._hold = hold
        self._then = then
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()
        self._held: dict[int, AnyLine] = {}

    def placed(self, damaged: Callable[[str], None] | None = None) -> Iterator[tuple[int, AnyLine]]:
        """Yield the byte where each line begins, with its record.

        A record is whole only with its newline: what follows the last one is torn and left out.

        Args:
            damaged: Who hears why a line in the midst is no record, which is then passed over;
                None stops on it.

        Raises:
            DataError: The file is missing, or a line in its midst is no record.
        """
        place = 0
        with self._opened() as file:
            hold = self._hold and os.fstat(file.fileno()).st_size <= HELD_BYTES
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    record = self._record(line, f"line {number}")
                except DataError as error:
                    if damaged is None:
                        raise
                    damaged(error.message)
                else:
                    if hold:
                        self._held[place] = record
                    yield place, record
                place += len(line)

    def at(self, place: int) -> AnyLine:
        """The record whose line begins at that byte.

        Raises:
            DataError: There is none: the file is gone or another one.
        """
        held = self._held.get(place)
        if held is not None:
            return held
        with self._lock:
            if self._file is None:
                self._file = self._opened()
            self._file.seek(place)
            line = self._file.readline()
        return self._record(line, f"byte {place}")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _opened(self) -> BinaryIO:
        try:
            return open_for_reading(self.path, _BUFFER)
        except OSError as error:
            raise DataError(f"cannot read `{self.path}`: {words(error)}") from None

    def _record(self, line: bytes, place: str) -> AnyLine:
        try:
            record = self._kind.from_json(json_object(line))
            return record if self._then is None else self._then(record)
        except RecordError as error:
            raise DataError(
                f"`{self.path}, {place}` {error}",
                hint="restore the file, or remove that line: its sample is asked or scored again",
            ) from None
        except ValueError as error:
            raise DataError(
                f"`{self.path}, {place}` {error}",
                hint="only the last line may be torn; restore the file or remove that line",
            ) from None


class LastRecords(Mapping[Any, AnyLine]):
    """The last record of each key in a file of a run; of a large file only its place in memory."""

    def __init__(
        self,
        path: Path,
        kind: type[AnyLine],
        wanted: Callable[[AnyLine], bool] = lambda _: True,
        damaged: Callable[[str], None] | None = None,
        then: Callable[[AnyLine], AnyLine] | None = None,
    ) -> None:
        """Find the places, in the order in which the keys first occur.

        Args:
            path: The file; it may grow later, which changes nothing here.
            kind: What its lines are.
            wanted: Which keys count, by their last record.
            damaged: Who hears of a damaged line, which is passed over; None stops on it.
            then: What is done to each record.

        Raises:
            DataError: The file is missing, or a line in its midst is no record.
        """
        self._reader = RecordReader(path, kind, then=then)
        places: dict[Any, int] = {}
        unwanted: set[Any] = set()
        for place, record in self._reader.placed(damaged):
            places[record.key] = place
            if wanted(record):
                unwanted.discard(record.key)
            else:
                unwanted.add(record.key)
        for key in unwanted:
            del places[key]
        self._places = places

    def __getitem__(self, key: Any) -> AnyLine:
        return self._reader.at(self._places[key])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def close(self) -> None:
        """Let go of the file."""
        self._reader.close()


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def json_object(data: bytes) -> dict[str, Any]:
    """The object of a JSON text.

    Raises:
        ValueError: It is none; the words go behind its place.
    """
    if data.startswith(codecs.BOM_UTF8):
        raise ValueError("begins with a byte order mark, which another program put there")
    try:
        text = data.decode().strip()
        value, end = _DECODER.raw_decode(text)  # `decode` would look for blanks twice
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON: {error}") from None
    if end < len(text):
        raise ValueError("is no JSON: it goes on behind its end")
    if not isinstance(value, dict):
        raise ValueError(f"holds {type(value).__name__}, expected an object")  # noqa: TRY004
    return value
