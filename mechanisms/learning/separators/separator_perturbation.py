"""Noise on separating features, and the exponential mechanism to compare it with."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import ApproxDP, DominatingPair, LInf, ParameterError, PureDP, post_process
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee, applied
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT, exp_up, show, sqrt_up
from dpproof.accountant.pairs.cut_gaussian import FoldedGaussianPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.readable import Readable
from dpproof.accountant.relation import R, Relation, ReplaceLabel, ReplaceOne
from dpproof.accountant.side_conditions import NEAR_MINIMUM, PERTURBED_CHOICE, RANDOM_BITS
from dpproof.mechanisms import parameters, samplers
from dpproof.mechanisms.learning.records import Integers
from dpproof.mechanisms.learning.separators import oracles
from dpproof.mechanisms.learning.separators.spaces import Loss, Space, ZeroOne, patterns
from dpproof.mechanisms.mechanism import Mechanism, Outputs, record
from dpproof.mechanisms.samplers import Rng
from dpproof.mechanisms.selection.exponential import ExponentialMechanism


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """What decides the noise besides its law: places, shift by one record, and price."""

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
        return samplers.discrete_cube_norm(self.scale(shape), shape.places, size, rng)

    def densest(self, shape: Shape) -> Fraction:
        """Return a bound e^(2 a) a / (2 m) of Z_{m-1} / Z_m, Z the sum of masses, a = 1 / scale."""
        # Rounded up, by e^(2 a) <= 1 + 4 a for a <= 1/2, which the shift ensures (``fineness``).
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
        drawn = samplers.discrete_laplace(self.scale(shape), size * shape.places, rng)
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
        return samplers.spherical_rounded(self.scale(shape), Fraction(1), shape.places, size, rng)

    def densest(self, shape: Shape) -> Fraction:
        """Return a bound 1 / (scale sqrt(pi (2 m - 1))) of the density of one coordinate at 0."""
        # Rounded up, by pi >= 3.14 and a root that is rounded down to 2^-20.
        square = 157 * (2 * shape.places - 1) << 40
        return 2**20 / (self.scale(shape) * math.isqrt(square // 50))


LAWS: Final[dict[str, Law]] = {
    "linf": CubeNorm(),
    "laplace": IndependentLaplace(),
    "sphere": Sphere(),
}


MECHANISM_SEPARATOR: Final = Theorem(
    rule="mechanism/separator-perturbation",
    source="proofs/theory/separators.md, Theorems 1 and 2",
    attained=Attained.NO,  # the largest loss alone is near
)

# Units of noise per loss: fine enough that few proposals are refused, and far finer if an oracle
# has a tolerance, as ties of a coarse grid cost delta. Heuristic.
_FINE: Final = 16
_FINE_WITH_TOLERANCE: Final = 2**26
_MOST_EPSILON: Final = 2**10


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SpaceChoice(Mechanism[R], ABC):
    """A choice among the candidates of a space by the losses of the records."""

    space: Space
    loss: Loss = field(factory=ZeroOne)
    relation: R = field(validator=parameters.neighbours)

    def __attrs_post_init__(self) -> None:
        """Refuse what is no space or loss, or does not fit."""
        require_choice(self.space, self.loss, oracles.EnumerationOracle())


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class OracleChoice(SpaceChoice[R], ABC):
    """A choice that an oracle makes: the candidate that minimises losses and noise."""

    oracle: oracles.Oracle = field(factory=oracles.EnumerationOracle)

    def __attrs_post_init__(self) -> None:
        """Refuse what is no space, loss or oracle, or does not fit."""
        require_choice(self.space, self.loss, self.oracle)


class PerturbedChoice(OracleChoice[R], ABC):
    """The candidate that minimises losses and one noise vector."""

    __slots__ = ()

    @property
    @abstractmethod
    def unit(self) -> int:
        """Return the worth of one loss in units of the noise."""

    @abstractmethod
    def _noises(self, count: int, rng: Rng) -> NDArray[Any]:
        """Draw noise on the places of patterns, and on heights if there are any, for each run."""

    @property
    def _heights(self) -> Integers | None:
        """Return what heights cost, by the squared norm of a candidate; None if there are none."""
        return None

    @final
    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Choose ``count`` times on each dataset: records of shape (len(datasets), count)."""
        width, levels = self.space.coordinates, np.array(self.space.levels)
        minima = []
        for seen in [patterns(data, width, self.loss.largest_feature) for data in datasets]:
            problem = oracles.Problem(self.space, self.loss, seen, self.unit, self._heights)
            minima.append(levels[self.oracle.minima(problem, self._noises(count, rng))])
        return record(2, weights=np.stack(minima))


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class SeparatorPerturbation(PerturbedChoice[R]):
    """Release the candidate that minimises losses plus noise on the places of its pattern.

    Every candidate w of the space has a pattern e(w) of 0s and 1s, no two the same; the candidate
    that minimises sum_i loss(w, z_i) + sum_j eta_j e_j(w) is released, with integer arithmetic and
    ties by a fixed order. Cube-norm noise, the default, has the least standard deviation of the
    laws that are known to do: 0.577 places / epsilon, where independent Laplace noise has 1.414.

    Statement: if between neighbours the difference of two candidates' losses moves by at most shift
        units a place in which they differ, and the noise has mass proportional to e^(-|k|/scale),
        |shift (1 - 2 e(w))| <= epsilon scale, the output is epsilon-DP: adding that vector to the
        noise makes w the output on the neighbour, too. Not bounded range. With an oracle of a
        tolerance it is (epsilon, delta)-DP, delta = (1 + e^epsilon) times the probability of a
        near tie.
    Assumes: perturbed choice; random bits; near minimum (of an oracle with a tolerance).
    Source: proofs/theory/separators.md, Theorems 1 and 2, after Neel, Roth, Vietri & Wu
        2019, Algorithm 3, whose Gaussian noise has not the privacy that its parameters
        imply (docs/CLAIMS.md), and Neel, Roth & Wu 2019, whose Laplace noise is for replace-one.

    Args:
        epsilon: nats, in (0, 1024].
        space: the candidates, such as ``Cube(10)``.
        noise: "linf", "laplace" or "sphere".
        loss: of a candidate at a record.
        oracle: the minimiser; by default ``EnumerationOracle()``.
        relation: the neighbouring relation; replace-one costs twice the noise.
    Outputs:
        A record with the field ``weights``: the candidate, integers of shape (coordinates,).
    Raises:
        ParameterError: a parameter outside its domain; a space that the oracle cannot minimise
            over; on release, data that is not labelled rows. A record that is not finite and
            integer, or whose label is neither 1 nor -1, contributes nothing.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Cube
        >>> pick = SeparatorPerturbation(epsilon=1, space=Cube(2), relation=AddRemove())
        >>> pick.guarantee().describe()
        '1-DP'
        >>> pick.release([([1, 0], 1), ([0, 1], -1)] * 200).weights
        array([ 1, -1])
    """

    epsilon: Fraction = field(
        converter=parameters.positive,
        validator=parameters.within(0, _MOST_EPSILON, f"at most {_MOST_EPSILON}"),
    )
    noise: str = field(default="linf", validator=parameters.one_of(*LAWS))

    @property
    def _law(self) -> Law:
        return LAWS[self.noise]

    @property
    def shape(self) -> Shape:
        """Return the fineness of the noise, and the shift that it has to hide."""
        places = self.space.separators
        finest = _FINE if self.oracle.tolerance is None else _FINE_WITH_TOLERANCE
        steepest = math.ceil(self.loss.steepness(self.space))
        shift = max(finest, 1 << math.ceil(8 * self.epsilon * places).bit_length()) * steepest
        return Shape(places, shift, self.epsilon)

    def guarantee(self) -> Guarantee[R]:
        """Return epsilon-DP, or (epsilon, delta)-DP if the oracle has a tolerance."""
        shape, law = self.shape, self._law
        assumptions = (PERTURBED_CHOICE(shift=shape.shift, relation=self.relation), RANDOM_BITS())
        parameters: dict[str, Any] = {
            "noise": self.noise,
            "places": shape.places,
            "shift": shape.shift,
            "scale": law.scale(shape),
        }
        said = (
            f"{self.noise} noise of scale {show(law.scale(shape))} on {shape.places} places hides "
            f"shifts by {shape.shift} ({self.relation})"
        )
        if self.oracle.tolerance is None:
            node = applied(MECHANISM_SEPARATOR, said, assumptions=assumptions, **parameters)
            return PureDP(epsilon=self.epsilon, relation=self.relation, derivation=node)
        units = math.ceil(self.oracle.tolerance * self.unit)
        chance = shape.places * (2 * units + 1) * law.densest(shape)
        power = exp_up(min(self.epsilon, Fraction(MAX_EXPONENT)))
        node = applied(
            MECHANISM_SEPARATOR,
            f"{said}, and with probability at most {show(chance)} another candidate is within "
            f"{units} units of the minimum",
            assumptions=(*assumptions, NEAR_MINIMUM(units=units)),
            **parameters,
            units=units,
        )
        return ApproxDP(
            epsilon=self.epsilon,
            delta=min(Fraction(1), (1 + power) * chance),
            relation=self.relation,
            derivation=node,
        )

    @property
    def unit(self) -> int:
        """Return the worth of one loss in units of the noise, whose shift hides one record."""
        return loss_unit(self.shape.shift, self.space, self.loss, self.relation)

    def _noises(self, count: int, rng: Rng) -> NDArray[Any]:
        return self._law.draw(self.shape, count, rng)


