"""Composition, also of interactive mechanisms, and post-processing."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Final, TypeVar

from dpproof.accountant import arguments, side_conditions as assumed
from dpproof.accountant.arguments import MAX_COUNT, Number
from dpproof.accountant.errors import CONVERT, NotCertified, NotImplied, ParameterError
from dpproof.accountant.guarantees import derivation as derivations, guarantee as guarantees
from dpproof.accountant.guarantees.derivation import Attained, Derivation, Parameters, theorem
from dpproof.accountant.guarantees.dominating_pair import GDP, DominatingPair, PairGuarantee
from dpproof.accountant.guarantees.guarantee import Guarantee, applied, concluded, required
from dpproof.accountant.guarantees.pure_dp import BoundedRange
from dpproof.accountant.guarantees.rdp import RDP, ZCDP, shared_orders
from dpproof.accountant.guarantees.rounding import show, sqrt_up
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.ranges import has_worst_case, ranges_apart
from dpproof.accountant.relation import R
from dpproof.accountant.theorems.conversion import gdp_to_rdp, notion_to_rdp
from dpproof.accountant.theorems.implications import gdp_to_zcdp

_IN_ADVANCE: Final = (assumed.FIXED(), assumed.OWN_RANDOMNESS())


@theorem(
    rule="compose/gdp",
    source="Dong, Roth & Su, arXiv:1905.02383, Corollary 3.3",
    attained=Attained.WHOLE,  # every query moves between the same neighbours
    written="composed",
)
def compose_gdp(parts: Sequence[GDP[R]]) -> GDP[R]:
    """Compose mechanisms that satisfy Gaussian differential privacy.

    Statement: if each M_i is mu_i-GDP for one neighbouring relation, and the mu_i are fixed in
        advance, their (adaptive) composition is mu-GDP with mu^2 = sum_i mu_i^2.
    Assumes: fixed in advance; own randomness.
    Source: Dong, Roth & Su, "Gaussian Differential Privacy", arXiv:1905.02383, Corollary 3.3.
    Rounds: nothing; squares are kept as exact rationals.
    Laws: order does not matter; composing with mu = 0 changes nothing; monotone in every mu_i.
    Example:
        >>> compose_gdp([GDP(mu=3), GDP(mu=4)]).mu
        Fraction(5, 1)
    """
    relation = required(parts, "compose")
    total = sum((part.mu_squared for part in parts), Fraction(0))
    result = GDP(mu_squared=total, relation=relation)
    words = f"{show(sqrt_up(total))}-GDP from {len(parts)} parts"
    return concluded(result, compose_gdp, words, *parts, assumptions=_IN_ADVANCE)


@theorem(
    rule="compose/zcdp",
    source="Bun & Steinke, arXiv:1605.02065, Lemma 2.3",
    attained=Attained.WHOLE,  # Gaussians on the same neighbours
    written="composed",
)
def compose_zcdp(parts: Sequence[ZCDP[R]]) -> ZCDP[R]:
    """Compose mechanisms that satisfy zero-concentrated differential privacy.

    Statement: if each M_i is rho_i-zCDP for one neighbouring relation, and the rho_i are fixed
        in advance, their (adaptive) composition is rho-zCDP with rho = sum_i rho_i.
    Assumes: fixed in advance; own randomness.
    Source: Bun & Steinke, arXiv:1605.02065, Lemma 2.3 (Lemma 1.7 for two).
    Rounds: nothing; rho is an exact rational.
    Laws: order does not matter; composing with rho = 0 changes nothing; monotone in every rho_i.
    Example:
        >>> compose_zcdp([ZCDP(rho=1), ZCDP(rho=2)]).rho
        Fraction(3, 1)
    """
    relation = required(parts, "compose")
    total = sum((part.rho for part in parts), Fraction(0))
    result = ZCDP(rho=total, relation=relation)
    words = f"{show(total)}-zCDP from {len(parts)} parts"
    return concluded(result, compose_zcdp, words, *parts, assumptions=_IN_ADVANCE)


@theorem(
    rule="compose/rdp",
    source="Mironov, arXiv:1702.07476, Proposition 1",
    attained=Attained.NO,  # no Gaussian part has its share of the lower ends
    written="composed",
)
def compose_rdp(parts: Sequence[Guarantee[R]], *, orders: Sequence[Number] | None = None) -> RDP[R]:
    """Compose by adding Renyi divergences order by order.

    Statement: if the Renyi divergence of each M_i at order a is at most R_i(a) for one
        neighbouring relation, and the R_i are fixed in advance, that of their (adaptive)
        composition is at most sum_i R_i(a).
    Assumes: fixed in advance; own randomness.
    Source: Mironov, arXiv:1702.07476, Proposition 1.
    Rounds: up, once a part and order, and only for parts with a pair; the sum is exact.
    Laws: order of the parts does not matter; a part that reveals nothing changes nothing.
    Example:
        >>> from dpproof.accountant.guarantees.rdp import ZCDP
        >>> compose_rdp([RDP(points=((2, 1), (4, 3))), ZCDP(rho=1)]).points[0]
        (Fraction(2, 1), Fraction(3, 1))
    """
    relation = required(parts, "compose")
    grid = orders if orders is not None else shared_orders(parts)
    curve = _listed if orders is not None else _as_far_as_computed
    curves = [curve(part, grid) for part in parts]
    points_of = [dict(curve.points) for curve in curves]
    shared = sorted(set(points_of[0]).intersection(*points_of[1:]))
    if not shared:
        raise NotImplied(
            "no Renyi order is finite for every part; convert the parts known by a Renyi curve "
            "with to=PrivacyProfile (at epsilons) and compose as pairs"
        )
    points = [(order, sum((curve[order] for curve in points_of), Fraction(0))) for order in shared]
    result = RDP(points=points, relation=relation)
    words = f"the Renyi curves of {len(parts)} parts added at {len(points)} orders"
    return concluded(result, compose_rdp, words, *curves, assumptions=_IN_ADVANCE)


def _listed(part: Guarantee[R], orders: Sequence[Number]) -> RDP[R]:
    """Return the part's curve at the orders."""
    if isinstance(part, GDP):
        return gdp_to_rdp(part, orders=orders)
    return notion_to_rdp(part, orders=orders)


