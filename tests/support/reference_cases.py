"""Data sets and options drawn by a seed, to be run by EvalScope and by mmscore side by side.

A case is what a user could bring: a folder of data with oddities in it, and the options of a task
by EvalScope's names. What is left out on purpose is what the README states as different.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import random
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

Rows = list[dict[str, Any]]
WriteParquet = Callable[[Path, Rows], None]


@dataclass
class Case:
    """One run.

    Attributes:
        benchmark: Its name.
        args: Its `dataset_args`.
        task: Other fields of the task.
        replies: What the model may say; a hash of the question chooses.
    """

    benchmark: str
    args: dict[str, Any]
    task: dict[str, Any] = field(default_factory=dict)
    replies: list[str] = field(default_factory=list)


def draw(seed: int, folder: Path, write_parquet: WriteParquet) -> Case:
    """The case of a seed, its data written into a folder."""
    luck = _Luck(seed)
    benchmark = luck.one([*DRAWN])
    case = DRAWN[benchmark](luck, folder, write_parquet)
    luck.options(case)
    return case


WORDS = (
    *("CT", "MRI", "X-Ray", "yes", "no", "Lung", "left", "the", "a", "two", "3", "none", "T2"),
    *("right lobe", "是", "没有", "肺", "两个", "X光", "the liver.", "12", "Ⅳ", "ANSWER", "é", "İ"),
    *(
        "It is 5.",
        "yes, it is",
        "(aside)",
        "（旁）",
        "%",
        "tumor",
        "brain",
        "a b c",
        "x\u2028y",
        "·",
    ),
)

QUESTIONS = (
    *("What is it?", "Is this a CT?", "图中是什么器官？", "How many?", " padded ", "a {brace} b"),
    *("{question}", "Which of\nthese", 'a "quoted" one', "tab\there", "{{two}}", "emoji 🫁 here"),
    *("<b>bold</b>", "back\\slash", "percent %s", "semi;colon, comma", "line\u2028sep", "é è İ ß"),
)


class _Luck(random.Random):
    """A seeded generator of what users bring."""

    def one(self, values: Sequence[Any]) -> Any:
        return values[self.randrange(len(values))]

    def maybe(self, chance: float) -> bool:
        return self.random() < chance

    def words(self, most: int = 4) -> str:
        return " ".join(self.one(WORDS) for _ in range(self.randint(1, most)))

    def question(self) -> str:
        return f"{self.one(QUESTIONS)} {self.randrange(1000)}"

    def image(self, *kinds: str) -> bytes:
        """A tiny picture of one's own, in one of the formats."""
        color = tuple(self.randrange(256) for _ in range(3))
        held = io.BytesIO()
        size = (self.randint(2, 9), self.randint(2, 9))
        Image.new("RGB", size, color).save(held, self.one(kinds or ["PNG", "JPEG"]))
        return held.getvalue()

    def options(self, case: Case) -> None:
        """What may be set for any benchmark."""
        task, args = case.task, case.args
        if self.maybe(0.3):
            task["limit"] = self.one([1, 2, 3, 100, 0.5, 0.34, 0.99])
        if self.maybe(0.2):
            task["repeats"] = self.randint(2, 3)
        if self.maybe(0.2):
            args["system_prompt"] = self.one(["You are terse.", "{question} 系统", "x" * 50])
        if self.maybe(0.3):
            args["filters"] = self.one(FILTERS)
        task["generation_config"] = self.one(GENERATION)
        if self.maybe(0.25):
            task["judge"] = {
                "strategy": self.one(["rule", "auto", "llm", "llm_recall"]),
                "contract": {"prompt_template": "<gold>{gold}</gold><pred>{pred}</pred>"},
            }
        case.replies += [self.words(6) for _ in range(3)]
        case.replies += ["", "  ", "<think>ANSWER: B 7</think> CT", "x <think>A</think>\nANSWER: A"]


FILTERS: tuple[Any, ...] = (
    {"remove_whitespace": True},
    {"remove_until": "</think>"},
    {"remove_until": "ANSWER:", "remove_whitespace": None},
    {"regex": {"regex_pattern": r"(\d+)", "group_select": -1}},
    {"regex": {"regex_pattern": r"([A-Z])|(\d)", "fallback": " B "}},
    {"extract": [r"ANSWER:\s*(\S+)", 0, "none"]},
    {"regex": r"(is|it)"},
    {"extract": {}},
)

