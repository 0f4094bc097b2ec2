"""Parallel composition, mixtures and choices, and shuffled reports."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar, cast

from dpproof.accountant import arguments, arguments as check, side_conditions as assumed
from dpproof.accountant.arguments import Number
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.accountant.guarantees import guarantee
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile
from dpproof.accountant.guarantees.derivation import Attained, Derivation, theorem
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, PairGuarantee, Points
from dpproof.accountant.guarantees.guarantee import Guarantee, applied, concluded, required
from dpproof.accountant.guarantees.pure_dp import BoundedRange, MetricDP, PureDP
from dpproof.accountant.guarantees.rdp import RDP, ZCDP, RenyiGuarantee, common_worst, shared_orders
from dpproof.accountant.guarantees.rounding import show
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.relation import AddRemove, R, ReplaceOne, ZeroOut
from dpproof.accountant.sampling import Shuffle
from dpproof.accountant.subsampling.mixture import MixturePair
from dpproof.accountant.subsampling.shuffled_reports import Reports, ShuffledReportsPair
from dpproof.accountant.theorems.conversion import notion_to_profile, notion_to_rdp

_SOURCE = "McSherry, SIGMOD 2009, Theorem 4; proofs/theory/parallel.md for every notion"


@theorem(
    rule="parallel",
    source=_SOURCE,
    attained=Attained.WHOLE,  # the worst part sees the record
    pointwise=True,
)
def parallel_compose(
    *parts: Guarantee[R], epsilons: Sequence[Number] | None = None
) -> Guarantee[R]:
    """Compose mechanisms that run on disjoint parts of the records: the worst part counts.

    Statement: let the records be split, each going to a part by that record alone, and let
        M_i see part i only (and earlier outputs), with randomness of its own. If each M_i
        satisfies a guarantee under AddRemove, the joint outputs satisfy, under the same
        relation, every guarantee that all of them satisfy: the largest epsilon, mu, rho, Renyi
        value, or delta at every epsilon. The same holds under ZeroOut if the rule looks at
        nothing of a record that blanking changes, so that a blank stays in its part. A bounded
        range is claimed of parts that see no earlier outputs: its interval may move with them.
    Assumes: split by record (not under ZeroOut); split kept by blanking (under ZeroOut); own
        randomness; fixed in advance; parts apart (for BoundedRange).
    Source: McSherry, "Privacy integrated queries", SIGMOD 2009, Theorem 4, for pure DP;
        proofs/theory/parallel.md for every notion. Under ReplaceOne the new record may fall in
        another part, and then two parts change, each by an addition or a removal, about which
        guarantees under ReplaceOne say nothing: refused.
    Rounds: as the notion; delta and Renyi values up.

    Args:
        parts: at least one guarantee, all under AddRemove or all under ZeroOut.
        epsilons: where to compare profiles, for parts of different notions or with pairs that
            are not equal.
    Returns:
        The common notion, or a PrivacyProfile at ``epsilons``.
    Raises:
        NotImplied: under ReplaceOne, about groups (their records may fall in several parts), or
            different notions and no ``epsilons``.
    Laws: order does not matter; equal parts give that guarantee; never better than any part.
    Example:
        >>> parallel_compose(GDP(mu=1), GDP(mu=2)).mu
        Fraction(2, 1)
    """
    relation = required(parts, "compose in parallel")
    if relation.symmetric:
        raise NotImplied(
            f"parallel composition does not hold under {relation}: a replaced record may move "
            "from one part to another and change two; state the parts under add-remove and use "
            "group with size=2, as replacing is removing and adding"
        )
    for part in parts:
        guarantee.require_single(part, "parallel composition")
    compared: Sequence[Guarantee[R]] = parts
    worst = _worst(parts)
    if worst is None and all(isinstance(part, RenyiGuarantee) for part in parts):
        orders = shared_orders(parts)
        compared = curves = [notion_to_rdp(part, orders=orders) for part in parts]
        worst = RDP(points=_largest([curve.points for curve in curves]), relation=relation)
    elif worst is None and epsilons is not None:
        compared = profiles = [notion_to_profile(part, epsilons=epsilons) for part in parts]
        points = _largest([profile.points for profile in profiles])
        worst = PrivacyProfile(points=points, relation=relation)
    if worst is None:
        names = ", ".join(sorted({type(part).__name__ for part in parts}))
        raise NotImplied(
            f"parts known as {names} have no common worst one; give epsilons=[...] to compare "
            "their profiles, or convert the parts to one notion first"
        )
    return concluded(
        worst,
        parallel_compose,
        f"{worst.describe()}, the worst of {len(parts)} disjoint parts",
        *compared,
        assumptions=(
            assumed.SPLIT_KEPT() if isinstance(relation, ZeroOut) else assumed.SPLIT(),
            assumed.OWN_RANDOMNESS(),
            assumed.FIXED(),
            *((assumed.APART(),) if isinstance(worst, BoundedRange) else ()),
        ),
    )


N = TypeVar("N", bound=Guarantee[Any])


def _all(parts: Sequence[Guarantee[Any]], notion: type[N]) -> list[N]:
    """Return the parts if they are all of one notion, else an empty list."""
    instances = [part for part in parts if isinstance(part, notion)]
    return instances if len(instances) == len(parts) else []


def _worst(parts: Sequence[Guarantee[R]]) -> Guarantee[R] | None:
    """Return the guarantee in the parts' common notion that every part satisfies, or None."""
    first = parts[0]
    relation = first.relation
    if all(part == first for part in parts):
        return first
    if pure := _all(parts, PureDP):
        return max(pure, key=lambda part: part.stated_epsilon)
    if gaussian := _all(parts, GDP):
        return max(gaussian, key=lambda part: part.mu_squared)
    if ranges := _all(parts, BoundedRange):
        return max(ranges, key=lambda part: part.stated_epsilon)
    if metric := _all(parts, MetricDP):
        return max(metric, key=lambda part: part.stated_epsilon)
    if concentrated := _all(parts, ZCDP):
        return max(concentrated, key=lambda part: part.rho)
    if approximate := _all(parts, ApproxDP):
        return ApproxDP(
            epsilon=max(part.stated_epsilon for part in approximate),
            delta=max(part.stated_delta for part in approximate),
            relation=relation,
        )
    listed = _all(parts, PrivacyProfile)
    if listed and len({tuple(x for x, _ in part.points) for part in listed}) == 1:
        return PrivacyProfile(points=_largest([part.points for part in listed]), relation=relation)
    return None


