"""A number of a mechanism by two ways: directly, and by conversions first, last or in between."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.ways import QUESTIONS, WAYS, contradiction

_USES = (1, 2, 3, 10, 100)
_NOTIONS = "PureDP", "BoundedRange", "MetricDP"


def _scale(draw: Draw) -> str:
    return text(Fraction(draw.integer(1, 80), 8))


def _some(*names: str) -> Callable[[Draw], str]:
    """A mechanism of these parameters, each a moderate number."""
    made = "mechanisms.{0}({1}).guarantee()"

    def source(draw: Draw) -> str:
        name, *parameters = names
        return made.format(
            name, ", ".join(one if "=" in one else f"{one}={_scale(draw)}" for one in parameters)
        )

    return source


MECHANISMS: tuple[Callable[[Draw], str], ...] = (
    lambda draw: f"{draw.choose(_NOTIONS)}(epsilon={_scale(draw)})",
    lambda draw: f"GDP(mu={_scale(draw)})",
    lambda draw: f"ZCDP(rho={_scale(draw)})",
    lambda draw: f"ApproxDP(epsilon={_scale(draw)}, delta={text(draw.fraction_below_one())})",
    _some("ExponentialMechanism", "epsilon", "sensitivity=LInf(1)"),
    _some("ExponentialMechanism", "epsilon", "sensitivity=LInf(1)", "monotone=True"),
    _some("PermuteAndFlip", "epsilon", "sensitivity=LInf(1)"),
    _some("ReportNoisyMax", "epsilon", "noise='laplace'", "sensitivity=LInf(1)"),
    _some("ReportNoisyMax", "epsilon", "noise='gumbel'", "sensitivity=LInf(1)"),
    _some("Gaussian", "sigma", "sensitivity=L2(1)"),
    _some("Laplace", "scale", "sensitivity=L1(1)"),
    _some("DiscreteLaplace", "scale", "sensitivity=L1(2)"),
    _some("DiscreteGaussian", "sigma", "sensitivity=L1(2)"),
    _some("DiscreteGaussian", "sigma", "sensitivity=L2(3)"),
    _some("Histogram", "scale", "noise='laplace'", "contributions=2", "relation=AddRemove()"),
    _some("Staircase", "epsilon", "sensitivity=L1(5)"),
    _some("RandomizedResponse", "epsilon", "categories=5", "relation=AddRemove()"),
    _some("UnaryEncoding", "epsilon", "categories=5", "relation=AddRemove()"),
    _some("LocalHashing", "epsilon", "categories=5", "cells=3", "relation=AddRemove()"),
    _some("SubsetSelection", "epsilon", "categories=5", "size=2", "relation=AddRemove()"),
    _some("AboveThreshold", "threshold_scale", "query_scale", "sensitivity=LInf(1)"),
    _some("AboveThreshold", "threshold_scale", "query_scale", "rising=True", "sensitivity=LInf(1)"),
    _some(
        "GaussianAboveThreshold",
        "threshold_sigma",
        "query_sigma",
        "queries=1",
        "sensitivity=LInf(1)",
    ),
    _some("PartitionSelection", "epsilon", "delta=Fraction(1, 100)", "relation=AddRemove()"),
    _some(
        "PartitionSelection",
        "epsilon",
        "delta=Fraction(1, 100)",
        "contributions=2",
        "relation=AddRemove()",
    ),
    _some("TruncatedLaplace", "epsilon", "delta=Fraction(1, 100)", "sensitivity=L1(2)"),
    _some("ThresholdedCounts", "scale", "delta=Fraction(1, 1000)", "relation=AddRemove()"),
    _some("LogisticObjective", "sigma", "regulariser", "relation=AddRemove()"),
    lambda draw: (
        f"mechanisms.FiniteMechanism([{_law(draw)}, {_law(draw)}], relation=AddRemove())"
        ".guarantee()"
    ),
    lambda draw: (
        f"mechanisms.FiniteMechanism([{_law(draw)}, {_law(draw)}, {_law(draw)}], "
        "relation=AddRemove()).guarantee()"
    ),
)
"""What is used once."""


def _law(draw: Draw) -> str:
    return "[" + ", ".join(map(text, draw.law(3))) + "]"


def _used_once(draw: Draw) -> str:
    """A mechanism, perhaps on a sample, or after another one."""
    source = draw.choose(MECHANISMS)(draw)
    if draw.rarely(20):
        rate = text(Fraction(draw.integer(1, 15), 16))
        return f"subsample_poisson({source}, Poisson(sampling_rate={rate}))"
    if draw.rarely(6):
        return f"compose({source}, {draw.choose(MECHANISMS)(draw)})"
    return source


def draw(source: Draw) -> Case:
    """One number by the direct way and two others; sometimes a certificate of one of them."""
    ways = ("direct", *(source.choose(WAYS) for _ in range(2)))
    name = source.choose(tuple(QUESTIONS)[:4] if not source.rarely(5) else tuple(QUESTIONS))
    at = {
        "delta": Fraction(1, 10 ** source.integer(1, 9)),
        "epsilon": source.positive(),
        "order": 1 + Fraction(source.integer(1, 64), 8),
    }.get(name, source.fraction_below_one())
    certified = source.choose(ways) if source.rarely(20) else ""
    asked = f"({name!r}, {text(at)})"
    return Case(
        f"by_ways({_used_once(source)}, {source.choose(_USES)}, {ways!r}, {asked}, {certified!r})",
        judge,
    )


def judge(answer: object) -> str:
    """What is wrong: two ways contradict each other."""
    return contradiction(answer) if isinstance(answer, dict) else f"no answers: {answer!r}"
