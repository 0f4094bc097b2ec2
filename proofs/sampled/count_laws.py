"""One-step schemes, and how often a record counts under them.

Proofs: proofs/theory/one_step.md.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import isqrt
from typing import Final, TypeAlias

from flint import arb, ctx

from dpproof.proofs.core.arithmetic import ball, exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.statements import rate
from dpproof.proofs.limits import MAX_COUNTS, MAX_DRAWN_FROM

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

    @property
    def is_simple(self) -> bool:
        """Return whether no sample is cut."""
        return self.largest > self.population

    @property
    def moves(self) -> int:
        """Return how far a record moves the sum where no sample is cut."""
        return 1

    @property
    def most(self) -> int:
        """Return how far a record moves the sum at most."""
        return 2

    @property
    def listed(self) -> int:
        """Return how many counts are listed, of both numbers of records."""
        return 8

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
