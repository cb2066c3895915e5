"""One chat completion: send, retry what may help, and say how it ended.

Retried are failures that pass: no connection, time-outs, resets, answers that are no completion,
and the statuses 408, 409, 425, 429 and 5xx. Any other status is the endpoint's last word. A limit
that one worker meets slows all of them, so that an endpoint is asked again once, not by everybody.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from mmscore.config.task import CLIENT_OPTIONS
from mmscore.error_text import without_secrets
from mmscore.errors import ConfigError, EndpointError
from mmscore.model.replies import (
    Completion,
    ReplyError,
    StreamReader,
    ThinkRule,
    error_words,
    excerpt,
    read_completion,
    read_events,
)
from mmscore.types import Reply, Status
from mmscore.web.connection import ANSWER_LIMIT, Connections
from mmscore.web.errors import TransportError
from mmscore.web.rate_limit import LONGEST_OWN_WAIT, Gate, backoff
from mmscore.web.response import Response
from mmscore.web.urls import basic_authorization, parse_url

RETRIED_STATUSES = frozenset({408, 409, 425, 429})
LONGEST_RETRY_AFTER = 120.0
"""An endpoint that asks for more patience than this is reported, not waited for."""

LIMITED_RETRIES = 4
"""A 429 says that the request was fine: it may be tried this many times as often."""

SINGLED_OUT_RETRIES = 2
"""Unless others were answered in between: then it is this request that the endpoint will not take,
for being too large say, and it may be tried this many times as often."""

STREAM_LIMIT = 8 * ANSWER_LIMIT
"""The longest stream: each token comes in an event some hundred bytes long."""

UNREACHED_RETRIES = 2
"""New attempts at an endpoint that has never answered: a wrong address should be told soon."""

_HINTS = {
    400: "the endpoint refuses this request; --dry-run shows what is sent",
    401: "check the API key: --api-key or MMSCORE_API_KEY",
    403: "the API key is not allowed to use this model or endpoint",
    404: "check --api-url and --model",
    413: "send smaller images with --max-image-bytes",
    422: "the endpoint does not take an option of this request; --dry-run shows what is sent",
}


@dataclass(frozen=True, slots=True)
class Service:
    """An endpoint and how to talk to it.

    Attributes:
        url: The whole URL of the chat completions route.
        model: The model's name there.
        api_key: The bearer token, never shown.
        stream: Whether to ask for a stream of events.
        timeout: Seconds until one attempt must be complete.
        retries: New attempts after a failed one.
        think: How reasoning inside a reply is split off.
    """

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    stream: bool = False
    timeout: float = 300.0
    retries: int = 5
    think: ThinkRule = "strict"


def completions_url(api_url: str) -> str:
    """The chat completions route of an endpoint given as a host, `.../v1` or the whole route.

    Raises:
        ConfigError: It is no http(s) URL.
    """
    parse_url(api_url)
    parts = urlsplit(api_url)
    path = parts.path.rstrip("/")
    if not path.endswith("/chat/completions"):
        if path.endswith("/completions"):
            given = without_secrets(api_url)
            raise ConfigError(
                f"`{given}` is the route of text completions, which take no images",
                hint="give the URL up to /v1",
            )
        path += "/chat/completions" if path else "/v1/chat/completions"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def request_options(generation: Mapping[str, Any], *, stream: bool) -> dict[str, Any]:
    """Generation options as they go into a request body: without those that steer the client."""
    options = {k: v for k, v in generation.items() if k not in CLIENT_OPTIONS}
    extra = options.pop("extra_body", None)
    if isinstance(extra, Mapping):
        options.update(extra)  # as the OpenAI client does
    if stream:
        options = {"stream": True, "stream_options": {"include_usage": True}, **options}
    return options


@dataclass(frozen=True, slots=True)
class Failure:
    """One attempt that brought no completion."""

    status: Status
    message: str
    retriable: bool
    http_status: int | None = None
    wait: float | None = None
    kind: str | None = None


class Client:
    """Asks one service; safe to use from any number of threads.

    Attributes:
        service: Whom it asks.
        stopped: Set to end all waiting.
        reached: Whether the endpoint has ever answered anything.
        connections: The kept-alive connections.
    """

    def __init__(self, service: Service) -> None:
        """Get ready; nothing is sent yet.

        Raises:
            ConfigError: The URL or the key cannot be sent.
        """
        self.service = service
        self.stopped = threading.Event()
        self.reached = False
        self.connections = Connections(parse_url(service.url))
        self._gate = Gate()
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream" if service.stream else "application/json",
            "User-Agent": "mmscore",
        }
        authorization = _authorization(service)
        if authorization:
            headers["Authorization"] = authorization
        self._head = self.connections.head("POST", headers)

    @property
    def place(self) -> str:
        """`host:port` of the endpoint."""
        return self.connections.url.place

    def ask(self, body: Sequence[bytes]) -> Reply:
        """Send `body` until it is answered or no new attempt can help; return how it ended.

        Raises:
            EndpointError: A proxy wants a password, for this request and any other.
            MachineError: This machine has no descriptor left to connect with.
        """
        started = time.monotonic()
        patience = self.service.timeout * 2
        attempts = singled_out = 0
        passed = self._gate.passed
        while True:
            if not self._gate.enter(self.stopped):
                seconds = time.monotonic() - started
                return Reply("error", seconds=seconds, attempts=attempts, error="stopped")
            attempts += 1
            outcome = self._attempt(body)
            seconds = time.monotonic() - started
            if isinstance(outcome, Reply):
                self._gate.leave(passed=True)
                return replace(outcome, seconds=seconds, attempts=attempts)
            if outcome.http_status == 429:
                singled_out += self._gate.passed > passed
                passed = self._gate.passed
            wait = self._wait_before_next(outcome, attempts, singled_out)
            if outcome.http_status == 429 and wait is not None:
                self._gate.limited(outcome.wait)
            else:  # a request that is given up holds nobody back
                self._gate.leave(passed=False)
            if wait is None or seconds + wait > patience or self.stopped.wait(wait):
                return Reply(
                    status=outcome.status,
                    seconds=seconds,
                    attempts=attempts,
                    error=self._clean(outcome.message),
                    http_status=outcome.http_status,
                )

    def close(self) -> None:
        """Close idle connections."""
        self.connections.close()

    def abort(self) -> None:
        """Stop all waiting and end all requests in flight."""
        self.stopped.set()
        self.connections.abort()

    def _wait_before_next(self, failure: Failure, attempts: int, singled_out: int) -> float | None:
        """Seconds to wait before a new attempt; None where none is made."""
        retries = self.service.retries
        if failure.http_status == 429:
            # Rounds that nobody passes count for all: fewer where nobody ever has, as with a quota
            # of nothing.
            patient = LIMITED_RETRIES * retries
            rounds = patient if self._gate.passed else retries
            if singled_out > SINGLED_OUT_RETRIES * retries or self._gate.closed_in_a_row > rounds:
                return None
            retries = patient
        elif not self.reached and failure.kind in ("connect", "tls"):
            retries = min(retries, UNREACHED_RETRIES)
        if not failure.retriable or attempts > retries or self.stopped.is_set():
            return None
        own = backoff(attempts)
        if failure.http_status == 429:
            own = min(own, LONGEST_OWN_WAIT)  # the gate holds it back for longer
        if failure.wait is None:
            return own
        if failure.wait > LONGEST_RETRY_AFTER:
            return None
        # The endpoint's word holds, but one that always says "at once" must not be hammered.
        return failure.wait if attempts == 1 else max(failure.wait, own)

    def _attempt(self, body: Sequence[bytes]) -> Reply | Failure:
        service = self.service
        started = time.monotonic()
        try:
            deadline = self.connections.deadline(service.timeout)
            with self.connections.ask(self._head, body, deadline=deadline) as answer:
                self.reached = True
                if answer.status != 200:
                    return _refusal(answer, service.url)
                if service.stream and "event-stream" in answer.headers.get("content-type", ""):
                    return _read_stream(answer, started, service.think)
                return _reply(read_completion(answer.read(ANSWER_LIMIT), service.think))
        except ReplyError as error:
            retriable = error.status is None or _may_pass(error.status)
            return Failure("error", str(error), retriable, error.status)
        except TransportError as error:
            status: Status = "timeout" if error.kind == "timeout" else "error"
            if error.status == 407:
                raise EndpointError(str(error), hint=error.hint) from None
            words = f"{error}; {error.hint}" if error.hint else str(error)
            return Failure(status, words, error.retriable, error.status, kind=error.kind)

    def _clean(self, message: str) -> str:
        key = (self.service.api_key or "").strip()
        return message.replace(key, "***") if len(key) >= 4 else message


def _authorization(service: Service) -> str | None:
    """The Authorization header: the key, else the `user:password@` of the URL.

    A line break at the end of a key comes from the file it was read from and is left out.

    Raises:
        ConfigError: A character of the key cannot be in a header; the key itself is not shown.
    """
    key = (service.api_key or "").strip()
    if not key:
        return basic_authorization(urlsplit(service.url))
    if not (key.isascii() and key.isprintable()):
        at = next(i for i, c in enumerate(key, 1) if not (c.isascii() and c.isprintable()))
        raise ConfigError(
            f"character {at} of the API key is none that a key can have, expected printable ASCII",
            hint="look for a line break or a typographic dash copied along with it",
        )
    return f"Bearer {key}"


def _may_pass(status: int) -> bool:
    return status in RETRIED_STATUSES or status >= 500


def _refusal(answer: Response, url: str) -> Failure:
    """The failure that an answer other than 200 is."""
    status = answer.status
    body = answer.read(ANSWER_LIMIT).decode("utf-8", errors="replace")
    if 300 <= status < 400:
        target = answer.headers.get("location", "another place")
        return Failure(
            "error", f"the endpoint redirects to `{excerpt(target)}`; give that URL", False, status
        )
    message = f"HTTP {status}: {error_words(body)}"
    if status == 404:
        message += f" (asked at {without_secrets(url)})"
    wait = retry_after(answer.headers.get("retry-after")) if _may_pass(status) else None
    if wait is not None and wait > LONGEST_RETRY_AFTER:
        message += f" (the endpoint asks to wait {wait:.0f} s)"
    return Failure("error", message, _may_pass(status), status, wait)


def hint_for(http_status: int | None, message: str) -> str | None:
    """What to do about a failure with that status."""
    words = message.lower()
    if (
        http_status in (400, 413, 422)
        and "image" in words
        and ("large" in words or "size" in words)
    ):
        return _HINTS[413]
    return _HINTS.get(http_status) if http_status is not None else None


def retry_after(value: str | None) -> float | None:
    """Seconds in a Retry-After header, given as seconds or as a date; None without a usable one."""
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _reply(completion: Completion, first_token_seconds: float | None = None) -> Reply:
    return Reply(
        status=completion.status,
        text=completion.text,
        reasoning=completion.reasoning,
        finish_reason=completion.finish_reason,
        usage=completion.usage,
        first_token_seconds=first_token_seconds,
        http_status=200,
    )


def _read_stream(answer: Response, started: float, think: ThinkRule) -> Reply:
    reader = StreamReader()
    first: float | None = None
    for event in read_events(answer.lines(STREAM_LIMIT)):
        if reader.add(event) and first is None:
            first = time.monotonic() - started
    return _reply(reader.completion(think), first)
