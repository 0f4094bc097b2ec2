"""Gaussian noise on sums of rounds that a matrix weights, and the sensitivity of the matrix.

Proofs: proofs/theory/matrix.md. The sensitivity is the largest norm of C v over vectors v_j of norm
at most 1 in the rounds of one pattern; its square is a sum of X_ij <v_i, v_j>, X_ij
the scalar product of two columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import Final, TypeAlias

from dpproof.proofs import limits
from dpproof.proofs.core.arithmetic import exact
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.frozen import frozen
from dpproof.proofs.core.pairs import SubsampledGaussianPair
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import GDP, SYMMETRIC, Pairs, rate
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.fields import rows
from dpproof.proofs.pairs.gaussian_above_floor import OppositeGaussiansPair
from dpproof.proofs.pairs.pair import swapped
from dpproof.proofs.rules.shuffle import NOTHING_FOR_BLANKS, contributed

Rows: TypeAlias = Sequence[Sequence[Fraction]]

_ONE: Final = 1 << 60  # Coefficients by formula are rounded down to multiples of its inverse.
_TOEPLITZ: Final = ("toeplitz", "square-root", "buffered")


@frozen
class Factor:
    """A matrix by its name, and when one record may take part."""

    kind: str  # toeplitz, square-root, buffered, rows or tree
    rounds: int  # the number of columns
    bands: int  # entries further below the diagonal are 0
    listed: Rows  # its numbers
    separation: int  # of two rounds of a record at least
    participations: int  # of a record at most
    fixed: bool  # whether the separation is exact

    def words(self) -> str:
        """Return the rows for readers."""
        if self.kind == "tree":
            return "the sums of rounds 1 to n in a binary tree, one for each complete node"
        if self.kind == "rows":
            shown = "; ".join(", ".join(map(str, row)) for row in self.listed)
            return f"sums of rounds weighted by the rows {openable(shown)}"
        by = {
            "toeplitz": "from the list {}",
            "square-root": "binom(2j, j)/4^j, rounded down to multiples of 2^-60",
            "buffered": "1 and sums of buffers, of weights and decays {}, rounded down to "
            "multiples of 2^-60",
        }[self.kind]
        shown = openable("; ".join(", ".join(map(str, row)) for row in self.listed))
        weights = f"the j-th for the value j rounds before, j below {self.bands}"
        return f"sums of the present and earlier rounds with weights {by.format(shown)}, {weights}"

    def schedule(self) -> str:
        """Return for readers when a record takes part."""
        apart = "a multiple of" if self.fixed else "at least"
        often = f"at most {self.participations} of the rounds"
        any_two = f"{often}, any two of them {apart} {self.separation} apart"
        return often if self.participations == 1 else any_two


def matrix(step: Application) -> tuple[str, ...]:
    """Check mu-GDP of C x + N(0, sigma^2), mu^2 = (sens(C) sensitivity / sigma)^2 or more."""
    step.axiom()
    factor = _factor(step)
    method, duals = step.witness.words("method"), rows(step.witness, "duals")
    moved, sigma = step.witness.positive("sensitivity"), step.witness.positive("sigma")
    if bool(duals) != (method == "dual"):
        raise RefusedError("the rule wants duals for the method dual alone")
    square = _square(step, factor, method, duals)
    if step.concludes(GDP).mu_squared < square * (moved / sigma) ** 2:
        raise RefusedError("mu is smaller than the sensitivity of the factor makes it")
    value = (
        f"computes in each of {factor.rounds} rounds, from the data and the results of earlier "
        f"rounds, a list of numbers, as long for every dataset; for equal earlier results this "
        f"moves by at most {exact(moved)} in L2 norm between {step.conclusion.relation} "
        f"neighbours in {factor.schedule()}, and in no other round"
    )
    return f"{value}; {_noise(factor, sigma)}", FRESH, ALONE


def _noise(factor: Factor, sigma: Fraction) -> str:
    return (
        f"it adds Gaussian noise of mean 0 and standard deviation {exact(sigma)}, independent in "
        f"every coordinate, to {factor.words()}, each as soon as its rounds are over"
    )


def cyclic_poisson(step: Application) -> tuple[str, ...]:
    """Check the pairs of Poisson samples of b parts in turn, for a factor of at most b bands.

    They are those of one sample at mu = contribution x the largest column's norm / sigma, as many
    as a part has rounds at most: section 6.
    """
    step.axiom()
    relation = step.conclusion.relation
    if relation == "replace-label":
        raise RefusedError("the rule is about add-remove, zero-out and replace-one")
    contribution, sigma = step.witness.positive("contribution"), step.witness.positive("sigma")
    q, cycle = rate(step.witness), step.witness.whole("cycle")
    factor = _factor(step, cycle)
    if factor.kind == "tree" or factor.bands > cycle:
        raise RefusedError("the factor must be triangular, and have at most as many bands as parts")
    mu_squared = _largest_column(factor) * (contribution / sigma) ** 2
    replaced = relation in SYMMETRIC
    pair = (
        OppositeGaussiansPair(mu_squared, q)
        if replaced
        else SubsampledGaussianPair(mu_squared, q, removal=True)
    )
    blocks = -(-factor.rounds // cycle)
    step.expect(Pairs(((pair, blocks),), ((pair if replaced else swapped(pair), blocks),)))
    dealt = (
        "depends on no other record"
        if relation == "add-remove"
        else "is drawn without looking at any record"
    )
    drawn = (
        f"draws a sample in each of {factor.rounds} rounds, in round i from part i mod {cycle} of "
        f"the records; this holds every record of the part independently with probability "
        f"{exact(q)}; which of the {cycle} parts a record belongs to {dealt}"
    )
    added = f"it computes the sum of the drawn records' contributions; {contributed(contribution)}"
    ran = f"{drawn}; {added}; {_noise(factor, sigma)}"
    return ran, *[NOTHING_FOR_BLANKS] * (relation == "zero-out"), FRESH, ALONE


def _largest_column(factor: Factor) -> Fraction:
    """Return the largest square of a column's norm."""
    dense = factor.kind == "rows"
    listed = [one for row in factor.listed for one in row] if dense else _coefficients(factor)
    values, below = _whole(listed)
    columns = [values[j :: factor.rounds] for j in range(factor.rounds)] if dense else [values]
    return Fraction(max(sum(one * one for one in column) for column in columns), below**2)