def _as_far_as_computed(part: Guarantee[R], orders: Sequence[Number]) -> RDP[R]:
    """Return the curve up to the first order that is too large to compute, found by bisection."""

    def too_large(order: Number) -> bool:
        try:
            part.rdp(order=order)
        except NotCertified:
            return True
        return False

    try:
        return _listed(part, orders)
    except NotCertified:
        place = bisect.bisect_left(orders, True, key=too_large)
        if not place:
            raise
    return _listed(part, orders[:place])


@theorem(
    rule="compose/pair",
    source="Zhu, Dong & Wang, arXiv:2106.08567, Theorem 10",
    attained=Attained.WHOLE,  # every mechanism on the same neighbours, drawn on its own
    written="composed",
)
def compose_pair(parts: Sequence[PairGuarantee[R]]) -> DominatingPair[R]:
    """Compose mechanisms that each have a dominating pair.

    Statement: if (P_i, Q_i) dominates M_i for one neighbouring relation and one direction, and
        the pairs are fixed in advance, the product pair dominates their (adaptive) composition
        in that direction.
    Assumes: fixed in advance; own randomness.
    Source: Zhu, Dong & Wang, arXiv:2106.08567, Theorem 10; equivalently Dong, Roth & Su,
        arXiv:1905.02383, Theorem 3.2.
    Rounds: nothing; products are kept symbolically with whole counts.
    Laws: order does not matter; a part that reveals nothing changes nothing.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> from dpproof.accountant.guarantees.pure_dp import PureDP
        >>> len(compose_pair([GDP(mu=1), PureDP(epsilon=1), GDP(mu=1)]).forward.factors)
        2
    """
    relation = required(parts, "compose")
    pairs = [part.to_pair() for part in parts]
    forward = Product.merge([factor for pair in pairs for factor in pair.forward.factors])
    backward = Product.merge([factor for pair in pairs for factor in pair.backward.factors])
    derivation = applied(
        compose_pair,
        f"dominated by the product of the pairs of {len(parts)} parts",
        *pairs,
        assumptions=_IN_ADVANCE,
        attained=_composed_level(pairs, forward, backward),
    )
    return DominatingPair(
        forward=forward, backward=backward, relation=relation, derivation=derivation
    )


