"""The images that a page holds, and which it had to leave out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mmscore.report.page.text import HiddenPaths
from mmscore.store.records import Prediction

WHY_NOT = ("room", "gone", "changed", "damaged", "url")
"""Why an image is not in a page: no room was left; it is not where it was; it is another one than
was sent; it cannot be decoded; the endpoint fetched it itself."""


@dataclass(frozen=True, slots=True)
class PageImages:
    """Images of a run's samples, made small.

    Attributes:
        uris: Place of an image, as the journal names it -> `data:image/...` URI.
        left_out: (a word of WHY_NOT, a sentence or "") -> how many images.
        side: Pixels of the longer side at most; None where no image was looked for.
    """

    uris: Mapping[str, str] = field(default_factory=dict)
    left_out: Mapping[tuple[str, str], int] = field(default_factory=dict)
    side: int | None = None


class ImageList:
    """The images of a page by number, and what a sample says of its media."""

    def __init__(self, images: PageImages, hidden: HiddenPaths) -> None:
        """Number the images; what is no `data:image/` URI is none."""
        self._images, self._hidden = images, hidden
        uris = {place: uri for place, uri in images.uris.items() if uri.startswith("data:image/")}
        self._numbers = {place: number for number, place in enumerate(uris)}
        self._uris = list(uris.values())

    def media(self, prediction: Prediction) -> list[list[Any]]:
        """For each medium: the number of its image or -1, its place, its type, its notes."""
        return [
            [
                self._numbers.get(medium.place, -1),
                self._hidden.sentence(medium.place),
                medium.mime or "",
                self._hidden.sentence("; ".join(medium.notes or ())),
            ]
            for medium in prediction.media
        ]

    def left_out(self) -> list[list[Any]]:
        """For each reason: its word, its sentence, how many images."""
        return [
            [why, self._hidden.sentence(sentence), number]
            for (why, sentence), number in self._images.left_out.items()
        ]

    @property
    def side(self) -> int | None:
        """Pixels of the longer side at most."""
        return self._images.side

    def uris(self) -> Iterator[str]:
        """The images by number."""
        return iter(self._uris)
