"""What a data set may read: its own folder, and what its user gave besides; nothing else."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import SHARED, run_cli
from support.images import image_file
from support.own_sets import asking, image_of, only, write
from support.server import reply, serve

from mmscore.dataset.media import paths
from mmscore.dataset.media.paths import FileSource, Roots
from mmscore.errors import DataError, MediaError

PNG = image_file()


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a data set's, one that is nobody's, and one to stand in."""
    for name in ("set/inner", "set", "other", "here"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
        (tmp_path / name / "a.png").write_bytes(PNG)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


def roots(house: Path, **more: Any) -> Roots:
    return Roots.of(house / "set" / "q.jsonl", **more)


def link(at: Path, to: Path | str) -> None:
    at.symlink_to(to)


ALLOWED: dict[str, Callable[[Path], str]] = {
    "beside the data": lambda house: "a.png",
    "below the data": lambda house: "inner/a.png",
    "up and down again": lambda house: "inner/../a.png",
    "by its whole path": lambda house: f"{house}/set/a.png",
    "as a URL": lambda house: f"file://{house}/set/inner/a.png",
    "as a URL with a host": lambda house: f"file://localhost{house}/set/a.png",
    "as a URL with percent signs": lambda house: f"FILE://{house}/set/%61.png",
    "with backslashes": lambda house: "inner\\a.png",
}


@pytest.mark.parametrize("given", ALLOWED.values(), ids=ALLOWED.keys())
def test_what_is_of_the_data_set_is_read(house: Path, given: Callable[[Path], str]) -> None:
    assert FileSource(given(house), roots(house)).read() == PNG


OUTSIDE: dict[str, Callable[[Path], str]] = {
    "above the data": lambda house: "../other/a.png",
    "by its whole path": lambda house: f"{house}/other/a.png",
    "as a URL": lambda house: f"file://{house}/other/a.png",
    "with backslashes": lambda house: "..\\other\\a.png",
    "where the user stands, by its whole path": lambda house: f"{house}/here/a.png",
    "a folder whose name begins alike": lambda house: f"{house}/set2/a.png",
}


@pytest.mark.parametrize("given", OUTSIDE.values(), ids=OUTSIDE.keys())
def test_what_lies_elsewhere_is_refused_until_it_is_allowed(
    house: Path, given: Callable[[Path], str]
) -> None:
    (house / "set2").mkdir()
    (house / "set2" / "a.png").write_bytes(PNG)
    source = FileSource(given(house), roots(house))
    assert not source.exists()
    with pytest.raises(MediaError, match="lies outside the data's folder") as caught:
        source.read()
    flag, folder, *_ = (caught.value.hint or "").split(" ")
    assert flag == "--allow-path"
    assert FileSource(given(house), roots(house, allow=[Path(folder)])).read() == PNG
    assert FileSource(given(house), roots(house, allow=[house])).read() == PNG


@pytest.mark.parametrize("absolute", [True, False])
def test_links_are_followed_before_it_is_decided(house: Path, *, absolute: bool) -> None:
    link(house / "set" / "link.png", house / "other/a.png" if absolute else "../other/a.png")
    link(house / "set" / "folder", house / "other")
    link(house / "set" / "inside.png", "inner/a.png")
    assert FileSource("inside.png", roots(house)).read() == PNG
    for given in ("link.png", "folder/a.png"):
        with pytest.raises(MediaError, match="it leads to") as caught:
            FileSource(given, roots(house)).read()
        assert f"--allow-path {house}/other" in (caught.value.hint or "")
        assert FileSource(given, roots(house, allow=[house / "other"])).read() == PNG


def test_the_media_root_may_be_a_link_and_lie_anywhere(house: Path) -> None:
    link(house / "root", house / "other")
    assert FileSource("a.png", roots(house, media_root=house / "root")).exists()
    (house / "set" / "a.png").unlink()
    assert FileSource("a.png", roots(house, media_root=house / "root")).read() == PNG


def test_files_of_a_hub_s_own_cache_are_links_and_are_read(house: Path) -> None:
    snapshot, blobs = house / "hub/snapshots/abc", house / "hub/blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir()
    (blobs / "123").write_bytes(PNG)
    link(snapshot / "a.png", "../../blobs/123")
    link(snapshot / "b.png", house / "other/a.png")
    of = Roots.of(snapshot / "q.jsonl")
    assert FileSource("a.png", of).read() == PNG
    assert not FileSource("b.png", of).exists()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc here")
@pytest.mark.parametrize(
    "given", ["/proc/self/environ", "/proc/self/cwd/a.png", "/sys/kernel/notes", "/dev/zero"]
)
def test_the_system_s_own_files_are_never_read(house: Path, given: str) -> None:
    for more in ({}, {"allow": [Path("/")]}, {"media_root": Path("/proc")}):
        source = FileSource(given, roots(house, **more))
        if "cwd" in given and more:  # a link that leads to an ordinary file
            continue
        assert not source.exists()
        with pytest.raises(MediaError):
            source.read()
    link(house / "set" / "env.png", "/proc/self/environ")
    with pytest.raises(MediaError, match="names a file of the system"):
        FileSource("env.png", roots(house, allow=[Path("/")])).read()


def test_what_is_no_ordinary_file_is_none(house: Path) -> None:
    os.mkfifo(house / "set" / "pipe.png")
    for given in ("pipe.png", "inner", ".", "", "a.png/", "\0", "x" * 5000):
        assert not FileSource(given, roots(house)).exists()
        with pytest.raises(MediaError):
            FileSource(given, roots(house)).read()


def test_a_url_of_another_machine_is_no_path(house: Path) -> None:
    for given in ("file://server/share/a.png", "file://[x/a.png"):
        with pytest.raises(DataError):
            roots(house).source(given)


# --- the working directory -----------------------------------------------------------------------


def test_a_relative_path_is_found_where_the_user_stands(house: Path) -> None:
    (house / "here" / "b.png").write_bytes(PNG)
    assert FileSource("b.png", roots(house)).read() == PNG
    link(house / "here" / "c.png", house / "other/a.png")
    assert not FileSource("c.png", roots(house)).exists()
    assert not FileSource("../other/a.png", roots(house)).exists()


def test_of_a_home_only_the_data_s_own_folder_counts(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(house))
    monkeypatch.chdir(house)
    inner = Roots.of(house / "set/inner/q.jsonl")
    assert FileSource("set/a.png", inner).read() == PNG
    assert not FileSource("other/a.png", inner).exists()
    elsewhere = Roots.of(house.parent / "q.jsonl")
    assert not FileSource("other/a.png", elsewhere).exists()


def test_a_link_by_which_the_user_names_the_data_is_the_user_s(house: Path) -> None:
    link(house / "here" / "mine", house / "set")
    of = Roots.of(Path("mine/inner/q.jsonl"))
    assert FileSource("mine/a.png", of).read() == PNG
    assert not FileSource("mine/../other/a.png", of).exists()


# --- letters with marks --------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "darwin", reason="that file system knows one form only")
@pytest.mark.parametrize("on_disk", ["NFC", "NFD"])
@pytest.mark.parametrize("given", ["NFC", "NFD"])
def test_a_name_is_found_however_its_marks_are_spelled(
    house: Path, on_disk: Any, given: Any
) -> None:
    name = "Röntgen/é/a.png"
    path = house / "set" / unicodedata.normalize(on_disk, name)
    path.parent.mkdir(parents=True)
    path.write_bytes(PNG)
    assert FileSource(unicodedata.normalize(given, name), roots(house)).read() == PNG


@pytest.mark.skipif(sys.platform == "darwin", reason="that file system knows one form only")
def test_also_where_folder_and_file_are_spelled_in_two_ways(house: Path) -> None:
    folder, file = unicodedata.normalize("NFD", "Röntgen"), unicodedata.normalize("NFC", "ü.png")
    (house / "set" / folder).mkdir()
    (house / "set" / folder / file).write_bytes(PNG)
    for form in ("NFC", "NFD"):
        given = unicodedata.normalize(form, f"./{folder}/{file}")
        assert FileSource(given, roots(house)).read() == PNG
    assert not FileSource("Röntgen/ö.png", roots(house)).exists()


# --- as a user meets it --------------------------------------------------------------------------


def test_a_run_stops_before_it_asks_and_names_the_flag(house: Path) -> None:
    data = write(house / "set", asking("<image 1>", image_1=f"{house}/other/a.png"))
    with serve(reply("x")) as server:
        run = ("run", "general_vqa", "--data", str(data), "--model", "m", "--api-url", server.url)
        refused = run_cli(*run, "--out", str(house / "1"))
        assert refused.code == 1 and not server.requests
        assert f"--allow-path {house}/other" in refused.err
        assert "lies outside the data's folder" in refused.err
        allowed = run_cli(*run, "--out", str(house / "2"), "--allow-path", str(house / "other"))
        assert allowed.code == 0, allowed.err
        assert len(server.requests) == 1
    checked = run_cli("check", "general_vqa", "--data", str(data))
    assert checked.code == 1
    assert "lies outside the data's folder" in checked.out and "--allow-path" in checked.out


@pytest.mark.parametrize("kind", ["audio", "video", "image"])
def test_no_other_file_is_sent_as_a_medium(house: Path, kind: str) -> None:
    (house / "set" / "secrets").write_text("MMSCORE_API_KEY=sk-1234567890abcdef\n" * 9)
    data = write(house / "set", asking(f"<{kind} 1>", **{f"{kind}_1": "secrets"}))
    with serve(reply("x")) as server:
        ran = run_cli(
            *("run", "general_vqa", "--data", str(data), "--model", "m"),
            *("--api-url", server.url, "--out", str(house / "run")),
        )
        assert ran.code == 3 and not server.requests
    written = (house / "run" / "predictions.jsonl").read_text(encoding="utf-8")
    assert json.loads(written)["status"] == "bad_media"
    assert "of a known type" in written and "1234567890abcdef" not in written


def test_the_guide_s_sets_run_from_their_folder(
    house: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SHARED / "datasets" / "general"
    if not folder.is_dir():
        pytest.skip(f"no {folder}; MMSCORE_SHARED names its folder")
    monkeypatch.chdir(folder)
    for name, part in (("general_vqa", "vqa"), ("general_vmcq", "mcq")):
        data = f"custom_eval/multimodal/{part}"
        for home in (house, folder):
            monkeypatch.setenv("HOME", str(home))
            ran = run_cli("check", name, "--data", data)
            assert "lies outside" not in ran.out and "is missing" not in ran.out, ran.out


def test_a_file_named_in_another_form_of_its_letters_seen_in_public() -> None:
    data = SHARED / "faults" / "P32" / "q.jsonl"
    if not data.is_file():
        pytest.skip(f"no {data}; MMSCORE_SHARED names its folder")
    source = image_of(only(data)).source
    assert source is not None and source.exists()


def test_the_limit_of_a_file_s_size(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "MOST_FILE_BYTES", 10)
    with pytest.raises(MediaError, match="is larger than"):
        FileSource("a.png", roots(house)).read()
