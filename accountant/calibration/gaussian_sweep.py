"""Ask many runs of the Gaussian mechanism on samples at once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpproof.accountant import arguments
from dpproof.accountant.arguments import MAX_COUNT
from dpproof.accountant.bound import Bound, Bounds
from dpproof.accountant.engine import gaussian_rows
from dpproof.accountant.engine.gaussian_rows import Runs
from dpproof.accountant.errors import NotCertified, ParameterError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.relation import AddRemove


def sweep(
    *,
    sigma: ArrayLike,
    sampling_rate: ArrayLike = 1.0,
    steps: ArrayLike = 1,
    delta: ArrayLike | None = None,
    epsilon: ArrayLike | None = None,
) -> Bounds:
    """Bracket epsilon or delta of many trainings at once; arrays broadcast as numpy's do.

    Statement: an element is what ``Gaussian(sigma=sigma, sensitivity=L2(1)).subsample(
        Poisson(sampling_rate=sampling_rate)).repeat(steps).guarantee()`` answers, under
        add-or-remove neighbours.
    Source: proofs/theory/sweep.md.
    Rounds: outwards; a bracket always meets that of the one question.

    Args:
        sigma: standard deviation of the noise over the L2 sensitivity, between 1e-100 and 1e100.
        sampling_rate: probability of each record, above 1e-100, at most 1; 1 is without sampling.
        steps: number of steps, whole, from 1 to 10**12.
        delta: in [0, 1], where epsilon is queried, in nats, or else
        epsilon: real, where delta is queried.
    Returns:
        Both ends in arrays. ``one_by_one`` tells which questions the engine was asked alone, for a
        bracket of a relative width below 1e-4; each takes as long as ``guarantee().epsilon``. The
        bracket of a question without an answer (``NotCertified``) is all there is: [0, inf] for
        epsilon, [0, 1] for delta.
    Raises:
        ParameterError: a number is outside its domain or no float, both or neither of delta and
            epsilon are given, or the shapes do not broadcast.
    Example:
        >>> found = sweep(sigma=[1.0, 2.0], sampling_rate=0.01, steps=[[100], [1000]], delta=1e-6)
        >>> found.upper.round(3).tolist()
        [[0.954, 0.228], [2.125, 0.721]]
    """
    if (delta is None) == (epsilon is None):
        raise ParameterError("delta", delta, "given, or else epsilon, and not both")
    most = f"a whole number from 1 to {MAX_COUNT}"
    given = [
        arguments.array(
            "between 1e-100 and 1e100", lambda x: (x > 1e-100) & (x < 1e100), sigma=sigma
        ),
        arguments.array(
            "above 1e-100, at most 1",
            lambda x: (x > 1e-100) & (x <= 1.0),
            sampling_rate=sampling_rate,
        ),
        arguments.array(
            most, lambda x: (x == x.round()) & (x >= 1) & (x <= MAX_COUNT), steps=steps
        ),
    ]
    if delta is not None:
        given.append(arguments.array("in [0, 1]", lambda x: (x >= 0) & (x <= 1), delta=delta))
    elif epsilon is not None:
        given.append(arguments.array("a real number", np.isfinite, epsilon=epsilon))
    try:
        whole = np.broadcast_arrays(*given)
    except ValueError:
        shapes = ", ".join(str(one.shape) for one in given)
        raise ParameterError(
            "sigma", f"arrays of shapes {shapes}", "shapes that broadcast"
        ) from None
    flat = [one.ravel() for one in whole]
    ask = gaussian_rows.epsilons if epsilon is None else gaussian_rows.deltas
    lower, upper = ask(Runs(1.0 / flat[0], flat[1], flat[2]), flat[3])
    alone = np.flatnonzero(~(lower <= upper))
    for row in alone.tolist():
        found = _alone(*(float(one[row]) for one in flat), of_delta=epsilon is None)
        lower[row], upper[row] = found.lower, found.upper
    left = np.isin(np.arange(lower.size), alone)
    shape = whole[0].shape
    return Bounds(lower.reshape(shape), upper.reshape(shape), np.array(True), left.reshape(shape))


def _alone(sigma: float, rate: float, steps: float, known: float, *, of_delta: bool) -> Bound:
    """Return the answer to one question, all there is where there is none."""
    guarantee = training(Fraction(sigma), Fraction(rate), int(steps))
    try:
        return guarantee.epsilon(delta=known) if of_delta else guarantee.delta(epsilon=known)
    except NotCertified:
        return Bound(0.0, np.inf if of_delta else 1.0)


def training(sigma: Fraction, rate: Fraction, steps: int) -> Guarantee[AddRemove]:
    """Return the pair of Gaussian steps on Poisson samples, sensitivity 1."""
    square = 1 / sigma**2
    if rate == 1:
        return DominatingPair(forward=Product((Factor(GaussianPair(mu_squared=square), steps),)))
    pair = SubsampledGaussianPair(mu_squared=square, sampling_rate=rate, removal=True)
    return DominatingPair(forward=Product((Factor(pair, steps),)))
