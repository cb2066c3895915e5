"""One run out of the runs of its shards, as if it had been asked in one piece."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from mmscore.config.task import parse_shard
from mmscore.disk import write_whole
from mmscore.error_text import listed
from mmscore.errors import DataError
from mmscore.report.result import Result, reported
from mmscore.scoring.judge import panel
from mmscore.store.info import Fingerprints, RunInfo
from mmscore.store.journal import JUDGEMENTS, PREDICTIONS, SCORES, encode
from mmscore.store.run_folder import Run, Whole, load, use_folder, write_run


def merge(folders: Sequence[Path], out: Path) -> Result:
    """Merge the runs of all shards into a new run's folder, and report it.

    Args:
        folders: The shards' folders, in any order.
        out: The folder to make.

    Raises:
        DataError: A folder is no run of a shard, the runs are of unlike benchmarks, data, prompts,
            scorers, models or options, a shard is missing or there twice, or samples overlap.
        StorageError: The folder cannot be written or holds a run already.
    """
    runs = [load(folder, hold=False) for folder in folders]
    _check_shards(runs)
    _check_alike(runs)
    _check_apart(runs)
    made = use_folder(out)
    for name, which in ((PREDICTIONS, 0), (SCORES, 1)):
        records = (whole[which] for whole in _in_order(runs))
        write_whole(made / name, (encode(one) for one in records if one is not None))
    _merge_judgements(folders, made)
    write_run(made, _merged(runs))
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


def _check_shards(runs: Sequence[Run]) -> None:
    """Stop unless the runs are all shards of one number, each once."""
    places: dict[int, Path] = {}
    total = 0
    for run in runs:
        shard = parse_shard(run.info.shard)
        if shard is None:
            raise DataError(f"`{run.directory}` is a run of everything, not of a shard")
        part, parts = shard
        if total and parts != total:
            raise DataError(f"`{run.directory}` is shard {part}/{parts}, others are of {total}")
        if part in places:
            raise DataError(f"`{places[part]}` and `{run.directory}` are both shard {part}/{parts}")
        total, places[part] = parts, run.directory
    missing = [f"{part}/{total}" for part in range(1, total + 1) if part not in places]
    if missing or not runs:
        raise DataError(
            f"{len(missing)} of {total} shards are missing: {listed(missing)}",
            hint=f"run it: --shard {missing[0]}" if missing else None,
        )


def _check_alike(runs: Sequence[Run]) -> None:
    """Stop on runs of unlike things: merged, they would be a run that nobody made."""
    first = runs[0]
    for run in runs[1:]:
        for what, one, other in (
            ("benchmark", first.benchmark.name, run.benchmark.name),
            *_prints(first.info.fingerprints, run.info.fingerprints),
            ("model", first.info.model, run.info.model),
            ("repeats", first.info.repeats, run.info.repeats),
            ("options", _options(first), _options(run)),
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


def _options(run: Run) -> dict[str, Any]:
    """What decides replies and scores; where a shard was asked and how fast is its own affair."""
    own = ("shard", "name", "api_url", "eval_batch_size", "timeout", "retries", "media_root")
    config = {k: v for k, v in run.info.config.items() if k not in own}
    arguments = config.pop("dataset_args", None) or {}
    config["dataset_args"] = {
        name: {k: v for k, v in one.items() if k != "local_path"} for name, one in arguments.items()
    }
    return config


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
