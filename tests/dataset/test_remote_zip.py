"""Zips that are read where they lie: few bytes, never wrong ones, and nothing asked twice."""

from __future__ import annotations

import _thread
import io
import random
import threading
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import ROOT, run_cli
from support.clocks import hurried
from support.hubs import bytes_of, hub, serving
from support.server import Request, Response, Server, drop, file, raw, reply, serve, status

from mmscore.dataset.hub import hub_files as hub_module
from mmscore.dataset.hub.cache import cache_folder
from mmscore.dataset.hub.hub_files import HubFiles, locate
from mmscore.dataset.hub.read_ahead import (
    BYTES_IN_FLIGHT,
    FIRST_WINDOW,
    GROUP_BYTES,
    MOST_IN_FLIGHT,
    Group,
    ReadAhead,
    Window,
    joined,
)
from mmscore.dataset.hub.remote_zip import RemoteArchive, open_directory
from mmscore.dataset.zip_archive import Archive, ArchiveMember, open_archive
from mmscore.errors import DataError, HubError
from mmscore.run.loop import RunLoop
from mmscore.web import retry
from mmscore.web.errors import ChangedError, RangesUnusableError, Target, WebError
from mmscore.web.ranges import RemoteFile, read_span
from mmscore.web.session import Web

Members = dict[str, bytes]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "SYSTEM", hurried())


def packed(
    members: Members, method: int = zipfile.ZIP_STORED, comment: bytes = b"", before: bytes = b""
) -> bytes:
    out = io.BytesIO(before)
    out.seek(len(before))
    with zipfile.ZipFile(out, "a" if before else "w") as archive:
        archive.comment = comment
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=method)
    return out.getvalue()


def many(count: int, size: int = 3000, seed: int = 0) -> Members:
    draw = random.Random(seed)
    return {f"images/{number:05}.jpg": draw.randbytes(size) for number in range(count)}


def files(**options: Any) -> HubFiles:
    found = locate("modelscope:o/n", "x", {}, **options)
    assert isinstance(found, HubFiles)
    return found


def script(data: bytes, **options: Any) -> Callable[[Request], Response]:
    return hub({"o/n": {"images.zip": data}}, **options)


def sent(server: Server) -> list[tuple[int, int]]:
    """The ranges that were asked for: first byte and the one after the last."""
    asked = [request.headers.get("range", "") for request in server.requests]
    spans = [text.removeprefix("bytes=").split("-") for text in asked if text]
    return [(int(first), int(last) + 1) for first, last in spans]


def expect(archive: Archive, names: Iterable[str]) -> None:
    assert isinstance(archive, RemoteArchive)
    archive.expect(names)
    for _ in archive.fetch_expected():
        pass


