"""Sets of the user's own from the command line: flags, what a check tells, bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, Ran, run_cli
from support.own_sets import asking, write
from support.server import reply, serve

PNG = (ROOT / "data" / "samples" / "general_vqa" / "pictures" / "circle.png").read_bytes()


def question(**columns: Any) -> dict[str, Any]:
    return {"question": "Which?", "options": ["red", "green"], "answer": "A", **columns}


def run(name: str, data: Path, answer: str, *more: str) -> tuple[Ran, list[Any], dict[str, Any]]:
    """The command, the bodies it sent, and its report."""
    with serve(reply(answer)) as server:
        ran = run_cli(
            *("run", name, "--data", str(data), "--model", "m", "--api-url", server.url),
            *("--out", str(data.parent / "run"), "--json", *more),
        )
    return ran, [request.json for request in server.requests], json.loads(ran.out or "{}")


# --- flags ---------------------------------------------------------------------------------------


def test_strict_ends_at_the_first_bad_row(tmp_path: Path) -> None:
    data = write(tmp_path, question(), question(options=5), question(answer="Z"))
    plain, _, _ = run("general_vmcq", data, "ANSWER: A")
    assert plain.code == 1 and "1 record of" in plain.err
    strict, sent, _ = run("general_vmcq", data, "ANSWER: A", "--strict")
    assert strict.code == 1 and not sent
    assert f"error: `{data}` line 2: `options` is a number" in strict.err


@pytest.mark.parametrize("answer", ["A,C", "CA", ["C", "A"]])
def test_multiple_compares_sets(tmp_path: Path, answer: object) -> None:
    data = write(tmp_path, question(options=["a", "b", "c"], answer=answer))
    ran, sent, report = run("general_vmcq", data, "So it is.\nANSWER: C, A", "--multiple")
    assert ran.code == 0, ran.err
    assert "[LETTERS]" in json.dumps(sent[0]) and report["overall"] == {"accuracy": 1.0}
    if isinstance(answer, list):
        plain, _, _ = run("general_vmcq", data, "ANSWER: A", "--out", str(tmp_path / "plain"))
        assert "2 answers, so the rule does not score the reply (--multiple" in plain.err


def test_template_zh_asks_and_reads_in_chinese(tmp_path: Path) -> None:
    data = write(tmp_path, question(answer="B"))
    ran, sent, report = run("general_vmcq", data, "选项二对。\n答案：B", "--template", "zh")
    assert ran.code == 0, ran.err
    assert "答案" in sent[0]["messages"][0]["content"][0]["text"]
    assert report["overall"] == {"accuracy": 1.0}


def test_split_names_the_end_of_the_file(tmp_path: Path) -> None:
    write(tmp_path, question(question="of dev"), name="set_dev.jsonl")
    write(tmp_path, question(question="of val"), name="set_val.jsonl")
    _, sent, _ = run("general_vmcq", tmp_path, "A", "--subset", "set", "--split", "dev")
    assert "of dev" in json.dumps(sent)
    more = ("--subset", "set", "--out", str(tmp_path / "val"))
    assert "of val" in json.dumps(run("general_vmcq", tmp_path, "A", *more)[1])


def test_metrics_are_chosen_the_first_is_the_primary_one(tmp_path: Path) -> None:
    data = write(tmp_path, asking("q"))
    flags = ("--metrics", "bleu-1", "--metrics", "Rouge-L-F")
    ran, _, report = run("general_vqa", data, "x", *flags)
    assert ran.code == 0, ran.err
    assert [*report["overall"]] == ["bleu-1", "Rouge-L-F"]
    ran, _, _ = run("general_vqa", data, "x", "--metrics", "bleu-5")
    assert ran.code == 1 and "has no metric `bleu-5`" in ran.err and "mean `bleu-" in ran.err


def test_a_flag_that_means_nothing_to_a_benchmark_is_an_error(tmp_path: Path) -> None:
    ran, _, _ = run("general_vqa", write(tmp_path, asking("q")), "x", "--multiple")
    assert ran.code == 1 and "`general_vqa` has no option `multiple`" in ran.err
    ran, _, _ = run("slake", ROOT / "data" / "samples" / "slake", "x", "--strict")
    assert ran.code == 1 and "`slake` has no option `strict`" in ran.err


# --- check ---------------------------------------------------------------------------------------


def check(name: str, data: Path, *more: str) -> tuple[str, dict[str, Any]]:
    text = run_cli("check", name, "--data", str(data), *more)
    ran = run_cli("check", name, "--data", str(data), "--json", *more)
    assert text.code == ran.code
    return text.out, json.loads(ran.out)[0]


def test_check_tells_what_a_file_holds(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "b.png").write_bytes(PNG)
    data = write(
        tmp_path,
        question(id=1, image_1="a.png", question="<image 1>?"),
        question(id=1, image_1="a.png", question="<image 1>?", level="easy"),
        question(id=2, options=["a", "b", "c"], image_1="b.png", question="<image 1>?"),
        question(Image_1="a.png"),
    )
    text, found = check("general_vmcq", data, "--media-root", str(tmp_path / "root"))
    assert len(found["problems"]) == 2
    assert "column `Image_1` is not read" in found["problems"][0]
    assert found["files"] == [
        {
            "file": str(data),
            "rows": 4,
            "understood": {"question": 4, "options": 4, "answer": 4, "id": 3, "image_1": 3},
            "ignored": {"level": 1, "Image_1": 1},
        }
    ]
    assert found["options"] == {"2": 3, "3": 1}
    assert found["places"] == {
        f"in files from {tmp_path}": 2,
        f"in files from {tmp_path / 'root'}": 1,
    }
    for words in (
        "understood: question, options, answer, id (filled in 3), image_1 (filled in 3)",
        "ignored: level (filled in 1), Image_1 (filled in 1)",
        "options   2 in 3, 3 in 1",
        "image_url data:image/png;base64,iVBOR",
        "1 samples ask word for word what another asks, with its media: 1, set/1",
        "1 values of column `id` occur more than once: `1`",
    ):
        assert words in text, words


def test_check_names_the_column_that_was_meant(tmp_path: Path) -> None:
    record = {**asking("q"), "Image_1": "a.png"}
    text, _ = check("general_vqa", write(tmp_path, record))
    assert "column `Image_1`" in text and "is ignored: did you mean `image_1`?" in text


def test_check_shows_every_turn_of_the_first_request(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    messages = [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "<image 1> " + "word " * 100},
    ]
    data = write(tmp_path, {"messages": messages, "answer": "x", "image_1": "a.png"})
    text, found = check("general_vqa", data)
    name, body = found["request"]
    assert name == "set/1"
    assert [turn["role"] for turn in body["messages"]] == ["system", "user"]
    assert "base64" in json.dumps(body) and len(json.dumps(body)) < 1500
    lines = text[text.index("request ") :].splitlines()
    assert lines[1].split() == ["system:", "`Be", "short.`"]
    assert lines[2].split()[:2] == ["user:", "image_url"]
    assert " ... " in lines[3] and len(lines[3]) < 200


# --- bad input -----------------------------------------------------------------------------------

CHOICE = ("general_vmcq", "set.jsonl")
OPEN = ("general_vqa", "set.jsonl")
TABLE = ("general_vmcq", "set.tsv")
HEAD = "question\toptions\tanswer\n"

BAD: list[tuple[str, tuple[str, str], Any, list[str]]] = [
    ("no list", CHOICE, question(options=5), ["line 1: `options` is a number", "expected a list"]),
    ("text", CHOICE, question(options="a,b"), ["neither a JSON list nor", 'write ["first", "sec']),
    ("no question", CHOICE, {"Question": 1, "options": ["a", "b"], "answer": "A"}, ["`Question`?"]),
    (
        "wrong type",
        OPEN,
        asking("<image 1>", image_1=5),
        ["`image_1` is a number, expected a path"],
    ),
    ("no list of media", OPEN, asking("<image 1>", images="a"), ["`images` is a string, expected"]),
    (
        "format",
        OPEN,
        asking("<audio 1>", audio_1="a.ogg", audio_1_format="ogg"),
        ["`audio_1` has format `ogg`, expected one of mp3, wav", "inferred"],
    ),
    (
        "gone",
        OPEN,
        asking("<image 1>", image_1="x.png"),
        ["1 medium of 1 sample", "tried `", "--media-root"],
    ),
    ("NUL in a path", OPEN, asking("<image 1>", image_1="a\0.png"), ["`a\\x00.png`"]),
    ("broken", OPEN, '{"messages": [}\n', ["line 1 column 15 (byte 14) is not JSON"]),
    ("JSON", OPEN, '[{"messages": 1},\n{}]', ["name the file `.json`"]),
    (
        "swallowed",
        TABLE,
        HEAD + 'q\t"a\tA\nq\t["a","b"]\tB"\n',
        ["line 2", "swallows the lines to 3"],
    ),
    (
        "ragged",
        TABLE,
        HEAD + 'q\t["a","b"]\tA\tmore\n',
        ["line 2 has 4 cells, expected 3", "quote a cell"],
    ),
    ("cut short", TABLE, HEAD + 'q\t["a","b"]\n', ["line 2: `answer` is null, expected a string"]),
    ("NUL", TABLE, HEAD + 'q\0\t["a","b"]\tA\n', ["line 2 holds a NUL byte (byte 25"]),
    ("surrogate", OPEN, asking("x \ud83d"), ["lone surrogate (U+D83D) at character 3"]),
    ("empty", OPEN, "", ["0 samples in"]),
]


@pytest.mark.parametrize(("name", "file", "content", "words"), BAD, ids=[row[0] for row in BAD])
def test_bad_input_is_told_before_the_first_request(
    tmp_path: Path, name: str, file: tuple[str, str], content: Any, words: list[str]
) -> None:
    data = tmp_path / file[1]
    text = content if isinstance(content, str) else json.dumps(content) + "\n"
    data.write_text(text, encoding="utf-8")
    ran, sent, _ = run(file[0], data, "x")
    assert ran.code == 1 and not sent
    assert ran.err.startswith("mmscore: error: ")
    for word in (str(data) if name not in ("gone", "NUL in a path") else "", *words):
        assert word in ran.err, ran.err
    assert "Traceback" not in ran.err and len(ran.err) < 1500


ODD = [
    (question(options=["a"]), "has 1 option, expected at least 2"),
    (question(options=[]), "has 0 options, expected at least 2"),
    (question(options=["a", " "]), "option B is empty (look for a doubled or trailing comma"),
    (question(answer="E"), "no label of the 2 options (A to B)"),
    (question(answer="A,B"), "several need --multiple"),
    (question(answer="Green"), "is the text of option B, expected its label (write B)"),
]


@pytest.mark.parametrize(("record", "said"), ODD, ids=[said for _, said in ODD])
def test_what_the_reference_asks_is_asked_and_told_or_refused(
    tmp_path: Path, record: dict[str, Any], said: str
) -> None:
    data = write(tmp_path, record)
    ran, sent, report = run("general_vmcq", data, "ANSWER: B")
    assert ran.code == 0 and len(sent) == 1 and report["overall"] == {"accuracy": 0.0}
    assert f"`{data}` line 1: " in ran.err and said in ran.err
    refused, sent, _ = run("general_vmcq", data, "x", "--strict", "--out", str(tmp_path / "strict"))
    assert refused.code == 1 and not sent and said.partition(" (")[0] in refused.err


def test_a_placeholder_without_a_medium_is_told_and_left_out(tmp_path: Path) -> None:
    data = write(tmp_path, asking("<image 2> what?"))
    ran, sent, _ = run("general_vqa", data, "x")
    assert ran.code == 0
    assert "line 1: no medium for <image 2>, so it is left out" in ran.err
    assert "<image" not in json.dumps(sent)


def test_a_very_long_reply_is_scored(tmp_path: Path) -> None:
    reply_text = "word B. " * 25_000 + "\nANSWER: A"
    ran, _, report = run("general_vmcq", write(tmp_path, question()), reply_text)
    assert ran.code == 0 and report["overall"] == {"accuracy": 1.0}
