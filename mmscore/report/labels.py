"""Names and numbers as tables show them, spelled as EvalScope 1.14.1 spells them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

MISSING = "—"
_NAMES = {
    "accuracy": "Accuracy",
    "acc": "Accuracy",
    "relaxed_acc": "Accuracy",
    "exact_match": "Exact Match",
    "em": "Exact Match",
    "anls": "Similarity",
}
_STATISTICS = {"R": "Recall", "P": "Precision", "F": "F1"}
_BLEU = re.compile(r"bleu-(\d+)")
_ROUGE = re.compile(r"Rouge-([12L])-([RPF])")


def metric_labels(metrics: Sequence[str]) -> dict[str, str]:
    """Metric -> label with its arrow; labels that would be the same carry the metric's name."""
    labels = {metric: _label(metric) for metric in metrics}
    times = Counter(labels.values())
    return {
        metric: f"{label} ({metric}:mean)" if times[label] > 1 else label
        for metric, label in labels.items()
    }


def _label(metric: str) -> str:
    if bleu := _BLEU.fullmatch(metric):
        return f"BLEU ↑ · n-gram {bleu[1]}"
    if rouge := _ROUGE.fullmatch(metric):
        order = "L" if rouge[1] == "L" else f"n-gram {rouge[1]}"
        return f"ROUGE ↑ · {order} · {_STATISTICS[rouge[2]]}"
    return f"{_NAMES.get(metric, metric)} ↑"


def percent(fraction: float | None) -> str:
    """A fraction as percent with one decimal, ties up and no trailing zero: `69.8%`, `40%`.

    The reference rounds the shortest decimal form of 100 times the value, not the binary one.
    """
    if fraction is None:
        return MISSING
    from decimal import ROUND_FLOOR, Decimal

    tenths = Decimal(str(fraction * 100.0)) * 10 + Decimal("0.5")
    whole, tenth = divmod(int(tenths.to_integral_value(rounding=ROUND_FLOOR)), 10)
    return f"{whole}.{tenth}%" if tenth else f"{whole}%"


def span(low: float | None, high: float | None) -> str:
    """An interval in percent: `66.3–70.2%`."""
    return MISSING if low is None or high is None else f"{low * 100:.1f}–{high * 100:.1f}%"


def seconds(value: float) -> str:
    """A duration: `0.007 s`, `12.3 s`, `4 min 05 s`, `2 h 03 min`."""
    if value < 0.9995:
        return f"{value:.3f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def number(count: int) -> str:
    """A count with thousands marked."""
    return f"{count:,}"