# Right bytes, and few


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("before", [b"", b"#!/bin/sh\nexit\n" * 40])
def test_members_are_those_of_zipfile(
    method: int, before: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {**many(60), "a/深/x.txt": b"text " * 5000, "empty": b""}
    data = packed(members, method, b"a comment", before)
    with serving(monkeypatch, script(data)):
        archive = files().archive("images.zip")
        assert archive.names() == list(members)
        assert {name: archive.read(name) for name in members} == members
        assert archive.read("x.txt") == members["a/深/x.txt"], "a unique end will do"
        assert archive.has("empty") and not archive.has("nothing")
        source = ArchiveMember(archive, "empty")
        assert source.exists() and "images.zip" in source.name
        with pytest.raises(DataError, match="no member"):
            archive.read("images/00099.jpg")


def test_only_the_directory_and_what_is_asked_for_cross_the_wire(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = many(6000)
    data = packed(members)
    asked = random.Random(1).sample(list(members)[:5000], 60)
    with serving(monkeypatch, script(data)) as server:
        archive = files().archive("images.zip")
        expect(archive, asked)
        assert {name: archive.read(name) for name in asked} == {n: members[n] for n in asked}
        took = sum(end - first for first, end in sent(server))
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        directory = len(data) - opened.start_dir
        wanted = sum(30 + len(name) + len(members[name]) for name in asked)
    assert took <= 1.05 * (directory + wanted)


def test_a_second_opening_asks_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    members = many(400)
    data = packed(members)
    with serving(monkeypatch, script(data)) as server:
        first = files().archive("images.zip")
        expect(first, members)
        count = len(server.requests)
        second = files().archive("images.zip")
        assert second.read("images/00007.jpg") == members["images/00007.jpg"]
        assert second.fingerprint() == first.fingerprint()
        assert len(server.requests) == count
    offline = files(offline=True).archive("images.zip")
    assert {name: offline.read(name) for name in members} == members


def test_its_fingerprint_is_that_of_a_local_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = packed(many(30))
    (tmp_path / "images.zip").write_bytes(data)
    with serving(monkeypatch, script(data)):
        there = files().archive("images.zip").fingerprint()
    assert there == open_archive(tmp_path / "images.zip").fingerprint()


def test_a_member_that_was_not_fetched_is_an_error_offline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(monkeypatch, script(packed(many(500)))):
        files().archive("images.zip").read("images/00001.jpg")
    archive = files(offline=True).archive("images.zip")
    assert archive.read("images/00001.jpg")
    with pytest.raises(HubError, match="--offline makes no request"):
        archive.read("images/00002.jpg")


def test_neighbours_are_joined_and_a_few_ranges_are_in_flight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = many(900, 9000)
    good = script(packed(members))

    def slowly(request: Request) -> Response:
        response = good(request)
        return Response(response.status, response.headers, response.pieces, delay=0.05)

    with serving(monkeypatch, slowly) as server:
        expect(files().archive("images.zip"), members)
        spans = sent(server)
        assert 2 <= server.most_at_once <= MOST_IN_FLIGHT
    assert len(spans) < 12
    assert max(end - first for first, end in spans) <= GROUP_BYTES


def test_whoever_reads_first_is_served_first(monkeypatch: pytest.MonkeyPatch) -> None:
    members = many(40, 200_000)
    good = script(packed(members))

    def slowly(request: Request) -> Response:
        response = good(request)
        return Response(response.status, response.headers, response.pieces, delay=0.1)

    names = list(members)
    every_other = names[::2]
    with serving(monkeypatch, slowly):
        archive = files().archive("images.zip")
        assert isinstance(archive, RemoteArchive)
        archive.expect(every_other)
        started = time.monotonic()
        assert archive.read(every_other[-1]) == members[every_other[-1]]
        assert time.monotonic() - started < 0.35, "it does not wait for all before it"
        archive.close()


def test_many_readers_get_each_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    members = many(300)
    wrong: list[str] = []
    with serving(monkeypatch, script(packed(members))):
        archive = files().archive("images.zip")
        assert isinstance(archive, RemoteArchive)
        archive.expect(members)

        def reader(seed: int) -> None:
            names = random.Random(seed).sample(list(members), len(members))
            wrong.extend(name for name in names if archive.read(name) != members[name])

        threads = [threading.Thread(target=reader, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_huge_directory_is_fetched_in_two_steps_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = {f"images/PMC{number:07}_FIG1.jpg": b"" for number in range(70_000)}
    members["images/wanted.jpg"] = b"here it is"
    data = packed(members)
    with serving(monkeypatch, script(data)) as server:
        started = time.monotonic()
        archive = files().archive("images.zip")
        assert archive.read("images/wanted.jpg") == b"here it is"
        assert time.monotonic() - started < 5
        assert len(sent(server)) <= 3
        assert sum(end - first for first, end in sent(server)) < len(data) * 1.01


# Never wrong bytes


@pytest.mark.parametrize("fault", ["wrong_range", "short_range"])
def test_a_server_that_answers_other_ranges_is_fetched_whole(
    fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = many(20)
    notices: list[str] = []
    with serving(monkeypatch, script(packed(members), fault=fault)):
        archive = files(notice=notices.append).archive("images.zip")
        assert {name: archive.read(name) for name in members} == members
    assert any("whole" in notice for notice in notices)


def test_a_server_without_ranges_is_fetched_whole_up_to_a_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = many(20)
    with serving(monkeypatch, script(packed(members), ranges=False)):
        with monkeypatch.context() as patch:
            patch.setattr(hub_module, "WHOLE_BYTES", 1000)
            with pytest.raises(HubError, match="answers byte ranges with the whole file") as caught:
                files().archive("images.zip")
        assert caught.value.hint is not None and "mmscore fetch --whole" in caught.value.hint
        assert files(whole=True).archive("images.zip").read("images/00003.jpg")
    assert files(offline=True).archive("images.zip").read("images/00004.jpg")


@pytest.mark.parametrize("fault", ["wrong_range", "short_range", "long_range"])
def test_ranges_that_stop_working_midway_end_in_an_error(
    fault: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = many(2000)
    good, bad = script(packed(members)), script(packed(members), fault=fault)
    broken = False
    with serving(monkeypatch, lambda r: bad(r) if broken else good(r)):
        archive = files().archive("images.zip")
        broken = True
        with pytest.raises(RangesUnusableError, match=r"announces|ended after"):
            archive.read("images/00003.jpg")


def test_another_etag_for_the_same_bytes_is_looked_into_and_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    members = many(2000)
    data = packed(members)
    count = 0

    def answer(request: Request) -> Response:
        nonlocal count
        count += 1
        return script(data, etag='"a"' if count < 6 else '"b"')(request)

    with serving(monkeypatch, answer):
        archive = files().archive("images.zip")
        assert all(archive.read(name) == members[name] for name in list(members)[:20])


def test_an_archive_that_was_replaced_is_an_error_and_gives_no_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = many(2000, seed=1), many(2000, seed=2)
    current = script(packed(old), etag='"old"')
    with serving(monkeypatch, lambda request: current(request)):
        archive = files().archive("images.zip")
        assert archive.read("images/00001.jpg") == old["images/00001.jpg"]
        current = script(packed(new), etag='"new"')
        for name in ("images/00002.jpg", "images/00003.jpg"):
            with pytest.raises(HubError, match="was changed while it was in use") as caught:
                archive.read(name)
            assert caught.value.hint is not None and "mmscore cache --clean" in caught.value.hint
        assert archive.read("images/00001.jpg") == old["images/00001.jpg"], "what was kept is right"


def test_an_archive_without_validators_is_guarded_by_its_checksums(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = many(2000, seed=1), many(2000, seed=2)
    current = script(packed(old), etag=None)
    with serving(monkeypatch, lambda request: current(request)):
        archive = files().archive("images.zip")
        current = script(packed(new), etag=None)
        with pytest.raises(DataError, match="CRC"):
            archive.read("images/00002.jpg")


def test_a_damaged_member_in_the_cache_is_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    members = many(50)
    with serving(monkeypatch, script(packed(members))):
        archive = files().archive("images.zip")
        expect(archive, members)
        for number, kept in enumerate(sorted(cache_folder().rglob("members-*/*"))):
            damage = [b"", b"x", kept.read_bytes()[:-1] + b"?"][number % 3]
            kept.write_bytes(damage)
        assert {name: archive.read(name) for name in members} == members


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b"{}\n"),
        lambda path: path.write_bytes(b"\xff" * 500),
    ],
)
def test_a_damaged_directory_in_the_cache_is_fetched_again(
    damage: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    members = many(50)
    with serving(monkeypatch, script(packed(members))):
        files().archive("images.zip")
        (kept,) = cache_folder().rglob("directory")
        damage(kept)
        archive = files().archive("images.zip")
        assert archive.read("images/00001.jpg") == members["images/00001.jpg"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "images.zip"),
        (b"not a zip at all" * 20_000, "images.zip"),
        (packed(many(100))[:-4000], "images.zip"),
    ],
)
def test_what_is_no_zip_is_said(data: bytes, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(monkeypatch, script(data)), pytest.raises(DataError, match=words):
        files().archive("images.zip")


def test_an_encrypted_member_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = bytearray(packed({"a.jpg": b"secret" * 100, "b.jpg": b"open"}))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with serving(monkeypatch, script(bytes(data))):
        archive = files().archive("images.zip")
        assert archive.read("b.jpg") == b"open"
        assert isinstance(archive, RemoteArchive)
        archive.expect(["a.jpg", "b.jpg"])
        with pytest.raises(DataError, match=r"a\.jpg.*encrypted"):
            archive.read("a.jpg")


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_flipped_bytes_never_give_other_bytes(monkeypatch: Any, data: st.DataObject) -> None:
    members = many(5, 400)
    whole = bytearray(packed(members, zipfile.ZIP_DEFLATED))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))

    def read(first: int, end: int) -> bytes:
        return bytes(whole[first:end])

    try:
        opened = open_directory("a.zip", len(whole), read).zip
    except DataError:
        return
    for name, content in members.items():
        index = opened.get(name)
        if index is None:
            continue
        try:
            assert opened.decode(index, read(*opened.span(index))) == content
        except DataError:
            continue


# Ranges


def span_of(
    answer: Callable[[Request], Response], first: int = 10, end: int = 20, **known: Any
) -> bytes:
    with serve(answer) as server:
        return read_span(Web(), Target(server.url, "the file"), first, end, **known).data


DATA = bytes(range(256)) * 8


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (raw(206, DATA[10:20]), RangesUnusableError, "announces `nothing`"),
        (
            raw(206, DATA[10:20], {"Content-Range": "bytes 10-19"}),
            RangesUnusableError,
            "announces `bytes 10-19`",
        ),
        (
            raw(206, DATA[11:21], {"Content-Range": "bytes 11-20/2048"}),
            RangesUnusableError,
            "bytes 10-19 and announces `bytes 11-20/2048`",
        ),
        (raw(206, DATA[10:25], {"Content-Range": "bytes 10-19/2048"}), RangesUnusableError, "more"),
        (raw(200, DATA), RangesUnusableError, "whole file"),
        (raw(206, DATA[10:20], {"Content-Range": "bytes 10-19/4096"}), ChangedError, "4096 bytes"),
        (raw(416, headers={"Content-Range": "bytes */5"}), ChangedError, "has no bytes 10 to 19"),
        (raw(206, b"", {"Content-Range": "bytes 10-19/2048", "ETag": '"x"'}), ChangedError, '"x"'),
        (status(410), WebError, "410 Gone"),
        (drop(), WebError, "closed the connection"),
    ],
)
def test_an_odd_answer_to_a_range_is_refused(
    answer: Response, error: type[WebError], words: str
) -> None:
    with pytest.raises(error, match=words):
        span_of(lambda _: answer, size=2048, validator='"v1"')


