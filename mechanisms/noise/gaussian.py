"""Gaussian noise: on real values, with a covariance, on whole numbers, and as a Skellam number."""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import GDP, ZCDP, DominatingPair, Poisson, arguments
from dpproof.accountant.arithmetic.exact_matrices import solved, triangular_factors
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import applied
from dpproof.accountant.guarantees.rounding import show, sqrt_up
from dpproof.accountant.pairs.finite import skellam_pair
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.relation import R
from dpproof.accountant.sensitivity import L1, L2, Differences, L2Contribution, LInf
from dpproof.accountant.side_conditions import SENSITIVITY, SUM_OF_CONTRIBUTIONS
from dpproof.accountant.theorems.subsampling import subsample_gaussian_sum, subsample_poisson
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import NoiseMechanism, Outputs
from dpproof.mechanisms.queries import real_values, whole_values
from dpproof.mechanisms.samplers import (
    Rng,
    add_whole,
    default_granularity,
    discrete_gaussian,
    gaussian_rounded,
    repeated_values,
    skellam,
    with_noise,
)
from dpproof.mechanisms.samplers.arrays import scale as noise_scale
from dpproof.mechanisms.samplers.discrete import require_variance
from dpproof.mechanisms.samplers.rounded import gaussian_rounded_rationals

