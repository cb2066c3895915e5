"""The kinds of services that can be asked: one small file each, and a row here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mmscore.model.error_answers import ReplyError, excerpt
from mmscore.model.providers.anthropic import ANTHROPIC
from mmscore.model.providers.base import Provider
from mmscore.model.providers.openai import DASHSCOPE, OPENAI
from mmscore.model.providers.responses import RESPONSES

PROVIDERS: tuple[Provider, ...] = (OPENAI, RESPONSES, ANTHROPIC)
"""Those that a task can name."""

_BY_HOST = (("dashscope", DASHSCOPE),)
"""Dialects of the first one, told by the host's name."""

_OTHER_FORMS = {
    "Ollama's own interface": ("message", "done"),
    "Gemini's own interface": ("candidates",),
    "a text completion": ("content", "stop", "tokens_predicted"),
}
"""Replies of interfaces that are not asked, by fields that they have."""


def provider_of(name: str | None, api_url: str) -> Provider:
    """The kind of service that a task names, or that its address belongs to.

    Args:
        name: Its own name or EvalScope's `eval_type`; whatever else a task may say there means
            the first kind.
        api_url: Its address.
    """
    provider = next((one for one in PROVIDERS if name in (one.name, one.eval_type)), OPENAI)
    host = (urlsplit(api_url).hostname or "").lower()
    if provider is OPENAI:
        return next((dialect for part, dialect in _BY_HOST if part in host), OPENAI)
    return provider


def other_form(data: Mapping[str, Any], provider: Provider) -> ReplyError | None:
    """The error of a reply in the form of another provider; None where it has none of them."""
    for one in PROVIDERS:
        if one.name != provider.name and one.is_reply(data):
            return _other(one.title, f"give {one.flag}", data)
    for title, names in _OTHER_FORMS.items():
        if all(name in data for name in names):
            return _other(title, "give the URL of its OpenAI-compatible route", data)
    return None


def _other(title: str, hint: str, data: Mapping[str, Any]) -> ReplyError:
    return ReplyError(
        f"the endpoint answers in the form of {title}: {hint}",
        words=excerpt(str(data)),
        other_form=True,
    )


__all__ = [
    "ANTHROPIC",
    "DASHSCOPE",
    "OPENAI",
    "PROVIDERS",
    "RESPONSES",
    "Provider",
    "other_form",
    "provider_of",
]
