"""Digests change with what they are of, and with nothing else."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import GDP, L2, Poisson
from dpproof.auditing import Unidentified, identity
from dpproof.mechanisms import Gaussian
from tests.auditing.samplers import laplace


def scaled(scale: float, *, offset: float = 0.0) -> Callable[[float], float]:
    """A closure."""
    return lambda value: scale * value + offset


class Model:
    """Something with a state."""

    def __init__(self, weights: object) -> None:
        self.weights = weights

    def release(self, value: float) -> float:
        """A bound method."""
        return value


def cyclic(value: int) -> list[Any]:
    """A list that has itself."""
    made: list[Any] = [value]
    made.append(made)
    return made


DIFFERENT: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "numbers": (lambda: 1, lambda: 2),
    "types": (lambda: 1, lambda: 1.0),
    "bits of a float": (lambda: 0.1 + 0.2, lambda: 0.3),
    "signs of zero": (lambda: 0.0, lambda: -0.0),
    "text": (lambda: "a", lambda: b"a"),
    "order": (lambda: [1, 2], lambda: [2, 1]),
    "brackets": (lambda: [[1], 2], lambda: [[1, 2]]),
    "keys": (lambda: {"a": 1}, lambda: {"b": 1}),
    "sets": (lambda: {"a", "b"}, lambda: {"a", "c"}),
    "cycles": (lambda: cyclic(1), lambda: cyclic(2)),
    "arrays": (lambda: np.arange(3.0), lambda: np.arange(3.0) + 1),
    "types of arrays": (lambda: np.zeros(2), lambda: np.zeros(2, dtype=np.int64)),
    "shapes": (lambda: np.zeros((2, 3)), lambda: np.zeros((3, 2))),
    "objects in arrays": (
        lambda: np.array(["a", None], dtype=object),
        lambda: np.array(["b", None], dtype=object),
    ),
    "closures": (lambda: scaled(1.0), lambda: scaled(2.0)),
    "defaults": (lambda: scaled(1.0, offset=1.0), lambda: scaled(1.0)),
    "partials": (lambda: functools.partial(scaled, 1.0), lambda: functools.partial(scaled, 2.0)),
    "functions": (lambda: len, lambda: sum),
    "ufuncs": (lambda: np.abs, lambda: np.exp),
    "methods": (lambda: Model([1]).release, lambda: Model([2]).release),
    "states": (lambda: Model([1]), lambda: Model([2])),
    "classes": (lambda: Model, lambda: Path),
    "generators": (lambda: np.random.default_rng(1), lambda: np.random.default_rng(2)),
    "samplers": (lambda: laplace(1.0), lambda: laplace(1.5)),
    "claims": (lambda: GDP(mu=1), lambda: GDP(mu=2)),
    "mechanisms": (
        lambda: Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.1)),
        lambda: Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.2)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_values_have_different_digests(name: str) -> None:
    """Each pair differs, and each value made again is the same."""
    first, second = DIFFERENT[name]

    assert identity(first(), code=False) == identity(first(), code=False)
    assert identity(second(), code=False) == identity(second(), code=False)
    assert identity(first(), code=False) != identity(second(), code=False)


def test_sharing_makes_no_difference() -> None:
    """Equal structure has an equal digest, whether parts are the same object or equal ones."""
    part = [1, 2]

    assert identity([part, part], code=False) == identity([[1, 2], [1, 2]], code=False)


def test_a_claim_that_was_asked_is_the_same_claim() -> None:
    """What a guarantee remembers of its answers is no part of it."""
    claim = Gaussian(sigma=1, sensitivity=L2(1)).repeat(10).guarantee()
    before = identity(claim, code=False)
    claim.epsilon(delta=1e-6)

    assert identity(claim, code=False) == before


@pytest.mark.parametrize("value", [(_ for _ in [1]), open(os.devnull, "rb")])  # noqa: PTH123, SIM115
def test_refuses_what_has_no_state(value: object) -> None:
    """A generator and an open file cannot be told from others."""
    with pytest.raises(Unidentified, match="give a version"):
        identity(value, code=False)


def test_refuses_code_without_a_source() -> None:
    """A module that no file is known of."""
    made: dict[str, Any] = {"__name__": "made_of_nothing"}
    exec("def sampler(value, size, rng):\n    return value", made)  # noqa: S102
    with pytest.raises(Unidentified, match="made_of_nothing"):
        identity(made["sampler"])

    assert identity(made["sampler"], code=False)
