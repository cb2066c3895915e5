"""The whole SLAKE run beside the reference and beside bare clients, in one go.

    python tests/bench/slake.py [--reference PATH_OF_EVALSCOPE] [--rounds 5] [--fast]

Needs the shared data (MMSCORE_SHARED, default ../shared). All sides ask the same endpoint about the
same 2,094 samples in turn, so that a busy machine slows all of them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from measure import (
    SHARED,
    Cost,
    compiled,
    cost_of,
    endpoint,
    fast_endpoint,
    medians,
    show,
    stats,
)

DATA = SHARED / "datasets" / "slake"
ANSWERS = ("--answers", str(DATA / "answers.jsonl"))
SCRIPT = str(Path(sys.executable).with_name("mmscore"))


def ours(url: str, out: Path, concurrency: int) -> Cost:
    """One run of mmscore into a fresh folder."""
    shutil.rmtree(out, ignore_errors=True)
    return cost_of(
        [SCRIPT, "run", "slake", "--data", str(DATA), "--api-url", url, "--model", "m",
         "--concurrency", str(concurrency), "--out", str(out), "--progress", "none"]
    )  # fmt: skip


def reference(program: str, url: str, out: Path, batch: int) -> Cost:
    """One run of the reference, offline, into a fresh folder."""
    shutil.rmtree(out, ignore_errors=True)
    args = json.dumps({"slake": {"local_path": str(DATA)}})
    offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    return cost_of(
        [program, "eval", "--model", "mock", "--api-url", f"{url}/v1", "--api-key", "EMPTY",
         "--eval-type", "openai_api", "--datasets", "slake", "--dataset-args", args,
         "--eval-batch-size", str(batch), "--work-dir", str(out), "--no-timestamp"],
        {**offline, "HF_HOME": str(out / "hf"), "MODELSCOPE_CACHE": str(out / "ms")},
    )  # fmt: skip


def size(folder: Path) -> float:
    """Megabytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def whole_runs(options: argparse.Namespace, folder: Path) -> None:
    """Whole commands without latency, all sides in turn."""
    floor = str(SHARED / "tools" / "floor_client.py")
    sides: dict[str, list[Cost]] = {}
    with fast_endpoint() if options.fast else endpoint(*ANSWERS) as url:
        port = url.rsplit(":", 1)[1]
        for _ in range(options.rounds):
            for count in (8, 64):
                sides.setdefault(f"mmscore, concurrency {count}", []).append(
                    ours(url, folder / "ours", count)
                )
                sides.setdefault(f"bare http.client threads, {count}", []).append(
                    cost_of([sys.executable, floor, port, str(count), str(DATA)])
                )
                if options.reference:
                    sides.setdefault(f"reference, batch {count}", []).append(
                        reference(options.reference, url, folder / "reference", count)
                    )
    for name, costs in sides.items():
        beside = sides.get(f"reference, batch {name.split()[-1]}")
        other = medians(beside) if beside and name.startswith("mmscore") else None
        show(name, costs, other)
    for count in (8, 64):
        own = medians(sides[f"mmscore, concurrency {count}"])
        bare = medians(sides[f"bare http.client threads, {count}"])
        print(f"{count}: {own.wall / bare.wall:.2f} x the floor's wall, ", end="")
        print(f"{own.cpu / bare.cpu:.2f} x its CPU")
    print(f"run folder: {size(folder / 'ours'):.2f} MB", end="")
    print(f", reference {size(folder / 'reference'):.0f} MB" if options.reference else "")


def latencies(options: argparse.Namespace, folder: Path) -> None:
    """How near to the ideal the window stays when replies take their time."""
    for words, concurrency, latency, limit, ideal in (
        ("50 ms each, concurrency 64", 64, "50", None, 2094 * 0.05 / 64),
        ("20-800 ms, concurrency 8, 400 samples", 8, "20-800", "100", 400 * 0.41 / 8),
    ):
        more = ["--limit", limit] if limit else []
        with endpoint(*ANSWERS, "--latency-ms", latency) as url:
            shutil.rmtree(folder / "late", ignore_errors=True)
            cost = cost_of(
                [SCRIPT, "run", "slake", "--data", str(DATA), "--api-url", url, "--model", "m",
                 "--concurrency", str(concurrency), "--out", str(folder / "late"), *more]
            )  # fmt: skip
            span = stats(url)["span_s"]
        print(
            f"{words:<44}{cost.wall:>8.2f} s, asking {span:.2f} s = {span / ideal:.2f} x the ideal"
            f" {ideal:.2f} s",
            flush=True,
        )


def commands(options: argparse.Namespace, folder: Path) -> None:
    """Start-up, and scoring a finished run again."""
    for name, command in (
        ("python -c pass", [sys.executable, "-c", "pass"]),
        ("import mmscore", [sys.executable, "-c", "import mmscore"]),
        ("mmscore --help", [SCRIPT, "--help"]),
        ("mmscore score of the run", [SCRIPT, "score", str(folder / "ours")]),
    ):
        show(name, [cost_of(command) for _ in range(2 * options.rounds + 1)])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--reference", help="path of the evalscope program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--fast", action="store_true", help="ask an endpoint that costs nothing")
    options = parser.parse_args()
    compiled()
    with tempfile.TemporaryDirectory() as folder:
        whole_runs(options, Path(folder))
        latencies(options, Path(folder))
        commands(options, Path(folder))


if __name__ == "__main__":
    main()
