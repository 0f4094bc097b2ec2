"""Axioms: the guarantee of each mechanism that runs as stated."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import lcm
from typing import Final, TypeAlias

from flint import arb, fmpq, fmpq_mat

from dpproof.proofs import limits
from dpproof.proofs.balls.arithmetic import each_precision, exact_sum
from dpproof.proofs.balls.integer_laws import reach, shifted
from dpproof.proofs.core.arithmetic import ball, exact, normal_tail, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.pairs import GaussianPair, LaplacePair, Pair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.rules import adds, both
from dpproof.proofs.core.statements import GDP, SYMMETRIC, Pairs, PureDP
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.fields import rows
from dpproof.proofs.limits import MAX_COMMON_BITS, MAX_COUNT, PER_COMPARISON, PRECISIONS, VALUE
from dpproof.proofs.logic.statement import ZCDP, BoundedRange, MetricDP
from dpproof.proofs.pairs import pair as kinds
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair, told_with
from dpproof.proofs.pairs.pair import DiscreteGaussianPair, DiscreteLaplacePair
from dpproof.proofs.rules.finite_pair import alone, copied
from dpproof.proofs.rules.prices import common_bits, corners_work

_DENSITIES: Final = {
    "laplace": "of density proportional to e^(-|x|/scale)",
    "exponential": "of density proportional to e^(-x/scale) on x > 0",
}
_LAPLACE: Final = "of mass proportional to e^(-|x|/scale) at every whole number x"


def laplace_joint(step: Application) -> tuple[str, ...]:
    """Check Laplace noise if every coordinate moves by at most m, and all by Delta together.

    Dominated by as many shifts of m/scale as Delta has room for, and one of what is left.
    Proof: proofs/theory/joint_sensitivity.md.
    """
    step.axiom()
    sensitivity, scale = step.witness.positive("sensitivity"), step.witness.positive("scale")
    largest = step.witness.positive("largest")
    full = sensitivity // largest
    if not 1 <= full <= MAX_COUNT:
        raise RefusedError("the largest change of a coordinate is out of range")
    rest = sensitivity - full * largest
    parts = (LaplacePair(largest / scale), full), (LaplacePair(rest / scale), 1)
    product = parts if rest else parts[:1]
    step.expect(Pairs(product, product))
    noise = f"Laplace noise of scale {exact(scale)}, of density proportional to e^(-|x|/scale)"
    moved = f"{exact(sensitivity)} in L1 norm and by at most {exact(largest)} in each coordinate"
    return adds(step, noise, moved)


def randomized_response(step: Application) -> tuple[str, ...]:
    """Check randomised response on k categories: dominated by its laws at two of them."""
    step.axiom()
    epsilon = step.witness.positive("epsilon")
    categories = step.witness.whole("categories", least=2)
    step.expect(both(RandomizedResponsePair(epsilon, categories, Fraction(0))))
    top = f"e^{exact(epsilon)}"
    released = (
        f"computes from the data one of {categories} categories, the same list for all datasets; "
        f"its result is that category with probability {top}/({top} + {categories - 1}), and each "
        f"other with probability 1/({top} + {categories - 1})"
    )
    return released, FRESH, ALONE


def discrete_laplace(step: Application) -> tuple[str, ...]:
    """Check discrete Laplace noise on integers: a shift by L1. docs/shift-lemma.md, Corollary 1."""
    step.axiom()
    scale, shift = step.witness.positive("scale"), step.witness.whole("shift")
    step.expect(both(DiscreteLaplacePair(scale, shift)))
    noise = f"discrete Laplace noise of scale {exact(scale)}, {_LAPLACE}"
    return adds(step, noise, f"{shift} in L1 norm", "whole ")


def discrete_gaussian(step: Application) -> tuple[str, ...]:
    """Check discrete Gaussian noise on an integer query of L1 sensitivity k, or squared L2 k <= 3.

    Dominated by one shift by k, or by k shifts by 1.
    Source: docs/shift-lemma.md, Corollaries 1 and 2.
    """
    step.axiom()
    variance = step.witness.positive("sigma") ** 2
    shift, copies, moved = _shifts(step)
    step.expect(both(DiscreteGaussianPair(variance, shift), copies))
    return adds(step, _discrete_gaussian(variance), moved, "whole ")


def _shifts(step: Application) -> tuple[int, int, str]:
    """Return which shift of integer noise dominates, how often, and the sensitivity in words."""
    units, norm = step.witness.whole("units"), step.witness.words("norm")
    if norm == "L1":
        return units, 1, f"{units} in L1 norm"
    if norm != "L2" or units > 3:
        raise RefusedError("the rule wants norm L1, or L2 with a squared sensitivity of at most 3")
    return 1, units, f"{units} in squared L2 norm"


def discrete_gaussian_zcdp(step: Application) -> tuple[str, ...]:
    """Check k/(2 sigma^2)-zCDP of discrete Gaussian noise on an integer query.

    Its squared L2 sensitivity is k. Source: Canonne, Kamath & Steinke (arXiv:2004.00010), Theorem
    14.
    """
    step.axiom()
    variance = step.witness.positive("sigma") ** 2
    units = step.witness.whole("units")
    step.expect(ZCDP(units / (2 * variance)))
    noise = _discrete_gaussian(variance)
    return adds(step, noise, f"{units} in squared L2 norm", "whole ")


def histogram(step: Application) -> tuple[str, ...]:
    """Check integer noise on counts, few of which move: independent shifts of those.

    Source: docs/shift-lemma.md, Corollary 4.
    """
    step.axiom()
    scale, noise = step.witness.positive("scale"), step.witness.words("noise")
    cells, largest = step.witness.whole("cells"), step.witness.whole("largest")
    if noise == "gaussian":
        step.expect(both(DiscreteGaussianPair(scale**2, largest), cells))
        added = _discrete_gaussian(scale**2)
    elif noise == "laplace":
        step.expect(both(DiscreteLaplacePair(scale, largest), cells))
        added = f"discrete Laplace noise of scale {exact(scale)}, {_LAPLACE}"
    else:
        raise RefusedError("the rule knows gaussian and laplace noise")
    moves = f"at most {cells} of which move, each by at most {largest},"
    return adds(step, added, moves, "whole ")


def exponential(step: Application) -> tuple[str, ...]:
    """Check the exponential mechanism: bounded range 2 factor Delta, or half if monotone.

    Source: Dong, Durfee & Rogers (arXiv:1909.13830), Section 3; the log ratio of two outputs'
    probabilities moves by at most the range of the scores' moves, times the factor.
    """
    step.axiom()
    factor, sensitivity = step.witness.positive("factor"), step.witness.positive("sensitivity")
    monotone = step.witness.flag("monotone")
    if monotone and step.conclusion.relation in SYMMETRIC:
        raise RefusedError(f"scores are not monotone under {step.conclusion.relation}")
    step.expect(BoundedRange(factor * sensitivity * (1 if monotone else 2)))
    between = f"between {step.conclusion.relation} neighbours"
    draws = (
        f"draws one candidate, of score u with probability proportional to e^({exact(factor)} u), "
        "from a list of candidates that is the same for all datasets; each score moves by at most "
        f"{exact(sensitivity)} {between}; its result is that candidate"
    )
    together = "has no two scores that move in opposite directions between two neighbours"
    return draws, *[together] * monotone, FRESH, ALONE


def report_noisy_max(step: Application) -> tuple[str, ...]:
    """Report noisy max, Laplace or exponential noise: 2 Delta/scale along paths, half if monotone.

    Proof: proofs/theory/path.md, Theorem 2.
    """
    noise = step.witness.words("noise")
    if noise not in _DENSITIES:
        raise RefusedError("the rule knows Laplace and exponential noise")
    scale, scores, together = _noisy_scores(step)
    adds = (
        f"adds {noise} noise of scale {exact(scale)}, {_DENSITIES[noise]}, independent for every "
        f"candidate, to the score of every candidate, {scores}; its result is the candidate of the "
        "largest sum"
    )
    return adds, *together, FRESH, ALONE


def permute_and_flip(step: Application) -> tuple[str, ...]:
    """Check permute-and-flip: 2 Delta/scale along paths of scores, half if monotone.

    Proof: proofs/theory/path.md, Theorem 2.
    """
    scale, scores, together = _noisy_scores(step)
    goes = (
        f"goes through candidates {scores}; every order of the candidates is equally likely, it "
        "ends at the first whose coin is heads; every candidate has a coin of its own, for score u "
        f"heads with probability e^((u - the largest score)/{exact(scale)}); order and coins "
        "are independent of each other; its result is the candidate at which it ends"
    )
    return goes, *together, FRESH, ALONE


def _noisy_scores(step: Application) -> tuple[Fraction, str, tuple[str, ...]]:
    """Check the step of a choice among noisy scores; return the scale and what it assumes."""
    step.axiom()
    scale, sensitivity = step.witness.positive("scale"), step.witness.positive("sensitivity")
    monotone = step.witness.flag("monotone")
    if monotone and step.conclusion.relation in SYMMETRIC:
        raise RefusedError("scores are not monotone under replace-one")
    step.expect(MetricDP(sensitivity / scale * (1 if monotone else 2)))
    scores = (
        "from a list of candidates that is the same for all datasets; each score moves by at "
        f"most {exact(sensitivity)} between {step.conclusion.relation} neighbours"
    )
    together = "has no two scores that move in opposite directions between two neighbours"
    return scale, scores, (together,) if monotone else ()


def _discrete_gaussian(variance: Fraction) -> str:
    law = "of mass proportional to e^(-x^2/(2 sigma^2)) at every whole number x"
    return f"discrete Gaussian noise of sigma^2 = {exact(variance)}, {law}"


MAX_VARIANCE: Final = 1 << 20
MAX_SHIFT: Final = 1 << 14


def skellam(step: Application) -> tuple[str, ...]:
    """Check Skellam noise on an integer query of L1 sensitivity k, or squared L2 one k <= 3.

    It is dominated by one shift by k, or by k shifts by 1; a finite pair's profile above that of a
    shift at its corners is above it everywhere. Source: docs/shift-lemma.md, Corollaries 1 and 2.
    """
    step.axiom()
    variance, (shift, copies, moved) = step.witness.positive("variance"), _shifts(step)
    if variance > MAX_VARIANCE or shift > MAX_SHIFT:
        raise RefusedError("the rule wants smaller numbers")
    claim = step.concludes(Pairs)
    for product in dict.fromkeys((claim.forward, claim.backward)):
        _compare(step, copied(product, copies), variance, shift)
    noise = (
        f"Skellam noise of variance {exact(variance)}, the difference of two independent Poisson "
        "variables of one mean"
    )
    return adds(step, noise, moved, "whole ")


def _compare(step: Application, pair: FinitePair, variance: Fraction, shift: int) -> None:
    """Refuse if the profile of a shift is above the pair's somewhere."""
    price = VALUE * (reach(variance, PRECISIONS[0]) + shift)
    step.budget.spend(price + corners_work(pair) + (PER_COMPARISON + VALUE) * len(pair.p))
    table = each_precision(partial(shifted, variance, shift))

    def bound(t: Fraction) -> arb:
        return table().profile(ball(t))

    for t, allowed in kinds.corners(pair):
        require_at_most(partial(bound, t), partial(ball, allowed), f"the profile at {show(t)}")


