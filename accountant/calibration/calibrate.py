"""Calibrate a parameter to a privacy target, rounded to the safe side."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, final, runtime_checkable

from dpproof.accountant import arguments
from dpproof.accountant.arguments import MAX_COUNT, Number
from dpproof.accountant.bound import Bound
from dpproof.accountant.calibration.monotone_search import Search
from dpproof.accountant.errors import CalibrationError, ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.progress import below_the_cell
from dpproof.accountant.readable import Readable

# Ends of a search for which none are given; no privacy parameter in use is near either. Heuristic.
_SMALLEST = 1e-18
_LARGEST = 1e18  # The upper such end. Heuristic.


@runtime_checkable
class HasGuarantee(Protocol):
    """Anything that states its guarantee, such as a mechanism."""

    def guarantee(self) -> Guarantee[Any]:
        """Return the guarantee that the object satisfies."""


def guarantee_of(source: Guarantee[Any] | HasGuarantee, name: str = "guarantee") -> Guarantee[Any]:
    """Return a guarantee as it is, or what a mechanism states."""
    if isinstance(source, HasGuarantee) and not isinstance(source, type | Guarantee):
        source = source.guarantee()
    if isinstance(source, Guarantee):
        return source
    raise ParameterError(name, source, "a guarantee, or a mechanism that states one")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated(Readable):
    """A parameter that meets its target, with the answer at it.

    Attributes:
        value: the parameter; an int if integers were asked for.
        achieved: the answer at ``value``, of the kind of the target; its upper end meets it.
        target: the largest acceptable value of that kind.
        guarantee: the guarantee of ``build(value)``.
        delta: the delta of an epsilon target, None for every other kind.
        evaluations: the number of evaluated parameters.
        at_limit: every value in the interval meets the target, and this one costs the most.
    """

    value: float
    achieved: Bound
    target: Fraction
    guarantee: Guarantee[Any] = field(repr=False)
    delta: Fraction | None
    evaluations: int
    at_limit: bool

    @property
    def epsilon(self) -> Bound:
        """Return epsilon at ``value`` if the target was an (epsilon, delta)."""
        if self.delta is None:
            raise ParameterError(
                "delta", None, "part of the target", "use .guarantee.epsilon(delta=...) instead"
            )
        return self.achieved


def calibrate(
    build: Callable[[Any], HasGuarantee | Guarantee[Any]],
    *,
    epsilon: Number | None = None,
    delta: Number | None = None,
    mu: Number | None = None,
    rho: Number | None = None,
    advantage: Number | None = None,
    true_positive_rate: Number | None = None,
    false_positive_rate: Number | None = None,
    lower: Number | None = None,
    upper: Number | None = None,
    integer: bool = False,
    increasing: bool | None = None,
    tolerance: float = 1e-9,
) -> Calibrated:
    """Find the parameter at which what ``build`` makes costs just what the target allows.

    Any parameter will do whose privacy cost is monotone: a sigma, a scale, a sampling rate, a
    count, the size of a group. Values that ``build`` refuses with ParameterError end the
    search interval. The value returned was evaluated, and the upper end of its answer is at or
    below the target.

    Args:
        build: from a parameter (float, or int) to a mechanism or a guarantee.
        epsilon: with ``delta``, the target is (epsilon, delta)-DP.
        delta: see ``epsilon``.
        mu: the target is mu-GDP.
        rho: the target is rho-zCDP.
        advantage: the target is a largest total variation distance, in (0, 1).
        true_positive_rate: with ``false_positive_rate``, the target is a largest power.
        false_positive_rate: see ``true_positive_rate``.
        lower: smallest value allowed, above 0.
        upper: largest value allowed.
        integer: whether the parameter is an integer; then at least 1, at most 10**12.
        increasing: whether the cost grows with the parameter; found out when not given.
        tolerance: relative, in the value or in the cost, whichever is met first.

    Returns:
        Calibrated.

    Raises:
        ParameterError: not exactly one kind of target, or a number outside its domain.
        CalibrationError: no value meets the target, or the cost is not monotone.
        NoBracket: the interval does not straddle the target.

    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> found = calibrate(lambda sigma: GDP(mu=1 / sigma), epsilon=1, delta=1e-6)
        >>> round(found.value, 6), found.epsilon.upper <= 1
        (4.224679, True)
    """
    target = _target(
        epsilon=epsilon,
        delta=delta,
        mu=mu,
        rho=rho,
        advantage=advantage,
        true_positive_rate=true_positive_rate,
        false_positive_rate=false_positive_rate,
    )
    interval = _interval(lower, upper, integer=integer)
    with below_the_cell(None) as step:
        search = _search(build, target, interval, step, increasing=increasing, tolerance=tolerance)
        result = search.run()
    value = result.sample.place
    return Calibrated(
        value=int(value) if integer else value,
        achieved=result.sample.answer,
        target=target.limit,
        guarantee=_built(build, int(value) if integer else value),
        delta=target.at_delta(),
        evaluations=len(search.samples),
        at_limit=result.at_limit,
    )


@final
@dataclass(frozen=True, slots=True)
class _Interval:
    """The values allowed, and whether each end was given."""

    lower: float
    upper: float
    lower_is_end: bool
    upper_is_end: bool
    whole: bool


@dataclass(frozen=True, slots=True)
class _Target(ABC):
    """A quantity of a guarantee and its limit."""

    limit: Fraction

    @abstractmethod
    def ask(self, guarantee: Guarantee[Any]) -> Bound:
        """Return the quantity that has a limit."""

    @abstractmethod
    def describe(self) -> str:
        """Return the target in words."""

    @abstractmethod
    def at_delta(self) -> Fraction | None:
        """Return the delta of an epsilon target, None for other targets."""


@final
@dataclass(frozen=True, slots=True)
class _Epsilon(_Target):
    """A target for epsilon at a delta."""

    delta: Fraction

    def ask(self, guarantee: Guarantee[Any]) -> Bound:
        """Return epsilon at the delta."""
        return guarantee.epsilon(delta=self.delta)

    def describe(self) -> str:
        """Return the target in words."""
        return f"epsilon <= {show(self.limit)} at delta = {show(self.delta)}"

    def at_delta(self) -> Fraction | None:
        """Return the delta."""
        return self.delta


@final
@dataclass(frozen=True, slots=True)
class _Other(_Target):
    """A target for any other quantity."""

    question: Callable[[Guarantee[Any]], Bound]
    name: str

    def ask(self, guarantee: Guarantee[Any]) -> Bound:
        """Return the quantity."""
        return self.question(guarantee)

    def describe(self) -> str:
        """Return the target in words."""
        return f"{self.name} <= {show(self.limit)}"

    def at_delta(self) -> Fraction | None:
        """Return None: the target has no delta."""
        return None


def _target(
    *,
    epsilon: Number | None,
    delta: Number | None,
    mu: Number | None,
    rho: Number | None,
    advantage: Number | None,
    true_positive_rate: Number | None,
    false_positive_rate: Number | None,
) -> _Target:
    """Return the one target that was given; refuse none and several."""
    _require_pair("epsilon", epsilon, "delta", delta)
    _require_pair(
        "true_positive_rate", true_positive_rate, "false_positive_rate", false_positive_rate
    )
    targets: list[_Target] = []
    if epsilon is not None and delta is not None:
        limit = arguments.positive(epsilon=epsilon)
        targets.append(_Epsilon(limit, arguments.probability(delta=delta)))
    if mu is not None:
        targets.append(_Other(arguments.positive(mu=mu), lambda guarantee: guarantee.gdp(), "mu"))
    if rho is not None:
        targets.append(
            _Other(arguments.positive(rho=rho), lambda guarantee: guarantee.zcdp(), "rho")
        )
    if advantage is not None:
        limit = arguments.open_probability(advantage=advantage)
        targets.append(_Other(limit, lambda guarantee: guarantee.advantage(), "advantage"))
    if true_positive_rate is not None and false_positive_rate is not None:
        targets.append(_power(true_positive_rate, false_positive_rate))
    if len(targets) != 1:
        descriptions = [target.describe() for target in targets]
        raise ParameterError(
            "target",
            descriptions,
            "exactly one of (epsilon, delta), mu, rho, advantage, "
            "(true_positive_rate, false_positive_rate)",
        )
    return targets[0]


def _require_pair(one: str, first: Number | None, other: str, second: Number | None) -> None:
    """Refuse one of two arguments without the other."""
    if (first is None) == (second is None):
        return
    missing = other if second is None else one
    raise ParameterError(missing, None, f"given together with {one if second is None else other}")


def _power(true_positive_rate: Number, false_positive_rate: Number) -> _Target:
    """Return the target for a true-positive rate; refuse one at or below the false-positive rate."""
    limit = arguments.open_probability(true_positive_rate=true_positive_rate)
    rate = arguments.probability(false_positive_rate=false_positive_rate)
    if not limit > rate:
        raise ParameterError(
            "true_positive_rate",
            true_positive_rate,
            f"above false_positive_rate = {show(rate)}",
            "guessing already reaches the false-positive rate",
        )
    return _Other(
        limit,
        lambda guarantee: guarantee.true_positive_rate(false_positive_rate=rate),
        f"true-positive rate at false-positive rate {show(rate)}",
    )


def _interval(lower: Number | None, upper: Number | None, *, integer: bool) -> _Interval:
    """Return the interval of values, with defaults for the ends that are not given."""
    if integer:
        low = 1 if lower is None else arguments.count(lower=lower)
        high = MAX_COUNT if upper is None else arguments.count(upper=upper)
        interval = _Interval(float(low), float(high), True, True, True)
    else:
        low_end = _SMALLEST if lower is None else float(arguments.positive(lower=lower))
        high_end = _LARGEST if upper is None else float(arguments.positive(upper=upper))
        interval = _Interval(low_end, high_end, lower is not None, upper is not None, False)
    if not interval.lower < interval.upper:
        raise ParameterError("lower", lower, f"below upper = {interval.upper:g}")
    return interval


def _search(
    build: Callable[[Any], HasGuarantee | Guarantee[Any]],
    target: _Target,
    interval: _Interval,
    step: Callable[[str], None],
    *,
    increasing: bool | None,
    tolerance: float,
) -> Search:
    """Return the search for the value that meets the target."""
    least = 8 * sys.float_info.epsilon
    if not least <= tolerance < 1:
        raise ParameterError("tolerance", tolerance, f"in [{least:.2g}, 1)")

    def at(place: float) -> Guarantee[Any]:
        return _built(build, int(place) if interval.whole else place)

    def accepts(place: float) -> bool:
        try:
            at(place)
        except ParameterError:
            return False
        return True

    def ask(place: float) -> Bound:
        step(f"value {place:.6g}, for {target.describe()}")
        return target.ask(at(place))

    return Search(
        ask=ask,
        accepts=accepts,
        limit=target.limit,
        lower=interval.lower,
        upper=interval.upper,
        lower_is_end=interval.lower_is_end,
        upper_is_end=interval.upper_is_end,
        whole=interval.whole,
        increasing=increasing,
        tolerance=tolerance,
        what=target.describe(),
    )


def _built(
    build: Callable[[Any], HasGuarantee | Guarantee[Any]], parameter: float
) -> Guarantee[Any]:
    """Return the guarantee of what ``build`` returns for a parameter."""
    made = build(parameter)
    if isinstance(made, Guarantee):
        return made
    if isinstance(made, HasGuarantee):
        return made.guarantee()
    raise CalibrationError(
        f"build({parameter!r}) returned {made!r}, which is neither a guarantee nor a mechanism"
    )
