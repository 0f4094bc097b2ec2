"""One-step schemes, how often a record counts under them, and Gaussians so often counted.

Proofs: proofs/theory/one_step.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import ClassVar, Final, TypeAlias

from flint import arb, ctx

from dpproof.proofs.core.arithmetic import ball, exact, normal_tail
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.statements import rate
from dpproof.proofs.limits import MAX_COUNTS, MAX_DRAWN_FROM
from dpproof.proofs.pairs.gaussian_above_floor import OppositeGaussiansPair
from dpproof.proofs.pairs.pair import reach_of
from dpproof.proofs.sampled.table import EnclosedProfile, TabulatedPair
from dpproof.proofs.sums.contour import Line

_REST: Final = 240  # Bits below the mass of the count 1 at which counts are no longer listed.
_MORE_BITS: Final = 96  # For large factorials; enclosures are sound with any number.


@frozen
class Counts:
    """The law of a record's count, given what is revealed."""

    share: arb  # the probability of what is revealed
    moves: int  # how far one count moves the sum, in contributions
    masses: tuple[arb, ...]  # of the counts 0, 1, 2,
    beyond: arb  # at or above the mass of the counts that are not listed


Cases: TypeAlias = tuple[Counts, ...]


@frozen
class Binomial:
    """A scheme under which a record's count has a binomial law."""

    trials: int  # how often a record can be drawn
    rate: Fraction  # the probability, each time
    moves: int  # how far one count moves the sum: by two where another record is drawn instead
    name: str  # the sample in words
    drawn: str  # how the sample is drawn
    population: int = 0  # the number of records that is public, 0 if none is

    @property
    def larger(self) -> str:
        """Say how many records the larger of two neighbours has under add-remove."""
        return f"at least {self.population} records"

    @property
    def is_simple(self) -> bool:
        """Return whether a record is drawn once at most."""
        return self.trials == 1

    @property
    def most(self) -> int:
        """Return the largest count, times how far one moves the sum."""
        return self.moves * self.trials

    @property
    def listed(self) -> int:
        """Return about how many counts are listed."""
        mean = int(self.trials * self.rate)
        return min(self.trials, MAX_COUNTS, 44 + mean + 24 * isqrt(mean))

    @property
    def summed(self) -> int:
        """Return how many terms are summed to list them: one each."""
        return self.listed

    def laws(self) -> tuple[Cases, ...]:
        """Return the one law, with nothing revealed."""
        return _binomial(self, ctx.prec)


@frozen
class Truncated:
    """A Poisson sample that is cut to a uniform subset where it is too large."""

    rate: Fraction  # of the Poisson sample
    largest: int  # its size at most
    # the number of records, where the larger of two neighbours has so many or one more
    population: int
    moves: ClassVar[int] = 1  # how far a record moves the sum where no sample is cut
    most: ClassVar[int] = 2  # how far it moves the sum at most
    listed: ClassVar[int] = 8  # the counts that are listed, of both numbers of records

    @property
    def is_simple(self) -> bool:
        """Return whether no sample is cut."""
        return self.largest > self.population

    @property
    def summed(self) -> int:
        """Return about how many terms the law's tails have."""
        return 64 + 24 * isqrt(int(self.population * self.rate) + 1)

    def laws(self) -> tuple[Cases, ...]:
        """Return the laws for both numbers of records."""
        both = (self.population, self.population + 1)
        return tuple(_truncated(self, records, ctx.prec) for records in both)

    @property
    def name(self) -> str:
        """Return the sample in words."""
        rate = exact(self.rate)
        return f"a Poisson sample of rate {rate} cut to {self.largest} of {self.population} records"

    @property
    def drawn(self) -> str:
        """Say how the sample is drawn."""
        return (
            "draws a sample by taking every record independently with probability "
            f"{exact(self.rate)}; where more than {self.largest} are taken, {self.largest} are "
            "kept, all such subsets equally likely"
        )

    @property
    def larger(self) -> str:
        """Say how many records the larger of two neighbours has under add-remove."""
        return f"{self.population} or {self.population + 1} records"


Scheme: TypeAlias = Binomial | Truncated


def read_scheme(value: object) -> Scheme:
    """Read a scheme under which a record counts several times, or pushes another one out."""
    fields = Fields(value, "the scheme")
    scheme = _scheme(fields)
    fields.close()
    return scheme


