"""A run keeps what was sent: every message, its texts and media in their places, once."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, lines, run_cli
from support.server import Server, reply, serve

from mmscore.report import load
from mmscore.store.texts import SHORTEST

SYSTEM = "You count things. Answer with one integer and with nothing else, please."
PNG = "a.png"


@pytest.fixture
def asked(data: Path, tmp_path: Path) -> Callable[..., tuple[Path, Server]]:
    """A function that asks records of one's own about an image, and returns folder and server."""
    (tmp_path / PNG).write_bytes(next((ROOT / "data" / "samples").rglob("*.png")).read_bytes())

    def run(rows: list[dict[str, Any]], *more: str, out: str = "out") -> tuple[Path, Server]:
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / "set.jsonl").write_text(text, encoding="utf-8")
        with serve(reply("a cat")) as server:
            ran = run_cli(
                "run", "general_vqa", "--data", str(tmp_path / "set.jsonl"), "--api-url",
                server.url, "--model", "m", "--out", str(tmp_path / out), "--progress", "none",
                *more,
            )  # fmt: skip
        assert ran.code == 0, ran.err
        return tmp_path / out, server

    return run


def user(*parts: Any, **columns: Any) -> dict[str, Any]:
    content = parts[0] if len(parts) == 1 and isinstance(parts[0], str) else [
        {"type": "text", "text": part} if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": PNG}}
        for part in parts
    ]  # fmt: skip
    return {"messages": [{"role": "user", "content": content}], "answer": "a cat", **columns}


def as_sent(folder: Path) -> list[list[tuple[str, list[Any]]]]:
    """Of each sample, each message's role and parts, media by the first letters of their digest."""
    found: list[list[tuple[str, list[Any]]]] = []
    for prediction, _ in load(folder).whole():
        found.append(
            [
                (
                    message.role,
                    [
                        prediction.question if part is None
                        else prediction.media[part].sha256[:4] if isinstance(part, int)
                        else part
                        for part in message.parts
                    ],
                )
                for message in prediction.conversation
            ]
        )  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("parts", "stored"),
    [
        (("What is it?",), False),
        ((0, "What is it?"), False),
        ((0, 0, "What is it?"), False),
        (("What is it?", 0), True),
        (("First", 0, "then", 0, "which?"), True),
    ],
)
def test_texts_and_media_stand_in_their_places(
    asked: Any, parts: tuple[Any, ...], stored: bool
) -> None:
    folder, server = asked([user(*parts)])
    (record,) = lines(folder / "predictions.jsonl")
    assert ("messages" in record) is stored, "what goes without saying is not written"
    ((role, kept),) = as_sent(folder)[0]
    digest = record["media"][0]["sha256"][:4] if record["media"] else ""
    assert (role, kept) == ("user", [digest if part == 0 else part for part in parts])
    content = server.requests[0].json["messages"][0]["content"]
    assert isinstance(content, str) or len(content) == len(parts)
    assert "base64" not in (folder / "predictions.jsonl").read_text(encoding="utf-8")


def test_a_text_that_all_share_stands_once(asked: Any) -> None:
    earlier = "Here is how such questions are answered, with an example that is rather long."
    rows = [
        {
            "messages": [
                {"role": "user", "content": earlier},
                {"role": "assistant", "content": "I see."},
                {"role": "user", "content": f"And number {n}?"},
            ],
            "answer": "a cat",
        }
        for n in range(5)
    ]
    folder, _ = asked(rows, "--system", SYSTEM)
    assert len(SYSTEM) >= SHORTEST and len(earlier) >= SHORTEST
    texts = [one["text"] for one in lines(folder / "texts.jsonl")]
    assert sorted(texts) == sorted([SYSTEM, earlier])
    assert SYSTEM not in (folder / "predictions.jsonl").read_text(encoding="utf-8")
    assert as_sent(folder)[3] == [
        ("system", [SYSTEM]), ("user", [earlier]), ("assistant", ["I see."]),
        ("user", ["And number 3?"]),
    ]  # fmt: skip
    with (folder / "report.csv").open(encoding="utf-8-sig", newline="") as file:
        row = list(csv.DictReader(file))[3]
    assert row["question"] == "And number 3?"
    assert row["messages"] == (
        f"system: {SYSTEM}\n\nuser: {earlier}\n\nassistant: I see.\n\nuser: And number 3?"
    )


