"""Composition that counts mechanisms of one bounded range together.

Source: Dong, Durfee & Rogers (arXiv:1909.13830) for the recursion; proofs/theory/bounded_range.md,
sections 1, 2 and 4, for all else.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import FinitePair, Pair, Product
from dpproof.proofs.core.rule import ALONE, FIXED, FRESH, Application
from dpproof.proofs.core.statements import Pairs, merged
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.fields import wholes
from dpproof.proofs.limits import MAX_RANGE_BITS, MAX_RANGE_CELLS, ranges_work
from dpproof.proofs.logic.statement import BoundedRange
from dpproof.proofs.rules.finite_pair import require_above
from dpproof.proofs.sums.ranges import Recursion

LONGEST: Final = 64  # nats of a range
SHORTEST: Final = Fraction(1, 1 << 20)


def compose_ranges(step: Application) -> tuple[str, ...]:
    """Check finite pairs and a product of pairs above bounded ranges and pairs, each repeated.

    n mechanisms of one range, wherever they stand, cost at most the value of the recursion for n
    (Theorem 3), and k pairs above its value for n/k, rounded up, dominate that.
    """
    parts, counts = step.every(object), wholes(step.witness, "counts")
    if len(counts) != len(parts) or min(counts) < 1:
        raise RefusedError("the rule takes one count, at least 1, for each premise")
    claim = step.concludes(Pairs)
    lengths: dict[Fraction, int] = {}
    others: list[tuple[Product, Product]] = []
    for part, count in zip(parts, counts, strict=True):
        if isinstance(part, BoundedRange):
            lengths[part.epsilon] = lengths.get(part.epsilon, 0) + count
        elif isinstance(part, Pairs):
            others.append((_times(part.forward, count), _times(part.backward, count)))
        else:
            raise RefusedError("the rule takes bounded ranges and dominating pairs")
    grids, heads = step.witness.items("grids"), claim.forward[: len(lengths)]
    if not len(lengths) == len(grids) == len(heads) > 0:
        raise RefusedError("the rule takes one grid, and concludes one pair, for each length")
    for (length, count), grid, (pair, times) in zip(lengths.items(), grids, heads, strict=True):
        _require_above(step, length, -(-count // times), Fields(grid, "a grid"), pair)
    forward, backward = (merged(*(one[way] for one in others)) for way in (0, 1))
    step.expect(Pairs((*heads, *forward), (*heads, *backward)))
    named = zip(step.mechanisms, counts, strict=True)
    said = openable(" and ".join(f"{name} {count} times" for name, count in named))
    return (f"runs {said} on the same data", FIXED, FRESH, ALONE)


def _times(product: Product, count: int) -> Product:
    """Return the product with itself, so many times."""
    return tuple((pair, times * count) for pair, times in product)


def _require_above(
    step: Application, length: Fraction, count: int, grid: Fields, pair: Pair
) -> None:
    """Accept a finite pair above so many mechanisms of one range."""
    cells = grid.whole("cells", least=2, most=MAX_RANGE_CELLS)
    bits = grid.whole("bits", least=64, most=MAX_RANGE_BITS)
    least = 1 << bits - grid.whole("level", most=bits)
    grid.close()
    if not SHORTEST <= length <= LONGEST:
        raise RefusedError(f"the rule takes ranges from {SHORTEST} to {LONGEST}")
    if not isinstance(pair, FinitePair):
        raise RefusedError("the rule concludes a finite pair for each length of a range")
    step.budget.spend(ranges_work(cells, bits))
    recursion = Recursion(length, cells, bits)
    for _ in range(count - 1):
        step.budget.spend(ranges_work(len(recursion.values) + cells, bits))
        recursion.step(least)
    require_above(step, pair, recursion.at, recursion.at)
