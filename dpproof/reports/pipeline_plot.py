"""A picture of a pipeline: its trade-off curve, and epsilon against delta, noise and count."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Final

from dpproof.accountant.errors import PrivacyError
from dpproof.commands.budget import total
from dpproof.errors import InputError
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.reports.facts import epsilons, missed, noise_addresses, small_epsilons
from dpproof.reports.plot import CLAIM, QUIET, library

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FACTORS: Final = tuple(Fraction(2) ** k * Fraction(3, 2) ** j for k in (-1, 0, 1) for j in (0, 1))
Points = Sequence[tuple[float, float]]


def save(pipeline: Pipeline, path: str) -> None:
    """Write the picture of a pipeline; the path's ending chooses the format.

    Raises:
        MissingDependency: matplotlib is not installed.
        InputError: a stage is refused, or the path cannot be written.
    """
    figure = library(path)(figsize=(11, 8), facecolor="white", layout="constrained")
    plots = figure.subplots(2, 2)
    whole = total([stage.guarantee(pipeline.relation) for stage in pipeline.stages], pipeline.delta)
    curve = epsilons(whole)
    trade_off = missed((*curve, *small_epsilons(whole, curve[0][1])))
    _draw(plots[0][0], trade_off, "false alarms", "misses, at least")
    plots[0][0].plot([0, 1], [1, 0], color=QUIET, linestyle="--")
    _draw(plots[0][1], curve, "δ", "ε", log=True)
    noisier = [(float(one), _at(pipeline, partial(_noise, factor=one))) for one in FACTORS]
    _draw(plots[1][0], noisier, "all noise, times what it is", "ε")
    longer = [(float(one), _at(pipeline, partial(_count, factor=one))) for one in FACTORS]
    _draw(plots[1][1], longer, "all counts above 1, times what they are", "ε")
    figure.suptitle(pipeline.file)
    try:
        figure.savefig(path, dpi=120)
    except OSError as error:
        raise InputError(f"{path}: cannot write the plot: {error.strerror}") from error


def _draw(axes: Axes, points: Points, x: str, y: str, *, log: bool = False) -> None:
    finite = [(a, b) for a, b in points if math.isfinite(b)]
    axes.plot([a for a, _ in finite], [b for _, b in finite], color=CLAIM, linewidth=2)
    if log:
        axes.set_xscale("log")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(alpha=0.3)


def _at(pipeline: Pipeline, change: Callable[[Stage], Stage]) -> float:
    """Return epsilon of the changed pipeline; infinity if no theorem covers it."""
    try:
        parts = [change(stage).guarantee(pipeline.relation) for stage in pipeline.stages]
        return total(parts, pipeline.delta).epsilon(delta=pipeline.delta).upper
    except PrivacyError:
        return math.inf


def _noise(stage: Stage, factor: Fraction) -> Stage:
    """Return a stage with all its noise multiplied."""
    for address in noise_addresses(stage):
        stage = stage.replaced(address, stage.numbers()[address] * factor)
    return stage


def _count(stage: Stage, factor: Fraction) -> Stage:
    """Return a stage with all its counts above 1 multiplied."""
    for address, value in stage.numbers().items():
        if address.rpartition(".")[2] == "count" and value > 1:
            stage = stage.replaced(address, Fraction(max(1, round(value * factor))))
    return stage
