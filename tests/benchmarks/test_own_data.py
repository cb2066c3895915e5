"""Which file is which subset, and where the media of a record are found."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from support import ROOT, run_cli
from support.own_sets import asking, image_of, load, only, write
from support.server import reply, serve

from mmscore.dataset.media.sources import TextSource
from mmscore.errors import ConfigError, DataError, MediaError
from mmscore.types import Sample

PNG = (ROOT / "data" / "samples" / "general_vqa" / "pictures" / "circle.png").read_bytes()
BASE64 = base64.b64encode(PNG).decode()


def bytes_of(sample: Sample) -> bytes:
    source = image_of(sample).source
    assert source is not None
    assert source.exists()
    return source.read()


# --- which file ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "subset", "file"),
    [
        (["a.jsonl", "a_test.jsonl"], "a", "a_test.jsonl"),
        (["a_test.csv", "a.jsonl"], "a", "a.jsonl"),
        (["a.tsv", "a.csv"], "a", "a.csv"),
        (["a.tsv", "ab.jsonl"], "a", "a.tsv"),
        (["a.jsonl", "a.jsonl.bak"], "a.jsonl", "a.jsonl"),
    ],
)
def test_the_first_of_the_patterns_is_the_subset(
    tmp_path: Path, names: list[str], subset: str, file: str
) -> None:
    for name in names:
        text = "messages\tanswer\n" if name.endswith("tsv") else "messages,answer\n"
        if ".jsonl" in name:
            text = ""
            row = json.dumps(asking(f"from {name}"))
        else:
            cell = json.dumps(asking(f"from {name}")["messages"]).replace('"', '""')
            row = f'"{cell}"' + ("\t" if name.endswith("tsv") else ",") + "x"
        (tmp_path / name).write_text(f"{text}{row}\n", encoding="utf-8")
    sample = only(tmp_path, subsets=(subset,))
    assert sample.subset == subset
    assert sample.messages[0].content == f"from {file}"


def test_without_a_subset_every_file_is_one(tmp_path: Path) -> None:
    write(tmp_path, asking("one"), name="b_test.jsonl")
    write(tmp_path, asking("two"), name="a.jsonl")
    (tmp_path / "notes.txt").write_text("no data", encoding="utf-8")
    assert [sample.subset for sample in load(tmp_path)] == ["a", "b"]
    write(tmp_path, asking("three"), name="default.jsonl")
    assert [sample.subset for sample in load(tmp_path)] == ["default"]


def test_a_file_is_its_own_subset(tmp_path: Path) -> None:
    file = write(tmp_path, asking("q"), name="own.jsonl")
    assert only(file).id == "own/1"
    assert only(file, subsets=("named",)).id == "named/1"
    with pytest.raises(ConfigError, match=r"one file `own\.jsonl`"):
        load(file, subsets=("a", "b"))


def test_a_subset_without_a_file_says_what_was_tried_and_found(tmp_path: Path) -> None:
    write(tmp_path, asking("q"), name="mydata_test.jsonl")
    with pytest.raises(DataError) as caught:
        load(tmp_path, subsets=("mydat",))
    message = caught.value.message
    assert "`mydat_test.jsonl`, `mydat.jsonl`, `mydat_test.csv`" in message
    assert "found `mydata_test.jsonl`" in message
    assert caught.value.hint == "did you mean --subset mydata_test?"
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="found no data file"):
        load(tmp_path / "empty")


@pytest.mark.parametrize("subset", ["../set", "/etc/set", "a/../../set"])
def test_a_subset_stays_in_its_folder(tmp_path: Path, subset: str) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path, asking("q"))
    with pytest.raises(ConfigError, match="leads out of"):
        load(tmp_path / "in", subsets=(subset,))


# --- where media are -----------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["imgs/1.png", "imgs\\1.png", "./imgs/1.png"])
def test_a_path_starts_from_the_data_files_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    (tmp_path / "set" / "imgs").mkdir(parents=True)
    (tmp_path / "set" / "imgs" / "1.png").write_bytes(PNG)
    monkeypatch.chdir(tmp_path)
    file = write(tmp_path / "set", asking("<image 1>", image_1=given))
    assert bytes_of(only(file)) == PNG


def test_the_media_root_comes_before_the_other_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("root", "set", "here"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").write_bytes(name.encode())
    monkeypatch.chdir(tmp_path / "here")
    file = write(tmp_path / "set", asking("<image 1>", image_1="1.png"))
    assert bytes_of(only(file, media_root=tmp_path / "root")) == b"root"
    assert bytes_of(only(file)) == b"set"
    (tmp_path / "set" / "1.png").unlink()
    assert bytes_of(only(file)) == b"here"
    absolute = write(tmp_path / "set", asking("<image 1>", image_1=str(tmp_path / "here/1.png")))
    assert bytes_of(only(absolute, media_root=tmp_path / "here")) == b"here"


@pytest.mark.parametrize("given", ["no\\such.png", "a\0b", "x" * 5000, "../up.png", "\n"])
def test_a_missing_file_names_every_place(tmp_path: Path, given: str) -> None:
    file = write(tmp_path, asking("<image 1>", image_1=given))
    source = image_of(only(file, media_root=tmp_path / "root")).source
    assert source is not None
    assert not source.exists()
    with pytest.raises(MediaError) as caught:
        source.read()
    message = caught.value.message
    assert message.isprintable()
    assert "/root/" in message
    assert len(message) < 1200
    if given == "no\\such.png":
        assert f"`{tmp_path}/root/no/such.png`" in message
        assert f"`{tmp_path}/no\\such.png`" in message


def test_missing_media_stop_the_run_before_the_first_request(tmp_path: Path) -> None:
    file = write(
        tmp_path, asking("<image 1>", image_1="gone.png"), asking("<image 1>", image_1="too.png")
    )
    with serve(reply("x")) as server:
        ran = run_cli(
            "run", "general_vqa", "--data", str(file), "--model", "m", "--api-url", server.url
        )
    assert ran.code == 1
    assert not server.requests
    assert "`gone.png`, `too.png`" in ran.err
    assert f"`{tmp_path}/gone.png`" in ran.err


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("image", "column `image` is not read: images stand in `image_1`"),
        ("Image_Path", "column `Image_Path` is not read: images stand in `image_1`"),
        ("image_url", "column `image_url` is not read: images stand in `image_1`"),
        ("video", "column `video` is not read: videos stand in `video_1`"),
        ("image_1", None),
        ("images", None),
        ("imagery", None),
    ],
)
def test_media_under_another_name_are_told(tmp_path: Path, column: str, told: str | None) -> None:
    value = ["a.png"] if column == "images" else "a.png"
    record = asking("<image 1>" if column in {"image_1", "images"} else "?", **{column: value})
    first, second = load(write(tmp_path, record, record))
    assert first.warnings == second.warnings == ()
    for sample in (first, second):
        assert len(sample.media_faults) == (told is not None)
        assert all(told in fault for fault in sample.media_faults if told is not None)


def test_such_a_column_beside_media_that_are_sent_is_told_once(tmp_path: Path) -> None:
    record = asking("<image 1>", image_1="a.png", image="a.png")
    first, second = load(write(tmp_path, record, record))
    assert not first.media_faults and not second.media_faults and not second.warnings
    assert "column `image` is not read" in first.warnings[0]


@pytest.mark.parametrize(
    "given",
    [
        BASE64,
        "\n".join(BASE64[at : at + 76] for at in range(0, len(BASE64), 76)),
        BASE64.replace("+", "-").replace("/", "_"),
        BASE64.rstrip("="),
        "data:image/png;base64," + BASE64[:76] + "\r\n" + BASE64[76:],
    ],
    ids=["plain", "broken lines", "other alphabet", "no padding", "prefix and broken lines"],
)
def test_base64_in_any_dress_is_the_picture(tmp_path: Path, given: str) -> None:
    file = write(tmp_path, asking("<image 1>", image_1=given))
    assert bytes_of(only(file)) == PNG
    part = {"type": "image_url", "image_url": {"url": given}}
    file = write(tmp_path, {"messages": [{"role": "user", "content": [part]}], "answer": "x"})
    assert bytes_of(only(file)) == PNG


def test_a_whole_data_uri_and_a_url_go_out_as_they_are(tmp_path: Path) -> None:
    for given in ("https://host/a.png?x=1", "http://h/ü.png"):
        medium = image_of(only(write(tmp_path, asking("<image 1>", image_1=given))))
        assert (medium.source, medium.url) == (None, given)
    given = f"data:image/png;base64,{BASE64}"
    source = image_of(only(write(tmp_path, asking("<image 1>", image_1=given)))).source
    assert isinstance(source, TextSource)
    assert source.medium().uri == given


def test_a_file_that_looks_like_base64_is_a_file(tmp_path: Path) -> None:
    name = "iVBORw0KGgoAAAANSUhEUgAA"
    file = write(tmp_path, asking("<image 1>", image_1=name))
    (tmp_path / name).write_bytes(b"the file")
    assert bytes_of(only(file)) == b"the file"
