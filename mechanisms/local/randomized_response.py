"""Local randomisers of a category: randomised response, hashing, subsets, bits; and surveys."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Final, TypeAlias, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import CalibrationError, DominatingPair, ParameterError, arguments
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.guarantees.derivation import Attained, Theorem
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.laplace import RandomizedResponsePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.readable import Readable
from dpproof.accountant.relation import R, Relation, ReplaceOne
from dpproof.accountant.side_conditions import CATEGORIES, OUTPUT_ALONE, RANDOM_BITS
from dpproof.mechanisms import parameters
from dpproof.mechanisms.local.reports import (
    MOST_EPSILON,
    EpsilonReport,
    FrequencyOracle,
    Report,
    kept_confidence,
    one_category,
    require_reports,
    share_down,
)
from dpproof.mechanisms.mechanism import Outputs
from dpproof.mechanisms.samplers import (
    Rng,
    bernoulli,
    randomized_response,
    repeated_values,
    subsets_without_replacement,
    uniform_below,
)

_MOST_EPSILON, _MOST_CATEGORIES, _MOST_ESTIMATED = 1024, 2**62, 2**20

MECHANISM_RANDOMIZED_RESPONSE: Final = Theorem(
    rule="mechanism/randomized-response",
    source="by definition, all pairs of categories being alike",
    attained=Attained.WHOLE,  # two categories of one record
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
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
        return self._dominated(
            MECHANISM_RANDOMIZED_RESPONSE,
            f"randomised response at epsilon {show(self.epsilon)} on {self.categories} "
            f"categories is dominated by its laws at two of them ({self.relation})",
            Product.of(RandomizedResponsePair(epsilon=self.epsilon, categories=self.categories)),
            assumptions=(CATEGORIES(categories=self.categories), RANDOM_BITS(), OUTPUT_ALONE()),
            epsilon=self.epsilon,
            categories=self.categories,
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
        """Return how often each category was released: reports are of shape (n,)."""
        if self.categories > _MOST_ESTIMATED:
            raise ParameterError("categories", self.categories, "at most 2^20 to be estimated")
        rows = require_reports(np.asarray(reports)[..., None], 1, "categories of shape (n,)")
        if rows.min() < 0 or rows.max() >= self.categories:
            raise ParameterError("reports", "others", f"categories from 0 to {self.categories - 1}")
        return np.bincount(rows.ravel(), minlength=self.categories).astype(np.int64), len(rows)


_MOST_CELLS: Final = 65_537

MECHANISM_LOCAL_REPORT: Final = Theorem(
    rule="mechanism/local-report",
    source="proofs/theory/local.md",
    attained=Attained.WHOLE,  # two categories of one record
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
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
        return self._apart(
            MECHANISM_LOCAL_REPORT,
            f"the cell of {self.cells} kept with probability {show(self.keep)}",
            apart * self.keep,
            apart * (1 - self.keep) / (self.cells - 1),
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
    return all(number % k for k in range(2, math.isqrt(number) + 1))


def _digits(number: int, base: int, width: int = 1) -> list[int]:
    digits: list[int] = []
    while number or len(digits) < width:
        number, digit = divmod(number, base)
        digits.append(digit)
    return digits


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
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
        return self._apart(
            MECHANISM_LOCAL_REPORT,
            f"a set of {d} of {k} categories, with the true one with probability {show(self.keep)}",
            self.keep * Fraction(k - d, k - 1),
            (1 - self.keep) * Fraction(d, k - 1),
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


class BitReport(Report[R], ABC):
    """One bit for each category: 1 with probability ``keep`` for the true one, else ``flip``."""

    __slots__ = ()

    @property
    @abstractmethod
    def keep(self) -> Fraction:
        """Return the probability that the bit of the true category is 1."""

    @property
    @abstractmethod
    def flip(self) -> Fraction:
        """Return the probability that the bit of another category is 1."""

    @final
    def guarantee(self) -> DominatingPair[R]:
        """Return the pair of the laws of the two bits in which two categories differ."""
        return self._of_bits(self.keep, self.flip)

    @final
    def _of_bits(self, keep: Fraction, flip: Fraction) -> DominatingPair[R]:
        said = f"{self.categories} bits, 1 with probability {show(keep)}, of others {show(flip)}"
        up, down = keep * (1 - flip), flip * (1 - keep)
        return self._apart(
            MECHANISM_LOCAL_REPORT, said, up, down, kind="bits", keep=keep, flip=flip
        )

    @final
    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw bits: int64 of shape (datasets, count, categories)."""
        truth = one_category(self.query, datasets, self.categories)
        size = len(truth) * count
        bits = bernoulli(self.flip, size * self.categories, rng).reshape(len(truth), count, -1)
        own = bernoulli(self.keep, size, rng).reshape(len(truth), count)
        for i, category in enumerate(truth):
            bits[i, :, category] = own[i]
        return bits.astype(np.int64)

    @property
    @final
    def chances(self) -> tuple[Fraction, Fraction]:
        """Return how likely the bit of the true category is 1, and that of another."""
        return self.keep, self.flip

    @final
    def support(self, reports: object) -> tuple[NDArray[np.int64], int]:
        """Return how many bits of each category are 1: reports are of shape (n, categories)."""
        bits = require_reports(reports, self.categories, f"bits of shape (n, {self.categories})")
        if ((bits != 0) & (bits != 1)).any():
            raise ParameterError("reports", "other numbers", "bits, 0 or 1")
        return bits.sum(axis=0), len(bits)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class UnaryEncoding(BitReport[R], EpsilonReport[R]):
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
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> UnaryEncoding(epsilon=1, categories=4, relation=AddRemove()).release(2).shape
        (4,)
    """

    symmetric: bool = field(default=False, converter=parameters.flag)

    @property
    def keep(self) -> Fraction:
        """Return the probability of a 1 for the true category."""
        return share_down(self.epsilon / 2, 1, 1) if self.symmetric else Fraction(1, 2)

    @property
    def flip(self) -> Fraction:
        """Return the probability of a 1 for another category."""
        return 1 - (self.keep if self.symmetric else share_down(self.epsilon, 1, 1))


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Rappor(BitReport[R]):
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

    def permanent(self) -> DominatingPair[R]:
        """Return the joint guarantee of all reports made of one permanent response."""
        half = self.f / 2
        return self._of_bits(1 - half, half)


_KINDS: Final = (RandomizedResponse, UnaryEncoding, SubsetSelection, LocalHashing)
_LEAST: Final = 2.0**-10  # epsilon
_CLOSE: Final = 1e-4  # relative, of epsilon. Heuristic: the one returned meets the error.

Oracle: TypeAlias = FrequencyOracle[Relation]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SurveyOption(Readable):
    """One way to ask.

    ``error`` is half the width of the interval of normal size of one category.
    """

    mechanism: Oracle
    epsilon: float
    error: float


def plan_survey(
    *,
    categories: int,
    people: int,
    error: arguments.Number,
    confidence: arguments.Number = 0.95,
    frequency: arguments.Number | None = None,
    relation: Relation | None = None,
) -> tuple[SurveyOption, ...]:
    """Return ways to ask so many people that meet an error, the least epsilon first.

    Randomised response, unary encoding, subset selection and local hashing are compared, each with
    its best epsilon. The error is half the width of ``Frequencies.normal`` of one category: the
    guaranteed intervals are wider.

    Args:
        categories: that a person may answer, from 2 to 2^20.
        people: who report, at least 1.
        error: wanted, in (0, 1): 0.02 is two percentage points.
        confidence: of each interval by itself.
        frequency: of the category that the error is about, in [0, 1]; None is the worst.
        relation: of the mechanisms, by default ReplaceOne(): any answer may become any other.
    Raises:
        CalibrationError: no mechanism meets the error at an epsilon up to 32.
    Example:
        >>> best = plan_survey(categories=4, people=1000, error=0.02)[0]
        >>> type(best.mechanism).__name__, round(best.epsilon, 2)
        ('RandomizedResponse', 3.43)
    """
    size, wanted = arguments.count(people=people), float(arguments.open_probability(error=error))
    kept = kept_confidence(confidence)
    deviations = NormalDist().inv_cdf(0.5 + kept / 2)
    share = None if frequency is None else arguments.probability(frequency=frequency)
    neighbours = ReplaceOne() if relation is None else relation
    options = []
    for kind in _KINDS:

        def build(epsilon: float, kind: Callable[..., Oracle] = kind) -> Oracle:
            return kind(epsilon=epsilon, categories=categories, relation=neighbours)

        def misses(epsilon: float, build: Callable[[float], Oracle] = build) -> bool:
            return deviations * _deviation(build(epsilon), size, share) > wanted

        if misses(MOST_EPSILON):
            continue
        low = _LEAST if misses(_LEAST) else _LEAST / 2
        epsilon = bisect(misses, low, float(MOST_EPSILON), near=_CLOSE)[1]
        mechanism = build(epsilon)
        half = deviations * _deviation(mechanism, size, share)
        options.append(SurveyOption(mechanism=mechanism, epsilon=epsilon, error=half))
    if not options:
        raise CalibrationError(
            f"{size} people do not give an error of {wanted:g} at any epsilon up to {MOST_EPSILON}"
        )
    return tuple(sorted(options, key=lambda option: option.epsilon))


def _deviation(mechanism: Oracle, people: int, frequency: Fraction | None) -> float:
    """Return an estimate's deviation; the variance is linear in the frequency: worst at an end."""
    truly, falsely = mechanism.chances
    if not truly > falsely:
        return math.inf
    ends = falsely * (1 - falsely), truly * (1 - truly)
    spread = max(ends) if frequency is None else (1 - frequency) * ends[0] + frequency * ends[1]
    return math.sqrt(float(spread) / people) / float(truly - falsely)