def _factor(step: Application, cycle: int = 0) -> Factor:
    """Read a factor and a participation that fit together: given, or once in each cycle."""
    read = step.witness
    rounds = read.whole("rounds", most=limits.MAX_ROUNDS)
    factor = Factor(
        kind=read.words("factor"),
        rounds=rounds,
        bands=read.whole("bands", most=rounds),
        listed=rows(read, "listed"),
        separation=cycle or read.whole("separation", most=rounds),
        participations=1 if cycle else read.whole("participations", most=rounds),
        fixed=not cycle and read.flag("fixed"),
    )
    if factor.fixed and factor.separation * factor.participations != rounds:
        raise RefusedError("fixed epochs must be as long as rounds allow")
    sizes = [len(row) for row in factor.listed]
    fits = {
        "toeplitz": sizes == [factor.bands],
        "square-root": not sizes,
        "buffered": len(sizes) == 2 and sizes[0] == sizes[1] > 0 and factor.bands == rounds,
        "rows": sizes == [rounds] * rounds,
        "tree": not sizes and factor.bands == rounds,
    }
    if not fits.get(factor.kind, False):
        raise RefusedError("the rule does not know this factor, or its numbers do not fit")
    listed = enumerate(factor.listed if factor.kind == "rows" else ())
    if any(any(row[i + 1 :]) or any(row[: max(0, i + 1 - factor.bands)]) for i, row in listed):
        raise RefusedError("the factor must be zero above its diagonal, and below its bands")
    numbers = sum(sizes)
    bits = max((one.denominator.bit_length() for row in factor.listed for one in row), default=0)
    step.budget.spend(8 * (rounds + numbers) * (1 + bits // 64) * (2 + numbers // rounds))
    return factor


def _square(step: Application, factor: Factor, method: str, duals: Rows) -> Fraction:
    """Return a bound of the square of the sensitivity, by one theorem."""
    toeplitz = factor.kind in _TOEPLITZ
    if method == "envelope" and toeplitz:
        return _envelope(factor, *_whole(_coefficients(factor)))
    if method == "orthogonal" and toeplitz and factor.bands <= factor.separation:
        return _orthogonal(factor, *_whole(_coefficients(factor)))
    if method == "tree" and factor.kind == "tree":
        return _tree(factor)
    if method not in {"dual", "row-maxima"} or factor.rounds > limits.MAX_DENSE_ROUNDS:
        raise RefusedError("no theorem of this name bounds the sensitivity of this factor")
    step.budget.spend(limits.minors_work(2 * factor.rounds**3, 256))
    gram = _gram(factor)
    return _by_duals(step, factor, gram, duals) if method == "dual" else _row_maxima(factor, gram)


def _coefficients(factor: Factor) -> list[Fraction]:
    """Return the coefficients of a Toeplitz factor, from the diagonal down."""
    if factor.kind == "toeplitz":
        return list(factor.listed[0])
    if factor.kind == "square-root":
        coefficients, binomial = [], 1
        for j in range(factor.bands):
            coefficients.append(Fraction(binomial * _ONE // 4**j, _ONE))
            binomial = binomial * (4 * j + 2) // (j + 1)
        return coefficients
    weights, decays = factor.listed
    if min(weights) <= 0 or min(decays) <= 0 or max(decays) >= 1:
        raise RefusedError("weights must be above 0 and decays between 0 and 1")
    sums = [0] * (factor.rounds - 1)
    for weight, decay in zip(weights, decays, strict=True):
        buffer = weight.numerator * _ONE // weight.denominator
        for place in range(len(sums)):
            sums[place] += buffer
            buffer = buffer * decay.numerator // decay.denominator
    return [Fraction(1), *(Fraction(one, _ONE) for one in sums)]


def _whole(values: Sequence[Fraction]) -> tuple[list[int], int]:
    """Return numerators over a common denominator."""
    below = lcm(*(value.denominator for value in values))
    if below.bit_length() > limits.MAX_COMMON_BITS:
        raise RefusedError("the common denominator of the factor is too long")
    return [value.numerator * (below // value.denominator) for value in values], below


def _envelope(factor: Factor, values: Sequence[int], below: int) -> Fraction:
    """Return the square of rounds 1, 1 + b, ... under the falling majorant of |c|."""
    padded = [abs(value) for value in values] + [0] * (factor.rounds - len(values))
    falling = list(accumulate(reversed(padded), max))[::-1]
    sums = list(falling)
    reach = factor.separation * factor.participations
    for place in range(factor.separation, factor.rounds):
        sums[place] += sums[place - factor.separation]
        if place >= reach:
            sums[place] -= falling[place - reach]
    return Fraction(sum(one * one for one in sums), below**2)


def _orthogonal(factor: Factor, values: Sequence[int], below: int) -> Fraction:
    """Return the sum of the squares of columns that share no row, from the first on."""
    total = 0
    norms = list(accumulate((one * one for one in values), initial=0))
    for turn in range(factor.participations):
        left = factor.rounds - turn * factor.separation
        total += norms[min(max(left, 0), len(values))]
    return Fraction(total, below**2)


def _tree(factor: Factor) -> Fraction:
    """Return a bound of the sum over nodes of the squares of participations in them."""
    total, size, times = 0, 1, factor.participations
    while size <= factor.rounds:
        most = min(times, -(-size // factor.separation))
        total += most * min(times, factor.rounds // size * most)
        size *= 2
    return Fraction(total)


def _gram(factor: Factor) -> list[list[Fraction]]:
    """Return the scalar products of all columns."""
    size = factor.rounds
    if factor.kind == "rows":
        listed = [list(row) for row in factor.listed]
    elif factor.kind == "tree":
        spans = [(k, 1 << k) for k in range(size.bit_length())]
        nodes = [(k, node) for k, width in spans for node in range(size // width)]
        listed = [[Fraction(i >> k == node) for i in range(size)] for k, node in nodes]
    else:
        c = [*_coefficients(factor), *[Fraction(0)] * size]
        listed = [[c[i - j] if j <= i else Fraction(0) for j in range(size)] for i in range(size)]
    _whole([one for row in listed for one in row])
    columns = list(zip(*listed, strict=True))
    pairs = [[zip(one, other, strict=True) for other in columns] for one in columns]
    return [[sum((x * y for x, y in two if x and y), Fraction(0)) for two in row] for row in pairs]


def _patterns(factor: Factor) -> Iterator[tuple[int, ...]]:
    """Yield sets of rounds, in lexicographic order, of which every allowed one is a subset."""
    if factor.fixed:
        for first in range(factor.separation):
            yield tuple(range(first, factor.rounds, factor.separation))
        return
    stack: list[tuple[int, ...]] = [(place,) for place in reversed(range(factor.rounds))]
    while stack:
        pattern = stack.pop()
        later = range(pattern[-1] + factor.separation, factor.rounds)
        if len(pattern) == factor.participations or not later:
            yield pattern
        else:
            stack += [(*pattern, place) for place in reversed(later)]


def _by_duals(step: Application, factor: Factor, gram: Rows, duals: Rows) -> Fraction:
    """Return the largest sum of a dual y, where diag(y) - X is semidefinite for its pattern."""
    step.budget.spend(sum(limits.minors_work(len(dual) ** 3, 512) + 1 for dual in duals))
    left = iter(duals)
    for pattern in _patterns(factor):
        dual = next(left, ())
        if len(dual) != len(pattern):
            raise RefusedError("the rule wants one dual, as long as the pattern, for each pattern")
        part = [[gram[i][j] for j in pattern] for i in pattern]
        sums = [sum(map(abs, row)) for row in part]
        dominant = all(one <= y for one, y in zip(sums, dual, strict=True))
        if not (dominant or _definite(part, dual)):
            raise RefusedError("a dual is not above the matrix of its pattern")
    if next(left, None) is not None:
        raise RefusedError("there are more duals than patterns")
    return max(sum(dual, Fraction(0)) for dual in duals)


def _definite(part: Rows, dual: Sequence[Fraction]) -> bool:
    """Return whether diag(y) - X is positive definite, by the pivots of elimination."""
    left = [[y * (i == j) - x for j, x in enumerate(part[i])] for i, y in enumerate(dual)]
    while left:
        (pivot, *rest), *below = left
        if pivot <= 0:
            return False
        left = [
            [x - row[0] * y / pivot for x, y in zip(row[1:], rest, strict=True)] for row in below
        ]
    return True


def _row_maxima(factor: Factor, gram: Rows) -> Fraction:
    """Return the largest sum over a pattern of r_i, its largest sums of |X_ij| through i."""
    apart, most = factor.separation, factor.participations
    through = []
    for i, row in enumerate(gram):
        sizes = [abs(one) for one in row]
        before = _best(sizes[: max(0, i + 1 - apart)], apart, most)
        after = _best(sizes[i + apart :], apart, most)
        through.append(sizes[i] + max(before[k] + after[most - 1 - k] for k in range(most)))
    return _best(through, apart, most)[most]


def _best(values: Sequence[Fraction], apart: int, most: int) -> list[Fraction]:
    """Return the largest sums of at most 0, 1, ... of the values, that far apart."""
    best = [[Fraction(0)] * (most + 1)]
    for place, value in enumerate(values):
        before = best[max(0, place + 1 - apart)]
        with_it = [Fraction(0), *(before[k] + value for k in range(most))]
        best.append([max(pair) for pair in zip(best[-1], with_it, strict=True)])
    return best[-1]
