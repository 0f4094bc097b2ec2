"""Nguyen, Ullman & Zakynthinou, private learning of large-margin halfspaces, arXiv:1902.09009.

    python -m experiments.nguyen2020 --data DIR --out OUT

The paper has no experiments. Made here: what its Algorithm 3 costs as printed; how many dimensions
its projection needs, by its constants and exactly; and its algorithms on two cones of known margin
and on public data, two classes each: noisy hinge descent with and without projection, boosted with
the pick paid for, and a projected net with the exponential mechanism.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from dpproof.accountant import AddRemove, BoundedRange, ReplaceOne, compose, self_compose
from dpproof.mechanisms import Featured, Projected, SignProjection
from experiments import data, learners, report
from experiments.boosted import Boosted
from experiments.data import Split
from experiments.learners import Build
from experiments.mistake_exponential import CandidateExponential
from experiments.noisy_hinge import NoisyHinge
from experiments.one_record_descent import price
from experiments.plans.exponential_plan import plan_exponential
from experiments.plans.hinge_plan import plan_hinge
from experiments.plans.projected_margin import cosine_dimension

STEPS: Final = 100
RUNS: Final = 5
PICK: Final = 0.1  # of epsilon, for the pick among fits
PLANE: Final = 4  # dimensions of the net
CANDIDATES: Final = 4_000


def printed_budget(sizes: tuple[int, ...] = (200, 1_000), runs: int = RUNS) -> report.Table:
    """Return the cost of Algorithm 3 as printed for (1, 1e-6), with and without its selection.

    Every run makes n^2 - 1 steps on one record each. Their noise is
    32 L^2 n^2 ln(n/d') ln(1/d') / e'^2, where e' = 1 / k and d' = 1e-6 / k. The records are
    replaced, and n is public.
    """
    epsilon, delta = Fraction(1, runs), 1e-6 / runs
    rows: list[list[object]] = []
    for n in sizes:
        one = price(records=n, epsilon=float(epsilon), delta=delta)
        fits = self_compose(one, runs)
        pick = BoundedRange(epsilon=1, relation=ReplaceOne())
        costs = [g.epsilon(delta=1e-6).upper for g in (fits, compose(fits, pick))]
        rows.append([n, runs, float(epsilon), one.epsilon(delta=delta).upper, *costs])
    columns = (
        "records", "runs", "claimed for one run", "one run costs", "all runs cost",
        "with the selection at epsilon = 1",
    )  # fmt: skip
    return report.Table("Algorithm 3 as printed, claimed (1, 1e-6)", columns, rows)


def dimensions(margins: tuple[float, ...] = (0.3, 0.1, 0.05), points: int = 10_000) -> report.Table:
    """Return dimensions of a projection that keeps margins: the paper's, and exact ones."""
    failure = 0.05 / points
    rows: list[list[object]] = []
    for margin in margins:
        paper = math.ceil(40_000 * math.log(2 / failure) / margin**2)
        exact = [cosine_dimension(margin=margin, share=s, failure=failure) for s in (0.5, 0)]
        rows.append([margin, paper, *exact])
    columns = ("margin", "by the paper's distortion margin/100", "to keep half", "to keep the sign")
    return report.Table(f"Dimensions for {points:,} points at failure 0.05", columns, rows)


def sample_sizes(margins: tuple[float, ...] = (0.5, 0.3, 0.1, 0.05)) -> report.Table:
    """Return the records that both learners are proved to need, beside the rates of Table 1."""
    rows: list[list[object]] = []
    for margin in margins:
        problem: dict[str, Any] = {
            "features": 20,
            "gamma": margin,
            "alpha": 0.1,
            "xi": 0.1,
            "epsilon": 1,
        }
        paper, ours = (plan_hinge(**problem, delta=1e-6, law=law) for law in ("paper", "ours"))
        pick = plan_exponential(**problem)
        found = [paper.records, ours.records, ours.steps, pick.records, f"{pick.candidates:.0e}"]
        rows.append([margin, round(1 / (0.1 * margin**2)), *found])
    columns = (
        "margin", "1/(αεγ²)", "descent, published constants", "descent, ours", "its steps",
        "pure pick, ours", "its candidates",
    )  # fmt: skip
    return report.Table("Records for error 0.1 at (1, 1e-6), 20 features", columns, rows)


