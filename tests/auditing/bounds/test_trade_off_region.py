"""The region that a measured trade-off curve lies in."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant import GDP
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Enumeration, PrefixCounts, TradeOffRegion

REGION = TradeOffRegion(significance=0.05)
Law = tuple[Fraction, Fraction, Fraction]


def law(*parts: int) -> Law:
    """A law in tenths."""
    first, second, third = (Fraction(part, 10) for part in parts)
    return first, second, third


def expected(mu: float, trials: int, thresholds: int = 24) -> PrefixCounts:
    """Counts as expected for Gaussian noise, thresholds evenly over the scores."""
    cuts = np.linspace(mu + 2.5, -2.5, thresholds)
    hits, others = (np.round(trials * stats.norm.sf(cuts - m)).astype(int) for m in (mu, 0.0))
    return PrefixCounts(tuple((hits + others).tolist()), tuple(hits.tolist()), trials, trials)


@pytest.mark.parametrize(
    ("p", "q"),
    [(law(6, 3, 1), law(1, 3, 6)), (law(3, 4, 3), law(3, 4, 3)), (law(9, 1, 0), law(5, 4, 1))],
)
def test_the_true_curve_is_refuted_rarely(p: Law, q: Law) -> None:
    """Exactly, over all counts of three trials a side, at a significance where that can happen."""
    region = TradeOffRegion(significance=0.9)
    truth = Enumeration(dict(enumerate(p)), dict(enumerate(q))).pair
    splits = [c for c in product(range(4), repeat=3) if sum(c) == 3]
    error = 0.0
    for hits, others in product(splits, repeat=2):
        nested = np.cumsum(hits)[:2], np.cumsum(np.add(hits, others))[:2]
        counts = PrefixCounts(tuple(nested[1].tolist()), tuple(nested[0].tolist()), 3, 3)
        if region.refutes(counts, truth) is not None:
            error += stats.multinomial.pmf(hits, 3, [float(x) for x in p]) * stats.multinomial.pmf(
                others, 3, [float(x) for x in q]
            )

    assert error <= 0.9


@pytest.mark.parametrize("mu", [0.27, 1.0, 3.0])
def test_region_is_close_to_the_curve(mu: float) -> None:
    """With a million samples and 24 thresholds, within 0.03 above the Gaussian curve."""
    counts = expected(mu, 1_000_000)
    for rate in (0.001, 0.01, 0.1, 0.5, 0.9):
        truth = GDP(mu=mu).type_ii_error(type_i_error=rate).lower
        measured = REGION.type_ii_error(counts, type_i_error=rate)

        assert truth < measured < truth + 0.03


def test_refutes_a_curve_where_it_is_false() -> None:
    """Noise a fifth short is refuted by a measured point that the claim excludes."""
    counts = expected(1.25, 20_000)
    point = REGION.refutes(counts, GDP(mu=1))

    assert point is not None
    assert point in REGION.vertices(counts)
    assert GDP(mu=1).type_ii_error(type_i_error=point[0]).lower > point[1]
    assert REGION.refutes(counts, GDP(mu=1.25)) is None
    assert REGION.refutes(counts, (0.1, 0.01)) is not None


def test_region_ends_where_every_curve_ends() -> None:
    """(0, 1) and (1, 0), also when nothing was drawn."""
    for counts in (expected(1.0, 100), PrefixCounts((), (), 0, 0), PrefixCounts((0,), (0,), 0, 0)):
        assert REGION.vertices(counts)[0] == (0.0, 1.0)
        assert REGION.vertices(counts)[-1] == (1.0, 0.0)
        assert REGION.type_ii_error(counts, type_i_error=0) == 1.0
        assert REGION.type_ii_error(counts, type_i_error=1) <= 1e-12


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
def test_refuses_what_is_no_rate(rate: float) -> None:
    """A rate is between 0 and 1."""
    with pytest.raises(ParameterError):
        REGION.type_ii_error(expected(1.0, 100), type_i_error=rate)
