"""The libraries whose text metrics the core equals, called as the reference calls them."""

import json
import logging
import os
import random
import unicodedata
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import jieba
import nltk.tokenize
from nltk.tabdata import PunktDecoder
from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer
from nltk.translate.bleu_score import sentence_bleu
from rouge_chinese import Rouge

jieba.setLogLevel(logging.ERROR)

SHARED = Path(os.environ.get("MMSCORE_SHARED", Path(__file__).parents[3] / "shared"))
PUNKT = SHARED / "datasets" / "punkt_english"


def punkt() -> PunktSentenceTokenizer:
    """NLTK's sentence tokenizer with the English parameters, read as NLTK reads them."""
    decoder = PunktDecoder()
    parameters = PunktParameters()
    with (PUNKT / "collocations.tab").open(encoding="utf-8") as file:
        parameters.collocations = set(decoder.tab2tups(file))
    with (PUNKT / "sent_starters.txt").open(encoding="utf-8") as file:
        parameters.sent_starters = decoder.txt2set(file)
    with (PUNKT / "abbrev_types.txt").open(encoding="utf-8") as file:
        parameters.abbrev_types = decoder.txt2set(file)
    with (PUNKT / "ortho_context.tab").open(encoding="utf-8") as file:
        parameters.ortho_context = decoder.tab2intdict(file)
    return PunktSentenceTokenizer(parameters)


def word_tokenizer() -> Callable[[str], list[str]]:
    """NLTK's `word_tokenize` with the model of `punkt`."""
    sentences = punkt()
    words = nltk.tokenize.NLTKWordTokenizer()
    return lambda text: [w for s in sentences.tokenize(text) for w in words.tokenize(s)]


def contains_chinese(text: str) -> bool:
    return any("\u4e00" <= c <= "\u9fa5" for c in text)


def jieba_cut(text: str) -> list[str]:
    return list(jieba.cut(text))


def bleu(tokenize: Callable[[str], list[str]], prediction: str, reference: str) -> list[float]:
    """Sentence BLEU of each single order."""

    def tokens(text: str) -> list[str]:
        return jieba_cut(text) if contains_chinese(text) else tokenize(text)

    pair = [tokens(reference)], tokens(prediction)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = [tuple(int(n == order) for n in range(4)) for order in range(4)]
        return [sentence_bleu(*pair, weights=one) for one in weights]


def rouge(prediction: str, reference: str) -> list[float]:
    """Recall, precision, F of ROUGE-1, -2, -L; zeros where the library refuses."""

    def spaced(text: str) -> str:
        return " ".join(jieba_cut(text)) if contains_chinese(text) else text

    try:
        scores = Rouge().get_scores(spaced(prediction), spaced(reference), ignore_empty=True)[0]
    except (ValueError, RecursionError):
        return [0.0] * 9
    return [scores[name][part] for name in ("rouge-1", "rouge-2", "rouge-l") for part in "rpf"]


def lines(name: str) -> list[str]:
    return (PUNKT / name).read_text(encoding="utf-8").split("\n")


class Texts:
    """Random texts of many families, the same for the same seed."""

    FAMILIES: Sequence[tuple[str, ...]] = (
        ("word", "word", "word", "mark", "abbreviation"),
        ("word", "mark", "mark"),
        ("abbreviation", "initial", "word", "number"),
        ("collocation", "word", "number", "mark"),
        ("suffix", "suffix", "word", "mark"),
        ("number", "mark", "word"),
        ("mark",),
        ("chinese", "chinese", "dictionary"),
        ("dictionary", "mark", "han"),
        ("chinese", "number", "suffix", "mark"),
        ("mixed",),
        ("odd", "word", "mark"),
        ("odd", "chinese", "mark"),
        ("any", "word", "mark", "suffix"),
    )

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        pieces = json.loads(Path(__file__).with_name("metric_pieces.json").read_text("utf-8"))
        self.pieces: dict[str, list[str]] = pieces
        self.abbreviations = [f"{word}." for word in lines("abbrev_types.txt")]
        self.starters = lines("sent_starters.txt")
        self.words = [line.split("\t")[0] for line in lines("ortho_context.tab")]
        self.pairs = [line.split("\t") for line in lines("collocations.tab")]
        with (Path(jieba.__file__).parent / "dict.txt").open(encoding="utf-8") as file:
            self.dictionary = [line.split(" ")[0] for line in file]

    def cased(self, word: str) -> str:
        return self.random.choice((word, word, word.capitalize(), word.upper()))

    def piece(self, family: str) -> str:
        pick = self.random.choice
        if family == "mixed":
            family = pick(("word", "word", "mark", "suffix", "number", "chinese", "han", "odd"))
        match family:
            case "word":
                return self.cased(pick((pick(self.words), pick(self.words), pick(self.starters))))
            case "abbreviation":
                return self.cased(pick(self.abbreviations)) + pick(("", "", "", ",", ")", '"', "."))
            case "initial":
                return pick("ABCJSbé1_") + pick((".", ".", "", ".."))
            case "collocation":
                first, second = pick(self.pairs)
                return f"{first.replace('##number##', '5')}. {self.cased(second)}"
            case "mark":
                return pick(self.pieces["marks"])
            case "suffix":
                return pick((pick(self.words), "", "I", "")) + pick(self.pieces["suffixes"])
            case "number":
                return pick(self.pieces["numbers"])
            case "chinese":
                return pick(self.pieces["chinese"])
            case "dictionary":
                return pick(self.dictionary)
            case "han":
                # Any Han character, so that unknown words are common.
                return "".join(chr(self.random.randint(0x4E00, 0x9FD5)) for _ in range(3))
            case _:
                return pick(self.pieces["odd"])

    def text(self, longest: int = 24) -> str:
        families = self.random.choice(self.FAMILIES)
        tight = self.random.random()
        parts = []
        for _ in range(self.random.randint(0, longest)):
            family = self.random.choice(families)
            parts.append(self.character() if family == "any" else self.piece(family))
            parts.append(
                "" if self.random.random() < tight else self.random.choice(self.pieces["glue"])
            )
        return "".join(parts)

    def character(self) -> str:
        """Any character that the running Python's Unicode knows."""
        while True:
            c = chr(self.random.randrange(self.random.choice((0x250, 0x3000, 0x10000, 0x20000))))
            if unicodedata.category(c) not in ("Cn", "Cs"):
                return c

    def pair(self) -> tuple[str, str]:
        """Two texts that often share a part."""
        first = self.text()
        second = self.random.choice((self.text(), first, first))
        if second == first and first:
            words = first.split(" ")
            at = self.random.randrange(len(words))
            words[at] = self.text(2)
            second = " ".join(words)
        return first, second
