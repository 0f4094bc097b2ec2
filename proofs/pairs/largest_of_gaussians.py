"""The largest of independent normal variables, of which one has another mean under P than under Q.

It is what two datasets show of an epoch of shuffled batches: proofs/theory/shuffled.md, section 3.
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from dpproof.proofs.core.arithmetic import ball, exact, normal_tail
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Pair
from dpproof.proofs.pairs.pair import no_profile


@frozen
class LargestOfGaussiansPair(Pair):
    """The laws of the maximum of N(m, 1) and batches - 1 times N(0, 1).

    m is 2 mu with the record and mu without it, or mu and 0 if it is replaced. P is the law with
    the record if removal, else the law without it.
    """

    mu_squared: Fraction
    batches: int
    replaced: bool
    removal: bool

    def events(self, x: arb) -> tuple[arb, arb]:
        """Return the masses under P and Q of more than x if removal, else of at most x."""
        with_it, without = (self._log_below(x, shift) for shift in self._shifts())
        if self.removal:
            return -with_it.expm1(), -without.expm1()
        return without.exp(), with_it.exp()

    def _shifts(self) -> tuple[arb, arb]:
        """Return the mean with the record, and without it."""
        mu = ball(self.mu_squared).sqrt()
        return (mu, arb(0)) if self.replaced else (2 * mu, mu)

    def _log_below(self, x: arb, shift: arb) -> arb:
        """Return the log of the probability of at most x."""
        return (self.batches - 1) * log_normal(x) + log_normal(x - shift)

    def profile(self, epsilon: arb) -> arb:  # noqa: ARG002  # at none
        """Refuse: it has no formula here."""
        raise no_profile(self.describe())

    def describe(self) -> str:
        """Name the number of variables and the two means."""
        means = ("mu", "0") if self.replaced else ("2 mu", "mu")
        p, q = means if self.removal else means[::-1]
        return (
            f"the largest of {self.batches} unit normal variables, one of mean {p} under P and "
            f"{q} under Q and the others of mean 0, with mu^2 = {exact(self.mu_squared)}"
        )


def log_normal(x: arb) -> arb:
    """Return the log of the probability that a standard normal variable is at most x."""
    return normal_tail(-x).log() if x < 0 else (-normal_tail(x)).log1p()