def _scheme(fields: Fields) -> Scheme:
    kind = fields.take("kind")
    if kind == "user-poisson":
        times, q = fields.whole("contributions"), rate(fields)
        return Binomial(
            times,
            q,
            1,
            f"{times} Poisson samples of rate {exact(q)}",
            f"draws a sample by {times} times taking every record independently with probability "
            f"{exact(q)}, with a record as often in it as it was taken",
        )
    if kind == "truncated-poisson":
        population = fields.whole("population_size", most=MAX_DRAWN_FROM)
        return Truncated(rate(fields), fields.whole("largest"), population)
    if kind == "with-replacement":
        size, population = fields.whole("sample_size"), fields.whole("population_size", least=2)
        return Binomial(
            size,
            Fraction(1, population),
            2,
            f"{size} draws with replacement of {population} records",
            f"draws a sample by {size} times choosing one of the records, all equally likely and "
            "independently; a record is as often in it as it was chosen",
            population,
        )
    if kind == "without-replacement":
        size = fields.whole("sample_size")
        population = fields.whole("population_size", least=size + 1)
        drawn = f"draws a sample of {size} of the records, all such subsets equally likely"
        name = f"{size} of {population} records"
        return Binomial(1, Fraction(size, population), 2, name, drawn, population)
    raise RefusedError(f"no scheme is called {kind!r:.60}")


@lru_cache(maxsize=16)
def _binomial(scheme: Binomial, precision: int) -> tuple[Cases, ...]:  # noqa: ARG001  # of balls
    """Return the law, listed until what is beyond is negligible; the precision is in the key."""
    q, trials = ball(scheme.rate), scheme.trials
    odds, beyond = q / (1 - q), arb(0)
    masses = [(1 - q) ** trials]
    for count in range(trials):
        ratio = odds * (trials - count) / (count + 1)
        if count and 2 * ratio < 1:
            beyond = (masses[-1] * ratio / (1 - ratio)).upper()
            if beyond < masses[1] * arb(2) ** -_REST:
                break
        if count == MAX_COUNTS:
            raise RefusedError(f"a record has more than {MAX_COUNTS} likely counts")
        masses.append(masses[-1] * ratio)
        beyond = arb(0)
    return ((Counts(arb(1), scheme.moves, tuple(masses), beyond),),)


@lru_cache(maxsize=16)
def _truncated(scheme: Truncated, records: int, precision: int) -> Cases:
    """Return the law below the largest size, and from there on; the precision is in the key."""
    q, size, none = ball(scheme.rate), scheme.largest, arb(0)
    drawn = (1 - q, q)
    if size >= records:
        return (Counts(arb(1), 1, drawn, none),)
    with ctx.workprec(precision + _MORE_BITS):
        full = _at_least(records - 1, scheme.rate, size)
        over = _at_least(records, scheme.rate, size + 1)
        kept = size * over / (records * full)
        return Counts(1 - full, 1, drawn, none), Counts(full, 2, (1 - kept, kept), none)


def _at_least(trials: int, q: Fraction, least: int) -> arb:
    """Return P[Bin(trials, q) >= least], summed where the masses fall."""
    if least > trials * q:
        return _tail(trials, ball(q), least)
    return 1 - _tail(trials, 1 - ball(q), trials - least + 1)


def _tail(trials: int, q: arb, least: int) -> arb:
    """Return P[Bin(trials, q) >= least], least at or above the mean."""
    n, k = arb(trials), arb(least)
    ways = (n + 1).lgamma() - (k + 1).lgamma() - (n - k + 1).lgamma()
    mass = (ways + k * q.log() + (n - k) * (1 - q).log()).exp()
    total, odds, small = mass, q / (1 - q), arb(2) ** -ctx.prec
    for count in range(least, trials):
        ratio = odds * (trials - count) / (count + 1)
        mass *= ratio
        total += mass
        if 2 * ratio < 1 or mass < total * small:
            following = odds * (trials - count - 1) / (count + 2)
            rest = (mass * following / (1 - following)).upper()
            if following < 1 and rest < total * small:
                return total + arb(0).union(rest)
    return total


# How far beside a threshold the true one is looked for; any gives an enclosure.
_NEAR: Final = arb(2) ** -20


