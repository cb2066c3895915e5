"""What can go wrong with an exchange, and with what was to be fetched by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from mmscore.error_text import without_secrets
from mmscore.errors import HubError


class TransportError(Exception):
    """No complete answer came back from one exchange.

    Attributes:
        kind: `connect`, `timeout`, `closed` (before a byte of an answer), `reset`, `truncated`,
            `odd` (no HTTP), `tls`, `proxy`, `too-large` or `aborted`.
        retriable: Whether asking again is safe and may help.
        hint: What to do about it, or None.
        status: The HTTP status, where a proxy's answer is the reason.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retriable: bool = True,
        hint: str | None = None,
        status: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retriable = retriable
        self.hint = hint
        self.status = status


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
        public_only: Whether neither its name nor a redirect may lead to an address that is not
            public, as it must be where strangers wrote the URL.
        hint: From HTTP status and the hub's error code to what the user can do.
    """

    url: str
    what: str
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    hint: Callable[[int, str], str | None] = no_hint
    public_only: bool = False

    @property
    def host(self) -> str:
        """The host and port, as errors show them; never the query, which may hold a signature."""
        return without_secrets(self.url).partition("//")[2].partition("/")[0]


def explained(target: Target, error: TransportError) -> WebError:
    """The error of a failed exchange, told of what was to be fetched."""
    hint = error.hint
    if hint is None and error.retriable:
        hint = "check the network, or take another hub or mirror"
    return WebError(
        f"cannot fetch {target.what}: {error}",
        hint=hint,
        status=error.status,
        retriable=error.retriable,
    )


def cut_short(target: Target, host: str, came: int, missing: int | None) -> WebError:
    """The error for a body that ended early."""
    whole = f" of {came + missing}" if missing is not None else ""
    return WebError(
        f"{target.what} from {host} ended after {came}{whole} bytes",
        hint="check the network, or take another hub or mirror",
        retriable=True,
    )
