"""Media inside the user's own file: left there until they are sent, and sent as the reference does.

Every case runs the command against a loopback endpoint and compares the body.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, Ran, run_cli
from support.images import image_file
from support.own_sets import asking, image_of, load, only, write
from support.server import Request, Response, file, raw, reply, serve, status

from mmscore.benchmarks.base import Options
from mmscore.benchmarks.general_vmcq import BENCHMARK as VMCQ
from mmscore.dataset.hub import linked_images
from mmscore.dataset.hub.cache import Cache
from mmscore.dataset.hub.hub_files import locate
from mmscore.dataset.hub.linked_images import Links
from mmscore.dataset.media.sources import BytesSource, TextSource
from mmscore.dataset.rows import Cell
from mmscore.errors import MediaError
from mmscore.model.request import media_of
from mmscore.types import Sample, Text
from mmscore.web.session import Web

PICTURES = ROOT / "data" / "samples" / "general_vqa" / "pictures"
SMALL = (PICTURES / "circle.png").read_bytes()
# Long enough to be left in the file: bytes behind the end mark change nothing in a PNG.
PNG = SMALL + bytes(range(256)) * 32
BASE64 = base64.b64encode(PNG).decode()
URI = f"data:image/png;base64,{BASE64}"
WRAPPED = "\n".join(BASE64[at : at + 76] for at in range(0, len(BASE64), 76))
WAV = b"RIFF\x24\x20\0\0WAVEfmt " + bytes(9000)


def part(url: str) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url}}


def structured(url: str, **columns: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [part(url)]}], "answer": "x", **columns}


def sent(data: Path, *more: str, name: str = "general_vqa") -> list[Any]:
    """The parts of the user's message in each request, in the order of the file."""
    with serve(reply("ANSWER: A")) as server:
        ran = ask(data, server.url, *more, name=name)
    assert ran.code == 0, ran.err
    return [request.json["messages"][-1]["content"] for request in server.requests]


def ask(data: Path, url: str, *more: str, name: str = "general_vqa") -> Ran:
    run = ("run", name, "--data", str(data), "--model", "m", "--api-url", url)
    out = data.parent / f"run-{data.name}"
    return run_cli(*run, "--concurrency", "1", "--out", str(out), *more)


def held(sample: Sample) -> object:
    """What the only source of a sample holds: a `Cell` where the medium is in the file still."""
    source = image_of(sample).source
    assert isinstance(source, TextSource | BytesSource)
    return source.held


def tsv(folder: Path, columns: list[str], *rows: list[str]) -> Path:
    path = folder / "set.tsv"
    cells = [
        columns,
        *([f'"{cell.replace(chr(34), 2 * chr(34))}"' for cell in row] for row in rows),
    ]
    path.write_text("".join("\t".join(row) + "\n" for row in cells), encoding="utf-8")
    return path


# --- the same picture, wherever it is held -------------------------------------------------------


def in_a_column(folder: Path, text: str) -> Path:
    return write(folder, asking("<image 1>", image_1=text))


def in_a_list(folder: Path, text: str) -> Path:
    return write(folder, asking("<image 2>", images=["gone.png", text]))


def in_an_object(folder: Path, text: str) -> Path:
    return write(folder, asking("<image 1>", image_1={"url": text}))


def in_the_messages(folder: Path, text: str) -> Path:
    return write(folder, structured(text))


def in_json_text(folder: Path, text: str) -> Path:
    return write(folder, {"messages": json.dumps(structured(text)["messages"]), "answer": "x"})


def in_a_table(folder: Path, text: str) -> Path:
    messages = [{"role": "user", "content": "<image 1>"}]
    return tsv(folder, ["messages", "image_1"], [json.dumps(messages), text])


def in_a_table_of_messages(folder: Path, text: str) -> Path:
    return tsv(folder, ["messages", "answer"], [json.dumps(structured(text)["messages"]), "x"])


PLACES = [
    in_a_column,
    in_a_list,
    in_an_object,
    in_the_messages,
    in_json_text,
    in_a_table,
    in_a_table_of_messages,
]


