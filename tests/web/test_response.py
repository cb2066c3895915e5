"""Answers as bytes: what is read, what is refused, and that it does not matter how they arrive."""

from __future__ import annotations

import gzip
import time
import zlib
from collections.abc import Callable, Iterator

import pytest

from mmscore.web import response as module
from mmscore.web.errors import TransportError
from mmscore.web.response import (
    CHUNK_LINE_LIMIT,
    HEAD_LIMIT,
    MOST_FIELDS,
    MOST_INTERIM,
    Response,
    Source,
    bounded_json,
    read_response,
)

PLACE = "h:1"
LIMIT = 1 << 20
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
HELLOS = b"hello" * 50
RAW = zlib.compressobj(wbits=-15)
RAW_DEFLATE = RAW.compress(HELLOS) + RAW.flush()
GZIP, ZLIB = gzip.compress(b"hello"), zlib.compress(HELLOS)


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + end


def sized(body: bytes, *headers: bytes) -> bytes:
    lines = [*headers, b"Content-Length: %d" % len(body)]
    return OK + b"\r\n".join(lines) + b"\r\n\r\n" + body


def arriving(*pieces: bytes) -> Callable[[int], bytes]:
    """A connection that brings these pieces, none longer than asked for, and then ends."""
    left = [piece for piece in pieces if piece]

    def receive(most: int) -> bytes:
        if not left:
            return b""
        piece = left.pop(0)
        if len(piece) > most:
            left.insert(0, piece[most:])
        return piece[:most]

    return receive


def read(*pieces: bytes, limit: int = LIMIT) -> tuple[Response, bytes]:
    response = read_response(Source(arriving(*pieces)), PLACE)
    return response, response.read(limit)


