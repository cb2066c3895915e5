"""Rows of text files: what loads, what is refused and where, and in how much memory."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmscore.dataset.rows import Cell, Row, read, require_columns, split_parts
from mmscore.errors import DataError


def write(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(path: Path, **options: Any) -> list[dict[str, object]]:
    return [dict(row) for row in read(path, **options)]


LOADS = [
    ("jsonl", '{"a": 1}\n\n{"a": 2}\r\n  \n', [{"a": 1}, {"a": 2}]),
    ("jsonl", '\ufeff{"a": "x\u2028y\u0085z"}', [{"a": "x\u2028y\u0085z"}]),
    ("jsonl", '{"a": "\\ud83d"}', [{"a": "\ud83d"}]),
    ("json", '\ufeff [{"a": 1},\n {"a": null}] ', [{"a": 1}, {"a": None}]),
    ("csv", "a,b\r\n1,\r\n\r\n,2\r\n", [{"a": "1", "b": ""}, {"a": "", "b": "2"}]),
    ("csv", "\ufeffindex,q\n1,None\n2,NA\n3,nan", [
        {"index": "1", "q": "None"}, {"index": "2", "q": "NA"}, {"index": "3", "q": "nan"}]),
    ("csv", 'a,b\n"x, ""y""\r\nz",2\n', [{"a": 'x, "y"\nz', "b": "2"}]),
    ("csv", 'a,b\n"x" y,z "w"\n', [{"a": "x y", "b": 'z "w"'}]),
    ("csv", 'a,b\n"Hello, look.\nWhat is it?",cat\n', [
        {"a": "Hello, look.\nWhat is it?", "b": "cat"}]),
    ("csv", 'a,b\n1,"Yes\nno, maybe"\n', [{"a": "1", "b": "Yes\nno, maybe"}]),
    ("csv", 'a\n"two\nlines"\n" "\n', [{"a": "two\nlines"}, {"a": " "}]),
    ("tsv", "a\tb\n1\tx\u2028y\n \n2\tz", [{"a": "1", "b": "x\u2028y"}, {"a": "2", "b": "z"}]),
    ("tsv", 'a\tb\n[{"role": "user"}]\tsay "hi"\n', [
        {"a": '[{"role": "user"}]', "b": 'say "hi"'}]),
    ("tsv", 'a\tb\n1\t"x\ty\nz\tw"\n2\tv', [{"a": "1", "b": "x\ty\nz\tw"}, {"a": "2", "b": "v"}]),
    ("TSV", "a\t\t\n1\t\t\n", [{"a": "1", "": ""}]),
    ("tsv", "a\tb\tc\n1\n\t\n", [{"a": "1", "b": None, "c": None}, {"a": "", "b": "", "c": None}]),
    ("csv", 'a,b\r1,"x\ry"\r2', [{"a": "1", "b": "x\ny"}, {"a": "2", "b": None}]),
    ("csv", "a,b\n1,x\ry,2\r\n", [{"a": "1", "b": "x"}, {"a": "y", "b": "2"}]),
    ("jsonl", '{"a": 1}\r{"a": 2}', [{"a": 1}, {"a": 2}]),
    ("csv", 'a;b\n1;"x;y, z"\n', [{"a": "1", "b": "x;y, z"}]),
    ("csv", 'a\tb\n1\t2,3\n', [{"a": "1", "b": "2,3"}]),
    ("tsv", 'a,b\n1,"2,3"\n', [{"a": "1", "b": "2,3"}]),
    ("csv", 'sep=;\na;b,c\n1;2\n', [{"a": "1", "b,c": "2"}]),
    ("csv", '\ufeff"sep=|"\r\na|b\r\n1|2\r\n', [{"a": "1", "b": "2"}]),
    ("csv", 'a\n1;2\n', [{"a": "1;2"}]),
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "content", "expected"), LOADS)
def test_what_loads(
    tmp_path: Path, suffix: str, content: str, expected: list[dict[str, object]]
) -> None:
    assert rows(write(tmp_path, f"set.{suffix}", content)) == expected


REFUSED = [
    ("jsonl", b"", "0 samples in `set.jsonl`"),
    ("jsonl", b"\n \r\n", "0 samples in `set.jsonl`"),
    ("json", b"", "0 samples in `set.json`"),
    ("json", b"[]", "0 samples in `set.json`"),
    ("csv", b"a,b\n", "0 samples in `set.csv`"),
    ("jsonl", b'{"a":1}\n{"a":}\n', "line 2 column 6 (byte 13) is not JSON: expecting value"),
    ("json", b'[{"a":1},\n{"b"}]', "line 2 column 5 (byte 14) is not JSON"),
    ("jsonl", '\ufeff{"é":}'.encode(), "line 1 column 6 (byte 9) is not JSON"),
    ("jsonl", b'{"a":1}\n[1]\n', "line 2 holds a list, expected an object"),
    ("json", b'{"a": []}', "holds an object at the top, expected a list of objects"),
    ("json", b'[{"a": 1}, 5]', "row 2 holds a number, expected an object"),
    ("json", b"[" * 200_000, "nested too deeply"),
    ("jsonl", b'{"a": ' + b"9" * 5000 + b"}", "line 1: Exceeds the limit"),
    ("jsonl", b'{"a": "\0"}', "line 1 column 8 (byte 7) is not JSON"),
    ("jsonl", b'{"a":1}\n{"a":"\xff"}', "line 2 is not UTF-8 at byte 14: found 0xff"),
    ("csv", b'a,b\n1,"x\ny\xffz"\n', "line 2 is not UTF-8 at byte 10, 1 lines further"),
    ("csv", "a\nb".encode("utf-16"), "is UTF-16 text, expected UTF-8"),
    ("tsv", "a\tb\n".encode("utf-16-le"), "is UTF-16 text without a byte order mark"),
    ("jsonl", b"\x1f\x8b\x08", "is gzip data"),
    ("csv", b"PK\x03\x04", "is a zip archive or an Excel workbook"),
    ("json", b"version https://git-lfs.github.com/spec/v1\n", "is a Git LFS pointer"),
    ("tsv", b"1\t2\t3\t4\t5\t6\na\tb\tc\td\te\tf\tg\n", "line 2 has 7 cells, expected 6"),
    ("csv", b"a,b,a\n", "line 1 names 2 columns `a`"),
    ("csv", b"a,b\n1,x\0y\n", "line 2 holds a NUL byte (byte 7 of the file)"),
    ("tsv", b'id\tq\n1\t"open quote\n2\tnext\n3\tz"\n',
     "line 2 has a cell that begins with a quote and swallows the lines to 4"),
    ("tsv", b'id\tq\tr\n1\tx\t"open\n2\ty\t"z"\n', "swallows the lines to 3"),
    ("csv", b'id,q\n1,"never\n2,x\n', "line 2 has a cell that begins with a quote and never ends"),
    ("csv", b'a,b,c\n1,"open\n2,3,"x",5\n', "line 2 has a cell that begins with a quote and ends "
     "in line 3 amid text"),
]  # fmt: skip


@pytest.mark.parametrize(("suffix", "content", "expected"), REFUSED)
def test_what_is_refused_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, content: bytes, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write(tmp_path, f"set.{suffix}", content)
    with pytest.raises(DataError) as caught:
        rows(path.relative_to(tmp_path))
    assert expected in caught.value.message
    assert f"`set.{suffix}`" in caught.value.message
    assert not caught.value.message.endswith(".")


def test_a_stray_quote_costs_one_row_when_bad_rows_are_skipped(tmp_path: Path) -> None:
    path = write(tmp_path, "set.tsv", 'id\tq\n1\t"open\n2\tnext\n3\tz"\n4\t\t\n5\tlast\n')
    skipped: list[DataError] = []
    assert [row["id"] for row in read(path, skipped=skipped)] == ["2", "3", "5"]
    assert [error.message.split("` ")[1][:6] for error in skipped] == ["line 2", "line 5"]


def test_a_quote_never_closed_is_found_before_the_file_is_read_whole(tmp_path: Path) -> None:
    path = write(tmp_path, "set.tsv", 'id\tq\n1\t"open\n' + "2\tnext\n" * 100_000)
    skipped: list[DataError] = []
    assert len(rows(path, skipped=skipped)) == 100_000
    assert len(skipped) == 1
    assert "line 102" not in skipped[0].message or "swallows" in skipped[0].message


def test_bad_records_are_skipped_and_counted(tmp_path: Path) -> None:
    path = write(tmp_path, "set.jsonl", b'{"a": 1}\nnull\n{"a": \n{"a": "\xff"}\n{"a": 2}\n')
    skipped: list[DataError] = []
    assert rows(path, skipped=skipped) == [{"a": 1}, {"a": 2}]
    assert len(skipped) == 3
    path = write(tmp_path, "set.json", '[{"a": 1}, null]')
    assert rows(path, skipped=skipped) == [{"a": 1}]
    with pytest.raises(DataError, match=r"0 samples in .* \(bad rows skipped: 1\)"):
        rows(write(tmp_path, "bad.jsonl", "5\n"), skipped=[])


def test_a_row_knows_its_place(tmp_path: Path) -> None:
    table = write(tmp_path, "set.csv", 'a,b\n"two\nlines",1\nx,2\n')
    assert [row.place for row in read(table)] == [f"`{table}` line 2", f"`{table}` line 4"]
    document = write(tmp_path, "set.json", '[{},\n\n{"a": 1}]')
    assert [row.place for row in read(document)] == [f"`{document}` row 1", f"`{document}` row 2"]


def test_only_known_formats_and_files_that_are_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no known row format, expected one of \.json, \.jsonl"):
        read(tmp_path / "set.xlsx")
    with pytest.raises(DataError, match="no data file"):
        read(tmp_path / "set.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="found a folder"):
        read(tmp_path / "folder.csv")


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_columns_are_chosen_and_a_missing_one_is_named(tmp_path: Path, suffix: str) -> None:
    mark = "," if suffix == "csv" else "\t"
    path = write(tmp_path, f"set.{suffix}", mark.join(["Question ", "answer"]) + f"\n1{mark}2\n")
    assert rows(path, columns=["answer"]) == [{"answer": "2"}]
    with pytest.raises(DataError, match="no column `question`, found `Question `, `answer`") as bad:
        rows(path, columns=["question"])
    assert bad.value.hint == "did you mean `Question `?"


def test_require_columns_takes_a_row() -> None:
    row = Row.at({"qestion": 1}, Path("set.jsonl"), 3)
    require_columns(["qestion"], row, row.place)
    with pytest.raises(DataError, match=r"`set\.jsonl` line 3 has no column `question`") as caught:
        require_columns(["question"], row, row.place)
    assert caught.value.hint == "did you mean `qestion`?"


def test_the_parts_of_a_split_come_in_order() -> None:
    files = ["data/test-00001-of-00002.parquet", "data/test-00000-of-00002.parquet"]
    others = ["data/train-00000-of-00001.parquet", "README.md", "data/mytest.parquet"]
    assert split_parts(files + others, "test", "`set`") == files[::-1]
    assert split_parts(["test-00000-of-00001-0abc12.parquet"], "test", "`set`") != []
    assert split_parts(["test.parquet"], "test", "`set`") == ["test.parquet"]
    assert split_parts(others, "test", "`set`") == []
    with pytest.raises(DataError, match="`set` holds 1 of 2 parts of split `test`, part 00000 is"):
        split_parts(files[:1], "test", "`set`")
    for twice in (["test.parquet", *files], ["a/" + files[0], *files]):
        with pytest.raises(DataError, match=r"twice|more than once"):
            split_parts(twice, "test", "`set`")


# --- large cells -------------------------------------------------------------------------------

PHOTO = "iVBORw0KGgo" * 20_000


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("tsv", f"id\timage\n1\t{PHOTO}\n2\tsmall\n"),
        ("csv", f'id,image\r\n1,"{PHOTO}"\r\n2,small\r\n'),
        ("jsonl", json.dumps({"id": "1", "image": PHOTO}) + '\n{"id": "2", "image": "small"}\n'),
    ],
)
def test_a_large_cell_is_left_in_its_file(tmp_path: Path, suffix: str, content: str) -> None:
    path = write(tmp_path, f"set.{suffix}", "\ufeff" + content)
    assert rows(path) == [{"id": "1", "image": PHOTO}, {"id": "2", "image": "small"}]
    first, second = read(path, late={"image"})
    cell = first["image"]
    assert isinstance(cell, Cell)
    assert cell.name == f"{first.place} column `image`"
    assert cell.read() == cell.read() == PHOTO
    assert len(repr(first)) < 500
    assert dict(second) == {"id": "2", "image": "small"}


def test_large_strings_deep_in_json_are_left(tmp_path: Path) -> None:
    record = {
        "messages": [{"content": [{"image_url": {"url": PHOTO}}, {"text": "hi"}]}],
        "q": PHOTO,
    }
    path = write(tmp_path, "set.jsonl", "{}\n" + json.dumps(record))
    row: Any = list(read(path, late={"messages"}))[1]
    cell = row["messages"][0]["content"][0]["image_url"]["url"]
    assert cell.read() == PHOTO
    assert row["messages"][0]["content"][1] == {"text": "hi"}
    assert row["q"] == PHOTO


def test_a_quoted_cell_of_many_lines_is_read_late(tmp_path: Path) -> None:
    wrapped = "\r\n".join(PHOTO[at : at + 76] for at in range(0, len(PHOTO), 76))
    path = write(tmp_path, "set.tsv", f'id\timage\tq\n1\t"{wrapped}"\t"say ""hi"""\n2\tx\ty\n')
    first, second = read(path, late={"image"})
    assert isinstance(first["image"], Cell)
    assert first["image"].read() == wrapped.replace("\r\n", "\n")
    assert first["q"] == 'say "hi"'
    assert second.number == first.number + wrapped.count("\n") + 1


