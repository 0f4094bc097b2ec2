"""Choices by scores: the exponential mechanism and its relatives, the best few, and quantiles."""

import math
import numbers
from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, final

import numpy as np
from attrs import evolve, field, frozen
from numpy.typing import NDArray

from dpproof.accountant import BoundedRange, DataError, LInf, MetricDP, ParameterError, arguments
from dpproof.accountant.guarantees.derivation import Attained, Parameter, Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee, applied, rederived
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import MONOTONE, SAME_CANDIDATES
from dpproof.accountant.theorems.composition import post_process, self_compose
from dpproof.mechanisms import parameters
from dpproof.mechanisms.mechanism import Mechanism, NoiseMechanism, Outputs, QueryMechanism
from dpproof.mechanisms.parameters import Field
from dpproof.mechanisms.queries import Query, real_column, real_values
from dpproof.mechanisms.samplers import Rng, categorical_exp
from dpproof.mechanisms.samplers.arrays import scale as noise_scale
from dpproof.mechanisms.samplers.rounded import NoisyReals, largest_of_rows

_AT_ONCE: Final = 1 << 18  # Noisy numbers in memory at a time.


def one_direction(mechanism: Mechanism[Any], parameter: Field, value: bool) -> None:  # noqa: FBT001
    """Refuse a claim that no two scores move in opposite directions, under symmetric relations."""
    if value and mechanism.relation.symmetric:
        hint = "replacing a record can raise one score and lower another"
        raise ParameterError(parameter.name, value, f"False under {mechanism.relation}", hint)


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ScoreMechanism(NoiseMechanism[R], ABC):
    """A choice among scores, each of which moves by at most the sensitivity."""

    sensitivity: LInf[R] = field(validator=parameters.norms(LInf))
    monotone: bool = field(default=False, converter=parameters.flag, validator=one_direction)

    def _assumptions(self) -> tuple[str, ...]:
        assumptions = (*parameters.assumptions(self.sensitivity), SAME_CANDIDATES())
        return (*assumptions, MONOTONE()) if self.monotone else assumptions


@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class PathMechanism(ScoreMechanism[R], ABC):
    """A choice by noise of one scale, which is metric-DP along paths of scores."""

    epsilon: Fraction = field(converter=parameters.positive)

    def __attrs_post_init__(self) -> None:
        noise_scale(scale=self.scale)

    @property
    @final
    def scale(self) -> Fraction:
        """Return the scale of the noise, in the scores' unit."""
        return self.sensitivity.value * (1 if self.monotone else 2) / self.epsilon

    @final
    def _along_paths(
        self, theorem: Theorem, said: str, attained: Attained | None = None, **given: Parameter
    ) -> MetricDP[R]:
        """State metric-DP along paths of the noise that chooses."""
        derivation = applied(
            theorem,
            f"{said} of scale {show(self.scale)} on scores of sensitivity "
            f"{show(self.sensitivity.value)} is {show(self.epsilon)}-metric-DP along paths "
            f"({self.relation})",
            assumptions=self._assumptions(),
            attained=attained,
            **given,
            scale=self.scale,
            sensitivity=self.sensitivity.value,
            monotone=self.monotone,
        )
        return MetricDP(epsilon=self.epsilon, relation=self.relation, derivation=derivation)

    @final
    def _largest(
        self, datasets: Sequence[object], count: int, rng: Rng, *, signed: bool
    ) -> Outputs:

        def some(row: NDArray[np.float64], size: int) -> NDArray[np.int64]:
            noisy = NoisyReals(np.tile(row, size), self.scale, rng, signed=signed)
            return largest_of_rows(noisy, len(row))

        return in_parts(read_scores(self.query, datasets), count, some)


def read_scores(query: Query | None, datasets: Sequence[object]) -> NDArray[np.float64]:
    """Return one row of scores for each dataset."""
    scores = real_values(query, datasets)
    if scores.ndim != 2 or scores.shape[1] == 0:
        raise DataError("scores", scores[0], "one number per candidate, at least 1")
    return scores


