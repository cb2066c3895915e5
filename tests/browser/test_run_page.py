"""The page of a run in a real browser: what a reader does with it, and what it looks like."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.browser import Tab, axe_script
from support.browser_fixtures import GREY, check_accessibility, counted, pick, text
from support.pages import page_of
from support.runs import sample

from mmscore.report import PageImages

Show = Callable[..., Tab]

SHIFT = 8


def ids(tab: Tab) -> list[str]:
    """The samples that are listed on this page of the list."""
    found: list[str] = tab.run(
        "[...document.querySelectorAll('.opener')].map((one) => wordAt('id', +one.dataset.sample))"
    )
    return found


def opened(tab: Tab) -> str | None:
    found: str | None = tab.run("state.open === null ? null : wordAt('id', state.open)")
    return found


def test_filters_combine_and_are_cleared(show: Show, drawn: Path) -> None:
    tab = show(drawn)
    assert counted(tab) == "120 of 120 samples"
    pick(tab, "Result", "wrong")
    pick(tab, "Finish reason", "length")
    assert counted(tab) == "4 of 120 samples"
    assert ids(tab) == ["q15", "q45", "q75", "q105"]
    tab.click("[data-key='fact:modality'][data-value='MRI']")
    assert counted(tab) == "4 of 120 samples"
    tab.click("[data-key='subset'][data-value='zh_open']")
    assert counted(tab) == "0 of 120 samples"
    assert text(tab, ".empty") == "No sample matches these filters."
    tab.click("[data-key='subset'][data-value='zh_open']")
    assert counted(tab) == "4 of 120 samples", "a bar that is clicked again lets go"
    tab.run("document.querySelector('.chip').click()")
    assert counted(tab) == "12 of 120 samples"
    tab.run("document.querySelector('.pill-tools button').click()")
    assert counted(tab) == "120 of 120 samples"
    assert tab.run("document.querySelector('.pill').hidden")


@pytest.mark.parametrize(
    ("label", "value", "number"),
    [
        ("Status", "timeout", 2),
        ("Finish reason", "length", 12),
        ("Result", "unscored", 2),
        ("Result", "right", 79),
        ("Subset", "zh_open", 60),
        ("modality", "CT", 60),
    ],
)
def test_every_kind_of_filter_counts_what_it_should(
    show: Show, drawn: Path, label: str, value: str, number: int
) -> None:
    tab = show(drawn)
    pick(tab, label, value)
    assert counted(tab) == f"{number} of 120 samples"


def test_a_fact_with_many_values_is_typed(show: Show, drawn: Path) -> None:
    tab = show(drawn)
    pick(tab, "More filters …", "fact:patient")
    tab.run("document.querySelector('.typed input[aria-label=patient]').focus()")
    tab.type("patient 10")
    options = tab.run("document.querySelectorAll('.typed option').length")
    assert options == 11, "patient 10 and 100 to 109"
    tab.press("Enter")
    assert ids(tab) == ["q10"]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("Question 77 ", ["q77"]),
        ("laterality", ["q11"]),
        ("QUIBBLE correct", ["q11"]),
        ("i think so", ["q7"]),
        ("imgs/33.png", ["q33"]),
        ("no answer in 60", ["q20", "q21"]),
        ("patient 119", ["q119"]),
        ("nothing like it", []),
    ],
)
def test_the_search_finds_all_that_is_shown(
    show: Show, drawn: Path, words: str, found: list[str]
) -> None:
    tab = show(drawn)
    tab.press("/")
    tab.type(words)
    assert ids(tab) == found


def test_the_search_finds_what_all_samples_share(show: Show, drawn: Path) -> None:
    tab = show(drawn, "#q=careful+one+word&status=timeout")
    assert ids(tab) == ["q20", "q21"]


@pytest.mark.parametrize(
    ("order", "first"),
    [
        ("score", ["q0", "q3", "q6"]),
        ("seconds", ["q119", "q118", "q117"]),
        ("in", ["q119", "q118", "q117"]),
        ("out", ["q6", "q13", "q27"]),
        ("length", ["q4", "q6", "q7"]),
    ],
)
def test_samples_are_sorted(show: Show, drawn: Path, order: str, first: list[str]) -> None:
    tab = show(drawn, "#status=ok")
    pick(tab, "Order", order)
    values = tab.run(f"shown.map((i) => ORDERS.{order}()[i])")
    assert values == sorted(values, reverse=order != "score")
    if order != "length":
        assert ids(tab)[:3] == first
    tab.run("document.querySelector('.sorting button').click()")
    assert tab.run(f"shown.map((i) => ORDERS.{order}()[i])") == values[::-1]


def test_a_link_shows_the_same_to_another_reader(show: Show, drawn: Path) -> None:
    tab = show(drawn)
    pick(tab, "Result", "wrong")
    pick(tab, "modality", "CT")
    tab.press("/")
    tab.type("question")
    tab.press("Escape")
    pick(tab, "Order", "seconds")
    tab.press("j")
    fragment = tab.run("location.hash")
    other = show(drawn, fragment, languages="zh-CN")
    assert ids(other) == ids(tab)
    assert opened(other) == opened(tab) == "q114"
    assert "Question 114" in text(other, ".detail")
    tab.run("history.back()")
    tab.until("state.open === null", "the step back")
    assert tab.run("state.filters.size") == 2


def test_a_link_to_a_sample_shows_it_wherever_it_is_in_the_list(show: Show, drawn: Path) -> None:
    tab = show(drawn, "#sample=q99")
    assert opened(tab) == "q99"
    assert tab.run("document.querySelector('.row.open').getBoundingClientRect().top") >= 0
    assert "51–100 of 120" in text(tab, ".pager") or "101–120" not in text(tab, ".pager")
    gone = show(drawn, "#sample=nobody&nonsense=1&status=ok")
    assert opened(gone) is None and counted(gone) == "118 of 120 samples"


def test_keys_walk_through_the_samples(show: Show, drawn: Path) -> None:
    tab = show(drawn)
    steps = [("j", "q0"), ("j", "q1"), ("n", "q2"), ("w", "q3"), ("w", "q6"), ("k", "q5")]
    for key, there in steps:
        tab.press(key)
        assert opened(tab) == there, key
    tab.press("W", SHIFT)
    assert opened(tab) == "q3"
    tab.press("Escape")
    assert opened(tab) is None
    assert tab.run("document.activeElement.className") == "opener", "the focus stays there"
    tab.press("Enter")
    assert opened(tab) == "q3"
    pick(tab, "Status", "timeout")
    tab.press("j")
    assert opened(tab) == "q20", "keys walk through what is filtered"


def test_letters_are_no_keys_while_one_types(show: Show, drawn: Path) -> None:
    tab = show(drawn)
    tab.press("/")
    tab.press("j")
    assert opened(tab) is None and tab.run("document.activeElement.value") == "j"


def test_an_image_is_shown_large_by_click_and_by_key(show: Show, drawn: Path) -> None:
    tab = show(drawn, "#sample=q1")
    tab.click(".detail .picture")
    assert tab.run("document.querySelector('dialog.viewer').open")
    assert tab.run("document.querySelector('dialog.viewer img').clientHeight") > 700
    tab.press("Escape")
    tab.until("!document.querySelector('dialog')", "the dialog's end")
    assert opened(tab) == "q1", "Escape closed the image alone"
    tab.press("i")
    assert text(tab, "dialog.viewer").startswith("imgs/1.png")
    tab.press("Enter")
    tab.until("!document.querySelector('dialog')", "the dialog's end")


def test_an_opened_sample_shows_every_message_and_all_that_is_known(
    show: Show, drawn: Path
) -> None:
    tab = show(drawn, "#sample=q11")
    shown = text(tab, ".detail")
    for words in (
        *("You are careful.", "Question 11 about the picture?", "Answer in one word."),
        *("ANSWER: CT", "j1", "CORRECT", "A quibble over laterality.", "patient 11", "imgs/11.png"),
        *("1.1 s", "111 in, 5 out", "answer_line", "stop"),
    ):
        assert words in shown
    assert "not in this page" in text(show(drawn, "#sample=q5"), ".detail")
    assert "no answer in 60 s" in text(show(drawn, "#sample=q20"), ".detail")


def test_histograms_and_confusions_filter(show: Show, drawn: Path) -> None:
    tab = show(drawn)
    assert tab.run("document.querySelectorAll('.chart').length") == 4
    bar = tab.run("document.querySelector('.bin:not(:disabled)').getAttribute('aria-label')")
    assert bar == "0.000 s to 1.0 s: 10 samples, 4 not right"
    tab.run("document.querySelector('.bin:not(:disabled)').click()")
    assert counted(tab) == "10 of 120 samples"
    tab.run("document.querySelector('.pill-tools button').click()")
    assert "The 2 commonest answers given for another" in text(tab, ".confusions")
    rows = text(tab, ".confusions table").split("\n")
    assert [row.split("\t") for row in rows[1:]] == [["yes", "MRI", "20"], ["yes", "no", "19"]]
    tab.run("document.querySelector('.confusions button').click()")
    assert counted(tab) == "20 of 120 samples"


def test_letters_show_which_one_a_model_prefers(show: Show, tmp_path: Path) -> None:
    given = ["A", "A", "A", "B", "C", None]
    samples = [
        sample(
            n,
            float(read == "ABCABC"[n]),
            target="ABCABC"[n],
            choices=["x", "y", "z"],
            _extracted=read,
        )
        for n, read in enumerate(given)
    ]
    tab = show(page_of(tmp_path / "run", samples))
    rows = [row.split("\t") for row in text(tab, ".matrix").split("\n") if "\t" in row]
    assert rows == [
        ["Expected", "A", "B", "C", "none"],
        ["A", "1", "1", "0", "0"],
        ["B", "1", "0", "1", "0"],
        ["C", "1", "0", "0", "1"],
        ["Share expected", "33.3%", "33.3%", "33.3%", ""],
        ["Share given", "50.0%", "16.7%", "16.7%", "16.7%"],
    ]


def test_repeats_stand_side_by_side(show: Show, tmp_path: Path) -> None:
    samples = [
        sample(n, float(r != 1), repeat=r, reply=f"reply {r} of {n}")
        for n in range(3)
        for r in range(3)
    ]
    tab = show(page_of(tmp_path / "run", samples, repeats=3), "#sample=q1&repeat=1")
    assert "Repeat 1" in text(tab, ".asking.current")
    beside = tab.run("[...document.querySelectorAll('.asking .box')].map((one) => one.innerText)")
    assert beside == ["reply 0 of 1", "reply 1 of 1", "reply 2 of 1"]
    lefts = tab.run(
        "[...document.querySelectorAll('.asking')].map((one) => one.getBoundingClientRect().left)"
    )
    assert lefts == sorted(set(lefts))


def test_what_is_filtered_is_saved_as_csv_and_json(show: Show, drawn: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    saved.mkdir()
    tab = show(drawn, "#result=wrong&finish=length", downloads=saved)
    for form in ("csv", "json"):
        tab.run(f"save('{form}')")
        end = time.monotonic() + 20
        while not (saved / f"samples.{form}").exists() and time.monotonic() < end:
            time.sleep(0.05)
    found = json.loads((saved / "samples.json").read_text(encoding="utf-8"))
    assert [one["id"] for one in found] == ["q15", "q45", "q75", "q105"]
    assert found[0]["extracted"] == "no" and found[0]["accuracy"] == 0
    data = (saved / "samples.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfid,repeat,subset,modality,patient,question")
    assert data.count(b"\nq") == 4


def test_a_saved_cell_is_no_formula(show: Show, drawn: Path) -> None:
    tab = show(drawn)
    for value, written in (
        ("=1+1", "'=1+1"),
        ("-5", "-5"),
        ("'tis", "''tis"),
        ('say "a, b"', '"say ""a, b"""'),
        (3, "3"),
        (None, ""),
    ):
        assert tab.run(f"cell({json.dumps(value)})") == written


