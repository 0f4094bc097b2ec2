"""A product of pairs released together on one random sample; proofs in proofs/sampled.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import Final, final

from flint import arb, ctx

from proofs.arithmetic import PRECISIONS, ball, show
from proofs.errors import RefusedError
from proofs.line import Line, closed_profile
from proofs.pairs.pair import Pair, Product, no_profile, unbounded
from proofs.pairs.table import Hint, Table, read_beyond, read_table

TABLES: Final = 4  # of one product that are kept, at every precision
_MORE_BITS: Final = 256  # of a profile where a large ratio magnifies what is cut
Profile = Callable[[arb], arb]


class Direction(Enum):
    """What the sample does to (P, Q)."""

    REMOVAL = "removal"
    ADDITION = "addition"
    REPLACEMENT = "replacement"


@final
@dataclass(frozen=True, slots=True)
class SampledPair(Pair):
    """((1-q)Q + qP, Q) for removal, (P, (1-q)P + qQ) for addition; for replacement the largest
    pair with H_t <= q H_{1+(t-1)/q}(P|Q) for t >= 1 and the same for the swapped pair.

    M is not known: it is that of a finite pair that dominates, made from upper bounds of the
    base's profile on a grid (proofs/pairs/table.py).
    """  # noqa: D205  # two definitions are one sentence

    base: Product
    sampling_rate: Fraction
    direction: Direction

    @property
    def infinite(self) -> Fraction:
        """The rate times at most the sum over the base; none for addition."""
        if self.direction is Direction.ADDITION:
            return Fraction(0)
        return self.sampling_rate * min(sum(n * one.infinite for one, n in self.base), Fraction(1))

    @property
    def lattice(self) -> tuple[Fraction, Fraction] | None:
        """None: that of a table is its own."""
        return None

    def largest(self) -> arb:
        """log(1 + q(e^l - 1)), l the base's largest; for addition -log(1 - q(1 - e^{-l})).

        Where l has no bound the second is at most -log(1 - q).
        """
        q = ball(self.sampling_rate)
        if self.direction is not Direction.ADDITION:
            return (q * self._base_largest().expm1()).log1p()
        try:
            return -(q * (-self._base_largest()).expm1()).log1p()
        except RefusedError:
            return -(1 - q).log()

    def _base_largest(self) -> arb:
        if any(one.infinite for one, _ in self.base):
            raise unbounded("a base with infinite losses")
        return sum((one.largest() * count for one, count in self.base), arb(0))

    def moments(self, witness: object) -> Table:
        """Of the table that the witness describes."""
        return _table(self, read_table(witness), ctx.prec)

    def moment(self, witness: object, s: Fraction) -> arb:
        """At or above E_P[e^{sL}] at one s > 0; proofs/sampled.md, section 6.

        By a table alone where its profile falls to 0. Else what lies beyond its last corner T adds
        at most s(s+1) q T^s A^{-c} M(c) c^c/(1+c)^{1+c}/(c - s), A = 1 + (T-1)/q, M the base's.
        """
        beyond, given = read_beyond(witness)
        with ctx.workprec(ctx.prec + _MORE_BITS):
            found = self.moments(given)
        power = ball(s)
        (body,) = found.along(s, arb(0), 1)
        if found.infinite.is_zero():
            return body.real
        if beyond is None or beyond <= s or self.direction is Direction.ADDITION:
            raise RefusedError("what lies beyond a table counts as infinite without an order there")
        c, q = ball(beyond), ball(self.sampling_rate)
        end = ball(found.span * max(found.masses, default=0)).nonnegative_part()
        size = (c * c.log() - (1 + c) * (1 + c).log() - c * (end.expm1() / q).log1p()).exp()
        for one, count in self.base:
            (moment,) = one.moments(None).along(beyond, arb(0), 1)
            size *= moment.real**count
        tail = power * q * size / (c - power) + found.infinite
        return body.real + (1 + power) * (power * end).exp() * tail

    def profile(self, epsilon: arb) -> arb:
        """From that of the base, where it has a closed one."""
        return self.sampled(self.bases(()))(epsilon, 0)

    def swapped(self) -> SampledPair:
        """The other direction of the swapped base; replacement is its own swap."""
        if self.direction is Direction.REPLACEMENT:
            return self
        removal = self.direction is Direction.REMOVAL
        base = tuple((one.swapped(), count) for one, count in self.base)
        other = Direction.ADDITION if removal else Direction.REMOVAL
        return SampledPair(base, self.sampling_rate, other)

    def unsampled(self) -> Product:
        """The base, which dominates: forgetting the sample is post-processing.

        H_t of a mixture with P or Q itself is at most q H_t(P|Q) + (1-q) H_t of equal laws. For a
        replacement t < 1 is about the swapped base, so the base has to be its own swap.

        Raises:
            RefusedError: it is not.
        """
        swapped = tuple((one.swapped(), count) for one, count in self.base)
        if self.direction is Direction.REPLACEMENT and swapped != self.base:
            raise RefusedError("a base that is not its own swap says nothing of a replacement")
        return self.base

    def bases(self, lines: Sequence[Line]) -> list[Profile]:
        """Bounds of the base's profile: by each line, or in closed form where there is none."""
        if lines:
            return [one.bound(self.base, [None] * len(self.base)) for one in lines]
        closed = closed_profile(self.base)
        if closed is None:
            raise no_profile("a sampled pair whose base is a product")
        return [closed]

    def sampled(self, bases: list[Profile]) -> Callable[[arb, int], arb]:
        """A bound of the profile at epsilon >= 0 by one of those of the base, t = e^epsilon.

        Removal and replacement: q H_a(P|Q), a = 1 + (t-1)/q. Addition: r H_{qt/r}(P|Q),
        r = 1 - t(1-q), if r > 0, else 0; at most r.
        """
        q = ball(self.sampling_rate)

        def amplified(epsilon: arb, which: int) -> arb:
            return q * bases[which]((epsilon.expm1() / q).log1p())

        def diluted(epsilon: arb, which: int) -> arb:
            rest = q - (1 - q) * epsilon.expm1()
            if not rest > 0:
                return rest.nonnegative_part()
            return rest * bases[which]((q / rest).log() + epsilon)

        return diluted if self.direction is Direction.ADDITION else amplified

    def describe(self) -> str:
        """The base, the rate, the direction."""
        listed = ", ".join(f"{count} x {one.describe()}" for one, count in self.base)
        rate = show(self.sampling_rate)
        return f"({listed}) sampled at rate {rate} ({self.direction.value})"


@lru_cache(maxsize=len(PRECISIONS) * TABLES)
def _table(pair: SampledPair, hint: Hint, precision: int) -> Table:  # noqa: ARG001  # of balls
    """The table of a hint, at one precision: many orders share one."""
    sides = (pair, hint.forward.lines), (pair.swapped(), hint.backward.lines)
    forward, backward = (one.sampled(one.bases(lines)) for one, lines in sides)
    return Table.above(hint, forward, backward)


def read_direction(value: object) -> Direction:
    """A direction by its name."""
    for one in Direction:
        if value == one.value:
            return one
    raise RefusedError(f"no direction is called {value!r:.60}")
