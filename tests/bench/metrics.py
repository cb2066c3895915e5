"""BLEU and ROUGE of whole lists beside the reference's own functions, in one process.

    MMSCORE_SHARED=../shared python tests/bench/metrics.py [PAIRS]

Needs nltk, jieba and rouge_chinese. Checks that the scores are equal before it times them; prints
the medians of five rounds (the reference: one round over a tenth of the pairs).
"""

import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support import metric_reference as reference

import mmscore._core as _core

ENGLISH = [
    "The image shows a chest X-ray with an enlarged heart in the left lower lobe.",
    "There is a lesion in the right lung, near the upper lobe.",
    "A man in a red jacket is riding a bicycle. He doesn't wear a helmet.",
    "The liver appears normal in size; no focal mass is seen (see Fig. 3).",
    "It is a T2-weighted MRI of the brain, and the ventricles are dilated.",
]
CHINESE = [
    "图像显示左肺下叶有一个增大的阴影，心脏轮廓正常。",
    "这是一张胸部X光片，右肺上叶可见结节。",
    "图中有一只猫和两只狗在草地上玩耍。",
    "肝脏大小正常，未见明显占位性病变。",
    "这是脑部的T2加权磁共振图像，脑室扩大。",
]
LONG = {
    "words": "The left lung is clear. " * 8_400,
    "one word": "a" * 200_000,
    "letters": "a b c d e " * 20_000,
    "periods": ". " * 100_000,
    "hyphens": "-" * 200_000,
    "quotes": "'\"" * 100_000,
    "Chinese": "图像显示左肺下叶有一个增大的阴影，" * 11_764,
    "rare Chinese": "髄龘囧" * 66_666,
}


def perturbed(text: str, chooser: random.Random) -> str:
    """A text with a few of its characters' neighbours swapped, as a model's reply differs."""
    parts = text.split(" ") if " " in text else list(text)
    for _ in range(2):
        at = chooser.randrange(len(parts))
        parts[at], parts[-1 - at] = parts[-1 - at], parts[at]
    return (" " if " " in text else "").join(parts)


def pairs_of(texts: list[str], count: int) -> tuple[list[str], list[str]]:
    chooser = random.Random(7)
    references = [chooser.choice(texts) for _ in range(count)]
    return [perturbed(text, chooser) for text in references], references


def seconds(work: Callable[[], object], rounds: int) -> float:
    def once() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return statistics.median(once() for _ in range(rounds))


def compare(language: str, texts: list[str], count: int) -> None:
    """Print one line a metric: microseconds a pair of the core and of the reference."""
    predictions, references = pairs_of(texts, count)
    few = list(zip(predictions, references, strict=True))[: count // 10]
    tokenize = reference.word_tokenizer()
    scorers: list[tuple[str, Callable[..., Sequence[object]], Callable[..., list[float]]]] = [
        ("BLEU", _core.bleu_list, lambda a, b: reference.bleu(tokenize, a, b)),
        ("ROUGE", _core.rouge_list, reference.rouge),
    ]
    for name, ours, theirs in scorers:
        assert list(ours(predictions, references)[: len(few)]) == [
            tuple(theirs(*pair)) for pair in few
        ]
        core = seconds(partial(ours, predictions, references), 5) / count
        other = seconds(partial(list, starmap(theirs, few)), 1) / len(few)
        label = f"{name} {language}"
        print(f"{label:16} {core * 1e6:9.2f} us {other * 1e6:9.1f} us {other / core:7.0f}x")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"{'':16} {'core':>12} {'reference':>12} {'ratio':>8}")
    compare("English", ENGLISH, count)
    compare("Chinese", CHINESE, count)
    for name, text in LONG.items():
        for other_name, other in (("short", ENGLISH[0]), ("long", text[7:] + text[:5])):
            bleu = seconds(partial(_core.bleu, text, other), 3)
            rouge = seconds(partial(_core.rouge, text, other), 3)
            print(
                f"{len(text):,} characters of {name} against a {other_name} text:"
                f" BLEU {bleu * 1e3:.1f} ms, ROUGE {rouge * 1e3:.1f} ms"
            )


if __name__ == "__main__":
    main()