WHOLE: list[tuple[str, bytes, int, bytes, bool]] = [
    ("length", sized(b"hello"), 200, b"hello", True),
    ("no body", OK + b"Content-Length: 0\r\n\r\n", 200, b"", True),
    ("lengths that agree", OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi", 200, b"hi",
     True),
    ("chunks", CHUNKED + chunked(b"hel", b"lo"), 200, b"hello", True),
    ("chunks in capitals", OK + b"TRANSFER-ENCODING: Chunked\r\n\r\n" + chunked(b"A" * 26), 200,
     b"A" * 26, True),
    ("extensions, a trailer", CHUNKED + b"2;a=b\r\nhi\r\n0;x\r\nX: 1\r\n\r\n", 200, b"hi", True),
    ("chunks and a length", OK + b"Transfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n"
     + chunked(b"hello"), 200, b"hello", False),
    ("the end of the connection", OK + b"Content-Type: x\r\n\r\nhello", 200, b"hello", False),
    ("a closed connection", sized(b"hello", b"Connection: Close"), 200, b"hello", False),
    ("1.0", b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", 200, b"hi", False),
    ("1.0 that keeps", b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi",
     200, b"hi", True),
    ("no reason", b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", 200, b"hi", True),
    ("an odd status", b"HTTP/1.1 799 \xff\r\nContent-Length: 2\r\n\r\nhi", 799, b"hi", True),
    ("204", b"HTTP/1.1 204 No Content\r\n\r\n", 204, b"", True),
    ("304 with a length", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", 304, b"",
     True),
    ("bare line feeds", b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", 200, b"hi", True),
    ("mixed line ends", b"HTTP/1.1 200 OK\nContent-Length: 2\r\n\nhi", 200, b"hi", True),
    ("an empty line in the body", sized(b"\n\n\r\n\r\nHTTP/1.1 500 X\r\n\r\n"), 200,
     b"\n\n\r\n\r\nHTTP/1.1 500 X\r\n\r\n", True),
    ("a folded line", OK + b"X-A: a;\r\n b\r\nContent-Length:\r\n\t2\r\n\r\nhi", 200, b"hi", True),
    ("100 and 103 before", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n"
     b"\r\n" + sized(b"hi"), 200, b"hi", True),
    ("more than was announced", sized(b"hello") + b"!", 200, b"hello", False),
    ("a second answer", sized(b"hello") + sized(b"again"), 200, b"hello", False),
    ("gzip", sized(GZIP, b"Content-Encoding: gzip"), 200, b"hello", True),
    ("gzip in chunks", OK + b"Transfer-Encoding: chunked\r\nContent-Encoding: x-gzip\r\n\r\n"
     + chunked(*(GZIP[i : i + 1] for i in range(25))), 200, b"hello", True),
    ("gzip with padding", sized(GZIP + b"\0" * 9, b"Content-Encoding: GZIP"), 200, b"hello", True),
    ("an empty gzip", sized(b"", b"Content-Encoding: gzip"), 200, b"", True),
    ("deflate", sized(ZLIB, b"Content-Encoding: deflate"), 200, HELLOS, True),
    ("deflate without a head", sized(RAW_DEFLATE, b"Content-Encoding: deflate"), 200, HELLOS, True),
    ("identity", sized(b"hello", b"Content-Encoding: identity"), 200, b"hello", True),
]  # fmt: skip


@pytest.mark.parametrize(
    ("data", "status", "body", "reusable"),
    [row[1:] for row in WHOLE],
    ids=[row[0] for row in WHOLE],
)
def test_an_answer_reads_the_same_wherever_it_is_cut(
    data: bytes, status: int, body: bytes, reusable: bool
) -> None:
    cuts = [[data], [data[i : i + 1] for i in range(len(data))]]
    cuts += [[data[:at], data[at:]] for at in range(1, len(data))]
    for pieces in cuts:
        response, got = read(*pieces)
        assert (response.status, got) == (status, body)
        # What comes behind an answer may come later: then the next request's own check finds it.
        assert response.reusable == reusable or (len(pieces) > 1 and not reusable)


def test_headers_are_known_by_their_lower_case_names() -> None:
    data = OK + b"X-A:  one \r\nx-a: two\r\n folded\r\nServer:\r\nContent-Length: 0\r\n\r\n"
    assert read(data)[0].headers == {
        "x-a": "one, two folded", "server": "", "content-length": "0",
    }  # fmt: skip


ODD: list[tuple[str, bytes, str]] = [
    ("nothing", b"", "closed"),
    ("half a head", b"HTTP/1.1 200 OK\r\nContent-Le", "truncated"),
    ("half a body", OK + b"Content-Length: 9\r\n\r\nhello", "truncated"),
    ("a body of nothing", OK + b"Content-Length: 9\r\n\r\n", "truncated"),
    ("half a chunk", CHUNKED + b"9\r\nhello", "truncated"),
    ("no last chunk", CHUNKED + b"5\r\nhello\r\n", "truncated"),
    ("half a trailer", CHUNKED + b"0\r\nX: 1\r\n", "truncated"),
    ("an interim answer alone", b"HTTP/1.1 100 Continue\r\n\r\n", "closed"),
    ("half a gzip", sized(GZIP[:-9], b"Content-Encoding: gzip"), "truncated"),
    ("one byte of gzip", sized(b"\x1f", b"Content-Encoding: gzip"), "truncated"),
    ("a damaged gzip", sized(b"\x1f\x8b" + b"x" * 30, b"Content-Encoding: gzip"), "truncated"),
    ("another coding", sized(b"hello", b"Content-Encoding: br"), "odd"),
    ("two codings", sized(b"hello", b"Content-Encoding: gzip, gzip"), "odd"),
    ("HTTP/0.9", b"hello\n\n", "odd"),
    ("HTTP/2", b"HTTP/2 200\r\n\r\n", "odd"),
    ("an empty first line", b"\r\n" + OK + b"Content-Length: 0\r\n\r\n", "odd"),
    ("another protocol", b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "odd"),
    ("a status of two digits", b"HTTP/1.1 20 OK\r\n\r\n", "odd"),
    ("other digits", b"HTTP/1.1 2\xb2\xb2 OK\r\n\r\n", "odd"),
    ("another protocol from here", b"HTTP/1.1 101 Switching\r\n\r\n", "odd"),
    ("TLS", b"\x15\x03\x01\x00\x02\x02\x46\n\r\n", "tls"),
    ("lengths that differ", OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi", "odd"),
    ("lengths in one line that differ", OK + b"Content-Length: 2, 3\r\n\r\nhi", "odd"),
    *((f"the length {said!r}", OK + b"Content-Length: " + said + b"\r\n\r\nhi", "odd")
      for said in (b"-2", b"+2", b"2.0", b"0x2", b"", b"2 2", b"\xb2", b"2" * 5000, b"two")),
    ("an unknown transfer coding", OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "odd"),
    ("a transfer coding of nothing", OK + b"Transfer-Encoding:\r\n\r\n", "odd"),
    *((f"the chunk size {said!r}", CHUNKED + said + b"\r\nhi\r\n", "odd")
      for said in (b"", b"-2", b"x", b"0x2", b"2 2", b"f" * 16, b";x")),
    ("a chunk that is longer", CHUNKED + b"2\r\nhit\r\n0\r\n\r\n", "odd"),
    ("no colon", OK + b"hello\r\n\r\n", "odd"),
    ("no name", OK + b": hello\r\n\r\n", "odd"),
    ("a space before the colon", OK + b"Content-Length : 2\r\n\r\nhi", "odd"),
    ("a name that is none", OK + b"Content\xffLength: 2\r\n\r\nhi", "odd"),
    ("folded from the start", OK + b" folded\r\n\r\n", "odd"),
    ("a CR in a value", OK + b"X: a\rContent-Length: 2\r\n\r\nhi", "odd"),
    ("a NUL in a value", OK + b"X: a\0b\r\n\r\n", "odd"),
    ("too many headers", OK + b"X: 1\r\n" * (MOST_FIELDS + 1) + b"\r\n", "odd"),
    ("too long a head", OK + b"X: " + b"x" * HEAD_LIMIT + b"\r\n\r\n", "odd"),
    ("a head without end", OK + b"X: " + b"x" * HEAD_LIMIT * 2, "odd"),
    ("a chunk line without end", CHUNKED + b"1" * CHUNK_LINE_LIMIT * 40, "odd"),
    ("a trailer without end", CHUNKED + b"0\r\n" + b"X: 1\r\n" * HEAD_LIMIT, "odd"),
    ("100 without end", b"HTTP/1.1 100 Continue\r\n\r\n" * (MOST_INTERIM + 1), "odd"),
    ("103 without end", b"HTTP/1.1 103 Early Hints\r\n\r\n" * (MOST_INTERIM + 1), "odd"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "kind"), [row[1:] for row in ODD], ids=[row[0] for row in ODD])
@pytest.mark.parametrize("size", [None, 1], ids=["whole", "bytewise"])
def test_what_is_no_answer_fails_the_request(data: bytes, kind: str, size: int | None) -> None:
    if size and len(data) > 5000:
        size = 701  # the same, in less time
    pieces = [data[i : i + size] for i in range(0, len(data), size)] if size else [data]
    with pytest.raises(TransportError) as caught:
        read(*pieces)
    assert caught.value.kind == kind
    assert str(caught.value).isprintable()


BODY = b"x" * 1000
LONG = [
    sized(BODY),
    CHUNKED + chunked(*[b"xxxxx"] * 200),
    OK + b"\r\n" + BODY,
    sized(gzip.compress(BODY), b"Content-Encoding: gzip"),
    sized(zlib.compress(BODY), b"Content-Encoding: deflate"),
]


@pytest.mark.parametrize("data", LONG, ids=["length", "chunks", "close", "gzip", "deflate"])
def test_an_answer_is_limited_packed_or_not(data: bytes) -> None:
    assert read(data, limit=1000)[1] == BODY
    with pytest.raises(TransportError, match="longer than 999 bytes") as caught:
        read(data, limit=999)
    assert caught.value.kind == "too-large" and not caught.value.retriable


def test_a_bomb_is_not_unpacked() -> None:
    data = sized(gzip.compress(b"\0" * 300_000_000, 9), b"Content-Encoding: gzip")
    taken = 0
    response = read_response(Source(arriving(data)), PLACE)
    with pytest.raises(TransportError, match="longer than"):
        for piece in response.pieces(LIMIT):
            taken += len(piece)
    assert taken <= LIMIT


def test_many_small_chunks_take_linear_time() -> None:
    def cost(count: int) -> float:
        data = CHUNKED + chunked(*[b"x"] * count)
        started = time.process_time()
        assert read(data)[1] == b"x" * count
        return time.process_time() - started

    cost(1000)
    assert cost(160_000) < 12 * cost(20_000) + 0.2


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_the_same_wherever_they_are_cut(end: bytes, size: int) -> None:
    lines = ["", "data: 胸腔", "", "a", "é", "last"]
    body = end.join(line.encode() for line in lines)
    cut = [body[i : i + size] for i in range(0, len(body), size)]
    data = CHUNKED + chunked(*cut)
    assert [*read_response(Source(arriving(data)), PLACE).lines(LIMIT)] == lines


def test_bytes_that_are_no_utf8_spoil_their_line_alone() -> None:
    data = sized(b"a\xe8\x83\n\xffb\nc")
    got = [*read_response(Source(arriving(data)), PLACE).lines(LIMIT)]
    assert got == ["a\N{REPLACEMENT CHARACTER}", "\N{REPLACEMENT CHARACTER}b", "c"]


def test_a_line_without_end_is_bounded_and_read_in_linear_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LINE_LIMIT", 400_000)

    def endless() -> Iterator[bytes]:
        yield OK + b"\r\ndata: "
        while True:
            yield b"x" * 10

    stream = endless()
    started = time.process_time()
    with pytest.raises(TransportError, match="a line of more than 400000 bytes") as caught:
        for _ in read_response(Source(lambda _: next(stream)), PLACE).lines(LIMIT):
            pass
    assert not caught.value.retriable
    assert time.process_time() - started < 2  # 40,000 pieces; some seconds when quadratic


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[],", "", b"\xff", "NaN x"])
def test_json_that_is_none_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        bounded_json(text)


def test_json_of_too_many_parts_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "JSON_CONTAINERS", 100)
    assert len(bounded_json("[" + "[]," * 98 + "{}]")) == 99
    for text in ("[" + "[]," * 99 + "{}]", b"[" + b"{}," * 99 + b"[]]"):
        with pytest.raises(ValueError, match="more than 100 lists"):
            bounded_json(text)
