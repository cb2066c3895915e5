"""What can go wrong with a request for a file, and what each library's exception means."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

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


@contextmanager
def explained(target: Target, host: str | None = None) -> Iterator[None]:
    """Turn what requests and urllib3 raise into one error that says what it means.

    Raises:
        WebError: Says whether asking again may help.
    """
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
            raise cut_short(target, host, int(inner.partial or 0), inner.expected) from error
        raise WebError(
            f"{target.what}: the connection to {host} broke: {_cause(error)}",
            hint="check the network, or take another hub or mirror",
            retriable=True,
        ) from error


def cut_short(target: Target, host: str, came: int, missing: int | None) -> WebError:
    """The error for a body that ended early."""
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
