"""Accuracy against epsilon: ``python -m benchmarks.which_estimator --data DIR [--peer PYTHON]``.

Our estimators with their defaults, DP-SGD and Frank-Wolfe steps by hand, scikit-learn without
privacy, and diffprivlib, which lives in an environment of its own. Every split is random; rows are
scaled to norm 1 one by one, and nothing else is done to them unpaid.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Final

import click
import numpy as np
from scipy.sparse import csr_array
from sklearn import linear_model

import dpproof as dp
from dpproof.learn import (
    LogisticRegression,
    PerceptronClassifier,
    PrivateScaler,
    private_pipeline,
    tune,
)
from dpproof.mechanisms import ScatteringFeatures
from experiments import data
from experiments.data import Matrix, Split

EPSILONS: Final = (0.1, 0.5, 1.0, 4.0)
DELTA: Final = 1e-5
_PEER: Final = Path(__file__).parent / "peer_logistic.py"
_PASSES: Final = 20
_BATCH: Final = 256
_LEARNING_RATE: Final = 4
_CLIP: Final = 2**0.5

_STEPS: Final = 40
_RADIUS: Final = 10

Fit = Callable[[Split, float], float]


def crossed(adult: Split, rows: int = 20_000) -> Split:
    """Return Adult's categories and all pairs of those of different columns: 37 ones a row."""
    sizes = [len(listed.split()) for listed in data.CATEGORIES.values()][:-1]
    ends = np.cumsum([len(data.NUMBERS), *sizes])
    blocks = list(pairwise(ends))

    def expanded(x: Matrix) -> Matrix:
        pairs = [
            (x[:, a:b, np.newaxis] * x[:, np.newaxis, c:d]).reshape(len(x), -1)
            for (a, b), (c, d) in combinations(blocks, 2)
        ]
        return np.column_stack([x[:, ends[0] : ends[-1]], *pairs, x[:, -1]])

    parts = (expanded(adult.train_x[:rows]), adult.train_y[:rows])
    return Split("Adult, crossed", DELTA, 2, *parts, expanded(adult.test_x), adult.test_y)


def sparse(rows: int = 4_000, features: int = 5_000, useful: int = 10) -> Split:
    """Return made rows of zeros and ones: ten columns decide, and thirty ones are anywhere."""
    rng = np.random.default_rng(1)
    x = np.zeros((rows + 1_000, features))
    x[np.arange(len(x))[:, np.newaxis], rng.integers(useful, features, (len(x), 30))] = 1
    x[:, :useful] = rng.random((len(x), useful)) < 0.3
    signal = x[:, :useful] @ np.where(np.arange(useful) % 2, 1, -1)
    y = (signal + 0.3 * rng.normal(size=len(x)) > 0).astype(np.int64)
    return Split("made, sparse", DELTA, 2, x[:rows], y[:rows], x[rows:], y[rows:])


def again(split: Split, seed: int) -> Split:
    """Return the same rows, divided at random into parts of the same sizes."""
    x = np.concatenate([split.train_x, split.test_x])
    y = np.concatenate([split.train_y, split.test_y])
    order, size = np.random.default_rng(seed).permutation(len(x)), len(split.train_x)
    train, test = order[:size], order[size:]
    return Split(split.name, DELTA, split.classes, x[train], y[train], x[test], y[test])


def scored(build: Callable[[Split, float], Any]) -> Fit:
    """Return the accuracy on test rows of what is built, fitted."""
    return lambda split, epsilon: float(
        build(split, epsilon).fit(split.train_x, split.train_y).score(split.test_x, split.test_y)
    )


def perceptron(split: Split, epsilon: float) -> Any:  # noqa: ANN401  # an estimator
    """Return the perceptron with its defaults."""
    return PerceptronClassifier(epsilon=epsilon, delta=DELTA, classes=range(split.classes))


def logistic(split: Split, epsilon: float) -> Any:  # noqa: ANN401  # an estimator
    """Return logistic regression with its defaults, on rows of norm 1."""
    return LogisticRegression(epsilon=epsilon, delta=DELTA, classes=range(split.classes))


def centred(split: Split, epsilon: float) -> Any:  # noqa: ANN401  # an estimator
    """Return the perceptron on rows less their noisy mean, both with their defaults."""
    steps = (PrivateScaler(), PerceptronClassifier(classes=range(split.classes)))
    return private_pipeline(*steps, epsilon=epsilon, delta=DELTA)


def tuned(split: Split, epsilon: float) -> Any:  # noqa: ANN401  # an estimator
    """Return a private search over margins and steps, the same budget paying for all of it."""
    grid: dict[str, list[object]] = {"margin": [0.03, 0.1, 0.3], "steps": [20, 60]}
    return tune(perceptron(split, epsilon), grid, probability=0.8, expected_runs=100)


def sgd(split: Split, epsilon: float) -> float:
    """Train softmax weights by DP-SGD on Poisson samples, as most would write it."""
    x, size = data.unit(split.train_x), len(split.train_x)
    rate = min(1.0, _BATCH / size)
    steps = int(_PASSES / rate)

    def priced(sigma: float) -> Any:  # noqa: ANN401  # a mechanism
        noise = dp.Gaussian(sigma=sigma, sensitivity=dp.L2(1))
        return noise.subsample(dp.Poisson(sampling_rate=rate)).repeat(steps)

    sigma = dp.calibrate(priced, epsilon=epsilon, delta=DELTA, increasing=False).value
    rng = np.random.default_rng()
    weights = np.zeros((split.classes, x.shape[1]))
    for _ in range(steps):
        chosen = rng.random(size) < rate
        scores = x[chosen] @ weights.T
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        slopes = np.eye(split.classes)[split.train_y[chosen]]
        slopes -= odds / odds.sum(axis=1, keepdims=True)
        noise = sigma * _CLIP * rng.normal(size=weights.shape)
        weights += _LEARNING_RATE * (slopes.T @ x[chosen] + noise) / (rate * size)
    return float(((data.unit(split.test_x) @ weights.T).argmax(axis=1) == split.test_y).mean())


