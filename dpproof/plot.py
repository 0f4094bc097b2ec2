"""Pictures for notebooks and papers: ``dp.plot.trade_off(guarantee)`` and others.

Each function returns the axes of matplotlib that it drew on, new ones unless some are given. Curves
are upper ends: what may be claimed. ``pip install 'dpproof[plots]'`` brings matplotlib, without
which they raise ``MissingDependency``; ``ParameterError`` is for numbers outside their domain.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dpproof.accountant.arguments import Number, open_probability, positive
from dpproof.accountant.calibration.calibrate import HasGuarantee, guarantee_of
from dpproof.accountant.errors import MissingDependency, ParameterError, PrivacyError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import Relation
from dpproof.auditing import Report
from dpproof.commands.budget import together, total
from dpproof.ledger.ledger import Ledger
from dpproof.ledger.status import Status
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.reports.facts import missed, noise_addresses
from dpproof.reports.plot import CLAIM, CLASH, EDGE, INK, QUIET, draw, library as checked, write
from dpproof.rounding import above, below, exactly, percent_above
from dpproof.streams import progress
from dpproof.time_limit import ended_in_time, known_in

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS: Final = 41
_DELTAS: Final = np.logspace(-12, -2, POINTS)
_RATES: Final = tuple(np.linspace(0.0, 1.0, 1001).tolist())
_LEAST_DELTA: Final = 1e-6  # the tangents of a trade-off curve end at its epsilon
_LARGEST: Final = 30.0  # epsilon of a tangent: e^-30 cannot be seen
_FACTORS: Final = np.geomspace(0.5, 3.0, 25)
Points = Sequence[tuple[float, float]]


def trade_off(
    guarantee: Guarantee[Any] | HasGuarantee,
    *,
    budget: Guarantee[Any] | HasGuarantee | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw the least miss rate of any attack against its rate of false alarms.

    The curve is what 41 points of the privacy profile imply together: never above the exact one,
    and closer to it than a line is wide.

    Args:
        guarantee: a guarantee, or a mechanism that states one.
        budget: what it may cost, drawn beside it.
        axes: where to draw.
    Example:
        >>> import dpproof as dp
        >>> dp.plot.trade_off(dp.GDP(mu=1)).get_title(loc="left")
        'Trade-off of attacks'
    """
    stated = guarantee_of(guarantee)
    drawn_on = _axes(axes)
    curve = _misses(stated)
    drawn_on.plot([0, 1], [1, 0], color=QUIET, linestyle=(0, (4, 3)), label="guessing")
    if budget is not None:
        allowed = _split(_misses(guarantee_of(budget)))
        drawn_on.plot(*allowed, color=EDGE, linestyle="--", label="budget")
    drawn_on.plot(*_split(curve), color=CLAIM, linewidth=2, label="every attack is on or above")
    equal = max(min(point) for point in curve)
    errs = f"errs {below(100 * equal, 3)} % of the time\nboth ways, at least"
    _mark(drawn_on, (equal, equal), errs)
    drawn_on.set(xlim=(0, 1), ylim=(0, 1), xlabel="false alarms", ylabel="misses, at least")
    for axis in (drawn_on.xaxis, drawn_on.yaxis):
        axis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    return _finished(drawn_on, "Trade-off of attacks")


def profile(
    guarantee: Guarantee[Any] | HasGuarantee,
    *,
    delta: Number | None = None,
    epsilon: Number | None = None,
    axes: Axes | None = None,
) -> Axes:
    """Draw epsilon against delta.

    Args:
        guarantee: a guarantee, or a mechanism that states one.
        delta: where it is asked for: the point there is marked.
        epsilon: the budget, drawn as a line.
        axes: where to draw.
    Example:
        >>> import dpproof as dp
        >>> dp.plot.profile(dp.GDP(mu=1), delta=1e-5, epsilon=5).get_xscale()
        'log'
    """
    stated, present = guarantee_of(guarantee), None
    deltas = _DELTAS
    if delta is not None:
        exact = open_probability(delta=delta)
        present = float(exact)
        if present == 0.0:
            raise ParameterError("delta", delta, "at least 5e-324, to be shown")
        deltas = np.union1d(deltas, np.geomspace(min(present, 1e-12), max(present, 1e-2), 5))
    with progress(len(deltas)) as step:
        curve = [_told(step, "δ", one, lambda at: stated.epsilon(delta=at)) for one in deltas]
    drawn_on = _axes(axes)
    drawn_on.set_xscale("log")
    drawn_on.plot(*_split(curve), color=CLAIM, linewidth=2, label="upper end of ε")
    _budget(drawn_on, epsilon)
    if present is not None:
        upper = stated.epsilon(delta=exact).upper
        _mark(drawn_on, (present, upper), f"ε = {above(upper)} at δ = {exactly(exact)}")
    drawn_on.set(xlabel="δ", ylabel="ε")
    drawn_on.set_ylim(bottom=0)
    return _finished(drawn_on, "ε against δ")


