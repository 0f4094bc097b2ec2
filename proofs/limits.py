"""Limit what the checker accepts, and price what it computes: plain numbers, said once.

The producer of certificates prices its proofs by the same functions. A unit of work is about a
microsecond at 64 bits; every cost here was measured, and rounded up. Soundness rests on none of it:
limits keep the checker from running for hours, or out of memory. The core has its own limits, which
are here under the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import comb, isqrt, prod
from typing import Final

from dpproof.proofs.core.limits import *
from dpproof.proofs.core.limits import VALUE

PER_COMPARISON: Final = 32  # of a few elementary functions
# Sizes, which bound memory too.
MAX_POINTS: Final = 2_000  # of one statement
MAX_COMMON_BITS: Final = 1 << 14  # of the masses' common denominator
MAX_OUTCOMES: Final = 2_000  # of a finite pair
MAX_SUM_BITS: Final = 1 << 16  # of the common denominator of other sums
MAX_NODES: Final = 1 << 18  # of a sum, and of all lines of a table
MAX_MATRIX: Final = 1 << 18  # terms times the root of the nodes
MAX_QUADRATURE: Final = 1 << 14  # nodes of a trapezoid rule on either side
MAX_EXPANDED: Final = 64  # order of a moment of a subsampled Gaussian, by its expansion
MAX_TABLE_RUNS: Final = 64  # of one stride: strides double, and no table has so many octaves
MAX_TABLE_CELLS: Final = 1 << 15  # of one side, and the longest stride
DIRECT: Final = 64  # masses of a table that are added up one by one
MAX_ATOMS: Final = 2_000  # losses that are listed, of a product
MAX_PARTS: Final = 100  # pairs whose losses are listed together
MAX_CELLS: Final = 4_000  # losses on one lattice
MAX_REACH: Final = 1_000  # losses of a discrete Gaussian on either side
MAX_SHIFT: Final = 1_000  # losses of a discrete Laplace pair with a closed profile
MAX_COUNTS: Final = 400  # how often a record counts in a sample
MAX_DRAWN_FROM: Final = 10_000_000  # records of which the law of the largest samples is summed
MAX_CHAIN: Final = 1_000  # steps between neighbours whose Renyi divergences are added up
MAX_TRIALS: Final = 100_000  # of a binomial number of runs
MAX_RUNS: Final = 1_000  # of a finite law, one probability each
MAX_ENDS: Final = 4_096  # of cells of outcomes
MAX_CELL_SUMS: Final = 1 << 17  # sums of losses of cells on their lattice
MAX_LAYERS: Final = 8_192  # of shuffled reports
MAX_REPORTS: Final = 10**8  # so that their laws are short
MAX_RANGE_CELLS: Final = 512  # of a range's grid
MAX_RANGE_BITS: Final = 1_024  # of a bound of composed ranges
TANGENT_BITS: Final = 8  # of masses at which tangents touch, so that many cells share one
MAX_ROUNDS: Final = 1 << 14  # of a matrix mechanism
MAX_DENSE_ROUNDS: Final = 64  # of a factor by rows, and of patterns that are listed
MAX_PATTERN_WORK: Final = 1 << 18  # patterns of a matrix mechanism, times cubes of their lengths

# Units of one value of M by formula, and of a profile, as measured.
NODE: Final = 10  # of a sum, beside M
FORMULAS: Final = {
    "gaussian": 6,
    "laplace": 8,
    "logistic": 6,
    "randomized-response": 7,
    "discrete-laplace": 18,
    "floored-gaussian": 60,
    "folded-gaussian": 60,
    "discrete-gaussian": 20,
}
CELL: Final = 64  # of two masses, and a loss rounded down
LOOK_UP: Final = 160  # in the sums of a lattice
LAYER: Final = 3  # of one layer of shuffled reports, at one ratio
LEVEL: Final = 4  # of one bound of a list
RUN_LAW: Final = 4  # of phi by formula


def finite_work(outcomes: int) -> int:
    """Price sorting and adding up the outcomes of a finite pair, for all values of its profile."""
    return 32 * outcomes


def formula_work(kind: str, count: int, nodes: int, shift: int = 1) -> int:
    """Price a power of M of a pair with a formula, at so many nodes; large shifts take more."""
    return (FORMULAS[kind] + count.bit_length() // 4 + shift.bit_length()) * nodes


def sum_work(terms: int, nodes: int) -> int:
    """Price sums of exponentials at nodes: two tables as long as the nodes' root, a product."""
    return terms * (8 + 8 * (isqrt(nodes) + 1) + nodes // 8)


def matrix(terms: int, nodes: int) -> int:
    """Count the numbers of such a table; at most ``MAX_MATRIX`` are accepted."""
    return terms * (isqrt(nodes) + 1)


def power_work(count: int, nodes: int) -> int:
    """Price powers of numbers at so many nodes."""
    return (5 + count.bit_length() // 4) * nodes


def quadrature_work(rule: int, tail: int, nodes: int) -> int:
    """Price M of a subsampled Gaussian at so many nodes, by trapezoid rules of these lengths."""
    return sum_work(rule, nodes) + 64 * tail


def transform_terms(mu_squared: Fraction) -> int:
    """Count the terms of the transform of a log-normal variable, with this variance of its log."""
    return 60 * max(4, 1 + isqrt(int(100 * mu_squared)))


def line_work(nodes: int, points: int) -> int:
    """Price a trapezoid sum, without M, and its values at some epsilons."""
    return NODE * nodes + (nodes // 4 + VALUE) * points


def table_work(size: int, value: int, lines: Sequence[int]) -> int:
    """Price a table of so many points: the base's profile at each, in closed form or by lines."""
    each = max([value, *(VALUE + nodes // 4 for nodes in lines)])
    return size * (each + 16) + 32 * sum(lines)


def counted_value(counts: int) -> int:
    """Price a value of the profile of Gaussians with so many counts: at a threshold, by Newton."""
    return 8 * VALUE + 40 * counts


def turn_work(size: int, runs: int, nodes: int) -> int:
    """Price M of a table at nodes on one line; sums of many nodes ask for ceilings as well."""
    each = max(min(size, DIRECT) * 2, 5 * runs) + 24
    return 8 * size * min(nodes, 4) + each * nodes


def atoms(parts: Iterable[tuple[int, int]]) -> int:
    """Count the terms of a product of powers of sums, by their terms and powers; 0: too many."""
    listed = list(parts)
    short = all(0 < terms <= MAX_ATOMS for terms, _ in listed)
    if not short or sum(count for _, count in listed) > MAX_PARTS:
        return 0
    found = prod(comb(count + terms - 1, count) for terms, count in listed)
    return found if found <= MAX_ATOMS else 0


def atoms_work(terms: int) -> int:
    """Price listing the losses of a product."""
    return 48 * terms


def residues_work(terms: int, degree: int) -> int:
    """Price making a finite sum of residues."""
    return terms * (48 + 12 * degree)


def residues_value(terms: int, degree: int) -> int:
    """Price one value of a finite sum of residues."""
    return VALUE + terms * (2 + degree // 4)


def lattice_work(cells: int, factors: int) -> int:
    """Price adding up the law of losses on one lattice."""
    return cells * (56 + factors // 4)


def corners_work(outcomes: int, bits: int) -> int:
    """Price the corners of a finite pair, exactly, with denominators of so many bits in all."""
    return outcomes * (64 + bits // 32 + (bits * bits >> 18))


def law_work(probabilities: int) -> int:
    """Price one value of phi; of a finite law with so many probabilities, 0 for other laws."""
    return RUN_LAW + probabilities // 4


def blocks_work(blocks: int, masses: int, outcomes: int, law: int) -> int:
    """Price the bound of the best of some runs, ``law`` the work of one value of phi."""
    each = blocks * (2 * law + 17) + 4 * (blocks + outcomes) + 32
    return masses * each + 256 * blocks


def rectangle_work(law: int) -> int:
    """Price the lines of one rectangle of masses, for runs that stop at a threshold."""
    return 6 * law + 190


def ranges_work(rows: int, bits: int) -> int:
    """Price so many rows of one step of the recursion for bounded ranges."""
    return rows * (14 + bits // 32)


def sum_of_rationals_work(terms: int, bits: int) -> int:
    """Price adding up rationals, whose denominators have so many bits in all."""
    return terms * (32 + min(bits, MAX_SUM_BITS) // 128)


def minors_work(products: int, bits: int) -> int:
    """Price minors of a matrix of rationals, which have so many bits."""
    return products * (8 + bits // 256)


def look_up_work(points: int, bits: int) -> int:
    """Price a look-up among listed divergences, with denominators of so many bits in all."""
    return 8 * (points + bits // 256)


def cell_sums_work(size: int) -> int:
    """Price the power of a law on a lattice that ends with so many losses, and its sum."""
    return 4 * size
