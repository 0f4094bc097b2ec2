"""Mechanisms whose truth is enumerated: local reports, noise of finite reach, choices by noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, permutations

from dpproof.accountant import L1
from dpproof.mechanisms import Staircase
from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.laws import Law, Neighbours, Pair, power
from tests.hunt.parts import Part, exponential, law_text
from tests.hunt.questions import ask
from tests.hunt.threshold import first_above_noisy
from tests.hunt.truth import MP, Real, rational, real

_GRID = 1 << 60  # Reports round their probabilities to multiples of its inverse.


def _table(draw: Draw) -> Part:
    """Any finite mechanism; with two datasets the smallest pair above it is its own."""
    outcomes = draw.integer(2, 4)
    rows = [draw.law(outcomes, zeros=draw.rarely(4)) for _ in range(draw.integer(2, 4))]
    listed = ", ".join(map(law_text, rows))
    if len(rows) > 2:
        ordered = tuple((p, q) for p in rows for q in rows if p is not q)
        source = f"mechanisms.FiniteMechanism([{listed}], relation=AddRemove()).guarantee()"
        return Part(source, Neighbours(ordered, ordered), attained=False)
    source = (
        f"mechanisms.FiniteMechanism([{listed}], neighbours=[(0, 1)], relation=AddRemove())"
        ".guarantee()"
    )
    return Part(source, Neighbours.symmetric((rows[0], rows[1])), attained=True)


def _chance(draw: Draw) -> Fraction:
    return Fraction(draw.integer(1, 31), 32)


def _unary(draw: Draw) -> Part:
    """Two bits differ, each the other's mirror image."""
    epsilon, symmetric = min(draw.positive(), Fraction(20)), draw.rarely(2)
    half = rational(MP.exp(real(epsilon) / 2))
    odds = half if symmetric else exponential(epsilon)
    flip = Fraction(math.ceil(_GRID / (odds + 1)), _GRID)
    keep = 1 - flip if symmetric else Fraction(1, 2)
    source = (
        f"mechanisms.UnaryEncoding(epsilon={text(epsilon)}, categories={draw.integer(2, 9)}, "
        f"symmetric={symmetric}, relation=AddRemove()).guarantee()"
    )
    return Part(source, Neighbours.symmetric(_two_bits(keep, flip)), attained=True)


def _two_bits(keep: Fraction, flip: Fraction) -> Pair:
    """The bit of the true category and that of the other one."""
    one, other = keep * (1 - flip), (1 - keep) * flip
    rest = 1 - one - other
    return (one, other, rest), (other, one, rest)


def _rappor(draw: Draw) -> Part:
    f, one, zero = _chance(draw), _chance(draw), _chance(draw)
    if one == zero:
        zero = one / 2
    keep, flip = (1 - f / 2) * one + f / 2 * zero, f / 2 * one + (1 - f / 2) * zero
    source = (
        f"mechanisms.Rappor(f={text(f)}, one={text(one)}, zero={text(zero)}, categories=3, "
        "relation=AddRemove()).guarantee()"
    )
    return Part(source, Neighbours.symmetric(_two_bits(keep, flip)), attained=True)


def _kept(epsilon: Fraction, wanted: int, others: int) -> Fraction:
    """Wanted times e^epsilon over itself plus the others, rounded down to the grid."""
    weight = wanted * exponential(epsilon)
    return Fraction(math.floor(weight / (weight + others) * _GRID), _GRID)


def _subset(draw: Draw) -> Part:
    """Sets that hold one of two categories and not the other."""
    epsilon, k = min(draw.positive(), Fraction(20)), draw.integer(2, 9)
    d = draw.integer(1, k - 1)
    keep = _kept(epsilon, d, k - d)
    one, other = keep * Fraction(k - d, k - 1), (1 - keep) * Fraction(d, k - 1)
    source = (
        f"mechanisms.SubsetSelection(epsilon={text(epsilon)}, categories={k}, size={d}, "
        "relation=AddRemove()).guarantee()"
    )
    rest = 1 - one - other
    return Part(
        source, Neighbours.symmetric(((one, other, rest), (other, one, rest))), attained=True
    )


def _hashing(draw: Draw) -> Part:
    """Two categories share a cell with probability 1/g, and then nothing is told."""
    epsilon, g = min(draw.positive(), Fraction(20)), draw.choose((2, 3, 5, 7))
    keep, apart = _kept(epsilon, 1, g - 1), 1 - Fraction(1, g)
    one, other = apart * keep, apart * (1 - keep) / (g - 1)
    source = (
        f"mechanisms.LocalHashing(epsilon={text(epsilon)}, categories={draw.integer(2, 99)}, "
        f"cells={g}, relation=AddRemove()).guarantee()"
    )
    rest = 1 - one - other
    return Part(
        source, Neighbours.symmetric(((one, other, rest), (other, one, rest))), attained=True
    )


