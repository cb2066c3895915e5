"""Media that records name by a path: where they are looked for, and what may be read.

A data set is written by strangers, and what it names is sent to a model's service. So it reads only
what its user gave: the data's own folder, `--media-root`, the folders of `--allow-path`, and of the
working directory what a relative path finds there without leaving it. Links are followed before
that is decided, and nothing below `/proc`, `/sys` and `/dev` is ever read.
"""

# Paths stay texts here: `Path` drops what errors show, and raises where `isfile` says no.
# ruff: noqa: PTH100, PTH113, PTH114, PTH117, PTH118, PTH120, PTH208

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from mmscore.error_text import printable, reason, shown
from mmscore.errors import DataError, MediaError, machine_error
from mmscore.types import Source

MOST_FILE_BYTES = 256 * 1024 * 1024
"""The largest file that is read to be sent."""

NEVER_READ = ("/proc", "/sys", "/dev")
MEMORY_DISK = "/dev/shm"
"""Of `/dev`, the folder that holds ordinary files."""

LOOK_THERE = "set --media-root to the folder paths start from"


class Place(NamedTuple):
    """A folder in which relative paths are looked for.

    Attributes:
        folder: The folder.
        within: The real paths of the folders one of which must hold what is found.
    """

    folder: Path
    within: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Roots:
    """Where the media of one data file's records may lie.

    Attributes:
        places: The folders in which a relative path is looked for, in order.
        allowed: The real paths of the folders whose files may be read however a path leads there.
        elsewhere: What a path names that leads to no local file: one of a data set at a hub.
    """

    places: tuple[Place, ...]
    allowed: tuple[str, ...] = ()
    elsewhere: Callable[[str], Source] | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        data_file: Path,
        media_root: Path | None = None,
        *,
        more: Iterable[Path] = (),
        allow: Iterable[Path] = (),
    ) -> Roots:
        """The places for the records of one local data file.

        Args:
            data_file: The file.
            media_root: Where relative paths start, looked in first.
            more: Folders that belong to the data too, looked in last.
            allow: Further folders whose files may be read.
        """
        first = [data_file.parent] if media_root is None else [media_root, data_file.parent]
        working = _working_place(data_file.parent)
        own = [_place(folder) for folder in first]
        rest = [_place(folder) for folder in more]
        places = dict.fromkeys([*own, *([] if working is None else [working]), *rest])
        real = [*(place.within[0] for place in (*own, *rest)), *map(os.path.realpath, allow)]
        blobs = [found for folder in real if (found := _blobs(folder)) is not None]
        return cls(tuple(places), tuple(dict.fromkeys([*real, *blobs])))

    def source(self, path: str) -> Source:
        """The medium that a path or a `file:` URL names.

        Raises:
            DataError: The URL names another machine.
        """
        named = path_of(path)
        file = FileSource(path, self)
        if self.elsewhere is not None and not file.exists():
            return self.elsewhere(named)
        return file


def _place(folder: Path) -> Place:
    return Place(folder, (os.path.realpath(folder),))


def _working_place(data_folder: Path) -> Place | None:
    """The working directory: who stands in it gave it.

    Of `/` and of the user's home only the folder below it counts that holds the data: to stand
    there is not to give away all one has. That folder counts too where it is a link: the user named
    the data by it.
    """
    here = os.path.abspath(os.curdir)
    below = Path(os.path.relpath(os.path.abspath(data_folder), here)).parts[:1]
    holds = [os.path.join(here, *below)] if below and below[0] != os.pardir else []
    working = os.path.realpath(here)
    if working in (os.path.realpath(os.sep), _home()):
        return Place(Path(), tuple(map(os.path.realpath, holds))) if holds else None
    return Place(Path(), (working, *map(os.path.realpath, holds)))


def _home() -> str | None:
    try:
        return os.path.realpath(Path.home())
    except RuntimeError:
        return None


def _blobs(folder: str) -> str | None:
    """The folder that the files of a Hugging Face cache's snapshot are links into."""
    parts = Path(folder).parts
    if "snapshots" not in parts[:-1]:
        return None
    return str(Path(*parts[: parts.index("snapshots")], "blobs"))


def path_of(text: str) -> str:
    """The path that a text is, or that it names as a `file:` URL.

    Raises:
        DataError: The URL names another machine, or none that can be read.
    """
    if text[:5].lower() != "file:":
        return text
    try:
        url = urlsplit(text)
    except ValueError as error:
        raise DataError(f"{shown(text)} is no URL: {reason(error)}") from None
    if url.netloc.lower() not in ("", "localhost", "127.0.0.1"):
        raise DataError(f"{shown(text)} names a file of another machine, `{printable(url.netloc)}`")
    return unquote(url.path)