def test_the_language_is_the_readers_and_can_be_switched(show: Show, drawn: Path) -> None:
    tab = show(drawn, languages="zh-CN,en")
    assert tab.run("document.documentElement.lang") == "zh-CN"
    assert "120 / 120 个样本" in counted(tab)
    assert text(tab, "#list h2") == "样本"
    tab.run("document.querySelector('.languages [lang=en]').click()")
    assert counted(tab) == "120 of 120 samples" and tab.run("location.hash") == "#lang=en"
    assert tab.run("document.documentElement.lang") == "en"
    assert text(show(drawn, "#lang=zh", languages="fr-FR"), "#list h2") == "样本"
    assert text(show(drawn, languages="fr-FR"), "#list h2") == "Samples"


@pytest.mark.parametrize(
    ("name", "options", "fragment"),
    [
        ("light", {}, "#sample=q11"),
        ("dark", {"media": {"prefers-color-scheme": "dark"}}, "#sample=q11&result=wrong"),
        ("phone", {"size": (390, 844)}, "#sample=q20"),
        ("phone, dark", {"size": (390, 844), "media": {"prefers-color-scheme": "dark"}}, ""),
        ("chinese", {"languages": "zh-CN"}, "#sample=q5&finish=length"),
    ],
)
def test_the_checker_of_accessibility_finds_nothing(
    show: Show, drawn: Path, name: str, options: dict[str, Any], fragment: str
) -> None:
    script = axe_script()
    if script is None:
        pytest.skip("no axe.min.js; pip install --group browser")
    tab = show(drawn, fragment, **options)
    check_accessibility(tab, script)
    tab.press("?")
    check_accessibility(tab, script)


