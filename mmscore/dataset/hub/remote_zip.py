"""A zip archive that stays where it is: its directory and the members asked for are all that come.

The core says which bytes it needs (`ZipOpening`, `ZipDirectory.span`) and reads them; this module
fetches them. They are kept in the cache as they came, so a second run asks for nothing, and every
read is checked by the member's CRC-32, wherever its bytes come from.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import mmscore._core as _core
from mmscore.dataset.hub.cache import Cache, write_whole
from mmscore.dataset.hub.read_ahead import Group, ReadAhead, joined
from mmscore.dataset.zip_archive import fingerprint_of
from mmscore.errors import DataError, HubError
from mmscore.web.errors import ChangedError, WebError
from mmscore.web.ranges import RemoteFile

_MOST_CHANGES = 3
"""How often a file may claim to be another and prove to be the same."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A directory and the bytes it was read from.

    Attributes:
        zip: The directory.
        chunks: Position and bytes of each range that was needed.
    """

    zip: _core.ZipDirectory
    chunks: tuple[tuple[int, bytes], ...]

    @property
    def digest(self) -> str:
        """What tells this directory from that of any other archive."""
        total = hashlib.sha256()
        for first, data in self.chunks:
            total.update(f"{first} {len(data)}\n".encode())
            total.update(data)
        return total.hexdigest()


def open_directory(place: str, size: int, read: Callable[[int, int], bytes]) -> Opened:
    """The directory of an archive of `size` bytes, asking `read` for as little as possible.

    Raises:
        DataError: It is no zip, is cut short, or its directory is damaged.
    """
    opening = _core.ZipOpening(place, size)
    chunks: list[tuple[int, bytes]] = []
    while True:
        first, end = opening.need()
        data = _completed(chunks, first, end, read)
        chunks.append((first, data))
        directory = opening.feed(data)
        if directory is not None:
            return Opened(directory, tuple(chunks))


def _completed(
    chunks: Sequence[tuple[int, bytes]], first: int, end: int, read: Callable[[int, int], bytes]
) -> bytes:
    """A range whose end may lie in what was read before."""
    for start, data in chunks:
        if start <= first and end <= start + len(data):
            return data[first - start : end - start]
        if first < start < end <= start + len(data):
            return read(first, start) + data[: end - start]
    return read(first, end)


class RemoteArchive:
    """An archive of the hub's behind the interface of `archive.Archive`."""

    def __init__(
        self,
        place: str,
        opened: Opened,
        digest: str,
        file: RemoteFile | None,
        cache: Cache,
        folder: tuple[str, ...],
    ) -> None:
        """Use `open_remote`."""
        self.place = place
        self._zip = opened.zip
        self._chunks = opened.chunks
        self._digest = digest
        self._file = file
        self._cache = cache
        self._folder = (*folder, f"members-{digest[:16]}")
        self._lock = threading.Lock()
        self._changes = 0
        self._changed: HubError | None = None
        self._ahead: ReadAhead | None = None

    def names(self) -> list[str]:
        """The members' names, in the order of the archive's directory."""
        return self._zip.names()

    def has(self, name: str) -> bool:
        """Whether there is such a member; no request is made."""
        return self._zip.get(name) is not None

    def read(self, name: str) -> bytes:
        """A member's bytes, from the cache or the hub, checked by size and CRC-32.

        Raises:
            DataError: There is no such member, several fit, or it is damaged or unsupported.
            HubError: It cannot be fetched, or the archive is another one now.
        """
        index = self._zip.find(name)
        kept = self._kept(index)
        if kept is None and self._ahead is not None and self._ahead.wait(index):
            kept = self._kept(index)
        if kept is not None:
            try:
                return self._zip.decode(index, kept)
            except DataError:
                pass  # the disk's fault or the archive's: a fresh copy tells
        fresh = self._fetch(index)
        decoded = self._zip.decode(index, fresh)
        self._keep(index, fresh)
        return decoded

    def fingerprint(self) -> str:
        """SHA-256 over the members' names and sizes; that of a local copy is the same."""
        members = range(len(self._zip))
        return fingerprint_of((self._zip.name(i), self._zip.size(i)) for i in members)

    def size_of(self, names: Iterable[str]) -> tuple[int, int, int]:
        """How many members these are, how many bytes, and how many of those must be fetched."""
        indexes = {self._zip.find(name) for name in names}
        sizes = {index: _length(self._zip.span(index)) for index in indexes}
        new = sum(size for index, size in sizes.items() if self._kept_path(index) is None)
        return len(indexes), sum(sizes.values()), new

    def expect(self, names: Iterable[str]) -> ReadAhead:
        """Begin to fetch members in the order in which they will be read.

        What is in the cache is left out, neighbours are joined, and a few ranges are in flight at
        a time; whoever reads a member that is not there yet fetches it first.
        """
        wanted = dict.fromkeys(
            index for name in names if (index := self._zip.get(name)) is not None
        )
        missing = [index for index in wanted if self._kept_path(index) is None]
        missing = [index for index in missing if not self._keep_known(index)]
        self._chunks = ()  # the directory's bytes are many, and all they held is kept now
        if self._ahead is not None:
            self._ahead.close()
        self._ahead = ReadAhead(joined(missing, self._span), self._fetch_group)
        return self._ahead

    def fetch_expected(self) -> Iterator[tuple[int, int]]:
        """Wait for all that `expect` began; yield the bytes that came and will come.

        Raises:
            HubError: Something cannot be fetched.
            StorageError: It cannot be kept.
        """
        groups = self._ahead.groups if self._ahead is not None else ()
        total = sum(group.end - group.first for group in groups)
        done = 0
        for group in groups:
            assert self._ahead is not None
            self._ahead.wait(group.indexes[0])
            done += group.end - group.first
            yield done, total

    @property
    def folder(self) -> str:
        """The folder where members are kept."""
        return str((self._cache.spare or self._cache.root).joinpath(*self._folder))

    def close(self) -> None:
        """Stop fetching ahead."""
        if self._ahead is not None:
            self._ahead.close()

    def _span(self, index: int) -> tuple[int, int] | None:
        """Where a member lies; None where it must not be read, which reading it will tell."""
        try:
            return self._zip.span(index)
        except DataError:
            return None

    def _kept_path(self, index: int) -> Path | None:
        return self._cache.find(*self._folder, str(index))

    def _kept(self, index: int) -> bytes | None:
        path = self._kept_path(index)
        try:
            return None if path is None else path.read_bytes()
        except OSError:
            return None

    def _keep(self, index: int, data: bytes) -> None:
        write_whole(self._cache.place(*self._folder, str(index)), data)

    def _keep_known(self, index: int) -> bool:
        """Keep a member that came along with the directory."""
        span = self._span(index)
        if span is None:
            return False
        for start, data in self._chunks:
            if start <= span[0] and span[1] <= start + len(data):
                self._keep(index, data[span[0] - start : span[1] - start])
                return True
        return False

    def _fetch(self, index: int) -> bytes:
        return self._read(*self._zip.span(index))

    def _fetch_group(self, group: Group) -> None:
        data = self._read(group.first, group.end)
        for index in group.indexes:
            first, end = self._zip.span(index)
            self._keep(index, data[first - group.first : end - group.first])

    def _read(self, first: int, end: int) -> bytes:
        file = self._file
        if file is None:
            raise offline_error(f"a member of `{self.place}`")
        while True:
            if self._changed is not None:
                raise self._changed
            version = file.validator
            try:
                return file.read(first, end)
            except ChangedError as error:
                self._same_after_all(file, version, error)

    def _same_after_all(self, file: RemoteFile, version: str | None, error: ChangedError) -> None:
        """Take a new version of the file if its directory is, byte for byte, the one we read.

        Servers behind one name may tell different ETags of the same file.

        Raises:
            HubError: The archive is another one now.
        """
        with self._lock:
            if self._changed is not None:
                raise self._changed
            if file.validator != version:
                return  # another thread has looked
            self._changes += 1
            file.validator = None
            try:
                same = (
                    self._changes <= _MOST_CHANGES
                    and open_directory(self.place, file.size, file.read).digest == self._digest
                )
            except (DataError, WebError):
                same = False
            if not same:
                self._changed = HubError(
                    f"`{self.place}` was changed while it was in use: {error.message}",
                    hint="remove what was fetched of it with `mmscore cache --clean`, run again",
                )
                raise self._changed from error


