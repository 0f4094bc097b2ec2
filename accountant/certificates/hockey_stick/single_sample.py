"""Prove a bound for one sample of one product by a line for the base's profile at one point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.certificates.format.serialize import Object
from dpproof.accountant.certificates.hockey_stick.proof import fact_step
from dpproof.accountant.guarantees.point_lists import Points
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.subsampling.subsampled import SubsampledPair
from dpproof.proofs import limits
from dpproof.proofs.certificate import Step


@final
@dataclass(frozen=True, slots=True)
class SingleSample:
    """A proof by the subsampling theorem itself.

    Attributes:
        pair: what is sampled, once.
        line: what bounds the base's profile.
        over: how far the line's bound is above the profile, of its logarithm.
    """

    pair: SubsampledPair
    line: Object
    over: float

    def log_upper(self, epsilon: Reals) -> Reals:
        """Return the log of the upper end of the profile, raised by ``over``."""
        upper = self.pair.profile(epsilon)[1]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(upper) + self.over)

    def work(self, points: int) -> int:
        """Return the checker's work for the sum over the line's nodes."""
        return 2 * limits.line_work(int(str(self.line["nodes"])), points)

    def fact(self, points: Points) -> Step:
        """Return the step with the line."""
        return fact_step("sampled", Product.of(self.pair), points, self.line)
