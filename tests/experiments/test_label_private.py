"""Learners that protect labels alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import BoundedRange, ReplaceLabel
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.sampling import Poisson
from dpproof.mechanisms import Polygon, RandomDirections, Records
from experiments.label_private import (
    LabelPrivateDescent,
    LabelPrivateHalfspaces,
    RandomizedLabels,
    public_components,
)
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

LABEL = ReplaceLabel()
LEARNER = LabelPrivateHalfspaces(cover=Polygon(corners=16), epsilon=1)


def _planted(records: int) -> Records:
    rng = np.random.default_rng(4)
    side = rng.choice([-1.0, 1.0], size=records)
    return Records(np.column_stack([3 * side, rng.normal(size=(records, 5)) / 2]), side)


class LabelPrivateContract(MechanismContract):
    """Three public rows, the label of one of which changes."""

    def data(self) -> Records:
        """Both labels."""
        return Records([[0.6, 0.8], [-1.0, 0.3], [0.2, 1.0]], [1, -1, 1])

    def neighbour(self) -> Records:
        """The label in the middle is the other one."""
        return Records(self.data().rows, [1, 1, 1])

    def test_the_verdict_is_about_labels_and_a_sample_says_no_more(self) -> None:
        """The checker says replace-label, and no amplification by sampling is claimed."""
        verdict = proofs.check(self.mechanism().guarantee().certify(delta=1e-6))

        assert isinstance(verdict, proofs.VerifiedUnder)
        assert "replace-label" in verdict.claim
        with pytest.raises(NotImplied):
            self.mechanism().subsample(Poisson(sampling_rate=0.5)).guarantee()


class TestLabelPrivateHalfspaces(LabelPrivateContract):
    """Among sixteen directions."""

    def mechanism(self) -> LabelPrivateHalfspaces:
        """Return the mechanism at epsilon 1."""
        return LEARNER

    def increasing_noise(self) -> Sequence[LabelPrivateHalfspaces]:
        """Return mechanisms with epsilon from 4 down to 1/4."""
        return [replace(self.mechanism(), epsilon=epsilon) for epsilon in (4, 1, 0.25)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {"cover": ("all", None), "epsilon": NOT_POSITIVE}
        return one_bad(LabelPrivateHalfspaces, good=_given(self.mechanism()), bad=bad)


class TestLabelPrivateDescent(LabelPrivateContract):
    """Two steps."""

    def mechanism(self) -> LabelPrivateDescent:
        """At mu 1/2."""
        return LabelPrivateDescent(margin=0.5, steps=2, mu=0.5)

    def increasing_noise(self) -> Sequence[LabelPrivateDescent]:
        """From mu 4 to 1/4."""
        return [replace(self.mechanism(), mu=mu) for mu in (4, 1, 0.25)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = dict.fromkeys(("margin", "mu"), NOT_POSITIVE)
        bad |= {"steps": (0, -1, 1.5)}
        return one_bad(LabelPrivateDescent, good=_given(self.mechanism()), bad=bad)


class TestRandomizedLabels(LabelPrivateContract):
    """An answer for every record."""

    def mechanism(self) -> RandomizedLabels:
        """Return the mechanism at epsilon 1."""
        return RandomizedLabels(epsilon=1)

    def increasing_noise(self) -> Sequence[RandomizedLabels]:
        """Return mechanisms with epsilon from 4 down to 1/4."""
        return [RandomizedLabels(epsilon=epsilon) for epsilon in (4, 1, 0.25)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(RandomizedLabels, good={"epsilon": 1}, bad={"epsilon": NOT_POSITIVE})


def _given(mechanism: Any) -> dict[str, Any]:  # noqa: ANN401  # a dataclass
    return {one.name: getattr(mechanism, one.name) for one in fields(mechanism)}


def test_components_look_at_no_label_and_picks_have_the_range() -> None:
    """All labellings of four rows: the same candidates, and log ratios within epsilon."""
    rows = np.array([[0.6, 0.8], [-1.0, 0.3], [0.2, 1.0], [0.5, -0.5]])
    learner = LabelPrivateHalfspaces(cover=Polygon(corners=16), epsilon=1.5)
    mapped = rows @ public_components(rows, 2)
    laws = {}
    for labels in itertools.product((1, -1), repeat=4):
        mistakes = learner._pick().mistakes(Records(mapped, labels))
        weights = np.exp(-0.75 * mistakes)
        laws[labels] = np.log(weights / weights.sum())
    worst = max(
        np.ptp(laws[a] - laws[b])
        for a, b in itertools.combinations(laws, 2)
        if sum(x != y for x, y in zip(a, b, strict=True)) == 1
    )

    assert learner.guarantee() == BoundedRange(epsilon=1.5, relation=LABEL)
    assert worst == pytest.approx(1.5)


def test_they_learn() -> None:
    """All three find a planted halfspace among 4,000 records, the baseline by debiased labels."""
    data = _planted(4_000)
    rng = np.random.default_rng(2)
    halfspace = LabelPrivateHalfspaces(
        cover=RandomDirections(size=2_000, dimension=6, seed=1), epsilon=1
    )
    descent = LabelPrivateDescent(margin=1, steps=50, mu=0.5)
    baseline = RandomizedLabels(epsilon=1)
    answers = baseline.release(data, rng=rng).labels
    mean = baseline.debiased(answers) @ data.rows / len(data)
    for weights in (
        halfspace.release(data, rng=rng).weights,
        descent.release(data, rng=rng).weights,
        mean,
    ):
        assert np.mean(np.sign(data.rows @ weights) == data.labels) > 0.95
    kept = math.e / (1 + math.e)

    assert np.mean(answers == data.labels) == pytest.approx(kept, abs=5 / 2 / math.sqrt(4_000))
    assert mean[0] == pytest.approx(3, abs=5 * 3 * 2.2 / math.sqrt(4_000))


def test_rows_are_at_least_as_wide_as_the_cover() -> None:
    """Components fewer than the cover's dimensions are refused."""
    with pytest.raises(ParameterError, match="wide"):
        LEARNER.release(Records([[1.0]], [1]))
