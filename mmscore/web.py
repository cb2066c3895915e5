"""Files and listings over HTTP: sessions, retries of what is safe, byte ranges that are verified.

`net` carries the many small requests to the model; this module carries data sets, where what
matters is proxies, redirects and ranges, which `requests` knows. Every request here is a GET, so
asking again is always safe. A token goes to the host it was given for and to no other, wherever a
redirect leads.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit

from mmscore.errors import HubError
from mmscore.net import is_loopback

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


class WebError(HubError):
    """A request came to nothing.

    Attributes:
        status: The HTTP status, None where no answer came.
        retriable: Whether asking again may help.
        retry_after: Seconds the server asked to wait.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        retriable: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.retriable = retriable
        self.retry_after = retry_after


class RangesUnusableError(WebError):
    """The server does not answer byte ranges, or answers others than it was asked for."""


class ChangedError(WebError):
    """What lies at the URL is not what was begun to be read."""


def no_hint(status: int, code: str) -> str | None:
    """The hint of a target that has none."""
    return None


@dataclass(frozen=True, slots=True)
class Target:
    """Something to fetch.

    Attributes:
        url: Where.
        what: What it is, in words, for errors.
        secret: Headers for the host of `url` alone.
        hint: From HTTP status and the hub's error code to what the user can do.
    """

    url: str
    what: str
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    hint: Callable[[int, str], str | None] = no_hint

    @property
    def host(self) -> str:
        """The host and port, as errors show them; never the query, which may hold a signature."""
        return urlsplit(self.url).netloc.rpartition("@")[2]


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
        with _explained(self.target):
            while piece := read(_PIECE, decode_content=False):
                total += len(piece)
                yield piece
        if expected is not None and expected.isdigit() and total < int(expected):
            raise _cut_short(self.target, self.target.host, total, int(expected) - total)


