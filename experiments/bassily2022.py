"""Bassily, Mohri & Suresh, "Differentially Private Learning with Margin Guarantees", made again.

    python -m experiments.bassily2022 --data DIR --out OUT

The paper has no experiment. This one says how large its cover is, what its solver's sampling costs
exactly, and how accurate its two learners are: the pure one over covers that can be listed, and the
efficient one by hinge descent, at several margins.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from dpproof.accountant import GDP, ReplaceOne, calibrate, group
from dpproof.mechanisms import (
    ExponentialHalfspaces,
    MarginDescent,
    Mechanism,
    PhasedHinge,
    RademacherProjection,
    RandomDirections,
    Records,
)
from experiments import data, report
from experiments.data import Matrix, Split, unit
from experiments.plans.published_cover import published_cover

RATIOS: Final = (1, 2, 5, 10)
LIKELY: Final = 9  # more occurrences than this have probability below 1e-6 at n = 10^4
COVERS: Final = ((5, 20_000), (12, 40_000))
MARGINS: Final = (1 / 8, 1 / 32, 1 / 128, 1 / 256)
STEPS: Final = 100


def covers(records: int = 10_000) -> report.Table:
    """Return the number of candidates in the cover of the paper's Algorithm 1."""
    rows: list[list[object]] = []
    for ratio in RATIOS:
        cover = published_cover(ratio=ratio, records=records)
        rows.append([ratio, cover.dimension, f"10^{cover.log10_size:.0f}"])
    columns = ("Lambda r / margin", "dimension", "candidates")
    return report.Table(f"Cover of Algorithm 1, {records:,} records", columns, rows)


def sampling(records: int = 10_000, delta: float = 1e-6) -> report.Table:
    """Return one record's cost in Algorithm 4's phases: on a permutation, with replacement."""
    rows: list[list[object]] = []
    for mu in (0.05, 0.1, 0.2):
        shared: dict[str, Any] = {"margin": 1, "norm": 1, "mu": mu, "records": records}
        shared["relation"] = ReplaceOne()
        costs = [
            PhasedHinge(**shared, sampling=s).guarantee().epsilon(delta=delta).upper
            for s in ("permutation", "with-replacement")
        ]
        grouped = group(GDP(mu=mu, relation=ReplaceOne()), size=LIKELY)
        rows.append([mu, *costs, grouped.epsilon(delta=delta / 2).upper])
    columns = ("mu of a phase", "permutation", "with replacement", f"group of {LIKELY}")
    return report.Table(f"Epsilon at {delta:g}, {records:,} records", columns, rows)


def extended(rows: Matrix) -> Matrix:
    """Return rows with a constant feature, scaled to norm 1 one by one."""
    return unit(np.column_stack([rows, np.ones(len(rows))]))


def accuracy(learner: Mechanism[Any], split: Split, fits: int) -> float:
    """Return the mean accuracy of some fits on the test rows; each is a separate release."""
    train = Records(extended(split.train_x), 2 * split.train_y - 1)
    weights = learner.release_many(train, fits)["weights"]
    said = extended(split.test_x) @ weights.T >= 0
    return float(np.mean(said == split.test_y[:, np.newaxis]))


def learners(
    splits: list[Split],
    *,
    epsilon: float = 1.0,
    delta: float = 1e-5,
    fits: int = 3,
    sizes: tuple[tuple[int, int], ...] = COVERS,
    steps: int = STEPS,
) -> report.Table:
    """Return the accuracy of both learners under replace-one, by margin."""
    mu = calibrate(lambda m: GDP(mu=m, relation=ReplaceOne()), epsilon=epsilon, delta=delta).value
    rows: list[list[object]] = []
    for split in splits:
        width = split.train_x.shape[1] + 1
        larger = max(np.mean(split.test_y), 1 - np.mean(split.test_y))
        rows.append([split.name, "the larger class", float(larger)])
        for dimension, size in sizes:
            pick = ExponentialHalfspaces(
                map=RademacherProjection(features=width, dimension=dimension, seed=1),
                cover=RandomDirections(size=size, dimension=dimension, seed=1),
                epsilon=epsilon,
                relation=ReplaceOne(),
            )
            name = f"pure, {size:,} directions in {dimension} dimensions"
            rows.append([split.name, name, accuracy(pick, split, fits)])
        for margin in MARGINS:
            descent = MarginDescent(
                margin=margin, norm=1, steps=steps, mu=mu, relation=ReplaceOne()
            )
            name = f"hinge descent, margin 1/{1 / margin:.0f}"
            rows.append([split.name, name, accuracy(descent, split, fits)])
    title = f"Accuracy, replace-one, epsilon {epsilon:g} (pure: delta 0, else {delta:g})"
    return report.Table(title, ("data", "learner", "accuracy"), rows)


@click.command()
@click.option("--data", "directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write files there.")
@click.option("--fits", default=3, show_default=True, help="Fits that are averaged.")
def main(directory: Path | None, out: Path | None, fits: int) -> None:
    """Run the experiments, on scikit-learn's digits if no directory is given."""
    report.finish(
        "bassily2022", [covers(), sampling(), learners(tasks(directory), fits=fits)], [], out
    )


def tasks(directory: Path | None) -> list[Split]:
    """Return two-class tasks: one digit against the rest, even digits, and Adult."""
    if directory is None:
        return [data.digits().two("digits, even", lambda y: y % 2 == 0)]
    usps, mnist = data.usps(directory), data.mnist(directory)
    return [
        usps.two("USPS, 0", lambda y: y == 0),
        usps.two("USPS, even", lambda y: y % 2 == 0),
        mnist.two("MNIST, 0", lambda y: y == 0),
        data.adult(directory),
    ]


if __name__ == "__main__":
    main()
