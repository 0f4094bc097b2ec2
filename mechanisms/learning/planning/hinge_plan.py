"""The number of records that noisy hinge descent needs, by the published solver and by ours."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, final

import numpy as np

from dpproof.accountant import AddRemove, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.calibration.calibrate import calibrate
from dpproof.accountant.errors import LARGER, CalibrationError, ParameterError
from dpproof.mechanisms.learning.maps.projected_margin import chi_rule
from dpproof.mechanisms.learning.noisy_hinge import NoisyHinge
from dpproof.mechanisms.learning.planning.exponential_plan import least_count

_MOST_RECORDS: Final = 2**60
_MOST_STEPS: Final = 2**24
_ENOUGH: Final = 0.9  # Twice the steps are worth it for fewer records than this share. Heuristic.
_EVENTS: Final = 3
# The hinge is between 0.96 and 0.1 times the margin: a record below 0.1 has at least this share.
_DEPTH: Final = 0.86


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class HingePlan:
    """Parameters of hinge descent, and the records for which they are proved.

    Attributes:
        law: by which solver.
        records: the least number that is proved to suffice; public, as the steps rest on it.
        steps, sigma, margin: of the learner; of one run of the published solver, whose noise is
            for its loss, of slope 1 / (0.86 margin).
        runs: of the published solver; 1 of ours.
    """

    law: Literal["paper", "ours"]
    records: int
    steps: int
    sigma: float
    margin: float
    runs: int

    def learner(self, *, features: int | None = None) -> NoisyHinge[Any]:
        """Return the learner with these parameters, for rows of norm at most 1.

        Raises:
            ParameterError: a plan of the published solver, which is not proved private as printed.
        Example:
            >>> common = dict(features=20, gamma=0.5, alpha=0.2, xi=0.1)
            >>> plan = plan_hinge(**common, epsilon=1, delta=1e-5)
            >>> plan.learner().guarantee().epsilon(delta=1e-5).upper <= 1
            True
        """
        if self.law == "paper":
            raise ParameterError("law", self.law, '"ours", to make a learner')
        return NoisyHinge(
            margin=self.margin,
            expected_size=self.records,
            steps=self.steps,
            sigma=self.sigma,
            features=features,
            relation=AddRemove(),
        )


def hinge_mistakes(
    *, records: int, features: int, gamma: Number, xi: Number, steps: int, sigma: Number
) -> float:
    """Return the largest share of records that ``NoisyHinge`` provably leaves mistakes.

    Statement: rows have norm at most 1 and margin gamma for some direction, and the learner has
        margin gamma and expected_size = records. With probability at least 1 - xi the share of the
        records with y <w, x> < 0.1 gamma is at most this, w the mean of the last half of the
        states, up to the rounding of the learner's grid.
    Source: proofs/theory/learners.md, Proposition 11; the loss is that of Nguyen, Ullman &
        Zakynthinou, arXiv:1902.09009, Algorithm 1.

    Args:
        records: their number, n.
        features: d, the width of a row.
        gamma: the margin of the data.
        xi: failure probability.
        steps: of the learner.
        sigma: of its sums.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> given = dict(features=20, gamma=0.5, xi=0.1, steps=400, sigma=80)
        >>> hinge_mistakes(records=100_000, **given) < 0.24 < hinge_mistakes(records=9_000, **given)
        True
    """
    n, d, t = check.count(records=records), check.count(features=features), check.count(steps=steps)
    margin, noise = _margin(gamma), float(check.positive(sigma=sigma))
    each = float(check.open_probability(xi=xi)) / _EVENTS
    return _mistakes(n, d=d, margin=margin, each=each, t=t, sigma=noise)


def _mistakes(n: int, *, d: int, margin: float, each: float, t: int, sigma: float) -> float:
    """Return the bound of Proposition 11, with probability ``each`` for each of its events."""
    from scipy.stats import chi2  # noqa: PLC0415 - its import takes longer than all of ours

    pace = 1 / (math.sqrt(t) * math.hypot(n, math.sqrt(d) * sigma))
    reach = sigma * math.sqrt(2 * (t + 1) * math.log(1 / each))
    squares = (t + 1) * n**2 + 2 * n * reach + sigma**2 * float(chi2.isf(each, (t + 1) * d))
    total = 1 / (2 * pace) + 2 * reach + pace / 2 * squares
    return total / (t - t // 2) / (_DEPTH * margin * n)


def published_excess(
    *, records: int, features: int, gamma: Number, xi: Number, epsilon: Number, delta: Number
) -> float:
    """Return the mean loss per record that one run of the published solver provably leaves.

    Statement: Algorithm 3 of Nguyen, Ullman & Zakynthinou makes k = ceil(log(8 / xi)) runs, each of
        n^2 - 1 steps on one record with noise of variance
        32 L^2 n^2 log(n / d') log(1 / d') / e'^2 at e' = epsilon / k, d' = delta / k, for losses
        of slope L = 1 / (0.86 gamma) in the unit ball; the mean excess loss of the last state is
        at most 2 sqrt(L^2 + d s^2 / n^2) (2 + 2 log n) / n for each record, s^2 that variance.
    Source: arXiv:1902.09009, Algorithm 3 and Theorem 4.3.

    Args:
        records: their number, n.
        features: the width of a row, after its projection.
        gamma: the margin of the data.
        xi: failure probability.
        epsilon: the printed budget, which does not pay for the selection among the runs.
        delta: see ``epsilon``.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> given = dict(gamma=0.1, xi=0.1, epsilon=1, delta=1e-6)
        >>> round(published_excess(records=10**12, features=157_600_000, **given), 3)
        0.012
    """
    n, d = check.whole(records=records), check.count(features=features)
    if not 2 <= n <= _MOST_RECORDS:
        raise ParameterError("records", records, "from 2 to 2^60")
    _, slope, variance = _published(n, _margin(gamma), xi, epsilon, delta)
    return 2 * math.sqrt(slope**2 + d * variance / n**2) * (2 + 2 * math.log(n)) / n


def _published(
    n: int, margin: float, xi: Number, epsilon: Number, delta: Number
) -> tuple[int, float, float]:
    """Return how many runs Algorithm 3 makes, the slope of its losses and its noise's variance."""
    runs = math.ceil(math.log(8 / float(check.open_probability(xi=xi))))
    each = float(check.positive(epsilon=epsilon)) / runs
    rest = float(check.open_probability(delta=delta)) / runs
    slope = 1 / (_DEPTH * margin)
    variance = 32 * (slope * n) ** 2 * math.log(n / rest) * math.log(1 / rest) / each**2
    return runs, slope, variance