def test_a_late_cell_of_a_changed_file_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path, "set.tsv", f"image\n{PHOTO}\n")
    (row,) = read(path, late={"image"})
    cell = row["image"]
    assert isinstance(cell, Cell)
    write(tmp_path, "set.tsv", "image\nother\n")
    with pytest.raises(DataError, match="was changed while it was in use"):
        cell.read()
    path.unlink()
    with pytest.raises(DataError, match=r"cannot read .* line 2"):
        cell.read()


def test_cells_beyond_the_limit_of_the_csv_module(tmp_path: Path) -> None:
    limit = csv.field_size_limit()
    big = "A" * 25_000_000
    path = write(tmp_path, "set.tsv", f"id\timage\n1\t{'B' * 200_000}\n2\t{big}\n")
    assert [len(str(row["image"])) for row in read(path)] == [200_000, 25_000_000]
    assert csv.field_size_limit() == limit


PEAK = """
import re, sys
from pathlib import Path
from mmscore.dataset.rows import read
total = 0
for row in read(sys.argv[1], late=set(sys.argv[2:])):
    cell = row["image"]
    total += len(cell.read() if hasattr(cell, "read") else cell)
print(total, int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


def peak_memory(path: Path, *late: str) -> tuple[int, int]:
    """Characters read and peak megabytes of a process that reads a file."""
    command = [sys.executable, "-P", "-c", PEAK, str(path), *late]
    total, peak = subprocess.check_output(command, text=True).split()
    return int(total), int(peak)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_is_that_of_a_row(tmp_path: Path) -> None:
    path = tmp_path / "set.tsv"
    with path.open("w", encoding="utf-8") as file:
        file.write("id\timage\n")
        for number in range(40):
            file.write(f"{number}\t{'A' * 4_000_000}\n")
    for late in ([], ["image"]):
        total, peak = peak_memory(path, *late)
        assert total == 160_000_000
        assert peak < 60, f"{peak} MB for a file of 160 MB"


@pytest.mark.skipif(sys.platform == "win32", reason="needs a C locale")
def test_the_locale_says_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, "set.csv", "问题,answer\n这是什么²？,肺\n")
    code = """
