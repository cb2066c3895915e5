"""Where the files of a data set are: a local folder or file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from mmscore.archive import Archive, Folder, open_archive
from mmscore.errors import DataError


@dataclass(slots=True)
class LocalFiles:
    """The files of a data set in a folder of the user's; never written to.

    Attributes:
        root: The folder.
        single: The name of the only file asked for, where the user named a file.
    """

    root: Path
    single: str | None = None
    used: dict[str, Path] = field(default_factory=dict)
    archives: dict[str, Archive] = field(default_factory=dict)

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

    def path(self, file: str) -> Path:
        """The path of a file.

        Raises:
            DataError: It is not there.
        """
        path = self.root / file
        if not path.is_file():
            raise DataError(
                f"no `{file}` in {self.name}, found {self._listing()}",
                hint="give the folder of the data set with --data",
            )
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
                self.archives[file] = Folder(self.root)
            else:
                self.archives[file] = open_archive(self.path(file))
        return self.archives[file]

    def fingerprint(self) -> str:
        """SHA-256 over the files used: whole for tables, names and checksums for archives."""
        total = hashlib.sha256()
        for file, path in sorted(self.used.items()):
            archive = self.archives.get(file)
            digest = archive.fingerprint() if archive else file_digest(path)
            total.update(f"{file}\0{digest}\n".encode())
        return total.hexdigest()

    def _listing(self) -> str:
        names = sorted(path.name for path in self.root.iterdir())
        shown = ", ".join(f"`{name}`" for name in names[:8])
        return (shown or "an empty folder") + (" ..." if len(names) > 8 else "")


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def locate(data: str | None, benchmark: str) -> LocalFiles:
    """The files of a data set.

    Raises:
        DataError: There is nothing at that place.
    """
    if data is None:
        raise DataError(
            f"`{benchmark}` needs its data", hint="give the folder of the data set with --data"
        )
    root = Path(data).expanduser()
    if not root.exists():
        raise DataError(f"no data at `{root}`", hint="check --data")
    return LocalFiles(root.parent, root.name) if root.is_file() else LocalFiles(root)
