"""A picture of an audit: the claimed trade-off curve against the region that was measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import MissingDependency
from dpproof.auditing import Outcome, Report, TradeOffRegion
from dpproof.auditing.counts import Claim, Design, supported
from dpproof.auditing.report import Overview
from dpproof.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = NDArray[np.float64]

CLAIM, EDGE, CLASH, QUIET, INK = "#2563a8", "#b45f06", "#c81e3a", "#9aa0a8", "#22262b"
TITLES = {
    Outcome.VIOLATION: "The claim is refuted",
    Outcome.NO_EVIDENCE: "No evidence against the claim",
    Outcome.INCONCLUSIVE: "Inconclusive",
}
TICKS = (1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9, 0.99, 1 - 1e-4, 1 - 1e-6)
POINTS = 301
LONGEST_CLAIM = 70  # characters in the line below the title


def library(path: str | Path) -> Any:  # noqa: ANN401  # matplotlib's class
    """Return the class of figures, once it is sure that a picture can be written to a path."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  # optional
        from matplotlib.figure import Figure  # noqa: PLC0415  # an optional library
    except ImportError as error:
        raise MissingDependency("a plot needs matplotlib: pip install 'dpproof[plots]'") from error
    formats = sorted(FigureCanvasAgg.filetypes)
    if Path(path).suffix[1:].lower() not in formats:
        raise InputError(f"{path}: a plot has to end in one of {', '.join(formats)}")
    return Figure


def save(report: Report, claim: object, path: str | Path) -> None:
    """Write the picture of ``draw``; the path's ending chooses the format."""
    figure = library(path)(figsize=(11.5, 6.6), facecolor="white")
    draw(figure, report, claim)
    write(figure, path, dpi=130)


def write(figure: Figure, path: str | Path, *, dpi: int) -> None:
    """Write a picture to a file."""
    try:
        figure.savefig(path, dpi=dpi)
    except OSError as error:
        raise InputError(f"{path}: cannot write the plot: {error.strerror}") from error


def draw(figure: Figure, report: Report, claim: object) -> None:
    """Draw the claimed trade-off curve against the measured region, on an empty figure."""
    # It is the miss rate against the false-alarm rate of any test that tells the datasets apart, on
    # plain axes, and on normal-quantile axes, where Gaussian noise is a straight line and tails
    # show. The claim excludes points below its curve; the measurement those above the edge of the
    # ``TradeOffRegion``, which holds by itself with probability 1 - significance. Where both
    # exclude a point, the claim is false.
    if report.overview is None:
        raise InputError("plot: the audit ended before any samples were tested")
    counts = report.overview.counts
    hull = np.array(TradeOffRegion(significance=report.significance).vertices(counts))
    least = supported(Claim.of(claim))
    rates = np.union1d(_rates(counts.total), hull[:, 0])
    claimed = np.array([least(1.0 - float(rate)) for rate in rates])
    edge = np.interp(rates, hull[:, 0], hull[:, 1])
    figure.subplots_adjust(left=0.07, right=0.975, top=0.8, bottom=0.2, wspace=0.2)
    places: tuple[Callable[[Any], Floats], ...] = (np.asarray, _normally)
    for axes, place in zip(figure.subplots(1, 2), places, strict=True):
        _curves(axes, place(rates), place(claimed), place(edge), place([0.0, 1.0]))
        _observed(axes, report.overview, place)
        _refuted(axes, report, report.overview.order, place)
    _axes(figure, report.overview.order, 0.2 / max(counts.total, 20))
    _words(figure, report)


def _rates(trials: int) -> Floats:
    """Return false-alarm rates in (0, 1), dense in the tails as far as the trials reach."""
    steps = np.linspace(-1.0, 1.0, POINTS) * np.log(10.0 * max(trials, 10))
    return np.concatenate([1 / (1 + np.exp(-steps)), np.linspace(0.0, 1.0, POINTS)])


def _normally(rates: Any) -> Floats:  # noqa: ANN401  # anything like an array
    """Return normal quantiles; 0 and 1 go to points outside of the axes."""
    normal = NormalDist()
    inside = np.clip(np.asarray(rates, dtype=np.float64), 1e-15, 1 - 1e-15)
    return np.array([normal.inv_cdf(float(rate)) for rate in inside])


