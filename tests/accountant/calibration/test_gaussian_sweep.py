"""Many trainings at once, against the engine's answer to each."""

from __future__ import annotations

import math
import secrets
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld

from dpproof.accountant import L2, Poisson
from dpproof.accountant.bound import Bounds
from dpproof.accountant.calibration.gaussian_sweep import sweep, training
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import Gaussian


def questions(seed: int, size: int, *, rare: bool) -> dict[str, np.ndarray]:
    """Random trainings, if they may be rare also those of few samples, next to atoms."""
    rng = np.random.default_rng(seed)

    def between(least: float, most: float) -> np.ndarray:
        return np.exp(rng.uniform(math.log(least), math.log(most), size))

    rate, steps = between(1e-3, 1.0), between(5.0, 2e6)
    return {
        "sigma": between(0.4, 20.0),
        "sampling_rate": np.where(rng.random(size) < 0.03, 1.0, rate),
        "steps": np.floor(steps if rare else np.maximum(steps, 8.0 / rate)),
        "delta": between(1e-13, 0.1),
    }


def disagreements(asked: dict[str, np.ndarray], found: Bounds, *, of_delta: bool) -> list[int]:
    """Where a bracket does not meet the engine's, for those that were asked in arrays."""
    wrong = []
    for row in np.flatnonzero(~found.one_by_one).tolist():
        sigma, rate = (Fraction(float(asked[name][row])) for name in ("sigma", "sampling_rate"))
        guarantee, at = training(sigma, rate, int(asked["steps"][row])), found[row]
        known = float(asked["delta" if of_delta else "epsilon"][row])
        alone = guarantee.epsilon(delta=known) if of_delta else guarantee.delta(epsilon=known)
        if not (at.lower <= alone.upper and alone.lower <= at.upper):
            wrong.append(row)
    return wrong


def compared(size: int, *, rare: bool) -> None:
    """Ask random questions both ways and compare."""
    seed = secrets.randbits(32)
    asked = questions(seed, size, rare=rare)
    found = sweep(**asked)
    assert not disagreements(asked, found, of_delta=True), seed
    assert found.one_by_one.mean() < 0.15, seed
    known = (found.upper > 0.0) & (found.upper < 1e6)
    other = {name: one[known] for name, one in asked.items()}
    delta = other.pop("delta")
    other["epsilon"] = found.upper[known]
    again = sweep(**other)
    assert not disagreements(other, again, of_delta=False), seed
    assert (again.lower <= delta).all(), seed


def test_random_questions_meet_the_engine() -> None:
    """Brackets of epsilon and of delta meet those of each question alone."""
    compared(60, rare=False)


@pytest.mark.slow
def test_many_random_questions_meet_the_engine() -> None:
    """The same on thousands."""
    compared(10_000, rare=True)


def test_an_element_is_the_mechanism_s_answer() -> None:
    """Shapes broadcast, and each element meets what the mechanism itself answers."""
    found = sweep(sigma=[1.0, 2.0], sampling_rate=0.01, steps=[[100], [1000]], delta=1e-6)
    assert found.lower.shape == (2, 2)
    assert len(found) == 2
    sampled = Gaussian(sigma=2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01))
    alone, at = sampled.repeat(1000).guarantee().epsilon(delta=1e-6), found[1, 1]
    assert at.lower <= alone.upper
    assert alone.lower <= at.upper
    assert at.relative_width < 1e-8


def test_without_sampling() -> None:
    """Rate 1 is the Gaussian's closed form, narrow at any noise."""
    found = sweep(sigma=[0.2, 1.0, 30.0], steps=[[1], [1000]], delta=1e-9)
    assert not found.one_by_one.any()
    assert ((found.upper - found.lower) < 1e-9 * found.upper).all()
    again = sweep(sigma=[0.2, 1.0, 30.0], steps=[[1], [1000]], epsilon=found.upper)
    assert (again.lower <= 1e-9).all()
    assert (again.upper > 0.999e-9).all()


