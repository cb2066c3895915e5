"""One attempt that brought no reply: why, whether another may, and what to do about it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mmscore.error_text import without_secrets
from mmscore.model.error_answers import (
    Flags,
    ReplyError,
    error_words,
    excerpt,
    hint_for,
    means_quota,
    status_in,
)
from mmscore.types import Status
from mmscore.web.errors import TransportError
from mmscore.web.response import bounded_json
from mmscore.web.retry import LONGEST_ASKED, Clock, Fault, asked_wait, asks_again, may_pass

if TYPE_CHECKING:
    from mmscore.web.response import Response

HOPELESS = frozenset({401, 403, 404})
"""Statuses that no other request will escape."""

_OVERLOADED = re.compile("overload|busy|capacity|too many|queue|quota|rate")
"""What a service says that runs, but has too much to do."""

_BROKEN_OFF = frozenset({"closed", "reset", "truncated", "odd"})


@dataclass(frozen=True, slots=True)
class Failure:
    """One attempt that brought no reply.

    Attributes:
        status: How the sample ends, if it was the last.
        message: Why.
        retriable: Whether a new attempt may help.
        http_status: The status of the answer, where there was one.
        wait: Seconds that the service asked to wait.
        hint: What to do about it.
        hopeless: Whether no other request can end better, if none has.
        quota: Whether nothing is left to pay with.
        loading: Whether the service says that it is not ready yet.
        unreached: Whether no connection stood.
    """

    status: Status
    message: str
    retriable: bool
    http_status: int | None = None
    wait: float | None = None
    hint: str | None = None
    hopeless: bool = False
    quota: bool = False
    loading: bool = False
    unreached: bool = False

    def fault(self, *, reached: bool) -> Fault:
        """What the rule of new attempts needs to know of it."""
        return Fault(
            retriable=self.retriable,
            asked=self.wait,
            limited=self.http_status == 429,
            unreached=self.unreached and not reached,
        )


def refused(answer: Response, body: str, url: str, flags: Flags, clock: Clock) -> Failure:
    """The failure that an answer is whose status is none of success."""
    status = answer.status
    if 300 <= status < 400:
        target = answer.headers.get("location", "another place")
        message = f"the endpoint redirects to `{excerpt(target)}`; give that URL"
        return Failure("error", message, False, status)
    words = error_words(body)
    message = f"HTTP {status}: {words}"
    if status == 404:
        message += f" (asked at {without_secrets(url)})"
    try:
        data = bounded_json(body)
    except ValueError:
        data = None
    if status not in HOPELESS and status_in(data) == 404 and status < 500:
        status_meant = 404  # an unknown model told as a bad request
    else:
        status_meant = status
    again = asks_again(answer.headers)
    retriable = may_pass(status) if again is None else again
    wait = asked_wait(answer.headers, clock) if retriable else None
    if wait is not None and wait > LONGEST_ASKED:
        message += f" (the endpoint asks to wait {wait:.0f} s)"
    return Failure(
        "error",
        message,
        retriable,
        status,
        wait,
        hint=hint_for(status, words, flags),
        hopeless=status_meant in HOPELESS,
        quota=means_quota(status, data),
        loading=status == 503 and not _OVERLOADED.search(words.lower()),
    )


def unreadable(error: ReplyError, flags: Flags) -> Failure:
    """The failure that a success is in which there is no reply."""
    status = error.status
    return Failure(
        "error",
        str(error),
        retriable=not error.other_form and (status is None or may_pass(status)),
        http_status=status,
        hint=hint_for(status, error.words, flags),
        hopeless=error.other_form or status in HOPELESS,
        quota=error.quota,
        loading=status == 503 and not _OVERLOADED.search(error.words.lower()),
    )


def unanswered(error: TransportError, *, stream: bool) -> Failure:
    """The failure that an exchange is which brought no answer."""
    status: Status = "timeout" if error.kind == "timeout" else "error"
    words = f"{error}; {error.hint}" if error.hint else str(error)
    hint = error.hint
    if hint is None and error.kind in _BROKEN_OFF:
        what = "streams" if stream else "requests"
        hint = f"servers that break off parallel {what} need a lower --concurrency"
    return Failure(
        status,
        words,
        error.retriable,
        error.status,
        hint=hint,
        unreached=error.kind in ("connect", "tls"),
    )
