"""Parquet rows as pyarrow writes and reads them, and in a fraction of its memory."""

from __future__ import annotations

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mmscore.dataset.rows import Cell, read
from mmscore.errors import DataError

pa = pytest.importorskip("pyarrow", reason="pyarrow writes the files of these tests")
pq = pytest.importorskip("pyarrow.parquet")


class Everything:
    """Contains every name, so that all large cells stay in the file."""

    def __contains__(self, name: object) -> bool:
        return True


def resolved(value: Any) -> Any:
    """A value with its late cells read."""
    match value:
        case Cell():
            return value.read()
        case list():
            return [resolved(item) for item in value]
        case dict():
            return {name: resolved(item) for name, item in value.items()}
    return value


def late_count(value: Any) -> int:
    match value:
        case Cell():
            return 1
        case list():
            return sum(map(late_count, value))
        case dict():
            return sum(map(late_count, value.values()))
    return 0


def image_type() -> Any:
    return pa.struct([("bytes", pa.binary()), ("path", pa.string())])


def table(seed: int, count: int, size: int) -> Any:
    """Rows of every shape a data set has, a fifth of everything null."""
    draw = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if draw.random() < 0.2 else value

    def blob() -> bytes:
        noise = draw.randbytes(draw.randrange(size // 2, size))
        return noise if draw.random() < 0.7 else noise[:100] * (len(noise) // 100)

    def image() -> Any:
        return maybe({"bytes": maybe(blob()), "path": maybe(f"{draw.random()}.png")})

    def rows(make: Any) -> list[Any]:
        return [maybe(make()) for _ in range(count)]

    return pa.table(
        {
            "image": pa.array(rows(image), image_type()),
            "images": pa.array(
                rows(lambda: [image() for _ in range(draw.randrange(4))]), pa.list_(image_type())
            ),
            "raw": pa.array(rows(blob), pa.binary()),
            "text": pa.array(rows(lambda: blob().hex()), pa.string()),
            "questions": pa.array(
                rows(lambda: [maybe("how many?") for _ in range(draw.randrange(3))]),
                pa.list_(pa.string()),
            ),
            "nested": pa.array(rows(lambda: [[1, 2], [], None]), pa.list_(pa.list_(pa.int32()))),
            "only": pa.array(rows(lambda: {"bytes": blob()}), pa.struct([("bytes", pa.binary())])),
            "number": pa.array(rows(lambda: draw.randrange(-(2**62), 2**62)), pa.int64()),
            "small": pa.array(rows(lambda: draw.randrange(200)), pa.uint8()),
            "share": pa.array(rows(draw.random), pa.float64()),
            "flag": pa.array(rows(lambda: draw.random() < 0.5), pa.bool_()),
            "kind": pa.array(
                rows(lambda: "ab"[draw.randrange(2)]), pa.string()
            ).dictionary_encode(),
            "nothing": pa.nulls(count),
            "pairs": pa.array(rows(lambda: [("k", 1)]), pa.map_(pa.string(), pa.int64())),
        }
    )


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["snappy", "zstd", "gzip", "lz4", "none"])
def test_rows_are_those_of_pyarrow(tmp_path: Path, compression: str, version: str) -> None:
    path = tmp_path / "set.parquet"
    for seed, (count, size) in enumerate([(1, 10), (30, 9_000), (20, 200_000), (150, 5_000)]):
        written = table(seed, count, size)
        for group, dictionary in [(7, True), (1000, False)]:
            pq.write_table(
                written,
                path,
                compression=compression,
                data_page_version=version,
                row_group_size=group,
                use_dictionary=dictionary,
            )
            expected = written.to_pylist()
            assert [dict(row) for row in read(path)] == expected
            late = [dict(row) for row in read(path, late=Everything())]
            if size > 4_096 * 2:
                assert late_count(late) > count
            order = list(range(count))
            random.Random(seed).shuffle(order)
            for number in order:
                assert resolved(late[number]) == expected[number]


def test_an_image_in_bytes_by_path_in_a_list_and_missing(tmp_path: Path) -> None:
    photo = bytes(range(256)) * 40
    written = pa.table(
        {
            "image": pa.array(
                [{"bytes": photo, "path": "a.png"}, {"bytes": None, "path": "b.png"}, None, None],
                image_type(),
            ),
            "images": pa.array(
                [None, None, [{"bytes": photo, "path": None}, {"bytes": photo[::-1]}], None],
                pa.list_(image_type()),
            ),
        }
    )
    path = tmp_path / "set.parquet"
    pq.write_table(written, path)
    rows: Any = list(read(path, late={"image", "images"}))
    assert rows[0]["image"]["bytes"].read() == photo
    assert rows[0]["image"]["bytes"].name == f"`{path}` row 1 column `image`"
    assert rows[1]["image"] == {"bytes": None, "path": "b.png"}
    assert [item["bytes"].read() for item in rows[2]["images"]] == [photo, photo[::-1]]
    assert (rows[3]["image"], rows[3]["images"]) == (None, None)
    assert rows[3].place == f"`{path}` row 4"


def test_columns_are_chosen_and_a_missing_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "set.parquet"
    pq.write_table(pa.table({"questions": ["a"], "answers": ["b"]}), path)
    assert [dict(row) for row in read(path, columns=["answers"])] == [{"answers": "b"}]
    with pytest.raises(
        DataError, match="no column `question`, found `questions`, `answers`"
    ) as bad:
        list(read(path, columns=["question"]))
    assert bad.value.hint == "did you mean `questions`?"


def test_dates_times_and_decimals_are_text(tmp_path: Path) -> None:
    import datetime
    import decimal

    path = tmp_path / "set.parquet"
    day = datetime.date(2020, 1, 2)
    pq.write_table(pa.table({"day": [day], "price": [decimal.Decimal("1.50")]}), path)
    assert [dict(row) for row in read(path)] == [{"day": "2020-01-02", "price": "1.50"}]


@pytest.mark.parametrize("codec", ["brotli"])
def test_an_unsupported_codec_is_named(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "set.parquet"
    pq.write_table(
        pa.table({"a": ["x"], "b": ["y"]}), path, compression={"a": codec, "b": "snappy"}
    )
    with pytest.raises(DataError, match=f"column `a` is compressed with {codec}"):
        list(read(path))
    assert [dict(row) for row in read(path, columns=["b"])] == [{"b": "y"}]


def test_no_rows_no_file_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "set.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), path)
    with pytest.raises(DataError, match="0 samples"):
        list(read(path))
    for content in (b"", b"PAR1", b"PAR1" * 3, b"not parquet at all", b"PAR1\xff\xff\xff\x7fPAR1"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="damaged or cut short"):
            list(read(path))


def test_damage_in_a_page_names_row_group_and_column(tmp_path: Path) -> None:
    path = tmp_path / "set.parquet"
    photos = [{"bytes": random.Random(n).randbytes(50_000), "path": "p"} for n in range(8)]
    pq.write_table(pa.table({"image": pa.array(photos, image_type())}), path, row_group_size=4)
    chunk = pq.ParquetFile(path).metadata.row_group(1).column(0)
    content = bytearray(path.read_bytes())
    start = chunk.dictionary_page_offset
    content[start : start + 30] = b"\xff" * 30
    path.write_bytes(content)
    rows = read(path)
    for _ in range(4):
        next(rows)
    with pytest.raises(DataError, match=r"row group 1 column `image\.bytes`") as caught:
        next(rows)
    assert caught.value.hint == "fetch or write the file again"


def test_a_file_cut_anywhere_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "set.parquet"
    pq.write_table(table(1, 5, 9_000), path)
    content = path.read_bytes()
    for end in range(0, len(content), max(1, len(content) // 200)):
        path.write_bytes(content[:end])
        with pytest.raises(DataError):
            list(read(path))


PEAK = """
import re, sys
from pathlib import Path
from mmscore.dataset.rows import read
total = 0
for row in read(sys.argv[1], late=set(sys.argv[2:])):
    image = row["image"]["bytes"]
    total += len(image.read() if hasattr(image, "read") else image)
print(total, int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("compression", ["snappy", "zstd", "lz4", "gzip"])
def test_memory_is_that_of_an_image_though_its_page_holds_all(
    tmp_path: Path, compression: str
) -> None:
    path = tmp_path / "set.parquet"
    count, size = 40, 4_000_000
    photos = [{"bytes": random.Random(n).randbytes(size), "path": "p"} for n in range(count)]
    pq.write_table(
        pa.table({"image": pa.array(photos, image_type())}), path, compression=compression
    )
    assert pq.ParquetFile(path).num_row_groups == 1
    for late in ([], ["image"]):
        command = [sys.executable, "-P", "-c", PEAK, str(path), *late]
        total, peak = map(int, subprocess.check_output(command, text=True).split())
        assert total == count * size
        assert peak < 60, f"{peak} MB for a page of 160 MB"


def test_cells_are_read_by_many_threads(tmp_path: Path) -> None:
    path = tmp_path / "set.parquet"
    photos = [random.Random(n).randbytes(20_000) for n in range(200)]
    written = pa.table(
        {"image": pa.array([{"bytes": p, "path": "p"} for p in photos], image_type())}
    )
    order = list(range(len(photos))) * 3
    random.Random(1).shuffle(order)
    for compression in ("snappy", "zstd", "gzip"):
        pq.write_table(written, path, compression=compression, row_group_size=60)
        cells: list[Any] = [row["image"] for row in read(path, late={"image"})]
        with ThreadPoolExecutor(16) as pool:
            found = pool.map(resolved, [cells[number]["bytes"] for number in order])
            assert list(found) == [photos[number] for number in order]


def test_the_shared_files(shared: Path) -> None:
    files = sorted(shared.glob("datasets/**/*.parquet"))
    assert len(files) >= 3
    for path in files:
        expected = pq.ParquetFile(path).read().to_pylist()
        assert [dict(row) for row in read(path)] == expected, path.name
        assert [resolved(dict(row)) for row in read(path, late=Everything())] == expected, path.name
