"""Placeholders, media columns and messages, against what the reference answered."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support import SHARED, run_cli
from support.images import image_file
from support.own_sets import write
from support.server import reply, serve

from mmscore.benchmarks import general_vmcq, general_vqa
from mmscore.benchmarks.own_data import Draft
from mmscore.dataset.media.paths import FileSource, Roots
from mmscore.dataset.media.sources import BytesSource, TextSource, mime_of
from mmscore.errors import DataError
from mmscore.model.request import Attachment, build_request, media_of
from mmscore.store.records import SentMedium
from mmscore.types import Media, Message, Text

ROOTS = Roots.of(Path("set.jsonl"))
DRAFTS: Mapping[str, Callable[[Mapping[str, Any], Roots], Draft]] = {
    "general_vqa": general_vqa.draft,
    "general_vmcq": general_vmcq.draft,
}


def place(media: Media) -> str:
    """Where a medium is, as the reference's messages say it."""
    source = media.source
    if isinstance(source, FileSource):
        return source.given
    if isinstance(source, TextSource):
        return source.text()
    if isinstance(source, BytesSource):
        data = source.read()
        mime = mime_of(data) or "image/png"
        return f"data:{mime};base64,{base64.b64encode(data).decode()}"
    assert media.url is not None
    return media.url


def as_reference(part: Text | Media) -> dict[str, Any]:
    """A part as the reference's messages spell it."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    found: dict[str, Any] = {"type": part.kind, part.kind: place(part)}
    if part.kind == "image":
        return {**found, "detail": part.detail}
    found["format"] = part.format
    return found if part.fps is None else {**found, "fps": part.fps}


def expected_part(part: dict[str, Any]) -> dict[str, Any]:
    """A part of the reference's without what never leaves its process."""
    return {key: value for key, value in part.items() if key not in ("start", "end", "refusal")}


def check_message(message: Message, expected: dict[str, Any]) -> None:
    assert message.role == expected["role"]
    content = expected["content"]
    if expected["role"] == "assistant" and isinstance(content, list):
        # What the reference keeps as parts until it sends them, we keep as it is sent.
        texts = [part["text"] for part in content if part["type"] == "text"]
        thoughts = [part["reasoning"] for part in content if part["type"] == "reasoning"]
        assert message.content == "".join(f"\n{text}" for text in texts)
        assert message.extra.get("reasoning_content") == (thoughts[-1] if thoughts else None)
    elif isinstance(content, str):
        assert message.content == content
    else:
        assert not isinstance(message.content, str)
        parts = [as_reference(part) for part in message.content]
        assert parts == [expected_part(part) for part in content]


def attach(media: Media) -> Attachment:
    """A medium as the endpoint gets it."""
    url = place(media)
    if media.kind == "audio":
        url = url.partition(",")[2]
    return Attachment(json.dumps(url)[1:-1].encode(), "", SentMedium(url, ""))


def check(case: dict[str, Any]) -> None:
    draft, record = DRAFTS[case["in"]["task"]], case["in"]["record"]
    out = case["out"]
    if "raises" in out or "raises" in case.get("wire", {}):
        try:
            drafted = draft(record, ROOTS)
        except DataError as error:
            sentence = error.message
        else:
            raise AssertionError(f"was read as {drafted}")
        assert sentence
        assert sentence.isprintable()
        assert len(sentence) < 600
        return
    drafted = draft(record, ROOTS)
    assert len(drafted.messages) == len(out["messages"])
    for message, expected in zip(drafted.messages, out["messages"], strict=True):
        check_message(message, expected)
    assert list(drafted.choices) == (out["choices"] or [])
    target = out["target"]
    answers = [target] if isinstance(target, str) else target
    lines = dict.fromkeys(answer.strip() for answer in answers if answer.strip())
    assert (drafted.target or "") == "\n".join(lines)
    warned = [line for line in case.get("log", []) if "dropping the placeholder" in line]
    left_out = [line for line in drafted.media_faults if "so it is left out" in line]
    assert len(left_out) == len(warned)
    if "wire" in case:
        media = [attach(medium) for medium in media_of(drafted.messages)]
        sent = json.loads(b"".join(build_request("m", drafted.messages, media, {}).body))
        assert sent["messages"] == case["wire"]


