"""The user's own sets: which file is which subset, and their records as samples.

A record that cannot be asked becomes a sample with a `problem`, so that counts and ids stay what
they are, all problems can be listed before the first request, and the rest can be run. What is odd
but asked by EvalScope 1.14.1 is asked and told. With the option `strict` the first record that
cannot be asked ends the set, as it does there, and so does the first odd one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Iterator, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from mmscore.benchmarks.base import Files, Options
from mmscore.dataset.facts import kept_columns
from mmscore.dataset.media.columns import is_media_column
from mmscore.dataset.media.paths import Roots
from mmscore.dataset.rows import READERS, Row, read
from mmscore.error_text import several_hint, shown
from mmscore.errors import ConfigError, DataError
from mmscore.model.request import media_of
from mmscore.types import Message, Sample

SUFFIXES = (".jsonl", ".csv", ".tsv", ".parquet")
"""The formats in the order in which a subset's file is looked for."""

DEFAULT_SUBSET = "default"


class Draft(NamedTuple):
    """What one record asks.

    Attributes:
        messages: The conversation.
        target: The reference answer; None is asked but not scored.
        choices: Option texts.
        metadata: Facts kept with the prediction.
        doubts: Why the record is better not asked though the reference asks it; told, and refused
            with `strict` or where there is no message to send.
        warnings: What is odd but harmless.
        read: Columns that were read as media though media have other names.
        media_faults: What of the record's media will not be seen.
    """

    messages: tuple[Message, ...]
    target: str | None
    choices: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    doubts: tuple[DataError, ...] = ()
    warnings: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    media_faults: tuple[str, ...] = ()


def own_samples(
    files: Files,
    options: Options,
    split: str,
    draft: Callable[[Mapping[str, Any], Roots], Draft],
    late: Container[str],
    understood: Callable[[str], bool],
) -> Iterator[Sample]:
    """The samples of all subsets asked for, one for each record.

    A sample is called as its record's `id` says, else by its subset and its number there.

    Args:
        files: The user's folder or file.
        options: Their choices; `extra` may hold `split` and `strict`.
        split: The split a file name may end in.
        draft: Reads one record.
        late: The columns whose large cells stay in the file; `draft` gets a `Cell` for each.
        understood: Whether a column means something; others are kept as facts.

    Raises:
        ConfigError: A subset name leads out of the folder.
        DataError: A subset has no file or its file is damaged; with `strict`, a record is bad.
    """
    strict = bool(options.extra.get("strict", False))
    names = Names()
    for subset, file in subset_files(files, options, str(options.extra.get("split") or split)):
        path = files.path(file)
        roots = options.roots(files, path)
        for number, record in enumerate(options.rows(path, read(path, late=late)), 1):
            written = _written(record)
            name = names.of(written, subset, number)
            facts = {"id": record["id"]} if written and name != written else {}
            columns = kept_columns(record, understood, options.keep)
            try:
                drafted = draft(record, roots)
                if drafted.doubts and (strict or not drafted.messages):
                    raise drafted.doubts[0]
            except DataError as error:
                message = f"{record.place}: {error.message}"
                if strict:
                    raise DataError(message, hint=error.hint) from error
                problem = f"{record.place}: {_told(error)}"
                yield Sample(
                    name, subset, (), None, metadata=facts, problem=problem, columns=columns
                )
                continue
            warnings = (*map(_told, drafted.doubts), *drafted.warnings)
            faults = drafted.media_faults
            if not media_of(drafted.messages):
                faults = (*faults, *_unread_media(record, drafted.read))
            elif number == 1:
                warnings = (*warnings, *_unread_media(record, drafted.read))
            yield Sample(
                name,
                subset,
                drafted.messages,
                drafted.target,
                drafted.choices,
                {**facts, **drafted.metadata} if drafted.metadata else facts,
                warnings=_placed(record, warnings),
                media_faults=_placed(record, faults),
                columns=columns,
            )


def _placed(record: Row, sentences: tuple[str, ...]) -> tuple[str, ...]:
    """Sentences about a record, each with its place."""
    return tuple(f"{record.place}: {one}" for one in sentences) if sentences else ()


def _told(error: DataError) -> str:
    return f"{error.message} ({error.hint})" if error.hint else error.message


def _unread_media(record: Mapping[str, Any], read_too: Container[str]) -> Iterator[str]:
    """What to say of columns that look like media and have another name than media have."""
    for column, value in record.items():
        kind = _meant(column) if value and column not in read_too else None
        if kind is not None:
            yield (
                f"column {shown(column)} is not read: {kind}s stand in `{kind}_1`, `{kind}_2` ... "
                f"or in the list `{kind}s`"
            )


