"""The words of pipeline files: mechanisms, their parameters, and what each builds.

Adding a mechanism to pipeline files is adding one entry to ``KINDS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, final

from accountant.errors import ParameterError
from accountant.guarantees.approx_dp import ApproxDP
from accountant.guarantees.gdp import GDP
from accountant.guarantees.pure_dp import PureDP
from accountant.guarantees.zcdp import ZCDP
from accountant.relation import Relation
from accountant.sensitivity import L1, L2, L2Contribution, LInf
from dpproof.pipeline.parameters import PARAMETERS
from dpproof.pipeline.stated import Stated
from mechanisms import (
    AboveThreshold,
    BatchPerceptron,
    CanonicalNoise,
    ClassMeans,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Gaussian,
    Histogram,
    KeslerPerceptron,
    Laplace,
    LocalHashing,
    LogisticObjective,
    MeanHalfspace,
    NoisyHinge,
    OneVsRest,
    PartitionSelection,
    PermuteAndFlip,
    RandomizedResponse,
    ReportNoisyMax,
    SubsampledHinge,
    SubsetSelection,
    TruncatedLaplace,
    UnaryEncoding,
)
from mechanisms.mechanism import Mechanism

NORMS: Mapping[str, type[L1 | L2]] = {"l1": L1, "l2": L2}
NORM_WORDS: Mapping[str, str] = {
    "l1": "L1 sensitivity",
    "l2": "L2 sensitivity",
    "linf": "largest change of a query",
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseParameters:
    """What a stage gives to build one mechanism: one form's numbers, a norm, the relation."""

    values: Mapping[str, Fraction]
    norm: str
    relation: Relation


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A mechanism that a pipeline file can name.

    Attributes:
        words: how a person calls it.
        forms: alternative sets of parameters, any one of which says everything.
        defaults: parameters that may be left out, and what they then are.
        norms: of the sensitivities it can use; a plain number is in the first of them.
        whole: whether the query's values are whole numbers, and with them its L1 sensitivity.
        build: the mechanism, from what one stage gives.
    """

    words: str
    forms: tuple[tuple[str, ...], ...]
    defaults: Mapping[str, Fraction] = field(default_factory=dict)
    norms: tuple[str, ...] = ()
    whole: bool = False
    build: Callable[[ReleaseParameters], Mechanism[Relation]]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Every parameter of every form, each once."""
        names = [name for form in self.forms for name in form]
        return tuple(dict.fromkeys([*names, *self.defaults]))

    @property
    def usage(self) -> str:
        """The forms as a person would list them."""
        return ", or ".join(" and ".join(form) for form in self.forms)


def _gaussian(given: ReleaseParameters) -> Mechanism[Relation]:
    if "noise_multiplier" in given.values:
        multiplier = given.values["noise_multiplier"]
        try:
            return Gaussian(sigma=multiplier, sensitivity=L2(1), relation=given.relation)
        except ParameterError as refusal:  # by the file's name for it
            allowed = refusal.allowed
            raise ParameterError("noise_multiplier", multiplier, allowed) from refusal
    if "contribution" in given.values:
        moves: L2 | L2Contribution = L2Contribution(given.values["contribution"])
    else:
        moves = L2(given.values["sensitivity"])
    return Gaussian(sigma=given.values["sigma"], sensitivity=moves, relation=given.relation)


def _laplace(given: ReleaseParameters) -> Mechanism[Relation]:
    sensitivity = L1(given.values["sensitivity"])
    return Laplace(scale=given.values["scale"], sensitivity=sensitivity, relation=given.relation)


def _discrete_gaussian(given: ReleaseParameters) -> Mechanism[Relation]:
    sensitivity = NORMS[given.norm](given.values["sensitivity"])
    return DiscreteGaussian(
        sigma=given.values["sigma"], sensitivity=sensitivity, relation=given.relation
    )


def _discrete_laplace(given: ReleaseParameters) -> Mechanism[Relation]:
    sensitivity = L1(given.values["sensitivity"])
    return DiscreteLaplace(
        scale=given.values["scale"], sensitivity=sensitivity, relation=given.relation
    )


def _bounded(build: Callable[..., Mechanism[Relation]]) -> Callable[..., Mechanism[Relation]]:
    """Return what builds bounded noise on one integer."""

    def noise(given: ReleaseParameters) -> Mechanism[Relation]:
        values = {**given.values, "sensitivity": L1(given.values["sensitivity"])}
        return build(**values, relation=given.relation)

    return noise


def _randomized_response(given: ReleaseParameters) -> Mechanism[Relation]:
    categories = int(given.values["categories"])
    return RandomizedResponse(
        epsilon=given.values["epsilon"], categories=categories, relation=given.relation
    )


def _exponential(given: ReleaseParameters) -> Mechanism[Relation]:
    # The scores' own sensitivity scales them and costs nothing: epsilon says it all.
    return ExponentialMechanism(
        epsilon=given.values["epsilon"], sensitivity=LInf(1), relation=given.relation
    )


def _local(build: Callable[..., Mechanism[Relation]]) -> Callable[..., Mechanism[Relation]]:
    """Return what builds a local report of one category."""

    def report(given: ReleaseParameters) -> Mechanism[Relation]:
        categories = int(given.values["categories"])
        return build(
            epsilon=given.values["epsilon"], categories=categories, relation=given.relation
        )

    return report


