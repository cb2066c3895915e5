"""Text as a page carries it: inert, of bounded length, said once, without this machine's paths."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath, PureWindowsPath

TEXT_LIMIT = 20_000
"""Characters of a question, reply or reasoning that a page carries; the journal has them all."""

Pieces = list[int | str]
"""The lines of a text: its own as they are, one that samples share as its place in the list."""

_MARKUP = {ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def inert(value: object) -> str:
    """JSON that no HTML parser takes for markup, wherever in a page it stands."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.translate(_MARKUP)


def cut(text: str, limit: int = TEXT_LIMIT) -> str:
    """The text, or its start and how much more the run's folder holds."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}\n… {len(text) - limit:,} more characters in predictions.jsonl"


class SharedLines:
    """Which lines of questions nearly all samples of a subset share: the benchmark's instructions.

    They tell no sample from another, so a list shows a question without them, and a page carries
    each once.
    """

    SHARE = 0.9
    """Of a subset's samples that must have a line, or one that begins alike."""

    OPENING = 40
    """Characters that count as beginning alike: an option list may differ at its end."""

    def __init__(self, samples: Iterable[tuple[str, Iterable[str]]]) -> None:
        """Count the lines of some samples' (subset, texts); a few hundred of each suffice."""
        sizes: Counter[str] = Counter()
        counts: Counter[tuple[str, str]] = Counter()
        for subset, texts in samples:
            sizes[subset] += 1
            lines = {line for text in texts for line in text.split("\n") if line}
            counts.update({(subset, line[: self.OPENING]) for line in lines})
        self._shared = {
            key for key, count in counts.items() if count > 1 and count > self.SHARE * sizes[key[0]]
        }
        self.lines: dict[str, int] = {}

    def pieces(self, subset: str, text: str) -> Pieces:
        """The lines of a text; a shared one is its place among `lines`, which may grow."""
        found: Pieces = []
        for line in text.split("\n"):
            if (subset, line[: self.OPENING]) in self._shared:
                found.append(self.lines.setdefault(line, len(self.lines)))
            elif found and isinstance(found[-1], str):
                found[-1] += "\n" + line
            else:
                found.append(line)
        return found


_PATH = re.compile(
    r"(?<![\w:/\\.~<>%=&?#…-])(?:file://)?"
    r"(?:(?:~[\w.-]*)?/(?:[^\s/`'\"<>|:;,()\[\]{}]+/)+[^\s/`'\"<>|:;,()\[\]{}]*"
    r"|[A-Za-z]:\\(?:[^\\`'\"<>|:;,()\[\]{}]+\\)+[^\s\\`'\"<>|:;,()\[\]{}]*)"
)
"""An absolute path of two parts or more; an URL's path, a date and a fraction are none."""


class HiddenPaths:
    """Replaces absolute paths in our own sentences by what tells files apart and persons not."""

    def __init__(self, roots: Iterable[str] = ()) -> None:
        """Remember the folders below which names are shown, the longest first."""
        kept = {root.rstrip("/\\") for root in roots if is_absolute(root)}
        self._roots = sorted((root for root in kept if root), key=len, reverse=True)

    def sentence(self, text: str) -> str:
        """The text with `…/name` for each absolute path."""
        for root in self._roots:
            text = text.replace(root + "/", "…/").replace(root + "\\", "…/")
            if text == root:
                return _end(root)
        return _PATH.sub(lambda found: _end(found[0]), text)

    def value(self, value: object) -> object:
        """The same value of JSON with all its strings so."""
        if isinstance(value, str):
            return self._whole(value)
        if isinstance(value, dict):
            return {self._whole(str(name)): self.value(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(part) for part in value]
        return value

    def _whole(self, text: str) -> str:
        """A string that is a path as a whole, blanks in it too, else the sentence."""
        shorter = self.sentence(text)
        if shorter == text and is_absolute(text) and "\n" not in text:
            return _end(text)
        return shorter


def is_absolute(text: str) -> bool:
    """Whether a string is a path from the root of a machine, of POSIX or of Windows."""
    if text.startswith(("file://", "~/")):
        return True
    return text.startswith("/") or PureWindowsPath(text).is_absolute()


def _end(path: str) -> str:
    """`…/name` for a path; `…` where the name may be a person's, as that of `/home/name`."""
    plain = path.removeprefix("file://").rstrip("/\\")
    whole = PureWindowsPath(plain) if "\\" in plain else PurePosixPath(plain)
    return f"…/{whole.name}" if len(whole.parts) > 3 or whole.suffix else "…"
