"""Compare private learners: ``python -m benchmarks.learners --data DIR --peer PYTHON``.

Accuracy at equal (epsilon, delta) side by side with diffprivlib's logistic regression, which lives
in an environment of its own (it needs scikit-learn below 1.6); time against scikit-learn's linear
support vector machine without privacy, both in processor seconds; and memory.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import click
import numpy as np

from dpproof.learn import PerceptronClassifier
from experiments import data
from experiments.data import Split
from experiments.report import Table, finish

EPSILONS: Final = (0.5, 1.0, 2.0)
# From the issue: accuracy of the full batch at epsilon 0.5, 1 and 2, of Adult at 0.5.
GOALS: Final = {"USPS": (0.85, 0.87, 0.88), "Adult": (0.815,)}
_PEER: Final = Path(__file__).parent / "peer_logistic.py"


def ours(split: Split, epsilon: float) -> PerceptronClassifier:
    """Return our classifier with its defaults: margin 0.1, norm 1.

    Two classes take 200 steps, not 60.
    """
    return PerceptronClassifier(
        epsilon=epsilon,
        delta=split.delta,
        classes=range(split.classes),
        steps=200 if split.classes == 2 else 60,
    )


def fitted(split: Split, fits: int) -> list[float]:
    """Return our mean accuracy for every epsilon."""
    found = []
    for epsilon in EPSILONS:
        models = [ours(split, epsilon).fit(split.train_x, split.train_y) for _ in range(fits)]
        scores = [model.score(split.test_x, split.test_y) for model in models]
        found.append(float(np.mean(scores)))
    return found


def peer(python: str, split: Split, fits: int) -> tuple[str, list[float], list[float]]:
    """Return diffprivlib's version and its mean accuracies for every epsilon.

    It runs in its own environment: first with its default penalty, then with the best of some, for
    which nothing is paid.
    """
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "rows.npz"
        np.savez(
            file,
            train_x=data.unit(split.train_x),
            train_y=split.train_y,
            test_x=data.unit(split.test_x),
            test_y=split.test_y,
        )
        command = [python, str(_PEER), str(file), json.dumps(EPSILONS), str(fits)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
    answer = json.loads(run.stdout.splitlines()[-1])
    default, best = ([one[kind] for one in answer["found"]] for kind in ("default", "best"))
    return f"diffprivlib {answer['version']}", default, best


def side_by_side(splits: Sequence[Split], python: str | None, fits: int) -> Table:
    """Return the accuracy of both at every epsilon."""
    rows: list[list[object]] = []
    for split in splits:
        mine = fitted(split, fits)
        rows.append([split.name, f"{split.delta:g}", "PerceptronClassifier", *mine])
        if python is not None:
            name, theirs, best = peer(python, split, fits)
            rows.append([split.name, "0", f"{name} LogisticRegression", *theirs])
            rows.append([split.name, "0", "the same, best of four penalties", *best])
            for which, others in (("the default", theirs), ("the best of four", best)):
                won = ["yes" if a >= b else "NO" for a, b in zip(mine, others, strict=True)]
                rows.append([split.name, "", f"ours at least as accurate as {which}", *won])
        if split.name in GOALS:
            goals = [(a, b) for a, b in zip(mine, GOALS[split.name], strict=False)]
            met = [f"{b:g}: {'met' if a >= b else 'NOT MET'}" for a, b in goals]
            rows.append([split.name, "", "goal", *met, *[""] * (len(EPSILONS) - len(met))])
    columns = ("data", "delta", "learner", *[f"epsilon {epsilon:g}" for epsilon in EPSILONS])
    return Table(f"Accuracy on test rows, mean of {fits} fits", columns, rows)


def times(split: Split, rounds: int = 3) -> Table:
    """Return processor times of our fit with 60 steps and of a linear SVM, in turn."""
    from sklearn.svm import LinearSVC  # noqa: PLC0415  # an optional library

    model = ours(split, 1.0)
    svc, own = [], []
    for _ in range(rounds):
        svc.append(_processor(lambda: LinearSVC().fit(split.train_x, split.train_y)))
        own.append(_processor(lambda: _again(model, split)))
    ratio = median(own) / median(svc)
    rows: list[list[object]] = [
        ["LinearSVC, no privacy", median(svc), "1x"],
        ["PerceptronClassifier, 60 steps", median(own), f"{ratio:.2f}x"],
        ["goal", "", f"at most 5x: {'met' if ratio <= 5 else 'NOT MET'}"],
    ]
    columns = ("learner", "processor seconds", "ratio")
    return Table(f"Time of a fit on {split.name}, median of {rounds}", columns, rows)


def memory(splits: Sequence[Split]) -> Table:
    """Return this process's peak memory after fitting every data set, libraries included."""
    for split in splits:
        _again(ours(split, 1.0), split)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    goal = f"below 1024 MB: {'met' if peak < 1024 else 'NOT MET'}"
    return Table("Memory of all fits in one process", ("peak MB", "goal"), [[f"{peak:.0f}", goal]])


def _again(model: PerceptronClassifier, split: Split) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(split.train_x, split.train_y)


def _processor(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


@click.command()
@click.option("--data", "directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--peer", "python", help="Python of an environment with diffprivlib.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write files there.")
@click.option("--fits", default=3, show_default=True, help="Fits that are averaged.")
def main(directory: Path | None, python: str | None, out: Path | None, fits: int) -> None:
    """Measure accuracy, time and memory; without a directory on scikit-learn's digits."""
    splits = [data.digits()]
    if directory is not None:
        usps = data.usps(directory)
        even = usps.two("USPS, even", lambda y: y % 2 == 0)
        zero = usps.two("USPS, 0", lambda y: y == 0)
        splits += [usps, even, zero, data.adult(directory)]
    timed = splits[min(1, len(splits) - 1)]
    tables = [side_by_side(splits, python, fits), times(timed), memory(splits)]
    finish("learners", tables, [], out)


if __name__ == "__main__":
    sys.exit(main())
