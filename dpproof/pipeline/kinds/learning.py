"""Words for learners, whose margin and other free choices cost nothing."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from dpproof import mechanisms
from dpproof.accountant import ParameterError, Relation, ReplaceOne, WithoutReplacement
from dpproof.mechanisms.mechanism import Mechanism
from dpproof.pipeline.kinds.kind import Kind, ReleaseParameters
from dpproof.pipeline.section import PARAMETERS

# NormStop costs nothing, so a file need not say it.
_STOPS = (("stop_scale",), ("stop_sigma",), ("threshold_scale", "query_scale"), ("choice_epsilon",))
_STOP_NAMES = tuple(name for names in _STOPS for name in names)
# The cube of so many signs is the largest that can be listed.
_MOST_SIGNS = 26
_FIXED_SIZE = (("batch_size", "population_size"),)
_STEPS = ("sigma", "steps")
_FREE: Mapping[str, Any] = {"norm": 1, "batch_rate": 1}


def _learner(
    words: str,
    build: Callable[..., Mechanism[Relation]],
    needed: tuple[str, ...],
    *,
    free: Mapping[str, object] | None = None,
    additions: tuple[tuple[tuple[str, ...], ...], ...] = (),
    **defaults: int,
) -> Kind:
    """Return the kind of a learner; the choice of contributing records, as by a margin, is free."""

    def built(release: ReleaseParameters) -> Mechanism[Relation]:
        values = {
            name: int(x) if PARAMETERS[name].whole else x
            for name, x in release.values.items()
            if name not in (*_STOP_NAMES, "batch_rate", "batch_size", "population_size")
        }
        values.update(_batches(release), **_stop(release.values))
        return build(**values, **(free or {}), relation=release.relation)

    others = {name: Fraction(value) for name, value in defaults.items()}
    return Kind(words=words, forms=(needed,), defaults=others, additions=additions, build=built)


def _stop(values: Mapping[str, Fraction]) -> dict[str, Any]:
    """Return the rule by which a run ends, with any threshold, as thresholds cost nothing."""
    if "stop_scale" in values:
        return {"stop": mechanisms.LaplaceStop(scale=values["stop_scale"], below=0)}
    if "stop_sigma" in values:
        return {"stop": mechanisms.GaussianStop(sigma=values["stop_sigma"], below=0)}
    if "choice_epsilon" in values:
        return {"stop": mechanisms.ChooseIterate(epsilon=values["choice_epsilon"])}
    if "threshold_scale" not in values:
        return {}
    scales = {name: values[name] for name in ("threshold_scale", "query_scale")}
    return {"stop": mechanisms.SparseVectorStop(**scales, below=0)}


def _batches(release: ReleaseParameters) -> dict[str, Any]:
    """Return the samples of the steps: of a fixed size, or of a rate."""
    rate = release.values.get("batch_rate")
    if "batch_size" not in release.values:
        return {} if rate is None else {"rate": rate}
    size, population = (int(release.values[name]) for name in ("batch_size", "population_size"))
    if rate != 1:
        raise ParameterError("batch_rate", rate, "left out with batch_size", "the size is fixed")
    if not isinstance(release.relation, ReplaceOne):
        allowed = f"left out under {release.relation}"
        raise ParameterError("batch_size", size, allowed, 'it is for relation = "replace-one"')
    return {"batch": WithoutReplacement(sample_size=size, population_size=population)}


def _perceptron(*, classes: int, **shared: Any) -> Mechanism[Relation]:  # noqa: ANN401
    if classes == 2:
        return mechanisms.BatchPerceptron(margin=0, **shared)
    return mechanisms.KeslerPerceptron(classes=classes, margin=0, **shared)


def _logistic(release: ReleaseParameters) -> Mechanism[Relation]:
    sigma, regulariser, norm = (release.values[name] for name in ("sigma", "regulariser", "norm"))
    learner = mechanisms.LogisticObjective(
        sigma=sigma, regulariser=regulariser, norm=norm, relation=release.relation
    )
    classes = int(release.values["classes"])
    return learner if classes == 2 else learner.repeat(classes)


def _phased(*, mu: Fraction, relation: Relation, records: int | None = None) -> Mechanism[Relation]:
    sampling = "permutation" if records is None else "with-replacement"
    return mechanisms.PhasedHinge(
        margin=1, norm=1, mu=mu, relation=relation, sampling=sampling, records=records
    )


def _space(places: int) -> mechanisms.Cube | mechanisms.Grid:
    """Return a space that can be listed and has patterns of so many places."""
    if places <= _MOST_SIGNS:
        return mechanisms.Cube(places)
    if places % 2:
        raise ParameterError("places", places, f"at most {_MOST_SIGNS}, or even: 2 bound dimension")
    return mechanisms.Grid(1, places // 2)


def _separator(*, places: int, **stated: Any) -> Mechanism[Relation]:  # noqa: ANN401
    if "sigma" in stated:
        return mechanisms.GaussianSeparator(space=_space(places), **stated)
    return mechanisms.SeparatorPerturbation(space=_space(places), **stated)


KINDS: Mapping[str, Kind] = {
    "perceptron": _learner(
        "perceptron", _perceptron, _STEPS, additions=(_STOPS, _FIXED_SIZE), classes=2, **_FREE
    ),
    "kesler-perceptron": _learner(
        "Kesler's perceptron",
        mechanisms.KeslerPerceptron,
        (*_STEPS, "classes"),
        free={"margin": 0},
        additions=(_STOPS, _FIXED_SIZE),
        **_FREE,
    ),
    "softmax-descent": _learner(
        "multinomial logistic regression",
        mechanisms.SoftmaxDescent,
        (*_STEPS, "classes"),
        additions=(_FIXED_SIZE,),
        **_FREE,
    ),
    "mean-halfspace": _learner("mean of a halfspace", mechanisms.MeanHalfspace, ("sigma",), norm=1),
    "class-means": _learner(
        "means of classes", mechanisms.ClassMeans, ("sigma", "count_sigma"), classes=2, norm=1
    ),
    "second-moments": _learner("second moments", mechanisms.SecondMoments, ("sigma",), norm=1),
    "noisy-lloyd": _learner(
        "clusters by noisy means",
        mechanisms.NoisyLloyd,
        ("sigma", "count_sigma", "steps"),
        free={"centres": ((0.0,),)},
        norm=1,
    ),
    "logistic": Kind(
        words="logistic regression by objective perturbation",
        forms=(("sigma", "regulariser"),),
        defaults={"classes": Fraction(2), "norm": Fraction(1)},
        build=_logistic,
    ),
    "margin-descent": _learner(
        "hinge descent by margin",
        mechanisms.MarginDescent,
        ("mu",),
        free={"margin": 1, "norm": 1, "steps": 1, "records": 1},
    ),
    "phased-hinge": _learner("hinge loss in phases", _phased, ("mu",)),
    "phased-hinge-with-replacement": _learner(
        "hinge loss in phases, with replacement", _phased, ("mu", "records")
    ),
    "exponential-halfspaces": _learner(
        "exponential mechanism over halfspaces",
        mechanisms.ExponentialHalfspaces,
        ("epsilon",),
        free={"cover": mechanisms.FiniteCover([[1]])},
    ),
    "enumerated-exponential": _learner(
        "exponential mechanism over a listed space",
        mechanisms.EnumeratedExponential,
        ("epsilon",),
        free={"space": mechanisms.Cube(1)},
    ),
    "separator-perturbation": _learner(
        "choice by noise on separating features", _separator, ("epsilon", "places")
    ),
    "gaussian-separator": _learner(
        "choice by Gaussian noise on separating features", _separator, ("sigma", "places")
    ),
}