def test_going_on_merging_and_scoring_keep_what_was_sent(asked: Any, tmp_path: Path) -> None:
    rows = [user(f"What is number {n}?") for n in range(4)]
    whole, _ = asked(rows, "--system", SYSTEM)
    for part in ("1/2", "2/2"):
        asked(rows, "--system", SYSTEM, "--shard", part, out=f"shard{part[0]}")
    merged = tmp_path / "merged"
    shards = [str(tmp_path / f"shard{part}") for part in (1, 2)]
    assert run_cli("merge", *shards, "--out", str(merged)).code == 0
    assert as_sent(merged) == as_sent(whole)
    assert len(lines(merged / "texts.jsonl")) == 1
    with serve(reply("no")) as server:
        ran = run_cli("run", "--resume", str(whole), "--api-url", server.url, "--progress", "none")
        assert ran.code == 0 and not server.requests
    assert run_cli("score", str(whole)).code == 0
    assert as_sent(merged) == as_sent(whole)
    (whole / "texts.jsonl").unlink()
    assert run_cli("report", str(whole)).code == 0, "a lost text costs no report"


def test_a_run_of_before_is_read_as_it_was_kept(asked: Any) -> None:
    folder, _ = asked([user("What is it?")])
    path = folder / "predictions.jsonl"
    record = json.loads(path.read_text(encoding="utf-8"))
    turns = [["system", "Be brief."], ["user", "What is it?"]]
    path.write_text(json.dumps({**record, "turns": turns}) + "\n", encoding="utf-8")
    assert as_sent(folder) == [[("system", ["Be brief."]), ("user", ["What is it?"])]]
    assert run_cli("score", str(folder)).code == 0


# --- ids and columns -----------------------------------------------------------------------------


