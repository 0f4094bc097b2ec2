"""Pairs with a Gaussian loss above a floor, by their definition at 50 digits."""

from __future__ import annotations

from itertools import pairwise

import flint

from dpproof.accountant.pairs.cut_gaussian import GaussianAboveFloor
from tests.contracts.definition import Ball, Definition, ball, complex_ball
from tests.contracts.pair_contract import Case, normal_tail


class AboveFloor(Definition):
    """An atom at the floor and a density above; Q has mass elsewhere."""

    def __init__(self, pair: GaussianAboveFloor) -> None:
        self.square, self.floor = ball(pair.mu_squared), ball(pair.lowest)
        self.mu, self.weight = self.square.sqrt(), pair.weight
        a = (self.floor - self.square / 2) / self.mu
        self.atom = normal_tail(-a) if self.weight == 1 else flint.arb(0)
        self.reverse = pair.reverse

    def compute_moment(self, s: complex) -> Ball:
        """The atom, and the density's integral over a range beyond which nothing is left."""
        t = complex_ball(s)
        t = -1 - t if self.reverse else t

        def integrand(x: Ball, _: bool) -> Ball:  # noqa: FBT001 -- Arb's signature
            e = -((x - self.square / 2) ** 2) / (2 * self.square) + t * x
            return self.weight * e.exp() / (self.mu * (2 * flint.arb.pi()).sqrt())

        centre = float((self.square * (0.5 + t.real)).mid())
        width = float(self.mu.mid())
        low = float(self.floor.mid())
        ends = [flint.acb(self.floor)]
        for k in range(-30, 31, 3):
            at = centre + k * width
            if at > low:
                ends.append(flint.acb(at))
        parts = pairwise(ends)
        total = sum((flint.acb.integral(integrand, a, b) for a, b in parts), flint.acb(0))
        return (t * self.floor).exp() * self.atom + total

    def compute_hockey_stick(self, epsilon: float) -> Ball:
        """E_P(1 - e^(eps - L))_+, by normal probabilities; the mirror if swapped."""
        if self.reverse:
            t = ball(epsilon).exp()
            return 1 - t + t * self._plain(-epsilon)
        return self._plain(epsilon)

    def _plain(self, epsilon: float) -> Ball:
        if ball(epsilon) >= self.floor:
            return self.weight * gaussian_hockey_stick_at(self.mu, ball(epsilon))
        atom = self.atom * (1 - (ball(epsilon) - self.floor).exp())
        a = (self.floor - self.square / 2) / self.mu
        density = normal_tail(a) - ball(epsilon).exp() * normal_tail(a + self.mu)
        return atom + self.weight * density


def gaussian_hockey_stick_at(mu: Ball, epsilon: Ball) -> Ball:
    """The profile of mu-GDP, from its textbook formula."""
    return normal_tail(epsilon / mu - mu / 2) - epsilon.exp() * normal_tail(epsilon / mu + mu / 2)


def case(pair: GaussianAboveFloor) -> Case:
    """With both definitions."""
    swapped = pair.swapped()
    assert isinstance(swapped, GaussianAboveFloor)
    return Case(pair, AboveFloor(pair), AboveFloor(swapped))
