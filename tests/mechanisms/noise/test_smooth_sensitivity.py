"""Cauchy noise of the scale of a smooth bound."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.mechanisms import ReplayRng, SmoothBound, SmoothMedian, SmoothSensitivity
from dpproof.mechanisms.samplers.enclosure import cauchy_two_tails
from dpproof.mechanisms.samplers.rounded import cauchy_rounded
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad
from tests.mechanisms.samplers.support import slow_path

MEDIAN = SmoothMedian(lower=0, upper=8, beta=0.5)


def noise(scale: float = 2, beta: float = 0.5) -> SmoothSensitivity[ReplaceOne]:
    """A noisy median of values from 0 to 8."""
    median = SmoothMedian(lower=0, upper=8, beta=beta)
    return SmoothSensitivity(
        query=median, bound=median.smooth(), scale=scale, granularity=2**-10, relation=ReplaceOne()
    )


class TestSmoothSensitivity(MechanismContract):
    """The median of five values."""

    def mechanism(self) -> SmoothSensitivity[ReplaceOne]:
        """Twice the bound."""
        return noise()

    def data(self) -> object:
        """Where one replaced value moves the median far."""
        return [0.0, 1.0, 4.0, 7.0, 8.0]

    def neighbour(self) -> object:
        """The largest value becomes the smallest."""
        return [0.0, 1.0, 4.0, 7.0, 0.0]

    def increasing_noise(self) -> Sequence[SmoothSensitivity[ReplaceOne]]:
        """Larger and larger scales."""
        return [noise(scale) for scale in (1, 2, 20)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        good = {"query": len, "bound": MEDIAN.smooth(), "scale": 1, "granularity": 1}
        return [
            *one_bad(
                SmoothSensitivity,
                good={**good, "relation": AddRemove()},
                bad={
                    "query": (None, 3),
                    "bound": (len, 3, None),
                    "scale": NOT_POSITIVE,
                    "granularity": (0, 3, "1"),
                    "relation": ("replace-one", None),
                },
            ),
            *one_bad(SmoothBound, {"beta": 1, "bound": len}, {"beta": NOT_POSITIVE, "bound": (3,)}),
            *one_bad(
                SmoothMedian,
                {"lower": 0, "upper": 1, "beta": 1},
                {"beta": NOT_POSITIVE, "upper": (0, -1, Fraction(1, 3))},
            ),
        ]


def test_the_bound_of_the_median_is_smooth() -> None:
    """All data of three values from a grid and all neighbours: both claims of the bound hold."""
    bounds = {data: MEDIAN.bound(data) for data in itertools.product((0, 1, 3, 4, 8), repeat=3)}
    factor = Fraction(math.exp(0.5))
    for data, bound in bounds.items():
        for place, value in itertools.product(range(3), (0, 1, 3, 4, 8)):
            other = (*data[:place], value, *data[place + 1 :])
            moved = abs(MEDIAN(data) - MEDIAN(other))
            assert moved <= min(bound, bounds[other])
            assert bound <= factor * bounds[other]
    assert min(bounds.values()) < 3 < max(bounds.values())


@pytest.mark.parametrize(("scale", "beta"), [(0.5, 0.3), (2, 0.5), (40, 0.01)])
def test_no_pair_of_densities_has_a_larger_ratio(scale: float, beta: float) -> None:
    """On a grid of places, shifts and scales; the shift alone attains its share."""
    places = np.concatenate([np.linspace(-60, 60, 4001) * scale, np.geomspace(1e2, 1e9, 50)])
    stated = noise(scale, beta).guarantee().epsilon(delta=0).upper
    worst, shifts = 0.0, 0.0
    for factor in np.exp(np.linspace(-beta, beta, 9)):
        for moved in np.linspace(-1, 1, 9) * min(factor, 1):
            loss = stats.cauchy.logpdf(places, 0, scale)
            loss = np.abs(loss - stats.cauchy.logpdf(places, moved, scale * factor)).max()
            worst = max(worst, loss)
            shifts = max(shifts, loss if factor == 1 else 0)

    assert worst <= stated
    assert shifts == pytest.approx(stated - beta, rel=1e-3)


def test_draws_are_cauchy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fixed draws within the band of Massart at 1e-10, and the same when each is decided slowly."""
    drawn = cauchy_rounded(np.zeros(60_000), 3, Fraction(1, 1024), ReplayRng(5)) / 1024 / 3
    few = cauchy_rounded(np.full(300, 0.1), 3, Fraction(1, 1024), ReplayRng(5)).tolist()
    slow_path(monkeypatch)
    slow = cauchy_rounded(np.full(300, 0.1), 3, Fraction(1, 1024), ReplayRng(5)).tolist()

    assert stats.kstest(drawn, "cauchy").statistic < 0.0145
    assert few == slow
    low, high = cauchy_two_tails(Fraction(10**30))(200)
    assert low <= 2 / math.pi / 1e30 * 2**200 * (1 + 1e-12)
    assert high >= 2 / math.pi / 1e30 * 2**200 * (1 - 1e-12)


def test_acts_on_one_number() -> None:
    """Vectors and even numbers of records are refused; a bound of 0 counts as the grid's step."""
    pair = SmoothSensitivity(
        query=lambda data: data, bound=MEDIAN.smooth(), scale=1, granularity=1, relation=AddRemove()
    )
    with pytest.raises(ParameterError, match="one number"):
        pair.release([1.0, 2.0])
    with pytest.raises(ParameterError, match="odd"):
        noise().release([1.0, 2.0])
    flat: SmoothSensitivity[AddRemove] = SmoothSensitivity(
        query=len,
        bound=SmoothBound(beta=1, bound=lambda _: 0),
        scale=1,
        granularity=0.5,
        relation=AddRemove(),
    )
    assert isinstance(flat.release([1]), float)