GENERATION: tuple[dict[str, Any], ...] = (
    {"temperature": 0.0},
    {"temperature": 0.7, "max_tokens": 64, "top_p": 0.9, "seed": 7},
    {"temperature": 0.0, "stop_seqs": ["END"], "frequency_penalty": 0.5, "presence_penalty": -0.5},
    {"temperature": 0.0, "top_k": 5, "repetition_penalty": 1.1, "logprobs": True},
    {"temperature": 0.0, "extra_body": {"chat_template_kwargs": {"enable_thinking": False}}},
    {"max_tokens": 5},
    {},
)


# --- published sets ------------------------------------------------------------------------------


def _slake(luck: _Luck, folder: Path, write_parquet: WriteParquet) -> Case:
    images = [f"xmlab{number}/source.jpg" for number in range(1, 4)]
    rows = [
        {
            "img_id": 1,
            "img_name": luck.one(images),
            "question": luck.question(),
            "answer": luck.one([luck.words(2), luck.one(WORDS), "", " Yes ", "None"]),
            "q_lang": luck.one(["en", "zh"]),
            "location": "Abdomen",
            "modality": "MRI",
            "answer_type": luck.one(["OPEN", "CLOSED", "closed", "Open"]),
            "base_type": "vqa",
            "content_type": luck.one(["Organ", "Plane"]),
            "triple": ["vhead", "_", "_"],
            "qid": qid,
        }
        for qid in range(luck.randint(1, 14))
    ]
    (folder / "test.json").write_text(json.dumps(rows, ensure_ascii=luck.maybe(0.5)), "utf-8")
    with zipfile.ZipFile(folder / "imgs.zip", "w") as archive:
        for name in images:
            archive.writestr(f"imgs/{name}", luck.image("JPEG"))
    case = Case("slake", {"local_path": str(folder)})
    if luck.maybe(0.3):
        subsets = ["en_open", "en_closed", "zh_open", "zh_closed"]
        case.args["subset_list"] = luck.sample(subsets, luck.randint(1, 4))
    if luck.maybe(0.2):
        case.args["metric_list"] = ["acc"]
    answers = [row["answer"] for row in rows]
    case.replies += [f"ANSWER: {luck.one(answers)}" for _ in range(4)]
    case.replies += [luck.one(answers), f"it is\nanswer:{luck.one(answers)}.", "ANSWER:", "是的"]
    return case


def _count_qa(luck: _Luck, folder: Path, write_parquet: WriteParquet) -> Case:
    parts = luck.randint(1, 2)
    (folder / "data").mkdir()
    for part in range(parts):
        rows = []
        for _ in range(luck.randint(1, 5)):
            several = luck.randint(1, 3)
            rows.append(
                {
                    "image": {"bytes": _base64(luck.image()), "path": "a.jpg"},
                    "questions": [luck.question() for _ in range(several)],
                    "answers": [
                        luck.one(["0", "1", " 7 ", "20", "400", "+5", "1_000", "７", "-3"])
                        for _ in range(several)
                    ],
                    "objects": ["cup"],
                    "is_focused": luck.maybe(0.5),
                    "categories": ["Kitchen", "Tools"][: luck.randint(1, 2)],
                }
            )
        write_parquet(folder / "data" / f"test-{part:05}-of-{parts:05}.parquet", rows)
    case = Case("count_qa", {"local_path": str(folder)})
    case.replies += [
        "7",
        "20",
        "21",
        " **19** ",
        "-5",
        "3.7",
        "1,024",
        "none",
        "约400个",
        "７",
        "0",
    ]
    if luck.maybe(0.2):
        case.args["metric_list"] = luck.one([["acc", "relaxed_acc"], ["accuracy", "relaxed_acc"]])
    return case


