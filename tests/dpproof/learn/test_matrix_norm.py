"""Upper bounds of norms of matrices."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpproof.learn.certified_radius import lengths, norm_bound


@pytest.mark.parametrize("scale", [1.0, 2.0**-520, 2.0**500])
@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (9, 3), (6, 6), (5, 40)])
def test_is_above_the_norm_and_hardly(shape: tuple[int, int], scale: float) -> None:
    """Compared with singular values at 40 digits, tall, wide and of low rank, in any unit."""
    rng = np.random.default_rng(shape)
    plain = rng.normal(size=shape)
    low = np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1]))
    for matrix in (plain, low, np.zeros(shape), np.ones(shape)):
        with mpmath.workdps(40):
            exact = max(mpmath.svd_r(mpmath.matrix(matrix.tolist()), compute_uv=False))
            bound = mpmath.mpf(norm_bound(matrix * scale)) / mpmath.mpf(scale)

            assert exact <= bound <= exact * (1 + 1e-8)


def test_without_a_proof_it_is_the_frobenius_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the factorisation fails, the bound is coarser and still above."""

    def fails(_: object) -> None:
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "cholesky", fails)

    assert norm_bound(np.eye(4)) == pytest.approx(2)


def test_lengths_of_the_smallest_and_the_largest_vectors() -> None:
    """No square vanishes or overflows, under both norms."""
    vectors = np.array([[3.0, -4.0]]) * np.array([[1e-300], [1.0], [1e300], [0.0]])

    assert lengths(vectors) == pytest.approx([5e-300, 5, 5e300, 0])
    assert lengths(vectors, 1) == pytest.approx([7e-300, 7, 7e300, 0])
    assert (lengths(vectors)[:3] >= [5e-300, 5, 5e300]).all()
