"""A connection of which no call outlasts its exchange, and the one deadline that holds for all.

Looking up a name, connecting, shaking hands, sending and receiving all wait in the same way: for a
slice of time at most, after which the deadline says whether to go on. So a byte now and then holds
nobody for ever, and whoever tells a deadline's owner to stop is heard within a slice.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from mmscore.errors import machine_error
from mmscore.web.errors import TransportError

SLICE = 1.0
"""Seconds that a call waits at most before it looks at the deadline."""

CONNECT_TIMEOUT = 10.0
"""Seconds in which a connection must stand: name, TCP, proxy and TLS together."""

_PIECES_AT_ONCE = 64
"""Fewer than any system's limit for one `sendmsg`."""

_KERNEL_WAITS = os.name == "posix"
"""Whether the system bounds a blocking call by itself; elsewhere Python polls before each call,
which gives the interpreter away twice as often."""

Address = tuple[int, int, int, str, Any]
"""Family, kind, protocol, name and place, as `getaddrinfo` tells them."""


class Deadline:
    """Until when one exchange may go on.

    Attributes:
        place: With whom, for errors.
    """

    __slots__ = ("_at_last", "_clock", "_end", "_seconds", "_stopped", "place")

    def __init__(
        self,
        seconds: float,
        place: str,
        stopped: threading.Event,
        clock: Callable[[], float] = time.monotonic,
        at_last: float = float("inf"),
    ) -> None:
        """Begin now.

        Args:
            seconds: How long it may take.
            place: With whom.
            stopped: Set where nobody waits for it any more.
            clock: What tells the time.
            at_last: When it must have ended by the clock, extended or not.
        """
        self.place = place
        self._clock = clock
        self._stopped = stopped
        self._seconds = seconds
        self._at_last = at_last
        self._end = min(clock() + seconds, at_last)

    def slice(self) -> float:
        """Seconds that the next call may wait: those that are left, and at most a slice.

        Raises:
            TransportError: None are left, or it was stopped.
        """
        if self._stopped.is_set():
            raise TransportError("aborted", "the run was stopped", retriable=False)
        left = self._end - self._clock()
        if left <= 0:
            raise TransportError(
                "timeout", f"no answer from {self.place} within {self._seconds:g} s"
            )
        return min(left, SLICE)

    def extend(self, seconds: float) -> None:
        """Let it go on for so long from now, because it has come further."""
        self._end = min(self._clock() + seconds, self._at_last)

    def within(self, seconds: float) -> Deadline:
        """One for a part of it, which may take so long at most."""
        left = self._end - self._clock()
        return Deadline(min(left, seconds), self.place, self._stopped, self._clock)


class Wire:
    """A connected socket.

    Attributes:
        socket: The socket, plain or TLS.
        deadline: That of the exchange under way.
        cut: Whether a request was not sent whole, so that nothing may follow it.
    """

    __slots__ = ("_bound", "_plain", "cut", "deadline", "socket")

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self.socket = connected
        self.deadline = deadline
        self.cut = False
        self._bound = 0.0
        self._plain = _KERNEL_WAITS and type(connected) is socket.socket
        if self._plain:
            connected.settimeout(None)

    def receive(self, most: int) -> bytes:
        """At most so many bytes, at least one; none where the other side has ended.

        Raises:
            TransportError: Nothing came in time, or the connection broke.
        """
        while True:
            self._bind(self.deadline.slice())
            try:
                return self.socket.recv(most)
            except (BlockingIOError, TimeoutError):
                continue
            except OSError as error:
                raise TransportError(
                    "reset", f"{self.deadline.place} closed the connection: {os_words(error)}"
                ) from error

    def send(self, pieces: Sequence[bytes]) -> None:
        """Send the pieces; where the other side answers in their midst or hangs up, only some.

        Servers do so that find a body too large: what they said is there to be received.

        Raises:
            TransportError: They did not go out in time.
        """
        left = [memoryview(piece) for piece in pieces if piece]
        if not self._plain:
            left = [memoryview(b"".join(left))]
        self.cut = True
        while left:
            self._bind(self.deadline.slice())
            try:
                # One call for all of it: each lets another thread run.
                sent = (
                    self.socket.sendmsg(left[:_PIECES_AT_ONCE])
                    if self._plain
                    else self.socket.send(left[0])
                )
            except (BlockingIOError, TimeoutError):
                if self.readable():
                    return
                continue
            except OSError:
                return
            while left and sent >= len(left[0]):
                sent -= len(left.pop(0))
            if left and sent:
                left[0] = left[0][sent:]
        self.cut = False

    def readable(self) -> bool:
        """Whether there is something to receive, be it the end of the connection."""
        return ready(self.socket, writing=False, seconds=0)

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError):
            self.socket.close()

    def _bind(self, seconds: float) -> None:
        """Let no call on the socket wait longer than that."""
        if seconds == self._bound:
            return
        self._bound = seconds
        if not self._plain:
            self.socket.settimeout(seconds)
            return
        whole = int(seconds)
        # Nought would mean for ever.
        value = struct.pack("@ll", whole, max(1, int((seconds - whole) * 1e6)))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, value)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, value)