def test_samples_are_called_as_the_user_calls_them(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name, ids in (("one", ["q1", "q2", "q2", None]), ("two", ["q1", "q7", 5, ""])):
        rows = [user("What?", **({} if one is None else {"id": one})) for one in ids]
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (data / f"{name}.jsonl").write_text(text, encoding="utf-8")
    out = tmp_path / "out"
    with serve(reply("a cat")) as server:
        run_cli("run", "general_vqa", "--data", str(data), "--api-url", server.url, "--model", "m",
                "--out", str(out), "--progress", "none")  # fmt: skip
    by_place = {one["index"]: one["id"] for one in lines(out / "predictions.jsonl")}
    assert [by_place[n] for n in range(8)] == [
        "q1", "q2", "one/q2", "one/4", "two/q1", "q7", "5", "two/4",
    ]  # fmt: skip
    with (out / "report.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == [by_place[n] for n in range(8)]


def columns(folder: Path) -> list[dict[str, Any]]:
    records = sorted(lines(folder / "predictions.jsonl"), key=lambda one: int(one["index"]))
    return [one.get("columns", {}) for one in records]


def test_columns_that_mean_nothing_are_facts_of_the_sample(asked: Any) -> None:
    rows = [
        user("What?", id=f"q{n}", level="hard" if n else "easy", size=n, long="x" * 900,
             deep={"a": [1]}, empty="", none=None, language="zh")
        for n in range(3)
    ]  # fmt: skip
    folder, _ = asked(rows)
    assert columns(folder)[1] == {
        "level": "hard", "size": 1, "long": "x" * 500 + "…", "deep": {"a": [1]}, "language": "zh",
    }  # fmt: skip
    ran = run_cli("report", str(folder), "--json", "--group-by", "level", "--group-by", "size")
    groups = json.loads(ran.out)["groups"]
    assert {row["value"]: row["num"] for row in groups["level"] if row["metric"] == "bleu-1"} == {
        "hard": 2, "easy": 1,
    }  # fmt: skip
    assert "level" not in json.loads((folder / "run.json").read_bytes())["benchmark"]["groups"]
    assert run_cli("score", str(folder), "--group-by", "level").code == 0
    assert "By level" in run_cli("report", str(folder)).out
    wrong = run_cli("report", str(folder), "--group-by", "levle")
    assert wrong.code == 1 and "did you mean `level`?" in wrong.err
    compared = run_cli("compare", str(folder), str(folder), "--group-by", "level", "--json")
    assert compared.code == 0, compared.err


def test_a_column_named_like_a_rule_of_the_benchmark_changes_no_score(tmp_path: Path) -> None:
    row = {"question": "Which?", "A": "CT", "B": "MRI", "answer": "A"}
    scores: list[list[dict[str, Any]]] = []
    for more in ({}, {"language": "zh", "multiple": True, "letters": "XY", "match": "all"}):
        (tmp_path / "set.jsonl").write_text(json.dumps({**row, **more}) + "\n", encoding="utf-8")
        out = tmp_path / f"out{len(scores)}"
        with serve(reply("ANSWER: A")) as server:
            run_cli(
                "run", "general_vmcq", "--data", str(tmp_path / "set.jsonl"), "--api-url",
                server.url, "--model", "m", "--out", str(out), "--progress", "none",
            )  # fmt: skip
        scores.append(lines(out / "scores.jsonl"))
        assert run_cli("score", str(out)).code == 0
        scores.append(lines(out / "scores.jsonl"))
    assert scores[0][0]["metrics"] == {"accuracy": 1.0}
    assert all(one == scores[0] for one in scores)


def test_the_user_picks_the_columns_to_keep(asked: Any) -> None:
    rows = [user("What?", level="hard", note="y" * 900, size=3)]
    folder, _ = asked(rows, "--keep", "note", "--group-by", "note")
    assert columns(folder) == [{"note": "y" * 900}]
    many = [user("What?", **{f"c{n}": "z" * 400 for n in range(100)})]
    folder, _ = asked(many, out="many")
    assert 5 < len(columns(folder)[0]) < 12, "bounded in all"


def test_a_fact_that_no_sample_has_is_told_before_the_first_request(
    asked: Any, tmp_path: Path
) -> None:
    asked([user("What?", level="hard")])
    with serve(reply("x")) as server:
        ran = run_cli(
            "run", "general_vqa", "--data", str(tmp_path / "set.jsonl"), "--api-url", server.url,
            "--model", "m", "--out", str(tmp_path / "new"), "--group-by", "levels",
        )  # fmt: skip
        assert ran.code == 1 and "did you mean `level`?" in ran.err and not server.requests
    assert not (tmp_path / "new").exists()


# --- report.csv reads back -----------------------------------------------------------------------

REPLIES = [
    "=1+1", "+1", "-1.5", "- a cat", "-a", "@SUM(A1)", "'quoted'", "''twice", "'", "\ttab",
    "line\rcarriage", "\r=1+1", "a\nb", "a\r\nb", "肺部", "\x1b[31mred", 'say "so"', '"', "a,b",
    " lead", "trail ", "\u2028sep", "\x85next", "＝1+1", "", "a" * 40_000, "\ufeffbom",
]  # fmt: skip


@pytest.mark.parametrize("text", REPLIES)
def test_a_reply_reads_back_from_ones_own_spreadsheet(
    text: str, tmp_path: Path, data: Path
) -> None:
    (tmp_path / "set.jsonl").write_text(json.dumps(user("What?", id="q1")) + "\n", "utf-8")
    common = ("--data", str(tmp_path / "set.jsonl"), "--model", "m")
    out, again = tmp_path / "out", tmp_path / "again"
    with serve(reply(text)) as server:
        ran = run_cli("run", "general_vqa", *common, "--api-url", server.url, "--out", str(out),
                      "--think", "reference", "--progress", "none")  # fmt: skip
    assert ran.code == 0, ran.err
    sheet = out / "report.csv"
    assert sheet.read_bytes().startswith(b"\xef\xbb\xbf"), "spreadsheets read Chinese then"
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        header, cells = list(csv.reader(file))
    assert header[8] == "reply" and cells[8][:1] not in ("=", "@", "\t", "\r", "＝")
    ran = run_cli("score", "general_vqa", "--replies", str(sheet), *common, "--out", str(again))
    assert ran.code == 0, ran.err
    before, after = (lines(one / "predictions.jsonl")[0] for one in (out, again))
    assert after["reply"] == before["reply"] == text
    assert after["status"] == before["status"]
    metrics = [lines(one / "scores.jsonl")[0]["metrics"] for one in (out, again)]
    assert metrics[0] == metrics[1]


def test_a_users_own_table_of_replies_is_taken_as_it_is(tmp_path: Path, data: Path) -> None:
    (tmp_path / "set.jsonl").write_text(json.dumps(user("What?", id="q1")) + "\n", "utf-8")
    (tmp_path / "mine.csv").write_text("id,reply\nq1,'a cat\n", encoding="utf-8")
    ran = run_cli(
        "score", "general_vqa", "--replies", str(tmp_path / "mine.csv"), "--data",
        str(tmp_path / "set.jsonl"), "--out", str(tmp_path / "out"),
    )  # fmt: skip
    assert ran.code == 0 and lines(tmp_path / "out" / "predictions.jsonl")[0]["reply"] == "'a cat"
