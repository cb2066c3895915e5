"""Texts that many messages of a run share, kept once: a system message, examples, a protocol."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from mmscore.store import spelling
from mmscore.store.journal import AppendFile
from mmscore.store.messages import Part, SentMessage, SharedText
from mmscore.store.reader import RecordReader
from mmscore.store.records import Line, Prediction
from mmscore.store.spelling import Shape

TEXTS = "texts.jsonl"

SHORTEST = 48
"""A text of fewer characters stands where it is said."""

MOST = 10_000
"""How many texts are kept so; where more differ, they are not what samples share."""


@dataclass(slots=True)
class Text(Line):
    """A text of a run.

    Attributes:
        id: What it is known by: the beginning of its digest.
        text: The text.
    """

    id: str
    text: str

    SHAPE: ClassVar = Shape({"id": spelling.text(), "text": spelling.text()})

    @property
    def key(self) -> str:
        """What it is known by."""
        return self.id


class TextFile:
    """The texts of a run's folder; any thread may ask."""

    def __init__(self, folder: Path, notice: Callable[[str], None] = lambda _: None) -> None:
        """Remember the folder; the file is read and written when it is needed."""
        self._path = folder / TEXTS
        self._notice = notice
        self._lock = threading.Lock()
        self._file: AppendFile | None = None
        self._known: dict[str, str] | None = None

    def share(self, prediction: Prediction) -> Prediction:
        """The prediction as its folder keeps it: long texts beside the question kept here.

        Raises:
            StorageError: The file cannot be written.
        """
        return self._with_parts(prediction, self._shared)

    def restore(self, prediction: Prediction) -> Prediction:
        """The prediction with its texts in their places; one that is lost is named instead."""
        return self._with_parts(prediction, self._restored)

    def close(self) -> None:
        """Put what was written on the disk and let go of the file."""
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _with_parts(self, prediction: Prediction, change: Callable[[Part], Part]) -> Prediction:
        if prediction.messages is None:
            return prediction
        messages = tuple(
            SentMessage(one.role, tuple(map(change, one.parts)), one.extra)
            for one in prediction.messages
        )
        return replace(prediction, messages=messages)

    def _restored(self, part: Part) -> Part:
        if not isinstance(part, SharedText):
            return part
        with self._lock:
            return self._texts().get(part.id, f"(a text that {TEXTS} lacks: {part.id})")

    def _shared(self, part: Part) -> Part:
        if not isinstance(part, str) or len(part) < SHORTEST:
            return part
        name = hashlib.sha256(part.encode("utf-8", "replace")).hexdigest()[:16]
        with self._lock:
            texts = self._texts()
            if name not in texts:
                if len(texts) >= MOST:
                    return part
                if self._file is None:
                    self._file = AppendFile(self._path, self._notice)
                self._file.append(Text(name, part))
                texts[name] = part
        return SharedText(name)

    def _texts(self) -> dict[str, str]:
        if self._known is None:
            self._known = {}
            if self._path.exists():
                with closing(RecordReader(self._path, Text, hold=False)) as reader:
                    for _, text in reader.placed(self._notice):
                        self._known[text.id] = text.text
        return self._known
