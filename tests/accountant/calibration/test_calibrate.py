"""Calibration."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant.calibration.calibrate import Calibrated, calibrate
from dpproof.accountant.errors import CalibrationError, NoBracket, ParameterError
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import ZCDP
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.theorems.composition import compose, self_compose
from dpproof.accountant.theorems.group import group

TARGETS: tuple[dict[str, float], ...] = (
    {"epsilon": 1, "delta": 1e-6},
    {"epsilon": 0.01, "delta": 1e-10},
    {"epsilon": 30, "delta": 1e-40},
    {"mu": 0.3},
    {"rho": 0.1},
    {"advantage": 0.1},
    {"true_positive_rate": 0.1, "false_positive_rate": 0.01},
)


def gaussian(sigma: float) -> GDP[AddRemove]:
    """Gaussian noise on a query of sensitivity 1."""
    return GDP(mu=1 / sigma)


def asked(guarantee: Guarantee[Any], target: dict[str, float]) -> float:
    """The upper end of what the target is about."""
    if "delta" in target:
        return guarantee.epsilon(delta=target["delta"]).upper
    if "mu" in target:
        return guarantee.gdp().upper
    if "rho" in target:
        return guarantee.zcdp().upper
    if "advantage" in target:
        return guarantee.advantage().upper
    rate = target["false_positive_rate"]
    return guarantee.true_positive_rate(false_positive_rate=rate).upper


def limit(target: dict[str, float]) -> float:
    """The number that must not be exceeded."""
    return next(iter(target.values()))


@pytest.mark.parametrize("target", TARGETS)
def test_value_is_on_the_safe_side_and_next_to_the_limit(target: dict[str, float]) -> None:
    """The value meets the target; a millionth less noise does not; it is quick."""
    found = calibrate(gaussian, **target)  # type: ignore[arg-type]

    assert asked(gaussian(found.value), target) <= limit(target)
    assert asked(gaussian(found.value * (1 - 1e-6)), target) > limit(target)
    assert found.achieved.upper == asked(found.guarantee, target)
    assert found.evaluations <= 12
    assert not found.at_limit


def test_the_upper_end_counts() -> None:
    """For a notion whose brackets are wide the value is safe by its upper end."""
    found = calibrate(lambda rho: ZCDP(rho=rho), epsilon=1, delta=1e-6)

    assert found.epsilon.upper <= 1
    assert found.epsilon.upper == pytest.approx(1, rel=1e-8)
    assert found.epsilon.lower < 0.97


@settings(max_examples=25)
@given(st.floats(1e-3, 1e3), st.floats(1e-2, 20), st.integers(1, 10**6))
def test_any_scale_is_found(unit: float, epsilon: float, count: int) -> None:
    """Whatever the data's unit and the number of steps."""
    found = calibrate(
        lambda sigma: self_compose(GDP(mu=unit / sigma), count), epsilon=epsilon, delta=1e-6
    )

    assert found.epsilon.upper <= epsilon
    assert found.epsilon.upper >= epsilon * (1 - 1e-8)
    assert found.evaluations <= 20


def test_whole_numbers() -> None:
    """The largest count: one more would not do; the value is an int."""

    def steps(count: int) -> Guarantee[AddRemove]:
        return self_compose(GDP(mu=Fraction(1, 100)), count)

    found = calibrate(steps, epsilon=1, delta=1e-6, integer=True)

    assert isinstance(found.value, int)
    assert steps(found.value).epsilon(delta=1e-6).upper <= 1
    assert steps(found.value + 1).epsilon(delta=1e-6).upper > 1
    assert found.evaluations <= 20


def test_whole_numbers_far_out() -> None:
    """A count near 10**11 in a dozen evaluations."""
    found = calibrate(
        lambda n: self_compose(ZCDP(rho=Fraction(1, 10**11)), n), rho=0.7, integer=True
    )

    assert found.value == 7 * 10**10 - 1 or found.value == 7 * 10**10
    assert found.evaluations <= 60