def _pmc_vqa(luck: _Luck, folder: Path, write_parquet: WriteParquet) -> Case:
    figures = [f"PMC{number}_Fig1.jpg" for number in range(3)]
    header = ["index", "Figure_path", "Caption", "Question", *(f"Choice {x}" for x in "ABCD")]
    header += ["Answer", "split", "Answer_label"]
    rows: list[list[str]] = []
    for number in range(luck.randint(1, 10)):
        choices = [
            luck.one([f" {x}:{luck.words(2)} ", luck.words(2), f"{x} : y", f" {x}:"])
            for x in "ABCD"
        ]
        rows.append(
            [
                *(str(number), luck.one([luck.one(figures), f" {figures[0]} "]), "cap, tion"),
                *(luck.question(), *choices, luck.words(1), "test"),
                luck.one(["A", "B", " C ", "D", "a", "", "E", "AB"]),
            ]
        )
    _write_table(folder / "test_clean.csv", header, rows, luck)
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for name in figures:
            archive.writestr(f"images/{name}", luck.image("JPEG"))
    case = Case("pmc_vqa", {"local_path": str(folder)})
    if luck.maybe(0.3):
        case.args["prompt_template"] = luck.one(CHOICE_TEMPLATES)
    if luck.maybe(0.2):
        case.args["metric_list"] = luck.one([["acc"], ["accuracy"]])
    case.replies += CHOSEN
    return case


CHOICE_TEMPLATES = (
    "{question}\n{choices}\nANSWER: one of {letters}",
    'Say {{"answer": "X"}}.\n{question}\n{choices}',
    "{{question}} {question} {choices} {letters} {{}}",
    "{question!s:>30}|{choices}",
    "{letters}{question}{question}",
)

CHOSEN = (
    *("ANSWER: A", "ANSWER: B", "answer: c", "**ANSWER: (D)**", "ANSWER: E", "ANSWER: A and C"),
    *("It must be B", "the answer is b", r"ANSWER: $\boxed{C}$", "ANSWER: [LETTER]\nANSWER: A"),
    *("答案：B", "A", "ANSWER: AB", "Ｂ", "ANSWER: 1", "ANSWER: B, not A"),
)


# --- the user's own ------------------------------------------------------------------------------

FORMATS = ("jsonl", "csv", "tsv", "parquet")


def _own(luck: _Luck, folder: Path, write: WriteParquet, name: str, split: str, rows: Rows) -> Case:
    """A case of rows in one of the formats, as a folder's subset or a file alone."""
    for number in range(4):
        (folder / f"p{number}.png").write_bytes(luck.image("PNG"))
    kind = luck.one(FORMATS)
    if kind == "parquet" and not _fits_parquet(rows):
        kind = "jsonl"
    stem = luck.one(["default", f"default_{split}", "mine", f"mine_{split}"])
    path = folder / f"{stem}.{kind}"
    if kind == "jsonl":
        lines = [json.dumps(row, ensure_ascii=luck.maybe(0.5)) for row in rows]
        path.write_text(luck.one(["\n", "\r\n", "\n\n"]).join(lines), encoding="utf-8")
    elif kind == "parquet":
        write(path, rows)
    else:
        header = [*dict.fromkeys(key for row in rows for key in row)]
        cells = [[_cell(row.get(key)) for key in header] for row in rows]
        _write_table(path, header, cells, luck)
    case = Case(name, {"local_path": str(folder)})
    if luck.maybe(0.3):
        case.args["local_path"] = str(path)
        if luck.maybe(0.3):
            case.args["subset_list"] = ["named"]
    elif "mine" in stem or luck.maybe(0.5):
        case.args["subset_list"] = [stem.removesuffix(f"_{split}")]
    return case


def _fits_parquet(rows: Rows) -> bool:
    """Whether each column holds values of one type."""
    columns: dict[str, set[type]] = {}
    for row in rows:
        for key, value in row.items():
            if value is not None:
                columns.setdefault(key, set()).add(type(value))
    plain = (str, int, float, bool)
    return all(
        len(types) == 1 and all(one in plain or (one is list and key != "answer") for one in types)
        for key, types in columns.items()
    ) and not any(isinstance(row.get("messages"), list) for row in rows)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _write_table(path: Path, header: list[str], rows: list[list[str]], luck: _Luck) -> None:
    delimiter = "\t" if path.suffix == ".tsv" else ","
    end = luck.one(["\n", "\r\n", "\r"])
    held = io.StringIO()
    writer = csv.writer(held, delimiter=delimiter, lineterminator=end)
    writer.writerow(header)
    for row in rows:
        cut = row
        while cut and not cut[-1] and luck.maybe(0.5):
            cut = cut[:-1]  # a row that ends early
        writer.writerow(cut or row)
    text = held.getvalue()
    if luck.maybe(0.3):
        text = text.removesuffix(end)
    path.write_bytes(luck.one([b"", b"\xef\xbb\xbf"]) + text.encode())


