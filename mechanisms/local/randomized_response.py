"""Randomised response on k categories."""

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
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.randomized_response import RandomizedResponsePair
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import CATEGORIES, OUTPUT_ALONE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.local.reports import FrequencyOracle, one_category, require_reports
from dpproof.mechanisms.noise.broadcast import repeated_values
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers import randomized_response
from dpproof.mechanisms.samplers.rng import Rng

_MOST_EPSILON = 1024
_MOST_CATEGORIES = 2**62
_MOST_ESTIMATED = 2**20

MECHANISM_RANDOMIZED_RESPONSE: Final = Theorem(
    rule="mechanism/randomized-response",
    source="by definition, all pairs of categories being alike",
    attained=Attained.WHOLE,  # two categories of one record
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class RandomizedResponse(FrequencyOracle[R]):
    """Release one of k categories: the true one with weight e^epsilon, each other with weight 1.

    It acts on ONE categorical value: the answer of one person, or a query's categorical result.
    Any category may become any other between neighbours, so the statement holds under every
    relation. A list of people's answers is refused: released answer by answer it tells how many
    there are, which add-remove does not allow; under replace-one, map over the records.

    Statement: the output is dominated by its laws at two different categories, in both
        directions; in particular it is epsilon-DP, strictly better at every delta > 0 when k > 2.
    Assumes: categories; random bits; output alone.
    Source: by definition; all pairs of categories are the same pair up to renaming.

    Args:
        epsilon: nats, above 0, at most 1024.
        categories: k, from 2 to 2^62; values are 0, ..., k - 1.
        relation: the neighbouring relation.
        query: data -> a category; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is not one
            category.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> flip = RandomizedResponse(epsilon=1, categories=4, relation=AddRemove())
        >>> flip.release(2) in range(4)
        True
    """

    epsilon: Fraction = field(
        converter=parameters.positive,
        validator=parameters.within(0, _MOST_EPSILON, f"at most {_MOST_EPSILON}"),
    )
    categories: int = field(
        default=2,
        converter=parameters.whole,
        validator=parameters.within(2, _MOST_CATEGORIES, "from 2 to 2^62"),
    )
    relation: R = field(validator=parameters.neighbours)

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of the laws at two different categories, the same in both directions."""
        derivation = applied(
            MECHANISM_RANDOMIZED_RESPONSE,
            f"randomised response at epsilon {show(self.epsilon)} on {self.categories} "
            f"categories is dominated by its laws at two of them ({self.relation})",
            assumptions=(CATEGORIES(categories=self.categories), RANDOM_BITS(), OUTPUT_ALONE()),
            epsilon=self.epsilon,
            categories=self.categories,
        )
        pair = Product.of(RandomizedResponsePair(epsilon=self.epsilon, categories=self.categories))
        return DominatingPair(
            forward=pair, backward=pair, relation=self.relation, derivation=derivation
        )

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Return categories as int64 of shape (datasets, count)."""
        values = repeated_values(one_category(self.query, datasets, self.categories), count)
        return randomized_response(values, self.categories, self.epsilon, rng)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Return how likely the true category is released, and how likely any other.

        The law has e^epsilon in it; these are its probabilities rounded to floats.
        """
        others = math.exp(-float(self.epsilon))
        truly = 1 / (1 + (self.categories - 1) * others)
        return Fraction(truly), Fraction(truly * others)

    def support(self, reports: object) -> tuple[NDArray[np.int64], int]:
        """Return how often each category was released: reports are of shape (n,).

        Raises:
            ParameterError: other numbers, or more than 2^20 categories.
        """
        if self.categories > _MOST_ESTIMATED:
            raise ParameterError("categories", self.categories, "at most 2^20 to be estimated")
        rows = require_reports(np.asarray(reports)[..., None], 1, "categories of shape (n,)")
        if rows.min() < 0 or rows.max() >= self.categories:
            raise ParameterError("reports", "others", f"categories from 0 to {self.categories - 1}")
        return np.bincount(rows.ravel(), minlength=self.categories).astype(np.int64), len(rows)