def compose(*parts: Guarantee[R], orders: Sequence[Number] | None = None) -> Guarantee[R]:
    """Compose guarantees whose parameters are all fixed before any output is seen.

    A later mechanism may look at earlier outputs to decide what it computes, not how private
    it is: choosing a sigma, a sampling rate, or whether to run at all after looking needs a
    filter, which is another theorem.

    Statement: the composition is GDP if every part is; dominated by the product pair if every
        part has a pair; zCDP if every part is zCDP or GDP; else it has the sum of the Renyi
        curves, which is all that a part known by its Renyi curve leaves.
    Assumes: what the theorem that applies assumes.
    Source: ``compose_gdp``, ``compose_pair``, ``compose_zcdp`` and ``compose_rdp``.
    Rounds: as the theorem that applies.

    Args:
        parts: at least one guarantee.
        orders: Renyi orders, only for a composition that has to be made by Renyi curves.
    Returns:
        The most informative notion that the parts share; one part is returned as it is.
    Raises:
        ParameterError: no part, or orders where no Renyi curve is used.
        NotImplied: no Renyi order is finite for every part.
    Laws: order does not matter; a part that reveals nothing changes nothing.
    Example:
        >>> compose(GDP(mu=3), GDP(mu=4))
        GDP(mu_squared=25, relation=AddRemove())
    """
    required(parts, "compose")
    paired = [part for part in parts if isinstance(part, PairGuarantee)]
    if orders is not None:
        if len(paired) == len(parts):
            raise ParameterError(
                "orders", orders, "left out: every part has a dominating pair", "drop it"
            )
        return compose_rdp(parts, orders=orders)
    if len(parts) == 1:
        return parts[0]
    gaussian = [part for part in parts if isinstance(part, GDP)]
    if len(gaussian) == len(parts):
        return compose_gdp(gaussian)
    if len(paired) == len(parts):
        return compose_pair(paired)
    concentrated = [part for part in parts if isinstance(part, ZCDP)]
    if len(concentrated) + len(gaussian) == len(parts):
        return compose_zcdp([*concentrated, *(gdp_to_zcdp(part) for part in gaussian)])
    return compose_rdp(parts)


def self_compose(guarantee: Guarantee[R], count: int) -> Guarantee[R]:
    """Compose a guarantee with itself, count fixed before any output is seen.

    Statement: what ``compose`` gives for ``count`` equal parts: mu^2, rho and Renyi values
        multiply by count, and so do the counts of a product of pairs.
    Assumes: fixed in advance; own randomness.
    Source: ``compose_gdp``, ``compose_pair``, ``compose_zcdp`` and ``compose_rdp``.
    Rounds: nothing; exact for every count up to 10**12.

    Args:
        guarantee: any notion.
        count: number of runs, from 1 to 10**12.
    Returns:
        The notion that ``compose`` would return; count = 1 returns the guarantee as it is.
    Raises:
        ParameterError: count out of range, also of an already repeated factor.
    Laws: equal to ``compose`` of count copies; self_compose(self_compose(g, m), n) is
        self_compose(g, m n).
    Example:
        >>> self_compose(GDP(mu=1), 10**12).describe()
        '1e+06-GDP'
    """
    guarantees.required_guarantee(guarantee)
    times = arguments.count(count=count)
    if times == 1:
        return guarantee
    if isinstance(guarantee, GDP):
        mu_squared = guarantee.mu_squared * times
        node = _repeated(guarantee, times, "gdp", "arXiv:1905.02383, Corollary 3.3")
        return GDP(mu_squared=mu_squared, relation=guarantee.relation, derivation=node)
    if isinstance(guarantee, ZCDP):
        node = _repeated(guarantee, times, "zcdp", "arXiv:1605.02065, Lemma 2.3")
        return ZCDP(rho=guarantee.rho * times, relation=guarantee.relation, derivation=node)
    if isinstance(guarantee, RDP):
        points = [(order, value * times) for order, value in guarantee.points]
        node = _repeated(guarantee, times, "rdp", "arXiv:1702.07476, Proposition 1")
        return RDP(points=points, relation=guarantee.relation, derivation=node)
    if isinstance(guarantee, PairGuarantee):
        return _repeat_pair(guarantee.to_pair(), times)
    raise NotImplied(f"no composition theorem for {guarantee!r}; {CONVERT}")


