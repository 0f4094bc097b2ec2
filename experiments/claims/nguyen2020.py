"""Nguyen, Ullman & Zakynthinou: halfspaces of large margin."""

from __future__ import annotations

import math
from fractions import Fraction

from scipy import integrate, stats

from dpproof.accountant import BoundedRange, ReplaceOne, compose
from experiments.claims.claim import Claim, Verdict
from experiments.claims.ranges import widest_range
from experiments.one_record_descent import price


def budget() -> str:
    """Compose the printed noise of all runs with the choice at the printed epsilon."""
    records, delta, runs, epsilon = 200, 1e-6, 5, 1.0
    training = price(records=records, epsilon=epsilon / runs, delta=delta / runs, runs=runs)
    choice = BoundedRange(epsilon=Fraction(1), relation=ReplaceOne())
    found = compose(training, choice).epsilon(delta=delta)
    assert 1.0115 < found.upper < 1.0130
    return f"at n = {records} the runs and the choice together cost {found.upper:.4f}, claimed 1"


def bisector_error(dimension: int) -> float:
    """Return the error of the bisector of two halfspaces of cosine 0.8, on either's distribution.

    The distribution is uniform on the sphere, given a margin of at least 1/sqrt(1000 d).
    """
    half, margin = math.acos(0.8) / 2, 1 / math.sqrt(1000 * dimension)

    def reaches(angle: float) -> float:
        """Return P(r sin(angle) >= margin) for the length r of a projection to the plane."""
        least = margin / math.sin(angle)
        return (1 - least * least) ** (dimension / 2 - 1) if least < 1 else 0.0

    wrong = integrate.quad(reaches, 1e-9, half, points=[2 * margin])[0] / math.pi
    inside = float(stats.beta.sf(margin**2, 0.5, (dimension - 1) / 2))
    return wrong / inside


def disjoint() -> str:
    """Integrate the bisector's error exactly."""
    expected = {10: 0.09333, 20: 0.09297, 100: 0.09269, 1000: 0.09262}
    found = {d: bisector_error(d) for d in expected}
    assert all(abs(found[d] - expected[d]) < 2e-5 for d in expected), found
    values = ", ".join(f"{e:.5f} at d = {d}" for d, e in found.items())
    return f"one hypothesis is within error 0.1 of both: {values}"


def net() -> str:
    """Enumerate how five counts can move, at the printed factor ε/2."""
    added, replaced = widest_range(0.5, (0, 1)), widest_range(0.5, (-1, 0, 1))
    assert abs(added - 0.5) < 1e-12
    assert abs(replaced - 1) < 1e-12
    return (
        f"at the factor printed for ε = 1 log-ratios have a range of {replaced:.4f} if a record is "
        f"replaced, and of {added:.4f} if one is added"
    )


def score_sensitivity() -> str:
    """Remove a record on which one run is as wrong as can be, and another one is right."""
    gamma = 0.1
    wrong, right = ((0.96 * gamma - score) / (0.86 * gamma) for score in (-1, 0.96 * gamma))
    lipschitz = 100 / (86 * gamma)
    assert abs(right) < 1e-12
    assert wrong > 1.09 * lipschitz
    return (
        f"at γ = {gamma} one record moves a score by {wrong:.4f}; the Lipschitz constant, the "
        f"only one printed, is {lipschitz:.4f}"
    )


CLAIMS = (
    Claim(
        title="Runs at (ε/k, δ/k) and a choice among them are (ε, δ)-DP",
        source="Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Algorithm 3",
        printed="k runs of noisy SGD spend (ε, δ), and the exponential mechanism picks one",
        verdict=Verdict.UNPROVED,
        check=budget,
        shipped="`MarginDescent`, exactly μ-GDP; a choice is paid for beside it (`ChooseIterate`)",
    ),
    Claim(
        title="Hypotheses within error 1/10 of codewords at distance d/10 are different",
        source="Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Claim 6.1",
        printed="the sets of hypotheses of error at most 1/10 are disjoint",
        verdict=Verdict.FALSE,
        check=disjoint,
        shipped="`experiments/lower_bounds.py`: Theorem 6 stands with codewords at distance 0.15 d",
    ),
    Claim(
        title="A net and the exponential mechanism are ε-DP",
        source="Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Algorithm 2 and Theorem 5",
        printed="ε-DP with scores of sensitivity 1/n",
        verdict=Verdict.HOLDS,
        check=net,
        shipped="`ExponentialHalfspaces`, with half the mistakes under add-remove",
    ),
    Claim(
        title="The choice among the runs is a call of the exponential mechanism",
        source="Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Algorithm 3",
        printed="no sensitivity of the score",
        verdict=Verdict.UNPROVED,
        check=score_sensitivity,
        shipped="`ExponentialMechanism` asks for the sensitivity, (0.96γ + 1)/(0.86γ) here",
    ),
)
