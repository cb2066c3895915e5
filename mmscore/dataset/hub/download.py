"""One file, from a URL to its place in the cache: resumed, checked, whole or not there."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path

from mmscore.dataset.hub.cache import only_writer, require_space, storage_error, write_whole
from mmscore.disk import PART, open_for_reading, open_part
from mmscore.errors import HubError
from mmscore.web.errors import Target, WebError
from mmscore.web.ranges import content_range
from mmscore.web.session import FileAnswer, Web

Notice = Callable[[str], None]
Progress = Callable[[str, int, int | None], None]
"""Called with what is fetched, the bytes that are there, and the bytes it will have."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file to fetch, and what the hub tells of it.

    Attributes:
        target: Where it is.
        size: Its length; None where it is not told.
        sha256: Its checksum in hex; None where it is not told.
    """

    target: Target
    size: int | None = None
    sha256: str | None = None


def download(
    web: Web,
    wanted: Wanted,
    path: Path,
    notice: Notice = lambda _: None,
    progress: Progress = lambda *_: None,
) -> None:
    """Fetch a file to `path`.

    A part of it that an earlier attempt left is completed by a range, if the server still has the
    same version. A second process waits for the first and finds the file. Whatever the way, the
    length and the SHA-256 are checked where the hub tells them.

    Raises:
        WebError: It cannot be fetched; the part is kept for the next attempt.
        HubError: What arrives is not what the hub announces, twice.
        StorageError: It cannot be written.
    """
    what = wanted.target.what

    def waiting() -> None:
        notice(f"another process is fetching {what}: waiting for it")

    with only_writer(path, waiting):
        if path.is_file():
            return
        part = path.with_name(path.name + PART)
        for attempt in (1, 2):
            wanted = _complete(web, wanted, part, progress)
            fault = _fault(wanted, part)
            if fault is None:
                break
            forget(path)
            if attempt == 2:
                raise HubError(
                    f"{what} from {wanted.target.host} is not what was announced: {fault}",
                    hint="try again later, or take another hub or mirror",
                )
            notice(f"{what} is not what was announced ({fault}): fetching it anew")
        part.replace(path)
        _tag(part).unlink(missing_ok=True)


def _tag(part: Path) -> Path:
    """Where the version that a part belongs to is written."""
    return part.with_name(part.name + ".version")


def _complete(web: Web, wanted: Wanted, part: Path, progress: Progress) -> Wanted:
    """Bring the part to its full length; return what is known of the file by then."""

    def attempt() -> None:
        nonlocal wanted
        have = _length(part)
        if wanted.size is not None and have == wanted.size > 0:
            return
        version = _version(part) if have else None
        start = have if version else 0
        if wanted.size is not None:
            require_space(part, wanted.size - start)
        with web.get(wanted.target, _resume_headers(start, version)) as answer:
            wanted = _with_links(wanted, answer)
            if start and not _continues(answer, start, version, wanted.size):
                start = 0
            whole = _whole_length(answer, start) or wanted.size
            try:
                _write(
                    answer, part, start, whole, lambda at: progress(wanted.target.what, at, whole)
                )
            except OSError as error:
                raise storage_error(part, error, whole) from None

    def attempt_or_drop() -> None:
        try:
            attempt()
        except _UnusablePartError:
            for one in (part, _tag(part)):
                one.unlink(missing_ok=True)
            raise

    web.patiently(attempt_or_drop, lambda: _length(part))
    return wanted


def _with_links(wanted: Wanted, answer: FileAnswer) -> Wanted:
    """What Hugging Face tells of a large file when it leads to it: length and checksum."""
    said = answer.first.get("x-linked-size", "")
    size = int(said) if re.fullmatch(r"[0-9]{1,18}", said) else None
    tag = answer.first.get("x-linked-etag", "").strip('"')
    return replace(
        wanted,
        size=size if wanted.size is None else wanted.size,
        sha256=wanted.sha256 or (tag if re.fullmatch(r"[0-9a-f]{64}", tag) else None),
    )


def _length(part: Path) -> int:
    try:
        return part.lstat().st_size if not part.is_symlink() else 0
    except OSError:
        return 0


def _version(part: Path) -> str | None:
    """The version a part belongs to; None where nothing tells, so that it is begun anew."""
    try:
        with open_for_reading(_tag(part)) as file:
            return file.read().decode() or None
    except (OSError, UnicodeDecodeError):
        return None


def _resume_headers(start: int, version: str | None) -> dict[str, str]:
    headers = {"Range": f"bytes={start}-"} if start else {}
    if start and version is not None and not version.startswith("W/"):
        headers["If-Range"] = version
    return headers


def _continues(answer: FileAnswer, start: int, version: str | None, size: int | None) -> bool:
    """Whether an answer goes on at `start`; a whole answer begins anew.

    Raises:
        WebError: It is neither; the part is dropped, so that the next attempt begins anew.
    """
    if answer.status == HTTPStatus.OK:
        return False
    announced = content_range(answer)
    if (
        answer.status == HTTPStatus.PARTIAL_CONTENT
        and not answer.packed
        and announced is not None
        and announced[0] == start
        and (size is None or announced[2] in (None, size))
        and answer.validator in (None, version)
    ):
        return True
    raise _UnusablePartError(
        f"{answer.target.what}: {answer.target.host} does not go on at byte {start}",
        retriable=True,
    )


class _UnusablePartError(WebError):
    """A server does not complete a part that was begun."""


def _whole_length(answer: FileAnswer, start: int) -> int | None:
    length = None if answer.packed else answer.length
    return None if length is None else start + length


def _write(
    answer: FileAnswer, part: Path, start: int, whole: int | None, done: Callable[[int], None]
) -> None:
    validator = answer.validator
    if validator is not None:
        write_whole(_tag(part), validator.encode())
    else:
        _tag(part).unlink(missing_ok=True)
    with open_part(part, start) as file:
        at = start
        for piece in answer.pieces():
            file.write(piece)
            at += len(piece)
            done(at)
            if whole is not None and at > whole:
                break  # an endless answer must not fill the disk; that it is wrong is told later


def _fault(wanted: Wanted, part: Path) -> str | None:
    """What is wrong with a part that should be whole; None where nothing is."""
    size = part.lstat().st_size
    if wanted.size is not None and size != wanted.size:
        return f"it has {size} bytes, {wanted.size} were announced"
    if wanted.sha256 is not None:
        with open_for_reading(part) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != wanted.sha256:
            return f"its SHA-256 is {digest[:16]}..., {wanted.sha256[:16]}... was announced"
    return None


def forget(path: Path) -> None:
    """Remove a file and what belongs to it."""
    part = path.with_name(path.name + PART)
    for one in (path, part, _tag(part)):
        with contextlib.suppress(OSError):
            one.unlink()
