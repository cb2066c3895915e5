"""Intervals and tests for scores: what a number of samples can and cannot say.

All functions are pure and deterministic. The order of their input matters only to `total` and
`mean`, where it is part of the contract.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

Z_95 = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""
_NOTHING = 1e-300
"""Below it lies only what stands for 0."""


def total(values: Iterable[float]) -> float:
    """The plain left-to-right float sum.

    Python 3.12 made `sum` compensate for rounding, so the sum that the reference computed on 3.11
    is written out here: the same values in the same order give the same bits on every version.
    """
    found = 0.0
    for value in values:
        found += value
    return found


def mean(values: Sequence[float]) -> float | None:
    """The `total` over the count, as the reference's mean; None of nothing."""
    return total(values) / len(values) if values else None


def interval(values: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of a mean: Wilson where all values are 0 or 1, else bootstrap.

    Args:
        values: One value for each independent sample.

    Returns:
        (low, high), or None where the values say nothing: there are none, or a single one that
        is neither 0 nor 1.
    """
    # BLEU says "nothing shared" by a number near 1e-308, which is no more a mean than 0 is.
    plain = [0.0 if value < _NOTHING else value for value in values]
    if all(value in (0.0, 1.0) for value in plain):
        return wilson(int(math.fsum(plain)), len(plain)) if plain else None
    return bootstrap(values)


def wilson(successes: int, count: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval for a proportion.

    Source: "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927). It stays inside 0..1 and is honest at 0 and at 1, where the textbook interval
    has no width.

    Args:
        successes: How many of them were right.
        count: How many there were, at least 1.
        z: The normal quantile; the default gives 95 %.

    Returns:
        (low, high) as fractions.
    """
    share = successes / count
    square = z * z / count
    center = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    low = 0.0 if successes == 0 else max(0.0, center - half)
    high = 1.0 if successes == count else min(1.0, center + half)
    return low, high


def bootstrap(values: Sequence[float], z: float = Z_95) -> tuple[float, float] | None:
    """The percentile bootstrap interval of a mean, computed instead of drawn.

    Source: "Bootstrap methods: another look at the jackknife", Annals of Statistics 7
    (1979). Of a mean, the bootstrap distribution has known cumulants (variance / n, skewness /
    sqrt(n), excess kurtosis / n of the values), so its quantiles follow from the expansion of
    Cornish and Fisher to order 1/n ("The Bootstrap and Edgeworth Expansion", 1992, chapter 2). No
    seed, no resampling noise, linear time; it differs from resampling by less than resampling with
    another seed does.

    Args:
        values: One value for each independent sample (or difference of a pair).
        z: The normal quantile; the default gives 95 %.

    Returns:
        (low, high), never outside the range of the values; None of fewer than two values.
    """
    count = len(values)
    if count < 2:
        return None
    center = math.fsum(values) / count
    smallest, largest = min(values), max(values)
    deviations = [value - center for value in values]
    variance = math.fsum(d * d for d in deviations) / count
    scale = math.sqrt(variance)
    cube, fourth = scale**3, variance * variance
    if cube == 0.0 or fourth == 0.0:  # equal values, or differences too small for their powers
        return center, center
    skewness = math.fsum(d**3 for d in deviations) / count / cube / math.sqrt(count)
    kurtosis = (math.fsum(d**4 for d in deviations) / count / fourth - 3) / count
    error = scale / math.sqrt(count)
    low = center + error * _cornish_fisher(-z, skewness, kurtosis)
    high = center + error * _cornish_fisher(z, skewness, kurtosis)
    return min(max(low, smallest), center), max(min(high, largest), center)


def _cornish_fisher(z: float, skewness: float, kurtosis: float) -> float:
    """The quantile of a standardized distribution from the normal one `z`."""
    return (
        z
        + (z * z - 1) * skewness / 6
        + (z**3 - 3 * z) * kurtosis / 24
        - (2 * z**3 - 5 * z) * skewness * skewness / 36
    )


def mcnemar(gained: int, lost: int) -> float:
    """The exact two-sided p of McNemar's test.

    Source: "Note on the sampling error of the difference between correlated
    proportions or percentages", Psychometrika 12 (1947), in its exact binomial form: under no
    difference each discordant pair is a fair coin.

    Args:
        gained: Pairs wrong before and right after.
        lost: Pairs right before and wrong after.

    Returns:
        A probability; 1.0 where no pair differs.
    """
    pairs = gained + lost
    tail, term = 0, 1  # whole numbers: exact however many pairs differ
    for chosen in range(min(gained, lost) + 1):
        tail += term
        term = term * (pairs - chosen) // (chosen + 1)
    return min(1.0, 2 * tail / (1 << pairs))


def deviation(values: Sequence[float]) -> float | None:
    """The sample standard deviation (n - 1); None of fewer than two values."""
    if len(values) < 2:
        return None
    center = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((v - center) ** 2 for v in values) / (len(values) - 1))


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value at `share` of a sorted, non-empty sequence, between neighbours by proportion."""
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def spread(values: Iterable[float]) -> dict[str, float] | None:
    """Mean, median, 90 %, 99 % and largest of some measurements; None of nothing."""
    ordered = sorted(values)
    if not ordered:
        return None
    return {
        "mean": math.fsum(ordered) / len(ordered),
        "p50": quantile(ordered, 0.5),
        "p90": quantile(ordered, 0.9),
        "p99": quantile(ordered, 0.99),
        "max": ordered[-1],
    }
