"""The sensitivity of factors, against published values, brute force and dense algebra."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from dpproof.mechanisms import (
    BufferedToeplitz,
    FixedEpochs,
    LowerTriangular,
    MinSeparation,
    SingleParticipation,
    SquareRoot,
    Toeplitz,
    Tree,
)
from dpproof.mechanisms.correlated.factors import (
    Factor,
    Participation,
    Schedule,
    SquaredSensitivity,
    _dual,
    _gram,
    _row_maxima,
    squared_sensitivity,
)

SINGLE = SingleParticipation()
BUFFERS = BufferedToeplitz(weights=[0.35, 0.15], decays=[0.95, 0.5], rounds=100)


def squared(factor: Factor, participation: Participation) -> SquaredSensitivity:
    """The bound for one participation."""
    return squared_sensitivity(factor, participation.within(factor.rounds))


def dense(factor: Factor) -> NDArray[np.float64]:
    """The matrix in floating point."""
    return np.array(factor.matrix(), dtype=np.float64)


def allowed(schedule: Schedule) -> list[tuple[int, ...]]:
    """Every allowed set of rounds, by the definition."""
    sets = (
        chosen
        for size in range(1, schedule.participations + 1)
        for chosen in itertools.combinations(range(schedule.rounds), size)
    )
    gaps = ((chosen, np.diff(chosen)) for chosen in sets)
    if schedule.fixed:
        return [one for one, gap in gaps if not (gap % schedule.separation).any()]
    return [one for one, gap in gaps if (gap >= schedule.separation).all()]


def attacked(matrix: NDArray[np.float64], schedule: Schedule) -> float:
    """The largest norm over all patterns, by ascent over unit vectors from several starts."""
    gram, best, rng = matrix.T @ matrix, 0.0, np.random.default_rng(0)
    for chosen in allowed(schedule):
        x = gram[np.ix_(chosen, chosen)]
        for start in (np.ones((len(chosen), len(chosen))), rng.normal(size=x.shape)):
            v = start / np.linalg.norm(start, axis=1, keepdims=True)
            for _ in range(60):
                for place in range(len(v)):
                    along = x[place] @ v
                    v[place] = along / np.linalg.norm(along)
            best = max(best, float(np.einsum("ij,ik,jk->", x, v, v)))
    return math.sqrt(best)


@pytest.mark.parametrize(
    ("factor", "participation", "expected"),
    [
        (SquareRoot(rounds=8), SINGLE, 1.3108696576),
        (SquareRoot(rounds=8), MinSeparation(3), 2.7256311176),
        (SquareRoot(rounds=8), MinSeparation(2), 3.5719328695),
        (SquareRoot(rounds=8), FixedEpochs(4), 3.5719328695),
        (SquareRoot(rounds=8), MinSeparation(1), 6.5884736451),
        (SquareRoot(rounds=12), SINGLE, 1.3603957432),
        (SquareRoot(rounds=12), MinSeparation(2), 5.1802756592),
        (SquareRoot(rounds=1000), SINGLE, 1.8069319524),
        (SquareRoot(rounds=1000), MinSeparation(100), 9.1540430002),
        (SquareRoot(rounds=1000, bands=100), SINGLE, 1.5910223483),
        (SquareRoot(rounds=1000, bands=100), MinSeparation(100), 5.0312544287),
        (Tree(rounds=1000), SINGLE, math.sqrt(10)),
        (BUFFERS, SINGLE, 1.5768200462),
        (BUFFERS, MinSeparation(20), 4.3190133054),
        (Toeplitz([1, 0, 0, 3], rounds=8), MinSeparation(2), math.sqrt(37)),
        (Toeplitz([1, -0.5], rounds=3), MinSeparation(1), math.sqrt(5.5)),
    ],
    ids=str,
)
def test_values(factor: Factor, participation: Participation, expected: float) -> None:
    """Values of two independent scripts, and the truth where the first pattern is not worst."""
    assert math.sqrt(squared(factor, participation).value) == pytest.approx(expected, abs=1e-10)


def test_negative_products_need_vectors() -> None:
    """Of three rounds at angles of 120 degrees, 4.5 is proved; signs reach only 4."""
    gram = tuple(
        tuple(Fraction(1 if i == j else -1, 1 + (i != j)) for j in range(3)) for i in range(3)
    )
    signs = max(
        float(sum(gram[i][j] * s[i] * s[j] for i in range(3) for j in range(3)))
        for s in itertools.product((1, -1), repeat=3)
    )

    assert signs == 4.0
    assert 4.5 <= _dual(gram, [(0, 1, 2)]).value < 4.5 + 1e-6


def random_factor(rng: np.random.Generator, rounds: int) -> Factor:
    """A factor of any kind, with negative entries."""
    kind = rng.integers(3)
    if kind == 0:
        return Tree(rounds=rounds)
    entries = np.round(rng.normal(size=(rounds, rounds)), 2)
    if kind == 1:
        return Toeplitz([1.0, *entries[0, : rng.integers(1, rounds)]], rounds=rounds)
    lower = np.tril(entries, -1) + np.eye(rounds)
    return LowerTriangular(lower.tolist())


@pytest.mark.some(9)
@pytest.mark.parametrize("seed", range(9))
def test_no_attack_is_above(seed: int) -> None:
    """Patterns and unit vectors stay below the bound, and reach it where it is exact."""
    rng = np.random.default_rng(seed)
    rounds = int(rng.integers(3, 8))
    factor = random_factor(rng, rounds)
    choices: list[Any] = [SINGLE, MinSeparation(1), MinSeparation(2), MinSeparation(3)]
    choices += [MinSeparation(2, participations=2), FixedEpochs(rounds)]
    for participation in choices:
        schedule = participation.within(rounds)
        bound, attack = squared(factor, participation), attacked(dense(factor), schedule)
        assert attack <= math.sqrt(bound.value) * (1 + 1e-12)
        if bound.exact:
            assert attack == pytest.approx(math.sqrt(bound.value), rel=1e-9)
        if bound.method == "dual":
            assert attack == pytest.approx(math.sqrt(bound.value), rel=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_row_maxima_are_above(seed: int) -> None:
    """With too many patterns to list, the sum of absolute values of every one is below."""
    rng = np.random.default_rng(seed)
    factor = Toeplitz([1.0, *np.round(rng.normal(size=9), 2)], rounds=12)
    schedule = MinSeparation(2).within(12)
    gram = np.abs(dense(factor).T @ dense(factor))
    largest = max(gram[np.ix_(one, one)].sum() for one in allowed(schedule))

    assert float(_row_maxima(_gram(factor.matrix()), schedule).value) >= largest * (1 - 1e-12)


def test_duals_are_the_optimum_of_the_relaxation() -> None:
    """The least trace of a diagonal above X, by a solver of another kind, is no smaller."""
    factor = LowerTriangular([[1, 0, 0], [-0.5, 1, 0], [0.3, -0.7, 1]])
    gram = dense(factor).T @ dense(factor)

    def trace(y: NDArray[np.float64]) -> float:
        least = float(np.linalg.eigvalsh(np.diag(y) - gram)[0])
        return float(y.sum() - 3 * min(least, 0.0))

    found = optimize.minimize(trace, np.abs(gram).sum(axis=1), method="Nelder-Mead")
    assert float(squared(factor, MinSeparation(1)).value) == pytest.approx(found.fun, rel=1e-3)
