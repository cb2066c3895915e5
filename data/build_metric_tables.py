"""Build the tables the text metrics embed: `derived/jieba.bin`, `derived/punkt.bin`, `tables.rs`.

    python data/build_metric_tables.py --jieba JIEBA_PACKAGE_FOLDER --punkt PUNKT_ENGLISH_FOLDER

`--jieba` is the folder of jieba 0.42.1 as installed from PyPI, `--punkt` NLTK's English
`punkt_tab`.
`--classes` (needs the PyPI package `regex`) also writes the Unicode ranges of
`rust/src/text/charclass`.
The formats are described beside their readers, `rust/src/text/jieba/dictionary.rs` and
`rust/src/text/punkt/lexicon.rs`. The same input gives the same bytes with the same zlib.
"""

import argparse
import hashlib
import importlib.util
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
DERIVED = HERE / "derived"
CLASS_TABLES = HERE.parent / "rust" / "src" / "text" / "charclass" / "tables.rs"

HAN_FIRST, HAN_LAST = 0x4E00, 0x9FD5
# What jieba hands to its dictionary; a word with any other character can never be found.
BLOCK_ASCII = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+#&._%-",
)
STATES = "BEMS"

# Bits of a Punkt entry. The first four are all that NLTK's decisions ask of its orthographic
# context (there: any of 16 32 64, any of 2 4 8, 4, 16).
LOWER, UPPER, UPPER_INSIDE, LOWER_FIRST = 1, 2, 4, 8
ABBREVIATION, STARTER, COLLOCATION = 16, 32, 64


def planes(values: Sequence[int]) -> bytes:
    """All low bytes, then all high bytes: 16-bit values compress better apart."""
    return bytes(value & 0xFF for value in values) + bytes(value >> 8 for value in values)


def ranked(values: Iterable[int | float]) -> list[int | float]:
    """Distinct values, the most frequent first, so that common ranks have a zero high byte."""
    counts = Counter(values)
    return sorted(counts, key=lambda value: (-counts[value], value))


def read_dictionary(path: Path) -> tuple[dict[str, int], int]:
    """Word frequencies (the last line of a word wins) and the sum over all lines."""
    frequencies: dict[str, int] = {}
    total = 0
    for line in path.read_text(encoding="utf-8").split("\n"):
        if line.strip():
            word, frequency = line.strip().split(" ")[:2]
            frequencies[word] = int(frequency)
            total += int(frequency)
    return frequencies, total


def reachable(word: str) -> bool:
    """Whether every character of a word can stand in a block jieba looks up."""
    return all(c in BLOCK_ASCII or HAN_FIRST <= ord(c) <= HAN_LAST for c in word)


def symbols_by_count(words: Iterable[str]) -> list[str]:
    """All symbols, those of most nodes of the prefix tree first, so that gaps between are small."""
    prefixes = {word[:end] for word in words for end in range(1, len(word) + 1)}
    counts = Counter(prefix[-1] for prefix in prefixes)
    return sorted(counts, key=lambda symbol: (-counts[symbol], symbol))


def trie_levels(frequencies: dict[str, int], rank: dict[str, int]) -> list[tuple[str, int, int]]:
    """Nodes of the prefix tree, level by level, siblings by rank: symbol, children, frequency."""
    root: dict[str, dict] = {}
    for word in sorted(frequencies):
        node = root
        for symbol in word:
            node = node.setdefault(symbol, {})
    nodes = []
    level = [("", root)]
    while level:
        below = []
        for prefix, children in level:
            for symbol in sorted(children, key=rank.__getitem__):
                word = prefix + symbol
                nodes.append((symbol, len(children[symbol]), frequencies.get(word, 0)))
                below.append((word, children[symbol]))
        level = below
    return nodes


def sibling_gaps(nodes: Sequence[tuple[str, int, int]], rank: dict[str, int]) -> bytes:
    """The symbols' ranks in three lists: only children, first children, gaps between siblings."""
    only, first, gaps = [], [], []
    children = [count for _, count, _ in nodes]
    ranks = iter([rank[symbol] for symbol, _, _ in nodes])
    for count in [len(nodes) - sum(children), *filter(None, children)]:
        siblings = [next(ranks) for _ in range(count)]
        (only if count == 1 else first).append(siblings[0])
        gaps += [after - before - 1 for before, after in pairwise(siblings)]
    return planes(only) + planes(first) + planes(gaps)


