"""Which samples a run asks: counted before the first request, then taken in the same order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field

from mmscore.config.task import parse_shard
from mmscore.dataset.media.sources import FileSource
from mmscore.error_text import listed, nearest_hint, shown
from mmscore.errors import ConfigError, DataError
from mmscore.model.request import media_of
from mmscore.types import Media, Message, Sample, Text

_SHOWN = 10

LONGEST_NAME = 300
"""Characters of the name of a missing medium that are told."""


@dataclass(slots=True)
class Lengths:
    """Characters of the prompts of one subset."""

    count: int = 0
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
        media: Distinct media places and how many samples show each.
        missing: Places of media that cannot be found -> ids of the samples that show them.
        tried: Where the first missing medium was looked for, in a sentence.
        duplicates: Sample ids that occur more than once.
        problems: Why records cannot be asked, a sentence each.
        warnings: What is odd about records that can be asked, a sentence each.
    """

    lengths: dict[str, Lengths] = field(default_factory=dict)
    media: dict[str, int] = field(default_factory=dict)
    missing: dict[str, list[str]] = field(default_factory=dict)
    tried: str = ""
    duplicates: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def counts(self) -> dict[str, int]:
        """Subset name -> number of samples."""
        return {subset: lengths.count for subset, lengths in self.lengths.items()}


def survey(samples: Iterable[Sample]) -> Survey:
    """What `samples` hold; nothing is read but their media's directory entries."""
    found = Survey()
    seen: set[str] = set()
    for sample in samples:
        if sample.id in seen:
            found.duplicates.append(sample.id)
        seen.add(sample.id)
        if sample.problem is not None:
            found.problems.append(sample.problem)
        found.warnings += sample.warnings
        length = 0
        for message in sample.messages:
            length += _length(message)
        if sample.subset not in found.lengths:
            found.lengths[sample.subset] = Lengths()
        found.lengths[sample.subset].add(length)
        for medium in media_of(sample.messages):
            _note_medium(found, sample, medium)
    return found


def _length(message: Message) -> int:
    """Characters of a message's text: of its parts and of the newlines between them."""
    if isinstance(message.content, str):
        return len(message.content)
    lengths = [len(part.text) for part in message.content if isinstance(part, Text)]
    return sum(lengths) + len(lengths) - bool(lengths)


def _note_medium(found: Survey, sample: Sample, medium: Media) -> None:
    source = medium.source
    if source is None:
        return
    name = source.name
    known = found.media.get(name)
    found.media[name] = (known or 0) + 1
    if known is None and not source.exists():
        found.missing[name] = []
        if not found.tried and isinstance(source, FileSource):
            found.tried = source.missing()
    if name in found.missing:
        found.missing[name].append(sample.id)


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
        folder = "name the folder of the media with --media-root, " if found.tried else ""
        raise DataError(
            f"{_count(found.missing, 'medium', 'media')} of {_count(spoiled, 'sample', 'samples')} "
            f"cannot be found: {', '.join(map(_quoted, found.missing))}"
            f"{f'; {found.tried}' if found.tried else ''}",
            hint=f"complete the data, {folder}or run the rest with --skip-bad-media",
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


def check_subsets(asked: Iterable[str], known: Iterable[str], benchmark: str) -> None:
    """Stop on a subset that does not exist.

    Raises:
        ConfigError: It names the nearest.
    """
    names = list(known)
    for subset in asked:
        if subset not in names:
            raise ConfigError(
                f"`{benchmark}` has no subset `{subset}`", hint=nearest_hint(subset, names)
            )


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of the samples are asked.

    Attributes:
        quotas: Subset name -> how many of its first samples count.
        shard: This part of how many, or None for all.
        repeats: How often each is asked.
    """

    quotas: Mapping[str, int]
    shard: tuple[int, int] | None = None
    repeats: int = 1

    def items(self, samples: Iterable[Sample]) -> Iterator[tuple[int, Sample, int]]:
        """Yield `(index, sample, repeat)`; the index counts selected samples over all shards."""
        taken = dict.fromkeys(self.quotas, 0)
        index = -1
        for sample in samples:
            if taken[sample.subset] >= self.quotas[sample.subset]:
                continue
            taken[sample.subset] += 1
            index += 1
            if self.shard is None or index % self.shard[1] == self.shard[0] - 1:
                for repeat in range(self.repeats):
                    yield index, sample, repeat

    def planned(self, samples: Iterable[Sample]) -> dict[str, int]:
        """Subset name -> how many requests will be sent for it."""
        if self.shard is None:
            return {subset: count * self.repeats for subset, count in self.quotas.items()}
        planned = dict.fromkeys(self.quotas, 0)
        for _, sample, _ in self.items(samples):
            planned[sample.subset] += 1
        return planned


def select(
    counts: Mapping[str, int], limit: int | float | None, shard: str | None, repeats: int
) -> Selection:
    """The selection for a limit that counts per subset, as the reference's does."""
    if limit is None:
        quotas = dict(counts)
    elif isinstance(limit, float):
        quotas = {subset: int(count * limit) for subset, count in counts.items()}
    else:
        quotas = {subset: min(count, limit) for subset, count in counts.items()}
    return Selection(quotas, parse_shard(shard), repeats)
