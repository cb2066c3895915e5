"""More than two runs are compared on what all of them scored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.runs import INFO, sample, write_run

from mmscore.errors import DataError
from mmscore.report import load
from mmscore.report.boxes import Style
from mmscore.report.several import SeveralRuns, several, to_json, to_text
from mmscore.report.statistics import mcnemar


def of(tmp_path: Path, *runs: list[dict[str, Any]], **options: Any) -> SeveralRuns:
    """The runs `m0`, `m1` ... beside each other."""
    folders = [
        write_run(tmp_path / f"run{n}", samples, model=f"m{n}", **options)
        for n, samples in enumerate(runs)
    ]
    return several([load(folder) for folder in folders])


def values(*scores: float) -> list[dict[str, Any]]:
    return [
        sample(i, score, metadata={"modality": "CT" if i % 2 else "MRI"})
        for i, score in enumerate(scores)
    ]


def test_three_runs_by_hand(tmp_path: Path) -> None:
    found = of(
        tmp_path,
        values(1, 1, 1, 1, 1, 0),
        values(1, 1, 1, 0, 0, 0),
        values(1, 0, 0, 0, 0, 0),
    )
    assert found.num == 6
    assert [one.score for one in found.scores] == pytest.approx([5 / 6, 3 / 6, 1 / 6])
    assert found.cochran is not None and found.cochran[:2] == (6.0, 2)
    assert [(pair.first, pair.second) for pair in found.pairs] == [(0, 1), (0, 2), (1, 2)]
    assert [(pair.gained, pair.lost) for pair in found.pairs] == [(0, 2), (0, 4), (0, 2)]
    assert [pair.p for pair in found.pairs] == [mcnemar(0, 2), mcnemar(0, 4), mcnemar(0, 2)]
    assert [pair.holm for pair in found.pairs] == pytest.approx([1.0, 3 * 0.125, 1.0])
    text = to_text(found)
    assert "Cochran's Q  6.00, 2 degrees of freedom, p = 0.0498" in text
    assert "C − A" in text and "-66.7" in text
    value = json.loads(to_json(found))
    assert value["names"] == ["m0", "m1", "m2"]
    assert value["pairs"][1]["holm_p"] == pytest.approx(0.375)
    assert [row["value"] for row in value["groups"]["modality"]] == ["CT", "MRI"]


def test_what_one_run_lacks_is_left_out_of_all_and_counted(tmp_path: Path) -> None:
    found = of(tmp_path, values(1, 1, 1), values(1, 0), values(0, 0, 1))
    assert found.num == 2
    assert [one.left_out for one in found.scores] == [1, 0, 1]
    assert [one.score for one in found.scores] == [1.0, 0.5, 0.0]


def test_graded_scores_and_repeats_have_intervals_and_no_p(tmp_path: Path) -> None:
    graded = of(tmp_path / "a", values(0.5, 0.2), values(0.6, 0.2), values(0.7, 0.1))
    repeated = [sample(0, 1.0, repeat=r) for r in range(2)]
    again = of(tmp_path / "b", repeated, repeated, repeated)
    for found in (graded, again):
        assert found.cochran is None
        assert {(pair.p, pair.holm) for pair in found.pairs} == {(None, None)}
        assert "Cochran" not in to_text(found)
    assert graded.pairs[0].difference == pytest.approx(0.05)


def test_runs_that_share_no_sample_are_told(tmp_path: Path) -> None:
    apart = [[sample(n, 1.0)] for n in range(3)]
    found = of(tmp_path, *apart)
    assert found.num == 0 and found.pairs[0].difference is None
    assert "no sample was scored in all runs" in to_text(found)
    assert json.loads(to_json(found))["scores"][0]["score"] is None


def test_names_are_told_apart(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / place / "run", values(1)) for place in ("a", "b", "c")]
    found = several([load(folder) for folder in folders])
    assert [one.name for one in found.scores] == ["run (1)", "run (2)", "run (3)"]


def test_unlike_runs_refuse(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / str(n), values(1), model=f"m{n}") for n in range(2)]
    other = {"fingerprints": {**INFO["fingerprints"], "data": "d2"}}
    folders.append(write_run(tmp_path / "2", values(1), model="m2", **other))
    runs = [load(folder) for folder in folders]
    with pytest.raises(DataError, match="unlike data"):
        several(runs)
    assert several(runs, force=True).warnings


def test_ascii_and_hostile_names(tmp_path: Path) -> None:
    folders = [write_run(tmp_path / str(n), values(1), model=f"\x1b[31m{n}") for n in range(3)]
    text = to_text(several([load(folder) for folder in folders]), Style(boxes=False))
    assert "\x1b" not in text and text.isascii()
