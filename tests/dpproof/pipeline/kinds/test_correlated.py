"""Words for correlated noise: each is the mechanism that it names."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant import GDP, L2, CyclicPoisson, L2Contribution, ReplaceOne
from dpproof.accountant.errors import PrivacyError
from dpproof.errors import InputError
from dpproof.mechanisms import (
    BufferedToeplitz,
    FixedEpochs,
    LowerTriangular,
    MatrixMechanism,
    MinSeparation,
    SquareRoot,
    Toeplitz,
    TreeAggregation,
)
from dpproof.pipeline.parse import parse
from dpproof.proofs import VerifiedUnder, check

ROUNDS = "noise_multiplier = 4\nrounds = 12\n"


def guarantee(mechanism: str, parameters: str, relation: str = "zero-out") -> Any:  # noqa: ANN401
    """The guarantee of a file of one stage."""
    head = f'[pipeline]\nrelation = "{relation}"\ndelta = 1e-6\n[[stage]]\nname = "one"\n'
    pipeline = parse(tomllib.loads(f'{head}mechanism = "{mechanism}"\n{parameters}'), "file")
    return pipeline.stages[0].guarantee(pipeline.relation)


@pytest.mark.parametrize(
    ("word", "parameters", "factor"),
    [
        ("square-root-factor", ROUNDS, SquareRoot(rounds=12)),
        ("square-root-factor", f"{ROUNDS}bands = 3\n", SquareRoot(rounds=12, bands=3)),
        (
            "toeplitz-factor",
            f"{ROUNDS}coefficients = [[1, -0.5]]\n",
            Toeplitz([1, -0.5], rounds=12),
        ),
        (
            "buffered-factor",
            f"{ROUNDS}buffers = [[0.35, 0.95], [0.15, 0.5]]\n",
            BufferedToeplitz(weights=[0.35, 0.15], decays=[0.95, 0.5], rounds=12),
        ),
    ],
)
def test_words_name_factors(word: str, parameters: str, factor: Any) -> None:  # noqa: ANN401
    """A stage costs what the mechanism with that factor costs, for each participation."""
    for often, participation in (
        ("separation = 3", MinSeparation(3)),
        ("separation = 3\nparticipations = 2", MinSeparation(3, participations=2)),
        ("batches = 4", FixedEpochs(3)),
    ):
        mine = MatrixMechanism(
            factor=factor, sigma=4, sensitivity=L2(1), participation=participation
        ).guarantee()
        assert guarantee(word, parameters + often).mu_squared == mine.mu_squared


def test_rows_and_trees_and_contributions() -> None:
    """A replaced record moves a round by twice its contribution."""
    rows = guarantee(
        "triangular-factor",
        "sigma = 4\ncontribution = 3\nfactor = [[1, 0], [-0.5, 1]]\nseparation = 1",
        "replace-one",
    )
    tree = guarantee("tree-aggregation", f"{ROUNDS}separation = 12")

    assert (
        rows.mu_squared
        == MatrixMechanism(
            factor=LowerTriangular([[1, 0], [-0.5, 1]]),
            sigma=4,
            sensitivity=L2Contribution(3, ReplaceOne()),
            participation=MinSeparation(1),
        )
        .guarantee()
        .mu_squared
    )
    assert (
        tree.mu_squared
        == TreeAggregation(rounds=12, sigma=4, sensitivity=L2(1), participation=MinSeparation(12))
        .guarantee()
        .mu_squared
    )
    assert isinstance(tree, GDP)
    assert isinstance(check(tree.certify(delta=1e-6)), VerifiedUnder)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ("", "separation: missing"),
        ("batches = 5\n", "a divisor of rounds = 12"),
        ("batches = 4\nparticipations = 2\n", "left out with batches"),
        ("separation = 2\nbatches = 4\n", "not both"),
        ("separation = 2\nbands = 13\n", "at most 12"),
    ],
)
def test_what_does_not_fit_is_refused(parameters: str, told: str) -> None:
    """When a record takes part is stated, once, and fits the rounds."""
    with pytest.raises((InputError, PrivacyError), match=told):
        guarantee("square-root-factor", ROUNDS + parameters)


def test_toeplitz_factors_have_one_list() -> None:
    """Several lists of coefficients are no Toeplitz factor."""
    with pytest.raises((InputError, PrivacyError), match="one array of numbers"):
        guarantee("toeplitz-factor", f"{ROUNDS}separation = 2\ncoefficients = [[1], [2]]\n")


IN_TURN = 'separation = 4\nbands = 4\nsampling = { scheme = "cyclic-poisson", '


def test_samples_of_parts_in_turn() -> None:
    """A stage costs what the allocated mechanism costs, and its rate can be replaced."""
    mine = MatrixMechanism(
        factor=SquareRoot(rounds=12, bands=4),
        sigma=4,
        sensitivity=L2Contribution(1, ReplaceOne()),
        participation=MinSeparation(4),
    ).allocate(CyclicPoisson(sampling_rate=0.25, cycle=4))
    stage = f"{ROUNDS}{IN_TURN}rate = 0.25, cycle = 4 }}\n"
    found = guarantee("square-root-factor", stage, "replace-one")

    expected: Any = mine.guarantee()

    assert found.forward == expected.forward
    text = f'[pipeline]\nrelation = "zero-out"\ndelta = 1e-6\n[[stage]]\nname = "one"\n{stage}'
    parsed = parse(tomllib.loads(f'{text}mechanism = "square-root-factor"'), "file").stages[0]
    assert parsed.numbers()["rate"] == Fraction(1, 4)
    assert parsed.replaced("rate", Fraction(1, 8)).sampling == CyclicPoisson(
        sampling_rate=0.125, cycle=4
    )


@pytest.mark.parametrize(
    ("word", "parameters", "told"),
    [
        ("square-root-factor", f"{IN_TURN}rate = 0.25, cycle = 3 }}", "write separation = 3"),
        ("square-root-factor", f"{IN_TURN}rate = 1, cycle = 4 }}", "expected a rate below 1"),
        (
            "square-root-factor",
            f"participations = 2\n{IN_TURN}rate = 0.25, cycle = 4 }}",
            "without participations",
        ),
        (
            "square-root-factor",
            IN_TURN.replace("bands = 4", "bands = 5") + "rate = 0.25, cycle = 4 }",
            "at least as many parts as bands",
        ),
        (
            "tree-aggregation",
            IN_TURN.replace("bands = 4\n", "") + "rate = 0.25, cycle = 4 }",
            "triangular factor",
        ),
    ],
)
def test_samples_that_do_not_fit_are_refused(word: str, parameters: str, told: str) -> None:
    """The cycle is the separation, and the factor has at most as many bands."""
    with pytest.raises((InputError, PrivacyError), match=told):
        guarantee(word, ROUNDS + parameters)