def smooth_sensitivity(step: Application) -> tuple[str, ...]:
    """Check pure DP of at least beta + 2 asinh(1/(2 scale)).

    Proof: proofs/theory/smooth_sensitivity.md, Theorem 1.
    """
    step.axiom()
    beta, scale = step.witness.positive("beta"), step.witness.positive("scale")
    stated = step.concludes(PureDP).epsilon

    def needed() -> arb:
        return ball(beta) + 2 * ball(1 / (2 * scale)).asinh()

    require_at_most(needed, partial(ball, stated), "what the mechanism costs")
    relation = step.conclusion.relation
    adds = (
        "computes from the data a number, as one for every dataset, and a bound above 0; "
        f"between {relation} neighbours the number moves by at most the bound of either, and the "
        f"bounds differ by a factor of at most e^{exact(beta)}; its result is the number plus "
        f"Cauchy noise of scale {exact(scale)} times the bound"
    )
    return adds, FRESH, ALONE


def propose_test_release(step: Application) -> tuple[str, ...]:
    """Check the noise's pair, the test's Laplace pair, and that of (0, delta)-DP.

    The margin has e^-margin/2 <= delta. Proof: proofs/theory/propose_test_release.md.
    """
    step.axiom()
    noise, scale = step.witness.words("noise"), step.witness.positive("scale")
    sensitivity, epsilon = step.witness.positive("sensitivity"), step.witness.positive("epsilon")
    delta = step.witness.rational("delta", least=0, most=1)
    margin = step.witness.rational("margin", least=0)
    if noise not in {"gaussian", "laplace"}:
        raise RefusedError("the rule knows gaussian and laplace noise")
    size = sensitivity / scale
    base: Pair = GaussianPair(size**2) if noise == "gaussian" else LaplacePair(size)
    missed = told_with(delta)
    counts: dict[Pair, int] = {}
    for pair in (base, LaplacePair(epsilon), missed):
        counts[pair] = counts.get(pair, 0) + 1
    product = tuple(counts.items())
    step.expect(Pairs(product, product))

    def passes() -> arb:
        return (-ball(margin)).exp() / 2

    require_at_most(passes, partial(ball, delta), "the probability to pass at distance 0")
    relation, norm = step.conclusion.relation, "L2" if noise == "gaussian" else "L1"
    law = f"Gaussian noise of mean 0 and standard deviation {exact(scale)}"
    if noise == "laplace":
        law = f"Laplace noise of scale {exact(scale)}"
    runs = (
        f"adds {law}, independent in every coordinate, to the value of a query, a list of numbers, "
        f"as long for every dataset; it adds independent Laplace noise of scale "
        f"1/{exact(epsilon)} to a distance, a whole number at or above 0; the distance is at most "
        f"1 apart for {relation} neighbours and 0 where the value moves by more than "
        f"{exact(sensitivity)} in {norm} norm to a neighbour; its result is the noisy value if the "
        f"noisy distance is above {exact(margin)}/{exact(epsilon)}, else that it is not"
    )
    return runs, FRESH, ALONE


