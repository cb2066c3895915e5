"""Draws the sample data sets: ten rows each, in the published shape, odd but legal ones included.

    python data/build_samples.py [FOLDER]

writes `FOLDER/slake`, `FOLDER/pmc_vqa` and so on (default: `data/samples`), the same bytes on every
machine: pictures are stored, not compressed, because compressors differ.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import struct
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from small_parquet import Row
from small_parquet import write as write_parquet

SIDE = 48
"""Pixels of a picture's side."""

Shape = tuple[str, int]
"""`square`, `circle` or `bar`, and its grey from 0 to 255."""


def slake(folder: Path) -> None:
    """`test.json` and `imgs.zip`."""
    chest, brain, belly = "xmlab1/source.png", "xmlab2/source.png", "腹部 3/source.png"
    rows = [
        _question(1, chest, "en", "OPEN", "Modality", "What modality is this?", "CT"),
        _question(2, chest, "en", "CLOSED", "Abnormality", "Is the lung healthy?", "No"),
        _question(3, chest, "zh", "OPEN", "Organ", "图中黑色的器官是什么?", "肺"),
        _question(4, brain, "zh", "CLOSED", "Plane", "这是横断面吗?", "是的", modality="MRI"),
        _question(5, brain, "en", "OPEN", "Quantity", "How many ventricles are there?", "2"),
        # blanks round the text, braces, a line break and quotes inside it
        _question(6, belly, "en", "OPEN", "KG", ' Name {one}\nuse of the "liver"? ', " Bile "),
        # an answer of several parts, and one that a table of counters changes
        _question(7, belly, "en", "OPEN", "Organ", "Which organs are bright?", "Liver, Kidney"),
        _question(8, belly, "zh", "OPEN", "Quantity", "有几个肾脏?", "两个"),
        # a qid that is text, an answer type in small letters
        _question("9b", belly, "zh", "closed", "Size", "哪个更大，肝还是脾?", "肝"),
        # only what a run needs
        {
            "qid": 10,
            "img_name": chest,
            "question": "Is this an X-Ray?",
            "answer": "No",
            "q_lang": "en",
            "answer_type": "CLOSED",
        },
    ]
    _write(folder / "test.json", json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
    _write_zip(
        folder / "imgs.zip",
        {
            "imgs/": b"",
            "imgs/xmlab1/": b"",
            f"imgs/{chest}": picture(("circle", 40), ("square", 180)),
            f"imgs/{brain}": picture(("circle", 120), ("bar", 30)),
            f"imgs/{belly}": picture(("square", 90), ("circle", 200)),
            "imgs/xmlab99/source.png": picture(("bar", 255)),  # nobody asks about it
            "__MACOSX/imgs/xmlab1/._source.png": b"\x00\x05\x16\x07 left by an archiver",
        },
    )


def pmc_vqa(folder: Path) -> None:
    """`test_clean.csv` and `images.zip`; the figures are PNG behind `.jpg` names."""
    one, two, three = "PMC0000001_FIG1.jpg", "PMC0000001_FIG2.jpg", "PMC0000002_FIG10.jpg"
    header = ["Figure_path", "Question", "Answer"]
    header += [f"Choice {letter}" for letter in "ABCD"] + ["Answer_label"]
    rows = [
        # padded as the published file is
        [f" {one} ", " Which shape is bright? ", "Square ", *_marked("square", "circle"), "A"],
        [one, " Which shape is dark? ", "Circle ", *_marked("square", "circle"), " B "],
        [two, " What is drawn? ", "Bar ", *_marked("dot", "ring", "bar", "star"), "C"],
        # comma, quotes and a line break in cells
        [two, ' Where is the "bar", if any?\nSee arrow. ', "Left, top", *_marked("Left, top"), "A"],
        [two, " What do {braces} mean? ", "{a}", *_marked("{b}", "{a}", "{}", "{0}"), "B"],
        # another letter's mark, two marks, a blank before the colon, no mark: only its own one goes
        [three, " Which option? ", "z", " B:w ", " B: A:y ", "C :x", "z", "D"],
        [three, " How many? ", "3", *_marked("1", "2", "3", "4"), "C"],
        [three, "Is this Chinese 文字?", "是", *_marked("是", "否", "不知道", "以上都不是"), "A"],
        [three, "Two options alike?", "Yes", *_marked("Yes", "Yes", "No", "No"), "A"],
        [one, " " * 3 + "Last row? ", "Yes", *_marked("No", "Yes"), "B"],
    ]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    _write(folder / "test_clean.csv", text.getvalue())
    _write_zip(
        folder / "images.zip",
        {
            "images/": b"",
            f"images/{one}": picture(("circle", 60), ("square", 220)),
            f"images/{two}": picture(("bar", 250)),
            f"images/{three}": picture(("circle", 200), ("bar", 10)),
            "images/PMC0000009_FIG1.jpg": picture(("square", 128)),  # nobody asks about it
        },
    )


def count_qa(folder: Path) -> None:
    """Two Parquet files of one split, and a photograph beside them."""
    data = folder / "data"
    data.mkdir(exist_ok=True)

    def row(image: object, pairs: Mapping[str, str], focused: bool | None, *kinds: str) -> Row:
        questions, answers = list(pairs), list(pairs.values())
        facts = {"categories": list(kinds), "is_focused": focused}
        return {"image": image, "questions": questions, "answers": answers, **facts}

    def photograph(name: str, *shapes: Shape) -> dict[str, object]:
        return {"bytes": picture(*shapes), "path": name}

    square = photograph("0.png", ("square", 200))
    several = {"How many bars are there?": "12", "How many bars and dots are there?": " 24 "}
    write_parquet(
        data / "test-00000-of-00002.parquet",
        [
            row(square, {"How many squares are there?": "1"}, True, "Tools"),
            row(photograph("1.png", ("bar", 90)), several, False, "Tools", "Office"),
            # nothing to count; a question with blanks, braces and a line break
            row(square, {"How many circles?": "0", " How many {x}\nare there? ": "3"}, True),
            row(
                photograph("3.jpg", ("circle", 60)),
                {"多少个圆?": "400", "多少?": "13"},
                None,
                "Home",
            ),
        ],
        group=3,
    )
    # signs and digits of other scripts, as Python's int reads them; a photograph by its path
    odd = {"How many rings?": "+7", "How many dots?": "１２"}
    write_parquet(
        data / "test-00001-of-00002.parquet",
        [
            row({"bytes": None, "path": "beside.png"}, {"How many bars are here?": "20"}, True),
            row(photograph("5.png", ("circle", 250), ("bar", 10)), odd, False, "Office"),
            # no question at all
            row(square, {}, True, "Tools"),
        ],
    )
    (data / "beside.png").write_bytes(picture(("bar", 150)))


def general_vqa(folder: Path) -> None:
    """`shapes.jsonl`: messages of every kind, media beside it and inside it."""
    circle = "pictures/circle.png"
    small = "data:image/png;base64," + base64.b64encode(_tiny_picture()).decode()
    rows: list[dict[str, object]] = [
        # OpenAI messages: a plain picture, a system turn with `detail`, two pictures in order
        _asked([_text("Which shape is this?"), _image(circle)], "A circle"),
        {
            "messages": [
                {"role": "system", "content": "You describe drawings in one short sentence."},
                {"role": "user", "content": [_text("Describe it."), _image(circle, detail="low")]},
            ],
            "answer": "A bright circle on a dark ground.",
        },
        _asked(
            [_text("Compare"), _image(circle), _text("and"), _image("pictures/bar.png")],
            "The first is a circle, the second a bar.",
        ),
        # a picture inside the record, a path with backslashes, an answer in Chinese
        _asked([_image(small), _text("Is anything drawn here?")], "No"),
        _asked([_image("pictures\\bar.png"), _text("图中是什么形状？")], "一个竖条"),
        # placeholders: of one column, of two, of the list; one that nothing fills
        {"messages": _said("Which shape is this?<image 1>"), "image_1": circle, "answer": "Circle"},
        {
            "messages": _said("<image 2> Listen to <audio 1> first."),
            "image_2": circle,
            "audio_1": "sounds/tone.wav",
            "answer": "A circle and a tone",
        },
        {
            "messages": _said("<image_2> of the list?"),
            "images": [circle, {"path": "pictures/bar.png"}],
            "answer": "Bar",
        },
        {"messages": _said("No picture <image 3> here. Braces {stay}."), "answer": "None"},
        # several turns and no answer: asked, not scored
        {
            "messages": [
                *_said("Look at <image 1>."),
                {"role": "assistant", "content": "I see a circle."},
                *_said("Is it bright?"),
            ],
            "image_1": circle,
        },
    ]
    _write_media(folder)
    _write(folder / "shapes.jsonl", _lines(rows))


def general_vmcq(folder: Path) -> None:
    """`shapes_val.tsv`: options as JSON, as a Python list, in columns; sparse media columns."""
    header = ["question", "options", "answer", "image_1", "image_2", "audio_1", "A", "B", "C"]
    circle, bar = "pictures/circle.png", "pictures/bar.png"
    rows = [
        ["Which one is a bar?", '["<image 1>", "<image 2>"]', "B", circle, bar],
        ["<image 1> What is it?", '["Square", "Circle", "Bar"]', "B", circle],
        ["<image 1> What is it?", "['Square', \"it's a bar\"]", "B", bar],
        ["<image 1> What is it?", "('Bar', 'Circle')", "a", bar],
        # options in columns, two and three of them
        ["<image 1> Is it bright?", "", "A", circle, "", "", "Yes", "No"],
        ["<image 1> How many shapes?", "", "B", bar, "", "", "None", "One", "Two"],
        ["<audio 1> What do you hear?", '["Speech", "A tone"]', "B", "", "", "sounds/tone.wav"],
        ["图中是什么形状？<image 1>", '["圆形", "竖条"]', "A", circle],
        ["{question} <image 2>?", '["{choices}", "[0, 1)"]', " B ", circle],
        # no answer: asked, not scored
        ["<image 1> Do you like it?", '["Yes", "No"]', "", circle],
    ]
    text = io.StringIO()
    padded = [row + [""] * (len(header) - len(row)) for row in rows]
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerows([header, *padded])
    _write_media(folder)
    _write(folder / "shapes_val.tsv", text.getvalue())


def _write_media(folder: Path) -> None:
    """Two pictures and a sound of a tenth of a second."""
    (folder / "pictures").mkdir(exist_ok=True)
    (folder / "pictures/circle.png").write_bytes(picture(("circle", 200)))
    (folder / "pictures/bar.png").write_bytes(picture(("bar", 250)))
    (folder / "sounds").mkdir(exist_ok=True)
    samples = bytes(128 + (40 if at % 16 < 8 else -40) for at in range(800))
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    chunks = b"".join(
        name + struct.pack("<I", len(data)) + data
        for name, data in ((b"fmt ", form), (b"data", samples))
    )
    riff = b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks
    (folder / "sounds/tone.wav").write_bytes(riff)


def _tiny_picture() -> bytes:
    """One dark pixel, small enough to stand inside a row."""
    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", _stored(b"\0\x08")), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _asked(parts: Sequence[dict[str, object]], answer: str) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": parts}], "answer": answer}


