"""A run's folder: append-only records, repaired after a crash, locked against a second writer.

Each record is one write of one line, so a process killed at any instant leaves at most one torn
line at the end; opening the folder again cuts it off. Lines end in a newline alone, text is UTF-8,
and no image ever lands here.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from mmscore.errors import DataError, StorageError

RUN = "run.json"
PREDICTIONS = "predictions.jsonl"
SCORES = "scores.jsonl"

SCHEMA = 1
"""The version of `run.json` this module understands."""

Notice = Callable[[str], None]

Key = tuple[str, int]
"""What a sample's record is known by: its id and its repeat."""

Name = TypeVar("Name")
"""What a record is looked up by."""


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

    def append(self, record: Mapping[str, Any]) -> None:
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


_O_BINARY = getattr(os, "O_BINARY", 0)


def _own(path: Path) -> int:
    """Open or make a file for this process alone.

    Raises:
        StorageError: It cannot be written, or another process holds it.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _O_BINARY, 0o666)
    except OSError as error:
        raise storage_error(path, error) from None
    try:
        _lock_file(fd)
        # Its holder may have put another file in its place and closed this one.
        ours = os.path.samestat(os.fstat(fd), path.stat())
    except OSError:
        ours = False
    if not ours:
        os.close(fd)
        raise StorageError(
            f"another process is writing `{path}`",
            hint="wait for that run to end, or give this one another folder with --out",
        )
    return fd


def _lock_file(fd: int) -> None:
    """Take the file for this process; the system lets go of it however the process ends."""
    if os.name == "nt":
        import msvcrt

        # Far behind any record, so that readers are not kept out.
        os.lseek(fd, 1 << 40, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
    else:
        import fcntl

        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


def encode(record: Mapping[str, Any]) -> bytes:
    """One line of JSONL in UTF-8; a lone surrogate, which has no UTF-8, becomes U+FFFD."""
    text = json.dumps(record, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() + b"\n"


def key(record: Mapping[str, Any]) -> Key:
    """The (id, repeat) of a record."""
    return record["id"], record.get("repeat", 0)


def placed_records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the byte where each line of a JSONL file of a run begins, with its record.

    A record is whole only with its newline: what follows the last one is torn and left out. One
    line is in memory at a time.

    Raises:
        DataError: The file is missing, or a line in its midst is no record.
    """
    place = 0
    with _opened(path) as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            yield place, _record(line, path, f"line {number}")
            place += len(line)


class RecordReader:
    """Records of a JSONL file by the byte where their line begins; any thread may ask."""

    def __init__(self, path: Path) -> None:
        """Remember the file; it is opened for the first record."""
        self.path = path
        self._file: BinaryIO | None = None
        self._lock = threading.Lock()

    def at(self, place: int) -> dict[str, Any]:
        """The record whose line begins at that byte.

        Raises:
            DataError: There is none: the file is gone or another one.
        """
        with self._lock:
            if self._file is None:
                self._file = _opened(self.path)
            self._file.seek(place)
            line = self._file.readline()
        return _record(line, self.path, f"byte {place}")

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None


class LastRecords(Mapping[Name, dict[str, Any]]):
    """The last record of each name in a JSONL file, in memory only as a place in the file."""

    def __init__(
        self,
        path: Path,
        name: Callable[[Mapping[str, Any]], Name],
        wanted: Callable[[Mapping[str, Any]], bool] = lambda _: True,
    ) -> None:
        """Find the places, in the order in which the names first occur.

        Args:
            path: The file; it may grow later, which changes nothing here.
            name: What a record is known by.
            wanted: Which names count, by their last record.

        Raises:
            DataError: The file is missing, or a line in its midst is no record.
        """
        places: dict[Name, int] = {}
        unwanted: set[Name] = set()
        for place, record in placed_records(path):
            known = name(record)
            places[known] = place
            if wanted(record):
                unwanted.discard(known)
            else:
                unwanted.add(known)
        for known in unwanted:
            del places[known]
        self._places = places
        self._reader = RecordReader(path)

    def __getitem__(self, name: Name) -> dict[str, Any]:
        return self._reader.at(self._places[name])

    def __iter__(self) -> Iterator[Name]:
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
        raise DataError(f"cannot read `{path}`: {_words(error)}") from None


def _record(line: bytes, path: Path, place: str) -> dict[str, Any]:
    try:
        record = _object(line)
    except ValueError as error:
        raise DataError(
            f"`{path}, {place}` {error}",
            hint="only the last line may be torn; restore the file or remove that line",
        ) from None
    if not isinstance(record.get("id"), str):
        raise DataError(f"`{path}, {place}` has no `id`")
    return record


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