def test_a_range_of_unknown_whole_length_will_do() -> None:
    answer = raw(206, DATA[10:20], {"Content-Range": "bytes 10-19/*"})
    assert span_of(lambda _: answer) == DATA[10:20]


def test_a_range_that_breaks_off_is_completed() -> None:
    asked: list[str] = []

    def answer(request: Request) -> Response:
        asked.append(request.headers["range"])
        whole = file(DATA, request)
        return Response(206, whole.headers, whole.pieces, stop_after=700, end="close")

    assert span_of(answer, 0, 2000) == DATA[:2000]
    assert asked == ["bytes=0-1999", "bytes=700-1999", "bytes=1400-1999"]


def test_a_signed_url_that_expires_is_asked_for_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    members = many(2000)
    good = script(packed(members))
    expired = False

    def answer(request: Request) -> Response:
        nonlocal expired
        if request.path.startswith("/cdn/") and expired:
            expired = False
            return status(403)
        return good(request)

    with serving(monkeypatch, answer) as server:
        found = locate("hf:o/n", "x", {})
        archive = found.archive("images.zip")
        expired = True
        assert archive.read("images/00001.jpg") == members["images/00001.jpg"]
        assert archive.read("images/00002.jpg") == members["images/00002.jpg"]
    hops = [request.path.split("/")[1] for request in server.requests]
    assert hops.count("datasets") == 2, "a storage is found once, and again when it closes"


