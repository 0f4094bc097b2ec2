"""Generating functions of the laws of the number of runs, against their definitions."""

from __future__ import annotations

import math
from fractions import Fraction

from dpproof.accountant.run_counts.law import LAW_ERROR
from tests.hunt.case import Case
from tests.hunt.draw import Draw
from tests.hunt.runs import Runs, runs
from tests.hunt.truth import MP, Real, real


def _judge(answer: object, truth: Real) -> str:
    if not isinstance(answer, float) or not math.isfinite(answer):
        return f"no finite number: {answer!r}"
    if abs(real(answer) - truth) > LAW_ERROR * abs(truth) + MP.mpf(10) ** -300:
        return f"{answer!r} errs by more than {LAW_ERROR} of {MP.nstr(truth, 25)}"
    return ""


def _judge_up(answer: object, truth: Real) -> str:
    if not isinstance(answer, float) or math.isnan(answer):
        return f"no number: {answer!r}"
    if answer < math.inf and real(answer) < truth * (1 - MP.mpf(10) ** -60):
        return f"{answer!r} below the truth {MP.nstr(truth, 25)}"
    return ""


def _value(draw: Draw, law: Runs) -> Case:
    z = float(draw.choose((Fraction(0), Fraction(1), draw.fraction_below_one())))
    name = draw.choose(("pgf", "derivative"))
    source = f"float({law.source}.{name}(numpy.array([{z!r}]))[0])"
    if name == "pgf":
        return Case(source, lambda answer: _judge(answer, law.of_real(real(z))))
    return Case(source, lambda answer: _judge(answer, law.slope(real(z))))


def _moment(draw: Draw, law: Runs) -> Case:
    exponent = float(draw.positive())

    def judge(answer: object) -> str:
        truth = law.of_real(MP.exp(real(exponent)))
        return _judge_up(answer, MP.log(truth)) if truth > 0 else ""

    return Case(f"{law.source}.log_moment_up({exponent!r})", judge)


def _ratio(draw: Draw, law: Runs) -> Case:
    """What randomised response attains."""
    epsilon = float(min(draw.positive(), Fraction(100)))

    def judge(answer: object) -> str:
        mass, other = (1 / (1 + MP.exp(sign * real(epsilon))) for sign in (-1, 1))
        return _judge_up(answer, MP.log(law.slope(mass) / law.slope(other)))

    return Case(f"{law.source}.log_ratio_up({epsilon!r})", judge)


def _mean(draw: Draw, law: Runs) -> Case:
    del draw

    def judge(answer: object) -> str:
        return _judge_up(answer, MP.log(law.slope(MP.mpf(1)) + law.of_real(MP.mpf(0))))

    return Case(f"{law.source}.log_mean_up", judge)


def draw(source: Draw) -> Case:
    """One question."""
    law = runs(source)
    return source.choose((_value, _moment, _ratio, _mean))(source, law)
