"""The Rust core. Import it through the modules of this package, not directly."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Literal, final

__version__: str

# Archives, media types, data URIs.

@final
class Zip:
    """A local zip archive, read by position: any number of threads may read at once.

    Members are the archive's files, numbered from 0 in the order of its directory. Folders,
    `__MACOSX/` and `._name` companions are not members; of several entries with one name the last
    is the member, as in `zipfile`. Every read is checked by size and CRC-32.
    """

    @staticmethod
    def open(path: str | PathLike[str]) -> Zip:
        """The archive at `path`.

        Raises:
            OSError: The file cannot be opened, in Python's own kinds.
            DataError: It is no zip archive, is cut short, or its directory is damaged.
        """

    def __len__(self) -> int: ...
    def names(self) -> list[str]:
        """All members' names; `names()[i]` is the name of member `i`."""

    def name(self, index: int) -> str:
        """The name of a member."""

    def size(self, index: int) -> int:
        """The unpacked size of a member in bytes, as the directory says."""

    def method(self, index: int) -> str:
        """How a member is packed: `stored`, `deflate`, `bzip2`, `lzma`, or what is not read."""

    def is_encrypted(self, index: int) -> bool:
        """Whether a member needs a password."""

    def check(self, index: int) -> None:
        """Nothing, where the directory alone does not speak against reading a member.

        Raises:
            DataError: As `read`, but for what only the member's own bytes tell.
        """

    def find(self, name: str) -> int:
        """The number of the member called `name`, else of the only one whose name ends in it.

        Whole parts are compared: `b.jpg` finds `a/b.jpg`, not `ab.jpg`. A backslash counts as `/`.

        Raises:
            DataError: No such member (names the nearest), several (lists them), or a name that
                leads out of the archive.
        """

    def get(self, name: str) -> int | None:
        """As `find`, but None for no such member, without a search for the nearest."""

    def read(self, index: int) -> bytes:
        """A member's bytes.

        Raises:
            DataError: It is encrypted, packed by another method than stored, deflate, bzip2 or
                lzma, larger than 512 MiB, a decompression bomb, damaged, or its name leads out of
                the archive.
            OSError: The file cannot be read.
        """

@final
class ZipOpening:
    """A zip archive known by its length only: says which bytes it needs to find its directory.

    For archives that are read by ranges: fetch `need()`, hand it to `feed()`, until that returns
    the directory. Two rounds for a large archive, one where the directory lies in the last 128 KiB.
    """

    def __new__(cls, archive: str, size: int) -> ZipOpening:
        """Starts with an archive of `size` bytes, called `archive` in errors."""

    def need(self) -> tuple[int, int]:
        """The next range of bytes: first position and the one after the last."""

    def feed(self, data: bytes) -> ZipDirectory | None:
        """Takes exactly the bytes of `need()`; None means that more are needed.

        Raises:
            DataError: The archive is no zip, is cut short, or its directory is damaged.
        """

@final
class ZipDirectory:
    """The members of an archive that is read by ranges; as `Zip`, with the bytes given."""

    def __len__(self) -> int: ...
    def names(self) -> list[str]:
        """All members' names; `names()[i]` is the name of member `i`."""

    def name(self, index: int) -> str:
        """The name of a member."""

    def size(self, index: int) -> int:
        """The unpacked size of a member in bytes, as the directory says."""

    def method(self, index: int) -> str:
        """As `Zip.method`."""

    def is_encrypted(self, index: int) -> bool:
        """As `Zip.is_encrypted`."""

    def check(self, index: int) -> None:
        """As `Zip.check`."""

    def find(self, name: str) -> int:
        """As `Zip.find`."""

    def get(self, name: str) -> int | None:
        """As `Zip.get`."""

    def span(self, index: int) -> tuple[int, int]:
        """The range that surely holds a member: first position and the one after the last.

        It reaches to the next member or the directory, at most 64 KiB more than the member needs,
        and in ordinary archives exactly the member.

        Raises:
            DataError: The member must not be read, as `Zip.read`.
        """

    def decode(self, index: int, data: bytes) -> bytes:
        """A member's bytes out of exactly the bytes of its `span`.

        Raises:
            DataError: As `Zip.read`.
        """

def sniff(data: bytes, /) -> str | None:
    """The MIME type by the first bytes, as the package `filetype` 1.2.0 decides; else None."""