def cones(records: int = 2_000, features: int = 1_000, margin: float = 0.3) -> Split:
    """Return two cones about a direction, each row at the margin: the mean errs on a third."""
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, size=2 * records)
    side = np.where(rng.random(2 * records) < 0.7, 1.0, -1.0) * math.sqrt(1 - margin**2)
    rows = np.zeros((2 * records, features))
    rows[:, 0], rows[:, 1] = margin, side
    rows *= (2.0 * labels - 1)[:, np.newaxis]
    halves = slice(0, records), slice(records, None)
    parts = [(rows[half], labels[half]) for half in halves]
    return Split("two cones", 1e-6, 2, *parts[0], *parts[1])


def methods(split: Split, margin: float, epsilon: float) -> Iterator[tuple[str, learners.Learner]]:
    """Yield every learner by name, at its budget."""
    features, size = split.train_x.shape[1], len(split.train_y)

    def hinge(sigma: float) -> NoisyHinge[AddRemove]:
        return NoisyHinge(
            margin=margin,
            expected_size=size,
            steps=STEPS,
            sigma=sigma,
            norm=None,
            relation=AddRemove(),
        )

    plan = SignProjection(features=features, dimension=min(100, features // 2), seed=1)
    plane = SignProjection(features=features, dimension=PLANE, seed=1)
    several: list[tuple[str, Build]] = [
        ("hinge descent", hinge),
        (
            f"the same in {plan.dimension} dimensions",
            lambda s: Projected(base=hinge(s), projection=plan),
        ),
        (
            f"best of {RUNS} descents",
            lambda s: Boosted(base=hinge(s), runs=RUNS, epsilon=PICK * epsilon),
        ),
    ]
    for name, build in several:
        yield name, learners.at_budget(build, epsilon=epsilon, delta=split.delta)
    net = np.random.default_rng(2).normal(size=(CANDIDATES, PLANE))
    picked = CandidateExponential(
        candidates=net, margin=margin / 10, epsilon=epsilon, norm=None, relation=AddRemove()
    )
    yield f"net of {CANDIDATES} in {PLANE} dimensions", Featured(base=picked, map=plane)


def accuracies(
    splits: list[tuple[Split, float]], epsilons: tuple[float, ...], fits: int
) -> tuple[report.Table, list[report.Figure]]:
    """Return the accuracy of every algorithm on every data set, at the margin given for it."""
    rows: list[list[object]] = []
    figures = []
    for split, margin in splits:
        curves: dict[str, list[tuple[float, float]]] = {}
        for epsilon in epsilons:
            for name, learner in methods(split, margin, epsilon):
                found = learners.accuracy(learner, split, fits)
                curves.setdefault(name, []).append((epsilon, found))
        rows += [[split.name, margin, name, *[y for _, y in at]] for name, at in curves.items()]
        slug = "-".join(re.findall(r"\w+", split.name.lower()))
        figures.append(
            report.Figure(f"nguyen2020-{slug}", split.name, "epsilon", "accuracy", curves)
        )
    columns = ("data", "margin", "learner", *[f"epsilon {e:g}" for e in epsilons])
    return report.Table("Accuracy, two classes, add-remove", columns, rows), figures


def experiment(
    splits: list[tuple[Split, float]],
    *,
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0),
    fits: int = 3,
    sizes: tuple[int, ...] = (200, 1_000),
    margins: tuple[float, ...] = (0.3, 0.1, 0.05),
) -> tuple[list[report.Table], list[report.Figure]]:
    """Return all tables and figures."""
    table, figures = accuracies(splits, epsilons, fits)
    made = [printed_budget(sizes), sample_sizes(margins), dimensions(margins), table]
    return made, figures


@click.command()
@click.option("--data", "directory", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write files there.")
@click.option("--fits", default=3, show_default=True, help="Fits that are averaged.")
def main(directory: Path | None, out: Path | None, fits: int) -> None:
    """Run the experiments, on scikit-learn's small data sets if no directory is given."""
    splits = [(cones(), 0.3)]
    if directory is None:
        splits.append((data.digits().two("digits, even", lambda y: y % 2 == 0), 0.03))
    else:
        usps = data.usps(directory)
        splits.append((usps.two("USPS, 0", lambda y: y == 0), 0.03))
        splits.append((usps.two("USPS, even", lambda y: y % 2 == 0), 0.03))
        splits.append((data.adult(directory), 0.03))
    tables, figures = experiment(splits, fits=fits)
    report.finish("nguyen2020", tables, figures, out)


if __name__ == "__main__":
    main()