_DECODER = json.JSONDecoder(parse_constant=_no_number)


def _object(data: bytes) -> dict[str, Any]:
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


def write_json(path: Path, value: Any) -> None:
    """Write a whole JSON file so that a reader sees the old one or the new one.

    Raises:
        StorageError: It cannot be written.
    """
    write_whole(path, [json.dumps(value, ensure_ascii=False, indent=2) + "\n"])


def write_whole(path: Path, pieces: Iterable[str | bytes]) -> None:
    """Write a whole file piece by piece; a reader sees the old one until the new one is complete.

    Text becomes UTF-8, in which a lone surrogate, which has none, is a `?`.

    Raises:
        StorageError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            for piece in pieces:
                file.write(piece.encode("utf-8", "replace") if isinstance(piece, str) else piece)
        part.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise storage_error(path, error) from None
        raise


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file of a run.

    Raises:
        DataError: It is missing or broken.
    """
    try:
        with _opened(path) as file:
            return _object(file.read())
    except DataError as error:
        raise DataError(error.message, hint="give the folder of a run") from None
    except ValueError as error:
        raise DataError(f"`{path}` {error}") from None


def read_run(folder: Path) -> dict[str, Any]:
    """What a run's folder says of the run, with all that its readers rely on.

    Raises:
        DataError: The folder is none of a run, or its `run.json` is damaged or of a newer mmscore.
    """
    path = folder / RUN
    if not path.is_file():
        raise DataError(f"`{folder}` is no run's folder: there is no {RUN}", hint=_RUN_HINT)
    run = read_json(path)
    version = run.get("schema_version")
    if not isinstance(version, int):
        raise DataError(f"`{path}` is no record of a run: no schema_version", hint=_RUN_HINT)
    if version > SCHEMA:
        raise DataError(
            f"`{path}` has schema_version {version}, this mmscore reads up to {SCHEMA}",
            hint="a newer mmscore wrote it; upgrade with `pip install -U mmscore`",
        )
    for name in ("benchmark", "config", "fingerprints"):
        if not isinstance(run.get(name), dict):
            raise DataError(f"`{path}` names no {name}", hint=_RUN_HINT)
    if not isinstance(run["benchmark"].get("name"), str):
        raise DataError(f"`{path}` gives its benchmark no name", hint=_RUN_HINT)
    return run


_RUN_HINT = "give the folder that a run wrote, the one with run.json in it"


def new_folder(work_dir: Path, name: str) -> Path:
    """Make `work_dir/<time>-<name>`, with a number behind where that is taken.

    Raises:
        StorageError: It cannot be made.
    """
    stem = time.strftime("%Y%m%d_%H%M%S-") + safe_name(name)
    try:
        work_dir.mkdir(parents=True, exist_ok=True)
        for number in range(1, 10_000):
            folder = work_dir / (stem if number == 1 else f"{stem}-{number}")
            try:
                folder.mkdir()
            except FileExistsError:
                continue
            return folder
    except OSError as error:
        raise storage_error(work_dir, error) from None
    raise StorageError(f"`{work_dir}` holds ten thousand runs named `{stem}`")


def use_folder(folder: Path) -> Path:
    """Make `folder` for a new run.

    Raises:
        StorageError: It cannot be made or already holds a run.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from None
    # A run that was stopped before its first record left an empty file, which is nothing to keep.
    predictions = folder / PREDICTIONS
    if (folder / RUN).exists() or (predictions.exists() and predictions.stat().st_size):
        raise StorageError(
            f"`{folder}` already holds a run",
            hint=f"go on with it: --resume {folder}; or give another folder with --out",
        )
    return folder


def safe_name(name: str) -> str:
    """`name` as a short folder name that every file system takes."""
    plain = re.sub(r"[^\w.+-]+", "-", name).strip("-.") or "run"
    return plain if len(plain.encode()) <= 80 else plain.encode()[:80].decode(errors="ignore")


def storage_error(path: Path, error: OSError, needed: int | None = None) -> StorageError:
    """The error that says `path` cannot be written, and why."""
    import errno

    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    more = f" ({needed} bytes were to be written)" if full and needed else ""
    hint = (
        "free some space, then go on with --resume"
        if full
        else "give a folder that can be written with --out"
    )
    return StorageError(f"cannot write `{path}`: {_words(error)}{more}", hint=hint)


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
