"""Files written whole or not at all, no link followed, locks, and what a full disk is called.

Folders are shared: run folders are passed on, caches lie where several people write. So a file is
opened itself or not at all, and what is written anew has not been there before.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import io
import os
import re
import stat
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from mmscore.errors import StorageError

PART = ".part"
"""The end of the name of a file that is not whole yet."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says when a disk is full, or the user's share of it."""

_LEFT = re.compile(r"\.whole-\d+-\d+\.part$")
"""How `write_whole` calls a file that is not whole yet."""

_ITSELF: int = (
    getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
)
"""No line ends changed, no link followed, no waiting for whoever writes into a pipe."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What a user can do about a folder that cannot be written.

    Attributes:
        full: Where its disk is full.
        denied: Where it cannot be written for another reason.
    """

    full: str
    denied: str


RUN_FOLDER = Remedy(
    full="free some space, then go on with --resume",
    denied="give a folder that can be written with --out",
)


def open_itself(path: Path, flags: int) -> int:
    """A descriptor of the plain file that lies at `path`, not of what a link there leads to.

    Args:
        path: The file. Links among the folders above it are the user's own way of naming it.
        flags: As `os.open` takes them.

    Raises:
        OSError: It cannot be opened, or is a link, a folder, a pipe or a device.
    """
    if os.name == "nt" and path.is_symlink():
        raise OSError(errno.ELOOP, "it is a link")
    try:
        fd = os.open(path, flags | _ITSELF, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link") from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "it is no plain file")
    return fd


def open_for_reading(path: Path, buffer: int = io.DEFAULT_BUFFER_SIZE) -> io.BufferedReader:
    """The plain file at `path`, open for reading.

    Raises:
        OSError: As `open_itself`.
    """
    return io.BufferedReader(io.FileIO(open_itself(path, os.O_RDONLY), "rb"), buffer)


def write_whole(path: Path, pieces: Iterable[str | bytes], remedy: Remedy = RUN_FOLDER) -> None:
    """Write a whole file piece by piece; a reader sees the old one until the new one is complete.

    Text becomes UTF-8, in which a lone surrogate, which has none, is a `?`.

    Raises:
        StorageError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.whole-{os.getpid()}-{threading.get_ident()}{PART}")
    written = 0
    try:
        with os.fdopen(_made_anew(part), "wb") as file:
            try_lock(file.fileno())  # so that nobody takes it for a killed process's
            for piece in pieces:
                data = piece.encode("utf-8", "replace") if isinstance(piece, str) else piece
                file.write(data)
                written += len(data)
        part.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise storage_error(path, error, written, remedy) from None
        raise


def _made_anew(path: Path) -> int:
    """A descriptor of a new file; what was there before, a link too, is gone."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    try:
        return open_itself(path, flags)
    except FileExistsError:
        path.unlink()
        return open_itself(path, flags)


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, unless it is there.

    Raises:
        StorageError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise storage_error(folder, error) from None


def open_part(path: Path, start: int) -> BinaryIO:
    """A file that is not whole yet, open for writing at `start`; from 0 on it is made anew.

    Raises:
        OSError: It cannot be written; it is a link, or has another name elsewhere.
    """
    if start == 0:
        return os.fdopen(_made_anew(path), "wb")
    file = os.fdopen(open_itself(path, os.O_RDWR), "r+b")
    if os.fstat(file.fileno()).st_nlink > 1:
        file.close()
        raise OSError(errno.EMLINK, "it is a link")
    file.seek(start)
    file.truncate()
    return file


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left of the files they were writing whole."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            if _LEFT.search(entry.name):
                with contextlib.suppress(OSError):
                    _remove_if_left(Path(entry.path))


def _remove_if_left(part: Path) -> None:
    fd = open_itself(part, os.O_RDWR)
    try:
        if try_lock(fd):  # whoever still writes it holds it
            part.unlink()
    finally:
        os.close(fd)


def try_lock(fd: int) -> bool:
    """Whether an open file is this process's now; the system lets go of it however that ends.

    File systems without locks count as unlocked.
    """
    try:
        if os.name == "nt":
            import msvcrt

            # Far behind any record, so that readers are not kept out.
            os.lseek(fd, 1 << 40, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True


def storage_error(
    path: Path, error: OSError, needed: int | None = None, remedy: Remedy = RUN_FOLDER
) -> StorageError:
    """The error that says `path` cannot be written, and why."""
    full = error.errno in FULL
    more = f" ({needed} bytes were to be written)" if full and needed else ""
    hint = remedy.full if full else remedy.denied
    return StorageError(f"cannot write `{path}`: {words(error)}{more}", hint=hint)


def sha256_of(path: Path) -> str:
    """The digest of a file's bytes in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def words(error: OSError) -> str:
    """What the system says."""
    return (error.strerror or str(error)).lower()
