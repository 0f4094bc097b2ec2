"""Price a step's sums, in the units of proofs/limits.py."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

from dpproof.proofs import limits
from dpproof.proofs.core import pairs
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.rule import Application
from dpproof.proofs.pairs import gaussian_above_floor, pair as kinds
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sampled.counted_gaussians import CountedGaussiansPair
from dpproof.proofs.sampled.sampled import SampledPair
from dpproof.proofs.sampled.table import TABLES, Hint, Side, TabulatedPair, read_beyond, read_table
from dpproof.proofs.sums.finite_sums import cells, lattice_making_work, making_work, value_work

KINDS: dict[type[pairs.Pair], str] = {
    pairs.GaussianPair: "gaussian",
    pairs.LaplacePair: "laplace",
    kinds.LogisticPair: "logistic",
    RandomizedResponsePair: "randomized-response",
    kinds.DiscreteLaplacePair: "discrete-laplace",
    kinds.DiscreteGaussianPair: "discrete-gaussian",
    gaussian_above_floor.FlooredGaussianPair: "floored-gaussian",
    gaussian_above_floor.FoldedGaussianPair: "folded-gaussian",
    gaussian_above_floor.SwappedAboveFloor: "floored-gaussian",
}


def spend(
    step: Application,
    nodes: int,
    product: pairs.Product,
    witnesses: Sequence[object],
    before: Sequence[object] = (),
) -> None:
    """Account for M at nodes 0, 1, ..., ``nodes``; one witness for each pair of a product.

    Making a table is not counted again if the witnesses before were of the same. Refuse an empty
    product, missing witnesses, and too much work.
    """
    if not product or len(witnesses) != len(product):
        raise RefusedError(
            "the rule takes one witness for each pair of a product that is not empty"
        )
    earlier = list(map(_table_witness, before)) if len(before) == len(product) <= TABLES else []
    for place, ((pair, count), hint) in enumerate(zip(product, witnesses, strict=True)):
        if isinstance(pair, TabulatedPair) and hint is not None:
            table = read_table(_table_witness(hint))
            if earlier[place : place + 1] != [_table_witness(hint)]:
                step.budget.spend(_table_making(pair, table))
            step.budget.spend(limits.turn_work(table.size, table.length, nodes + 1))
        else:
            step.budget.spend(_moments(pair, count, hint, nodes + 1))
    step.budget.spend(limits.NODE * (nodes + 1))


def profile_work(product: pairs.Product) -> int:
    """Return the work of one value of a closed profile."""
    if sum(count for _, count in product) > 1:
        return limits.LOOK_UP if cells(product) else max(value_work(product), limits.VALUE)
    work = limits.VALUE
    for one, _ in product:
        if isinstance(one, kinds.DiscreteLaplacePair):
            work += min(one.shift, limits.MAX_SHIFT)
        elif isinstance(one, kinds.DiscreteGaussianPair):
            work += min(kinds.reach(one, limits.PRECISIONS[1]), limits.MAX_REACH)
        elif isinstance(one, SampledPair):
            work += profile_work(one.base)
        elif isinstance(one, CountedGaussiansPair):
            work += limits.counted_value(one.scheme.listed)
    return work


def profile_making(product: pairs.Product) -> int:
    """Return the work that all values of a closed profile share."""
    if sum(count for _, count in product) > 1:
        return lattice_making_work(product) if cells(product) else making_work(product)
    work = 0
    for one, _ in product:
        if isinstance(one, SampledPair):
            work += profile_making(one.base)
        elif isinstance(one, CountedGaussiansPair):
            work += 16 * one.scheme.summed
        else:
            work += 16 * profile_work(product)
            work += limits.finite_work(len(one.p)) if isinstance(one, FinitePair) else 0
    return work


def corners_work(pair: FinitePair, places: int = 0) -> int:
    """Return the work of the corners of a finite pair, or of so many sums of its masses."""
    return limits.corners_work(places or len(pair.p), common_bits((*pair.p, *pair.q)))


def common_bits(masses: Iterable[Fraction]) -> int:
    """Return the bits of the common denominator of some masses."""
    return lcm(*(mass.denominator for mass in masses)).bit_length()


def _table_making(pair: TabulatedPair, table: Hint) -> int:
    """Return the work of making a table, from both directions of the base's profile, or its own."""
    if isinstance(pair, AllocatedGaussianPair):
        return sum(_allocated_side(pair, side) for side in (table.forward, table.backward))
    if not isinstance(pair, SampledPair):
        own = ((pair, 1),)
        return 2 * profile_making(own) + limits.table_work(table.size, profile_work(own), ())
    if table.lines:
        both = ((one, count, n) for n in table.lines for one, count in pair.base)
        base = sum(_moments(one, count, None, nodes + 2) for one, count, nodes in both)
        return base + limits.table_work(table.size, 0, table.lines)
    once = profile_making(pair.base) + profile_making(pair.swapped().base)
    return once + limits.table_work(table.size, profile_work(pair.base), ())


def allocated_line(pair: AllocatedGaussianPair, nodes: int) -> int:
    """Return the work of a line of an allocated pair."""
    terms = limits.transform_terms(pair.mu_squared)
    _fits(terms, nodes + 1)
    return limits.sum_work(terms, nodes + 1) + limits.power_work(pair.rounds, nodes + 1)


def _allocated_side(pair: AllocatedGaussianPair, side: Side) -> int:
    """Return the work of one side of a table: each line serves its share, the last the rest."""
    work, left = 0, 1 + sum(count for _, count in side.runs)
    for place, (line, share) in enumerate(zip(side.lines, side.shares, strict=True), 1):
        served = left if place == len(side.lines) else min(share, left)
        work += allocated_line(pair, line.nodes) + limits.table_work(served, 0, (line.nodes,))
        left -= served
    return work


def _moments(pair: pairs.Pair, count: int, hint: object, nodes: int) -> int:
    """Return the work of M of one pair, to the power of its count, at so many nodes."""
    power = limits.power_work(count, nodes)
    if isinstance(pair, pairs.SubsampledGaussianPair | gaussian_above_floor.OppositeGaussiansPair):
        fields = Fields(hint, "the quadrature of a subsampled Gaussian")
        lengths = []
        for name in ("nodes", "tail"):
            line = Fields(fields.take(name), name)
            ends = (line.whole(end, most=limits.MAX_QUADRATURE) for end in ("left", "right"))
            lengths.append(sum(ends) + 1)
        _fits(lengths[0], nodes)
        return power + limits.quadrature_work(lengths[0], lengths[1], nodes)
    kind = KINDS.get(type(pair))
    if kind is not None:
        return limits.formula_work(kind, count, nodes, getattr(pair, "shift", 1))
    terms = len(pair.p) if isinstance(pair, FinitePair) else kinds.outcomes_of(pair)
    _fits(terms, nodes)
    return power + _listing(pair) + limits.sum_work(terms, nodes)


def _listing(pair: pairs.Pair) -> int:
    """Return the work of listing a sampled pair's losses, from those of its base; else 0."""
    if not isinstance(pair, SampledPair):
        return 0
    return limits.atoms_work(pair.outcomes) + sum(_listing(one) for one, _ in pair.base)


def _fits(terms: int, nodes: int) -> None:
    """Refuse sums that take too much memory."""
    if limits.matrix(terms, nodes) > limits.MAX_MATRIX:
        raise RefusedError("a sum has too many terms at too many nodes")


def _table_witness(hint: object) -> object:
    """Return the witness of the table alone, without that of what lies beyond it."""
    return read_beyond(hint)[1]