@final
class Look:
    """What the structure of an image says."""

    @property
    def width(self) -> int:
        """In pixels, as stored."""

    @property
    def height(self) -> int:
        """In pixels, as stored."""

    @property
    def complete(self) -> bool:
        """Whether the end mark is there; a file that was cut short has none."""

    @property
    def bits(self) -> int:
        """Bits of one channel of one pixel."""

    @property
    def channels(self) -> int:
        """Channels of a pixel, alpha included; 1 for grey and palettes, 4 also for CMYK."""

    @property
    def transparent(self) -> bool:
        """Whether pixels may be transparent (told for PNG only)."""

def look(data: bytes, /) -> Look | None:
    """The structure of a JPEG, PNG, GIF, WebP or BMP, without decoding it.

    Returns:
        None for anything else, and where the structure breaks off before the dimensions.
    """

def data_uri(data: bytes, mime: str, /) -> bytes:
    """`data:MIME;base64,...` as ASCII bytes."""

def decode_base64(text: str | bytes, /) -> bytes:
    """The bytes of base64 with or without a `data:` prefix, line breaks or padding.

    Both the standard and the URL-safe alphabet are read.

    Raises:
        DataError: Names the position of the first character that cannot be.
    """

# Parquet.

@final
class ParquetFile:
    """An open Parquet file, read by position: any number of threads may read at once.

    Snappy, zstd, gzip and uncompressed columns are read. Text is `str`, bytes are `bytes`, lists
    are lists, structs are dicts, maps are lists of pairs; decimals, dates and times are text, as
    the format prints them.
    """

    @staticmethod
    def open(path: str | PathLike[str]) -> ParquetFile:
        """The file at `path`, its footer read.

        Raises:
            OSError: The file cannot be opened, in Python's own kinds.
            DataError: It is no Parquet file, or its footer is damaged or cut off.
        """

    def __len__(self) -> int:
        """How many rows the footer announces."""

    def columns(self) -> list[str]:
        """The names of the top columns, in the file's order."""

    def rows(
        self, columns: set[str], late: set[str], cell: Callable[[str, int, int, int], object]
    ) -> ParquetRows:
        """The rows in order; only what the columns named need is read.

        Args:
            columns: The columns to read.
            late: Those whose large values stay in the file: the columns of bytes or text with
                4096 bytes a value on average, also inside a struct or the structs of a list.
            cell: Gives what stands for such a value in the row, from its address: column name,
                and the arguments of `ParquetFile.cell`. Null values are None.

        Raises:
            DataError: A column is in a codec that is not supported, which is named.
        """

    def cell(self, leaf: int, row: int, element: int) -> bytes | str | None:
        """A large value by its address, None where there is none.

        Any order works; reading forward decodes each page once. Memory is that of the value, also
        where its page holds hundreds of them. Runs without the interpreter's lock.

        Raises:
            DataError: There is no such row or leaf, or the value is damaged.
        """

@final
class ParquetRows:
    """An iterator over rows; decodes some dozens at a time without the interpreter's lock."""

    def __iter__(self) -> ParquetRows: ...
    def __next__(self) -> dict[str, object]:
        """The next row.

        Raises:
            DataError: The row group or a column in it is damaged, which is named.
        """

# Text: reading answers out of replies, and scoring whole lists of them.
#
# A lone surrogate, which has no UTF-8, is read as U+FFFD. Every reader also names the rule that
# fired; the names are stable and recorded with each run. White space, digits and case are those
# of CPython 3.11 (Unicode 14) on every Python.

def normalize_answer(answer: str) -> str:
    """SLAKE's canonical form of an answer (EvalScope 1.14.1)."""

def parse_answer_line(reply: str) -> tuple[str, Literal["answer-line", "whole-reply"]]:
    """The text after the last `ANSWER:`, else the whole reply, and which of the two it is."""

def parse_choice(
    reply: str, n_choices: int, language: str, multiple: bool
) -> tuple[str, Literal["marker", "marker-unusable", "last-capital", "none"]]:
    """The chosen labels, sorted and joined, and how they were found.

    The rules are `marker` (a label follows an answer marker), `marker-unusable` (labels follow,
    but no answer to this question), `last-capital` and `none`.

    Args:
        reply: What the model said.
        n_choices: How many options there are; labels are A to Z, then 1, 2, 3 ...
        language: `en` (`ANSWER:`) or `zh` (`答案：`).
        multiple: Whether several options may be right.

    Raises:
        DataError: The language is unknown.
    """

def parse_count(reply: str) -> tuple[str | None, Literal["integer", "first-integer", "none"]]:
    """The first integer in decimal digits, None where there is no digit, and how it was found.

    Raises:
        DataError: It has more than 4,300 digits, which Python's `int` refuses.
    """

def clean_option(option: str, letter: str) -> str:
    """An option of PMC-VQA, stripped, without the leading mark of its own letter (`B:`)."""

