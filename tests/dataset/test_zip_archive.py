"""Archives against `zipfile`: sound ones read alike, damaged ones never give other bytes."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mmscore._core as _core
from mmscore.dataset.zip_archive import ArchiveMember, Folder, open_archive
from mmscore.errors import DataError

Members = list[tuple[str, bytes, int]]

SHARED = Path(os.environ.get("MMSCORE_SHARED", Path(__file__).parents[3] / "shared"))


def packed(members: Iterable[tuple[str, bytes, int]], comment: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.comment = comment
        for name, data, method in members:
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return out.getvalue()


def stored(*members: tuple[str, bytes]) -> bytes:
    return packed([(name, data, zipfile.ZIP_STORED) for name, data in members])


def by_ranges(data: bytes, place: str = "remote.zip") -> _core.ZipDirectory:
    """The directory as a remote archive's is found: only what is asked for is handed over."""
    opening = _core.ZipOpening(place, len(data))
    for _ in range(4):
        start, end = opening.need()
        assert 0 <= start <= end <= len(data)
        directory = opening.feed(data[start:end])
        if directory is not None:
            return directory
    raise AssertionError("asked for more than four ranges")


def read_by_ranges(data: bytes, directory: _core.ZipDirectory, index: int) -> bytes:
    start, end = directory.span(index)
    return directory.decode(index, data[start:end])


def write(folder: Path, data: bytes, name: str = "imgs.zip") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "prefix", ["", "imgs/", "SLAKE/imgs/", "a/b/c/"], ids=["none", "imgs", "slake", "deep"]
)
def test_a_member_is_found_whatever_folder_was_packed(tmp_path: Path, prefix: str) -> None:
    data = stored(
        (f"{prefix}xmlab1/", b""),
        (f"{prefix}xmlab1/source.jpg", b"one"),
        (f"{prefix}xmlab11/source.jpg", b"eleven"),
        (f"__MACOSX/{prefix}xmlab1/._source.jpg", b"junk"),
    )
    archive = open_archive(write(tmp_path, data))
    assert archive.names() == [f"{prefix}xmlab1/source.jpg", f"{prefix}xmlab11/source.jpg"]
    member = ArchiveMember(archive, "xmlab1/source.jpg")
    assert member.exists()
    assert member.read() == b"one"
    assert member.name == f"xmlab1/source.jpg in {tmp_path / 'imgs.zip'}"
    assert not ArchiveMember(archive, "xmlab2/source.jpg").exists()


SOUND = stored(("imgs/a.jpg", b"x" * 500), ("imgs/b.jpg", b"y" * 500), ("b/b.jpg", b"z"))


@pytest.mark.parametrize(
    ("data", "member", "message", "hint"),
    [
        (SOUND, "imgs/c.jpg", "no member `imgs/c.jpg`; the nearest is `imgs/a.jpg`", None),
        (SOUND, "b.jpg", "2 members end in `b.jpg`: `imgs/b.jpg`, `b/b.jpg`", "full name"),
        (SOUND, "../a.jpg", "`../a.jpg` has a name that leads out of the archive", None),
        (SOUND[:-30], "imgs/a.jpg", "cut short, it begins like a zip archive", "download"),
        (SOUND[100:], "imgs/a.jpg", "it ends after .* should start at byte 11", "download"),
        (b"<html>no</html>", "imgs/a.jpg", "no zip archive, its 15 bytes hold no", "web page"),
        (b"", "imgs/a.jpg", "no zip archive, its 0 bytes hold no end record", "web page"),
        (
            SOUND.replace(b"xxxxx", b"xxxxz", 1),
            "imgs/a.jpg",
            "`imgs/a.jpg` is damaged: its CRC",
            "",
        ),
    ],
)
def test_errors_name_archive_and_member(
    tmp_path: Path, data: bytes, member: str, message: str, hint: str | None
) -> None:
    path = write(tmp_path, data)
    with pytest.raises(DataError, match=f"archive `{path}`: .*{message}") as caught:
        open_archive(path).read(member)
    assert (hint is None) == (caught.value.hint is None)
    assert hint is None or hint in (caught.value.hint or "")


def test_a_missing_archive_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"imgs\.zip` is missing") as caught:
        open_archive(tmp_path / "nowhere" / "imgs.zip")
    assert "nowhere" in (caught.value.hint or "")
    with pytest.raises(DataError, match="is a folder"):
        open_archive(tmp_path)
    with pytest.raises(FileNotFoundError):
        _core.Zip.open(tmp_path / "imgs.zip")


def test_an_encrypted_member_is_named(tmp_path: Path) -> None:
    data = bytearray(SOUND)
    at = data.index(b"PK\1\2")
    data[at + 8] |= 1
    with pytest.raises(DataError, match=r"member `imgs/a\.jpg` is encrypted"):
        open_archive(write(tmp_path, bytes(data))).read("imgs/a.jpg")