def frank_wolfe(split: Split, epsilon: float) -> float:
    """Learn weights of two classes in a ball of L1: each step goes to a corner picked privately.

    Talwar, Thakurta & Zhang 2015, with a smooth hinge loss: a record of entries in [-1, 1] moves
    every score by at most 1, so the exponential mechanism picks, and all picks are composed.
    """

    def priced(scale: float) -> Any:  # noqa: ANN401  # a mechanism
        return dp.ExponentialMechanism(epsilon=2 / scale, sensitivity=dp.LInf(1)).repeat(_STEPS)

    scale = dp.calibrate(priced, epsilon=epsilon, delta=DELTA, increasing=False).value
    rng = np.random.default_rng()
    x, signs = csr_array(split.train_x), np.where(split.train_y > 0, 1.0, -1.0)
    weights = np.zeros(x.shape[1])
    for step in range(_STEPS):
        slopes = np.clip((1 - signs * (x @ weights)) / 2, 0, 1)
        downhill = x.T @ (signs * slopes)
        scores = np.concatenate([downhill, -downhill]) + scale * rng.gumbel(size=2 * len(weights))
        corner, sign = scores.argmax() % len(weights), scores.argmax() < len(weights)
        weights *= step / (step + 2)
        weights[corner] += (1 if sign else -1) * _RADIUS * 2 / (step + 2)
    return float(np.mean((csr_array(split.test_x) @ weights > 0) == (split.test_y > 0)))


def plain(split: Split, _: float) -> float:
    """Fit scikit-learn's logistic regression without privacy."""
    model = linear_model.LogisticRegression(C=10, max_iter=300)
    model.fit(data.unit(split.train_x), split.train_y)
    return float(model.score(data.unit(split.test_x), split.test_y))


def peer(python: str, split: Split) -> list[float]:
    """Return the accuracy of diffprivlib with its default penalty for every epsilon."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "rows.npz"
        parts = {"train_x": data.unit(split.train_x), "test_x": data.unit(split.test_x)}
        np.savez(file, train_y=split.train_y, test_y=split.test_y, **parts)  # type: ignore[arg-type]
        command = [python, str(_PEER), str(file), json.dumps(EPSILONS), "1", "1"]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    return [one["default"] for one in json.loads(run.stdout.splitlines()[-1])["found"]]


def row(name: str, found: list[list[float]]) -> str:
    """Return a row of the table: means of splits with standard errors of the means."""
    cells = []
    for values in zip(*found, strict=True):
        error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
        cells.append(f"{np.mean(values):.3f} ± {error:.3f}")
    return f"| {name} | {' | '.join(cells)} |"


@click.command()
@click.option("--data", "directory", type=click.Path(path_type=Path, exists=True), required=True)
@click.option("--peer", "python", help="Python of an environment with diffprivlib.")
@click.option("--only", help="The name of one data set.")
@click.option("--without", multiple=True, help="A word in names of learners to leave out.")
@click.option("--splits", default=3, show_default=True, help="Splits that are averaged.")
def main(
    directory: Path, python: str | None, only: str | None, without: tuple[str, ...], splits: int
) -> None:
    """Print the table, one data set after the other."""
    warnings.simplefilter("ignore")
    adult = data.adult(directory)
    sets = [data.breast_cancer(), data.digits(), adult]
    sets += [data.usps(directory), data.mnist(directory), crossed(adult), sparse()]
    for whole in (one for one in sets if only in (None, one.name)):
        size, width = whole.train_x.shape
        print(f"\n{whole.name}: {size:,} rows, {width:,} features, {whole.classes} classes")
        divided = [again(whole, seed) for seed in range(splits)]
        learners: dict[str, tuple[Fit, list[Split]]] = {
            "`PerceptronClassifier`": (scored(perceptron), divided),
            "`PrivateScaler`, then the perceptron": (scored(centred), divided),
            "`LogisticRegression`": (scored(logistic), divided),
            "`tune` of the perceptron": (scored(tuned), divided),
            "DP-SGD by hand": (sgd, divided),
        }
        if whole.name in {"digits", "USPS", "MNIST (test images)"}:
            plan = ScatteringFeatures(features=width)
            x = [plan.apply(part) for part in (whole.train_x, whole.test_x)]
            mapped = Split(whole.name, DELTA, 10, x[0], whole.train_y, x[1], whole.test_y)
            images = [again(mapped, seed) for seed in range(splits)]
            learners["`ScatteringFeatures`, then both"] = (scored(centred), images)
        if whole.name in {"Adult, crossed", "made, sparse"}:
            learners["Frank-Wolfe by hand"] = (frank_wolfe, divided)
        for name, (fit, parts) in learners.items():
            if any(word in name for word in without):
                continue
            print(row(name, [[fit(one, e) for e in EPSILONS] for one in parts]), flush=True)
        if python is not None:
            print(row("diffprivlib", [peer(python, one) for one in divided]), flush=True)
        print(row("scikit-learn, no privacy", [[plain(one, 0)] for one in divided]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
