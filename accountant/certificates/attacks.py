"""Prove bounds of attacks from one point (epsilon, delta), by duality."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from dpproof.accountant import answers
from dpproof.accountant.arithmetic.enclosure import Reals, float_up
from dpproof.accountant.certificates.format.serialize import Object
from dpproof.accountant.certificates.hockey_stick.choose import Point, distinct
from dpproof.accountant.certificates.prove import prove_point
from dpproof.accountant.certificates.single_number.renyi import power_order
from dpproof.accountant.certificates.steps import Steps
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import PairGuarantee
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rdp import RenyiGuarantee
from dpproof.proofs.core.certificate import show_rational

# Relative room for the rounding of a true-positive rate. Heuristic: the checker decides.
_ROOM: Final = Fraction(1, 2**40)
_NEGLIGIBLE: Final = 1e-9  # Share of a rate below which a delta need not be proved. Heuristic.
_ROUNDS: Final = 8  # Refinements of the search for an epsilon. Heuristic.
_POINTS: Final = 25  # Points in each refinement. Heuristic.
# Relative slacks of a power, tried in this order. Heuristic.
_SLACKS: Final = (2.0**-36, 2.0**-30, 2.0**-26, 2.0**-22)


def prove_true_positive_rate(steps: Steps, guarantee: Guarantee[Any], rate: float) -> None:
    """Add the steps that bound P(S) of every event S with Q(S) at most a rate.

    P(S) <= e^eps a + delta(eps) and P(S) <= 1 - (1 - a - delta(eps)) e^-eps at every eps >= 0, and
    the least of all is the trade-off (Dong, Roth & Su, arXiv:1905.02383, Proposition 2.12).

    Raises:
        NotCertified: no epsilon leaves anything below 1, or no proof comes near the best one.
    """
    if isinstance(guarantee, PairGuarantee):  # its proof uses each pair in its own order alone
        ways = distinct(guarantee.to_pair())
        most = max(answers.true_positive_rate(product, rate).upper for product in ways)
    else:
        most = guarantee.true_positive_rate(false_positive_rate=rate).upper
    if isinstance(guarantee, RenyiGuarantee) and _by_order(steps, guarantee, rate, most):
        return

    def by_event(epsilon: Reals) -> Reals:
        return np.asarray(np.exp(epsilon) * rate + _deltas(guarantee, epsilon))

    def by_rest(epsilon: Reals) -> Reals:
        missed = (rate + _deltas(guarantee, epsilon)) * np.exp(-epsilon)
        return np.asarray(missed - np.expm1(-epsilon))

    tried = [
        _least(by_event, -math.log(max(rate, 1e-300))),
        _least(by_rest, -math.log(max(1.0 - most, 1e-16))),
    ]
    bound, epsilon = min(tried)
    if not bound < 1.0:
        raise NotCertified(
            f"the true-positive rate at a false-positive rate of {rate:.6g} has no proved bound "
            "below 1, so there is nothing to certify; ask at a smaller rate"
        )
    least = max(guarantee.delta(epsilon=epsilon).upper, bound * _NEGLIGIBLE)
    delta = _proved_delta(steps, guarantee, Point(epsilon, least, moves=False))
    exact, other = Fraction(math.exp(epsilon)), Fraction(math.exp(-epsilon))
    power = min(exact * Fraction(rate) + delta, 1 - (1 - Fraction(rate) - delta) * other)
    shown = min(Fraction(float_up(power * (1 + _ROOM))), Fraction(1))
    said = {**_rates(Fraction(rate), shown), **_about(steps)}
    steps.add("convert/approx-true-positive-rate", said, [len(steps.listed) - 1], {})


def prove_advantage(steps: Steps, guarantee: Guarantee[Any]) -> None:
    """Add the steps that bound P(S) - Q(S) of every event: delta at epsilon = 0."""
    delta = _proved_delta(steps, guarantee, Point(0.0, guarantee.advantage().upper, moves=False))
    said: Object = {"notion": "advantage", "advantage": show_rational(delta), **_about(steps)}
    steps.add("convert/approx-advantage", said, [len(steps.listed) - 1], {})


def _by_order(steps: Steps, guarantee: RenyiGuarantee[Any], rate: float, most: float) -> bool:
    """Add the steps by one order if one excludes a power slightly above the known one.

    It returns whether it did.
    """
    for slack in _SLACKS:
        power = most * (1.0 + slack)
        order = power_order(guarantee, rate, power)
        if order is not None:
            place, _ = steps.derive(guarantee.derivation)
            said = {**_rates(Fraction(rate), Fraction(power)), **_about(steps, place)}
            hint: Object = {"order": show_rational(order)}
            steps.add("convert/renyi-true-positive-rate", said, [place], hint)
            return True
    return False


def _proved_delta(steps: Steps, guarantee: Guarantee[Any], point: Point) -> Fraction:
    """Prove a point, and return the delta that was proved."""
    prove_point(steps, guarantee, point)
    return Fraction(str(steps.listed[-1].conclusion["delta"]))


def _rates(false: Fraction, true: Fraction) -> Object:
    """Return both rates in the certificate's JSON."""
    return {
        "notion": "true-positive-rate",
        "false_positive_rate": show_rational(false),
        "true_positive_rate": show_rational(true),
    }


def _about(steps: Steps, place: int = -1) -> Object:
    """Return the relation and the distance of the datasets that a step compares."""
    before = steps.listed[place].conclusion
    return {name: before[name] for name in ("relation", "steps")}


def _deltas(guarantee: Guarantee[Any], epsilon: Reals) -> Reals:
    """Return upper ends of delta, for a pair all computed together."""
    if not isinstance(guarantee, PairGuarantee):
        return np.array([guarantee.delta(epsilon=one).upper for one in epsilon.tolist()])
    ends = [answers.deltas(product, epsilon)[1] for product in distinct(guarantee.to_pair())]
    return np.asarray(np.max(ends, axis=0))


def _least(bound: Callable[[Reals], Reals], end: float) -> tuple[float, float]:
    """Return the least value of a function with one minimum on [0, end], and its place.

    Heuristic: it is found on ever finer grids.
    """
    left, right = 0.0, end
    for _ in range(_ROUNDS):
        x = np.linspace(left, right, _POINTS)
        values = bound(x)
        at = int(np.argmin(values))
        left, right = float(x[max(at - 1, 0)]), float(x[min(at + 1, _POINTS - 1)])
    return float(values[at]), float(x[at])