def test_extremes_are_asked_alone() -> None:
    """What arrays do not answer has the engine's answer, or all there is, and says so."""
    found = sweep(sigma=[1.0, 1.0, 1e-30], sampling_rate=[0.01, 1e-9, 0.5], steps=7, delta=1e-6)
    assert found.one_by_one.tolist() == [False, True, True]
    assert found[1].upper == 0.0
    assert found.lower[2] >= 0.0
    nothing = sweep(sigma=1.0, sampling_rate=0.1, delta=0)
    assert nothing.upper == math.inf
    assert nothing.lower.shape == ()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sigma": [1.0, 0.0]}, r"sigma at \(1,\) must be between 1e-100 and 1e100, got 0"),
        ({"sigma": math.nan}, "sigma must be between"),
        ({"sigma": "1"}, "give ints or floats"),
        ({"sigma": [Fraction(1, 3)]}, "give ints or floats"),
        ({"sampling_rate": 1.5}, "sampling_rate must be above 1e-100"),
        ({"steps": 2.5}, "steps must be a whole number"),
        ({"steps": 10**13}, "steps must be a whole number"),
        ({"sigma": 2**53 + 1}, "sigma must be"),
        ({"delta": -1e-9}, "delta must be in"),
        ({"epsilon": 1.0}, "two of them"),
        ({"steps": [1, 2], "sigma": [1.0, 2.0, 3.0]}, "shapes that broadcast"),
    ],
)
def test_refusals(wrong: dict[str, object], said: str) -> None:
    """A number outside its domain is named, with its place."""
    with pytest.raises(ParameterError, match=said):
        sweep(**{"sigma": 1.0, "sampling_rate": 0.1, "steps": 10, "delta": 1e-6, **wrong})  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="two of them"):
        sweep(sigma=1.0)


def test_delta_below_all_floats_is_not_pure_privacy() -> None:
    """Sampled Gaussian noise has a delta above 0 at every epsilon, and its upper end shows it."""
    found = sweep(sigma=1.0, sampling_rate=0.01, steps=100, epsilon=[100.0, 101.0])

    assert (found.upper > 0.0).all()
    assert found.one_by_one.all()


def test_rows_of_different_lengths_are_refused() -> None:
    """Numbers that make no array are refused by the argument's name."""
    with pytest.raises(ParameterError, match="different lengths"):
        sweep(sigma=[[1, 2], [3]], delta=1e-5)
    with pytest.raises(ParameterError, match="different lengths"):
        sweep(sigma=1, epsilon=[[1, 2], [3]])


def test_noise_is_bracketed_where_epsilon_and_delta_are_given() -> None:
    """The upper end meets both, the lower end does not, and nearly nothing is between."""
    rates, steps = np.array([[0.01], [1.0]]), np.array([300, 2000])
    noise = sweep(sampling_rate=rates, steps=steps, epsilon=[1.5, 3.0], delta=1e-6)
    assert noise.upper.shape == (2, 2)
    assert not noise.one_by_one.any()
    wide = np.broadcast_to(rates, (2, 2))
    cells = zip(wide.flat, np.tile(steps, 2), np.tile([1.5, 3.0], 2), noise.lower.ravel().tolist(),
                noise.upper.ravel().tolist(), strict=True)  # fmt: skip
    for rate, count, epsilon, less, enough in cells:
        meets_alone(rate, count, epsilon, less, enough)


@pytest.mark.slow
def test_noise_of_few_steps_is_asked_alone() -> None:
    """Three rare steps."""
    few = sweep(sampling_rate=0.004, steps=3, epsilon=1.5, delta=1e-6)
    assert few.one_by_one
    meets_alone(0.004, 3, 1.5, float(few.lower), float(few.upper))


def meets_alone(rate: float, count: int, epsilon: float, less: float, enough: float) -> None:
    """Ask the engine whether noise is enough, and hardly less is not."""
    assert less < enough <= less * (1 + 1e-5)
    for sigma, meets in ((enough, True), (less, False)):
        guarantee = training(Fraction(float(sigma)), Fraction(float(rate)), int(count))
        delta = guarantee.delta(epsilon=float(epsilon))
        assert delta.upper <= 1e-6 if meets else delta.lower > 1e-6


def test_noise_agrees_with_another_accountant() -> None:
    """The epsilon of dp-accounting at this noise is the one asked for, but for its grid."""
    noise = sweep(sampling_rate=0.01, steps=1000, epsilon=2, delta=1e-6)
    event = dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(
            0.01, dp_accounting.GaussianDpEvent(float(noise.upper))
        ),
        1000,
    )
    peer = pld.PLDAccountant().compose(event)
    assert peer.get_epsilon(1e-6) == pytest.approx(2, rel=1e-3)


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1.0},
        {"sigma": 1.0, "epsilon": 1.0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": np.inf, "delta": 1e-6},
    ],
)
def test_two_of_sigma_epsilon_and_delta_are_asked_for(given: dict[str, float]) -> None:
    """One of them, all three, and a delta of 0, at which no noise is enough, are refused."""
    with pytest.raises(ParameterError):
        sweep(steps=10, **given)