@pytest.mark.parametrize("text", [URI, BASE64, WRAPPED, URI.replace("/", "_")])
@pytest.mark.parametrize("place", PLACES)
def test_a_picture_stays_in_its_file_until_it_is_sent(
    tmp_path: Path, place: Callable[[Path, str], Path], text: str
) -> None:
    data = place(tmp_path, text)
    assert isinstance(held(only(data)), Cell)
    assert sent(data) == [[{"type": "image_url", "image_url": {"url": URI, "detail": "auto"}}]]
    predictions = (tmp_path / f"run-{data.name}" / "predictions.jsonl").read_text(encoding="utf-8")
    assert len(predictions) < 2000
    (note,) = json.loads(predictions)["media"]
    assert str(data) in note["place"]
    assert note["sha256"] == hashlib.sha256(PNG).hexdigest()  # a report finds the picture by it


@pytest.mark.parametrize(
    "written", ['"\\u0069' + BASE64[1:] + '"', json.dumps(URI).replace("/", "\\/")]
)
def test_a_string_with_escapes_is_left_too(tmp_path: Path, written: str) -> None:
    data = tmp_path / "set.jsonl"
    record = json.dumps(asking("<image 1>", image_1="HERE")).replace('"HERE"', written)
    data.write_text(record + "\n", encoding="utf-8")
    assert isinstance(held(only(data)), Cell)
    assert sent(data) == [[{"type": "image_url", "image_url": {"url": URI, "detail": "auto"}}]]


def test_several_pictures_of_a_record_are_told_apart(tmp_path: Path) -> None:
    other = base64.b64encode(SMALL + bytes(8000)).decode()
    data = write(tmp_path, asking("<image 2><image 1><image 2>", images=[BASE64, other]))
    names = [medium.source.name for medium in media_of(only(data).messages) if medium.source]
    assert names[0] == names[2] != names[1]
    urls = [part["image_url"]["url"] for part in sent(data)[0]]
    assert urls == [f"data:image/png;base64,{text}" for text in (other, BASE64, other)]


def test_long_words_without_blanks_stay_words(tmp_path: Path) -> None:
    for word in ("A" * 9000, "[" * 9000, '["a"] ' + "x" * 9000):
        message = {"role": "user", "content": word}
        parts = {"role": "user", "content": [{"type": "text", "text": word}]}
        system = {"role": "system", "content": word}
        said = {"role": "assistant", "content": word}
        record = {"messages": [system, message, said, parts], "answer": word}
        sample = only(write(tmp_path, record))
        assert sample.problem is None
        contents = [message.content for message in sample.messages]
        assert contents[0] == contents[1] == contents[2] == word
        assert contents[3] == (Text(word),)
        assert sample.target == word


GIF = image_file("GIF")
JPEG = image_file("JPEG")


def as_uri(mime: str, data: bytes) -> str:
    return f"data:{mime};base64,{base64.b64encode(data).decode()}"


