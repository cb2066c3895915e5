"""The folder where fetched data are kept, and the two rules of writing into it.

A file appears under its name only when it is whole (it is written aside and renamed), and only one
process at a time writes it (a lock the system drops however that process ends). Where the folder
cannot be written, what it holds still serves, and what is new goes to a temporary folder that is
removed when the process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from mmscore import disk
from mmscore.errors import StorageError

LOCK = ".lock"

REMEDY = disk.Remedy(
    full="free some space (`mmscore cache --clean`), or name another folder: MMSCORE_CACHE",
    denied="MMSCORE_CACHE names another folder",
)


def cache_folder() -> Path:
    """`MMSCORE_CACHE`, else this platform's folder for caches."""
    given = os.environ.get("MMSCORE_CACHE")
    if given:
        return _at_home(given)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return _at_home(base) / "mmscore"


def _at_home(path: str) -> Path:
    """A path with `~` in it; below a folder that cannot be made for a user who has no home."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path("/nonexistent")


class Cache:
    """A cache folder, and a temporary one where it cannot be written."""

    def __init__(self, root: Path | None = None, notice: Callable[[str], None] | None = None):
        """Take the folder (`cache_folder()` by default) and who hears of a fall-back."""
        self.root = root or cache_folder()
        self._notice = notice or (lambda _: None)
        self._lock = threading.Lock()
        self._tidied: set[Path] = set()
        self.spare: Path | None = None
        """The temporary folder, once it was needed."""

    def find(self, *parts: str) -> Path | None:
        """A file that is there, whole."""
        for base in (self.root, self.spare):
            if base is not None:
                path = base.joinpath(*parts)
                with contextlib.suppress(
                    PermissionError
                ):  # a cache of somebody else's holds nothing
                    if path.is_file():
                        return path
        return None

    def place(self, *parts: str) -> Path:
        """Where a file may be written; its folder exists.

        Raises:
            StorageError: Neither the cache nor a temporary folder can be written.
        """
        with self._lock:
            if self.spare is None:
                try:
                    return self._writable(self.root, parts)
                except OSError as error:
                    if error.errno in disk.FULL:
                        raise storage_error(self.root, error) from None
                    self.spare = self._make_spare(error)
            return self._writable(self.spare, parts)

    def _writable(self, root: Path, parts: tuple[str, ...]) -> Path:
        """A path below `root`, once its folder is made and seen to be writable.

        What killed processes left there is removed, once a folder.
        """
        path = root.joinpath(*parts)
        folder = path.parent
        for one in (folder, *folder.parents):
            if one == root:
                break
            if one.is_symlink():
                raise OSError(errno.ELOOP, f"`{one}` is a link")
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "permission denied", str(folder))
        if folder not in self._tidied:
            self._tidied.add(folder)
            disk.remove_leftovers(folder)
        return path

    def _make_spare(self, error: OSError) -> Path:
        try:
            spare = Path(tempfile.mkdtemp(prefix="mmscore-"))
        except OSError:
            raise storage_error(self.root, error) from None
        atexit.register(shutil.rmtree, spare, ignore_errors=True)
        self._notice(
            f"the cache `{self.root}` cannot be written ({disk.words(error)}): what is fetched "
            f"goes to `{spare}` and is not kept; MMSCORE_CACHE names another folder"
        )
        return spare


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it is there whole or not at all.

    Raises:
        StorageError: The disk is full or the folder cannot be written.
    """
    disk.write_whole(path, [data], REMEDY)


@contextlib.contextmanager
def only_writer(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """Keep other processes and threads from writing `path` while the block runs.

    Args:
        path: The file; the lock lies beside it and stays there, empty.
        waiting: Called once where another process holds the lock.

    Raises:
        StorageError: The lock cannot be made.
    """
    lock = path.with_name(path.name + LOCK)
    try:
        fd = disk.open_itself(lock, os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise storage_error(lock, error) from None
    try:
        told = False
        while not disk.try_lock(fd):
            if not told:
                waiting()
                told = True
            time.sleep(0.1)
        yield
    finally:
        os.close(fd)


def require_space(path: Path, needed: int) -> None:
    """Stop before a download that cannot fit.

    Raises:
        StorageError: The disk has less room than `needed` bytes.
    """
    try:
        free = shutil.disk_usage(path.parent).free
    except OSError:
        return
    if free < needed:
        raise StorageError(
            f"no room for `{path}`: {needed} bytes are needed, {free} are free", hint=REMEDY.full
        )


def storage_error(path: Path, error: OSError, needed: int | None = None) -> StorageError:
    """The error that says the cache cannot be written, and why."""
    return disk.storage_error(path, error, needed, REMEDY)


def folder_size(folder: Path) -> int:
    """The bytes of all files below a folder."""
    total = 0
    for base, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(base, name)).st_size  # noqa: PTH118 - many files
    return total


def clean(folder: Path) -> int:
    """Remove a folder of the cache; return how many bytes that freed.

    Raises:
        StorageError: Something in it cannot be removed.
    """
    size = folder_size(folder)
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise storage_error(folder, error) from None
    return size