def _repeat_pair(pair: DominatingPair[R], times: int) -> DominatingPair[R]:
    """Return the pair whose counts are multiplied; refuse counts above the largest allowed."""
    factors = (*pair.forward.factors, *pair.backward.factors)
    largest = max((factor.count for factor in factors), default=1)
    if largest * times > MAX_COUNT:
        raise ParameterError(
            "count", times, f"at most {MAX_COUNT // largest}", f"a factor already counts {largest}"
        )
    forward, backward = pair.forward.times(times), pair.backward.times(times)
    level = _composed_level([pair] * min(times, 2), forward, backward)
    node = _repeated(pair, times, "pair", "arXiv:2106.08567, Theorem 10", level)
    return DominatingPair(
        forward=forward, backward=backward, relation=pair.relation, derivation=node
    )


def _repeated(
    guarantee: Guarantee[Any],
    times: int,
    notion: str,
    source: str,
    attained: Attained | None = None,
) -> Derivation:
    """Return the derivation of a repeated guarantee; its level by default is the theorem's."""
    return applied(
        derivations.Theorem(
            rule=f"repeat/{notion}",
            source=source,
            attained=Attained.WHOLE,  # every run on the same neighbours
            again=_again,
        ),
        f"{guarantee.describe()}, {times} times",
        guarantee,
        assumptions=_IN_ADVANCE,
        attained=attained,
        count=times,
    )


def _again(premises: derivations.Premises, parameters: Parameters) -> Guarantee[Any]:
    """Apply the theorem to another premise, as often as before."""
    return self_compose(premises[0], parameters["count"])


def _composed_level(
    parts: Sequence[DominatingPair[R]], forward: Product, backward: Product
) -> Attained:
    """Return what some composition attains of the products of its parts' pairs.

    Mechanisms of one bounded range, each of which may have any two losses so far apart, attain each
    point of the recursion's profile, if later ones look at earlier outputs: Theorem 1 of
    proofs/theory/bounded_range.md.
    """
    telling = [one.attained for one in parts if one.forward.factors or one.backward.factors]
    if has_worst_case(forward) and has_worst_case(backward):
        return Attained.POINTS.of_premises(telling, pointwise=True)
    return Attained.WHOLE.of_premises(telling, pointwise=len(telling) == 1)


@theorem(
    rule="compose/concurrent",
    source="Vadhan & Zhang, STOC 2023, arXiv:2207.08335; of Renyi divergences Lyu, "
    "arXiv:2207.09397",
    attained=Attained.WHOLE,  # one mechanism after the other is a way to ask them
)
def compose_concurrent(*parts: Guarantee[R]) -> Guarantee[R]:
    """Compose interactive mechanisms that one analyst asks at the same time, in any order.

    A stream of rounds, a threshold that is asked about one query after another: each answers
    many questions, and a question to one may depend on answers of the others. ``compose`` speaks of
    mechanisms that run one after the other.

    Statement: let each part be what an interactive mechanism satisfies towards every analyst who
        asks it alone, and let its messages be finitely many, from finite sets. What ``compose``
        states of the parts then holds of everything that one analyst sees who asks all of them on
        the same data, however questions to them alternate and depend on earlier answers.
    Assumes: fixed in advance; own randomness; asked at once.
    Source: Vadhan & Zhang, "Concurrent Composition Theorems for Differential Privacy", STOC 2023,
        arXiv:2207.08335, for trade-off functions, and so for dominating pairs of one order of two
        neighbours; of Renyi divergences Lyu, arXiv:2207.09397. Mechanisms of parameters that
        are chosen after looking are Haney et al., arXiv:2309.05901: filters.
    Rounds: as ``compose``.

    Args:
        parts: at least two guarantees, all under the same relation, in notions that need no
            recursion over what runs after what.

    Raises:
        ParameterError: fewer than two parts.
        NotImplied: a bounded range is among them, whose composition is no product of pairs.
    Laws: the numbers are those of ``compose``.
    Example:
        >>> from dpproof.accountant import GDP
        >>> compose_concurrent(GDP(mu=3), GDP(mu=4)).describe()
        '5-GDP'
    """
    required(parts, "compose")
    if len(parts) < 2:
        raise ParameterError("parts", len(parts), "two guarantees or more")
    if any(_is_a_range(part) for part in parts):
        raise NotImplied(
            "bounded ranges compose by what runs after what, and no theorem here covers questions "
            "that alternate; convert(guarantee, to=PureDP) first"
        )
    total = compose(*parts)
    proof = total.derivation
    premises: list[Any] = [one.conclusion for one in proof.premises]
    return concluded(
        total,
        compose_concurrent,
        f"{proof.statement}, asked at the same time",
        *premises,
        assumptions=(*_IN_ADVANCE, assumed.CONCURRENT()),
        attained=proof.attained,
    )


