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
from collections.abc import Callable, Iterable
from pathlib import Path

from mmscore.disk import open_itself, remove_leftovers, storage_error, try_lock, write_whole
from mmscore.errors import StorageError
from mmscore.store.spelling import Record

PREDICTIONS = "predictions.jsonl"
SCORES = "scores.jsonl"
JUDGEMENTS = "judgements.jsonl"
REPLACED = "replaced.jsonl"
"""Replies to other requests than the run's, which do not count."""

Notice = Callable[[str], None]


class AppendFile:
    """A JSONL file that only grows; a torn last line is cut off when it is opened."""

    def __init__(self, path: Path, notice: Notice) -> None:
        """Open or make the file.

        Raises:
            StorageError: It cannot be written, another process holds it, or what stands at its end
                is no record.
        """
        self.path = path
        self._lock = threading.Lock()
        self._fd = _own(path)
        try:
            self._size = self._cut_torn_line(notice)
        except StorageError:
            os.close(self._fd)
            raise
        remove_leftovers(path.parent)

    def append(self, record: Record) -> None:
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
            os.lseek(self._fd, end, os.SEEK_SET)
            if not _begins_a_record(os.read(self._fd, len(_BEGINNING))):
                raise StorageError(
                    f"`{self.path}` ends in {size - end} bytes that begin no record",
                    hint="it is no file of a run; give the folder that a run wrote",
                )
            os.ftruncate(self._fd, end)
            notice(f"cut {size - end} bytes of a torn last record off `{self.path}`")
        return end


def _own(path: Path) -> int:
    """Open or make a file for this process alone.

    Raises:
        StorageError: It cannot be written, or another process holds it.
    """
    try:
        fd = open_itself(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    except OSError as error:
        raise storage_error(path, error) from None
    # Its holder may have put another file in its place and closed this one.
    try:
        ours = try_lock(fd) and os.path.samestat(os.fstat(fd), path.lstat())
    except OSError:
        ours = False
    if not ours:
        os.close(fd)
        raise StorageError(
            f"another process is writing `{path}`",
            hint="wait for that run to end, or give this one another folder with --out",
        )
    if os.fstat(fd).st_nlink > 1:
        os.close(fd)
        raise StorageError(
            f"`{path}` has another name elsewhere (a hard link), which would change with it",
            hint="copy the folder, so that its files are its own",
        )
    return fd


_BEGINNING = b'{"id":'
"""How each record begins."""


def _begins_a_record(tail: bytes) -> bool:
    """Whether a file may end so: in a torn record, or in the zeros that a power cut leaves."""
    return _BEGINNING.startswith(tail) or not tail.strip(b"\0")


def encode(record: Record) -> bytes:
    """One line of JSONL in UTF-8; a lone surrogate, which has no UTF-8, becomes U+FFFD."""
    text = json.dumps(record.to_json(), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() + b"\n"
