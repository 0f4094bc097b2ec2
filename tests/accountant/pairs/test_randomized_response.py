"""The randomised-response pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dpproof.accountant import answers
from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.product import Product
from tests.accountant.pairs.builders import responses
from tests.contracts.definition import ball
from tests.contracts.pair_contract import Case, PairContract, flipped, log_ratio


class TestRandomizedResponse(PairContract):
    """Two and more categories, with and without infinite mass."""

    def cases(self) -> Sequence[Case]:
        """Small and large epsilons."""
        found = []
        for epsilon, categories, infinite in (
            (Fraction(1, 10**6), 2, Fraction(0)),
            (Fraction(1), 2, Fraction(0)),
            (Fraction(1, 2), 5, Fraction(0)),
            (Fraction(25), 3, Fraction(0)),
            (Fraction(7, 10), 2, Fraction(1, 10**6)),
            (Fraction(1, 10), 2, Fraction(1, 3)),
        ):
            pair = RandomizedResponsePair(epsilon=epsilon, categories=categories, infinite=infinite)
            definition = responses(epsilon, categories, infinite)
            found.append(Case(pair, definition, flipped(definition)))
        return found


def test_deltas_that_floats_round_to_0_or_1() -> None:
    """A stated delta of 1e-400 allows no pure epsilon, and one next to 1 is computed."""
    tiny = Fraction(1, 10**400)
    rare = Product.of(RandomizedResponsePair(epsilon=Fraction(1), infinite=tiny))
    assert answers.epsilon(rare, 0.0).upper == math.inf
    assert answers.delta(rare, 5.0).upper > 0.0
    assert answers.renyi(rare, 2.0).upper == math.inf
    sure = RandomizedResponsePair(epsilon=Fraction(1), infinite=1 - tiny)
    assert sure.profile(np.array([0.5, 5.0]))[1].min() >= 1.0


def test_as_many_categories_as_the_odds() -> None:
    """Where log(k - 1) is next to epsilon, K stays within its radius."""
    for epsilon, digits in ((Fraction(488), 212), (Fraction(461), 200), (Fraction(1595, 4), 173)):
        pair = RandomizedResponsePair(epsilon=epsilon, categories=7 * 10**digits)
        e, others = ball(epsilon).exp(), 7 * 10**digits - 1
        power = (ball(epsilon) / 1000).exp()
        moment = (e * power + 1 / power + others - 1) / (e + others)
        found = pair.cgf(np.array([0.001 + 0j]))
        error = abs(moment.log() - float(found.value[0].real))
        assert error <= float(found.radius[0]), (epsilon, digits)


def test_many_at_once_along_a_line() -> None:
    """K of many pairs at once is within few units of 120 digits, on the axis and far above it."""
    cases = [(Fraction(3, 10) + Fraction(k, 70), 2 + 3 * (k % 2)) for k in range(8)]
    pairs = [RandomizedResponsePair(epsilon=e, categories=k) for e, k in cases]
    s = np.concatenate([[0.7, 31.0, 4000.0], 31.0 + 1j * np.geomspace(10.0, 6e4, 9)])
    apart = RandomizedResponsePair.cgfs_along(pairs, s.real[:3], s[3:])
    for (epsilon, categories), one, other in zip(
        cases, RandomizedResponsePair.cgfs(pairs, s), apart, strict=True
    ):
        definition = responses(epsilon, categories, Fraction(0))
        for at, point in enumerate(s):
            true = definition.moment(complex(point))
            for found in (one, other):
                value, radius = complex(found.value[at]), float(found.radius[at])
                assert abs(log_ratio(true, value)) <= ball(radius)
                assert radius <= 1e-13 * (1.0 + abs(point))
