"""Epsilons and deltas of a guarantee at many points, against the answer at each."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import (
    GDP,
    L1,
    L2,
    RDP,
    ZCDP,
    ApproxDP,
    Guarantee,
    Poisson,
    PrivacyProfile,
    PureDP,
    compose,
)
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import Gaussian, Laplace

SAMPLED = Gaussian(sigma=1.1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01))
RARE = Gaussian(sigma=1.2, sensitivity=L2(1)).subsample(Poisson(sampling_rate=1e-3))
GUARANTEES: list[Guarantee[Any]] = [
    SAMPLED.repeat(1500).guarantee(),
    RARE.repeat(20_000).guarantee(),
    compose(Laplace(scale=3, sensitivity=L1(1)).guarantee(), SAMPLED.repeat(90).guarantee()),
    compose(GDP(mu=0.4), PureDP(epsilon=0.1)),
    PureDP(epsilon=0.5),
    ApproxDP(epsilon=1, delta=1e-4),
    PrivacyProfile(points=((0, 0.5), (1, 1e-3), (2, 0))),
    ZCDP(rho=0.1),
    RDP(points=((2, 0.1), (8, 0.5))),
]


def check(found: Any, at: Any, alone: Any) -> None:  # noqa: ANN401  # brackets of either kind
    """One bracket meets the answer alone, and is hardly wider."""
    one = found[at]
    assert one.lower <= alone.upper
    assert alone.lower <= one.upper
    assert one.attained == alone.attained
    assert one.lower == one.upper or one.width <= max(10 * alone.width, 1e-6 * one.upper)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=lambda one: one.describe()[:40])
def test_every_point_has_its_own_answer(guarantee: Guarantee[Any]) -> None:
    """Brackets meet those of each point, and are at most ten times as wide or 1e-6 of the upper."""
    seed = secrets.randbits(32)
    rng = np.random.default_rng(seed)
    given = np.append(np.exp(rng.uniform(np.log(1e-9), 0.0, 9)), 1.0)
    found = guarantee.epsilons(deltas=given.reshape(2, 5))
    assert found.lower.shape == (2, 5)
    for place, delta in np.ndenumerate(given.reshape(2, 5)):
        check(found, place, guarantee.epsilon(delta=float(delta)))
    reached = found.upper[np.isfinite(found.upper)]
    points = np.append(reached * rng.uniform(0.9, 1.0, reached.size), [0.0, -0.2])
    again = guarantee.deltas(epsilons=points)
    for at, epsilon in enumerate(points.tolist()):
        check(again, at, guarantee.delta(epsilon=epsilon))


def test_hundreds_share_their_sums() -> None:
    """No question of a training is asked alone."""
    found = GUARANTEES[0].epsilons(deltas=np.geomspace(1e-10, 1e-2, 200))
    assert not found.one_by_one.any()
    assert (np.diff(found.upper) < 0.0).all()
    assert not GUARANTEES[0].deltas(epsilons=found.upper).one_by_one.any()


def test_the_larger_direction_counts() -> None:
    """A pair whose other direction is the larger one has that one's answers."""
    pair = GUARANTEES[0].to_pair()
    turned = type(pair)(forward=pair.backward, backward=pair.forward, relation=pair.relation)
    given = np.geomspace(1e-8, 1e-3, 4)
    found, other = turned.epsilons(deltas=given), pair.epsilons(deltas=given)
    assert (found.lower <= other.upper).all()
    assert (other.lower <= found.upper).all()


@pytest.mark.parametrize(
    ("name", "ask"),
    [
        ("deltas", lambda: GDP(mu=1).epsilons(deltas=[0.1, 1.5])),
        ("deltas", lambda: GDP(mu=1).epsilons(deltas=["0.1"])),
        ("epsilons", lambda: GDP(mu=1).deltas(epsilons=[np.nan])),
        ("epsilons", lambda: GDP(mu=1).deltas(epsilons=np.inf)),
    ],
)
def test_refusals(name: str, ask: Callable[[], object]) -> None:
    """A number outside its domain is named."""
    with pytest.raises(ParameterError, match=name):
        ask()
