"""Gaussian sums over samples in which a record counts several times, or pushes another one out."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.relation import AddRemove, R, ZeroOut
from dpproof.accountant.sampling import (
    OneStepScheme,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.accountant.sensitivity import L2Contribution
from dpproof.accountant.side_conditions import (
    BLANK_IGNORED,
    COUNTED_SAMPLE,
    OUTPUT_ALONE,
    RANDOM_BITS,
    REPEATED_DRAWS,
    SAMPLE_HIDDEN,
    SUBSET_SAMPLE,
    SUM_OF_CONTRIBUTIONS,
    TRUNCATED_SAMPLE,
)
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair

SUBSAMPLE_COUNTED_SUM: Final = Theorem(
    rule="subsample/counted-sum",
    source="proofs/theory/one_step.md",
    attained=Attained.WHOLE,  # a record of contribution C against others of -C
)


def subsample_counted_sum(
    *, sigma: Number, contribution: L2Contribution[R], scheme: OneStepScheme
) -> DominatingPair[R]:
    """Release a sum over a sample with Gaussian noise, under add-remove or zero-out.

    Statement: let the sum of the sampled records' contributions, vectors of Euclidean norm at most
        C that each depend on their record alone, be released with independent N(0, sigma^2) noise
        in every coordinate. With mu = C / sigma and N(r) the normal law of mean r mu and variance
        1, the release is dominated under add-remove by (W, N(0)), and (N(0), W) in the other
        order, where W is
        (1-q) N(0) + q N(2) for a uniform subset of m of n records, q = m/n, m < n;
        sum_j Bin(m, 1/n)(j) N(2j) for m uniform draws with replacement of n records;
        sum_j Bin(k, q)(j) N(j) where every record is drawn k times independently at rate q.
        For a Poisson sample of rate q that is cut to a uniform subset of B where it is larger, the
        profile is (1-tau) A + tau A', A that of (1-q) N(0) + q N(1) and A' that of
        (1-p) N(0) + p N(2), with tau = P[Bin(n-1, q) >= B], p = B P[Bin(n, q) > B] / (n tau).
        The number n is that of the larger dataset. Where the profile grows with n or falls, the
        larger of both numbers that the owner of N records has to reckon with, N and N + 1, counts.
        Under zero-out, where a blank record contributes nothing, the same holds for samples that a
        record enters by coins of its own: k times independently at rate q.
    Source: proofs/theory/one_step.md. The mixtures of users are those of Ganesh, arXiv:2401.10294;
        truncated samples are those of arXiv:2508.15089, whose shifts are twice as large.
    Rounds: not at all; the pair carries exact parameters.
    Assumes: sum of contributions; counted sample (of UserPoisson); draws with replacement (of
        WithReplacement); truncated sample (of TruncatedPoisson); subset of one size (of
        WithoutReplacement); hidden sample; random bits; output alone; blank ignored (under
        ZeroOut).
    Laws: one contribution, and samples that are never cut, are Poisson samples; one draw with
        replacement is a subset of one record; increases in mu and the rate.

    Args:
        sigma: standard deviation of the noise, in data units.
        contribution: a bound on what one record adds to the sum, in data units.
            A sensitivity is not enough: how far the value moves when one record takes the place of
            another matters, too.
        scheme: which sample.
    Returns:
        One pair per direction.
    Raises:
        NotImplied: under replace-one and replace-label, of other samples than a user's under
            zero-out, or a subset of all records.
        ParameterError: not an L2Contribution.
    Example:
        >>> from dpproof.accountant import L2Contribution, WithReplacement
        >>> step = subsample_counted_sum(
        ...     sigma=1,
        ...     contribution=L2Contribution(1),
        ...     scheme=WithReplacement(sample_size=100, population_size=1000),
        ... )
        >>> round(step.delta(epsilon=1).upper, 8)
        0.0210248
    """
    if not isinstance(contribution, L2Contribution):
        raise ParameterError(
            "contribution",
            contribution,
            "L2Contribution(...)",
            "a sensitivity says how far a sum moves when one record is added, and where it counts "
            "several times, or takes another's place, every record's contribution matters",
        )
    relation = contribution.relation
    blank = isinstance(relation, ZeroOut) and isinstance(scheme, UserPoisson)
    if not (blank or isinstance(relation, AddRemove)):
        known = "AddRemove()" + " and ZeroOut()" * isinstance(scheme, UserPoisson)
        raise NotImplied(
            f"Gaussian sums over {_words(scheme)[0]} have a guarantee under {known}, got "
            f"{type(relation).__name__}; state the contribution under AddRemove()"
        )
    if isinstance(scheme, WithoutReplacement) and scheme.sampling_rate == 1:
        raise NotImplied(
            "a subset of all records has no guarantee under add-remove: without one of them there "
            "are too few; use sample_size below population_size"
        )
    noise, bound = arguments.positive(sigma=sigma), show(contribution.bound)
    product = Product.of(_pair(scheme, (contribution.bound / noise) ** 2))
    drawn, condition = _words(scheme)
    return DominatingPair(
        forward=product,
        backward=product.swapped(),
        relation=relation,
        derivation=applied(
            SUBSAMPLE_COUNTED_SUM,
            f"Gaussian noise of standard deviation {show(noise)} on a sum of contributions of "
            f"norm at most {bound} over {drawn}",
            assumptions=(
                SUM_OF_CONTRIBUTIONS(bound=bound),
                condition,
                SAMPLE_HIDDEN(),
                RANDOM_BITS(),
                OUTPUT_ALONE(),
                *[BLANK_IGNORED()] * blank,
            ),
            attained=_attained(product),
            sigma=noise,
            contribution=contribution.bound,
            scheme=scheme,
        ),
    )


def _pair(
    scheme: OneStepScheme, mu_squared: Fraction
) -> SubsampledGaussianPair | CountedGaussiansPair:
    """Return the pair of the removal; with one count it is that of a Poisson sample."""
    moves = 2
    match scheme:
        case WithoutReplacement():
            rate = scheme.sampling_rate
        case WithReplacement(sample_size=1):
            rate = Fraction(1, scheme.population_size)
        case UserPoisson(contributions=1):
            moves, rate = 1, scheme.sampling_rate
        case TruncatedPoisson() if scheme.largest > scheme.population_size:
            moves, rate = 1, scheme.sampling_rate
        case _:
            return CountedGaussiansPair(mu_squared=mu_squared, scheme=scheme, removal=True)
    squared = moves**2 * mu_squared
    return SubsampledGaussianPair(mu_squared=squared, sampling_rate=rate, removal=True)


def _attained(product: Product) -> Attained | None:
    """Return NO if samples are cut, which no output says: the bound reveals it."""
    pair = product.factors[0].pair
    cut = isinstance(pair, CountedGaussiansPair) and isinstance(pair.scheme, TruncatedPoisson)
    return Attained.NO if cut else None


def _words(scheme: OneStepScheme) -> tuple[str, str]:
    """Return the sample in words, and what is assumed of it."""
    match scheme:
        case UserPoisson():
            rate, most = f"{float(scheme.sampling_rate):g}", scheme.contributions
            condition = COUNTED_SAMPLE(rate=rate, most=most)
            return f"{most} Poisson samples of rate {rate} together", condition
        case TruncatedPoisson():
            rate, largest = f"{float(scheme.sampling_rate):g}", scheme.largest
            said = f"a Poisson sample of rate {rate} cut to {largest} records"
            population = scheme.population_size
            return said, TRUNCATED_SAMPLE(rate=rate, largest=largest, population=population)
    size, population = scheme.sample_size, scheme.population_size
    if isinstance(scheme, WithReplacement):
        said = f"{size} draws with replacement of {population} records"
        return said, REPEATED_DRAWS(size=size, population=population)
    said = f"a uniform subset of {size} of {population} records"
    return said, SUBSET_SAMPLE(size=size, population=population)
