"""Objective perturbation by oracles, repaired: averages (OPSamp), and on a sphere (OPDisc)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import ApproxDP, ParameterError, PureDP, arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.guarantees.rounding import short_up, show, sqrt_up
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import AVERAGED_CHOICES, LIFTED_CHOICE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.records import Integers
from dpproof.mechanisms.learning.separators.oracles import EnumerationOracle, Oracle, Problem
from dpproof.mechanisms.learning.separators.separator_perturbation import (
    OracleChoice,
    PerturbedChoice,
    exact,
    times_moved,
)
from dpproof.mechanisms.learning.separators.spaces import Space, patterns
from dpproof.mechanisms.mechanism import Outputs, record
from dpproof.mechanisms.samplers import Rng, discrete_laplace, geometric, spherical_rounded
from dpproof.mechanisms.samplers.arrays import multiply_add

MECHANISM_AVERAGED_PERTURBATION: Final = Theorem(
    rule="mechanism/averaged-perturbation",
    source="proofs/theory/separators.md, Theorem 5",
    attained=Attained.NO,  # a tail bound
)

_LEAST: Final = Fraction(1, 2**100)
_MOST: Final = 2**100
_MOST_CALLS: Final = 2**20
_FINE: Final = 2**10  # Mean of the geometric noise at least, in its units. Heuristic.
# Shifts of the noise that are tried, in units of the smallest that the lemma takes. Heuristic.
_SHIFTS: Final = np.geomspace(1.02, 200.0, 200)
# Relative errors of binary64 that p, and the terms of kl, may have. Soundness depends on them.
_ROOM: Final = 1e-12


def _moderate(value: Number, name: str = "value") -> Fraction:
    """Keep a number that floats hold with all digits."""
    exact_value = arguments.positive(**{name: value})
    if not _LEAST <= exact_value <= _MOST:
        raise ParameterError(name, value, "in [2^-100, 2^100]")
    return exact_value


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class AveragedPerturbation(OracleChoice[R]):
    """Release the average of perturbed minima, with Laplace noise.

    Each of ``calls`` minima is one of losses minus the product of the candidate and its own
    geometric noise. On neighbours the minima with the same noise are close on average, so their
    sums are close but with probability delta. Averages are meaningful for convex losses, such as
    ``HingeLoss``; the noise is useful for few coordinates and many records only
    (``share`` says how much of the space it covers).

    Statement: let candidates lie in a box of d sides that add up to D. Let one record move the
        difference of the objectives of w and u by at most slope ||w - u||_1, and the noise on a
        coordinate be geometric of a scale. Let c > d slope be whole, z = e^(-c / scale) and
        p = (1 - z) / (1 - z d slope / c), or p = 1 - z and c >= slope for d = 1. If q >= p with
        calls kl(q || p) >= log(1/delta), or q = 1, the sum of the minima plus discrete Laplace
        noise of scale calls D q / epsilon is (epsilon, delta)-DP.
    Assumes: averaged choices; random bits.
    Source: proofs/theory/separators.md, Theorem 5, after Neel, Roth, Vietri & Wu 2019, Algorithm 2
        (OPSamp), whose Lemma 9 is false (docs/CLAIMS.md).

    Args:
        epsilon: nats, in [2^-100, 2^100].
        delta: in [2^-100, 1).
        space: the candidates, such as ``Grid(1, 50)``.
        calls: the number of minima that are averaged, at most 2^20.
        rate: one over the mean of a coordinate's noise, in losses, in [2^-100, 2^100]. Less of it
            makes minima closer to each other, and farther from the best.
        loss: of a candidate at a record.
        oracle: an exact one; by default ``EnumerationOracle()``.
        relation: the neighbouring relation; replace-one costs twice the slope.
    Outputs:
        A record with the field ``weights``: the noisy average, floats of shape (coordinates,).
    Raises:
        ParameterError: as for ``SeparatorPerturbation``; an oracle with a tolerance.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Grid, HingeLoss
        >>> given = {"space": Grid(1, 8), "loss": HingeLoss(), "relation": AddRemove()}
        >>> fit = AveragedPerturbation(epsilon=1, delta=1e-6, calls=500, rate=0.002, **given)
        >>> round(fit.share, 3)
        0.02
        >>> fit.release([([1], 1), ([1], -1)] * 500).weights.shape
        (1,)
    """

    epsilon: Fraction = field(converter=_moderate)
    delta: Fraction = field(
        converter=parameters.open_probability,
        validator=parameters.within(_LEAST, 1, "in [2^-100, 1)"),
    )
    calls: int = field(
        converter=parameters.count,
        validator=parameters.within(1, _MOST_CALLS, f"at most {_MOST_CALLS}"),
    )
    rate: Fraction = field(converter=_moderate)
    oracle: Oracle = field(factory=EnumerationOracle, validator=exact)

    @property
    def share(self) -> float:
        """Return the share lambda / R of the box by which averages may differ; 1 if unknown."""
        return float(self._stability.share)

    @property
    def _unit(self) -> int:
        """Return the worth of one loss, in units of the noise."""
        return _FINE * max(1, 1 << math.ceil(self.rate).bit_length())

    @property
    def _stability(self) -> Stability:
        space, unit = self.space, self._unit
        slope = times_moved(self.relation) * self.loss.steepness(space) * unit / space.gap
        return Stability(
            space.coordinates, slope, unit / self.rate, self.calls, float(self.delta) * (1 - _ROOM)
        )

    @property
    def _box(self) -> int:
        """Return the sum of the sides of the box."""
        return self.space.separators * self.space.gap

    @property
    def scale(self) -> Fraction:
        """Return the scale of the Laplace noise on the sum of the minima."""
        return max(1, math.floor(self.calls * self._box * self._stability.share)) / self.epsilon

    def guarantee(self) -> ApproxDP[R]:
        """Return the (epsilon, delta)-DP guarantee of a noisy average of minima."""
        found = self._stability
        node = applied(
            MECHANISM_AVERAGED_PERTURBATION,
            f"sums of {self.calls} minima differ by less than {show(found.share)} of the most but "
            f"with probability {show(self.delta)}, which Laplace noise of scale {show(self.scale)} "
            f"hides ({self.relation})",
            assumptions=(
                AVERAGED_CHOICES(
                    calls=self.calls, box=self._box, slope=show(found.slope), relation=self.relation
                ),
                RANDOM_BITS(),
            ),
            coordinates=found.coordinates,
            slope=found.slope,
            reach=found.shift,
            noise=found.scale,
            calls=self.calls,
            box=self._box,
            share=found.share,
            scale=self.scale,
        )
        return ApproxDP(
            epsilon=self.epsilon, delta=self.delta, relation=self.relation, derivation=node
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Average ``count`` times on each dataset: records of shape (len(datasets), count)."""
        space, width = self.space, self.space.coordinates
        read = [patterns(data, width, self.loss.largest_feature) for data in datasets]
        levels, steps = np.array(space.levels), len(space.levels) - 1
        runs, scale, noise = count * self.calls, self.scale, self._stability.scale
        rounded = []
        for data in read:
            drawn = geometric(noise, runs * width, rng)
            pulls = multiply_add(-space.gap, drawn, np.zeros(len(drawn), dtype=np.int64))
            problem = Problem(space, self.loss, data, self._unit)
            places = np.repeat(pulls.reshape(runs, width), steps, axis=1)
            minima = self.oracle.minima(problem, places)
            sums = levels[minima].reshape(count, self.calls, width).sum(axis=1).reshape(-1)
            noisy = multiply_add(1, sums, discrete_laplace(scale, count * width, rng))
            rounded.append((noisy / self.calls).astype(np.float64).reshape(count, width))
        return record(2, weights=np.stack(rounded))


