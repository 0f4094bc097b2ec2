"""Pairs of which the profile is known and M is not: tables above and below give M.

Proofs: proofs/theory/sampled.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

from flint import arb, ctx

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.pairs.pair import LossPair, Moments
from dpproof.proofs.sampled.table import EnclosedProfile, Hint, Table, read_beyond, read_table
from dpproof.proofs.sums.contour import Line

# How many tables are kept: as many as a product may cite again for free. Speed alone.
TABLES: Final = 4
# Extra bits of a table whose large ratios magnify rounding. Enclosures stay sound with any number.
MORE_BITS: Final = 256
Profile = Callable[[arb], arb]


class TabulatedPair(LossPair, ABC):
    """A pair answered through a finite pair that dominates it, or one that it dominates.

    Both are made from bounds of the profile on a grid (proofs/sampled/table.py).
    """

    __slots__ = ()

    @abstractmethod
    def swapped(self) -> TabulatedPair:
        """Return the pair (Q, P)."""

    @abstractmethod
    def bounds(self, lines: Sequence[Line]) -> Callable[[arb, int], arb]:
        """Return upper bounds of the profile, by its formula or by each of the lines."""

    @abstractmethod
    def enclosed_profile(self, lines: Sequence[Line]) -> EnclosedProfile:
        """Return an enclosure of the profile and its limit."""

    def moments(self, witness: object) -> Moments:
        """Return M of the witness's table above the pair."""
        return table_above(self, witness)

    def moments_below(self, witness: object) -> Moments:
        """Return M of a table below the pair."""
        return table_below(self, witness)

    def moment(self, witness: object, s: Fraction) -> arb:
        """Bound E_P[e^{sL}] from above at one s > 0; refuse a table that does not end at 0."""
        beyond, table = read_beyond(witness)
        with ctx.workprec(ctx.prec + MORE_BITS):
            above = table_above(self, table)
        if beyond is not None or not above.infinite.is_zero():
            raise RefusedError("what lies beyond a table counts as infinite")
        (body,) = above.along(s, arb(0), 1)
        return body.real


def table_above(pair: TabulatedPair, witness: object) -> Table:
    """Return the table above a pair that a witness describes."""
    return _above(pair, read_table(witness), ctx.prec)


def table_below(pair: TabulatedPair, witness: object) -> Table:
    """Return the table below a pair that a witness describes."""
    return _below(pair, read_table(witness), ctx.prec)


@lru_cache(maxsize=TABLES)
def _above(pair: TabulatedPair, hint: Hint, precision: int) -> Table:  # noqa: ARG001  # of balls
    """Return the table of a hint; the precision is part of the key, and many orders share one."""
    forward, backward = pair.bounds(hint.forward.lines), pair.swapped().bounds(hint.backward.lines)
    return Table.above(hint, forward, backward)


@lru_cache(maxsize=TABLES)
def _below(pair: TabulatedPair, hint: Hint, precision: int) -> Table:  # noqa: ARG001  # as above
    """Return the table below the pair; the precision is part of the key."""
    forward, backward = hint.forward.lines, hint.backward.lines
    return Table.below(
        hint, pair.enclosed_profile(forward), pair.swapped().enclosed_profile(backward)
    )
