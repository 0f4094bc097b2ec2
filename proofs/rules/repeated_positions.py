"""Phases that draw positions of the records with replacement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import isqrt
from typing import Final, TypeAlias

from flint import arb

from dpproof.proofs.balls.arithmetic import each_precision
from dpproof.proofs.core.arithmetic import ball, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import GaussianPair
from dpproof.proofs.core.rule import ALONE, FIXED, FRESH, Application
from dpproof.proofs.core.statements import GDP
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.fields import wholes
from dpproof.proofs.limits import LEVEL, VALUE
from dpproof.proofs.logic.statement import Profile

Law: TypeAlias = tuple[list[tuple[int, arb]], arb]
"""Sums of squares above 0 with their masses, and the mass of all others above 0."""

_CAP: Final = 400  # sums of squares beyond it count with H = 1
_ENOUGH: Final = Fraction(1, 2**44)  # so do all beyond the first with at most this mass beyond it


def repeated_positions(step: Application) -> tuple[str, ...]:
    """Check the mean of H over S = sum of C_p^2.

    Phase p draws n_p positions with replacement.

    A position that is drawn C_p times in phase p changes C_p entries of the list that it sees, so
    the phase is (C_p mu)-GDP by group privacy, all phases are (mu sqrt(S))-GDP given the draws,
    and the draws look at no data. Proof: proofs/theory/margins.md, section 6.
    """
    if step.conclusion.relation == "add-remove":
        raise RefusedError("without a record the others move up to other positions")
    if step.conclusion.steps != 1:
        raise RefusedError("the formula is about one record")
    mu_squared, points = step.only(GDP).mu_squared, step.concludes(Profile).points
    records, draws = step.witness.whole("records"), wholes(step.witness, "draws")
    if not draws or min(draws) < 1:
        raise RefusedError("the rule takes a number of draws above 0 for each phase")
    squares = isqrt(_CAP) + 1
    step.budget.spend(LEVEL * squares * _CAP * len(draws) + VALUE * _CAP * len(points))
    law = each_precision(lambda: _law(records, draws))
    for epsilon, delta in points:
        if delta < 1:
            what = f"the mean of delta at epsilon {show(epsilon)}"
            mean = partial(_mean, law, mu_squared, epsilon)
            require_at_most(mean, partial(ball, delta), what)
    (name,) = step.mechanisms
    numbers = openable(", ".join(map(str, draws)))
    drawn = (
        f"runs {name} once for each phase, on the list of the records at drawn positions: "
        f"{numbers} of them, in this order; each position is drawn uniformly and independently "
        f"from {records}, whatever the data"
    )
    return drawn, FIXED, FRESH, ALONE


def _mean(law: Callable[[], Law], mu_squared: Fraction, epsilon: Fraction) -> arb:
    """Return an upper bound of the mean of H_epsilon of Gaussians at mu sqrt(S)."""
    masses, beyond = law()
    at = ball(epsilon)
    return sum((p * GaussianPair(s * mu_squared).profile(at) for s, p in masses), beyond)


def _law(records: int, draws: Sequence[int]) -> Law:
    """Return the law of S, the numbers C_p being independent and binomial (n_p, 1/records)."""
    total = {0: arb(1)}
    for number in draws:
        grown: dict[int, arb] = {}
        for times, mass in enumerate(_binomial(records, number)):
            for before, other in total.items():
                if before + times**2 <= _CAP:
                    grown[before + times**2] = grown.get(before + times**2, arb(0)) + mass * other
        total = grown
    beyond = 1 - total.get(0, arb(0))
    listed = []
    for sums in sorted(total.keys() - {0}):
        if beyond <= ball(_ENOUGH):
            break
        listed.append((sums, total[sums]))
        beyond -= total[sums]
    return listed, beyond


def _binomial(records: int, number: int) -> list[arb]:
    """Return the masses of 0, 1, ... occurrences, while their squares are at most the cap."""
    most = min(number, isqrt(_CAP))
    if records == 1:
        return [arb(int(times == number)) for times in range(most + 1)]
    masses = [(1 - ball(Fraction(1, records))) ** number]
    for times in range(most):
        masses.append(masses[-1] * (number - times) / ((times + 1) * (records - 1)))
    return masses
