"""Files, listings and media by GET: redirects, attempts, and where a name may lead.

`connection` carries each exchange; what is here is what data need besides. Every request is a GET,
so asking again is always safe. A token goes to the host it was given for and to no other, wherever
a redirect leads.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urljoin, urlsplit

from mmscore.error_text import shown
from mmscore.errors import ConfigError
from mmscore.version import VERSION
from mmscore.web import retry
from mmscore.web.connection import Connections
from mmscore.web.errors import Target, TransportError, WebError, cut_short, explained
from mmscore.web.response import Response, bounded_json
from mmscore.web.retry import Attempts, Clock, Fault, asked_wait, may_pass
from mmscore.web.urls import Url, parse_url
from mmscore.web.wire import Deadline

T = TypeVar("T")

PACE_SECONDS = 60.0
PACE_BYTES = 64 * 1024
"""An answer must begin within this time, and bring so many bytes in each such time after."""

LISTING_SECONDS = 300.0
"""Seconds in which a JSON answer must be complete."""

RETRIES = 4
"""How often a request is sent again before its fault is told."""

TOLD_WAIT = 5.0
"""Seconds of a wait from which on the user is told of it."""

LISTING_LIMIT = 64 * 1024 * 1024
"""The longest JSON answer that is read."""

PROGRESS_BYTES = 64 * 1024
"""After an attempt that brought this much more, attempts are counted anew."""

SMALL_STEP = 0.25
"""What a failed attempt counts that brought less, but something."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MOST_REDIRECTS = 10
_ENDLESS = 1 << 62


@dataclass(slots=True)
class FileAnswer:
    """The head of an answer; the body is read once, by `pieces`.

    Attributes:
        target: What was asked for.
        url: Where redirects led.
        status: 200 or 206, or 416 where a range lies outside.
        headers: By lower-case name.
        first: The headers of the first answer, where a redirect followed it.
        packed: Whether the body comes packed, so that its bytes are not those of the file.
    """

    target: Target
    url: str
    status: int
    headers: Mapping[str, str]
    first: Mapping[str, str]
    packed: bool
    _response: Response = field(repr=False)
    _deadline: Deadline = field(repr=False)

    @property
    def length(self) -> int | None:
        """The bytes of the body as announced."""
        return self._response.length

    @property
    def validator(self) -> str | None:
        """The ETag, else the date of the last change: what tells one version from another."""
        return self.headers.get("etag") or self.headers.get("last-modified")

    def pieces(self, limit: int = _ENDLESS) -> Iterator[bytes]:
        """The body as it arrives, unpacked.

        Raises:
            WebError: It ended early, stood still, or is longer than `limit` bytes.
        """
        target, total, paced = self.target, 0, 0
        try:
            for piece in self._response.pieces(limit):
                total += len(piece)
                if total - paced >= PACE_BYTES:
                    paced = total
                    self._deadline.extend(PACE_SECONDS)
                yield piece
        except TransportError as error:
            length = self._response.length
            if error.kind == "truncated" and length is not None and not self.packed:
                raise cut_short(target, target.host, total, length - total) from error
            raise explained(target, error) from error


