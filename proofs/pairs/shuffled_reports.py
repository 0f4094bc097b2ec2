"""The laws of shuffled local reports on two datasets: proofs/theory/shuffle_model.md, section 3."""

from __future__ import annotations

from fractions import Fraction
from typing import Never

from flint import arb

from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.pairs.pair import LossPair, no_profile


@frozen
class ShuffledReportsPair(LossPair):
    """Counts of reports of a record's two categories, or clones of two reports."""

    epsilon: Fraction  # of each report
    categories: int  # of randomised response; 0 for clones
    records: int  # the number of reports
    removal: bool  # of two categories whether all others have the second; else the first

    def moments(self, witness: object) -> Never:  # noqa: ARG002  # of none
        """Refuse: no rule reads them."""
        raise no_profile(self.describe())

    def profile(self, epsilon: arb) -> Never:  # noqa: ARG002  # at none
        """Refuse: it has no formula here."""
        raise no_profile(self.describe())

    def swapped(self) -> ShuffledReportsPair:
        """Return the pair (Q, P): of two categories, each takes the other's place."""
        removal = self.removal is (self.categories != 2)
        return ShuffledReportsPair(self.epsilon, self.categories, self.records, removal)

    def describe(self) -> str:
        """Name the two laws."""
        epsilon = exact(self.epsilon)
        if not self.categories:
            return (
                f"a number C of successes in {self.records - 1} trials of probability "
                f"e^-{epsilon}; beside it Binomial(C, 1/2) plus a bit, which is 1 with "
                f"probability 1/(1 + e^-{epsilon}) under P and 1/(1 + e^{epsilon}) under Q"
            )
        others = "a third" if self.categories > 2 else "the second" if self.removal else "the first"
        return (
            f"how many of {self.records} reports by randomised response at epsilon {epsilon} on "
            f"{self.categories} categories are of the first and of the second; one record is in "
            f"the first under P and in the second under Q, all others in {others}"
        )
