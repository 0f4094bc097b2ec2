"""The finite pair above the shift of a Skellam law."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import ive

from dpproof.accountant import GDP, self_compose
from dpproof.accountant.arithmetic.discrete_laws import skellam_masses
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.pairs import finite
from dpproof.accountant.pairs.finite import skellam_pair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove


def stated(variance: Fraction, shift: int) -> DominatingPair[AddRemove]:
    """The pair as a guarantee."""
    pair = Product.of(skellam_pair(variance=variance, shift=shift))
    return DominatingPair(forward=pair, backward=pair, relation=AddRemove())


@pytest.mark.parametrize("variance", [Fraction(1, 1000), Fraction(7, 2), Fraction(5000)])
def test_masses_are_those_of_the_bessel_function(variance: Fraction) -> None:
    """Brackets of e^-v I_k(v) of a few units of 2^-120, by mpmath, and all sums to 1."""
    masses = skellam_masses(variance, 120)
    with mpmath.workdps(60):
        x = mpmath.mpf(variance.numerator) / variance.denominator
        for k in range(0, len(masses.lower), len(masses.lower) // 7):
            true = mpmath.besseli(k, x) * mpmath.exp(-x) * 2**120
            assert masses.lower[k] <= true <= masses.upper[k]
            assert masses.upper[k] - masses.lower[k] <= 2
    whole = 2 * sum(masses.upper) - masses.upper[0] + 2 * masses.beyond
    assert 0 <= whole - 2**120 <= 4 * len(masses.upper)


@pytest.mark.parametrize(
    ("variance", "shift", "loose"),
    [(Fraction(1, 4), 1, 1e-9), (Fraction(10), 4, 1e-9), (Fraction(400), 9, 1e-9)],
)
def test_profile_is_the_brute_force_one(variance: Fraction, shift: int, loose: float) -> None:
    """At or above that of the masses by scipy, by next to nothing."""
    far = int(40 * math.sqrt(variance)) + 60
    masses = ive(np.abs(np.arange(-far, far + 1)), float(variance))
    p, q = np.pad(masses, (shift, 0)), np.pad(masses, (0, shift))
    away = shift / math.sqrt(variance)
    for epsilon in (-away, 0.0, 0.5 * away, 2 * away):
        true = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        found = stated(variance, shift).delta(epsilon=epsilon)

        assert true * (1 - 1e-12) <= found.upper <= true + loose * (1 + true)


def test_many_outcomes_are_split_upwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few losses allowed the pair stays above the one with all, by little."""
    whole = [self_compose(stated(Fraction(90), 3), n).epsilon(delta=1e-6) for n in (1, 50)]
    monkeypatch.setattr(finite, "_OUTCOMES", 120)
    skellam_pair.cache_clear()
    few = stated(Fraction(90), 3)
    split = [self_compose(few, n).epsilon(delta=1e-6) for n in (1, 50)]
    skellam_pair.cache_clear()

    for one, other in zip(whole, split, strict=True):
        assert one.upper < other.upper < 1.003 * one.upper


def test_losses_out_of_reach_are_refused() -> None:
    """Far moves are refused in words, where their mass would be an infinite loss."""
    for variance, shift in ((Fraction(1, 2), 40), (Fraction(2**20), 2**14)):
        with pytest.raises(NotCertified, match="use more noise"):
            skellam_pair(variance=variance, shift=shift)


def test_tends_to_the_gaussian() -> None:
    """At a large variance a shift costs what a normal one does."""
    found = self_compose(stated(Fraction(10**6), 100), 100).epsilon(delta=1e-6)

    assert found.upper == pytest.approx(GDP(mu=1).epsilon(delta=1e-6).upper, rel=1e-3)