def test_group_size() -> None:
    """The largest group that keeps an advantage."""
    found = calibrate(lambda k: group(GDP(mu=0.01), size=k), advantage=0.2, integer=True)

    assert group(GDP(mu=0.01), size=int(found.value) + 1).advantage().upper > 0.2
    assert found.guarantee == group(GDP(mu=0.01), size=int(found.value))


def test_a_refused_parameter_ends_the_interval() -> None:
    """A rate above 1 is refused by build; the search stays within, up to the end itself."""

    def sampled(rate: float) -> GDP[AddRemove]:
        if not 0 < rate <= 1:
            raise ParameterError("sampling_rate", rate, "in (0, 1]")
        return GDP(mu=2 * rate)

    assert calibrate(sampled, mu=0.5).value == pytest.approx(0.25, rel=1e-8)
    assert calibrate(sampled, mu=1.99999).value == pytest.approx(0.999995, rel=1e-8)
    everything = calibrate(sampled, mu=5)
    assert everything.at_limit
    assert everything.value == 1.0


def test_an_odd_end_of_the_domain_is_found() -> None:
    """The last accepted value, not a round number."""

    def sampled(rate: float) -> GDP[AddRemove]:
        if rate > 0.37:
            raise ParameterError("rate", rate, "at most 0.37")
        return GDP(mu=rate)

    assert calibrate(sampled, mu=1).value == pytest.approx(0.37, rel=1e-9)
    assert calibrate(sampled, mu=0.3699999).value == pytest.approx(0.3699999, rel=1e-8)


def test_direction_may_be_given() -> None:
    """With the direction one evaluation less; a wrong one is noticed."""
    free = calibrate(gaussian, mu=0.3)
    told = calibrate(gaussian, mu=0.3, increasing=False)

    assert told.value == pytest.approx(free.value, rel=1e-8)
    with pytest.raises(CalibrationError):
        calibrate(gaussian, mu=0.3, increasing=True)


def test_within_an_interval() -> None:
    """The ends are respected."""
    found = calibrate(gaussian, mu=0.3, lower=3, upper=4)

    assert found.value == pytest.approx(10 / 3, rel=1e-8)
    at_end = calibrate(gaussian, mu=0.3, lower=5, upper=6)
    assert (at_end.value, at_end.at_limit) == (5.0, True)


def test_flat_parts_are_crossed() -> None:
    """Epsilon is 0 over a stretch where delta is above the advantage, infinite elsewhere."""

    def build(sigma: float) -> Guarantee[AddRemove]:
        return GDP(mu=1 / sigma) if sigma > 0.5 else GDP(mu=1 / sigma**9)

    found = calibrate(build, epsilon=1e-3, delta=0.3)

    assert 0 < found.epsilon.upper <= 1e-3
    assert asked(build(found.value * 0.999), {"epsilon": 1e-3, "delta": 0.3}) > 1e-3


def test_a_floor_of_other_parts_is_reported() -> None:
    """No noise is enough when another part alone costs more than the target."""
    with pytest.raises(CalibrationError, match="other parts may cost more") as caught:
        calibrate(lambda sigma: compose(GDP(mu=1 / sigma), GDP(mu=2)), mu=1)
    assert "2 at 1e+18" in str(caught.value)


def test_an_interval_without_the_answer_is_reported() -> None:
    """Both ends and the values there."""
    with pytest.raises(NoBracket, match=r"Interval tried: .*values: .* at 0\.2"):
        calibrate(gaussian, mu=0.3, lower=0.1, upper=0.2)


def test_everything_safe_without_an_end_is_reported() -> None:
    """A cost that never reaches the target has no limit to find."""
    with pytest.raises(NoBracket, match="every value tried meets"):
        calibrate(lambda x: GDP(mu=min(x, 1.0)), mu=2)


def test_independence_is_reported() -> None:
    """A parameter that changes nothing."""
    with pytest.raises(CalibrationError, match="does not depend on the parameter"):
        calibrate(lambda _: GDP(mu=1), mu=2)


def test_non_monotone_costs_are_reported() -> None:
    """Contradicting answers are named with their places."""
    with pytest.raises(CalibrationError, match="not monotone"):
        calibrate(lambda x: GDP(mu=abs(math.log(x) - 0.1) + 0.1), mu=1e-1, increasing=False)


