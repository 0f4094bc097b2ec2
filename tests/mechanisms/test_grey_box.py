"""What our mechanisms ask of their samplers: the same on every pair of neighbours.

Each exact sampler is watched where a mechanism uses it, with the sensitivity that the mechanism
declares; runs on neighbours then have to agree in everything but the value that is protected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import FixedRuns, Poisson, ReplaceOne, TruncatedNegativeBinomial
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sampling import WithoutReplacement
from dpproof.accountant.sensitivity import L1, L2, LInf, Sensitivity
from dpproof.auditing import FactKind, Recorder, neighbours
from dpproof.mechanisms import (
    ClippedSum,
    Count,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Laplace,
    Mechanism,
    RandomizedResponse,
    Scores,
    compose,
)

# Where a mechanism uses a sampler, and the parameter that is the protected value; without one the
# sampler returns noise, which is followed to what it is added to.
SAMPLERS = {
    "dpproof.mechanisms.noise.laplace.laplace_rounded": "value",
    "dpproof.mechanisms.noise.gaussian.gaussian_rounded": "value",
    "dpproof.mechanisms.noise.laplace.discrete_laplace": None,
    "dpproof.mechanisms.noise.gaussian.discrete_gaussian": None,
    "dpproof.mechanisms.selection.exponential.categorical_exp": "exponents",
    "dpproof.mechanisms.local.randomized_response.randomized_response": "values",
    "dpproof.mechanisms.combinators.composed.run_count": None,
    "dpproof.mechanisms.batches.subset_without_replacement": None,
}
TOTAL = ClippedSum(lower=0, upper=1)
LAPLACE = Laplace(scale=2, sensitivity=L1(1), query=TOTAL)
GAUSSIAN = Gaussian(sigma=2, sensitivity=L2(1), query=TOTAL)
GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=0.25)


def is_large(records: Any, candidate: float) -> int:  # noqa: ANN401
    """How many records are at least the candidate."""
    return sum(1 for record in records if record >= candidate)


def is_there(records: Any) -> int:  # noqa: ANN401
    """Whether there is any record."""
    return int(len(records) > 0)


CASES: list[tuple[Mechanism[Any], Sensitivity[Any]]] = [
    (LAPLACE, L1(1)),
    (GAUSSIAN, L2(1)),
    (DiscreteLaplace(scale=2, sensitivity=L1(1), query=Count()), L1(1)),
    (DiscreteGaussian(sigma=2, sensitivity=L2(1), query=Count()), L2(1)),
    (RandomizedResponse(epsilon=1, query=is_there, relation=AddRemove()), LInf(1)),
    (
        ExponentialMechanism(
            epsilon=1, sensitivity=LInf(1), query=Scores(candidates=(0.5, 2.0), score=is_large)
        ),
        LInf(1),
    ),
    (LAPLACE.repeat(3), L1(3)),
    (compose(LAPLACE, LAPLACE), L1(1)),
    (GAUSSIAN.select(FixedRuns(count=3)), L2(math.sqrt(3) * (1 + 2**-50))),
    (GAUSSIAN.select(GEOMETRIC), L2(10)),
    (GAUSSIAN.select_above(GEOMETRIC, threshold=1.5), L2(1)),
]


def watched(monkeypatch: pytest.MonkeyPatch, declared: Sensitivity[Any]) -> Recorder:
    """A recorder that watches every sampler of ours, with one sensitivity for them all."""
    recorder = Recorder()
    for place, value in SAMPLERS.items():
        module, _, name = place.rpartition(".")
        primitive: Callable[..., Any] = vars(__import__(module, fromlist=[name]))[name]
        wrapped = recorder.watch(primitive, name=name, value=value, sensitivity=declared)
        monkeypatch.setattr(place, wrapped)
    return recorder


@pytest.mark.parametrize(("mechanism", "declared"), CASES, ids=lambda item: type(item).__name__)
def test_neighbours_ask_the_same(
    mechanism: Mechanism[AddRemove], declared: Sensitivity[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same calls, same parameters, the value moved by at most the sensitivity, nothing else."""
    pairs = list(neighbours([0.25, 0.75, 3.0], relation=AddRemove()))
    seen = watched(monkeypatch, declared).inspect(mechanism.sampler(), pairs, seed=1)

    assert seen.pairs == len(pairs) > 5
    assert seen.facts == (), str(seen)
    assert any(movement.measured > 0 for movement in seen.movements)


def test_fixed_size_samples_ask_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under replace-one the sample is of the same places, whatever the records are."""
    total = Laplace(scale=2, sensitivity=L1(1, ReplaceOne()), query=TOTAL)
    step = total.subsample(WithoutReplacement(sample_size=2, population_size=3))
    pairs = list(neighbours([0.25, 0.75, 3.0], relation=ReplaceOne()))
    seen = watched(monkeypatch, L1(1)).inspect(step.sampler(), pairs, seed=1)

    assert seen.facts == (), str(seen)


def test_poisson_samples_toss_a_coin_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """The only difference of a Poisson sample is the number of coins, which add-remove allows."""
    recorder = watched(monkeypatch, L1(1))
    monkeypatch.setattr(
        "dpproof.mechanisms.combinators.subsampled.poisson_mask",
        recorder.watch(
            vars(__import__("dpproof.mechanisms.combinators.subsampled", fromlist=["x"]))[
                "poisson_mask"
            ]
        ),
    )
    step = LAPLACE.subsample(Poisson(sampling_rate=0.5))
    seen = recorder.inspect(step.sampler(), [([0.5, 0.5, 0.5], [0.5, 0.5])], seed=1)
    (fact,) = (fact for fact in seen.facts if fact.kind is FactKind.PARAMETER)

    assert (fact.where, fact.on_data, fact.on_neighbour) == (
        "call 1, poisson_mask, population",
        "an int",
        "an int, another",
    )


def test_a_wrong_sensitivity_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum declared to move by 1 that is clipped at 2 moves by 2."""
    wrong = Laplace(scale=2, sensitivity=L1(1), query=ClippedSum(lower=0, upper=2))
    seen = watched(monkeypatch, L1(1)).inspect(wrong.sampler(), [([9.0], [])], seed=1)

    assert [(f.kind, f.measured, f.declared) for f in seen.facts] == [
        (FactKind.SENSITIVITY, 2.0, 1.0)
    ]


def test_a_scale_from_the_data_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise whose scale is chosen by the number of records."""

    def adaptive(records: list[float], size: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
        noise = Laplace(scale=1 / (1 + len(records)), sensitivity=L1(1), query=TOTAL)
        return noise.release_many(records, size, rng=rng)

    seen = watched(monkeypatch, L1(1)).inspect(adaptive, [([0.5], [])], seed=1)

    assert FactKind.PARAMETER in seen.kinds
    assert any("scale" in fact.where for fact in seen.facts)


def test_a_release_can_be_watched() -> None:
    """A sum that nobody clips, released by a mechanism: 10 where 1 is declared."""
    noise = Laplace(scale=2, sensitivity=L1(1))
    recorder = Recorder()
    release = recorder.watch(noise.release, value="data", sensitivity=noise.sensitivity.as_l1())
    seen = recorder.inspect(lambda records, _, __: [release(sum(records))], [([0.5, 10.0], [0.5])])

    assert [(f.kind, f.measured) for f in seen.facts] == [(FactKind.SENSITIVITY, 10.0)]
