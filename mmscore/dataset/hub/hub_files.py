"""Where the files of a data set are: a local folder or file, a hub, a URL.

`locate` says which; whoever reads a data set sees `benchmarks.base.Files` and cannot tell.
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

from mmscore.dataset.hub.cache import Cache, write_whole
from mmscore.dataset.hub.download import Progress, Wanted, download, forget
from mmscore.dataset.hub.remote_zip import RemoteArchive, offline_error, open_remote
from mmscore.dataset.hub.repository import Entry, Repository, find_repository
from mmscore.dataset.local_files import LocalFiles, fingerprint_of_files
from mmscore.dataset.zip_archive import Archive, ArchiveMember, open_archive
from mmscore.error_text import listed
from mmscore.errors import DataError, HubError
from mmscore.types import Source
from mmscore.web.errors import ChangedError, RangesUnusableError, WebError
from mmscore.web.ranges import RemoteFile
from mmscore.web.session import Web

WHOLE_BYTES = 256 * 1024 * 1024
"""An archive up to this size is fetched whole where a server does not do ranges."""


@dataclass(frozen=True, slots=True)
class HubSource:
    """A medium that is a file of a data set at a hub.

    Attributes:
        files: The data set.
        file: The file's path in it.
    """

    files: HubFiles = field(repr=False, compare=False)
    file: str

    @property
    def name(self) -> str:
        """The file and the data set."""
        return f"{self.file} of {self.files.name}"

    def exists(self) -> bool:
        """Whether the data set has the file.

        Raises:
            HubError: The hub cannot be asked.
        """
        return self.files.has(self.file)

    def read(self) -> bytes:
        """The file's bytes, fetched if need be.

        Raises:
            DataError: The data set has no such file.
            HubError: It cannot be fetched.
        """
        return self.files.path(self.file).read_bytes()


@dataclass(slots=True)
class HubFiles:
    """The files of a data set at a hub or a URL, fetched when they are asked for.

    Attributes:
        repository: Where they are.
        cache: Where they are kept.
        web: What fetches them; None makes no request.
        notice: Told what a user would wonder about.
        progress: Told how far a download is.
        whole: Fetch archives whole, instead of the members that are read.
    """

    repository: Repository
    cache: Cache
    web: Web | None
    notice: Callable[[str], None] = lambda _: None
    progress: Progress = lambda *_: None
    whole: bool = False
    used: dict[str, Path] = field(default_factory=dict)
    archives: dict[str, Archive] = field(default_factory=dict)
    _entries: dict[str, Entry] | None = None
    _fresh: bool = False

    @property
    def host(self) -> str | None:
        """The host that the files come from."""
        return urlsplit(self.repository.target("").url).hostname

    @property
    def name(self) -> str:
        """The hub, id and revision."""
        return self.repository.title

    @property
    def single(self) -> str | None:
        """The one file that a URL names."""
        return self.repository.only

    def names(self) -> list[str]:
        """The names of the files right inside the data set, sorted.

        Raises:
            HubError: The hub cannot be asked.
        """
        if self.repository.only is not None:
            return [self.repository.only]
        return sorted(name for name in self.entries() if "/" not in name)

    def has(self, file: str) -> bool:
        """Whether the data set holds that file.

        Raises:
            HubError: The hub cannot be asked.
        """
        if self.kept(file) is not None:
            return True
        if self.repository.listing is not None:
            return file in self.entries()
        try:
            self._remote_file(file, None, None).read(0, 1)
        except RangesUnusableError:
            return True
        except WebError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return False
            raise
        return True

    def matching(self, pattern: str) -> list[str]:
        """The files that fit a pattern, sorted.

        Raises:
            DataError: There is none, or the place cannot list its files.
            HubError: The hub cannot be asked.
        """

        def fitting() -> list[str]:
            return [n for n in sorted(self.entries()) if fnmatch.fnmatchcase(n, pattern)]

        if self.repository.only is not None:
            return [self.repository.only]
        if self.repository.listing is None:
            raise DataError(
                f"{self.name} cannot list its files, and `{pattern}` may be several",
                hint="give the URL of the file itself, or take a hub",
            )
        found = fitting() or (fitting() if self._listed_anew() else [])
        if not found:
            raise self._missing(pattern)
        return found

    def path(self, file: str) -> Path:
        """The local path of a file, fetched if need be.

        Raises:
            DataError: The data set has no such file.
            HubError: It cannot be fetched.
            StorageError: It cannot be kept.
        """
        path = self.kept(file)
        if path is None:
            if self.web is None:
                raise offline_error(f"`{file}` of {self.name}")
            path = self.cache.place(*self._kept_under(file))
            try:
                self._download(self.web, file, path)
            except HubError as error:
                if isinstance(error, WebError) or not self._listed_anew():
                    raise
                self._download(self.web, file, path)
        self.used[file] = path
        return path

    def _download(self, web: Web, file: str, path: Path) -> None:
        entry = self.entry(file)
        wanted = Wanted(self.repository.target(file), entry.size, entry.sha256)
        download(web, wanted, path, self.notice, self.progress)

    def archive(self, file: str) -> Archive:
        """A zip of the data set: the whole file if it is in the cache, else read by ranges.

        Raises:
            DataError: The data set has no such file, or it is no zip or damaged.
            HubError: It cannot be fetched.
        """
        if file not in self.archives:
            if self.whole or self.kept(file) is not None:
                self.archives[file] = open_archive(self.path(file))
            else:
                self.archives[file] = self._open_remote(file)
        return self.archives[file]

    def beside(self, table: str, path: str) -> Source | None:
        """The file that a path in a table names: one of the data set, never of this machine."""
        return HubSource(self, (PurePosixPath(table).parent / path).as_posix())

    def expect(self, sources: Iterable[Source]) -> None:
        """Begin to fetch what a run will read, in its order."""
        wanted: dict[int, tuple[RemoteArchive, list[str]]] = {}
        for source in sources:
            if isinstance(source, ArchiveMember) and isinstance(source.archive, RemoteArchive):
                archive = source.archive
                wanted.setdefault(id(archive), (archive, []))[1].append(source.member)
        if self.web is not None:
            for archive, members in wanted.values():
                archive.expect(members)

    def close(self) -> None:
        """Stop what is under way."""
        if self.web is not None:
            self.web.stop()
        for archive in self.archives.values():
            if isinstance(archive, RemoteArchive):
                archive.close()

    def fingerprint(self) -> str:
        """SHA-256 over the files used; that of a local copy is the same."""
        return fingerprint_of_files(self.used, self.archives)

    def kept(self, file: str) -> Path | None:
        """The whole file, if it is in the cache."""
        return self.cache.find(*self._kept_under(file))

    def entry(self, file: str) -> Entry:
        """What the hub tells of a file.

        Raises:
            DataError: The data set has no such file.
            HubError: The hub cannot be asked.
        """
        if self.repository.listing is None:
            return Entry()
        if file not in self.entries() and not (self._listed_anew() and file in self.entries()):
            raise self._missing(file)
        return self.entries()[file]

    def entries(self) -> dict[str, Entry]:
        """All files of the data set; asked for once and kept, so that a second run need not.

        Raises:
            HubError: The hub cannot be asked.
        """
        if self._entries is None:
            self._entries = self._kept_entries()
        if self._entries is None:
            if self.web is None or self.repository.listing is None:
                raise offline_error(f"the file list of {self.name}")
            self._entries = self.repository.listing(self.web)
            self._fresh = True
            if not self._entries:
                raise HubError(
                    f"{self.name} has no files",
                    hint=f"check the name; a private data set needs a token; see "
                    f"{self.repository.page}",
                )
            listed = {
                "title": self.name,
                "files": {path: [e.size, e.sha256] for path, e in self._entries.items()},
            }
            path = self.cache.place(*self.repository.folder, LISTING)
            write_whole(path, json.dumps(listed, ensure_ascii=False).encode("utf-8", "replace"))
        return self._entries

    def _listed_anew(self) -> bool:
        """Ask the hub for its list again, if the one in use is of an earlier run; say whether."""
        if self._fresh or self.web is None or self.repository.listing is None:
            return False
        for base in (self.cache.root, self.cache.spare):
            if base is not None:
                forget(base.joinpath(*self.repository.folder, LISTING))
        self._entries = None
        self.entries()
        return True

    def _missing(self, file: str) -> DataError:
        return DataError(
            f"no `{file}` in {self.name}, found {listed(sorted(self.entries()))}",
            hint=f"see {self.repository.page}",
        )

    def _kept_entries(self) -> dict[str, Entry] | None:
        kept = self.cache.find(*self.repository.folder, LISTING)
        if kept is None:
            return None
        try:
            files = json.loads(kept.read_bytes())["files"]
            return {str(path): Entry(size, sha256) for path, (size, sha256) in files.items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None  # a damaged list is asked for again

    def _kept_under(self, file: str) -> tuple[str, ...]:
        parts = PurePosixPath(file).parts
        if not parts or ".." in parts or file.startswith("/") or "\\" in file or "\0" in file:
            raise DataError(f"the name `{file}` leads out of {self.name}")
        return (*self.repository.folder, "files", *parts)

    def _open_remote(self, file: str) -> Archive:
        place = f"{file} of {self.name}".replace("`", "")  # errors put it between backticks
        parts = self._kept_under(file)
        folder = (*self.repository.folder, "archives", *parts[len(self.repository.folder) + 1 :])
        make = None if self.web is None else lambda a, b: self._remote_file(file, a, b)
        try:
            try:
                return open_remote(place, self.cache, folder, make)
            except ChangedError:
                if not self._listed_anew():
                    raise
                return open_remote(place, self.cache, folder, make)
        except RangesUnusableError as error:
            size = self.entry(file).size
            if size is not None and size > WHOLE_BYTES:
                raise HubError(
                    f"`{place}` cannot be read in parts: {error.message}",
                    hint=f"take another hub, or fetch its {size} bytes: mmscore fetch --whole",
                ) from error
            self.notice(f"{error.message}: fetching `{place}` whole")
            return open_archive(self.path(file))

    def _remote_file(self, file: str, size: int | None, validator: str | None) -> RemoteFile:
        if self.web is None:
            raise offline_error(f"`{file}` of {self.name}")
        known = size if size is not None else self.entry(file).size
        return RemoteFile(self.web, self.repository.target(file), known, validator)


Files = LocalFiles | HubFiles

LISTING = "listing.json"
"""The file that keeps a hub's list of a data set's files."""


def locate(
    data: str | None,
    benchmark: str,
    ids: Mapping[str, str] | None = None,
    *,
    allow: Iterable[Path] = (),
    offline: bool = False,
    whole: bool = False,
    notice: Callable[[str], None] = lambda _: None,
    progress: Progress = lambda *_: None,
) -> Files:
    """The files of a data set; nothing is fetched yet.

    Args:
        data: `--data`: a path, `modelscope:ID[@REV]`, `hf:ID[@REV]`, a URL; None for the place
            where the benchmark is published.
        benchmark: The benchmark's name, for errors.
        ids: Hub -> the benchmark's own id there; empty where the user brings the data.
        allow: Folders outside a local data set that links in it may lead to.
        offline: Make no request.
        whole: Fetch archives whole.
        notice: Told what a user would wonder about.
        progress: Told how far a download is.

    Raises:
        DataError: There is nothing at that place.
        ConfigError: The place is none.
    """
    if data is None and not ids:
        raise DataError(
            f"`{benchmark}` needs its data", hint="give the folder of the data set with --data"
        )
    root = None if data is None else Path(data).expanduser()
    if root is not None and root.exists():
        folder, single = (root.parent, root.name) if root.is_file() else (root, None)
        return LocalFiles(folder, single, tuple(allow))
    repository = find_repository(data, ids or {})
    if repository is None:
        raise DataError(
            f"no data at `{root}`", hint="check --data: a path, modelscope:ID, hf:ID or a URL"
        )
    web = None if offline else Web(notice)
    return HubFiles(repository, Cache(notice=notice), web, notice, progress, whole)