def test_a_file_of_unknown_length_tells_it_with_its_first_byte() -> None:
    with serve(lambda request: file(DATA, request)) as server:
        remote_file = RemoteFile(Web(), Target(server.url, "the file"))
        assert remote_file.size == len(DATA) and remote_file.validator == '"v1"'
        assert remote_file.read(5, 5) == b"" and remote_file.read(5, 9) == DATA[5:9]


# Joining and fetching ahead


@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 900)), max_size=40),
    st.randoms(use_true_random=False),
)
def test_joined_ranges_hold_what_is_wanted_and_little_else(
    gaps_and_sizes: list[tuple[int, int]], draw: random.Random
) -> None:
    places, at = {}, 0
    for index, (gap, size) in enumerate(gaps_and_sizes):
        places[index] = (at + gap * 100, at + gap * 100 + size * 1000)
        at = places[index][1]
    wanted = draw.sample(sorted(places), len(places))
    groups = joined(wanted, places.get)
    held = [index for group in groups for index in group.indexes]
    assert sorted(held) == sorted(wanted)
    for group in groups:
        for index in group.indexes:
            assert group.first <= places[index][0] and places[index][1] <= group.end
        useful = sum(places[index][1] - places[index][0] for index in group.indexes)
        assert group.end - group.first <= max(GROUP_BYTES, useful)
        assert group.end - group.first - useful <= (group.end - group.first) / 32
    firsts = [min(wanted.index(index) for index in group.indexes) for group in groups]
    assert firsts == sorted(firsts), "what is read first is fetched first"


