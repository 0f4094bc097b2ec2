"""Mistakes of released weights: counted exactly, by each record alone."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from dpproof.accountant import AddRemove
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.relation import ReplaceOne
from dpproof.mechanisms import (
    BatchPerceptron,
    Chained,
    Featured,
    FourierFeatures,
    NoisyMistakes,
    Records,
)
from dpproof.mechanisms.learning.risk_bounds import mistakes
from dpproof.mechanisms.samplers.rng import ReplayRng


def test_counts_are_those_of_the_definition() -> None:
    """Ties are mistakes, and so is everything if all weights are 0; broken rows are none."""
    rows = [[1.0, 0.0], [0.0, 1.0], [-1.0, 1.0], [np.nan, 1.0], [0.0, 0.0], [5.0, 0.0]]
    labels = [1, 1, -1, 1, 1, 7]
    models = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])

    assert mistakes(models, Records(rows, labels)).tolist() == [1, 3, 1, 3]


def test_of_several_classes_the_own_one_has_to_win() -> None:
    """A record is right if its class scores more than every other, else wrong."""
    models = np.array([[[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], np.zeros((3, 2))])
    data = Records([[2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [-1.0, -1.0], [0.5, 1.0]], [0, 0, 1, 2, 0])

    assert mistakes(models, data).tolist() == [2, 5]


@pytest.mark.parametrize("classes", [None, 3])
def test_removing_a_record_removes_its_mistake_alone(classes: int | None) -> None:
    """The count of all records is the sum of the counts of each, for rows that are no fractions."""
    rng = np.random.default_rng(5)
    data = Records(rng.normal(size=(37, 9)), rng.choice([-1, 1] if classes is None else 3, 37))
    models = rng.normal(size=(6, 9) if classes is None else (6, classes, 9))
    alone = [mistakes(models, data[i : i + 1]) for i in range(len(data))]

    assert {int(count) for one in alone for count in one} == {0, 1}
    assert np.sum(alone, axis=0).tolist() == mistakes(models, data).tolist()
    for start, stop in itertools.combinations(range(0, 37, 9), 2):
        some = np.sum(alone[start:stop], axis=0)

        assert mistakes(models, data[start:stop]).tolist() == some.tolist()


def test_the_statement_is_the_same_under_every_relation() -> None:
    """A record that is replaced changes one mistake, not two."""
    assert NoisyMistakes(sigma=4, relation=AddRemove()).guarantee().mu == Fraction(1, 4)
    assert NoisyMistakes(sigma=4, relation=ReplaceOne()).guarantee().mu == Fraction(1, 4)


def test_mapped_rows_are_scored_by_weights_for_them() -> None:
    """With a map, the weights are for mapped rows."""
    plan = FourierFeatures(features=2, frequencies=30, width=1, seed=2)
    data = Records(np.random.default_rng(1).normal(size=(50, 2)), [1, -1] * 25)
    learner = Featured(
        base=BatchPerceptron(margin=0.1, steps=3, sigma=0.1, relation=AddRemove()), map=plan
    )
    score = NoisyMistakes(sigma=1e-9, map=plan, relation=AddRemove())
    model, wrong = Chained(first=learner, then=score).release(data)
    scores = plan.apply(data.rows) @ model.weights * data.labels

    assert round(wrong) == (scores <= 0).sum()


def test_refuses_bad_arguments() -> None:
    """A standard deviation is positive, a relation is one."""
    for bad in (0, -1, "2", None, float("inf")):
        with pytest.raises(ParameterError):
            NoisyMistakes(sigma=bad, relation=AddRemove())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="map"):
        NoisyMistakes(sigma=1, map="fourier", relation=AddRemove())  # type: ignore[arg-type]
    with pytest.raises(ParameterError):
        NoisyMistakes(sigma=1, relation="replace-one")  # type: ignore[type-var]


def test_a_second_count_is_right_for_what_the_first_one_chose() -> None:
    """The first count of the best of 40 equal models is too low, the second one is not.

    Seed 3; with fresh noise either mean is on the wrong side with probability below 1e-10.
    """
    counts = NoisyMistakes(sigma=10, report_sigma=5, relation=AddRemove())
    data = Records(np.ones((80, 1)), [1, -1] * 40)
    outputs = np.ones(8_000, dtype=[("weights", np.float64, (1,))])
    noisy = counts.draw(data, outputs, ReplayRng(3)).reshape(200, 40, 2)
    best = noisy[np.arange(200), noisy[..., 0].argmin(axis=1)]

    assert best[:, 0].mean() < 30
    assert best[:, 1].mean() == pytest.approx(40, abs=7 * 5 / 200**0.5)
    assert noisy[..., 1].std() == pytest.approx(5, abs=0.3)
    assert abs(np.corrcoef(noisy.reshape(-1, 2).T)[0, 1]) < 7 / 8_000**0.5
    assert counts.guarantee().mu_squared == Fraction(1, 100) + Fraction(1, 25)


def test_records_within_a_margin_are_counted_too() -> None:
    """At most the margin times the length of the weights, of rows of norm 1; ties and blanks."""
    rows = [[3.0, 4.0], [1.0, 0.0], [0.0, -2.0], [-1.0, 0.0], [np.nan, 1.0], [0.0, 0.0], [0.5, 0.0]]
    labels = [1, 1, -1, 1, 1, 1, 0]
    data = Records(rows, labels)
    models = np.array([[2.0, 0.0], [0.0, 0.5]])

    listed = ((0, [2, 2]), (0.59, [2, 2]), (0.61, [3, 2]), (0.81, [3, 3]), (1, [4, 4]))
    for margin, counts in listed:
        assert mistakes(models, data, margin=margin).tolist() == counts
    alone = [mistakes(models, data[i : i + 1], margin=0.61) for i in range(len(data))]
    assert np.sum(alone, axis=0).tolist() == [3, 2]
    outputs = np.ones(2, dtype=[("weights", np.float64, (2,))])
    outputs["weights"] = models
    noisy = NoisyMistakes(sigma=1e-6, margin=0.61, relation=AddRemove()).draw(
        data, outputs, ReplayRng(1)
    )
    assert noisy.round().tolist() == [3, 2]
    assert NoisyMistakes(sigma=4, margin=1, relation=AddRemove()).guarantee().mu == Fraction(1, 4)
    with pytest.raises(ParameterError, match="margin"):
        NoisyMistakes(sigma=1, margin=-1, relation=AddRemove())