def ready(one: socket.socket, *, writing: bool, seconds: float) -> bool:
    """Whether a socket can be read or written within so many seconds."""
    if hasattr(select, "poll"):  # `select` alone knows no descriptors above 1,023
        poll = select.poll()
        poll.register(one, select.POLLOUT if writing else select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    asked = [one]
    return any(select.select([] if writing else asked, asked if writing else [], [], seconds))


def resolve(host: str, port: int, deadline: Deadline) -> list[Address]:
    """The addresses of a host.

    Raises:
        TransportError: There are none, or nobody told in time.
        MachineError: This machine has no descriptor left to ask with.
    """
    found: list[Address] = []
    errors: list[OSError | UnicodeError] = []
    done = threading.Event()

    def ask() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            errors.append(error)
        finally:
            done.set()

    # The system's resolver cannot be interrupted: it is left behind where it takes too long.
    try:
        threading.Thread(target=ask, name="resolver", daemon=True).start()
    except RuntimeError:  # no more threads: then it is asked here
        ask()
    while not done.wait(deadline.slice()):
        pass
    for error in errors:
        with suppress(OSError):
            _new_socket(socket.AF_INET).close()  # tells whether descriptors are what is missing
        raise TransportError("connect", f"cannot find `{host}`: {os_words(error)}") from error
    return found


def connect(addresses: Sequence[Address], place: str, deadline: Deadline) -> socket.socket:
    """A socket connected to the first of the addresses that takes it; `place` is for errors.

    Raises:
        TransportError: None does in time; says why the last did not.
        MachineError: This machine has no descriptor left.
    """
    error: OSError = OSError("no address")
    for number, (family, _, _, _, address) in enumerate(addresses):
        share = deadline.within(CONNECT_TIMEOUT / (len(addresses) - number))
        one = _new_socket(family)
        try:
            _connect(one, address, share)
        except OSError as found:
            error = found
            one.close()
        except TransportError as found:
            one.close()
            if found.kind == "aborted":
                raise
            error = TimeoutError("timed out")
        except BaseException:
            one.close()
            raise
        else:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return one
    raise TransportError("connect", f"cannot connect to {place}: {os_words(error)}") from error


def _new_socket(family: int) -> socket.socket:
    try:
        return socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise machine_error(error, "opening a connection") or error from None


def _connect(one: socket.socket, address: Any, deadline: Deadline) -> None:
    one.setblocking(False)
    try:
        one.connect(address)
    except BlockingIOError:
        while not ready(one, writing=True, seconds=deadline.slice()):
            pass
        fault = one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if fault:
            raise OSError(fault, os.strerror(fault)) from None


def os_words(error: BaseException) -> str:
    """What the system says went wrong."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