@pytest.mark.parametrize(
    ("method", "name"), [(97, "WavPack"), (9, "deflate64"), (20, "zstd"), (77, "unknown")]
)
def test_an_unsupported_method_is_named(tmp_path: Path, method: int, name: str) -> None:
    data = bytearray(stored(("a.jpg", b"data")))
    at = data.index(b"PK\1\2")
    data[at + 10] = method
    path = write(tmp_path, bytes(data), "my set.zip")
    zip_file = _core.Zip.open(path)
    assert (zip_file.method(0), zip_file.is_encrypted(0)) == (name, False)
    for ask in (zip_file.check, zip_file.read):
        with pytest.raises(
            DataError, match=rf"`a.jpg` is packed by method {method} \({name}\)"
        ) as e:
            ask(0)
        assert "7z x -ounpacked -- 'my set.zip'" in (e.value.hint or "")


def test_a_file_cut_after_it_was_opened_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, SOUND)
    archive = open_archive(path)
    os.truncate(path, 300)
    with pytest.raises(DataError, match=r"bytes came from byte 0 on, .* were expected"):
        archive.read("imgs/a.jpg")


def test_zip64_archives_are_read(tmp_path: Path) -> None:
    path = tmp_path / "wide.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.jpg", "b.jpg"):
            with archive.open(name, "w", force_zip64=True) as member:
                member.write(name.encode() * 100)
    data = path.read_bytes()
    end = data.rindex(b"PK\5\6")
    entries, length, start = struct.unpack("<HLL", data[end + 10 : end + 20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, entries, entries, length, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    marks = b"\xff" * 2 + b"\xff" * 2 + b"\xff" * 8
    wide = data[:end] + record + locator + data[end : end + 8] + marks + data[end + 20 :]
    for junk in (b"", b"#!/bin/sh\n" * 10):
        write(tmp_path, junk + wide, "wide.zip")
        with zipfile.ZipFile(path) as oracle:
            assert oracle.read("b.jpg") == open_archive(path).read("b.jpg") == b"b.jpg" * 100
    with pytest.raises(DataError, match="its zip64 end record is damaged"):
        open_archive(write(tmp_path, wide.replace(b"PK\6\6", b"XX\6\6"), "wide.zip"))


names = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\\"), min_size=1, max_size=12
) | st.sampled_from(
    ["a/b.jpg", "b.jpg", "c/a/b.jpg", "a/", "._b.jpg", "__MACOSX/b.jpg", "肺/é.png"]
)
contents = st.binary(max_size=60) | st.sampled_from([b"a" * 5000, bytes(range(256)) * 20])
methods = st.sampled_from(
    [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
archives = st.lists(st.tuples(names, contents, methods), max_size=8)


def is_file(name: str) -> bool:
    parts = name.split("/")
    companion = parts[-1].startswith("._") or name.startswith("__MACOSX/")
    return bool(parts[-1]) and not companion


def leads_out(name: str) -> bool:
    drive = name[:1].isascii() and name[:1].isalpha() and name[1:2] == ":"
    return name.startswith("/") or ".." in name.split("/") or drive


@given(archives, st.binary(max_size=30), st.binary(max_size=30))
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_random_archives_read_as_zipfile_reads_them(
    members: Members, junk: bytes, comment: bytes
) -> None:
    data = junk + packed(members, comment)
    directory = by_ranges(data)
    with zipfile.ZipFile(io.BytesIO(data)) as oracle:
        expected = {name for name in oracle.namelist() if is_file(name)}
        assert sorted(directory.names()) == sorted(expected)
        for index, name in enumerate(directory.names()):
            assert directory.size(index) == oracle.getinfo(name).file_size
            if leads_out(name):
                with pytest.raises(DataError, match="leads out"):
                    directory.span(index)
                continue
            assert directory.find(name) == index
            assert read_by_ranges(data, directory, index) == oracle.read(name)


@given(archives, st.data())
@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_damaged_archive_never_gives_other_bytes_than_zipfile(
    members: Members, choice: st.DataObject
) -> None:
    data = bytearray(packed(members))
    for at in choice.draw(st.lists(st.integers(0, len(data) - 1), max_size=5)):
        data[at] = choice.draw(st.integers(0, 255) | st.sampled_from([0, 1, 8, 255]))
    damaged = bytes(data)
    try:
        directory = by_ranges(damaged)
    except DataError:
        return
    for index, name in enumerate(directory.names()):
        try:
            ours = read_by_ranges(damaged, directory, index)
        except DataError:
            continue
        try:
            with zipfile.ZipFile(io.BytesIO(damaged)) as oracle:
                theirs = oracle.read(name)
        except Exception:  # zipfile raises many kinds on what it refuses
            continue
        assert ours == theirs


def test_local_and_remote_reading_are_the_same_code(tmp_path: Path) -> None:
    members = [(f"d{number % 7}/{number}.jpg", b"%d" % number * 50, 8) for number in range(4000)]
    data = packed(members)
    directory = by_ranges(data)
    local = open_archive(write(tmp_path, data))
    assert directory.names() == local.names()
    for index in range(0, 4000, 97):
        assert read_by_ranges(data, directory, index) == local.zip.read(index)
        # Nothing but the member crosses the wire.
        start, end = directory.span(index)
        name = directory.name(index)
        assert data[start:end].startswith(b"PK\3\4")
        assert data[start:end].count(b"PK\3\4") == 1
        assert name.encode() in data[start:end]


def test_many_threads_read_at_once(tmp_path: Path) -> None:
    members = [(f"{number}.jpg", bytes([number]) * 20_000, 8) for number in range(64)]
    archive = open_archive(write(tmp_path, packed(members)))
    start = threading.Barrier(8)

    def read_all(_: int) -> bool:
        start.wait()
        return all(archive.read(name) == data for name, data, _ in members)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(read_all, range(8)))


def directory_of(count: int) -> bytes:
    """An archive of empty members, written without `zipfile`, which would take seconds."""
    local, central = bytearray(), bytearray()
    for number in range(count):
        name = b"images/PMC%07d_Fig%d_%06d.jpg" % (number * 7919 % 10**7, number % 9, number)
        common = struct.pack("<5H3L2H", 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0)
        central += struct.pack("<4sH", b"PK\1\2", 20) + common
        central += struct.pack("<HHHLL", 0, 0, 0, 0, len(local)) + name
        local += b"PK\3\4" + common + name
    end = (b"PK\6\6", 44, 45, 45, 0, 0, count, count, len(central), len(local))
    record = struct.pack("<4sQ2H2L4Q", *end)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(local) + len(central), 1)
    classic = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, 2**32 - 1, 2**32 - 1, 0)
    return bytes(local + central) + record + locator + classic