@final
@dataclass(frozen=True, slots=True)
class Stability:
    """A bound of the distance of sums of minima on neighbours, but with probability delta."""

    coordinates: int
    slope: Fraction
    scale: Fraction
    calls: int
    delta: float

    @property
    def shift(self) -> int:
        """Return the c of the lemma, chosen to make p small."""
        if self.coordinates == 1:
            return math.ceil(self.slope)
        least = self.coordinates * self.slope
        shares = [self._moved(math.ceil(Fraction(float(t)) * least)) for t in _SHIFTS]
        return math.ceil(Fraction(float(_SHIFTS[int(np.argmin(shares))])) * least)

    def _moved(self, shift: int) -> float:
        """Return a bound of p, the share of the box by which a minimum moves on average."""
        # 1 - z is exact to a few roundings as expm1, and 1 - z d slope / c is at least 1 - 1/1.02.
        exponent = float(shift / self.scale)
        ratio = 0.0 if self.coordinates == 1 else float(self.coordinates * self.slope / shift)
        return -math.expm1(-exponent) / (1 - math.exp(-exponent) * ratio) * (1 + _ROOM)

    @property
    def share(self) -> Fraction:
        """Return the theorem's q, rounded up: the least with calls kl(q || p) >= -log delta."""
        p = self._moved(self.shift)
        if not 0 < p < 1 or not self._enough(p, 1.0):
            return Fraction(1)
        _, q = bisect(lambda x: not self._enough(p, x), p, 1.0)
        return short_up(q, 40) if short_up(q, 40) < 1 else Fraction(1)

    def _enough(self, p: float, q: float) -> bool:
        """Return whether kl(q || p) is large enough, with room for the rounding of its terms."""
        terms = [q * math.log(q / p), (1 - q) * (math.log1p(-q) - math.log1p(-p)) if q < 1 else 0.0]
        room = _ROOM * (abs(terms[0]) + abs(terms[1]) + q + p)
        return self.calls * (sum(terms) - room) >= -math.log(self.delta) * (1 + _ROOM)