def _is_a_range(part: Guarantee[R]) -> bool:
    """Return whether a bounded range is all that is known, or is in the part's pair."""
    if isinstance(part, BoundedRange) or not isinstance(part, PairGuarantee):
        return isinstance(part, BoundedRange)
    pair = part.to_pair()
    return any(ranges_apart(product)[0] for product in (pair.forward, pair.backward))


N = TypeVar("N", bound=Guarantee[Any])


@theorem(
    rule="post-process",
    source="Dong, Roth & Su, arXiv:1905.02383, Proposition 2.8",
    attained=Attained.NO,  # the map may forget
)
def post_process(guarantee: N, *, description: str) -> N:
    """Record that only a function of the outputs is released.

    Statement: if M satisfies a guarantee and g is a (randomised) map that does not look at the
        data, then g(M) satisfies the same guarantee.
    Assumes: outputs alone.
    Source: Dong, Roth & Su, arXiv:1905.02383, Proposition 2.8 (for trade-offs, hence for every
        notion here but bounded range; for that, a ratio of averages lies between the extremes
        of the ratios).
    Rounds: nothing.

    Args:
        guarantee: any notion.
        description: what is computed from the outputs, for the derivation.

    Laws: identity on the statement; every answer is unchanged.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> post_process(GDP(mu=1), description="rounding") == GDP(mu=1)
        True
    """
    text = _described(guarantee, description, "a few words on what is computed")
    same: N = _kept(guarantee, post_process, f"after {text}", assumed.OUTPUTS_ALONE, text)
    return same


@theorem(
    rule="map-records",
    source="proofs/theory/map_records.md",
    attained=Attained.NO,  # the map may bring records closer together
)
def map_records(guarantee: N, *, description: str) -> N:
    """State the guarantee of a mechanism that sees every record through a map.

    Statement: let M satisfy a guarantee under a relation, and let f map every record to one record
        that depends on it alone, blank ones to blank ones and features without looking at labels.
        Then M applied to the mapped records satisfies the same guarantee. So do f and its output
        together, if f is public.
    Assumes: each record mapped alone.
    Source: proofs/theory/map_records.md.
    Rounds: nothing.

    Args:
        guarantee: any notion.
        description: the map, with everything that decides it, for the derivation.

    Laws: identity on the statement; every answer is unchanged.
    Example:
        >>> from dpproof.accountant.guarantees.dominating_pair import GDP
        >>> map_records(GDP(mu=1), description="clipping to norm 1") == GDP(mu=1)
        True
    """
    text = _described(guarantee, description, "a few words on what the map is")
    said = f"on records mapped by {text}"
    same: N = _kept(guarantee, map_records, said, assumed.MAPPED_ALONE, text)
    return same


def _kept(
    same: N, rule: Callable[..., Any], said: str, condition: assumed.SideCondition, text: str
) -> N:
    """Return the same guarantee, of what the description says of its mechanism."""
    words, clauses = f"{same.describe()} {said}", (condition(description=text),)
    return concluded(same, rule, words, same, assumptions=clauses, description=text)


def _described(guarantee: Guarantee[Any], description: object, allowed: str) -> str:
    """Return a description without blanks at its ends."""
    guarantees.required_guarantee(guarantee)
    if not isinstance(description, str) or not description.strip():
        raise ParameterError("description", description, allowed)
    return description.strip()