import sys
from mmscore.dataset.rows import read
print(ascii([dict(row) for row in read(sys.argv[1])]))
"""
    environment = {**os.environ, "PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    output = subprocess.check_output(
        [sys.executable, "-P", "-c", code, str(path)], env=environment, text=True
    )
    assert output.strip() == ascii([{"问题": "这是什么²？", "answer": "肺"}])


# --- against the modules that define the formats ------------------------------------------------

CELL = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=12
) | st.text('",\t\n a', max_size=8)


@settings(deadline=None, max_examples=300)
@given(
    table=st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(CELL, min_size=width, max_size=width), min_size=1)
    ),
    suffix=st.sampled_from(["csv", "tsv"]),
    quote_all=st.booleans(),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_what_csv_writes_is_read_or_refused_for_its_look(
    tmp_path_factory: pytest.TempPathFactory,
    table: list[list[str]],
    suffix: str,
    quote_all: bool,
    end: str,
) -> None:
    names = [f"c{number}" for number in range(len(table[0]))]
    buffer = io.StringIO()
    writer = csv.writer(
        buffer,
        delimiter="," if suffix == "csv" else "\t",
        lineterminator=end,
        quoting=csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL,
    )
    writer.writerows([names, *table])
    path = write(tmp_path_factory.mktemp("csv"), f"set.{suffix}", buffer.getvalue())
    try:
        found = rows(path)
    except DataError as error:
        assert "swallows" in error.message
        assert any("\n" in cell for line in table for cell in line)
        return
    assert found == [dict(zip(names, line, strict=True)) for line in table]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(deadline=None, max_examples=200)
@given(
    records=st.lists(
        st.dictionaries(st.text(max_size=5), JSON, max_size=4), min_size=1, max_size=5
    ),
    escaped=st.booleans(),
)
def test_what_json_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, records: list[dict[str, Any]], escaped: bool
) -> None:
    folder = tmp_path_factory.mktemp("json")
    texts = [json.dumps(record, ensure_ascii=escaped) for record in records]
    lines = "\n".join(texts).encode(errors="surrogatepass")
    try:
        lines.decode()
    except UnicodeDecodeError:
        return  # a lone surrogate written unescaped is not UTF-8
    assert rows(write(folder, "set.jsonl", lines)) == records
    assert rows(write(folder, "set.json", b"[" + b",".join(lines.split(b"\n")) + b"]")) == records


def test_the_shared_tables_hold_what_csv_reads_in_them(shared: Path) -> None:
    files = sorted(shared.glob("datasets/**/*.[ct]sv"))
    assert len(files) >= 9
    for path in files:
        with path.open(encoding="utf-8-sig") as file:
            mark = "," if path.suffix == ".csv" else "\t"
            assert rows(path) == list(csv.DictReader(file, delimiter=mark)), path.name


def test_the_shared_json_files(shared: Path) -> None:
    path = shared / "datasets" / "slake" / "test.json"
    assert rows(path) == json.loads(path.read_text(encoding="utf-8"))
    for lines in sorted(shared.glob("datasets/general/**/*.jsonl")):
        text = lines.read_text(encoding="utf-8")
        assert rows(lines) == [json.loads(line) for line in text.split("\n") if line.strip()]