def test_a_member_that_must_not_be_read_is_left_out() -> None:
    assert joined([0, 1], lambda index: None if index else (0, 5))[0].indexes == [0]


def test_a_failure_reaches_who_waits_for_it_and_nobody_else() -> None:
    groups = [Group(0, 1, [0]), Group(1, 2, [1]), Group(2, 3, [2])]

    def fetch(group: Group) -> None:
        if group.first == 1:
            raise HubError("gone")

    ahead = ReadAhead(groups, fetch)
    assert ahead.wait(0) and ahead.wait(2) and not ahead.wait(7)
    with pytest.raises(HubError, match="gone"):
        ahead.wait(1)
    ahead.close()


def test_memory_is_bounded_by_ranges_in_flight_not_by_members(tmp_path: Path) -> None:
    held, most, lock = 0, 0, threading.Lock()

    def fetch(group: Group) -> None:
        nonlocal held, most
        with lock:
            held += group.end - group.first
            most = max(most, held)
        time.sleep(0.001)
        with lock:
            held -= group.end - group.first

    places = {index: (index * 90_000, (index + 1) * 90_000) for index in range(4440)}
    groups = joined(list(places), places.get)
    ahead = ReadAhead(groups, fetch)
    assert all(ahead.wait(index) for index in places)
    assert GROUP_BYTES < most <= BYTES_IN_FLIGHT + GROUP_BYTES, "one more for whoever reads"


def settled(latency: float, bandwidth: float, length: int, count: int = 3000) -> tuple[int, float]:
    """The window over a link, and the seconds that so many ranges took.

    Each range takes the latency, and all that are under way share the bandwidth.
    """
    now = [0.0]
    window = Window(lambda: now[0])
    free = 0.0
    left = count
    arrivals: list[float] = []
    while left or arrivals:
        while left and len(arrivals) < window.size:
            begins = max(now[0] + latency, free)
            free = begins + length / bandwidth
            arrivals.append(free)
            left -= 1
        now[0] = arrivals.pop(0)
        window.came(length)
    return window.size, now[0]


