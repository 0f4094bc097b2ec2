"""The orders that lower ends come from can be realised."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import FixedRuns, PoissonRuns, RunLaw
from dpproof.accountant.selection.finite_base import NeymanPearsonCurve
from dpproof.accountant.selection.profile import selection
from dpproof.accountant.selection.worst_instance import instance, near_worst
from dpproof.accountant.selection.worst_order import Lines
from tests.proofs.builders import ROUNDING, drawn_masses, drawn_runs, outcomes


def test_any_order_gives_a_lower_end() -> None:
    """Whatever k, worth and x are asked for, no instance exceeds the worst of all orders."""
    some = 0
    for seed in range(80):
        rng = np.random.default_rng(seed)
        runs = drawn_runs(rng)
        p, q = (np.array([float(x) for x in one]) for one in drawn_masses(rng, 4))
        base = outcomes(p, q)
        if not base.p.size:
            continue
        curve = NeymanPearsonCurve.of(base)
        for epsilon in (0.0, 0.5, 1.5):
            k, worth, x = Lines.of(curve, runs.law, blocks=8, masses=8).order(epsilon)
            strange = k, rng.uniform(size=x.size), np.maximum(k[1:], rng.uniform(size=x.size))
            true = Lines.of(curve, runs.law, blocks=64, masses=96).delta(epsilon)
            at, known = np.array([epsilon]), np.array([0.0, 2.0])
            several = near_worst(
                curve, runs.law, rng.uniform(0.0, 2.0, 9), known, [(k, worth, x), strange]
            )
            for one in (
                instance(curve, runs.law, (k, worth, x)),
                instance(curve, runs.law, strange),
                several,
            ):
                lower = one.lower(at)[0]
                some += lower > 0.0
                assert lower <= true + ROUNDING

    assert some > 300


def test_tests_of_many_orders_come_close() -> None:
    """Orders between those known lose little, and no test exceeds the worst of all orders."""
    one = selection(Product.of(GaussianPair(mu_squared=Fraction(1))), PoissonRuns(mean=20))
    epsilon = np.linspace(0.0, 6.0, 7)
    true = np.array(
        [Lines.of(one.above, one.runs).refined(float(at)).delta(float(at)) for at in epsilon]
    )
    lower = one.table_tests.lower(epsilon)
    assert (lower <= true).all()
    assert (lower >= 0.999 * true).all()


@pytest.mark.parametrize("mu_squared", [Fraction(1, 20), Fraction(1), Fraction(100)])
@pytest.mark.parametrize("law", [FixedRuns(count=3), PoissonRuns(mean=20)])
def test_chords_are_above_every_outcome(mu_squared: Fraction, law: RunLaw) -> None:
    """Delta is at least the sum over all outcomes of the largest line of each, and near it."""
    base = selection(Product.of(GaussianPair(mu_squared=mu_squared)), law).above
    lines = Lines.of(base, law, blocks=128, masses=96)
    middle, width, block, share = base.parts(lines.cuts)
    for epsilon in (0.0, 0.3, 2.0):
        s = math.exp(epsilon) * base.ratio[base.place(middle)]
        near, far = (
            np.maximum((g[block] - s[:, None] * y[block]).max(axis=1), 0.0)
            for g, y in zip(lines.gains, lines.costs, strict=True)
        )
        every = float((width * ((1.0 - share) * near + share * far)).sum())
        assert min(every, 1.0) <= lines.delta(epsilon) <= 1.05 * every + 1e-12


def test_an_outcome_too_small_for_its_place() -> None:
    """What has no mass under P to speak of, but much under Q, does not raise lower ends."""
    p, q = np.array([0.5, 0.5 - 1.5e-16, 1.5e-16]), np.array([0.3, 0.3, 0.4])
    law = FixedRuns(count=3)
    curve, swapped = (NeymanPearsonCurve.of(outcomes(*pair)) for pair in ((p, q), (q, p)))
    order = Lines.of(curve, law, blocks=64, masses=96).order(0.0)
    for epsilon in (-3.0, -1.0, -0.3, 0.0):
        above = Lines.of(swapped, law).delta(-epsilon)
        lower = instance(curve, law, order).lower(np.array([epsilon]))[0]
        assert lower <= -np.expm1(epsilon) + np.exp(epsilon) * above + ROUNDING