RELATIONS: Final = ("add-remove", "zero-out", "replace-one")


@frozen
class CountedGaussiansPair(TabulatedPair):
    """sum_j w_j N(r_j mu, 1) against N(0, 1), w the law of a record's count: removal, or swapped.

    Where a public event changes the law the profile is the mean over the event; where the number
    of records does, the largest. Under zero-out and replace-one both laws are mixtures, and the
    profile is a bound of all pairs of neighbours.
    """

    mu_squared: Fraction
    scheme: Scheme
    removal: bool
    relation: str = "add-remove"

    def swapped(self) -> CountedGaussiansPair:
        """Return the pair of the other direction, the same under replace-one."""
        return self if self.relation == "replace-one" else replace(self, removal=not self.removal)

    @property
    def most(self) -> int:
        """Return how far a record moves the sum at most, in contributions."""
        if self.relation == "add-remove":
            return self.scheme.most
        draws = self.scheme.trials if isinstance(self.scheme, Binomial) else 1
        return draws * (2 if self.relation == "replace-one" else 1)

    def largest(self) -> arb:
        """Return -log w_0 for addition; refuse a removal, whose losses have no bound."""
        if self.removal or self.relation != "add-remove":
            return ball(reach_of(self))
        most = arb(0)
        for cases in self.scheme.laws():
            for law in cases:
                most = most.max(-law.masses[0].log())
        return most

    def profile(self, epsilon: arb) -> arb:
        """Enclose H_eps for eps >= 0: the largest over the laws of the mean over what is public."""
        fixed = self.relation != "add-remove"
        sums = []
        for cases in self.scheme.laws()[: 1 if fixed else None]:
            of_law = self._displaced if fixed else self._mixed
            sums.append(sum((law.share * of_law(law, epsilon) for law in cases), arb(0)))
        value = sums[0]
        for one in sums[1:]:
            value = value.max(one)
        return value

    def _mixed(self, law: Counts, epsilon: arb) -> arb:
        return _Mixture(law, self.mu_squared, self.removal).profile(epsilon)

    def _displaced(self, law: Counts, epsilon: arb) -> arb:
        """Enclose the profile given what is revealed: proofs/theory/one_step.md, section 6."""
        replaced, mu = self.relation == "replace-one", ball(self.mu_squared).sqrt()
        if isinstance(self.scheme, Binomial) and self.scheme.trials > 1:
            return _drawn_again(law, mu, epsilon)
        if law.moves == 1:
            if replaced:
                return OppositeGaussiansPair(self.mu_squared, self.scheme.rate).profile(epsilon)
            return self._mixed(law, epsilon)
        if replaced or not self.removal:
            once = law if replaced else replace(law, moves=1)
            return _Mixture(once, self.mu_squared, removal=True).profile(epsilon)
        return _three_points(law.masses[1], mu, epsilon)

    def bounds(self, lines: Sequence[Line]) -> Callable[[arb, int], arb]:
        """Return the profile; refuse lines."""
        if lines:
            raise RefusedError("a pair with a closed profile takes no lines")
        return lambda epsilon, _: self.profile(epsilon)

    def enclosed_profile(self, lines: Sequence[Line]) -> EnclosedProfile:
        """Return the profile, whose limit is 0."""
        return EnclosedProfile(self.bounds(lines), arb(0))

    def describe(self) -> str:
        """Return mu squared, the sample and the direction in words."""
        way = "removal" if self.removal else "addition"
        shown = f"Gaussians with mu^2 = {exact(self.mu_squared)}"
        return f"{shown} over {self.scheme.name} ({way})"


