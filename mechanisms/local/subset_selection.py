"""Subset selection: a random set of categories that more likely holds the true one."""

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
    MOST_EPSILON,
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
from dpproof.mechanisms.samplers.subset import subsets_without_replacement

MECHANISM_SUBSET_SELECTION: Final = Theorem(
    rule="mechanism/local-report",
    source="proofs/theory/local.md",
    attained=Attained.WHOLE,  # two categories of one record
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class SubsetSelection(EpsilonReport[R]):
    """Release a uniformly random set of d categories that holds the true one with a probability.

    With k categories that probability is ``keep`` = d e^epsilon/(d e^epsilon + k - d), rounded
    down to a multiple of 2^-60, on the private side. d next to k/(e^epsilon + 1) is best for
    frequencies.

    Statement: sets that hold both of two categories, or neither, have one law; the report is
        dominated by the pair with masses keep (k - d)/(k - 1) and (1 - keep) d/(k - 1), in both
        orders, and attains it.
    Assumes: categories; random bits; output alone.
    Source: proofs/theory/local.md; Ye & Barg (arXiv:1702.00610); Wang et al. (arXiv:1607.08025).

    Args:
        epsilon: nats, above 0, at most 32.
        categories: k, from 2 to 2^20; values are 0, 1, ...
        size: d, from 1 to k - 1; the whole number next to k/(e^epsilon + 1) without it.
        relation: the neighbouring relation.
        query: data -> a category; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is no category.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> len(SubsetSelection(epsilon=1, categories=10, relation=AddRemove()).release(4))
        3
    """

    size: int = field(converter=parameters.whole)

    @size.default
    def _best(self) -> int:
        power = math.exp(min(self.epsilon, Fraction(MOST_EPSILON)))
        return max(1, round(self.categories / Fraction(power + 1)))

    @size.validator
    def _within(self, _parameter: object, size: int) -> None:
        if not 1 <= size < self.categories:
            raise ParameterError("size", size, f"from 1 to {self.categories - 1}")

    @property
    def keep(self) -> Fraction:
        """Return the probability that the set holds the true category."""
        return share_down(self.epsilon, self.size, self.categories - self.size)

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of the sets that hold one of two categories and not the other."""
        k, d = self.categories, self.size
        return report_guarantee(
            MECHANISM_SUBSET_SELECTION,
            self.relation,
            (self.keep * Fraction(k - d, k - 1), (1 - self.keep) * Fraction(d, k - 1)),
            k,
            f"a set of {d} of {k} categories, with the true one with probability {show(self.keep)}",
            kind="subset",
            size=d,
            keep=self.keep,
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw sets as growing lists: int64 of shape (datasets, count, size)."""
        k, truth = self.categories, one_category(self.query, datasets, self.categories)
        inside = bernoulli(self.keep, len(truth) * count, rng).reshape(len(truth), count)
        drawn = np.empty((len(truth), count, self.size), dtype=np.int64)
        for i, category in enumerate(truth):
            for held in (0, 1):
                rows = np.flatnonzero(inside[i] == held)
                others = subsets_without_replacement(k - 1, self.size - held, len(rows), rng)
                own = np.full((len(rows), held), category, dtype=np.int64)
                sets = np.concatenate([others + (others >= category), own], axis=1)
                drawn[i, rows] = np.sort(sets, axis=1)
        return drawn

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Return how likely the set holds the true category, and how likely another."""
        k, d = self.categories, self.size
        return self.keep, (self.keep * (d - 1) + (1 - self.keep) * d) / (k - 1)

    def support(self, reports: object) -> tuple[NDArray[np.int64], int]:
        """Return how many sets hold each category: reports are of shape (n, size)."""
        k, d = self.categories, self.size
        rows = require_reports(reports, d, f"sets of shape (n, {d})")
        if rows.min() < 0 or rows.max() >= k:
            raise ParameterError("reports", "other numbers", f"categories from 0 to {k - 1}")
        return np.bincount(rows.ravel(), minlength=k).astype(np.int64), len(rows)
