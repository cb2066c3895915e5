"""A cache that several people write: nothing that another planted there is written through."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from support.hubs import hub, serving

from mmscore import disk
from mmscore.dataset.hub.cache import Cache, cache_folder, only_writer
from mmscore.dataset.hub.hub_files import locate
from mmscore.errors import StorageError

TABLE = {"o/n": {"test.json": b"[1, 2, 3]" * 100}}


def fetched() -> Path:
    return locate("modelscope:o/n", "slake", {"modelscope": "o/n"}).path("test.json")


@pytest.mark.parametrize("name", ["test.json.part", "test.json.part.version"])
@pytest.mark.parametrize("target", ["filled", "missing"])
def test_a_planted_part_is_not_written_through(
    name: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(monkeypatch, hub(TABLE)):
        place = fetched()
        place.unlink()
        precious = tmp_path / "precious"
        if target == "filled":
            precious.write_bytes(b"x" * 10)
        place.with_name(name).symlink_to(precious)
        assert fetched().read_bytes() == TABLE["o/n"]["test.json"]
    assert not place.is_symlink()
    assert precious.read_bytes() == b"x" * 10 if target == "filled" else not precious.exists()


def test_a_part_with_another_name_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"0123456789")
    (tmp_path / "a.part").hardlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="it is a link"):
        disk.open_part(tmp_path / "a.part", 5)
    with disk.open_part(tmp_path / "a.part", 0) as file:
        file.write(b"new")
    assert (tmp_path / "precious").read_bytes() == b"0123456789"


def test_a_planted_name_of_a_file_in_the_making_is_not_written_through(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"mine")
    part = f"a.json.whole-{os.getpid()}-{threading.get_ident()}.part"
    (tmp_path / part).symlink_to(precious)
    (tmp_path / "a.json").symlink_to(precious)
    disk.write_whole(tmp_path / "a.json", ["new"])
    assert precious.read_bytes() == b"mine"
    assert (tmp_path / "a.json").read_bytes() == b"new" and not (tmp_path / "a.json").is_symlink()


def test_a_planted_lock_makes_no_file_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "a.lock").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(StorageError, match="it is a link"),
        only_writer(tmp_path / "a", lambda: None),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_a_planted_folder_is_not_written_into(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    cache_folder().mkdir(parents=True)
    (cache_folder() / "modelscope").symlink_to(outside)
    told: list[str] = []
    place = Cache(notice=told.append).place("modelscope", "o", "test.json")
    assert cache_folder() not in place.parents and "is a link" in told[0]
    assert not list(outside.iterdir())


def test_what_killed_processes_left_is_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    left = tmp_path / "a" / "b.jpg.whole-4194399-1.part"
    begun = tmp_path / "a" / "c.zip.part"
    left.parent.mkdir()
    left.write_bytes(b"half")
    begun.write_bytes(b"to be completed by a range")
    cache.place("a", "b.jpg")
    assert not left.exists() and begun.exists()


def test_what_another_process_is_writing_stays(tmp_path: Path) -> None:
    part = tmp_path / "b.jpg.whole-4194399-1.part"
    with part.open("wb") as file:
        assert disk.try_lock(file.fileno())
        disk.remove_leftovers(tmp_path)
        assert part.exists()
    disk.remove_leftovers(tmp_path)
    assert not part.exists()
