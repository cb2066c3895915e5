"""One run out of the runs of its shards, as if it had been asked in one piece."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from glob import glob
from pathlib import Path

from mmscore.config import options
from mmscore.config.kinds import parse_shard
from mmscore.disk import write_whole
from mmscore.error_text import listed
from mmscore.errors import DataError
from mmscore.report.result import Result, reported
from mmscore.scoring.judge import panel
from mmscore.store.info import Fingerprints, RunInfo
from mmscore.store.journal import JUDGEMENTS, PREDICTIONS, SCORES, encode
from mmscore.store.run_folder import RUN, Run, Whole, load, read_run, use_folder, write_run
from mmscore.store.texts import TextFile


def shard_folders(places: Sequence[str]) -> list[Path]:
    """The shards' folders that are named, that fit a pattern, or that lie in a named folder.

    Raises:
        DataError: A place is no folder, fits nothing, or holds no run.
    """
    found: list[Path] = []
    for place in places:
        path = Path(place).expanduser()
        matches = [path] if path.is_dir() else sorted(map(Path, glob(str(path))))  # noqa: PTH207 - absolute ones too
        if not matches:
            raise DataError(f"there is no folder `{place}`", hint="name the shards' run folders")
        for match in matches:
            inside = [match] if (match / RUN).exists() else _runs_in(match)
            if not inside:
                raise DataError(
                    f"`{match}` holds no run", hint="name the folders that --out or outputs/ had"
                )
            found += inside
    return list(dict.fromkeys(found))


def _runs_in(folder: Path) -> list[Path]:
    """The runs right inside a folder that are shards; a merged run beside them is none."""
    if not folder.is_dir():
        return []
    runs = sorted(path.parent for path in folder.glob(f"*/{RUN}"))
    return [run for run in runs if read_run(run).shard is not None]


def merge(
    folders: Sequence[Path],
    out: Path,
    *,
    partial: bool = False,
    notice: Callable[[str], None] = lambda _: None,
) -> Result:
    """Merge the runs of all shards into a new run's folder, and report it.

    Args:
        folders: The shards' folders, in any order.
        out: The folder to make.
        partial: Merge the shards that are there though others are missing; the run counts as
            stopped early.
        notice: Who hears what does not keep the shards from being merged.

    Raises:
        DataError: A folder is no run of a shard, the runs are of unlike benchmarks, data, prompts,
            scorers, models or options, a shard is missing or there twice, or samples overlap.
        StorageError: The folder cannot be written or holds a run already.
    """
    runs = [load(folder, hold=False) for folder in folders]
    missing = _missing_shards(runs)
    if missing and not partial:
        raise DataError(
            f"{len(missing)} of {_total(runs)} shards are missing: {listed(missing)}",
            hint=f"run it: --shard {missing[0]}; or merge what is there with --partial",
        )
    _check_alike(runs)
    _check_apart(runs)
    for sentence in _unlike_versions(runs):
        notice(sentence)
    made = use_folder(out)
    with closing(TextFile(made)) as texts:
        predictions = (texts.share(prediction) for prediction, _ in _in_order(runs))
        write_whole(made / PREDICTIONS, map(encode, predictions))
    scores = (score for _, score in _in_order(runs) if score is not None)
    write_whole(made / SCORES, map(encode, scores))
    _merge_judgements(folders, made)
    info = _merged(runs)
    if missing:
        words = f"shards are missing: {listed(missing, mark='')}"
        info = replace(info, stopped="; ".join(filter(None, (words, info.stopped))))
    write_run(made, info)
    return reported(made)


def _merge_judgements(folders: Sequence[Path], made: Path) -> None:
    """Keep what the judges of all shards said, where any was asked."""
    with ExitStack() as open_things:
        found = [said for said in map(panel.read_judgements, folders) if said is not None]
        for said in found:
            open_things.enter_context(closing(said))
        if any(found):
            lines = (encode(line) for said in found for line in said.values())
            write_whole(made / JUDGEMENTS, lines)


def _in_order(runs: Sequence[Run]) -> Iterator[Whole]:
    """All that the runs hold of their samples, in the order of the data set."""
    return heapq.merge(
        *(run.whole() for run in runs),
        key=lambda whole: (whole[0].index, whole[0].repeat, whole[0].id),
    )


def _missing_shards(runs: Sequence[Run]) -> list[str]:
    """The shards that no run is of; stops unless the runs are shards of one number, each once.

    Raises:
        DataError: A run is of everything, runs are of unlike numbers, or two are of one shard.
    """
    if not runs:
        raise DataError("no shard is given", hint="name the shards' run folders")
    total = _total(runs)
    places: dict[int, list[Run]] = {}
    for run in runs:
        shard = parse_shard(run.info.shard)
        if shard is None:
            raise DataError(f"`{run.directory}` is a run of everything, not of a shard")
        part, parts = shard
        if parts != total:
            raise DataError(
                f"`{run.directory}` is shard {part}/{parts}, others are of {total}",
                hint="the number of shards was changed between the runs; run one number anew",
            )
        places.setdefault(part, []).append(run)
    doubled = {part: twice for part, twice in places.items() if len(twice) > 1}
    if doubled:
        told = "; ".join(
            f"{' and '.join(map(_with_size, twice))} are both shard {part}/{total}"
            for part, twice in doubled.items()
        )
        whole = min(next(iter(doubled.values())), key=lambda run: _answered(run)[0])
        raise DataError(told, hint=f"leave the less complete one out: `{whole.directory}`")
    return [f"{part}/{total}" for part in range(1, total + 1) if part not in places]


def _total(runs: Sequence[Run]) -> int:
    shard = parse_shard(runs[0].info.shard)
    return shard[1] if shard else 0


def _answered(run: Run) -> tuple[int, int]:
    """Samples with a reply, and those planned."""
    return sum(not line.failed for line in run.lines), sum(run.info.planned.values())


def _with_size(run: Run) -> str:
    answered, planned = _answered(run)
    return f"`{run.directory}` ({answered} of {planned} answered)"


def _unlike_versions(runs: Sequence[Run]) -> Iterator[str]:
    """A sentence where shards were run by unlike versions: their scores may differ by rule."""
    first = runs[0]
    for run in runs[1:]:
        one, other = first.info.versions.get("mmscore"), run.info.versions.get("mmscore")
        if one != other:
            yield (
                f"`{first.directory}` was run by mmscore {one}, `{run.directory}` by {other}: "
                "`mmscore score` of the merged run scores all alike"
            )
            return


def _check_alike(runs: Sequence[Run]) -> None:
    """Stop on runs of unlike things: merged, they would be a run that nobody made."""
    first = runs[0]
    for run in runs[1:]:
        for what, one, other in (
            ("benchmark", first.benchmark.name, run.benchmark.name),
            *_prints(first.info.fingerprints, run.info.fingerprints),
            ("model", first.info.model, run.info.model),
            ("repeats", first.info.repeats, run.info.repeats),
            (
                "options",
                *(options.compared(one.info.config, "way", "data") for one in (first, run)),
            ),
        ):
            if one != other:
                raise DataError(
                    f"`{first.directory}` and `{run.directory}` are not of one run: "
                    f"the {what} is {_short(one, other)} and {_short(other, one)}"
                )


def _prints(first: Fingerprints, second: Fingerprints) -> tuple[tuple[str, object, object], ...]:
    return (
        ("data fingerprint", first.data, second.data),
        ("prompt fingerprint", first.prompt, second.prompt),
        ("scorer fingerprint", first.scorer, second.scorer),
    )


def _short(value: object, other: object) -> str:
    """A value in few words; of two mappings only what differs."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        value = {k: v for k, v in value.items() if other.get(k) != v}
    text = str(value)
    return f"`{text[:80]}{'...' if len(text) > 80 else ''}`"


