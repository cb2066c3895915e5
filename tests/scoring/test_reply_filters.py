"""What happens to a reply before it is parsed, and what happens to a pattern that never ends."""

from __future__ import annotations

import gc
import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support import lines, run_cli
from support.server import reply, serve

from mmscore.errors import ConfigError
from mmscore.scoring import regex_worker
from mmscore.scoring.batch import score_replies
from mmscore.scoring.reply_filters import _Matcher, build

LAST_NUMBER = {"regex": {"regex_pattern": r"(\d+)", "group_select": -1}}

CASES: list[tuple[Any, str, str, str]] = [
    (None, " as it is ", " as it is ", "no filter"),
    ({}, "x", "x", "an empty mapping"),
    (LAST_NUMBER, "Row 1 has 3, row 2 has 4: 7", "7", "the last match"),
    ({"regex": r"\d+"}, "3 then 4", "3", "a pattern alone, the first match"),
    ({"regex": [r"\d+", 1]}, "3 then 4", "4", "a list of arguments"),
    ({"regex": [r"\d+", 0, "none"]}, "no digit", "none", "a fallback"),
    ({"regex": r"\d+"}, "no digit", "[invalid]", "the reference's fallback"),
    ({"regex": {}}, "so #### 1,234.5", "1,234.5", "the reference's pattern"),
    ({"extract": r"\d+"}, "a 5", "5", "extract is regex"),
    ({"regex": r"(a)|(b)"}, "b a", "b", "the first group that holds anything"),
    ({"regex": {"regex_pattern": r"(x)?(y)?", "fallback": " no "}}, "z", "no", "empty groups"),
    ({"regex": r"=(.*)"}, "=  CT  ", "CT", "a match is stripped"),
    ({"regex": r"b*"}, "a", "", "an empty match is a match"),
    ({"regex": r"(?s)<a>(.*)</a>"}, "<a>1\n2</a>", "1\n2", "flags inside the pattern"),
    ({"regex": r"\d+"}, "x ٣", "٣", "digits of any script"),
    ({"regex": r"."}, "\ud83d", "\ud83d", "half a surrogate pair"),
    ({"remove_until": "</think>"}, "a</think> b</think>c", " b</think>c", "the first delimiter"),
    ({"remove_until": {"delimiter": ":"}}, "no colon", "no colon", "no delimiter"),
    ({"remove_until": [":"]}, "a:", "", "nothing after it"),
    ({"remove_whitespace": None}, "\n\t x \n", "x \n", "leading white space only"),
    ({"remove_whitespace": {}}, " x", "x", "no parameters"),
    ({"remove_whitespace": True}, " x", "x", "as in a task file"),
    ({"remove_until": ":", "remove_whitespace": [], "regex": r"^\w+"}, "a 1: b c", "b", "in order"),
    ([{"remove_until": ":"}, {"remove_until": ":"}], "a:b:c:d", "c:d", "one filter twice"),
]


@pytest.mark.parametrize(("filters", "text", "kept", "why"), CASES, ids=[c[3] for c in CASES])
def test_a_reply_is_filtered(filters: Any, text: str, kept: str, why: str) -> None:
    keep = build(filters)
    assert keep(text) == kept
    assert keep(text) == kept  # the helper lives on


WRONG: list[tuple[Any, list[str]]] = [
    ({"regx": "a"}, ["`regx`", "`regex`"]),
    ({"regex": "("}, ["`(`", "unterminated"]),
    ({"regex": r"(a)\2"}, ["invalid group reference 2"]),
    ({"regex": r"(?P<n>a)(?P=m)"}, ["unknown group name"]),
    ({"regex": {"pattern": "a"}}, ["`pattern`", "`regex_pattern`"]),
    ({"regex": {"group_select": "last"}}, ["group_select", "'last'"]),
    ({"regex": {"group_select": True}}, ["group_select"]),
    ({"regex": {"fallback": None}}, ["fallback", "null"]),
    ({"regex": None}, ["regex_pattern", "null"]),
    ({"regex": ["a", 0, "x", 1]}, ["4 arguments", "3"]),
    ({"remove_until": ""}, ["empty delimiter"]),
    ({"remove_until": {}}, ["delimiter"]),
    ({"remove_whitespace": "both"}, ["1 arguments", "0"]),
    ("regex", ["a string", "mapping"]),
    ([1], ["a list", "mapping"]),
]


