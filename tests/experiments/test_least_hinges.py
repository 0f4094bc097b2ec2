"""Choosing a margin before any training."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpproof.accountant import AddRemove, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    Chained,
    GeneralisedExponential,
    MarginDescent,
    RandomDirections,
    Records,
)
from experiments.least_hinges import ChosenDescent, LeastHinges


def test_least_hinges_are_exact_and_move_as_stated() -> None:
    """Against sums in rationals; a new record adds from 0 to 1 + 1/margin."""
    cover = RandomDirections(size=40, dimension=2, seed=1)
    least = LeastHinges(margins=[0.125, 0.5], cover=cover)
    rng = np.random.default_rng(2)
    rows, labels = rng.normal(size=(9, 2)), rng.choice([-1.0, 1.0], size=9)
    plain = least(Records(rows, labels))
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True) * labels[:, np.newaxis]
    products = cover.directions(0, 40) @ units.T

    for margin, found in zip((0.125, 0.5), plain, strict=True):
        by_hand = np.maximum(0, 1 - products / margin).sum(axis=1).min()
        assert float(found) == pytest.approx(by_hand, abs=9 * 3e-5)
    for _ in range(200):
        row, label = rng.normal(size=2), rng.choice([-1.0, 1.0])
        more = least(Records(np.vstack([rows, row]), np.append(labels, label)))
        for before, after, moved in zip(plain, more, least.sensitivities, strict=True):
            assert 0 <= after - before <= moved
    pick = GeneralisedExponential(
        epsilon=1, sensitivities=least.sensitivities, query=least, relation=AddRemove()
    )
    learners = [
        MarginDescent(margin=m, norm=1, steps=2, mu=0.25, relation=AddRemove(), records=9)
        for m in (0.125, 0.5)
    ]
    chain = Chained(first=pick, then=ChosenDescent(learners))
    index, model = chain.release(Records(rows, labels))

    assert index in (0, 1)
    assert model.weights.shape == (2,)
    assert chain.guarantee().epsilon(delta=1e-6).upper < 2.3


def test_refusals() -> None:
    """Margins, covers and learners outside their domains are named."""
    cover = RandomDirections(size=4, dimension=2, seed=1)
    bad: list[tuple[dict[str, Any], str]] = [
        ({"margins": [], "cover": cover}, "margins must be"),
        ({"margins": [2.0], "cover": cover}, "margins must be"),
        ({"margins": [2.0**-30], "cover": cover}, "at least 2"),
        ({"margins": [0.5], "cover": None}, "cover must be"),
    ]
    for given, text in bad:
        with pytest.raises(ParameterError, match=text):
            LeastHinges(**given)
    mine = MarginDescent(margin=1, norm=1, steps=1, mu=1, relation=ReplaceOne())
    other = MarginDescent(margin=1, norm=1, steps=1, mu=1, relation=AddRemove(), records=3)
    for learners in ([], None, [mine, 3], [mine, other]):
        with pytest.raises(ParameterError, match="learners must be"):
            ChosenDescent(learners)  # type: ignore[arg-type]
