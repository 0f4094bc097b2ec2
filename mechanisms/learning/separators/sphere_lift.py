"""Objective perturbation on a sphere (OPDisc), repaired: pure differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import show, sqrt_up
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import LIFTED_CHOICE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.separators.oracles import EnumerationOracle, Oracle
from dpproof.mechanisms.learning.separators.separator_perturbation import (
    PerturbedChoice,
    exact,
    times_moved,
)
from dpproof.mechanisms.learning.separators.spaces import Integers, Space
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import spherical_rounded
from dpproof.mechanisms.samplers.rng import Rng

MECHANISM_SPHERE_LIFT: Final = Theorem(
    rule="mechanism/sphere-lift",
    source="proofs/theory/separators.md, Theorem 4",
    attained=Attained.NO,  # the largest loss alone is near
)

_LEAST_EPSILON: Final = Fraction(1, 2**200)
_MOST_EPSILON: Final = 2**10
_SHIFT: Final = 2**10  # Multiples of a lift by which the noise moves. Heuristic.
_FINE: Final = 2**7  # Parts of the radius in a lift's unit, if heights are rounded. Heuristic.


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
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
        loss: of a candidate at a record.
        oracle: an exact one; by default ``EnumerationOracle()``.
        relation: the neighbouring relation; replace-one costs twice the noise.
    Outputs:
        A record with the field ``weights``: the candidate, integers of shape (coordinates,).
    Raises:
        ParameterError: as for ``SeparatorPerturbation``; an oracle with a tolerance.
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
        return 1 if self.flat else _FINE * _root_up(self.square)

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
        """Return the heights, by the squared norm of y; None if flat.

        On a grid it is the squared norm of w.
        """
        if self.flat:
            return None
        square = 4 * self.fineness**2
        doubled = (math.isqrt(square * (self.square - norm)) for norm in range(self.square + 1))
        return np.array([(root + 1) // 2 for root in doubled], dtype=np.int64)

    def charged(self, noise: NDArray[Any]) -> NDArray[Any]:
        """Return the noise on places of patterns and on heights that equals minus <noise, psi>.

        A place of coordinate j costs -c noise_j times the distance of two levels.
        """
        width, steps = self.space.coordinates, len(self.values) - 1
        places = np.repeat(-self.fineness * self.gap * noise[:, :width], steps, axis=1)
        return np.concatenate([places, noise[:, width:]], axis=1)


def _root_up(square: int) -> int:
    """Return an integer at or above the root of a positive integer."""
    return math.isqrt(square - 1) + 1