Rows: TypeAlias = list[tuple[Fraction, ...]]

MOST: Final = 32  # rows of a factor


def correlated_gaussian(step: Application) -> tuple[str, ...]:
    """Check mu-GDP of noise A diag(s) Z, Z standard normal.

    It holds if |diag(s)^-1 A^-1 v| <= mu for every change v. A norm is convex, so that the corners
    of a convex hull suffice; for all v of |v| <= r the matrix mu^2 A diag(s^2) A' - r^2 I must be
    positive definite. Proof: proofs/theory/correlated_gaussian.md.
    """
    step.axiom()
    factor, sigmas = rows(step.witness, "factor"), step.witness.rationals("sigmas")
    differences, radius = rows(step.witness, "differences"), step.witness.rational("radius")
    size = len(sigmas)
    if not 1 <= size <= MOST or min(sigmas) <= 0 or len(factor) != size:
        raise RefusedError(f"the rule wants 1 to {MOST} rows, and standard deviations above 0")
    if {len(row) for row in (*factor, *differences)} != {size}:
        raise RefusedError("rows and differences must have one length")
    if any(row[i] != 1 or any(row[i + 1 :]) for i, row in enumerate(factor)):
        raise RefusedError("the factor must be triangular with ones on its diagonal")
    if bool(differences) == bool(radius) or radius < 0:
        raise RefusedError("the rule wants either differences or a radius above 0")
    square = step.concludes(GDP).mu_squared
    bits = _bits([*factor, *differences, sigmas, (square, radius)])
    step.budget.spend(limits.minors_work(size**2 * (size + len(differences)), 2 * size * bits))
    if differences:
        for change in differences:
            if _square(factor, sigmas, change) > square:
                raise RefusedError("mu is smaller than the norm of a difference")
    elif not _definite(factor, sigmas, square, radius):
        raise RefusedError("mu is smaller than the norm of some change")
    moved = f"{exact(radius)} in L2 norm"
    if differences:
        moved = f"1 in the norm whose unit ball is spanned by {_listed(differences)} and negatives"
    noise = (
        f"Gaussian noise A E, A the matrix of rows {_listed(factor)}, E of independent entries of "
        f"mean 0 and standard deviations {openable(', '.join(map(str, sigmas)))}"
    )
    return adds(step, noise, moved, independent=False)