MECHANISM_GAUSSIAN: Final = Theorem(
    rule="mechanism/gaussian",
    source="Dong, Roth & Su 2019, arXiv:1905.02383, Theorem 2.7",
    attained=Attained.WHOLE,  # a query that moves by the sensitivity
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Gaussian(NoiseMechanism[R]):
    """Add independent N(0, sigma^2) noise to every coordinate of a real-valued query.

    The output is the ideal real-valued one, correctly rounded to the nearest multiple of
    ``granularity``. The grid looks at no data, so that the textbook statement holds exactly.

    Statement: if the query moves by at most Delta in Euclidean norm between neighbours, the
        output is mu-GDP with mu = Delta / sigma.
    Assumes: sensitivity; one shape; random bits; output alone; sum of contributions (if stated
        as one).
    Source: Dong, Roth & Su, "Gaussian Differential Privacy", arXiv:1905.02383, Theorem 2.7.

    Args:
        sigma: standard deviation, in data units, in [2^-300, 2^300].
        sensitivity: L2, in data units, of the exact real value of the query; or L2Contribution of a
            sum over the records, which moves by one record's contribution, under replace-one by
            twice that: Poisson samples of it have a guarantee under replace-one, too.
        query: data -> a number or array; None when the data is already the query's value.
        granularity: a power of two in data units; by default 2^-20 of sigma.
    Example:
        >>> Gaussian(sigma=2, sensitivity=L2(1)).guarantee().mu
        Fraction(1, 2)
        >>> total = Gaussian(sigma=2, sensitivity=L2(1), query=sum)
        >>> isinstance(total.release([0.5, 1.0]), float)
        True
    """

    sigma: Fraction = field(converter=parameters.scale)
    sensitivity: L2[R] | L2Contribution[R] = field(validator=parameters.norms(L2, L2Contribution))
    granularity: Fraction = field(converter=parameters.granularity)

    @granularity.default
    def _fine(self) -> Fraction:
        return default_granularity(self.sigma)

    @property
    def moved(self) -> Fraction:
        """Return how far the value moves at most in Euclidean norm, in data units."""
        return self.sensitivity.as_l2().value

    @property
    def noise_multiplier(self) -> Fraction:
        """Return the ratio sigma / sensitivity, dimensionless."""
        return self.sigma / self.moved

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP with mu = sensitivity / sigma, exactly."""
        mu = self.moved / self.sigma
        derivation = applied(
            MECHANISM_GAUSSIAN,
            f"Gaussian noise of standard deviation {show(self.sigma)} on a query of L2 "
            f"sensitivity {show(self.moved)} is {show(mu)}-GDP ({self.relation})",
            assumptions=self._assumptions(),
            sigma=self.sigma,
            sensitivity=self.moved,
        )
        return GDP(mu=mu, relation=self.relation, derivation=derivation)

    def on_poisson_sample(self, scheme: Poisson) -> DominatingPair[R]:
        """Return the guarantee of the noise on a Poisson sample of the records.

        Under replace-one that of a Gaussian sum, if the query is stated to be one.
        """
        if isinstance(self.sensitivity, L2) or not self.relation.symmetric:
            return subsample_poisson(self.guarantee(), scheme)
        if scheme.sampling_rate == 1:
            return self.guarantee().to_pair()
        return subsample_gaussian_sum(
            sigma=self.sigma, contribution=self.sensitivity, scheme=scheme
        )

    def _assumptions(self) -> tuple[str, ...]:
        """Return what a sum of contributions says, too, if the query is one."""
        plain = parameters.assumptions(self.sensitivity.as_l2())
        if isinstance(self.sensitivity, L2):
            return plain
        return (SUM_OF_CONTRIBUTIONS(bound=show(self.sensitivity.bound)), *plain)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise, rounded to the grid: float64, shape (datasets, count, ...)."""
        values = repeated_values(real_values(self.query, datasets), count)
        return with_noise(gaussian_rounded, values, self.sigma, rng, self.granularity)


_CANONNE = "Canonne, Kamath & Steinke 2020, arXiv:2004.00010"

MECHANISM_DISCRETE_GAUSSIAN_ZCDP: Final = Theorem(
    rule="mechanism/discrete-gaussian-zcdp",
    source=f"{_CANONNE}, Theorem 14",
    attained=Attained.NO,  # divergences below those of a Gaussian
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class DiscreteGaussian(NoiseMechanism[R]):
    """Add independent discrete Gaussian noise to every coordinate of an integer query.

    The noise has P(z) proportional to e^(-z^2 / (2 sigma^2)) on the whole numbers.

    Statement: let v be the change of the query between neighbours, a vector of whole numbers.
        L1 sensitivity k: dominated, in any dimension, by one variable shifted by floor(k).
        L2 sensitivity Delta, m = floor(Delta^2) <= 3: every entry of v is 0 or +-1, at most m of
        them non-zero, so m independent shifts by 1 dominate, with equality when all m occur.
        L2 sensitivity Delta, m >= 4: a longer jump of one coordinate is possible as well, and the
        statement is m / (2 sigma^2)-zCDP.
        A query with one coordinate is best described by its L1 sensitivity.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md; zCDP: Canonne, Kamath & Steinke, "The Discrete Gaussian for
        Differential Privacy", arXiv:2004.00010, Theorem 14.

    Args:
        sigma: in units of the query, in [2^-300, 2^300]; sigma^2 is the variance only nearly.
        sensitivity: L1 or L2, at least 1, of which whole parts are taken (a value within a relative
            2^-40 below a whole number counts as that: ``L2(math.sqrt(3))`` means m = 3).
    Example:
        >>> DiscreteGaussian(sigma=10, sensitivity=L2(3)).guarantee().rho
        Fraction(9, 200)
        >>> isinstance(DiscreteGaussian(sigma=10, sensitivity=L1(1)).release(41), int)
        True
    """

    sigma: Fraction = field(converter=parameters.scale)
    sensitivity: L1[R] | L2[R] = field(validator=[parameters.norms(L1, L2), parameters.moves])

    def guarantee(self) -> DominatingPair[R] | ZCDP[R]:
        """Return a dominating pair for L1, and for L2 below 2; zCDP for a larger L2 sensitivity."""
        units = parameters.units(self.sensitivity)
        variance = self.sigma**2
        if isinstance(self.sensitivity, L1):
            factor = Factor(DiscreteGaussianPair(sigma_squared=variance, shift=units), 1)
            return self._above(factor, f"by its shift by {units}", "Corollary 1")
        if units <= 3:
            factor = Factor(DiscreteGaussianPair(sigma_squared=variance, shift=1), units)
            return self._above(factor, f"by {units} independent shifts by 1", "Corollary 2")
        rho = units / (2 * variance)
        derivation = applied(
            MECHANISM_DISCRETE_GAUSSIAN_ZCDP,
            f"discrete Gaussian noise of sigma {show(self.sigma)} on an integer query of "
            f"squared L2 sensitivity {units} is {show(rho)}-zCDP ({self.relation})",
            assumptions=parameters.assumptions(self.sensitivity),
            sigma=self.sigma,
            units=units,
        )
        return ZCDP(rho=rho, relation=self.relation, derivation=derivation)

    def _above(self, factor: Factor, how: str, item: str) -> DominatingPair[R]:
        norm = type(self.sensitivity).__name__
        return self._dominated(
            Theorem(
                rule="mechanism/discrete-gaussian",
                source=f"docs/shift-lemma.md, {item}",
                attained=Attained.WHOLE,  # a query that makes the largest change
            ),
            f"discrete Gaussian noise of sigma {show(self.sigma)} on an integer query of "
            f"{norm} sensitivity {show(self.sensitivity.value)} is dominated {how} "
            f"({self.relation})",
            Product((factor,)),
            assumptions=parameters.assumptions(self.sensitivity),
            sigma=self.sigma,
            units=parameters.units(self.sensitivity),
            norm=norm,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count, ...)."""
        values = repeated_values(whole_values(self.query, datasets), count)
        return add_whole(values, discrete_gaussian(self.sigma**2, values.size, rng))


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


def _factors(covariance: Sequence[Sequence[arguments.Number]], _name: str = "value") -> Factors:
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
@frozen(repr=False, field_transformer=parameters.named)
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
    Raises:
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
                *parameters.assumptions_of_noise(),
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
        exact = solved(self.factor, [Fraction(float(one)) for one in row])
        sums = np.empty((count, len(exact)))
        for place, (value, sigma) in enumerate(zip(exact, self.sigmas, strict=True)):
            sums[:, place] = with_noise(gaussian_rounded_rationals, [value] * count, sigma, rng)
        return sums @ np.array(self.factor, dtype=np.float64).T

    def _square(self, change: Sequence[Fraction]) -> Fraction:
        terms = zip(solved(self.factor, change), self.sigmas, strict=True)
        return sum(((one / sigma) ** 2 for one, sigma in terms), Fraction(0))

    def _largest_square(self, radius: Fraction) -> Fraction:
        """Return a bound of all squares of changes of Euclidean norm at most the radius."""
        rows = [[x * s for x, s in zip(row, self.sigmas, strict=True)] for row in self.factor]
        noise = [
            [sum((x * y for x, y in zip(one, other, strict=True)), Fraction(0)) for other in rows]
            for one in rows
        ]
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


def _corners(moves: L1[Any] | LInf[Any] | Differences[Any], size: int) -> Vectors:
    """Return the corners of the set of changes, one of each two opposite ones."""
    if isinstance(moves, Differences):
        return moves.vectors
    none, far = Fraction(0), moves.value
    if isinstance(moves, L1):
        return tuple(tuple(far if i == j else none for j in range(size)) for i in range(size))
    return tuple((far, *rest) for rest in itertools.product((far, -far), repeat=size - 1))


MECHANISM_SKELLAM: Final = Theorem(
    rule="mechanism/skellam",
    source="docs/shift-lemma.md, Corollaries 1 and 2",
    attained=Attained.NO,  # a finite pair above the shifts
)
_MOST_UNITS: Final = 2**14


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Skellam(NoiseMechanism[R]):
    """Add independent Skellam noise to every coordinate of an integer query.

    The noise is the difference of two independent Poisson numbers of mean variance/2, so that the
    sum of Skellam noises of several parties is Skellam noise of the sum of their variances.

    Statement: L1 sensitivity k: dominated, in any dimension, by one variable shifted by floor(k).
        L2 sensitivity Delta, m = floor(Delta^2) <= 3: by m independent shifts by 1, with equality
        when m coordinates move. What is stated is a finite pair above those, whose epsilon is
        above theirs by at most a few millionths.
    Assumes: sensitivity; one shape; random bits; output alone.
    Source: docs/shift-lemma.md, as the law is log-concave: a convolution of Poisson laws; the
        mechanism is that of Agarwal, Kairouz & Liu (arXiv:2110.04995), whose Renyi bound of large
        L2 sensitivities is not used.

    Args:
        variance: of the noise, in [2^-20, 2^20].
        sensitivity: L1, from 1 to 2^14, or L2, from 1 to below 2; whole parts are taken of k and of
            Delta^2, as for ``DiscreteGaussian``, which serves larger ones.
    Raises:
        NotCertified: the guarantee of so little noise that losses exceed about 60.
    Example:
        >>> noise = Skellam(variance=100, sensitivity=L1(1))
        >>> round(noise.repeat(100).guarantee().epsilon(delta=1e-6).upper, 3)
        4.885
    """

    variance: Fraction = field(converter=require_variance)
    sensitivity: L1[R] | L2[R] = field(validator=[parameters.norms(L1, L2), parameters.moves])

    @sensitivity.validator
    def _few_units(self, _parameter: object, sensitivity: L1[R] | L2[R]) -> None:
        units = parameters.units(sensitivity)
        if isinstance(sensitivity, L2) and units > 3:
            hint = "for larger L2 sensitivities DiscreteGaussian has a guarantee"
            raise ParameterError("sensitivity", sensitivity, "L1, or L2 of at most 1.99", hint)
        if units > _MOST_UNITS:
            raise ParameterError("sensitivity", float(sensitivity.value), "at most 2^14")

    def guarantee(self) -> DominatingPair[R]:
        """Return the finite pair above the shifts, in both directions."""
        units, norm = parameters.units(self.sensitivity), type(self.sensitivity).__name__
        shift, copies = (units, 1) if norm == "L1" else (1, units)
        return self._dominated(
            MECHANISM_SKELLAM,
            f"Skellam noise of variance {show(self.variance)} on an integer query of {norm} "
            f"sensitivity {show(self.sensitivity.value)} is dominated by a finite pair above its "
            f"shift by {shift}, {copies} of them ({self.relation})",
            Product((Factor(skellam_pair(variance=self.variance, shift=shift), copies),)),
            assumptions=parameters.assumptions(self.sensitivity),
            variance=self.variance,
            units=units,
            norm=norm,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the value plus noise: integers of shape (datasets, count, ...)."""
        values = repeated_values(whole_values(self.query, datasets), count)
        return add_whole(values, skellam(self.variance, values.size, rng))