@pytest.mark.parametrize("width", [390, 320])
def test_nothing_is_wider_than_a_phone(show: Show, drawn: Path, width: int) -> None:
    tab = show(drawn, "#sample=q11&result=right", size=(width, 800))
    assert tab.run("document.documentElement.scrollWidth") <= width
    tab.press("?")
    assert tab.run("document.documentElement.scrollWidth") <= width


def test_dark_is_dark_and_print_is_white(show: Show, drawn: Path) -> None:
    tab = show(drawn, media={"prefers-color-scheme": "dark"})
    paper = "getComputedStyle(document.body).backgroundColor"
    assert tab.run(paper) == "rgb(20, 22, 26)"
    tab.play({"prefers-color-scheme": "dark"}, "print")
    assert tab.run(paper) == "rgb(255, 255, 255)"
    hidden = "getComputedStyle(document.querySelector('.tools')).display"
    assert tab.run(hidden) == "none"
    pdf = tab.call("Page.printToPDF", printBackground=True)["data"]
    assert len(pdf) > 20_000


def test_the_page_says_what_it_lacks(show: Show, drawn: Path) -> None:
    shown = text(show(drawn), "#main")
    assert "1 image is not where it was" in shown
    assert "119 images, the longer side at most 768 pixels" in shown


def test_hostile_text_runs_nothing(show: Show, tmp_path: Path) -> None:
    texts = [
        "</script><script>window.hit = 1</script>",
        "<!-- <script>window.hit = 1</script>",
        "<img src=x onerror='window.hit = 1'>",
        "javascript:window.hit=1",
        "\u2028]]>\u0000 ${window.hit = 1}",
    ]
    samples = [
        sample(
            n,
            0.0,
            id=f"{n} {text}",
            subset=text,
            question=text,
            turns=[[text, text], ["user", text]],
            target=text,
            reply=text,
            reasoning=text,
            finish_reason=text,
            error=text,
            choices=[text],
            metadata={"modality": text, text: text},
            media=[{"place": text, "sha256": "0", "mime": "image/png", "notes": [text]}],
            _extracted=text,
            _metrics={"accuracy": 0.0, text: 1.0},
        )
        for n, text in enumerate(texts)
    ]
    images = PageImages(
        {texts[0]: GREY, texts[3]: "javascript:window.hit=1"}, {("gone", t): 1 for t in texts}
    )
    page = page_of(
        tmp_path / "run",
        samples,
        images=images,
        model=texts[0],
        stopped=texts[1],
        benchmark={
            "title": texts[0],
            "groups": ["modality", texts[2]],
            "subsets": {t: t for t in texts},
        },
        config={texts[0]: texts[1]},
        endpoint=texts[3],
    )
    for fragment in ("", "#sample=javascript:window.hit=1&q=<img src=x onerror=window.hit=1>"):
        tab = show(page, fragment)
        for _ in texts:
            tab.press("j")
            tab.press("i")
            tab.press("Escape")
        tab.press("?")
        assert tab.run("window.hit === undefined")
        assert tab.run("document.scripts.length") == tab.run(
            "document.querySelectorAll('body > script').length"
        )
        assert not tab.run(
            'document.querySelectorAll(\'[href^="javascript"], [src^="javascript"]\').length'
        )


def test_a_run_without_a_sample_has_a_page(show: Show, tmp_path: Path) -> None:
    tab = show(page_of(tmp_path, [], planned={"en_open": 5}), "#sample=q1&sort=score&q=x")
    shown = text(tab, "#main")
    assert "Nothing was asked yet." in shown and "Unfinished: 5 of 5 not asked" in shown
