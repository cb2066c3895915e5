"""Media that records name by an http(s) URL, fetched once and kept in the cache.

A worker fetches them as it fetches everything: late, and only where the endpoint is to get bytes
instead of the URL. What fails here fails one sample.
"""

from __future__ import annotations

import hashlib
import threading

from mmscore.dataset.hub.cache import Cache, write_whole
from mmscore.error_text import shown
from mmscore.errors import ConfigError, MediaError
from mmscore.web.errors import Target, WebError
from mmscore.web.session import Web
from mmscore.web.urls import is_private_host, parse_url

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

    def __init__(self, cache: Cache, web: Web | None, *, data_host: str | None = None) -> None:
        """Take where they are kept, and what fetches them.

        Args:
            cache: Where they are kept.
            web: What fetches them; None makes no request.
            data_host: The host that the records came from; None for the user's own files. Records
                from the public network lead to no address that is not of it.
        """
        self._cache = cache
        self._web = web
        self._from_public = data_host is not None and not is_private_host(data_host)
        self._locks = [threading.Lock() for _ in range(_AT_ONCE)]

    def read(self, url: str) -> bytes:
        """The bytes at a URL.

        Raises:
            MediaError: It is none, or they cannot be fetched, or are too many.
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
        place = shown(url)
        try:
            host = parse_url(url).host
        except ConfigError as error:
            raise MediaError(error.message) from None
        if len(host.split()) != 1 or not host.isprintable():
            raise MediaError(f"{place} names no host")
        if self._web is None:
            raise MediaError(
                f"{place} was not fetched before, and --offline forbids it now",
                hint="run once without --offline: what is fetched is kept",
            )
        # A name that says itself that it is of this machine or network was meant so; a public one
        # that leads there was not.
        public_only = self._from_public or not is_private_host(host)
        web, target = self._web, Target(url, place, public_only=public_only)

        def ask() -> bytes:
            with web.get(target, seconds=MOST_SECONDS) as answer:
                return b"".join(answer.pieces(MOST_BYTES))

        try:
            return web.patiently(ask)
        except WebError as error:
            raise MediaError(error.message, hint=error.hint) from error


__all__ = ["Links"]
