"""What extensions know of pairs (P, Q): M along lines, and losses that are listed.

M(s) = E_P[e^{sL}; L < inf]. Everything is an enclosure at the current precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Final, Protocol

from flint import acb, arb

from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Pair
from dpproof.proofs.pairs.loss_atoms import Terms

_NONE: Final = arb(0)


class Moments(Protocol):
    """M along vertical lines."""

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Return M(c + i k step) for k = 0, ..., count - 1, c > 0."""

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:
        """Return at least |M(c + i v)| for v from y >= 0 to the top, or for all v >= y if None."""

    @property
    def infinite(self) -> arb:
        """Return P(L = inf) of the pair that M belongs to."""

    @property
    def top(self) -> Fraction | None:
        """Return where the ceiling stops to fall; None if it never does."""


class LossPair(Pair, ABC):
    """A pair of an extension, and what is known of its losses."""

    __slots__ = ()

    def exact_infinite_mass(self) -> arb:
        """Return an enclosure of P(L = inf)."""
        return ball(self.infinite)

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """Return an offset and span: every finite loss is offset + k span, k an integer.

        None, as of losses with a density, says that no lattice is known.
        """
        return None

    @property
    def outcomes(self) -> int:
        """Return the number of finite losses; 0 if they are not listed, as of most pairs."""
        return 0

    def terms(self) -> Terms:
        """Return all losses, if the finite ones are listed.

        Raises:
            RefusedError: they are not.
        """
        raise unlisted(self.describe())

    @abstractmethod
    def moments(self, witness: object) -> Moments:
        """Return M, computed with the help of a witness, which is None for a closed formula."""

    @abstractmethod
    def swapped(self) -> Pair:
        """Return the pair (Q, P), or one with the same profile."""


class Reflected(LossPair, ABC):
    """A pair whose P and Q are exchanged by a reflection of the outcomes."""

    __slots__ = ()

    def swapped(self) -> Pair:
        """Return the pair itself: reflecting the outcomes exchanges P and Q."""
        return self


@frozen
class Formula:
    """M by a closed formula.

    Attributes:
        moment: s -> M(s) for Re s > 0.
        decay: (c, y) -> at or above |M(c + i v)| for v >= y; |M(c + i v)| <= M(c) needs no proof.
        infinite: P(L = inf).
    """

    moment: Callable[[acb], acb]
    decay: Callable[[arb, arb], arb] | None = None
    infinite: arb = _NONE

    @property
    def top(self) -> Fraction | None:
        """Return None: the bound falls for ever."""
        return None

    def along(self, c: Fraction, step: arb, count: int) -> list[acb]:
        """Return the formula at every node."""
        real = ball(c)
        return [self.moment(acb(real, step * k)) for k in range(count)]

    def ceiling(self, c: Fraction, y: arb, top: Fraction | None) -> arb:  # noqa: ARG002  # any
        """Return the smaller of M(c) and the decay."""
        flat = self.moment(acb(ball(c))).real
        return flat if self.decay is None else flat.min(self.decay(ball(c), y))


def some_infinite(finite: Iterable[tuple[arb, int]]) -> arb:
    """Return P(L = inf) of a product, 1 - prod (1 - p_i)^{n_i}, from each 1 - p_i and n_i."""
    rest = arb(1)
    for one, count in finite:
        rest *= one**count
    return 1 - rest


def no_witness(witness: object) -> None:
    """Refuse a witness that a closed formula does not need."""
    if witness is not None:
        raise RefusedError("a pair with a closed formula takes null as its witness")


def unbounded(what: str) -> RefusedError:
    """Return the refusal of a pair whose losses have no bound."""
    return RefusedError(f"the losses of {what} have no bound")


def unlisted(what: str) -> RefusedError:
    """Return the refusal of a pair whose losses are not listed."""
    return RefusedError(f"the losses of {what} are not listed: its witness is a table")


def no_profile(what: str) -> RefusedError:
    """Return the refusal of a pair without a closed profile."""
    return RefusedError(f"{what} has no profile in closed form here: use its moments")