def sweep(
    build: Callable[[Any], HasGuarantee | Guarantee[Any]],
    values: Iterable[Number],
    *,
    delta: Number,
    epsilon: Number | None = None,
    present: Number | None = None,
    name: str = "parameter",
    axes: Axes | None = None,
) -> Axes:
    """Draw epsilon against a parameter.

    Args:
        build: from a value to a mechanism or a guarantee. A value that it refuses is left out.
        values: of the parameter, at least two that are not refused: ``build`` gets them as they
            are, those of numpy as Python's.
        delta: where epsilon is asked for.
        epsilon: the budget, drawn as a line.
        present: the value in use: its point is marked.
        name: of the parameter, under the picture.
        axes: where to draw.
    Example:
        >>> import dpproof as dp
        >>> drawn = dp.plot.sweep(
        ...     lambda sigma: dp.Gaussian(sigma=sigma, sensitivity=dp.L2(1)),
        ...     [1, 2, 3, 4], delta=1e-6, epsilon=3, present=2, name="sigma",
        ... )
        >>> drawn.get_xlabel()
        'sigma'
    """
    exact, curve = open_probability(delta=delta), []
    refused: PrivacyError | None = None
    plain = (value.item() if isinstance(value, np.generic) else value for value in values)
    listed = sorted(plain, key=float)
    with progress(len(listed)) as step:
        for value in listed:
            try:
                curve.append(_told(step, name, value, lambda at: _cost(build, at, exact)))
            except PrivacyError as refusal:
                refused = refusal
    if len(curve) < 2:
        allowed = "at least two that build takes"
        raise ParameterError("values", len(curve), allowed) from refused
    drawn_on = _axes(axes)
    drawn_on.plot(*_split(curve), color=CLAIM, linewidth=2, label="upper end of ε")
    _budget(drawn_on, epsilon)
    if present is not None:
        upper = _cost(build, present, exact).upper
        shown = float(present)
        _mark(drawn_on, (shown, upper), f"ε = {above(upper)} at {shown:.6g}")
    drawn_on.set(xlabel=name, ylabel=f"ε at δ = {exactly(exact)}")
    return _finished(drawn_on, f"ε against {name}")


def ledger(source: Ledger | Status, *, axes: Axes | None = None) -> Axes:
    """Draw how much of each budget of a ledger is spent, one bar for each way to spend it.

    Args:
        source: a ledger, or its ``status()``.
        axes: where to draw.
    """
    if not isinstance(source, Ledger | Status):
        raise ParameterError("source", type(source).__name__, "a Ledger, or its status()")
    drawn_on = _axes(axes)
    status = source if isinstance(source, Status) else source.status()
    bars: list[tuple[str, float, bool]] = []
    for budget in status.budgets:
        where = ", ".join(one for one in (budget.dataset, budget.principal) if one) or "everything"
        bars += [
            (
                f"{where}: {name}" + ("" if way.open else ", closed"),
                max(
                    (float(s / most) for s, most in zip(way.spent, way.limit, strict=True) if most),
                    default=1.0,
                ),
                way.open,
            )
            for name, way in budget.ways.items()
        ] or [(where, 0.0, True)]
    places = range(len(bars))
    colours = [CLAIM if is_open else QUIET for _, _, is_open in bars]
    drawn_on.barh(places, [min(share, 1.0) for _, share, _ in bars], color=colours, height=0.6)
    for place, (_, share, is_open) in zip(places, bars, strict=True):
        words = f" {percent_above(share)} spent" if is_open else " admits nothing more"
        side, colour = ("right", "white") if share > 0.6 else ("left", INK)
        drawn_on.text(min(share, 1.0), place, f"{words} ", va="center", ha=side, color=colour)
    drawn_on.axvline(1, color=CLASH, linewidth=1.5)
    drawn_on.set(xlim=(0, 1.02), xlabel="share of the budget that is spent")
    drawn_on.set_yticks(places, [name for name, _, _ in bars])
    drawn_on.invert_yaxis()
    drawn_on.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    return _finished(drawn_on, f"{len(status.committed)} spent, {len(status.pending)} reserved")


def audit(report: Report, claim: object) -> list[Axes]:
    """Draw the claimed trade-off curve against the region that an audit measured, on two axes.

    Args:
        report: of an audit that tested samples.
        claim: what it tested: a guarantee, or a mechanism.
    """
    figure = _library().figure(figsize=(11.5, 6.6), facecolor="white")
    draw(figure, report, claim)
    return list(figure.axes)


