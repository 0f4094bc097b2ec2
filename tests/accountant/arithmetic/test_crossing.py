"""Where a profile known by brackets crosses a level."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, strategies as st

from dpproof.accountant.arithmetic.crossing import crossings, invert
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.dominating_pair import GDP

Brackets = Callable[[Reals], tuple[Reals, Reals]]


def falling(root: float, noise: float, calls: list[int]) -> Brackets:
    """Brackets of a curved fall through -10 at the root, jittering within their width."""

    def brackets(x: Reals) -> tuple[Reals, Reals]:
        calls.append(x.size)
        value = -10.0 - np.expm1((x - root) / (1 + root)) - 3.0 * (x - root)
        jitter = noise * np.sin(1e9 * x)
        return value - noise + 0.9 * jitter, value + noise + 0.9 * jitter

    return brackets


@given(
    root=st.floats(1e-3, 1e3),
    start=st.floats(0.2, 5.0),
    width=st.floats(1e-3, 3.0),
    noise=st.sampled_from([0.0, 1e-14, 1e-9, 1e-6]),
)
def test_the_root_is_inside(root: float, start: float, width: float, noise: float) -> None:
    """And the bracket is about as wide as the noise makes it, after few calls."""
    calls: list[int] = []
    brackets = falling(root, noise, calls)
    found = invert(brackets, (-10.0, -10.0), start * root, width * root, math.inf)

    rounding = 1e-14 * (1 + root)
    assert found.lower <= root + noise + rounding
    assert root - noise - rounding <= found.upper
    assert float(brackets(np.array([found.upper]))[1][0]) <= -10.0
    assert found.lower == 0.0 or float(brackets(np.array([found.lower]))[0][0]) > -10.0
    assert found.upper - found.lower <= 12 * noise + 1e-10 * root
    assert len(calls) <= 80


def test_noise_costs_few_calls() -> None:
    """Once both ends cannot be told from the root, all distances from it are tried at once."""
    calls: list[int] = []
    invert(falling(0.7, 1e-14, calls), (-10.0, -10.0), 0.6, 0.3, math.inf)

    assert len(calls) <= 7


def test_ends() -> None:
    """Below the target from the start, or never; what is no number is not below it."""
    calls: list[int] = []
    low = invert(lambda x: (x * 0 - 20.0, x * 0 - 19.0), (-10.0, -10.0), 1.0, 1.0, math.inf)
    top = invert(lambda x: (x * 0 - 2.0, x * 0 - 1.0), (-10.0, -10.0), 1.0, 1.0, 30.0)
    beyond = invert(falling(5.0, 1e-12, calls), (-10.0, -10.0), 1.0, 1.0, 4.0)

    assert (low.lower, low.upper) == (0.0, 0.0)
    assert top.lower <= top.upper == 30.0
    assert beyond.lower <= beyond.upper == 4.0
    with pytest.raises(NotCertified, match="not proved"):
        invert(lambda x: (x * math.nan, x * math.nan), (-10.0, -10.0), 1.0, 1.0, math.inf)
    with pytest.raises(NotCertified, match="not proved"):
        invert(lambda x: (x * 0 - 2.0, x * 0 - 1.0), (-10.0, -10.0), 1.0, 1.0, math.inf)


def test_the_search_ends_before_floats_do() -> None:
    """No point is so large that its products overflow, and a finite largest loss still counts."""
    farthest = 0.0

    def above(x: Reals) -> tuple[Reals, Reals]:
        nonlocal farthest
        farthest = max(farthest, float(x.max()))
        return x * 0 - 2.0, x * 0 - 1.0

    with pytest.raises(NotCertified, match="up to 1e\\+200"):
        invert(above, (-10.0, -10.0), 1.0, 1.0, math.inf)
    assert farthest <= 1e200
    assert invert(above, (-10.0, -10.0), 1.0, 1.0, 1e300).upper == 1e300


def test_noise_next_to_the_root() -> None:
    """A point that is close enough is the end, also where noise has one farther right above it.

    At small epsilons the closed profile of a Gaussian has this noise.
    """
    for mu in np.linspace(0.00326, 0.00327, 100):
        assert GDP(mu=float(mu)).epsilon(delta=1e-6).relative_width < 1e-10


def test_many_crossings() -> None:
    """Both ends of each are proved by values there; a function that proves nothing has no ends."""
    levels = np.array([0.5, 2.0, 30.0, 1e-9, 1.0])

    def brackets(x: Reals, rows: np.ndarray) -> tuple[Reals, Reals]:
        value = -((x / levels[rows, None]) ** 2) + 0.01 * np.sin(50.0 * x / levels[rows, None])
        blur = np.where(rows[:, None] == 4, np.nan, 1e-9)
        return value - blur, value + blur

    every = np.arange(levels.size)
    target = np.full(levels.shape, -9.0)
    lower, upper = crossings(brackets, (target, target), np.ones(5), 1.0 / levels)
    assert np.isnan(lower[4])
    assert np.isnan(upper[4])
    known = every[:4]
    assert (brackets(lower[known, None], known)[0] >= -9.0).all()
    assert (brackets(upper[known, None], known)[1] <= -9.0).all()
    assert (upper[known] - lower[known] < 1e-6 * upper[known]).all()
