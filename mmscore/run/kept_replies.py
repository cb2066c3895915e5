"""Replies kept across runs: a request with the same hash to the same service is asked once.

One small file a reply, in a folder that several runs may use at once. What is kept is the reply as
it was read, never the request, and nothing that failed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mmscore.disk import write_whole
from mmscore.errors import ConfigError, StorageError
from mmscore.types import SCORED, Reply, Usage

FORMAT = 1
"""The version of a kept reply's file; others are passed over."""


class KeptReplies:
    """A folder of replies by service, request and repeat."""

    def __init__(self, folder: Path, service: str) -> None:
        """Use a folder, making it if need be.

        Args:
            folder: Where replies are kept.
            service: What answers: a URL without secrets; replies of another do not count.

        Raises:
            ConfigError: It cannot be made or written.
        """
        self._folder = folder
        self._service = service
        try:
            folder.mkdir(parents=True, exist_ok=True)
            probe = folder / f".probe-{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}"
            write_whole(probe, [b""])
            probe.unlink(missing_ok=True)
        except (OSError, StorageError) as error:
            reason = getattr(error, "strerror", None) or getattr(error, "message", error)
            raise ConfigError(
                f"replies cannot be kept in `{folder}`: {reason}",
                hint="name a folder that can be written with --cache-replies",
            ) from None

    def find(self, request: str, repeat: int) -> Reply | None:
        """The reply to a request; None where it is not kept, or its file is damaged."""
        try:
            kept = json.loads(self._path(request, repeat).read_bytes())
            if kept["format"] != FORMAT or kept["status"] not in SCORED:
                return None
            return Reply(
                status=kept["status"],
                text=_text(kept["text"]),
                reasoning=None if kept["reasoning"] is None else _text(kept["reasoning"]),
                finish_reason=kept["finish_reason"],
                usage=Usage(**kept["usage"]),
                seconds=float(kept["seconds"]),
            )
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None

    def keep(self, request: str, repeat: int, reply: Reply) -> None:
        """Keep the reply to a request, unless it failed.

        Raises:
            StorageError: The folder cannot be written any more.
        """
        if reply.status not in SCORED:
            return
        values: dict[str, Any] = {
            "format": FORMAT,
            "status": reply.status,
            "text": reply.text,
            "reasoning": reply.reasoning,
            "finish_reason": reply.finish_reason,
            "usage": asdict(reply.usage),
            "seconds": round(reply.seconds, 6),
        }
        path = self._path(request, repeat)
        try:
            path.parent.mkdir(exist_ok=True)
        except OSError as error:
            raise StorageError(f"cannot write `{path.parent}`: {error.strerror}") from None
        write_whole(path, [json.dumps(values).encode()])

    def _path(self, request: str, repeat: int) -> Path:
        name = hashlib.sha256(f"{self._service}\0{request}\0{repeat}".encode()).hexdigest()
        return self._folder / name[:2] / f"{name[2:]}.json"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no text")
    return value