def _bits(rows: Sequence[Sequence[Fraction]]) -> int:
    """Return the bits of numerators and of the common denominator of some numbers."""
    listed = [value for row in rows for value in row]
    bits = max(value.numerator.bit_length() for value in listed)
    return bits + lcm(*(value.denominator for value in listed)).bit_length()


def _square(factor: Rows, sigmas: Sequence[Fraction], change: Sequence[Fraction]) -> Fraction:
    """Return |diag(s)^-1 A^-1 v|^2, A triangular with ones on its diagonal."""
    roots: list[Fraction] = []
    for row, value in zip(factor, change, strict=True):
        terms = zip(row, roots, strict=False)  # what is found so far
        roots.append(value - sum((a * b for a, b in terms), Fraction(0)))
    return sum(((x / s) ** 2 for x, s in zip(roots, sigmas, strict=True)), Fraction(0))


def _definite(factor: Rows, sigmas: Sequence[Fraction], square: Fraction, radius: Fraction) -> bool:
    """Return whether mu^2 A diag(s^2) A' - r^2 I is positive definite by its leading minors."""
    rows = [[_exact(a * s) for a, s in zip(row, sigmas, strict=True)] for row in factor]
    noise = fmpq_mat(rows)
    left = noise * noise.transpose() * _exact(square)
    size, shift = len(rows), _exact(radius**2)
    entries = [[left[i, j] - shift * (i == j) for j in range(size)] for i in range(size)]
    return all(fmpq_mat([row[:k] for row in entries[:k]]).det() > 0 for k in range(1, size + 1))


