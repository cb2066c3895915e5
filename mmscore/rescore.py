"""A run scored again from its saved replies: no data set, no network."""

from __future__ import annotations

from pathlib import Path

from mmscore import journal
from mmscore.arguments import asked
from mmscore.records import SCORED
from mmscore.run import Result, reported, versions
from mmscore.runner import sample_of, score_record


def rescore(folder: Path) -> Result:
    """Score every saved reply of a run anew, write its scores and its report.

    Raises:
        DataError: The folder holds no run.
        StorageError: It cannot be written, or another process is writing it.
    """
    record = journal.read_json(folder / journal.RUN)
    benchmark = asked(record)
    last = {
        (prediction["id"], prediction["repeat"]): prediction
        for prediction in journal.read_records(folder / journal.PREDICTIONS)
    }
    lines = [
        journal.encode(
            score_record(benchmark, sample_of(prediction), repeat, prediction["reply"], str)
        )
        for (_, repeat), prediction in last.items()
        if prediction["status"] in SCORED
    ]
    journal.write_text(folder / journal.SCORES, b"".join(lines).decode())
    record["fingerprints"]["scorer"] = benchmark.scorer
    record["versions"] = versions()
    journal.write_json(folder / journal.RUN, record)
    return reported(folder)
