"""The parameters of two papers' efficient learners of halfspaces, as ``MarginDescent``."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.calibration.calibrate import calibrate
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.relation import ReplaceOne
from dpproof.mechanisms.learning.descent import MarginDescent
from dpproof.mechanisms.learning.maps.feature_map import LinearMap, RademacherProjection
from dpproof.mechanisms.learning.records import WIDEST
from experiments.margin_grid import MarginGrid, dyadic_margins

# Heuristic: more steps have not learned more on any data tried.
_MOST_STEPS: Final = 300


def projected_descent(
    *,
    features: int,
    margin: Number,
    mu: Number,
    records: int,
    failure: Number = 0.05,
    seed: int = 0,
    norm: Number = 1,
    steps: int | None = None,
) -> MarginDescent[ReplaceOne]:
    """Return noisy descent after a projection whose dimension the margin decides (JL-noisy-GD).

    Rows of norm at most ``norm`` are projected by signs to k = 8 ln(records/failure) / margin^2
    dimensions, which keeps half of the margin with a Gaussian matrix, or stay as they are if that
    is no fewer; the hinge is at half of the margin.

    Statement: mu-GDP under replace-one, whatever the projection.
    Source: Wang, Zhu & Wang, arXiv:2505.24737, Algorithm 1. Its constants and its n^2 steps are
        replaced by ours: 8, and as many steps as make the optimisation error as small as the
        noise's, at most 300.

    Args:
        features: the width of a row.
        margin: a candidate geometric margin, in (0, norm), in data units; public.
        mu: of the whole run.
        records: a public number of records; it decides k and the steps.
        failure: the probability with which the projection may lose more than half of the margin.
        seed: of the projection, public.
        norm: rows are clipped to it before projecting and after.
        steps: instead of the number above.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> learner = projected_descent(features=2_000, margin=0.25, mu=0.25, records=3_000)
        >>> learner.map.output_features, learner.steps, learner.margin
        (1409, 100, Fraction(1, 8))
    """
    gamma, bound = check.positive(margin=margin), check.positive(norm=norm)
    size, beta = check.count(records=records), check.open_probability(failure=failure)
    ratio = float(gamma / bound)
    dimension = math.ceil(8 * math.log(size / float(beta)) / ratio**2)
    plan = _projection(features, dimension, seed, norm)
    width = min(dimension, check.count(features=features))
    strength = check.positive(mu=mu)
    enough = math.ceil(size**2 * float(strength) ** 2 / (4 * width))
    return MarginDescent(
        margin=gamma / 2,
        norm=bound,
        steps=max(min(enough, _MOST_STEPS), 1) if steps is None else steps,
        mu=strength,
        map=plan,
        records=size,
        relation=ReplaceOne(),
    )


def adaptive_margins(
    *,
    features: int,
    mu: Number,
    records: int,
    smallest: Number | None = None,
    failure: Number = 0.05,
    seed: int = 0,
    norm: Number = 1,
    steps: int = 60,
    penalised: bool = True,
) -> MarginGrid[ReplaceOne]:
    """Return training at every dyadic margin, each after a projection of its own (A_iter).

    Statement: mu-GDP under replace-one; the grid, the projections, the penalties and the steps
        depend on the public number of records and not on the data.
    Source: Wang, Zhu & Wang, arXiv:2505.24737, Algorithms 2 and 3, with our constants: a margin
        g has k = 8 ln(n K/failure) / g^2 dimensions, and the hinge is at g/2.

    Args:
        features: the width of a row.
        mu: of everything.
        records: n, public.
        smallest: of the margins, in units of ``norm``; None is 1/sqrt(n).
        failure: the probability with which a projection may lose more than half of a margin.
        seed: of the first projection, public; the others take the numbers after it.
        norm: rows are clipped to it before projecting and after.
        steps: of each training.
        penalised: as for ``MarginGrid``.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> learner = adaptive_margins(features=1_000, mu=0.25, records=2_000)
        >>> [round(float(margin), 3) for margin in learner.margins]
        [0.016, 0.032, 0.064, 0.128, 0.256, 0.5]
        >>> [plan.output_features for plan in learner.maps]
        [1000, 1000, 1000, 1000, 379, 100]
    """
    size, bound = check.count(records=records), check.positive(norm=norm)
    beta = float(check.open_probability(failure=failure))
    least = size**-0.5 if smallest is None else smallest
    grid = dyadic_margins(records=size, smallest=least)
    logarithm = math.log(size * len(grid) / beta)
    maps = tuple(
        RademacherProjection(
            features=features,
            dimension=min(math.ceil(8 * logarithm / one**2), WIDEST),
            seed=seed + place,
            norm=bound,
        )
        for place, one in enumerate(grid)
    )
    return MarginGrid(
        margins=[Fraction(one) * bound / 2 for one in grid],
        norm=bound,
        steps=steps,
        mu=mu,
        map=maps,
        penalised=penalised,
        records=size,
        relation=ReplaceOne(),
    )


def efficient_margin(
    *,
    features: int,
    margin: Number,
    epsilon: Number,
    delta: Number,
    records: int,
    failure: Number = 0.05,
    seed: int = 0,
    norm: Number = 1,
    radius: Number = 1,
    steps: int = _MOST_STEPS,
) -> MarginDescent[ReplaceOne]:
    """Return noisy descent on the hinge at a confidence margin, by the dimension of the paper.

    Statement: (epsilon, delta)-DP under replace-one for every epsilon > 0 and delta in (0, 1),
        as the largest mu that implies it; the paper proves its own for
        delta < 1/records and epsilon <= log(1/delta).
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, Algorithm 2: dimension
        epsilon m log(m/failure) / (log(1/delta)^(3/2) log(1/failure)), rows clipped to twice their
        norm after projecting. Its solver, Algorithm 4, is ``PhasedHinge``; here all steps take all
        records.

    Args:
        features: the width of a row.
        margin: the confidence margin rho, in data units.
        epsilon: of the whole run, above 0.
        delta: of the whole run, in (0, 1).
        records: m, a public number of records.
        failure: beta.
        seed: of the projection, public.
        norm: r, rows are clipped to it before projecting; afterwards to 2 r.
        radius: Lambda.
        steps: of the solver.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> learner = efficient_margin(
        ...     features=5_000, margin=0.1, epsilon=1, delta=1e-5, records=2_000
        ... )
        >>> learner.map.output_features, learner.norm, round(float(learner.mu), 5)
        (182, Fraction(2, 1), 0.26805)
    """
    size, beta = check.count(records=records), float(check.open_probability(failure=failure))
    bound, tail = check.positive(norm=norm), float(check.open_probability(delta=delta))
    share = float(check.positive(epsilon=epsilon)) * size * math.log(size / beta)
    dimension = math.ceil(share / (math.log(1 / tail) ** 1.5 * math.log(1 / beta)))
    found = calibrate(lambda mu: GDP(mu=mu, relation=ReplaceOne()), epsilon=epsilon, delta=delta)
    plan = _projection(features, dimension, seed, norm)
    return MarginDescent(
        margin=margin,
        norm=bound if plan is None else 2 * bound,
        steps=steps,
        mu=found.value,
        map=plan,
        records=size,
        radius=radius,
        relation=ReplaceOne(),
    )


def _projection(features: int, dimension: int, seed: int, norm: Number) -> LinearMap | None:
    """Return the projection, or None if it would not make rows shorter."""
    width = check.count(features=features)
    if dimension >= width:
        return None
    return RademacherProjection(features=width, dimension=dimension, seed=seed, norm=norm)