def load_module(path: Path) -> ModuleType:
    """A Python file of data, without importing the package it belongs to."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build_jieba(package: Path) -> bytes:
    """The dictionary as a prefix tree in level order and the hidden Markov model, deflated."""
    frequencies, total = read_dictionary(package / "dict.txt")
    words = {w: f for w, f in frequencies.items() if reachable(w)}
    symbols = symbols_by_count(words)
    symbol_rank = {symbol: i for i, symbol in enumerate(symbols)}
    nodes = trie_levels(words, symbol_rank)
    distinct = [f for f in ranked(f for _, _, f in nodes) if f]
    rank = {0: 0} | {f: i for i, f in enumerate(distinct, 1)}

    model = package / "finalseg"
    start = load_module(model / "prob_start.py").P
    transitions = load_module(model / "prob_trans.py").P
    emissions = load_module(model / "prob_emit.py").P
    han = [chr(code) for code in range(HAN_FIRST, HAN_LAST + 1)]
    values = ranked(emissions[s][c] for s in STATES for c in han if c in emissions[s])
    value_rank = {value: i for i, value in enumerate(values, 1)}
    absent = -3.14e100

    body = struct.pack("<Q4I", total, len(nodes), len(distinct), len(symbols), len(values))
    body += struct.pack(f"<{len(distinct)}I", *distinct)
    body += planes([ord(symbol) for symbol in symbols])
    body += planes([children for _, children, _ in nodes])
    body += sibling_gaps(nodes, symbol_rank)
    # Prefixes of longer words are seldom words: apart, both lists compress better.
    body += planes([rank[frequency] for _, children, frequency in nodes if children])
    body += planes([rank[frequency] for _, children, frequency in nodes if not children])
    body += struct.pack("<4d", *(start[s] for s in STATES))
    body += struct.pack("<16d", *(transitions[a].get(b, absent) for a in STATES for b in STATES))
    body += struct.pack(f"<{len(values)}d", *values)
    for state in STATES:
        body += planes([value_rank.get(emissions[state].get(c), 0) for c in han])
    return zlib.compress(body, 9)


def build_punkt(folder: Path) -> bytes:
    """Every word type Punkt knows with its bits, sorted, front-coded and deflated."""
    entries: Counter[str] = Counter()

    def lines(name: str) -> list[str]:
        return [x for x in (folder / name).read_text(encoding="utf-8").split("\n") if x]

    for line in lines("ortho_context.tab"):
        word, context = line.split("\t")
        bits = int(context)
        entries[word] |= LOWER * bool(bits & 0b1110000) | UPPER * bool(bits & 0b1110)
        entries[word] |= UPPER_INSIDE * bool(bits & 4) | LOWER_FIRST * bool(bits & 16)
    for word in lines("abbrev_types.txt"):
        entries[word] |= ABBREVIATION
    for word in lines("sent_starters.txt"):
        entries[word] |= STARTER
    for pair in lines("collocations.tab"):
        entries[pair] |= COLLOCATION

    body = bytearray(struct.pack("<I", len(entries)))
    previous = b""
    for word in sorted(entries):
        coded = word.encode("ascii")
        shared = 0
        while shared < min(len(coded), len(previous)) and coded[shared] == previous[shared]:
            shared += 1
        body += bytes([shared]) + coded[shared:] + bytes([0x80 | entries[word]])
        previous = coded
    return zlib.compress(bytes(body), 9)


def build_classes() -> str:
    """Rust source of the Unicode ranges that the standard library does not offer."""
    import regex

    def ranges(pattern: str) -> str:
        compiled = regex.compile(pattern)
        found: list[list[int]] = []
        for code in (*range(0xD800), *range(0xE000, 0x110000)):
            if compiled.match(chr(code)):
                if found and found[-1][1] == code - 1:
                    found[-1][1] = code
                else:
                    found.append([code, code])
        return "\n".join(f"    (0x{first:04X}, 0x{last:04X})," for first, last in found)

    marks, decimals = ranges(r"\p{M}"), ranges(r"\p{Nd}")
    return (
        f"//! Generated by `data/build_metric_tables.py --classes` from regex {regex.__version__}\n"
        "//! (Unicode 17.0); do not edit.\n\n"
        "/// General category M (marks), first and last of each run.\n"
        f"pub(super) const MARKS: &[(u32, u32)] = &[\n{marks}\n];\n\n"
        "/// General category Nd (decimal digits), first and last of each run.\n"
        f"pub(super) const DECIMALS: &[(u32, u32)] = &[\n{decimals}\n];\n"
    )


def main() -> None:
    """Write the tables that the options name."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--jieba", type=Path, help="folder of the package jieba 0.42.1")
    parser.add_argument("--punkt", type=Path, help="folder of NLTK's English punkt_tab")
    parser.add_argument("--classes", action="store_true", help="write the Unicode ranges")
    options = parser.parse_args()
    outputs = {}
    if options.jieba:
        outputs[DERIVED / "jieba.bin"] = build_jieba(options.jieba)
    if options.punkt:
        outputs[DERIVED / "punkt.bin"] = build_punkt(options.punkt)
    if options.classes:
        outputs[CLASS_TABLES] = build_classes().encode()
    for path, content in outputs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        print(path.name, len(content), hashlib.sha256(content).hexdigest())


if __name__ == "__main__":
    main()
