"""The growth of a margin as hard points are removed, and its sudden end by one point.

    python -m experiments.removal --data DIR --out OUT

Without privacy, on public data: a linear support vector machine is fitted, the points of smallest
margin are removed, and so on. It is greedy, so the curve is a lower bound of the largest margin for
each number of points removed, and it moves by more than one point between neighbours: nothing
private may use it. The private counterpart are the noisy counts of ``MarginGrid``.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Final

import click
import numpy as np

from dpproof.accountant import GDP, ReplaceOne, calibrate
from dpproof.mechanisms import (
    FourierFeatures,
    NoisyCount,
    finite_class_risk,
    halfspace_risk,
    relative_margin_risk,
)
from experiments import data, report
from experiments.bassily2022 import extended
from experiments.data import Matrix, Split
from experiments.plans.margin_presets import projected_descent
from experiments.plans.published_cover import published_cover

SHARES: Final = (0.0, 0.005, 0.01, 0.02, 0.05)
_CELLS: Final = 7_200


def removal(rows: Matrix, signs: Matrix, *, share: float, rounds: int) -> list[tuple[float, float]]:
    """Return shares removed, and margins y <w, x>/||w|| of the rest, 0 if not separated.

    Args:
        rows: of norm at most 1.
        signs: 1 or -1 for each.
        share: of the rows, to be removed at the end.
        rounds: in so many steps.
    """
    from sklearn.svm import LinearSVC  # noqa: PLC0415  # an optional library

    kept, size = np.arange(len(rows)), len(rows)
    curve: list[tuple[float, float]] = []
    for step in range(rounds + 1):
        machine = LinearSVC(loss="hinge", C=1e4, fit_intercept=False, max_iter=20_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            weights = machine.fit(rows[kept], signs[kept]).coef_[0]
        margins = signs[kept] * (rows[kept] @ weights) / np.linalg.norm(weights)
        curve.append((1 - len(kept) / size, max(float(margins.min()), 0.0)))
        target = size - round(share * size * (step + 1) / rounds)
        kept = kept[np.argsort(margins)[max(len(kept) - target, 0) :]]
    return curve


def curves(split: Split, pairs: list[tuple[int, int]], *, rounds: int = 20) -> report.Figure:
    """Return curves of removal against margin for pairs of digits.

    They are on pixels and on Fourier features.
    """
    drawn: dict[str, list[tuple[float, float]]] = {}
    rows = extended(split.train_x)
    waves = FourierFeatures(
        features=rows.shape[1], frequencies=500, width=0.5, seed=1, norm=None
    ).apply(rows)
    for one, other in pairs:
        of = (split.train_y == one) | (split.train_y == other)
        signs = np.where(split.train_y[of] == one, 1.0, -1.0)
        for name, features in (("pixels", rows), ("Fourier", waves)):
            found = removal(features[of], signs, share=SHARES[-1], rounds=rounds)
            drawn[f"{one} or {other}, {name}"] = found
    return report.Figure(
        name="removal-margin",
        title=f"Margin after removing hard points, {split.name}",
        x="share of points removed",
        y="margin, rows of norm 1",
        curves=drawn,
    )


def table(figure: report.Figure) -> report.Table:
    """Return the curves of a figure at some shares."""
    rows: list[list[object]] = []
    for name, points in figure.curves.items():
        shares, margins = np.array(points).T
        rows.append([name, *(float(np.interp(share, shares, margins)) for share in SHARES)])
    columns = ("task", *(f"{share:.1%} removed" for share in SHARES))
    return report.Table(figure.title, columns, rows)


def margin(rows: Matrix, signs: Matrix) -> float:
    """Return the largest margin of halfspaces through the plane's origin, up to its grid."""
    turns = np.linspace(0, 2 * np.pi, _CELLS, endpoint=False)
    directions = np.stack([np.cos(turns), np.sin(turns)])
    return max(float((signs[:, np.newaxis] * (rows @ directions)).min(axis=0).max()), 0.0)


def discontinuity(margins: int = 41) -> report.Figure:
    """Plot the margin as one more point of the first class moves to the other side."""
    around = np.linspace(-0.6, 0.6, 25)
    cloud = np.stack([np.full(25, 0.5), around], axis=1)
    rows, signs = np.vstack([cloud, -cloud]), np.repeat([1.0, -1.0], 25)
    points = []
    for place in np.linspace(0.6, -0.6, margins):
        more = np.vstack([rows, [place, 0.0]])
        points.append((float(-place), margin(more, np.append(signs, 1.0))))
    return report.Figure(
        name="discontinuity",
        title="One added point ends a margin of 0.5",
        x="how far the point lies on the other side",
        y="largest margin of all points",
        curves={"with the point": points, "without it": [(-0.6, 0.5), (0.6, 0.5)]},
    )


def learning_bounds(
    epsilon: float = 1.0, delta: float = 1e-5, failure: float = 0.05
) -> report.Table:
    """Return bounds of the error on the training records, from the formulas of this library."""
    mu = calibrate(lambda m: GDP(mu=m, relation=ReplaceOne()), epsilon=epsilon, delta=delta).value
    rows: list[list[object]] = []
    for records in (10_000, 100_000, 1_000_000):
        for gap in (0.1, 0.3):
            learner = projected_descent(
                features=10**6, margin=gap, mu=mu, records=records, failure=failure, steps=10**6
            )
            width = 10**6 if learner.map is None else learner.map.output_features
            errors = [
                learner.mistakes(records=records, width=width, outliers=outliers) / records
                for outliers in (0, records // 1_000)
            ]
            cover = published_cover(ratio=1 / gap, records=records, failure=failure)
            pure = 2 / epsilon * (cover.log10_size - np.log10(failure)) * np.log(10) / records
            rows.append([records, gap, *errors, float(pure)])
    columns = ("records", "margin", "descent", "descent, 1 in 1000 outliers", "pure, its own cover")
    title = f"Bounds of the error at ({epsilon:g}, {delta:g}); above 1 they say nothing"
    return report.Table(title, columns, rows)


def risk_bounds(records: int = 10_000, failure: float = 0.05) -> report.Table:
    """Return bounds of the risk at two errors on the training records, without noise."""
    rows: list[list[object]] = []
    for share in (0.05, 0.0):
        count = NoisyCount(value=share * records, sigma=0, records=records, relation=ReplaceOne())
        both = {"failure": 2 * failure}
        rows += [
            [
                share,
                "a million candidates",
                finite_class_risk(count, candidates=10**6, **both).risk,
            ],
            [share, "halfspaces, 10 dimensions", halfspace_risk(count, dimension=10, **both).risk],
            [
                share,
                "unit weights, margin 0.5, any dimension",
                relative_margin_risk(count, weight_norm=1, norm=1, margin=0.5, **both).risk,
            ],
        ]
    columns = ("error (of the margin, if there is one)", "class", "risk at most")
    return report.Table(f"Risk, {records:,} records, confidence {1 - failure:g}", columns, rows)


@click.command()
@click.option("--data", "directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write files there.")
@click.option("--rounds", default=20, show_default=True, help="Fits of each curve.")
def main(directory: Path | None, out: Path | None, rounds: int) -> None:
    """Run the experiments, on scikit-learn's digits if no directory is given."""
    split = data.digits() if directory is None else data.usps(directory)
    figure = curves(split, [(0, 1), (3, 5), (4, 9)], rounds=rounds)
    tables = [table(figure), learning_bounds(), risk_bounds()]
    report.finish("removal", tables, [figure, discontinuity()], out)


if __name__ == "__main__":
    main()
