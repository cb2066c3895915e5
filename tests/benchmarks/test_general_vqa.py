"""The user's own open questions: files, media places, records that cannot be asked, scores."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, run_cli
from support.own_sets import asking, load, only, write
from support.server import reply, serve

from mmscore.benchmarks.base import Options
from mmscore.benchmarks.general_vqa import BENCHMARK, METRICS, samples, understood
from mmscore.dataset.hub.hub_files import locate
from mmscore.errors import ConfigError, DataError
from mmscore.model.request import media_of
from mmscore.scoring.metrics import BLEU_KEYS, ROUGE_KEYS
from mmscore.types import Sample, Text

SAMPLES = ROOT / "data" / "samples" / "general_vqa"
PNG = (SAMPLES / "pictures" / "circle.png").read_bytes()
BASE64 = base64.b64encode(PNG).decode()


# --- the sample set -----------------------------------------------------------------------------


def test_the_sample_set_is_asked_whole() -> None:
    found = load(SAMPLES)
    assert [sample.id for sample in found] == [f"shapes/{number}" for number in range(1, 11)]
    assert [sample.problem for sample in found] == [None] * 10
    assert [sample.target is None for sample in found] == [False] * 9 + [True]
    counts = [len(media_of(sample.messages)) for sample in found]
    assert counts == [1, 1, 2, 1, 1, 1, 2, 1, 0, 1]
    for sample in found:
        for medium in media_of(sample.messages):
            assert medium.source is None or medium.source.read()
    faults = {sample.id: sample.media_faults for sample in found if sample.media_faults}
    assert [*faults] == ["shapes/8", "shapes/9"]
    assert "line 8: nothing refers to item 1 of `images`" in faults["shapes/8"][0]
    assert "line 9: no medium for <image 3>, so it is left out" in faults["shapes/9"][0]
    assert "not scored" in found[-1].warnings[0]


def test_parts_keep_their_order() -> None:
    found = load(SAMPLES)
    assert shape(found[2]) == ["Compare", "image", "and", "image"]
    assert shape(found[6]) == ["image", " Listen to ", "audio", " first."]


def shape(sample: Sample) -> list[str]:
    content = sample.messages[0].content
    assert not isinstance(content, str)
    return [part.text if isinstance(part, Text) else part.kind for part in content]


def test_the_command_asks_and_reports(tmp_path: Path) -> None:
    with serve(reply("A circle")) as server:
        ran = run_cli(
            *("run", "general_vqa", "--data", str(SAMPLES), "--model", "m"),
            *("--api-url", server.url, "--out", str(tmp_path / "run"), "--json"),
        )
    assert ran.code == 0, ran.err
    assert len(server.requests) == 10
    body = next(request.json for request in server.requests if "Describe" in str(request.json))
    assert body["messages"][0] == {
        "role": "system",
        "content": "You describe drawings in one short sentence.",
    }
    picture = body["messages"][1]["content"][1]["image_url"]
    assert picture == {"url": f"data:image/png;base64,{BASE64}", "detail": "low"}
    predictions = (tmp_path / "run" / "predictions.jsonl").read_text(encoding="utf-8")
    assert "base64" not in predictions


# --- records that cannot be asked ----------------------------------------------------------------

DEEP = '{"messages": ' + "[" * 60_000 + "]" * 60_000 + "}"

BAD_RECORDS: list[tuple[dict[str, Any], str]] = [
    (
        {"message": [], "answer": "x"},
        "the record has no column `messages`, found `message`, `answer` (did you mean `message`?)",
    ),
    ({"messages": None}, "`messages` is null, expected a list of messages"),
    ({"messages": []}, "`messages` is an empty list"),
    ({"messages": 5}, "`messages` is a number"),
    ({"messages": "[{]"}, "`messages` is not JSON at line 1 column 3"),
    ({"messages": '[\n"\t"]'}, "`messages` is not JSON at line 2 column 2"),
    ({"messages": "[" * 60_000}, "`messages` cannot be read as JSON"),
    ({"messages": ["hi"]}, "message 1 is a string, expected an object"),
    ({"messages": [{"content": "x"}]}, "message 1 has no `role`"),
    ({"messages": [{"role": "user"}]}, "message 1 has no `content`"),
    ({"messages": [{"role": "User", "content": "x"}]}, "message 1 has role `User`"),
    ({"messages": [{"role": "user", "content": 5}]}, "message 1 content is a number"),
    ({"messages": [{"role": "user", "content": [{"type": "file"}]}]}, "part 1 has type `file`"),
    (
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "a"}]}]},
        "message 1 part 1 image_url is a string, expected an object with `url`",
    ),
    (
        {
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "input_audio", "input_audio": {"data": "a.ogg", "format": "ogg"}}
                    ],
                }
            ]
        },
        "message 1 part 1 has format `ogg`, expected one of mp3, wav",
    ),
    (asking("\ud83d"), "message 1 content holds a lone surrogate (U+D83D) at character 1"),
    (asking("<image 1>", image_1=5), "column `image_1` is a number, expected a path"),
    (asking("<image 1>", images="a.png"), "column `images` is a string, expected a list"),
    (asking("<image 1>", image_1={"a": 1}), "column `image_1` is an object with `a`"),
    (asking("<image 2>", images=["a", 7]), "column `images` item 2 is a number"),
    (asking("<video 1>", video_1="v.mp4", video_1_format="MP4"), "has format `MP4`"),
    (asking(f"<image {'9' * 5000}>"), "has a number of 5000 digits"),
    (asking("q", answer=5), "`answer` is a number, expected a string"),
    (asking("q", answer=["a", 1]), "`answer` is a list holding a number"),
]


@pytest.mark.parametrize(("record", "expected"), BAD_RECORDS, ids=[bad for _, bad in BAD_RECORDS])
def test_a_bad_record_is_named_and_the_others_stay(
    tmp_path: Path, record: dict[str, Any], expected: str
) -> None:
    file = write(tmp_path, asking("before"), record, asking("after"))
    before, bad, after = load(file)
    assert before.problem is None
    assert after.problem is None
    assert bad.id == "set/2"
    assert bad.problem is not None
    assert bad.problem.startswith(f"`{file}` line 2: ")
    assert expected in bad.problem
    assert bad.problem.isprintable()
    assert len(bad.problem) < 900


def test_bad_records_are_listed_before_the_first_request_and_can_be_left_out(
    tmp_path: Path,
) -> None:
    file = write(tmp_path, asking("good", answer=""), asking("<image 1>", image_1=5), {"id": 7})
    with serve(reply("x")) as server:
        common = (
            "run",
            "general_vqa",
            "--data",
            str(file),
            "--model",
            "m",
            "--api-url",
            server.url,
        )
        stopped = run_cli(*common, "--out", str(tmp_path / "one"))
        assert not server.requests
        left = run_cli(*common, "--skip-bad-media", "--out", str(tmp_path / "two"), "--json")
    assert stopped.code == 1
    assert "2 records of" in stopped.err
    assert f"`{file}` line 2: column `image_1` is a number" in stopped.err
    assert f"`{file}` line 3: the record has no column `messages`, found `id`" in stopped.err
    assert len(server.requests) == 1
    assert left.code == 3
    assert json.loads(left.out)["status"]["bad_media"] == 2


def test_strict_ends_at_the_first_record_the_reference_refuses(tmp_path: Path) -> None:
    file = write(tmp_path, asking("q"), asking("<image 1>", image_1=5))
    strict = samples(locate(str(file), "general_vqa"), Options(extra={"strict": True}))
    assert next(strict).problem is None
    with pytest.raises(DataError, match=r"line 2: column `image_1`"):
        next(strict)


def test_an_unused_bad_column_harms_nobody(tmp_path: Path) -> None:
    file = write(tmp_path, asking("no placeholder", image_1=5, images="x", video_2={"a": 1}))
    assert only(file).problem is None


def test_nul_and_odd_characters_are_sent_as_they_are(tmp_path: Path) -> None:
    text = "a\0b\u2028c\x1b é 😀"
    assert only(write(tmp_path, asking(text))).messages[0].content == text


def test_a_record_keeps_its_own_id(tmp_path: Path) -> None:
    assert only(write(tmp_path, asking("q", id="my-7"))).id == "my-7"


def test_what_has_no_use_here_is_said(tmp_path: Path) -> None:
    file = write(tmp_path, asking("q"))
    with pytest.raises(ConfigError, match="no prompt template"):
        load(file, prompt_template="{question}")


def test_columns_understood() -> None:
    known = ["messages", "question", "answer", "id", "image", "image_path"]
    known += ["image_1", "image_100", "videos", "audio_7_format"]
    unknown = [
        "image_0",
        "image_101",
        "image_01",
        "Image_1",
        "images_1",
        "images_format",
    ]
    assert [name for name in known + unknown if understood(name)] == known


# --- scores --------------------------------------------------------------------------------------


def test_metrics_are_the_references_with_the_primary_first() -> None:
    assert METRICS[0] == "Rouge-L-R"
    assert len(METRICS) == len(set(METRICS)) == 13
    assert {"bleu-1", "bleu-4", "Rouge-1-R", "Rouge-2-F", "Rouge-L-P"} < set(METRICS)
    assert BENCHMARK.metrics == METRICS


def test_the_whole_reply_is_scored_against_the_only_answer() -> None:
    sample = Sample("1", "s", (), "the cat sat")
    values = BENCHMARK.score(BENCHMARK.parse("the cat sat", sample).value, sample)
    assert [*values] == [*BLEU_KEYS, *ROUGE_KEYS]  # the order of the reference's table
    assert values["Rouge-L-R"] == values["bleu-1"] == 1.0
    assert set(BENCHMARK.score("", sample).values()) == {0}
    assert BENCHMARK.score("anything", Sample("1", "s", (), None)) == {}


@pytest.mark.parametrize(
    ("answer", "target", "warned"),
    [
        (" x ", "x", ""),
        (["x", " x ", ""], "x", ""),
        (["a", "b", "a"], "a\nb", ""),
        ("", None, "no answer"),
        (" ", None, "no answer"),
        (None, None, "no answer"),
        ([], "", "`answer` is `[]`"),
        (["", " "], "", "`answer` is `['', ' ']`"),
        (0, "", "`answer` is `0`"),
        (False, "", "`answer` is `False`"),
    ],
)
def test_several_answers_are_lines_of_one_text(
    tmp_path: Path, answer: object, target: str | None, warned: str
) -> None:
    sample = only(write(tmp_path, asking("q", answer=answer)))
    assert sample.target == target
    assert warned in "".join(sample.warnings) and bool(sample.warnings) == bool(warned)


@pytest.mark.parametrize("answer", [3, True, 1.5, ["a", 2], {"a": 1}])
def test_an_answer_that_is_no_text_is_refused(tmp_path: Path, answer: object) -> None:
    assert "`answer` is " in str(only(write(tmp_path, asking("q", answer=answer))).problem)


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({}, ["What?"]),
        ({"image": "a.png"}, ["image", "What?"]),
        ({"image_path": "a.png"}, ["image", "What?"]),
        ({"image": ["a.png", "a.png"]}, ["image", "image", "What?"]),
        ({"image": BASE64}, ["image", "What?"]),
        ({"image_1": "a.png", "image": "b.png"}, ["image", "What?"]),
        ({"image_2": "a.png", "question": "Is <image 2> it?"}, ["Is ", "image", " it?"]),
        ({"video_1": "a.mp4", "images": ["a.png"]}, ["image", "video", "What?"]),
    ],
)
def test_a_question_without_messages_is_asked_with_its_media(
    tmp_path: Path, columns: dict[str, Any], parts: list[str]
) -> None:
    sample = only(write(tmp_path, {"question": "What?", "answer": "x", **columns}))
    assert sample.problem is None and sample.target == "x"
    content = sample.messages[0].content
    assert ([content] if isinstance(content, str) else shape(sample)) == parts
