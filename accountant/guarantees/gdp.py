"""Gaussian differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, final, overload

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Derivation, Theorem, dominate_again
from dpproof.accountant.guarantees.dominating_pair import DominatingPair, dominated
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION
from dpproof.accountant.guarantees.pair_guarantee import FaithfulPairGuarantee
from dpproof.accountant.guarantees.provenance import state
from dpproof.accountant.guarantees.rounding import show, sqrt_up
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.relation import AddRemove, R, Relation

DOMINATE_GDP: Final = Theorem(
    rule="dominate/gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Definition 2.6",
    attained=Attained.WHOLE,  # the pair meets the statement
    pointwise=True,
    again=dominate_again,
)


@final
@dataclass(frozen=True, slots=True, init=False)
class GDP(FaithfulPairGuarantee[R]):
    """mu-GDP: no attack does better than one that tells N(0, 1) from N(mu, 1).

    The square of mu is what is kept, exactly, because squares add under composition.

    Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6.

    Attributes:
        mu_squared: exact, at or above 0, dimensionless.

    Example:
        >>> GDP(mu=3).mu_squared
        Fraction(9, 1)
        >>> GDP(mu_squared=25).mu
        Fraction(5, 1)
    """

    mu_squared: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: GDP[AddRemove],
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        derivation: Derivation | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        relation: R,
        derivation: Derivation | None = None,
    ) -> None: ...
    def __init__(
        self,
        *,
        mu: Number | None = None,
        mu_squared: Number | None = None,
        relation: Relation = DEFAULT_RELATION,
        derivation: Derivation | None = None,
    ) -> None:
        """State the guarantee by mu or by its square; without a derivation it is an assumption."""
        state(self, "gdp", relation, derivation, mu_squared=_square(mu, mu_squared))

    @property
    def mu(self) -> Fraction:
        """Return the root of ``mu_squared``.

        Exact if rational, else at most 2**-80 relative above.
        """
        return sqrt_up(self.mu_squared)

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.mu)}-GDP"

    def to_pair(self) -> DominatingPair[R]:
        """Return the definition itself: N(mu, 1) over N(0, 1).

        Source: Dong, Roth & Su (arXiv:1905.02383), Definition 2.6.
        """
        pair = GaussianPair(mu_squared=self.mu_squared) if self.mu_squared > 0 else None
        statement = f"dominated by Gaussians {show(self.mu)} standard deviations apart"
        return dominated(self, DOMINATE_GDP, statement, pair)


def _square(mu: Number | None, mu_squared: Number | None) -> Fraction:
    """Return the square of mu, of which exactly one form must be given."""
    if mu is not None and mu_squared is None:
        return arguments.non_negative(mu=mu) ** 2
    if mu_squared is not None and mu is None:
        return arguments.non_negative(mu_squared=mu_squared)
    raise ParameterError("mu", mu, "given, or else mu_squared, and not both")
