"""A closed profile as proof: one pair, once, or Gaussians."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from accountant.certify.proof import fact_step
from accountant.guarantees.points import Points
from accountant.numerics.enclosure import Reals
from accountant.numerics.profile import closed_form, deltas
from accountant.pairs.discrete_gaussian import DiscreteGaussianPair
from accountant.pairs.discrete_laplace import DiscreteLaplacePair
from accountant.pairs.finite import FinitePair
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.laplace import LaplacePair
from accountant.pairs.logistic import LogisticPair
from accountant.pairs.product import Product
from accountant.pairs.randomized_response import RandomizedResponsePair
from accountant.pairs.subsampled import SubsampledPair
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.certificate import Step

_MANY = 900.0
_CLOSED = (
    DiscreteGaussianPair
    | DiscreteLaplacePair
    | FinitePair
    | GaussianPair
    | LaplacePair
    | LogisticPair
    | RandomizedResponsePair
    | SubsampledGaussianPair
)


@final
@dataclass(frozen=True, slots=True)
class Closed:
    """The formula itself."""

    product: Product

    def log_upper(self, epsilon: Reals) -> Reals:
        """Log of the upper end of the profile."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(deltas(self.product, epsilon)[1]))

    def fact(self, points: Points) -> Step:
        """No witness is needed."""
        return fact_step("closed", self.product, points, {})


def has_closed_profile(product: Product) -> bool:
    """Whether the checker has a formula for it."""
    single = closed_form(product)
    if isinstance(single, SubsampledPair):
        return has_closed_profile(single.base)
    if isinstance(single, DiscreteLaplacePair | DiscreteGaussianPair):
        return _terms(single) < _MANY
    return not product.factors or isinstance(single, _CLOSED)


def _terms(pair: DiscreteLaplacePair | DiscreteGaussianPair) -> float:
    """How many losses the checker adds up."""
    if isinstance(pair, DiscreteLaplacePair):
        return float(pair.shift)
    return 32.0 * math.sqrt(pair.sigma_squared)