@pytest.mark.parametrize(("filters", "words"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_filter_is_told_in_a_sentence(filters: Any, words: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        build(filters)
    said = f"{caught.value.message} {caught.value.hint}"
    for word in words:
        assert word in said
    assert "\n" not in said


def test_a_match_that_is_not_there_is_told() -> None:
    keep = build({"regex": {"regex_pattern": r"\d", "group_select": 2}})
    assert keep("1 2 3") == "3"
    with pytest.raises(ConfigError, match=r"takes match 2 .* has 2: `1 and 2`"):
        keep("1 and 2")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*)*x"])
def test_a_pattern_that_would_backtrack_for_ever_is_told(pattern: str) -> None:
    keep = build({"regex": pattern})
    with pytest.raises(ConfigError, match="did not come to an end"):
        keep("a" * 60 + "!")
    assert keep("x") is not None  # another reply is read all the same


def test_others_go_on_while_a_pattern_backtracks() -> None:
    """The match is not in this process, where it would hold all threads and Ctrl-C off."""
    keep, ended = build({"regex": "(a+)+$"}), threading.Event()

    def match() -> None:
        with pytest.raises(ConfigError):
            keep("a" * 60 + "!")
        ended.set()

    thread = threading.Thread(target=match)
    thread.start()
    turns = 0
    while not ended.is_set():
        time.sleep(0.01)
        turns += 1
    thread.join()
    assert turns > 10


def test_a_helper_ends_with_its_filter() -> None:
    matcher = _Matcher("a", 0)
    assert matcher.find("a") == (regex_worker.FOUND, "a")
    process = matcher._process
    assert process is not None and process.poll() is None
    del matcher
    gc.collect()
    assert process.poll() is not None


def test_count_qa_reads_the_last_number() -> None:
    keep = build(LAST_NUMBER)
    said = "Row 1 has 3 cups and row 2 has 4, so there are 7 in all."
    (plain,) = score_replies("count_qa", [said], ["7"])
    (filtered,) = score_replies("count_qa", [keep(said)], ["7"])
    assert (plain["accuracy"], filtered["accuracy"]) == (0.0, 1.0)


# --- in a run ----------------------------------------------------------------------------------


def ran(data: Path, out: Path, url: str, *more: str) -> Any:
    return run_cli(
        "run", "slake", "--data", str(data), "--api-url", url, "--model", "m", "--out", str(out),
        "--limit", "1", "--progress", "none", *more,
    )  # fmt: skip


def test_filters_of_a_run_are_kept_and_used_again(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = ["--filter", "remove_until=Final:", "--filter", "remove_whitespace",
             "--filter", r'regex={"regex_pattern": "(\\w+)", "group_select": -1}']  # fmt: skip
    with serve(reply("one Final: two three")) as server:
        assert ran(data, out, server.url, *flags).code == 0
    scores = (out / "scores.jsonl").read_bytes()
    scorer = json.loads((out / "run.json").read_bytes())["fingerprints"]["scorer"]
    assert scorer.startswith("slake-normalized-match/1+filters:")
    assert {line["extracted"] for line in lines(out / "scores.jsonl")} == {"three"}
    assert {line["reply"] for line in lines(out / "predictions.jsonl")} == {"one Final: two three"}
    assert run_cli("score", str(out)).code == 0
    assert sorted((out / "scores.jsonl").read_bytes().split(b"\n")) == sorted(scores.split(b"\n"))


def test_other_filters_read_kept_replies_anew(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    with serve(reply("1 2 3")) as server:
        assert ran(data, out, server.url).code == 0
        again = run_cli("run", "--resume", str(out), "--progress", "none", "--filter", r"regex=\d")
        assert again.code == 0 and len(server.requests) == 4
    last = {line["id"]: line["extracted"] for line in lines(out / "scores.jsonl")}
    assert set(last.values()) == {"1"}


def test_a_wrong_filter_stops_a_run_before_it_starts(data: Path, tmp_path: Path) -> None:
    with serve(reply("x")) as server:
        told = ran(data, tmp_path / "out", server.url, "--filter", "regex=(")
        assert told.code == 1 and "unterminated" in told.err and server.requests == []
    assert not (tmp_path / "out").exists()


def test_a_pattern_without_end_stops_a_run_and_keeps_its_replies(
    data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    with serve(reply("a" * 60 + "!")) as server:
        told = ran(data, out, server.url, "--filter", "regex=(a+)+$", "--concurrency", "1")
        assert told.code == 1 and "did not come to an end" in told.err
        again = run_cli("run", "--resume", str(out), "--progress", "none", "--filter", "regex=a+")
        assert again.code == 0 and len(server.requests) == 4
