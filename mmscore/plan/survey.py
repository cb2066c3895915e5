"""What a data set holds, counted in one pass before the first request.

The pass keeps a few bytes a sample: which subset it is of, whether it begins a new unit (what
`limit` counts: of CountQA an image with all its questions), a number to draw by. From them
`selection` decides which samples are asked, without another look at the data.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Set, Sized
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b

from mmscore.dataset.media.paths import FileSource
from mmscore.error_text import listed, nearest_hint, several_hint, shown
from mmscore.errors import ConfigError, DataError, MediaError
from mmscore.model.request import media_of
from mmscore.types import Media, Message, Sample, Text

_SHOWN = 10

SHOWS, HAS_FAULT = 1, 2
"""What is kept of a sample's media, as bits."""

MOST_FAULTS = 1000
"""Sentences about media that are kept."""

LONGEST_NAME = 300
"""Characters of the name of a missing medium that are told."""


@dataclass(slots=True)
class Lengths:
    """Samples of one subset, the units they make, and the characters of their prompts."""

    count: int = 0
    units: int = 0
    total: int = 0
    least: int = 0
    most: int = 0

    def add(self, length: int) -> None:
        """Take one prompt's length in."""
        self.least = length if self.count == 0 else min(self.least, length)
        self.most = max(self.most, length)
        self.total += length
        self.count += 1

    @property
    def mean(self) -> float:
        """The mean length; 0 for no prompts."""
        return self.total / self.count if self.count else 0.0


@dataclass(slots=True)
class Survey:
    """What a data set holds, without any of its media's bytes.

    Attributes:
        lengths: Subset name -> prompt lengths (and with them the number of samples).
        media: How many distinct media the samples show.
        missing: Places of media that cannot be found -> ids of the samples that show them.
        faults: Of the first of them what was tried, or why they may not be read.
        duplicates: Sample ids that occur more than once.
        problems: Why records cannot be asked, a sentence each.
        warnings: What is odd about records that can be asked, a sentence each.
        media_faults: Media that will not be seen and placeholders without any, the first of many.
        shows: For each sample whether it shows a medium (1) and whether it has a media fault (2).
        order: The subset of each sample as its place in `lengths`, in the order of the data.
        begins: For each sample 1 where it begins a unit, else 0.
        draws: For each sample the number it is drawn by; empty unless a seed was given.
        named: For each sample 1 where its id was asked for; empty unless ids were.
        met: The ids that were asked for and found.
    """

    lengths: dict[str, Lengths] = field(default_factory=dict)
    media: int = 0
    missing: dict[str, list[str]] = field(default_factory=dict)
    faults: dict[str, MediaError] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    media_faults: list[str] = field(default_factory=list)
    shows: bytearray = field(default_factory=bytearray)
    order: array[int] = field(default_factory=partial(array, "I"))
    begins: bytearray = field(default_factory=bytearray)
    draws: array[int] = field(default_factory=partial(array, "Q"))
    named: bytearray = field(default_factory=bytearray)
    met: set[str] = field(default_factory=set)

    @property
    def counts(self) -> dict[str, int]:
        """Subset name -> number of samples."""
        return {subset: lengths.count for subset, lengths in self.lengths.items()}


def survey(
    samples: Iterable[Sample],
    *,
    seed: int | None = None,
    ids: Set[str] | None = None,
    enough: Callable[[Survey], bool] | None = None,
) -> Survey:
    """What `samples` hold; nothing is read but their media's directory entries.

    Args:
        samples: All samples in the order of the data.
        seed: Makes the numbers that samples are drawn by.
        ids: The ids that are asked for; a sample has its own and that of its record.
        enough: Asked before each new unit is taken in; the pass ends where it says yes. Without
            it all is read.
    """
    found = Survey()
    pass_ = _Pass(found)
    for sample in samples:
        begins = sample.unit is None or sample.unit != pass_.unit
        if begins and enough is not None and enough(found):
            break
        pass_.take(sample, begins=begins)
        if seed is not None:
            found.draws.append(draw(seed, sample.unit or sample.id))
        if ids is not None:
            asked = {sample.id, str(sample.metadata.get("id", ""))} & ids
            found.met |= asked
            found.named.append(bool(asked))
    found.media = len(pass_.media)
    return found


def draw(seed: int, name: str) -> int:
    """The number by which a sample or unit is drawn: the lowest are.

    It depends on the seed and the name alone, so a draw is the same on every machine, and samples
    that are added to a data set change no other's number.
    """
    return int.from_bytes(blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest())