MECHANISM_SPHERE_LIFT: Final = Theorem(
    rule="mechanism/sphere-lift",
    source="proofs/theory/separators.md, Theorem 4",
    attained=Attained.NO,  # the largest loss alone is near
)

_LEAST_EPSILON: Final = Fraction(1, 2**200)
_MOST_EPSILON: Final = 2**10
_SHIFT: Final = 2**10  # Multiples of a lift by which the noise moves. Heuristic.
_FINE_LIFT: Final = 2**7  # Parts of the radius in a lift's unit, if heights are rounded. Heuristic.


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SphereLift(PerturbedChoice[R]):
    """Release the candidate that minimises losses minus the product of noise and its lift.

    Candidates are lifted to a sphere: those of norm less than the radius get one more coordinate,
    their height above the plane. Between neighbours the noise moves by a multiple of the lift of
    the candidate that wins, which is the same length for all of them. On ``Grid`` the bound of its
    mean excess is about twice that of ``SeparatorPerturbation``; with two levels there are no
    heights, and it is the same as ``SeparatorPerturbation`` with ``noise="sphere"``.

    Statement: let the lifts psi have whole coordinates and length at most rho, and one record move
        the difference of the objectives of w and u by at most shift <psi(w), psi(w) - psi(u)>. If
        the noise is rounded from a density proportional to e^(-||x|| / scale) with
        shift rho <= epsilon scale, the output is epsilon-DP.
    Assumes: lifted choice; random bits.
    Source: proofs/theory/separators.md, Theorem 4, after Neel, Roth, Vietri & Wu 2019, Algorithm 1
        (OPDisc), whose Gaussian noise has not the privacy that is claimed (docs/CLAIMS.md).

    Args:
        epsilon: nats, in [2^-200, 1024].
        space: the candidates, such as ``Grid(3, 2)``.
        oracle: an exact one; by default ``EnumerationOracle()``.
        loss, relation: as for ``SeparatorPerturbation``, as are outputs and errors.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Grid
        >>> pick = SphereLift(epsilon=1, space=Grid(2, 1), relation=AddRemove())
        >>> pick.guarantee().describe()
        '1-DP'
        >>> pick.release([([2, 1], 1), ([1, 2], -1)] * 200).weights
        array([ 1, -1])
    """

    epsilon: Fraction = field(
        converter=parameters.positive,
        validator=parameters.within(_LEAST_EPSILON, _MOST_EPSILON, "in [2^-200, 1024]"),
    )
    oracle: Oracle = field(factory=EnumerationOracle, validator=exact)

    @property
    def radius(self) -> float:
        """Return the length of every lift, with levels 1 apart around the origin."""
        return math.sqrt(self._lift.square) / self._lift.gap

    @property
    def _lift(self) -> Lift:
        return Lift(self.space)

    @property
    def unit(self) -> int:
        """Return the worth of one loss in units of the noise."""
        moved = self.loss.steepness(self.space) * times_moved(self.relation)
        return math.floor(_SHIFT * math.ceil(moved) * self._lift.gain / moved)

    @property
    def _shift(self) -> int:
        """Return the multiple of a lift by which the noise moves."""
        return _SHIFT * math.ceil(self.loss.steepness(self.space) * times_moved(self.relation))

    @property
    def scale(self) -> Fraction:
        """Return the scale of the noise, in its units, of which one loss is worth ``unit``."""
        return self._shift * sqrt_up(Fraction(self._lift.length)) / self.epsilon

    def guarantee(self) -> PureDP[R]:
        """Return the epsilon-DP guarantee of the candidate chosen under spherical noise."""
        lift, shift = self._lift, self._shift
        node = applied(
            MECHANISM_SPHERE_LIFT,
            f"spherical noise of scale {show(self.scale)} in {lift.dimension} dimensions hides "
            f"{shift} times a vector of squared length {lift.length} ({self.relation})",
            assumptions=(
                LIFTED_CHOICE(shift=shift, length=lift.length, relation=self.relation),
                RANDOM_BITS(),
            ),
            shift=shift,
            length=lift.length,
            scale=self.scale,
        )
        return PureDP(epsilon=self.epsilon, relation=self.relation, derivation=node)

    @property
    def _heights(self) -> Integers | None:
        heights = self._lift.heights
        return None if heights is None else -heights

    def _noises(self, count: int, rng: Rng) -> NDArray[Any]:
        lift = self._lift
        return lift.charged(spherical_rounded(self.scale, Fraction(1), lift.dimension, count, rng))