def infer_option(
    reply: str, choices: Sequence[tuple[str, str]]
) -> tuple[str, Literal["declined", "letter", "answer-is", "option-text", "none"]]:
    """The letter VLMEvalKit infers without a judge, `Z` for declined, or nothing; and how."""

def match_choice(labels: str, target: str) -> bool | None:
    """Whether labels are the target, whatever the case; None where the target is empty."""

def match_count(count: str | None, target: str) -> tuple[bool, bool]:
    """Whether a count, as `str(int)` prints it, equals the target, and lies within 5 % of it.

    Raises:
        DataError: The target is no integer, or too large for a double.
    """

def score_slake(replies: Sequence[str], targets: Sequence[str]) -> list[tuple[str, str, float]]:
    """Extracted answer, rule and accuracy of each reply.

    Raises:
        DataError: The lists differ in length.
    """

def score_choices(
    replies: Sequence[str],
    targets: Sequence[str],
    n_choices: Sequence[int] | int,
    language: str,
    multiple: bool,
) -> list[tuple[str, str, float | None]]:
    """Extracted labels, rule and accuracy of each reply; None where the target is empty.

    Raises:
        DataError: The lists differ in length, or the language is unknown.
    """

def score_counts(
    replies: Sequence[str], targets: Sequence[str]
) -> list[tuple[str | None, str, float, float]]:
    """Extracted count, rule, accuracy and relaxed accuracy of each reply.

    Raises:
        DataError: The lists differ in length, or a row has a target that is no integer, a target
            too large for a double, or a reply whose count has more than 4,300 digits.
    """

def score_options(
    replies: Sequence[str],
    targets: Sequence[str],
    choices: Sequence[Sequence[tuple[str, str]]],
) -> list[tuple[str, str, float]]:
    """Inferred letter, rule and accuracy of each reply.

    Raises:
        DataError: The lists differ in length.
    """

# Text metrics

_Bleu = tuple[float, float, float, float]
_Rouge = tuple[float, float, float, float, float, float, float, float, float]

def bleu(prediction: str, reference: str) -> _Bleu:
    """BLEU-1 to BLEU-4, each one n-gram order: clipped precision times the brevity penalty, 0 to 1.

    Equal to EvalScope 1.14.1 with NLTK 3.10.4 (unsmoothed `sentence_bleu`). A text with a Chinese
    character is cut by `jieba_cut`, any other by `word_tokenize`. All are 0.0 if no token is
    shared; an order without a shared n-gram gives about 2e-308, as NLTK does. The last bit depends
    on the C library's `log` and `exp`, as in Python itself. A lone surrogate reads as U+FFFD, here
    and in every function below.
    """

def bleu_list(predictions: list[str], references: list[str]) -> list[_Bleu]:
    """`bleu` of each pair of two lists, computed without the GIL.

    Raises:
        ValueError: The lists differ in length.
    """

def rouge(prediction: str, reference: str) -> _Rouge:
    """Recall, precision and F of ROUGE-1, of ROUGE-2 and of ROUGE-L, in this order, each 0 to 1.

    Equal to EvalScope 1.14.1 with rouge_chinese 1.0.3: tokens stand between white space or, if the
    text holds a Chinese character, come from `jieba_cut`; n-grams count once; F is
    2pr / (p + r + 1e-8). All are 0.0 if either text is empty or blank.
    """

def rouge_list(predictions: list[str], references: list[str]) -> list[_Rouge]:
    """`rouge` of each pair of two lists, computed without the GIL.

    Raises:
        ValueError: The lists differ in length.
    """

def word_tokenize(text: str) -> list[str]:
    """The tokens NLTK 3.10.4's `word_tokenize` finds, English sentence splitting included."""

def jieba_cut(text: str) -> list[str]:
    """The words jieba 0.42.1's `cut` finds, white space and punctuation included."""

def simple_rows(
    data: bytes, start: int, delimiter: int, columns: list[str | None], longest: int
) -> tuple[list[dict[str, str]], int]:
    """The rows of a CSV or TSV from `start` on, and the position of the first that is not simple.

    Simple is a line of UTF-8 that ends in LF or CR LF, has as many cells as `columns`, at most
    `longest` bytes, every quote closed, no NUL and no other CR. So row `i` stands in the `i`-th
    line from `start`. A blank line, a wide one, one whose quote runs on or that is not wholly in
    `data` ends the rows; the caller reads that record itself and goes on behind it.

    Args:
        data: A piece of the file.
        start: Where a record begins in it.
        delimiter: The byte between cells, `ord(",")`.
        columns: The name of each column, None for those left out.
        longest: In bytes, without the line end.
    """
