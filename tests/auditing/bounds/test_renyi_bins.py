"""Renyi divergences and rho from the bins of a partition."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy import optimize, stats

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import BinCounts, EventCounts, PrefixCounts, RenyiBins, RenyiEvent
from dpproof.auditing.bounds.curves import ORDERS, _cheapest, _Limits

BOUND = RenyiBins(significance=0.05)
Floats = NDArray[np.float64]


def divergence(p: Floats, q: Floats, order: float) -> float:
    """The textbook sum."""
    return math.log(float((p**order * q ** (1 - order)).sum())) / (order - 1)


def divergence_of(limits: _Limits, order: float) -> float:
    """The certified minimum at the ratios that the search finds."""
    return limits.divergence(order, limits.ratios())


def compositions(n: int, k: int) -> list[tuple[int, ...]]:
    """All ways to put n trials into k bins."""
    return [c for c in product(range(n + 1), repeat=k) if sum(c) == n]


@pytest.mark.some(2)
@pytest.mark.parametrize("q", [(0.2, 0.3, 0.5), (0.05, 0.15, 0.8)])
@pytest.mark.parametrize("p", [(0.5, 0.3, 0.2), (0.2, 0.3, 0.5)])
def test_bounds_exceed_the_truth_rarely(p: tuple[float, ...], q: tuple[float, ...]) -> None:
    """Exactly, over all counts of five trials a side, at a significance where that can happen."""
    bound = RenyiBins(significance=0.6)
    truth = divergence(np.array(p), np.array(q), 2)
    rho = max(divergence(np.array(p), np.array(q), a) / a for a in ORDERS)
    errors = np.zeros(2)
    for hits, others in product(compositions(5, 3), repeat=2):
        mass = stats.multinomial.pmf(hits, 5, p) * stats.multinomial.pmf(others, 5, q)
        counts = BinCounts(hits, others)
        errors += mass * np.array([bound.rdp(counts, order=2) > truth, bound.rho(counts) > rho])

    assert (errors <= 0.6).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("order", [1.05, 2, 12])
def test_is_the_minimum_over_all_plausible_laws(seed: int, order: float) -> None:
    """A general solver finds no smaller divergence, and the same one."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    hits, others = (rng.multinomial(300, rng.dirichlet(2 * np.ones(k))) for _ in "pq")
    limits = BOUND._limits(BinCounts(tuple(hits.tolist()), tuple(others.tolist())))
    low = np.maximum(np.concatenate([limits.low, limits.other_low]), 1e-9)
    high = np.concatenate([limits.high, limits.other_high])
    sums = [
        {"type": "eq", "fun": lambda x: x[:k].sum() - 1},
        {"type": "eq", "fun": lambda x: x[k:].sum() - 1},
    ]
    solve: Any = optimize.minimize  # its stubs know no lists of constraints
    found = solve(
        lambda x: divergence(x[:k], x[k:], order),
        np.concatenate([hits + 0.1, others + 0.1]) / (300 + 0.1 * k),
        bounds=optimize.Bounds(low, high),
        constraints=sums,
        method="SLSQP",
        tol=1e-13,
    )

    assert divergence_of(limits, order) <= found.fun + 1e-9
    assert divergence_of(limits, order) == pytest.approx(max(found.fun, 0.0), abs=2e-6)


def test_a_wrong_ratio_only_weakens_the_bound() -> None:
    """The certificate does not trust the search: any other ratios give less."""
    limits = BOUND._limits(BinCounts((900, 3000, 6100), (2400, 4600, 3000)))
    ratios = limits.ratios()
    rng = np.random.default_rng(1)
    for _ in range(50):
        others = ratios * np.exp(rng.normal(scale=0.3, size=3))

        assert limits.divergence(2, others) <= limits.divergence(2, ratios) + 1e-9


@pytest.mark.parametrize("mu", [0.5, 1.0])
def test_sixteen_bins_show_most_of_a_gaussian(mu: float) -> None:
    """With a million samples: more than 0.86 of the divergence at order 2 and of rho.

    One event shows less than three quarters of it, however many samples there are.
    """
    n = 1_000_000
    edges = stats.norm.ppf(np.linspace(0, 1, 17), loc=mu / 2)
    p, q = (np.diff(stats.norm.cdf(edges - shift)) for shift in (mu, 0.0))
    hits, others = (tuple(np.round(n * mass).astype(int).tolist()) for mass in (p, q))
    counts = BinCounts(hits, others)
    event = EventCounts(sum(hits[8:]), sum(hits), sum(others[8:]), sum(others))

    assert 0.86 * mu**2 < BOUND.rdp(counts, order=2) < divergence(p, q, 2) < mu**2
    assert 0.86 * mu**2 / 2 < BOUND.rho(counts) < mu**2 / 2
    assert RenyiEvent(significance=1e-9).rdp(event, order=2) < 0.75 * mu**2