def _largest(tables: Sequence[Points]) -> Points:
    """Return the largest value at each of the arguments that all tables list."""
    columns = zip(*tables, strict=True)
    return tuple((column[0][0], max(value for _, value in column)) for column in columns)


@theorem(
    rule="parallel/position",
    source="proofs/theory/margins.md, section 6",
    attained=Attained.WHOLE,  # the worst part sees the record
    pointwise=True,
)
def parallel_positions(*parts: Guarantee[R]) -> Guarantee[R]:
    """Compose mechanisms on disjoint sets of positions of the data: the worst of them counts.

    Statement: let the positions 1, ..., n be split by a law that looks at no data, and let M_i see
        the records at the positions of part i (and earlier outputs), with randomness of its own.
        Under replace-one, replace-label and zero-out one position changes, so one M_i does: if
        every M_i is mu_i-GDP the outputs of all are max mu_i-GDP, and the same holds for epsilon
        of pure DP, for rho of zCDP, and for a dominating pair that all share. The positions may
        be released. Unlike ``parallel_compose`` no rule looks at a record.
    Assumes: split by position; own randomness; fixed in advance.
    Source: proofs/theory/margins.md, section 6. Under add-remove a record has no position: the
        others move up, and every part may change.
    Rounds: nothing.
    Checked by: rule ``parallel/position``.

    Args:
        parts: at least one guarantee, all under one relation that keeps positions.
    Returns:
        The common notion, with the largest parameter; for other notions the pair they share.
    Raises:
        NotImplied: under add-remove, about groups, or parts without a common worst one.
    Laws: order does not matter; equal parts give what each of them gives; never better than any.
    Example:
        >>> from dpproof.accountant import GDP, ReplaceOne
        >>> parts = [GDP(mu=mu, relation=ReplaceOne()) for mu in (1, 2)]
        >>> parallel_positions(*parts).mu
        Fraction(2, 1)
    """
    relation = required(parts, "compose in parallel")
    if isinstance(relation, AddRemove):
        raise NotImplied(
            "a split by position says nothing under add-remove: without a record the others move "
            "up; state the parts under ReplaceOne(), or use parallel_compose for a split by record"
        )
    for part in parts:
        guarantee.require_single(part, "parallel composition")
    compared, worst = common_worst(parts)
    return concluded(
        worst,
        parallel_positions,
        f"{worst.describe()}, the worst of {len(parts)} parts by position",
        *compared,
        assumptions=(assumed.SPLIT_BY_POSITION(), assumed.OWN_RANDOMNESS(), assumed.FIXED()),
    )


