"""Adult with 23 binary columns: direct 0/1 optimisation against private logistic regression.

    python experiments/neel2019.py --data DIR [--runs 4] [--splits 3] [--peer PYTHON] [--out DIR]

The protocol of Neel, Roth, Vietri & Wu 2019 as far as public data allow: all positives and as many
sampled negatives of a training split, halfspaces with weights -1 and +1, 0/1 loss. Their columns
are not named; ours are chosen by the training records from one-hot codes and cuts with public
thresholds, which is not paid for; drawing as many negatives as there are positives looks at the
labels and is not paid for either, here as there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import GDP, AddRemove, LInf, calibrate
from dpproof.mechanisms import (
    Cube,
    EnumerationOracle,
    ExponentialMechanism,
    LogisticObjective,
    MilpOracle,
    Records,
    SeparatorPerturbation,
    ZeroOne,
)
from dpproof.mechanisms.learning.separators.oracles import Problem, best_candidates, levels_at
from dpproof.mechanisms.learning.separators.separator_perturbation import LAWS
from dpproof.mechanisms.learning.separators.spaces import patterns
from dpproof.mechanisms.samplers.rng import SystemRng
from experiments.noisy_hinge import SubsampledHinge

COUNT = 7_841
EPSILONS = (0.01, 0.03, 0.1, 0.3, 1.0)
WIDTH = 23
CATEGORIES = ("relationship", "marital-status", "occupation", "workclass", "race", "sex")
CUTS: Mapping[str, Sequence[int]] = {
    "education-num": range(5, 15),
    "age": range(20, 65, 5),
    "hours-per-week": range(20, 65, 5),
    "capital-gain": (0, 2_500, 5_000, 7_500),
    "capital-loss": (0, 1_500, 1_750, 2_000),
}
Fit = Callable[[float, int], list[NDArray[np.float64]]]


def columns(table: Mapping[str, NDArray[np.str_]]) -> NDArray[np.int64]:
    """Code the rows by binary columns: one a category, one a public cut, the last constant."""
    parts = [table[name] == value for name in CATEGORIES for value in np.unique(table[name])]
    for name, cuts in CUTS.items():
        parts += [table[name].astype(float) > cut for cut in cuts]
    parts.append(np.ones(len(table["sex"]), dtype=bool))
    return np.stack(parts, axis=1).astype(np.int64)


def chosen(train: Records, width: int) -> list[int]:
    """Choose columns by the training records alone: the last one, and others that survive.

    Logistic regression on rows of norm 1 is fitted again and again, and each time a quarter of the
    columns still to go, those of the smallest coefficients, are dropped. Nothing is paid for it.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    last = train.rows.shape[1] - 1
    columns = list(range(last))
    while len(columns) >= width:
        rows = normed(train.rows[:, [*columns, last]])
        model = LogisticRegression(fit_intercept=False, max_iter=300).fit(rows, train.labels)
        order = np.argsort(np.abs(model.coef_[0][:-1]), kind="stable")
        dropped = max(1, (len(columns) - width + 1) // 4)
        columns = sorted(columns[place] for place in order[dropped:])
    return [*columns, last]


def normed(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return rows of norm 1."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def read(path: Path) -> dict[str, NDArray[np.str_]]:
    """Return Adult as texts by column."""
    import gzip  # noqa: PLC0415

    with gzip.open(path, "rt", encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split("\t")
        rows = [line.rstrip("\n").split("\t") for line in file]
    return {
        name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }


def balanced(
    rows: NDArray[np.int64], positive: NDArray[np.bool_], count: int, rng: np.random.Generator
) -> tuple[Records, Records]:
    """Return training records with ``count`` of either label, and balanced test records.

    Test records are taken from the others.
    """
    parts = []
    for label in (True, False):
        order = rng.permutation(np.flatnonzero(positive == label))
        parts.append((order[:count], order[count:]))
    rest = min(len(parts[0][1]), len(parts[1][1]))
    train = np.concatenate([parts[0][0], parts[1][0]])
    test = np.concatenate([parts[0][1][:rest], parts[1][1][:rest]])
    signs = np.where(positive, 1, -1)
    return Records(rows[train], signs[train]), Records(rows[test], signs[test])


def accuracy(weights: NDArray[Any], test: Records, threshold: float) -> float:
    """Return the share of test records on their side of a halfspace."""
    return float(np.mean((test.rows @ weights >= threshold) == (test.labels == 1)))


def direct(train: Records) -> dict[str, Fit]:
    """Return methods that minimise the number of mistakes: from epsilon and runs to weights."""
    space, rng = Cube(train.rows.shape[1]), SystemRng()
    data = patterns(train, space.coordinates)
    start = time.perf_counter()
    totals = Problem(space, ZeroOne(), data, 1).totals()
    print(f"enumerated {totals.size} candidates in {time.perf_counter() - start:.1f} s")
    print(f"best training error {totals.min() / len(train):.4f}")
    scores = -totals.reshape(-1).astype(np.float64)
    levels = np.array(space.levels)

    def exponential(epsilon: float, runs: int) -> list[NDArray[np.float64]]:
        mechanism = ExponentialMechanism(epsilon=epsilon, sensitivity=LInf(1), monotone=True)
        picked = mechanism.release_many(scores, runs)
        return list(levels[levels_at(space, picked)])

    def perturbed(noise: str) -> Fit:
        def fit(epsilon: float, runs: int) -> list[NDArray[np.float64]]:
            mechanism = SeparatorPerturbation(
                epsilon=epsilon, space=space, noise=noise, relation=AddRemove()
            )
            problem = Problem(space, ZeroOne(), data, mechanism.unit)
            noises = LAWS[noise].draw(mechanism.shape, runs, rng)
            return list(levels[best_candidates(problem, totals, noises)])

        return fit

    return {
        "exponential mechanism": exponential,
        "separators, cube norm": perturbed("linf"),
        "separators, Laplace": perturbed("laplace"),
        "separators, sphere": perturbed("sphere"),
    }


def convex(train: Records, delta: float) -> dict[str, Fit]:
    """Return methods that minimise a convex loss: from epsilon and runs to weights."""

    def published(epsilon: float, runs: int) -> list[NDArray[np.float64]]:
        # Kifer, Smith & Thakurta, COLT 2012, Theorem 5, for a curvature of at most 1/4.
        sigma = float(np.sqrt(8 * np.log(2 / delta) + 4 * epsilon)) / epsilon
        mechanism = LogisticObjective(
            sigma=sigma, regulariser=0.5 / epsilon, norm=None, relation=AddRemove()
        )
        return list(mechanism.release_many(train, runs)["weights"])

    def pure(epsilon: float, runs: int) -> list[NDArray[np.float64]]:
        mechanism = LogisticObjective.pure(
            epsilon=epsilon, regulariser=1 / epsilon, norm=None, relation=AddRemove()
        )
        return list(mechanism.release_many(train, runs)["weights"])

    def at(make: Callable[[Any], Any], epsilon: float) -> Any:  # noqa: ANN401
        found = calibrate(make, epsilon=epsilon, delta=delta, increasing=False)
        return make(found.value)

    def logistic(epsilon: float, runs: int) -> list[NDArray[np.float64]]:
        # The smallest regulariser, but for 2 %, whose floor is below epsilon and so costs nothing.
        def make(sigma: float) -> LogisticObjective[Any]:
            regulariser = 1 / (0.98 * epsilon + 0.5 / sigma**2)
            return LogisticObjective(
                sigma=sigma, regulariser=regulariser, norm=None, relation=AddRemove()
            )

        return list(at(make, epsilon).release_many(train, runs)["weights"])

    def descent(epsilon: float, runs: int) -> list[NDArray[np.float64]]:
        def make(sigma: float) -> SubsampledHinge[Any]:
            return SubsampledHinge(
                learning_rate=0.001, steps=60, sigma=sigma, norm=None, relation=AddRemove()
            )

        return list(at(make, epsilon).release_many(train, runs)["weights"])

    def output(epsilon: float, runs: int) -> list[NDArray[np.float64]]:
        # The exact minimum moves by at most norm / regulariser.
        mu = calibrate(lambda mu: GDP(mu=mu), epsilon=epsilon, delta=delta, increasing=True).value
        regulariser = 30.0
        exact = LogisticObjective(
            sigma=1e-6, regulariser=regulariser, norm=None, relation=AddRemove()
        )
        centre = exact.release(train).weights
        noise = np.random.default_rng().normal(
            scale=1 / (regulariser * mu), size=(runs, len(centre))
        )
        return list(centre + noise)

    return {
        "logistic objective": logistic,
        "logistic objective, pure": pure,
        "as published in 2012": published,
        "logistic output": output,
        "DP-SGD, hinge": descent,
    }


def measure(
    train: Records, test: Records, runs: int, epsilons: tuple[float, ...]
) -> dict[str, list[list[float]]]:
    """Return accuracies on the test records, by method and epsilon, one a run."""
    kinds = (direct(train), 1.0), (convex(train, 1 / len(train) ** 2), 0.0)
    return {
        name: [[accuracy(w, test, threshold) for w in fit(epsilon, runs)] for epsilon in epsilons]
        for fits, threshold in kinds
        for name, fit in fits.items()
    }


def oracles(
    train: Records, widths: Sequence[int], limit: float
) -> list[tuple[int, int, float, float]]:
    """Return width, distinct rows, and seconds of enumeration and of integer programming.

    Both are solved for one noise.

    Columns are the first ones and the constant. What the program leaves open after the limit is
    finished by enumeration. Both have to agree.
    """
    found = []
    for width in widths:
        kept = [*range(width - 1), train.rows.shape[1] - 1]
        data = patterns(Records(train.rows[:, kept], train.labels), width)
        solver = MilpOracle(time_limit=limit)
        mechanism = SeparatorPerturbation(
            epsilon=1, space=Cube(width), oracle=solver, relation=AddRemove()
        )
        noise = LAWS["linf"].draw(mechanism.shape, 1, SystemRng())
        problem = Problem(mechanism.space, ZeroOne(), data, mechanism.unit)
        answers, seconds = [], []
        for oracle in (EnumerationOracle(), solver):
            start = time.perf_counter()
            answers.append(oracle.minima(problem, noise))
            seconds.append(time.perf_counter() - start)
        if (answers[0] != answers[1]).any():
            raise AssertionError(width)
        found.append((width, len(data.rows), seconds[0], seconds[1]))
    return found


def peer(python: str, train: Records, test: Records, runs: int) -> list[list[float]]:
    """Return mean accuracies of diffprivlib's logistic regression with its default penalty."""
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "rows.npz"
        np.savez(
            file,
            train_x=normed(train.rows),
            train_y=train.labels,
            test_x=normed(test.rows),
            test_y=test.labels,
        )
        script = Path(__file__).parents[1] / "benchmarks" / "peer_logistic.py"
        command = [python, str(script), str(file), json.dumps(EPSILONS), str(runs)]
        done = subprocess.run(command, capture_output=True, check=True, text=True)  # noqa: S603
    return [[found["default"]] for found in json.loads(done.stdout)["found"]]


def averages(results: list[dict[str, list[list[float]]]]) -> dict[str, list[tuple[float, float]]]:
    """Return mean and standard deviation over the runs of all splits, by method and epsilon."""
    joined = {}
    for name in results[0]:
        runs = [
            np.concatenate(values) for values in zip(*(one[name] for one in results), strict=True)
        ]
        joined[name] = [(float(np.mean(scores)), float(np.std(scores))) for scores in runs]
    return joined


def honest(epsilon: float, delta: float, dimension: int) -> float:
    """Return the proved cost on the cube of Gaussian noise at OPDisc's printed sigma.

    The loss is at most mu X + mu^2/2, X a chi variable of d + 1 degrees. Here mu = 4 epsilon / (7
    sqrt(log 1/delta)). The relation is replace-one, as in the paper.
    """
    from scipy import integrate, optimize, stats  # noqa: PLC0415

    mu = 4 * epsilon / (7 * np.sqrt(np.log(1 / delta)))
    law = stats.chi(dimension + 1)

    def excess(at: float) -> float:
        def integrand(x: float) -> float:
            return float(law.pdf(x) * -np.expm1(min(at - mu * x - mu * mu / 2, 0)))

        least = max(0.0, (at - mu * mu / 2) / mu)
        return float(integrate.quad(integrand, least, least + 12, limit=200)[0]) - delta

    return float(optimize.brentq(excess, 1e-6, 50))


def figure(curves: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Draw accuracy against epsilon."""
    from matplotlib.figure import Figure  # noqa: PLC0415

    drawing = Figure(figsize=(6, 4))
    axes = drawing.subplots()
    for name, values in curves.items():
        means, spreads = zip(*values, strict=True)
        axes.errorbar(EPSILONS[: len(means)], means, yerr=spreads, label=name, capsize=2)
    axes.set(xscale="log", xlabel="ε", ylabel="accuracy", title="Adult, 23 binary columns")
    axes.legend(fontsize=7)
    drawing.savefig(path, dpi=150, bbox_inches="tight")


def main() -> None:
    """Run the experiment and print its table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of adult.csv.gz")
    parser.add_argument("--runs", type=int, default=4, help="of each split")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--peer", help="a Python that has diffprivlib")
    parser.add_argument("--out", type=Path, help="folder for the figure")
    options = parser.parse_args()
    table = read(options.data / "adult.csv.gz")
    positive = np.char.find(table["label"], "&gt;50K") >= 0
    rows, delta = columns(table), 1 / (2 * COUNT) ** 2
    for claimed in (0.1, 0.5, 1.0):
        proved = honest(claimed, delta, WIDTH)
        print(f"OPDisc's printed sigma for ε = {claimed} is proved at {proved:.3f} (replace-one)")
    results = []
    for seed in range(1, options.splits + 1):
        train, test = balanced(rows, positive, COUNT, np.random.default_rng(seed))
        chosen_columns = chosen(train, WIDTH)
        train, test = (Records(part.rows[:, chosen_columns], part.labels) for part in (train, test))
        print(
            f"{len(train)} records to train, {len(test)} to test; δ = {delta:.3g}; {chosen_columns}"
        )
        results.append(measure(train, test, options.runs, EPSILONS))
        if options.peer:
            results[-1]["diffprivlib"] = peer(options.peer, train, test, options.runs)
    for line in oracles(train, (8, 12, 15, 19, 23), 60):
        print("{} columns, {} rows: enumeration {:.2f} s, program {:.2f} s".format(*line))
    for width in (12, 15, 19):
        seconds = [line[3] for line in oracles(train, [width] * 20, 60)]
        least, *middle, most = np.quantile(seconds, (0, 0.25, 0.5, 0.75, 1))
        print(f"{width} columns, 20 noises: {least:.2f}, {middle}, {most:.2f} s by the program")
    print(" " * 24, "  ".join(f"ε = {epsilon:<6g}" for epsilon in EPSILONS))
    joined = averages(results)
    for name, values in joined.items():
        print(f"{name:24}", "  ".join(f"{mean:.3f}±{spread:.3f}" for mean, spread in values))
    if options.out:
        figure(joined, options.out / "neel2019.png")


if __name__ == "__main__":
    main()
