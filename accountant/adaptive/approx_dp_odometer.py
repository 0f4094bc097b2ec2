"""The privacy odometer of approximate differential privacy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import cast, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.adaptive.approx_dp_filter import rho_and_delta
from dpproof.accountant.adaptive.mixture_bound import mixture_bound
from dpproof.accountant.adaptive.privacy_filter import Costs
from dpproof.accountant.adaptive.privacy_odometer import PrivacyOdometer, log_inverse_up
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import float_up
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION, Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.relation import AddRemove, R, Relation


@final
class ApproxDPOdometer(PrivacyOdometer[R]):
    """A running total of (epsilon, delta)-DP.

    Statement: let every mechanism, given the outputs before it, be rho_i-zCDP, or (e_i, d_i)-DP
        with rho_i that of pure e_i-DP, all chosen from those outputs alone. Let delta and
        failures < delta be fixed in advance, and for each t with sum_i d_i <= failures let l_t be
        the smaller of sum_i e_i (if every part has one) and of the l that solves
        sum_j w_j exp(x_j l - x_j (1 + x_j) sum_i rho_i) = 1 / (delta - failures), x_j = 2^{j/2}
        and w_j = 2 / (3 (|j| + 1) (|j| + 2)); else l_t is infinite. Then for every rule that stops
        at some T after looking at outputs, and every set S of outputs up to T on which l_T is
        finite, P(S) <= E_Q[e^{l_T}; S] + delta.
    Source: Whitehouse, Ramdas, Rogers & Wu (arXiv:2203.05481), for the mixture and the split of
        delta. Proof: proofs/theory/filters.md.
    Rounds: up.
    Laws: the privacy loss itself may exceed l_T with a probability above delta: (e, d)-DP does not
        bound it.

    Args:
        failures: how much the deltas of the parts may add up to, at or above 0; half of the delta
            that is asked by default. 0 is best if every part is pure or concentrated.
        relation: which datasets are neighbours; every guarantee has to be about the same.
    Example:
        >>> odometer = ApproxDPOdometer()
        >>> for _ in range(100):
        ...     odometer.spend(ApproxDP(epsilon=0.05, delta=1e-9))
        >>> round(odometer.spent(delta=1e-6), 2)
        3.21
        >>> odometer.spent(delta=1e-8)
        inf
    """

    __slots__ = ("_failures",)
    _UNITS = ("ρ", "δ")

    _failures: Fraction | None

    @overload
    def __init__(self: ApproxDPOdometer[AddRemove], *, failures: Number | None = None) -> None: ...
    @overload
    def __init__(self, *, failures: Number | None = None, relation: R) -> None: ...
    def __init__(
        self, *, failures: Number | None = None, relation: Relation = DEFAULT_RELATION
    ) -> None:
        self._failures = None if failures is None else arguments.non_negative(failures=failures)
        self._begin(cast("R", relation), parts=4)

    def _costs(self, guarantee: Guarantee[R]) -> Costs:
        """Return rho, delta, epsilon, and 1 if there is no epsilon."""
        none = Fraction(0)
        rho, delta = rho_and_delta(guarantee)
        if isinstance(guarantee, ApproxDP | PureDP):
            return rho, delta, guarantee.stated_epsilon, none
        return rho, delta, none, Fraction(1)

    def _bound(self, delta: Fraction) -> float:
        rho, failed, epsilon, concentrated = self._total
        kept = delta / 2 if self._failures is None else self._failures
        if not kept < delta:
            raise ParameterError("delta", delta, f"above failures = {float(kept):g}")
        if failed > kept:
            return math.inf
        mixed = mixture_bound(rho, log_inverse_up(delta - kept))
        return mixed if concentrated else min(mixed, float_up(epsilon))
