"""Noisy numbers of mistakes, and bounds on the risk that may be released with them.

Every bound is an upper end: terms above 0 are added and multiplied, each operation and function
errs by a few units in the last place, and every result is enlarged by much more.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

import numpy as np
from attrs import field, frozen
from numpy.typing import NDArray

from dpproof.accountant import GDP, L2, AddRemove, ParameterError, arguments as check
from dpproof.accountant.arguments import Number
from dpproof.accountant.arithmetic.crossing import bisect
from dpproof.accountant.guarantees.rounding import floats_around
from dpproof.accountant.relation import R, Relation, ReplaceLabel, ReplaceOne
from dpproof.accountant.theorems.composition import compose_gdp
from dpproof.mechanisms import parameters
from dpproof.mechanisms.combinators.composed import FollowUp
from dpproof.mechanisms.learning.maps.feature_map import FeatureMap, map_or_none
from dpproof.mechanisms.learning.perceptron import BatchPerceptron, KeslerPerceptron, Perceptron
from dpproof.mechanisms.mechanism import Outputs
from dpproof.mechanisms.noise.gaussian import Gaussian
from dpproof.mechanisms.samplers import Rng

# Soundness: fewer than a hundred operations and functions err by less, relative to their results.
_SLACK: Final = 2.0**-40
# Soundness: relative error of a logarithm of the gamma function.
_GAMMA_SLACK: Final = 1e-13
# Soundness: a term that floats do not hold, or that is left out, is smaller.
_LAST: Final = 1e-320
_MOST_TERMS: Final = 2**22  # Bounds the time of an exact inversion.
_LEAST: Final = 1e-300  # Smaller probabilities are not computed with as floats.


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RiskBound:
    """An upper bound on the probability that a released halfspace errs on a fresh record.

    Attributes:
        risk: the bound, from 0 to 1.
        confidence: with which it holds, over the draw of the records and the noise.
        method: the name of the bound.
    """

    risk: float
    confidence: float
    method: str

    def __str__(self) -> str:
        """Say the bound with its confidence, and what it takes for granted."""
        return (
            f"risk at most {self.risk:.4f} with confidence {self.confidence:g} ({self.method}), if "
            "the records are independent draws of one law"
        )


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyCount:
    """A released number of mistakes: the only private quantity that these bounds look at.

    Statement: with probability 1 - failure the true number is at most value + sigma z, z the normal
        quantile of failure/selected: if the model is the best of ``selected`` that were scored,
        each of their scores has to be that good. For a random number of runs give its mean.
    Source: proofs/theory/margins.md, section 7.

    Args:
        value: the noisy count, as released by ``NoisyMistakes``.
        sigma: standard deviation of its noise.
        records: n, which is public.
        relation: replace-one or replace-label. Under zero-out blanks count as records and are no
            mistakes, and under add-remove n is private.
        selected: the number of noisy scores that the released one was chosen from, at least 1.
    Example:
        >>> count = NoisyCount(value=500, sigma=10, records=10_000, relation=ReplaceOne())
        >>> round(count.at_most(failure=0.025), 1)
        519.6
    """

    value: float
    sigma: Number
    records: int
    relation: Relation
    selected: Number = 1

    def __post_init__(self) -> None:
        """Refuse numbers outside their domains, and relations under which n is not public."""
        object.__setattr__(self, "value", floats_around(check.real(value=self.value))[1])
        object.__setattr__(self, "sigma", check.non_negative(sigma=self.sigma))
        object.__setattr__(self, "records", check.count(records=self.records))
        if check.positive(selected=self.selected) < 1:
            raise ParameterError("selected", self.selected, "at least 1")
        if not isinstance(self.relation, ReplaceOne | ReplaceLabel):
            allowed = "ReplaceOne() or ReplaceLabel(), under which the number of records is public"
            raise ParameterError("relation", self.relation, allowed)

    def at_most(self, *, failure: Number) -> float:
        """Return the upper end of the true count, from 0 to the number of records."""
        chance = check.open_probability(failure=failure) / Fraction(self.selected)
        added = floats_around(Fraction(self.sigma))[1] * _quantile(chance)
        bound = self.value + added + _SLACK * (abs(self.value) + added)
        return min(max(bound, 0.0), float(self.records))


def finite_class_risk(count: NoisyCount, *, candidates: int, failure: Number = 0.05) -> RiskBound:
    """Bound the risk of one of finitely many candidates that were fixed before the records.

    Statement: kl(err/n, risk) <= (ln candidates + ln(2/failure)) / n for all candidates at once
        with probability 1 - failure/2, inverted upwards at the upper end of the noisy count. A
        cover from a public seed is such a set, one made of the training features is not.
    Source: Chernoff's bound and a union bound; proofs/theory/margins.md, section 7.

    The count is of mistakes in training; half of ``failure`` is for the noise, half for the sample.

    Example:
        >>> count = NoisyCount(value=500, sigma=0, records=10_000, relation=ReplaceOne())
        >>> round(finite_class_risk(count, candidates=10**6, failure=0.1).risk, 4)
        0.0637
    """
    half = _half(failure)
    budget = (math.log(check.count(candidates=candidates)) - math.log(half)) / count.records
    share = count.at_most(failure=half) / count.records
    return RiskBound(
        risk=_kl_inverse(share, budget * (1 + _SLACK)),
        confidence=1 - 2 * half,
        method=f"{candidates} candidates fixed in advance",
    )


def halfspace_risk(count: NoisyCount, *, dimension: int, failure: Number = 0.05) -> RiskBound:
    """Bound the risk of any halfspace through the origin, whatever it was trained on.

    Statement: with A = ln(number of patterns on 2n points) + ln(8/failure) and t^2 = 4A/n, the risk
        is at most err/n + t^2/2 + t sqrt(err/n + t^2/4) for all halfspaces at once with
        probability 1 - failure/2. Patterns are counted by Cover, ties included.
    Source: Vapnik & Chervonenkis' relative deviations; Cover's count with ties is Theorem 3 of the
        review in proofs/theory/margins.md, section 7. Sharper than kl and 2 err + 5A/n there.

    The dimension k is that of (mapped) rows; all else is as for ``finite_class_risk``.

    Example:
        >>> count = NoisyCount(value=500, sigma=0, records=10_000, relation=ReplaceOne())
        >>> round(halfspace_risk(count, dimension=10, failure=0.1).risk, 3)
        0.11
    """
    half = _half(failure)
    patterns = cover_count(dimension=dimension, points=2 * count.records)
    budget = patterns + math.log(4 / half)
    return RiskBound(
        risk=_relative(count.at_most(failure=half) / count.records, budget, count.records),
        confidence=1 - 2 * half,
        method=f"all halfspaces in {dimension} dimensions",
    )


def holdout_risk(count: NoisyCount, *, failure: Number = 0.05) -> RiskBound:
    """Bound the risk by a noisy count on records that the model was not trained on.

    Statement: the noisy count is a draw of B + N(0, sigma^2), B binomial of n records and the risk
        r. The bound is the r at which a draw is at most the one seen with probability failure, or
        failure/selected: the exact inversion. Of more than 2^22 records, or a bound that floats do
        not resolve, it is ``finite_class_risk`` with one candidate.
    Source: Clopper & Pearson, Biometrika 26 (1934); proofs/theory/margins.md, section 7.

    Example:
        >>> count = NoisyCount(value=50, sigma=5, records=1_000, relation=ReplaceOne())
        >>> round(holdout_risk(count).risk, 3)
        0.065
    """
    failed = 2 * _half(failure)
    chance = floats_around(Fraction(failed) / Fraction(count.selected))[0]
    if count.records > _MOST_TERMS or chance < _LEAST:
        return finite_class_risk(count, candidates=1, failure=failure)
    risk = bisect(lambda r: _below(count, r) > chance, 0.0, 1.0, near=_SLACK)[1]
    return RiskBound(risk=risk, confidence=1 - failed, method="exact inversion of the noisy count")


def _below(count: NoisyCount, risk: float) -> float:
    """Return the probability, rounded up, that a draw of B + N(0, sigma^2) is at most the count."""
    from scipy.special import gammaln, ndtr  # noqa: PLC0415 - as for ``_quantile``

    sigma = floats_around(Fraction(count.sigma))[1]
    reach = math.floor(count.value + 40 * sigma)  # beyond, the noise has less than the last term
    wrong = np.arange(min(max(reach, -1), count.records) + 1, dtype=np.float64)
    right = count.records - wrong
    ways = gammaln([count.records + 1.0]), gammaln(wrong + 1), gammaln(right + 1)
    coins = wrong * math.log(risk), right * math.log1p(-risk)
    errors = _GAMMA_SLACK * (ways[0] + ways[1] + ways[2] - coins[0] - coins[1])
    logarithms = ways[0] - ways[1] - ways[2] + coins[0] + coins[1] + errors
    noise = ndtr((count.value - wrong) / sigma) if sigma else np.float64(wrong <= count.value)
    total = float((np.exp(logarithms) * noise).sum())
    return total * (1 + _SLACK * (16 + count.records * 2.0**-12)) + count.records * _LAST


def margin_risk(
    ramps: NoisyCount, *, weight_norm: Number, norm: Number, margin: Number, failure: Number = 0.05
) -> RiskBound:
    """Bound the risk by the ramp loss min(1, max(0, 1 - y <w, x>/margin)) of released weights.

    Statement: let W = 2^j be the least power of two, j >= 0, at or above the norm of w. The risk is
        at most the mean ramp + 2 W norm/(margin sqrt(n)) + sqrt(ln(1/f_j)/(2n)) with
        f_j = failure / (2 (j + 1)(j + 2)). The sum of ramps moves by at most 1 between neighbours,
        as a count does; a hinge would move by 1 + W norm/margin.
    Source: Bartlett & Mendelson, JMLR 3 (2002), Theorem 8 and Talagrand's contraction, peeled over
        W; proofs/theory/margins.md, section 7.

    Args:
        ramps: the noisy sum of ramps over the training records.
        weight_norm: of the released weights, in the space of mapped rows.
        norm: of mapped rows.
        margin: of the ramp, fixed in advance.
        failure: half for the noise, half for the sample.
    Example:
        >>> ramps = NoisyCount(value=500, sigma=10, records=100_000, relation=ReplaceOne())
        >>> round(margin_risk(ramps, weight_norm=1, norm=1, margin=0.1).risk, 3)
        0.073
    """
    half = _half(failure)
    layer = _layer(check.positive(weight_norm=weight_norm))
    ratio = check.positive(norm=norm) / check.positive(margin=margin)
    share = ramps.at_most(failure=half) / ramps.records
    sample = math.log((layer + 1) * (layer + 2) / half) / (2 * ramps.records)
    complexity = floats_around(2 * 2**layer * ratio)[1] / math.sqrt(ramps.records)
    risk = (share + complexity + math.sqrt(sample)) * (1 + _SLACK)
    return RiskBound(
        risk=min(risk, 1.0), confidence=1 - 2 * half, method="norm of the weights over the margin"
    )


def relative_margin_risk(
    margins: NoisyCount,
    *,
    weight_norm: Number,
    norm: Number,
    margin: Number,
    failure: Number = 0.05,
) -> RiskBound:
    """Bound the risk by how many records have y <w, x> <= margin: fast if they are few.

    Statement: let W = 2^j be the least power of two, j >= 0, at or above the norm of w,
        T = floor(4 (W norm/margin)^2), A = ln C(4 n + T, T) + ln(4/f_j) and t^2 = 4A/n. The
        risk is at most s + t^2/2 + t sqrt(s + t^2/4), s the share of those records, for all w at
        once; f_j = failure / (2 (j + 1)(j + 2)). One record moves the count by at most 1, for fixed
        w. The dimension does not matter.
    Source: proofs/theory/margins.md, section 10; the form of Cortes, Mohri & Suresh, ICML 2021,
        as used by Bassily, Mohri & Suresh, arXiv:2204.10376, with constants of ours.

    The count is of training records; other arguments are as for ``margin_risk``.

    Example:
        >>> count = NoisyCount(value=500, sigma=10, records=100_000, relation=ReplaceOne())
        >>> bound = relative_margin_risk(count, weight_norm=1, norm=1, margin=0.25)
        >>> round(bound.risk, 3)
        0.035
    """
    half = _half(failure)
    layer = _layer(check.positive(weight_norm=weight_norm))
    ratio = check.positive(norm=norm) / check.positive(margin=margin)
    corrections = math.floor(4 * (2**layer * ratio) ** 2)
    points = 4 * margins.records
    if corrections > points**2:
        logarithm = math.inf
    else:
        ends = points + corrections, points, corrections
        whole, *parts = (math.lgamma(end + 1) for end in ends)
        logarithm = whole - sum(parts) + 3 * _GAMMA_SLACK * whole
    budget = logarithm + math.log(4 * (layer + 1) * (layer + 2) / half)
    return RiskBound(
        risk=_relative(margins.at_most(failure=half) / margins.records, budget, margins.records),
        confidence=1 - 2 * half,
        method="margin of the weights, relative deviations",
    )


def cover_count(*, dimension: int, points: int) -> float:
    """Return an upper bound of the log number of patterns of halfspaces through the origin.

    Statement: any N points have at most 2 sum_{i<k} C(N - 1, i) patterns (1{<w, z> <= 0}), w != 0.
    Source: Cover (1965); with ties and repeats proofs/theory/margins.md, section 7.

    The dimension is k, and points are N.

    Example:
        >>> round(cover_count(dimension=10, points=20_000), 1)
        77.0
    """
    from scipy.special import gammaln, logsumexp  # noqa: PLC0415 - its import takes longer than all of ours

    width, number = check.count(dimension=dimension), check.count(points=points)
    if width >= number:
        return number * math.log(2) * (1 + _SLACK)
    chosen = np.arange(width)
    whole = float(gammaln(number))
    logs = whole - gammaln(chosen + 1.0) - gammaln(number - chosen + 0.0)
    return float(logsumexp(logs) + math.log(2)) * (1 + _SLACK) + 3 * _GAMMA_SLACK * whole


def _relative(share: float, budget: float, records: int) -> float:
    """Return the largest risk r with (r - share) / sqrt(r) <= t, t^2 = 4 budget / records."""
    square = 4 * budget / records
    bound = share + square / 2 + math.sqrt(square * (share + square / 4))
    return min(bound * (1 + _SLACK), 1.0)


def _layer(norm: Fraction) -> int:
    """Return the least j >= 0 with 2^j at or above the norm."""
    return max((math.ceil(norm) - 1).bit_length(), 0)


def _half(failure: Number) -> float:
    """Return half of the failure probability, in (0, 1/2), rounded down."""
    half = floats_around(check.open_probability(failure=failure))[0] / 2
    if half < _LEAST:
        raise ParameterError("failure", failure, f"in (0, 1), at least {2 * _LEAST:g}")
    return half


def _quantile(chance: Fraction) -> float:
    """Return z at or above the point that a standard normal exceeds with a chance < 1/2."""
    # Below what floats resolve z is sqrt(2 log(1/chance)), as P(Z > z) <= e^(-z^2/2) / 2.
    from scipy.special import ndtri  # noqa: PLC0415 - its import takes longer than all of ours

    low = floats_around(chance)[0]
    if low >= _LEAST:
        return max(-float(ndtri(low)), 0.0) * (1 + _SLACK) + _SLACK
    logarithm = math.log(chance.denominator) - math.log(chance.numerator)
    return math.sqrt(2 * logarithm) * (1 + _SLACK)


def _kl_inverse(share: float, budget: float) -> float:
    """Return a risk at or above the largest one, r, with kl(share, r) <= budget."""
    # It grows with r, and its value, less eight units in the last place, is at least the budget.

    def below(risk: float) -> bool:
        gain = share * math.log(share / risk) if share > 0 else 0.0
        loss = (1 - share) * math.log((1 - share) / (1 - risk))
        return not gain + loss - 2.0**-50 * (1 + abs(gain) + abs(loss)) >= budget

    if share >= 1 or below(1 - 2.0**-50):
        return 1.0
    return bisect(below, share, 1 - 2.0**-50, rounds=100, near=1e-13)[1]


# Bounds the memory of many models on many records: entries of the largest temporary array.
_ENTRIES: Final = 2**22


@final
@frozen(kw_only=True, repr=False, field_transformer=parameters.named)
class NoisyMistakes(FollowUp[R]):
    """Count the records that released weights get wrong, and add Gaussian noise.

    A record (x, y) is a mistake of one weight vector if y <w, x> <= 0, labels +1 and -1, and of k
    weight vectors if another class scores at least as much as class y, labels 0 to k - 1. It does
    not depend on the length of the row, so every row is scaled to norm 1.

    Statement: for fixed weights the number of mistakes moves by at most 1 between neighbours, under
        every relation, so it is (1 / sigma)-GDP; with ``report_sigma`` r two noises are added
        to it, and both sums together are sqrt(1 / sigma^2 + 1 / r^2)-GDP. The count is
        exact: see Lemma 3 of proofs/theory/learners.md.
    Source: proofs/theory/learners.md, Lemma 7; proofs/theory/margins.md, Theorem 8.

    Args:
        sigma: standard deviation of the noise, in records.
        report_sigma: of an independent noise for a second count, which is right on average also
            for a model that was selected by the first one; None makes no second count.
        margin: count records within it as well, y <w, x> <= margin ||w||, rows scaled to norm 1:
            what ``relative_margin_risk`` takes, at weight_norm 1, norm 1 and this margin, and
            an upper end of the sum of ramps that ``margin_risk`` takes. Of several classes two
            scores are as near as for ``KeslerPerceptron``.
        map: the public map whose features the weights are for; None takes the rows as they are.
    Outputs:
        A noisy number of mistakes for each output of a learner; with ``report_sigma`` two. A record
        that is not finite, or of an unknown label, is no mistake, nor is a row of zeros.
    Raises:
        ParameterError: on release, outputs without ``weights``, or rows of another width.
    Example:
        >>> NoisyMistakes(sigma=20, relation=AddRemove()).guarantee().mu
        Fraction(1, 20)
        >>> NoisyMistakes(sigma=4, report_sigma=3, relation=AddRemove()).guarantee().mu
        Fraction(5, 12)
    """

    sigma: Fraction = field(converter=parameters.scale)
    report_sigma: Fraction | None = field(default=None, converter=parameters.optional_scale)
    margin: Fraction = field(default=Fraction(0), converter=parameters.non_negative)
    map: FeatureMap | None = field(default=None, validator=map_or_none)
    relation: R = field(validator=parameters.neighbours)

    def guarantee(self) -> GDP[R]:
        """Return mu-GDP of the count or of both counts, whatever the weights are."""
        noises = [noise.guarantee() for noise in self._noises()]
        return noises[0] if len(noises) == 1 else compose_gdp(noises)

    def draw(self, data: object, outputs: Outputs, rng: Rng) -> Outputs:
        """Draw noisy counts for each of the released weights: float64, (count,) or (count, 2)."""
        names = outputs.dtype.names or ()
        if "weights" not in names:
            raise ParameterError("outputs", names, "a learner's, with a field weights")
        records = data if self.map is None else self.map.records(data)
        counts = mistakes(np.asarray(outputs["weights"]), records, margin=self.margin)
        noisy = [noise.draw(list(counts), 1, rng) for noise in self._noises()]
        return noisy[0][:, 0] if len(noisy) == 1 else np.concatenate(noisy, axis=1)

    def _noises(self) -> list[Gaussian[R]]:
        """Return what adds noise to the count that chooses, and to the one that is reported."""
        sigmas = [sigma for sigma in (self.sigma, self.report_sigma) if sigma is not None]
        return [Gaussian(sigma=one, sensitivity=L2(1, self.relation)) for one in sigmas]


def mistakes(
    weights: NDArray[np.float64], data: object, *, margin: Number = 0
) -> NDArray[np.int64]:
    """Count the records that models get wrong, or within a margin; one record counts at most 1."""
    given: dict[str, Any] = {"margin": margin, "features": weights.shape[-1], "norm": None}
    given |= {"steps": 1, "sigma": 1, "relation": AddRemove()}
    two = weights.ndim == 2
    learner: Perceptron[Any] = (
        BatchPerceptron(**given) if two else KeslerPerceptron(classes=weights.shape[1], **given)
    )
    contributions = learner.contributions(data)
    size = max(1, contributions.records * int(np.prod(weights.shape[1:-1])))
    batch = max(1, _ENTRIES // size)
    parts = [
        contributions.totals(weights[start : start + batch], None).counts
        for start in range(0, len(weights), batch)
    ]
    return np.concatenate(parts)