def plan_hinge(
    *,
    features: int,
    gamma: Number,
    alpha: Number,
    xi: Number,
    epsilon: Number,
    delta: Number,
    law: Literal["paper", "ours"] = "ours",
) -> HingePlan:
    """Return the fewest records for which hinge descent is proved to learn, as a plan.

    Statement: by ours ``hinge_mistakes`` is at most alpha / 2, and not for one record less; the
        learner satisfies (epsilon, delta)-DP under add-remove, and steps are doubled as long as
        that saves records. By the paper's ``published_excess`` is at most alpha / 8.
    Source: as for ``hinge_mistakes`` and ``published_excess``.

    Args:
        features: d, the width of a row; after a projection, that of projected rows.
        gamma: the margin of the data, for rows of norm at most 1.
        alpha: error.
        xi: failure probability.
        epsilon: the budget, with ``delta``.
        delta: see ``epsilon``.
        law: by which solver.
    Raises:
        ParameterError: an argument outside its domain.
        CalibrationError: no number of records up to 2^60 suffices.
    Example:
        >>> common = dict(features=20, gamma=0.5, alpha=0.2, xi=0.1, epsilon=1, delta=1e-5)
        >>> plan_hinge(**common, law="paper").records > 1_000 * plan_hinge(**common).records
        True
    """
    margin, error = _margin(gamma), float(check.open_probability(alpha=alpha))
    d, each = check.count(features=features), float(check.open_probability(xi=xi)) / _EVENTS
    given: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
    if law == "paper":
        excess = partial(published_excess, features=d, gamma=gamma, xi=xi, **given)
        records = least_count(lambda n: n > 1 and excess(records=n) <= error / 8, _MOST_RECORDS)
        if records is None:
            raise CalibrationError(f"no number of records up to {_MOST_RECORDS} suffices; {LARGER}")
        runs, _, variance = _published(records, margin, xi, **given)
        sigma = math.sqrt(variance)
        return HingePlan(
            law=law, records=records, steps=records**2 - 1, sigma=sigma, margin=margin, runs=runs
        )
    if law != "ours":
        raise ParameterError("law", law, '"paper" or "ours"')
    unit = calibrate(_one_step, **given, increasing=False).value
    best: HingePlan | None = None
    steps = 1
    while steps <= _MOST_STEPS:
        sigma = math.nextafter(unit * math.sqrt(steps), math.inf) * (1 + 2**-40)
        few = partial(_mistakes, d=d, margin=margin, each=each, t=steps, sigma=sigma)
        most = _MOST_RECORDS if best is None else best.records
        records = least_count(lambda n, few=few: few(n) <= error / 2, most)  # type: ignore[misc]
        if best is not None and (records is None or records > _ENOUGH * best.records):
            return best
        if records is not None:
            best = HingePlan(
                law=law, records=records, steps=steps, sigma=sigma, margin=margin, runs=1
            )
        steps *= 2
    if best is None:
        raise CalibrationError(f"no number of records up to {_MOST_RECORDS} suffices; {LARGER}")
    return best


def _one_step(sigma: float) -> NoisyHinge[Any]:
    """Return a learner of one step, for its price."""
    return NoisyHinge(margin=1, expected_size=1, steps=1, sigma=sigma, relation=AddRemove())


def _margin(gamma: Number) -> float:
    """Return the margin of the data.

    Raises:
        ParameterError: it is not in (0, 1].
    """
    margin = float(check.positive(gamma=gamma))
    if margin > 1:
        raise ParameterError("gamma", gamma, "in (0, 1], for rows of norm at most 1")
    return margin


