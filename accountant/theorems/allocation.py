"""Schemes over whole epochs: random allocation, cyclic sampling, shuffled batches."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Final, cast

import numpy as np

from dpproof.accountant import answers, arguments, sampling, side_conditions as assumed
from dpproof.accountant.arguments import Number
from dpproof.accountant.engine.profile import closed_form, rough
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees import derivation
from dpproof.accountant.guarantees.derivation import Attained, Parameters, Rows, Theorem, theorem
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.guarantee import Guarantee, applied, require_single
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.opposite_gaussians import OppositeGaussiansPair
from dpproof.accountant.pairs.pair import Pair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.relation import AddRemove, R, Relation, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import BallsInBins, CyclicPoisson, RandomAllocation
from dpproof.accountant.sensitivity import L2Contribution, required_contribution
from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair
from dpproof.accountant.subsampling.bracketed import BracketedPair, expanded
from dpproof.accountant.subsampling.shuffled import ShuffledGaussianPair
from dpproof.accountant.subsampling.shuffled_reports import Reports, ShuffledReportsPair
from dpproof.accountant.theorems.conversion import notion_to_profile, pair_to_pure
from dpproof.accountant.theorems.group import group
from dpproof.accountant.theorems.implications import restrict


def _allocated_again(premises: derivation.Premises, given: Parameters) -> object:
    return allocate_random(premises[0], _scheme(**given))


ALLOCATE_RANDOM: Final = Theorem(
    rule="allocate/random",
    source="proofs/theory/allocation.md",
    attained=Attained.WHOLE,  # one record alone in the data
    again=_allocated_again,
)
ALLOCATE_SEVERAL: Final = Theorem(
    rule="allocate/several",
    source="proofs/theory/allocation.md",
    attained=Attained.WHOLE,  # by lower ends of the sum of all rounds, or of the largest
    again=_allocated_again,
)
ALLOCATE_PURE: Final = Theorem(
    rule="allocate/pure-dp",
    source="proofs/theory/allocation.md, Theorem 5",
    attained=Attained.NO,  # of the noise its largest loss alone is used
    again=_allocated_again,
    written="shuffled_reports",
)
_USUAL: Final = 1e-6  # Delta at which lower ends are compared. Heuristic.
_PLACES: Final = 64  # Of a profile that is applied twice. Heuristic.
_LEAST: Final = -55.0  # Log of its least delta. Heuristic.
_MOST: Final = 32  # Nats; beyond it an allocation hides next to nothing.


def allocate_random(
    guarantee: Guarantee[R], scheme: RandomAllocation | BallsInBins
) -> DominatingPair[R]:
    """Run Gaussian noise, or what is epsilon-DP, in every round, on the records that drew it.

    Statement: let (N(mu, 1), N(0, 1)) dominate M(S + x) against M(S) in both orders, and every
        record draw one of t rounds, uniformly, independently of the other records and of what is
        released. Under add-remove M on the records of round 1, ..., t, in turn, is dominated by
        (P, Q), P the mean over i of N(mu e_i, I) and Q = N(0, I) in t dimensions; in the
        other order by (Q, P). If the rounds are kept for E epochs, mu^2 is E times as large.
        Under zero-out the same holds when a blank record contributes nothing.
        If M is epsilon-DP the number of ones among t bits dominates, all of which are 1 with
        probability q = 1/(e^epsilon + 1), but with the record one of them with 1 - q; if rounds
        are kept for E epochs, with E epsilon for epsilon.
        If every record draws k of t rounds, split t into k parts of sizes that differ by at most
        one: the product of their pairs dominates. From below, of Gaussian noise, are the sum
        of all rounds, N(k mu, t) with the record and N(0, t) without, and the largest of them.
    Source: proofs/theory/allocation.md.
    Rounds: not at all; the pairs carry exact parameters.
    Assumes: random allocation; hidden sample; blank ignored (under ZeroOut).
    Laws: one round is the mechanism itself, and all t of t are t of it; falls with t; kept rounds
        cost what less noise by sqrt(E) costs.
    Example:
        >>> from dpproof.accountant import GDP, RandomAllocation
        >>> epoch = allocate_random(GDP(mu=1), RandomAllocation(steps=1000))
        >>> round(epoch.epsilon(delta=1e-6).upper, 6)
        0.171729
    """
    if not isinstance(scheme, RandomAllocation | BallsInBins):
        raise ParameterError("scheme", scheme, "RandomAllocation(...) or BallsInBins(...)")
    if not isinstance(guarantee.relation, AddRemove | ZeroOut):
        raise NotImplied(
            "random allocation has a guarantee under AddRemove() and ZeroOut(), got "
            f"{type(guarantee.relation).__name__}; state the sensitivity under AddRemove(); "
            "restrict(group(..., size=2)) of that covers a replacement"
        )
    require_single(guarantee, "the amplification by an allocation")
    pair = guarantee.to_pair()
    if not pair.forward.factors:
        return pair
    chosen, epochs = (1, scheme.epochs) if isinstance(scheme, BallsInBins) else (scheme.chosen, 1)
    mu_squared, premise = _mu_squared(pair.forward), cast("Guarantee[R]", pair)
    if mu_squared is not None:
        theorem = ALLOCATE_RANDOM if chosen == 1 else ALLOCATE_SEVERAL
        one_of = partial(_of_gaussians, mu_squared * epochs)
    else:
        theorem, pure = ALLOCATE_PURE, _as_pure(guarantee, pair, epochs)
        premise, one_of = pure, partial(_of_bits, pure.stated_epsilon * epochs)
    size, larger = divmod(scheme.steps, chosen)
    sizes = ((size + 1, larger), (size, chosen - larger))
    forward = Product.merge([Factor(one_of(n), count) for n, count in sizes if count])
    if mu_squared is not None and 1 < chosen < scheme.steps:
        whole = GaussianPair(mu_squared=mu_squared * chosen**2 / scheme.steps)
        largest = ShuffledGaussianPair(
            mu_squared=mu_squared, batches=scheme.steps, replaced=True
        )  # the sum of all rounds, or the largest of them: whichever shows more
        low = _telling(Product.of(whole), Product.of(largest))
        forward = Product.of(BracketedPair(high=forward, low=low))
    per = f"{epochs} epochs" if epochs > 1 else "one epoch"
    blank = (assumed.BLANK_IGNORED(),) if isinstance(guarantee.relation, ZeroOut) else ()
    return DominatingPair(
        forward=forward,
        backward=forward.swapped(),
        relation=guarantee.relation,
        derivation=applied(
            theorem,
            f"random allocation of every record to {chosen} of {scheme.steps} rounds for {per}",
            premise,
            assumptions=(
                assumed.RANDOM_ALLOCATION(chosen=chosen, steps=scheme.steps, epochs=per),
                assumed.SAMPLE_HIDDEN(),
                *blank,
            ),
            rounds=scheme.steps,
            chosen=chosen,
            epochs=epochs,
        ),
    )


def replace_allocated(guarantee: DominatingPair[AddRemove]) -> DominatingPair[ReplaceOne]:
    """Replace one record of a random allocation: remove it, and add another.

    Statement: both steps together are above (P, Q) for each order. From below, of Gaussian noise:
        the record against one that contributes nothing, which is the allocation under add-remove,
        or against its opposite by the sum of all t rounds, N(k mu, t) against N(-k mu, t). A
        record's contribution is bounded by what moves the sum, as of ``L2Contribution``.
    Source: proofs/theory/allocation.md, section 6.
    Rounds: outwards; the trade-off curve of both steps is linear between its points.
    Assumes: nothing.
    Laws: never below the premise, nor above the record's rounds revealed.
    Example:
        >>> from dpproof.accountant import GDP, RandomAllocation
        >>> epoch = allocate_random(GDP(mu=1), RandomAllocation(steps=1))
        >>> round(replace_allocated(epoch).delta(epsilon=0).upper, 6)
        0.682689
    """
    parts = expanded(guarantee.forward, high=True)
    pair = parts.factors[0].pair
    if not isinstance(pair, AllocatedGaussianPair):
        return restrict(group(guarantee, size=2)).to_pair()
    profile = notion_to_profile(guarantee, epsilons=_places(parts))
    above = restrict(group(profile, size=2)).to_pair()
    parameters = dict(guarantee.derivation.parameters)
    chosen, rounds = (Fraction(str(parameters[name])) for name in ("chosen", "rounds"))
    revealed = 4 * pair.mu_squared * chosen
    whole = Product.of(GaussianPair(mu_squared=revealed * chosen / rounds))
    low = _telling(expanded(guarantee.forward, high=False), whole)
    return DominatingPair(
        forward=Product.of(BracketedPair(high=above.forward, low=low, revealed=revealed)),
        relation=above.relation,
        derivation=replace(above.derivation, attained=Attained.WHOLE),
    )


def _places(product: Product) -> list[float]:
    """Return epsilons at which delta falls by about equal factors, and 0. Heuristic."""
    most = math.log(answers.delta(product, 0.0).upper)
    log_delta = np.linspace(most, min(_LEAST, 2.0 * most), _PLACES + 1)[1:]
    pair = closed_form(product)
    if isinstance(pair, AllocatedGaussianPair):
        epsilon = pair.near(log_delta)
    else:
        epsilon = rough(product).near(log_delta)[0]
    return sorted({0.0, *epsilon[epsilon > 0.0].tolist()})  # without nan


def _scheme(*, rounds: int, chosen: int, epochs: int) -> RandomAllocation | BallsInBins:
    """Return the scheme of these numbers."""
    if epochs > 1:
        return BallsInBins(steps=rounds, epochs=epochs)
    return RandomAllocation(steps=rounds, chosen=chosen)


def _mu_squared(product: Product) -> Fraction | None:
    """Return mu^2 of a product of Gaussian pairs, None of others."""
    pairs = [(factor.pair, factor.count) for factor in product.factors]
    squares = [one.mu_squared * n for one, n in pairs if isinstance(one, GaussianPair)]
    return sum(squares, Fraction(0)) if len(squares) == len(pairs) else None


def _as_pure(guarantee: Guarantee[R], pair: DominatingPair[R], epochs: int) -> PureDP[R]:
    """Return the largest loss of a round; refuse those that are unbounded, or above 32 in all."""
    epsilon = math.inf
    with contextlib.suppress(NotImplied):
        pure = guarantee if isinstance(guarantee, PureDP) else pair_to_pure(pair)
        epsilon = float(pure.stated_epsilon) * epochs
    if epsilon > _MOST:
        raise NotImplied(
            "random allocation has a guarantee for Gaussian noise, and for a largest loss up to "
            f"{_MOST} in all epochs, got {epsilon:.6g}; allocate Gaussian(...) or Laplace(...)"
        )
    return pure


def _telling(*products: Product) -> Product:
    """Return the product that shows most at a usual delta. Heuristic, as all of them are shown."""
    return max(products, key=lambda one: answers.epsilon(one, _USUAL).lower)


def _of_gaussians(mu_squared: Fraction, rounds: int) -> Pair:
    """Return the pair of one of so many rounds."""
    if rounds == 1:
        return GaussianPair(mu_squared=mu_squared)
    return AllocatedGaussianPair(mu_squared=mu_squared, rounds=rounds)


def _of_bits(epsilon: Fraction, rounds: int) -> Pair:
    """Return the pair of one of so many bits, told by randomised response."""
    return ShuffledReportsPair(reports=Reports(rounds, epsilon, 2, alike=True))


@theorem(
    rule="allocate/cyclic-poisson",
    source="proofs/theory/matrix.md, section 6",
    attained=Attained.NO,  # the last columns of a factor are shorter, and parts are hidden
    again=None,
)
def allocate_cyclic(
    *,
    sigma: Number,
    contribution: L2Contribution[R],
    scheme: CyclicPoisson,
    rounds: int,
    bands: int,
    column: Fraction,
    factor: str,
    listed: Rows,
) -> DominatingPair[R]:
    """Release sums of rounds that a banded factor weights, over Poisson samples of parts in turn.

    Statement: let each of n rounds sum up contributions of Euclidean norm at most B of a Poisson
        sample of rate q of one of b parts of the records, part i mod b in round i; contributions
        may depend on earlier releases. Let C be lower triangular with at most b bands and columns
        of Euclidean norm at most c, and let C times the sums be released, row by row, with
        independent N(0, sigma^2) noise in every coordinate. Let mu = c B / sigma and N(r) be the
        normal law of mean r mu and variance 1. Then all rounds are dominated by the product of
        ceil(n/b) pairs ((1-q) N(0) + q N(1), N(0)), and swapped pairs in the other order; under
        replace-one by that of ((1-q) N(0) + q N(1), (1-q) N(0) + q N(-1)).
    Source: proofs/theory/matrix.md, section 6; Choquette-Choo et al., arXiv:2306.08153, Theorems 4
        and 5, without its equal split under add-remove.
    Rounds: not at all; the pairs carry exact parameters.
    Assumes: sum of contributions; cyclic sample; hidden sample; random bits; output alone;
        blank adds nothing (under ZeroOut).
    Laws: one band and a cycle of 1 is a Poisson sample in every round; increases in mu, q and n.
    Example:
        >>> from dpproof.accountant import CyclicPoisson, L2Contribution
        >>> step = allocate_cyclic(
        ...     sigma=1,
        ...     contribution=L2Contribution(1),
        ...     scheme=CyclicPoisson(sampling_rate=0.01, cycle=4),
        ...     rounds=400,
        ...     bands=2,
        ...     column=Fraction(5, 4),
        ...     factor="toeplitz",
        ...     listed=((Fraction(1), Fraction(1, 2)),),
        ... )
        >>> round(step.epsilon(delta=1e-6).upper, 4)
        1.3891
    """
    relation, rate, parts = required_contribution(contribution), scheme.sampling_rate, scheme.cycle
    if not isinstance(relation, AddRemove | ZeroOut | ReplaceOne):
        raise ParameterError("relation", relation, "AddRemove(), ZeroOut() or ReplaceOne()")
    if bands > parts:
        raise NotImplied(
            f"a factor of {bands} bands has no guarantee over a cycle of {parts}: noisy rows would "
            "hold several samples of one record; use at least as many parts as bands, or fewer "
            "bands"
        )
    noise, bound = arguments.positive(sigma=sigma), show(contribution.bound)
    mu_squared, blocks = column * (contribution.bound / noise) ** 2, -(-rounds // parts)
    forward = Product.of(_sampled(mu_squared, rate, relation)).times(blocks)
    alone = isinstance(relation, AddRemove)
    dealt = "depends on no other record" if alone else "is drawn without looking at any record"
    return DominatingPair(
        forward=forward,
        backward=forward if isinstance(relation, ReplaceOne) else forward.swapped(),
        relation=relation,
        derivation=applied(
            allocate_cyclic,
            f"Gaussian noise of standard deviation {show(noise)} on {rounds} sums of contributions "
            f"of norm at most {bound}, weighted by a factor of {bands} bands and columns of "
            f"squared norm at most {show(column)}, over Poisson samples of rate {float(rate):g} of "
            f"{parts} parts in turn ({relation})",
            assumptions=(
                assumed.SUM_OF_CONTRIBUTIONS(bound=bound),
                assumed.CYCLIC_SAMPLE(cycle=parts, dealt=dealt, rate=f"{float(rate):g}"),
                assumed.SAMPLE_HIDDEN(),
                assumed.RANDOM_BITS(),
                assumed.OUTPUT_ALONE(),
                *[assumed.BLANK_ADDS_NOTHING()] * isinstance(relation, ZeroOut),
            ),
            sigma=noise,
            contribution=contribution.bound,
            sampling_rate=rate,
            cycle=parts,
            rounds=rounds,
            bands=bands,
            factor=factor,
            listed=listed,
        ),
    )


def _sampled(mu_squared: Fraction, rate: Fraction, relation: Relation) -> Pair:
    """Return the pair of one Poisson sample, of the removal where there is one."""
    if isinstance(relation, ReplaceOne):
        return OppositeGaussiansPair(mu_squared=mu_squared, sampling_rate=rate)
    return SubsampledGaussianPair(mu_squared=mu_squared, sampling_rate=rate, removal=True)


@theorem(
    rule="allocate/shuffled",
    source="proofs/theory/shuffled.md",
    attained=Attained.WHOLE,  # a record against all others: the lower ends are of that pair
    again=None,
)
def allocate_shuffled(
    *, sigma: Number, contribution: L2Contribution[R], scheme: sampling.ShuffledBatches
) -> DominatingPair[R]:
    """Release Gaussian sums of shuffled batches, under zero-out or replace-one.

    Statement: let a uniformly random order of the records fill T batches of public sizes, and be
        kept for E epochs; of every batch the sum of the contributions, vectors of Euclidean norm
        at most C, is released in every epoch with independent N(0, sigma^2) noise in every
        coordinate. All releases are mu-GDP with mu^2 = E (C / sigma)^2 under zero-out, and
        4 E (C / sigma)^2 under replace-one; a blank record adds nothing.
        From below: for one record of contribution C against others of -C, the largest of the
        batches' centred sums is a function of the releases. In units of sigma / sqrt(E) it is the
        maximum of T normal variables, of which one has mean 2 mu with the record and mu when it is
        zeroed out (mu and 0 when it is replaced), the others 0.
    Source: proofs/theory/shuffled.md. The datasets are those of Chua et al., arXiv:2403.17673, and
        2411.04205; the maximum, and other batch sizes, are ours.
    Rounds: not at all; the pair carries exact parameters. Upper ends are a Gaussian's, lower ends
        those of the maximum.
    Assumes: sum of contributions; shuffled batches; random bits; output alone; blank adds nothing
        (under ZeroOut).
    Laws: one batch is the Gaussian mechanism, from below as well; lower ends fall with the number
        of batches; a kept order costs what less noise by sqrt(E) costs.
    Example:
        >>> from dpproof.accountant import L2Contribution, ShuffledBatches, ZeroOut, self_compose
        >>> epoch = allocate_shuffled(
        ...     sigma=1,
        ...     contribution=L2Contribution(1, ZeroOut()),
        ...     scheme=ShuffledBatches(batches=469),
        ... )
        >>> cost = self_compose(epoch, 10).epsilon(delta=1e-6)
        >>> round(cost.lower, 2), round(cost.upper, 2)
        (6.9, 19.42)
    """
    relation = required_contribution(contribution)
    _require_public_size(relation)
    noise, replaced = arguments.positive(sigma=sigma), isinstance(relation, ReplaceOne)
    moved = contribution.as_l2().value / noise
    pair = ShuffledGaussianPair(
        mu_squared=scheme.epochs * moved**2, batches=scheme.batches, replaced=replaced
    )
    forward = Product.of(pair)
    bound = show(contribution.bound)
    per = f"{scheme.epochs} epochs" if scheme.epochs > 1 else "one epoch"
    return DominatingPair(
        forward=forward,
        backward=forward if replaced else forward.swapped(),
        relation=relation,
        derivation=applied(
            allocate_shuffled,
            f"Gaussian noise of standard deviation {show(noise)} on sums of contributions of norm "
            f"at most {bound} over {scheme.batches} shuffled batches for {per} ({relation})",
            assumptions=(
                assumed.SUM_OF_CONTRIBUTIONS(bound=bound),
                assumed.SHUFFLED_BATCHES(batches=scheme.batches, epochs=per),
                assumed.RANDOM_BITS(),
                assumed.OUTPUT_ALONE(),
                *[assumed.BLANK_ADDS_NOTHING()] * isinstance(relation, ZeroOut),
            ),
            sigma=noise,
            contribution=contribution.bound,
            batches=scheme.batches,
            epochs=scheme.epochs,
        ),
    )


def _require_public_size(relation: object) -> None:
    """Refuse relations under which the number of records is not public, or nothing is proved."""
    if isinstance(relation, AddRemove):
        raise NotImplied(
            "shuffled batches have no guarantee under add-remove: one record less moves another "
            "into the last batch, and the number of batches may show it; shuffling amplifies "
            "nothing there. State the sum under ZeroOut() or ReplaceOne(), where the number of "
            "records is public"
        )
    if not isinstance(relation, ZeroOut | ReplaceOne):
        raise NotImplied(
            f"shuffled batches have a guarantee under ZeroOut() and ReplaceOne(), got "
            f"{type(relation).__name__}; state it under ReplaceOne() and restrict the result"
        )