PLAIN = as_uri("image/png", SMALL)
WELL_WRITTEN = {
    "as every server takes it": PLAIN,
    "another name of the type": as_uri("image/jpg", JPEG),
}
BADLY_WRITTEN = {
    "another type": PLAIN.replace("image/png", "image/jpeg"),
    "no image's type": PLAIN.replace("image/png", "application/octet-stream"),
    "no type": PLAIN.replace("image/png", ""),
    "capitals": PLAIN.replace("data:image/png;base64", "DATA:Image/PNG;BASE64"),
    "a doubled prefix": "data:image/png;base64," + PLAIN,
    "a doubled prefix of two types": "data:image/jpeg;base64," + PLAIN,
    "no padding": PLAIN.rstrip("="),
    "a blank after the comma": PLAIN.replace(",", ", "),
    "blanks around": f"  {PLAIN}\n",
    "percent signs": PLAIN.replace("+", "%2B").replace("=", "%3D").replace("A", "%41"),
    "no scheme": PLAIN.removeprefix("data:"),
    "quotes": f'"{PLAIN}"',
    "a parameter": PLAIN.replace(";base64", ";charset=utf-8;base64"),
}
NO_PICTURE = {
    "too short": ("data:image/png;base64,AAAA", "is no image of a known type"),
    "a web page": (as_uri("image/png", b"<html>404 not found</html>"), "begins with b'<html>404"),
    "cut short": (as_uri("image/jpeg", JPEG[: len(JPEG) * 6 // 10]), "is cut short"),
    "a document": (as_uri("image/png", b"%PDF-1.7 ..."), "is no image but application/pdf"),
    "nothing": ("data:image/png;base64,", "is empty"),
    "no base64": ("data:image/png;base64,%%%%", "bad base64"),
    "not even said to be base64": ("data:image/png,abc", "says nothing of `;base64,`"),
    "a pointer": (as_uri("image/png", b"version https://git-lfs.github.com/spec/v1\n"), "Git LFS"),
}


@pytest.mark.parametrize("text", WELL_WRITTEN.values(), ids=WELL_WRITTEN.keys())
def test_a_right_data_uri_goes_out_as_it_is_written(tmp_path: Path, text: str) -> None:
    (content,) = sent(write(tmp_path, structured(text)))
    assert content[0]["image_url"]["url"] == text


@pytest.mark.parametrize("text", BADLY_WRITTEN.values(), ids=BADLY_WRITTEN.keys())
def test_a_data_uri_written_badly_is_the_picture_all_the_same(tmp_path: Path, text: str) -> None:
    (content,) = sent(write(tmp_path, structured(text)))
    assert content[0]["image_url"]["url"].lower() in (PLAIN.lower(), text.lower())
    assert base64.b64decode(content[0]["image_url"]["url"].partition(",")[2]) == SMALL


def test_a_data_uri_of_another_format_is_encoded_as_a_file_is(tmp_path: Path) -> None:
    (content,) = sent(write(tmp_path, structured(as_uri("image/gif", GIF))))
    assert content[0]["image_url"]["url"].startswith("data:image/png;base64,iVBOR")


@pytest.mark.parametrize(("text", "words"), NO_PICTURE.values(), ids=NO_PICTURE.keys())
def test_a_data_uri_that_is_no_picture_is_not_sent(tmp_path: Path, text: str, words: str) -> None:
    data = write(tmp_path, structured(text), structured(PLAIN))
    with serve(reply("x")) as server:
        ran = ask(data, server.url)
    assert ran.code == 3
    assert len(server.requests) == 1
    lines = (tmp_path / "run-set.jsonl" / "predictions.jsonl").read_text().splitlines()
    (failed,) = [record for record in map(json.loads, lines) if record["status"] == "bad_media"]
    assert words in failed["error"] and "0x" not in failed["error"]
    checked = run_cli("check", "general_vqa", "--data", str(data))
    assert checked.code == 1 and words in checked.out


def test_limits_hold_for_data_uris_too(tmp_path: Path) -> None:
    (content,) = sent(write(tmp_path, structured(URI)), "--max-pixels", "100")
    assert content[0]["image_url"]["url"] != URI
    notes = (tmp_path / "run-set.jsonl" / "predictions.jsonl").read_text(encoding="utf-8")
    assert "at most 100 pixels" in notes


def test_a_table_changed_during_the_run_spoils_its_samples_alone(tmp_path: Path) -> None:
    sample = only(in_a_column(tmp_path, BASE64))
    (tmp_path / "set.jsonl").write_text("{}\n", encoding="utf-8")
    source = image_of(sample).source
    assert source is not None and source.exists()
    with pytest.raises(ValueError, match="was changed while it was in use"):
        source.read()


# --- Parquet -------------------------------------------------------------------------------------


def parquet(folder: Path, *held: bytes) -> Path:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [
        {
            "question": "<image 1> what?",
            "options": ["yes", "no"],
            "answer": "A",
            "image_1": {"bytes": data, "path": None},
        }
        for data in held
    ]
    path = folder / "set.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


COLUMNS: dict[str, Callable[[bytes], dict[str, Any]]] = {
    "bytes": lambda data: {"image_1": data},
    "a list of bytes": lambda data: {"images": [data]},
    "a struct": lambda data: {"image_1": {"bytes": data, "path": None}},
    "a list of structs": lambda data: {"images": [{"bytes": data, "path": "a.png"}]},
    "a text of base64": lambda data: {"image_1": base64.b64encode(data).decode()},
    "a list of base64": lambda data: {"images": [base64.b64encode(data).decode()]},
}


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS.keys())
def test_a_picture_in_parquet_is_one_however_its_column_holds_it(
    tmp_path: Path, columns: Callable[[bytes], dict[str, Any]], size: str
) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    held = {"small": SMALL, "large": PNG}[size]
    row = {"question": "<image 1> what?", "options": ["yes", "no"], "answer": "A"}
    path = tmp_path / "set.parquet"
    pq.write_table(pa.Table.from_pylist([{**row, **columns(held)}] * 3), path)
    for content in sent(path, name="general_vmcq"):
        (picture,) = [part for part in content if part["type"] == "image_url"]
        assert picture["image_url"]["url"] == as_uri("image/png", held)


@pytest.mark.parametrize("wrapped", [False, True])
def test_a_picture_in_a_table_of_vlmevalkit_s_may_be_bytes(tmp_path: Path, wrapped: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    row = {"index": "1", "question": "q", "A": "x", "B": "y", "answer": "A"}
    path = tmp_path / "set.parquet"
    pq.write_table(pa.Table.from_pylist([{**row, "image": [PNG, SMALL] if wrapped else PNG}]), path)
    (content,) = sent(path, name="tsv_mcq")
    pictures = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
    expected = [PNG, SMALL] if wrapped else [PNG]
    assert pictures == [as_uri("image/png", data) for data in expected]


def test_bytes_written_as_numbers_are_called_that(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    row = {"question": "<image 1> what?", "options": ["yes", "no"], "answer": "A"}
    columns: list[dict[str, Any]] = [
        {"image_1": [*SMALL]},
        {"image_1": {"bytes": [*SMALL]}},
        {"images": [[*SMALL]]},
    ]
    for at, column in enumerate(columns):
        path = tmp_path / f"set{at}.parquet"
        pq.write_table(pa.Table.from_pylist([{**row, **column}]), path)
        ran = run_cli("check", "general_vmcq", "--data", str(path))
        assert ran.code == 1
        assert f"bytes as a list of {len(SMALL)} numbers" in ran.out


def test_bytes_of_a_parquet_file_are_sniffed_and_left_there(tmp_path: Path) -> None:
    other = SMALL + bytes(9000)
    data = parquet(tmp_path, PNG, other, WAV, PNG)
    found = list(VMCQ.samples(locate(str(data), "general_vmcq"), Options()))
    assert [sample.problem is None for sample in found] == [True, True, False, True]
    assert "holds bytes of `audio/x-wav`, expected image data" in (found[2].problem or "")
    assert isinstance(held(found[0]), Cell)
    source = image_of(found[1]).source
    assert source is not None and source.read() == other
    with serve(reply("ANSWER: A")) as server:
        ran = ask(data, server.url, "--skip-bad-media", name="general_vmcq")
    assert ran.code == 3, ran.err
    urls = [r.json["messages"][0]["content"][1]["image_url"]["url"] for r in server.requests]
    assert [base64.b64decode(url.partition(",")[2]) for url in urls] == [PNG, other, PNG]


# --- URLs ----------------------------------------------------------------------------------------


def at_url(media: dict[str, bytes]) -> Callable[[Request], Response]:
    """An endpoint that serves media too."""

    def answer(request: Request) -> Response:
        if request.method == "POST":
            return reply("ANSWER: A")
        return file(media[request.path], request) if request.path in media else status(404)

    return answer


def test_urls_go_through_unless_their_bytes_are_asked_for(tmp_path: Path) -> None:
    with serve(at_url({"/a.jpg": PNG})) as server:
        records = [structured(f"{server.url}/a.jpg") for _ in range(3)]
        data = write(tmp_path, *records)
        assert ask(data, server.url, "--out", str(tmp_path / "through")).code == 0
        assert {request.method for request in server.requests} == {"POST"}
        ran = ask(data, server.url, "--inline-urls")
        assert ran.code == 0, ran.err
        urls = [r.json["messages"][0]["content"][0]["image_url"]["url"] for r in posts(server)]
        assert urls == [f"{server.url}/a.jpg"] * 3 + [URI] * 3  # the type is that of the bytes
        gets = [request.path for request in server.requests if request.method == "GET"]
        assert gets == ["/a.jpg"]
        # What was fetched is kept, also for a machine without a network.
        more = ("--inline-urls", "--offline", "--out", str(tmp_path / "again"))
        assert ask(data, server.url, *more).code == 0
        assert len([r for r in server.requests if r.method == "GET"]) == 1


def posts(server: Any) -> list[Request]:
    return [request for request in server.requests if request.method == "POST"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/gone.png", "answered 404 Not Found"),
        ("/page.png", "is no image of a known type"),
        ("/cut.png", "is cut short"),
    ],
)
def test_a_url_that_cannot_be_inlined_spoils_its_sample_alone(
    tmp_path: Path, path: str, words: str
) -> None:
    media = {"/a.png": PNG, "/page.png": b"<html>no</html>", "/cut.png": SMALL[:300]}
    with serve(at_url(media)) as server:
        data = write(tmp_path, structured(server.url + path), structured(server.url + "/a.png"))
        ran = ask(data, server.url, "--inline-urls")
    assert ran.code == 3
    lines = (tmp_path / "run-set.jsonl" / "predictions.jsonl").read_text().splitlines()
    found = sorted((json.loads(line) for line in lines), key=lambda record: record["index"])
    assert [record["status"] for record in found] == ["bad_media", "ok"]
    assert words in found[0]["error"]


def test_offline_nothing_is_fetched(tmp_path: Path) -> None:
    with serve(at_url({"/a.png": PNG})) as server:
        data = write(tmp_path, structured(server.url + "/a.png"))
        ran = ask(data, server.url, "--inline-urls", "--offline")
    assert ran.code == 3 and not server.requests


def test_a_sound_at_a_url_is_fetched_when_asked_for(tmp_path: Path) -> None:
    with serve(at_url({"/a.wav": WAV})) as server:
        sound = {"type": "input_audio", "input_audio": {"data": "URL", "format": "wav"}}
        sound["input_audio"]["data"] = f"{server.url}/a.wav"  # type: ignore[index]
        data = write(tmp_path, {"messages": [{"role": "user", "content": [sound]}], "answer": "x"})
        ran = ask(data, server.url, "--out", str(tmp_path / "without"))
        assert ran.code == 3 and not server.requests
        written = (tmp_path / "without" / "predictions.jsonl").read_text(encoding="utf-8")
        assert "is a sound at a URL" in json.loads(written)["error"]
        assert ask(data, server.url, "--inline-urls").code == 0
        (body,) = posts(server)
    held = body.json["messages"][0]["content"][0]["input_audio"]
    assert held == {"data": base64.b64encode(WAV).decode(), "format": "wav"}


NO_URLS = ["http://[x/a.png", "http://127.0.0.1:99999/a.png", "http://", "http://a b/\x1b[31m.png"]


@pytest.mark.parametrize("url", NO_URLS)
def test_a_url_that_is_none_spoils_its_sample_alone(tmp_path: Path, url: str) -> None:
    with serve(at_url({"/a.png": PNG})) as server:
        data = write(tmp_path, structured(url), structured(server.url + "/a.png"))
        ran = ask(data, server.url, "--inline-urls", "--retries", "0")
        assert ran.code == 3 and len(posts(server)) == 1
        checked = run_cli("check", "general_vqa", "--data", str(data), "--inline-urls")
    assert checked.code == 1 and "1 problem" in checked.out
    assert "\x1b" not in checked.out + checked.err + ran.out + ran.err


def test_records_of_the_public_network_lead_to_no_address_of_this_one(tmp_path: Path) -> None:
    with serve(at_url({"/a.png": PNG})) as server:
        for host, allowed in ((None, True), ("127.0.0.1", True), ("data.example.org", False)):
            links = Links(Cache(tmp_path / str(host)), Web(), data_host=host)
            if allowed:
                assert links.read(server.url + "/a.png") == PNG
                continue
            asked = len(server.requests)
            with pytest.raises(MediaError):
                links.read(server.url + "/a.png")
            assert len(server.requests) == asked


def test_the_limits_of_what_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(at_url({"/a.png": PNG})) as server:
        monkeypatch.setattr(linked_images, "MOST_BYTES", 100)
        with pytest.raises(MediaError, match=r"longer|larger|more than"):
            Links(Cache(tmp_path), Web()).read(server.url + "/a.png")
        monkeypatch.setattr(linked_images, "MOST_BYTES", 10**6)
        monkeypatch.setattr(linked_images, "MOST_SECONDS", 0.0)
        with pytest.raises(MediaError):
            Links(Cache(tmp_path), Web()).read(server.url + "/a.png")


def test_check_fetches_what_would_be_inlined(tmp_path: Path) -> None:
    with serve(lambda request: raw(404)) as server:
        data = write(tmp_path, structured(server.url + "/a.png"))
        plain = run_cli("check", "general_vqa", "--data", str(data))
        assert plain.code == 0 and not server.requests
        assert "1 media are at URLs, which the endpoint must fetch itself" in plain.out
        ran = run_cli("check", "general_vqa", "--data", str(data), "--inline-urls")
    assert ran.code == 1 and "answered 404" in ran.out


def test_a_set_is_loaded_twice_alike(tmp_path: Path) -> None:
    data = write(tmp_path, structured(URI), asking("<image 1>", image_1=BASE64[:2000] + "===="))
    assert [s.messages for s in load(data)] == [s.messages for s in load(data)]
