"""A report says what the journal holds, whatever state the run was left in."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.runs import lines, sample, write_run

from mmscore.errors import DataError, StorageError
from mmscore.report import WRITERS, PageImages, Report, build, load, write
from mmscore.report.boxes import Style, clean, cut, style_of, width
from mmscore.report.files import to_dict
from mmscore.report.labels import metric_labels, percent, seconds
from mmscore.report.terminal import render, table

TABLE = """\
┌─────────┬───────────┬────────────┬──────────┬───────┬─────────┬────────────┬────────────┐
│ Model   │ Dataset   │ Metric     │ Subset   │   Num │ Score   │ Category   │ 95% CI     │
├─────────┼───────────┼────────────┼──────────┼───────┼─────────┼────────────┼────────────┤
│ mock    │ SLAKE     │ Accuracy ↑ │ en_open  │   645 │ 69.8%   │ en         │ 66.1–73.2% │
├─────────┼───────────┼────────────┼──────────┼───────┼─────────┼────────────┼────────────┤
│ mock    │ SLAKE     │ Accuracy ↑ │ zh_open  │   613 │ 67.2%   │ zh         │ 63.4–70.8% │
├─────────┼───────────┼────────────┼──────────┼───────┼─────────┼────────────┼────────────┤
│ mock    │ SLAKE     │ Accuracy ↑ │ OVERALL  │  1258 │ 68.5%   │ -          │ 65.9–71.0% │
└─────────┴───────────┴────────────┴──────────┴───────┴─────────┴────────────┴────────────┘"""


def report_of(directory: Path, samples: list[dict[str, Any]], **info: Any) -> Report:
    return build(load(write_run(directory, samples, **info)))


def mixed(right: int, wrong: int, start: int = 0, **changes: Any) -> list[dict[str, Any]]:
    values = [1.0] * right + [0.0] * wrong
    return [sample(start + i, value, **changes) for i, value in enumerate(values)]


def test_the_table_is_the_references_with_an_interval(tmp_path: Path) -> None:
    samples = mixed(450, 195) + mixed(412, 201, 645, subset="zh_open")
    drawn = table([report_of(tmp_path, samples, model="mock")])
    assert drawn == TABLE


def test_one_subset_without_a_category_needs_neither_row_nor_column(tmp_path: Path) -> None:
    report = report_of(tmp_path, mixed(1, 1), benchmark={"subsets": {}})
    drawn = table([report])
    assert "OVERALL" not in drawn
    assert "Category" not in drawn
    assert report.scores[0].category == "default"


def test_rounding_follows_the_references_two_steps() -> None:
    # 0.69846 is kept as 0.6985 and shown as 69.9 %, where a single rounding would say 69.8 %.
    assert percent(round(0.69846, 4)) == "69.9%"
    assert [percent(value) for value in (1.0, 0.0, 0.4, 0.0125, 0.00049, None)] == [
        "100%",
        "0%",
        "40%",
        "1.3%",
        "0%",
        "—",
    ]


def test_overall_is_shown_as_the_reference_averages_it(tmp_path: Path) -> None:
    # 6 of 11 is 54.545...; EvalScope 1.14.1 averages 0.6667 and 0.5 to 0.5455 and prints 54.6%.
    samples = mixed(2, 1, subset="a") + mixed(4, 4, 3, subset="b")
    report = report_of(tmp_path, samples, benchmark={"subsets": {}})
    assert report.main.score == 6 / 11
    assert "│ OVERALL  │    11 │ 54.6%   │" in table([report])


def test_labels_are_the_references() -> None:
    assert metric_labels(["bleu-1", "Rouge-2-P", "Rouge-L-F", "exact_match"]) == {
        "bleu-1": "BLEU ↑ · n-gram 1",
        "Rouge-2-P": "ROUGE ↑ · n-gram 2 · Precision",
        "Rouge-L-F": "ROUGE ↑ · L · F1",
        "exact_match": "Exact Match ↑",
    }
    assert metric_labels(["accuracy", "relaxed_acc"]) == {
        "accuracy": "Accuracy ↑ (accuracy:mean)",
        "relaxed_acc": "Accuracy ↑ (relaxed_acc:mean)",
    }


def test_json_has_the_promised_shape(tmp_path: Path) -> None:
    samples = mixed(3, 1) + mixed(1, 1, 4, subset="zh_open", metadata={"modality": "MRI"})
    run = load(write_run(tmp_path, samples))
    path = write(build(run), run, "json")
    value = json.loads(path.read_text(encoding="utf-8"))
    assert path.name == "report.json"
    assert value["schema_version"] == 1
    assert (value["model"], value["dataset"], value["num"]) == ("m", "slake", 6)
    assert list(value["scores"][0]) == [
        "metric",
        "subset",
        "category",
        "num",
        "score",
        "low",
        "high",
        "clustered",
    ]
    assert value["scores"][0]["score"] == 0.75
    assert value["overall"] == {"accuracy": 4 / 6}
    assert value["macro"] == {"accuracy": 0.625}
    assert [row["score"] for row in value["categories"]] == [0.75, 0.5]
    assert [(r["value"], r["num"], r["score"]) for r in value["groups"]["modality"]] == [
        ("CT", 4, 0.75),
        ("MRI", 2, 0.5),
    ]
    assert value["status"]["ok"] == 6
    assert value["usage"]["prompt_tokens"] == 60
    assert value["timing"]["requests"] == 6
    assert value["fingerprints"]["data"] == "d1"
    assert value["bounds"] == {"accuracy": None}


def test_failures_are_no_wrong_answers_but_bound_the_score(tmp_path: Path) -> None:
    failed = [
        sample(8, None, status="error", error="HTTP 500", attempts=3),
        sample(9, None, status="timeout", error="no answer in 60 s", attempts=3),
    ]
    report = report_of(tmp_path, mixed(6, 2) + failed)
    assert report.main.score == 0.75
    assert report.bounds["accuracy"] == (0.6, 0.8)
    assert report.coverage.failed == 2
    text = render(report)
    assert "75% over the 8 scored · 60% if all failed were wrong · 80% if all were right" in text
    assert "1 × error: HTTP 500" in text
    assert "12 requests" not in text
    assert "14 requests, 4 retries" in text


def test_a_failed_last_line_hides_an_older_score(tmp_path: Path) -> None:
    write_run(tmp_path, mixed(2, 0))
    with (tmp_path / "predictions.jsonl").open("a", encoding="utf-8") as file:
        file.write(lines([sample(1, None, status="error", error="gone")]))
    report = build(load(tmp_path))
    assert report.main.num == 1
    assert report.status["error"] == 1


def test_the_last_line_counts_and_a_torn_one_does_not(tmp_path: Path) -> None:
    write_run(tmp_path, mixed(1, 1))
    with (tmp_path / "scores.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "q1", "repeat": 0, "metrics": {"accuracy": 1.0}}\n{"id": "q0", "rep')
    assert build(load(tmp_path)).main.score == 1.0


def test_every_cut_of_the_last_record_still_reports(tmp_path: Path) -> None:
    write_run(tmp_path, mixed(1, 1))
    journal = tmp_path / "predictions.jsonl"
    whole = journal.read_bytes()
    start = whole.index(b"\n") + 1
    for end in range(start, len(whole)):
        journal.write_bytes(whole[:end])
        assert build(load(tmp_path)).coverage.asked == 1


def test_order_of_lines_changes_nothing(tmp_path: Path) -> None:
    rng = random.Random(7)
    samples = [
        sample(i, None, _metrics={"Rouge-L-R": rng.random()}, seconds=rng.random())
        for i in range(200)
    ]
    one = report_of(tmp_path / "a", samples)
    rng.shuffle(samples)
    other = report_of(tmp_path / "b", samples)
    assert to_dict(one) == to_dict(other)
    assert render(one) == render(other)


def test_the_mean_is_the_plain_sum_in_data_order(tmp_path: Path) -> None:
    values = [1e16, 1.0, -1e16, 1.0]
    samples = [sample(i, v) for i, v in enumerate(values)]
    assert report_of(tmp_path, samples[::-1]).main.score == 0.25


def test_a_run_that_asked_everything_is_not_called_unfinished(tmp_path: Path) -> None:
    assert "Warning" not in render(report_of(tmp_path, mixed(1, 1), finished=None))


def test_a_half_finished_run_says_what_is_missing(tmp_path: Path) -> None:
    planned = {"en_open": 10, "zh_open": 5}
    report = report_of(
        tmp_path, mixed(2, 1), planned=planned, finished=None, stopped="interrupted by Ctrl-C"
    )
    assert report.coverage.not_asked == 12
    assert report.macro["accuracy"] == 2 / 3  # the empty subset is no zero
    empty = report.scores[1]
    assert (empty.name, empty.num, empty.score) == ("zh_open", 0, None)
    text = render(report)
    assert "unfinished: 12 of 15 not asked (interrupted by Ctrl-C)" in text
    assert "│     0 │ —" in text


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param([], id="nothing asked"),
        pytest.param([sample(0, None)], id="not scored yet"),
        pytest.param([sample(0, None, _metrics={})], id="no reference answer"),
        pytest.param([sample(0, None, status="error", error="x")], id="all failed"),
    ],
)
def test_nothing_scored_divides_by_nothing(tmp_path: Path, samples: list[dict[str, Any]]) -> None:
    run = load(write_run(tmp_path, samples))
    report = build(run)
    assert report.main.score is None
    assert "—" in render(report) or not samples
    value = json.loads("".join(WRITERS["json"](report, run, PageImages())))
    assert value["overall"] == {"accuracy": None}
    for format in WRITERS:
        assert "".join(WRITERS[format](report, run, PageImages()))


def test_asked_but_not_scorable_is_counted_apart(tmp_path: Path) -> None:
    samples = [sample(0), sample(1, None, _metrics={}), sample(2, None)]
    cover = report_of(tmp_path, samples).coverage
    assert (cover.scored, cover.no_score, cover.pending) == (1, 1, 1)


def test_missing_journal_files_are_an_empty_run(tmp_path: Path) -> None:
    write_run(tmp_path, [], planned={"en_open": 3})
    (tmp_path / "predictions.jsonl").unlink()
    (tmp_path / "scores.jsonl").unlink()
    assert build(load(tmp_path)).coverage.not_asked == 3


def test_truncated_replies_warn_and_show_the_rest(tmp_path: Path) -> None:
    cut = [sample(8 + i, 0.0, status="truncated", finish_reason="length") for i in range(2)]
    report = report_of(tmp_path, mixed(8, 0) + cut)
    assert report.share("truncated") == 0.2
    assert report.finished["accuracy"] == 1.0
    assert "20% of replies were cut off" in render(report)
    assert "finished replies alone: 100%" in render(report)


def test_repeats_show_their_spread_and_count_a_sample_once(tmp_path: Path) -> None:
    samples = [sample(i, v, repeat=r) for r in range(2) for i, v in enumerate([1.0, float(r)])]
    report = report_of(tmp_path, samples, repeats=2)
    found = report.repeats["accuracy"]
    assert found.scores == (0.5, 1.0) and found.majority is not None
    assert [found.pass_at[k].score for k in (1, 2)] == [0.75, 1.0]
    assert "pass@1 75% · pass@2 100%" in render(report) and "majority vote" in render(report)
    assert report.main.num == 4
    assert "50% 100% · mean 75%, standard deviation 35.36 points" in render(report)
    twice = [sample(i, float(i < 3), repeat=r) for r in range(2) for i in range(4)]
    once = [sample(i, float(i < 3)) for i in range(4)]
    doubled = report_of(tmp_path / "two", twice, repeats=2).main
    single = report_of(tmp_path / "one", once).main
    assert (doubled.low, doubled.high) == (single.low, single.high)


def test_usage_missing_is_said_and_not_guessed(tmp_path: Path) -> None:
    samples = [*mixed(3, 0), sample(3, usage={}), sample(4, usage={})]
    report = report_of(tmp_path, samples)
    assert report.usage["missing"] == 2
    assert report.usage["prompt_tokens"] == 30
    assert "usage missing: 40% of replies" in render(report)


def test_a_judge_replaces_the_metrics_and_is_counted(tmp_path: Path) -> None:
    judge = {"verdict": "A", "usage": {"prompt_tokens": 7, "completion_tokens": 1}}
    samples = [
        sample(0, 1.0, _judge=judge),
        sample(1, None, _metrics={}, _judge={"error": "no verdict"}),
    ]
    metrics = {"metrics": ["Rouge-L-R", "bleu-1"]}
    report = report_of(tmp_path, samples, benchmark=metrics, judge={"model": "j"})
    assert report.metrics == ("accuracy",)
    assert report.primary == "accuracy"
    assert report.judge is not None
    assert (report.judge["judged"], report.judge["failed"]) == (1, 1)
    assert report.judge["usage"]["prompt_tokens"] == 7


def test_metrics_stand_in_the_order_of_the_scores(tmp_path: Path) -> None:
    samples = [sample(0, None, _metrics={"bleu-1": 0.5, "Rouge-L-R": 0.25})]
    report = report_of(tmp_path, samples, benchmark={"metrics": ["Rouge-L-R", "bleu-1"]})
    assert report.metrics == ("bleu-1", "Rouge-L-R")
    assert report.main.metric == "Rouge-L-R"


def test_groups_take_lists_and_miss_nothing(tmp_path: Path) -> None:
    samples = [
        sample(0, metadata={"modality": ["CT", "MRI"]}),
        sample(1, metadata={"modality": None}),
        sample(2, metadata={"modality": False}),
    ]
    rows = report_of(tmp_path, samples).groups["modality"]
    assert {row.name: row.num for row in rows} == {"CT": 1, "MRI": 1, "(none)": 1, "False": 1}
    without = [sample(0, metadata={})]
    assert report_of(tmp_path / "b", without).groups == {}


def test_csv_is_one_line_a_sample_and_starts_no_formula(tmp_path: Path) -> None:
    samples = [
        sample(0, reply='=HYPERLINK("http://x","y")', target="-5"),
        sample(1, 0.0, reply='two\nlines, "quoted"', target="肺", _extracted="-1+1"),
        sample(2, None, status="error", error="@SUM(A1)", reply="", usage={}),
    ]
    run = load(write_run(tmp_path, samples))
    text = "".join(WRITERS["csv"](build(run), run, PageImages()))
    assert "\r" not in text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["reply"] for row in rows[:2]] == [
        '\'=HYPERLINK("http://x","y")',
        'two\nlines, "quoted"',
    ]
    assert rows[0]["target"] == "-5"  # a plain number is no formula
    assert rows[1]["extracted"] == "'-1+1"
    assert rows[2]["error"] == "'@SUM(A1)"
    assert [row["accuracy"] for row in rows] == ["1.0", "0.0", ""]
    assert rows[0]["category"] == "en"


def test_hostile_text_cannot_steer_the_terminal(tmp_path: Path) -> None:
    failed = sample(1, None, status="error", error="\x1b[2J\u202egone\ud83d\nnext")
    report = report_of(tmp_path, [sample(0)], model="m\x1b]0;x\x07")
    assert "\x1b" not in render(report)
    assert clean(failed["error"]) == "?[2J?gone? next"


def test_wide_characters_take_two_columns(tmp_path: Path) -> None:
    assert width("肺CT") == 4
    assert width("e\u0301") == 1
    report = report_of(tmp_path, mixed(1, 0, subset="中文集"), benchmark={"subsets": {}})
    assert {width(line) for line in table([report]).split("\n")} == {
        width(table([report]).split("\n")[0])
    }


class FakeStream:
    def __init__(self, encoding: str | None, tty: bool) -> None:
        self.encoding = encoding
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


@pytest.mark.parametrize(
    ("encoding", "tty", "environ", "expected"),
    [
        ("utf-8", True, {}, Style(color=True, boxes=True, columns=80)),
        ("utf-8", True, {"NO_COLOR": "1"}, Style(color=False, boxes=True, columns=80)),
        ("utf-8", True, {"TERM": "dumb"}, Style(color=False, boxes=True, columns=80)),
        ("utf-8", False, {}, Style(color=False, boxes=True, columns=80)),
        ("ascii", False, {}, Style(color=False, boxes=False, columns=80)),
        ("cp1252", True, {}, Style(color=True, boxes=False, columns=80)),
        (None, False, {}, Style(color=False, boxes=False, columns=80)),
        ("utf-8", False, {"COLUMNS": "60"}, Style(color=False, boxes=True, columns=60)),
        ("utf-8", False, {"COLUMNS": "wide"}, Style(color=False, boxes=True, columns=80)),
    ],
)
def test_style_follows_the_output(
    encoding: str | None, tty: bool, environ: dict[str, str], expected: Style
) -> None:
    assert style_of(FakeStream(encoding, tty), environ) == expected


def test_ascii_fallback_is_ascii(tmp_path: Path) -> None:
    cut = [sample(2, 0.0, status="truncated"), sample(3, None, status="error", error="x")]
    text = render(report_of(tmp_path, mixed(1, 1) + cut, finished=None), Style(boxes=False))
    assert text.isascii()
    assert "| Accuracy " in text


def test_damage_inside_a_file_is_named(tmp_path: Path) -> None:
    write_run(tmp_path, mixed(1, 1))
    journal = tmp_path / "predictions.jsonl"
    journal.write_text("{broken\n" + journal.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(DataError, match=r"predictions\.jsonl, line 1"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (None, "no run's folder"),
        ("{", "no JSON"),
        ("[]", "holds list"),
        ('{"schema_version": 2}', "schema_version 2"),
        ('{"schema_version": 1}', "has no `benchmark`"),
    ],
)
def test_a_folder_that_is_no_run(tmp_path: Path, content: str | None, match: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=match):
        load(tmp_path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, [1.0]])
def test_a_score_that_is_no_number_stops_the_report(tmp_path: Path, value: object) -> None:
    write_run(tmp_path, [sample(0, None, _metrics={"accuracy": value})])
    with pytest.raises(DataError, match=r"scores\.jsonl, (line 1|sample `q0`)"):
        build(load(tmp_path))


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    run = load(write_run(tmp_path, mixed(1, 0)))
    with pytest.raises(StorageError, match=r"cannot write .*report\.json"):
        write(build(run), run, "json", tmp_path / "missing" / "report.json")


def test_lone_surrogates_do_not_stop_the_writers(tmp_path: Path) -> None:
    write_run(tmp_path, mixed(1, 0))
    journal = tmp_path / "predictions.jsonl"
    text = (
        journal.read_text(encoding="utf-8").replace("ANSWER: 0", r"\ud83d").replace("CT", r"\udc00")
    )
    journal.write_text(text, encoding="utf-8")
    run = load(tmp_path)
    for format in WRITERS:
        assert write(build(run), run, format).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0071, "0.007 s"),
        (12.34, "12.3 s"),
        (59.96, "1 min 00 s"),
        (245, "4 min 05 s"),
        (7380, "2 h 03 min"),
    ],
)
def test_durations_read_well(value: float, text: str) -> None:
    assert seconds(value) == text


def test_questions_on_one_image_have_an_interval_that_knows(tmp_path: Path) -> None:
    def shows(image: int) -> list[dict[str, Any]]:
        return [{"place": f"{image}.jpg", "sha256": str(image), "mime": "image/jpeg"}]

    samples = [sample(n, float(n % 40 < 20), media=shows(n // 10)) for n in range(80)]
    report = report_of(tmp_path / "shared", samples)
    assert report.images == 8 and report.main.clustered is not None
    low, _ = report.main.clustered
    assert report.main.low is not None and low < report.main.low - 0.1
    assert "the samples show 8 images" in render(report)
    own = report_of(tmp_path / "own", [sample(n, 1.0, media=shows(n)) for n in range(9)])
    assert own.main.clustered is None, "each shows an image of its own"


@pytest.mark.parametrize(
    ("columns", "there", "gone"),
    [
        (0, ["Model", "Category", "95% CI"], []),
        (80, ["m · SLAKE", "Category", "95% CI"], ["Model"]),
        (60, ["m · SLAKE · Accuracy ↑", "95% CI"], ["Model", "Metric "]),
        (40, ["Subset", "Score"], ["Category", "95% CI  "]),
    ],
)
def test_a_table_fits_its_columns(
    tmp_path: Path, columns: int, there: list[str], gone: list[str]
) -> None:
    wide = [sample(n, 1.0, subset="zh_open", metadata={"modality": "词" * 40}) for n in range(3)]
    report = report_of(tmp_path, mixed(3, 1) + wide)
    text = render(report, Style(columns=columns))
    for word in there:
        assert word in text
    for word in gone:
        assert word not in text.split("\n\n")[0]
    if columns:
        assert max(map(width, text.split("\n"))) <= columns


@given(st.text(max_size=60), st.integers(1, 40))
def test_what_is_cut_fits(text: str, size: int) -> None:
    assert width(cut(text, size)) <= max(size, 1)