PROBE = """
import sys
import mmscore._core as _core
peak = lambda: next(int(l.split()[1]) for l in open("/proc/self/status") if "VmHWM" in l)
before = peak()
archive = _core.Zip.open(sys.argv[1])
archive.read(archive.find("PMC0000000_Fig0_000000.jpg"))
print(len(archive), peak() - before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_150_000_members_stay_under_25_mb(tmp_path: Path) -> None:
    path = write(tmp_path, directory_of(150_000))
    probe = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, path], capture_output=True, text=True, check=True
    )
    count, kilobytes = map(int, probe.stdout.split())
    assert count == 150_000
    assert kilobytes < 25_000


def test_looking_up_does_not_slow_down_when_all_last_parts_are_alike() -> None:
    data = stored(*[(f"case{number}/source.jpg", b"%d" % number) for number in range(3000)])
    directory = by_ranges(data)
    for number in range(0, 3000, 50):
        assert directory.get(f"case{number}/source.jpg") == number
        assert directory.get(f"./case{number}/source.jpg") == number
    with pytest.raises(DataError, match=r"3000 members end in `source\.jpg`: .*, \.\.\."):
        directory.find("source.jpg")


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data sets beside this repository")
@pytest.mark.parametrize("archive", ["slake/imgs.zip", "pmc_vqa/images.zip"])
def test_published_archives_read_as_zipfile_reads_them(archive: str) -> None:
    path = SHARED / "datasets" / archive
    ours = open_archive(path)
    with zipfile.ZipFile(path) as oracle:
        files = [name for name in oracle.namelist() if is_file(name)]
        assert ours.names() == files
        for name in files:
            assert ours.read(name) == oracle.read(name)


# --- unpacked ------------------------------------------------------------------------------------


@pytest.fixture
def unpacked(tmp_path: Path) -> Path:
    """A data set's folder with an unpacked archive, and a file outside of it."""
    (tmp_path / "set" / "imgs").mkdir(parents=True)
    (tmp_path / "nas").mkdir()
    (tmp_path / "set" / "imgs" / "a.jpg").write_bytes(b"a")
    (tmp_path / "nas" / "b.jpg").write_bytes(b"b")
    (tmp_path / "set" / "imgs" / "in.jpg").symlink_to("a.jpg")
    (tmp_path / "set" / "imgs" / "out.jpg").symlink_to(tmp_path / "nas" / "b.jpg")
    (tmp_path / "set" / "more").symlink_to(tmp_path / "nas")
    (tmp_path / "set" / "env").symlink_to("/proc/self/environ")
    return tmp_path / "set"


def test_an_unpacked_archive_reads_only_its_folder(unpacked: Path) -> None:
    folder = Folder(unpacked)
    assert folder.read("imgs/a.jpg") == folder.read("imgs/in.jpg") == b"a"
    assert not folder.has("imgs/gone.jpg")
    for name in ("imgs/out.jpg", "more/b.jpg"):
        for function in (folder.has, folder.read):
            with pytest.raises(DataError, match="lies outside") as caught:
                function(name)
            assert f"--allow-path {unpacked.parent}/nas" in (caught.value.hint or "")
    for name in ("../nas/b.jpg", "/etc/passwd"):
        with pytest.raises(DataError, match="leads out"):
            folder.has(name)


def test_links_out_of_an_unpacked_archive_may_be_allowed(unpacked: Path) -> None:
    folder = Folder(unpacked, (unpacked.parent / "nas",))
    assert folder.read("imgs/out.jpg") == folder.read("more/b.jpg") == b"b"
    with pytest.raises(DataError, match="names a file of the system"):
        Folder(unpacked, (Path("/"),)).read("env")
