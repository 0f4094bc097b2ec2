"""A product of pairs released together on one random sample; proofs in proofs/theory/sampled.md."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from fractions import Fraction

from flint import arb, ctx

from dpproof.proofs.core.arithmetic import ball, exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import Product
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.pairs import pair
from dpproof.proofs.sampled import table as tables
from dpproof.proofs.sampled.table import EnclosedProfile, Table, read_beyond
from dpproof.proofs.sums.contour import Line, closed_profile


class Direction(Enum):
    """The effect of the sample on (P, Q)."""

    REMOVAL = "removal"
    ADDITION = "addition"
    REPLACEMENT = "replacement"


@frozen
class SampledPair(tables.TabulatedPair):
    """((1-q)Q + qP, Q) for removal, (P, (1-q)P + qQ) for addition; for replacement the largest
    pair with H_t <= q H_{1+(t-1)/q}(P|Q) for t >= 1 and the same for the swapped pair.

    M is not known: it is that of a finite pair that dominates, made from upper bounds of the
    base's profile on a grid (proofs/sampled/table.py), or of one that the pair dominates.
    """  # noqa: D205  # two definitions are one sentence

    base: Product
    sampling_rate: Fraction
    direction: Direction

    @property
    def infinite(self) -> Fraction:
        """Return at least P(L = inf): the rate times the base's sum, cut at 1; 0 for addition."""
        if self.direction is Direction.ADDITION:
            return Fraction(0)
        return self.sampling_rate * min(sum(n * one.infinite for one, n in self.base), Fraction(1))

    @property
    def outcomes(self) -> int:
        """Return how many finite losses are listed; 0 if they are not.

        They are those of the base and, if an outcome of the base has mass under one law only, the
        one finite loss that sampling gives it.
        """
        if self.direction is Direction.REPLACEMENT:
            return 0
        count = pair.outcomes(self.base)
        return count + self._tells if count else 0

    @property
    def _tells(self) -> bool:
        """Return whether some base outcome has mass under Q alone, or, for addition, P alone."""
        removal = self.direction is Direction.REMOVAL
        return any((pair.swapped(one) if removal else one).infinite for one, _ in self.base)

    def terms(self) -> pair.Terms:
        """Return the terms of every outcome of the base; proofs/theory/sampled.md, section 9.

        Removal: p (q + (1-q) e^{-l}) at log(1 + q(e^l - 1)), what only Q has times 1 - q at
        log(1 - q), what only P has times q at inf. Addition: p at -log(1 + q(e^{-l} - 1)), what
        only P has at -log(1 - q).
        """
        if not self.outcomes:
            raise pair.unlisted(self.describe())
        q, base = ball(self.sampling_rate), pair.terms(self.base)
        kept = (1 - q).log()
        if self.direction is Direction.ADDITION:
            losses = [(-(q * (-x).expm1()).log1p(), p) for x, p in base.losses]
            return pair.Terms(losses + [(-kept, base.infinite)] * self._tells, arb(0))
        other = _alone(tuple((pair.swapped(one), count) for one, count in self.base))
        losses = [((q * x.expm1()).log1p(), p * (q + (1 - q) * (-x).exp())) for x, p in base.losses]
        return pair.Terms(losses + [(kept, (1 - q) * other)] * self._tells, q * base.infinite)

    def largest(self) -> arb:
        """Return log(1 + q(e^l - 1)), l the base's largest; for addition -log(1 - q(1 - e^{-l})).

        If l has no bound the second is at most -log(1 - q).
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
            raise pair.unbounded("a base with infinite losses")
        return sum((ball(pair.largest_of(one)) * count for one, count in self.base), arb(0))

    def moments(self, witness: object) -> Table | pair.Terms:
        """Return M of the witness's table, or, if it is null, of the pair's own listed losses."""
        return self.terms() if witness is None else tables.table_above(self, witness)

    def moments_below(self, witness: object) -> pair.Moments:
        """Return M of a table below the pair, or, if the witness is null, of its listed losses."""
        return self.terms() if witness is None else tables.table_below(self, witness)

    def moment(self, witness: object, s: Fraction) -> arb:
        """Bound E_P[e^{sL}] from above at one s > 0; proofs/theory/sampled.md, section 6.

        By a table alone where its profile falls to 0. Else what lies beyond its last corner T adds
        at most s(s+1) q T^s A^{-c} M(c) c^c/(1+c)^{1+c}/(c - s), A = 1 + (T-1)/q, M the base's.
        """
        if witness is None:
            (exact,) = self.terms().along(s, arb(0), 1)
            return exact.real
        beyond, hint = read_beyond(witness)
        with ctx.workprec(ctx.prec + tables.MORE_BITS):
            table = tables.table_above(self, hint)
        power = ball(s)
        (body,) = table.along(s, arb(0), 1)
        if table.infinite.is_zero():
            return body.real
        if beyond is None or beyond <= s or self.direction is Direction.ADDITION:
            raise RefusedError("what lies beyond a table counts as infinite without an order there")
        c, q = ball(beyond), ball(self.sampling_rate)
        end = ball(table.span * max(table.masses, default=0)).nonnegative_part()
        size = (c * c.log() - (1 + c) * (1 + c).log() - c * (end.expm1() / q).log1p()).exp()
        for one, count in self.base:
            (moment,) = pair.moments(one, None).along(beyond, arb(0), 1)
            size *= moment.real**count
        tail = power * q * size / (c - power) + table.infinite
        return body.real + (1 + power) * (power * end).exp() * tail

    def profile(self, epsilon: arb) -> arb:
        """Return H_eps, if the base has a closed profile."""
        return self.profile_at()(epsilon)

    def profile_at(self) -> tables.Profile:
        """Return the profile as a function; what all values share is computed once."""
        profile = self.sampled(self.bases(()))
        return lambda epsilon: profile(epsilon, 0)

    def swapped(self) -> SampledPair:
        """Return the other direction of the swapped base; a replacement is its own swap."""
        if self.direction is Direction.REPLACEMENT:
            return self
        removal = self.direction is Direction.REMOVAL
        base = tuple((pair.swapped(one), count) for one, count in self.base)
        other = Direction.ADDITION if removal else Direction.REMOVAL
        return SampledPair(base, self.sampling_rate, other)

    def unsampled(self) -> Product:
        """Return the base, which dominates: forgetting the sample is post-processing.

        H_t of a mixture with P or Q itself is at most q H_t(P|Q) + (1-q) H_t of equal laws. For a
        replacement t < 1 is about the swapped base, so a base that is not its own swap is refused.
        """
        swapped = tuple((pair.swapped(one), count) for one, count in self.base)
        if self.direction is Direction.REPLACEMENT and swapped != self.base:
            raise RefusedError("a base that is not its own swap says nothing of a replacement")
        return self.base

    def bases(self, lines: Sequence[Line]) -> list[tables.Profile]:
        """Return a bound of the base's profile for each line; without lines, its closed form."""
        if lines:
            return [one.bound(self.base, [None] * len(self.base)) for one in lines]
        closed = closed_profile(self.base)
        if closed is None:
            raise pair.no_profile("a sampled pair whose base is a product")
        return [closed]

    def sampled(self, bases: list[tables.Profile]) -> Callable[[arb, int], arb]:
        """Return a bound of the profile at epsilon >= 0, by one of the base's; t = e^epsilon.

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

    def bounds(self, lines: Sequence[Line]) -> Callable[[arb, int], arb]:
        """Return upper bounds of the profile, by those of the base's profile."""
        return self.sampled(self.bases(lines))

    def enclosed_profile(self, lines: Sequence[Line]) -> EnclosedProfile:
        """Return an enclosure of the profile and its limit, if that of the base is enclosed."""
        enclosed = [one.around(self.base, [None] * len(self.base)) for one in lines]
        return EnclosedProfile(self.sampled(enclosed or self.bases(())), self.exact_infinite_mass())

    def exact_infinite_mass(self) -> arb:
        """Return an enclosure of P(L = inf): the rate times the base's, and 0 for addition."""
        if self.direction is Direction.ADDITION:
            return arb(0)
        return ball(self.sampling_rate) * _alone(self.base)

    def describe(self) -> str:
        """Name the base, the rate and the direction."""
        listed = ", ".join(f"{count} x {one.describe()}" for one, count in self.base)
        rate = exact(self.sampling_rate)
        return f"({openable(listed)}) sampled at rate {rate} ({self.direction.value})"


def _alone(base: Product) -> arb:
    """Return P(L = inf) of a product, 1 - prod (1 - p_i)^{n_i}."""
    return pair.some_infinite((1 - pair.infinite_mass(one), count) for one, count in base)


def read_direction(value: object) -> Direction:
    """Return the direction of a name."""
    for one in Direction:
        if value == one.value:
            return one
    raise RefusedError(f"no direction is called {value!r:.60}")
