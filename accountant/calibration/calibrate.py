"""Calibrate a parameter to a privacy target, rounded to the safe side.

The cost of a parameter is the upper end of the answer. A parameter is *safe* if its cost is at or
below the limit. The search works on the logarithms of parameter and cost, in which privacy costs
are nearly straight lines. Heuristic: all constants; only an evaluated safe value is returned.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol, final, runtime_checkable

from dpproof.accountant import arguments
from dpproof.accountant.arguments import MAX_COUNT, Number
from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import CalibrationError, NoBracket, NotCertified, ParameterError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.progress import below_the_cell
from dpproof.accountant.readable import Readable

_MAX_EVALUATIONS = 300  # Most evaluations of a search. Exceeding it raises.
_FIRST_STEP = 2.0  # The first factor of a step, squared with every further one. Heuristic.
_FALLBACK_STARTS = (1.0, 0.5, 0.1, 0.01, 2.0, 10.0, 100.0)  # Values tried first. Heuristic.
# Interpolations that shrink the interval by less than half before it is halved. Heuristic.
_STEPS_WITHOUT_HALVING = 3


@final
@dataclass(frozen=True, slots=True)
class Sample:
    """The answer at one value of the parameter."""

    place: float
    answer: Bound

    @property
    def cost(self) -> float:
        """Return the upper end of the answer, which is compared with the limit."""
        return self.answer.upper


@final
@dataclass(slots=True, kw_only=True)
class Search:
    """The state of one search."""

    # The answer at a place; ParameterError or NotCertified where there is none.
    ask: Callable[[float], Bound]
    accepts: Callable[[float], bool]  # whether the place is in the domain, cheaper than asking
    limit: Fraction  # largest acceptable cost, above 0
    lower: float  # smallest place allowed, above 0
    upper: float  # largest place allowed
    lower_is_end: bool  # whether ``lower`` is a real end, or stands for "no end"
    upper_is_end: bool  # the same for ``upper``
    whole: bool  # whether places are integers
    increasing: bool | None  # whether the cost grows with the place; None to find out
    tolerance: float  # relative, in the place or in the cost, whichever is met first
    what: str  # the target in words
    samples: dict[float, Sample] = field(default_factory=dict)

    def run(self) -> tuple[Sample, bool]:
        """Return the safe value nearest the limit, and whether it ends the interval instead."""
        first = self._start()
        if self.increasing is None:
            self._find_direction(first)
            for sample in self.samples.values():
                self._check_monotone(sample)
        safe, unsafe = self._bracket(first)
        if safe is None:
            raise self._unmet()
        if unsafe is None:
            if self.upper_is_end if self.increasing else self.lower_is_end:
                return safe, True  # the costly end is a real one
            raise NoBracket(
                f"every value tried meets {self.what}, so none is the limit; give lower= or "
                f"upper= to end the search. {self._tried()}"
            )
        return self._close(safe, unsafe), False

    def sample(self, place: float) -> Sample:
        """Evaluate the answer at a value once, and check it against the direction."""
        if place not in self.samples:
            if len(self.samples) >= _MAX_EVALUATIONS:
                raise CalibrationError(
                    f"no value found for {self.what} within {_MAX_EVALUATIONS} evaluations; "
                    f"narrow the interval. {self._tried()}"
                )
            new = Sample(place, self.ask(place))
            self.samples[place] = new
            self._check_monotone(new)
        return self.samples[place]

    def is_safe(self, sample: Sample) -> bool:
        """Return whether the cost is at or below the limit, exactly."""
        return math.isfinite(sample.cost) and Fraction(sample.cost) <= self.limit

    # -- start and direction

    def _start(self) -> Sample:
        """Return the first sample that is not refused."""
        middle = math.sqrt(self.lower) * math.sqrt(self.upper)
        both = self.lower_is_end and self.upper_is_end and not self.whole
        wanted = (middle, *_FALLBACK_STARTS) if both else (*_FALLBACK_STARTS, middle)
        refusal: Exception | None = None
        for place in dict.fromkeys(
            self._placed(min(max(x, self.lower), self.upper)) for x in wanted
        ):
            try:
                return self.sample(place)
            except (ParameterError, NotCertified) as error:
                refusal = refusal or error
        raise CalibrationError(
            f"no value to start from for {self.what}: every one tried is refused, the first with "
            f"'{refusal}'; give lower= and upper= around a value that works"
        ) from refusal

    def _find_direction(self, first: Sample) -> None:
        """Set the direction by the first two samples whose answers are disjoint."""
        step = _FIRST_STEP
        ends: set[bool] = set()
        while len(ends) < 2:
            for upwards in (True, False):
                if upwards in ends:
                    continue
                other = self._try(self._stepped(first.place, step, upwards=upwards))
                if other is None or other.place == first.place:
                    ends.add(upwards)
                    continue
                if other.place in (self.lower, self.upper):
                    ends.add(upwards)
                grows = other.answer.lower > first.answer.upper
                if grows or other.answer.upper < first.answer.lower:
                    self.increasing = grows if upwards else not grows
                    return
            step = step * step
        raise CalibrationError(
            f"the answer does not depend on the parameter, so {self.what} cannot be solved for; "
            f"{self._tried()}"
        )

    def _try(self, place: float) -> Sample | None:
        """Return the sample at a value, or None if it is refused."""
        try:
            return self.sample(place)
        except (ParameterError, NotCertified):
            return None

    # -- bracket

    def _bracket(self, first: Sample) -> tuple[Sample | None, Sample | None]:
        """Step towards the limit, and return the nearest safe and unsafe samples, if any."""
        safe = self._nearest(safe=True)
        unsafe = self._nearest(safe=False)
        step = _FIRST_STEP
        while safe is None or unsafe is None:
            here = safe or unsafe or first
            upwards = (safe is None) != self.increasing
            place = self._next_outwards(here, step, upwards=upwards)
            if place == here.place:
                break
            sample = self._try(place)
            if sample is None:
                place = self._last_accepted(here.place, place)
                self._set_end(place, upwards=upwards)
                if place == here.place or self._try(place) is None:
                    break
            safe, unsafe = self._nearest(safe=True), self._nearest(safe=False)
            step = step * step
        return safe, unsafe

    def _next_outwards(self, here: Sample, step: float, *, upwards: bool) -> float:
        """Return the next value, extrapolated through the last two samples or a plain step."""
        plain = self._stepped(here.place, step, upwards=upwards)
        others = [s for s in self.samples.values() if s.place != here.place and _has_log(s)]
        if not others or not _has_log(here):
            return plain
        other = min(others, key=lambda s: abs(math.log(s.place / here.place)))
        slope = (math.log(here.cost) - math.log(other.cost)) / math.log(here.place / other.place)
        if slope == 0:
            return plain
        distance = (math.log(self.limit) - math.log(here.cost)) / slope
        reach = 1.05 * abs(distance) + 0.01
        if (distance > 0) != upwards or reach > math.log(max(step, 1e4)):
            return plain
        return self._stepped(here.place, math.exp(reach), upwards=upwards)

    def _stepped(self, place: float, factor: float, *, upwards: bool) -> float:
        """Return a value multiplied or divided by a factor, kept in the interval."""
        room = self.upper / place if upwards else place / self.lower
        if factor >= room:
            return self.upper if upwards else self.lower
        moved = self._placed(place * factor if upwards else place / factor)
        if moved == place:  # integers: move by one at least
            moved = place + 1 if upwards else place - 1
        return min(max(moved, self.lower), self.upper)

    def _last_accepted(self, inside: float, outside: float) -> float:
        """Return the edge of the domain between an accepted value and a refused one."""
        round_place = 1.0
        if min(inside, outside) < round_place < max(inside, outside):
            if self.accepts(round_place):
                inside = round_place
            else:
                outside = round_place
        for _ in range(200):
            middle = self._placed(math.sqrt(inside) * math.sqrt(outside))
            if middle in (inside, outside) or abs(outside - inside) <= 1e-13 * inside:
                break
            inside, outside = (middle, outside) if self.accepts(middle) else (inside, middle)
        return inside

    def _set_end(self, place: float, *, upwards: bool) -> None:
        """Set an end of the interval."""
        if upwards:
            self.upper, self.upper_is_end = place, True
        else:
            self.lower, self.lower_is_end = place, True

    def _nearest(self, *, safe: bool) -> Sample | None:
        """Return the sample nearest the limit among the safe, or among the unsafe ones."""
        chosen = [s for s in self.samples.values() if self.is_safe(s) == safe]
        if not chosen:
            return None
        rightmost = safe == self.increasing
        return (
            max(chosen, key=lambda s: s.place) if rightmost else min(chosen, key=lambda s: s.place)
        )

    # -- close in

    def _close(self, safe: Sample, unsafe: Sample) -> Sample:
        """Shrink the bracket by interpolation, and by halving if that is slow."""
        slow = 0
        while not self._is_close(safe, unsafe):
            before = abs(math.log(unsafe.place / safe.place))
            halve = slow >= _STEPS_WITHOUT_HALVING
            place = self._halfway(safe, unsafe) if halve else self._interpolated(safe, unsafe)
            if place in (safe.place, unsafe.place):
                break
            sample = self.sample(place)
            safe, unsafe = (sample, unsafe) if self.is_safe(sample) else (safe, sample)
            after = abs(math.log(unsafe.place / safe.place))
            slow = 0 if after <= 0.5 * before else slow + 1
        return safe

    def _is_close(self, safe: Sample, unsafe: Sample) -> bool:
        """Return whether the bracket meets the tolerance."""
        gap = abs(unsafe.place - safe.place)
        if self.whole:
            return gap <= 1
        floor = self.limit * (1 - Fraction(self.tolerance))
        return gap <= self.tolerance * safe.place or Fraction(safe.cost) >= floor

    def _halfway(self, safe: Sample, unsafe: Sample) -> float:
        """Return the geometric mean of two values."""
        return self._placed(math.sqrt(safe.place) * math.sqrt(unsafe.place))

    def _interpolated(self, safe: Sample, unsafe: Sample) -> float:
        """Return a value aimed just inside the limit by interpolation of up to four logarithms."""
        usable = [s for s in self.samples.values() if _has_log(s)]
        if not _has_log(safe) or not _has_log(unsafe):
            return self._halfway(safe, unsafe)
        aim = math.log(self.limit) - (0.0 if self.whole else 0.5 * self.tolerance)
        usable.sort(key=lambda s: abs(math.log(s.cost) - aim))
        low, high = sorted((safe.place, unsafe.place))
        for candidates in (usable[:4], usable[:3], [safe, unsafe]):
            guess = _inverse_interpolation(candidates, aim)
            if low < guess < high:
                return min(max(float(round(guess)), low + 1), high - 1) if self.whole else guess
        return self._halfway(safe, unsafe)

    def _placed(self, place: float) -> float:
        """Return the value, rounded to an integer if values are integers."""
        return float(round(place)) if self.whole else place

    # -- outcomes

    def _unmet(self) -> CalibrationError:
        """Return the error for a target that no value meets."""
        real = self.lower_is_end if self.increasing else self.upper_is_end
        why = "in the allowed interval" if real else "however far the parameter goes"
        kind = NoBracket if self.lower_is_end and self.upper_is_end else CalibrationError
        return kind(
            f"no value meets {self.what} {why}: other parts may cost more than the target by "
            f"themselves, or the interval is too narrow. {self._tried()}"
        )

    def _check_monotone(self, new: Sample) -> None:
        """Raise CalibrationError if a new answer contradicts the direction."""
        if self.increasing is None:
            return
        for old in self.samples.values():
            if old.place == new.place:
                continue
            first, second = sorted((old, new), key=lambda s: s.place)
            small, large = (first, second) if self.increasing else (second, first)
            if small.answer.lower > large.answer.upper:
                direction = "grow" if self.increasing else "fall"
                raise CalibrationError(
                    f"the answer is not monotone: it should {direction} with the parameter, but "
                    f"is {first.answer} at {first.place:g} and {second.answer} at "
                    f"{second.place:g}; calibrate within an interval where it is"
                )

    def _tried(self) -> str:
        """Return the interval tried and the costs at its ends, in words."""
        ordered = sorted(self.samples.values(), key=lambda s: s.place)
        ends = (ordered[0], ordered[-1])
        shown = ", ".join(f"{s.cost:.6g} at {s.place:.6g}" for s in dict.fromkeys(ends))
        return f"Interval tried: [{ends[0].place:.6g}, {ends[1].place:.6g}]; values: {shown}"


def _has_log(sample: Sample) -> bool:
    """Return whether the cost is positive and finite."""
    return 0.0 < sample.cost < math.inf


def _inverse_interpolation(samples: list[Sample], aim: float) -> float:
    """Return the Lagrange interpolation of log value in log cost, nan on a repeated cost."""
    costs = [math.log(sample.cost) for sample in samples]
    if len(set(costs)) < len(costs):
        return math.nan
    guess = 0.0
    for i, sample in enumerate(samples):
        weight = 1.0
        for j, cost in enumerate(costs):
            if j != i:
                weight *= (aim - cost) / (costs[i] - cost)
        guess += weight * math.log(sample.place)
    return math.exp(guess) if abs(guess) < 700 else math.nan


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
    with below_the_cell(None) as step:
        search = _search(
            build,
            target,
            (lower, upper),
            step,
            integer=integer,
            increasing=increasing,
            tolerance=tolerance,
        )
        sample, at_limit = search.run()
    value = sample.place
    return Calibrated(
        value=int(value) if integer else value,
        achieved=sample.answer,
        target=target.limit,
        guarantee=_built(build, int(value) if integer else value),
        delta=target.delta,
        evaluations=len(search.samples),
        at_limit=at_limit,
    )


@final
@dataclass(frozen=True, slots=True)
class _Target:
    """A quantity of a guarantee and its limit."""

    limit: Fraction
    name: str
    ask: Callable[[Guarantee[Any]], Bound]
    delta: Fraction | None = None  # of an epsilon target

    def describe(self) -> str:
        """Return the target in words."""
        at = "" if self.delta is None else f" at delta = {show(self.delta)}"
        return f"{self.name} <= {show(self.limit)}{at}"


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
        limit, exact = arguments.positive(epsilon=epsilon), arguments.probability(delta=delta)
        targets.append(_Target(limit, "epsilon", lambda one: one.epsilon(delta=exact), exact))
    if mu is not None:
        targets.append(_Target(arguments.positive(mu=mu), "mu", lambda one: one.gdp()))
    if rho is not None:
        targets.append(_Target(arguments.positive(rho=rho), "rho", lambda one: one.zcdp()))
    if advantage is not None:
        limit = arguments.open_probability(advantage=advantage)
        targets.append(_Target(limit, "advantage", lambda one: one.advantage()))
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
    """Return the target for a true-positive rate, above the false-positive rate."""
    limit = arguments.open_probability(true_positive_rate=true_positive_rate)
    rate = arguments.probability(false_positive_rate=false_positive_rate)
    if not limit > rate:
        raise ParameterError(
            "true_positive_rate",
            true_positive_rate,
            f"above false_positive_rate = {show(rate)}",
            "guessing already reaches the false-positive rate",
        )
    return _Target(
        limit,
        f"true-positive rate at false-positive rate {show(rate)}",
        lambda one: one.true_positive_rate(false_positive_rate=rate),
    )


def _search(
    build: Callable[[Any], HasGuarantee | Guarantee[Any]],
    target: _Target,
    ends: tuple[Number | None, Number | None],
    step: Callable[[str], None],
    *,
    integer: bool,
    increasing: bool | None,
    tolerance: float,
) -> Search:
    """Return the search for the value that meets the target."""
    lower, upper = ends
    if integer:
        low = float(1 if lower is None else arguments.count(lower=lower))
        high = float(MAX_COUNT if upper is None else arguments.count(upper=upper))
    else:
        low = _SMALLEST if lower is None else float(arguments.positive(lower=lower))
        high = _LARGEST if upper is None else float(arguments.positive(upper=upper))
    if not low < high:
        raise ParameterError("lower", lower, f"below upper = {high:g}")
    least = 8 * sys.float_info.epsilon
    if not least <= tolerance < 1:
        raise ParameterError("tolerance", tolerance, f"in [{least:.2g}, 1)")

    def at(place: float) -> Guarantee[Any]:
        return _built(build, int(place) if integer else place)

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
        lower=low,
        upper=high,
        lower_is_end=integer or lower is not None,
        upper_is_end=integer or upper is not None,
        whole=integer,
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
