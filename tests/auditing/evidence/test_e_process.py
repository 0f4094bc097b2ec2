"""Evidence that may be looked at after every trial."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.auditing import EProcess


def expected_wealth(process: EProcess, etas: list[float], masses: list[list[float]]) -> float:
    """Exact expectation after one trial, over a few outputs with masses under P and Q."""
    total = 0.0
    for position, eta in enumerate(etas):
        for label, mass in ((True, masses[0][position]), (False, masses[1][position])):
            log = process.log_wealths(np.array([eta]), np.array([label]), highest=max(etas))
            total += 0.5 * mass * math.exp(EProcess.mixed(log))
    return total


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.0), (1.0, 0.0), (1.0, 0.1), (0.3, 0.4)])
@pytest.mark.parametrize(
    "etas", [[0.9, 0.5, 0.1], [1.0, 0.0, 0.3], [0.2, 0.3, 0.4], [0.99, 0.99, 0.99]]
)
def test_wealth_does_not_grow_under_the_claim(
    epsilon: float, delta: float, etas: list[float]
) -> None:
    """Exactly, for the least favourable laws: all of the loss, and of delta, on the best bets."""
    process = EProcess(epsilon=epsilon, delta=delta)
    e = math.exp(epsilon)
    for q in np.linspace(0, (1 - delta) / e, 21):
        # P = delta + e^eps q on the first output; the rest of each on the others.
        p = delta + e * q
        laws = [[p, 0.0, 1 - p], [q, 0.0, 1 - q]]
        spread = [[p * 0.5, p * 0.5, 1 - p], [q * 0.5, q * 0.5, 1 - q]]

        assert expected_wealth(process, etas, laws) <= 1 + 1e-12
        assert expected_wealth(process, etas, spread) <= 1 + 1e-12


def test_wealth_grows_when_the_claim_is_false() -> None:
    """The expectation exceeds 1 at half the loss, and 1 / significance is reached."""
    process = EProcess(epsilon=0.5)
    bias = 1 / (1 + math.exp(-1))
    laws = [[bias, 1 - bias], [1 - bias, bias]]
    assert expected_wealth(process, [bias, 1 - bias], laws) > 1

    rng = np.random.default_rng(3)
    labels = rng.random(5_000) < bias
    log = process.log_wealths(np.full(5_000, bias), labels, highest=bias)
    assert process.refutes(EProcess.mixed(log), significance=1e-6)


def test_forgetting_delta_is_seen() -> None:
    """Betting against epsilon alone makes money from a mechanism that uses its delta."""
    laws = [[0.4, 0.6], [0.0, 1.0]]
    etas = [1.0, 0.4]

    assert expected_wealth(EProcess(epsilon=0, delta=0.4), etas, laws) <= 1
    assert expected_wealth(EProcess(epsilon=0), etas, laws) > 1.05


def test_one_bettor_never_bets() -> None:
    """Whatever is lost, a fifth of the wealth stays."""
    process = EProcess(epsilon=0)
    lost = process.log_wealths(np.ones(1_000), np.zeros(1_000, dtype=bool), highest=1.0)

    assert EProcess.mixed(lost) == pytest.approx(math.log(0.2), abs=1e-6)


@pytest.mark.parametrize("eta", [-0.1, 1.1, float("nan"), 0.9])
def test_refuses_predictions_beyond_their_limit(eta: float) -> None:
    """A prediction is a probability of at most ``highest``."""
    with pytest.raises(ParameterError):
        EProcess(epsilon=1).log_wealths(np.array([eta]), np.array([True]), highest=0.8)