def open_remote(
    place: str,
    cache: Cache,
    folder: tuple[str, ...],
    file: Callable[[int | None, str | None], RemoteFile] | None,
) -> RemoteArchive:
    """The archive at a hub; its directory comes from the cache where it was read before.

    Args:
        place: The archive in words.
        cache: Where directory and members are kept.
        folder: Their folder in it.
        file: Makes the file, from its length and version where they are known; None offline.

    Raises:
        RangesUnusableError: The server does not do ranges, or does them wrongly.
        DataError: It is no zip archive or damaged.
        HubError: It cannot be fetched.
    """
    kept = cache.find(*folder, "directory")
    known = None if kept is None else _read_directory(place, kept)
    if known is not None:
        remote = None if file is None else file(known.size, known.validator)
        return RemoteArchive(place, known.opened, known.digest, remote, cache, folder)
    if file is None:
        raise offline_error(f"`{place}`")
    remote = file(None, None)
    opened = open_directory(place, remote.size, remote.read)
    digest = opened.digest
    head = {
        "size": remote.size,
        "validator": remote.validator,
        "digest": digest,
        "chunks": [[first, len(data)] for first, data in opened.chunks],
    }
    written = json.dumps(head).encode() + b"\n" + b"".join(data for _, data in opened.chunks)
    write_whole(cache.place(*folder, "directory"), written)
    return RemoteArchive(place, opened, digest, remote, cache, folder)


@dataclass(frozen=True, slots=True)
class _Known:
    size: int
    validator: str | None
    digest: str
    opened: Opened


def _read_directory(place: str, path: Path) -> _Known | None:
    """A directory that was kept; None where the file is damaged, so that it is fetched anew."""
    try:
        with path.open("rb") as file:
            facts = json.loads(file.readline())
            chunks = [(int(first), file.read(length)) for first, length in facts["chunks"]]

        def absent(first: int, end: int) -> bytes:
            raise DataError(f"bytes {first} to {end} were not kept")

        opened = open_directory(place, facts["size"], lambda a, b: _completed(chunks, a, b, absent))
        return _Known(facts["size"], facts["validator"], facts["digest"], Opened(opened.zip, ()))
    except (OSError, ValueError, KeyError, TypeError):  # DataError is a ValueError
        return None


def offline_error(what: str) -> HubError:
    """The error that says that something would have to be fetched."""
    return HubError(
        f"{what} is not in the cache, and --offline makes no request",
        hint="fetch it before: `mmscore fetch BENCH`",
    )


def _length(span: tuple[int, int]) -> int:
    return span[1] - span[0]
