"""Members of a zip archive behind one interface: here a local one; `remote` has the other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Protocol

import mmscore._core as _core
from mmscore.dataset.git_lfs import require_fetched
from mmscore.dataset.media.paths import FileSource, folder_roots, read_file
from mmscore.error_text import printable
from mmscore.errors import DataError, MmscoreError, machine_error


class Archive(Protocol):
    """What every archive can do, wherever its bytes are. Members are asked for by name.

    A name is a member's whole name or, where no member is called so, the end of exactly one
    member's name (`xmlab1/source.jpg` finds `SLAKE/imgs/xmlab1/source.jpg`).
    All methods may be called from many threads at once.
    """

    @property
    def place(self) -> str:
        """The archive's path or URL, as errors show it."""

    def names(self) -> list[str]:
        """The members' names, in the order of the archive's directory."""

    def has(self, name: str) -> bool:
        """Whether there is such a member.

        Raises:
            DataError: Several members fit the name, or it leads out of the archive.
        """

    def read(self, name: str) -> bytes:
        """A member's bytes, checked by size and CRC-32.

        Raises:
            DataError: There is no such member, several fit, or it is damaged or unsupported.
        """

    def fingerprint(self) -> str:
        """SHA-256 over the members' names and sizes."""


@dataclass(frozen=True, slots=True)
class LocalArchive:
    """An archive in a local file; it is opened once and never written to.

    Attributes:
        place: Its path.
        zip: The opened archive.
    """

    place: str
    zip: _core.Zip

    def names(self) -> list[str]:
        """The members' names, in the order of the archive's directory."""
        return self.zip.names()

    def has(self, name: str) -> bool:
        """Whether there is such a member."""
        return self.zip.get(name) is not None

    def read(self, name: str) -> bytes:
        """A member's bytes, checked by size and CRC-32."""
        index = self.zip.find(name)
        try:
            return self.zip.read(index)
        except OSError as error:
            raise _unreadable(self.place, error) from error

    def fingerprint(self) -> str:
        """SHA-256 over the members' names and sizes."""
        return fingerprint_of((self.zip.name(i), self.zip.size(i)) for i in range(len(self.zip)))


@dataclass(frozen=True, slots=True)
class Folder:
    """An unpacked archive: the files of a folder behind the same interface.

    Attributes:
        root: The folder that the members' names start from.
        allow: Folders outside it that links in it may lead to.
    """

    root: Path
    allow: tuple[Path, ...] = ()

    @property
    def place(self) -> str:
        """The folder's path."""
        return str(self.root)

    def names(self) -> list[str]:
        """The files' paths below the folder, sorted."""
        return sorted(
            path.relative_to(self.root).as_posix()
            for path in self.root.rglob("*")
            if path.is_file()
        )

    def has(self, name: str) -> bool:
        """Whether there is such a file.

        Raises:
            DataError: Its name leads out, or a link in it does to where nothing may be read.
        """
        return self._find(name) is not None

    def read(self, name: str) -> bytes:
        """A file's bytes.

        Raises:
            DataError: There is no such file, it cannot be read, or its name leads out.
        """
        real = self._find(name)
        if real is None:
            raise DataError(f"no `{printable(name)}` in the folder `{self.root}`")
        return read_file(real)

    def fingerprint(self) -> str:
        """SHA-256 over the files' names and sizes."""
        return fingerprint_of((name, (self.root / name).stat().st_size) for name in self.names())

    def _find(self, name: str) -> str | None:
        """The real path of a file; None where there is none."""
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts:
            place = f"`{printable(name)}`"
            raise DataError(f"the name {place} leads out of the folder `{self.root}`")
        file = FileSource(parts.as_posix(), folder_roots(self.root, self.allow))
        real = file.find()
        if real is None and file.is_refused():
            fault = file.fault()
            raise DataError(fault.message, hint=fault.hint)
        return real


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """A source of bytes: one member of an archive, read when asked.

    Attributes:
        archive: The archive.
        member: The member's name or the end of it.
    """

    archive: Archive
    member: str

    @property
    def name(self) -> str:
        """The member and its archive, as errors and reports show them."""
        return f"{self.member} in {self.archive.place}"

    def exists(self) -> bool:
        """Whether the archive has the member; it is not read.

        Raises:
            DataError: Several members fit the name, or it leads out of the archive.
        """
        return self.archive.has(self.member)

    def read(self) -> bytes:
        """The member's bytes.

        Raises:
            DataError: There is no such member, several fit, or it is damaged or unsupported.
        """
        return self.archive.read(self.member)


def open_archive(path: str | PathLike[str]) -> LocalArchive:
    """The zip archive at a local path.

    Raises:
        DataError: The file is missing or unreadable, no zip archive, cut short or damaged.
    """
    require_fetched(Path(path))
    try:
        return LocalArchive(str(path), _core.Zip.open(path))
    except OSError as error:
        raise _unreadable(str(path), error) from error


def fingerprint_of(members: Iterable[tuple[str, int]]) -> str:
    """SHA-256 over names and sizes: the same for one archive wherever it lies."""
    total = hashlib.sha256()
    for name, size in members:
        total.update(f"{size} {name}\n".encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def _unreadable(place: str, error: OSError) -> MmscoreError:
    match error:
        case FileNotFoundError():
            folder = Path(place).parent
            hint = None if folder.is_dir() else f"the folder `{folder}` does not exist either"
            return DataError(f"archive `{place}` is missing", hint=hint)
        case IsADirectoryError():
            hint = "give the path of the zip file"
            return DataError(f"archive `{place}` is a folder", hint=hint)
        case PermissionError():
            hint = "check the owner and the mode of the file"
            return DataError(f"archive `{place}` may not be read by this user", hint=hint)
    return machine_error(error, f"reading the archive `{place}`") or DataError(
        f"archive `{place}` cannot be read: {error.strerror or error}"
    )
