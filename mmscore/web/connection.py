"""HTTP exchanges with one place: the one door through which anything leaves this machine.

A kept-alive connection serves one request after the other, and nothing is copied or parsed twice.
Deadlines, proxies and certificates are the same for the endpoint, a judge, media and hubs.
`tests/bench/transport.py` measures it beside http.client, urllib3 and requests.
"""

from __future__ import annotations

import os
import re
import socket
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http import HTTPStatus

from mmscore.errors import ConfigError
from mmscore.web.errors import TransportError
from mmscore.web.response import Response, Source, odd, read_response
from mmscore.web.retry import may_pass
from mmscore.web.tls import secured, trusted
from mmscore.web.urls import Proxy, Url, address_of, is_public, proxy_for
from mmscore.web.wire import CONNECT_TIMEOUT, Address, Deadline, Wire, connect, resolve

ANSWER_LIMIT = 8 * 1024 * 1024
"""The longest answer that is read unless who asks expects more, in bytes."""

NAMES_HOLD = 60.0
"""Seconds for which the addresses of a name are used again."""

_LINGER = 0.25
_LINGER_BYTES = 4096
"""How long, and for how much, the end of an answer is waited for that has said all that matters."""

_FIELD_VALUE = re.compile(r"[^\r\n\0]*")


