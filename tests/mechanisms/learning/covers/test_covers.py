"""Public lists of directions."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    Cover,
    CoverUnion,
    CubeSurface,
    FiniteCover,
    Polygon,
    RademacherProjection,
    RandomDirections,
)

COVERS: list[Cover] = [
    FiniteCover([[1.0, 0.0], [0.0, 2.0], [-3.0, 4.0]]),
    RandomDirections(size=9_001, dimension=3, seed=4),
    CubeSurface(dimension=4, cells=3),
    CubeSurface(dimension=1, cells=7),
    CubeSurface(dimension=3, cells=4),
    Polygon(corners=36),
]


@pytest.mark.parametrize("cover", COVERS, ids=lambda cover: cover.description)
def test_a_direction_is_a_function_of_its_number(cover: Cover) -> None:
    """Any range gives the same bits as all at once; norms are 1; pairs are opposite."""
    together = cover.directions(0, cover.size)

    assert together.shape == (cover.size, cover.dimension)
    assert np.linalg.norm(together, axis=1) == pytest.approx(1, abs=1e-7)
    for start, stop in ((0, 1), (cover.size - 1, cover.size), (1, cover.size), (2, 3)):
        if 0 <= start < stop <= cover.size:
            assert (cover.directions(start, stop) == together[start:stop]).all()
    if cover.paired:
        half = cover.size // 2 * 2
        assert (together[1:half:2] == -together[0:half:2]).all()
    with pytest.raises(ParameterError, match="range"):
        cover.directions(0, cover.size + 1)
    assert pickle.loads(pickle.dumps(cover)) == cover  # noqa: S301 - our own bytes
    assert len({cover, *COVERS}) == len(COVERS)


def test_directions_are_uniform_and_of_their_seed() -> None:
    """Mean 0 and covariance I/k within five standard errors, from one direction of each pair."""
    drawn = RandomDirections(size=40_000, dimension=3, seed=1).directions(0, 40_000)[::2]
    other = RandomDirections(size=40_000, dimension=3, seed=2).directions(0, 40_000)[::2]

    assert np.abs(drawn.mean(axis=0)).max() < 5 / np.sqrt(3 * 20_000)
    assert np.abs(drawn.T @ drawn / 20_000 - np.eye(3) / 3).max() < 5 / np.sqrt(20_000)
    assert not (drawn == other).any()


@pytest.mark.parametrize(("dimension", "cells"), [(2, 5), (3, 4), (4, 9)])
def test_the_surface_of_a_cube_covers_the_sphere(dimension: int, cells: int) -> None:
    """Every direction is within the stated chord of one; no two cells have the same."""
    cover = CubeSurface(dimension=dimension, cells=cells)
    found = cover.directions(0, cover.size)
    points = np.random.default_rng(1).normal(size=(3_000, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    chords = np.sqrt(2 - 2 * (points @ found.T).max(axis=1))

    assert len(np.unique(found.round(6), axis=0)) == cover.size
    assert chords.max() <= cover.radius
    assert chords.max() > cover.radius / 3


def test_pairs_miss_a_cap_no_more_often() -> None:
    """(1 - 2 p)^(size/2) <= (1 - p)^size, and random covers do so: 600 of 8 directions."""
    rng, missed = np.random.default_rng(3), 0
    for seed in range(600):
        target = rng.normal(size=3)
        found = RandomDirections(size=8, dimension=3, seed=seed).directions(0, 8)
        missed += (found @ target).max() < 0.6 * np.linalg.norm(target)
    share = (1 - 0.6) / 2  # of the sphere in three dimensions

    assert missed / 600 <= (1 - share) ** 8 + 5 * np.sqrt(0.17 * 0.83 / 600)
    assert missed / 600 == pytest.approx((1 - 2 * share) ** 4, abs=5 * np.sqrt(0.13 * 0.87 / 600))


def test_refusals() -> None:
    """Numbers outside their domains, and what is no cover."""
    bad: list[Any] = [
        lambda: RandomDirections(size=0, dimension=2, seed=1),
        lambda: RandomDirections(size=10**9, dimension=2, seed=1),
        lambda: RandomDirections(size=9, dimension=2, seed=0.5),  # type: ignore[arg-type]
        lambda: CubeSurface(dimension=7, cells=1_000),
        lambda: CubeSurface(dimension=0, cells=1),
        lambda: Polygon(corners=5),
        lambda: Polygon(corners=2),
        lambda: FiniteCover([[0.0, 0.0]]),
        lambda: FiniteCover([]),
        lambda: CoverUnion(covers=()),
        lambda: CoverUnion(covers=("circle",)),  # type: ignore[arg-type]
        lambda: CoverUnion(covers=(Polygon(corners=4),), maps=(None, None)),
        lambda: CoverUnion(covers=(Polygon(corners=4),), maps=("id",)),  # type: ignore[arg-type]
    ]
    for position, construct in enumerate(bad):
        with pytest.raises(ParameterError):
            pytest.fail(f"{position}: {construct()}")


def test_a_union_says_its_covers_and_maps() -> None:
    """They are part of what the derivation calls it."""
    plan = RademacherProjection(features=5, dimension=2, seed=3)
    union = CoverUnion(covers=(Polygon(corners=4), Polygon(corners=8)), maps=(plan, None))

    assert union.size == 12
    assert "RademacherProjection" in union.description
    assert "rows as they are" in union.description