def in_parts(
    scores: NDArray[np.float64], count: int, draw: Callable[[NDArray[np.float64], int], Outputs]
) -> Outputs:
    """Draw ``count`` outputs for each row of scores, some at a time to bound memory."""
    return np.stack([np.concatenate(list(_parts(row, count, draw))) for row in scores])


def _parts(
    row: NDArray[np.float64], count: int, draw: Callable[[NDArray[np.float64], int], Outputs]
) -> Iterator[Outputs]:
    size = max(_AT_ONCE // len(row), 1)
    for start in range(0, count, size):
        yield draw(row, min(size, count - start))


MECHANISM_EXPONENTIAL: Final = Theorem(
    rule="mechanism/exponential",
    source="Dong, Durfee & Rogers 2020, arXiv:1909.13830, and the class's docstring",
    attained=Attained.POINTS,  # two candidates, whose odds are where the epsilon asks for them
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ExponentialMechanism(ScoreMechanism[R]):
    """Release the index of a candidate, with probability proportional to e^(factor * score).

    factor = epsilon / (2 sensitivity), or epsilon / sensitivity for monotone scores.

    Statement: if every score moves by at most Delta between neighbours, the output is
        epsilon-bounded-range (hence epsilon-DP): log P(c)/Q(c) stays in one interval of length
        epsilon.
    Proof: log P(c)/Q(c) = factor * (u(c) - u'(c)) + log(Z'/Z); the second term does not depend on
        c, and the first lies in factor * [-Delta, Delta], an interval of length epsilon. Monotone:
        it lies in factor * [0, Delta], or in factor * [-Delta, 0], of length epsilon again.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates; monotone scores
        (if monotone).
    Source: bounded range and its composition: Dong, Durfee & Rogers, arXiv:1909.13830.

    Args:
        epsilon: nats, above 0.
        sensitivity: LInf, in the scores' unit, of every candidate's exact score.
        monotone: claim that adding a record never lowers any score (or never raises any); it
            halves the noise. Meaningless under replace-one, where it is refused.
        query: data -> one score for each of candidates fixed in advance, as ``Scores``; None when
            the data is already the scores.
    Example:
        >>> from dpproof.accountant import LInf
        >>> pick = ExponentialMechanism(epsilon=1, sensitivity=LInf(1))
        >>> pick.release([10, 0, 2000])
        2
    """

    epsilon: Fraction = field(converter=parameters.positive)

    @property
    def factor(self) -> Fraction:
        """Return the factor of a score in the exponent, per unit of score."""
        return self.epsilon / self.sensitivity.value / (1 if self.monotone else 2)

    def guarantee(self) -> BoundedRange[R]:
        """State epsilon-bounded range."""
        derivation = applied(
            MECHANISM_EXPONENTIAL,
            f"the exponential mechanism with factor {show(self.factor)} on scores of "
            f"sensitivity {show(self.sensitivity.value)} is {show(self.epsilon)}-bounded-range "
            f"({self.relation})",
            assumptions=self._assumptions(),
            factor=self.factor,
            sensitivity=self.sensitivity.value,
            monotone=self.monotone,
        )
        return BoundedRange(epsilon=self.epsilon, relation=self.relation, derivation=derivation)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw indices of candidates: int64 of shape (datasets, count)."""
        scores = read_scores(self.query, datasets)
        return np.stack([categorical_exp(row, count, rng, factor=self.factor) for row in scores])


MECHANISM_PERMUTE_AND_FLIP: Final = Theorem(
    rule="mechanism/permute-and-flip",
    source="proofs/theory/path.md, Theorem 2",
    attained=Attained.POINTS,  # two candidates, further apart for larger epsilons
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class PermuteAndFlip(PathMechanism[R]):
    """Go through the candidates in random order, and release the first whose coin says so.

    The coin of a candidate of score u is heads with probability e^((u - largest score)/b), b = 2
    sensitivity / epsilon, or half of it for monotone scores. It is never worse than the exponential
    mechanism in expected score, and drawn as ``ReportNoisyMax`` with exponential noise.

    Statement: if no score moves by more than Delta between neighbours, it is
        (2 Delta/b)-metric-DP along paths of scores, and (Delta/b)-metric-DP if no two scores move
        in opposite directions: dominated by the Laplace pair, whose profile two candidates attain.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates; monotone scores
        (if monotone).
    Source: proofs/theory/path.md, Theorem 2; McKenna & Sheldon (arXiv:2010.12603) for the mechanism
        and pure DP; Ding et al. (arXiv:2105.07260) for the noise.

    Use: the arguments are those of ``ExponentialMechanism``; ``monotone`` claims that no two scores
        move in opposite directions between neighbours.
    Example:
        >>> from dpproof.accountant import LInf
        >>> pick = PermuteAndFlip(epsilon=1, sensitivity=LInf(1))
        >>> pick.release([10, 0, 2000])
        2
    """

    def guarantee(self) -> MetricDP[R]:
        """State metric-DP along paths."""
        return self._along_paths(MECHANISM_PERMUTE_AND_FLIP, "permute-and-flip with coins")

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw indices of candidates: int64 of shape (datasets, count)."""
        return self._largest(datasets, count, rng, signed=False)


Noise: TypeAlias = Literal["exponential", "laplace", "gumbel"]

MECHANISM_REPORT_NOISY_MAX: Final = Theorem(
    rule="mechanism/report-noisy-max",
    source="proofs/theory/path.md, Theorem 2",
    attained=Attained.POINTS,  # exponential noise is permute-and-flip
)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class ReportNoisyMax(PathMechanism[R]):
    """Release the index of the largest score after adding independent noise to every score.

    The noise is of scale 2 sensitivity / epsilon, or half of it for monotone scores, and is never
    rounded. Exponential noise is most often right, and then the law is that of permute-and-flip.

    Statement: if no score moves by more than Delta between neighbours, exponential or Laplace noise
        of scale b is (2 Delta/b)-metric-DP along paths of scores, and (Delta/b)-metric-DP if no
        two scores move in opposite directions: dominated by the Laplace pair. With Gumbel noise it
        is the exponential mechanism: epsilon-bounded-range.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates; monotone scores
        (if monotone).
    Source: proofs/theory/path.md, Theorem 2; Dwork & Roth (2014), Section 3.3, for pure DP.

    Use: the arguments are those of ``PermuteAndFlip``, and ``noise``: "exponential", "laplace" or
        "gumbel".
    Example:
        >>> from dpproof.accountant import LInf
        >>> pick = ReportNoisyMax(epsilon=1, sensitivity=LInf(1))
        >>> pick.release([10, 0, 2000])
        2
    """

    noise: Noise = field(
        default="exponential", validator=parameters.one_of("exponential", "laplace", "gumbel")
    )

    def guarantee(self) -> MetricDP[R] | BoundedRange[R]:
        """State metric-DP along paths, or of Gumbel noise bounded range."""
        if self.noise == "gumbel":
            return self._gumbel().guarantee()
        said = f"the largest score with {self.noise} noise"
        level = Attained.NO if self.noise == "laplace" else None
        return self._along_paths(MECHANISM_REPORT_NOISY_MAX, said, level, noise=self.noise)

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw indices of candidates: int64 of shape (datasets, count)."""
        if self.noise == "gumbel":
            return self._gumbel().draw(datasets, count, rng)
        return self._largest(datasets, count, rng, signed=self.noise == "laplace")

    def _gumbel(self) -> ExponentialMechanism[R]:
        """Return the exponential mechanism, which is the largest score with Gumbel noise."""
        return ExponentialMechanism(
            epsilon=self.epsilon,
            sensitivity=self.sensitivity,
            monotone=self.monotone,
            query=self.query,
        )


@final
@frozen(repr=False, field_transformer=parameters.named)
class TopK(Mechanism[R]):
    """Pick a candidate, drop it, pick the next, ``k`` times: released in order of picking.

    With the exponential mechanism, or Gumbel noise, the law is that of the k largest scores with
    Gumbel noise, drawn once.

    Statement: the composition of k picks. Given the earlier ones, the next is the same mechanism on
        a list of candidates that is known from the outputs alone.
    Source: Durfee & Rogers (arXiv:1905.04273), for peeling and its equal, Gumbel noise drawn once;
        adaptive composition as for ``Chained``.

    Args:
        pick: ``ExponentialMechanism``, ``ReportNoisyMax`` or ``PermuteAndFlip``; its epsilon is
            that of one pick.
        k: the number of candidates to pick.
    Laws: the guarantee is that of ``pick.repeat(k)``.
    Example:
        >>> from dpproof.accountant import LInf
        >>> best = TopK(PermuteAndFlip(epsilon=1, sensitivity=LInf(1)), k=2)
        >>> best.release([0, 5000, 0, 9000]).tolist()
        [3, 1]
    """

    pick: ExponentialMechanism[R] | ReportNoisyMax[R] | PermuteAndFlip[R] = field(
        validator=parameters.instance(
            (ExponentialMechanism, ReportNoisyMax, PermuteAndFlip),
            "ExponentialMechanism, ReportNoisyMax or PermuteAndFlip",
        )
    )
    k: int = field(converter=parameters.count)

    @property
    def relation(self) -> R:
        """Return the relation of one pick."""
        return self.pick.relation

    @property
    def acts_on_records(self) -> bool:
        """Return whether the picks carry their query."""
        return self.pick.acts_on_records

    def guarantee(self) -> Guarantee[R]:
        """Return the composition of k picks, not known to attain the worst."""
        once = self.pick.guarantee()
        if self.k == 1:
            return once
        picks = self_compose(once, self.k)
        return rederived(picks, replace(picks.derivation, attained=Attained.NO))

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw positions of candidates: int64 of shape (datasets, count, k)."""
        scores = read_scores(self.pick.query, datasets)
        if scores.shape[1] < self.k:
            raise ParameterError("scores", scores.shape[1], f"at least {self.k} candidates")
        return np.stack([self._peeled(row, count, rng) for row in scores])

    def _peeled(self, row: NDArray[np.float64], count: int, rng: Rng) -> NDArray[np.int64]:
        """Pick from the candidates left, all draws with the same earlier picks together."""
        bare = evolve(self.pick, query=None)
        picked = np.empty((count, self.k), dtype=np.int64)
        picked[:, 0] = bare.draw([row], count, rng)[0]
        for place in range(1, self.k):
            earlier, same = np.unique(picked[:, :place], axis=0, return_inverse=True)
            for group, gone in enumerate(earlier):
                left = np.setdiff1d(np.arange(len(row)), gone)
                these = np.flatnonzero(same.ravel() == group)
                picked[these, place] = left[bare.draw([row[left]], len(these), rng)[0]]
        return picked


_MOST_CANDIDATES: Final = 100_000


def _increasing(candidates: Sequence[arguments.Number], _name: str = "value") -> tuple[float, ...]:
    allowed = f"1 to {_MOST_CANDIDATES} increasing numbers, each exactly a binary64 number"
    value: object = candidates
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
        raise ParameterError("candidates", value, allowed)
    if not 1 <= len(candidates) <= _MOST_CANDIDATES:
        raise ParameterError("candidates", len(candidates), allowed)
    exact = [arguments.real(candidates=one) for one in candidates]
    try:
        floats = tuple(float(one) for one in exact)
    except OverflowError:
        raise ParameterError("candidates", candidates, allowed, "too large for floats") from None
    if any(Fraction(near) != one for near, one in zip(floats, exact, strict=True)):
        raise ParameterError("candidates", candidates, allowed, "round them first")
    if any(not one < after for one, after in pairwise(floats)):
        raise ParameterError("candidates", candidates, allowed, "sort them and drop equal ones")
    return floats


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class Quantile(Mechanism[R]):
    """Release a public candidate that is nearly the q-quantile of the values.

    The exponential mechanism on the scores u(c) = -|(1 - q) L(c) - q G(c)|, L(c) values lying below
    the candidate c and G(c) above: without ties L(c) - q n, the rank's distance from q n. Values
    beyond the outermost candidates count as beyond them, however far, as if they were clipped; a
    nan lies on no side and is a blank record. Scores are computed in rationals.

    Statement: u(c) moves by at most max(q, 1 - q) between add-remove and zero-out neighbours, and
        by at most 1 if a record is replaced; so the output is epsilon-bounded-range. Scores are
        not monotone: one value more raises some of them and lowers others.
    Proof: a value below c adds 1 - q to what is in the absolute value, a value above takes away q,
        and no other value changes it; a replaced one moves it by (1 - q) + q at most.
    Assumes: sensitivity; one shape; random bits; output alone; same candidates.
    Source: ``ExponentialMechanism``; Smith (STOC 2011), Algorithm 2, for the score at q = 1/2.

    Args:
        epsilon: nats, above 0.
        q: from 0 to 1; 1/2 is the median.
        candidates: increasing numbers, fixed in advance, from 1 to 100,000 of them, each exactly a
            binary64 number.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> median = Quantile(epsilon=50, q=0.5, candidates=range(100), relation=AddRemove())
        >>> median.release([3.5] * 10 + [41.0] + [900.0] * 10)
        41.0
    """

    whole = "it sorts all records"

    epsilon: Fraction = field(converter=parameters.positive)
    q: Fraction = field(converter=parameters.probability)
    candidates: tuple[float, ...] = field(converter=_increasing)
    relation: R = field(validator=parameters.neighbours)

    @property
    def sensitivity(self) -> LInf[R]:
        """Return the largest change of a score between neighbours."""
        moved = 1 if self.relation.symmetric else max(self.q, 1 - self.q)
        return LInf(moved, self.relation)

    def guarantee(self) -> BoundedRange[R]:
        """State epsilon-bounded-range; counts are whole and do not reach each of its odds."""
        of_choice = self._choice().guarantee()
        return rederived(of_choice, replace(of_choice.derivation, attained=Attained.NO))

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw candidates: float64 of shape (datasets, count)."""
        values, factor = np.array(self.candidates), self._choice().factor
        rows = [self._scores(real_column(data)) for data in datasets]
        return np.stack([values[categorical_exp(row, count, rng, factor=factor)] for row in rows])

    def _choice(self) -> ExponentialMechanism[R]:
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=self.sensitivity)

    def _scores(self, values: NDArray[np.float64]) -> list[Fraction]:
        ordered = np.sort(values[~np.isnan(values)])
        below = np.searchsorted(ordered, self.candidates, side="left").tolist()
        above = (len(ordered) - np.searchsorted(ordered, self.candidates, side="right")).tolist()
        return [
            -abs((1 - self.q) * less - self.q * more)
            for less, more in zip(below, above, strict=True)
        ]


def _moved(sensitivities: Sequence[arguments.Number], name: str = "value") -> tuple[Fraction, ...]:
    value: object = sensitivities
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or not len(value):
        raise ParameterError(name, value, "one number above 0 for each candidate")
    return tuple(parameters.positive(one, name) for one in sensitivities)


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class GeneralisedExponential(QueryMechanism[R]):
    """Pick a candidate of small loss, where one record moves the losses by different amounts.

    With a_i = loss_i + shift sensitivity_i the score of candidate i is the largest of
    (a_i - a_j) / N_ij over all j, and its probability is proportional to e^(-epsilon score / 2).
    N_ij is sensitivity_i + sensitivity_j; for monotone losses the larger one of both.

    Statement: if loss_i moves by at most sensitivity_i between neighbours, for monotone losses all
        in the same direction, a score moves by at most 1, so the pick is epsilon-bounded-range.
    Proof: proofs/theory/margins.md, section 9.
    Source: Raskhodnikova & Smith, FOCS 2016, as used by Bassily, Mohri & Suresh, arXiv:2204.10376,
        appendix F; with the sum as normaliser, which the larger one halves at best.

    Args:
        epsilon: nats, above 0.
        sensitivities: public, one above 0 for each candidate, in the losses' unit. If a solver
            computes a loss from above with error at most s, it is that of the exact loss plus s, or
            plus 2 s for monotone losses.
        failure: with which probability ``excess`` may fail; it decides the shift,
            2 ln(candidates/failure) / epsilon.
        monotone: claim that adding a record never lowers any loss (or never raises any).
            Meaningless under replace-one, where it is refused.
    Example:
        >>> from dpproof.accountant import AddRemove
        >>> pick = GeneralisedExponential(epsilon=1, sensitivities=[1, 100], relation=AddRemove())
        >>> pick.release([500, 3000])
        0
    """

    epsilon: Fraction = field(converter=parameters.positive)
    sensitivities: tuple[Fraction, ...] = field(converter=_moved)
    failure: Fraction = field(default=Fraction(0.05), converter=parameters.open_probability)
    relation: R = field(validator=parameters.neighbours)
    monotone: bool = field(default=False, converter=parameters.flag, validator=one_direction)

    @property
    def shift(self) -> Fraction:
        """Return the weight of a sensitivity beside a loss: 2 ln(candidates/failure) / epsilon."""
        logarithm = math.log(len(self.sensitivities)) - math.log(self.failure)
        return 2 * Fraction(logarithm) / self.epsilon

    def guarantee(self) -> BoundedRange[R]:
        """State epsilon-bounded range of the pick by scores of sensitivity 1."""
        largest = "the larger one" if self.monotone else "the sum"
        direction = ", all in the same direction" if self.monotone else ""
        moved = ", ".join(show(one) for one in self.sensitivities)
        return post_process(
            self._mechanism().guarantee(),
            description=(
                f"naming the candidate; the scores are of losses that move by at most {moved}"
                f"{direction}, normalised by {largest} of two sensitivities"
            ),
        )

    def excess(self, candidate: int) -> Fraction:
        """Bound how much larger the loss of the pick is than that of one candidate.

        Statement: 2 shift sensitivity, for all candidates at once, except with probability
            ``failure``.
        Source: proofs/theory/margins.md, section 9.

        Example:
            >>> from dpproof.accountant import AddRemove
            >>> given = {"sensitivities": [1, 100], "relation": AddRemove()}
            >>> round(float(GeneralisedExponential(epsilon=1, **given).excess(0)), 2)
            14.76
        """
        if not 0 <= candidate < len(self.sensitivities):
            allowed = f"from 0 to {len(self.sensitivities) - 1}"
            raise ParameterError("candidate", candidate, allowed)
        return 2 * self.shift * self.sensitivities[candidate]

    def scores(self, data: object) -> list[Fraction]:
        """Return the normalised scores, exactly; they are private."""
        losses = self._losses(data if self.query is None else self.query(data))
        shifted = [
            loss + self.shift * moved
            for loss, moved in zip(losses, self.sensitivities, strict=True)
        ]
        moves = self.sensitivities
        return [
            max(
                (one - other) / (max(mine, its) if self.monotone else mine + its)
                for other, its in zip(shifted, moves, strict=True)
            )
            for one, mine in zip(shifted, moves, strict=True)
        ]

    def draw(self, datasets: Sequence[object], count: int, rng: Rng) -> Outputs:
        """Draw indices of candidates: int64 of shape (datasets, count)."""
        rows = [[-score for score in self.scores(data)] for data in datasets]
        factor = self._mechanism().factor
        return np.stack([categorical_exp(row, count, rng, factor=factor) for row in rows])

    def _losses(self, losses: object) -> list[Fraction]:
        number = len(self.sensitivities)
        allowed = f"{number} finite numbers, one for each candidate"
        if not isinstance(losses, Sequence | np.ndarray) or len(losses) != number:
            raise DataError("losses", losses, allowed)
        exact = []
        for one in losses:
            value = one.item() if isinstance(one, np.generic) else one
            if not isinstance(value, numbers.Rational | float) or not math.isfinite(value):
                raise DataError("losses", value, allowed)
            exact.append(Fraction(value))
        return exact

    def _mechanism(self) -> ExponentialMechanism[R]:
        return ExponentialMechanism(epsilon=self.epsilon, sensitivity=LInf(1, self.relation))
