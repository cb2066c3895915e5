"""A run's journal: append-only records, repaired after a crash, locked against a second writer.

Each record is one write of one line, so a process killed at any instant leaves at most one torn
line at the end; opening the folder again cuts it off. Lines end in a newline alone, text is UTF-8,
and no image ever lands here.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Generic, Protocol, Self, TypeVar

from mmscore.disk import O_BINARY, storage_error, try_lock, words, write_whole
from mmscore.errors import DataError, StorageError
from mmscore.store.spelling import RecordError

PREDICTIONS = "predictions.jsonl"
SCORES = "scores.jsonl"
JUDGEMENTS = "judgements.jsonl"

Notice = Callable[[str], None]


class KeptRecord(Protocol):
    """A record that is a line of a file of a run: `Prediction`, `Score` or `Judgement`."""

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Self:
        """The record that an object of JSON tells of."""

    @classmethod
    def key_in(cls, record: Mapping[str, Any]) -> Any:
        """What the record that an object of JSON tells of is known by."""

    def to_json(self) -> dict[str, Any]:
        """The object of JSON that tells of it."""


AnyRecord = TypeVar("AnyRecord", bound=KeptRecord)
Read = TypeVar("Read")
"""What is made of a line's JSON."""


class AppendFile:
    """A JSONL file that only grows; a torn last line is cut off when it is opened."""

    def __init__(self, path: Path, notice: Notice) -> None:
        """Open or make the file.

        Raises:
            StorageError: It cannot be written, or another process holds it.
        """
        self.path = path
        self._lock = threading.Lock()
        self._fd = _own(path)
        self._size = self._cut_torn_line(notice)

    def append(self, record: KeptRecord) -> None:
        """Write one record.

        Raises:
            StorageError: The disk is full or gone, and what was written of the record is taken
                back; or the file was deleted, and nothing would be kept.
        """
        line = encode(record)
        with self._lock:
            if os.fstat(self._fd).st_nlink == 0:
                raise StorageError(
                    f"`{self.path}` was deleted while the run was writing it",
                    hint="the replies so far are lost with it; start the run again",
                )
            try:
                written = 0
                while written < len(line):
                    written += os.write(self._fd, line[written:])
            except OSError as error:
                os.ftruncate(self._fd, self._size)
                raise storage_error(self.path, error, needed=len(line)) from None
            self._size += len(line)

    def rewrite(self, lines: Iterable[bytes]) -> None:
        """Put `lines` in the place of all records; a reader sees the old file or the new one.

        Raises:
            StorageError: They cannot be written, and the old ones stand; or another process took
                the file in between.
        """
        with self._lock:
            write_whole(self.path, lines)
            fd = _own(self.path)
            os.close(self._fd)
            self._fd, self._size = fd, os.fstat(fd).st_size

    def close(self) -> None:
        """Put what was written on the disk and let go of the file."""
        with self._lock:
            if self._fd >= 0:
                with contextlib.suppress(OSError):  # append has reported what matters
                    os.fsync(self._fd)
                os.close(self._fd)
                self._fd = -1

    def _cut_torn_line(self, notice: Notice) -> int:
        size = os.fstat(self._fd).st_size
        end = size
        block = 65536
        while end > 0:
            start = max(0, end - block)
            os.lseek(self._fd, start, os.SEEK_SET)
            at = os.read(self._fd, end - start).rfind(b"\n")
            if at >= 0:
                end = start + at + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._fd, end)
            notice(f"cut {size - end} bytes of a torn last record off `{self.path}`")
        return end


