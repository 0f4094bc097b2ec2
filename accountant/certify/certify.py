"""The certificate of one number."""

from __future__ import annotations

import math
from typing import Any

from accountant import check
from accountant.certify.build import Steps, prove_point
from accountant.certify.hockey import Point
from accountant.check import Number
from accountant.errors import NotCertified, ParameterError
from accountant.guarantees.guarantee import Guarantee
from accountant.numerics.enclosure import float_down
from proofs.certificate import Certificate


def certify(
    guarantee: Guarantee[Any], *, delta: Number | None = None, epsilon: Number | None = None
) -> Certificate:
    """Prove that the mechanism is (epsilon, delta)-DP, one of the two given.

    The other is the guarantee's own upper end, raised by a relative 1e-6 at most, where the
    losses are smooth or on a lattice; rough losses may need more.

    Args:
        guarantee: what is to be certified.
        delta: where epsilon is asked for, in (0, 1]; a delta that is no float is rounded down.
        epsilon: where delta is asked for, at or above 0; rounded down likewise.
    Raises:
        ParameterError: both or none are given, or one is out of range.
        NotCertified: no rule of the checker covers a theorem in the derivation, or the number is
            infinite, or no proof comes near it.
    """
    if (delta is None) == (epsilon is None):
        raise ParameterError("delta", delta, "given, or else epsilon, and not both")
    point = _at_delta(guarantee, delta) if epsilon is None else _at_epsilon(guarantee, epsilon)
    steps = Steps()
    prove_point(steps, guarantee, point)
    return Certificate(tuple(steps.listed))


def _at_delta(guarantee: Guarantee[Any], delta: object) -> Point:
    exact = float_down(check.probability(delta=delta))
    found = guarantee.epsilon(delta=exact).upper
    if math.isinf(found):
        raise NotCertified(
            f"{guarantee.describe()} has no finite epsilon at delta = {exact:g}: there is "
            "nothing to certify; try a larger delta"
        )
    return Point(epsilon=found, delta=exact, moves=True)


def _at_epsilon(guarantee: Guarantee[Any], epsilon: object) -> Point:
    exact = float_down(check.non_negative(epsilon=epsilon))
    return Point(epsilon=exact, delta=guarantee.delta(epsilon=exact).upper, moves=False)
