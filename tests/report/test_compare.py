"""Two runs are compared sample by sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.runs import INFO, sample, write_run

from mmscore.errors import DataError
from mmscore.report import load
from mmscore.report.boxes import Style
from mmscore.report.compare import Comparison, compare, to_dict, to_json, to_text


def pair(
    tmp_path: Path, before: list[dict[str, Any]], after: list[dict[str, Any]], **options: Any
) -> Comparison:
    info = options.pop("info", {})
    first = load(write_run(tmp_path / "first", before, model="old"))
    second = load(write_run(tmp_path / "second", after, model="new", **info))
    return compare(first, second, **options)


def values(*scores: float, start: int = 0) -> list[dict[str, Any]]:
    return [sample(start + i, score) for i, score in enumerate(scores)]


def test_counts_and_p_by_hand(tmp_path: Path) -> None:
    # 10 gained, 2 lost, 5 right in both, 3 in neither.
    before = [0.0] * 10 + [1.0] * 2 + [1.0] * 5 + [0.0] * 3
    after = [1.0] * 10 + [0.0] * 2 + [1.0] * 5 + [0.0] * 3
    found = pair(tmp_path, values(*before), values(*after))
    assert (found.gained, found.lost, found.both, found.neither) == (10, 2, 5, 3)
    assert found.p == pytest.approx(2 * (1 + 12 + 66) / 4096)
    assert found.scores == (0.35, 0.75)
    assert found.difference == pytest.approx(0.4)
    assert found.interval is not None
    # Differences have variance 12/20 - 0.4^2 = 0.44; the normal interval is 0.4 +- 0.291.
    assert found.interval == pytest.approx((0.109, 0.691), abs=0.02)
    assert [flip.id for flip in found.flips[:2]] == ["q10", "q11"]
    text = to_text(found)
    assert "exact p = 0.0386" in text
    assert "+40.0 points (B − A)" in text
    assert "10 gained · 2 lost · 5 right in both · 3 in neither" in text


def test_pairs_are_found_by_id_and_the_rest_is_counted(tmp_path: Path) -> None:
    before = values(1.0, 0.0, 1.0)
    after = [*values(0.0, start=2), sample(9, 1.0), sample(0, None, status="error", error="x")]
    found = pair(tmp_path, before, after)
    assert (found.pairs, found.only_first, found.only_second) == (1, 2, 1)
    assert [(flip.id, flip.before, flip.after) for flip in found.flips] == [("q2", 1.0, 0.0)]
    assert "2 scored in A alone · 1 in B alone" in to_text(found)


def test_repeats_are_paired_with_repeats_and_not_taken_for_samples(tmp_path: Path) -> None:
    before = [sample(i, 0.0, repeat=r) for i in range(4) for r in range(2)]
    after = [sample(i, float(i % 2), repeat=r) for i in range(4) for r in range(2)]
    found = pair(tmp_path, before, after)
    single = pair(tmp_path / "b", values(0.0, 0.0, 0.0, 0.0), values(0.0, 1.0, 0.0, 1.0))
    assert found.pairs == 8
    assert found.interval == single.interval
    assert found.p is None
    assert single.p == 0.5


def test_unlike_data_refuse_unless_forced(tmp_path: Path) -> None:
    other = {"fingerprints": {**INFO["fingerprints"], "data": "d2", "prompt": "p2"}}
    with pytest.raises(DataError, match="unlike data") as caught:
        pair(tmp_path, values(1.0), values(0.0), info=other)
    assert "--force" in str(caught.value.hint)
    found = pair(tmp_path, values(1.0), values(0.0), info=other, force=True)
    assert found.lost == 1
    assert len(found.warnings) == 2
    assert "unlike prompts (`p1` and `p2`)" in to_text(found)


def test_another_way_of_judging_is_told(tmp_path: Path) -> None:
    judge = {"strategy": "llm", "models": {"j": "j"}, "prompt": "grading:1"}
    found = pair(tmp_path, values(1.0), values(0.0), info={"judge": judge})
    assert "(by the rule alone; llm by j with grading:1)" in to_text(found)


def test_another_benchmark_is_never_comparable(tmp_path: Path) -> None:
    info = {"benchmark": {"name": "pmc_vqa"}}
    with pytest.raises(DataError, match="`slake` with one of `pmc_vqa`"):
        pair(tmp_path, values(1.0), values(0.0), info=info, force=True)


def test_graded_scores_get_an_interval_and_no_mcnemar(tmp_path: Path) -> None:
    found = pair(tmp_path, values(0.5, 0.2, 0.9), values(0.6, 0.2, 0.7))
    assert found.p is None
    assert (found.gained, found.lost) == (1, 1)
    assert "McNemar" not in to_text(found)


def test_a_metric_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no metric `bleu-9`, it has `accuracy`"):
        pair(tmp_path, values(1.0), values(1.0), metric="bleu-9")
    graded = [sample(0, None, _metrics={"Rouge-L-R": 0.5})]
    with pytest.raises(DataError, match="share no metric"):
        pair(tmp_path / "b", values(1.0), graded)


@pytest.mark.parametrize("before", [[], values(1.0)])
def test_nothing_in_common_is_no_crash(tmp_path: Path, before: list[dict[str, Any]]) -> None:
    found = pair(tmp_path, before, [])
    assert found.difference is None
    assert found.interval is None
    assert "no sample was scored in both runs" in to_text(found)
    assert json.loads(to_json(found))["difference"] == {"value": None, "low": None, "high": None}


def test_json_lists_every_flip(tmp_path: Path) -> None:
    found = pair(tmp_path, values(*[0.0] * 30), values(*[1.0] * 30))
    value = json.loads(to_json(found))
    assert len(value["flips"]) == 30
    assert value["flips"][0] == {
        "id": "q0",
        "repeat": 0,
        "subset": "en_open",
        "target": "0",
        "before": 0.0,
        "after": 1.0,
        "extracted_before": "x",
        "extracted_after": "x",
    }
    assert value["counts"] == {"gained": 30, "lost": 0, "both": 0, "neither": 0}
    assert "… 20 more with --json" in to_text(found)


def test_ascii_and_hostile_text(tmp_path: Path) -> None:
    before = [sample(0, 1.0, target="\x1b[31m肺")]
    text = to_text(pair(tmp_path, before, [sample(0, 0.0)]), Style(boxes=False))
    assert "\x1b" not in text
    assert text.replace("肺", "").isascii()


def test_questions_on_one_image_are_told_from_independent_ones(tmp_path: Path) -> None:
    def on_images(*scores: float) -> list[dict[str, Any]]:
        return [
            sample(i, score, media=[{"place": f"{i // 5}.png", "sha256": f"{i // 5}"}])
            for i, score in enumerate(scores)
        ]

    alike = [0.0] * 10 + [1.0] * 5 + [0.0] * 15
    found = pair(tmp_path, on_images(*[0.0] * 30), on_images(*alike))
    assert found.interval is not None and found.clustered is not None
    width, wider = (high - low for low, high in (found.interval, found.clustered))
    assert wider > 1.5 * width
    assert "by image   95% CI" in to_text(found)
    assert set(to_dict(found)["difference"]) == {"value", "low", "high", "clustered"}


def test_groups_have_their_own_paired_intervals(tmp_path: Path) -> None:
    def grouped(*scores: float) -> list[dict[str, Any]]:
        return [
            sample(i, score, metadata={"modality": ("CT", "MRI")[i % 2]})
            for i, score in enumerate(scores)
        ]

    found = pair(tmp_path, grouped(0, 0, 0, 1, 0, 1, 0), grouped(1, 0, 1, 1, 0, 0, 0))
    rows = {row["value"]: row for row in to_dict(found)["groups"]["modality"]}
    assert (rows["CT"]["pairs"], rows["CT"]["gained"], rows["CT"]["lost"]) == (4, 2, 0)
    assert rows["CT"]["difference"]["value"] == 0.5
    assert rows["CT"]["difference"]["low"] < 0.5 < rows["CT"]["difference"]["high"]
    assert rows["MRI"]["scores"] == pytest.approx([2 / 3, 1 / 3])
