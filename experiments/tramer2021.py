"""Tramer & Boneh 2021, made again: linear classifiers of public scattering features.

``python -m experiments.tramer2021 --data DIR --out OUT``. Without a directory it runs on the small
digits of scikit-learn. All that is released is paid for, the mean of the features included.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from dpproof.learn import PerceptronClassifier, PrivateScaler, certify_radius, private_pipeline
from dpproof.mechanisms import ScatteringFeatures
from experiments import data, report
from experiments.data import Matrix, Split

EPSILONS: Final = (1.0, 3.0)
DELTA: Final = 1e-5


def fitted(x: Matrix, y: Any, epsilon: float, *, centre: bool) -> Any:  # noqa: ANN401
    """Return a fitted classifier of ten classes, with its defaults."""
    steps = [PrivateScaler()] * centre + [PerceptronClassifier(classes=range(10))]
    return private_pipeline(*steps, epsilon=epsilon, delta=DELTA).fit(x, y)


def accuracy(split: Split, fits: int) -> list[list[object]]:
    """Return rows of a table: accuracy by features and by whether the mean is subtracted."""
    plan = ScatteringFeatures(features=split.train_x.shape[1])
    mapped = plan.apply(split.train_x), plan.apply(split.test_x)
    rows: list[list[object]] = []
    for name, (train, test) in {
        "pixels": (split.train_x, split.test_x),
        "scattering": mapped,
    }.items():
        for centre in (False, True):
            found: list[object] = []
            for epsilon in EPSILONS:
                models = [fitted(train, split.train_y, epsilon, centre=centre) for _ in range(fits)]
                found.append(float(np.mean([one.score(test, split.test_y) for one in models])))
            rows.append([split.name, name, "yes" if centre else "no", *found])
    return rows


def radii(split: Split, rows: int = 200) -> list[object]:
    """Return the median certified radius of test rows called right, in units of their length."""
    plan = ScatteringFeatures(features=split.train_x.shape[1])
    model = PerceptronClassifier(epsilon=3, delta=DELTA, classes=range(10), map=plan)
    model.fit(split.train_x, split.train_y)
    test, labels = split.test_x[:rows], split.test_y[:rows]
    found = certify_radius(model, test, labels) / np.linalg.norm(test, axis=1)
    return [split.name, float((found > 0).mean()), float(np.median(found[found > 0]))]


@click.command()
@click.option("--data", "directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write files there.")
@click.option("--fits", default=3, show_default=True, help="Fits that are averaged.")
def main(directory: Path | None, out: Path | None, fits: int) -> None:
    """Run the experiment, on scikit-learn's digits if no directory is given."""
    splits = [data.digits()] if directory is None else [data.usps(directory), data.mnist(directory)]
    measured = [row for split in splits for row in accuracy(split, fits)]
    columns = ("data", "features", "mean subtracted", "epsilon 1", "epsilon 3")
    certified = [radii(split) for split in splits]
    tables = [
        report.Table(f"Accuracy on test rows, mean of {fits} fits", columns, measured),
        report.Table("Radii at epsilon 3", ("data", "share above 0", "median radius"), certified),
    ]
    report.finish("tramer2021", tables, [], out)


if __name__ == "__main__":
    main()
