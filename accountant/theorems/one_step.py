"""Gaussian sums over samples in which a record counts several times, or pushes another one out."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.accountant import arguments
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.derivation import Theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.relation import AddRemove, R, Relation, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import (
    OneStepScheme,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
)
from dpproof.accountant.sensitivity import L2Contribution, required_contribution
from dpproof.accountant.side_conditions import (
    BLANK_ADDS_NOTHING,
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
    """Release a sum over a sample with Gaussian noise.

    Statement: let the sum of the sampled records' contributions, vectors of Euclidean norm at most
        C that each depend on their record alone, be released with independent N(0, sigma^2) noise
        in every coordinate. Let mu = C / sigma and N(r) be the normal law of mean r mu and variance
        1. The release is dominated under add-remove by (W, N(0)), and (N(0), W) in the other
        order. Here W is
        (1-q) N(0) + q N(2) for a uniform subset of m of n records, q = m/n, m < n;
        sum_j Bin(m, 1/n)(j) N(2j) for m uniform draws with replacement of n records;
        sum_j Bin(k, q)(j) N(j) where every record is drawn k times independently at rate q.
        For a Poisson sample of rate q that is cut to a uniform subset of B where it is larger, the
        profile is (1-tau) A + tau A'. Here A is that of (1-q) N(0) + q N(1) and A' that of
        (1-p) N(0) + p N(2), with tau = P[Bin(n-1, q) >= B], p = B P[Bin(n, q) > B] / (n tau).
        The number n is that of the larger dataset. Where the profile grows with n or falls, the
        larger of both numbers that the owner of N records has to reckon with, N and N + 1, counts.
        Under zero-out, where a blank record contributes nothing, the same holds for samples that a
        record enters by coins of its own: k times independently at rate q.
        For the other samples the profile H_t at t >= 1, n being the number of records, is
        under zero-out that of ((1-q) N(0) + q N(2), (1-q) N(0) + q N(1)); in the other order that
        of ((1-q) N(0) + q N(1), N(0)), for a subset; that of a cut sample is the mean, with
        probability tau, of the same with p for q, else of a Poisson sample;
        sum_j Bin(m, 1/n)(j) H_t'(N(2j) || N(0)) over j >= 1 for draws with replacement, under
        zero-out and replace-one, t' = 1 + (t-1)/(1 - Bin(m, 1/n)(0));
        under replace-one of a cut sample the mean, with probability tau, of that of
        ((1-p) N(0) + p N(2), N(0)), else of ((1-q) N(0) + q N(1), (1-q) N(0) + q N(-1)).
    Source: proofs/theory/one_step.md. The mixtures of users are those of Ganesh, arXiv:2401.10294;
        truncated samples are those of arXiv:2508.15089, whose shifts are twice as large.
    Rounds: not at all; the pair carries exact parameters.
    Assumes: sum of contributions; counted sample (of UserPoisson); draws with replacement (of
        WithReplacement); truncated sample (of TruncatedPoisson); subset of one size (of
        WithoutReplacement); hidden sample; random bits; output alone; blank ignored (of
        UserPoisson under ZeroOut); blank adds nothing (of the others under ZeroOut).
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
        NotImplied: under replace-label, of a user's sample under replace-one, or a subset of all
            records.
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
    relation = required_contribution(contribution)
    user = isinstance(scheme, UserPoisson)
    _require_theorem(scheme, relation)
    noise, bound = arguments.positive(sigma=sigma), show(contribution.bound)
    mu_squared, named = (contribution.bound / noise) ** 2, relation.name
    if user or isinstance(relation, AddRemove):
        product = Product.of(_pair(scheme, mu_squared))
    else:
        product = Product.of(
            CountedGaussiansPair(mu_squared=mu_squared, scheme=scheme, removal=True, relation=named)
        )
    drawn, condition = _words(scheme, alone=isinstance(relation, AddRemove))
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
                *[BLANK_IGNORED() if user else BLANK_ADDS_NOTHING()]
                * isinstance(relation, ZeroOut),
            ),
            attained=_attained(product),
            sigma=noise,
            contribution=contribution.bound,
            scheme=scheme,
        ),
    )


def _require_theorem(scheme: OneStepScheme, relation: Relation) -> None:
    """Refuse relations without a theorem, and a subset of all records."""
    user, known = isinstance(scheme, UserPoisson), isinstance(relation, AddRemove | ZeroOut)
    if not (known or (isinstance(relation, ReplaceOne) and not user)):
        raise NotImplied(
            f"Gaussian sums over {_words(scheme)[0]} have no guarantee under "
            f"{type(relation).__name__}; state the contribution under AddRemove() or ZeroOut()"
        )
    if isinstance(scheme, WithoutReplacement) and scheme.sampling_rate == 1:
        raise NotImplied(
            "a subset of all records is no sample: under add-remove there are too few without one "
            "of them, else nothing is drawn; use sample_size below population_size"
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
    """Return NO where parts are bounded by themselves, POINTS where each order has its dataset."""
    pair = product.factors[0].pair
    if not isinstance(pair, CountedGaussiansPair):
        return None
    if isinstance(pair.scheme, WithoutReplacement):
        return Attained.POINTS
    apart = pair.relation != "add-remove" or isinstance(pair.scheme, TruncatedPoisson)
    return Attained.NO if apart else None


def _words(scheme: OneStepScheme, *, alone: bool = True) -> tuple[str, str]:
    """Return the sample in words, and what is assumed of it; alone if a record may be missing."""
    if isinstance(scheme, UserPoisson):
        rate, most = f"{float(scheme.sampling_rate):g}", scheme.contributions
        return f"{most} Poisson samples of rate {rate} together", COUNTED_SAMPLE(
            rate=rate, most=most
        )
    cut, total = isinstance(scheme, TruncatedPoisson), f"{scheme.population_size} records"
    larger = f"has {total}, or one more" if cut else f"has at least {total}"
    population = f"the larger of two neighbours {larger}" if alone else f"every dataset has {total}"
    if isinstance(scheme, TruncatedPoisson):
        rate, largest = f"{float(scheme.sampling_rate):g}", scheme.largest
        said = f"a Poisson sample of rate {rate} cut to {largest} records"
        return said, TRUNCATED_SAMPLE(rate=rate, largest=largest, population=population)
    size = scheme.sample_size
    if isinstance(scheme, WithReplacement):
        said = f"{size} draws with replacement of {total}"
        return said, REPEATED_DRAWS(size=size, population=population)
    said = f"a uniform subset of {size} of {total}"
    return said, SUBSET_SAMPLE(size=size, population=population)
