"""Unary encoding of a category, each bit randomised by itself; and RAPPOR."""

from __future__ import annotations

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
    Report,
    one_category,
    report_guarantee,
    require_reports,
    share_down,
)
from dpproof.mechanisms.outputs import Outputs
from dpproof.mechanisms.parameters import named
from dpproof.mechanisms.samplers.coins import bernoulli
from dpproof.mechanisms.samplers.rng import Rng

_HALF: Final = Fraction(1, 2)


MECHANISM_UNARY_ENCODING: Final = Theorem(
    rule="mechanism/local-report",
    source="proofs/theory/local.md",
    attained=Attained.WHOLE,  # two categories of one record
)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class UnaryEncoding(EpsilonReport[R]):
    """Release one bit for each category: that of the true one is 1 with probability ``keep``.

    The bit of every other category is 1 with probability ``flip``. Optimised unary encoding has
    keep = 1/2 and flip = 1/(e^epsilon + 1): the least variance of frequencies; the symmetric one,
    of basic RAPPOR, keep = 1 - flip = e^(epsilon/2)/(e^(epsilon/2) + 1). Both are rounded to
    multiples of 2^-60, on the private side, and are what is drawn exactly.

    It acts on ONE categorical value, as ``RandomizedResponse`` does.

    Statement: two categories differ in the laws of two bits; the report is dominated by
        (Bern(keep) x Bern(flip), Bern(flip) x Bern(keep)), in both orders, and attains it.
    Assumes: categories; random bits; output alone.
    Source: proofs/theory/local.md; Wang, Blocki, Li & Jha (USENIX Security 2017) for the
        optimised encoding; Erlingsson, Pihur & Korolova (CCS 2014) for RAPPOR.

    Args:
        epsilon: nats, above 0, at most 32.
        categories: from 2 to 2^20; values are 0, 1, ...
        symmetric: whether ones and zeros are treated alike.
        relation: the neighbouring relation.
        query: data -> a category; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is no category.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> UnaryEncoding(epsilon=1, categories=4, relation=AddRemove()).release(2).shape
        (4,)
    """

    symmetric: bool = field(default=False, converter=parameters.flag)

    @property
    def keep(self) -> Fraction:
        """Return the probability of a 1 for the true category."""
        return share_down(self.epsilon / 2, 1, 1) if self.symmetric else _HALF

    @property
    def flip(self) -> Fraction:
        """Return the probability of a 1 for another category."""
        return 1 - (self.keep if self.symmetric else share_down(self.epsilon, 1, 1))

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of the laws of the two bits in which two categories differ."""
        return bits_guarantee(self.relation, self.categories, self.keep, self.flip)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw bits: int64 of shape (datasets, count, categories)."""
        truth = one_category(self.query, datasets, self.categories)
        return random_bits(truth, count, self.categories, (self.keep, self.flip), rng)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Return how likely the bit of the true category is 1, and that of another."""
        return self.keep, self.flip

    def support(self, reports: object) -> tuple[NDArray[np.int64], int]:
        """Return how many bits of each category are 1: reports are of shape (n, categories)."""
        return supporting_bits(reports, self.categories)


@final
@frozen(kw_only=True, repr=False, field_transformer=named)
class Rappor(Report[R]):
    """Basic RAPPOR: bits of the category, randomised for good and then again for each report.

    The permanent response turns each bit into a fair coin with probability f; the report is 1 with
    probability ``one`` where the permanent bit is 1, and ``zero`` where it is 0. Every release
    draws a permanent response anew: the statement is of one report of one value.

    Statement: the report is unary encoding with keep = (1 - f/2) one + (f/2) zero and flip = (f/2)
        one + (1 - f/2) zero. All reports made of one permanent response together are
        post-processing of it, which is unary encoding with keep = 1 - f/2 and flip = f/2.
    Assumes: categories; random bits; output alone.
    Source: proofs/theory/local.md; Erlingsson, Pihur & Korolova (CCS 2014), Section 2.

    Args:
        f: of the permanent response, from 0 to 1.
        one: in [0, 1], not ``zero``.
        zero: in [0, 1].
        categories: from 2 to 2^20.
        relation: the neighbouring relation.
        query: data -> a category; None when the data is already that value.
    Raises:
        ParameterError: a parameter outside its domain; on release, a value that is no category.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> Rappor(f=0.5, one=0.75, zero=0.5, categories=4, relation=AddRemove()).keep
        Fraction(11, 16)
    """

    f: Fraction = field(converter=parameters.probability)
    one: Fraction = field(converter=parameters.probability)
    zero: Fraction = field(converter=parameters.probability)

    def __attrs_post_init__(self) -> None:
        if self.f == 1 or self.one <= self.zero:
            allowed = "above zero, and f below 1"
            raise ParameterError("one", (self.f, self.one, self.zero), allowed)

    @property
    def keep(self) -> Fraction:
        """Return the probability that the report's bit of the true category is 1."""
        return (1 - self.f / 2) * self.one + self.f / 2 * self.zero

    @property
    def flip(self) -> Fraction:
        """Return the probability that the report's bit of another category is 1."""
        return self.f / 2 * self.one + (1 - self.f / 2) * self.zero

    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of the laws of the two bits in which two categories differ."""
        return bits_guarantee(self.relation, self.categories, self.keep, self.flip)

    def permanent(self) -> DominatingPair[R]:
        """Return the joint guarantee of all reports made of one permanent response."""
        half = self.f / 2
        return bits_guarantee(self.relation, self.categories, 1 - half, half)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw bits: int64 of shape (datasets, count, categories)."""
        truth = one_category(self.query, datasets, self.categories)
        return random_bits(truth, count, self.categories, (self.keep, self.flip), rng)

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """Return how likely the bit of the true category is 1, and that of another."""
        return self.keep, self.flip

    def support(self, reports: object) -> tuple[NDArray[np.int64], int]:
        """Return how many bits of each category are 1: reports are of shape (n, categories)."""
        return supporting_bits(reports, self.categories)