def _own(path: Path) -> int:
    """Open or make a file for this process alone.

    Raises:
        StorageError: It cannot be written, or another process holds it.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | O_BINARY, 0o666)
    except OSError as error:
        raise storage_error(path, error) from None
    # Its holder may have put another file in its place and closed this one.
    try:
        ours = try_lock(fd) and os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        ours = False
    if not ours:
        os.close(fd)
        raise StorageError(
            f"another process is writing `{path}`",
            hint="wait for that run to end, or give this one another folder with --out",
        )
    return fd


def encode(record: KeptRecord) -> bytes:
    """One line of JSONL in UTF-8; a lone surrogate, which has no UTF-8, becomes U+FFFD."""
    text = json.dumps(record.to_json(), ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() + b"\n"


def placed(path: Path, kind: type[AnyRecord]) -> Iterator[tuple[int, AnyRecord]]:
    """Yield the byte where each line of a file of a run begins, with its record.

    A record is whole only with its newline: what follows the last one is torn and left out. One
    line is in memory at a time.

    Raises:
        DataError: The file is missing, or a line in its midst is no record.
    """
    return _placed(path, kind.from_json)


def _placed(path: Path, read: Callable[[dict[str, Any]], Read]) -> Iterator[tuple[int, Read]]:
    place = 0
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            yield place, _record(line, read, path, f"line {number}")
            place += len(line)


class RecordReader(Generic[AnyRecord]):
    """Records of a file of a run by the byte where their line begins; any thread may ask."""

    def __init__(self, path: Path, kind: type[AnyRecord]) -> None:
        """Remember the file; it is opened for the first record."""
        self.path = path
        self._kind = kind
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def at(self, place: int) -> AnyRecord:
        """The record whose line begins at that byte.

        Raises:
            DataError: There is none: the file is gone or another one.
        """
        with self._lock:
            if self._file is None:
                self._file = _opened(self.path)
            self._file.seek(place)
            line = self._file.readline()
        return _record(line, self._kind.from_json, self.path, f"byte {place}")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


class LastRecords(Mapping[Any, AnyRecord]):
    """The last record of each key in a file of a run, in memory only as a place in the file."""

    def __init__(
        self,
        path: Path,
        kind: type[AnyRecord],
        wanted: Callable[[Mapping[str, Any]], bool] = lambda _: True,
    ) -> None:
        """Find the places, in the order in which the keys first occur.

        Args:
            path: The file; it may grow later, which changes nothing here.
            kind: What its lines are.
            wanted: Which keys count, by the JSON of their last record.

        Raises:
            DataError: The file is missing, or a line in its midst is no record.
        """

        def glance(record: dict[str, Any]) -> tuple[Any, bool]:
            return kind.key_in(record), wanted(record)

        places: dict[Any, int] = {}
        unwanted: set[Any] = set()
        for place, (key, counts) in _placed(path, glance):
            places[key] = place
            if counts:
                unwanted.discard(key)
            else:
                unwanted.add(key)
        for key in unwanted:
            del places[key]
        self._places = places
        self._reader = RecordReader(path, kind)

    def __getitem__(self, key: Any) -> AnyRecord:
        return self._reader.at(self._places[key])

    def __iter__(self) -> Iterator[Any]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def close(self) -> None:
        """Let go of the file."""
        self._reader.close()


_BUFFER = 1 << 16
"""Samples end nearly in the order of the data set: the next record is most often in the buffer."""


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb", buffering=_BUFFER)
    except OSError as error:
        raise DataError(f"cannot read `{path}`: {words(error)}") from None


def _record(line: bytes, read: Callable[[dict[str, Any]], Read], path: Path, place: str) -> Read:
    try:
        record = json_object(line)
    except ValueError as error:
        raise DataError(
            f"`{path}, {place}` {error}",
            hint="only the last line may be torn; restore the file or remove that line",
        ) from None
    try:
        return read(record)
    except RecordError as error:
        raise DataError(f"`{path}, {place}` {error}", hint=_LINE_HINT) from None


_LINE_HINT = "restore the file, or remove that line: its sample is asked or scored again"


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def json_object(data: bytes) -> dict[str, Any]:
    """The object of a JSON text.

    Raises:
        ValueError: It is none; the words go behind its place.
    """
    try:
        value = _DECODER.decode(data.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"holds {type(value).__name__}, expected an object")  # noqa: TRY004
    return value
