"""Reasoning inside a reply, split off: by the reference's rule, and by the stricter default.

The text that is scored equals the reference's (EvalScope 1.14.1) where the reference splits at all:
it removes the first complete `<think>...</think>` block.
"""

from __future__ import annotations

import re
from typing import Literal

ThinkRule = Literal["strict", "reference"]
"""`reference` removes the first complete block only; `strict` also reads past an unopened
`</think>` and takes a never-closed `<think>` for an answer that never came."""

_THINK_OPEN = re.compile(r'<think(?:\s+signature="[^"]*")?(?:\s+redacted="true")?\s*>')
_THINK_CLOSE = "</think>"


def split_think(text: str) -> tuple[str, str | None]:
    """`text` without its first complete `<think>` block, and what the block held.

    The remainder is stripped only if a block was removed, as EvalScope 1.14.1 does.
    """
    opened = _THINK_OPEN.search(text)
    # One search for each tag: where the first has no end, none has, and looking again from each
    # of many tags would take quadratic time.
    close = text.find(_THINK_CLOSE, opened.end()) if opened else -1
    if opened is None or close < 0:
        return text, None
    rest = text[: opened.start()] + text[close + len(_THINK_CLOSE) :]
    return rest.strip(), text[opened.end() : close].strip()


def split_unpaired(text: str) -> tuple[str, str | None]:
    """`text` past an unopened `</think>`, or none of it from a never-closed `<think>`; the rest."""
    close = text.find(_THINK_CLOSE)
    if close >= 0 and "<think" not in text[:close]:
        at = text.rfind(_THINK_CLOSE, 0, _next_open(text, close))
        return text[at + len(_THINK_CLOSE) :].strip(), text[:at].strip()
    opened = text.rfind("<think>")
    if opened >= 0 and _THINK_CLOSE not in text[opened:]:
        return "", text[opened + len("<think>") :].strip()
    return text, None


def _next_open(text: str, start: int) -> int:
    at = text.find("<think", start)
    return len(text) if at < 0 else at