def _exact(value: Fraction) -> fmpq:
    """Return a rational in the type of matrices."""
    return fmpq(value.numerator, value.denominator)


def _listed(rows: Rows) -> str:
    """Return rows for readers."""
    return openable("; ".join(", ".join(map(str, row)) for row in rows))


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
        corners = kinds.corners(pair)
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
    table = rows(step.witness, "table")
    for law in table:
        if not law or min(law) < 0 or exact_sum(law, MAX_COMMON_BITS) != 1:
            raise RefusedError("a row's probabilities must be at or above 0 and sum to 1")
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


def local_report(step: Application) -> tuple[str, ...]:
    """Return what is assumed of a report that tells two categories apart by three outcomes."""
    step.axiom()
    kind, categories = step.witness.words("kind"), step.witness.whole("categories", least=2)
    keep = step.witness.rational("keep", least=0, most=1)
    if kind == "bits":
        up, down, how = _report_bits(step, keep, categories)
    elif kind == "hash":
        up, down, how = _hash(step, keep)
    elif kind == "subset":
        up, down, how = _subset(step, keep, categories)
    else:
        raise RefusedError("the rule knows reports by bits, hash and subset")
    rest = 1 - up - down
    product = ((FinitePair((up, down, rest), (down, up, rest)), 1),)
    step.expect(Pairs(product, product))
    computed = f"one of {categories} categories, the same list for all datasets"
    return f"computes from the data {computed}; its result is {how}", FRESH, ALONE


def _report_bits(
    step: Application, keep: Fraction, categories: int
) -> tuple[Fraction, Fraction, str]:
    flip = step.witness.rational("flip", least=0, most=1)
    how = (
        f"{categories} independent bits: that of the category is 1 with probability "
        f"{exact(keep)}, each other one is 1 with probability {exact(flip)}"
    )
    return keep * (1 - flip), flip * (1 - keep), how


def _hash(step: Application, keep: Fraction) -> tuple[Fraction, Fraction, str]:
    cells = step.witness.whole("cells", least=2)
    how = (
        f"a function into {cells} cells, drawn so that any two categories share a cell with "
        f"probability 1/{cells}, and a cell; that is the category's with probability "
        f"{exact(keep)}, else one of the others, all equally likely"
    )
    apart = 1 - Fraction(1, cells)
    return apart * keep, apart * (1 - keep) / (cells - 1), how


