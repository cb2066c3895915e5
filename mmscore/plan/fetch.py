"""What a benchmark's data set needs on this machine: where it lies, and how much of it is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mmscore import benchmarks
from mmscore.benchmarks import BENCHMARKS
from mmscore.config.task import TaskConfig
from mmscore.dataset.hub.cache import cache_folder, clean, folder_size
from mmscore.dataset.hub.hub_files import Files, HubFiles, HubSource
from mmscore.dataset.hub.remote_zip import RemoteArchive
from mmscore.dataset.hub.repository import HUBS
from mmscore.dataset.local_files import LocalFiles
from mmscore.dataset.zip_archive import ArchiveMember
from mmscore.errors import ConfigError
from mmscore.plan.events import SILENT, Events
from mmscore.plan.plan import Plan, find_files, look

TABLES_BYTES = 64 * 1024 * 1024
"""A dry run reads tables up to this size, to know which members of an archive are needed."""


@dataclass(frozen=True, slots=True)
class Need:
    """A file that a run needs.

    Attributes:
        file: Its name in the data set.
        place: The path where it lies or will lie.
        bytes: How many of its bytes are needed; None where only a fetch can tell.
        new: How many of those are not on this machine.
        members: Of an archive that is read in parts: how many members are needed, and of how many.
    """

    file: str
    place: str
    bytes: int | None
    new: int | None
    members: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """What `fetch` found, and fetched unless it was a dry run."""

    benchmark: str
    source: str
    needs: tuple[Need, ...]
    dry_run: bool

    def facts(self) -> dict[str, Any]:
        """The same as JSON values."""
        return asdict(self)

    def __str__(self) -> str:
        """Return it as a table."""
        return "\n".join([f"{self.benchmark}: {self.source}", *self._lines()])

    def _lines(self) -> Iterator[str]:
        width = max((len(need.file) for need in self.needs), default=0)
        for need in self.needs:
            parts = ""
            if need.members is not None:
                parts = f", {need.members[0]:,} of {need.members[1]:,} members"
            yield f"  {need.file:<{width}}  {self._amount(need)}{parts}  {need.place}"
        sizes = [need.new for need in self.needs]
        known = sum(size for size in sizes if size is not None)
        more = " and what the tables name" if None in sizes else ""
        verb = "would be fetched" if self.dry_run else "fetched"
        yield f"{verb}: {size_words(known)}{more}"

    def _amount(self, need: Need) -> str:
        if need.bytes is None:
            return "the members that the tables name"
        new = "all here" if not need.new else f"{size_words(need.new)} new"
        return f"{size_words(need.bytes)}, {new}"


def fetch(
    task: TaskConfig,
    name: str,
    events: Events = SILENT,
    *,
    dry_run: bool = False,
    whole: bool = False,
) -> Fetched:
    """Fetch what a run of a benchmark would need, and say where it lies.

    Args:
        task: The task; its data, subsets, limit and shard count.
        name: The benchmark.
        events: Who wants to hear of progress.
        dry_run: Only say what would be fetched. Small tables and the directories of archives are
            fetched all the same: without them nobody knows.
        whole: Fetch archives whole instead of the members that are needed.

    Raises:
        ConfigError: The benchmark, a subset or the data set's id is unknown.
        DataError: The data are missing or damaged.
        HubError: They cannot be fetched.
        StorageError: They cannot be kept.
    """
    files = find_files(task, name, events, whole=whole)
    if isinstance(files, LocalFiles):
        plan = look(task, name, events)
        return Fetched(name, files.name, tuple(_local(plan.files)), dry_run)
    names = _names(files, name)
    tables = [file for file in names if not file.endswith(".zip")]
    before = {file: _new(files, file) for file in names}
    unread = sum(size or 0 for file, size in before.items() if file in tables)
    try:
        if dry_run and (whole or unread > TABLES_BYTES):
            return Fetched(name, files.name, tuple(_listed(files, before, whole)), dry_run)
        plan = look(task, name, events, whole=whole)
        assert isinstance(plan.files, HubFiles)
        needs = tuple(_needs(plan, plan.files, names, before))
        if not dry_run:
            _fetch_members(plan, plan.files, events)
        plan.files.close()
    finally:
        files.close()
    return Fetched(name, files.name, needs, dry_run)


def _names(files: HubFiles, name: str) -> list[str]:
    """The files that the benchmark says it needs."""
    dataset = benchmarks.find(name).dataset
    if files.repository.only is not None or dataset is None:
        return files.names()
    return [
        file
        for pattern in dataset.files
        for file in (files.matching(pattern) if "*" in pattern else [pattern])
    ]


def _new(files: HubFiles, file: str) -> int | None:
    """The bytes of a file that are not here; None where the hub does not tell."""
    return 0 if files.kept(file) is not None else files.entry(file).size


def _local(files: Files) -> Iterator[Need]:
    for file, path in sorted(files.used.items()):
        yield Need(file, str(path), path.stat().st_size, 0)


def _listed(files: HubFiles, before: dict[str, int | None], whole: bool) -> Iterator[Need]:
    """What the hub's list alone tells."""
    for file, new in before.items():
        if file.endswith(".zip") and not whole and new != 0:
            yield Need(file, str(files.cache.root), None, None)
        else:
            kept = files.kept(file)
            size = kept.stat().st_size if kept is not None else new
            yield Need(file, str(kept or files.cache.root), size, new)