def test_exchanged_datasets_are_the_other_divergence() -> None:
    """D(P || Q) and D(Q || P) of an asymmetric pair are bounded one by one."""
    counts = BinCounts((90_000, 10_000), (99_000, 1_000))
    p, q = np.array([0.9, 0.1]), np.array([0.99, 0.01])

    assert 0.8 * divergence(p, q, 4) < BOUND.rdp(counts, order=4) < divergence(p, q, 4)
    assert BOUND.rdp(counts.reversed(), order=4) < divergence(q, p, 4)
    assert BOUND.rdp(counts.reversed(), order=4) < BOUND.rdp(counts, order=4) / 2


def test_bins_between_nested_events() -> None:
    """Differences of nested events, and what is outside of them."""
    counts = BinCounts.between(PrefixCounts((3, 10), (2, 6), 20, 15))

    assert counts == BinCounts((2, 4, 14), (1, 3, 11))
    assert (counts.trials, counts.other_trials) == (20, 15)


def test_nothing_is_shown_by_nothing() -> None:
    """Equal counts, no trials, and prices that overflow: 0."""
    for counts in (BinCounts((5, 5), (5, 5)), BinCounts((0, 0), (0, 0)), BinCounts((9,), (7,))):
        assert BOUND.rdp(counts, order=2) == 0.0
        assert BOUND.rho(counts) == 0.0
    assert BOUND.rdp(BinCounts((1000, 0), (0, 1000)), order=1e6) == 0.0


@pytest.mark.parametrize(("hits", "others"), [((), ()), ((1,), (1, 2)), ((1, -1), (1, 1))])
def test_refuses_what_are_no_counts(hits: tuple[int, ...], others: tuple[int, ...]) -> None:
    """At least one bin, the same on either dataset, whole numbers."""
    with pytest.raises(ParameterError):
        BinCounts(hits, others)


def test_refuses_what_is_no_order() -> None:
    """An order is finite and above 1, and rho needs at least one."""
    with pytest.raises(ParameterError):
        BOUND.rdp(BinCounts((1, 2), (2, 1)), order=1)
    with pytest.raises(ParameterError):
        BOUND.rho(BinCounts((1, 2), (2, 1)), orders=())


def exactly_cheapest(prices: list[float], low: list[float], high: list[float]) -> Fraction:
    """Fill the cheapest bins first, in rationals."""
    left = 1 - sum(map(Fraction, low), Fraction(0))
    total = Fraction(0)
    for price, least, most in sorted(zip(prices, low, high, strict=True)):
        more = min(max(left, Fraction(0)), Fraction(most) - Fraction(least))
        total += Fraction(price) * (Fraction(least) + more)
        left -= more
    return total


@given(
    rare=st.lists(st.integers(0, 30), min_size=1, max_size=3),
    others=st.lists(st.integers(0, 30), min_size=1, max_size=3),
    trials=st.integers(200, 10**13),
    order=st.sampled_from([1.25, 2.0, 8.0, 64.0]),
)
def test_no_price_is_rounded_to_a_dearer_total(
    rare: list[int], others: list[int], trials: int, order: float
) -> None:
    """The bound is at most the exact minimum, however dear a bin that rounding may fill is."""
    size = min(len(rare), len(others))
    hits = (*rare[:size], trials - sum(rare[:size]))
    limits = BOUND._limits(BinCounts(hits, (*others[:size], trials - sum(others[:size]))))
    prices = order * limits.ratios() ** (order - 1)
    ends = limits.low.tolist(), limits.high.tolist()
    if np.isfinite(prices).all():
        exact = exactly_cheapest(prices.tolist(), *ends)
        found = Fraction(_cheapest(prices, limits.low, limits.high))
        assert found <= exact
        assert found >= exact * (1 - Fraction(1, 10**6))
        dear = exactly_cheapest((-prices).tolist(), *ends)
        assert Fraction(_cheapest(-prices, limits.low, limits.high)) <= dear


def test_a_dear_bin_gets_no_mass_that_rounding_left() -> None:
    """Eight million trials, of which ten and twenty fell into the two bins that cost most."""
    limits = BOUND._limits(BinCounts((10, 20, 7999970), (3, 2, 7999995)))
    prices = 64 * limits.ratios() ** 63
    exact = exactly_cheapest(prices.tolist(), limits.low.tolist(), limits.high.tolist())
    assert Fraction(_cheapest(prices, limits.low, limits.high)) <= exact
