"""Privacy amplification by subsampling."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpproof.accountant import arguments, arguments as check, sampling, side_conditions as assumed
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees import guarantee as guarantees
from dpproof.accountant.guarantees.approx_dp import PrivacyProfile
from dpproof.accountant.guarantees.derivation import Attained, theorem
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee, applied, concluded
from dpproof.accountant.guarantees.rounding import floats_around, show
from dpproof.accountant.pairs.gaussian import GaussianPair, gaussian_profile
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.relation import AddRemove, R, Relation, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import OneStepScheme, Poisson, TruncatedPoisson, WithoutReplacement
from dpproof.accountant.sensitivity import L2Contribution, required_contribution
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair
from dpproof.accountant.subsampling.mixture import occurrences
from dpproof.accountant.subsampling.subsampled import Direction, SubsampledPair


@theorem(
    rule="subsample/poisson",
    source="Zhu, Dong & Wang, arXiv:2106.08567, Theorem 11",
    attained=Attained.WHOLE,  # one record alone in the data: the sample is empty or has it
    again=lambda function, premises, given: function(premises[0], Poisson(**given)),
)
def subsample_poisson(guarantee: Guarantee[R], scheme: Poisson) -> DominatingPair[R]:
    """Run a mechanism on a Poisson sample of the records.

    Statement: let (P, Q) dominate M(S + x) against M(S), and (P', Q') M(S) against M(S + x).
        Then M on a Poisson sample of rate q is dominated under add/remove by
        ((1-q) Q + q P, Q) and (P', (1-q) P' + q Q'). Under zero-out the same holds when a
        blank record contributes nothing, so that M(S + blank) has the law of M(S).
        Releases on one sample are one mechanism: their product pair is subsampled as a whole.
        A Poisson sample of rate q of a Poisson sample of rate p is a Poisson sample of rate pq,
        so that a guarantee which this theorem made is made again from its premise at rate pq.
    Assumes: independent sampling; hidden sample; blank ignored (under ZeroOut).
    Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 11. Under replace-one the formula is
        false (Lebeda, Regehr, Kamath & Steinke, arXiv:2405.20769), and the guarantee is refused;
        Gaussian sums have a theorem of their own there, ``subsample_gaussian_sum``.
        Samples of samples: a record is in the inner sample if both independent draws keep it, so
        with probability pq and independently of the other records; the mechanism sees nothing
        but the inner sample.
    Rounds: not at all; the pairs carry exact parameters.
    Laws: at rate 1 the guarantee is returned as a pair, unchanged; never above the
        unsubsampled divergences; at rates p and then q what it is at rate pq.
    Example:
        >>> from dpproof.accountant import GDP, Poisson
        >>> step = subsample_poisson(GDP(mu=1), Poisson(sampling_rate=0.01))
        >>> round(step.epsilon(delta=1e-6).upper, 6)
        0.363948
    """
    if isinstance(guarantee.relation, ReplaceLabel):
        raise NotImplied(
            "a sample under replace-label has no amplification of epsilon: what is public of the "
            "sampled records may be released; state the guarantee under ReplaceOne(), subsample "
            "that, and restrict the result"
        )
    if isinstance(guarantee.relation, ReplaceOne):
        raise NotImplied(
            "Poisson sampling under replace-one is not the add/remove formula, and is bounded for "
            "Gaussian sums alone: state Gaussian(sensitivity=L2Contribution(...)), or the "
            "sensitivity under AddRemove(), or sample with "
            "WithoutReplacement(sample_size=..., population_size=...)"
        )
    guarantees.require_single(guarantee, "the amplification by a sample")
    if any(node.rule == "allocate/shuffled" for node in guarantee.derivation.everything()):
        raise NotImplied(
            "shuffled batches are of public sizes, and a Poisson sample has a random one; sample "
            "with Poisson instead of shuffling, or shuffle all records"
        )
    pair = guarantee.to_pair()
    if scheme.sampling_rate == 1:
        return pair
    sampled = _sampled_before(pair)
    if sampled is not None:
        base, rate = sampled
        return subsample_poisson(base, Poisson(sampling_rate=rate * scheme.sampling_rate))
    blank = (assumed.BLANK_IGNORED(),) if isinstance(guarantee.relation, ZeroOut) else ()
    return DominatingPair(
        forward=_subsampled(pair.forward, scheme, Direction.REMOVAL),
        backward=_subsampled(pair.backward, scheme, Direction.ADDITION),
        relation=guarantee.relation,
        derivation=applied(
            subsample_poisson,
            f"Poisson sample of rate {float(scheme.sampling_rate):g}",
            pair,
            assumptions=(
                assumed.POISSON_SAMPLE(rate=f"{float(scheme.sampling_rate):g}"),
                assumed.SAMPLE_HIDDEN(),
                *blank,
            ),
            sampling_rate=scheme.sampling_rate,
        ),
    )


def _sampled_before(pair: DominatingPair[R]) -> tuple[Guarantee[R], Fraction] | None:
    """Return the guarantee that this theorem sampled, with the rate; None of other pairs."""
    node = pair.derivation
    if node.rule != "subsample/poisson":
        return None
    base, rate = node.premises[0].conclusion, dict(node.parameters)["sampling_rate"]
    if not (isinstance(base, Guarantee) and isinstance(rate, Fraction)):
        return None
    return base, rate


def _subsampled(base: Product, scheme: Poisson, direction: Direction) -> Product:
    """Return the product of the sampled pair for one direction.

    It is empty for an empty base, the Gaussian's own pair for Gaussians, else known by the base's
    profile.
    """
    if not base.factors:
        return base
    squares = [
        f.pair.mu_squared * f.count for f in base.factors if isinstance(f.pair, GaussianPair)
    ]
    if len(squares) == len(base.factors):
        gaussian = SubsampledGaussianPair(
            mu_squared=sum(squares[1:], squares[0]),
            sampling_rate=scheme.sampling_rate,
            removal=direction is Direction.REMOVAL,
        )
        return Product.of(gaussian)
    pair = SubsampledPair(base=base, sampling_rate=scheme.sampling_rate, direction=direction)
    return Product.of(pair)


@theorem(
    rule="subsample/without-replacement",
    source="Balle, Barthe & Gaboardi, arXiv:1807.01647, Theorem 10",
    attained=Attained.POINTS,  # a sample without the record is like either neighbour's
    again=lambda function, premises, given: function(premises[0], WithoutReplacement(**given)),
)
def subsample_without_replacement(
    guarantee: Guarantee[R], scheme: WithoutReplacement
) -> DominatingPair[R]:
    """Run a mechanism on a uniformly random subset of fixed size.

    Statement: let M have profile delta under replace-one on samples of the fixed size m. On a
        uniform m-subset of n records, with q = m/n, it has profile
        q delta(log(1 + (t-1)/q)) for t = e^eps >= 1, and 1 - t + t times that at 1/t for t < 1.
        The profile is that of one pair, which composes adaptively.
    Assumes: uniform subset; hidden sample.
    Source: Balle, Barthe & Gaboardi (arXiv:1807.01647), Theorem 10; proof repeated in
        ``accountant.pairs.subsampling_formulas.replacement_profile``. Profiles compose as pairs:
        Zhu, Dong & Wang (arXiv:2106.08567), Theorem 10.
    Rounds: not at all; the pair carries exact parameters.
    Laws: at m = n the guarantee is returned as a pair, unchanged.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne, WithoutReplacement
        >>> scheme = WithoutReplacement(sample_size=1, population_size=100)
        >>> step = subsample_without_replacement(GDP(mu=1, relation=ReplaceOne()), scheme)
        >>> round(step.epsilon(delta=1e-6).upper, 6)
        0.363948
    """
    if not isinstance(guarantee.relation, ReplaceOne):
        raise NotImplied(
            "sampling a fixed number of records without replacement has a guarantee under "
            f"ReplaceOne() only, got {type(guarantee.relation).__name__}; state the sensitivity "
            "under ReplaceOne(), or use Poisson(sampling_rate=...); Gaussian sums stated by an "
            "L2Contribution have one under AddRemove(), too"
        )
    guarantees.require_single(guarantee, "the amplification by a sample")
    pair = guarantee.to_pair()
    if scheme.sampling_rate == 1:
        return pair
    size, population = scheme.sample_size, scheme.population_size
    sampled = Product.of(
        SubsampledPair(
            base=pair.forward, sampling_rate=scheme.sampling_rate, direction=Direction.REPLACEMENT
        )
    )
    return DominatingPair(
        forward=sampled,
        backward=sampled,
        relation=guarantee.relation,
        derivation=applied(
            subsample_without_replacement,
            f"uniform subset of {size} of {population} records",
            pair,
            assumptions=(
                assumed.FIXED_SIZE_SAMPLE(size=size, population=population),
                assumed.SAMPLE_HIDDEN(),
            ),
            sample_size=size,
            population_size=population,
        ),
    )


@theorem(
    rule="subsample/gaussian-sum",
    source="proofs/theory/replace_one.md",
    attained=Attained.WHOLE,  # two records with opposite contributions
    again=None,
)
def subsample_gaussian_sum(
    *, sigma: Number, contribution: L2Contribution[R], scheme: Poisson
) -> DominatingPair[R]:
    """Release a sum over a Poisson sample of the records with Gaussian noise, under replace-one.

    Statement: let the sum of the sampled records' contributions, vectors of Euclidean norm at most
        C that each depend on their record alone, be released with independent N(0, sigma^2) noise
        in every coordinate, the sample being Poisson of rate q. Under replace-one the release is
        dominated, in both orders of neighbours and every dimension, by
        P = (1-q) N(0, 1) + q N(mu, 1) and Q = (1-q) N(0, 1) + q N(-mu, 1), mu = C / sigma.
        Two records with opposite contributions of norm C attain it.
    Source: proofs/theory/replace_one.md. The pair is the one that Koskela, Jaelkoe & Honkela
        (arXiv:1906.03049) integrate in one dimension.
    Rounds: not at all; the pair carries exact parameters.
    Assumes: sum of contributions; independent sampling; hidden sample; random bits; output alone.
    Laws: at most the divergences of the sum of all records, 2 mu-GDP; increases in mu and q.
    Example:
        >>> from dpproof.accountant import L2Contribution, Poisson, ReplaceOne, self_compose
        >>> step = subsample_gaussian_sum(
        ...     sigma=0.871199,
        ...     contribution=L2Contribution(1, ReplaceOne()),
        ...     scheme=Poisson(sampling_rate=1 / 120),
        ... )
        >>> round(self_compose(step, 120).epsilon(delta=1e-5).upper, 6)
        1.13472
    """
    relation = required_contribution(contribution)
    if not isinstance(relation, ReplaceOne):
        raise NotImplied(
            "the theorem on Poisson-sampled Gaussian sums is about replace-one, got "
            f"{type(relation).__name__}; subsample_poisson is about the others"
        )
    noise, rate = arguments.positive(sigma=sigma), scheme.sampling_rate
    if rate == 1:
        raise ParameterError(
            "sampling_rate", 1, "below 1", "at rate 1 the whole sum is released, which is GDP"
        )
    pair = OppositeGaussiansPair(mu_squared=(contribution.bound / noise) ** 2, sampling_rate=rate)
    product, shown = Product.of(pair), f"{float(rate):g}"
    bound = show(contribution.bound)
    return DominatingPair(
        forward=product,
        backward=product,
        relation=relation,
        derivation=applied(
            subsample_gaussian_sum,
            f"Gaussian noise of standard deviation {show(noise)} on a sum of "
            f"contributions of norm at most {bound} over a Poisson sample of rate {shown}",
            assumptions=(
                assumed.SUM_OF_CONTRIBUTIONS(bound=bound),
                assumed.POISSON_SAMPLE(rate=shown),
                assumed.SAMPLE_HIDDEN(),
                assumed.RANDOM_BITS(),
                assumed.OUTPUT_ALONE(),
            ),
            sigma=noise,
            contribution=contribution.bound,
            sampling_rate=rate,
        ),
    )


_POINTS: Final = 300
# Soundness: errors of masses, of their sum, and of sums of profiles, are far below these.
_SLACK: Final = 1e-9


@theorem(
    rule="subsample/positions",
    source="proofs/theory/margins.md, section 6",
    attained=Attained.NO,  # the profile between points is bounded
    lossless=False,
    again=None,
)
def repeated_positions(
    guarantee: GDP[R], *, records: int, draws: Sequence[int]
) -> PrivacyProfile[R]:
    """State what phases satisfy that each draw some positions uniformly with replacement.

    Statement: phase p draws n_p of the positions 1, ..., n, independently and uniformly, and
        is (C mu)-GDP if a changed record is drawn C times, whatever was released before. Then all
        phases and the drawn positions satisfy delta(eps) = E delta_GDP(mu sqrt(sum C_p^2))(eps),
        C_p ~ Bin(n_p, 1/n) independent.
    Assumes: repeated positions; own randomness; fixed in advance.
    Source: proofs/theory/margins.md, section 6. Replaces the group privacy of Bassily, Mohri &
        Suresh, arXiv:2204.10376, Lemma 3.1, at the most occurrences that are likely.
    Rounds: delta up, by a relative 1e-9, the mass of sums of squares above 400, and 1e-12.
    Laws: increases with mu and with every n_p.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne
        >>> one = GDP(mu=0.1, relation=ReplaceOne())
        >>> found = repeated_positions(one, records=10_000, draws=[5_000, 2_500, 1_250])
        >>> 1 < found.epsilon(delta=1e-6).upper < 1.3
        True
    """
    guarantees.required_guarantee(guarantee)
    if not isinstance(guarantee, GDP):
        raise ParameterError("guarantee", guarantee, "mu-GDP of one phase")
    if isinstance(guarantee.relation, AddRemove):
        raise NotImplied("under add-remove records have no positions: state it under ReplaceOne()")
    guarantees.require_single(guarantee, "sampling positions with replacement")
    size = check.count(records=records)
    counts = [check.count(draws=one) for one in draws]
    if not counts:
        raise ParameterError("draws", draws, "at least one phase")
    epsilons, deltas = _profile(floats_around(guarantee.mu)[1], *occurrences(size, counts))
    points = tuple(
        (Fraction(float(e)), Fraction(min(float(d), 1.0)))
        for e, d in zip(epsilons, deltas, strict=True)
    )
    profile = PrivacyProfile(points=points, relation=guarantee.relation)
    return concluded(
        profile,
        repeated_positions,
        f"the mean profile of {guarantee.describe()} over how often a position is drawn",
        guarantee,
        records=size,
        draws=tuple(counts),
        assumptions=(
            assumed.REPEATED_POSITIONS(records=size),
            assumed.OWN_RANDOMNESS(),
            assumed.FIXED(),
        ),
    )


def _profile(
    mu: float, masses: NDArray[np.float64], beyond: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return epsilons and upper ends of the mean profile."""
    sums = np.flatnonzero(masses > 0)
    sums = sums[sums > 0]
    widest = mu * np.sqrt(60.0)
    reach = min(widest * (widest / 2 + 9.0), 600.0)
    epsilons = np.concatenate([[0.0], np.geomspace(reach * 1e-3, reach, _POINTS - 1)])
    deltas = np.full(len(epsilons), beyond)
    for total in sums:
        upper = gaussian_profile(mu * float(np.sqrt(total)) * (1 + 1e-15), epsilons)[1]
        deltas += masses[total] * np.minimum(upper, 1.0)
    return epsilons, deltas * (1 + _SLACK)


@theorem(
    rule="subsample/counted-sum",
    source="proofs/theory/one_step.md",
    attained=Attained.WHOLE,  # a record of contribution C against others of -C
    again=None,
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
    user = isinstance(scheme, sampling.UserPoisson)
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
            subsample_counted_sum,
            f"Gaussian noise of standard deviation {show(noise)} on a sum of contributions of "
            f"norm at most {bound} over {drawn}",
            assumptions=(
                assumed.SUM_OF_CONTRIBUTIONS(bound=bound),
                condition,
                assumed.SAMPLE_HIDDEN(),
                assumed.RANDOM_BITS(),
                assumed.OUTPUT_ALONE(),
                *[assumed.BLANK_IGNORED() if user else assumed.BLANK_ADDS_NOTHING()]
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
    user, known = (
        isinstance(scheme, sampling.UserPoisson),
        isinstance(relation, AddRemove | ZeroOut),
    )
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
        case sampling.WithReplacement(sample_size=1):
            rate = Fraction(1, scheme.population_size)
        case sampling.UserPoisson(contributions=1):
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
    if isinstance(scheme, sampling.UserPoisson):
        rate, most = f"{float(scheme.sampling_rate):g}", scheme.contributions
        return f"{most} Poisson samples of rate {rate} together", assumed.COUNTED_SAMPLE(
            rate=rate, most=most
        )
    cut, total = isinstance(scheme, TruncatedPoisson), f"{scheme.population_size} records"
    larger = f"has {total}, or one more" if cut else f"has at least {total}"
    population = f"the larger of two neighbours {larger}" if alone else f"every dataset has {total}"
    if isinstance(scheme, TruncatedPoisson):
        rate, largest = f"{float(scheme.sampling_rate):g}", scheme.largest
        said = f"a Poisson sample of rate {rate} cut to {largest} records"
        return said, assumed.TRUNCATED_SAMPLE(rate=rate, largest=largest, population=population)
    size = scheme.sample_size
    if isinstance(scheme, sampling.WithReplacement):
        said = f"{size} draws with replacement of {total}"
        return said, assumed.REPEATED_DRAWS(size=size, population=population)
    said = f"a uniform subset of {size} of {total}"
    return said, assumed.SUBSET_SAMPLE(size=size, population=population)