@lru_cache(maxsize=1024)
def _meant(column: str) -> str | None:
    """The kind of media that a column seems to hold, though media do not stand under its name."""
    word = column.strip().lower().removesuffix("_path").removesuffix("_url")
    kind = _MEDIA_WORDS.get(word.rstrip("_0123456789"))
    return None if kind is None or is_media_column(column) else kind


_MEDIA_WORDS = {
    **dict.fromkeys(("image", "img", "picture", "photo"), "image"),
    **dict.fromkeys(("video", "clip"), "video"),
    **dict.fromkeys(("audio", "sound"), "audio"),
}
"""What a user may call a column of media -> the kind it would be."""


def _written(record: Mapping[str, Any]) -> str:
    """A record's id as the user wrote it; empty where there is none."""
    written = record.get("id")
    return str(written) if isinstance(written, str | int) else ""


class Names:
    """What the samples of a set are called: each as the user wrote it, and no two alike.

    Where two subsets share an id, the later one's has the subset in front: `SUBSET/ID`. Where two
    records of one subset do, the later one has its number behind: `SUBSET/ID#NUMBER`.
    """

    def __init__(self) -> None:
        self._given: set[int] = set()  # hashes: a million names take half the memory

    def of(self, written: str, subset: str, number: int) -> str:
        """A name that nobody has yet.

        Args:
            written: The id in the record; empty where there is none.
            subset: The record's subset.
            number: Its place there, from 1.
        """
        longer = f"{subset}/{written or number}"
        for name in (written or longer, longer, f"{longer}#{number}"):
            if hash(name) not in self._given:
                break
        self._given.add(hash(name))
        return name


# --- which file --------------------------------------------------------------------------------


def subset_files(files: Files, options: Options, split: str) -> list[tuple[str, str]]:
    """Subset name -> file name, in order.

    The file of subset NAME is the first there is of `NAME_SPLIT.EXT`, `NAME.EXT` over the formats.
    Without a subset asked for, it is `default` where that has a file, else every file is one.

    Raises:
        ConfigError: A subset name leads out of the folder, or several are asked of one file.
        DataError: A subset has no file.
    """
    if files.single is not None:
        return [(_name_of_single(files.single, options), files.single)]
    if options.subsets:
        return [(subset, _file_of(files, subset, split)) for subset in options.subsets]
    default = _first_file(files, DEFAULT_SUBSET, split)
    if default is not None:
        return [(DEFAULT_SUBSET, default)]
    subsets = dict.fromkeys(
        PurePosixPath(name).stem.removesuffix(f"_{split}")
        for name in files.names()
        if name.lower().endswith(SUFFIXES) and not name.startswith(".")
    )
    found = ((subset, _first_file(files, subset, split)) for subset in subsets)
    named = [(subset, file) for subset, file in found if file is not None]
    if not named:
        raise _no_file(files, DEFAULT_SUBSET, split)
    return named


def _name_of_single(file: str, options: Options) -> str:
    if len(options.subsets) > 1:
        raise ConfigError(
            f"{len(options.subsets)} subsets are asked of the one file `{file}`",
            hint="give the folder of the files with --data",
        )
    return options.subsets[0] if options.subsets else PurePosixPath(file).stem


def _candidates(subset: str, split: str) -> list[str]:
    return [f"{subset}{end}{suffix}" for suffix in SUFFIXES for end in (f"_{split}", "")]


def _first_file(files: Files, subset: str, split: str) -> str | None:
    return next((name for name in _candidates(subset, split) if files.has(name)), None)


def _file_of(files: Files, subset: str, split: str) -> str:
    path = Path(subset)
    if path.is_absolute() or ".." in path.parts:
        raise ConfigError(f"subset {shown(subset)} leads out of {files.name}")
    file = _first_file(files, subset, split)
    if file is None and path.suffix.lower() in READERS and files.has(subset):
        return subset
    if file is None:
        raise _no_file(files, subset, split)
    return file


def _no_file(files: Files, subset: str, split: str) -> DataError:
    names = [name for name in files.names() if name.lower().endswith(tuple(READERS))]
    listed = ", ".join(f"`{name}`" for name in names[:8]) + (" ..." if len(names) > 8 else "")
    tried = ", ".join(f"`{name}`" for name in _candidates(subset, split))
    near = difflib.get_close_matches(subset, [PurePosixPath(name).stem for name in names], n=1)
    hint = f"did you mean --subset {near[0]}?" if near else "a file's path as --data always works"
    hint = several_hint(subset) or hint
    return DataError(
        f"no file of subset `{subset}` in {files.name}, tried {tried}, "
        f"found {listed or 'no data file'}",
        hint=hint,
    )
