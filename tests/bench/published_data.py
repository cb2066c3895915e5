"""Measure runs on data of the published shapes: bytes over the wire, peak memory, archives.

    python tests/bench/published_data.py wire      # remote PMC-VQA beside directory + members
    python tests/bench/published_data.py far       # fetch PMC-VQA, each request 50 or 200 ms away
    python tests/bench/published_data.py memory    # peak memory by number of samples
    python tests/bench/published_data.py archive   # 150,000 members: open + first member
    python tests/bench/published_data.py speed --reference REF/bin/evalscope

Everything is drawn below `--folder` and kept there, so that a second run measures at once. `wire`
and `speed` need the tools beside the repository (MMSCORE_SHARED): the mock hub and the mock
endpoint. Each figure is of a whole process; peak memory is `ru_maxrss` of the child.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("MMSCORE_SHARED") or ROOT.parent / "shared")

QUESTIONS, FIGURES, FIGURE_BYTES = 2000, 1440, 90_000
MEMBERS = 150_000
"""As the published archive has, nearly all of them asked by nobody."""


def noise_jpeg(size: int, seed: int) -> bytes:
    """A JPEG of about `size` bytes: a small picture and a comment that does not compress."""
    from PIL import Image

    picture = io.BytesIO()
    Image.new("RGB", (320, 240), (seed % 256, seed // 256 % 256, 90)).save(picture, "JPEG")
    data = picture.getvalue()
    filler = random.Random(seed).randbytes(max(0, size - len(data)))
    comments = b"".join(
        b"\xff\xfe" + (len(part) + 2).to_bytes(2) + part
        for part in (filler[at : at + 65_000] for at in range(0, len(filler), 65_000))
    )
    return data[:2] + comments + data[2:]


def draw_pmc_vqa(folder: Path, questions: int, others: int) -> Path:
    """PMC-VQA's files with so many questions, and members nobody asks for among the figures."""
    if (folder / "images.zip").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    figures = min(FIGURES, questions)
    names = [f"PMC{number // 3:07}_FIG{number % 3 + 1}.jpg" for number in range(figures)]
    with (folder / "test_clean.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        choices = [f"Choice {letter}" for letter in "ABCD"]
        table.writerow(["Figure_path", "Question", "Answer", *choices, "Answer_label"])
        for number in range(questions):
            options = [f" {letter}:option {letter}{number} " for letter in "ABCD"]
            table.writerow([names[number % figures], f" What is {number}? ", "x", *options, "B"])
    part = folder / "images.zip.part"
    with zipfile.ZipFile(part, "w") as archive:
        every = max(1, others // figures)
        for number in range(max(others, figures)):
            if number < others:
                archive.writestr(f"images/other{number:06}.jpg", random.Random(1).randbytes(1200))
            if number % every == 0 and number // every < figures:
                at = number // every
                archive.writestr(f"images/{names[at]}", noise_jpeg(FIGURE_BYTES, at))
    part.rename(folder / "images.zip")
    return folder


def draw_count_qa(folder: Path, photographs: int, size: int) -> Path:
    """CountQA's files with so many photographs of so many bytes, two questions each."""
    from importlib import import_module

    pyarrow = import_module("pyarrow")
    parquet = import_module("pyarrow.parquet")

    target = folder / "data" / "test-00000-of-00001.parquet"
    if target.exists():
        return folder
    target.parent.mkdir(parents=True, exist_ok=True)
    image = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    strings = pyarrow.list_(pyarrow.string())
    schema = pyarrow.schema([("image", image), ("questions", strings), ("answers", strings)])
    with parquet.ParquetWriter(target, schema, compression="snappy") as writer:
        for first in range(0, photographs, 10):
            rows = [
                {
                    "image": {"bytes": noise_jpeg(size, number), "path": f"{number}.jpg"},
                    "questions": [f"How many a{number}?", f"How many b{number}?"],
                    "answers": ["3", "12"],
                }
                for number in range(first, min(first + 10, photographs))
            ]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema))
    return folder


