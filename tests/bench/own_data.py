"""Measure the user's own sets: time per record, and memory with media inside the file.

    python tests/bench/own_data.py records          # 100,000 plain records, CPU above json's own
    python tests/bench/own_data.py table            # 2 GB of base64 images in a TSV
    python tests/bench/own_data.py video            # a clip of 25 MB: file, JSON Lines, TSV
    python tests/bench/own_data.py parquet          # many images in Parquet (needs pyarrow)

All but `records` run whole commands against the mock endpoint beside the repository
(MMSCORE_SHARED) and tell the process's own peak memory (`VmHWM`). Files are drawn below a
temporary folder and removed.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from measure import cost_of, endpoint

from mmscore.benchmarks import find
from mmscore.benchmarks.base import Options
from mmscore.dataset.hub.hub_files import locate
from mmscore.dataset.rows import read
from mmscore.plan.survey import survey

RECORDS = 100_000
ROUNDS = 7
QUESTION = "Question {}: what colour is the object in the middle of this picture?"


def structured(number: int) -> dict[str, Any]:
    """A record of General-VQA in OpenAI's form."""
    parts = [
        {"type": "text", "text": QUESTION.format(number)},
        {"type": "image_url", "image_url": {"url": f"images/{number}.png"}},
    ]
    return {"messages": [{"role": "user", "content": parts}], "answer": f"red {number}"}


def with_placeholder(number: int) -> dict[str, Any]:
    """A record of General-VQA with a placeholder."""
    message = {"role": "user", "content": "<image 1> " + QUESTION.format(number)}
    return {"messages": [message], "answer": "red", "image_1": f"images/{number}.png"}


def choice(number: int) -> dict[str, Any]:
    """A record of General-VMCQ."""
    return {
        "question": "<image 1> " + QUESTION.format(number),
        "options": ["red", "green", "blue", "yellow"],
        "answer": "ABCD"[number % 4],
        "image_1": f"images/{number}.png",
    }


def cpu(action: Callable[[], object]) -> float:
    """The median CPU seconds of an action."""
    times = []
    for _ in range(ROUNDS):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return statistics.median(times)


def exhaust(items: Iterator[object]) -> None:
    for _ in items:
        pass


def records(folder: Path) -> None:
    print(f"CPU seconds for {RECORDS} records, medians of {ROUNDS}")
    print(f"{'':<28}{'json':>7}{'rows':>7}{'samples':>9}{'survey':>8}{'samples - json':>16}")
    shapes = (
        ("general_vqa", "structured", structured),
        ("general_vqa", "placeholder", with_placeholder),
        ("general_vmcq", "choices", choice),
    )
    for name, words, record in shapes:
        path = folder / f"{words}.jsonl"
        with path.open("w", encoding="utf-8") as file:
            for number in range(RECORDS):
                file.write(json.dumps(record(number)) + "\n")
        benchmark = find(name)

        def samples(benchmark: Any = benchmark, path: Path = path) -> Iterator[Any]:
            found: Iterator[Any] = benchmark.samples(locate(str(path), "own"), Options())
            return found

        def parse(path: Path = path) -> None:
            with path.open(encoding="utf-8") as file:
                for line in file:
                    json.loads(line)

        assert sum(1 for sample in samples() if sample.problem is None) == RECORDS
        plain = cpu(parse)
        rows = cpu(lambda path=path: exhaust(read(path)))  # type: ignore[misc]
        built = cpu(lambda samples=samples: exhaust(samples()))  # type: ignore[misc]
        surveyed = cpu(lambda samples=samples: survey(samples()))  # type: ignore[misc]
        print(
            f"{name + ' ' + words:<28}{plain:>7.2f}{rows:>7.2f}{built:>9.2f}{surveyed:>8.2f}"
            f"{built - plain:>16.2f}"
        )


def picture(size: int) -> bytes:
    """A PNG of about so many bytes, one that does not compress."""
    from PIL import Image

    side = int((size / 3) ** 0.5)
    out = io.BytesIO()
    Image.frombytes("RGB", (side, side), os.urandom(side * side * 3)).save(out, "PNG")
    return out.getvalue()


TELL_PEAK = """
import re, sys
from pathlib import Path
told = sys.argv.pop(1)
from mmscore.cli.main import main
code = main()
status = Path("/proc/self/status").read_text()
Path(told).write_text(re.search(r"VmHWM:\\s*(\\d+)", status)[1])
sys.exit(code)
"""
"""Runs the command and writes its peak; `ru_maxrss` would count what the parent held at a fork."""


