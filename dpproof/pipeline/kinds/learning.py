"""Words for learners, whose margin and other free choices cost nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from accountant.relation import Relation
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters
from dpproof.pipeline.parameters import PARAMETERS
from mechanisms import (
    BatchPerceptron,
    ClassMeans,
    KeslerPerceptron,
    LogisticObjective,
    MeanHalfspace,
    NoisyHinge,
    OneVsRest,
    SubsampledHinge,
)
from mechanisms.mechanism import Mechanism


def _learner(
    words: str,
    build: Callable[..., Mechanism[Relation]],
    needed: tuple[str, ...],
    *,
    free: Mapping[str, int] | None = None,
    **defaults: int,
) -> Kind:
    """A learner; what decides which records contribute, such as a margin, costs nothing.

    Args:
        words: as for ``Kind``.
        build: the learner, from its parameters by their names and its relation.
        needed: parameters without a default.
        free: arguments that cost nothing, with any value.
        defaults: the other parameters.
    """

    def built(given: ReleaseParameters) -> Mechanism[Relation]:
        values = {
            "rate" if name == "batch_rate" else name: int(x) if PARAMETERS[name].whole else x
            for name, x in given.values.items()
        }
        return build(**values, **(free or {}), relation=given.relation)

    others = {name: Fraction(value) for name, value in defaults.items()}
    return Kind(words=words, forms=(needed,), defaults=others, build=built)


def _perceptron(*, classes: int, **shared: Any) -> Mechanism[Relation]:  # noqa: ANN401
    if classes == 2:
        return BatchPerceptron(margin=0, **shared)
    return KeslerPerceptron(classes=classes, margin=0, **shared)


def _one_vs_rest(*, classes: int, **shared: Any) -> Mechanism[Relation]:  # noqa: ANN401
    return OneVsRest(base=BatchPerceptron(margin=0, **shared), classes=classes)


def _logistic(given: ReleaseParameters) -> Mechanism[Relation]:
    sigma, regulariser, norm = (given.values[name] for name in ("sigma", "regulariser", "norm"))
    learner = LogisticObjective(
        sigma=sigma, regulariser=regulariser, norm=norm, relation=given.relation
    )
    classes = int(given.values["classes"])
    return learner if classes == 2 else learner.repeat(classes)


KINDS: Mapping[str, Kind] = {
    "perceptron": _learner(
        "perceptron", _perceptron, ("sigma", "steps"), classes=2, norm=1, batch_rate=1
    ),
    "kesler-perceptron": _learner(
        "Kesler's perceptron",
        KeslerPerceptron,
        ("sigma", "steps", "classes"),
        free={"margin": 0},
        norm=1,
        batch_rate=1,
    ),
    "one-vs-rest": _learner(
        "a perceptron for every class",
        _one_vs_rest,
        ("sigma", "steps", "classes"),
        norm=1,
        batch_rate=1,
    ),
    "subsampled-hinge": _learner(
        "hinge loss on samples",
        SubsampledHinge,
        ("sigma", "steps"),
        free={"learning_rate": 1},
        norm=1,
        batch_rate=1,
    ),
    "noisy-hinge": _learner(
        "hinge loss on all records",
        NoisyHinge,
        ("sigma", "steps"),
        free={"margin": 1, "expected_size": 1},
        norm=1,
    ),
    "mean-halfspace": _learner("mean of a halfspace", MeanHalfspace, ("sigma",), norm=1),
    "class-means": _learner(
        "means of classes", ClassMeans, ("sigma", "count_sigma"), classes=2, norm=1
    ),
    "logistic": Kind(
        words="logistic regression by objective perturbation",
        forms=(("sigma", "regulariser"),),
        defaults={"classes": Fraction(2), "norm": Fraction(1)},
        build=_logistic,
    ),
}
