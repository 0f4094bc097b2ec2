"""Claims with a known truth each: exact controls, and the same broken by a known factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpproof as dp
from dpproof.mechanisms import BatchPerceptron
from tests.auditing import samplers

Outputs = NDArray[np.float64]
Draw = Callable[[int, np.random.Generator], Outputs]
DELTA = 1e-3


@dataclass(frozen=True)
class Question:
    """A claim about two samplers, with its truth.

    Attributes:
        name: in words.
        kind: family; rows of the table are by family.
        epsilon: claimed, at ``delta``.
        delta: claimed.
        claim: the same for auditors that take a guarantee.
        draw: outputs on D, shape (size,) or (size, coordinates).
        other: outputs on D'.
        factor: how often the true loss has the claim, at least; 1 is a control, inf is no bound.
        tight: whether the control's loss is exactly the claim.
    """

    name: str
    kind: str
    epsilon: float
    delta: float
    claim: Any
    draw: Draw
    other: Draw
    factor: float
    tight: bool = True


def _pair(draw: samplers.Draw, data: object, other: object) -> tuple[Draw, Draw]:
    return (
        lambda size, rng: np.asarray(draw(data, size, rng), dtype=float),
        lambda size, rng: np.asarray(draw(other, size, rng), dtype=float),
    )


def _learned(label: int, sigma: float) -> Draw:
    """Return the weights of a perceptron of one step on one row, coordinate by coordinate."""
    learner = BatchPerceptron(
        margin=1, steps=1, sigma=sigma, average=False, features=1, relation=dp.AddRemove()
    )
    data = [([1.0], label)] if label else []

    def draw(size: int, rng: np.random.Generator) -> Outputs:
        del rng  # the mechanism's noise is the operating system's
        return np.array([learner.release(data).weights[0] for _ in range(size)])

    return draw


def _epoch(*, shuffled: bool, steps: int = 10, sigma: float = 1.0) -> samplers.Draw:
    """Return the sums of the steps of one epoch: a record's step is uniform, or by coins."""

    def draw(shift: float, size: int, rng: np.random.Generator) -> Outputs:
        noise = rng.normal(scale=sigma, size=(size, steps))
        if not shuffled:
            return noise + shift * (rng.random((size, steps)) < 1 / steps)
        # Batches are full on either dataset: where the record is missing, its place shows.
        place = rng.integers(0, steps, size)[:, None] == np.arange(steps)
        return np.asarray(noise + (1 + shift) * place)

    return draw


def shuffled_truth() -> dp.Bound:
    """Return the bracket of epsilon at ``DELTA`` of the shuffled epoch that is sold as Poisson.

    Its two laws are those of the lower end of ``ShuffledBatches``: in one random place the mean is
    2 with the record and 1 without, elsewhere 0 (proofs/theory/shuffled.md). A Gaussian pair is
    above both.
    """
    step = dp.Gaussian(sigma=1, sensitivity=dp.L2Contribution(1, dp.ZeroOut()))
    epoch = step.allocate(dp.ShuffledBatches(batches=10)).guarantee()
    return epoch.epsilon(delta=DELTA)


def questions() -> list[Question]:
    """Return all claims. Of every family the first is the control."""
    out = []
    for factor in (1.0, 1.1, 1.3, 2.0):
        short = f"{factor:g} times the loss"
        made: list[tuple[str, float, float, Any, samplers.Draw]] = [
            ("Laplace", 1, 0, (1, 0), samplers.laplace(1 / factor)),
            ("response", 1, 0, (1, 0), samplers.randomized_response(factor)),
            ("response, delta", 1, 0.05, (1, 0.05), samplers.randomized_response(factor, 0.05)),
            ("Gaussian", _gaussian_epsilon(1), DELTA, dp.GDP(mu=1), samplers.gaussian(1 / factor)),
        ]
        for kind, epsilon, delta, claim, draw in made:
            pair = _pair(draw, 0.0, 1.0)
            out.append(Question(f"{kind}, {short}", kind, epsilon, delta, claim, *pair, factor))
    poisson = dp.Gaussian(sigma=1, sensitivity=dp.L2(1)).subsample(dp.Poisson(sampling_rate=0.1))
    epoch = poisson.repeat(10).guarantee()
    epsilon = epoch.epsilon(delta=DELTA).upper
    inf = float("inf")
    lists = np.zeros(5), np.ones(5)
    out += [
        Question("equal", "null", 0, 0, (0, 0), *_pair(samplers.laplace(1.0), 0.0, 0.0), 1.0),
        Question(
            "Poisson samples",
            "sampling",
            epsilon,
            DELTA,
            epoch,
            *_pair(_epoch(shuffled=False), 1.0, 0.0),
            1.0,
        ),
        Question(
            "shuffled, sold as Poisson",
            "sampling",
            epsilon,
            DELTA,
            epoch,
            *_pair(_epoch(shuffled=True), 1.0, 0.0),
            shuffled_truth().lower / epsilon,
        ),
        Question(
            "noisy max, index",
            "selection",
            1,
            0,
            (1, 0),
            *_pair(samplers.noisy_max_index, *lists),
            1.0,
            tight=False,
        ),
        Question(
            "noisy max, value too",
            "selection",
            1,
            0,
            (1, 0),
            *_pair(samplers.noisy_max, *lists),
            2.5,
        ),
        Question(
            "textbook Laplace",
            "floats",
            1,
            0,
            (1, 0),
            lambda n, rng: rng.laplace(size=n),
            lambda n, rng: 1 + rng.laplace(size=n),
            inf,
        ),
        Question(
            "perceptron",
            "learner",
            _gaussian_epsilon(1),
            DELTA,
            dp.GDP(mu=1),
            _learned(1, 1),
            _learned(0, 1),
            1.0,
        ),
        Question(
            "perceptron, half the noise",
            "learner",
            _gaussian_epsilon(1),
            DELTA,
            dp.GDP(mu=1),
            _learned(1, 0.5),
            _learned(0, 0.5),
            2.0,
        ),
    ]
    return out


def _gaussian_epsilon(mu: float) -> float:
    return dp.GDP(mu=mu).epsilon(delta=DELTA).upper
