"""Byte ranges of a file over HTTP, verified to be those of the version that was begun."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from http import HTTPStatus

from mmscore.web.errors import ChangedError, RangesUnusableError, Target, WebError
from mmscore.web.session import FileAnswer, Web, same_host

_RELOCATED = frozenset({401, 403, 404, 410})
"""What a storage answers when the time of a signed URL is over."""


@dataclass(frozen=True, slots=True)
class Known:
    """What the answers so far said of a file.

    Attributes:
        size: Its length.
        validator: What tells its version from others.
        url: Where redirects led.
    """

    size: int | None
    validator: str | None
    url: str


@dataclass(frozen=True, slots=True)
class Span:
    """Bytes of a file, and what their answer said of it."""

    data: bytes
    file: Known


def read_span(
    web: Web,
    target: Target,
    first: int,
    end: int,
    *,
    size: int | None = None,
    validator: str | None = None,
) -> Span:
    """The bytes from `first` up to `end`, verified to be those of the file that was begun.

    Args:
        web: What sends the requests.
        target: The file.
        first: Position of the first byte.
        end: Position after the last byte.
        size: The length of the whole file, where it is known.
        validator: The ETag or date of the version meant, where it is known.

    Raises:
        RangesUnusableError: The server does not do ranges, or does them wrongly.
        ChangedError: The file is another one now.
        WebError: No answer, or the bytes kept ending early.
    """
    got = bytearray()
    known = Known(size, validator, target.url)

    def ask() -> Known:
        nonlocal known
        at = first + len(got)
        with web.get(target, _range_headers(at, end, known.validator)) as answer:
            known = _verified(answer, at, end, known)
            for piece in answer.pieces():
                got.extend(piece)
                if len(got) > end - first:
                    raise RangesUnusableError(_odd(answer, "sent more bytes than asked for"))
        return known

    try:
        known = web.patiently(ask, lambda: len(got))
    except WebError as error:
        if not error.retriable or not got:
            raise
        # Over and over fewer bytes than announced: not the network, but a server's fault.
        raise RangesUnusableError(error.message) from error
    return Span(bytes(got), known)


def _range_headers(first: int, end: int, validator: str | None) -> dict[str, str]:
    headers = {"Range": f"bytes={first}-{end - 1}"}
    # A weak ETag may not stand in If-Range; the answer's own is compared instead.
    if validator is not None and not validator.startswith("W/"):
        headers["If-Range"] = validator
    return headers


def content_range(answer: FileAnswer) -> tuple[int, int, int | None] | None:
    """First position, position after the last, and whole length, as an answer announces them."""
    found = re.fullmatch(
        r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18}|\*)",
        answer.headers.get("content-range", "").strip(),
    )
    if found is None:
        return None
    return int(found[1]), int(found[2]) + 1, None if found[3] == "*" else int(found[3])


def _verified(answer: FileAnswer, first: int, end: int, known: Known) -> Known:
    """What is known of the file after an answer that holds exactly the range asked for."""
    theirs = answer.validator
    if known.validator is not None and theirs is not None and theirs != known.validator:
        raise ChangedError(_odd(answer, f"now has version {theirs}, was {known.validator}"))
    if answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        raise ChangedError(_odd(answer, f"has no bytes {first} to {end - 1} any more"))
    if answer.status != HTTPStatus.PARTIAL_CONTENT:
        raise RangesUnusableError(_odd(answer, "answers byte ranges with the whole file"))
    if answer.packed:
        raise RangesUnusableError(_odd(answer, "sends byte ranges packed"))
    announced = content_range(answer)
    if announced is None or announced[:2] != (first, end):
        said = answer.headers.get("content-range", "nothing")
        raise RangesUnusableError(
            _odd(answer, f"was asked for bytes {first}-{end - 1} and announces `{said}`")
        )
    size = announced[2]
    if known.size is not None and size is not None and size != known.size:
        raise ChangedError(_odd(answer, f"now has {size} bytes, was {known.size}"))
    return Known(known.size or size, known.validator or theirs, answer.url)


def _odd(answer: FileAnswer, words: str) -> str:
    return f"{answer.target.what} from {answer.target.host} {words}"


class RemoteFile:
    """A file read by ranges, always of the version it had at first; any thread may read."""

    def __init__(
        self, web: Web, target: Target, size: int | None = None, validator: str | None = None
    ) -> None:
        """Take where the file is and what is known of it."""
        self._web = web
        self._origin = target
        self._target = target
        self._size = size
        self.validator = validator

    @property
    def size(self) -> int:
        """The file's length, asked for with its first byte where it is not known.

        Raises:
            WebError: The server does not tell.
        """
        if self._size is None:
            self.read(0, 1)
        if self._size is None:
            raise WebError(f"{self._origin.host} does not tell the length of {self._origin.what}")
        return self._size

    def read(self, first: int, end: int) -> bytes:
        """The bytes from `first` up to `end`.

        Raises:
            RangesUnusableError: The server does not do ranges, or does them wrongly.
            ChangedError: The file is another one now.
            WebError: It cannot be fetched.
        """
        if first >= end:
            return b""
        target = self._target
        try:
            return self._read(target, first, end)
        except WebError as error:
            if target is self._origin or error.status not in _RELOCATED:
                raise
            self._target = self._origin
            return self._read(self._origin, first, end)

    def _read(self, target: Target, first: int, end: int) -> bytes:
        span = read_span(self._web, target, first, end, size=self._size, validator=self.validator)
        self._size = span.file.size
        self.validator = span.file.validator
        if span.file.url != target.url:
            # A hub leads to a storage; the next ranges go there without asking the hub again.
            origin = self._origin
            secret = origin.secret if same_host(origin.url, span.file.url) else {}
            self._target = replace(origin, url=span.file.url, secret=secret)
        return span.data