def _curves(axes: Axes, rates: Floats, claimed: Floats, edge: Floats, ends: Floats) -> None:
    """Draw what the claim and the measurement exclude, and their edges."""
    bottom, top = ends
    axes.fill_between(rates, bottom, claimed, color=CLAIM, alpha=0.13, linewidth=0)
    axes.fill_between(rates, edge, top, color=EDGE, alpha=0.12, linewidth=0)
    axes.fill_between(
        rates,
        edge,
        claimed,
        where=edge < claimed,
        interpolate=True,
        color=CLASH,
        alpha=0.8,
        linewidth=0,
        label="excluded by both: the claim is false" if (edge < claimed).any() else None,
    )
    axes.plot(ends, ends[::-1], color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
    axes.plot(rates, edge, color=EDGE, linewidth=2, label="measured: the truth is at or below")
    axes.plot(rates, claimed, color=CLAIM, linewidth=2, label="claimed: the truth is at or above")


def _observed(axes: Axes, overview: Overview, place: Callable[[Any], Floats]) -> None:
    """Draw the observed rates, one dot a threshold."""
    counts = overview.counts
    inside, hits = np.array(counts.inside), np.array(counts.hits)
    alarms = (inside - hits) / max(counts.other_trials, 1)
    misses = 1.0 - hits / max(counts.trials, 1)
    shown = (alarms > 0) & (misses > 0)
    axes.plot(
        place(alarms[shown]),
        place(misses[shown]),
        linestyle="none",
        marker="o",
        markersize=3.2,
        color=INK,
        label="counted, one threshold each",
    )


def _refuted(axes: Axes, report: Report, order: str, place: Callable[[Any], Floats]) -> None:
    """Name the events that refuted the claim, at their counted rates where they have such."""
    refuting = [finding for finding in report.findings if finding.refutes]
    for row, finding in enumerate(refuting):
        counts = finding.counts
        words: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 9, "color": CLASH}
        corner = (0.97, 0.96 - 0.1 * row)
        if counts.design is Design.GUESSES:  # of both datasets: no rate of either is known
            right = f"{counts.hits} of {counts.hits + counts.other_hits} guesses right"
            text = f"refuted by guesses on\n{finding.event}: {right}"
            axes.text(*corner, text, transform=axes.transAxes, **words)
            continue
        rates = [counts.other_hits / max(counts.other_trials, 1)]
        rates.append(1.0 - counts.hits / max(counts.trials, 1))
        at = tuple(place(rates if finding.order == order else rates[::-1]))
        axes.plot(*at, marker="D", markersize=7, color=CLASH, linestyle="none")
        axes.annotate(
            f"refuted by {finding.event}",
            at,
            xytext=corner,
            textcoords="axes fraction",
            arrowprops={"arrowstyle": "-", "color": CLASH},
            **words,
        )


def _axes(figure: Figure, order: str, smallest: float) -> None:
    """Set titles, limits and ticks of the axes."""
    mine, other = ("D", "D'") if order == "data" else ("D'", "D")
    titles = ("Trade-off curve", "The same on axes of a normal distribution: the tails")
    for axes, title in zip(figure.axes, titles, strict=True):
        axes.set_title(title, loc="left", fontsize=10.5, color=INK, pad=8)
        axes.set_xlabel(f"false alarms: {other} taken for {mine}", color=INK)
        axes.set_ylabel(f"misses: {mine} taken for {other}", color=INK)
        axes.set_axisbelow(True)
        axes.grid(color="#d9dce1", linewidth=0.6)
        axes.tick_params(color=QUIET, labelcolor=INK, labelsize=9)
        for side in axes.spines.values():
            side.set_color(QUIET)
    plain, normal = figure.axes
    parts = [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    plain.set(xlim=(0, 1), ylim=(0, 1), xticks=parts, yticks=parts)
    for axis in (plain.xaxis, plain.yaxis):
        axis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    limits = tuple(_normally([smallest, 1 - smallest]))
    shown = [tick for tick in TICKS if smallest < tick < 1 - smallest]
    normal.set(xlim=limits, ylim=limits)
    labels = [f"{100 * tick:.10g} %" for tick in shown]
    normal.set_xticks(_normally(shown), labels)
    normal.set_yticks(_normally(shown), labels)


def _words(figure: Figure, report: Report) -> None:
    """Write what the audit found and what the colours mean."""
    colour = CLASH if report.outcome is Outcome.VIOLATION else INK
    at = f" at δ = {report.delta:.4g}" if report.delta else ""
    claim = shorten(report.claim, LONGEST_CLAIM, placeholder=" …")
    lines = (
        f"claimed {claim}: ε = {report.epsilon_claimed:.4g}{at}   ·   "
        f"measured ε ≥ {report.epsilon_lower:.4g}{at}   ·   {report.trials:,} samples"
    )
    figure.text(0.07, 0.93, TITLES[report.outcome], fontsize=16, weight="bold", color=colour)
    figure.text(0.07, 0.885, lines, fontsize=10.5, color=INK)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(
        handles[::-1],
        labels[::-1],
        loc="lower left",
        bbox_to_anchor=(0.062, 0.045),
        ncols=4,
        frameon=False,
        fontsize=9.5,
        columnspacing=1.6,
        handletextpad=0.6,
    )
    score = report.overview.score if report.overview else ""
    figure.text(
        0.07,
        0.03,
        f"score: {score}   ·   measured edge: right everywhere with probability "
        f"{100 * (1 - report.significance):.10g} %, by itself; the audit's own tests see more",
        fontsize=8.5,
        color="#5d636b",
    )
