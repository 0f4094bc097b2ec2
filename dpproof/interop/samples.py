"""Events of sums over samples in which a record counts several times, or pushes others out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import comb
from typing import Any, Final, TypeAlias

from dpproof.accountant import (
    Guarantee,
    L2Contribution,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.accountant.arithmetic.enclosure import float_up
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.relation import Relation
from dpproof.accountant.sampling import OneStepScheme
from dpproof.accountant.theorems.subsampling import subsample_counted_sum
from dpproof.interop.event import Event

Result: TypeAlias = Guarantee[Relation]

_MOST: Final = 256  # Shifts of a mixture. Heuristic: their law is computed exactly.
_ROOM: Final = Fraction(1, 1 << 32)  # By which a rate is raised. Heuristic: the law is checked.


def sized_sample(event: Event, relation: Relation) -> Result:
    """Return the guarantee of a Gaussian sum over a sample of a fixed size."""
    inner = event.fields["event"]
    if inner.name != "GaussianDpEvent":
        raise NotImplied(
            f"no theorem here covers {event.name} of {inner.name} under {relation}: samples in "
            "which records push others out are bounded for Gaussian sums alone"
        )
    replaced = event.name == "SampledWithReplacementDpEvent"
    scheme = (WithReplacement if replaced else WithoutReplacement)(
        sample_size=event.count("sample_size"), population_size=event.count("source_dataset_size")
    )
    return _counted(inner.number("noise_multiplier"), 1, scheme, relation)


def truncated_sample(event: Event, relation: Relation) -> Result:
    """Return the guarantee of a Gaussian sum over a Poisson sample that is cut."""
    scheme = TruncatedPoisson(
        sampling_rate=event.number("sampling_probability"),
        largest=event.count("truncated_batch_size"),
        population_size=event.count("dataset_size"),
    )
    return _counted(event.number("noise_multiplier"), 1, scheme, relation)


def user_sample(
    event: Event, relation: Relation, shifts: Sequence[Fraction], chances: Sequence[Fraction]
) -> Result:
    """Return the guarantee of a mixture of shifts whose multiples are binomial, at most.

    A mixture of stochastically larger shifts costs more: proofs/theory/one_step.md.
    """
    if abs(1 - sum(chances, Fraction(0))) > Fraction(1, 1 << 40):
        raise NotImplied(_other(event, "probabilities that do not add up to 1"))
    unit = min(shift for shift in shifts if shift)
    law: dict[int, Fraction] = {}
    for shift, chance in zip(shifts, chances, strict=True):
        times = shift / unit
        if times.denominator != 1 or times > _MOST:
            raise NotImplied(_other(event, "shifts that are no small multiples of the least"))
        law[int(times)] = law.get(int(times), Fraction(0)) + chance
    most = max(law)
    mean = sum((times * chance for times, chance in law.items()), Fraction(0))
    rate = Fraction(float_up(mean / most * (1 + _ROOM)))
    if not 0 < rate < 1 or not _is_below(law, most, rate):
        raise NotImplied(_other(event, "shifts that are not binomial"))
    scheme = UserPoisson(sampling_rate=rate, contributions=most)
    return _counted(event.number("standard_deviation"), unit, scheme, relation)


def _other(event: Event, what: str) -> str:
    return f"no theorem here covers a {event.name} of {what}"


def _is_below(law: Mapping[int, Fraction], most: int, rate: Fraction) -> bool:
    """Return whether a binomial law has at least the mass of another on all large numbers."""
    binomial = (comb(most, j) * rate**j * (1 - rate) ** (most - j) for j in range(most, 0, -1))
    other = (law.get(j, Fraction(0)) for j in range(most, 0, -1))
    tails = zip(accumulate(binomial), accumulate(other), strict=True)
    return all(above >= below for above, below in tails)


def _counted(
    sigma: Fraction, bound: Fraction | int, scheme: OneStepScheme, relation: Relation
) -> Result:
    """Apply the theorem on samples in which records count several times or push others out."""
    contribution: Any = L2Contribution(bound, relation)
    return subsample_counted_sum(sigma=sigma, contribution=contribution, scheme=scheme)


def event_of_sample(scheme: OneStepScheme, noise: float) -> Event:
    """Return the event of a Gaussian sum over a sample."""
    if isinstance(scheme, TruncatedPoisson):
        cut = {
            "dataset_size": scheme.population_size,
            "sampling_probability": float_up(scheme.sampling_rate),
            "truncated_batch_size": scheme.largest,
            "noise_multiplier": noise,
        }
        return Event("TruncatedSubsampledGaussianDpEvent", cut)
    if isinstance(scheme, UserPoisson):
        return _mixture(scheme, noise)
    sized = {
        "source_dataset_size": scheme.population_size,
        "sample_size": scheme.sample_size,
        "event": Event("GaussianDpEvent", {"noise_multiplier": noise}),
    }
    replaced = isinstance(scheme, WithReplacement)
    return Event(f"SampledWith{'' if replaced else 'out'}ReplacementDpEvent", sized)


def _mixture(scheme: UserPoisson, noise: float) -> Event:
    """Return a mixture of as many shifts, at a rate that is raised by more than its roundings."""
    most, rate = scheme.contributions, scheme.sampling_rate * (1 + _ROOM)
    if most > _MOST or rate >= 1:
        raise NotImplied(f"no event of dp-accounting is written for {scheme!r}")
    chances = (comb(most, j) * rate**j * (1 - rate) ** (most - j) for j in range(most + 1))
    fields = {
        "standard_deviation": noise,
        "sensitivities": tuple(map(float, range(most + 1))),
        "sampling_probs": tuple(map(float, chances)),
    }
    return Event("MixtureOfGaussiansDpEvent", fields)
