"""What carries the hot path: our own exchanges, http.client, urllib3 or requests, side by side.

    python tests/bench/transport.py [--threads 8 64] [--rounds 5]      # SLAKE's bodies, 288 MB
    python tests/bench/transport.py --small 10000 --threads 64 1024    # the ceiling
    python tests/bench/transport.py --small 10000 --threads 64 256 1024 --latency-ms 200

Each side sends the same bodies over kept-alive connections from the same number of threads and
reads each reply; mmscore's client is measured with all it does. All ask an endpoint that costs
next to nothing (`fast_endpoint.py`); the sides take turns, and the medians stand beside those of
bare http.client threads.
"""

from __future__ import annotations

import argparse
import http.client
import json
import queue
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from measure import SHARED, fast_endpoint

from mmscore.config.task import TaskConfig
from mmscore.model.client import Client, Service, completions_url
from mmscore.model.endpoint import media_encoder
from mmscore.model.request import build_request, media_of
from mmscore.plan.plan import plan
from mmscore.run.interrupts import own_process

HEADERS = {"Content-Type": "application/json"}
SMALL = (b'{"model":"m","messages":[{"role":"user",', b'"content":"What is it?"}]}')
Body = tuple[bytes, ...]
Send = Callable[[Body], None]


def bodies() -> list[Body]:
    """The bodies of all SLAKE requests, images shared."""
    task = TaskConfig(
        datasets=["slake"],
        dataset_args={"slake": {"local_path": str(SHARED / "datasets" / "slake")}},
    )
    attach = media_encoder(task).attach
    return [
        build_request("m", sample.messages, list(map(attach, media_of(sample.messages))), {}).body
        for sample in plan(task, "slake").samples()
    ]


def by_http_client(url: str) -> Callable[[], Send]:
    """A connection of the standard library for each thread."""
    parts = urlsplit(url)

    def sender() -> Send:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

        def send(body: Body) -> None:
            connection.request("POST", parts.path, b"".join(body), HEADERS)
            json.loads(connection.getresponse().read())

        return send

    return sender


def by_urllib3(url: str) -> Callable[[], Send]:
    """One pool for all threads, as urllib3 is meant to be used."""
    import urllib3

    pool = urllib3.PoolManager(maxsize=2048, block=False)

    def sender() -> Send:
        def send(body: Body) -> None:
            pool.request("POST", url, body=b"".join(body), headers=HEADERS).json()

        return send

    return sender


def by_requests(url: str) -> Callable[[], Send]:
    """A session for each thread."""
    import requests

    def sender() -> Send:
        session: Any = requests.Session()
        session.trust_env = False

        def send(body: Body) -> None:
            session.post(url, data=b"".join(body), headers=HEADERS).json()

        return send

    return sender


def by_mmscore(url: str) -> Callable[[], Send]:
    """The client of this package: retries, deadlines, statuses and all."""
    client = Client(Service(url=url, model="m"))

    def sender() -> Send:
        def send(body: Body) -> None:
            assert client.ask(body).status == "ok"

        return send

    return sender


SIDES = {
    "http.client": by_http_client,
    "urllib3": by_urllib3,
    "requests": by_requests,
    "mmscore's client": by_mmscore,
}


def timed(sender: Callable[[], Send], todo: Sequence[Body], threads: int) -> tuple[float, float]:
    """Wall and CPU seconds of this process to send everything."""
    waiting: queue.SimpleQueue[Body] = queue.SimpleQueue()
    for body in todo:
        waiting.put(body)

    def work() -> None:
        send = sender()
        while True:
            try:
                send(waiting.get_nowait())
            except queue.Empty:
                return

    workers = [threading.Thread(target=work) for _ in range(threads)]
    started, cpu = time.monotonic(), time.process_time()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.monotonic() - started, time.process_time() - cpu


def main() -> None:
    """Measure and print medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", type=int, help="so many small requests instead of SLAKE's")
    parser.add_argument("--latency-ms", type=float, default=0)
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    options = parser.parse_args()
    descriptors()
    own_process()  # what the command line does, for all sides alike
    todo = [SMALL] * options.small if options.small else bodies()
    with fast_endpoint(options.latency_ms) as url:
        for threads in options.threads:
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in options.sides}
            for _ in range(options.rounds):
                for name in options.sides:
                    found[name].append(timed(SIDES[name](completions_url(url)), todo, threads))
            ideal = len(todo) * options.latency_ms / 1000 / threads
            told(found, threads, len(todo), ideal)


def descriptors() -> None:
    """Allow as many connections as there may be threads."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def told(
    found: Mapping[str, Sequence[tuple[float, float]]], threads: int, count: int, ideal: float
) -> None:
    """Print a line for each side."""
    middle = {
        name: [statistics.median(cost[at] for cost in costs) for at in (0, 1)]
        for name, costs in found.items()
    }
    for name, (wall, cpu) in middle.items():
        beside = f"  {wall / ideal:.2f} x the ideal" if ideal else ""
        floor = middle.get("http.client")
        if floor:
            beside += f"  {wall / floor[0]:.2f} x wall {cpu / floor[1]:.2f} x cpu of http.client"
        print(
            f"{threads:>5} threads {name:<18}{wall:>7.2f} s{cpu:>7.2f} s cpu"
            f"{count / wall:>8.0f}/s{cpu / count * 1e6:>6.0f} us each{beside}",
            flush=True,
        )


if __name__ == "__main__":
    main()