def _needs(
    plan: Plan, files: HubFiles, names: Sequence[str], before: dict[str, int | None]
) -> Iterator[Need]:
    for file in names:
        archive = files.archives.get(file)
        if isinstance(archive, RemoteArchive):
            members = _members(plan, archive)
            count, size, new = archive.size_of(members)
            yield Need(file, archive.folder, size, new, (count, len(archive.names())))
        else:
            path = files.path(file)
            size = path.stat().st_size
            told = before[file]
            yield Need(file, str(path), size, size if told is None else min(told, size))


def _members(plan: Plan, archive: RemoteArchive) -> list[str]:
    """The members of an archive that the run will read and that are there."""
    return [
        source.member
        for source in plan.sources()
        if isinstance(source, ArchiveMember)
        and source.archive is archive
        and archive.has(source.member)
    ]


def _fetch_members(plan: Plan, files: HubFiles, events: Events) -> None:
    files.expect(plan.sources())
    for source in plan.sources():
        if isinstance(source, HubSource):
            files.path(source.file)
    for file, archive in files.archives.items():
        if isinstance(archive, RemoteArchive):
            for done, total in archive.fetch_expected():
                events.fetching(f"`{file}`", done, total)


@dataclass(frozen=True, slots=True)
class Kept:
    """What the cache holds of one data set.

    Attributes:
        source: `modelscope:OWNER/NAME`, as `--data` takes it; `url:...` for one by its URL.
        place: Its folder.
        bytes: How many bytes that takes.
    """

    source: str
    place: str
    bytes: int


def kept() -> list[Kept]:
    """The data sets in the cache."""
    root = cache_folder()
    return [
        Kept(f"{hub}:{folder.relative_to(root / hub).as_posix()}", str(folder), folder_size(folder))
        for hub, depth in sorted({**dict.fromkeys(HUBS, "*/*"), "url": "*"}.items())
        for folder in sorted((root / hub).glob(depth))
    ]


def kept_of(name: str) -> list[Kept]:
    """What the cache holds of a benchmark's published data set."""
    dataset = benchmarks.find(name).dataset
    ids = {f"{hub}:{owner}" for hub, owner in dataset.ids.items()} if dataset else set()
    return [one for one in kept() if one.source in ids]


def clean_cache(names: Sequence[str]) -> list[Kept]:
    """Remove what the cache holds of these benchmarks or sources, or all of it for no name.

    Raises:
        ConfigError: A name is neither.
        StorageError: It cannot be removed.
    """
    there = kept()
    chosen = there if not names else []
    for name in names:
        sources = [one for one in there if one.source == name]
        if not sources and name in BENCHMARKS:
            sources = kept_of(name)
        elif not sources:
            listed = ", ".join(f"`{one.source}`" for one in there) or "nothing"
            raise ConfigError(f"the cache holds no `{name}`, only {listed}")
        chosen += sources
    for one in chosen:
        clean(Path(one.place))
    return chosen


def size_words(size: int) -> str:
    """Bytes as people read them."""
    amount = float(size)
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if amount < 1000 or unit == "TB":
            break
        amount /= 1000
    return f"{size} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"


__all__ = ["Fetched", "Kept", "Need", "clean_cache", "fetch", "kept", "kept_of", "size_words"]