def bits_guarantee(
    relation: R, categories: int, keep: Fraction, flip: Fraction
) -> DominatingPair[R]:
    """Return the guarantee of bits that are 1 with probability keep, or flip.

    Example:
        >>> from dpproof.accountant import AddRemove
        >>> bits_guarantee(AddRemove(), 3, _HALF, Fraction(1, 4)).delta(epsilon=0).upper < 0.26
        True
    """
    said = f"{categories} bits, 1 with probability {show(keep)}, of others {show(flip)}"
    up, down = keep * (1 - flip), flip * (1 - keep)
    return report_guarantee(
        MECHANISM_UNARY_ENCODING,
        relation,
        (up, down),
        categories,
        said,
        kind="bits",
        keep=keep,
        flip=flip,
    )


def random_bits(
    truth: NDArray[np.int64],
    count: int,
    categories: int,
    chances: tuple[Fraction, Fraction],
    rng: Rng,
) -> NDArray[np.int64]:
    """Draw bits of categories, 1 with the first chance for the true one and else with the second.

    Example:
        >>> from dpproof.mechanisms.samplers.rng import ReplayRng
        >>> random_bits(np.array([1]), 2, 3, (Fraction(1), Fraction(0)), ReplayRng(1)).tolist()
        [[[0, 1, 0], [0, 1, 0]]]
    """
    keep, flip = chances
    size = len(truth) * count
    bits = bernoulli(flip, size * categories, rng).reshape(len(truth), count, categories)
    own = bernoulli(keep, size, rng).reshape(len(truth), count)
    for i, category in enumerate(truth):
        bits[i, :, category] = own[i]
    return bits.astype(np.int64)


def supporting_bits(reports: object, categories: int) -> tuple[NDArray[np.int64], int]:
    """Return the sums of bits, and the number of reports.

    Raises:
        ParameterError: another shape, or numbers that are no bits.
    Example:
        >>> supporting_bits([[1, 0], [1, 1]], 2)
        (array([2, 1]), 2)
    """
    bits = require_reports(reports, categories, f"bits of shape (n, {categories})")
    if ((bits != 0) & (bits != 1)).any():
        raise ParameterError("reports", "other numbers", "bits, 0 or 1")
    return bits.sum(axis=0), len(bits)
