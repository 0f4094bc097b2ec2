"""Lower bounds of powers and of Renyi divergences, against exact values; and what is refused."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import mpmath
import pytest

from dpproof.proofs import Rejected, Step, Verdict, Verified, check
from tests.proofs.rules.builders import drawn, least
from tests.proofs.support import Case, Object, certificate, fact, factor, gaussian

GAUSSIAN = [gaussian("1")]
# P = (1/2, 1/2), Q = (3/4, 1/4): Q = 1/4 and P = 1/2, then half of the rest, Q = 5/8 and P = 3/4
FINITE = [factor("finite", p=["1/2", "1/2"], q=["3/4", "1/4"])]
SWAPPED = [factor("finite", p=["3/4", "1/4"], q=["1/2", "1/2"])]
TOLD = factor("randomized-response", epsilon="1", categories=2, infinite="1/8")


def rational(value: float | Fraction, slip: float = 0.0) -> str:
    """A rational for a certificate, moved by a relative amount."""
    return str(Fraction(value) * (1 + Fraction(slip)))


def gauss_delta(epsilon: Fraction) -> float:
    """The profile of N(1, 1) against N(0, 1)."""
    with mpmath.workdps(40):
        x = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        tails = [mpmath.ncdf(0.5 - x), mpmath.ncdf(-0.5 - x)]
        return float(tails[0] - mpmath.exp(x) * tails[1])


def finite_delta(epsilon: Fraction, p: Sequence[float], q: Sequence[float]) -> float:
    """The profile of finitely many outcomes."""
    with mpmath.workdps(40):
        t = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        return float(sum(max(a - t * b, 0) for a, b in zip(p, q, strict=True)))


def gauss_facts(places: Sequence[Fraction], *, slip: float = 1e-10) -> list[Step]:
    """Bounds of the Gaussian profile from above and from below."""
    steps = []
    for place in sorted({abs(one) for one in places}):
        x, delta = str(place), gauss_delta(place)
        for rule, said in (
            ("hockey-stick/closed", fact(GAUSSIAN, x, rational(delta, slip))),
            ("at-least/closed", least(GAUSSIAN, x, rational(delta, -slip))),
        ):
            steps.append(Step(rule=rule, premises=(), witness={}, conclusion=said))
    return steps


def finite_facts(places: Sequence[Fraction], *, slip: float = 1e-10) -> list[Step]:
    """Bounds of a finite pair's profile, below 0 of its swap's."""
    steps = []
    for place in places:
        ends = ((0.5, 0.5), (0.75, 0.25)) if place >= 0 else ((0.75, 0.25), (0.5, 0.5))
        product, delta = FINITE if place >= 0 else SWAPPED, finite_delta(abs(place), *ends)
        said = fact(product, str(abs(place)), rational(delta, slip))
        steps.append(Step(rule="hockey-stick/closed", premises=(), witness={}, conclusion=said))
        if delta:
            low = least(product, str(abs(place)), rational(delta, -slip))
            steps.append(Step(rule="at-least/closed", premises=(), witness={}, conclusion=low))
    return steps


def power(
    steps: list[Step], places: Sequence[object], rate: str, found: str, product: list[Object]
) -> Verdict:
    """The verdict on a true-positive rate from some facts."""
    said: Object = {
        "notion": "true-positive-rate-at-least",
        "product": product,
        "false_positive_rate": rate,
        "true_positive_rate": found,
    }
    last = Step(
        rule="at-least/true-positive-rate",
        premises=tuple(range(len(steps))),
        witness={"places": [str(one) for one in places]},
        conclusion=said,
    )
    return check(certificate(*steps, last))


def gauss_power(rate: float) -> tuple[float, Fraction]:
    """The best test's power between N(1, 1) and N(0, 1), and its threshold in nats."""
    with mpmath.workdps(40):
        quantile = -mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(rate) - 1)
        return float(mpmath.ncdf(1 - quantile)), Fraction(float(quantile - 0.5))


def around(middle: Fraction, gap: Fraction) -> list[Fraction]:
    """Three places."""
    return [middle - gap, middle, middle + gap]


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.25, 0.309, 0.4, 0.9])
def test_the_power_of_gaussians(rate: float) -> None:
    """Accepted a millionth below the best test's power, refused a hundred-millionth above it."""
    best, threshold = gauss_power(rate)
    places = around(threshold, Fraction(1, 2_000))
    steps, exact = gauss_facts(places), rational(rate)

    assert isinstance(power(steps, places, exact, rational(best, -1e-6), GAUSSIAN), Verified)
    assert isinstance(power(steps, places, exact, rational(best, 1e-8), GAUSSIAN), Rejected)


