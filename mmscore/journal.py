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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mmscore.errors import DataError, StorageError

RUN = "run.json"
PREDICTIONS = "predictions.jsonl"
SCORES = "scores.jsonl"

Notice = Callable[[str], None]


class AppendFile:
    """A JSONL file that only grows; a torn last line is cut off when it is opened."""

    def __init__(self, path: Path, notice: Notice) -> None:
        """Open or make the file.

        Raises:
            StorageError: It cannot be written, or another process holds it.
        """
        self.path = path
        self._lock = threading.Lock()
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | _O_BINARY, 0o666)
        except OSError as error:
            raise storage_error(path, error) from None
        try:
            _lock_file(self._fd)
        except OSError:
            os.close(self._fd)
            raise StorageError(
                f"another process is writing `{path}`",
                hint="wait for that run to end, or give this one another folder with --out",
            ) from None
        self._size = self._cut_torn_line(notice)

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record.

        Raises:
            StorageError: The disk is full or gone; what was written of the record is taken back.
        """
        line = encode(record)
        with self._lock:
            try:
                written = 0
                while written < len(line):
                    written += os.write(self._fd, line[written:])
            except OSError as error:
                os.ftruncate(self._fd, self._size)
                raise storage_error(self.path, error, needed=len(line)) from None
            self._size += len(line)

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


def read_records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a JSONL file of a run; a torn last line is left out.

    Raises:
        DataError: The file is missing, or a line in its midst is no record.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise DataError(f"cannot read `{path}`: {_words(error)}") from None
    with file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            try:
                record = json.loads(line)
            except ValueError as error:
                raise DataError(f"line {number} of `{path}` is no record: {error}") from None
            if not isinstance(record, dict):
                raise DataError(f"line {number} of `{path}` is no record, found {line[:40]!r}")
            yield record


def write_json(path: Path, value: Any) -> None:
    """Write a whole JSON file so that a reader sees the old one or the new one.

    Raises:
        StorageError: It cannot be written.
    """
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a whole UTF-8 file so that a reader sees the old one or the new one.

    Raises:
        StorageError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8", errors="replace", newline="\n")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise storage_error(path, error) from None


def read_json(path: Path) -> Any:
    """The value in a JSON file of a run.

    Raises:
        DataError: It is missing or broken.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(
            f"cannot read `{path}`: {_words(error)}", hint="give the folder of a run"
        ) from None
    except ValueError as error:
        raise DataError(f"`{path}` is broken: {error}") from None


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
    if (folder / RUN).exists() or (folder / PREDICTIONS).exists():
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
        else "give a folder that can be written with --out or --work-dir"
    )
    return StorageError(f"cannot write `{path}`: {_words(error)}{more}", hint=hint)


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
