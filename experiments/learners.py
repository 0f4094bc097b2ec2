"""Learners at a budget, and the accuracy of what they release."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import AddRemove, calibrate
from dpproof.mechanisms import (
    BatchPerceptron,
    ClassMeans,
    Featured,
    KeslerPerceptron,
    MeanHalfspace,
    Mechanism,
    Records,
)
from experiments.data import Split, unit
from experiments.noisy_hinge import SubsampledHinge
from experiments.one_vs_rest import OneVsRest

Learner = Mechanism[AddRemove]
Build = Callable[[float], Learner]

MARGIN: Final = 0.1
FULL_STEPS: Final = 60
# Records expected in a sample, and so the rate: the sizes of these sets are published.
BATCH: Final = {"USPS": 100, "MNIST (test images)": 200, "Adult": 500}
_BATCH: Final = 100


def at_budget(build: Build, *, epsilon: float, delta: float) -> Learner:
    """Return the learner of ``build`` with the least noise that the budget allows."""
    return build(calibrate(build, epsilon=epsilon, delta=delta, increasing=False).value)


def epoch(split: Split) -> tuple[Fraction, int]:
    """Return the rate and the number of steps of one pass over the records, as in the papers."""
    size, batch = len(split.train_y), BATCH.get(split.name, _BATCH)
    return Fraction(batch, size), -(-size // batch)


def sampled(split: Split) -> Build:
    """Return the builder of one perceptron for two classes, on samples, for one epoch."""
    rate, steps = epoch(split)
    return lambda s: BatchPerceptron(
        margin=MARGIN, steps=steps, sigma=s, rate=rate, norm=None, relation=AddRemove()
    )


def one_vs_rest(split: Split, base: Build) -> Build:
    """Return the builder of one halfspace for every class; two classes need one."""
    if split.classes == 2:
        return base
    return lambda s: OneVsRest(base=base(s), classes=split.classes)  # type: ignore[arg-type]


def full_batch(split: Split, steps: int = FULL_STEPS) -> Build:
    """Return the builder with all records in every step, Kesler's for several classes."""
    if split.classes == 2:
        return lambda s: BatchPerceptron(
            margin=MARGIN, steps=steps, sigma=s, norm=None, relation=AddRemove()
        )
    return lambda s: KeslerPerceptron(
        classes=split.classes, margin=MARGIN, steps=steps, sigma=s, norm=None, relation=AddRemove()
    )


def kesler(split: Split) -> Build:
    """Return the builder of Kesler's construction on samples, for one epoch."""
    if split.classes == 2:
        return sampled(split)
    rate, steps = epoch(split)
    return lambda s: KeslerPerceptron(
        classes=split.classes,
        margin=MARGIN,
        steps=steps,
        sigma=s,
        rate=rate,
        norm=None,
        relation=AddRemove(),
    )


def hinge(split: Split) -> Build:
    """Return the builder of the support vector machine by noisy subgradients, for one epoch."""
    rate, steps = epoch(split)
    return lambda s: SubsampledHinge(
        learning_rate=0.1,
        decay=1e-4,
        steps=steps,
        sigma=s,
        rate=rate,
        norm=None,
        relation=AddRemove(),
    )


def means(split: Split) -> Build:
    """Return the builder of one release of means."""
    if split.classes == 2:
        return lambda s: MeanHalfspace(sigma=s, norm=None, relation=AddRemove())
    return lambda s: ClassMeans(classes=split.classes, sigma=s, norm=None, relation=AddRemove())


def accuracy(learner: Learner, split: Split, fits: int) -> float:
    """Return the mean accuracy of some fits on the test rows; each is a separate release."""
    return float(np.mean([np.mean(p == split.test_y) for p in predictions(learner, split, fits)]))


def predictions(learner: Learner, split: Split, fits: int) -> list[NDArray[np.int64]]:
    """Return the classes that some fits predict on the test rows."""
    released = learner.release_many(training(split), fits)
    rows = learner.map.apply(split.test_x) if isinstance(learner, Featured) else split.test_x
    if "means" in (released.dtype.names or ()):
        centres = np.asarray(released["means"])
        scores = [unit(rows) @ c.T - (c**2).sum(axis=1) / 2 for c in centres]
        return [score.argmax(axis=1) for score in scores]
    weights = np.asarray(released["weights"])
    if weights.ndim == 2:
        return [(rows @ one > 0).astype(np.int64) for one in weights]
    return [(rows @ one.T).argmax(axis=1) for one in weights]


def training(split: Split) -> Records:
    """Return the training rows, labels as learners take them."""
    labels: Any = 2 * split.train_y - 1 if split.classes == 2 else split.train_y
    return Records(split.train_x, labels)
