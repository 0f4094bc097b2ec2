"""A mechanism by its table of probabilities: finite pairs above all neighbours, in rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dpproof.proofs.core.arithmetic import exact_sum, show
from dpproof.proofs.core.certificate import read_rational
from dpproof.proofs.core.errors import CertificateError, RefusedError
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import SYMMETRIC, Pairs
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.limits import MAX_COMMON_BITS
from dpproof.proofs.pairs.core_pairs import corners as corners_of
from dpproof.proofs.rules.finite_pair import alone
from dpproof.proofs.rules.prices import common_bits, corners_work


def finite(step: Application) -> tuple[str, ...]:
    """Check that all neighbours' profiles are at most the pair's at each of its corners, exactly.

    The profile of two laws is convex in t, and that of a finite pair linear between its corners.
    """
    step.axiom()
    table, neighbours = _table(step), _neighbours(step)
    if max(max(pair) for pair in neighbours) >= len(table):
        raise RefusedError("neighbours must be datasets of the table")
    if step.conclusion.relation in SYMMETRIC and {(y, x) for x, y in neighbours} != set(neighbours):
        raise RefusedError("under a symmetric relation neighbours are so in both orders")
    claim = step.concludes(Pairs)
    ways = ((claim.forward, neighbours), (claim.backward, [(y, x) for x, y in neighbours]))
    for product, ordered in ways:
        pair = alone(product, "concludes")
        bits = 2 * max(map(common_bits, table)) + common_bits(pair.p) + common_bits(pair.q)
        each = len(table[0]) * (8 + bits // 128)
        step.budget.spend(corners_work(pair) + (len(pair.p) + 1) * len(ordered) * each)
        corners = corners_of(pair)
        for x, y in ordered:
            compare(table[x], table[y], corners, pair.infinite)
    return _words(table, neighbours), FRESH, ALONE


def compare(
    p: Sequence[Fraction],
    q: Sequence[Fraction],
    corners: Sequence[tuple[Fraction, Fraction]],
    infinite: Fraction,
) -> None:
    """Refuse if the profile of two laws is above the pair's somewhere."""
    if sum((a for a, b in zip(p, q, strict=True) if not b), Fraction(0)) > infinite:
        raise RefusedError("two neighbours have a larger infinite loss's mass than the pair")
    for t, allowed in corners:
        excess = sum((max(a - t * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))
        if excess > allowed:
            what = f"the profile of two neighbours at ratio {show(t)} is {show(excess)}"
            raise RefusedError(f"{what}, above {show(allowed)}")


def _table(step: Application) -> list[tuple[Fraction, ...]]:
    """Read the table: laws on the same outputs."""
    table = []
    for row in step.witness.items("table"):
        if not isinstance(row, list):
            raise RefusedError("the table must be a list of rows")
        try:
            law = tuple(read_rational(one) for one in row)
        except CertificateError as error:
            raise RefusedError(f"the table: {error}") from None
        if not law or min(law) < 0 or exact_sum(law, MAX_COMMON_BITS) != 1:
            raise RefusedError("a row's probabilities must be at or above 0 and sum to 1")
        table.append(law)
    if not table or len({len(row) for row in table}) != 1:
        raise RefusedError("the rows of the table must have one length")
    return table


def _neighbours(step: Application) -> list[tuple[int, int]]:
    """Read ordered pairs of numbers of datasets."""
    pairs = []
    for item in step.witness.items("neighbours"):
        if not isinstance(item, list) or len(item) != 2:
            raise RefusedError("neighbours must be pairs of whole numbers at or above 0")
        one, other = item
        if type(one) is not int or type(other) is not int or min(one, other) < 0:
            raise RefusedError("neighbours must be pairs of whole numbers at or above 0")
        pairs.append((one, other))
    if not pairs:
        raise RefusedError("the rule takes at least one pair of neighbours")
    return pairs


def _words(table: list[tuple[Fraction, ...]], neighbours: list[tuple[int, int]]) -> str:
    """Return what the mechanism does."""
    rows = openable("; ".join(", ".join(map(str, row)) for row in table))
    listed = openable(", ".join(f"({x}, {y})" for x, y in neighbours))
    return (
        f"computes from the data one of {len(table)} categories, the same list for all datasets; "
        "its result is one of the outputs, each with the probability in the category's row of "
        f"the table {rows}; where D has what D' lacks, their categories are equal or, counted from "
        f"0, among {listed}"
    )
