"""A test that attackers have, from bounds of the hockey-stick divergence around its threshold."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb

from dpproof.proofs.core.arithmetic import ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Product
from dpproof.proofs.core.rule import Application
from dpproof.proofs.core.statements import HockeyStick, merged
from dpproof.proofs.logic.lower_ends import PowerAtLeast
from dpproof.proofs.logic.statement import AtLeast
from dpproof.proofs.pairs.core_pairs import swapped as swapped_pair

_POINTS = 3
_Bounds = dict[Fraction, Fraction]


@frozen
class _Known:
    """H_t at three ratios t = e^epsilon.

    Attributes:
        places: epsilon, increasing.
        low: H is at least these at the places above 0, and that of (Q, P) below 0.
        high: H is at most these, likewise.
    """

    places: list[Fraction]
    low: list[Fraction]
    high: list[Fraction]

    def ratios(self) -> list[arb]:
        """Return the three odds t1 < t2 < t3, e to the power of each place."""
        return [ball(one).exp() for one in self.places]

    def heights(self, bounds: list[Fraction]) -> list[arb]:
        """Return bounds of H_t: below t = 1 it is 1 - t + t times that of (Q, P) at 1/t."""
        both = zip(self.places, self.ratios(), bounds, strict=True)
        return [ball(one) if x >= 0 else 1 - t + t * ball(one) for x, t, one in both]

    def falls(self) -> tuple[arb, arb]:
        """Return rates a below the first, above the second, with H_t + a t least between."""
        low, high = self.heights(self.low), self.heights(self.high)
        first, second, third = self.ratios()
        return (low[0] - high[1]) / (second - first), (high[1] - low[2]) / (third - second)

    def power(self, rate: arb) -> arb:
        """Return a lower bound of H_t + rate t between the outer ratios."""
        low, high = self.heights(self.low), self.heights(self.high)
        first, second, third = self.ratios()
        share = (second - first) / (third - second)
        before = low[1] - (high[2] - low[1]) * share + rate * first
        after = low[1] - (high[0] - low[1]) / share + rate * third
        return before.min(low[1] + rate * second).min(after.max(low[2] + rate * second))


def true_positive_rate(step: Application) -> tuple[str, ...]:
    """Accept a rate b at the false-positive rate a if H_t + a t >= b at every t > 0.

    Take l_i <= H_t <= u_i at t1 < t2 < t3, l_i = 0 if no premise says more.
    1. (u2 - l3)/(t3 - t2) <= a <= (l1 - u2)/(t2 - t1): the convex H_t + a t is no less at t1 and at
       t3 than at t2, so outside it is at least what it is at t2, which is at least l2 + a t2.
    2. Between t1 and t2, H is above the line through its points at t2 and t3, and between t2 and t3
       above that through t1 and t2. So it is above the polygon of heights
       c1 = l2 - (u3 - l2)(t2 - t1)/(t3 - t2), l2 and c3 = l2 - (u1 - l2)(t3 - t2)/(t2 - t1).
       And H never grows: between t2 and t3 it is at least l3.
    3. b is at most c1 + a t1, l2 + a t2 and the larger of c3 + a t3 and l3 + a t2.
    Source: Dong, Roth & Su (arXiv:1905.02383), Proposition 2.12. Proof: section 12 of
    proofs/theory/conversions.md.
    """
    claim, places = step.concludes(PowerAtLeast), list(step.witness.rationals("places"))
    rate, power = _exactly(claim.false_positive_rate), _exactly(claim.true_positive_rate)
    if len(places) != _POINTS or places != sorted(set(places)):
        raise RefusedError("the rule takes bounds at three epsilons, increasing")
    facts = _known(step, claim.product, places)
    require_at_most(rate, lambda: facts.falls()[0], "the false-positive rate")
    require_at_most(lambda: facts.falls()[1], rate, "how fast the divergence falls")
    require_at_most(power, lambda: facts.power(rate()), "the true-positive rate")
    return ()


def _exactly(value: Fraction) -> Callable[[], arb]:
    """Return an exact number as a ball at any precision."""
    return lambda: ball(value)


def _known(step: Application, product: Product, places: list[Fraction]) -> _Known:
    """Return the premises' bounds at some places; those from below are 0 by default."""
    swapped: Product = ()
    if places[0] < 0:
        swapped = merged(tuple((swapped_pair(pair), count) for pair, count in product))
    low: dict[bool, _Bounds] = {True: {}, False: {}}
    high: dict[bool, _Bounds] = {True: {}, False: {}}
    for premise in step.premises:
        fact = premise.claim
        if not isinstance(fact, HockeyStick | AtLeast):
            raise RefusedError("the rule takes bounds of a hockey-stick divergence")
        about = [side for side, one in ((True, product), (False, swapped)) if _same(one, fact)]
        if not about:
            raise RefusedError("the rule takes bounds of this product's divergence, or its swap's")
        for side in about:
            if isinstance(fact, AtLeast):
                low[side][fact.epsilon] = fact.delta
            else:
                high[side].update(fact.points)
    if not all(abs(x) in high[x >= 0] for x in places):
        raise RefusedError("the rule takes a bound from above at each of the three epsilons")
    least = [low[x >= 0].get(abs(x), Fraction(0)) for x in places]
    return _Known(places, least, [high[x >= 0][abs(x)] for x in places])


def _same(product: Product, fact: HockeyStick | AtLeast) -> bool:
    return dict(product) == dict(fact.product)