class Web:
    """GET requests, from any number of threads; each thread has its own connections."""

    def __init__(self, notice: Callable[[str], None] = lambda _: None) -> None:
        """Take who hears of waits that a user would wonder about."""
        self._notice = notice
        self._local = threading.local()
        self.stopped = threading.Event()
        """Set to end waits between attempts; every retried action then fails at once."""

    @contextmanager
    def get(self, target: Target, headers: Mapping[str, str] | None = None) -> Iterator[Answer]:
        """Send one GET and follow its redirects; the `with` block reads the body.

        Raises:
            WebError: No answer, or one that is no success.
        """
        response, first = self._follow(target, headers or {})
        with response:
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

    def span(
        self,
        target: Target,
        first: int,
        end: int,
        *,
        size: int | None = None,
        validator: str | None = None,
    ) -> Span:
        """The bytes from `first` up to `end`, verified to be those of the file that was begun.

        Args:
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
            with self.get(target, _range_headers(at, end, known.validator)) as answer:
                known = _verified(answer, at, end, known)
                for piece in answer.pieces():
                    got.extend(piece)
                    if len(got) > end - first:
                        raise RangesUnusableError(_odd(answer, "sent more bytes than asked for"))
            return known

        try:
            known = self.patiently(ask, lambda: len(got))
        except WebError as error:
            if not error.retriable or not got:
                raise
            # Over and over fewer bytes than announced: not the network, but a server's fault.
            raise RangesUnusableError(error.message) from error
        return Span(bytes(got), known)

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
                if not error.retriable or failures >= ATTEMPTS:
                    raise
                self._pause(error, failures if further <= 0 else 0)

    def _pause(self, error: WebError, failures: float) -> None:
        seconds = error.retry_after
        if seconds is None:
            seconds = min(8.0, 0.25 * 2**failures) * random.uniform(0.5, 1.0) if failures else 0.05
        seconds = min(seconds, LONGEST_PAUSE)
        if seconds >= 5:
            self._notice(f"{error.message}; trying again in {seconds:.0f} s")
        if self.stopped.wait(seconds):
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
        session = self._session(is_loopback(urlsplit(url).hostname or ""))
        with _explained(target, urlsplit(url).netloc.rpartition("@")[2]):
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

            from mmscore import __version__

            session = Session()
            session.trust_env = not loopback
            session.headers["User-Agent"] = f"mmscore/{__version__}"
            session.auth = _as_it_is  # else requests puts ~/.netrc in the place of the token
            setattr(self._local, name, session)
        return session


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


def _range_headers(first: int, end: int, validator: str | None) -> dict[str, str]:
    headers = {"Range": f"bytes={first}-{end - 1}"}
    # A weak ETag may not stand in If-Range; the answer's own is compared instead.
    if validator is not None and not validator.startswith("W/"):
        headers["If-Range"] = validator
    return headers


def content_range(answer: Answer) -> tuple[int, int, int | None] | None:
    """First position, position after the last, and whole length, as an answer announces them."""
    found = re.fullmatch(
        r"bytes (\d+)-(\d+)/(\d+|\*)", answer.headers.get("content-range", "").strip()
    )
    if found is None:
        return None
    return int(found[1]), int(found[2]) + 1, None if found[3] == "*" else int(found[3])


def _verified(answer: Answer, first: int, end: int, known: Known) -> Known:
    """What is known of the file after an answer that holds exactly the range asked for."""
    theirs = answer.validator
    if known.validator is not None and theirs is not None and theirs != known.validator:
        raise ChangedError(_odd(answer, f"now has version {theirs}, was {known.validator}"))
    if answer.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        raise ChangedError(_odd(answer, f"has no bytes {first} to {end - 1} any more"))
    if answer.status != HTTPStatus.PARTIAL_CONTENT:
        raise RangesUnusableError(_odd(answer, "answers byte ranges with the whole file"))
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


def _odd(answer: Answer, words: str) -> str:
    return f"{answer.target.what} from {answer.target.host} {words}"


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


@contextmanager
def _explained(target: Target, host: str | None = None) -> Iterator[None]:
    """Turn what requests and urllib3 raise into one error that says what it means."""
    import requests
    import urllib3

    host = host or target.host
    try:
        yield
    except (requests.exceptions.SSLError, urllib3.exceptions.SSLError) as error:
        hint = "REQUESTS_CA_BUNDLE names further certificates"
        raise WebError(f"no TLS connection to {host}: {_cause(error)}", hint=hint) from error
    except (requests.exceptions.ProxyError, urllib3.exceptions.ProxyError) as error:
        hint = "check HTTPS_PROXY and NO_PROXY"
        raise WebError(
            f"cannot reach {host} through the proxy: {_cause(error)}", hint=hint, retriable=True
        ) from error
    except (requests.exceptions.Timeout, urllib3.exceptions.TimeoutError) as error:
        raise WebError(f"{target.what}: {host} did not answer in time", retriable=True) from error
    except (
        requests.exceptions.InvalidURL,
        requests.exceptions.InvalidSchema,
        requests.exceptions.MissingSchema,
        requests.exceptions.InvalidHeader,
    ) as error:
        raise WebError(f"cannot fetch {target.what}: {error}") from error
    except (
        requests.exceptions.RequestException,
        urllib3.exceptions.HTTPError,
        OSError,
    ) as error:
        inner = _innermost(error)
        if isinstance(inner, urllib3.exceptions.IncompleteRead):
            raise _cut_short(target, host, int(inner.partial or 0), inner.expected) from error
        raise WebError(
            f"{target.what}: the connection to {host} broke: {_cause(error)}",
            hint="check the network, or take another hub or mirror",
            retriable=True,
        ) from error


def _cut_short(target: Target, host: str, came: int, missing: int | None) -> WebError:
    whole = f" of {came + missing}" if missing is not None else ""
    return WebError(
        f"{target.what} from {host} ended after {came}{whole} bytes",
        hint="check the network, or take another hub or mirror",
        retriable=True,
    )


def _cause(error: BaseException) -> str:
    """The innermost reason in words, without the layers of the libraries."""
    inner = _innermost(error)
    if isinstance(inner, OSError) and inner.strerror:
        return inner.strerror.lower()
    text = str(inner)
    return text.rpartition(": ")[2] if "object at 0x" in text else text


def _innermost(error: BaseException) -> BaseException:
    while True:
        inner = getattr(error, "reason", None) or next(
            (arg for arg in error.args if isinstance(arg, BaseException)), None
        )
        if not isinstance(inner, BaseException) or inner is error:
            return error
        error = inner


def _lower(response: Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


__all__ = [
    "Answer",
    "ChangedError",
    "Known",
    "RangesUnusableError",
    "Span",
    "Target",
    "Web",
    "WebError",
    "content_range",
    "same_host",
]