def save_pipeline(pipeline: Pipeline, path: str, seconds: float | None = None) -> bool:
    """Write the picture of a pipeline; the path's ending chooses the format.

    Args:
        pipeline: what runs.
        path: of the picture.
        seconds: half of them for the curves of everything, which are those of Renyi divergences
            when it is over; a quarter for each of the others, left out if it is not enough.
    Returns:
        Whether all of it is exact.
    """
    figure = checked(path)(figsize=(12, 8.5), facecolor="white", layout="constrained")
    (top, curve), (noise, count) = figure.subplots(2, 2)
    allowed = pipeline.epsilon

    def draw_whole(whole: Guarantee[Relation]) -> None:
        top.clear()
        curve.clear()
        trade_off(whole, axes=top)
        profile(whole, delta=pipeline.delta, epsilon=allowed, axes=curve)

    make = partial(together, pipeline)
    half, told = seconds and seconds / 2, f"{pipeline.file}: the picture"
    complete = not known_in(half, make, draw_whole, pipeline.delta, told)[1]
    for axes, change, name in (
        (noise, _noise, "all noise, times what it is"),
        (count, _count, "all counts above 1, times what they are"),
    ):
        draw_change = partial(
            sweep,
            partial(_changed, pipeline, change),
            _FACTORS,
            delta=pipeline.delta,
            epsilon=allowed,
            present=1.0,
            name=name,
            axes=axes,
        )
        try:
            if not ended_in_time(seconds and seconds / 4, draw_change):
                complete = False
                axes.clear()
                axes.set_axis_off()
        except ParameterError:  # no theorem covers what a change makes
            axes.set_axis_off()
    figure.suptitle(pipeline.file, parse_math=False)  # a name may have two dollar signs
    write(figure, path, dpi=120)
    return complete


def _library() -> Any:  # noqa: ANN401  # matplotlib.pyplot, a module
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415  # an optional library
    except ImportError as error:
        raise MissingDependency("a plot needs matplotlib: pip install 'dpproof[plots]'") from error
    return plt


def _axes(axes: Axes | None) -> Axes:
    """Return the axes to draw on."""
    if axes is not None:
        return axes
    _, made = _library().subplots(figsize=(6.4, 4.4), facecolor="white", layout="constrained")
    drawn_on: Axes = made
    return drawn_on


def _cost(build: Callable[[Any], HasGuarantee | Guarantee[Any]], at: Number, delta: Number) -> Any:  # noqa: ANN401  # a Bound
    return guarantee_of(build(at)).epsilon(delta=delta)


def _told(
    step: Callable[[str], None], name: str, at: Number, question: Callable[[Any], Any]
) -> tuple[float, float]:
    """Return a point of a curve, once the bar has said which it is."""
    step(f"{name} = {float(at):.3g}")
    return float(at), question(at).upper


def _misses(guarantee: Guarantee[Any]) -> Points:
    """Return points of a lower bound of the trade-off curve."""
    most = min(guarantee.epsilon(delta=_LEAST_DELTA).upper, _LARGEST)
    epsilons = most * np.linspace(0.0, 1.0, POINTS) ** 1.5
    with progress(POINTS) as step:
        points = [_told(step, "ε", one, lambda at: guarantee.delta(epsilon=at)) for one in epsilons]
    return missed([(delta, epsilon) for epsilon, delta in points], _RATES)


def _split(points: Points) -> tuple[list[float], list[float]]:
    """Return both coordinates of the points that are finite."""
    finite = [(a, b) for a, b in points if math.isfinite(b)]
    return [a for a, _ in finite], [b for _, b in finite]


def _budget(axes: Axes, epsilon: Number | None) -> None:
    if epsilon is not None:
        allowed = positive(epsilon=epsilon)
        label = f"budget ε = {exactly(allowed)}"
        axes.axhline(float(allowed), color=EDGE, linestyle="--", label=label)


def _mark(axes: Axes, at: tuple[float, float], label: str) -> None:
    """Mark the present point, if it can be shown."""
    if all(map(math.isfinite, at)):
        axes.plot(*at, marker="o", color=CLASH, linestyle="none", label=label, zorder=5)


def _finished(axes: Axes, title: str) -> Axes:
    axes.set_title(title, loc="left", color=INK)
    axes.set_axisbelow(True)
    axes.grid(color="#d9dce1", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    handles, _ = axes.get_legend_handles_labels()
    if handles:
        axes.legend(frameon=False, fontsize=9)
    return axes


def _changed(
    pipeline: Pipeline, change: Callable[[Stage, Fraction], Stage], factor: float
) -> Guarantee[Relation]:
    """Return what a pipeline costs after a change by a factor."""
    stages = [change(stage, Fraction(factor)) for stage in pipeline.stages]
    return total([one.guarantee(pipeline.relation) for one in stages], pipeline.delta)


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
