"""Learners by their names in pipeline files."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from dpproof.accountant import AddRemove, ReplaceOne, WithoutReplacement
from dpproof.errors import InputError
from dpproof.mechanisms import (
    BatchPerceptron,
    ChooseIterate,
    ClassMeans,
    Cube,
    EnumeratedExponential,
    ExponentialHalfspaces,
    GaussianSeparator,
    GaussianStop,
    Grid,
    KeslerPerceptron,
    LaplaceStop,
    MarginDescent,
    MeanHalfspace,
    NoisyLloyd,
    NormStop,
    PhasedHinge,
    Polygon,
    SecondMoments,
    SeparatorPerturbation,
    SparseVectorStop,
    Subsets,
)
from dpproof.pipeline.free_parameter import completed
from dpproof.pipeline.parse import parse
from dpproof.pipeline.pipeline import Pipeline

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
        ("perceptron", LINES, BatchPerceptron(margin=0.3, **STEPS, relation=AddRemove())),
        (
            "perceptron",
            MORE + "classes = 3",
            KeslerPerceptron(margin=0, classes=3, **SAMPLED, relation=AddRemove()),
        ),
        (
            "kesler-perceptron",
            LINES + "classes = 2",
            KeslerPerceptron(margin=0, classes=2, **STEPS, relation=AddRemove()),
        ),
        ("mean-halfspace", "sigma = 3", MeanHalfspace(sigma=3, relation=AddRemove())),
        (
            "class-means",
            "sigma = 3\ncount_sigma = 2",
            ClassMeans(classes=9, sigma=3, count_sigma=2, relation=AddRemove()),
        ),
        (
            "second-moments",
            "sigma = 3\nnorm = 2",
            SecondMoments(sigma=3, norm=2, relation=AddRemove()),
        ),
        (
            "noisy-lloyd",
            LINES + "count_sigma = 2",
            NoisyLloyd(
                centres=[[1.0, 0.0], [0.0, 1.0]], count_sigma=2, **STEPS, relation=AddRemove()
            ),
        ),
        (
            "enumerated-exponential",
            "epsilon = 0.5",
            EnumeratedExponential(epsilon=0.5, space=Subsets(6, 2), relation=AddRemove()),
        ),
        (
            "separator-perturbation",
            "epsilon = 0.5\nplaces = 5",
            SeparatorPerturbation(epsilon=0.5, space=Cube(5), relation=AddRemove()),
        ),
        (
            "gaussian-separator",
            "sigma = 40\nplaces = 60",
            GaussianSeparator(sigma=40, space=Grid(3, 10), relation=AddRemove()),
        ),
        (
            "margin-descent",
            "mu = 0.25",
            MarginDescent(margin=0.1, norm=3, steps=9, mu=0.25, relation=AddRemove(), records=40),
        ),
    ],
)
def test_a_kind_prices_its_learner(kind: str, lines: str, learner: Any) -> None:  # noqa: ANN401
    """As the mechanism of the same parameters, whatever its margin or its number of classes."""
    (stage,) = pipeline(kind, lines).stages

    assert stage.guarantee(AddRemove()) == learner.guarantee()


STOPS = [
    ("stop_scale = 5", LaplaceStop(scale=5, below=7)),
    ("stop_sigma = 12", GaussianStop(sigma=12, below=7)),
    (
        "threshold_scale = 20\nquery_scale = 40",
        SparseVectorStop(threshold_scale=20, query_scale=40, below=7),
    ),
    ("choice_epsilon = 0.1", ChooseIterate(epsilon=0.1)),
    ("", NormStop(below=7)),
]


@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne()], ids=str)
@pytest.mark.parametrize(("lines", "stop"), STOPS)
def test_a_stop_is_priced_as_that_of_the_learner(
    lines: str,
    stop: Any,  # noqa: ANN401
    relation: Any,  # noqa: ANN401
) -> None:
    """For both perceptrons, whatever the threshold; all steps see all records here."""
    shared: dict[str, Any] = {"margin": 0.1, "stop": stop, "relation": relation, **STEPS}
    two = BatchPerceptron(**{"relation": AddRemove(), **shared})
    for kind, more, learner in (
        ("perceptron", "", two),
        (
            "kesler-perceptron",
            "classes = 4\n",
            KeslerPerceptron(classes=4, **{"relation": AddRemove(), **shared}),
        ),
    ):
        (stage,) = pipeline(kind, LINES + more + lines, relation.name).stages

        assert stage.guarantee(relation) == learner.guarantee()


def test_a_stop_beside_samples_and_fixed_size_batches() -> None:
    """Poisson samples under add-remove, subsets of a fixed size under replace-one, with a test."""
    text = "batch_rate = 0.25\nstop_sigma = 12\n"
    sampled = BatchPerceptron(
        margin=0, stop=GaussianStop(sigma=12, below=0), rate=0.25, **STEPS, relation=AddRemove()
    )
    fixed: dict[str, Any] = {
        **STEPS,
        "batch": WithoutReplacement(sample_size=10, population_size=200),
        "relation": ReplaceOne(),
    }
    tested = BatchPerceptron(margin=0, stop=GaussianStop(sigma=12, below=0), **fixed)
    sizes = "batch_size = 10\npopulation_size = 200\n"

    (stage,) = pipeline("perceptron", LINES + text).stages
    assert stage.guarantee(AddRemove()) == sampled.guarantee()
    (stage,) = pipeline("perceptron", f"{LINES}{sizes}stop_sigma = 12", "replace-one").stages
    assert stage.guarantee(ReplaceOne()) == tested.guarantee()


def test_the_noise_of_a_test_can_be_solved_for() -> None:
    """A number that is left out is completed, beside the others of its group alone."""
    table = {"name": "learner", "mechanism": "perceptron", "sigma": 8, "steps": 30}

    def stage(**more: object) -> Any:  # noqa: ANN401
        return {"stage": [{**table, **more}]}

    assert completed(stage(), "learner", "stop_sigma") == stage(stop_sigma=1)
    scales = {"query_scale": 3, "threshold_scale": 1}
    assert completed(stage(query_scale=3), "learner", "threshold_scale") == stage(**scales)
    assert completed(stage(), "learner", "threshold_scale") == stage()
    assert completed(stage(), "learner", "batch_rate") == stage()
    assert completed({"stage": [{**table, "sigma": 8}]}, "learner", "sigma") == stage()


def test_the_relation_reaches_the_learner() -> None:
    """Under replace-one the mean costs twice as much, means of classes by their own rule."""
    drawn: Any = {"sampling": "with-replacement", "records": 50}
    for kind, lines, learner in (
        (
            "phased-hinge",
            "mu = 0.25",
            PhasedHinge(margin=0.1, norm=3, mu=0.25, relation=ReplaceOne()),
        ),
        (
            "phased-hinge-with-replacement",
            "mu = 0.25\nrecords = 50",
            PhasedHinge(margin=0.1, norm=3, mu=0.25, **drawn, relation=ReplaceOne()),
        ),
        (
            "exponential-halfspaces",
            "epsilon = 0.5",
            ExponentialHalfspaces(cover=Polygon(corners=8), epsilon=0.5, relation=ReplaceOne()),
        ),
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
        ("kesler-perceptron", LINES + "classes = 1", "classes must be at least 2"),
        ("mean-halfspace", "sigma = 0", "sigma: expected"),
        (
            "separator-perturbation",
            "epsilon = 1\nplaces = 27",
            "places must be at most 26, or even",
        ),
        ("gaussian-separator", "sigma = 1", "places: missing"),
        ("phased-hinge", "mu = 1", "relation must be"),
        ("phased-hinge-with-replacement", "mu = 1", "records: missing"),
        ("class-means", "sigma = 1", "count_sigma: missing"),
        ("perceptron", LINES + "stop_scale = 1\nstop_sigma = 1", "stop_sigma: expected either"),
        ("perceptron", LINES + "query_scale = 1", "threshold_scale: missing; expected"),
        ("perceptron", LINES + "batch_size = 3", "population_size: missing"),
        (
            "perceptron",
            LINES + "batch_size = 3\npopulation_size = 9",
            "batch_size must be left out",
        ),
        ("softmax-descent", LINES + "classes = 3\nstop_scale = 1", "stop_scale: not a parameter"),
        (
            "perceptron",
            MORE + "batch_size = 3\npopulation_size = 9",
            "batch_rate must be left out with batch_size",
        ),
    ],
)
def test_refusals(kind: str, lines: str, text: str) -> None:
    """A missing, a bad and an unknown parameter are said by their names."""
    with pytest.raises(InputError, match=text):
        pipeline(kind, lines)