@theorem(
    rule="choice",
    source="proofs/theory/choice.md",
    attained=Attained.WHOLE,  # the worst mechanism whatever is drawn
    pointwise=True,
)
def choice(*parts: Guarantee[R]) -> Guarantee[R]:
    """Run one of several mechanisms, drawn by a law that looks at no data, and say which.

    A configuration drawn at random, with which a model is trained, is such a draw.

    Statement: let i be drawn by a law that is the same for all datasets, and M_i run. If every M_i
        is dominated by one pair, the output (i, M_i) is, too. If every M_i is mu_i-GDP it is
        max mu_i-GDP, and the same holds for epsilon of pure DP and for rho of zCDP. Equal bounded
        ranges give their pair, not a bounded range: the interval of losses may differ between the
        M_i, so that all losses together span twice as much.
    Assumes: fixed in advance; own randomness; public draw.
    Source: proofs/theory/choice.md.
    Rounds: nothing.
    Returns:
        The common notion, with the largest parameter; for other notions the pair they share.
    Raises:
        NotImplied: parts of different notions, or with different pairs.
    Laws: order does not matter; equal parts give what each of them gives; never better than any.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> choice(GDP(mu=1), GDP(mu=2), GDP(mu=1)).mu
        Fraction(2, 1)
    """
    required(parts, "choose")
    if len(parts) == 1:
        return parts[0]
    compared, worst = common_worst(parts)
    return concluded(
        worst,
        choice,
        f"{worst.describe()}, the worst of {len(parts)} of which one is drawn",
        *compared,
        assumptions=(assumed.FIXED(), assumed.OWN_RANDOMNESS(), assumed.PUBLIC_DRAW()),
        attained=None if all(part == worst for part in compared) else Attained.NO,
    )


_LEAST = Fraction(1, 10**100)  # Smaller weights would lose their digits as floats.