_NODES: Final = 340
_MOST: Final = 10**7


def cosine_after_projection(*, dimension: int, margin: Number, kept: Number) -> float:
    """Return the probability that a Gaussian projection takes ``margin`` below ``kept``.

    Statement: A has independent N(0, 1) entries, u and v are unit vectors with <u, v> = rho. The m
        pairs of coordinates of Au and Av are a sample of a binormal law of correlation rho, and
        Au, Av have the cosine c or less with probability
        E Phi(c / sqrt(1 - c^2) X - rho / sqrt(1 - rho^2) Y), X and Y independent and
        chi-distributed with m - 1 and m degrees of freedom.
    Proof: rotate the coordinates of R^m so that Au is Y times the first. Given Y, Av =
        rho Au + sqrt(1 - rho^2) Z with Z standard normal, so its first coordinate is
        rho Y + sqrt(1 - rho^2) Z_1 and the others have length sqrt(1 - rho^2) X. The cosine is at
        most c if and only if rho Y + sqrt(1 - rho^2) Z_1 <= c / sqrt(1 - c^2) sqrt(1 - rho^2) X.
    Source: for Nguyen, Ullman & Zakynthinou, arXiv:1902.09009, Lemma 3, which scales projected rows
        to norm 1; ``margin_after_projection`` is for those that are not. It is about
        utility: privacy does not rest on it.

    Args:
        dimension: m, at least 2.
        margin: rho, in (0, 1).
        kept: c, at least 0 and below ``margin``.
    Raises:
        ParameterError: an argument outside its domain.
    Example:
        >>> round(cosine_after_projection(dimension=20, margin=0.3, kept=0.1), 6)
        0.175714
    """
    from scipy.special import ndtr  # noqa: PLC0415 - its import takes longer than all of ours

    width = check.count(dimension=dimension)
    if width < 2:
        raise ParameterError("dimension", dimension, "at least 2")
    before = float(check.open_probability(margin=margin))
    left = float(check.non_negative(kept=kept))
    if left >= before:
        raise ParameterError("kept", kept, f"below margin = {before:g}")
    (x, weights), (y, others) = chi_rule(width - 1, _NODES), chi_rule(width, _NODES)
    slope, shift = left / math.sqrt(1 - left**2), before / math.sqrt(1 - before**2)
    below = ndtr(slope * x[:, np.newaxis] - shift * y)
    return min(float(weights @ below @ others), 1.0)


def cosine_dimension(*, margin: Number, share: Number, failure: Number) -> int:
    """Return the least m whose Gaussian projection keeps a share of one point's cosine.

    Statement: the inverse of ``cosine_after_projection`` at kept = share margin: the probability is
        at most ``failure`` at m, and above it at m - 1. For n points divide the failure by n.
    Source: ``cosine_after_projection``.

    Args:
        margin: rho, in (0, 1).
        share: of it, in [0, 1).
        failure: in (0, 1).
    Raises:
        ParameterError: an argument outside its domain.
        CalibrationError: no m up to 10^7 is enough.
    Example:
        >>> cosine_dimension(margin=0.3, share=0.5, failure=1e-3)
        382
    """
    part = check.non_negative(share=share)
    if part >= 1:
        raise ParameterError("share", share, "below 1")
    allowed = float(check.open_probability(failure=failure))
    kept = float(part) * float(check.open_probability(margin=margin))

    def keeps(dimension: int) -> bool:
        lost = cosine_after_projection(dimension=dimension + 1, margin=margin, kept=kept)
        return lost <= allowed

    found = least_count(keeps, _MOST)
    if found is None:
        raise CalibrationError(
            f"no dimension up to {_MOST} keeps {kept:g} of a margin of {float(margin):g}; ask for "
            "less of it, or for a larger margin"
        )
    return found + 1


def records_needed(bound: Callable[[int], float], *, at_most: Number, most: int = 10**12) -> int:
    """Return the least number of records with which a bound of a rate is at most a target.

    Statement: with the returned number the bound is at most the target, with one record less
        it is not, as evaluated; for a bound that falls with the number it is the least.

    Args:
        bound: from a number of records to a bound of a rate, such as the risk of a bound, or an
            ``excess`` divided by the number.
        at_most: the target, above 0.
        most: the largest number that is tried.
    Raises:
        ParameterError: an argument outside its domain.
        CalibrationError: ``most`` records do not reach the target.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> from dpproof.mechanisms import NoisyCount, finite_class_risk
        >>> def risk(records):
        ...     one = NoisyCount(
        ...         value=0.05 * records, sigma=10, records=records, relation=ReplaceOne()
        ...     )
        ...     return finite_class_risk(one, candidates=20_000).risk
        >>> records_needed(risk, at_most=0.06)
        18309
    """
    target = check.positive(at_most=at_most)
    found = least_count(lambda records: bound(records) <= target, check.count(most=most))
    if found is None:
        raise CalibrationError(
            f"{most} records have the bound {bound(most):.4g}, above {float(target):g}; "
            "allow a larger one, or more records (most=)"
        )
    return found
