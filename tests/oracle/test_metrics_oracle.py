"""The core's tokens and scores equal NLTK's, jieba's and rouge_chinese's on generated texts."""

import os
import struct
import sys
import unicodedata

import pytest

import mmscore._core as _core

for package in ("nltk", "jieba", "rouge_chinese"):
    pytest.importorskip(package, reason=f"`{package}`, whose behaviour is promised, is absent")

from support import metric_reference as reference  # noqa: E402 (imports what was looked for above)

pytestmark = pytest.mark.skipif(
    not reference.PUNKT.is_dir(), reason=f"no {reference.PUNKT}; set MMSCORE_SHARED"
)

CASES = int(os.environ.get("MMSCORE_ORACLE_CASES", "1500"))
SEED = int(os.environ.get("MMSCORE_ORACLE_SEED", "0"))


def bits(scores: list[float] | tuple[float, ...]) -> list[bytes]:
    """The scores as bytes, so that not even the last bit may differ."""
    return [struct.pack("<d", score) for score in scores]


def test_word_tokenize_equals_nltk() -> None:
    texts, tokenize = reference.Texts(SEED), reference.word_tokenizer()
    for _ in range(CASES):
        text = texts.text()
        assert _core.word_tokenize(text) == tokenize(text), repr(text)


# Of these Unicode changed the case after version 14, which the reference's Python has.
CASE_CHANGED = {0x295, 0x10FC, 0xA7F2, 0xA7F3, 0xA7F4, 0xAB69}


def test_every_known_character_between_words_and_quotes() -> None:
    tokenize = reference.word_tokenizer()
    for code in range(sys.maxunicode + 1):
        c = chr(code)
        # Planes of one class each are sampled; newer characters differ by Unicode version.
        dull = 0x3400 <= code < 0xA000 or 0xAC00 <= code < 0xF900 or code >= 0x1FC00
        changed = code in CASE_CHANGED and unicodedata.unidata_version != "14.0.0"
        if unicodedata.category(c) in ("Cn", "Cs") or (dull and code % 997) or changed:
            continue
        text = f"{c}'x {c}cannot{c} 5.{c} A. {c}.' ,{c} .{c}{c}. {c}.\n{c}"
        assert _core.word_tokenize(text) == tokenize(text), repr(text)


def test_jieba_cut_equals_jieba() -> None:
    texts = reference.Texts(SEED + 1)
    for _ in range(CASES):
        text = texts.text()
        assert _core.jieba_cut(text) == reference.jieba_cut(text), repr(text)


def test_bleu_equals_nltk_to_the_bit() -> None:
    texts, tokenize = reference.Texts(SEED + 2), reference.word_tokenizer()
    for _ in range(CASES):
        pair = texts.pair()
        assert bits(_core.bleu(*pair)) == bits(reference.bleu(tokenize, *pair)), repr(pair)


def test_rouge_equals_rouge_chinese_to_the_bit() -> None:
    texts = reference.Texts(SEED + 3)
    for _ in range(CASES):
        pair = texts.pair()
        assert bits(_core.rouge(*pair)) == bits(reference.rouge(*pair)), repr(pair)


def test_lists_equal_single_calls() -> None:
    texts = reference.Texts(SEED + 4)
    first, second = zip(*(texts.pair() for _ in range(300)), strict=True)
    assert _core.bleu_list(list(first), list(second)) == list(map(_core.bleu, first, second))
    assert _core.rouge_list(list(first), list(second)) == list(map(_core.rouge, first, second))
