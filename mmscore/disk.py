"""Files written whole or not at all, locks between processes, and what a full disk is called."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mmscore.errors import StorageError

PART = ".part"
"""The end of the name of a file that is not whole yet."""

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
"""What the system says when a disk is full, or the user's share of it."""

O_BINARY: int = getattr(os, "O_BINARY", 0)


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


def write_whole(path: Path, pieces: Iterable[str | bytes], remedy: Remedy = RUN_FOLDER) -> None:
    """Write a whole file piece by piece; a reader sees the old one until the new one is complete.

    Text becomes UTF-8, in which a lone surrogate, which has none, is a `?`.

    Raises:
        StorageError: It cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}{PART}")
    written = 0
    try:
        with part.open("wb") as file:
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


def words(error: OSError) -> str:
    """What the system says."""
    return (error.strerror or str(error)).lower()