def _said(text: str) -> list[dict[str, object]]:
    return [{"role": "user", "content": text}]


def _text(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


def _image(url: str, **more: str) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def _lines(rows: Sequence[Mapping[str, object]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _question(
    qid: int | str,
    image: str,
    language: str,
    answer_type: str,
    content_type: str,
    question: str,
    answer: str,
    modality: str = "CT",
) -> dict[str, object]:
    return {
        "img_id": int(image.rpartition("/")[0][-1]),
        "img_name": image,
        "question": question,
        "answer": answer,
        "q_lang": language,
        "location": "Drawing",
        "modality": modality,
        "answer_type": answer_type,
        "base_type": "kvqa" if content_type == "KG" else "vqa",
        "triple": ["vhead", "_", "_"],
        "qid": qid,
        "content_type": content_type,
    }


def _marked(*options: str) -> list[str]:
    """Four options, each behind the mark of its letter and padded."""
    texts = (*options, "none of them", "both of them", "cannot be told")[:4]
    return [f" {letter}:{text} " for letter, text in zip("ABCD", texts, strict=True)]


def picture(*shapes: Shape) -> bytes:
    """A grey PNG; each shape is smaller than the one before and stands on it."""
    rows = [bytearray([8]) * SIDE for _ in range(SIDE)]
    for depth, (name, shade) in enumerate(shapes):
        reach = SIDE // 2 - 4 - 8 * depth
        for y in range(SIDE):
            for x in range(SIDE):
                across, down = abs(x - SIDE // 2), abs(y - SIDE // 2)
                inside = {
                    "square": max(across, down) < reach,
                    "circle": across**2 + down**2 < reach**2,
                    "bar": across < 5 and down < reach,
                }
                if inside[name]:
                    rows[y][x] = shade
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    pixels = _stored(b"".join(b"\0" + row for row in rows))
    chunks = ((b"IHDR", header), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(name + data))
    return struct.pack(">I", len(data)) + name + data + check


def _stored(data: bytes) -> bytes:
    """Data under 64 KB as a zlib stream of one stored block."""
    size = struct.pack("<HH", len(data), len(data) ^ 0xFFFF)
    return b"\x78\x01\x01" + size + data + struct.pack(">I", zlib.adler32(data))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_zip(path: Path, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # dated 1980, not today
            member.create_system = 3  # Unix, wherever it runs
            archive.writestr(member, data)


BUILDERS = {
    "slake": slake,
    "pmc_vqa": pmc_vqa,
    "count_qa": count_qa,
    "general_vqa": general_vqa,
    "general_vmcq": general_vmcq,
}


def main(arguments: Sequence[str]) -> None:
    """Build all sample sets below the folder given."""
    target = Path(arguments[0]) if arguments else Path(__file__).parent / "samples"
    for name, build in BUILDERS.items():
        folder = target / name
        folder.mkdir(parents=True, exist_ok=True)
        build(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