@dataclass(frozen=True, slots=True)
class FileSource:
    """A file named by a cell.

    Attributes:
        given: The path or `file:` URL as the record has it.
        roots: Where it is looked for unless it is absolute, and what may be read.
    """

    given: str
    roots: Roots

    @property
    def name(self) -> str:
        """The path as the record has it."""
        return self.given

    def candidates(self) -> Iterator[tuple[str, Place | None]]:
        """Yield every path tried, in order, and the place it is looked for in.

        A path with backslashes is tried with slashes too, and one in letters with marks in both of
        the forms in which file systems spell them.
        """
        seen: set[str] = set()
        for spelling in _spellings(path_of(self.given)):
            absolute = os.path.isabs(spelling)
            for place in (None,) if absolute else self.roots.places:
                path = spelling if place is None else os.path.join(place.folder, spelling)
                if path not in seen:
                    seen.add(path)
                    yield path, place

    def root(self) -> Path | None:
        """The folder from which the file is found, its own where the path is absolute."""
        for path, place in self.candidates():
            if _is_file(path) and self._may_read(path, place):
                return place.folder if place is not None else Path(path).parent
        return None

    def find(self) -> str | None:
        """The real path of the first file there is that may be read."""
        for path, place in self.candidates():
            if _is_file(path) and (real := self._may_read(path, place)) is not None:
                return real
        return self._find_by_other_letters()

    def _find_by_other_letters(self) -> str | None:
        """The same for a name whose marks are spelled in yet another way, part by part."""
        if self.given.isascii():
            return None
        for place in self.roots.places:
            path = _in_other_letters(str(place.folder), path_of(self.given))
            if path is not None and (real := self._may_read(path, place)) is not None:
                return real
        return None

    def _may_read(self, path: str, place: Place | None) -> str | None:
        """The real path, where that may be read."""
        real = _real(path)
        if _is_never_read(real):
            return None
        allowed = self.roots.allowed if place is None else (*place.within, *self.roots.allowed)
        return real if any(_is_within(real, folder) for folder in allowed) else None

    def exists(self) -> bool:
        """Whether a file that may be read is in one of the places."""
        return self.find() is not None

    def read(self) -> bytes:
        """The file's bytes.

        Raises:
            MediaError: It is in none of the places, may not be read, or cannot be.
        """
        real = self.find()
        if real is None:
            raise self.fault()
        return read_file(real)

    def is_refused(self) -> bool:
        """Whether there is a file that may not be read."""
        return not self.exists() and any(_is_file(path) for path, _ in self.candidates())

    def fault(self) -> MediaError:
        """Why there is no file: where it was looked for, or that it may not be read."""
        for path, _ in self.candidates():
            if not _is_file(path):
                continue
            real = _real(path)
            if _is_never_read(real):
                return MediaError(
                    f"{shown(self.given)} names a file of the system, which no data set may read"
                )
            leads = "" if os.path.abspath(path) == real else f", it leads to `{printable(real)}`"
            folder = printable(os.path.dirname(real))
            return MediaError(
                f"{shown(self.given)} lies outside the data's folder{leads}",
                hint=f"--allow-path {folder} if you trust this data set to read there",
            )
        tried = ", ".join(shown(path) for path, _ in self.candidates())
        return MediaError(f"no file {shown(self.given)}, tried {tried}", hint=LOOK_THERE)


def read_file(real: str) -> bytes:
    """The bytes of a file to be sent, by its real path.

    Raises:
        MediaError: It cannot be read, or is too large.
    """
    try:
        # The path has no links left; one that appears now is a swap.
        with os.fdopen(os.open(real, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
            data = file.read(MOST_FILE_BYTES + 1)
    except OSError as error:
        place = f"`{printable(real)}`"
        raise machine_error(error, f"reading {place}") or MediaError(
            f"cannot read {place}: {error.strerror or error}"
        ) from error
    if len(data) > MOST_FILE_BYTES:
        raise MediaError(
            f"`{printable(real)}` is larger than {MOST_FILE_BYTES >> 20} MiB, the most that is sent"
        )
    return data


def folder_roots(folder: Path, allow: Iterable[Path] = ()) -> Roots:
    """The one place for what lies in a folder, and where links in it may lead."""
    place = _place(folder)
    real = [place.within[0], *map(os.path.realpath, allow)]
    blobs = [found for one in real if (found := _blobs(one)) is not None]
    return Roots((place,), (*real, *blobs))


def _spellings(path: str) -> dict[str, None]:
    """The ways in which a path may be meant, each once."""
    plain = [path, path.replace("\\", "/")]
    if not path.isascii():
        plain += [unicodedata.normalize(form, plain[1]) for form in ("NFC", "NFD")]
    return dict.fromkeys(plain)


def _in_other_letters(folder: str, path: str) -> str | None:
    """The file that a path names where its parts are compared by the letters they show."""
    for part in path.replace("\\", "/").split("/"):
        wanted = unicodedata.normalize("NFC", part)
        try:
            found = [n for n in os.listdir(folder) if unicodedata.normalize("NFC", n) == wanted]
        except OSError:
            return None
        if part not in ("", ".", "..") and not found:
            return None
        folder = os.path.join(folder, part if part in ("", ".", "..") else found[0])
    return folder if _is_file(folder) else None


def _is_file(path: str) -> bool:
    return os.path.isfile(path)  # never raises, and says no to devices and pipes


@lru_cache(maxsize=4096)
def _real_folder(folder: str) -> str:
    return os.path.realpath(folder)


def _real(path: str) -> str:
    """The path without links; folders are looked at once, for thousands of files share them."""
    # Not `abspath`, which drops `link/..` before the link is followed.
    folder, name = os.path.split(os.path.join(Path.cwd(), path))
    real = os.path.join(_real_folder(folder), name)
    return os.path.realpath(real) if os.path.islink(real) else real


def _is_within(real: str, folder: str) -> bool:
    return real == folder or real.startswith(folder.rstrip(os.sep) + os.sep)


def _is_never_read(real: str) -> bool:
    if _is_within(real, MEMORY_DISK):
        return False
    return any(_is_within(real, folder) for folder in NEVER_READ)


__all__ = ["LOOK_THERE", "FileSource", "Place", "Roots", "folder_roots", "path_of", "read_file"]
