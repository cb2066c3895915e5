"""What a service says when it gives no reply: its words, what they mean, and what to do about it.

Errors come as HTTP statuses, as objects in an answer that calls itself a success, as events of a
stream, and as pages of a gateway; a status is read out of each of them, so that one rule decides.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mmscore.web.response import bounded_json

_EXCERPT = 200
_PAGE = 16 * 1024
"""Characters of a page that are looked at for its title and text."""


class ReplyError(Exception):
    """The service answered with something that is no reply.

    Attributes:
        status: The HTTP status that it means, where it says one.
        words: The service's own words alone, by which hints are found.
        quota: Whether it means that nothing is left to pay with.
        other_form: Whether it is the reply of another kind of service.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        *,
        words: str = "",
        quota: bool = False,
        other_form: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.words = words or message
        self.quota = quota
        self.other_form = other_form


def excerpt(body: str) -> str:
    """The beginning of `body` on one line, for an error's sentence.

    Control characters do not pass: a server's words must not steer the terminal that shows them.
    """
    words = " ".join(body[: 4 * _EXCERPT].split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
    return line if len(line) <= _EXCERPT else line[:_EXCERPT] + "..."


# --- the words ---------------------------------------------------------------------------------


def error_words(body: str) -> str:
    """The message in an error answer, a page's title and text, else the beginning of the answer."""
    try:
        data = bounded_json(body)
    except ValueError:
        return _page_words(body) or (f"`{excerpt(body)}`" if body.strip() else "an empty answer")
    return words_in(data) or f"`{excerpt(body)}`"


def words_in(data: object) -> str | None:
    """The message in the JSON of an error answer; None where there is none."""
    for holder in _holders(data):
        if isinstance(holder, str) and holder.strip():
            return excerpt(holder)
        if isinstance(holder, Mapping):
            for key in ("message", "detail", "msg", "error_msg", "error_message", "reason"):
                value = holder.get(key)
                if isinstance(value, str) and value.strip():
                    return excerpt(value)
                if isinstance(value, (list, Mapping)) and value:
                    return excerpt(json.dumps(value, ensure_ascii=False))
    return None


def _holders(data: object) -> Iterator[object]:
    """Where an error may say what it is, the innermost first."""
    if isinstance(data, list) and len(data) == 1:
        data = data[0]  # Google wraps its errors so
    if isinstance(data, Mapping):
        inner = data.get("error")
        if isinstance(inner, Mapping) and isinstance(inner.get("error"), Mapping):
            yield inner["error"]
        if inner:
            yield inner
        yield data


def _page_words(body: str) -> str | None:
    """Title and text of an HTML page; None where the answer is none."""
    page = body[:_PAGE]
    if not re.match(r"\s*(<!doctype|<html|<head|<\?xml|<!--|<title|<body|<h1|<center)", page, re.I):
        return None
    found = re.search(r"<title[^>]{0,200}>([^<]*)", page, re.I)
    title = excerpt(_unescaped(found[1])) if found else ""
    text = re.sub(r"(?s)<!--.*?(?:-->|$)", " ", page)
    text = re.sub(r"(?is)<(script|style|head|title)\b.*?(?:</\1[^>]*>|$)", " ", text)
    text = excerpt(_unescaped(re.sub(r"<[^>]*(?:>|$)", " ", text)))
    parts = dict.fromkeys(part for part in (title, text) if part)
    return f"a page, not an answer: `{': '.join(parts)}`" if parts else "a page without words"


def _unescaped(text: str) -> str:
    import html

    return html.unescape(text)


# --- what it means -----------------------------------------------------------------------------

_STATUS_KEYS = ("code", "status", "status_code", "http_status", "http_code", "error_code")
_WORD_KEYS = ("code", "type", "status", "error_code", "reason")

_STATUS_OF_WORD = (
    (429, "rate_?limit|too_?many|throttl|resource_?exhausted|quota|insufficient"),
    (404, "not_?found|no_such_model|unknown_model"),
    (401, "api_?key|authentication|unauthori|unauthenticated"),
    (403, "permission|forbidden|access_?denied"),
    (413, "too_?large"),
    (503, "overloaded|unavailable|loading"),
    (504, "time_?out|deadline"),
    (400, "invalid|bad_?request|context_length|unsupported|content_policy|content_filter"),
    (500, "internal|server_?error|api_?error"),
)
"""What a word in place of a number means; services have many, each made of a few stems."""

_QUOTA_CODES = re.compile(
    "insufficient_?(user_)?(quota|balance|funds|credits?)|billing_(hard_limit_reached|not_active)|"
    "exceeded_current_quota(_error)?|arrearage|account_(deactivated|overdue)|payment_required|"
    "out_of_credits"
)
_QUOTA_WORDS = re.compile(
    r"insufficient[ _](quota|balance|funds|credits?)|credit balance is too low|out of credits"
)


def status_in(data: object) -> int | None:
    """The HTTP status that an error object means; None where it says none."""
    holders = [holder for holder in _holders(data) if isinstance(holder, Mapping)]
    for holder in holders:
        for key in _STATUS_KEYS:
            value = holder.get(key)
            text = str(value) if isinstance(value, (int, str)) else ""
            if re.fullmatch("[45][0-9][0-9]", text, re.ASCII):
                return int(text)
    for holder in holders:
        for word in _plain_words(holder):
            for status, stems in _STATUS_OF_WORD:
                if re.search(stems, word):
                    return status
    return None


def means_quota(status: int | None, data: object) -> bool:
    """Whether an error says that nothing is left to pay with, which no waiting mends.

    Words about a quota alone do not say so: a limit by the minute is told in the same words.
    """
    if status == 402:
        return True
    if status not in (None, 400, 403, 429):
        return False
    for holder in _holders(data):
        if isinstance(holder, Mapping) and any(
            _QUOTA_CODES.fullmatch(word) for word in _plain_words(holder)
        ):
            return True
    return bool(_QUOTA_WORDS.search((words_in(data) or "").lower()))


def _plain_words(holder: Mapping[str, Any]) -> Iterator[str]:
    """The words of an error object that say what kind it is, `RateLimit` as `rate_limit`."""
    for key in _WORD_KEYS:
        value = holder.get(key)
        if isinstance(value, str):
            snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", value[:100])
            yield re.sub(r"[^a-z0-9]+", "_", snake.lower()).strip("_")


def reported(data: Mapping[str, Any]) -> bool:
    """Whether an object is an error, whatever the answer around it calls itself."""
    return bool(data.get("error")) or "error" in (data.get("object"), data.get("type"))


def reported_error(data: Mapping[str, Any]) -> ReplyError:
    """The error that an object inside a success reports."""
    status = status_in(data)
    words = words_in(data) or f"`{excerpt(json.dumps(data, ensure_ascii=False, default=str))}`"
    code = f" {status}" if status is not None else ""
    return ReplyError(
        f"the endpoint answered with an error{code}: {words}",
        status,
        words=words,
        quota=means_quota(status, data),
    )


def no_reply(lacks: str, data: Mapping[str, Any]) -> ReplyError:
    """The error of an answer that is no reply and does not say that it is an error."""
    status = status_in(data)
    words = words_in(data) or f"`{excerpt(json.dumps(data, ensure_ascii=False, default=str))}`"
    return ReplyError(
        f"the answer has {lacks}: {words}", status, words=words, quota=means_quota(status, data)
    )


# --- what to do --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Flags:
    """What a user changes about a service: the flags of the model, or those of a judge.

    Attributes:
        url: Its address.
        model: The model's name.
        key: The API key.
        option: A generation option, with `{}` where `NAME=VALUE` goes.
    """

    url: str = "--api-url"
    model: str = "--model"
    key: str = "--api-key or MMSCORE_API_KEY"
    option: str = "--generation {}"


MODEL_FLAGS = Flags()
JUDGE_FLAGS = Flags(
    "--judge-api-url",
    "--judge-model",
    "the judge's --judge-api-key",
    "`generation_config` of its entry in --judge: {}",
)

_REFUSALS = frozenset({400, 404, 413, 415, 422})

_NO_MODEL = (
    r"model\b.{0,120}\b(not exist|not found|doesn't exist|does not exist|unknown|not available|"
    r"no access|not a valid|is invalid|not supported|isn't available)|"
    r"(unknown|invalid|no such|unsupported|nonexistent|missing) model|model_not_found"
)
_TOO_LONG = r"context.?(length|window|size)|too many tokens|input.?length|prompt is too long"
_TOO_LARGE = r"image.*(large|size|big|exceed)|(large|size|big|exceed).*image|too large"

_HINTS: tuple[tuple[frozenset[int], str, str], ...] = (
    (_REFUSALS, _NO_MODEL, "check {model}: the endpoint does not know a model of that name"),
    (
        frozenset({400, 413, 422}),
        _TOO_LONG,
        "the model's context is too short for this: send smaller images with --max-pixels, or ask "
        "for fewer tokens: {option:max_tokens=...}",
    ),
    (frozenset({400, 413, 422}), _TOO_LARGE, "send smaller images with --max-image-bytes"),
    (
        frozenset({400, 422}),
        r"max_tokens\b.*max_completion_tokens",
        "the endpoint wants that name: {option:max_completion_tokens=...}",
    ),
    (frozenset({400, 422}), "temperature", "leave it out: {option:temperature=null}"),
    (
        frozenset({400, 422}),
        r"\bstream(ing)?\b.*not",
        "the endpoint does not stream: leave out --stream",
    ),
    (frozenset({400}), "", "the endpoint refuses this request; --dry-run shows what is sent"),
    (frozenset({401}), "", "check the API key: {key}"),
    (frozenset({402}), "", "the service wants to be paid"),
    (frozenset({403}), "", "the API key is not allowed to use this model or endpoint"),
    (frozenset({404, 405}), "", "check {url} and {model}"),
    (frozenset({413}), "", "send smaller images with --max-image-bytes"),
    (
        frozenset({422}),
        "",
        "the endpoint does not take an option of this request; --dry-run shows what is sent",
    ),
)
"""Statuses, what the words must hold, and what to do; the first row that fits counts."""


def hint_for(status: int | None, words: str, flags: Flags = MODEL_FLAGS) -> str | None:
    """What to do about an error with that status and those words; None where nobody knows."""
    lowered = words.lower()
    for statuses, pattern, hint in _HINTS:
        if status in statuses and re.search(pattern, lowered):
            return _filled(hint, flags)
    return None


def _filled(hint: str, flags: Flags) -> str:
    hint = re.sub(r"\{option:(.*?)\}", lambda found: flags.option.format(found[1]), hint)
    return hint.format(url=flags.url, model=flags.model, key=flags.key)
