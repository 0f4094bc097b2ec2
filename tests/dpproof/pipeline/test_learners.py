"""Learners by their names in pipeline files."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from accountant import AddRemove, ReplaceOne
from dpproof.errors import InputError
from dpproof.pipeline.parse import parse
from dpproof.pipeline.pipeline import Pipeline
from mechanisms import (
    BatchPerceptron,
    ClassMeans,
    KeslerPerceptron,
    MeanHalfspace,
    NoisyHinge,
    OneVsRest,
    SubsampledHinge,
)

STEPS: dict[str, Any] = {"sigma": 8, "steps": 30}
SAMPLED: dict[str, Any] = {**STEPS, "norm": 2, "rate": 0.25}
LINES = "sigma = 8\nsteps = 30\n"
MORE = LINES + "norm = 2\nbatch_rate = 0.25\n"


def pipeline(kind: str, lines: str, relation: str = "add-remove") -> Pipeline:
    """One stage, a learner."""
    text = f'[pipeline]\nrelation = "{relation}"\ndelta = 1e-5\n[[stage]]\nname = "learner"\n'
    return parse(tomllib.loads(f'{text}mechanism = "{kind}"\n{lines}'), "pipeline.toml")


@pytest.mark.parametrize(
    ("kind", "lines", "learner"),
    [
        ("perceptron", LINES, BatchPerceptron(margin=0.3, **STEPS)),
        ("perceptron", MORE + "classes = 3", KeslerPerceptron(margin=0, classes=3, **SAMPLED)),
        (
            "kesler-perceptron",
            LINES + "classes = 2",
            KeslerPerceptron(margin=0, classes=2, **STEPS),
        ),
        (
            "one-vs-rest",
            MORE + "classes = 3",
            OneVsRest(base=BatchPerceptron(margin=0, **SAMPLED), classes=3),
        ),
        ("subsampled-hinge", MORE, SubsampledHinge(learning_rate=0.1, **SAMPLED)),
        (
            "noisy-hinge",
            LINES + "norm = 2",
            NoisyHinge(margin=0.1, expected_size=99, norm=2, **STEPS),
        ),
        ("mean-halfspace", "sigma = 3", MeanHalfspace(sigma=3)),
        (
            "class-means",
            "sigma = 3\ncount_sigma = 2",
            ClassMeans(classes=9, sigma=3, count_sigma=2),
        ),
    ],
)
def test_a_kind_prices_its_learner(kind: str, lines: str, learner: Any) -> None:  # noqa: ANN401
    """As the mechanism of the same parameters, whatever its margin or its number of classes."""
    (stage,) = pipeline(kind, lines).stages

    assert stage.guarantee(AddRemove()) == learner.guarantee()


def test_the_relation_reaches_the_learner() -> None:
    """Under replace-one the mean costs twice as much, means of classes by their own rule."""
    for kind, lines, learner in (
        ("mean-halfspace", "sigma = 3", MeanHalfspace(sigma=3, relation=ReplaceOne())),
        (
            "class-means",
            "sigma = 3\ncount_sigma = 2",
            ClassMeans(classes=2, sigma=3, count_sigma=2, relation=ReplaceOne()),
        ),
    ):
        (stage,) = pipeline(kind, lines, "replace-one").stages

        assert stage.guarantee(ReplaceOne()) == learner.guarantee()


@pytest.mark.parametrize(
    ("kind", "lines", "text"),
    [
        ("kesler-perceptron", LINES, "classes: missing"),
        ("one-vs-rest", LINES + "classes = 1", "classes must be at least 2"),
        ("noisy-hinge", MORE, "batch_rate: not a parameter"),
        ("mean-halfspace", "sigma = 0", "sigma: expected"),
        ("class-means", "sigma = 1", "count_sigma: missing"),
    ],
)
def test_refusals(kind: str, lines: str, text: str) -> None:
    """A missing, a bad and an unknown parameter are said by their names."""
    with pytest.raises(InputError, match=text):
        pipeline(kind, lines)
