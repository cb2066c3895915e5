"""Media that records name by an http(s) URL, fetched once and kept in the cache.

A worker fetches them as it fetches everything: late, and only where the endpoint is to get bytes
instead of the URL. What fails here fails one sample.
"""

from __future__ import annotations

import hashlib
import threading

from mmscore.dataset.hub.cache import Cache, write_whole
from mmscore.errors import MediaError
from mmscore.web.errors import Target, WebError
from mmscore.web.session import Web

MOST_BYTES = 256 * 1024 * 1024
"""The largest medium that is fetched."""

MOST_SECONDS = 300.0
"""How long one may take, however little the server sends at a time."""

FOLDER = ("url", "media")
"""Where they are kept below the cache folder; `mmscore cache` calls it `url:media`."""

_AT_ONCE = 64
"""Locks that keep two workers from fetching one URL twice."""


class Links:
    """What lies at URLs; safe to use from any number of threads."""

    def __init__(self, cache: Cache, web: Web | None) -> None:
        """Take where they are kept, and what fetches them; None makes no request."""
        self._cache = cache
        self._web = web
        self._locks = [threading.Lock() for _ in range(_AT_ONCE)]

    def read(self, url: str) -> bytes:
        """The bytes at a URL.

        Raises:
            MediaError: They cannot be fetched, or are too many.
            StorageError: They cannot be kept.
        """
        name = hashlib.sha256(url.encode("utf-8", "replace")).hexdigest()
        with self._locks[int(name[:8], 16) % _AT_ONCE]:
            kept = self._cache.find(*FOLDER, name)
            if kept is not None:
                return kept.read_bytes()
            data = self._fetched(url)
            write_whole(self._cache.place(*FOLDER, name), data)
            return data

    def stop(self) -> None:
        """End what is under way; each fails."""
        if self._web is not None:
            self._web.stop()

    def _fetched(self, url: str) -> bytes:
        place = f"`{url[:200]}`"
        if self._web is None:
            raise MediaError(
                f"{place} was not fetched before, and --offline forbids it now",
                hint="run once without --offline: what is fetched is kept",
            )
        web, target = self._web, Target(url, place)

        def ask() -> bytes:
            with web.get(target, seconds=MOST_SECONDS) as answer:
                return b"".join(answer.pieces(MOST_BYTES))

        try:
            return web.patiently(ask)
        except WebError as error:
            raise MediaError(error.message, hint=error.hint) from error


__all__ = ["Links"]
