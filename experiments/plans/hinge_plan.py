"""The number of records that noisy hinge descent needs, by the published solver and by ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, final

from dpproof.accountant import AddRemove, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import least_count
from dpproof.accountant.calibration.calibrate import calibrate
from dpproof.accountant.errors import LARGER, CalibrationError, ParameterError
from experiments.noisy_hinge import NoisyHinge

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
