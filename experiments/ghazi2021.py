"""Ghazi, Kumar, Manurangsi & Nguyen, "Robust and Private Learning of Halfspaces", made again.

    python -m experiments.ghazi2021 --data DIR --out OUT

The protocol of section 5: one epoch, no test for stopping, rows of norm 1; accuracy against epsilon
and against delta, linear and with random Fourier features; robust accuracy against the radius. The
budgets are honest: every class is paid for. A first table says what the published parameters cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Final

import click

from dpproof.accountant import L2, Poisson, calibrate
from dpproof.accountant.guarantees.rounding import sqrt_up
from dpproof.learn import PerceptronClassifier, robust_accuracy
from dpproof.mechanisms import Featured, FourierFeatures, Gaussian, Mechanism
from experiments import data, learners, report
from experiments.data import Split
from experiments.learners import Build

EPSILONS: Final = (0.5, 1.0, 2.0)
DELTAS: Final = (1e-2, 1e-3, 1e-4, 1e-5)
RADII: Final = (0.0, 0.25, 0.5, 1.0, 1.5)
FREQUENCIES: Final = 500
WIDTHS: Final = (2.0, 3.5, 5.0, 7.5, 10.0)
_WIDTH: Final = 5.0  # where robust accuracy is measured

# Records, batch, (epsilon, delta) of the paper's section 5: MNIST and USPS.
PUBLISHED: Final = (
    (60_000, 500, 0.5, 1e-5),
    (60_000, 500, 1.0, 1e-5),
    (60_000, 500, 2.0, 1e-5),
    (60_000, 100, 1.0, 1e-5),
    (60_000, 1_000, 1.0, 1e-5),
    (7_291, 100, 1.0, 1e-4),
)


def cost(published: tuple[tuple[int, int, float, float], ...] = PUBLISHED) -> report.Table:
    """Return the cost of one class's noise for ten, and the noise that ten classes need."""
    rows: list[list[object]] = []
    for size, batch, epsilon, delta in published:
        rate, steps = Fraction(batch, size), -(-size // batch)

        def epoch(
            sigma: float, times: int = 1, squared: int = 1, rate: Fraction = rate, t: int = steps
        ) -> Mechanism:  # type: ignore[type-arg]
            noise = Gaussian(sigma=sigma, sensitivity=L2(sqrt_up(Fraction(squared))))
            return noise.subsample(Poisson(sampling_rate=rate)).repeat(times * t)

        one = calibrate(epoch, epsilon=epsilon, delta=delta, increasing=False).value
        ten = calibrate(lambda s: epoch(s, 10), epsilon=epsilon, delta=delta).value
        pairwise = calibrate(lambda s: epoch(s, 1, 2), epsilon=epsilon, delta=delta).value
        separate = epoch(one, 10).guarantee().epsilon(delta=delta).upper
        shared = epoch(one, 1, 10).guarantee().epsilon(delta=delta).upper
        rows.append([size, batch, steps, epsilon, delta, one, separate, shared, ten, pairwise])
    columns = (
        "records", "batch", "steps", "claimed epsilon", "delta", "sigma of one class",
        "epsilon of ten, own samples", "epsilon of ten, one sample", "sigma that ten need",
        "sigma that Kesler needs",
    )  # fmt: skip
    return report.Table("What the published noise costs for ten classes", columns, rows)


def methods(split: Split) -> Mapping[str, Build]:
    """Return every learner that is compared, as a function of its noise."""
    several = {
        "one vs rest": learners.one_vs_rest(split, learners.sampled(split)),
        "Kesler": learners.kesler(split),
        "SVM, one vs rest": learners.one_vs_rest(split, learners.hinge(split)),
        "full batch, 60 steps": learners.full_batch(split),
        "means": learners.means(split),
    }
    if split.classes == 2:
        several["perceptron"] = several.pop("one vs rest")
        several["SVM"] = several.pop("SVM, one vs rest")
        del several["Kesler"]
    return several


def against_epsilon(
    split: Split, epsilons: tuple[float, ...], fits: int
) -> tuple[report.Table, report.Figure]:
    """Return the accuracy at every epsilon; one-vs-rest also with the noise of one class."""
    curves: dict[str, list[tuple[float, float]]] = {}
    for epsilon in epsilons:
        for name, build in methods(split).items():
            learner = learners.at_budget(build, epsilon=epsilon, delta=split.delta)
            found = learners.accuracy(learner, split, fits)
            curves.setdefault(name, []).append((epsilon, found))
        if split.classes > 2:
            one = learners.sampled(split)
            sigma = calibrate(one, epsilon=epsilon, delta=split.delta, increasing=False).value
            unpaid = learners.one_vs_rest(split, one)(sigma)
            found = learners.accuracy(unpaid, split, fits)
            curves.setdefault("one vs rest, noise of one class", []).append((epsilon, found))
    rows = [[name, *[y for _, y in points]] for name, points in curves.items()]
    columns = ("learner", *[f"epsilon {epsilon:g}" for epsilon in epsilons])
    title = f"{split.name}: accuracy at delta = {split.delta:g}"
    slug = split.name.split()[0].lower()
    figure = report.Figure(f"ghazi2021-{slug}", title, "epsilon", "accuracy", curves)
    return report.Table(title, columns, rows), figure


def against_delta(
    split: Split, deltas: tuple[float, ...], fits: int
) -> tuple[report.Table, report.Figure]:
    """Return the accuracy at epsilon 1 and every delta."""
    chosen = {
        name: build
        for name, build in methods(split).items()
        if name in ("one vs rest", "Kesler", "perceptron", "full batch, 60 steps")
    }
    curves = {
        name: [
            (at, learners.accuracy(learners.at_budget(build, epsilon=1, delta=at), split, fits))
            for at in deltas
        ]
        for name, build in chosen.items()
    }
    rows = [[name, *[y for _, y in points]] for name, points in curves.items()]
    title = f"{split.name}: accuracy at epsilon = 1"
    columns = ("learner", *[f"delta {at:g}" for at in deltas])
    slug = split.name.split()[0].lower()
    figure = report.Figure(f"ghazi2021-{slug}-delta", title, "delta", "accuracy", curves, log=True)
    return report.Table(title, columns, rows), figure


def kernel(
    split: Split,
    epsilons: tuple[float, ...],
    widths: tuple[float, ...],
    frequencies: int,
    fits: int,
) -> report.Table:
    """Compare linear rows with random Fourier features, all records in every step."""
    build = learners.full_batch(split)
    rows = []
    for width in (None, *widths):
        found = []
        for epsilon in epsilons:
            learner = learners.at_budget(build, epsilon=epsilon, delta=split.delta)
            if width is not None:
                waves = _waves(split, frequencies, width)
                learner = Featured(base=learner, map=waves)
            found.append(learners.accuracy(learner, split, fits))
        rows.append(["linear" if width is None else f"Fourier, width {width:g}", *found])
    columns = ("rows", *[f"epsilon {e:g}" for e in epsilons])
    title = f"{split.name}: full batch, linear and {frequencies} frequencies of a kernel"
    return report.Table(title, columns, rows)


def robust(
    split: Split,
    epsilons: tuple[float, ...],
    radii: tuple[float, ...],
    frequencies: int,
    rows: int = 500,
) -> tuple[report.Table, report.Figure]:
    """Return robust accuracy against the radius, in pixels, for linear and kernel models.

    The numbers go from certified to attacked.
    """
    kept, labels = split.test_x[:rows], split.test_y[:rows]
    waves = _waves(split, frequencies, _WIDTH)
    curves: dict[str, list[tuple[float, float]]] = {}
    table: list[list[object]] = []
    for name, plan in (("linear", None), ("Fourier", waves)):
        for epsilon in epsilons:
            model = PerceptronClassifier(
                epsilon=epsilon,
                delta=split.delta,
                classes=range(split.classes),
                fit_intercept=False,
                map=plan,
            ).fit(split.train_x, split.train_y)
            brackets = [
                robust_accuracy(model, kept, labels, radius=radius, steps=20, starts=1)
                for radius in radii
            ]
            label = f"{name}, epsilon {epsilon:g}"
            curves[label] = [(r, b.lower) for r, b in zip(radii, brackets, strict=True)]
            table.append([label, *[f"{b.lower:.3f} to {b.upper:.3f}" for b in brackets]])
    title = f"{split.name}: robust accuracy, certified to attacked, delta = {split.delta:g}"
    columns = ("learner", *[f"radius {radius:g}" for radius in radii])
    slug = split.name.split()[0].lower()
    figure = report.Figure(
        f"ghazi2021-{slug}-robust", title, "radius in pixels", "certified accuracy", curves
    )
    return report.Table(title, columns, table), figure


def _waves(split: Split, frequencies: int, width: float) -> FourierFeatures:
    """Return random Fourier features of rows whose numbers lie in [0, 1]."""
    features = split.train_x.shape[1]
    return FourierFeatures(
        features=features, frequencies=frequencies, width=width, seed=1, norm=features**0.5
    )


def experiment(
    splits: list[Split],
    *,
    fits: int = 3,
    epsilons: tuple[float, ...] = EPSILONS,
    deltas: tuple[float, ...] = DELTAS,
    frequencies: int = FREQUENCIES,
    widths: tuple[float, ...] = WIDTHS,
    radii: tuple[float, ...] = RADII,
    rows: int = 500,
    published: tuple[tuple[int, int, float, float], ...] = PUBLISHED,
) -> tuple[list[report.Table], list[report.Figure]]:
    """Return all tables and figures.

    Deltas are on the first data set, kernels and robustness on images.
    """
    tables, figures = [cost(published)], []
    for split in splits:
        table, figure = against_epsilon(split, epsilons, fits)
        tables.append(table)
        figures.append(figure)
    table, figure = against_delta(splits[0], deltas, fits)
    tables.append(table)
    figures.append(figure)
    for split in splits:
        if split.classes > 2:
            tables.append(kernel(split, epsilons, widths, frequencies, fits))
            table, figure = robust(split, epsilons, radii, frequencies, rows)
            tables.append(table)
            figures.append(figure)
    return tables, figures


@click.command()
@click.option("--data", "directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write files there.")
@click.option("--fits", default=3, show_default=True, help="Fits that are averaged.")
def main(directory: Path | None, out: Path | None, fits: int) -> None:
    """Run the experiments, on scikit-learn's small data sets if no directory is given."""
    splits = data.available(directory, ("usps", "mnist", "adult"))
    tables, figures = experiment(splits, fits=fits)
    report.finish("ghazi2021", tables, figures, out)


if __name__ == "__main__":
    main()
