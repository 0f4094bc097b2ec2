"""Certificates of random allocation, both ends."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from dpproof.accountant import (
    GDP,
    BallsInBins,
    L2Contribution,
    NotCertified,
    Poisson,
    RandomAllocation,
    UserPoisson,
    self_compose,
)
from dpproof.accountant.theorems.allocation import allocate_random
from dpproof.accountant.theorems.subsampling import subsample_counted_sum, subsample_poisson
from dpproof.proofs import Rejected, check

DELTA = 1e-6


def once(mu: float, rounds: int, chosen: int = 1) -> Any:  # noqa: ANN401
    """One epoch."""
    return allocate_random(GDP(mu=mu), RandomAllocation(steps=rounds, chosen=chosen))


def proved(guarantee: Any, *, lower: bool, **asked: float) -> float:  # noqa: ANN401
    """The number that a certificate claims, after a check of it."""
    made = guarantee.certify(lower=lower, **asked)
    assert not isinstance(check(made), Rejected)
    claimed = made.steps[-1].conclusion["epsilon" if "delta" in asked else "delta"]
    numerator, _, denominator = str(claimed).partition("/")
    return int(numerator) / int(denominator or 1)


SLOW = [(2.0, 2), (0.125, 30), (1.0, 10**6)]


@pytest.mark.parametrize(
    ("mu", "rounds"), [(1.0, 50), *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)]
)
def test_one_epoch(mu: float, rounds: int) -> None:
    """Both ends of epsilon are proved, none past the other end and none 1e-6 beyond its own."""
    guarantee = once(mu, rounds)
    found = guarantee.epsilon(delta=DELTA)
    above, below = (proved(guarantee, lower=lower, delta=DELTA) for lower in (False, True))

    assert found.upper <= above <= found.upper + 1e-6 * max(found.upper, 1e-3)
    assert found.lower * (1 - 1e-6) <= below <= found.upper


@pytest.mark.slow
def test_delta_and_attacks() -> None:
    """Delta is proved from both sides, and so are the power and the advantage of attacks."""
    guarantee = once(1.0, 50)
    found = guarantee.delta(epsilon=0.3)
    above, below = (proved(guarantee, lower=lower, epsilon=0.3) for lower in (False, True))

    assert found.upper <= above <= found.upper * (1 + 1e-6)
    assert found.lower * (1 - 1e-6) <= below <= found.lower
    for asked in ({"advantage": True}, {"false_positive_rate": 0.01}):
        for lower in (False, True):
            assert not isinstance(check(guarantee.certify(lower=lower, **asked)), Rejected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "guarantee",
    [
        self_compose(once(1.0, 50), 10),
        once(1.0, 50, chosen=3),
        self_compose(allocate_random(GDP(mu=0.25), BallsInBins(steps=100, epochs=4)), 2),
    ],
    ids=["fresh", "several", "kept"],
)
def test_several_epochs(guarantee: Any) -> None:  # noqa: ANN401
    """Products are proved from above within 1e-4, and from below by something."""
    found = guarantee.epsilon(delta=DELTA)
    above, below = (proved(guarantee, lower=lower, delta=DELTA) for lower in (False, True))

    assert found.upper <= above <= found.upper * (1 + 1e-4)
    assert 0 < below <= found.lower


def test_a_smaller_number_is_rejected() -> None:
    """A fact about a smaller delta, and one about a line with fewer nodes, are no certificates."""
    made = once(1.0, 50).certify(epsilon=0.3)
    place = next(k for k, step in enumerate(made.steps) if step.rule == "hockey-stick/sampled")
    step = made.steps[place]
    for change in (
        {"conclusion": {**step.conclusion, "delta": "1/1000"}},
        {"witness": {**step.witness, "nodes": 3}},
    ):
        steps = [*made.steps]
        steps[place] = replace(step, **change)

        assert isinstance(check(replace(made, steps=tuple(steps))), Rejected)


def test_what_is_refused() -> None:
    """Renyi divergences of what tables alone know, and samples of allocated rounds."""
    users = subsample_counted_sum(
        sigma=2,
        contribution=L2Contribution(1),
        scheme=UserPoisson(sampling_rate=0.01, contributions=3),
    )
    for guarantee in (once(1.0, 50), self_compose(users, 9)):
        with pytest.raises(NotCertified, match="Renyi divergences of allocated rounds"):
            guarantee.certify(order=4)
    sample = subsample_poisson(once(1.0, 50), Poisson(sampling_rate=0.5))
    with pytest.raises(NotCertified, match="no samples of them"):
        sample.certify(delta=DELTA)
    assert math.isfinite(sample.epsilon(delta=DELTA).upper)
