"""Files that Git did not fetch are called that, wherever they are met."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import SHARED, run_cli
from support.own_sets import asking, write

from mmscore.dataset.media.file_types import require_kind
from mmscore.dataset.media.image import check_image, prepare_image
from mmscore.dataset.rows import READERS, read
from mmscore.dataset.zip_archive import open_archive
from mmscore.errors import DataError

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 123456\n"
)

MEDIA: list[Callable[[bytes], object]] = [
    prepare_image,
    check_image,
    lambda data: require_kind(data, "audio", "x"),
    lambda data: require_kind(data, "video", "x"),
]


@pytest.mark.parametrize("look", MEDIA)
def test_a_medium_that_was_not_fetched(look: Callable[[bytes], object]) -> None:
    with pytest.raises(DataError, match="is a Git LFS pointer") as caught:
        look(POINTER)
    assert "git lfs pull" in (caught.value.hint or "")


@pytest.mark.parametrize("suffix", READERS)
def test_a_table_that_was_not_fetched(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"set{suffix}"
    path.write_bytes(POINTER)
    with pytest.raises(DataError, match="is a Git LFS pointer"):
        list(read(path))


def test_an_archive_that_was_not_fetched(tmp_path: Path) -> None:
    (tmp_path / "imgs.zip").write_bytes(POINTER)
    with pytest.raises(DataError, match="is a Git LFS pointer"):
        open_archive(tmp_path / "imgs.zip")


def test_it_is_told_before_anything_is_asked(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(POINTER)
    ran = run_cli(
        "check", "general_vqa", "--data", str(write(tmp_path, asking("<image 1>", image_1="a.png")))
    )
    assert ran.code == 1 and "is a Git LFS pointer" in ran.out and "git lfs pull" in ran.out


def test_such_tables_seen_in_public() -> None:
    data = SHARED / "faults" / "P29"
    if not data.is_dir():
        pytest.skip(f"no {data}; MMSCORE_SHARED names its folder")
    ran = run_cli("check", "count_qa", "--data", str(data))
    assert ran.code == 1 and "is a Git LFS pointer" in ran.err


@pytest.mark.parametrize("suffix", [".xlsx", ".XLS", ".ods"])
def test_a_spreadsheet_is_to_be_saved_as_text(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"set{suffix}"
    path.write_bytes(b"PK")
    ran = run_cli("check", "general_vqa", "--data", str(path))
    assert ran.code == 1 and "save it as CSV" in ran.err
