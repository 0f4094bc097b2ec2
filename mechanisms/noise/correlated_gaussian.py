"""Gaussian noise with a covariance, on a vector that is released as one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.exact_matrices import solved, triangular_factors
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show, sqrt_up
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, L2, Differences, LInf
from dpproof.accountant.side_conditions import ONE_SHAPE, OUTPUT_ALONE, RANDOM_BITS, SENSITIVITY
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism
from dpproof.mechanisms.noise.broadcast import on_grid
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.queries import real_values
from dpproof.mechanisms.samplers import default_granularity
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.rounded import gaussian_rounded_rationals
from dpproof.mechanisms.samplers.sampler_arguments import scale as noise_scale

Moves: TypeAlias = L1[R] | L2[R] | LInf[R] | Differences[R]
Vectors = tuple[tuple[Fraction, ...], ...]

MECHANISM_CORRELATED_GAUSSIAN: Final = Theorem(
    rule="mechanism/correlated-gaussian",
    source="proofs/theory/correlated_gaussian.md",
    attained=Attained.WHOLE,  # a query that makes the worst change
)

Factors: TypeAlias = tuple[Vectors, tuple[Fraction, ...]]
_BITS: Final = 40  # Of factors and standard deviations, relative. Heuristic: both are exact then.
_LARGEST: Final = 16
_MOST_CORNERS: Final = 10
_ROOM: Final = (1e-13, 1e-10, 1e-7)  # By which an eigenvalue is raised. Heuristic: it is checked.


def _factors(covariance: Sequence[Sequence[Number]], _name: str = "value") -> Factors:
    """Return the triangular factor and the standard deviations, to a few digits, exact then."""
    allowed = f"a symmetric positive definite matrix, up to {_LARGEST} x {_LARGEST}"
    value: Any = covariance
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
        raise ParameterError("covariance", covariance, allowed)
    rows = list(value)
    for row in rows:
        fits = isinstance(row, Sequence | np.ndarray) and not isinstance(row, str)
        if not fits or len(row) != len(rows):
            raise ParameterError("covariance", row, allowed)
    exact = [[arguments.real(covariance=one) for one in row] for row in rows]
    alike = all(exact[i][j] == exact[j][i] for i in range(len(exact)) for j in range(i))
    factors = triangular_factors(exact) if alike and 1 <= len(exact) <= _LARGEST else None
    if factors is None:
        raise ParameterError("covariance", [list(map(float, row)) for row in exact], allowed)
    lower, pivots = factors
    factor = tuple(tuple(_short(one) for one in row) for row in lower)
    return factor, tuple(noise_scale(covariance=_short(sqrt_up(one))) for one in pivots)


def _short(value: Fraction) -> Fraction:
    """Return a number of ``_BITS`` binary digits next to another."""
    if not value:
        return value
    places = (
        _BITS
        - math.floor(math.log2(abs(value.numerator)))
        + math.floor(math.log2(value.denominator))
    )
    unit = Fraction(2) ** places
    return round(value * unit) / unit


@final
@frozen(repr=False, field_transformer=named)
class CorrelatedGaussian(NoiseMechanism[R]):
    """Add a normal vector of a covariance to a vector, and release the sum as one.

    The noise is A E, A triangular with ones on its diagonal, E_i independent of standard deviation
    ``sigmas[i]``; A diag(sigmas^2) A' is the covariance given, up to 2^-39 relative, and exactly
    what is accounted for. The sums A^-1 value + E are rounded to a grid and multiplied by A.

    Statement: if every change v of the query has v' (A diag(sigmas^2) A')^-1 v <= mu^2, the output
        is mu-GDP. The marginals' mu do not say this: correlated noise that moves together hides a
        difference of two coordinates less than independent noise does.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: proofs/theory/correlated_gaussian.md.

    Args:
        covariance: symmetric and positive definite, up to 16 x 16, in squared data units.
        sensitivity: L1, L2, LInf (up to 10 dimensions), or ``Differences``, whose convex hull with
            its negatives holds every change: mu is the largest of their corners', for L2 that of
            the smallest eigenvalue, rounded up by at most 10^-7.
        query: data -> a vector; None when the data is already the query's value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not a vector of
            as many finite numbers.
        NotCertified: an L2 sensitivity and a covariance whose smallest eigenvalue is not found.
    Example:
        >>> noise = CorrelatedGaussian([[4, 3], [3, 4]], sensitivity=Differences([[1, 1], [1, -1]]))
        >>> round(float(noise.guarantee().mu_squared), 9), len(noise.release([0.5, 1.5]))
        (2.0, 2)
    """

    factors: Factors = field(alias="covariance", converter=_factors)
    sensitivity: Moves[R] = field(
        kw_only=True, validator=parameters.norms(L1, L2, LInf, Differences)
    )

    @sensitivity.validator
    def _fits(self, _parameter: object, sensitivity: Moves[R]) -> None:
        size = len(self.sigmas)
        if isinstance(sensitivity, Differences) and len(sensitivity.vectors[0]) != size:
            raise ParameterError("sensitivity", sensitivity, f"Differences of length {size}")
        if isinstance(sensitivity, LInf) and size > _MOST_CORNERS:
            allowed = f"L1, L2 or Differences above {_MOST_CORNERS} dimensions"
            raise ParameterError("sensitivity", sensitivity, allowed, "LInf(...).as_l2 converts it")

    @property
    def factor(self) -> Vectors:
        """Return A."""
        return self.factors[0]

    @property
    def sigmas(self) -> tuple[Fraction, ...]:
        """Return the standard deviations of the independent variables."""
        return self.factors[1]

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP, mu the largest norm of a change that the noise gives."""
        moves, size = self.sensitivity, len(self.sigmas)
        differences: Vectors = () if isinstance(moves, L2) else _corners(moves, size)
        square = max((self._square(one) for one in differences), default=Fraction(0))
        if isinstance(moves, L2):
            square = self._largest_square(moves.value)
        mu = sqrt_up(square)
        value = Fraction(1) if isinstance(moves, Differences) else moves.value
        derivation = applied(
            MECHANISM_CORRELATED_GAUSSIAN,
            f"Gaussian noise with a covariance on a vector of length {size} is {show(mu)}-GDP "
            f"({self.relation})",
            assumptions=(
                SENSITIVITY(value=show(value), norm=type(moves).__name__, relation=self.relation),
                ONE_SHAPE(),
                RANDOM_BITS(),
                OUTPUT_ALONE(),
            ),
            attained=Attained.NO if isinstance(moves, L2) else None,  # rounded up by 10^-7
            factor=self.factor,
            sigmas=self.sigmas,
            differences=differences,
            radius=moves.value if isinstance(moves, L2) else Fraction(0),
        )
        return GDP(mu=mu, relation=self.relation, derivation=derivation)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: float64 of shape (datasets, count, length)."""
        values, size = real_values(self.query, datasets), len(self.sigmas)
        if values.shape[1:] != (size,):
            raise ParameterError("value", values.shape[1:], f"a vector of length {size}")
        return np.stack([self._noisy(row, count, rng) for row in values])

    def _noisy(self, row: NDArray[np.float64], count: int, rng: Rng) -> NDArray[np.float64]:
        """Return noisy values of one dataset: sums on a grid, times the factor."""
        exact = solved(self.factor, [Fraction(float(one)) for one in row])
        sums = np.empty((count, len(exact)))
        for place, (value, sigma) in enumerate(zip(exact, self.sigmas, strict=True)):
            grid = default_granularity(sigma)
            steps = gaussian_rounded_rationals([value] * count, sigma, grid, rng)
            sums[:, place] = on_grid(steps, grid)
        return sums @ np.array(self.factor, dtype=np.float64).T

    def _square(self, change: Sequence[Fraction]) -> Fraction:
        """Return the square of a change's norm."""
        terms = zip(solved(self.factor, change), self.sigmas, strict=True)
        return sum(((one / sigma) ** 2 for one, sigma in terms), Fraction(0))

    def _largest_square(self, radius: Fraction) -> Fraction:
        """Return a bound of all squares of changes of Euclidean norm at most the radius."""
        rows = [[x * s for x, s in zip(row, self.sigmas, strict=True)] for row in self.factor]
        noise = [[_product(one, other) for other in rows] for one in rows]
        least = float(np.linalg.eigvalsh(np.array(noise, dtype=np.float64))[0])
        for room in _ROOM if least > 0 else ():
            square = Fraction(float(radius) ** 2 / least * (1 + room))
            scaled = [[square * one for one in row] for row in noise]
            for place in range(len(scaled)):
                scaled[place][place] -= radius**2
            if triangular_factors(scaled) is not None:
                return square
        raise NotCertified(
            "the smallest eigenvalue of the covariance is not certified; state the changes of the "
            "query as Differences, or add more noise in every direction"
        )


def _product(one: Sequence[Fraction], other: Sequence[Fraction]) -> Fraction:
    """Return the scalar product."""
    return sum((x * y for x, y in zip(one, other, strict=True)), Fraction(0))


def _corners(moves: L1[Any] | LInf[Any] | Differences[Any], size: int) -> Vectors:
    """Return the corners of the set of changes, one of each two opposite ones."""
    if isinstance(moves, Differences):
        return moves.vectors
    none, far = Fraction(0), moves.value
    if isinstance(moves, L1):
        return tuple(tuple(far if i == j else none for j in range(size)) for i in range(size))
    return tuple((far, *rest) for rest in itertools.product((far, -far), repeat=size - 1))