def _check_apart(runs: Sequence[Run]) -> None:
    """Stop on a sample that two shards hold."""
    seen: dict[tuple[str, int], Path] = {}
    twice = []
    for run in runs:
        for line in run.lines:
            before = seen.setdefault(line.key, run.directory)
            if before != run.directory:
                twice.append(f"`{line.id}` in `{before}` and `{run.directory}`")
    if twice:
        raise DataError(f"{len(twice)} samples are in two shards: {listed(twice, mark='')}")


def _merged(runs: Sequence[Run]) -> RunInfo:
    """The merged run's record: counts added, times from the first start to the last end."""
    infos = [run.info for run in runs]
    planned: dict[str, int] = {}
    for info in infos:
        for subset, count in info.planned.items():
            planned[subset] = planned.get(subset, 0) + count
    ends = [info.finished for info in infos]
    reasons = [info.stopped for info in infos if info.stopped]
    places = dict.fromkeys(info.endpoint for info in infos if info.endpoint)
    return replace(
        infos[0],
        endpoint=", ".join(places) or None,
        config={name: value for name, value in infos[0].config.items() if name != "shard"},
        planned=planned,
        shard=None,
        merged=tuple(str(info.shard) for info in infos),
        started=min(str(info.started) for info in infos),
        finished=None if None in ends else max(map(str, ends)),
        # Shards run side by side, so the longest is what one waited for.
        seconds=max(info.seconds for info in infos),
        stopped="; ".join(dict.fromkeys(reasons)) or None,
    )
