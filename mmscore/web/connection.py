"""HTTP with deadlines: the one place that opens connections.

The hot path is `http.client`: the same keep-alive connection serves one request after the other,
and nothing is copied or parsed twice. What it lacks is here: a total deadline that holds for
headers, bodies and streams alike, proxies, and errors that say whether a new attempt can help.
`tests/bench/transport.py` measures it beside urllib3 and requests.
"""

from __future__ import annotations

import base64
import http.client
import ipaddress
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import SplitResult, quote, unquote, urlsplit

from mmscore.error_text import without_secrets
from mmscore.errors import ConfigError

CONNECT_TIMEOUT = 10.0
"""Seconds in which a TCP and TLS connection must stand."""

BODY_LIMIT = 64 * 1024 * 1024
"""The longest answer that is read; an endless one must not fill the memory."""

_WATCH_INTERVAL = 0.1
_PIECES_AT_ONCE = 64
"""Fewer than any system's limit for one `sendmsg`."""


class TransportError(Exception):
    """No complete answer came back.

    Attributes:
        kind: `connect`, `timeout`, `reset`, `idle` (a kept-alive connection went stale),
            `truncated`, `tls`, `too-large` or `aborted`.
        retriable: Whether asking again is safe and may help.
    """

    def __init__(self, kind: str, message: str, *, retriable: bool = True) -> None:
        super().__init__(message)
        self.kind = kind
        self.retriable = retriable


