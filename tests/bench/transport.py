"""What carries the hot path: http.client, urllib3 or requests, on SLAKE's real request bodies.

    python tests/bench/transport.py [--threads 8] [--rounds 5]

Each side sends the same 2,094 bodies (288 MB) over kept-alive connections from the same number of
threads and reads each reply; mmscore's own client is measured beside them, with all it does.
"""

from __future__ import annotations

import argparse
import http.client
import queue
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from measure import SHARED, endpoint

from mmscore.config.task import TaskConfig
from mmscore.model.client import Client, Service, completions_url
from mmscore.model.endpoint import media_encoder
from mmscore.model.request import build_request, media_of
from mmscore.plan.plan import plan

HEADERS = {"Content-Type": "application/json"}
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
            headers = {**HEADERS, "Content-Length": str(sum(map(len, body)))}
            connection.request("POST", parts.path, body, headers)
            connection.getresponse().read()

        return send

    return sender


def by_urllib3(url: str) -> Callable[[], Send]:
    """One pool for all threads, as urllib3 is meant to be used."""
    import urllib3

    pool = urllib3.PoolManager(maxsize=64, block=False)

    def sender() -> Send:
        def send(body: Body) -> None:
            pool.request("POST", url, body=b"".join(body), headers=HEADERS)

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

    started, cpu = time.monotonic(), time.process_time()
    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return time.monotonic() - started, time.process_time() - cpu


def main() -> None:
    """Measure and print medians."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    todo = bodies()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in SIDES}
    with endpoint() as url:
        for _ in range(options.rounds):
            for name, side in SIDES.items():
                found[name].append(timed(side(completions_url(url)), todo, options.threads))
    for name, costs in found.items():
        wall, cpu = (statistics.median(cost[at] for cost in costs) for at in (0, 1))
        print(f"{name:<20}{wall:>7.2f} s{cpu:>7.2f} s cpu   {options.threads} threads")


if __name__ == "__main__":
    main()