def test_every_golden_record(golden: Callable[[str], list[dict[str, Any]]]) -> None:
    """All lines: messages, target, choices, what is refused, and the body where it is given."""
    rows = golden("media")
    assert len(rows) > 700
    failed = []
    for number, case in enumerate(rows, 1):
        try:
            check(case)
        except (Exception, AssertionError) as error:
            failed.append(f"line {number} ({case['cat']}): {type(error).__name__} {error}")
    assert not failed, f"{len(failed)} of {len(rows)}:\n" + "\n".join(failed[:10])


# --- placeholders without a number, and what nobody would see ------------------------------------


def vqa(*texts: str, **columns: Any) -> dict[str, Any]:
    turns = [{"role": "user", "content": text} for text in texts]
    return {"messages": turns, "answer": "x", **columns}


def vmcq(question: str, **columns: Any) -> dict[str, Any]:
    return {"question": question, "options": ["a", "b"], "answer": "A", **columns}


def shown_in(task: str, record: dict[str, Any]) -> list[str]:
    """What the user's turns hold, in order: texts, and the places of media in brackets."""
    shown = []
    for message in DRAFTS[task](record, ROOTS).messages:
        parts = [Text(message.content)] if isinstance(message.content, str) else message.content
        shown += [p.text if isinstance(p, Text) else f"[{place(p)}]" for p in parts]
    return shown


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (vqa("<image>\nWhat?", images=["a.png"]), ["[a.png]", "\nWhat?"]),
        (vqa("<image><image>", images=["a.png", "b.png"]), ["[a.png]", "[b.png]"]),
        (
            vqa("<image> and <image>", image_3="a.png", image_1="b.png"),
            ["[b.png]", " and ", "[a.png]"],
        ),
        (vqa("<video><audio>", videos=["v.mp4"], audio_1="s.wav"), ["[v.mp4]", "[s.wav]"]),
        (
            vqa("<image>?", "And <image>?", images=["a.png", "b.png"]),
            ["[a.png]", "?", "And ", "[b.png]", "?"],
        ),
        (vqa("<image> <image>", images=["a.png"]), ["[a.png]", " <image>"]),
        (vqa("<image>", images=[]), ["<image>"]),
        (vqa("<image 2> <image>", images=["a.png", "b.png"]), ["[b.png]", " <image>"]),
        (vqa("<image 1> <video>", image_1="a.png", video_2="v.mp4"), ["[a.png]", "[v.mp4]"]),
        (vqa("<Image>", images=["a.png"]), ["<Image>"]),
    ],
    ids=lambda value: value["messages"][0]["content"] if isinstance(value, dict) else "",
)
def test_placeholders_without_a_number_stand_for_media_in_order(
    record: dict[str, Any], expected: list[str]
) -> None:
    assert shown_in("general_vqa", record) == expected


def test_also_in_questions_and_options() -> None:
    record = vmcq("<image> like", images=["a.png", "b.png", "c.png"])
    record["options"] = ["<image>", "<image>"]
    shown = [part for part in shown_in("general_vmcq", record) if part.startswith("[")]
    assert shown == ["[a.png]", "[b.png]", "[c.png]"]


SPELLINGS = [
    "<Image 1>", "<IMAGE 1>", "<image1>", "<image-1>", "< image 1 >", "<img 1>", "<images 1>",
    "<image  1>", "<|image_1|>", "<picture 1>", "<image#1>", "<image:1>",
]  # fmt: skip
WITHOUT_NUMBER = ["<Image>", "<IMG>", "<|image|>", "[image]", "{image}", "{{image}}", "<image/>",
                  "<image_placeholder>", "<ImageHere>", "<|image_pad|>", "[Image 1]"]  # fmt: skip


@pytest.mark.parametrize("task", DRAFTS)
@pytest.mark.parametrize("spelling", [*SPELLINGS, *WITHOUT_NUMBER])
def test_another_spelling_is_told_where_media_are_not_seen(task: str, spelling: str) -> None:
    columns = {"image_1": "a.png"}
    text = f"{spelling} What colour?"
    record = vqa(text, **columns) if task == "general_vqa" else vmcq(text, **columns)
    (fault,) = DRAFTS[task](record, ROOTS).media_faults
    assert fault.startswith("nothing refers to `image_1`, so it is not sent")
    assert f"`{spelling}` is none" in fault


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_numbered_spelling_is_told_also_without_any_media(spelling: str) -> None:
    (fault,) = DRAFTS["general_vqa"](vqa(f"{spelling}?"), ROOTS).media_faults
    assert fault == f"no medium for `{spelling}`, so it is asked as words"