class _Pass:
    """What is remembered while samples go by: hashes, for their names are long."""

    def __init__(self, found: Survey) -> None:
        self.unit: str | None = None
        self.media: set[int] = set()
        self._found = found
        self._ids: set[int] = set()
        self._places: dict[str, int] = {}

    def take(self, sample: Sample, *, begins: bool) -> None:
        """Take one sample in."""
        found, self.unit = self._found, sample.unit
        name = hash(sample.id)
        if name in self._ids:
            found.duplicates.append(sample.id)
        self._ids.add(name)
        if sample.problem is not None:
            found.problems.append(sample.problem)
        found.warnings += sample.warnings
        room = MOST_FAULTS - len(found.media_faults)
        found.media_faults += sample.media_faults[:room]
        media = media_of(sample.messages)
        found.shows.append(bool(media) * SHOWS | bool(sample.media_faults) * HAS_FAULT)
        if sample.subset not in found.lengths:
            found.lengths[sample.subset] = Lengths()
            self._places[sample.subset] = len(self._places)
        found.lengths[sample.subset].add(sum(map(_length, sample.messages)))
        found.lengths[sample.subset].units += begins
        found.order.append(self._places[sample.subset])
        found.begins.append(begins)
        for medium in media:
            self._note_medium(sample, medium)

    def _note_medium(self, sample: Sample, medium: Media) -> None:
        found, source = self._found, medium.source
        if source is None:
            return
        place = hash(source.name)
        if place not in self.media:
            self.media.add(place)
            if not source.exists():
                found.missing[source.name] = []
                if isinstance(source, FileSource) and len(found.faults) < _SHOWN:
                    found.faults[source.name] = source.fault()
        if found.missing and source.name in found.missing:
            found.missing[source.name].append(sample.id)


def weight(sample: Sample) -> int:
    """About how many bytes a sample holds: its text, and the media that stand inside its record."""
    held = (getattr(medium.source, "held", "") for medium in media_of(sample.messages))
    inside = sum(len(one) for one in held if isinstance(one, str | bytes))
    urls = sum(len(medium.url or "") for medium in media_of(sample.messages))
    facts = sum(len(value) for value in sample.metadata.values() if isinstance(value, str))
    return inside + urls + facts + sum(map(_length, sample.messages))


def _length(message: Message) -> int:
    """Characters of a message's text: of its parts and of the newlines between them."""
    if isinstance(message.content, str):
        return len(message.content)
    lengths = [len(part.text) for part in message.content if isinstance(part, Text)]
    return sum(lengths) + len(lengths) - bool(lengths)


def check_survey(found: Survey, place: str, *, skip_bad_media: bool) -> None:
    """Stop before the first request on what would spoil the run.

    Raises:
        DataError: No samples, duplicate ids, or media that cannot be found.
    """
    if not found.lengths:
        raise DataError(f"0 samples in {place}", hint="check the data and --subset")
    if found.duplicates:
        raise DataError(
            f"{len(found.duplicates)} sample ids occur twice in {place}: "
            f"{listed(found.duplicates)}",
            hint="give each sample an id of its own",
        )
    if found.problems and not skip_bad_media:
        raise DataError(
            f"{_count(found.problems, 'record', 'records')} of {place} cannot be asked:\n"
            f"{_lines(found.problems)}",
            hint="correct the data, or run the rest with --skip-bad-media",
        )
    if found.missing and not skip_bad_media:
        spoiled = [one for ids in found.missing.values() for one in ids]
        fault = next(iter(found.faults.values()), None)
        remedy = f"{fault.hint}, " if fault is not None and fault.hint else ""
        raise DataError(
            f"{_count(found.missing, 'medium', 'media')} of {_count(spoiled, 'sample', 'samples')} "
            f"cannot be found: {', '.join(map(_quoted, found.missing))}"
            f"{f'; {fault.message}' if fault is not None else ''}",
            hint=f"complete the data, {remedy}or run the rest with --skip-bad-media",
        )


def _count(things: Sized, one: str, many: str) -> str:
    return f"{len(things)} {one if len(things) == 1 else many}"


def _quoted(name: str) -> str:
    """A name whole, unless it is none: base64 or control characters in the place of a path."""
    return f"`{name}`" if name.isprintable() and len(name) < LONGEST_NAME else shown(name)


def _lines(sentences: list[str]) -> str:
    shown = [f"  {sentence}" for sentence in sentences[:_SHOWN]]
    more = len(sentences) - len(shown)
    return "\n".join([*shown, f"  and {more} more"] if more else shown)


def check_ids(found: Survey, asked: Set[str], place: str) -> None:
    """Stop on ids that no sample has.

    Raises:
        ConfigError: It names all of them, or the first hundred.
    """
    missing = sorted(asked - found.met)
    if missing:
        raise ConfigError(
            f"{len(missing)} of {len(asked)} ids are of no sample in {place}: "
            f"{listed(missing, most=100)}",
            hint="ids stand in the `id` column of a run's report.csv",
        )


def check_subsets(asked: Iterable[str], known: Iterable[str], benchmark: str) -> None:
    """Stop on a subset that does not exist.

    Raises:
        ConfigError: It names the nearest.
    """
    names = list(known)
    for subset in asked:
        if subset not in names:
            raise ConfigError(
                f"`{benchmark}` has no subset `{subset}`",
                hint=several_hint(subset) or nearest_hint(subset, names),
            )