KINKS = [
    (Fraction(1, 5), Fraction(2, 5), Fraction("0.6931471805")),
    (Fraction(1, 100), Fraction(1, 50), Fraction("0.6931471805")),
    (Fraction(5, 8), Fraction(3, 4), Fraction("-0.4054651081")),
]


@pytest.mark.parametrize(("rate", "best", "middle"), KINKS)
def test_the_power_of_finite_pairs(rate: Fraction, best: Fraction, middle: Fraction) -> None:
    """At kinks, next to which losses end, and on the side of the swapped pair."""
    places = around(middle, Fraction(1, 10**6))
    steps = finite_facts(places)

    assert isinstance(power(steps, places, str(rate), rational(best, -4e-6), FINITE), Verified)
    assert isinstance(power(steps, places, str(rate), rational(best, 1e-8), FINITE), Rejected)


def test_what_shows_no_power() -> None:
    """Places that are not three, not in order or without bounds; other products, other premises."""
    best, threshold = gauss_power(0.25)
    places = around(threshold, Fraction(1, 2_000))
    steps, said = gauss_facts(places), rational(best, -1e-5)

    def why(listed: list[Step], at: Sequence[object], product: list[Object] = GAUSSIAN) -> str:
        verdict = power(listed, at, "1/4", said, product)
        return verdict.reason if isinstance(verdict, Rejected) else ""

    assert why(steps, places) == ""
    assert "three epsilons" in why(steps, places[:2])
    assert "three epsilons" in why(steps, places[::-1])
    assert "three epsilons" in why(steps, [places[0], *places[:2]])
    assert "bound from above" in why(steps[:4], places)
    assert "bound from above" in why([*steps[:4], steps[5]], places)
    assert "how fast" in why(steps[:5], places)
    assert "false-positive rate" in why(steps[:1] + steps[2:], places)
    assert "true-positive rate" in why(steps[:2] + steps[2:3] + steps[4:], places)
    assert "this product" in why(steps, places, [gaussian("2")])
    said_of_renyi = renyi(GAUSSIAN, "3", "1")
    other = Step(
        rule=said_of_renyi.rule,
        premises=(),
        witness=said_of_renyi.witness,
        conclusion=said_of_renyi.conclusion,
    )
    assert "hockey-stick divergence" in why([*steps, other], places)


def power_verdicts() -> list[Verdict]:
    """Verdicts on a number below the best test's power, and on one above it."""
    best, threshold = gauss_power(0.25)
    places = around(threshold, Fraction(1, 2_000))
    slips = (-1e-6, 1e-8)
    return [
        power(gauss_facts(places), places, "1/4", rational(best, slip), GAUSSIAN) for slip in slips
    ]


@pytest.mark.parametrize("shift", [Fraction(-1, 100), Fraction(1, 100)])
def test_places_on_one_side_of_the_threshold_show_nothing(shift: Fraction) -> None:
    """H_t + a t has to be least between the outer places."""
    best, threshold = gauss_power(0.25)
    places = around(threshold + shift, Fraction(1, 2_000))
    verdict = power(gauss_facts(places), places, "1/4", rational(best, -1e-3), GAUSSIAN)

    assert isinstance(verdict, Rejected)


def renyi(
    product: list[Object], order: str, value: str, why: str = "", hint: object = None
) -> Case:
    """A lower bound of a Renyi divergence."""
    said = {"notion": "renyi-at-least", "product": product, "order": order, "value": value}
    return Case("at-least/renyi", said, witness={"factors": [hint] * len(product)}, why=why)


CLAIM = "claimed divergence is at least"
RENYI = [
    # a/2 for mu = 1
    renyi(GAUSSIAN, "3", "149999999/100000000"),
    renyi(GAUSSIAN, "3", "150000001/100000000", CLAIM),
    renyi([gaussian("1", 10)], "3", "149999999/10000000"),
    # sum p^2/q = 1/3 + 1, log of it 0.28768207245
    renyi(FINITE, "2", "28768207/100000000"),
    renyi(FINITE, "2", "28768209/100000000", CLAIM),
    renyi(GAUSSIAN, "1", "0", "orders must be above 1"),
    renyi(GAUSSIAN, "2", "-1", "value must be at or above 0"),
    renyi(GAUSSIAN, "2", "0", "closed formula", {}),
    renyi([drawn("replacement", [TOLD])], "2", "0", "its witness is a table"),
    renyi([drawn("removal", [drawn("replacement", [TOLD])])], "2", "0", "known exactly"),
]


@pytest.mark.parametrize("case", RENYI, ids=str)
def test_renyi_divergences(case: Case) -> None:
    """Accepted just below the truth, refused just above it."""
    case.holds()