@theorem(
    rule="mixture",
    source="proofs/theory/choice.md, Theorem 2",
    attained=Attained.WHOLE,  # every mechanism on the same neighbours
    written="mixed",
)
def mixture(parts: Sequence[Guarantee[R]], *, weights: Sequence[Number]) -> DominatingPair[R]:
    """Run one of several mechanisms, drawn by public probabilities, and say which.

    Statement: let i be drawn with the same probabilities for all datasets, and M_i run. If every
        M_i is dominated by (P_i, Q_i), the output (i, M_i) is dominated by the pair of (i, x), x
        drawn from P_i or from Q_i; its profile is the mean of the profiles and its M is the
        mean of the M. Where all M_i attain their pairs on the same neighbours, so does the output.
        ``choice`` states less: the worst of the parts, where one is the worst at every epsilon.
    Assumes: fixed in advance; own randomness; public draw.
    Source: proofs/theory/choice.md, Theorem 2.
    Rounds: nothing.

    Args:
        parts: at least one guarantee that has a dominating pair, all under the same relation.
        weights: the probabilities, at least 1e-100 each, of sum exactly 1.
    Returns:
        One pair per direction; that of the parts if they share it.
    Raises:
        NotImplied: a part is known only by a Renyi curve.
        ParameterError: not one weight for each part, or they are no probabilities.
    Laws: order does not matter; equal parts give what each of them gives; between the best and the
        worst part.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> drawn = mixture([GDP(mu=1), GDP(mu=2)], weights=[0.5, 0.5])
        >>> each = [GDP(mu=mu).delta(epsilon=1).upper for mu in (1, 2)]
        >>> abs(drawn.delta(epsilon=1).upper - sum(each) / 2) < 1e-12
        True
    """
    required(parts, "draw one of")
    exact = _probabilities(weights, len(parts))
    bounded = [part for part in parts if isinstance(part, PairGuarantee)]
    if len(bounded) < len(parts):
        names = sorted({type(one).__name__ for one in parts if not isinstance(one, PairGuarantee)})
        raise NotImplied(
            f"a mixture needs dominating pairs, and {', '.join(names)} has none; choice(...) takes "
            "parts that are all zCDP"
        )
    pairs = [part.to_pair() for part in bounded]
    ways = [(pair.forward, pair.backward) for pair in pairs]
    shares = dict.fromkeys(ways, Fraction(0))
    for way, weight in zip(ways, exact, strict=True):
        shares[way] += weight
    if len(shares) == 1:
        return cast("DominatingPair[R]", choice(*pairs))
    masses = tuple(shares.values())
    forward, backward = zip(*shares, strict=True)
    return DominatingPair(
        forward=Product.of(MixturePair(weights=masses, parts=forward)),
        backward=Product.of(MixturePair(weights=masses, parts=backward)),
        relation=pairs[0].relation,
        derivation=applied(
            mixture,
            f"the mixture of {len(pairs)} pairs of which one is drawn",
            *pairs,
            assumptions=(assumed.FIXED(), assumed.OWN_RANDOMNESS(), assumed.PUBLIC_DRAW()),
            weights=exact,
        ),
    )


def _probabilities(weights: Sequence[Number], count: int) -> tuple[Fraction, ...]:
    """Return exact weights."""
    exact = tuple(Fraction(check.positive(weights=one)) for one in weights)
    if len(exact) != count or sum(exact) != 1 or min(exact) < _LEAST:
        allowed = f"{count} probabilities of at least 1e-100 that sum to exactly 1"
        raise ParameterError("weights", weights, allowed, "fractions.Fraction(1, 3) is exact")
    return exact


_LARGEST: Final = 32  # Nats; beyond it shuffling hides nothing.


@theorem(
    rule="shuffle/randomized-response",
    source="proofs/theory/shuffle_model.md, Theorem 1",
    attained=Attained.WHOLE,  # all others alike: the lower ends are of that pair
    written="shuffled_reports",
    again=None,
)
def shuffle_randomized_response(
    *, epsilon: Number, categories: int, scheme: Shuffle, relation: ReplaceOne
) -> DominatingPair[ReplaceOne]:
    """Release how often each category occurs among reports by randomised response.

    Statement: let n persons report one of k categories each by randomised response, and only the
        histogram of the reports be released, or the reports in a random order. It is dominated by
        the privacy blanket: B of the n - 1 others report a uniformly random category, B ~ Bin(n -
        1, k/(e^epsilon + k - 1)), and the person reports hidden among these.
        From below: let all others have a third category, or, if k = 2, the person's own.
    Source: proofs/theory/shuffle_model.md; Balle, Bell, Gascon & Nissim, arXiv:1903.02837. The pair
        of three atoms (user, or not) that circulates for k > 2 is false.
    Rounds: outwards; blocks of counts are bounded together.
    Assumes: categories; shuffled reports; random bits; output alone.
    Laws: one report is no better than randomised response; more records cost less.
    Example:
        >>> shuffled = shuffle_randomized_response(
        ...     epsilon=1, categories=4, scheme=Shuffle(records=10_000), relation=ReplaceOne()
        ... )
        >>> cost = shuffled.epsilon(delta=1e-6)
        >>> round(cost.lower, 3), round(cost.upper, 3)
        (0.034, 0.034)
    """
    _require_replace_one(relation)
    exact, kinds = _within(epsilon), arguments.count(categories=categories)
    if not 2 <= kinds <= 1 << 50:
        raise ParameterError("categories", categories, "from 2 to 2^50")
    return _guarantee(
        Reports(scheme.records, exact, kinds),
        applied(
            shuffle_randomized_response,
            f"{scheme.records} shuffled reports by randomised response at epsilon {show(exact)} on "
            f"{kinds} categories ({relation})",
            assumptions=(
                assumed.CATEGORIES(categories=kinds),
                assumed.SHUFFLED_REPORTS(records=scheme.records),
                assumed.RANDOM_BITS(),
                assumed.OUTPUT_ALONE(),
            ),
            epsilon=exact,
            categories=kinds,
            records=scheme.records,
        ),
    )


