"""A data set in a folder of the user's, and what data sets have in common wherever they are."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mmscore.dataset.zip_archive import Archive, Folder, open_archive
from mmscore.error_text import listed
from mmscore.errors import DataError
from mmscore.types import Source


@dataclass(slots=True)
class LocalFiles:
    """The files of a data set in a folder of the user's; never written to.

    Attributes:
        root: The folder.
        single: The name of the only file asked for, where the user named a file.
        allow: Folders outside it that links in it may lead to.
    """

    root: Path
    single: str | None = None
    allow: tuple[Path, ...] = ()
    used: dict[str, Path] = field(default_factory=dict)
    archives: dict[str, Archive] = field(default_factory=dict)

    @property
    def host(self) -> str | None:
        """None: the files come from no other machine."""
        return None

    @property
    def name(self) -> str:
        """The folder or file."""
        return f"`{self.root / self.single if self.single else self.root}`"

    def names(self) -> list[str]:
        """The names of the files right inside the folder, sorted."""
        return sorted(path.name for path in self.root.iterdir() if path.is_file())

    def has(self, file: str) -> bool:
        """Whether the folder holds that file or folder."""
        return (self.root / file).exists()

    def matching(self, pattern: str) -> list[str]:
        """The files that fit a pattern, sorted; or the one file that the user gave.

        Raises:
            DataError: There is none.
        """
        if self.single is not None:
            return [self.single]
        # A user may give the folder above the files, as published, or the files' own.
        for tried in (pattern, PurePosixPath(pattern).name):
            found = sorted(
                path.relative_to(self.root).as_posix()
                for path in self.root.glob(tried)
                if path.is_file()
            )
            if found:
                return found
        raise DataError(f"no `{pattern}` in {self.name}, found {self._listing()}", hint=_HINT)

    def path(self, file: str) -> Path:
        """The path of a file.

        Raises:
            DataError: It is not there.
        """
        path = self.root / file
        if not path.is_file():
            raise DataError(f"no `{file}` in {self.name}, found {self._listing()}", hint=_HINT)
        self.used[file] = path
        return path

    def archive(self, file: str) -> Archive:
        """The zip of that name, else the unpacked folder of the same name without `.zip`.

        Raises:
            DataError: There is neither, or the zip is damaged.
        """
        if file not in self.archives:
            folder = self.root / file.removesuffix(".zip")
            if not (self.root / file).exists() and folder.is_dir():
                self.archives[file] = Folder(self.root, self.allow)
            else:
                self.archives[file] = open_archive(self.path(file))
        return self.archives[file]

    def beside(self, table: str, path: str) -> Source | None:
        """None: a path in a table is looked for where the user keeps media."""
        return None

    def expect(self, sources: Iterable[Source]) -> None:
        """Nothing: all is here."""

    def close(self) -> None:
        """Nothing: nothing is under way."""

    def fingerprint(self) -> str:
        """SHA-256 over the files used: whole for tables, names and checksums for archives."""
        return fingerprint_of_files(self.used, self.archives)

    def _listing(self) -> str:
        return listed(sorted(path.name for path in self.root.iterdir())) or "an empty folder"


_HINT = "give the folder of the data set with --data"


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint_of_files(used: Mapping[str, Path], archives: Mapping[str, Archive]) -> str:
    """SHA-256 over the files that were used, the same wherever they lie.

    An unpacked archive is left out: its folder may hold whatever else the user keeps there.
    """
    total = hashlib.sha256()
    packed = {file for file, archive in archives.items() if not isinstance(archive, Folder)}
    for file in sorted({*used, *packed}):
        archive = archives.get(file)
        digest = archive.fingerprint() if archive else file_digest(used[file])
        total.update(f"{file}\0{digest}\n".encode())
    return total.hexdigest()
