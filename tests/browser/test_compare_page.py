"""The page of a comparison in a real browser."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.browser import Tab, axe_script
from support.browser_fixtures import GREY, check_accessibility, counted, drawn_samples, pick, text
from support.runs import sample, write_run

from mmscore.report import PageImages, load
from mmscore.report.html import compare_html
from mmscore.report.pairing import beside

Show = Callable[..., Tab]


def page_of(tmp_path: Path, *runs: list[dict[str, Any]], **options: Any) -> str:
    images = options.pop("images", PageImages())
    folders = [
        write_run(tmp_path / f"run{n}", samples, **{"model": f"model-{n}", **options})
        for n, samples in enumerate(runs)
    ]
    return "".join(compare_html(beside([load(folder) for folder in folders]), images))


def drawn_runs(count: int) -> list[list[dict[str, Any]]]:
    """Runs over the drawn samples: each has its own third wrong, and lacks its first samples."""
    runs = []
    for k in range(count):
        samples = drawn_samples()[k:]
        for n, one in enumerate(samples, k):
            if one["_metrics"]:
                one["_metrics"] = {"accuracy": float((n + k) % 3 > 0)}
                one["reply"] = f"ANSWER: reply {n} of run {k}"
        runs.append(samples)
    return runs


IMAGES = PageImages({f"imgs/{n}.png": GREY for n in range(120)}, {}, 768)


def test_two_runs_side_by_side(show: Show, tmp_path: Path) -> None:
    tab = show(page_of(tmp_path, *drawn_runs(2), images=IMAGES), "#sample=q6")
    assert counted(tab) == "120 of 120 samples"
    beside = tab.run("[...document.querySelectorAll('.asking .box')].map((one) => one.innerText)")
    assert beside == ["ANSWER: reply 6 of run 0", "ANSWER: reply 6 of run 1"]
    assert tab.run("document.querySelectorAll('.detail .picture').length") == 1
    assert "You are careful." in text(tab, ".detail")
    assert "117 scored in all runs" in text(tab, "#main")
    numbers = {}
    for outcome in ("gained", "lost", "both", "unpaired"):
        pick(tab, "Outcome", outcome)
        numbers[outcome] = int(counted(tab).split()[0])
    assert numbers == {"gained": 38, "lost": 39, "both": 40, "unpaired": 3}
    assert tab.run("page.pair.gained") == numbers["gained"]
    pick(tab, "Outcome", "lost")
    tab.click("[data-key='fact:modality'][data-value='CT']")
    assert 0 < int(counted(tab).split()[0]) < numbers["lost"]
    assert tab.run("location.hash").startswith("#outcome=lost&fact%3Amodality=CT")


def test_a_reply_of_either_run_is_found(show: Show, tmp_path: Path) -> None:
    tab = show(page_of(tmp_path, *drawn_runs(3)), "#q=reply+77+of+run+2")
    assert counted(tab) == "1 of 120 samples"


def test_more_than_two_runs_have_their_tests(show: Show, tmp_path: Path) -> None:
    tab = show(page_of(tmp_path, *drawn_runs(3)))
    shown = text(tab, "#main")
    assert "Cochran Q" in shown and "2 degrees of freedom" in shown
    assert "model-2 − model-0" in shown and "Holm p" in shown
    pick(tab, "Result of model-2", "wrong")
    assert counted(tab) == "39 of 120 samples"


def test_runs_that_share_no_sample_have_a_page_that_says_so(show: Show, tmp_path: Path) -> None:
    tab = show(page_of(tmp_path, [sample(0)], [sample(1)]))
    assert "No sample was scored in all runs." in text(tab, "#main")
    assert counted(tab) == "2 of 2 samples"
    chinese = show(page_of(tmp_path / "b", [], []), languages="zh-CN")
    assert "没有任何样本" in text(chinese, "#main")


def test_hostile_names_run_nothing(show: Show, tmp_path: Path) -> None:
    bad = "</script><img src=x onerror='window.hit=1'>"
    runs = [
        [sample(n, float(k), reply=bad, question=bad, _extracted=bad) for n in range(3)]
        for k in (0, 1)
    ]
    folders = [write_run(tmp_path / str(k), run, model=f"{bad}{k}") for k, run in enumerate(runs)]
    page = "".join(compare_html(beside([load(one) for one in folders]), PageImages()))
    tab = show(page, "#sample=q1")
    assert tab.run("window.hit === undefined")
    assert bad in text(tab, ".beside")


@pytest.mark.parametrize(
    ("count", "options"),
    [
        (2, {}),
        (3, {"media": {"prefers-color-scheme": "dark"}}),
        (2, {"size": (390, 844), "languages": "zh-CN"}),
        (5, {}),
    ],
)
def test_the_checker_of_accessibility_finds_nothing(
    show: Show, tmp_path: Path, count: int, options: dict[str, Any]
) -> None:
    script = axe_script()
    if script is None:
        pytest.skip("no axe.min.js; pip install --group browser")
    page = page_of(tmp_path, *drawn_runs(count), images=IMAGES)
    tab = show(page, "#sample=q20&fact:modality=CT", **options)
    check_accessibility(tab, script)
    width = tab.run("document.documentElement.scrollWidth")
    assert width <= options.get("size", (1280, 0))[0]


def test_what_is_filtered_is_saved_with_all_replies(show: Show, tmp_path: Path) -> None:
    tab = show(page_of(tmp_path, *drawn_runs(2)), "#sample=q6")
    found = json.loads(tab.run("JSON.stringify(record(state.open))"))
    assert found["reply model-0"] == "ANSWER: reply 6 of run 0"
    assert found["reply model-1"] == "ANSWER: reply 6 of run 1"
    assert {found["accuracy model-0"], found["accuracy model-1"]} == {0, 1}
