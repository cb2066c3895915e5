"""Intervals and tests for scores: what a number of samples can and cannot say.

All functions are pure and deterministic. The order of their input matters only to `total` and
`mean`, where it is part of the contract.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence

Z_95 = 1.959963984540054
"""The 97.5 % point of the standard normal distribution."""
_NOTHING = 1e-300
"""Below it lies only what stands for 0."""
_ALIKE = 1e-6
"""Values closer to each other say no more of their spread than equal ones."""


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
    if not plain:
        return None
    if all(value in (0.0, 1.0) for value in plain):
        return wilson(math.fsum(plain), len(plain))
    if len(plain) > 1 and max(plain) - min(plain) < _ALIKE:
        # Three perfect replies do not prove perfection, whatever metric says that they are.
        return wilson(math.fsum(plain), len(plain))
    return bootstrap(values)


def clustered(values: Sequence[float], clusters: Sequence[Hashable]) -> tuple[float, float] | None:
    """The 95 % interval of a mean whose values come in clusters: questions on one image.

    Source: the cluster-robust variance of a mean, G / (G - 1) * sum of squared cluster sums of
    residuals / n^2 ("Longitudinal data analysis using generalized linear models", Biometrika 73
    (1986), for a constant). Values of 0 and 1 get Wilson's interval for as many independent values
    as have that variance; values that are all alike, for as many as there would be if the values
    of a cluster were one.

    Args:
        values: One value for each sample, 0..1 (or differences of pairs, -1..1).
        clusters: The cluster of each.

    Returns:
        (low, high), or None where there are fewer than two clusters.
    """
    count = len(values)
    sums: dict[Hashable, list[float]] = {}
    center = math.fsum(values) / count if count else 0.0
    for value, cluster in zip(values, clusters, strict=True):
        sums.setdefault(cluster, []).append(value - center)
    groups = len(sums)
    if groups < 2:
        return None
    squares = math.fsum(math.fsum(residuals) ** 2 for residuals in sums.values())
    variance = groups / (groups - 1) * squares / count**2
    smallest, largest = min(values), max(values)
    if largest - smallest < _ALIKE and smallest >= 0 and largest <= 1:
        independent = count**2 / sum(len(residuals) ** 2 for residuals in sums.values())
        return wilson(center * independent, independent)
    if all(value in (0.0, 1.0) for value in values) and variance > 0:
        independent = min(float(count), center * (1 - center) / variance)
        return wilson(center * independent, independent)
    half = Z_95 * math.sqrt(variance)
    return max(center - half, min(smallest, 0.0)), min(center + half, max(largest, 0.0))


def wilson(successes: float, count: float, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval for a proportion.

    Source: "Probable inference, the law of succession, and statistical inference",
    JASA 22 (1927). It stays inside 0..1 and is honest at 0 and at 1, where the textbook interval
    has no width.

    Args:
        successes: How many of them were right; of values between, their sum.
        count: How many there were, more than 0; a number of independent ones need not be whole.
        z: The normal quantile; the default gives 95 %.

    Returns:
        (low, high) as fractions.
    """
    share = successes / count
    square = z * z / count
    center = (share + square / 2) / (1 + square)
    half = z * math.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    low = 0.0 if successes <= 0 else max(0.0, center - half)
    high = 1.0 if successes >= count else min(1.0, center + half)
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


def difference_interval(differences: Sequence[float]) -> tuple[float, float] | None:
    """The 95 % interval of the mean difference of pairs: the bootstrap's, but never of no width.

    Where all pairs differ alike by -1, 0 or 1, resampling cannot show another pair; the width is
    then Wilson's for a kind of pair that was seen 0 times.

    Args:
        differences: One difference for each independent sample.

    Returns:
        (low, high) inside -1..1 where the differences are; None of none, or of a single other one.
    """
    first = differences[0] if differences else None
    if first in (-1.0, 0.0, 1.0) and all(value == first for value in differences):
        width = wilson(0, len(differences))[1]
        return max(-1.0, first - width), min(1.0, first + width)
    return bootstrap(differences)


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


def cochran(rows: Sequence[Sequence[float]]) -> tuple[float, int, float]:
    """Q, degrees of freedom and p of Cochran's test that several models are right equally often.

    Source: "The comparison of percentages in matched samples", Biometrika 37 (1950). For two models
    it is McNemar's statistic without correction.

    Args:
        rows: For each sample the score of each model, 0 or 1; two models at least.

    Returns:
        (Q, models - 1, p); Q is 0 and p 1 where no sample tells the models apart.
    """
    models = len(rows[0]) if rows else 2
    columns = [math.fsum(row[place] for row in rows) for place in range(models)]
    sums = [math.fsum(row) for row in rows]
    apart = math.fsum(row * (models - row) for row in sums)
    if apart == 0.0:
        return 0.0, models - 1, 1.0
    center = math.fsum(sums) / models
    spread = math.fsum((column - center) ** 2 for column in columns)
    statistic = models * (models - 1) * spread / apart
    return statistic, models - 1, chi_square_tail(statistic, models - 1)


def chi_square_tail(value: float, freedom: int) -> float:
    """The probability that a chi-square variable is at least `value`, in its closed form.

    Source: Handbook of Mathematical Functions (1964), 26.4.4 and 26.4.5.

    Args:
        value: 0 or more.
        freedom: Degrees of freedom, 1 or more.
    """
    half = value / 2
    if half == 0.0:
        return 1.0
    odd = freedom % 2
    found = math.erfc(math.sqrt(half)) if odd else 0.0
    # exp(-half) * half**n / gamma(n + 1) in one exponent: either factor alone may overflow.
    for number in range(freedom // 2):
        n = number + odd / 2
        found += math.exp(n * math.log(half) - half - math.lgamma(n + 1))
    return min(1.0, found)


def holm(probabilities: Sequence[float]) -> list[float]:
    """The p values corrected for their number by Holm's step-down method, in the same order.

    Source: "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979).
    """
    order = sorted(range(len(probabilities)), key=lambda place: probabilities[place])
    corrected = [0.0] * len(order)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * probabilities[place]))
        corrected[place] = largest
    return corrected


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
