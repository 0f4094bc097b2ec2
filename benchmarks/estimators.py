"""Compare private statistics with plain ones: ``python -m benchmarks.estimators [--peer PYTHON]``.

Linear regression, principal components and clusters of data that scikit-learn brings along, by
``dpproof.learn``, by scikit-learn without privacy, and by diffprivlib, which lives in an
environment of its own. Means of some fits with fresh noise; bounds are public and the same for all.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
from numpy.typing import NDArray
from sklearn import cluster, datasets, decomposition, linear_model

from dpproof.learn import PCA, KMeans, LinearRegression

EPSILONS: Final = (0.5, 1.0, 3.0, 10.0)
DELTA: Final = 1e-5
_PEER: Final = Path(__file__).parent / "peer_estimators.py"


@dataclass(frozen=True)
class Task:
    """A task: what is fitted, to which rows, and what is measured."""

    name: str
    kind: str
    given: dict[str, Any]
    plain: float
    fit: Callable[[float], float]


def regression(name: str, x: NDArray[Any], y: NDArray[Any], norm: float, bound: float) -> Task:
    """Return the task scored by R^2 on a held-out quarter of the rows.

    Targets have been centred by a public number.
    """
    order = np.random.default_rng(1).permutation(len(x))
    test, train = order[: len(x) // 4], order[len(x) // 4 :]
    parts = {"x": x[train], "y": y[train], "test_x": x[test], "test_y": y[test]}
    plain = linear_model.LinearRegression().fit(parts["x"], parts["y"])

    def fit(epsilon: float) -> float:
        made = LinearRegression(epsilon=epsilon, delta=DELTA, norm=norm, bound=bound)
        return float(made.fit(parts["x"], parts["y"]).score(parts["test_x"], parts["test_y"]))

    ends = {"low": x.min(), "high": x.max(), "norm": norm, "bound": bound}
    score = float(plain.score(parts["test_x"], parts["test_y"]))
    return Task(f"{name}, {len(train):,} rows: R²", "regression", {**parts, **ends}, score, fit)


def components(x: NDArray[Any], norm: float, k: int) -> Task:
    """Return the task whose score is the share of variance that so many components capture."""
    centred = x - x.mean(axis=0)

    def captured(axes: NDArray[Any]) -> float:
        return float(((centred @ axes.T) ** 2).sum() / (centred**2).sum())

    def fit(epsilon: float) -> float:
        made = PCA(n_components=k, epsilon=epsilon, delta=DELTA, norm=norm).fit(x)
        return captured(made.components_)

    plain = captured(decomposition.PCA(k).fit(x).components_)
    given = {"x": x, "k": k, "low": 0.0, "high": 16.0, "norm": norm}
    name = f"digits, {len(x):,} rows: variance in {k} components"
    return Task(name, "components", given, plain, fit)


def clusters(x: NDArray[Any], norm: float, k: int) -> Task:
    """Return the task scored by the mean squared distance to the nearest of so many centres."""

    def inertia(centres: NDArray[Any]) -> float:
        apart = ((x[:, None] - centres) ** 2).sum(axis=2)
        return float(apart.min(axis=1).sum())

    def fit(epsilon: float) -> float:
        made = KMeans(n_clusters=k, epsilon=epsilon, delta=DELTA, norm=norm).fit(x)
        return inertia(made.cluster_centers_)

    plain = inertia(cluster.KMeans(k, n_init=5, random_state=0).fit(x).cluster_centers_)
    given = {"x": x, "k": k, "low": x.min(), "high": x.max(), "norm": norm}
    name = f"digits in 10 principal directions, {len(x):,} rows: inertia of {k} clusters"
    return Task(name, "clusters", given, plain, fit)


def tasks() -> list[Task]:
    """Return what is compared."""
    x, y = datasets.load_diabetes(return_X_y=True)
    digits, _ = datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(2)
    rows = rng.uniform(-0.1, 0.1, (20_000, 10))
    targets = rows @ rng.normal(size=10) * 500 + 50 * rng.normal(size=len(rows))
    few = decomposition.PCA(10).fit_transform(digits)
    return [
        regression("diabetes", x, y - 150, 0.3, 200),
        regression("made", rows, targets, 0.3, 400),
        components(digits, 70, 2),
        components(digits, 70, 10),
        clusters(few, 50, 10),
    ]


def peer(python: str, task: Task, fits: int) -> list[float]:
    """Return diffprivlib's means, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "task.npz"
        np.savez(path, **task.given)
        command = [python, str(_PEER), str(path), task.kind, json.dumps(EPSILONS), str(fits)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [float(one) for one in json.loads(done.stdout)["found"]]


@click.command(help=__doc__.split("\n")[0])
@click.option("--peer", "python", help="An interpreter that has diffprivlib.")
@click.option("--fits", default=10, show_default=True, help="How many fits a number is a mean of.")
@click.option("--peer-fits", default=1, show_default=True, help="The same of the peer.")
def main(python: str | None, fits: int, peer_fits: int) -> None:
    """Print the table."""
    lines = [
        "| | without privacy | | " + " | ".join(f"ε = {e:g}" for e in EPSILONS) + " |",
        "|---|---|---|" + "---|" * len(EPSILONS),
    ]
    for task in tasks():
        digits = 0 if task.kind == "clusters" else 3
        found = {"dpproof": [float(np.mean([task.fit(e) for _ in range(fits)])) for e in EPSILONS]}
        if python:
            found["diffprivlib"] = peer(python, task, peer_fits)
        for name, scores in found.items():
            shown = " | ".join(f"{one:,.{digits}f}" for one in scores)
            lines.append(f"| {task.name} | {task.plain:,.{digits}f} | {name} | {shown} |")
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
