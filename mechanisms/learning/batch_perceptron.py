"""The private batch perceptron for two classes."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from fractions import Fraction
from typing import Literal, TypeAlias, final, get_args

from attrs import field, frozen

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.learning.bounded_updates import Contributions, NoisySums
from dpproof.mechanisms.learning.grid import PRODUCT_BITS
from dpproof.mechanisms.learning.halfspace import mistakes_of_coordinates, mistakes_within
from dpproof.mechanisms.learning.records import GridRecords
from dpproof.mechanisms.learning.stops import Stop
from dpproof.mechanisms.learning.sum_learner import StepLearner
from dpproof.mechanisms.parameters import named

MarginNorm: TypeAlias = Literal["l2", "linf"]
"""The norm in which a record has to be far from the border: Euclidean, or largest coordinate."""

# Only utility depends on it: no product of a record and a state reaches this many times the norm.
_UNREACHABLE = 2


@frozen(kw_only=True, repr=False, field_transformer=named)
class Perceptron(StepLearner[R], ABC):
    """A learner that adds up margin mistakes with Gaussian noise, a fixed number of times."""

    margin: Fraction = field(converter=parameters.non_negative)
    stop: Stop | None = field(default=None)
    iterates: bool = field(default=False, converter=parameters.flag)
    margin_norm: MarginNorm = field(
        default="l2", validator=parameters.one_of(*get_args(MarginNorm))
    )

    @stop.validator
    def _is_rule(self, _parameter: object, stop: object) -> None:
        if stop is not None and not isinstance(stop, Stop):
            allowed = "a rule such as GaussianStop(...), NormStop(...), ChooseIterate(...), or None"
            raise ParameterError("stop", stop, allowed)

    @abstractmethod
    def _squared_bound(self) -> int:
        """Return a bound of the squared norm of one record's contribution, in units of norm^2."""

    @final
    def sums(self) -> NoisySums[R]:
        """Return the noisy sums that a run releases, with a bound of one record's contribution."""
        bound = self._squared_bound()
        sums = StepLearner.sums(self)
        return replace(sums, squared_bound=bound, stop=self.stop, iterates=self.iterates)

    @final
    def _relative_margin(self) -> Fraction:
        """Return the margin in units of the norm bound, at most a value that no record reaches."""
        return min(self.margin / self._unit, Fraction(_UNREACHABLE))


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class BatchPerceptron(Perceptron[R]):
    """Learn a halfspace: add up the margin mistakes of a sample, with Gaussian noise, T times.

    Start from w = 0. In every step draw a sample, find its records with
    y <w / ||w||, x> <= margin (all of them if w = 0), and add the sum of their y x and
    N(0, sigma^2 I) to w. Every noisy sum is paid for, so every state may be released.

    Statement: one record moves the sum of a step by at most ``norm`` in Euclidean norm, twice that
        under replace-one, whatever was released before. With rate 1 the run is mu-GDP with
        mu = sqrt(steps) sensitivity / sigma; below 1 it is dominated by the pair of one
        Poisson-sampled Gaussian sum, ``steps`` times.
    Source: the algorithm is Ghazi, Kumar, Manurangsi & Nguyen, "Robust and Private Learning of
        Halfspaces", arXiv:2011.14580, Algorithm 1; without a test as in their experiments;
        the accounting is Theorem A of proofs/theory/learners.md.

    Args:
        margin: at least 0, in data units: a record less far inside its halfspace is a mistake.
        steps: T, fixed in advance.
        sigma: standard deviation of the noise on a sum, in data units, in [2^-300, 2^300].
        rate: every record is in a sample independently with this probability, in (0, 1]; 1 takes
            all records. It has to be a constant: under add-remove the number of records is
            private, and a rate computed from it would leak it.
        norm: rows are clipped to this Euclidean norm, in data units. None scales every row to
            norm 1; the margin is then the cosine of an angle.
        relation: the neighbouring relation.
        stop: a test that may end the run before its last step, or ``ChooseIterate``; None makes
            all steps. All steps are paid for.
        average: whether the weights of a run that was not stopped are the mean of the last half of
            its states, or the last one; neither costs anything. A stopped run returns the state
            that its test approved.
        features: the width of a row; None takes it from the array.
        batch: fixed-size samples in place of Poisson ones, under replace-one only: every step takes
            a fresh uniform subset of exactly ``sample_size`` of the ``population_size`` records.
        margin_norm: ``"l2"``, or ``"linf"`` to learn from every record that is called otherwise if
            its coordinates move by ``margin``: those with y <w, x> <= margin ||w||_1. Which records
            are mistakes depends on the state and the record alone, so it costs nothing.
        iterates: whether to release the state after every step as well, which costs nothing.
    Outputs:
        A record with fields ``stopped``, ``steps`` (made before it stopped, or the number of the
        state picked) and ``weights`` of shape (features,); if asked for also ``iterates`` of shape
        (steps, features), nan from the step on at which a run stopped.
    Raises:
        ParameterError: a parameter outside its domain; on release, data that is not labelled rows.
            A record that is not finite, or whose label is neither 1 nor -1, contributes nothing.
        NotImplied: on guarantee, a Laplace test on samples under replace-one.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> learner = BatchPerceptron(
        ...     margin=0.1, steps=100, sigma=40, features=2, relation=AddRemove()
        ... )
        >>> learner.guarantee().mu
        Fraction(1, 4)
        >>> learner.release([([0.6, 0.8], 1), ([-1.0, 0.0], -1)]).weights.shape
        (2,)
    """

    def _squared_bound(self) -> int:
        """Return 1: a mistake contributes y x, of norm at most ``norm``."""
        return 1

    def _contributions(self, records: GridRecords) -> Contributions:
        margin = self._relative_margin()
        if self.margin_norm == "linf":
            return mistakes_of_coordinates(records, float(margin))
        return mistakes_within(records, float(math.floor(margin * 2**PRODUCT_BITS)))
