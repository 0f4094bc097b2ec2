"""Laws of the number of runs, with their generating functions from the definition."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from tests.hunt.draw import Draw, text
from tests.hunt.laws import Generating
from tests.hunt.truth import MP, Real, rational, real

Curve = Callable[[Real], Real]


@final
@dataclass(frozen=True)
class Runs:
    """A law.

    Attributes:
        source: a Python expression.
        of_real: E[z^K] at 120 digits, +inf where it is infinite.
        slope: its derivative.
        generating: the same for rationals in [0, 1], exact or far closer than comparisons see.
        most: the largest number of runs, None if there is none.
    """

    source: str
    of_real: Curve
    slope: Curve
    generating: Generating
    most: int | None = None


def runs(draw: Draw) -> Runs:
    """A law of any kind."""
    return draw.choose((_binomial, _fixed, _finite, _negative_binomial, _poisson))(draw)


def _binomial(draw: Draw) -> Runs:
    trials, probability = draw.choose((1, 2, 3, 10, 100)), draw.fraction_below_one()
    source = f"BinomialRuns(trials={trials}, probability={text(probability)})"
    share = real(probability)
    return Runs(
        source,
        lambda z: (1 + share * (z - 1)) ** trials,
        lambda z: trials * share * (1 + share * (z - 1)) ** (trials - 1),
        lambda z: (1 - probability * (1 - z)) ** trials,
        trials,
    )


def _fixed(draw: Draw) -> Runs:
    count = draw.integer(2, 6)
    return Runs(
        f"FixedRuns(count={count})",
        lambda z: z**count,
        lambda z: count * z ** (count - 1),
        lambda z: z**count,
        count,
    )


def _finite(draw: Draw) -> Runs:
    masses = draw.law(draw.integer(2, 5), zeros=True)
    listed = ", ".join(map(text, masses))

    def exact(z: Fraction) -> Fraction:
        return sum((mass * z**k for k, mass in enumerate(masses)), Fraction(0))

    return Runs(
        f"FiniteRuns(probabilities=({listed}))",
        lambda z: sum(real(mass) * z**k for k, mass in enumerate(masses)),
        lambda z: sum(k * real(mass) * z ** (k - 1) for k, mass in enumerate(masses) if k),
        exact,
        len(masses) - 1,
    )


def _negative_binomial(draw: Draw) -> Runs:
    gamma = max(draw.fraction_below_one(), Fraction(1, 10**8))
    eta = draw.choose((Fraction(1), Fraction(0), Fraction(2), Fraction(1, 2), Fraction(-1, 2)))
    source = f"TruncatedNegativeBinomial(eta={text(eta)}, gamma={text(gamma)})"

    def at(z: Real) -> Real:
        gap = 1 - (1 - real(gamma)) * z
        if gap <= 0:
            return MP.inf
        if eta == 0:
            return MP.log(gap) / MP.log(real(gamma))
        return (gap ** -real(eta) - 1) / (real(gamma) ** -real(eta) - 1)

    def slope(z: Real) -> Real:
        gap = 1 - (1 - real(gamma)) * z
        if eta == 0:
            return -(1 - real(gamma)) / gap / MP.log(real(gamma))
        return (
            real(eta)
            * (1 - real(gamma))
            * gap ** (-real(eta) - 1)
            / (real(gamma) ** -real(eta) - 1)
        )

    def exact(z: Fraction) -> Fraction:
        if eta.denominator == 1 and eta > 0:
            power = int(eta)
            gap = 1 - (1 - gamma) * z
            return (1 / gap**power - 1) / (1 / gamma**power - 1)
        return rational(at(real(z)))

    return Runs(source, at, slope, exact)


def _poisson(draw: Draw) -> Runs:
    rate = draw.choose((Fraction(draw.integer(1, 40), 8), Fraction(1, 10 ** draw.integer(1, 9))))

    def at(z: Real) -> Real:
        return MP.exp(real(rate) * (z - 1))

    return Runs(
        f"PoissonRuns(rate={text(rate)})",
        at,
        lambda z: real(rate) * at(z),
        lambda z: rational(at(real(z))),
    )
