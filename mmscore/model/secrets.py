"""Keys kept out of what is written and shown, also where a server sends them back."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote

from mmscore.types import Reply

_MASK = "***"
_LEAST = 4
"""Characters below which a word is no secret, but too common to be taken out of a text."""

_LEAST_IN_REPLY = 8
"""Of a reply, longer words alone are masked: a key `EMPTY` or `none` may well be an answer."""


class Secrets:
    """What must not be written: keys, in the forms in which they were sent."""

    def __init__(self, values: Iterable[str | None]) -> None:
        """Take the values; white space around them does not count."""
        known = [value.strip() for value in values if value]
        forms = {form for value in known for form in (value, quote(value), quote(value, safe=""))}
        # The longest first: one may hold another.
        ordered = sorted((one for one in forms if len(one) >= _LEAST), key=len, reverse=True)
        self._in_errors = tuple(ordered)
        self._in_replies = tuple(
            one for one in ordered if len(one) >= _LEAST_IN_REPLY and not one.isalpha()
        )

    def error(self, text: str) -> str:
        """An error's sentence without them, nor the beginning of one where it was cut short."""
        for secret in self._in_errors:
            text = text.replace(secret, _MASK)
            for length in range(len(secret) - 1, _LEAST - 1, -1):
                if f"{secret[:length]}..." in text:
                    text = text.replace(f"{secret[:length]}...", f"{_MASK}...")
        return text

    def text(self, text: str) -> str:
        """What a server sent, without them."""
        for secret in self._in_replies:
            if secret in text:
                text = text.replace(secret, _MASK)
        return text

    def reply(self, reply: Reply) -> Reply:
        """A reply without them, whichever way its text was put together."""
        whole = f"{reply.text}\0{reply.reasoning}\0{reply.finish_reason}"
        if not any(secret in whole for secret in self._in_replies):
            return reply
        return replace(
            reply,
            text=self.text(reply.text),
            reasoning=None if reply.reasoning is None else self.text(reply.reasoning),
            finish_reason=reply.finish_reason and self.text(reply.finish_reason),
        )


def header_secrets(value: str) -> tuple[str, ...]:
    """What is secret in a header's value: all of it, and what follows `Bearer` or `Basic`."""
    found = re.fullmatch(r"(?i)(?:bearer|basic|token)\s+(.+)", value.strip())
    return (value, found[1]) if found else (value,)