@dataclass(frozen=True, slots=True)
class Url:
    """A URL taken apart once, with the proxy that leads to it."""

    text: str
    secure: bool
    host: str
    port: int
    target: str
    proxy: SplitResult | None

    @property
    def place(self) -> str:
        """`host:port`, as errors and reports show it."""
        return f"{self._bracketed}:{self.port}"

    @property
    def authority(self) -> str:
        """What the Host header says: the host in ASCII, the port where it is not the usual one."""
        host = self._bracketed.encode("idna").decode()
        return host if self.port == (443 if self.secure else 80) else f"{host}:{self.port}"

    @property
    def _bracketed(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


def parse_url(text: str) -> Url:
    """Return `text` taken apart, with what a request line cannot carry percent-encoded.

    Raises:
        ConfigError: It is no http(s) URL.
    """
    try:
        parts = urlsplit(text)
        port = parts.port
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise ConfigError(f"`{without_secrets(text)}` is no URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f"`{without_secrets(text)}` is no http(s) URL",
            hint="give it like `http://127.0.0.1:8000/v1`",
        )
    secure = parts.scheme == "https"
    target = quote(parts.path or "/", safe=_SENT_AS_IT_IS)
    if parts.query:
        target += "?" + quote(parts.query, safe=_SENT_AS_IT_IS)
    return Url(
        text=f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{target}",
        secure=secure,
        host=parts.hostname,
        port=port or (443 if secure else 80),
        target=target,
        proxy=_proxy_for(text, parts.scheme, parts.hostname),
    )


_SENT_AS_IT_IS = "%!#$&'()*+,/:;=?@[]~"
"""RFC 3986's own characters; with `%` among them, what is encoded already stays as it is."""


def is_loopback(host: str) -> bool:
    """Whether `host` is this machine, which no proxy may stand before."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _proxy_for(url: str, scheme: str, host: str) -> SplitResult | None:
    names = (f"{scheme}_proxy", "all_proxy")
    value = next(
        (os.environ[n] for name in names for n in (name, name.upper()) if os.environ.get(n)), None
    )
    if value is None or is_loopback(host):
        return None
    # requests reads NO_PROXY as its users know it: names, suffixes, `*`, addresses, CIDR ranges.
    from requests.utils import should_bypass_proxies

    if should_bypass_proxies(url, no_proxy=None):
        return None
    proxy = urlsplit(value if "://" in value else f"http://{value}")
    if proxy.scheme not in ("http", "https") or not proxy.hostname:
        raise ConfigError(
            f"the proxy `{proxy.scheme}://{proxy.hostname or ''}` is not supported",
            hint="HTTP(S)_PROXY takes an http proxy; NO_PROXY names hosts to reach without one",
        )
    return proxy


@lru_cache(maxsize=1)
def _tls_context() -> ssl.SSLContext:
    import certifi

    names = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
    bundle = next((os.environ[name] for name in names if os.environ.get(name)), certifi.where())
    return ssl.create_default_context(cafile=bundle)


class _Watch:
    """Ends requests whose time is over by shutting their sockets down.

    A timeout on each read alone would let a server that sends a byte now and then hold a worker
    for ever; shutting the socket down from outside ends any read, TLS or not.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._active: dict[int, tuple[float, socket.socket]] = {}
        self._expired: set[int] = set()
        self._thread: threading.Thread | None = None

    @contextmanager
    def until(self, deadline: float, sock: socket.socket) -> Iterator[None]:
        key = id(sock)
        with self._lock:
            self._active[key] = (deadline, sock)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                self._active.pop(key, None)

    def take_expired(self, sock: socket.socket) -> bool:
        with self._lock:
            if id(sock) in self._expired:
                self._expired.discard(id(sock))
                return True
            return False

    def end_all(self) -> None:
        with self._lock:
            for key, (_, sock) in list(self._active.items()):
                self._end(key, sock)

    def _end(self, key: int, sock: socket.socket) -> None:
        self._expired.add(key)
        del self._active[key]
        # The plain socket's method: SSLSocket's own pulls the TLS state from under a reader.
        with suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    def _run(self) -> None:
        while True:
            time.sleep(_WATCH_INTERVAL)
            now = time.monotonic()
            with self._lock:
                if not self._active:
                    self._thread = None
                    return
                for key, (deadline, sock) in list(self._active.items()):
                    if now >= deadline:
                        self._end(key, sock)


@dataclass(slots=True)
class Answer:
    """The head of an HTTP answer; the body is read by `read` or `pieces`, once."""

    status: int
    headers: Mapping[str, str]
    _response: http.client.HTTPResponse = field(repr=False)

    def pieces(self) -> Iterator[bytes]:
        """The body as it arrives.

        Raises:
            TransportError: It ended early or is longer than `BODY_LIMIT`.
        """
        total = 0
        while piece := self._response.read1(65536):
            total += len(piece)
            if total > BODY_LIMIT:
                raise TransportError(
                    "too-large", f"the answer is longer than {BODY_LIMIT} bytes", retriable=False
                )
            yield piece
        # read1 ends quietly where a counted body stops short.
        if self._response.length:
            raise TransportError(
                "truncated", f"the answer ended {self._response.length} bytes early"
            )

    def read(self) -> bytes:
        """The whole body; see `pieces` for what it raises."""
        return b"".join(self.pieces())


class Connections:
    """Idle keep-alive connections to one URL; as many as requests are in flight."""

    def __init__(self, url: Url) -> None:
        self.url = url
        self._lock = threading.Lock()
        self._idle: list[http.client.HTTPConnection] = []
        self._watch = _Watch()
        self._aborted = False

    def close(self) -> None:
        """Close what is idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def abort(self) -> None:
        """End every request in flight at once; each raises a `TransportError`."""
        self._aborted = True
        self._watch.end_all()

    @contextmanager
    def post(
        self,
        body: Sequence[bytes],
        headers: Mapping[str, str],
        *,
        timeout: float,
        idle_timeout: float,
    ) -> Iterator[Answer]:
        """Send one POST and give its answer to the `with` block, which reads the body.

        Args:
            body: The pieces of the body; over plain TCP they are never joined.
            headers: Request headers.
            timeout: Seconds until the answer must be complete.
            idle_timeout: Seconds the server may be silent.

        Raises:
            TransportError: No complete answer came back in time.
        """
        deadline = time.monotonic() + timeout
        connection, reused = self._take(deadline)
        sock = connection.sock
        try:
            sock.settimeout(min(idle_timeout, timeout))
            with self._watch.until(deadline, sock):
                _send(sock, [self._head(headers, body), *body])
                response = http.client.HTTPResponse(sock, method="POST")
                response.begin()
                yield Answer(response.status, _lower(response), response)
                response.read(0)
                finished = response.isclosed()
        except BaseException as error:
            connection.close()
            # A reader whose socket was shut down sees a short answer, in whatever form.
            if self._watch.take_expired(sock):
                raise self._out_of_time(timeout) from error
            if isinstance(error, (OSError, http.client.HTTPException)):
                raise self._explain(error, reused, idle_timeout) from error
            raise
        if finished and not response.will_close:
            with self._lock:
                self._idle.append(connection)
        else:
            connection.close()

    def _request_target(self) -> str:
        # A plain-http proxy is asked for the whole URL; everything else for the path.
        return self.url.text if self.url.proxy and not self.url.secure else self.url.target

    def _head(self, headers: Mapping[str, str], body: Sequence[bytes]) -> bytes:
        """The request line and the headers, as `http.client` would write them."""
        proxy = self.url.proxy
        more = proxy_authorization(proxy) if proxy and not self.url.secure else {}
        fields = {
            "Host": self.url.authority,
            "Accept-Encoding": "identity",
            **headers,
            **more,
            "Content-Length": str(sum(map(len, body))),
        }
        for name, value in fields.items():
            if "\r" in value or "\n" in value:
                raise ConfigError(f"the header `{name}` has a line break in its value")
        lines = [f"POST {self._request_target()} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in fields.items()]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _take(self, deadline: float) -> tuple[http.client.HTTPConnection, bool]:
        if self._aborted:
            raise TransportError("aborted", "the run was stopped", retriable=False)
        with self._lock:
            if self._idle:
                return self._idle.pop(), True
        connection = self._new(max(0.001, min(CONNECT_TIMEOUT, deadline - time.monotonic())))
        try:
            connection.connect()
        except ssl.SSLError as error:
            connection.close()
            raise TransportError(
                "tls", f"no TLS connection to {self.url.place}: {error.reason or error}"
            ) from error
        except OSError as error:
            connection.close()
            through = f" through the proxy {self._proxy_place()}" if self.url.proxy else ""
            raise TransportError(
                "connect", f"cannot connect to {self.url.place}{through}: {_os_words(error)}"
            ) from error
        return connection, False

    def _new(self, timeout: float) -> http.client.HTTPConnection:
        url, proxy = self.url, self.url.proxy
        host, port = (proxy.hostname or "", proxy.port or 80) if proxy else (url.host, url.port)
        if not url.secure:
            return http.client.HTTPConnection(host, port, timeout=timeout)
        connection = http.client.HTTPSConnection(
            host, port, timeout=timeout, context=_tls_context()
        )
        if proxy:
            connection.set_tunnel(url.host, url.port, proxy_authorization(proxy))
        return connection

    def _proxy_place(self) -> str:
        proxy = self.url.proxy
        return f"{proxy.hostname}:{proxy.port or 80}" if proxy else ""

    def _out_of_time(self, timeout: float) -> TransportError:
        if self._aborted:
            return TransportError("aborted", "the run was stopped", retriable=False)
        return TransportError("timeout", f"no answer from {self.url.place} within {timeout:g} s")

    def _explain(self, error: Exception, reused: bool, idle_timeout: float) -> TransportError:
        place = self.url.place
        if isinstance(error, TimeoutError):
            return TransportError("timeout", f"{place} was silent for {idle_timeout:g} s")
        if isinstance(error, http.client.IncompleteRead):
            return TransportError("truncated", f"the answer from {place} ended early")
        if reused and isinstance(error, (ConnectionError, http.client.RemoteDisconnected)):
            self.close()  # its idle neighbours went stale with it
            return TransportError("idle", f"{place} closed an idle connection")
        if isinstance(error, http.client.HTTPException) and not isinstance(error, OSError):
            return TransportError("truncated", f"{place} does not speak HTTP: {error!r}")
        return TransportError("reset", f"{place} closed the connection: {_os_words(error)}")


def _send(sock: socket.socket, pieces: Sequence[bytes]) -> None:
    """Send the pieces one after the other, in as few calls and with as few copies as can be.

    Each call lets another thread run, so a request of few calls is also a fair one.
    """
    if isinstance(sock, ssl.SSLSocket) or not hasattr(sock, "sendmsg"):
        sock.sendall(b"".join(pieces))
        return
    left = [memoryview(piece) for piece in pieces if piece]
    while left:
        sent = sock.sendmsg(left[:_PIECES_AT_ONCE])
        while left and sent >= len(left[0]):
            sent -= len(left.pop(0))
        if left and sent:
            left[0] = left[0][sent:]


def proxy_authorization(proxy: SplitResult) -> dict[str, str]:
    """The header a proxy with a user name wants; empty without one."""
    words = basic_authorization(proxy)
    return {"Proxy-Authorization": words} if words else {}


def basic_authorization(url: SplitResult) -> str | None:
    """What `user:password@` of a URL becomes in an Authorization header; None without it."""
    if url.username is None:
        return None
    pair = f"{unquote(url.username)}:{unquote(url.password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode()


def _lower(response: http.client.HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _os_words(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    if isinstance(error, TimeoutError):
        return "timed out"
    return str(error) or type(error).__name__
