"""Pipelines of scikit-learn with several private steps, at one price."""

from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from dpproof.accountant import Guarantee, Relation, ZeroOut, arguments as check, calibrate, compose
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.learn.private_estimator import PrivateEstimator
from dpproof.learn.transformers import PrivateScaler, SelectKBest


def private_pipeline(*steps: Any, epsilon: Number, delta: Number, share: Number = 0.1) -> Pipeline:
    """Return a pipeline whose private steps together cost a budget.

    Each step sees rows that earlier steps mapped one by one, by what was released before, so all
    of them are an adaptive composition. The noise of all is scaled until that costs the budget.

    Args:
        steps: as for ``sklearn.pipeline.make_pipeline``; private ones without a budget or sigma.
        epsilon: the budget of all, with
        delta: above 0.
        share: how much of mu^2 each private step but the last gets, in (0, 1).
    Raises:
        ParameterError: no private step, one with noise of its own, or shares of 1 or more.
    Example:
        >>> from dpproof.learn import PerceptronClassifier, PrivateScaler
        >>> model = private_pipeline(
        ...     PrivateScaler(), PerceptronClassifier(classes=range(10)), epsilon=1, delta=1e-5
        ... )
        >>> 0.999 < pipeline_guarantee(model).epsilon(delta=1e-5).upper <= 1
        True
    """
    made = make_pipeline(*(clone(one) for one in steps))
    private, each = _private(made), check.open_probability(share=share)
    last = 1 - each * (len(private) - 1)
    if last <= 0:
        raise ParameterError("share", share, f"below 1 / {len(private) - 1}")
    scales = []
    for one in private:
        name = type(one).__name__
        if not isinstance(one, PrivateEstimator) or (one.sigma, one.epsilon) != (None, None):
            raise ParameterError("steps", name, "private estimators without a budget or sigma")
        one._at(1)  # noqa: SLF001  # refuses every bad argument by its name
        least = calibrate(one._priced, epsilon=epsilon, delta=delta, increasing=False).value  # noqa: SLF001
        scales.append(least / float(last if one is private[-1] else each) ** 0.5)

    def total(factor: Number) -> Guarantee[Relation]:
        sized = zip(private, scales, strict=True)
        mechanisms = [one._priced(factor * size) for one, size in sized]  # noqa: SLF001
        return compose(*(one.guarantee() for one in mechanisms))

    factor = calibrate(total, epsilon=epsilon, delta=delta, increasing=False).value
    for one, size in zip(private, scales, strict=True):
        one.set_params(sigma=factor * size)
    pipeline_guarantee(made)  # refuses steps that do not keep neighbours
    return made


def pipeline_guarantee(pipeline: Pipeline) -> Guarantee[Relation]:
    """Return what one fit of a pipeline costs: the composition of its private steps.

    It covers no transformer that learns from rows without noise; a fit warns of those.

    Args:
        pipeline: fitted, or not yet.
    Raises:
        ParameterError: no private step, or one without noise.
        RelationMismatch: two steps protect different neighbours.
        NotImplied: under zero-out, a step before the last that may move blank rows.
    """
    steps = _private(pipeline)
    total = compose(*(getattr(one, "guarantee_", None) or one.guarantee() for one in steps))
    kinds = PrivateScaler | SelectKBest | str | None  # these keep blank rows
    moving = [name for name, step in pipeline.steps[:-1] if not isinstance(step, kinds)]
    if moving and isinstance(total.relation, ZeroOut):
        raise NotImplied(f"{moving} may move blank rows: take another relation than zero-out")
    return total


def _private(pipeline: Pipeline) -> list[Any]:
    """Return the private steps, in their order; none may be hidden within another step."""
    steps = [step for _, step in pipeline.steps if hasattr(step, "guarantee")]
    for name, step in pipeline.steps:
        inner = [] if step in steps or not hasattr(step, "get_params") else step.get_params()
        if any(hasattr(inner[one], "guarantee") for one in inner):
            raise ParameterError("steps", name, "without private parts: they are steps themselves")
    if not steps:
        raise ParameterError("steps", len(pipeline.steps), "with at least one private estimator")
    return steps
