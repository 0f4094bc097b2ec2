"""Gaussian noise that is correlated between rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import L1, L2, L2Contribution, ReplaceOne, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    BufferedToeplitz,
    FixedEpochs,
    LowerTriangular,
    MatrixMechanism,
    MinSeparation,
    SingleParticipation,
    SquareRoot,
    Toeplitz,
    Tree,
    TreeAggregation,
)
from tests.contracts.mechanism_contract import MechanismContract, one_bad

SINGLE = SingleParticipation()


def noisy(sigma: float, **changes: Any) -> MatrixMechanism[Any]:  # noqa: ANN401
    """Four rounds with the square root as factor, a record in two of them."""
    usual = {"factor": SquareRoot(rounds=4), "sensitivity": L2(1), "participation": FixedEpochs(2)}
    return MatrixMechanism(sigma=sigma, **{**usual, **changes})


class TestMatrixMechanism(MechanismContract):
    """A record takes part in every other round."""

    def mechanism(self) -> MatrixMechanism[Any]:
        """Much noise."""
        return noisy(2)

    def data(self) -> object:
        """One number a round."""
        return [[0.5], [1.0], [-2.0], [0.25]]

    def neighbour(self) -> object:
        """Rounds 1 and 3 moved by 1."""
        return [[1.5], [1.0], [-1.0], [0.25]]

    def increasing_noise(self) -> Sequence[MatrixMechanism[Any]]:
        """Three of them."""
        return [noisy(sigma) for sigma in (1, 2, 4)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        return one_bad(
            noisy,
            good={"sigma": 1},
            bad={
                "sigma": (0, -1, "1", None),
                "factor": ([1, 0.5], None, 4),
                "sensitivity": (1, L1(1), None),
                "participation": (2, None, FixedEpochs(3)),
                "query": (3,),
            },
        )


@pytest.mark.parametrize(
    ("factor", "participation", "method"),
    [
        (SquareRoot(rounds=1000), MinSeparation(100), "envelope"),
        (SquareRoot(rounds=1000, bands=100), MinSeparation(100), "orthogonal"),
        (Toeplitz([1, -0.5, 0.25], rounds=12), FixedEpochs(4), "orthogonal"),
        (Toeplitz([1, 0, 0, 3], rounds=8), MinSeparation(2), "dual"),
        (LowerTriangular([[1, 0, 0], [-0.5, 1, 0], [0.3, -0.7, 1]]), MinSeparation(1), "dual"),
        (
            BufferedToeplitz(weights=[0.35, 0.15], decays=[0.95, 0.5], rounds=100),
            MinSeparation(20),
            "envelope",
        ),
        (Toeplitz([1, -0.5, 0.25, 0.1, -0.2], rounds=30), MinSeparation(2), "row-maxima"),
        (Tree(rounds=1000), MinSeparation(100), "tree"),
        (Tree(rounds=9), MinSeparation(3), "dual"),
    ],
    ids=str,
)
def test_every_method_is_certified(factor: Any, participation: Any, method: str) -> None:  # noqa: ANN401
    """The checker computes the sensitivity again, by each method."""
    noise = MatrixMechanism(
        factor=factor, sigma=5, sensitivity=L2(1), participation=participation
    ).guarantee()
    certificate = noise.certify(delta=1e-6)

    assert dict(noise.derivation.parameters)["method"] == method
    assert isinstance(proofs.check(certificate), proofs.VerifiedUnder)


def test_a_thousand_rounds_are_accounted_in_a_second() -> None:
    """Of processor time, once everything is imported."""
    start = time.process_time()
    noisy(5, factor=SquareRoot(rounds=1000), participation=MinSeparation(7)).guarantee()
    assert time.process_time() - start < 1


def test_replacing_a_record_moves_twice() -> None:
    """A contribution counts once under zero-out, and twice under replace-one."""
    once = noisy(2, sensitivity=L2Contribution(3, ZeroOut())).guarantee()
    twice = noisy(2, sensitivity=L2Contribution(3, ReplaceOne())).guarantee()

    assert once.mu_squared == 9 * noisy(2).guarantee().mu_squared
    assert twice.mu_squared == 4 * once.mu_squared


def test_the_identity_is_composition() -> None:
    """Independent noise in every round costs as many rounds as a record takes part in."""
    factor = Toeplitz([1], rounds=12)
    cost = noisy(2, factor=factor, participation=MinSeparation(3)).guarantee()

    assert cost.mu_squared == Fraction(4, 4)


def test_trees_cost_their_levels() -> None:
    """Ten levels over a thousand rounds, for a record in one of them."""
    tree = TreeAggregation(rounds=1000, sigma=1, sensitivity=L2(1), participation=SINGLE)

    assert tree.guarantee().mu_squared == 10


def test_acts_on_as_many_rows_as_rounds() -> None:
    """Other shapes are refused."""
    with pytest.raises(ParameterError, match="4 rows"):
        noisy(1).release([[1.0]])
    with pytest.raises(ParameterError, match="4 rows"):
        noisy(1).release(3.0)