@final
@dataclass(frozen=True, slots=True)
class Lift:
    """Whole vectors psi(w) of nearly one length, far apart: c y(w), and the height where needed.

    y(w) is the candidate around the middle of the levels, divided by what its coordinates have in
    common. The height is the integer nearest to c sqrt(D^2 - ||y||^2), D the largest ||y||.
    """

    space: Space

    @property
    def values(self) -> tuple[int, ...]:
        """Return the coordinates of y, by level."""
        levels = self.space.levels
        doubled = [2 * level - levels[0] - levels[-1] for level in levels]
        common = math.gcd(*doubled)
        return tuple(value // common for value in doubled)

    @property
    def gap(self) -> int:
        """Return the distance of two levels of y."""
        return self.values[1] - self.values[0]

    @property
    def square(self) -> int:
        """Return D^2: the largest squared norm of y."""
        return self.space.coordinates * self.values[-1] ** 2

    @property
    def flat(self) -> bool:
        """Return whether all y have the largest norm D, so that there are no heights."""
        return len(self.values) == 2

    @property
    def dimension(self) -> int:
        """Return the number of coordinates of psi."""
        return self.space.coordinates + (not self.flat)

    @property
    def fineness(self) -> int:
        """Return the constant c."""
        return 1 if self.flat else _FINE_LIFT * _root_up(self.square)

    @property
    def _slip(self) -> int:
        """Return a bound of |c^2 D^2 - ||psi||^2|: the rounding of a height, at most c D + 1/4."""
        return 0 if self.flat else self.fineness * _root_up(self.square) + 1

    @property
    def length(self) -> int:
        """Return a bound of the squared length of psi."""
        return self.fineness**2 * self.square + self._slip

    @property
    def gain(self) -> Fraction:
        """Return a lower bound of <psi(w), psi(w) - psi(u)> / (the places where w and u differ)."""
        return Fraction(self.fineness**2 * self.gap**2, 2) - self._slip

    @property
    def heights(self) -> Integers | None:
        """Return the heights by the squared norm of y, on a grid that of w; None if flat."""
        if self.flat:
            return None
        square = 4 * self.fineness**2
        doubled = (math.isqrt(square * (self.square - norm)) for norm in range(self.square + 1))
        return np.array([(root + 1) // 2 for root in doubled], dtype=np.int64)

    def charged(self, noise: NDArray[Any]) -> NDArray[Any]:
        """Return what noise costs in places, -c noise_j times the gap of levels, and in heights."""
        width, steps = self.space.coordinates, len(self.values) - 1
        places = np.repeat(-self.fineness * self.gap * noise[:, :width], steps, axis=1)
        return np.concatenate([places, noise[:, width:]], axis=1)


def _root_up(square: int) -> int:
    """Return an integer at or above the root of a positive integer."""
    return math.isqrt(square - 1) + 1
