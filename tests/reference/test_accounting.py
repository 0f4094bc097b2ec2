"""Values made by ball arithmetic, independent of any accountant.

Source: accounting.json next to this file, a copy of the project's reference/accounting.json
(made with Arb; about 18 significant digits, parameters are the binary64 values written there).
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dpproof.accountant import answers
from dpproof.accountant.bound import Bound
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair

ROWS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "accounting.json").read_text(encoding="utf-8")
)
DIGITS = Fraction(1, 10**17)  # relative, of the values on file
NARROW = 1e-9


def pair_of(part: dict[str, Any]) -> Pair:
    """The pair in the remove direction."""
    if part["mechanism"] == "laplace":
        return LaplacePair(epsilon=1 / Fraction(part["scale"]))
    mu_squared = 1 / Fraction(part["sigma"]) ** 2
    if part["rate"] is None:
        return GaussianPair(mu_squared=mu_squared)
    rate = Fraction(part["rate"])
    return SubsampledGaussianPair(mu_squared=mu_squared, sampling_rate=rate, removal=True)


def product_of(row: dict[str, Any]) -> Product:
    """The row's product in the remove direction."""
    return Product.merge([Factor(pair_of(part), part["count"]) for part in row["parts"]])


def holds(found: Bound, value: Fraction) -> bool:
    """Whether a bracket holds a value known to 18 digits."""
    slack = value * DIGITS
    return Fraction(found.lower) <= value + slack and value - slack <= Fraction(found.upper)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['name']}-{row['epsilon']:.4g}")
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_delta(row: dict[str, Any], direction: str) -> None:
    """The bracket of each direction holds the value, to six digits at least."""
    product = product_of(row)
    found = answers.delta(product if direction == "remove" else product.swapped(), row["epsilon"])
    value = Fraction(row[f"delta_{direction}"])
    assert holds(found, value)
    assert found.relative_width <= 1e-6


def name(row: dict[str, Any]) -> str:
    """What to call a row."""
    return f"{row['name']}-{row['epsilon']:.4g}"


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_epsilon_is_narrow(row: dict[str, Any]) -> None:
    """The bracket of epsilon has nine digits."""
    product = product_of(row)
    found = answers.larger_epsilon(product, product.swapped(), float(row["delta"]))
    assert found.relative_width <= NARROW


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_delta_is_narrow(row: dict[str, Any]) -> None:
    """So has that of delta."""
    product = product_of(row)
    assert answers.delta(product, float(row["epsilon"])).relative_width <= NARROW


@pytest.mark.parametrize("row", ROWS, ids=name)
def test_epsilon(row: dict[str, Any]) -> None:
    """Asked for the row's delta, the engine answers with the row's epsilon."""
    delta = float(row["delta"])
    product = product_of(row)
    found = answers.larger_epsilon(product, product.swapped(), delta)
    assert found.lower * (1 - 1e-12) <= row["epsilon"] <= found.upper * (1 + 1e-12)


def test_larger_direction_is_stated() -> None:
    """The file's delta is the larger of its two directions."""
    for row in ROWS:
        both = Fraction(row["delta_remove"]), Fraction(row["delta_add"])
        assert Fraction(row["delta"]) == max(both)
