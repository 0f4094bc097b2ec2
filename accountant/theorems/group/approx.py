"""Group privacy of approximate differential privacy."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT, exp_up
from dpproof.accountant.guarantees.theorem import Theorem
from dpproof.accountant.relation import R

GROUP_APPROX_DP: Final = Theorem(
    rule="group/approx-dp",
    source="Vadhan 2017, Lemma 2.2; proved in group_approx",
    attained=Attained.NO,  # loses information
    again=lambda premises, given: group_approx(premises[0], size=given["size"]),
    lossless=False,
)


def group_approx(guarantee: ApproxDP[R], *, size: int) -> ApproxDP[R]:
    """Multiply epsilon by the size of the group, and add up delta along the chain.

    Statement: (epsilon, delta)-DP for neighbours is (size epsilon, delta')-DP along a chain of
        size neighbours, delta' = delta (e^{size epsilon} - 1)/(e^epsilon - 1), at most 1.
    Assumes: nothing.
    Source: Vadhan, "The complexity of differential privacy", 2017, Lemma 2.2 (with the larger
        size e^{(size-1) epsilon} delta).
    Proof: P_0(S) <= e^eps P_1(S) + delta <= e^{2 eps} P_2(S) + (1 + e^eps) delta, and so on: the
        factor of delta is the sum of e^{i epsilon} for i < size.
    Rounds: delta up, by at most 2**-60 relative.

    Args:
        guarantee: holds for one step between neighbours.
        size: number of steps, from 1 to 10**12.

    Returns:
        ApproxDP for datasets that size steps connect.
    Laws: size 1 changes nothing; monotone in size; ``group_trade_off`` of the same statement is
        no weaker.

    Example:
        >>> group_approx(ApproxDP(epsilon=0, delta=0.125), size=3).stated_delta
        Fraction(3, 8)
    """
    times = arguments.count(size=size)
    derivation = applied(
        GROUP_APPROX_DP, f"{guarantee.describe()}, for groups of {times}", guarantee, size=times
    )
    return ApproxDP(
        epsilon=times * guarantee.stated_epsilon,
        delta=_delta(guarantee.stated_epsilon, guarantee.stated_delta, times),
        relation=guarantee.relation,
        derivation=derivation,
    )


def _delta(epsilon: Fraction, delta: Fraction, times: int) -> Fraction:
    """Return delta (e^{n eps} - 1)/(e^eps - 1), rounded up, at most 1."""
    if delta == 0 or times == 1:
        return delta
    if (times - 1) * epsilon > MAX_EXPONENT:
        return Fraction(1)
    # (e^{n eps} - 1)/(e^eps - 1) = 1 + r + ... + r^(n-1) grows with r, so r up is safe.
    ratio = exp_up(epsilon)
    return min(Fraction(1), delta * _geometric_sum(ratio, times))


def _geometric_sum(ratio: Fraction, terms: int) -> Fraction:
    """Return 1 + r + ... + r^(terms-1) for r >= 1, rounded up.

    It doubles: S(2m) = S(m)(1 + r^m).
    """
    total, power = Fraction(0), Fraction(1)
    for bit in f"{terms:b}":
        total, power = _up(total * (1 + power)), _up(power * power)
        if bit == "1":
            total, power = _up(total + power), _up(power * ratio)
    return total


def _up(value: Fraction) -> Fraction:
    """Round up by at most 2**-200, relative to a value that is 0 or at least 1."""
    return Fraction(-((-value.numerator << 200) // value.denominator), 1 << 200)
