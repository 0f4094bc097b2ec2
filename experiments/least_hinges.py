"""The least hinge losses at several margins, for choosing one before training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, final

import numpy as np

from dpproof.accountant import arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import ParameterError
from dpproof.accountant.form import withholding
from dpproof.accountant.guarantees.dominating_pair import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import R
from dpproof.mechanisms.combinators.composed import FollowUp
from dpproof.mechanisms.learning.bounded_updates import signed, signs
from dpproof.mechanisms.learning.covers import Cover
from dpproof.mechanisms.learning.descent import MarginDescent
from dpproof.mechanisms.learning.records import PRODUCT_BITS, on_grid
from dpproof.mechanisms.mechanism import Outputs
from dpproof.mechanisms.samplers.rng import Rng

# Of a margin; products are rounded down to it, record by record.
_BITS: Final = 20
_ENTRIES: Final = 2**20


@final
@dataclass(frozen=True, slots=True, init=False)
class LeastHinges:
    """The least sum of hinge losses max(0, 1 - y <w, x>/margin) over a public cover, by margin.

    It is a query for ``GeneralisedExponential``, whose ``sensitivities`` are those here. Rows and
    directions are scaled to norm 1.

    Statement: adding a record adds at most 1 + 1/margin to the sum of every direction and takes
        nothing away, so the least sum rises by at most that; replacing one moves it by at most
        that in either direction.
    Source: Bassily, Mohri & Suresh, arXiv:2204.10376, appendix F, over a cover in place of a ball,
        so that the least sum is exact; proofs/theory/margins.md, section 9.

    Args:
        margins: from 2^-20 to 1, public; rounded down to multiples of 2^-20.
        cover: of directions, public.
    Raises:
        ParameterError: a parameter outside its domain; when asked, data that is not labelled rows
            as wide as the cover.
    Example:
        >>> from dpproof.mechanisms.learning.covers import Polygon
        >>> least = LeastHinges(margins=[0.25, 0.5], cover=Polygon(corners=64))
        >>> [float(one) for one in least.sensitivities]
        [5.0, 3.0]
        >>> [float(one) for one in least([([0.0, 1.0], 1), ([0.0, -2.0], -1)])]
        [0.0, 0.0]
    """

    margins: tuple[Fraction, ...]
    cover: Cover

    def __init__(self, *, margins: Sequence[Number], cover: Cover) -> None:
        value: object = cover
        if not isinstance(value, Cover):
            raise ParameterError("cover", value, "a cover such as RandomDirections(...)")
        listed: object = margins
        if not isinstance(listed, Sequence | np.ndarray) or not len(listed):
            raise ParameterError("margins", listed, "at least one number")
        units = [int(check.rate(margins=one) * 2**_BITS) for one in margins]
        if min(units) < 1:
            raise ParameterError("margins", margins, "at least 2^-20")
        object.__setattr__(self, "margins", tuple(Fraction(one, 2**_BITS) for one in units))
        object.__setattr__(self, "cover", cover)

    @property
    def sensitivities(self) -> tuple[Fraction, ...]:
        """Return how far one record moves each loss: 1 + 1/margin."""
        return tuple(1 + 1 / margin for margin in self.margins)

    @withholding
    def __call__(self, data: object) -> list[Fraction]:
        """Return the least sums, exactly; they are private.

        Proof: products are integers of at most 2^52 units, which rounded down to 2^-20 are at most
            2^20; a hinge is an integer of at most 2^21, and a sum of 2^29 of them below 2^53.
        """
        rows = signed(on_grid(data, signs, norm=None, features=self.cover.dimension))
        units = [float(margin * 2**_BITS) for margin in self.margins]
        least = [float("inf")] * len(units)
        size = max(1, _ENTRIES // max(1, len(rows)))
        for start in range(0, self.cover.size, size):
            directions = self.cover.directions(start, min(start + size, self.cover.size)) * 2.0**28
            products = np.floor(directions @ rows.T * 2.0 ** (_BITS - PRODUCT_BITS))
            for place, unit in enumerate(units):
                sums = np.maximum(unit - products, 0.0).sum(axis=1)
                least[place] = min(least[place], float(sums.min()))
        return [Fraction(one) / Fraction(unit) for one, unit in zip(least, units, strict=True)]


@final
@dataclass(frozen=True, slots=True, init=False)
class ChosenDescent(FollowUp[R]):
    """Train at the margin that was chosen: one descent of several, named by a released index.

    Statement: all descents are mu-GDP with mu at most the largest, whichever is chosen.

    Args:
        learners: ``MarginDescent`` at each margin, all with one relation and one map.
    Outputs:
        As for ``MarginDescent``.
    Raises:
        ParameterError: not such learners.
    Example:
        >>> from dpproof.accountant import ReplaceOne
        >>> shared = {"norm": 1, "steps": 9, "mu": 0.25, "relation": ReplaceOne()}
        >>> several = [MarginDescent(margin=margin, **shared) for margin in (0.1, 0.5)]
        >>> ChosenDescent(several).guarantee().mu
        Fraction(1, 4)
    """

    learners: tuple[MarginDescent[R], ...]
    relation: R

    def __init__(self, learners: Sequence[MarginDescent[R]]) -> None:
        members: object = learners
        if not isinstance(members, Sequence) or not members:
            raise ParameterError("learners", members, "at least one MarginDescent(...)")
        if not all(isinstance(one, MarginDescent) for one in learners):
            raise ParameterError("learners", members, "MarginDescent(...) each")
        if len({(one.relation, one.map) for one in learners}) > 1:
            raise ParameterError("learners", members, "of one relation and one map")
        object.__setattr__(self, "learners", tuple(learners))
        object.__setattr__(self, "relation", learners[0].relation)

    def guarantee(self) -> Guarantee[R]:
        """Return the guarantee of the descent with the largest mu."""
        stated = [one.guarantee() for one in self.learners]
        gdps = [one for one in stated if isinstance(one, GDP)]
        return max(gdps, key=lambda one: one.mu_squared)

    def draw(self, data: object, outputs: Outputs, rng: Rng) -> Outputs:
        """Draw one run for each index: records of shape (count,)."""
        runs = [self.learners[int(index)].draw([data], 1, rng)[0] for index in outputs]
        return np.concatenate(runs)