@pytest.mark.parametrize(
    ("record", "faults"),
    [
        (vqa("What?"), []),
        (vqa("Is [a] <b> {c} an <img src='x'> of a picture?"), []),
        (vqa("What?", images=[]), []),
        (vqa("What?", images=["", None]), []),
        (vqa("What?", image_1=""), []),
        (vqa("?", image_1="a.png", image_2="b.png"), ["nothing refers to `image_1`, `image_2`"]),
        (vqa("<image 2>", image_1="a.png", image_2="b.png"), ["nothing refers to `image_1`"]),
        (vqa("What?", images=["a.png", "b.png"]), ["nothing refers to `images`"]),
        (vqa("<image 2>", images=["a.png", "b.png"]), ["nothing refers to item 1 of `images`"]),
        (vqa("<image>", images=["a.png", "b.png"]), ["nothing refers to item 2 of `images`"]),
        (vqa("What?", audio_1="s.wav"), ["nothing refers to `audio_1`"]),
        (vqa("<image 1>"), ["no medium for <image 1>, so it is left out"]),
        (vqa("<image>"), ["no medium for <image>, so it is asked as a word"]),
        (vqa("<image><image>", images=["a.png"]), ["no medium for <image>, so it is asked"]),
        (vqa("<image 1>", image_1="a.png", images=["b.png"]), []),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "<image> what?"},
             {"type": "image_url", "image_url": {"url": "a.png"}}]}], "images": ["a.png"]},
            [],
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "<image 1>"}]}],
             "image_1": "a.png"},
            ["nothing refers to `image_1`"],
        ),
    ],
)  # fmt: skip
def test_what_of_the_media_nobody_would_see(record: dict[str, Any], faults: list[str]) -> None:
    found = DRAFTS["general_vqa"](record, ROOTS).media_faults
    assert len(found) == len(faults), found
    assert all(one.startswith(start) for one, start in zip(found, faults, strict=True)), found


def written(folder: Path, *records: dict[str, Any]) -> Path:
    (folder / "a.png").write_bytes(image_file())
    return write(folder, *records)


def test_a_run_says_loudly_that_its_requests_carry_no_media(tmp_path: Path) -> None:
    data = written(tmp_path, *[vqa("<Image 1> what?", image_1="a.png")] * 40)
    with serve(reply("x")) as server:
        run = ("general_vqa", "--data", str(data), "--model", "m", "--api-url", server.url)
        ran = run_cli("run", *run, "--out", str(tmp_path / "run"))
        assert ran.code == 0 and len(server.requests) == 40
        assert "0 of 40 requests carry media: 40 have media that nothing refers to" in ran.err
        assert "line 1: nothing refers to `image_1`" in ran.err
        limited = run_cli(
            "run", *run, "--out", str(tmp_path / "2"), "--limit", "3", "--repeats", "2"
        )
        assert "0 of 6 requests carry media" in limited.err
        dry = run_cli("run", *run, "--dry-run")
        assert "0 of 40 requests carry media" in dry.err
    checked = run_cli("check", *run[:3])
    assert checked.code == 1
    assert "0 of 40 requests carry media" in checked.out
    assert checked.out.count("nothing refers to `image_1`") == 10 and "30 more" in checked.out


def test_a_set_that_is_seen_whole_or_has_no_media_is_clean(tmp_path: Path) -> None:
    seen = [vqa("<image>", images=["a.png"]), vqa("What?"), vqa("<image 1>", image_1="a.png")]
    checked = run_cli("check", "general_vqa", "--data", str(written(tmp_path, *seen)))
    assert checked.code == 0 and "carry media" not in checked.out


def test_what_is_not_asked_is_not_told(tmp_path: Path) -> None:
    data = written(tmp_path, vqa("<image 1>", image_1="a.png"), vqa("What?", image_1="a.png"))
    assert run_cli("check", "general_vqa", "--data", str(data), "--limit", "1").code == 0
    assert run_cli("check", "general_vqa", "--data", str(data)).code == 1


@pytest.mark.parametrize(
    ("file", "task", "seen"),
    [
        ("mcq.jsonl", "general_vmcq", True),
        ("sharegpt.jsonl", "general_vqa", True),
        ("mcq_case.jsonl", "general_vmcq", False),
        ("mcq_none.jsonl", "general_vmcq", False),
    ],
)
def test_spellings_seen_in_public(file: str, task: str, *, seen: bool) -> None:
    data = SHARED / "faults" / "P14" / file
    if not data.is_file():
        pytest.skip(f"no {data}; MMSCORE_SHARED names its folder")
    assert run_cli("check", task, "--data", str(data)).code == (0 if seen else 1)