def loss_unit(shift: int, space: Space, loss: Loss, relation: Relation) -> int:
    """Return the worth of one loss if every place moves by the shift to make up for one record."""
    return math.floor(shift / (loss.steepness(space) * times_moved(relation)))


def times_moved(relation: Relation) -> int:
    """Return how many records' losses change between neighbours: two if a record is replaced."""
    return 2 if isinstance(relation, ReplaceOne | ReplaceLabel) else 1


def require_choice(space: object, loss: object, oracle: object) -> None:
    """Refuse what is no space, loss or oracle, or an oracle that does not fit."""
    if not isinstance(space, Space):
        raise ParameterError("space", space, "a space of candidates, such as Cube(10)")
    if not isinstance(loss, Loss):
        raise ParameterError("loss", loss, "ZeroOne(), HingeLoss() or ParityLoss()")
    if not isinstance(oracle, oracles.Oracle):
        raise ParameterError("oracle", oracle, "EnumerationOracle() or MilpOracle()")
    loss.steepness(space)
    oracle.accepts(space, loss)


def exact(_mechanism: object, _parameter: object, oracle: oracles.Oracle) -> None:
    """Refuse an oracle with a tolerance."""
    if getattr(oracle, "tolerance", None) is not None:
        raise ParameterError("oracle", oracle, "an exact one, EnumerationOracle()")