def _shifted(law: Sequence[Fraction], by: int) -> Pair:
    """A law on consecutive numbers and itself moved."""
    none = (Fraction(0),) * by
    return (*law, *none), (*none, *law)


def _canonical(draw: Draw) -> Part:
    """The recursion of the docstring; a move by the sensitivity moves K by one."""
    epsilon = Fraction(draw.integer(1, 24), 8)
    delta = Fraction(draw.integer(1, 20), 10 ** draw.integer(2, 4))
    odds = Fraction(math.floor(exponential(epsilon) * 2**16), 2**16)
    below = [(1 - delta) / (1 + odds)]
    while below[-1] > 0:
        below.append(max(Fraction(0), below[-1] - delta) / odds)
    side = [a - b for a, b in pairwise(below)]
    law = (*side[::-1], 1 - 2 * below[0], *side)
    source = (
        f"mechanisms.CanonicalNoise(epsilon={text(epsilon)}, delta={text(delta)}, "
        f"sensitivity=L1({draw.integer(1, 5)})).guarantee()"
    )
    return Part(source, Neighbours.symmetric(_shifted(law, 1)), attained=True)


def _truncated(draw: Draw) -> Part:
    """Every move up to the sensitivity is one of neighbours."""
    epsilon, units = Fraction(draw.integer(2, 24), 8), draw.integer(1, 3)
    delta = Fraction(draw.integer(1, 20), 10 ** draw.integer(2, 3))
    ratio = Fraction(math.ceil(exponential(-epsilon / units) * 2**16), 2**16)
    reach = 0
    while True:
        weights = [ratio ** abs(z) for z in range(-reach, reach + 1)]
        if len(weights) >= units and sum(weights[:units]) <= delta * sum(weights):
            break
        reach += 1
    law = tuple(weight / sum(weights) for weight in weights)
    forward = tuple(_shifted(law, by) for by in range(1, units + 1))
    source = (
        f"mechanisms.TruncatedLaplace(epsilon={text(epsilon)}, delta={text(delta)}, "
        f"sensitivity=L1({units})).guarantee()"
    )
    backward = tuple((q, p) for p, q in forward)
    both = forward + backward
    return Part(source, Neighbours(both, both), attained=units == 1)


