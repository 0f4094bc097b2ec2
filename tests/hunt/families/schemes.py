"""Sampling schemes and correlated noise: exact where that is known, else one test from below."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

from tests.hunt.case import Case
from tests.hunt.closed import Normal
from tests.hunt.draw import Draw, text
from tests.hunt.questions import Pipeline, ask
from tests.hunt.statistics import Largest, Reports, Revealed, Shifts, binomial
from tests.hunt.truth import MP, Real, real

OFTEN = ("delta", "delta", "advantage", "epsilon")


def _sigma(draw: Draw) -> Fraction:
    """The noise, mostly of the size of a contribution."""
    return draw.positive() if draw.rarely(12) else Fraction(draw.integer(3, 32), 8)


def _noise(sigma: Fraction, relation: str = "AddRemove()") -> str:
    moves = f"L2Contribution(1, {relation})"
    return f"mechanisms.Gaussian(sigma={text(sigma)}, sensitivity={moves})"


def _one_or_none(rate: Fraction, shift: Real) -> Shifts:
    return Shifts((real(1 - rate), real(rate)), (MP.mpf(0), shift))


def draw_one_step(source: Draw) -> Case:
    """A sample in which a record counts several times, or pushes another out.

    Under zero-out and replace-one one dataset is a test of subsets, and of draws, from below.
    """
    sigma, relation, attained = _sigma(source), "AddRemove()", True
    unit = 1 / real(sigma)
    total, kind = source.integer(2, 40), source.integer(0, 3)
    rate = Fraction(source.integer(1, 15), 16)
    size = source.integer(1, total - 1)
    if kind == 0:
        scheme = f"WithoutReplacement(sample_size={size}, population_size={total})"
        truth: Shifts | Revealed = _one_or_none(Fraction(size, total), 2 * unit)
        if source.rarely(2):  # one dataset, in both orders
            relation, moved = source.choose((("ZeroOut()", 1), ("ReplaceOne()", 2)))
            attained, truth = False, _one_or_none(Fraction(size, total), moved * unit)
    elif kind == 1:
        scheme = f"WithReplacement(sample_size={size}, population_size={total})"
        law = binomial(size, Fraction(1, total))
        truth = Shifts(law, tuple(2 * j * unit for j in range(size + 1)))
        if source.rarely(2):
            relation, attained = "ReplaceOne()", False
    elif kind == 2:
        times = source.integer(1, 12)
        relation = source.choose(("AddRemove()", "ZeroOut()"))
        scheme = f"UserPoisson(sampling_rate={text(rate)}, contributions={times})"
        truth = Shifts(binomial(times, rate), tuple(j * unit for j in range(times + 1)))
    else:
        scheme = (
            f"TruncatedPoisson(sampling_rate={text(rate)}, largest={size}, population_size={total})"
        )
        truth = Revealed(tuple(_cut(rate, size, n, unit) for n in (total, total + 1)))
    return ask(
        source,
        Pipeline(
            f"{_noise(sigma, relation)}.subsample({scheme}).guarantee()", truth, attained=attained
        ),
        OFTEN,
    )


def _cut(rate: Fraction, most: int, records: int, unit: Real) -> tuple[Real, Shifts, Shifts]:
    """A sample that is cut: whether it was, and both mixtures."""
    others, everyone = binomial(records - 1, rate), binomial(records, rate)
    tau = sum(others[most:], MP.mpf(0))
    plain = _one_or_none(rate, unit)
    if not tau:
        return tau, plain, plain
    stays = most * sum(everyone[most + 1 :], MP.mpf(0)) / (records * tau)
    return tau, plain, Shifts((1 - stays, stays), (MP.mpf(0), 2 * unit))


def draw_allocation(source: Draw) -> Case:
    """Rounds that records draw by themselves; the largest sum is a test of them.

    One record is alone in the data; under replace-one it contributes 1, or -1.
    """
    sigma, steps = Fraction(source.integer(3, 32), 8), source.integer(1, 200)
    relation, other = source.choose(("AddRemove()", "ZeroOut()")), 0
    if source.rarely(8):  # takes seconds
        relation, other = "ReplaceOne()", -1
    if source.rarely(2):
        epochs = source.integer(1, 6)
        scheme = f"BallsInBins(steps={steps}, epochs={epochs})"
    else:
        epochs, chosen = 1, source.integer(1, 2) if steps > 1 else 1
        scheme = f"RandomAllocation(steps={steps}, chosen={chosen})"
    unit = MP.sqrt(epochs) / real(sigma)
    truth = Largest(steps, (unit, other * unit))
    made = f"{_noise(sigma, relation)}.allocate({scheme}).guarantee()"
    return ask(source, Pipeline(made, truth, attained=False), OFTEN)


def draw_shuffled(source: Draw) -> Case:
    """Shuffled batches, one record against all others, by the largest sum."""
    sigma, batches, epochs = _sigma(source), source.integer(1, 200), source.integer(1, 4)
    relation, moves = source.choose((("ZeroOut()", 1), ("ReplaceOne()", 0)))
    unit = MP.sqrt(epochs) / real(sigma)
    scheme = f"ShuffledBatches(batches={batches}, epochs={epochs})"
    made = f"{_noise(sigma, relation)}.allocate({scheme}).guarantee()"
    truth = Largest(batches, (2 * unit, moves * unit))
    return ask(source, Pipeline(made, truth, attained=False), OFTEN)


def draw_reports(source: Draw) -> Case:
    """The shuffle model: histograms of randomised responses, enumerated."""
    categories = source.integer(2, 3)
    records = source.integer(1, 8 - 2 * (categories - 2))
    epsilon = Fraction(source.integer(1, 24), 8)
    made = (
        f"mechanisms.RandomizedResponse(epsilon={text(epsilon)}, categories={categories}, "
        f"relation=ReplaceOne()).shuffle(Shuffle(records={records})).guarantee()"
    )
    truth = Reports(records, real(epsilon), categories)
    return ask(source, Pipeline(made, truth, attained=True), OFTEN)


def draw_matrix(source: Draw) -> Case:
    """Correlated noise of a small Toeplitz factor: all patterns, and all signs."""
    rounds, sigma = source.integer(1, 7), _sigma(source)
    bands, apart = source.integer(1, rounds), source.integer(1, rounds)
    signed = source.rarely(3)
    listed = [Fraction(1)] + [
        Fraction(source.integer(0, 16), 8) * (-1 if signed and source.rarely(2) else 1)
        for _ in range(bands - 1)
    ]
    factor = f"mechanisms.Toeplitz([{', '.join(map(text, listed))}], rounds={rounds})"
    made = (
        f"mechanisms.MatrixMechanism(factor={factor}, sigma={text(sigma)}, sensitivity=L2(1), "
        f"participation=mechanisms.MinSeparation({apart})).guarantee()"
    )
    square = max(_squares(listed, rounds, apart))
    truth = Normal(MP.sqrt(real(square)) / real(sigma))
    exact = listed[-1] >= 0 and sorted(listed, reverse=True) == listed
    often = ("delta", "advantage", "epsilon", "renyi", "power", "mu")
    return ask(source, Pipeline(made, truth, attained=exact), often)


def _squares(listed: list[Fraction], rounds: int, apart: int) -> list[Fraction]:
    """Squared norms of columns, with signs, over all patterns."""
    columns = [
        [listed[i - j] if 0 <= i - j < len(listed) else Fraction(0) for i in range(rounds)]
        for j in range(rounds)
    ]
    found = []
    for signs in product((0, 1, -1), repeat=rounds):
        places = [place for place, sign in enumerate(signs) if sign]
        if all(b - a >= apart for a, b in pairwise(places)):
            rows = [
                sum(sign * column[i] for sign, column in zip(signs, columns, strict=True))
                for i in range(rounds)
            ]
            found.append(sum(one * one for one in rows) + Fraction(0))
    return found


def draw_cyclic(source: Draw) -> Case:
    """Parts in turn under two bands: one column is one Poisson sample, from below."""
    sigma, rate = _sigma(source), Fraction(source.integer(1, 15), 16)
    cycle, second = source.integer(2, 6), Fraction(source.integer(-8, 8), 8)
    rounds = source.integer(2, cycle)
    relation = source.choose(("AddRemove()", "ZeroOut()"))
    made = (
        f"mechanisms.MatrixMechanism(factor=mechanisms.Toeplitz([1, {text(second)}], "
        f"rounds={rounds}), sigma={text(sigma)}, sensitivity=L2Contribution(1, {relation}), "
        f"participation=mechanisms.MinSeparation({cycle}))"
        f".allocate(CyclicPoisson(sampling_rate={text(rate)}, cycle={cycle})).guarantee()"
    )
    truth = _one_or_none(rate, MP.sqrt(real(1 + second**2)) / real(sigma))
    return ask(source, Pipeline(made, truth, attained=True), OFTEN)
