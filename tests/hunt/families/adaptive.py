"""Filters against what they admitted, and learners against the noisy sums they release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from dpproof.accountant import ApproxDP, Guarantee
from tests.hunt.case import Case
from tests.hunt.closed import Normal, PoissonSample
from tests.hunt.draw import Draw, text
from tests.hunt.laws import Neighbours, power
from tests.hunt.parts import response
from tests.hunt.questions import Pipeline, ask, compare
from tests.hunt.truth import MP, Enumerated, Real, real


def draw(source: Draw) -> Case:
    """A budget spent until it refuses; every part is as bad as it may be."""
    return source.choose((_gaussian_filter, _renyi_filter, _approximate_filter))(source)


def _spent(answer: object) -> tuple[Guarantee[Any], int]:
    assert isinstance(answer, tuple)
    guarantee, count = answer
    return guarantee, count


def _gaussian_filter(draw: Draw) -> Case:
    """Equal Gaussians: as many as fit, exactly, and their composition is covered."""
    mu, most = draw.positive(), draw.integer(1, 40)
    budget = mu * Fraction(draw.integer(4, 24), 4)
    epsilon = draw.positive()
    concentrated = draw.rarely(2)
    name = (
        f"ZCDPFilter(rho={text(budget**2 / 2)})"
        if concentrated
        else f"GDPFilter(mu={text(budget)})"
    )

    def judge(answer: object) -> str:
        guarantee, count = _spent(answer)
        fit = min(most, int(budget**2 / mu**2))
        if count != fit:
            return f"{count} parts admitted, {fit} fit"
        truth = Normal(real(mu) * MP.sqrt(count)).delta(real(epsilon)) if count else MP.mpf(0)
        return compare(guarantee.delta(epsilon=epsilon), truth, attained=False)

    return Case(f"admitted({name}, GDP(mu={text(mu)}), {most})", judge)


def _renyi_filter(draw: Draw) -> Case:
    """Divergences at one order add up."""
    order, mu = 1 + draw.positive(), draw.positive()
    budget, most = draw.positive(), draw.integer(1, 40)
    name = f"RenyiFilter(order={text(order)}, epsilon={text(budget)})"

    def judge(answer: object) -> str:
        guarantee, count = _spent(answer)
        total = count * order * mu**2 / 2
        if total > budget:
            return f"{count} parts admitted, which cost {float(total)}"
        return compare(guarantee.rdp(order=order), real(total), attained=False)

    return Case(f"admitted({name}, GDP(mu={text(mu)}), {most})", judge)


def _approximate_filter(draw: Draw) -> Case:
    """Randomised response that gives the answer away now and then, enumerated."""
    epsilon, most = Fraction(draw.integer(1, 24), 16), draw.integer(1, 12)
    failure = draw.choose((Fraction(0), Fraction(1, 10 ** draw.integer(3, 8))))
    budget, delta = draw.positive(), Fraction(1, 10 ** draw.integer(1, 9))
    name = f"ApproxDPFilter(epsilon={text(budget)}, delta={text(delta)})"
    part = f"ApproxDP(epsilon={text(epsilon)}, delta={text(failure)})"

    def judge(answer: object) -> str:
        guarantee, count = _spent(answer)
        if not isinstance(guarantee, ApproxDP):
            return f"not an ApproxDP: {guarantee!r}"
        if not count:
            return ""
        pair = power(response(epsilon, failure), count)
        truth = Enumerated(Neighbours.symmetric(pair)).delta(real(budget))
        slack = MP.mpf(10) ** -60
        return f"delta {MP.nstr(truth, 20)}" if truth > real(delta) + slack else ""

    return Case(f"admitted({name}, {part}, {most})", judge)


def draw_odometer(source: Draw) -> Case:
    """Randomised responses of two sizes, chosen in the way that is worst for the odometer."""
    sizes = [Fraction(source.integer(1, 24), 8) for _ in range(2)]
    most, delta = source.integer(1, 8), Fraction(source.integer(1, 60), 100)
    kind, failure = source.integer(0, 3), Fraction(0)
    order = 1 + source.positive()
    begin = "ZCDPOdometer", "GDPOdometer", f"lambda: RenyiOdometer(order={text(order)})"
    name = (*begin, "ApproxDPOdometer")[kind]
    parts = ", ".join(f"PureDP(epsilon={text(size)})" for size in sizes)
    if kind == 3:
        failure = delta * Fraction(source.integer(0, 8), 64)
        parts = ", ".join(
            f"ApproxDP(epsilon={text(size)}, delta={text(failure)})" for size in sizes
        )

    def judge(answer: object) -> str:
        assert isinstance(answer, dict)
        reached = best_adversary(answer, sizes, real(failure))
        wrong = reached > real(delta) + MP.mpf(10) ** -60
        return f"an adversary reaches {MP.nstr(reached, 20)}" if wrong else ""

    return Case(f"totals({name}, [{parts}], {most}, {text(delta)})", judge)


def best_adversary(
    said: dict[tuple[int, int], float], sizes: Sequence[Fraction], failure: Real
) -> Real:
    """Return the most that any way to go on and to stop reaches, by dynamic programming.

    Without failures it is the chance that the loss ever exceeds what is said, with them the largest
    P - e^said Q of outputs on which something finite is said.
    """
    most = max(one + other for one, other in said)
    told = [1 / (1 + MP.exp(-real(size))) for size in sizes]

    @cache
    def value(ran: tuple[int, int], net: tuple[int, int]) -> Real:
        """What is reached from a state: how many ran, and the answers' balance of each size."""
        excess = net[0] * real(sizes[0]) + net[1] * real(sizes[1]) - real(said[ran])
        if excess > 0 and not failure:
            return MP.mpf(1)
        best = max(MP.mpf(0), -MP.expm1(-excess)) if failure else MP.mpf(0)
        for which in range(2) if sum(ran) < most else ():
            after, up, down = (
                (pair[0] + step * (1 - which), pair[1] + step * which)
                for pair, step in ((ran, 1), (net, 1), (net, -1))
            )
            answers = told[which] * value(after, up) + (1 - told[which]) * value(after, down)
            revealed = failure if said[after] < math.inf else 0
            best = max(best, revealed + (1 - failure) * answers)
        return best

    return value((0, 0), (0, 0))