@theorem(
    rule="shuffle/pure-dp",
    source="proofs/theory/shuffle_model.md, Theorem 2",
    attained=Attained.NO,  # no randomiser is known that does
    again=lambda function, premises, given: function(
        premises[0], scheme=Shuffle(records=given["records"])
    ),
    written="shuffled_reports",
)
def shuffle_pure(report: PureDP[ReplaceOne], *, scheme: Shuffle) -> DominatingPair[ReplaceOne]:
    """Release local reports in a random order, each of them epsilon-DP.

    Statement: let n persons report by one randomiser that is epsilon-DP for any two records, and
        only the reports in a random order be released. Each other report is a clone of either of
        the person's two reports with probability e^-epsilon: of C ~ Bin(n - 1, e^-epsilon) clones
        a uniformly random number is of either, and the person's own bit is hidden among them, told
        with probability e^epsilon/(e^epsilon + 1).
    Source: proofs/theory/shuffle_model.md; Feldman, McMillan & Talwar, arXiv:2012.12803. The
        probability 2/(e^epsilon + 1) of arXiv:2208.04591 is published, not proved here, and unused.
    Rounds: outwards; blocks of counts are bounded together.
    Assumes: shuffled reports.
    Laws: more records cost less; never better than randomised response on two categories.
    Example:
        >>> from dpproof.accountant import PureDP
        >>> report = PureDP(epsilon=1, relation=ReplaceOne())
        >>> shuffle_pure(report, scheme=Shuffle(records=10_000)).epsilon(delta=1e-6).upper < 0.07
        True
    """
    if not isinstance(report, PureDP):
        raise ParameterError("report", report, "PureDP(...)", "convert(report, to=PureDP)")
    _require_replace_one(report.relation)
    return _guarantee(
        Reports(scheme.records, _within(report.stated_epsilon), 0),
        applied(
            shuffle_pure,
            f"{scheme.records} shuffled reports, each {report.describe()} ({report.relation})",
            report,
            assumptions=(assumed.SHUFFLED_REPORTS(records=scheme.records),),
            records=scheme.records,
        ),
    )


def _guarantee(reports: Reports, derivation: Derivation) -> DominatingPair[ReplaceOne]:
    """Return one pair for both directions, of two categories the larger order from below."""
    pair = Product.of(ShuffledReportsPair(reports=reports, removal=False))
    return DominatingPair(forward=pair, backward=pair, relation=ReplaceOne(), derivation=derivation)


def _within(epsilon: Number) -> Fraction:
    """Return the epsilon of one report."""
    exact = Fraction(arguments.positive(epsilon=epsilon))
    if exact > _LARGEST:
        raise ParameterError(
            "epsilon", epsilon, f"at most {_LARGEST}", "beyond it shuffling hides next to nothing"
        )
    return exact


def _require_replace_one(relation: object) -> None:
    """Refuse relations under which the number of records is not public, or nothing is proved."""
    if not isinstance(relation, ReplaceOne):
        raise NotImplied(
            "shuffled reports have a guarantee under ReplaceOne(), where the number of records is "
            f"public, got {type(relation).__name__}: what they reveal under other relations, only "
            "publications say; state the report under ReplaceOne()"
        )