def _staircase(draw: Draw) -> Part:
    """Every move by at most k; blocks of k numbers far out have b times the masses before them.

    The statement is about the noise's own b, so that b is taken from there.
    """
    units = draw.integer(1, 6)
    noise = Staircase(
        epsilon=max(min(draw.positive(), Fraction(20)), Fraction(1, 2**9)),
        sensitivity=L1(units),
        width=draw.integer(1, units),
    )
    ratio, width, far = noise.ratio, noise.width, noise.width + units
    centre = 1 / (2 * width - 1 + 2 * units * ratio / (1 - ratio))
    places = range(1 - far - units, far + units)
    beyond = [1 if abs(z) < far else 1 / (1 - ratio) for z in places]

    def moved(by: int) -> Law:
        steps = (max(0, -(-(abs(z - by) - width + 1) // units)) for z in places)
        return tuple(
            centre * ratio**step * whole for step, whole in zip(steps, beyond, strict=True)
        )

    forward = tuple((moved(0), moved(by)) for by in range(1, units + 1))
    backward = tuple((q, p) for p, q in forward)
    source = (
        f"mechanisms.Staircase(epsilon={text(noise.epsilon)}, sensitivity=L1({units}), "
        f"width={width}).guarantee()"
    )
    return Part(source, Neighbours(forward + backward, backward + forward), attained=True)


def _skellam(draw: Draw) -> Part:
    """One number moved, by its Bessel functions, down to masses that no comparison sees."""
    variance, shift = draw.integer(1, 40), draw.integer(1, 3)
    peak, total = MP.exp(-MP.mpf(variance)), MP.mpf(0)
    side: list[Real] = []
    while total < 1 - MP.mpf(10) ** -80:
        side.append(peak * MP.besseli(len(side), variance))
        total += side[-1] * (2 if len(side) > 1 else 1)
    source = f"mechanisms.Skellam(variance={variance}, sensitivity=L1({shift})).guarantee()"
    pair = _shifted((*side[:0:-1], *side), shift)
    return Part(source, Neighbours.symmetric(pair), attained=False)


def _published(draw: Draw) -> Part:
    """Coins of one or two counts that move by one, by the recursion of the docstring."""
    epsilon, delta = Fraction(draw.integer(4, 24), 8), Fraction(draw.integer(1, 20), 10**3)
    cells, swapped = draw.choose(((1, False), (2, False), (2, True)))
    given = "relation=ReplaceOne()" if swapped else f"contributions={cells}, relation=AddRemove()"
    share = (1 - Fraction(1, 2**30)) / cells
    most, falling = delta * share, exponential(-epsilon * share)
    kept = [Fraction(0)]
    while kept[-1] < 1:
        two = kept[-1] / falling + most, 1 - falling * (1 - kept[-1] - most)
        kept.append(Fraction(math.floor(min(*two, Fraction(1)) * 2**128), 2**128))
    one = Neighbours.of_rows([(chance, 1 - chance) for chance in kept])
    source = (
        f"mechanisms.PartitionSelection(epsilon={text(epsilon)}, delta={text(delta)}, {given})"
        ".guarantee()"
    )
    if cells == 1:
        return Part(source, one, attained=False)
    other = Neighbours(one.backward, one.forward) if swapped else one
    return Part(source, one.times(other), attained=False)


def _scores(draw: Draw, *, monotone: bool) -> tuple[list[Fraction], list[Fraction]]:
    """Scores of neighbours: each moves by at most 1, all in one direction if they are monotone."""
    before = [Fraction(draw.integer(0, 24), 4) for _ in range(draw.integer(2, 4))]
    steps = [Fraction(draw.integer(0 if monotone else -4, 4), 4) for _ in before]
    return before, [score + step for score, step in zip(before, steps, strict=True)]


def _flips(scores: Sequence[Fraction], scale: Fraction) -> Law:
    """Permute and flip by its definition, over all orders."""
    heads = [exponential((score - max(scores)) / scale) for score in scores]
    law = [Fraction(0)] * len(scores)
    orders = list(permutations(range(len(scores))))
    for order in orders:
        left = Fraction(1, len(orders))
        for candidate in order:
            law[candidate] += left * heads[candidate]
            left *= 1 - heads[candidate]
    return tuple(law)


def _permuted(draw: Draw) -> Part:
    """Noisy max with exponential noise is the same mechanism."""
    epsilon, monotone = min(draw.positive(), Fraction(20)), draw.rarely(2)
    scale = (1 if monotone else 2) / epsilon
    pair = tuple(_flips(scores, scale) for scores in _scores(draw, monotone=monotone))
    name = draw.choose(("PermuteAndFlip", "ReportNoisyMax"))
    source = (
        f"mechanisms.{name}(epsilon={text(epsilon)}, monotone={monotone}, sensitivity=LInf(1))"
        ".guarantee()"
    )
    return Part(source, Neighbours.symmetric((pair[0], pair[1])), attained=False)


def _threshold(draw: Draw) -> Part:
    """A few queries against one noisy threshold, by the integral over its noise."""
    monotone = draw.rarely(2)
    scales = Fraction(draw.integer(4, 40), 4), Fraction(draw.integer(4, 40), 4)
    before, after = _scores(draw, monotone=monotone)
    away = draw.integer(0, 4)
    pair = tuple(
        first_above_noisy([one - away for one in some], *scales) for some in (before, after)
    )
    source = (
        f"mechanisms.AboveThreshold(threshold_scale={text(scales[0])}, "
        f"query_scale={text(scales[1])}, monotone={monotone}, sensitivity=LInf(1)).guarantee()"
    )
    return Part(source, Neighbours.symmetric((pair[0], pair[1])), attained=False)


_LOCAL = (_table, _unary, _rappor, _subset, _hashing)
_NOISE = (_canonical, _truncated, _staircase, _skellam)
_CHOICES = (_published, _permuted, _threshold)
_MOST = 60  # outcomes of one that is used twice


def mechanism(draw: Draw) -> Part:
    """One of them, perhaps used twice."""
    one = draw.choose(_LOCAL + _NOISE + _CHOICES)(draw)
    few = len(one.neighbours.forward) == 1 and len(one.neighbours.forward[0][0]) <= _MOST
    if draw.rarely(3) and few:
        twice = one.neighbours.each(lambda pair: power(pair, 2))
        return Part(f"self_compose({one.source}, 2)", twice, one.attained)
    return one


def draw(source: Draw) -> Case:
    """A question about one."""
    often, rarely = ("delta", "epsilon", "advantage"), ("renyi", "power", "miss", "mu", "rho")
    return ask(source, mechanism(source).pipeline(), often, rarely)
