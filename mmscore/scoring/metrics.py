"""Scores of a reply against its reference: text metrics, thin over the Rust core."""

from collections.abc import Mapping, Sequence

import mmscore._core as _core

BLEU_KEYS = ("bleu-1", "bleu-2", "bleu-3", "bleu-4")
"""What `bleu` returns, spelled as EvalScope spells it."""

ROUGE_KEYS = (
    "Rouge-1-R",
    "Rouge-1-P",
    "Rouge-1-F",
    "Rouge-2-R",
    "Rouge-2-P",
    "Rouge-2-F",
    "Rouge-L-R",
    "Rouge-L-P",
    "Rouge-L-F",
)
"""What `rouge` returns: recall, precision, F; spelled as EvalScope spells it."""


METRIC_GROUPS: Mapping[str, tuple[str, ...]] = {
    "acc": ("accuracy",),
    "bleu": BLEU_KEYS,
    "rouge": ROUGE_KEYS,
}
"""A name that a task of EvalScope may give metrics, in small letters -> the metrics it means."""


def bleu(prediction: str, reference: str) -> dict[str, float]:
    """BLEU-1 to BLEU-4 of one reply, from 0 to 1, as EvalScope 1.14.1 scores it.

    Each is one n-gram order (not the mean of all up to it): clipped precision times the brevity
    penalty, unsmoothed (BLEU, ACL 2002, in NLTK 3.10.4's arithmetic). All are 0.0 if no token
    is shared; an order without a shared n-gram gives about 2e-308.

    Returns:
        The scores under `bleu-1` to `bleu-4`.
    """
    return dict(zip(BLEU_KEYS, _core.bleu(prediction, reference), strict=True))


def bleu_list(predictions: Sequence[str], references: Sequence[str]) -> list[dict[str, float]]:
    """`bleu` of each pair, computed without the GIL.

    Raises:
        ValueError: The sequences differ in length.
    """
    scores = _core.bleu_list(list(predictions), list(references))
    return [dict(zip(BLEU_KEYS, row, strict=True)) for row in scores]


def rouge(prediction: str, reference: str) -> dict[str, float]:
    """ROUGE-1, ROUGE-2 and ROUGE-L of one reply, from 0 to 1, as EvalScope 1.14.1 scores it.

    The ways of rouge_chinese 1.0.3 (after ROUGE, ACL 2004): no lower-casing, punctuation stays with
    its word, n-grams count once, a perfect F is 0.999999995. All are 0.0 if either text is blank.

    Returns:
        The scores under `Rouge-1-R` to `Rouge-L-F` (recall, precision, F).
    """
    return dict(zip(ROUGE_KEYS, _core.rouge(prediction, reference), strict=True))


def rouge_list(predictions: Sequence[str], references: Sequence[str]) -> list[dict[str, float]]:
    """`rouge` of each pair, computed without the GIL.

    Raises:
        ValueError: The sequences differ in length.
    """
    scores = _core.rouge_list(list(predictions), list(references))
    return [dict(zip(ROUGE_KEYS, row, strict=True)) for row in scores]