def _subset(step: Application, keep: Fraction, categories: int) -> tuple[Fraction, Fraction, str]:
    size = step.witness.whole("size")
    if size >= categories:
        raise RefusedError("a set holds fewer than all categories")
    how = (
        f"a set of {size} of them that holds the category with probability {exact(keep)}; all sets "
        "of this size that hold it are equally likely, and so are all that do not"
    )
    others = categories - 1
    return keep * (categories - size) / others, (1 - keep) * size / others, how


def partition_selection(step: Application) -> tuple[str, ...]:
    """Check one finite pair, repeated, above the coins of all partitions whose counts move.

    Counts move by 1, so a coin's laws are those of two consecutive numbers, in either order; the
    profile of two laws is convex in t, and that of a finite pair linear between its corners.
    """
    step.axiom()
    cells, kept = step.witness.whole("cells"), _kept(step)
    claim = step.concludes(Pairs)
    for product in (claim.forward, claim.backward):
        pair = copied(product, cells)
        each = 16 + sum(one.denominator.bit_length() for one in kept) // (16 * len(kept))
        step.budget.spend(corners_work(pair) + 2 * (len(pair.p) + 1) * len(kept) * each)
        corners = kinds.corners(pair)
        for low, high in pairwise((Fraction(0), *kept)):
            few, many = (low, 1 - low), (high, 1 - high)
            compare(many, few, corners, pair.infinite)
            compare(few, many, corners, pair.infinite)
    listed = openable(", ".join(map(str, kept)))
    released = (
        "its result is an independent coin's outcome for each number n of the list; it is heads "
        f"with probability 0 if n = 0, else with the n-th, the last if there are fewer, of {listed}"
    )
    return f"{_counts(step, cells)}; {released}", FRESH, ALONE


def _kept(step: Application) -> list[Fraction]:
    """Read the probabilities at 1, 2, ... records; the last holds for all larger numbers."""
    kept = list(step.witness.rationals("kept"))
    if not kept or min(kept) < 0 or max(kept) > 1:
        raise RefusedError("the probabilities must be at least one, each from 0 to 1")
    return kept


def thresholded_counts(step: Application) -> tuple[str, ...]:
    """Check the noise's pairs and (0, delta) for noisy counts from a threshold on.

    Only counts that somebody has are released. Proof: proofs/theory/partition_selection.md, Theorem
    3.
    """
    step.axiom()
    noise, scale = step.witness.words("noise"), step.witness.positive("scale")
    cells, threshold = step.witness.whole("cells"), step.witness.whole("threshold", least=2)
    delta = step.witness.rational("delta", least=0, most=1)
    if noise not in {"gaussian", "laplace"}:
        raise RefusedError("the rule knows gaussian and laplace noise")
    gaussian = noise == "gaussian"
    shift: Pair = DiscreteGaussianPair(scale**2, 1) if gaussian else DiscreteLaplacePair(scale, 1)
    missed = FinitePair((delta, 1 - delta, delta * 0), (delta * 0, 1 - delta, delta))
    step.expect(Pairs(((shift, cells), (missed, 1)), ((shift, cells), (missed, 1))))

    def published() -> arb:
        if gaussian:
            return cells * normal_tail(ball((threshold - 2) / scale))
        return cells * (-ball((threshold - 1) / scale)).exp() / (1 + (-ball(1 / scale)).exp())

    require_at_most(published, partial(ball, delta), "the probability to publish what one has")
    law = f"e^(-z^2/(2 {exact(scale)}^2))" if gaussian else f"e^(-|z|/{exact(scale)})"
    released = (
        f"adds whole noise of P(z) proportional to {law}, independent in every coordinate; its "
        f"result is the sum of every number above 0 for which that is at least {threshold}, and of "
        "the others that it is not"
    )
    return f"{_counts(step, cells)}; it {released}", FRESH, ALONE


def _counts(step: Application, cells: int) -> str:
    return (
        "computes from the data a list of whole numbers, as long for every dataset, "
        f"none of them negative; at most {cells} of them move, each by at most 1, between "
        f"{step.conclusion.relation} neighbours"
    )
