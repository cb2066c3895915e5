"""Files and listings over HTTP: sessions, redirects, retries; `ranges` reads parts of files by it.

`net` carries the many small requests to the model; this module carries data sets, where what
matters is proxies, redirects and ranges, which `requests` knows. Every request here is a GET, so
asking again is always safe. A token goes to the host it was given for and to no other, wherever a
redirect leads.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit

from mmscore.version import VERSION
from mmscore.web.errors import Target, WebError, cut_short, explained
from mmscore.web.urls import is_this_machine

if TYPE_CHECKING:
    from requests import PreparedRequest, Response, Session

T = TypeVar("T")

CONNECT_TIMEOUT = 10.0
"""Seconds in which a connection must stand."""

SILENCE_TIMEOUT = 60.0
"""Seconds a server may send nothing."""

ATTEMPTS = 5
"""How often a request is sent before its fault is told."""

LONGEST_PAUSE = 60.0
"""Seconds that a `Retry-After` is obeyed at most."""

LISTING_LIMIT = 64 * 1024 * 1024
"""The longest JSON answer that is read."""

PROGRESS_BYTES = 64 * 1024
"""After an attempt that brought this much more, attempts are counted anew."""

SMALL_STEP = 0.25
"""What a failed attempt counts that brought less, but something."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_MOST_REDIRECTS = 10
_PIECE = 64 * 1024


@dataclass(slots=True)
class Answer:
    """The head of an answer; the body is read once, by `pieces`.

    Attributes:
        target: What was asked for.
        url: Where redirects led.
        status: 200 or 206, or 416 where a range lies outside.
        headers: By lower-case name.
        first: The headers of the first answer, where a redirect followed it.
    """

    target: Target
    url: str
    status: int
    headers: Mapping[str, str]
    first: Mapping[str, str]
    _response: Response = field(repr=False)

    @property
    def validator(self) -> str | None:
        """The ETag, else the date of the last change: what tells one version from another."""
        return self.headers.get("etag") or self.headers.get("last-modified")

    def pieces(self) -> Iterator[bytes]:
        """The body as it arrives.

        Raises:
            WebError: It ended early or stood still.
        """
        raw = self._response.raw
        # read1 gives what is there; read would wait until a whole piece has come.
        read = getattr(raw, "read1", raw.read)
        expected = self.headers.get("content-length")
        total = 0
        with explained(self.target):
            while piece := read(_PIECE, decode_content=False):
                total += len(piece)
                yield piece
        if expected is not None and expected.isdigit() and total < int(expected):
            raise cut_short(self.target, self.target.host, total, int(expected) - total)