def peak(words: str, benchmark: str, data: Path, count: int, *more: str) -> None:
    """Run a benchmark over a file and tell its peak."""
    with endpoint("--default-reply", "ANSWER: A") as url, tempfile.TemporaryDirectory() as out:
        run = ("run", benchmark, "--data", str(data), "--model", "m", "--api-url", url)
        told = Path(out, "peak")
        command = [sys.executable, "-c", TELL_PEAK, str(told), *run, "--out", f"{out}/run"]
        cost = cost_of([*command, "--progress", "none", *more])
        highest = int(told.read_text()) / 1024
        asked = len(Path(out, "run", "predictions.jsonl").read_bytes().splitlines())
    assert asked == count, f"{asked} of {count} asked"
    size = data.stat().st_size / 1e6
    times = f"{cost.wall:>8.1f} s{cost.cpu:>7.1f} s cpu"
    print(f"{words:<44}{size:>8.0f} MB{times}{highest:>7.0f} MB peak", flush=True)


def table(folder: Path) -> None:
    """A table of base64 images: a run reads it twice and sends every image."""
    held = [base64.b64encode(picture(4_000_000)).decode() for _ in range(4)]
    for megabytes in (250, 2000):
        path = folder / "images.tsv"
        count = megabytes * 1_000_000 // len(held[0])
        with path.open("w", encoding="utf-8") as file:
            file.write("question\tA\tB\tanswer\timage_1\n")
            for number in range(count):
                file.write(f"<image 1> {number}?\tyes\tno\tA\t{held[number % 4]}\n")
        for concurrency in ("1", "8"):
            more = ("--concurrency", concurrency)
            peak(
                f"TSV of base64 images, concurrency {concurrency}",
                "general_vmcq",
                path,
                count,
                *more,
            )
        path.unlink()


def video(folder: Path) -> None:
    """One clip of 25 MB, wherever it lies."""
    clip = b"\0\0\0\x20ftypisom\0\0\2\0isomiso2mp41" + os.urandom(25_000_000)
    (folder / "clip.mp4").write_bytes(clip)
    uri = "data:video/mp4;base64," + base64.b64encode(clip).decode()
    asked = "<video 1> What happens?"

    def jsonl(name: str, **columns: Any) -> Path:
        path = folder / f"{name}.jsonl"
        record = {"messages": [{"role": "user", "content": asked}], "answer": "x", **columns}
        path.write_text(json.dumps(record) + "\n", encoding="utf-8")
        return path

    def part(name: str) -> Path:
        content = [
            {"type": "text", "text": asked},
            {"type": "video_url", "video_url": {"url": uri}},
        ]
        return jsonl(name, messages=[{"role": "user", "content": content}])

    peak("no medium", "general_vqa", jsonl("none", messages=[{"role": "user", "content": "q"}]), 1)
    peak("video in a file", "general_vqa", jsonl("path", video_1="clip.mp4"), 1)
    peak("video in a column of JSON Lines", "general_vqa", jsonl("column", video_1=uri), 1)
    peak("video in the messages of JSON Lines", "general_vqa", part("part"), 1)
    path = folder / "clip.tsv"
    path.write_text(f"question\tA\tB\tanswer\tvideo_1\n{asked}\ty\tn\tA\t{uri}\n", encoding="utf-8")
    peak("video in a TSV", "general_vmcq", path, 1)


def parquet(folder: Path) -> None:
    """Images in a Parquet file, as `datasets` writes them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for count in (200, 2000):
        path = folder / "images.parquet"
        held = [picture(200_000) for _ in range(20)]
        schema = pa.schema(
            [
                ("question", pa.string()),
                ("options", pa.list_(pa.string())),
                ("answer", pa.string()),
                ("images", pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
            ]
        )
        with pq.ParquetWriter(path, schema) as writer:
            for start in range(0, count, 100):
                rows = [
                    {
                        "question": f"<image 1> {start + number}?",
                        "options": ["yes", "no"],
                        "answer": "A",
                        "images": [{"bytes": held[number % 20], "path": None}],
                    }
                    for number in range(100)
                ]
                writer.write_table(pa.Table.from_pylist(rows, schema))
        peak(f"Parquet, {count} images", "general_vmcq", path, count)
        path.unlink()


PARTS = {"records": records, "table": table, "video": video, "parquet": parquet}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--folder", type=Path, help="where files are drawn for the time")
    arguments = parser.parse_args()
    for part in arguments.parts:
        with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="mmscore-bench-") as folder:
            PARTS[part](Path(folder))


if __name__ == "__main__":
    main()