MECHANISM_GAUSSIAN_SEPARATOR: Final = Theorem(
    rule="mechanism/gaussian-separator",
    source="proofs/theory/separators.md, Theorem 3",
    attained=Attained.NO,  # every place at its worst sign
)

_SHIFT: Final = 2**10  # Units of noise by which a place moves. Heuristic.


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class GaussianSeparator(PerturbedChoice[R]):
    """Release the candidate that minimises losses plus Gaussian noise on its pattern.

    As ``SeparatorPerturbation``, which needs less noise for (epsilon, 10^-6)-DP without any delta;
    this one is for comparison, and for compositions with other Gaussian releases.

    Statement: dominated by as many folded Gaussian pairs as a pattern has places, of
        mu = s / sigma, s the steepness of the loss (1 / distance if it is in [0, 1]), twice that if
        a record or its label is replaced. The signs of the shift depend on the output, so every
        place counts with its worst sign; sigma has to grow like the number of places, not like its
        root as in the published algorithm.
    Assumes: perturbed choice; random bits.
    Source: proofs/theory/separators.md, Theorem 3; docs/CLAIMS.md on the published claim.

    Args:
        sigma: standard deviation of the noise on a place, in losses.
        oracle: an exact one; by default ``EnumerationOracle()``.
        space, loss, relation: as for ``SeparatorPerturbation``, as are outputs and errors.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Cube
        >>> pick = GaussianSeparator(sigma=10, space=Cube(2), relation=AddRemove())
        >>> pick.guarantee().epsilon(delta=1e-6).upper < 1
        True
        >>> pick.release([([1, 0], 1), ([0, 1], -1)] * 200).weights
        array([ 1, -1])
    """

    sigma: Fraction = field(converter=parameters.scale)
    oracle: oracles.Oracle = field(factory=oracles.EnumerationOracle, validator=exact)

    @property
    def _shift(self) -> int:
        """Return the shift of a place, in units of the noise."""
        return _SHIFT * math.ceil(self.loss.steepness(self.space))

    @property
    def _deviation(self) -> Fraction:
        """Return sigma in units of the noise, of which one loss is worth ``unit``."""
        return self.sigma * self.unit

    @property
    def unit(self) -> int:
        """Return the worth of one loss, in units of the noise."""
        return loss_unit(self._shift, self.space, self.loss, self.relation)

    def guarantee(self) -> DominatingPair[R]:
        """Return the product of one folded Gaussian pair a place, in both directions."""
        places, shift = self.space.separators, self._shift
        mu = shift / self._deviation
        node = applied(
            MECHANISM_GAUSSIAN_SEPARATOR,
            f"Gaussian noise of standard deviation {show(self._deviation)} on {places} places "
            f"hides shifts by {shift} ({self.relation})",
            assumptions=(PERTURBED_CHOICE(shift=shift, relation=self.relation), RANDOM_BITS()),
            places=places,
            shift=shift,
            sigma=self._deviation,
        )
        product = Product.of(FoldedGaussianPair(mu_squared=mu**2)).times(places)
        return DominatingPair(
            forward=product, backward=product, relation=self.relation, derivation=node
        )

    def _noises(self, count: int, rng: Rng) -> NDArray[Any]:
        zeros = np.zeros((count, self.space.separators))
        return samplers.gaussian_rounded(zeros, self._deviation, Fraction(1), rng)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class EnumeratedExponential(SpaceChoice[R]):
    """Pick a candidate of a space with probability proportional to e^(-epsilon loss).

    Losses are divided by the largest that a record can have; e^(-epsilon loss / 2) if a record or
    its label is replaced. It is what ``SeparatorPerturbation`` has to be compared with wherever the
    space can be listed: on the cube of m signs its excess loss is about m log(2) / epsilon, that of
    noise on separators m^2 / (2 epsilon).

    Statement: losses add up to scores that move by at most the largest loss between neighbours,
        under add-remove and zero-out all in one direction, so the pick is epsilon-bounded-range.
    Source: ``ExponentialMechanism``.

    Args:
        epsilon: of the pick, in nats.
        space: the candidates, at most 2^26 vectors of levels.
        loss: as for ``SeparatorPerturbation``, as are outputs and errors.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> from dpproof.mechanisms import Cube
        >>> pick = EnumeratedExponential(epsilon=1, space=Cube(2), relation=AddRemove())
        >>> pick.release([([1, 0], 1), ([0, 1], -1)] * 200).weights
        array([ 1, -1])
    """

    epsilon: Fraction = field(converter=parameters.positive)

    def guarantee(self) -> Guarantee[R]:
        """State epsilon-bounded range of the candidate that is looked up."""
        return post_process(
            self._mechanism().guarantee(), description="looking up the candidate of an index"
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Pick ``count`` times on each dataset: records of shape (len(datasets), count)."""
        width = self.space.coordinates
        read = [patterns(data, width, self.loss.largest_feature) for data in datasets]
        choices = []
        for data in read:
            losses = oracles.Problem(self.space, self.loss, data, 1).totals().reshape(-1)
            listed = np.flatnonzero(losses >= 0)
            picked = self._mechanism().draw([-losses[listed]], count, rng)[0]
            choices.append(oracles.levels_at(self.space, listed[picked]))
        return record(2, weights=np.array(self.space.levels)[np.stack(choices)])

    def _mechanism(self) -> ExponentialMechanism[R]:
        """Return the exponential mechanism on the negative losses."""
        return ExponentialMechanism(
            epsilon=self.epsilon,
            sensitivity=LInf(self.loss.most(self.space), self.relation),
            monotone=not isinstance(self.relation, ReplaceOne | ReplaceLabel),
        )
