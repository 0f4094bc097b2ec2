"""A model of every estimator, its noise from one seed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dpproof.accountant import ReplaceOne, SelectionPlan
from dpproof.learn import (
    PCA,
    CoverClassifier,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MarginClassifier,
    PerceptronClassifier,
    PrivateScaler,
    SelectKBest,
    TunedClassifier,
    tune,
)
from dpproof.mechanisms import Polygon

BUDGET: dict[str, Any] = {"epsilon": 4, "delta": 1e-5, "random_state": 1}
CLASSES: dict[str, Any] = {**BUDGET, "classes": range(10)}
# Stated noise: to calibrate it costs more than most fits.
NOISE: dict[str, Any] = {"sigma": 2, "random_state": 1}
LABELS: dict[str, Any] = {**NOISE, "classes": range(10)}
TWO: dict[str, Any] = {**NOISE, "classes": [0, 1]}
MODELS: dict[str, Callable[[], Any]] = {
    "PerceptronClassifier": lambda: PerceptronClassifier(**LABELS, steps=20),
    "LogisticRegression": lambda: LogisticRegression(**LABELS),
    "MarginClassifier": lambda: MarginClassifier(**TWO, steps=20, relation=ReplaceOne()),
    "TunedClassifier": lambda: tune(
        MarginClassifier(**BUDGET, classes=[0, 1], steps=10, relation=ReplaceOne()),
        {"margin": [0.01, 0.1]},
        probability=0.5,
    ),
    "LinearRegression": lambda: LinearRegression(**NOISE, norm=70, bound=10),
    "PCA": lambda: PCA(**NOISE, n_components=2, norm=70),
    "SelectKBest": lambda: SelectKBest(2, **LABELS, bound=16),
    "PrivateScaler": lambda: PrivateScaler(**NOISE),
    "KMeans": lambda: KMeans(**NOISE, n_clusters=3, norm=70),
    "CoverClassifier": lambda: CoverClassifier(
        epsilon=4, random_state=1, classes=[0, 1], cover=Polygon(corners=16), relation=ReplaceOne()
    ),
}
# Those that run scikit-learn's own checks, by the test that runs them.
LINEAR: dict[str, Any] = {
    "perceptron": PerceptronClassifier,
    "logistic": LogisticRegression,
    "margin": MarginClassifier,
}
CHOICES: dict[str, Any] = {"tuned": TunedClassifier, "cover": CoverClassifier}
STATISTICS: dict[str, Any] = {
    "regression": LinearRegression(sigma=1e-3, norm=10, bound=10),
    "components": PCA(n_components=1, sigma=1e-3, norm=10),
    "scaler": PrivateScaler(sigma=1e-3, norm=10),
    "columns": SelectKBest(1, sigma=1e-3, classes=[0, 1, 2], bound=10),
    "clusters": KMeans(n_clusters=3, sigma=1e-3, norm=10),
}
PLAN = TunedClassifier.plan


@functools.cache
def plan(candidates: int, epsilon: float) -> SelectionPlan:
    """The plan of a search whose candidates all take all rows: it depends on nothing else."""
    grid = {"margin": [(1 + candidate) / 100 for candidate in range(candidates)]}
    model = MarginClassifier(
        **{**BUDGET, "epsilon": epsilon}, classes=[0, 1], relation=ReplaceOne()
    )
    return PLAN(tune(model, grid, probability=0.5))


def shared_plan(tuned: Any) -> SelectionPlan:  # noqa: ANN401  # its estimator has any budget
    """The plan of a search, made once for all without samples; it costs more than their fits."""
    if "rate" in tuned.grid:
        return PLAN(tuned)
    return plan(len(tuned.candidates()), tuned.estimator.epsilon)
