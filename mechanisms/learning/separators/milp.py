"""Minimise losses plus noise by integer programming."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms.learning.separators.losses import Loss, ZeroOne
from dpproof.mechanisms.learning.separators.oracles import EnumerationOracle, Oracle, Problem
from dpproof.mechanisms.learning.separators.spaces import Integers, Space

# The tolerated gap of a solution to the minimum, in losses: above the solver's own, 10^-6.
# Soundness depends on its use in the guarantee, not on its value.
TOLERANCE: Final = Fraction(1, 2**19)


@final
@dataclass(frozen=True, slots=True)
class MilpOracle(Oracle):
    """Solve a mixed-integer program by HiGHS (``scipy.optimize.milp``), and fall back if it fails.

    One binary variable stands for every place of the pattern and one for every distinct row whose
    labels do not cancel; each row has a bound of its own, never one global constant. The relative
    gap is 0. A candidate is accepted if the solver says optimal and gives a dual bound, and the
    exactly recomputed objective is within the tolerance of that bound; otherwise the run continues
    on the same noise with the slower oracle, so that the law of what is released does not depend on
    the solver.

    Args:
        fallback: an exact oracle, for what the solver leaves open.
        time_limit: seconds that the solver may take; None for no limit. It decides how long a
            release takes, which is not part of any guarantee.
    Assumption: the solver's dual bound is a lower bound. It is computed in floating point.
    Raises:
        ParameterError: an argument outside its domain; on use, a loss other than ``ZeroOne``,
            parities, or a space that the fallback cannot list.
    Example:
        >>> MilpOracle(time_limit=10).tolerance
        Fraction(1, 524288)
    """

    fallback: EnumerationOracle = field(default_factory=EnumerationOracle)
    time_limit: float | None = None

    def __post_init__(self) -> None:
        """Refuse other fallbacks and limits."""
        fallback: object = self.fallback
        if not isinstance(fallback, EnumerationOracle):
            raise ParameterError("fallback", fallback, "an exact oracle: EnumerationOracle()")
        limit: object = self.time_limit
        if limit is not None and not (isinstance(limit, int | float) and 0 < limit < np.inf):
            raise ParameterError("time_limit", limit, "a number of seconds > 0, or None")

    @property
    def tolerance(self) -> Fraction:
        """Return a tolerance larger than the solver's absolute gap."""
        return TOLERANCE

    def accepts(self, space: Space, loss: Loss) -> None:
        """Refuse what is no linear program in the margins, or cannot be fallen back from.

        Raises:
            ParameterError: it is refused.
        """
        if not isinstance(loss, ZeroOne) or space.threshold is None:
            raise ParameterError("oracle", self, "EnumerationOracle() for this loss and space")
        self.fallback.accepts(space, loss)

    def minima(self, problem: Problem, noises: NDArray[Any]) -> Integers:
        """Solve for each noise vector; what stays open goes to the fallback together."""
        space = problem.space
        solutions = np.zeros((len(noises), space.coordinates), dtype=np.int64)
        program = _Program(problem)
        slow = []
        for run, noise in enumerate(noises):
            levels = program.solve(noise, self.time_limit)
            if levels is None:
                slow.append(run)
            else:
                solutions[run] = levels
        if slow:
            solutions[slow] = self.fallback.minima(problem, noises[slow])
        return solutions


@final
class _Program:
    """The constraints of one dataset, to which every noise vector gives an objective."""

    __slots__ = ("_gains", "_problem", "_rules")

    def __init__(self, problem: Problem) -> None:
        space, data = problem.space, problem.data
        gains = data.negative - data.positive
        kept = gains != 0
        self._problem, self._gains = problem, gains[kept]
        self._rules = _constraints(space, space.weights(data.rows[kept]), self._gains)

    def solve(self, noise: NDArray[Any], limit: float | None) -> Integers | None:
        """Return the positions of levels of a solution proved good enough, or None."""
        from scipy.optimize import Bounds, milp  # noqa: PLC0415 - its import takes long

        problem = self._problem
        options: Any = {"mip_rel_gap": 0.0} | ({} if limit is None else {"time_limit": limit})
        cost = np.concatenate([noise.astype(np.float64) / problem.unit, self._gains])
        solution = milp(
            cost,
            integrality=np.ones(len(cost), dtype=np.int64),
            bounds=Bounds(0, 1),
            constraints=self._rules,
            options=options,
        )
        dual = getattr(solution, "mip_dual_bound", None)
        if solution.status != 0 or dual is None:
            return None
        space = problem.space
        steps = np.rint(solution.x[: space.separators]).astype(np.int64)
        levels = np.asarray(steps.reshape(space.coordinates, -1).sum(axis=1))
        bound = float(dual) + float(problem.data.positive.sum())
        if not np.isfinite(bound):
            return None
        missed = Fraction(problem.objective(levels, noise), problem.unit) - Fraction(bound)
        admitted = space.admits(np.array([np.array(space.levels)[levels].sum()]))
        inside = admitted is None or bool(admitted[0])
        return levels if inside and missed <= TOLERANCE else None


def _constraints(space: Space, weights: Integers, gains: Integers) -> list[Any]:
    """Order the places of a coordinate, and tie each row's variable to its margin.

    With the least and the largest margin a and b of a row and threshold T: a row that should
    predict -1 has margin <= T - 1 + (b - T + 1) z, one that should predict +1 has
    margin >= T - (T - a)(1 - z); z is pulled the other way by the objective.
    """
    from scipy.optimize import LinearConstraint  # noqa: PLC0415 - its import takes long

    levels = np.array(space.levels)
    threshold = space.threshold or 0
    base = levels[0] * weights.sum(axis=1)
    slopes = np.repeat(weights, len(levels) - 1, axis=1) * np.tile(
        np.diff(levels), weights.shape[1]
    )
    low = base + np.minimum(slopes, 0).sum(axis=1)
    high = base + np.maximum(slopes, 0).sum(axis=1)
    rows = np.zeros((len(gains), space.separators + len(gains)))
    rows[:, : space.separators] = slopes
    least, most = np.full(len(gains), -np.inf), np.full(len(gains), np.inf)
    for i, gain in enumerate(gains):
        if gain > 0:
            rows[i, space.separators + i] = -max(high[i] - threshold + 1, 0)
            most[i] = threshold - 1 - base[i]
        else:
            rows[i, space.separators + i] = -max(threshold - low[i], 0)
            least[i] = min(low[i], threshold) - base[i]
    rules = [LinearConstraint(rows, least, most)] if len(gains) else []
    width = space.separators + len(gains)
    if len(levels) > 2:
        order = np.zeros((space.coordinates * (len(levels) - 2), width))
        for k in range(len(order)):
            place = k // (len(levels) - 2) * (len(levels) - 1) + k % (len(levels) - 2)
            order[k, place], order[k, place + 1] = 1, -1
        rules.append(LinearConstraint(order, 0, np.inf))
    if space.total is not None:
        everything = np.zeros((1, width))
        everything[0, : space.separators] = 1
        rules.append(LinearConstraint(everything, space.total, space.total))
    return rules
