"""One of several mechanisms, drawn uniformly."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from dpproof.accountant.errors import NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.sensitivity import L1, L2
from dpproof.mechanisms import Count, DiscreteGaussian, Gaussian, Laplace, UniformChoice
from tests.contracts.mechanism_contract import FALSE_ALARM, MechanismContract, one_bad


def noise(sigma: float, query: Count | None = None) -> Gaussian[AddRemove]:
    """Gaussian noise on a value that moves by 1."""
    return Gaussian(sigma=sigma, sensitivity=L2(1), query=query)


class TestUniformChoice(MechanismContract):
    """Little noise or much."""

    def mechanism(self) -> UniformChoice[AddRemove]:
        """Two Gaussians."""
        return UniformChoice(parts=(noise(2), noise(5)))

    def data(self) -> object:
        """A value."""
        return 3.5

    def neighbour(self) -> object:
        """Moved by the sensitivity."""
        return 4.5

    def increasing_noise(self) -> Sequence[UniformChoice[AddRemove]]:
        """Both parts grow noisier."""
        return [UniformChoice(parts=(noise(s), noise(2 * s))) for s in (0.5, 2, 30)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """No parts, parts that are no mechanisms, and parts on records beside parts on values."""
        mixed = (noise(1), noise(1, query=Count()))
        bad = (None, (), [noise(1)], (noise(1), 3), noise(1), mixed)
        return one_bad(UniformChoice, good={"parts": (noise(1),)}, bad={"parts": bad})


def test_every_part_is_drawn_as_often_as_another() -> None:
    """Indices are uniform and outputs belong to them, except with probability 1e-8."""
    seed, size = secrets.randbits(64), 6_000
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    parts = tuple(noise(s) for s in (1e-9, 1.0, 1e9))
    outputs = UniformChoice(parts=parts).release_many(0.0, size, rng=np.random.default_rng(seed))
    band = math.sqrt(math.log(2 * 3 / FALSE_ALARM) / (2 * size))
    sizes = np.digitize(np.abs(outputs["1"]), [1e-7, 1e2])

    assert np.abs(np.bincount(outputs["0"], minlength=3) / size - 1 / 3).max() < band
    assert (sizes[outputs["0"] == 0] == 0).all()
    assert np.mean(sizes == outputs["0"]) > 0.99


def test_parts_without_a_worst_one_are_a_mixture() -> None:
    """Noises of two kinds cost the mean of their profiles."""
    laplace = Laplace(scale=1, sensitivity=L1(1))
    drawn = UniformChoice(parts=(noise(1), laplace)).guarantee().delta(epsilon=0.5)
    each = [part.guarantee().delta(epsilon=0.5).upper for part in (noise(1), laplace)]

    assert drawn.upper == pytest.approx(sum(each) / 2, rel=1e-9)


def test_refusals() -> None:
    """Curves beside pairs and different relations, and outputs of different shapes on release."""
    curve = DiscreteGaussian(sigma=9, sensitivity=L2(3))
    replaced = Gaussian(sigma=1, sensitivity=L2(1, ReplaceOne()))
    with pytest.raises(NotImplied):
        UniformChoice(parts=(noise(1), curve)).guarantee()
    with pytest.raises(RelationMismatch):
        UniformChoice(parts=(noise(1), replaced))  # type: ignore[misc]
    shapes = UniformChoice(parts=(noise(1), noise(1).repeat(2)))
    with pytest.raises(ParameterError, match="one shape"):
        shapes.release_many(0.0, 200)
