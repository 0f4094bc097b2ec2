"""Calibration: the one number at which a pipeline just meets its budget."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

from dpproof.accountant.bound import Bound
from dpproof.accountant.calibration.calibrate import calibrate
from dpproof.accountant.errors import CalibrationError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import Relation
from dpproof.accountant.sampling import WithoutReplacement
from dpproof.accountant.theorems.conversion import notion_to_rdp
from dpproof.commands.budget import Json, Step, as_json, rough, total
from dpproof.errors import InputError, placed
from dpproof.pipeline.free_parameter import Free
from dpproof.time_limit import QUICK_ORDERS, first_known


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A parameter value at which the pipeline meets its budget."""

    free: Free
    value: float  # on the safe side of the budget
    epsilon: Bound  # of the whole pipeline at that value; its upper end is within the budget
    at_limit: bool  # every value that is allowed meets the budget, and this one costs the most
    # The time was up, and Renyi divergences alone show that the value meets the budget.
    rough: bool = False


class Unreachable(CalibrationError):
    """No value of the number meets the budget; one line with the reason."""


def solve(free: Free, step: Step = lambda _: None, seconds: float | None = None) -> Solved:
    """Find the value, all other numbers fixed, at which the total just meets the budget."""
    # After half of the seconds Renyi divergences alone are asked, which are quick.
    ways = (partial(_solve, free, step, is_rough=one) for one in (False, True))
    return first_known(seconds, f"{free.pipeline.file}: {free.address}", *ways)[0]


def _solve(free: Free, step: Step, *, is_rough: bool) -> Iterator[Solved]:
    pipeline, parameter = free.pipeline, free.parameter
    if pipeline.epsilon is None:
        expected = "missing; expected the budget to meet, a finite number above 0"
        raise InputError(f"{pipeline.file}: [pipeline]: epsilon: {expected}")
    others: list[Guarantee[Relation]] = []
    for stage in free.others:
        with placed(stage.place):
            stated = stage.guarantee(pipeline.relation)
            others.append(rough(stage, pipeline.relation, stated) if is_rough else stated)
    place = f"{free.stage.place}: {free.address}"
    try:
        with placed(place):
            calibrated = calibrate(
                _builder(free, others, step, is_rough=is_rough),
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
    yield Solved(
        free=free,
        value=calibrated.value,
        epsilon=Bound(0.0, calibrated.epsilon.upper) if is_rough else calibrated.epsilon,
        at_limit=calibrated.at_limit,
        rough=is_rough,
    )


def _builder(
    free: Free, others: list[Guarantee[Relation]], step: Step, *, is_rough: bool
) -> Callable[[float], Guarantee[Relation]]:
    def build(value: float) -> Guarantee[Relation]:
        step(f"{free.address} = {value:.6g}")
        stage = free.at(Fraction(value))
        if not is_rough:
            parts = [*others, stage.guarantee(free.pipeline.relation)]
            return total(parts, free.pipeline.delta)
        whole = total([*others, rough(stage, free.pipeline.relation)])
        return notion_to_rdp(whole, orders=sorted(QUICK_ORDERS))

    return build


def _largest(free: Free) -> int | None:
    """Return the largest allowed value of a parameter, or None if there is none."""
    sampling = free.stage.sampling
    if free.address == "rate":
        return 1
    if free.address == "sample_size" and isinstance(sampling, WithoutReplacement):
        return sampling.population_size
    return None


def answer(solved: Solved) -> Json:
    """Return the answer of ``dpproof calibrate --json``."""
    return {
        "stage": solved.free.stage.name,
        "parameter": solved.free.address,
        "value": solved.value,
        "epsilon": as_json(solved.epsilon),
        "delta": float(solved.free.pipeline.delta),
        "budget": as_json(solved.free.pipeline.epsilon),
        "exact": not solved.rough,
    }
