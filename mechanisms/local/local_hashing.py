"""Local hashing of a category: a public random hash, and randomised response on its value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R
from dpproof.mechanisms import parameters
from dpproof.mechanisms.local.reports import (
    EpsilonReport,
    one_category,
    report_guarantee,
    require_reports,
    share_down,
)
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.coins import bernoulli
from dpproof.mechanisms.samplers.rng import Rng
from dpproof.mechanisms.samplers.uniform import uniform_below

_MOST_CELLS: Final = 65_537

MECHANISM_LOCAL_HASHING: Final = Theorem(
    rule="mechanism/local-report",
    source="proofs/theory/local.md",
    attained=Attained.WHOLE,  # two categories of one record
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class LocalHashing(EpsilonReport[R]):
    """Release a fresh hash function and the category's cell, by randomised response on the cells.

    With g cells, g prime, a category is its digits x_1, ..., x_d in base g, and its cell is a_1
    x_1 + ... + a_d x_d modulo g for uniform a: any two categories share a cell with probability
    exactly 1/g. The cell is kept with probability ``keep`` = e^epsilon/(e^epsilon + g - 1),
    rounded down to a multiple of 2^-60, else it is another one, all equally likely. g next to
    e^epsilon + 1 is best.

    Statement: given the hash, which is independent of the data, two categories in one cell have
        equal laws, and others those of randomised response: the report is dominated by the pair
        with masses (1 - 1/g) keep and (1 - 1/g)(1 - keep)/(g - 1), in both orders, and attains it.
    Assumes: categories; random bits; output alone.
    Source: proofs/theory/local.md; Wang, Blocki, Li & Jha (USENIX Security 2017).

    Args:
        epsilon: nats, above 0, at most 32.
        categories: from 2 to 2^20; values are 0, 1, ...
        cells: g, a prime; the smallest at or above e^epsilon + 1, at most 65,537, without it.
        relation: the neighbouring relation.
        query: data -> a category; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is no category.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> report = LocalHashing(epsilon=1, categories=100, cells=5, relation=AddRemove())
        >>> report.release(42).shape
        (4,)
    """

    cells: int = field(converter=parameters.whole)

    @cells.default
    def _best(self) -> int:
        least = min(math.ceil(math.exp(min(self.epsilon, Fraction(11)))) + 1, _MOST_CELLS)
        return next(g for g in range(least, 2 * least) if _is_prime(g))

    @cells.validator
    def _prime(self, _parameter: object, cells: int) -> None:
        if not 2 <= cells <= _MOST_CELLS or not _is_prime(cells):
            allowed = f"a prime from 2 to {_MOST_CELLS}"
            raise ParameterError("cells", cells, allowed, "as every digit is hashed")

    @property
    def keep(self) -> Fraction:
        """Return the probability that the released cell is the category's."""
        return share_down(self.epsilon, 1, self.cells - 1)

    @property
    def digits(self) -> int:
        """Return the number of digits of a category in base g."""
        return len(_digits(self.categories - 1, self.cells))

    def guarantee(self) -> DominatingPair[R]:
        """Return the guarantee of randomised response on the cells, diluted by shared cells."""
        apart = 1 - Fraction(1, self.cells)
        return report_guarantee(
            MECHANISM_LOCAL_HASHING,
            self.relation,
            (apart * self.keep, apart * (1 - self.keep) / (self.cells - 1)),
            self.categories,
            f"the cell of {self.cells} kept with probability {show(self.keep)}",
            kind="hash",
            cells=self.cells,
            keep=self.keep,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw the hash's a_1, ..., a_d and a cell: int64 of shape (datasets, count, d + 1)."""
        truth = one_category(self.query, datasets, self.categories)
        g, width = self.cells, self.digits
        digits = np.array([_digits(int(x), g, width) for x in truth], dtype=np.int64)
        size = len(truth) * count
        hashes = uniform_below(g, size * width, rng).astype(np.int64).reshape(-1, count, width)
        own = (hashes * digits[:, None, :]).sum(axis=2) % g
        kept = bernoulli(self.keep, size, rng).reshape(own.shape)
        other = uniform_below(g - 1, size, rng).astype(np.int64).reshape(own.shape)
        cell = np.where(kept, own, (own + 1 + other) % g)
        return np.concatenate([hashes, cell[:, :, None]], axis=2)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Return how likely a hash sends the true category to its cell, and how likely another."""
        return self.keep, Fraction(1, self.cells)

    def support(self, reports: object) -> tuple[NDArray[np.int64], int]:
        """Return how many hashes send each category to their cell.

        Reports are of shape (n, digits + 1).
        """
        g, width = self.cells, self.digits
        rows = require_reports(reports, width + 1, f"of shape (n, {width + 1})")
        support = np.zeros(self.categories, dtype=np.int64)
        for category in range(self.categories):
            sent = rows[:, :-1] @ np.array(_digits(category, g, width), dtype=np.int64) % g
            support[category] = (sent == rows[:, -1]).sum()
        return support, len(rows)


def _is_prime(number: int) -> bool:
    """Return whether a number from 2 is a prime."""
    return all(number % k for k in range(2, math.isqrt(number) + 1))


def _digits(number: int, base: int, width: int = 1) -> list[int]:
    """Return at least ``width`` digits of a number."""
    digits: list[int] = []
    while number or len(digits) < width:
        number, digit = divmod(number, base)
        digits.append(digit)
    return digits
