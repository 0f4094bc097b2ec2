"""Ask many runs of the Gaussian mechanism on samples at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Final, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr, ndtr

from dpproof.accountant import arguments
from dpproof.accountant.arguments import MAX_COUNT
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.bound import Bound, Bounds
from dpproof.accountant.calibration.calibrate import calibrate
from dpproof.accountant.engine import gaussian_rows
from dpproof.accountant.engine.gaussian_rows import Runs
from dpproof.accountant.errors import CalibrationError, NotCertified, ParameterError
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.relation import AddRemove

_SLACK: Final = 1e-9  # Relative, by which noise is moved off a root at first. Heuristic.
_WIDENINGS: Final = 14  # Most doublings of it. Heuristic: other questions are asked alone.
_SECANTS: Final = 6  # Steps of the secant method. Heuristic.
_FARTHEST_MOVE: Final = 0.5  # Most that a step moves the log of sigma. Heuristic.
_BISECTIONS: Final = 40  # Heuristic: they find where to start.
_SMALLEST, _LARGEST = 1e-100, 1e100  # Ends of sigma.


def sweep(
    *,
    sigma: ArrayLike | None = None,
    sampling_rate: ArrayLike = 1.0,
    steps: ArrayLike = 1,
    delta: ArrayLike | None = None,
    epsilon: ArrayLike | None = None,
) -> Bounds:
    """Bracket epsilon, delta or the noise of many trainings at once.

    Two of sigma, epsilon and delta are given, and the third is answered. Arrays broadcast as
    numpy's do.

    Statement: an element is what ``Gaussian(sigma=sigma, sensitivity=L2(1)).subsample(
        Poisson(sampling_rate=sampling_rate)).repeat(steps).guarantee()`` answers, under
        add-or-remove neighbours.
    Source: proofs/theory/sweep.md.
    Rounds: outwards; a bracket always meets that of the one question.

    Args:
        sigma: standard deviation of the noise over the L2 sensitivity, between 1e-100 and 1e100.
        sampling_rate: probability of each record, above 1e-100, at most 1; 1 is without sampling.
        steps: number of steps, whole, from 1 to 10**12.
        delta: in [0, 1]; above 0 where sigma is asked for.
        epsilon: real, in nats.
    Returns:
        Both ends in arrays. Of sigma, the upper end is shown to meet epsilon and delta, and the
        lower end is shown not to. That is 0 if no noise that was tried is too little, and the
        upper end is inf if none was shown to be enough. ``one_by_one`` tells
        which questions the engine was asked alone, for a bracket of a relative width below 1e-4;
        each takes as long as ``guarantee().epsilon``. The bracket of a question without an answer
        (``NotCertified``) is all there is: [0, inf] for epsilon, [0, 1] for delta.
    Raises:
        ParameterError: a number is outside its domain or no float, not exactly two of sigma, delta
            and epsilon are given, or the shapes do not broadcast.
    Example:
        >>> found = sweep(sigma=[1.0, 2.0], sampling_rate=0.01, steps=[[100], [1000]], delta=1e-6)
        >>> found.upper.round(3).tolist()
        [[0.954, 0.228], [2.125, 0.721]]
        >>> noise = sweep(epsilon=[1, 2], delta=1e-6, sampling_rate=0.01, steps=1000)
        >>> noise.upper.round(3).tolist()
        [1.563, 1.029]
    """
    asked = {"sigma": sigma, "delta": delta, "epsilon": epsilon}
    names = [name for name, one in asked.items() if one is not None]
    if len(names) != 2:
        raise ParameterError("sigma, delta, epsilon", names, "two of them, and not all three")
    most = f"a whole number from 1 to {MAX_COUNT}"
    arrays: dict[str, Reals] = {}
    if sigma is not None:
        arrays["sigma"] = arguments.array(
            "between 1e-100 and 1e100", lambda x: (x > _SMALLEST) & (x < _LARGEST), sigma=sigma
        )
    arrays |= {
        "sampling_rate": arguments.array(
            "above 1e-100, at most 1",
            lambda x: (x > 1e-100) & (x <= 1.0),
            sampling_rate=sampling_rate,
        ),
        "steps": arguments.array(
            most, lambda x: (x == x.round()) & (x >= 1) & (x <= MAX_COUNT), steps=steps
        ),
    }
    if delta is not None:
        least = 0.0 if epsilon is None else 5e-324
        allowed = "in [0, 1]" if epsilon is None else "above 0, at most 1"
        arrays["delta"] = arguments.array(allowed, lambda x: (x >= least) & (x <= 1), delta=delta)
    if epsilon is not None:
        arrays["epsilon"] = arguments.array("a real number", np.isfinite, epsilon=epsilon)
    try:
        whole = dict(zip(arrays, np.broadcast_arrays(*arrays.values()), strict=True))
    except ValueError:
        shapes = ", ".join(str(one.shape) for one in arrays.values())
        raise ParameterError(
            next(iter(arrays)), f"arrays of shapes {shapes}", "shapes that broadcast"
        ) from None
    flat = {name: one.ravel() for name, one in whole.items()}
    lower, upper, alone = _noise(**flat) if sigma is None else _answers(**flat)
    shape = whole["steps"].shape
    ends = lower.reshape(shape), upper.reshape(shape)
    return Bounds(*ends, np.array(True), alone.reshape(shape))


def _answers(
    sigma: Reals,
    sampling_rate: Reals,
    steps: Reals,
    delta: Reals | None = None,
    epsilon: Reals | None = None,
) -> tuple[Reals, Reals, NDArray[np.bool_]]:
    """Return both ends of epsilon or delta, and which questions were asked alone."""
    ask = gaussian_rows.epsilons if epsilon is None else gaussian_rows.deltas
    points = cast("Reals", delta if epsilon is None else epsilon)
    lower, upper = ask(Runs(1.0 / sigma, sampling_rate, steps), points)
    alone = ~(lower <= upper)
    for row in np.flatnonzero(alone).tolist():
        question = (float(one[row]) for one in (sigma, sampling_rate, steps, points))
        answer = _alone(*question, of_delta=epsilon is None)
        lower[row], upper[row] = answer.lower, answer.upper
    return lower, upper, alone


def _noise(
    sampling_rate: Reals, steps: Reals, delta: Reals, epsilon: Reals
) -> tuple[Reals, Reals, NDArray[np.bool_]]:
    """Return noise that is too little and noise that is enough, next to each other.

    Heuristic: the secant method on the log of the upper end of delta, from the noise of the central
    limit. What is returned was asked.
    """

    def deltas(sigma: Reals, rows: NDArray[np.intp]) -> tuple[Reals, Reals]:
        runs = Runs(1.0 / sigma, sampling_rate[rows], steps[rows])
        return gaussian_rows.deltas(runs, epsilon[rows])

    def excess(log_sigma: Reals) -> Reals:
        with np.errstate(all="ignore"):
            return np.asarray(np.log(deltas(np.exp(log_sigma), everyone)[1]) - np.log(delta))

    everyone = np.arange(steps.size)
    with np.errstate(all="ignore"):
        odds = (_central_mu(epsilon, delta) / sampling_rate) ** 2 / steps
        before = -0.5 * np.log(np.log1p(odds))
        at = before + 0.01
        last, now = excess(before), excess(at)
        for _ in range(_SECANTS):
            move = np.clip(now * (before - at) / (now - last), -_FARTHEST_MOVE, _FARTHEST_MOVE)
            before, at, last = at, at + np.nan_to_num(move), now
            now = excess(at)
    near = np.exp(at)
    lower, upper = np.zeros(near.size), np.full(near.size, np.inf)
    for doubling in range(_WIDENINGS):
        for side, end in ((1.0, upper), (-1.0, lower)):
            rows = np.flatnonzero(np.isinf(end) if side > 0 else end == 0.0)
            tried = near[rows] * np.exp(side * _SLACK * 2.0**doubling)
            low, high = deltas(tried, rows)
            shown = (low <= high) & (high <= delta[rows] if side > 0 else low > delta[rows])
            end[rows[shown]] = tried[shown]
    alone = (lower == 0.0) | np.isinf(upper)
    for row in np.flatnonzero(alone).tolist():
        question = (float(one[row]) for one in (sampling_rate, steps, delta, epsilon))
        lower[row], upper[row] = _noise_alone(*question)
    return lower, upper, alone


def _central_mu(epsilon: Reals, delta: Reals) -> Reals:
    """Return about the mu at which a Gaussian has these, by bisection in log mu."""
    low, high = np.full(epsilon.shape, -20.0), np.full(epsilon.shape, 10.0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        mu = np.exp(middle)
        more = ndtr(mu / 2 - epsilon / mu) - np.exp(epsilon + log_ndtr(-mu / 2 - epsilon / mu))
        low, high = np.where(more < delta, middle, low), np.where(more < delta, high, middle)
    return np.asarray(np.exp(low))


def _noise_alone(rate: float, steps: float, delta: float, epsilon: float) -> tuple[float, float]:
    """Return noise that is too little, 0 if none is found next to it, and noise that is enough."""

    def guarantee(sigma: float) -> Guarantee[AddRemove]:
        return training(Fraction(sigma), Fraction(rate), int(steps))

    try:
        enough = float(calibrate(guarantee, epsilon=epsilon, delta=delta).value)
    except (CalibrationError, NotCertified):
        return 0.0, np.inf
    less = enough * (1.0 - 1e-6)
    return (less if guarantee(less).delta(epsilon=epsilon).lower > delta else 0.0), enough


def _alone(sigma: float, rate: float, steps: float, point: float, *, of_delta: bool) -> Bound:
    """Return the answer to one question, all there is where there is none."""
    guarantee = training(Fraction(sigma), Fraction(rate), int(steps))
    try:
        return guarantee.epsilon(delta=point) if of_delta else guarantee.delta(epsilon=point)
    except NotCertified:
        return Bound(0.0, np.inf if of_delta else 1.0)


def training(sigma: Fraction, rate: Fraction, steps: int) -> Guarantee[AddRemove]:
    """Return the pair of Gaussian steps on Poisson samples, sensitivity 1."""
    square = 1 / sigma**2
    if rate == 1:
        return DominatingPair(forward=Product((Factor(GaussianPair(mu_squared=square), steps),)))
    pair = SubsampledGaussianPair(mu_squared=square, sampling_rate=rate, removal=True)
    return DominatingPair(forward=Product((Factor(pair, steps),)))
