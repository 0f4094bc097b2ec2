"""Factors, by their rows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import BufferedToeplitz, LowerTriangular, SquareRoot, Toeplitz, Tree


def test_the_square_root_squares_to_prefix_sums() -> None:
    """C C is the matrix of ones, up to the last place; coefficients are those of the formula."""
    factor = SquareRoot(rounds=40)
    matrix = np.array(factor.matrix(), dtype=np.float64)

    np.testing.assert_allclose(matrix @ matrix, np.tril(np.ones((40, 40))), atol=1e-13)
    for j, one in enumerate(factor.coefficients):
        assert 0 <= Fraction(comb(2 * j, j), 4**j) - one < Fraction(1, 2**60)


def test_buffers_are_sums_of_powers() -> None:
    """Up to the roundings of each round."""
    factor = BufferedToeplitz(weights=[0.35, 0.15], decays=[0.95, 0.5], rounds=50)
    for j in range(1, 50):
        exact = 0.35 * 0.95 ** (j - 1) + 0.15 * 0.5 ** (j - 1)
        assert float(factor.coefficients[j]) == pytest.approx(exact, abs=1e-14)


@pytest.mark.parametrize("rounds", [1, 2, 5, 8, 11])
def test_a_tree_has_every_complete_node_once(rounds: int) -> None:
    """Sums over 2^l rounds in a row, aligned, that are over before the last."""
    rows = {tuple(map(int, row)) for row in Tree(rounds=rounds).matrix()}
    wanted = {
        tuple(int(start <= i < start + width) for i in range(rounds))
        for width in (1, 2, 4, 8)
        for start in range(0, rounds - width + 1, width)
    }
    assert rows == wanted
    assert len(Tree(rounds=rounds).matrix()) == len(wanted)


def test_bands_are_zero_beyond() -> None:
    """Zeros at the end of a list are no bands."""
    assert Toeplitz([1, 2, 0, 0], rounds=9) == Toeplitz([1, 2], rounds=9)
    assert LowerTriangular([[1, 0, 0], [2, 1, 0], [0, 2, 1]]).bands == 2
    assert LowerTriangular([[1, 0, 0], [2, 1, 0], [3, 2, 1]]).bands == 3
    assert [[*map(int, row)] for row in Toeplitz([1, 2], rounds=3).matrix()] == [
        [1, 0, 0],
        [2, 1, 0],
        [0, 2, 1],
    ]


@pytest.mark.parametrize(
    "build",
    [
        lambda: LowerTriangular([[1, 1], [0, 1]]),
        lambda: LowerTriangular([[0]]),
        lambda: LowerTriangular([[1, 0]]),
        lambda: LowerTriangular([]),
        lambda: LowerTriangular(np.eye(65).tolist()),
        lambda: LowerTriangular([[float("nan")]]),
        lambda: Toeplitz([], rounds=3),
        lambda: Toeplitz([0, 1], rounds=3),
        lambda: Toeplitz([1, 1, 1, 1], rounds=3),
        lambda: SquareRoot(rounds=2**15),
        lambda: SquareRoot(rounds=8, bands=9),
        lambda: SquareRoot(rounds=0),
        lambda: BufferedToeplitz(weights=[1], decays=[1], rounds=3),
        lambda: BufferedToeplitz(weights=[-1], decays=[0.5], rounds=3),
        lambda: BufferedToeplitz(weights=[1, 1], decays=[0.5], rounds=3),
        lambda: BufferedToeplitz(weights=[], decays=[], rounds=3),
        lambda: Tree(rounds=0),
    ],
)
def test_refuses(build: Callable[[], object]) -> None:
    """Shapes that do not fit, and numbers outside their domain."""
    with pytest.raises(ParameterError):
        build()
