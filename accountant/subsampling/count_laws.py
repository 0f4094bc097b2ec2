"""How often a record counts under a one-step scheme, by laws with rigorous ends.

Proofs: proofs/theory/one_step.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Final, final

import numpy as np

from dpproof.accountant.arithmetic.enclosure import UNIT_ROUNDOFF, Reals
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.pairs.laplace import as_decimal
from dpproof.accountant.sampling import (
    OneStepScheme,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
)

# Digits of masses before they are rounded to floats. Soundness depends on it: rounding adds 1e-50.
_DIGITS: Final = 60
# Mass beyond which counts are not listed, but bounded, relative to that of the count 1.
_LEAST: Final = Decimal(10) ** -60
_MOST: Final = 400  # Most counts that are listed. Exceeding it raises.
_LARGEST: Final = 10**7  # Most records of which the law of the largest samples is summed.
# Above the relative rounding of sums with 60 digits. Soundness depends on it.
_ROUNDED: Final = Decimal(10) ** -45


@final
@dataclass(frozen=True, slots=True)
class Counts:
    """The law of a record's count, given what is revealed.

    Attributes:
        share: ends of the probability of what is revealed.
        unsampled: the probability of the count 0, within two units in the last place.
        shifts: shape (n,), counts above 0, each times how far one moves the sum.
        masses: shape (n,), their probabilities, likewise.
        beyond: at or above the probability of the counts that are not listed.
        most: at or above all counts, times how far one moves the sum.
    """

    share: tuple[float, float]
    unsampled: float
    shifts: Reals
    masses: Reals
    beyond: float
    most: int


Cases = tuple[Counts, ...]


@lru_cache(maxsize=64)
def laws(scheme: OneStepScheme) -> tuple[Cases, ...]:
    """Return the laws between which the number of records decides, each by what is revealed.

    Example:
        >>> from dpproof.accountant.sampling import UserPoisson
        >>> ((law,),) = laws(UserPoisson(sampling_rate=0.5, contributions=2))
        >>> law.unsampled, law.shifts.tolist(), law.masses.tolist()
        (0.25, [1.0, 2.0], [0.5, 0.25])
    """
    if isinstance(scheme, UserPoisson):
        return ((_binomial(scheme.contributions, scheme.sampling_rate, 1),),)
    if isinstance(scheme, TruncatedPoisson):
        size = scheme.population_size
        return tuple(_truncated(scheme, records) for records in (size, size + 1))
    if isinstance(scheme, WithoutReplacement):
        return ((_binomial(1, scheme.sampling_rate, 2),),)
    rate = Fraction(1, scheme.population_size)
    return ((_binomial(scheme.sample_size, rate, 2),),)


def _binomial(trials: int, rate: Fraction, moves: int) -> Counts:
    """Return the law of ``moves`` times a binomial count."""
    with localcontext(Context(prec=_DIGITS)):
        odds = as_decimal(rate) / as_decimal(1 - rate)
        masses, beyond = [as_decimal(1 - rate) ** trials], Decimal(0)
        for count in range(trials):
            ratio = odds * (trials - count) / (count + 1)
            beyond = masses[-1] * ratio / (1 - ratio) if 2 * ratio < 1 else Decimal(1)
            if count and beyond < _LEAST * masses[1]:
                break
            if count == _MOST:
                raise NotCertified(
                    f"a record counts about {float(trials * rate):.3g} times in a sample, which "
                    f"is more than is summed; allowed are up to {_MOST} counts of probability "
                    "above 1e-60: use a smaller sample"
                )
            masses.append(masses[-1] * ratio)
            beyond = Decimal(0)
    listed = np.array([float(mass) for mass in masses])
    counts = moves * np.arange(1.0, listed.size)
    above = float(beyond) * (1 + 1e-9)
    return Counts((1.0, 1.0), float(listed[0]), counts, listed[1:], above, moves * trials)


def _truncated(scheme: TruncatedPoisson, records: int) -> Cases:
    """Return the law of a Poisson sample below its largest size, and of a subset from there on.

    Of the others at least as many as fit are drawn with probability tau; a record then stays with
    probability ``largest`` P[Bin(n, q) > largest] / (n tau), in the place of another.
    """
    rate, size = scheme.sampling_rate, scheme.largest
    drawn = Counts((1.0, 1.0), float(1 - rate), np.array([1.0]), np.array([float(rate)]), 0.0, 1)
    if size >= records:
        return (drawn,)
    if records > _LARGEST:
        raise NotCertified(
            f"truncated Poisson samples are summed for up to {_LARGEST} records, got {records}; "
            "use Poisson(sampling_rate=...) with room for every sample"
        )
    full, over = _at_least(records - 1, rate, size), _at_least(records, rate, size + 1)
    with localcontext(Context(prec=_DIGITS)):
        kept = size * over / (records * full)
        away = float(1 - kept)
        rest = float(1 - full) if full < Decimal("0.5") else float(_below(records - 1, rate, size))
    shares = [_ends(rest), _ends(float(full))]
    pushed = Counts(shares[1], away, np.array([2.0]), np.array([float(kept)]), 0.0, 2)
    return Counts(shares[0], drawn.unsampled, drawn.shifts, drawn.masses, 0.0, 1), pushed


def _ends(value: float) -> tuple[float, float]:
    """Return the ends of a probability that was rounded to a float."""
    slack = 4.0 * UNIT_ROUNDOFF
    return value * (1.0 - slack), min(value * (1.0 + slack), 1.0)


def _at_least(trials: int, rate: Fraction, least: int) -> Decimal:
    """Return P[Bin(trials, rate) >= least], within 1e-45 of itself."""
    if least > trials * rate:
        return _tail(trials, rate, least)
    with localcontext(Context(prec=_DIGITS)):
        return 1 - _below(trials, rate, least)


def _below(trials: int, rate: Fraction, least: int) -> Decimal:
    """Return P[Bin(trials, rate) < least]; the complement has a binomial law, too."""
    if least <= trials * rate:
        return _tail(trials, 1 - rate, trials - least + 1)
    with localcontext(Context(prec=_DIGITS)):
        return 1 - _tail(trials, rate, least)


def _tail(trials: int, rate: Fraction, least: int) -> Decimal:
    """Return P[Bin(trials, rate) >= least], least at or above the mean: its masses fall."""
    with localcontext(Context(prec=_DIGITS)):
        chance, odds = as_decimal(rate), as_decimal(rate) / as_decimal(1 - rate)
        mass = comb(trials, least) * chance**least * as_decimal(1 - rate) ** (trials - least)
        total = mass
        for count in range(least, trials):
            ratio = odds * (trials - count) / (count + 1)
            mass *= ratio
            total += mass
            if ratio < 1 and mass * ratio < _ROUNDED * total * (1 - ratio) / 1000:
                break
        return total