ANSWERS: tuple[Any, ...] = (
    *("CT", "the left lung", "肺部有阴影", " padded ", "a\nb", "two words here"),
    *(["alpha", "beta"], ["one"], [" x ", "x", ""], ["b", "a", "b"], 0, False, [], ["", " "], {}),
)


def _general_vqa(luck: _Luck, folder: Path, write_parquet: WriteParquet) -> Case:
    in_text = luck.maybe(0.4)
    rows: Rows = []
    for _ in range(luck.randint(1, 8)):
        media = {f"image_{k}": f"p{luck.randrange(4)}.png" for k in range(1, luck.randint(1, 3))}
        messages = _messages(luck, media)
        row: dict[str, Any] = {
            "messages": json.dumps(messages) if in_text else messages,
            "answer": luck.one(ANSWERS),
            **{key: str(folder / value) for key, value in media.items()},
        }
        if luck.maybe(0.1):
            row["id"] = luck.randrange(100)
        rows.append(row)
    case = _own(luck, folder, write_parquet, "general_vqa", "test", rows)
    if luck.maybe(0.2):
        case.args["metric_list"] = luck.one([["Rouge"], ["BLEU", "Rouge"], ["Rouge", "BLEU"]])
    texts = [one for row in rows for one in [row["answer"]] if isinstance(one, str)]
    case.replies += [*texts, "alpha beta", "alpha\nbeta", "one", "a the left lung b", "肺部"]
    return case


def _messages(luck: _Luck, media: dict[str, str]) -> Rows:
    turns: Rows = []
    if luck.maybe(0.2):
        turns.append({"role": "system", "content": luck.one(["Be brief.", "", "系统"])})
    if luck.maybe(0.2):
        turns.append({"role": "user", "content": luck.question()})
        turns.append({"role": "assistant", "content": luck.words(3)})
    text = luck.question()
    for column in [*media, *(["image_9"] if luck.maybe(0.1) else [])]:
        place = luck.randrange(len(text) + 1)
        text = f"{text[:place]}<image {column[6:]}>{text[place:]}"
    content: Any = text
    if luck.maybe(0.3):
        content = [{"type": "text", "text": luck.question()}]
        if luck.maybe(0.5):
            url = f"data:image/png;base64,{base64.b64encode(luck.image()).decode()}"
            if url.startswith("data:image/png;base64,/9j"):
                url = url.replace("png", "jpeg", 1)
            content.insert(luck.randint(0, 1), {"type": "image_url", "image_url": {"url": url}})
    turns.append({"role": "user", "content": content})
    return turns


LABELS: tuple[Any, ...] = (
    *("A", "B", "C", "a", " B ", "Z", "", " ", "red", "A,B", "1"),
    *(["A"], ["A", "C"], ["B", "b"], [], ["", "A"], ["C", "A", "C"]),
)


def _general_vmcq(luck: _Luck, folder: Path, write_parquet: WriteParquet) -> Case:
    rows: Rows = []
    for _ in range(luck.randint(1, 8)):
        options: Any = [
            luck.one([luck.words(2), "", " ", "red"]) for _ in range(luck.randint(0, 5))
        ]
        if luck.maybe(0.1):
            options = [luck.one([1, 2.5, None, True, "x"]) for _ in range(3)]
        if luck.maybe(0.3):
            options = luck.one([str, json.dumps])(options)
        row = {"question": luck.question(), "options": options, "answer": luck.one(LABELS)}
        if luck.maybe(0.5):
            row["image_1"] = str(folder / f"p{luck.randrange(4)}.png")
            row["question"] = luck.one(["<image 1> {}", "{}<image_1>", "{}"]).replace(
                "{}", row["question"]
            )
        rows.append(row)
    case = _own(luck, folder, write_parquet, "general_vmcq", "val", rows)
    if luck.maybe(0.3):
        case.args["prompt_template"] = luck.one(CHOICE_TEMPLATES)
    if luck.maybe(0.2):
        case.args["metric_list"] = luck.one([["acc"], ["accuracy"]])
    case.replies += CHOSEN
    return case


def _base64(data: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(data).decode()}


DRAWN: dict[str, Callable[[_Luck, Path, WriteParquet], Case]] = {
    "slake": _slake,
    "count_qa": _count_qa,
    "pmc_vqa": _pmc_vqa,
    "general_vqa": _general_vqa,
    "general_vmcq": _general_vmcq,
}
