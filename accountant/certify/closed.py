"""A closed profile as proof: one pair, once, or Gaussians."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from accountant.certify.proof import fact_step
from accountant.guarantees.points import Points
from accountant.numerics.enclosure import Reals
from accountant.numerics.profile import closed_form
from accountant.pairs.finite import FinitePair
from accountant.pairs.gaussian import GaussianPair
from accountant.pairs.laplace import LaplacePair
from accountant.pairs.logistic import LogisticPair
from accountant.pairs.product import Product
from accountant.pairs.randomized_response import RandomizedResponsePair
from accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from proofs.certificate import Step

_CLOSED = (
    FinitePair
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
        single = closed_form(self.product)
        found = single.profile(epsilon) if single is not None else None
        upper = np.zeros(epsilon.shape) if found is None else found[1]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(upper))

    def fact(self, points: Points) -> Step:
        """No witness is needed."""
        return fact_step("closed", self.product, points, {})


def has_closed_profile(product: Product) -> bool:
    """Whether the checker has a formula for it."""
    return not product.factors or isinstance(closed_form(product), _CLOSED)
