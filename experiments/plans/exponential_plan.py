"""The number of records that a pick of a direction needs, by the paper's constants and by ours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError

_GRID: Final = 2_000  # Heights that are tried. Heuristic: every one is valid.
_NEAREST: Final = 1e-9  # To the best direction, relative. Heuristic, likewise.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialPlan:
    """The records for which picking a direction of the sphere is proved to learn.

    Attributes:
        law: by which constants.
        records: the least number that is proved to suffice.
        margin: of the learner.
        height: ours: scalar product of the good directions with the best one.
        log_share: ours: log of a lower bound of the share of good directions on the sphere.
        candidates: ours: so many random directions hold a good one but for a probability of xi / 2;
            a ``CandidateExponential`` on them needs ``candidate_records``. Infinite beyond floats.
        candidate_records: see ``candidates``.
    """

    law: Literal["paper", "ours"]
    records: int
    margin: float
    height: float = math.nan
    log_share: float = math.nan
    candidates: float = math.nan
    candidate_records: int = 0


def plan_exponential(
    *,
    features: int,
    gamma: Number,
    alpha: Number,
    xi: Number,
    epsilon: Number,
    ratio: Number = 0.95,
    law: Literal["paper", "ours"] = "ours",
) -> ExponentialPlan:
    """Return the fewest records for which the exponential mechanism provably learns directions.

    Statement: rows have norm at most 1 and margin gamma for some direction. A direction is picked
        from the sphere with density proportional to e^(-epsilon mistakes), mistakes at the margin
        ratio gamma. But for a probability of xi the pick has at most a share alpha / 2 of
        mistakes among the records. By ours a direction at height t of the best one makes a mistake
        on a record with probability at most q(t), so that a share of at least
        cap(t) (1 - 4 q(t) / alpha) of all directions has at most alpha / 4 of mistakes, and
        records = 4 (log(1 / xi) - log of that share) / (epsilon alpha), at the best t. By the
        paper's constants also a share of the distribution; it picks with epsilon / 2.
    Source: "paper": Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, Theorem 5. "ours":
        proofs/theory/learners.md, Proposition 12.

    Args:
        features: d, at least 2.
        gamma: the margin of the data, for rows of norm at most 1.
        alpha: error.
        xi: failure probability.
        epsilon: of the pick under add-remove and zero-out; under replace-one twice as much.
        ratio: the learner's margin over gamma, in (0, 1).
        law: by which constants.
    Raises:
        ParameterError: an argument outside its domain, or no direction that is proved good.
    Example:
        >>> plan = plan_exponential(features=2, gamma=0.3, alpha=0.1, xi=0.01, epsilon=1)
        >>> plan.records, round(plan.margin, 3)
        (397, 0.285)
    """
    d, margin = check.count(features=features), float(check.positive(gamma=gamma))
    if d < 2:
        raise ParameterError("features", features, "at least 2")
    if margin >= 1:
        raise ParameterError("gamma", gamma, "in (0, 1), for rows of norm at most 1")
    error = float(check.open_probability(alpha=alpha))
    failure = float(check.open_probability(xi=xi))
    rate = float(check.positive(epsilon=epsilon))
    share = float(check.open_probability(ratio=ratio))
    if law == "paper":
        long = 1e6 * math.sqrt(math.log(1 / error)) * max(math.sqrt(d), 1 / margin)
        least = 1e4 * long**2 / (rate * error) + 1e10 / (error * margin) ** 2
        return ExponentialPlan(law=law, records=math.ceil(least), margin=0.95 * margin)
    if law != "ours":
        raise ParameterError("law", law, '"paper" or "ours"')
    heights = 1 - (1 - share) * np.geomspace(_NEAREST, 1.0, _GRID)
    logs = [log_good_share(float(t), d, margin, share, error / 4) for t in heights]
    best = int(np.argmax(logs))
    if logs[best] == -math.inf:
        raise ParameterError("alpha", alpha, "larger", "no direction is proved to err so seldom")
    step = rate * error / 4
    tries = math.log(2 / failure)
    log_tries = math.log(tries) - logs[best]
    return ExponentialPlan(
        law=law,
        records=math.ceil((math.log(1 / failure) - logs[best]) / step),
        margin=share * margin,
        height=float(heights[best]),
        log_share=logs[best],
        candidates=math.exp(log_tries) if log_tries < 700 else math.inf,
        candidate_records=math.ceil((max(log_tries, 0.0) + math.log(2) + tries) / step),
    )


def log_good_share(height: float, features: int, gamma: float, ratio: float, share: float) -> float:
    """Return the log of a lower bound of the share of directions with few mistakes.

    It is -inf if none is proved.

    Statement: let t be a height above the ratio r. Of the directions at t or above, at scalar
        product with the best one, a random one has y <w, x> = t y <w*, x> + sqrt(1 - t^2) <v, x'>,
        v uniform on the sphere of d - 1 dimensions and x' orthogonal to w*, so that it is at most
        r gamma with probability at most q(t) = P(V <= -(t - r) gamma / c), V a coordinate of v and
        c = sqrt((1 - t^2)(1 - gamma^2)). By Markov's inequality all but q / share of them make
        mistakes on at most that share of the records; the cap is half the tail of
        Beta(1/2, (d - 1)/2) at t^2.
    Source: proofs/theory/learners.md, Proposition 12.

    Args:
        height: t.
        features: d.
        gamma: the margin of the data.
        ratio: r.
        share: of the records.
    Example:
        >>> round(log_good_share(0.99, 2, 0.3, 0.5, 0.025), 3)
        -3.1
    """
    from scipy.special import betaln  # noqa: PLC0415 - its import takes longer than all of ours
    from scipy.stats import beta  # noqa: PLC0415 - as above

    if not height > ratio:
        return -math.inf
    below = 1 - height**2
    reach = (height - ratio) * gamma / math.sqrt(below * (1 - gamma**2))
    if features == 2:  # v is 1 or -1
        wrong = 0.5 if reach <= 1 else 0.0
    else:
        wrong = 0.5 * float(beta.sf(min(reach, 1.0) ** 2, 0.5, (features - 2) / 2))
    if wrong >= share:
        return -math.inf
    # In many dimensions the tail is no float, but above (1 - t^2)^b / (b B(1/2, b)).
    b = (features - 1) / 2
    tail = float(beta.sf(height**2, 0.5, b))
    bound = b * math.log(below) - math.log(b) - float(betaln(0.5, b))
    log_cap = max(math.log(tail) if tail > 0 else -math.inf, bound) - math.log(2)
    return log_cap + math.log1p(-wrong / share)
