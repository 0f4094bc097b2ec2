"""Averages of perturbed minima."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, ReplaceOne
from dpproof.mechanisms import AveragedPerturbation, Cube, Grid, HingeLoss, MilpOracle, Records
from dpproof.mechanisms.learning.separators.averaged_perturbation import Stability
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {
    "epsilon": 1,
    "delta": 1e-6,
    "space": Grid(1, 2),
    "calls": 2,
    "rate": 0.1,
    "loss": HingeLoss(),
}


class TestAveragedPerturbation(MechanismContract):
    """Two minima over five weights."""

    def mechanism(self) -> AveragedPerturbation[AddRemove]:
        """Return the mechanism at epsilon 1."""
        return AveragedPerturbation(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Integer rows of both labels."""
        return Records([[1], [-1], [0], [1]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[AveragedPerturbation[AddRemove]]:
        """Epsilon from 4 to a tenth."""
        return [
            AveragedPerturbation(**{**GOOD, "epsilon": e}, relation=AddRemove())
            for e in (4, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "epsilon": (*NOT_POSITIVE, 2.0**101),
            "delta": (0, 1, 2.0**-101, None),
            "space": (3, None, Cube(40)),
            "calls": (0, 1.5, 2**20 + 1),
            "rate": (*NOT_POSITIVE, 2.0**-101),
            "loss": ("hinge",),
            "oracle": ("milp", MilpOracle()),
            "relation": ("add-remove", None),
        }
        return one_bad(AveragedPerturbation, good={**GOOD, "relation": AddRemove()}, bad=bad)


def stability(a: float, dimensions: int = 3, calls: int = 1) -> Stability:
    """Rate times dimensions times slope of a, on a fine lattice."""
    slope = Fraction(2**20)
    return Stability(dimensions, slope, dimensions * slope / Fraction(a), calls, 1e-6)


def test_known_shares() -> None:
    """The mean share against its table, and the share that is hidden, against published values.

    With a mean share of a, 100 or 1,000 minima: .1780 and .0765 of the box for a = .04.
    """
    means = {0.001: 0.00399, 0.01: 0.0388, 0.05: 0.1737, 0.1: 0.3064, 0.5: 0.765}
    for a, mean in means.items():
        found = stability(a)
        assert found._moved(found.shift) == pytest.approx(mean, rel=1e-3)
    for mean, calls, share in ((0.04, 100, 0.1780), (0.04, 1000, 0.0765), (0.004, 1000, 0.01842)):
        some = stability(1, calls=calls)
        assert some._enough(mean, share * 1.001)
        assert not some._enough(mean, share * 0.999)


def test_minima_are_as_close_as_proved() -> None:
    """The mean distance of minima on neighbours, added up exactly over all geometric noise."""
    rng = np.random.default_rng(7)
    worst = 0.0
    for _ in range(60):
        top, slope = 6, 5
        scale = slope / rng.uniform(0.05, 0.5)
        noise = np.arange(int(40 * scale))[:, np.newaxis]
        mass = np.exp(-noise[:, 0] / scale) * -np.expm1(-1 / scale)
        first = rng.integers(-30, 60, size=top).cumsum()
        other = first + rng.integers(-slope, slope + 1, size=top).cumsum()
        where = [(one - noise * np.arange(top)).argmin(axis=1) for one in (first, other)]
        apart = float(mass @ np.abs(where[0] - where[1]))
        found = Stability(1, Fraction(slope), Fraction(scale), 1, 1e-6)
        worst = max(worst, apart / ((top - 1) * found._moved(found.shift)))

    assert 0.05 < worst <= 1


def test_shares_of_the_whole_box() -> None:
    """One minimum hides nothing, replacement costs more, and many minima find the best weight.

    False alarm: below 10^-9, as e^(-4) of the minima miss it and the Laplace noise is small.
    """
    assert AveragedPerturbation(**GOOD, relation=AddRemove()).share == 1
    many = {**GOOD, "calls": 2_000, "rate": 0.002}
    plain, replaced = (
        AveragedPerturbation(**many, relation=AddRemove()),
        AveragedPerturbation(**many, relation=ReplaceOne()),
    )
    assert plain.share < replaced.share < 0.1
    data = Records(np.ones((8_000, 1)), np.where(np.arange(8_000) < 6_000, 1, -1))
    near = (
        AveragedPerturbation(**{**many, "epsilon": 20}, relation=AddRemove())
        .release(data)
        .weights[0]
    )
    assert abs(near - 1) < 0.6
