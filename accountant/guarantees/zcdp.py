"""Zero-concentrated differential privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import final, overload

import numpy as np

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.guarantee import DEFAULT_RELATION
from dpproof.accountant.guarantees.provenance import state
from dpproof.accountant.guarantees.renyi_guarantee import RenyiGuarantee
from dpproof.accountant.guarantees.rounding import floats_around, show
from dpproof.accountant.relation import AddRemove, R, Relation

# Orders to start a search with. Heuristic: every order is valid.
_TRIAL_ORDERS = 1.0 + np.geomspace(1e-8, 1e12, 200)


@final
@dataclass(frozen=True, slots=True, init=False)
class ZCDP(RenyiGuarantee[R]):
    """rho-zCDP: Renyi divergence at most rho a at every order a > 1.

    Source: Bun & Steinke (arXiv:1605.02065), Definition 1.1.

    Attributes:
        rho: exact, at or above 0, nats.

    Example:
        >>> ZCDP(rho=2).rdp(order=3)
        Bound(lower=6.0, upper=6.0)
    """

    rho: Fraction
    relation: R
    derivation: Derivation = field(compare=False, repr=False)

    @overload
    def __init__(
        self: ZCDP[AddRemove], *, rho: Number, derivation: Derivation | None = None
    ) -> None: ...
    @overload
    def __init__(
        self, *, rho: Number, relation: R, derivation: Derivation | None = None
    ) -> None: ...
    def __init__(
        self,
        *,
        rho: Number,
        relation: Relation = DEFAULT_RELATION,
        derivation: Derivation | None = None,
    ) -> None:
        """State the guarantee; without a derivation it is an assumption."""
        state(self, "zcdp", relation, derivation, rho=arguments.non_negative(rho=rho))

    def describe(self) -> str:
        """Return the statement in words and numbers."""
        return f"{show(self.rho)}-zCDP"

    def divergence_up(self, order: Fraction) -> Fraction | None:
        """Return the stated curve, rho times the order."""
        return self.rho * order

    def _curve_up(self, orders: Reals) -> Reals:
        """Return upper bounds of the stated curve."""
        with np.errstate(over="ignore"):
            curve: Reals = floats_around(self.rho)[1] * orders * (1 + 4 * UNIT_ROUNDOFF)
        return curve

    def _trial_orders(self) -> Reals:
        """Return orders over the range in which the best one usually lies."""
        return _TRIAL_ORDERS

    def _gaussian_rho(self) -> Fraction:
        """Return rho: a Gaussian with mu^2 = 2 rho has divergence exactly rho a."""
        return self.rho

    def _holds_at_every_order(self) -> bool:
        """Return True: the statement covers every order."""
        return True
