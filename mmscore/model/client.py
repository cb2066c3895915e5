"""One chat completion: send, try again what may help, and say how it ended.

Tried again are failures that pass: no connection, time-outs, resets, answers that are no reply, and
the statuses that `web.retry` names. Any other status is the endpoint's last word. A limit that one
worker meets slows all of them, so that an endpoint is asked again once, not by everybody.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from mmscore.config.options import DEFAULT_WAIT_READY
from mmscore.errors import ConfigError, EndpointError
from mmscore.model.answer_bodies import read_body, read_lines
from mmscore.model.error_answers import MODEL_FLAGS, Flags, ReplyError
from mmscore.model.failures import Failure, refused, unanswered, unreadable
from mmscore.model.providers import OPENAI, Provider
from mmscore.model.replies import Completion
from mmscore.model.secrets import Secrets, header_secrets
from mmscore.think import ThinkRule
from mmscore.types import Reply
from mmscore.web import retry
from mmscore.web.connection import ANSWER_LIMIT, Connections
from mmscore.web.errors import TransportError
from mmscore.web.rate_limit import RateLimiter
from mmscore.web.response import Response
from mmscore.web.retry import Attempts, Clock, Others
from mmscore.web.urls import basic_authorization, parse_url

STREAM_LIMIT = 8 * ANSWER_LIMIT
"""The longest stream: each token comes in an event some hundred bytes long."""

_READY_PAUSE = 2.0
_LONGEST_READY_PAUSE = 20.0


@dataclass(frozen=True, slots=True)
class Service:
    """An endpoint and how to talk to it.

    Attributes:
        url: The whole URL of the route.
        model: The model's name there.
        api_key: The key, never shown.
        stream: Whether to ask for a stream of events.
        timeout: Seconds until one attempt must be complete.
        retries: New attempts after a failed one.
        think: How reasoning inside a reply is split off.
        provider: What kind of service it is.
        headers: Further headers, which may hold keys and are never shown.
        flags: What a user changes about it, for hints.
        wait_ready: Seconds to wait for a service that says that it is loading.
    """

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    stream: bool = False
    timeout: float = 300.0
    retries: int = 5
    think: ThinkRule = "strict"
    provider: Provider = OPENAI
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    flags: Flags = MODEL_FLAGS
    wait_ready: float = DEFAULT_WAIT_READY


completions_url = OPENAI.url


def request_options(
    generation: Mapping[str, Any], *, stream: bool, provider: Provider = OPENAI
) -> dict[str, Any]:
    """Generation options as they go into a request body: without those that steer the client."""
    return provider.options(generation, stream)


class Client:
    """Asks one service; safe to use from any number of threads.

    Attributes:
        service: Whom it asks.
        stopped: Set to end all waiting; `stop` sets it and wakes who waits.
        reached: Whether the endpoint has ever answered anything.
        connections: The kept-alive connections.
        limiter: How many requests may be under way.
    """

    def __init__(
        self,
        service: Service,
        notice: Callable[[str], None] = lambda _: None,
        clock: Clock | None = None,
    ) -> None:
        """Get ready; nothing is sent yet.

        Args:
            service: Whom to ask.
            notice: Who hears of waits that a user would wonder about.
            clock: What tells the time; that of this machine by default.

        Raises:
            ConfigError: The URL or the key cannot be sent.
        """
        self.service = service
        self.stopped = threading.Event()
        self.reached = False
        self.connections = Connections(parse_url(service.url))
        self._clock = clock or retry.SYSTEM
        self.limiter = RateLimiter(self._clock)
        self._notice = notice
        self._loading_until: float | None = None
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream" if service.stream else "application/json",
            "User-Agent": "mmscore",
            **_key_headers(service),
            **service.headers,
        }
        own = (*_key_headers(service).values(), *service.headers.values())
        self._secrets = Secrets(
            [service.api_key, *(part for value in own for part in header_secrets(value))]
        )
        self._head = self.connections.head("POST", headers)

    @property
    def place(self) -> str:
        """`host:port` of the endpoint."""
        return self.connections.url.place

    def ask(self, body: Sequence[bytes]) -> Reply:
        """Send `body` until it is answered or no new attempt can help; return how it ended.

        Raises:
            EndpointError: A proxy wants a password, or nothing is left to pay with: so it is for
                this request and any other.
            MachineError: This machine has no descriptor left to connect with.
        """
        clock, limiter = self._clock, self.limiter
        attempts = Attempts(self.service.retries, self.service.timeout * 2, clock)
        passed = limiter.passed
        answer: Failure | None = None
        while True:
            queued = clock.now()
            if not limiter.enter(self.stopped):
                return self._ended(answer or Failure("error", "stopped", False), None, attempts)
            began = clock.now()
            attempts.excuse(began - queued)
            attempts.made += 1
            outcome = self._counted(body)
            if isinstance(outcome, Reply):
                seconds = clock.now() - began
                limiter.leave(passed=True)
                return replace(
                    outcome,
                    seconds=attempts.seconds,
                    answer_seconds=seconds,
                    attempts=attempts.made,
                )
            if outcome.quota:
                limiter.leave(passed=False)
                raise self._unpaid(outcome)
            if self._waits_until_ready(outcome):
                continue
            fault = outcome.fault(reached=self.reached)
            others = Others(limiter.passed > passed, limiter.passed > 0, limiter.rounds)
            passed = limiter.passed
            wait = None if self.stopped.is_set() else attempts.next_wait(fault, others)
            if fault.limited and wait is not None:
                limiter.limited(outcome.wait)
            else:  # a request that is given up holds nobody back
                limiter.leave(passed=False)
            if outcome.http_status is not None:
                answer = outcome
            if wait is None or clock.wait(self.stopped, wait):
                return self._ended(answer or outcome, outcome, attempts)

    def close(self) -> None:
        """Close idle connections."""
        self.connections.close()

    def stop(self) -> None:
        """End all waiting for a next attempt."""
        self.stopped.set()
        self.limiter.wake()

    def abort(self) -> None:
        """Stop all waiting and end all requests in flight."""
        self.stop()
        self.connections.abort()

    def _counted(self, body: Sequence[bytes]) -> Reply | Failure:
        """One attempt; one that raises is counted as ended."""
        try:
            return self._attempt(body)
        except BaseException:
            self.limiter.leave(passed=False)
            raise

    def _attempt(self, body: Sequence[bytes]) -> Reply | Failure:
        service = self.service
        began = self._clock.now()
        try:
            deadline = self.connections.deadline(service.timeout)
            with self.connections.ask(self._head, body, deadline=deadline) as answer:
                self.reached = True
                if 200 <= answer.status < 300:
                    return self._read(answer, began)
                text = self._secrets.text(answer.read(ANSWER_LIMIT).decode("utf-8", "replace"))
                return refused(answer, text, service.url, service.flags, self._clock)
        except ReplyError as error:
            return unreadable(error, service.flags)
        except TransportError as error:
            if error.status == 407:
                raise EndpointError(str(error), hint=error.hint) from None
            return unanswered(error, stream=service.stream)

    def _read(self, answer: Response, began: float) -> Reply:
        """The reply in a success.

        Raises:
            ReplyError: There is none.
            TransportError: It ended early.
        """
        service, clean = self.service, self._secrets.text
        if not service.stream and "event-stream" not in answer.headers.get("content-type", ""):
            text = clean(answer.read(ANSWER_LIMIT).decode("utf-8-sig", "replace"))
            return self._reply(read_body(text, service.provider, service.think), answer, None)
        first: list[float] = []
        found = read_lines(
            map(clean, answer.lines(STREAM_LIMIT)),
            service.provider,
            service.think,
            lambda: first.append(self._clock.now() - began),
        )
        return self._reply(found, answer, first[0] if first else None)

    def _reply(self, found: Completion, answer: Response, first: float | None) -> Reply:
        reply = Reply(
            status=found.status,
            text=found.text,
            reasoning=found.reasoning,
            finish_reason=found.finish_reason,
            usage=found.usage,
            first_token_seconds=first,
            http_status=answer.status,
        )
        return self._secrets.reply(reply)

    def _unpaid(self, outcome: Failure) -> EndpointError:
        return EndpointError(
            f"the endpoint {self.place} wants to be paid before it goes on: "
            f"{self._secrets.error(outcome.message)}",
            hint="what was answered is kept; go on later with --resume",
        )

    def _waits_until_ready(self, outcome: Failure) -> bool:
        """Whether a service that has never answered is waited for, because it is loading."""
        if not outcome.loading or self.limiter.passed or self.stopped.is_set():
            return False
        now = self._clock.now()
        if self._loading_until is None:
            self._loading_until = now + self.service.wait_ready
            if self.service.wait_ready > 0:
                words = self._secrets.error(outcome.message)
                self._notice(
                    f"the endpoint {self.place} is not ready ({words}): waiting up to "
                    f"{self.service.wait_ready:g} s (--wait-ready)"
                )
        left = self._loading_until - now
        if left <= 0:
            return False
        pause = min(outcome.wait or _READY_PAUSE, _LONGEST_READY_PAUSE, left)
        self.limiter.not_ready(pause)
        return True

    def _ended(self, told: Failure, last: Failure | None, attempts: Attempts) -> Reply:
        """How it ended without a reply.

        Args:
            told: The last word of the service, or what happened where it said nothing.
            last: How the last attempt ended.
            attempts: Those that were made.
        """
        message = told.message
        if last is not None and last is not told:
            message += f"; then {last.message}"
        return Reply(
            status=told.status,
            seconds=attempts.seconds,
            attempts=attempts.made,
            error=self._secrets.error(message),
            http_status=told.http_status,
            hint=told.hint,
            hopeless=told.hopeless,
        )


def _key_headers(service: Service) -> Mapping[str, str]:
    """The headers that carry the key, else the `user:password@` of the URL.

    A line break at the end of a key comes from the file it was read from and is left out.

    Raises:
        ConfigError: A character of the key cannot be in a header; the key itself is not shown.
    """
    key = (service.api_key or "").strip()
    if not (key.isascii() and key.isprintable()):
        at = next(i for i, c in enumerate(key, 1) if not (c.isascii() and c.isprintable()))
        raise ConfigError(
            f"character {at} of the API key is none that a key can have, expected printable ASCII",
            hint="look for a line break or a typographic dash copied along with it",
        )
    headers = dict(service.provider.headers(key or None))
    if not key and (basic := basic_authorization(urlsplit(service.url))):
        headers["Authorization"] = basic
    return headers
