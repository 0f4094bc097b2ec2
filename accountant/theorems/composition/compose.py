"""Composition: several mechanisms run on the same data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpproof.accountant import arguments
from dpproof.accountant.arguments import MAX_COUNT, Number
from dpproof.accountant.errors import CONVERT, NotImplied, ParameterError
from dpproof.accountant.guarantees.attained import Attained
from dpproof.accountant.guarantees.composed_level import composed_level
from dpproof.accountant.guarantees.derivation import Derivation
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.guarantees.gdp import GDP
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.guarantees.pair_guarantee import PairGuarantee
from dpproof.accountant.guarantees.preconditions import required, required_guarantee
from dpproof.accountant.guarantees.provenance import applied
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.guarantees.theorem import Parameters, Premises, Theorem
from dpproof.accountant.guarantees.zcdp import ZCDP
from dpproof.accountant.relation import R
from dpproof.accountant.side_conditions import FIXED, OWN_RANDOMNESS
from dpproof.accountant.theorems.composition.gdp import compose_gdp
from dpproof.accountant.theorems.composition.pair import compose_pair
from dpproof.accountant.theorems.composition.rdp import compose_rdp
from dpproof.accountant.theorems.composition.zcdp import compose_zcdp
from dpproof.accountant.theorems.conversion.gdp_to_zcdp import gdp_to_zcdp


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
        parts: at least one guarantee, all under the same relation.
        orders: Renyi orders, only for a composition that has to be made by Renyi curves.

    Returns:
        The most informative notion that the parts share; one part is returned as it is.

    Raises:
        RelationMismatch: two parts differ in relation; names both and their positions.
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
        guarantee: what each run satisfies.
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
    required_guarantee(guarantee)
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
    level = composed_level([pair] * min(times, 2), forward, backward)
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
        Theorem(
            rule=f"repeat/{notion}",
            source=source,
            attained=Attained.WHOLE,  # every run on the same neighbours
            again=_again,
        ),
        f"{guarantee.describe()}, {times} times",
        guarantee,
        assumptions=(FIXED(), OWN_RANDOMNESS()),
        attained=attained,
        count=times,
    )


def _again(premises: Premises, given: Parameters) -> Guarantee[Any]:
    """Apply the theorem to another premise, as often as before."""
    return self_compose(premises[0], given["count"])