class Web:
    """GET requests, from any number of threads; each thread has its own connections."""

    def __init__(self, notice: Callable[[str], None] = lambda _: None) -> None:
        """Take who hears of waits that a user would wonder about."""
        self._notice = notice
        self._local = threading.local()
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._open: set[Response] = set()

    def stop(self) -> None:
        """End what is under way: bodies being read and waits between attempts; each fails."""
        self._stopped.set()
        with self._lock:
            for response in self._open:
                # Closing would wait for the reader; older urllib3 has nothing else, and its
                # reader gives up after SILENCE_TIMEOUT.
                shutdown = getattr(response.raw, "shutdown", None)
                if shutdown is not None:
                    with suppress(Exception):  # it may have ended by itself
                        shutdown()

    @contextmanager
    def get(self, target: Target, headers: Mapping[str, str] | None = None) -> Iterator[Answer]:
        """Send one GET and follow its redirects; the `with` block reads the body.

        Raises:
            WebError: No answer, or one that is no success.
        """
        response, first = self._follow(target, headers or {})
        with response, self._stoppable(response):
            answer = Answer(
                target,
                response.url,
                response.status_code,
                _lower(response),
                first,
                response,
            )
            _check(answer)
            yield answer

    @contextmanager
    def _stoppable(self, response: Response) -> Iterator[None]:
        with self._lock:
            self._open.add(response)
        try:
            yield
        finally:
            with self._lock:
                self._open.discard(response)

    def json(self, target: Target) -> tuple[Any, Mapping[str, str]]:
        """The JSON value at a URL and the answer's headers, after as many attempts as it takes.

        Raises:
            WebError: No answer, no success, or something else than JSON.
        """

        def ask() -> tuple[Any, Mapping[str, str]]:
            with self.get(target, {"Accept": "application/json"}) as answer:
                body = bytearray()
                for piece in answer.pieces():
                    body += piece
                    if len(body) > LISTING_LIMIT:
                        raise WebError(f"{target.what} from {target.host} is endless")
                return _parsed(target, bytes(body)), answer.headers

        return self.patiently(ask)

    def patiently(self, action: Callable[[], T], progress: Callable[[], int] = lambda: 0) -> T:
        """What the action returns, tried again after faults that may pass.

        Args:
            action: What to do.
            progress: How far it has come; attempts count anew when it came notably further.

        Raises:
            WebError: Of the last attempt.
        """
        failures, reached = 0.0, progress()
        while True:
            try:
                return action()
            except WebError as error:
                further, reached = progress() - reached, max(reached, progress())
                if further >= PROGRESS_BYTES:
                    failures = 0
                failures += SMALL_STEP if further > 0 else 1
                if not error.retriable or failures >= ATTEMPTS or self._stopped.is_set():
                    raise
                self._pause(error, failures if further <= 0 else 0)

    def _pause(self, error: WebError, failures: float) -> None:
        seconds = error.retry_after
        if seconds is None:
            seconds = min(8.0, 0.25 * 2**failures) * random.uniform(0.5, 1.0) if failures else 0.05
        seconds = min(seconds, LONGEST_PAUSE)
        if seconds >= 5:
            self._notice(f"{error.message}; trying again in {seconds:.0f} s")
        if self._stopped.wait(seconds):
            raise error

    def _follow(
        self, target: Target, headers: Mapping[str, str]
    ) -> tuple[Response, Mapping[str, str]]:
        url, first = target.url, None
        for _ in range(_MOST_REDIRECTS):
            own = target.secret if same_host(target.url, url) else {}
            response = self._send(target, url, {**headers, **own})
            first = first or _lower(response)
            location = response.headers.get("location")
            if response.status_code not in _REDIRECTS or not location:
                return response, first
            response.close()
            url = urljoin(url, location)
            if urlsplit(url).scheme not in ("http", "https"):
                raise WebError(f"{target.what}: {target.host} leads to `{url[:80]}`")
        raise WebError(f"{target.what}: {target.host} redirects in a circle")

    def _send(self, target: Target, url: str, headers: Mapping[str, str]) -> Response:
        session = self._session(is_this_machine(urlsplit(url).hostname or ""))
        with explained(target, urlsplit(url).netloc.rpartition("@")[2]):
            return session.get(
                url,
                headers={"Accept-Encoding": "identity", **headers},
                stream=True,
                allow_redirects=False,
                timeout=(CONNECT_TIMEOUT, SILENCE_TIMEOUT),
            )

    def _session(self, loopback: bool) -> Session:
        """This thread's session: one that knows the proxies, one for this machine that does not."""
        name = "near" if loopback else "far"
        session: Session | None = getattr(self._local, name, None)
        if session is None:
            from requests import Session

            session = Session()
            session.trust_env = not loopback
            session.headers["User-Agent"] = f"mmscore/{VERSION}"
            session.auth = _as_it_is  # else requests puts ~/.netrc in the place of the token
            setattr(self._local, name, session)
        return session


def same_host(one: str, other: str) -> bool:
    """Whether two URLs lead to the same host and port, the second no less safely than the first."""
    a, b = urlsplit(one), urlsplit(other)
    if a.hostname != b.hostname:
        return False
    if a.scheme == b.scheme:
        return _port(a.scheme, a.port) == _port(b.scheme, b.port)
    return (a.scheme, b.scheme) == ("http", "https") and (a.port, b.port) == (None, None)


def _port(scheme: str, port: int | None) -> int:
    return port or (443 if scheme == "https" else 80)


def _as_it_is(request: PreparedRequest) -> PreparedRequest:
    return request


def _check(answer: Answer) -> None:
    """Pass an answer that has what was asked for.

    Raises:
        WebError: It is something else; says whether asking again may help.
    """
    status, target = answer.status, answer.target
    if status in (HTTPStatus.OK, HTTPStatus.PARTIAL_CONTENT):
        coding = answer.headers.get("content-encoding", "identity")
        if coding not in ("", "identity"):
            raise WebError(f"{target.what} from {target.host} comes packed as {coding}")
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
        retriable=status in _RETRIED,
        retry_after=_retry_after(answer.headers.get("retry-after")),
    )


def _retry_after(value: str | None) -> float | None:
    """Seconds to wait, from a number or a date."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _parsed(target: Target, body: bytes) -> Any:
    import json

    try:
        return json.loads(body)
    except ValueError:
        raise WebError(
            f"{target.what} from {target.host} is no JSON, it begins with {body[:40]!r}",
            hint="check the endpoint: something else than a hub answers there",
        ) from None


def _lower(response: Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}
