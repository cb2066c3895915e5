"""Archives and data URIs beside the standard library: `python tests/bench/bytes.py`.

Each measurement runs in a process of its own and checks its answer first. Prints medians of nine
runs, and for the archive the growth of the peak memory.
"""

from __future__ import annotations

import base64
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

RUNS = 9
MEMBERS = 150_000

OPENERS = {
    "mmscore": """
import mmscore._core as module
def first(path):
    archive = module.Zip.open(path)
    return archive.read(archive.find("PMC0000000_000000.jpg"))
""",
    "zipfile": """
import zipfile as module
def first(path):
    return module.ZipFile(path).read("images/PMC0000000_000000.jpg")
""",
}

MEASURE = """
import sys, time
def peak():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if "VmHWM" in line)
before = peak()
start = time.perf_counter()
data = first(sys.argv[1])
seconds = time.perf_counter() - start
assert data == b"figure 0"
print(seconds * 1000, (peak() - before) / 1000)
"""


def show(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def archive_opened(path: Path) -> None:
    for name, opener in OPENERS.items():
        command = [sys.executable, "-c", opener + MEASURE, str(path)]
        runs = [
            tuple(map(float, subprocess.check_output(command, text=True).split()))
            for _ in range(RUNS)
        ]
        milliseconds, megabytes = (statistics.median(run[at] for run in runs) for at in (0, 1))
        show(f"{MEMBERS} members, {name}: {milliseconds:.1f} ms, +{megabytes:.1f} MB")


def large_archive(folder: Path) -> Path:
    path = folder / "large.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(MEMBERS):
            name = f"images/PMC{number * 7919 % 10**7:07d}_{number:06d}.jpg"
            archive.writestr(zipfile.ZipInfo(name), b"figure %d" % number)
    return path


def data_uri_made() -> None:
    import mmscore._core as _core

    image = bytes(range(256)) * 19_532
    prefix = b"data:image/jpeg;base64,"
    assert _core.data_uri(image, "image/jpeg") == prefix + base64.b64encode(image)
    ways: dict[str, Callable[[], object]] = {
        "mmscore": lambda: _core.data_uri(image, "image/jpeg"),
        "base64.b64encode": lambda: prefix + base64.b64encode(image),
        "copy": lambda: bytearray(image),
    }
    for name, way in ways.items():
        times = []
        for _ in range(RUNS * 5):
            start = time.perf_counter()
            way()
            times.append(time.perf_counter() - start)
        show(f"data URI of 5 MB, {name}: {statistics.median(times) * 1000:.2f} ms")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        archive_opened(large_archive(Path(folder)))
    data_uri_made()
