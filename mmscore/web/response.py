"""One HTTP/1.1 answer, read from a connection: its head, how its body ends, and the body.

`http.client` reads an answer through a buffered file and the email package; on the hot path that
was a tenth of a run's CPU time. What is here follows RFC 9112 and is strict where a lenient reader
would take one answer for two or two for one: what is odd fails the request, never the run.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mmscore.error_text import shown
from mmscore.web.errors import TransportError

HEAD_LIMIT = 64 * 1024
"""The longest head, and the longest trailer, in bytes."""

MOST_FIELDS = 256
"""The most header lines of one head."""

MOST_INTERIM = 32
"""The most 1xx answers before the one that counts."""

LINE_LIMIT = 8 * 1024 * 1024
"""The longest line of a stream of events, in bytes."""

JSON_CONTAINERS = 1_000_000
"""The most objects and lists in one JSON answer; each takes some hundred bytes when it is read."""

CHUNK_LINE_LIMIT = 4096
"""The longest line that announces a chunk, or stands in a trailer."""

_PIECE = 64 * 1024
_STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([1-9][0-9]{2})(?: .*)?")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")

Receive = Callable[[int], bytes]
"""At most so many bytes, at least one; none where the other side has ended the connection."""


class Source:
    """Bytes of a connection: those received and not taken yet, then what `receive` brings.

    Attributes:
        began: Whether a byte of a head has come.
    """

    __slots__ = ("_at", "_held", "_receive", "began")

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self.began = False
        self._held = b""
        self._at = 0

    @property
    def empty(self) -> bool:
        """Whether all that was received has been taken."""
        return self._at == len(self._held)

    def some(self, most: int) -> bytes:
        """At least one byte and at most `most`; none at the end of the connection."""
        at = self._at
        if at == len(self._held):
            return self._receive(most)
        # The place moves, not the bytes: many small chunks in one packet take linear time.
        self._at = min(at + most, len(self._held))
        return self._held[at : self._at]

    def head(self, place: str) -> str:
        """The lines up to an empty one, each ended by LF alone, the empty one left out.

        Raises:
            TransportError: The connection ended before, or the head is too long.
        """
        looked = 0
        while (end := _end_of_head(self._held, self._at + looked)) < 0:
            looked = max(0, len(self._held) - self._at - 2)
            if not self._more(place, HEAD_LIMIT):
                raise _nothing(place) if self.empty else _cut(place)
        head = self._held[self._at : end]
        self._at = end
        if len(head) > HEAD_LIMIT:
            raise odd(place, f"sends a head of more than {HEAD_LIMIT} bytes")
        return head.decode("latin-1").replace("\r\n", "\n").rstrip("\n")

    def line(self, place: str) -> bytes:
        """One line of the chunked coding without its end.

        Raises:
            TransportError: The connection ended before, or the line is too long.
        """
        while (end := self._held.find(b"\n", self._at)) < 0:
            if not self._more(place, CHUNK_LINE_LIMIT):
                raise _cut(place)
        line = self._held[self._at : end]
        self._at = end + 1
        if len(line) > CHUNK_LINE_LIMIT:
            raise odd(place, f"sends a chunk line of more than {CHUNK_LINE_LIMIT} bytes")
        return line.removesuffix(b"\r")

    def _more(self, place: str, limit: int) -> bool:
        """Receive more of a head or line that has not ended yet; False where there is no more."""
        held = self._held[self._at :]
        if len(held) > limit:
            raise odd(place, f"sends a head or a line of more than {limit} bytes")
        came = self._receive(_PIECE)
        self._held = held + came if held else came
        self._at = 0
        self.began = self.began or bool(came)
        return bool(came)


def _end_of_head(held: bytes, start: int) -> int:
    """The position after the first empty line; -1 where there is none yet."""
    end = held.find(b"\n\r\n", start)
    bare = held.find(b"\n\n", start, end if end >= 0 else len(held))
    if bare >= 0:
        return bare + 2
    return end + 3 if end >= 0 else -1


class Response:
    """An answer whose head was read; the body is read once, by `read`, `pieces` or `lines`.

    Attributes:
        status: The HTTP status, never 1xx.
        headers: By lower-case name; where one came several times, joined by commas.
        coding: In what the body is packed: `gzip`, `deflate`, another word, or nothing.
        length: The bytes of the body as announced; None where chunks or the end of it tell.
        ended: Whether all of it has been read.
    """

    __slots__ = (
        "_chunked", "_keeps", "_limit", "_place", "_raw", "_source", "coding", "ended", "headers",
        "length", "status",
    )  # fmt: skip

    def __init__(
        self, status: int, headers: Mapping[str, str], source: Source, place: str, keeps: bool
    ) -> None:
        """Take a head apart; see `read_response`.

        Raises:
            TransportError: It says in an odd way how its body ends.
        """
        self.status = status
        self.headers = headers
        self.coding = headers.get("content-encoding", "").strip().lower().removeprefix("identity")
        self.ended = False
        self._source = source
        self._place = place
        self._keeps = keeps
        self._limit = 0
        self._chunked = False
        self.length = self._length()
        self._raw = self._body()

    @property
    def reusable(self) -> bool:
        """Whether the next answer on the connection will be the next request's."""
        return self.ended and self._keeps and self._source.empty

    def _length(self) -> int | None:
        """The length of the body; None where chunks or the end of the connection tell."""
        said = self.headers.get("content-length")
        coding = self.headers.get("transfer-encoding")
        if self.status in (204, 304):
            return 0
        if coding is not None:
            if coding.lower() != "chunked":
                raise odd(self._place, f"sends in the transfer coding {shown(coding)}")
            # Both at once is how one answer is smuggled behind another: nothing may follow it.
            self._keeps = self._keeps and said is None
            self._chunked = True
            return None
        if said is None:
            self._keeps = False
            return None
        values = {value.strip() for value in said.split(",")}
        if len(values) != 1 or not _LENGTH.fullmatch(value := values.pop()):
            raise odd(self._place, f"announces the length {shown(said)}")
        return int(value)

    def read(self, limit: int) -> bytes:
        """The whole body.

        Args:
            limit: The most bytes that are taken, packed or unpacked.

        Raises:
            TransportError: It ended early, is longer, or is packed in an unknown way.
        """
        return b"".join(self.pieces(limit))

    def pieces(self, limit: int) -> Iterator[bytes]:
        """The body as it arrives, unpacked; see `read`."""
        self._limit = limit
        if self.length is not None and self.length > limit:
            raise _too_large(self._place, limit)
        packed = self._within(self._raw)
        if not self.coding:
            return packed
        return self._within(_unpacked(packed, self.coding, self._place))

    def lines(self, limit: int) -> Iterator[str]:
        """The lines of a UTF-8 body, ended by LF, CR LF or CR, as they arrive.

        Raises:
            TransportError: As `read`, or a line is longer than `LINE_LIMIT`.
        """
        held: list[bytes] = []
        size = 0
        after_cr = False
        for piece in self.pieces(limit):
            # The LF of a CR LF that was cut in between.
            data = piece[1:] if after_cr and piece.startswith(b"\n") else piece
            after_cr = piece.endswith(b"\r")
            *ended, rest = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            for line in ended:
                yield b"".join((*held, line)).decode("utf-8", "replace")
                held.clear()
                size = 0
            held.append(rest)
            size += len(rest)
            if size > LINE_LIMIT:
                raise TransportError(
                    "too-large",
                    f"{self._place} sends a line of more than {LINE_LIMIT} bytes",
                    retriable=False,
                )
        yield b"".join(held).decode("utf-8", "replace")

    def drain(self, most: int) -> None:
        """Read the rest of a body that has been read as far as it matters, if it is short.

        Raises:
            TransportError: It did not end.
        """
        for piece in self._raw:
            most -= len(piece)
            if most < 0:
                break

    def _body(self) -> Iterator[bytes]:
        """The body as it was sent, whoever reads how much of it."""
        if self._chunked:
            return self._chunks()
        return self._to_the_end() if self.length is None else self._counted(self.length)

    def _within(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        total = 0
        for piece in pieces:
            total += len(piece)
            if total > self._limit:
                raise _too_large(self._place, self._limit)
            yield piece

    def _counted(self, left: int) -> Iterator[bytes]:
        while left:
            piece = self._source.some(min(left, _PIECE))
            if not piece:
                raise TransportError(
                    "truncated", f"the answer from {self._place} ended {left} bytes early"
                )
            left -= len(piece)
            self.ended = not left
            yield piece
        self.ended = True

    def _to_the_end(self) -> Iterator[bytes]:
        while piece := self._source.some(_PIECE):
            yield piece
        self.ended = True

    def _chunks(self) -> Iterator[bytes]:
        source, place = self._source, self._place
        while True:
            line = source.line(place)
            size = _CHUNK_SIZE.fullmatch(line)
            if size is None:
                raise odd(place, f"announces a chunk by {shown(line.decode('latin-1'))}")
            left = int(size[1], 16)
            if left == 0:
                break
            while left:
                piece = source.some(min(left, _PIECE))
                if not piece:
                    raise TransportError("truncated", f"the answer from {place} ended in a chunk")
                left -= len(piece)
                yield piece
            if source.line(place):
                raise odd(place, "sends a chunk that is longer than announced")
        trailer = 0
        while line := source.line(place):
            trailer += len(line)
            if trailer > HEAD_LIMIT:
                raise odd(place, f"sends a trailer of more than {HEAD_LIMIT} bytes")
        self.ended = True


def read_response(source: Source, place: str) -> Response:
    """The next answer on a connection, its head read; 1xx answers before it are passed over.

    Raises:
        TransportError: `closed` where not a byte came, else that it ended early or is no HTTP.
    """
    for _ in range(MOST_INTERIM):
        status, minor, headers = _parsed(source.head(place), place)
        if status >= 200:
            asked = headers.get("connection", "keep-alive" if minor else "close").lower()
            return Response(status, headers, source, place, "close" not in asked)
        if status == 101:
            raise odd(place, "switches to another protocol")
    raise odd(place, f"sends more than {MOST_INTERIM} answers that are none (status 1xx)")


def _parsed(head: str, place: str) -> tuple[int, int, dict[str, str]]:
    """Status, minor version and headers of a head."""
    first, *lines = head.split("\n")
    status = _STATUS_LINE.fullmatch(first)
    if status is None:
        if first.startswith(("\x15\x03", "\x16\x03")):
            raise TransportError(
                "tls", f"{place} speaks TLS: give its URL as https://", retriable=False
            )
        raise odd(place, f"does not speak HTTP, its answer begins {shown(first)}")
    if "\r" in head or "\0" in head or len(lines) > MOST_FIELDS:
        raise odd(place, "sends a head that no HTTP has")
    headers: dict[str, str] = {}
    name = ""
    for line in lines:
        if line[:1] in (" ", "\t"):  # a folded line goes on with the one before
            if not name:
                raise odd(place, "sends a head that begins folded")
            headers[name] += " " + line.strip()
            continue
        written, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(written):
            raise odd(place, f"sends the header line {shown(line)}")
        name, value = written.lower(), value.strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return int(status[2]), int(status[1]), headers


def _unpacked(pieces: Iterator[bytes], coding: str, place: str) -> Iterator[bytes]:
    """A body that came packed though nobody asked for it, a piece at a time."""
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise TransportError(
            "odd",
            f"{place} sends an answer packed as {shown(coding)}, which was not asked for",
            retriable=False,
        )
    unpacker, held = None, b""
    try:
        for piece in pieces:
            if unpacker is not None and unpacker.eof:
                continue  # padding, or a second file that no server means
            held += piece
            if unpacker is None and len(held) >= 2:
                unpacker = zlib.decompressobj(_window(held, coding))
            while unpacker is not None and held:
                yield unpacker.decompress(held, _PIECE)
                held = unpacker.unconsumed_tail
        if unpacker is not None:
            yield unpacker.flush()
    except zlib.error as error:
        raise TransportError("truncated", f"the {coding} of {place} is damaged: {error}") from None
    if held or (unpacker is not None and not unpacker.eof):
        raise TransportError("truncated", f"the {coding} of {place} ended early")


def _window(start: bytes, coding: str) -> int:
    """How zlib is to read a body: by its zlib or gzip head, or without one.

    Some servers take `deflate` at its word and leave out zlib's head, two bytes divisible by 31.
    """
    zlib_head = start[0] & 15 == zlib.DEFLATED and int.from_bytes(start[:2]) % 31 == 0
    if coding == "deflate" and not zlib_head and not start.startswith(b"\x1f\x8b"):
        return -zlib.MAX_WBITS
    return zlib.MAX_WBITS | 32


def bounded_json(data: bytes | str) -> Any:
    """The value of a JSON text that came from elsewhere.

    Raises:
        ValueError: It is no JSON, nested too deeply, or of more than `JSON_CONTAINERS` parts.
    """
    if isinstance(data, bytes):
        containers = data.count(b"[") + data.count(b"{")
    else:
        containers = data.count("[") + data.count("{")
    if containers > JSON_CONTAINERS:
        raise ValueError(f"more than {JSON_CONTAINERS} lists and objects")
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def odd(place: str, words: str) -> TransportError:
    """The error of an answer that is no HTTP, or none that can be trusted."""
    return TransportError("odd", f"{place} {words}")


def _nothing(place: str) -> TransportError:
    return TransportError("closed", f"{place} closed the connection without an answer")


def _cut(place: str) -> TransportError:
    return TransportError("truncated", f"the answer from {place} ended early")


def _too_large(place: str, limit: int) -> TransportError:
    return TransportError(
        "too-large", f"the answer from {place} is longer than {limit} bytes", retriable=False
    )
