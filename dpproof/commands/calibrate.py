"""Calibration: the one number at which a pipeline just meets its budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import click

from dpproof.accountant.bound import Bound
from dpproof.accountant.calibration.calibrate import calibrate
from dpproof.accountant.errors import CalibrationError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import Relation
from dpproof.accountant.sampling import WithoutReplacement
from dpproof.commands.budget import Step, total
from dpproof.errors import InputError, placed
from dpproof.pipeline.free_parameter import Free


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A parameter value at which the pipeline meets its budget.

    Attributes:
        free: the free number.
        value: on the safe side of the budget.
        epsilon: of the whole pipeline at that value; its upper end is within the budget.
        at_limit: every value that is allowed meets the budget, and this one costs the most.
    """

    free: Free
    value: float
    epsilon: Bound
    at_limit: bool


class Unreachable(CalibrationError):
    """No value of the number meets the budget; one line with the reason."""


def solve(free: Free, step: Step = lambda _: None) -> Solved:
    """Find the value, all other numbers fixed, at which the total just meets the budget.

    Args:
        free: which number.
        step: called for every value that is tried.
    Raises:
        InputError: the file states no budget, or another stage is refused.
        Unreachable: no value meets the budget.
    """
    pipeline, parameter = free.pipeline, free.parameter
    if pipeline.epsilon is None:
        expected = "missing; expected the budget to meet, a finite number above 0"
        raise InputError(f"{pipeline.file}: [pipeline]: epsilon: {expected}")
    others: list[Guarantee[Relation]] = []
    for stage in free.others:
        with placed(stage.place):
            others.append(stage.guarantee(pipeline.relation))
    place = f"{free.stage.place}: {free.address}"
    try:
        with placed(place):
            calibrated = calibrate(
                _builder(free, others, step),
                epsilon=pipeline.epsilon,
                delta=pipeline.delta,
                upper=_largest(free),
                integer=parameter.whole,
                increasing=not parameter.more_is_private,
            )
    except InputError as refusal:
        if isinstance(refusal.__cause__, CalibrationError):
            raise Unreachable(str(refusal)) from refusal
        raise
    return Solved(
        free=free, value=calibrated.value, epsilon=calibrated.epsilon, at_limit=calibrated.at_limit
    )


def _builder(
    free: Free, others: list[Guarantee[Relation]], step: Step
) -> Callable[[float], Guarantee[Relation]]:
    def build(value: float) -> Guarantee[Relation]:
        step(f"{free.address} = {value:.6g}")
        stage = free.at(Fraction(value))
        return total([*others, stage.guarantee(free.pipeline.relation)], free.pipeline.delta)

    return build


def _largest(free: Free) -> int | None:
    """Return the largest allowed value of a parameter, or None if there is none."""
    sampling = free.stage.sampling
    if free.address == "rate":
        return 1
    if free.address == "sample_size" and isinstance(sampling, WithoutReplacement):
        return sampling.population_size
    return None


LARGE_DELTA: Final = Fraction(1, 100)


def warn(delta: Fraction | None) -> None:
    """Say on standard error that a delta is so large that epsilon promises little."""
    if delta is not None and delta > LARGE_DELTA:
        click.echo(
            f"dpproof: warning: delta = {float(delta):g} lets that share of all runs reveal "
            "anything; below one over the number of records is usual",
            err=True,
        )
