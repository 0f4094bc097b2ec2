"""Noise on the places of patterns: its law, its price, and how likely a near tie is."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from numpy.typing import NDArray

from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.accountant.readable import Readable
from dpproof.mechanisms.samplers import discrete_cube_norm, discrete_laplace, spherical_rounded
from dpproof.mechanisms.samplers.rng import Rng


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """The quantities that decide the noise besides its law.

    Attributes:
        places: m, the number of places of a pattern.
        shift: the units of noise by which a place moves to make up for one record.
        epsilon: the price.
    """

    places: int
    shift: int
    epsilon: Fraction


class Law(Readable, ABC):
    """Integer noise whose mass changes by at most e^epsilon if every place moves by the shift."""

    __slots__ = ()

    @abstractmethod
    def scale(self, shape: Shape) -> Fraction:
        """Return the scale at which the mass changes by at most e^epsilon, in units of noise."""

    @abstractmethod
    def draw(self, shape: Shape, size: int, rng: Rng) -> NDArray[Any]:
        """Draw noise vectors, shape (size, places)."""

    @abstractmethod
    def densest(self, shape: Shape) -> Fraction:
        """Return a bound of the mean largest mass of one place, given the others."""


@final
@dataclass(frozen=True, slots=True)
class CubeNorm(Law):
    """Mass proportional to e^(-max |k_j| / scale)."""

    def scale(self, shape: Shape) -> Fraction:
        """Return shift / epsilon: the largest coordinate moves by at most the shift."""
        return shape.shift / shape.epsilon

    def draw(self, shape: Shape, size: int, rng: Rng) -> NDArray[Any]:
        """Draw exactly."""
        return discrete_cube_norm(self.scale(shape), shape.places, size, rng)

    def densest(self, shape: Shape) -> Fraction:
        """Return a bound of Z_{m-1} / Z_m, Z_m the sum of the masses.

        It is at most e^(2 a) a / (2 m) for a = 1 / scale.

        Rounds: up, by e^(2 a) <= 1 + 4 a for a <= 1/2, which the shift ensures (``fineness``).
        """
        rate = 1 / self.scale(shape)
        return (1 + 4 * rate) * rate / (2 * shape.places)


@final
@dataclass(frozen=True, slots=True)
class IndependentLaplace(Law):
    """Mass proportional to e^(-sum |k_j| / scale)."""

    def scale(self, shape: Shape) -> Fraction:
        """Return places shift / epsilon: the sum moves by at most the shift in every place."""
        return shape.places * shape.shift / shape.epsilon

    def draw(self, shape: Shape, size: int, rng: Rng) -> NDArray[Any]:
        """Draw exactly."""
        drawn = discrete_laplace(self.scale(shape), size * shape.places, rng)
        return drawn.reshape(size, shape.places)

    def densest(self, shape: Shape) -> Fraction:
        """Return a bound 1 / (2 scale) of the mass at 0, which is tanh(1 / (2 scale))."""
        return 1 / (2 * self.scale(shape))


@final
@dataclass(frozen=True, slots=True)
class Sphere(Law):
    """The rounding of a vector of density proportional to e^(-||x|| / scale)."""

    def scale(self, shape: Shape) -> Fraction:
        """Return sqrt(places) shift / epsilon: the norm moves by at most sqrt(places) shift."""
        return shape.shift * sqrt_up(Fraction(shape.places)) / shape.epsilon

    def draw(self, shape: Shape, size: int, rng: Rng) -> NDArray[Any]:
        """Draw exactly rounded vectors."""
        return spherical_rounded(self.scale(shape), Fraction(1), shape.places, size, rng)

    def densest(self, shape: Shape) -> Fraction:
        """Return a bound of the density of one coordinate at 0.

        It is at most 1 / (scale sqrt(pi (2 m - 1))).

        Rounds: up, by pi >= 3.14 and a root that is rounded down to 2^-20.
        """
        square = 157 * (2 * shape.places - 1) << 40
        return 2**20 / (self.scale(shape) * math.isqrt(square // 50))


LAWS: Final[dict[str, Law]] = {
    "linf": CubeNorm(),
    "laplace": IndependentLaplace(),
    "sphere": Sphere(),
}
