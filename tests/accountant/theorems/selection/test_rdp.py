"""Selection from a Renyi curve: rounded up next to 0 too, against 80 digits."""

from __future__ import annotations

import random
from fractions import Fraction

import mpmath
import pytest

from dpproof.accountant import (
    RDP,
    ZCDP,
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    PureDP,
    RunLaw,
    select,
    self_compose,
)
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.accountant.theorems.selection.pure import select_pure
from dpproof.accountant.theorems.selection.rdp import select_rdp
from dpproof.proofs import VerifiedUnder, check
from tests.accountant.run_counts.exact_laws import DIGITS, Known, draw, exact, log_uniform

CASES = 1000


def smallest(known: Known, order: Fraction, value: Fraction) -> mpmath.mpf:
    """The smallest of the theorem's bounds at the only order of a curve, but for Poisson runs."""
    excess, base = exact(order - 1), exact(value)
    size = mpmath.log(known.mean + known.phi(mpmath.mpf(0))) / excess
    first = known.slope(mpmath.mpf(0))
    bounds = [known.log_moment(excess * base) / excess]
    if first > 0:
        bounds.append(base + mpmath.log(known.mean / first) + size)
    if isinstance(known.law, TruncatedNegativeBinomial):
        tail, share = -mpmath.log(exact(known.law.gamma)), 1 / exact(order)
        least = (1 - share) * base + tail * share
        bounds.append(base + exact(1 + known.law.eta) * least + size)
    return min(bounds)


def test_a_coin_before_a_gaussian_attains_the_bound() -> None:
    """At most one run: log(1 - p + p e^((a-1) rho a))/(a-1) is the selection's own divergence."""
    rng = random.Random(1)  # noqa: S311
    with mpmath.workdps(4 * DIGITS):
        for _ in range(CASES):
            p, rho = log_uniform(rng, -250, -0.01), log_uniform(rng, -60, 1)
            order = 1 + log_uniform(rng, -9, 1)
            found = select_rdp(
                RDP(points=[(order, rho * order)]), BinomialRuns(trials=1, probability=p)
            )
            excess = exact(order - 1)
            true = mpmath.log1p(exact(p) * mpmath.expm1(excess * exact(rho * order))) / excess
            upper = exact(found.points[0][1])
            assert true <= upper, (p, rho, order)
            assert upper <= true * (1 + 2e-10) + 1e-290


def test_every_law_is_rounded_up() -> None:
    """At extreme parameters no answer is below the smallest of the stated bounds."""
    rng = random.Random(2)  # noqa: S311
    with mpmath.workdps(4 * DIGITS):
        for _ in range(CASES):
            known = draw(rng)
            order, value = 1 + log_uniform(rng, -9, 3), log_uniform(rng, -100, 1)
            try:
                found = select_rdp(RDP(points=[(order, value)]), known.law)
            except NotImplied:
                continue
            true, upper = smallest(known, order, value), exact(found.points[0][1])
            assert isinstance(known.law, PoissonRuns) or true <= upper, (known.law, order, value)
            assert upper <= true * (1 + 1e-3) + 1e-10


def test_a_rare_run_of_a_small_curve() -> None:
    """The mixture of a Gaussian has 1.1250000790e-9, where 1.1250000656e-9 once was claimed."""
    found = select(ZCDP(rho=1e-6), BinomialRuns(trials=1, probability=Fraction(1, 1000)))

    assert 1.12500007902e-9 <= found.rdp(order=Fraction(9, 8)).upper <= 1.1250000793e-9


def test_what_seems_nothing_adds_up() -> None:
    """A divergence below 1e-16 is not 0, as 10^12 of them compose."""
    runs = BinomialRuns(trials=10, probability=Fraction(1, 10))
    one = select(ZCDP(rho=1e-15), runs)

    assert one.rdp(order=2).upper >= 2e-15
    assert 0.1 < self_compose(one, 10**12).epsilon(delta=1e-6).upper < 1


@pytest.mark.parametrize(
    "runs",
    [
        BinomialRuns(trials=1, probability=Fraction(1, 1000)),
        BinomialRuns(trials=10, probability=Fraction(1, 1000)),
        PoissonRuns(rate=1e-9),
        TruncatedNegativeBinomial(eta=0, gamma=1 - Fraction(1, 10**12)),
        TruncatedNegativeBinomial(eta=Fraction(-1, 2), gamma=Fraction(1, 10)),
    ],
)
@pytest.mark.parametrize("rho", [1e-6, 1e-15])
def test_small_curves_are_certified(runs: RunLaw, rho: float) -> None:
    """The checker, which computes with balls, accepts what is claimed next to 0."""
    verdict = check(select_rdp(ZCDP(rho=rho), runs).certify(delta=1e-6))

    assert isinstance(verdict, VerifiedUnder)


def test_a_pure_excess_beyond_floats_is_exact() -> None:
    """Runs of the largest epsilons multiply them; no number overflows."""
    found = select_pure(PureDP(epsilon=1e308), FixedRuns(count=5))

    assert found.stated_epsilon == 5 * Fraction(1e308)