def _histogram(given: ReleaseParameters) -> Mechanism[Relation]:
    gaussian = "sigma" in given.values
    return Histogram(
        scale=given.values["sigma" if gaussian else "scale"],
        noise="gaussian" if gaussian else "laplace",
        contributions=int(given.values["contributions"]),
        largest=int(given.values["largest"]),
        relation=given.relation,
    )


def _report_noisy_max(given: ReleaseParameters) -> Mechanism[Relation]:
    return ReportNoisyMax(epsilon=given.values["epsilon"], relation=given.relation)


def _permute_and_flip(given: ReleaseParameters) -> Mechanism[Relation]:
    return PermuteAndFlip(epsilon=given.values["epsilon"], relation=given.relation)


def _partition_selection(given: ReleaseParameters) -> Mechanism[Relation]:
    return PartitionSelection(
        epsilon=given.values["epsilon"],
        delta=given.values["delta"],
        contributions=int(given.values["contributions"]),
        relation=given.relation,
    )


def _above_threshold(given: ReleaseParameters) -> Mechanism[Relation]:
    return AboveThreshold(
        threshold_scale=given.values["threshold_scale"],
        query_scale=given.values["query_scale"],
        sensitivity=LInf(given.values["sensitivity"]),
        cutoff=int(given.values["cutoff"]),
        relation=given.relation,
    )


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


def _stated(given: ReleaseParameters) -> Mechanism[Relation]:
    values, relation = given.values, given.relation
    if "rho" in values:
        return Stated(ZCDP(rho=values["rho"], relation=relation))
    if "mu" in values:
        return Stated(GDP(mu=values["mu"], relation=relation))
    if "delta" in values:
        known = ApproxDP(epsilon=values["epsilon"], delta=values["delta"], relation=relation)
        return Stated(known)
    return Stated(PureDP(epsilon=values["epsilon"], relation=relation))


KINDS: Mapping[str, Kind] = {
    "gaussian": Kind(
        words="Gaussian noise",
        forms=(("noise_multiplier",), ("sigma", "sensitivity"), ("sigma", "contribution")),
        norms=("l2",),
        build=_gaussian,
    ),
    "laplace": Kind(
        words="Laplace noise", forms=(("scale", "sensitivity"),), norms=("l1",), build=_laplace
    ),
    "discrete-gaussian": Kind(
        words="discrete Gaussian noise",
        forms=(("sigma", "sensitivity"),),
        norms=("l1", "l2"),
        whole=True,
        build=_discrete_gaussian,
    ),
    "discrete-laplace": Kind(
        words="discrete Laplace noise",
        forms=(("scale", "sensitivity"),),
        norms=("l1",),
        whole=True,
        build=_discrete_laplace,
    ),
    "truncated-laplace": Kind(
        words="bounded noise",
        forms=(("epsilon", "delta", "sensitivity"),),
        norms=("l1",),
        whole=True,
        build=_bounded(TruncatedLaplace),
    ),
    "canonical-noise": Kind(
        words="canonical noise",
        forms=(("epsilon", "delta", "sensitivity"),),
        norms=("l1",),
        whole=True,
        build=_bounded(CanonicalNoise),
    ),
    "randomized-response": Kind(
        words="randomized response",
        forms=(("epsilon",),),
        defaults={"categories": Fraction(2)},
        build=_randomized_response,
    ),
    "exponential": Kind(words="exponential mechanism", forms=(("epsilon",),), build=_exponential),
    "unary-encoding": Kind(
        words="unary encoding", forms=(("epsilon", "categories"),), build=_local(UnaryEncoding)
    ),
    "local-hashing": Kind(
        words="local hashing", forms=(("epsilon", "categories"),), build=_local(LocalHashing)
    ),
    "subset-selection": Kind(
        words="subset selection", forms=(("epsilon", "categories"),), build=_local(SubsetSelection)
    ),
    "histogram": Kind(
        words="integer noise on counts",
        forms=(("sigma",), ("scale",)),
        defaults={"contributions": Fraction(1), "largest": Fraction(1)},
        build=_histogram,
    ),
    "report-noisy-max": Kind(
        words="report noisy max", forms=(("epsilon",),), build=_report_noisy_max
    ),
    "permute-and-flip": Kind(
        words="permute-and-flip", forms=(("epsilon",),), build=_permute_and_flip
    ),
    "quantile": Kind(words="quantile", forms=(("epsilon",),), build=_exponential),
    "partition-selection": Kind(
        words="partition selection",
        forms=(("epsilon", "delta"),),
        defaults={"contributions": Fraction(1)},
        build=_partition_selection,
    ),
    "above-threshold": Kind(
        words="above a threshold",
        forms=(("threshold_scale", "query_scale", "sensitivity"),),
        defaults={"cutoff": Fraction(1)},
        norms=("linf",),
        build=_above_threshold,
    ),
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
    "stated": Kind(
        words="stated by others",
        forms=(("epsilon",), ("epsilon", "delta"), ("rho",), ("mu",)),
        build=_stated,
    ),
}
