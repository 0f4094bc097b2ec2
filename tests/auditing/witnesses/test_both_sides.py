"""Questions from both ends of a score."""

from __future__ import annotations

import numpy as np

from dpproof.auditing import Design, Pair
from dpproof.auditing.trials.trials import Trials
from dpproof.auditing.witnesses.standard import Coordinate, Thresholds
from dpproof.auditing.witnesses.witness import BothSides, Question, both_sides
from tests.auditing.samplers import laplace, randomized_response

HIGH = Question(Coordinate(0), upwards=True, swapped=True, thresholds=np.array([3.0, 1.0]))
LOW = Question(Coordinate(0), upwards=False, swapped=False, thresholds=np.array([2.0, 0.0]))


def test_counts_right_and_wrong_guesses() -> None:
    """D' is guessed at 1 and above, D at 0 and below, and nothing in between."""
    sides = BothSides(HIGH, LOW)
    values = np.array([[4.0], [1.0], [0.5], [0.0], [-2.0], [-3.0]])
    on_data = np.array([False, True, True, True, False, True])
    inside, hits = sides.count(values, on_data)

    assert inside.tolist() == [3, 5]
    assert hits.tolist() == [2, 3]
    counts = sides.counts(inside, hits, 4, 2)
    assert (counts.total, counts.design) == (6, Design.GUESSES)
    assert "output[0] >= 1.0 or output[0] <= 0.0" in sides.describe(1)


def test_sides_face_each_other_and_never_overlap() -> None:
    """Every pair is of one score, with disjoint events, and counted as both parts are."""
    training = Trials(laplace(1.0), Pair(0.0, 1.0), seed=3).training(2_000)
    ranked = []
    for score in Thresholds().scores(training):
        for upwards in (True, False):
            for swapped in (True, False):
                question = Question.about(
                    score, training.features, upwards=upwards, swapped=swapped
                )
                counted = question.count(training.features, training.labels)
                on_data = int(training.labels.sum())
                ranked.append((question, question.counts(*counted, on_data, 2_000 - on_data)))
    found = both_sides(ranked)

    assert len(found) == 4  # two scores, two ways to guess
    for sides, counts in found:
        assert sides.first.upwards != sides.second.upwards
        assert sides.first.swapped != sides.second.swapped
        assert (sides.first.thresholds > -sides.second.thresholds).all()
        inside, hits = sides.count(training.features, training.labels)
        assert counts.inside == tuple(inside.tolist())
        assert counts.hits == tuple(hits.tolist())


def test_two_values_are_one_pair() -> None:
    """Randomised response: one answer is one side, the other the other side."""
    training = Trials(randomized_response(1), Pair(0.0, 1.0), seed=3).training(400)
    questions = [
        Question.about(Coordinate(0), training.features, upwards=up, swapped=up)
        for up in (True, False)
    ]
    score = questions[0].score
    ranked = []
    for question in questions:
        same = Question(score, question.upwards, question.swapped, question.thresholds)
        inside, hits = same.count(training.features, training.labels)
        ranked.append((same, same.counts(inside, hits, 200, 200 + int(hits.max()))))
    ((sides, _),) = both_sides(ranked)

    assert len(sides.thresholds) == 1
    assert int(sides.count(training.features, training.labels)[0][0]) == 400
