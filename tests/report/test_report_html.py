"""The page carries hostile text safely, needs nothing from outside and stays small."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from support.pages import Page, page_of
from support.runs import sample, write_run

from mmscore.report import PageImages, build, load, write
from mmscore.report.page import samples as page_samples
from mmscore.report.page.columns import VALUE_LIMIT, CodedColumn
from mmscore.report.page.text import TEXT_LIMIT, HiddenPaths, SharedLines

HOSTILE = [
    "</script><img src=x onerror=alert(1)>",
    "<!-- <script>alert(1)</script> -->",
    "{{script}} {{data}} {{title}} {{policy}}",
    "\u2028\u2029 & &lt; \\u003c \\",
    "]]> ' \" ` ${alert(1)} javascript:alert(1)",
]
PICTURE = "data:image/webp;base64,AAAA"


def hostile_samples() -> list[dict[str, Any]]:
    """A sample for each hostile text, with it in every field that a stranger can fill."""
    return [
        sample(
            i,
            reply=f"reply {text}",
            reasoning=text,
            question=text,
            turns=[["system", text], ["user", text]],
            target=text,
            choices=[text],
            error=text,
            finish_reason=text,
            metadata={"modality": text, text: [text, "x"]},
            media=[{"place": text, "sha256": "0", "mime": text, "notes": [text]}],
            _extracted=text,
            _judge={
                "value": 1.0,
                "error": None,
                "complete": True,
                "verdicts": [
                    {"judge": text, "judge_repeat": 0, "verdict": text, "value": 1.0}
                    | {"reasoning": text, "kind": None, "error": text}
                ],
                "usage": {},
                "requests": 1,
                "seconds": 0.0,
            },
        )
        for i, text in enumerate(HOSTILE)
    ]


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    harmless = Page(page_of(tmp_path / "a", [sample(0)]))
    hostile = Page(
        page_of(
            tmp_path / "b",
            hostile_samples(),
            model=HOSTILE[0],
            benchmark={"title": HOSTILE[2], "groups": ["modality", HOSTILE[1]]},
        )
    )
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in harmless.tags]
    assert not [name for _, found in hostile.tags for name in found if name.startswith("on")]
    assert hostile.texts["script"] == harmless.texts["script"]
    rows = hostile.samples()
    for name in ("reasoning", "expected", "read", "finish", "error", "fact:modality"):
        assert [row[name] for row in rows] == HOSTILE
    assert [row["reply"] for row in rows] == [f"reply {text}" for text in HOSTILE]
    assert [row["media"][0][1] for row in rows] == HOSTILE
    assert [row["choices"] for row in rows] == [[text] for text in HOSTILE]
    assert hostile.data("page")["model"] == HOSTILE[0]
    assert hostile.data("page")["title"] == HOSTILE[2]


def test_the_scripts_never_make_markup_of_text() -> None:
    files = resources.files("mmscore.report.page").iterdir()
    texts = [one.read_text(encoding="utf-8") for one in files if one.name.endswith(".js")]
    assert len(texts) > 5
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacent",
        "document.write",
        "eval(",
        "Function(",
    ):
        assert not any(word in text for text in texts)


def test_the_policy_knows_its_own_script_and_style_and_nothing_else(tmp_path: Path) -> None:
    page = page_of(tmp_path, [sample(0)])
    policy = re.search(r'Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    for tag in ("script", "style"):
        body = page.split(f"<{tag}>")[1].split(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]


def test_nothing_is_loaded_from_outside(tmp_path: Path) -> None:
    parsed = Page(page_of(tmp_path, [sample(0)]))
    assert not [found for _, found in parsed.tags if "src" in found or "href" in found]
    assert "http" not in parsed.texts["script"]
    assert "url(" not in parsed.texts["style"]


def test_only_images_inside_the_page_are_shown(tmp_path: Path) -> None:
    media = [{"place": place, "sha256": "0", "mime": "image/png"} for place in ("b.jpg", "a.jpg")]
    images = PageImages({"b.jpg": "https://elsewhere/b.jpg", "a.jpg": PICTURE})
    page = Page(page_of(tmp_path, [sample(0, media=media)], images=images))
    assert page.data("images") == [PICTURE]
    assert [medium[:2] for medium in page.samples()[0]["media"]] == [[-1, "b.jpg"], [0, "a.jpg"]]


def test_the_page_says_which_images_it_lacks(tmp_path: Path) -> None:
    left_out = {("room", ""): 12, ("gone", "cannot read `/home/somebody/data/imgs.zip`"): 3}
    page = Page(page_of(tmp_path, [sample(0)], images=PageImages({}, left_out, 768)))
    told = [["room", "", 12], ["gone", "cannot read `…/imgs.zip`", 3]]
    assert page.data("samples")["images"] == [768, told]


def test_a_failed_sample_shows_why_and_no_score(tmp_path: Path) -> None:
    (row,) = Page(
        page_of(tmp_path, [sample(0, 1.0, status="timeout", reply="", error="60 s")])
    ).samples()
    assert (row["status"], row["error"], row["score:accuracy"]) == ("timeout", "60 s", None)


def test_every_message_is_carried_and_what_samples_share_once(tmp_path: Path) -> None:
    system = "You are a careful radiologist."
    turns = [["system", system], ["user", "First?"], ["assistant", "Yes."], ["user", "Where {}?"]]
    samples = [
        sample(n, turns=[[role, text.format(n)] for role, text in turns], question=f"Where {n}?")
        for n in range(20)
    ]
    page = page_of(tmp_path, samples)
    assert page.count(system) == 1
    parsed = Page(page)
    lines = parsed.data("lines")
    for number, row in enumerate(parsed.samples()):
        said = [
            [role, "\n".join(lines[piece] if isinstance(piece, int) else piece for piece in pieces)]
            for role, *pieces in row["messages"]
        ]
        assert said == [[role, text.format(number)] for role, text in turns]


def test_a_whole_reply_that_is_the_answer_stands_in_the_page_once(tmp_path: Path) -> None:
    for number, reply in enumerate(("the left kidney, enlarged", "words and words " * 40)):
        page = page_of(tmp_path / str(number), [sample(0, reply=reply, _extracted=reply)])
        assert page.count(reply) == 1


def test_a_reply_of_ten_megabytes_is_cut_and_said_to_be(tmp_path: Path) -> None:
    reply = "x" * 10_000_000
    page = page_of(tmp_path, [sample(0, reply=reply, _extracted=reply)])
    (row,) = Page(page).samples()
    assert len(page) < 250_000
    assert row["length"] == 10_000_000 and row["reply"] == 0
    assert row["read"][TEXT_LIMIT:].endswith("9,980,000 more characters in predictions.jsonl")


def test_no_path_of_a_machine_is_in_the_page(tmp_path: Path) -> None:
    home = "/home/somebody/my projects"
    place = f"imgs/1.png in {home}/data/imgs.zip"
    page = page_of(
        tmp_path,
        [
            sample(
                0,
                status="bad_media",
                reply="",
                error=f"cannot read `{home}/data/imgs.zip`: no such file",
                media=[{"place": place, "sha256": "0", "mime": "image/png"}],
                metadata={"modality": "CT", "file": f"{home}/data/1.png", "share": "1/2"},
            )
        ],
        config={"dataset_args": {"slake": {"local_path": f"{home}/data"}}, "media_root": home},
        benchmark={"file": f"{home}/own.py"},
        model=f"{home}/models/tiny-vl",
        stopped=f"cannot write `{home}/out`",
    )
    assert "somebody" not in page
    (row,) = Page(page).samples()
    assert row["media"][0][1] == "imgs/1.png in …/imgs.zip"
    assert (row["fact:file"], row["fact:share"]) == ("…/1.png", "1/2")
    assert Page(page).data("page")["model"] == "…/models/tiny-vl"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cannot read `/data/sets/a b/x.png`: gone", "cannot read `…/a b/x.png`: gone"),
        ("/data/sets", "…"),
        ("/home/somebody/", "…"),
        ("/home/somebody/runs", "…/runs"),
        ("no `/var/lib/thing/x.json`, sorry", "no `…/x.json`, sorry"),
        (r"cannot read C:\Users\me\x.png: gone", "cannot read …/x.png: gone"),
        ("see file:///var/lib/x/y.txt", "see …/y.txt"),
        ("from ~/work/x/y.txt", "from …/y.txt"),
        ("https://host/v1/chat/completions answered 500", None),
        ("found 1/2, expected and/or", None),
        ("HTTP 400: /v1 is no path", None),
        ("a / b and 2026/01/02", None),
        ("relative imgs/xmlab1/source.jpg stays", None),
    ],
)
def test_absolute_paths_in_our_sentences_lose_their_start(text: str, shown: str | None) -> None:
    assert HiddenPaths(["/data/sets"]).sentence(text) == (shown or text)


def test_shared_lines_are_instructions_and_not_questions() -> None:
    texts = [("s", f"Where is it, in picture {n}?\nAnswer in a word.") for n in range(10)]
    shared = SharedLines((subset, [text]) for subset, text in texts)
    assert shared.pieces("s", texts[3][1]) == ["Where is it, in picture 3?", 0]
    assert shared.pieces("other", texts[3][1]) == [texts[3][1]]
    assert list(shared.lines) == ["Answer in a word."]


def test_names_that_collide_when_shortened_stay_apart() -> None:
    column = CodedColumn()
    words = ["x" * VALUE_LIMIT + end for end in ("ab", "cd", "ab")]
    for word in words:
        column.add(word)
    values = column.to_json()["values"]
    assert column.to_json()["codes"] == [0, 1, 0]
    assert len(set(values)) == 2


def test_failed_and_wrong_samples_come_first_where_not_all_have_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [sample(n, float(n % 3 > 0), reply=f"reply {n}") for n in range(90)]
    monkeypatch.setattr(page_samples, "TEXTS_LIMIT", 5_000)
    monkeypatch.setattr(page_samples, "SAMPLES_LIMIT", 80)
    page = Page(page_of(tmp_path, samples))
    held = page.data("samples")
    assert (held["asked"], held["count"]) == (90, 80)
    assert 30 < held["carried"] < 80
    rows = page.samples()
    assert [row["score:accuracy"] for row in rows[:31]] == [0] * 30 + [1]
    assert "reply" in rows[held["carried"] - 1] and "reply" not in rows[held["carried"]]


def test_facts_are_columns_and_numbers_words(tmp_path: Path) -> None:
    facts = {"modality": "CT", "qid": 5, "tags": ["a", "b"], "empty": "", "deep": {"x": 1}}
    (row,) = Page(page_of(tmp_path, [sample(0, metadata=facts)])).samples()
    found = {name[5:]: value for name, value in row.items() if name.startswith("fact:")}
    assert found == {"modality": "CT", "qid": "5", "tags": ["a", "b"], "deep": "{'x': 1}"}


@pytest.mark.parametrize("count", [2094])
def test_thousands_of_samples_stay_small(tmp_path: Path, count: int) -> None:
    question = "问题 " + "word " * 40
    samples = [sample(i, float(i % 2), question=question) for i in range(count)]
    assert len(page_of(tmp_path, samples).encode()) < 1_000_000


def test_an_empty_run_and_one_of_an_older_version_have_a_page(tmp_path: Path) -> None:
    assert Page(page_of(tmp_path / "empty", [])).data("samples")["count"] == 0
    old = write_run(tmp_path / "old", [sample(0)])
    for file in ("run.json", "predictions.jsonl"):
        record = json.loads((old / file).read_text(encoding="utf-8"))
        for name in ("price", "reused", "judge", "first_token_seconds", "reasoning"):
            record.pop(name, None)
        (old / file).write_text(json.dumps(record) + "\n", encoding="utf-8")
    run = load(old)
    assert write(build(run), run, "html").stat().st_size > 10_000


def test_both_languages_say_everything_that_the_scripts_ask_for() -> None:
    room = resources.files("mmscore.report.page")
    words = json.loads(room.joinpath("words.json").read_text(encoding="utf-8"))
    plain = {name: {key for key in words[name] if ":" not in key} for name in words}
    assert plain["en"] == plain["zh"]
    scripts = [one for one in room.iterdir() if one.name.endswith(".js")]
    text = "\n".join(one.read_text(encoding="utf-8") for one in scripts)
    asked = set(re.findall(r'\bsay\("([^"]+)"', text))
    assert len(asked) > 60
    assert asked <= plain["en"]
    for name in plain["en"]:
        places = [set(re.findall(r"\{\d\}", str(words[one][name]))) for one in ("en", "zh")]
        assert places[0] == places[1], name
