"""A run's files: read record by record, looked up where they lie, written whole or not at all."""

from __future__ import annotations

import errno
import json
import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support.runs import lines, sample, write_run

from mmscore import report
from mmscore.disk import write_whole
from mmscore.errors import DataError, StorageError
from mmscore.report.compare import compare
from mmscore.run.rescore import rescore
from mmscore.store import journal, reader
from mmscore.store.reader import LastRecords, RecordReader
from mmscore.store.records import Prediction


def record(name: str, **changes: Any) -> dict[str, Any]:
    """A prediction line of the sample `name`."""
    line = {key: value for key, value in sample(0).items() if not key.startswith("_")}
    return {**line, "id": name, **changes}


def records_of(path: Path, *records: dict[str, Any], torn: str = "") -> Path:
    path.write_text(lines(records) + torn, encoding="utf-8")
    return path


def test_the_last_record_of_a_sample_is_looked_up_in_the_order_of_the_first(tmp_path: Path) -> None:
    path = records_of(
        tmp_path / "a.jsonl",
        record("肺", reply="1"),
        record("b", reply="2"),
        record("b", repeat=1, reply="3"),
        record("肺", reply="4"),
        torn='{"id": "b", "repeat": 0, "reply"',
    )
    with closing(LastRecords(path, Prediction)) as found:
        assert list(found) == [("肺", 0), ("b", 0), ("b", 1)]
        assert [prediction.reply for prediction in found.values()] == ["4", "2", "3"]
        assert found.get(("c", 0)) is None


def test_a_sample_counts_by_its_last_record(tmp_path: Path) -> None:
    path = records_of(
        tmp_path / "a.jsonl",
        record("a", status="error"),
        record("b"),
        record("c"),
        record("a"),
        record("b", status="timeout"),
    )
    with closing(LastRecords(path, Prediction, lambda one: one.replied)) as found:
        assert list(found) == [("a", 0), ("c", 0)]


def test_records_are_found_while_the_file_grows_and_from_any_thread(tmp_path: Path) -> None:
    path = records_of(tmp_path / "a.jsonl", *(record(f"{i}", index=i) for i in range(500)))
    file = journal.AppendFile(path, print)
    with closing(file), closing(LastRecords(path, Prediction)) as found:

        def look(number: int) -> bool:
            file.append(Prediction.from_json(record(f"{number}", index=-1)))
            return found[f"{number}", 0].index == number

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(look, range(500)))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{broken", "is no JSON"),
        ("[]", "holds list, expected an object"),
        ('{"n": 1}', "has no `id`"),
        ('{"id": "a", "n": NaN}', "is no JSON: NaN is no number"),
        ("[" * 100_000, "is no JSON"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(record("a")) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"a.jsonl, line 2` {words}"):
        list(RecordReader(path, Prediction).placed())


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, ["old"])

    def pieces(error: BaseException) -> Iterator[str]:
        yield "new"
        raise error

    for error, expected in (
        (DataError("damaged"), DataError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (OSError(errno.ENOSPC, "No space left on device"), StorageError),
    ):
        with pytest.raises(expected):
            write_whole(path, pieces(error))
        assert path.read_text(encoding="utf-8") == "old"
        assert list(tmp_path.iterdir()) == [path]


def test_whole_samples_come_in_the_order_of_the_data_set(tmp_path: Path) -> None:
    samples = [sample(i, None if i == 2 else 1.0) for i in (3, 0, 2, 1)]
    write_run(tmp_path, samples)
    with (tmp_path / "predictions.jsonl").open("a", encoding="utf-8") as file:
        file.write(lines([{**sample(3), "reply": "later"}]))
    found = list(report.load(tmp_path).whole())
    assert [prediction.index for prediction, _ in found] == [0, 1, 2, 3]
    assert found[3][0].reply == "later"
    assert [score and score.id for _, score in found] == ["q0", "q1", None, "q3"]


def test_a_folder_that_changes_while_it_is_read_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "HELD_BYTES", 0)
    run = report.load(write_run(tmp_path, [sample(0), sample(1)]))
    path = tmp_path / "predictions.jsonl"
    first, second = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(second + first, encoding="utf-8")
    with pytest.raises(DataError, match="has changed while it was read"):
        list(run.whole())


# --- memory ------------------------------------------------------------------------------------

REPLY = "ANSWER: yes " * 5_000
SAMPLES = 300


def report_all(folder: Path) -> None:
    run = report.load(folder)
    built = report.build(run)
    for name in ("json", "csv"):  # a page holds the texts of a few hundred samples, cut
        report.write(built, run, name)


def compare_with_itself(folder: Path) -> None:
    compare(report.load(folder), report.load(folder))


@pytest.mark.parametrize("use", [report_all, compare_with_itself, rescore])
def test_the_replies_of_a_run_are_never_in_memory_together(
    tmp_path: Path, use: Callable[[Path], object]
) -> None:
    samples = [sample(i, reply=REPLY, reasoning=REPLY) for i in range(SAMPLES)]
    write_run(tmp_path, samples, config={"model": "m", "dataset_args": {}})
    use(write_run(tmp_path / "warm", [sample(0)], config={"dataset_args": {}}))  # imports
    tracemalloc.start()
    try:
        use(tmp_path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    together = SAMPLES * 2 * len(REPLY)
    assert together > 30_000_000
    assert peak < 3_000_000