def _moved(draw: Draw) -> tuple[str, int]:
    """A relation, and by how many norms a sum moves."""
    return draw.choose((("AddRemove()", 1), ("ZeroOut()", 1), ("ReplaceOne()", 2)))


def draw_learner(source: Draw) -> Case:
    """The noisy sums of one, at data that attain their sensitivity."""
    sigma, norm = source.positive(), Fraction(source.integer(1, 16), 8)
    relation, moves = _moved(source)
    steps, kind = source.integer(1, 50), source.integer(0, 3)
    given = f"sigma={text(sigma)}, relation={relation}"
    shift: Real = moves * real(norm / sigma)
    if kind == 0:
        learner = f"MeanHalfspace({given}, norm={text(norm)})"
    elif kind == 1:
        learner, shift = f"NoisyMistakes({given})", 1 / real(sigma)
    elif kind == 2:
        learner = f"BatchPerceptron(margin=1, steps={steps}, {given}, norm={text(norm)})"
        shift *= MP.sqrt(steps)
    else:
        rate = source.fraction_below_one()
        learner = (
            f"BatchPerceptron(margin=1, steps=1, sigma={text(sigma)}, norm={text(norm)}, "
            f"rate={text(rate)}, relation=AddRemove())"
        )
        sample = PoissonSample(Normal(real(norm / sigma)).delta, real(rate))
        made = Pipeline(f"mechanisms.{learner}.guarantee()", sample, attained=False)
        return ask(source, made, ("delta", "epsilon", "advantage"))
    made = Pipeline(f"mechanisms.{learner}.guarantee()", Normal(shift), attained=False)
    return ask(source, made, ("delta", "epsilon", "advantage", "renyi", "power", "mu"))
