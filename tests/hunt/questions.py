"""Questions to a guarantee, and how their brackets are compared with the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from dpproof.accountant import Bound
from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.truth import MP, Real, Truth, is_above, is_below, real


@final
@dataclass(frozen=True)
class Pipeline:
    """The source of a guarantee, and the truth about a mechanism of which it holds.

    Attributes:
        source: a Python expression.
        truth: of a mechanism that satisfies every assumption of the guarantee.
        attained: whether the guarantee's statement is no weaker than the truth, so that lower
            ends count, too.
    """

    source: str
    truth: Truth
    attained: bool


def compare(answer: object, truth: Real, *, attained: bool) -> str:
    """What is wrong with a bracket of a number."""
    if not isinstance(answer, Bound):
        return f"not a bracket: {answer!r}"
    if math.isnan(answer.lower) or math.isnan(answer.upper):
        return f"nan: {answer}"
    if is_below(answer.upper, truth):
        return f"upper end {answer.upper!r} below the truth {MP.nstr(truth, 25)}"
    if attained and is_above(answer.lower, truth):
        return f"lower end {answer.lower!r} above the truth {MP.nstr(truth, 25)}"
    return ""


def _delta(draw: Draw, pipeline: Pipeline) -> Case:
    epsilon = (
        draw.positive() if not draw.rarely(6) else draw.choose((Fraction(0), -draw.positive()))
    )
    return Case(
        f"{pipeline.source}.delta(epsilon={text(epsilon)})",
        lambda answer: compare(
            answer, pipeline.truth.delta(real(epsilon)), attained=pipeline.attained
        ),
    )


def _epsilon(draw: Draw, pipeline: Pipeline) -> Case:
    delta = draw.choose((Fraction(1, 10 ** draw.integer(1, 12)), draw.fraction_below_one()))
    if draw.rarely(10):
        delta = Fraction(0)
    return Case(
        f"{pipeline.source}.epsilon(delta={text(delta)})",
        lambda answer: _judge_epsilon(answer, pipeline, real(delta)),
    )


def _judge_epsilon(answer: object, pipeline: Pipeline, delta: Real) -> str:
    if not isinstance(answer, Bound):
        return f"not a bracket: {answer!r}"
    if not 0.0 <= answer.lower <= answer.upper:
        return f"no bracket of an epsilon: {answer}"
    slack = MP.mpf(10) ** -68
    if answer.upper < math.inf:
        needed = pipeline.truth.delta(real(answer.upper))
        if needed > delta * (1 + slack) + slack:
            return f"delta at the upper end {answer.upper!r} is {MP.nstr(needed, 25)}"
    if pipeline.attained and answer.lower > 0.0:
        # an unbounded epsilon has a large delta at every float, and 600 is one
        place = real(answer.lower) * (1 - slack) if answer.lower < math.inf else real(600.0)
        enough = pipeline.truth.delta(place)
        if enough < delta * (1 - slack) - slack:
            return f"below the lower end {answer.lower!r} delta is {MP.nstr(enough, 25)} already"
    return ""


def _renyi(draw: Draw, pipeline: Pipeline) -> Case:
    order = 1 + draw.choose((Fraction(draw.integer(1, 32), 8), Fraction(draw.integer(1, 64))))
    if draw.rarely(10):
        order = 1 + Fraction(1, 10 ** draw.integer(1, 9))
    return Case(
        f"{pipeline.source}.rdp(order={text(order)})",
        lambda answer: compare(answer, pipeline.truth.renyi(order), attained=pipeline.attained),
    )


def _advantage(draw: Draw, pipeline: Pipeline) -> Case:
    del draw
    return Case(
        f"{pipeline.source}.advantage()",
        lambda answer: compare(answer, pipeline.truth.delta(MP.mpf(0)), attained=pipeline.attained),
    )


def _power(draw: Draw, pipeline: Pipeline) -> Case:
    rate = draw.fraction_below_one()
    return Case(
        f"{pipeline.source}.true_positive_rate(false_positive_rate={text(rate)})",
        lambda answer: compare(answer, pipeline.truth.power(rate), attained=pipeline.attained),
    )


def _miss(draw: Draw, pipeline: Pipeline) -> Case:
    rate = draw.fraction_below_one()

    def judge(answer: object) -> str:
        if not isinstance(answer, Bound):
            return f"not a bracket: {answer!r}"
        truth = 1 - pipeline.truth.power(rate)
        if is_above(answer.lower, truth):
            return f"lower end {answer.lower!r} above the truth {MP.nstr(truth, 25)}"
        if pipeline.attained and is_below(answer.upper, truth):
            return f"upper end {answer.upper!r} below the truth {MP.nstr(truth, 25)}"
        return ""

    return Case(f"{pipeline.source}.type_ii_error(type_i_error={text(rate)})", judge)


def _mu(draw: Draw, pipeline: Pipeline) -> Case:
    del draw
    return Case(
        f"{pipeline.source}.gdp()",
        lambda answer: compare(answer, pipeline.truth.mu(), attained=pipeline.attained),
    )


def _rho(draw: Draw, pipeline: Pipeline) -> Case:
    order = 1 + draw.positive()
    return Case(
        f"{pipeline.source}.zcdp()",
        lambda answer: compare(answer, pipeline.truth.renyi(order) / real(order), attained=False),
    )


Question = Callable[[Draw, Pipeline], Case]
QUESTIONS: dict[str, Question] = {
    "delta": _delta,
    "epsilon": _epsilon,
    "advantage": _advantage,
    "renyi": _renyi,
    "power": _power,
    "miss": _miss,
    "mu": _mu,
    "rho": _rho,
}


def ask(draw: Draw, pipeline: Pipeline, often: Sequence[str], rarely: Sequence[str] = ()) -> Case:
    """One question, drawn; one of those that take long once in thirty."""
    names = rarely if rarely and draw.rarely(30) else often
    return QUESTIONS[draw.choose(names)](draw, pipeline)