class Web:
    """GET requests, from any number of threads over connections that all of them share."""

    def __init__(
        self,
        notice: Callable[[str], None] = lambda _: None,
        *,
        environ: Mapping[str, str] = os.environ,
        clock: Clock | None = None,
    ) -> None:
        """Get ready; nothing is sent yet.

        Args:
            notice: Who hears of waits that a user would wonder about.
            environ: Where proxies and certificates are named.
            clock: What tells the time; that of this machine by default.
        """
        self._notice = notice
        self._environ = environ
        self._clock = clock or retry.SYSTEM
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._places: dict[tuple[bool, str, int, bool], Connections] = {}

    def stop(self) -> None:
        """End what is under way: exchanges, and waits between attempts; each fails."""
        self._stopped.set()
        with self._lock:
            for connections in self._places.values():
                connections.close()

    @contextmanager
    def get(
        self,
        target: Target,
        headers: Mapping[str, str] | None = None,
        *,
        seconds: float = float("inf"),
    ) -> Iterator[FileAnswer]:
        """Send one GET and follow its redirects; the `with` block reads the body.

        Args:
            target: What to ask for.
            headers: Sent besides.
            seconds: In which all of it must have come, at whatever pace.

        Raises:
            WebError: No answer, or one that is no success.
            ConfigError: A variable names no proxy, or no certificates.
        """
        url, first = target.url, None
        ends = self._clock.now() + seconds
        for _ in range(_MOST_REDIRECTS):
            place = _parsed_url(target, url)
            own = target.secret if same_host(target.url, url) else {}
            connections = self._connections(place, target.public_only)
            head = connections.head(
                "GET", {"User-Agent": f"mmscore/{VERSION}", **(headers or {}), **own}, place
            )
            deadline = connections.deadline(PACE_SECONDS, ends)
            asking = connections.ask(head, deadline=deadline)
            with _told(target), asking as response:
                location = _location(response)
                if location is None:
                    answer = FileAnswer(
                        target, url, response.status, response.headers, first or response.headers,
                        bool(response.coding), response, deadline,
                    )  # fmt: skip
                    _check(answer, self._clock)
                    yield answer
                    return
                first = first or response.headers
                url = _joined(target, url, location)
        raise WebError(f"{target.what}: {target.host} redirects in a circle")

    def _connections(self, url: Url, public_only: bool) -> Connections:
        """The connections to a place, made when it is first asked."""
        key = (url.secure, url.host, url.port, public_only)
        with self._lock:
            found = self._places.get(key)
            if found is None:
                found = self._places[key] = Connections(
                    url,
                    public_only=public_only,
                    environ=self._environ,
                    stopped=self._stopped,
                    clock=self._clock.now,
                )
            return found

    def json(self, target: Target) -> tuple[Any, Mapping[str, str]]:
        """The JSON value at a URL and the answer's headers, after as many attempts as it takes.

        Raises:
            WebError: No answer, no success, or something else than JSON.
        """

        def ask() -> tuple[Any, Mapping[str, str]]:
            accept = {"Accept": "application/json"}
            with self.get(target, accept, seconds=LISTING_SECONDS) as answer:
                body = b"".join(answer.pieces(LISTING_LIMIT))
                return _parsed(target, body), answer.headers

        return self.patiently(ask)

    def patiently(self, action: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        """What the action returns, tried again after faults that may pass.

        Args:
            action: What to do.
            progress: How far it has come; attempts count anew when it came notably further.

        Raises:
            WebError: Of the last attempt.
        """
        attempts, reached = Attempts(RETRIES, clock=self._clock), progress()
        while True:
            try:
                return action()
            except WebError as error:
                further, reached = progress() - reached, max(reached, progress())
                if further >= PROGRESS_BYTES:
                    attempts.forget()
                fault = Fault(error.retriable, error.retry_after)
                wait = attempts.next_wait(fault, weight=SMALL_STEP if further > 0 else 1.0)
                if wait is None or self._stopped.is_set():
                    raise
                if wait >= TOLD_WAIT:
                    self._notice(f"{error.message}; trying again in {wait:.0f} s")
                if self._clock.wait(self._stopped, wait):
                    raise


def same_host(one: str, other: str) -> bool:
    """Whether two URLs lead to the same host and port, the second no less safely than the first."""
    a, b = parse_url(one), parse_url(other)
    if a.host != b.host:
        return False
    if a.secure == b.secure:
        return a.port == b.port
    return b.secure and (a.port, b.port) == (80, 443)


@contextmanager
def _told(target: Target) -> Iterator[None]:
    """Tell of what was to be fetched where an exchange fails."""
    try:
        yield
    except TransportError as error:
        raise explained(target, error) from error


def _parsed_url(target: Target, url: str) -> Url:
    try:
        return parse_url(url)
    except ConfigError as error:
        raise WebError(f"cannot fetch {target.what}: {error.message}") from None


def _location(response: Response) -> str | None:
    """Where an answer leads; None where it leads nowhere."""
    location = response.headers.get("location")
    if response.status not in _REDIRECTS or not location:
        return None
    try:  # servers send UTF-8 there, though no header may hold it
        return location.encode("latin-1").decode()
    except UnicodeDecodeError:
        return location


def _joined(target: Target, url: str, location: str) -> str:
    """The URL that a redirect means."""
    try:
        joined = urljoin(url, location)
        scheme = urlsplit(joined).scheme
    except ValueError:
        scheme = joined = ""
    if scheme not in ("http", "https"):
        raise WebError(f"{target.what}: {target.host} leads to {shown(joined or location)}")
    return joined


def _check(answer: FileAnswer, clock: Clock) -> None:
    """Pass an answer that has what was asked for.

    Raises:
        WebError: It is something else; says whether asking again may help.
    """
    status, target = answer.status, answer.target
    if status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        return
    if status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return
    try:
        words = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        words = str(status)
    code = answer.headers.get("x-error-code") or answer.first.get("x-error-code") or ""
    raise WebError(
        f"cannot fetch {target.what}: {target.host} answered {words}",
        hint=target.hint(status, code),
        status=status,
        retriable=may_pass(status),
        retry_after=asked_wait(answer.headers, clock),
    )


def _parsed(target: Target, body: bytes) -> Any:
    try:
        return bounded_json(body)
    except ValueError:
        raise WebError(
            f"{target.what} from {target.host} is no JSON, it begins with {body[:40]!r}",
            hint="check the endpoint: something else than a hub answers there",
        ) from None
