"""What every pair owes the engine: inherit, write the definition out, and the battery runs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product as pairs_of
from typing import Any, final

import flint
import numpy as np
import pytest

from dpproof.accountant import answers
from dpproof.accountant.bound import Bound
from dpproof.accountant.engine.saddle_point import find_saddle
from dpproof.accountant.engine.shared_contours import contour_at
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.pair import Pair, log_decay
from dpproof.accountant.pairs.product import Product
from tests.contracts.definition import Ball, Definition, Outcomes, ball, complex_ball

TILTS = (1e-6, 0.03, 0.7, 4.0, 30.0)
HEIGHTS = (0.0, 1e-5, 0.4, 3.0, 25.0, 300.0)
FREQUENCIES = (1e-3, 0.1, 0.5, 1.5, 4.0, 11.0, 40.0)
NARROW = 1e-9


@final
@dataclass(frozen=True)
class Case:
    """A pair next to its definition and that of the pair in the other order."""

    pair: Pair
    definition: Definition
    swapped: Definition


def log_ratio(true: Ball, value: complex) -> Ball:
    """log(true) - value up to a multiple of 2 pi i."""
    return (true / complex_ball(value).exp()).log()


def normal_tail(x: Ball) -> Ball:
    """Phi(-x)."""
    return (x / flint.arb(2).sqrt()).erfc() / 2


def gaussian_hockey_stick(mu: float, epsilon: float) -> Ball:
    """The profile of mu-GDP, from its textbook formula."""
    m, e = ball(mu), ball(epsilon)
    return normal_tail(e / m - m / 2) - e.exp() * normal_tail(e / m + m / 2)


def log_moment(pair: Pair, c: float) -> Bound:
    """K(c) as the pair itself encloses it."""
    found = pair.cgf(np.array([c + 0j]))
    value, radius = float(found.value.real[0]), float(found.radius[0])
    return Bound(value - radius, value + radius)


class PairContract(ABC):
    """The battery; a test class inherits it and names its cases."""

    tilts: Sequence[float] = TILTS
    heights: Sequence[float] = HEIGHTS
    frequencies: Sequence[float] = FREQUENCIES
    profile_width: float = NARROW
    bracket_width: float = NARROW

    @abstractmethod
    def cases(self) -> Sequence[Case]:
        """Typical and extreme instances."""

    def epsilons(self, pair: Pair) -> list[float]:
        """Where profiles are compared: both signs, tiny, at and around the largest loss."""
        top = pair.max_loss
        scale = top if math.isfinite(top) else 4.0 * math.sqrt(2.0 * pair.zcdp_bound)
        near = [top * (1 - 1e-9), top, top * (1 + 1e-9)] if math.isfinite(top) else [2.0 * scale]
        inside = [scale * x for x in (-1.5, -0.6, -0.01, 1e-12, 0.02, 0.5, 0.9)]
        return sorted([0.0, *inside, *near])

    def test_cumulants(self) -> None:
        """K is within its radius of the definition, on the real axis and far above it."""
        for case in self.cases():
            for c in self.tilts:
                s = c + 1j * np.array(self.heights)
                for batch in (s, *np.split(s, s.size)):
                    found = case.pair.cgf(batch)
                    assert not np.isnan(found.value).any()
                    assert (found.radius >= 0).all()
                    for one, value, radius in zip(batch, found.value, found.radius, strict=True):
                        true = case.definition.moment(complex(one))
                        size = ball(float(value.real)).exp()
                        if not true.rad() < 1e-20 * size:
                            continue  # the definition itself has too few digits here
                        if math.isinf(radius):
                            assert abs(true).lower() <= size.upper()
                        else:
                            away = abs(log_ratio(true, complex(value)))
                            assert away.lower() <= ball(radius)

    def test_cumulants_of_many(self) -> None:
        """K of all cases at once meets K of each alone, and is hardly less narrow."""
        pairs = [case.pair for case in self.cases()]
        for kind in {type(pair) for pair in pairs}:
            some = [pair for pair in pairs if type(pair) is kind]
            for c in (-0.63, *self.tilts):
                s = c + 1j * np.array(self.heights)
                for pair, found in zip(some, kind.cgfs(some, s), strict=True):
                    alone = pair.cgf(s)
                    known = np.isfinite(found.radius)
                    assert (known == np.isfinite(alone.radius)).all()
                    off = np.exp(found.value - alone.value)[known] - 1.0
                    radius = (found.radius + alone.radius)[known]
                    assert (np.abs(off) <= 2.0 * np.minimum(radius, 1.0) + 1e-15).all()
                    assert (found.radius <= 2.0 * alone.radius + 1e-300).all()

    def test_cumulants_between_minus_one_and_zero(self) -> None:
        """K is within its radius of the definition where what P and Q share is computed."""
        for case in self.cases()[:3]:
            s = -0.63 + 1j * np.array([0.0, 3.0])
            found = case.pair.cgf(s)
            for one, value, radius in zip(s, found.value, found.radius, strict=True):
                true = case.definition.moment(complex(one))
                size = ball(float(value.real)).exp()
                if not true.rad() < 1e-20 * size:
                    continue  # as above
                if math.isinf(radius):
                    assert abs(true).lower() <= size.upper()
                else:
                    assert abs(log_ratio(true, complex(value))).lower() <= ball(radius)

    def test_cumulants_are_narrow(self) -> None:
        """On the real axis the radius is small against K itself, elsewhere against 1 and K."""
        for case in self.cases():
            for c in self.tilts[1:]:
                found = case.pair.cgf(np.array([c + 0j]))
                assert found.radius[0] <= 1e-10 * abs(found.value[0])
                both = case.pair.cgf(c + 1j * np.array([0.0, 0.4]))
                if both.value[1].real > both.value[0].real - 5.0:
                    assert both.radius[1] <= 1e-9 * max(1.0, abs(both.value[1]))

    def test_steering_follows_the_cumulants(self) -> None:
        """What places contours is near K and its slope; by default it is their differences."""
        for case in self.cases():
            for c in () if type(case.pair).steer is Pair.steer else self.tilts[1:]:
                found = case.pair.cgf(c * np.array([0.999, 1.0, 1.001]) + 0j)
                before, at, after = found.value.real.tolist()
                if max(found.radius) < 1e-7 * min(abs(at), after - before):
                    value, slope, _ = (float(one[0]) for one in case.pair.steer(np.array([c])))
                    assert value == pytest.approx(at, rel=1e-3)
                    assert slope == pytest.approx((after - before) / (0.002 * c), rel=1e-2)

    def test_profile(self) -> None:
        """The closed profile brackets the definition, narrowly."""
        for case in self.cases():
            epsilon = np.array(self.epsilons(case.pair))
            found = case.pair.profile(epsilon)
            if found is None:
                continue
            for x, lower, upper in zip(epsilon, *found, strict=True):
                true = case.definition.hockey_stick(float(x))
                assert ball(lower).lower() <= true.upper()
                assert true.lower() <= ball(upper).upper()
                assert upper - lower <= self.profile_width * (1e-3 + upper)

    def test_profile_is_convex_and_falls(self) -> None:
        """In t = e^epsilon the profile is convex, falls, and lies between 1 - t and 1."""
        for case in self.cases():
            t = np.linspace(0.05, 1.2 * math.exp(min(case.pair.max_loss, 3.0)), 41)
            found = case.pair.profile(np.log(t))
            if found is None:
                continue
            lower, upper = found
            assert (lower[1:] <= upper[:-1]).all()
            assert (lower[1:-1] <= 0.5 * (upper[:-2] + upper[2:])).all()
            assert (upper >= 1 - t - 1e-15).all()
            assert (lower <= 1.0).all()

    def test_engine_agrees(self) -> None:
        """The contour, without the closed form, and the engine's answers bracket the definition."""
        for case in self.cases():
            product = Product.of(case.pair)
            for x in self.epsilons(case.pair):
                true = case.definition.hockey_stick(x)
                found = answers.delta(product, x)
                assert ball(found.lower).lower() <= true.upper()
                assert true.lower() <= ball(found.upper).upper()
                if not 0 <= x < 0.95 * case.pair.max_loss:
                    continue
                low, high = self.by_contour(case.pair, x)
                finite = true - self.infinite(case)
                assert low == -math.inf or ball(low).exp().lower() <= finite.upper()
                assert finite.lower() <= ball(high).exp().upper()

    def by_contour(self, pair: Pair, epsilon: float) -> tuple[float, float]:
        """Log bounds of the finite part of delta from K alone, or none where that is refused."""
        above, below = Product.of(pair.above(1)), Product.of(pair.below(1))
        ends = []
        for product in dict.fromkeys((below, above)):
            saddle = find_saddle(product, lambda one: one.epsilon - epsilon)
            try:
                ends.append(contour_at(product, saddle).log_profile(np.array([epsilon])))
            except NotCertified:
                return -math.inf, 0.0
        return float(ends[0][0][0]), float(ends[-1][1][0])

    def infinite(self, case: Case) -> Ball:
        """P's mass where Q has none, from the definition."""
        if not isinstance(case.definition, Outcomes):
            return flint.arb(0)
        return sum((p for p, q in case.definition.masses if q == 0), flint.arb(0))

    def test_infinite_mass(self) -> None:
        """The stated infinite mass is the definition's, exactly 0 where that is 0."""
        for case in self.cases():
            true = self.infinite(case)
            stated = case.pair.infinite_mass
            assert (true == 0) == (stated == 0.0)
            assert abs(true - ball(stated)).lower() <= ball(2 * math.ulp(stated))

    def test_swapped(self) -> None:
        """Swapping twice changes nothing, once gives H_t(P|Q) = 1 - t + t H_{1/t}(Q|P)."""
        for case in self.cases():
            self.assert_same(case.pair.swapped().swapped(), case.pair)
            other = Product.of(case.pair.swapped())
            for x in self.epsilons(case.pair):
                true = case.definition.hockey_stick(x)
                t = ball(x).exp()
                found = answers.delta(other, -x)
                assert (1 - t + t * ball(found.lower)).lower() <= true.upper()
                assert true.lower() <= (1 - t + t * ball(found.upper)).upper()
                flipped = case.swapped.hockey_stick(-x)
                assert ball(found.lower).lower() <= flipped.upper()
                assert flipped.lower() <= ball(found.upper).upper()

    def assert_same(self, one: Pair, other: Pair) -> None:
        """Equal as values."""
        assert one == other
        assert hash(one) == hash(other)

    @pytest.mark.parametrize("order", [1.0 + 1e-6, 1.5, 2.0, 9.0])
    def test_renyi(self, order: float) -> None:
        """The Renyi divergence is log M(order - 1) / (order - 1), infinite with infinite mass."""
        for case in self.cases():
            found = answers.renyi(Product.of(case.pair), order)
            if self.infinite(case) != 0:
                assert found.lower == found.upper == math.inf
                continue
            true = case.definition.moment(order - 1.0).real.log() / ball(order - 1.0)
            assert ball(found.lower).lower() <= true.upper()
            assert true.lower() <= ball(found.upper).upper()

    def test_max_loss(self) -> None:
        """Above the largest loss only the infinite mass is left, just below there is more."""
        for case in self.cases():
            top = case.pair.max_loss
            if not math.isfinite(top):
                continue
            true = case.definition.hockey_stick(top)
            assert (true - self.infinite(case)).lower() <= 0
            less = case.definition.hockey_stick(top - 1e-6 * max(abs(top), 1e-3))
            assert (less - self.infinite(case)).upper() > 0

    def test_bounds_of_other_notions(self) -> None:
        """K(s) <= rho s (s + 1), also for rho beyond s, and delta <= that of the stated mu."""
        for case in self.cases():
            rho, mu = case.pair.zcdp_bound, case.pair.gdp_bound
            assert not math.isnan(rho + mu)
            if math.isfinite(rho):
                for c in self.tilts:
                    true = case.definition.moment(c).real.log()
                    assert true.lower() <= (ball(rho) * ball(c) * (ball(c) + 1)).upper()
            for c, rest in pairs_of(self.tilts, (1e-3, 0.5, 1.0)):
                beyond = case.pair.rho_beyond(rest * c)
                if math.isfinite(beyond):
                    true = case.definition.moment(c).real.log()
                    assert true.lower() <= (ball(beyond) * ball(c) * (ball(c) + 1)).upper()
            if math.isfinite(mu):
                for x in self.epsilons(case.pair):
                    true = case.definition.hockey_stick(x)
                    assert true.lower() <= gaussian_hockey_stick(mu, x).upper()

    def test_smoothness(self) -> None:
        """The characteristic function of the tilted loss never exceeds its stated decay."""
        for case in self.cases():
            for c in self.tilts[1:4]:
                known = case.pair.smoothness(c, log_moment(case.pair, c))
                y = np.array(self.frequencies)
                if known.span:
                    y = y[y < math.pi / known.span]
                bound = log_decay([(known, 1)], y)
                assert (np.diff(bound) <= 1e-12).all()
                start = abs(case.definition.moment(c))
                for one, stated in zip(y, bound, strict=True):
                    true = abs(case.definition.moment(c + 1j * float(one))) / start
                    assert true.lower() <= (ball(stated) + ball(1e-12)).exp()
                    if known.atoms:
                        p, q, apart = known.atoms
                        turned = abs(p + q * np.exp(1j * float(one) * apart))
                        assert true.lower() <= ball(1 - p - q + turned + 1e-9)

    def test_lattice(self) -> None:
        """Every loss is on the lattice, and the adjacency is at or below the true one."""
        for case in self.cases():
            if not isinstance(case.definition, Outcomes):
                assert case.pair.lattice(1.0) is None
                continue
            for c in self.tilts[:4]:
                found = case.pair.lattice(c)
                if found is None:
                    continue
                tilted: dict[int, Any] = {}
                for p, q in case.definition.masses:
                    if p > 0 and q > 0:
                        loss = (p / q).log()
                        index = round(float((loss - ball(found.offset)) / ball(found.span)))
                        at = ball(found.offset) + index * ball(found.span)
                        slack = 2 * math.ulp(found.offset) + abs(index) * 2 * math.ulp(found.span)
                        assert abs(loss - at).lower() <= ball(slack)
                        mass = p * (ball(c) * loss).exp()
                        tilted[index] = tilted.get(index, flint.arb(0)) + mass
                total = sum(tilted.values(), flint.arb(0))
                zero = flint.arb(0)
                pairs = [mass * tilted.get(k + 1, zero) for k, mass in tilted.items()]
                true = 2 * sum(pairs, zero) / total**2
                assert ball(found.adjacency).lower() <= true.upper()

    @pytest.mark.parametrize("count", [1, 1000])
    def test_above_and_below(self, count: int) -> None:
        """``above`` dominates, ``below`` is dominated, and they are close."""
        for case in self.cases():
            epsilon = np.array(self.epsilons(case.pair))
            ends = [
                case.pair.below(count).profile(epsilon),
                case.pair.above(count).profile(epsilon),
            ]
            if ends[0] is None or ends[1] is None:
                assert case.pair.above(count) == case.pair == case.pair.below(count)
                continue
            for x, lower, upper in zip(epsilon, ends[0][0], ends[1][1], strict=True):
                true = case.definition.hockey_stick(float(x))
                assert ball(lower).lower() <= true.upper()
                assert true.lower() <= ball(upper).upper()
                assert upper - lower <= self.bracket_width * (1e-3 + upper)


def masses(pairs: Sequence[tuple[Fraction, Fraction]]) -> Outcomes:
    """Outcomes of rational masses."""
    return Outcomes([(ball(p), ball(q)) for p, q in pairs])


def flipped(outcomes: Outcomes) -> Outcomes:
    """The other order."""
    return Outcomes([(q, p) for p, q in outcomes.masses])