@frozen
class _Mixture:
    """One law's mixture A = w_0 + sum w_j e^{a_j x - a_j^2/2}, x ~ N(0, 1) under Q.

    With D(x) = sum_{j >= 1} w_j (Phi(x) - Phi(x - a_j)), the event X > x has P - t Q =
    D(x) - (t - 1) Phi(-x), and X <= x has Q - t P = t D(x) - (t - 1) Phi(x).
    """

    law: Counts
    mu_squared: Fraction
    removal: bool

    @property
    def means(self) -> list[arb]:
        """Return the means of the counts above 0."""
        mu = self.law.moves * ball(self.mu_squared).sqrt()
        return [mu * count for count in range(1, len(self.law.masses))]

    def profile(self, epsilon: arb) -> arb:
        """Enclose H_eps: at a threshold, and what it may miss.

        Between a threshold and the true one A is between its values there.
        """
        if not self.removal and self.law.masses[0] * epsilon.exp() >= 1:  # no event
            return arb(0)
        target = epsilon if self.removal else -epsilon
        x, away = self._threshold(target)
        gained = sum(
            (w * _between(x, a) for w, a in zip(self.law.masses[1:], self.means, strict=True)),
            arb(0),
        )
        missed, t = away.expm1(), epsilon.exp()
        if self.removal:
            value = gained - epsilon.expm1() * normal_tail(x)
            room = t * missed * normal_tail(self._left(x, target)) + self.law.beyond
        else:
            value = t * gained - epsilon.expm1() * normal_tail(-x)
            room = missed * normal_tail(-self._right(x, target)) + t * self.law.beyond
        return value + arb(0).union(room.upper())

    def _threshold(self, target: arb) -> tuple[arb, arb]:
        """Return about where log A is the target, from its right, and a bound of how far off."""
        both = zip(self.law.masses[1:], self.means, strict=True)
        starts = [((target - w.log()) / a + a / 2).mid() for w, a in both]
        lowest = arb(-ctx.prec)
        x = max(min(starts), lowest)
        value, slope = self._log_ratio(x)
        while (value - target) / slope > abs(x) * arb(2) ** (8 - ctx.prec) and x > lowest:
            x = max((x - (value - target) / slope).mid(), lowest)
            value, slope = self._log_ratio(x)
        return x, abs(value - target).upper()

    def _left(self, x: arb, target: arb) -> arb:
        """Return a place at or left of the true threshold and of x: A <= 1 up to a_1 / 2."""
        if self._log_ratio(x - _NEAR)[0] < target:
            return x - _NEAR
        return x.min(self.means[0] / 2)

    def _right(self, x: arb, target: arb) -> arb:
        """Return a place at or right of the true threshold and of x."""
        if self._log_ratio(x + _NEAR)[0] > target:
            return x + _NEAR
        return arb("inf")

    def _log_ratio(self, x: arb) -> tuple[arb, arb]:
        """Return log A and its slope."""
        both = list(zip(self.law.masses[1:], self.means, strict=True))
        terms = [w * (a * x - a * a / 2).exp() for w, a in both]
        total = sum(terms, self.law.masses[0])
        slope = sum((a * term for (_, a), term in zip(both, terms, strict=True)), arb(0))
        return total.log(), slope / total


def _drawn_again(law: Counts, mu: arb, epsilon: arb) -> arb:
    """Enclose sum_j w_j H_{t'}(N(2 j mu) || N(0)) over j >= 1, t' = 1 + (t - 1)/(1 - w_0)."""
    t = epsilon.expm1() / (1 - law.masses[0])
    place, found = t.log1p(), arb(0).union(law.beyond)
    for count, mass in enumerate(law.masses[1:], 1):
        a = law.moves * count * mu
        near, far = place / a - a / 2, place / a + a / 2
        found += mass * (normal_tail(near) - (1 + t) * normal_tail(far))
    return found


def _three_points(q: arb, mu: arb, epsilon: arb) -> arb:
    """Enclose the profile of (1-q) N(0) + q N(2 mu) against (1-q) N(0) + q N(mu).

    The ratio of the densities of P - t Q and N(0) is a quadratic in e^{mu x} with one root above 0.
    """
    small = (-epsilon).exp()
    bend = 4 * (-mu * mu).exp() * (1 - q) / q * (1 - small) * small
    x = (3 * mu * mu / 2 + epsilon + ((1 + (1 + bend).sqrt()) / 2).log()) / mu
    moved = normal_tail(x - 2 * mu) - epsilon.exp() * normal_tail(x - mu)
    return q * moved - (1 - q) * epsilon.expm1() * normal_tail(x)


def _between(x: arb, a: arb) -> arb:
    """Return Phi(x) - Phi(x - a), by the tails on x's side."""
    if x > 0:
        return normal_tail(x - a) - normal_tail(x)
    return normal_tail(-x) - normal_tail(a - x)
