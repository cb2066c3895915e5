"""Intervals and tests against published and hand-worked numbers."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from functools import reduce
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmscore.report.repeats import RepeatedSample
from mmscore.report.statistics import (
    bootstrap,
    chi_square_tail,
    clustered,
    cochran,
    deviation,
    difference_interval,
    holm,
    interval,
    mcnemar,
    mean,
    quantile,
    spread,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [
        # R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3.
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        # By hand: one of one is z^2 under 1 + z^2.
        (1, 1, 0.2065, 1.0),
    ],
)
def test_wilson_equals_published_values(
    successes: int, total: int, low: float, high: float
) -> None:
    assert wilson(successes, total) == pytest.approx((low, high), abs=5e-5)


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_share_and_mirrors(case: tuple[int, int]) -> None:
    successes, total = case
    low, high = wilson(successes, total)
    assert 0 <= low <= successes / total <= high <= 1
    assert low < high
    other_low, other_high = wilson(total - successes, total)
    assert (1 - other_high, 1 - other_low) == pytest.approx((low, high))


@pytest.mark.parametrize(
    ("gained", "lost", "p"),
    [
        (0, 0, 1.0),
        (5, 5, 1.0),
        (1, 0, 1.0),
        (5, 0, 2 / 32),
        (10, 2, 2 * (1 + 12 + 66) / 4096),
        (2, 10, 2 * (1 + 12 + 66) / 4096),
        (6, 16, 2 * (1 + 22 + 231 + 1540 + 7315 + 26334 + 74613) / 2**22),  # 0.0525
    ],
)
def test_mcnemar_equals_the_binomial_by_hand(gained: int, lost: int, p: float) -> None:
    assert mcnemar(gained, lost) == pytest.approx(p, rel=1e-15)


def test_mcnemar_bears_any_count() -> None:
    assert mcnemar(5000, 5000) == 1.0
    assert mcnemar(0, 2000) == 0.0
    tail = sum(math.comb(3000, k) for k in range(1401))
    assert mcnemar(1400, 1600) == float(Fraction(2 * tail, 2**3000))


def resampled(values: list[float], seed: int, times: int = 4000) -> tuple[float, float]:
    rng = random.Random(seed)
    size = len(values)
    means = sorted(sum(rng.choices(values, k=size)) / size for _ in range(times))
    return means[int(0.025 * times)], means[int(0.975 * times)]


@pytest.mark.parametrize(
    ("values", "slack"),
    [
        pytest.param([i / 19 for i in range(20)], 0.05, id="even"),
        pytest.param([(i / 30) ** 6 for i in range(30)], 0.05, id="skewed"),
        pytest.param([0.0] * 90 + [0.5] * 10, 0.05, id="few distinct"),
        pytest.param([0.0] * 150 + [1.0] * 30 + [-1.0] * 20, 0.05, id="differences"),
        pytest.param([0.1, 0.2, 0.4, 0.7, 0.9], 0.1, id="five values"),
    ],
)
def test_bootstrap_is_what_resampling_finds(values: list[float], slack: float) -> None:
    computed = bootstrap(values)
    assert computed is not None
    low, high = resampled(values, seed=1)
    width = high - low
    assert computed == pytest.approx((low, high), abs=slack * width)


@given(st.lists(st.floats(0, 1), max_size=60))
def test_an_interval_holds_its_mean_and_ignores_order(values: list[float]) -> None:
    found = interval(values)
    assert found == interval(values[::-1])
    if found:
        center = math.fsum(values) / len(values)
        assert found[0] <= center + 1e-12
        assert center <= found[1] + 1e-12
        assert 0 <= found[0] <= found[1] <= 1


def test_interval_chooses_its_method() -> None:
    assert interval([1.0, 0.0, 1.0]) == wilson(2, 3)
    assert interval([0.5, 0.0, 1.0]) == bootstrap([0.5, 0.0, 1.0])
    assert interval([]) is None
    assert interval([0.5]) is None
    assert interval([0.5, 0.5]) == wilson(1, 2), "alike, so their spread says nothing"
    assert interval([0.999999995] * 3) == pytest.approx(wilson(3, 3), abs=1e-6)


def test_tiny_values_do_not_divide_by_nothing() -> None:
    # What unsmoothed BLEU-4 gives for texts without a common 4-gram.
    low, high = bootstrap([0.0, 2.2e-308, 8.18558927632837e-309]) or (1.0, 1.0)
    assert 0 <= low <= high < 1e-300


def test_mean_adds_left_to_right_without_compensation() -> None:
    values = [0.1] * 10
    assert mean(values) == reduce(lambda total, value: total + value, values) / 10
    assert mean(values) != 0.1  # Python 3.12's sum would say 0.1
    assert mean([]) is None


def test_spread_and_quantiles() -> None:
    assert quantile([1.0, 2.0, 3.0, 4.0], 0.5) == 2.5
    assert quantile([7.0], 0.99) == 7.0
    assert spread([3.0, 1.0]) == {"mean": 2.0, "p50": 2.0, "p90": 2.8, "p99": 2.98, "max": 3.0}
    assert spread([]) is None
    assert deviation([1.0, 3.0]) == pytest.approx(math.sqrt(2))
    assert deviation([1.0]) is None


# --- clusters ------------------------------------------------------------------------------------


def test_one_value_a_cluster_is_no_clustering() -> None:
    values = [1.0] * 30 + [0.0] * 20
    low, high = clustered(values, range(50)) or (0, 0)
    assert (low, high) == pytest.approx(wilson(30, 50), abs=0.003)  # G / (G - 1) apart


def test_copies_say_no_more_than_one() -> None:
    """Ten copies of each of 20 values: as sure as the 20, not as 200 would be."""
    values = [1.0] * 12 + [0.0] * 8
    low, high = clustered(values * 10, [*range(20)] * 10) or (0, 0)
    assert (low, high) == pytest.approx(wilson(12, 20), abs=0.01)
    assert wilson(120, 200)[0] > low + 0.1


def test_all_right_in_few_clusters_is_as_sure_as_the_clusters() -> None:
    assert clustered([1.0] * 100, [n % 4 for n in range(100)]) == pytest.approx(wilson(4, 4))


def test_a_mean_of_clusters_has_the_sandwich_of_the_books() -> None:
    values, clusters = [0.1, 0.3, 0.6, 0.8], ["a", "a", "b", "b"]
    center = 0.45
    variance = 2 / 1 * ((0.4 - 0.9) ** 2 + (1.4 - 0.9) ** 2) / 16
    half = 1.959963984540054 * variance**0.5
    low, high = clustered(values, clusters) or (0, 0)
    assert low == max(0.0, center - half) and high == min(center + half, 0.8) == 0.8


def test_one_cluster_says_nothing_of_others() -> None:
    assert clustered([1.0, 0.0], ["a", "a"]) is None and clustered([], []) is None


# --- repeats -------------------------------------------------------------------------------------


def test_pass_at_k_is_the_share_of_draws_that_hold_a_right_one() -> None:
    for right in range(6):
        values = (1.0,) * right + (0.0,) * (5 - right)
        one = RepeatedSample("q", values, (0,) * 5)
        for k in range(1, 6):
            draws = list(combinations(values, k))
            assert one.pass_at(k) == pytest.approx(sum(map(any, draws)) / len(draws))
        assert one.pass_at(6) is None


@pytest.mark.parametrize(
    ("answers", "values", "expected"),
    [
        ((1, 2, 2), (1.0, 0.0, 0.0), 0.0),
        ((1, 2, 1), (1.0, 0.0, 1.0), 1.0),
        ((1, 2, 3), (1.0, 0.0, 0.0), 1.0),  # a tie goes to the first
        ((2, 1), (0.0, 1.0), 0.0),
    ],
)
def test_the_majority_is_the_commonest_answer(
    answers: tuple[int, ...], values: tuple[float, ...], expected: float
) -> None:
    assert RepeatedSample("q", values, answers).majority == expected


@pytest.mark.parametrize(
    ("value", "freedom", "tail"),
    [
        (2.8, 2, 0.24659696394160646),
        (0.5, 1, 0.47950012218695337),
        (7.3, 5, 0.19926778992124214),
        (30.0, 4, 4.894437128029217e-06),
        (300.0, 7, 6.0496418565564134e-61),
        (0.001, 3, 0.9999915920809419),
        (0.0, 3, 1.0),
        (5000.0, 1, 0.0),
    ],
)
def test_the_tail_of_chi_square_is_that_of_tables(value: float, freedom: int, tail: float) -> None:
    assert chi_square_tail(value, freedom) == pytest.approx(tail, rel=1e-12)


def test_cochran_by_hand() -> None:
    # Three models right 5, 3 and 1 times of 6; rows sum to 3 2 2 1 1 0.
    rows = [(1, 1, 1), (1, 1, 0), (1, 1, 0), (1, 0, 0), (1, 0, 0), (0, 0, 0)]
    # 3 * 2 * ((5-3)^2 + 0 + (1-3)^2) / (0 + 2 + 2 + 2 + 2 + 0)
    statistic, freedom, p = cochran(rows)
    assert (statistic, freedom) == (6.0, 2)
    assert p == pytest.approx(math.exp(-3))


def test_cochran_of_two_models_is_mcnemar_without_correction() -> None:
    rows = [(0, 1)] * 10 + [(1, 0)] * 4 + [(1, 1)] * 7 + [(0, 0)]
    assert cochran(rows)[0] == pytest.approx((10 - 4) ** 2 / 14)


@pytest.mark.parametrize("rows", [[], [(1, 1, 1)], [(0, 0, 0), (1, 1, 1)]])
def test_cochran_where_nothing_tells_models_apart(rows: list[tuple[float, ...]]) -> None:
    assert cochran(rows)[0] == 0.0 and cochran(rows)[2] == 1.0


@pytest.mark.parametrize(
    ("given", "corrected"),
    [
        ([0.01, 0.02, 0.03, 0.04], [0.04, 0.06, 0.06, 0.06]),
        ([0.04, 0.01, 0.03], [0.06, 0.03, 0.06]),
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.02], [0.02]),
        ([], []),
    ],
)
def test_holm_corrects_each_and_keeps_their_order(
    given: list[float], corrected: list[float]
) -> None:
    assert holm(given) == pytest.approx(corrected)


@pytest.mark.parametrize(
    ("differences", "expected"),
    [
        ([0.0] * 24, (-wilson(0, 24)[1], wilson(0, 24)[1])),
        ([1.0] * 3, (wilson(3, 3)[0], 1.0)),
        ([-1.0], (-1.0, -wilson(1, 1)[0])),
        ([0.1, 0.1], (0.1, 0.1)),
        ([0.5], None),
        ([], None),
        ([1.0, 0.0, -1.0, 0.0], bootstrap([1.0, 0.0, -1.0, 0.0])),
    ],
)
def test_pairs_that_are_all_alike_have_an_interval_of_some_width(
    differences: list[float], expected: tuple[float, float] | None
) -> None:
    found = difference_interval(differences)
    assert found == (None if expected is None else pytest.approx(expected))