def test_nowhere_to_start_is_reported() -> None:
    """Build refuses every starting value."""

    def never(sigma: float) -> GDP[AddRemove]:
        raise ParameterError("sigma", sigma, "never")

    with pytest.raises(CalibrationError, match="every one tried is refused") as caught:
        calibrate(never, mu=1)
    assert isinstance(caught.value.__cause__, ParameterError)


def test_build_must_return_a_guarantee() -> None:
    """Or something that has one."""
    with pytest.raises(CalibrationError, match="neither a guarantee nor a mechanism"):
        calibrate(lambda _: 3, mu=1)  # type: ignore[arg-type,return-value]


def test_a_mechanism_will_do() -> None:
    """Anything with a ``guarantee`` method."""

    class Mechanism:
        """The least of mechanisms."""

        def __init__(self, sigma: float) -> None:
            self.sigma = sigma

        def guarantee(self) -> GDP[AddRemove]:
            """What it satisfies."""
            return gaussian(self.sigma)

    assert calibrate(Mechanism, mu=0.5).value == pytest.approx(2, rel=1e-8)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, "target must be exactly one of"),
        ({"epsilon": 1}, "delta must be given together with epsilon"),
        ({"delta": 1e-6}, "epsilon must be given together with delta"),
        ({"mu": 1, "rho": 1}, "target must be exactly one of"),
        ({"epsilon": 1, "delta": 1e-6, "mu": 1}, "target must be exactly one of"),
        ({"true_positive_rate": 0.1}, "false_positive_rate must be given together"),
        (
            {"true_positive_rate": 0.1, "false_positive_rate": 0.2},
            "true_positive_rate must be above false_positive_rate",
        ),
        ({"epsilon": 0, "delta": 1e-6}, "epsilon must be a finite number > 0"),
        ({"epsilon": math.nan, "delta": 1e-6}, "epsilon must be a finite number > 0"),
        ({"epsilon": 1, "delta": 2}, "delta must be in"),
        ({"advantage": 1}, "advantage must be in"),
        ({"mu": 1, "lower": 2, "upper": 1}, "lower must be below upper"),
        ({"mu": 1, "lower": 0}, "lower must be a finite number > 0"),
        ({"mu": 1, "lower": 0.5, "integer": True}, "lower must be a whole number"),
        ({"mu": 1, "tolerance": 0}, "tolerance must be in"),
        ({"mu": 1, "tolerance": math.nan}, "tolerance must be in"),
    ],
)
def test_bad_requests_are_refused(target: dict[str, Any], message: str) -> None:
    """Wrong combinations and numbers outside their domain, before anything is built."""

    def never(_: float) -> GDP[AddRemove]:
        raise AssertionError

    with pytest.raises(ParameterError, match=message):
        calibrate(never, **target)


def test_epsilon_belongs_to_an_epsilon_target() -> None:
    """For another target one asks the guarantee."""
    found: Calibrated = calibrate(gaussian, mu=0.3)

    with pytest.raises(ParameterError, match="part of the target"):
        _ = found.epsilon
    assert found.guarantee.epsilon(delta=1e-6).upper > 0


def test_scale_of_laplace_noise_in_company() -> None:
    """The part that is solved for may be one of several kinds."""
    build: Callable[[float], Guarantee[AddRemove]] = lambda scale: compose(  # noqa: E731
        GDP(mu=0.1), PureDP(epsilon=1 / scale)
    )
    found = calibrate(build, epsilon=1, delta=1e-6)

    assert found.epsilon.upper <= 1
    assert build(found.value * (1 - 1e-6)).epsilon(delta=1e-6).upper > 1
    assert found.evaluations <= 12


def test_looser_tolerance_is_quicker() -> None:
    """And still safe."""
    tight = calibrate(gaussian, epsilon=1, delta=1e-6)
    loose = calibrate(gaussian, epsilon=1, delta=1e-6, tolerance=1e-2)

    assert loose.evaluations <= tight.evaluations
    assert 0.99 <= loose.epsilon.upper <= 1
