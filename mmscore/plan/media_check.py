"""Every medium of a run, read and decoded whole: what cannot be sent, and what may not be meant."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from mmscore.dataset.media.image import CheckedImage, base64_length
from mmscore.dataset.zip_archive import ArchiveMember
from mmscore.error_text import listed, printable
from mmscore.errors import DataError
from mmscore.model.attachments import CheckedMedium, MediaEncoder
from mmscore.model.request import media_of
from mmscore.plan.inventory import of_samples
from mmscore.plan.plan import Plan
from mmscore.types import Media

SMALL_SIDE = 28
"""Below this many pixels a side, some servers refuse an image or fail on it."""

LARGE_BASE64 = 10_000_000
"""Above this many characters, some endpoints refuse an image."""


@dataclass(slots=True)
class MediaFindings:
    """What the media of a run hold.

    Attributes:
        types: Distinct media by type.
        bytes: The bytes of all of them, as they lie there.
        smallest: Size and name of the image with the shortest side.
        largest: Size and name of the image with most pixels.
        problems: Which cannot be sent, and why, a sentence each.
        notes: What is odd and may be meant.
    """

    types: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    smallest: tuple[int, int, str] | None = None
    largest: tuple[int, int, str] | None = None
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_size(self, image: CheckedImage, name: str) -> None:
        """Take an image's size in."""
        size = (image.width, image.height, name)
        if self.smallest is None or min(size[:2]) < min(self.smallest[:2]):
            self.smallest = size
        if self.largest is None or size[0] * size[1] > self.largest[0] * self.largest[1]:
            self.largest = size


def check_media(plan: Plan, media: MediaEncoder) -> MediaFindings:
    """Look at each medium of a plan as it would be sent, each once."""
    found = MediaFindings()
    shows: dict[Media, list[str]] = {}
    left_to_endpoint = 0
    for sample in plan.samples():
        for medium in media_of(sample.messages):
            if media.is_left_to_endpoint(medium):
                left_to_endpoint += 1
            elif medium.source is None or medium.source.name not in plan.survey.missing:
                shows.setdefault(medium, []).append(sample.id)
    if left_to_endpoint:
        found.notes.append(
            f"{left_to_endpoint} media are at URLs, which the endpoint must fetch itself "
            "(--inline-urls sends their bytes)"
        )
    oddities = _Oddities()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for medium, seen in zip(shows, pool.map(partial(_check, media), shows), strict=True):
            if isinstance(seen, str):
                found.problems.append(f"{seen}; shown by {of_samples(shows[medium])}")
                continue
            name = _short(medium)
            found.bytes += seen.length
            found.types[seen.type] += 1
            found.notes += [f"{name}: {note}" for note in seen.notes]
            if seen.image is not None:
                found.add_size(seen.image, name)
                oddities.add(seen.image, name)
    found.notes += oddities.notes()
    return found


def _check(media: MediaEncoder, medium: Media) -> CheckedMedium | str:
    """What a medium holds, or the sentence that says what is wrong with it."""
    try:
        return media.check(medium)
    except DataError as error:
        return f"{error.message} ({error.hint})" if error.hint else error.message


def _short(medium: Media) -> str:
    """A medium in a list of many: without the archive, which is the same for all."""
    source = medium.source
    if isinstance(source, ArchiveMember):
        return printable(source.member)
    return printable(source.name if source is not None else medium.url or "")


@dataclass(slots=True)
class _Oddities:
    """Images that are sent all the same, and may not be what an endpoint takes or a user means."""

    small: list[str] = field(default_factory=list)
    heavy: list[str] = field(default_factory=list)
    blank: dict[str, list[str]] = field(default_factory=dict)
    encoded: Counter[str] = field(default_factory=Counter)

    def add(self, image: CheckedImage, name: str) -> None:
        """Take an image in, as it would be sent."""
        width, height = image.sent_size
        if min(width, height) < SMALL_SIDE:
            self.small.append(f"{name} ({width}x{height})")
        if base64_length(len(image.sent.data)) > LARGE_BASE64:
            self.heavy.append(name)
        if image.blank is not None:
            self.blank.setdefault(image.blank, []).append(name)
        if image.encoded_anew:
            self.encoded[image.mime] += 1

    def notes(self) -> Iterator[str]:
        """A sentence for each kind."""
        for colour, names in self.blank.items():
            which = listed(names, mark="")
            yield f"{_images(names, 'is', 'are')} nearly all {colour} as sent: {which}"
        if self.small:
            yield (
                f"{_images(self.small, 'has', 'have')} a side under {SMALL_SIDE} pixels, which "
                f"some servers refuse (--min-side {SMALL_SIDE} enlarges them): "
                f"{listed(self.small, 10, mark='')}"
            )
        if self.heavy:
            yield (
                f"{_images(self.heavy, 'is', 'are')} longer than {LARGE_BASE64 // 10**6} MB in "
                f"base64, which some endpoints refuse (--max-image-bytes shrinks them): "
                f"{listed(self.heavy, 10, mark='')}"
            )
        for mime, count in self.encoded.most_common():
            number = "1 image is" if count == 1 else f"{count} images are"
            yield f"{number} {mime} and encoded anew, as JPEG or PNG"


def _images(names: list[str], one: str, more: str) -> str:
    return f"1 image {one}" if len(names) == 1 else f"{len(names)} images {more}"


__all__ = ["LARGE_BASE64", "SMALL_SIDE", "MediaFindings", "check_media"]
