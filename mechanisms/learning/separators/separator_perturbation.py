"""Objective perturbation on separating features, repaired: pure differential privacy."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.approx_dp import ApproxDP
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee, applied
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import MAX_EXPONENT, exp_up, show
from dpproof.accountant.relation import R, Relation, ReplaceLabel, ReplaceOne
from dpproof.accountant.side_conditions import NEAR_MINIMUM, PERTURBED_CHOICE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.separators.losses import Loss, ZeroOne, patterns
from dpproof.mechanisms.learning.separators.noises import LAWS, Law, Shape
from dpproof.mechanisms.learning.separators.oracles import EnumerationOracle, Oracle, Problem
from dpproof.mechanisms.learning.separators.spaces import Integers, Space
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.rng import Rng

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


@frozen(kw_only=True, repr=False, field_transformer=named)
class SpaceChoice(Mechanism[R], ABC):
    """A choice among the candidates of a space by the losses of the records."""

    space: Space
    loss: Loss = field(factory=ZeroOne)
    relation: R = field(validator=parameters.neighbours)

    def __attrs_post_init__(self) -> None:
        """Refuse what is no space or loss, or does not fit."""
        require_choice(self.space, self.loss, EnumerationOracle())


@frozen(kw_only=True, repr=False, field_transformer=named)
class OracleChoice(SpaceChoice[R], ABC):
    """A choice that an oracle makes: the candidate that minimises losses and noise."""

    oracle: Oracle = field(factory=EnumerationOracle)

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
            problem = Problem(self.space, self.loss, seen, self.unit, self._heights)
            minima.append(levels[self.oracle.minima(problem, self._noises(count, rng))])
        return chosen(np.stack(minima))


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
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
        """Return the worth of one loss in units of the noise.

        One record moves the difference of two candidates' losses by ``Loss.steepness`` a place in
        which they differ, by twice that if it is replaced.
        """
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
    """Refuse what is no space, loss or oracle, or an oracle that does not fit.

    Raises:
        ParameterError: one of them.
    """
    if not isinstance(space, Space):
        raise ParameterError("space", space, "a space of candidates, such as Cube(10)")
    if not isinstance(loss, Loss):
        raise ParameterError("loss", loss, "ZeroOne(), HingeLoss() or ParityLoss()")
    if not isinstance(oracle, Oracle):
        raise ParameterError("oracle", oracle, "EnumerationOracle() or MilpOracle()")
    loss.steepness(space)
    oracle.accepts(space, loss)


def exact(_mechanism: object, _parameter: object, oracle: Oracle) -> None:
    """Refuse an oracle with a tolerance."""
    if getattr(oracle, "tolerance", None) is not None:
        raise ParameterError("oracle", oracle, "an exact one, EnumerationOracle()")


def chosen(weights: Outputs) -> Outputs:
    """Return candidates as records with ``weights``, from shape (datasets, runs, ...)."""
    outputs = np.recarray(weights.shape[:2], dtype=[("weights", weights.dtype, weights.shape[2:])])
    outputs["weights"] = weights
    return np.asarray(outputs)