@pytest.mark.parametrize(
    ("latency", "bandwidth", "length", "size"),
    [
        (0.2, 1e9, 90_000, MOST_IN_FLIGHT),
        (0.05, 1e9, 90_000, MOST_IN_FLIGHT),
        (0.2, 1e6, 90_000, 2 * FIRST_WINDOW),
        (0.0001, 1e6, 90_000, 2 * FIRST_WINDOW),
        (0.2, 20e6, 2_000_000, 2 * FIRST_WINDOW),
    ],
)
def test_the_window_grows_as_long_as_more_comes_through(
    latency: float, bandwidth: float, length: int, size: int
) -> None:
    found, seconds = settled(latency, bandwidth, length)
    assert found == MOST_IN_FLIGHT if size == MOST_IN_FLIGHT else found <= size
    ideal = max(3000 * latency / MOST_IN_FLIGHT, 3000 * length / bandwidth)
    assert seconds < 1.25 * ideal + 20 * latency


def test_a_cache_of_another_archive_is_not_mistaken_for_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for seed in (1, 2):
        members = many(20, seed=seed)
        with serving(monkeypatch, script(packed(members))):
            assert (
                files().archive("images.zip").read("images/00003.jpg")
                == members["images/00003.jpg"]
            )
        for kept in (*cache_folder().rglob("directory"), *cache_folder().rglob("listing.json")):
            kept.unlink()


def test_a_stop_ends_what_is_being_read() -> None:
    def answer(request: Request) -> Response:
        whole = file(DATA, request)
        return Response(206, whole.headers, (DATA[:100], DATA[100:2000]), gap=30)

    fetcher = Web()
    ended: list[float] = []

    def read() -> None:
        with pytest.raises(WebError):
            read_span(fetcher, Target(server.url, "the file"), 0, 2000)
        ended.append(time.monotonic())

    with serve(answer) as server:
        reader = threading.Thread(target=read)
        reader.start()
        while not server.requests:
            time.sleep(0.01)
        time.sleep(0.2)
        started = time.monotonic()
        fetcher.stop()
        reader.join(10)
    assert ended and ended[0] - started < 2


def test_ctrl_c_does_not_wait_for_downloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = ROOT / "data" / "samples" / "pmc_vqa"
    good = hub({"evalscope/PMC-VQA": bytes_of(samples)})
    hung = threading.Event()

    def answer(request: Request) -> Response:
        response = good(request)
        if "images.zip" in request.path and hung.is_set():
            return Response(206, response.headers, (b"", response.body), gap=60)
        if "images.zip" in request.path:
            hung.set()
        return response

    monkeypatch.setattr(
        "mmscore.dataset.hub.remote_zip.RemoteArchive._keep_known", lambda *_: False
    )
    with serving(monkeypatch, answer) as server, serve(reply("ANSWER: A")) as endpoint:
        monkeypatch.setattr(RunLoop, "_work", _interrupting(RunLoop._work, server))
        started = time.monotonic()
        ran = run_cli(
            "run", "pmc_vqa", "--model", "m", "--api-url", endpoint.url, "--out",
            str(tmp_path / "out"), "--progress", "none",
        )  # fmt: skip
    assert ran.code == 130, ran.err
    assert time.monotonic() - started < 10
    assert "--resume" in ran.err


def _interrupting(work: Any, server: Server) -> Any:
    """The workers' loop, with one Ctrl-C once ranges are being waited for."""
    sent = threading.Lock()

    def worker(run: Any) -> None:
        if sent.acquire(blocking=False):
            timer = threading.Timer(0.7, _thread.interrupt_main)
            timer.start()
        work(run)

    return worker