def apart(draw: Callable[[Path, int, int], Path], folder: Path, many: int, size: int) -> Path:
    """Draw in a process of its own.

    What this process ever held counts in the `ru_maxrss` of every child it forks later.
    """
    process = multiprocessing.get_context("spawn").Process(target=draw, args=(folder, many, size))
    process.start()
    process.join()
    assert process.exitcode == 0, f"{folder} could not be drawn"
    return folder


@contextlib.contextmanager
def service(script: str, *arguments: str) -> Iterator[str]:
    """A tool that serves on loopback, of the shared folder unless it has a path; its URL."""
    process = subprocess.Popen(
        [sys.executable, str(SHARED / "tools" / script), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        words = process.stdout.readline().split()
        yield next(word for word in words if word.startswith("http://")).removesuffix("/v1")
    finally:
        process.terminate()
        process.wait()


def measured(command: Sequence[str], **env: str) -> tuple[float, float, float]:
    """Seconds, processor seconds and peak MB of a command that must succeed."""
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        output = os.open(os.devnull, os.O_WRONLY)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.execvpe(command[0], list(command), {**os.environ, **env})
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - started
    assert os.waitstatus_to_exitcode(status) == 0, f"{' '.join(command)} failed"
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def mmscore(*arguments: str) -> list[str]:
    return [str(Path(sysconfig.get_path("scripts")) / "mmscore"), *arguments]


def run_command(name: str, endpoint: str, out: Path, *more: str) -> list[str]:
    shutil.rmtree(out, ignore_errors=True)
    asked = ("--model", "m", "--api-url", f"{endpoint}/v1", "--progress", "none")
    return mmscore("run", name, *asked, "--out", str(out), *more)


def stats(url: str) -> Mapping[str, int]:
    with urllib.request.urlopen(f"{url}/__stats") as answer:
        return dict(json.load(answer))


def wire(folder: Path) -> None:
    """Bytes a remote run takes beside the directory and the members asked for."""
    data = draw_pmc_vqa(folder / "hub" / "evalscope" / "PMC-VQA", QUESTIONS, MEMBERS)
    with zipfile.ZipFile(data / "images.zip") as archive:
        asked = [info for info in archive.infolist() if "/PMC" in info.filename]
        members = sum(30 + len(info.filename) + info.compress_size for info in asked)
        directory = (data / "images.zip").stat().st_size - archive.start_dir
        total = len(archive.infolist())
    need = members + directory + (data / "test_clean.csv").stat().st_size
    with (
        tempfile.TemporaryDirectory() as cache,
        service("mock_openai.py", "--port", "0", "--default-reply", "ANSWER: B") as endpoint,
        service("mock_hub.py", str(folder / "hub"), "--port", "0") as hub,
    ):
        place = {"MMSCORE_CACHE": cache, "MODELSCOPE_ENDPOINT": hub}
        for what in ("first run", "second run"):
            before = stats(hub)
            command = run_command("pmc_vqa", endpoint, folder / "out")
            seconds, cpu, memory = measured(command, **place)
            after = stats(hub)
            sent = after["bytes_sent"] - before["bytes_sent"]
            requests = after["requests"] - before["requests"]
            print(
                f"{what}: {sent / 1e6:.2f} MB in {requests} requests, needed {need / 1e6:.2f} MB "
                f"({sent / need:.4f}), {len(asked)} of {total} members; "
                f"{seconds:.2f} s, {cpu:.2f} s cpu, {memory:.0f} MB"
            )


def far(folder: Path) -> None:
    """How long fetching takes where each request does, into an empty cache."""
    draw_pmc_vqa(folder / "hub" / "evalscope" / "PMC-VQA", QUESTIONS, MEMBERS)
    script = str(Path(__file__).with_name("far_hub.py"))
    for latency in (50, 200):
        with (
            tempfile.TemporaryDirectory() as cache,
            service(script, str(folder / "hub"), "--latency-ms", str(latency)) as hub,
        ):
            place = {"MMSCORE_CACHE": cache, "MODELSCOPE_ENDPOINT": hub}
            command = mmscore("fetch", "pmc_vqa", "--progress", "none")
            seconds, cpu, peak = measured(command, **place)
        print(f"{latency} ms a request: {seconds:.1f} s, {cpu:.2f} s cpu, {peak:.0f} MB")


def memory(folder: Path) -> None:
    """Peak memory by number of samples."""
    reply = ("--default-reply", "ANSWER: B 3")
    with service("mock_openai.py", "--port", "0", *reply) as endpoint:
        for questions in (200, 2000):
            data = apart(draw_pmc_vqa, folder / f"pmc-{questions}", questions, 0)
            command = run_command("pmc_vqa", endpoint, folder / "out", "--data", str(data))
            _, _, peak = measured(command)
            print(f"pmc_vqa, {questions} samples: {peak:.0f} MB")
        for photographs in (20, 100):
            data = apart(draw_count_qa, folder / f"count-{photographs}", photographs, 4_000_000)
            command = run_command("count_qa", endpoint, folder / "out", "--data", str(data))
            seconds, cpu, peak = measured(command)
            print(
                f"count_qa, {2 * photographs} samples on {photographs} photographs of 4 MB: "
                f"{peak:.0f} MB, {seconds:.2f} s, {cpu:.2f} s cpu"
            )


def archive(folder: Path) -> None:
    """Open an archive of 150,000 members and read one, in this process."""
    data = draw_pmc_vqa(folder / "hub" / "evalscope" / "PMC-VQA", QUESTIONS, MEMBERS)
    from mmscore.dataset.zip_archive import open_archive

    def ours() -> bytes:
        return open_archive(data / "images.zip").read("images/PMC0000100_FIG1.jpg")

    def standard() -> bytes:
        with zipfile.ZipFile(data / "images.zip") as opened:
            return opened.read("images/PMC0000100_FIG1.jpg")

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first = ours()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert first == standard()
    print(f"ours: {1000 * median(ours):.1f} ms, +{grown:.0f} MB; zipfile: {median(standard):.2f} s")


def median(action: Callable[[], object], rounds: int = 5) -> float:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def speed(folder: Path, reference: str | None) -> None:
    """A local PMC-VQA run beside the reference's, in turn."""
    data = draw_pmc_vqa(folder / "pmc-2000", QUESTIONS, 0)
    sides: dict[str, list[tuple[float, float, float]]] = {"mmscore": [], "reference": []}
    reply = ("--default-reply", "ANSWER: B")
    with service("mock_openai.py", "--port", "0", *reply) as endpoint:
        for _ in range(3):
            command = run_command("pmc_vqa", endpoint, folder / "out", "--data", str(data))
            sides["mmscore"].append(measured(command))
            if reference is not None:
                sides["reference"].append(_reference(reference, endpoint, data, folder))
    for side, figures in sides.items():
        if figures:
            seconds, cpu, peak = (
                statistics.median(values) for values in zip(*figures, strict=True)
            )
            print(f"{side}: {seconds:.2f} s, {cpu:.2f} s cpu, {peak:.0f} MB (medians of 3)")


def _reference(program: str, endpoint: str, data: Path, folder: Path) -> tuple[float, float, float]:
    out = folder / "out-reference"
    shutil.rmtree(out, ignore_errors=True)
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    places = {"HF_HOME": str(folder / "hf"), "MODELSCOPE_CACHE": str(folder / "ms")}
    arguments = json.dumps({"pmc_vqa": {"local_path": str(data)}})
    asked = ("--model", "m", "--api-url", f"{endpoint}/v1", "--api-key", "EMPTY")
    data_of = ("--eval-type", "openai_api", "--datasets", "pmc_vqa", "--dataset-args", arguments)
    rest = ("--eval-batch-size", "8", "--work-dir", str(out), "--no-timestamp")
    return measured([program, "eval", *asked, *data_of, *rest], **offline, **places)


def main() -> None:
    """Measure what the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("what", choices=("wire", "far", "memory", "archive", "speed"))
    parser.add_argument(
        "--folder", type=Path, default=Path(tempfile.gettempdir()) / "mmscore-bench"
    )
    parser.add_argument("--reference", help="the reference's program, for `speed`")
    given = parser.parse_args()
    if given.what == "speed":
        speed(given.folder, given.reference)
    else:
        {"wire": wire, "far": far, "memory": memory, "archive": archive}[given.what](given.folder)


if __name__ == "__main__":
    main()
