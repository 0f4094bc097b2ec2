"""What the private perceptrons have in common: their parameters and their noisy sums."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Literal, Required, TypeAlias, final, get_args

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import R
from dpproof.accountant.sampling.without_replacement import WithoutReplacement
from dpproof.mechanisms.learning.batches import scheme_of
from dpproof.mechanisms.learning.bounded_updates import NoisySums
from dpproof.mechanisms.learning.stops import Stop
from dpproof.mechanisms.learning.sum_learner import SumArguments, SumLearner, checked as shared

MarginNorm: TypeAlias = Literal["l2", "linf"]
"""The norm in which a record has to be far from the border: Euclidean, or largest coordinate."""

# Only utility depends on it: no product of a record and a state reaches this many times the norm.
_UNREACHABLE = 2


class PerceptronArguments(SumArguments, total=False):
    """What the constructors of perceptrons take."""

    margin: Required[Number]
    stop: Stop | None
    iterates: bool
    margin_norm: MarginNorm


class Perceptron(SumLearner[R], ABC):
    """A learner that adds up margin mistakes with Gaussian noise, a fixed number of times."""

    __slots__ = ()

    margin: Fraction
    rate: Fraction
    batch: WithoutReplacement | None
    steps: int
    sigma: Fraction
    stop: Stop | None
    iterates: bool
    margin_norm: MarginNorm

    @abstractmethod
    def _squared_bound(self) -> int:
        """Bound of the squared norm of one record's contribution, in units of norm^2."""

    @final
    def sums(self) -> NoisySums[R]:
        """The noisy sums that a run releases, with what one record contributes at most."""
        return NoisySums(
            scheme=scheme_of(self.rate, self.batch),
            steps=self.steps,
            sigma=self.sigma,
            norm=self._unit,
            squared_bound=self._squared_bound(),
            relation=self.relation,
            stop=self.stop,
            iterates=self.iterates,
        )

    @final
    def _relative_margin(self) -> Fraction:
        """The margin in units of the norm bound, at most a value that no record reaches."""
        return min(self.margin / self._unit, Fraction(_UNREACHABLE))


def checked(
    *,
    margin: object,
    stop: object,
    iterates: object,
    margin_norm: object,
    **others: object,
) -> dict[str, object]:
    """The parameters of a perceptron by their field names, each in its domain.

    Raises:
        ParameterError: one of them is not.
    """
    if stop is not None and not isinstance(stop, Stop):
        allowed = "a rule such as GaussianStop(...), NormStop(...), ChooseIterate(...), or None"
        raise ParameterError("stop", stop, allowed)
    if not isinstance(iterates, bool):
        raise ParameterError("iterates", iterates, "True or False")
    if margin_norm not in get_args(MarginNorm):
        raise ParameterError("margin_norm", margin_norm, '"l2" or "linf"')
    return {
        "margin": check.non_negative(margin=margin),
        "stop": stop,
        "iterates": iterates,
        "margin_norm": margin_norm,
        **shared(**others),
    }