class Connections:
    """Idle connections to one place, as many as requests were in flight; any thread may ask.

    Attributes:
        url: The place, and what is asked for there unless said otherwise.
        proxy: What leads there; None where nothing stands between.
    """

    def __init__(
        self,
        url: Url,
        *,
        public_only: bool = False,
        environ: Mapping[str, str] = os.environ,
        stopped: threading.Event | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Get ready; nothing is sent yet.

        Args:
            url: The place.
            public_only: Connect to no address that is not public, whatever name leads there.
            environ: Where proxies and certificates are named.
            stopped: What ends every exchange when it is set; one of its own by default.
            clock: What tells the time.

        Raises:
            ConfigError: A variable names no proxy, or no certificates.
        """
        self.url = url
        self._place = url.place
        self.proxy = proxy_for(url, environ)
        if url.secure and self.proxy is not None and self.proxy.secure:
            raise ConfigError(
                f"the proxy {self.proxy.place} is spoken to by TLS, which cannot carry TLS to "
                f"{url.place}",
                hint="give the proxy as http://, or name the host in NO_PROXY",
            )
        secure = url.secure or (self.proxy is not None and self.proxy.secure)
        self._context = trusted(environ) if secure else None
        self._public_only = public_only
        self._clock = clock
        self._stopped = stopped or threading.Event()
        self._idle: list[Wire] = []
        weakref.finalize(self, _close_all, self._idle)
        self._looking_up = threading.Lock()
        self._addresses: tuple[float, Sequence[Address]] = (0.0, ())

    def close(self) -> None:
        """Close what is idle."""
        _close_all(self._idle)

    def abort(self) -> None:
        """End every request in flight within a second; each raises a `TransportError`."""
        self._stopped.set()

    def head(self, method: str, headers: Mapping[str, str], url: Url | None = None) -> bytes:
        """The request line and the headers, without the empty line that ends them.

        Args:
            method: `GET`, `POST`.
            headers: Besides Host, Accept-Encoding and what the proxy wants.
            url: What is asked for, if not `self.url`; it must be of the same place.

        Raises:
            ConfigError: A header cannot be sent.
        """
        url = url or self.url
        fields = {"Host": url.authority, "Accept-Encoding": "identity", **headers}
        by_proxy = self.proxy is not None and not url.secure
        if by_proxy and self.proxy is not None and self.proxy.authorization:
            fields["Proxy-Authorization"] = self.proxy.authorization
        # A proxy that only hands on is asked for the whole URL.
        lines = [f"{method} {url.text if by_proxy else url.target} HTTP/1.1"]
        for name, value in fields.items():
            if not _FIELD_VALUE.fullmatch(value):
                raise ConfigError(f"the header `{name}` has a line break in its value")
            lines.append(f"{name}: {value}")
        try:
            return "\r\n".join([*lines, ""]).encode("latin-1")
        except UnicodeEncodeError:
            raise ConfigError("a header holds a character that no header can carry") from None

    def deadline(self, seconds: float, at_last: float = float("inf")) -> Deadline:
        """The deadline of an exchange that begins now.

        Args:
            seconds: How long it may take, unless it is extended.
            at_last: When it must have ended by the clock, extended or not.
        """
        return Deadline(seconds, self._place, self._stopped, self._clock, at_last)

    @contextmanager
    def ask(
        self, head: bytes, body: Sequence[bytes] = (), *, deadline: Deadline
    ) -> Iterator[Response]:
        """Send one request and give its answer to the `with` block, which reads the body.

        Args:
            head: What `head` made.
            body: The pieces of the body; over plain TCP they are never joined.
            deadline: Until when the answer must be complete.

        Raises:
            TransportError: No complete answer came back in time.
            MachineError: This machine has no descriptor left.
        """
        length = b"Content-Length: %d\r\n\r\n" % sum(map(len, body)) if body else b"\r\n"
        wire, response = self._answered([head + length, *body], deadline)
        try:
            yield response
            if not response.ended:
                wire.deadline = deadline.within(_LINGER)
                with suppress(TransportError):
                    response.drain(_LINGER_BYTES)
        except BaseException:
            wire.close()
            raise
        if response.reusable and not wire.cut and not self._stopped.is_set():
            self._idle.append(wire)
        else:
            wire.close()

    def _answered(self, pieces: Sequence[bytes], deadline: Deadline) -> tuple[Wire, Response]:
        """The head of an answer, over a kept connection if there is a good one, else a new one."""
        while (wire := self._popped()) is not None:
            # What can be read before anything was asked is the end of the connection, or an
            # answer that came too late and would be taken for this request's.
            if wire.readable():
                wire.close()
                continue
            wire.deadline = deadline
            response = self._exchanged(wire, pieces, stale_is_none=True)
            if response is not None:
                return wire, response
            self.close()  # its idle neighbours went stale with it
        wire = self._connected(deadline)
        response = self._exchanged(wire, pieces)
        assert response is not None
        return wire, response

    def _exchanged(
        self, wire: Wire, pieces: Sequence[bytes], *, stale_is_none: bool = False
    ) -> Response | None:
        """The head of an answer; None from a stale connection, over which nothing came."""
        source = Source(wire.receive)
        try:
            wire.send(pieces)
            response = read_response(source, self._place)
        except BaseException as error:
            wire.close()
            stale = isinstance(error, TransportError) and error.kind in ("closed", "reset")
            if stale and stale_is_none and not source.began:
                return None
            raise
        if response.status == 407 and self.proxy is not None:
            wire.close()
            raise _refused(self.proxy, self.url, response.status)
        return response

    def _popped(self) -> Wire | None:
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _connected(self, deadline: Deadline) -> Wire:
        """A new connection, through the proxy and secured as the URL wants it."""
        url, proxy = self.url, self.proxy
        first = deadline.within(CONNECT_TIMEOUT)
        try:
            one = self._dialled(first)
            try:
                if proxy is not None and proxy.secure:
                    assert self._context is not None
                    one = secured(one, proxy.host, self._context, proxy.place, first)
                if proxy is not None and url.secure:
                    _tunnel(Wire(one, first), url, proxy)
                if url.secure:
                    assert self._context is not None
                    one = secured(one, url.host, self._context, url.place, first)
            except BaseException:
                one.close()
                raise
        except TransportError as error:
            if error.kind != "timeout":
                raise
            by = f" through the proxy {proxy.place}" if proxy is not None else ""
            raise TransportError(
                "connect", f"cannot connect to {url.place}{by}: timed out"
            ) from error
        return Wire(one, deadline)

    def _dialled(self, deadline: Deadline) -> socket.socket:
        """A TCP connection to the proxy, else to the place itself."""
        addresses = self._found(deadline)
        place = self.url.place if self.proxy is None else f"the proxy {self.proxy.place}"
        try:
            return connect(addresses, place, deadline)
        except TransportError:
            self._addresses = (0.0, ())
            raise

    def _found(self, deadline: Deadline) -> Sequence[Address]:
        """The addresses to connect to, looked up once for all who wait for them."""
        with self._looking_up:
            until, addresses = self._addresses
            if self._clock() < until:
                return addresses
            near: Url | Proxy = self.proxy or self.url
            addresses = resolve(near.host, near.port, deadline)
            if self._public_only:
                addresses = self._public(addresses, deadline)
            self._addresses = (self._clock() + NAMES_HOLD, addresses)
            return addresses

    def _public(self, addresses: Sequence[Address], deadline: Deadline) -> Sequence[Address]:
        """The addresses that may be connected to.

        Raises:
            TransportError: The place has none that is public.
        """
        host = self.url.host
        asked = addresses
        if self.proxy is not None:
            # What the proxy will find is not known here; what this machine finds is a good guess.
            try:
                asked = resolve(host, self.url.port, deadline)
            except TransportError:
                return addresses
        public = [one for one in asked if (ip := address_of(one[4][0])) and is_public(ip)]
        if not public:
            where = ", ".join(sorted({str(one[4][0]) for one in asked}))
            raise TransportError(
                "refused", f"`{host}` leads to {where}, which is not public", retriable=False
            )
        return addresses if self.proxy is not None else public


def _close_all(wires: list[Wire]) -> None:
    with suppress(IndexError):
        while True:
            wires.pop().close()


def _tunnel(wire: Wire, url: Url, proxy: Proxy) -> None:
    """Have a proxy connect to the place of a URL.

    Raises:
        TransportError: It will not.
    """
    place = url.place.encode("idna").decode()
    lines = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
    if proxy.authorization:
        lines.append(f"Proxy-Authorization: {proxy.authorization}")
    wire.send(["\r\n".join([*lines, "", ""]).encode("latin-1")])
    source = Source(wire.receive)
    answer = read_response(source, f"the proxy {proxy.place}")
    if not 200 <= answer.status < 300:
        raise _refused(proxy, url, answer.status)
    if not source.empty:
        raise odd(f"the proxy {proxy.place}", "says more than that it has connected")


def _refused(proxy: Proxy, url: Url, status: int) -> TransportError:
    """What a proxy's own refusal means."""
    try:
        words = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        words = str(status)
    hint = "NO_PROXY names hosts to reach without a proxy"
    if status == 407:
        hint = "give its user and password in the variable: http://USER:PASSWORD@HOST:PORT"
    return TransportError(
        "proxy",
        f"the proxy {proxy.place} does not let {url.place} be reached: {words}",
        retriable=may_pass(status),
        hint=hint,
        status=status,
    )
