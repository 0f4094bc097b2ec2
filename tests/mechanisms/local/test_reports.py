"""Local reports of one category: unary encoding, RAPPOR, local hashing, subset selection."""

from __future__ import annotations

import itertools
import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from dpproof.accountant.errors import ParameterError
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.relation import AddRemove
from dpproof.mechanisms import (
    Frequencies,
    LocalHashing,
    Mechanism,
    RandomizedResponse,
    Rappor,
    SubsetSelection,
    UnaryEncoding,
)
from tests.contracts.mechanism_contract import FALSE_ALARM, NOT_POSITIVE, MechanismContract, one_bad

Report: TypeAlias = (
    UnaryEncoding[AddRemove]
    | Rappor[AddRemove]
    | LocalHashing[AddRemove]
    | SubsetSelection[AddRemove]
)
Oracle: TypeAlias = Report | RandomizedResponse[AddRemove]
Law: TypeAlias = Mapping[tuple[int, ...], Fraction]
BAD: dict[str, Sequence[Any]] = {
    "epsilon": (*NOT_POSITIVE, 33),
    "categories": (1, 2**21, 2.5, None),
    "relation": (AddRemove, None),
    "query": ([1],),
}


class TestUnaryEncoding(MechanismContract):
    """Optimised."""

    def mechanism(self) -> UnaryEncoding[AddRemove]:
        """Four categories."""
        return UnaryEncoding(epsilon=1, categories=4, relation=AddRemove())

    def data(self) -> object:
        """One category."""
        return 1

    def neighbour(self) -> object:
        """Another."""
        return 3

    def increasing_noise(self) -> Sequence[Mechanism[AddRemove]]:
        """Return mechanisms with epsilon from 3 down."""
        return [UnaryEncoding(epsilon=e, categories=4, relation=AddRemove()) for e in (3, 1, 0.1)]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {**BAD, "symmetric": (1, None)}
        return one_bad(
            UnaryEncoding, good={"epsilon": 1, "categories": 3, "relation": AddRemove()}, bad=bad
        )


@pytest.mark.slow
class TestRappor(TestUnaryEncoding):
    """Basic RAPPOR."""

    def mechanism(self) -> Rappor[AddRemove]:  # type: ignore[override]
        """The parameters of the paper."""
        return Rappor(f=0.5, one=0.75, zero=0.5, categories=4, relation=AddRemove())

    def increasing_noise(self) -> Sequence[Mechanism[AddRemove]]:
        """Permanent responses more and more random."""
        return [
            Rappor(f=f, one=0.75, zero=0.25, categories=4, relation=AddRemove())
            for f in (0, 0.25, 0.75)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        good = {"f": 0.5, "one": 0.75, "zero": 0.5, "categories": 4}
        bad: dict[str, Sequence[Any]] = {
            "f": (-0.5, 1, 1.5, None),
            "one": (0.5, 0.25, 2),
            "zero": (-1, 0.75),
            "categories": (1, None),
        }
        return one_bad(Rappor, good={**good, "relation": AddRemove()}, bad=bad)


class TestLocalHashing(TestUnaryEncoding):
    """Into five cells."""

    def mechanism(self) -> LocalHashing[AddRemove]:  # type: ignore[override]
        """More categories than cells."""
        return LocalHashing(epsilon=1, categories=12, cells=5, relation=AddRemove())

    def increasing_noise(self) -> Sequence[Mechanism[AddRemove]]:
        """Return mechanisms with epsilon from 3 down."""
        return [
            LocalHashing(epsilon=e, categories=9, cells=5, relation=AddRemove())
            for e in (3, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {**BAD, "cells": (1, 4, 65_539, 2.5)}
        return one_bad(
            LocalHashing, good={"epsilon": 1, "categories": 3, "relation": AddRemove()}, bad=bad
        )


class TestSubsetSelection(TestUnaryEncoding):
    """Two of six."""

    def mechanism(self) -> SubsetSelection[AddRemove]:  # type: ignore[override]
        """A third of the categories."""
        return SubsetSelection(epsilon=1, categories=6, size=2, relation=AddRemove())

    def increasing_noise(self) -> Sequence[Mechanism[AddRemove]]:
        """Return mechanisms with epsilon from 3 down."""
        return [
            SubsetSelection(epsilon=e, categories=6, size=2, relation=AddRemove())
            for e in (3, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad = {**BAD, "size": (0, 3, 1.5)}
        return one_bad(
            SubsetSelection, good={"epsilon": 1, "categories": 3, "relation": AddRemove()}, bad=bad
        )


def bits(truth: int, keep: Fraction, flip: Fraction, size: int) -> Law:
    """Every vector of bits."""
    chance = [keep if k == truth else flip for k in range(size)]
    return {
        row: Fraction(math.prod(c if b else 1 - c for b, c in zip(row, chance, strict=True)))
        for row in itertools.product((0, 1), repeat=size)
    }


def cells(truth: int, one: LocalHashing[AddRemove]) -> Law:
    """Every hash with every cell."""
    g, width = one.cells, one.digits
    digits = [truth // g**j % g for j in range(width)]
    law = {}
    for a in itertools.product(range(g), repeat=width):
        own = sum(x * y for x, y in zip(a, digits, strict=True)) % g
        for cell in range(g):
            chance = one.keep if cell == own else (1 - one.keep) / (g - 1)
            law[(*a, cell)] = chance / g**width
    return law


def subsets(truth: int, one: SubsetSelection[AddRemove]) -> Law:
    """Every set."""
    k, d = one.categories, one.size
    held, missed = math.comb(k - 1, d - 1), math.comb(k - 1, d)
    return {
        row: one.keep / held if truth in row else (1 - one.keep) / missed
        for row in itertools.combinations(range(k), d)
    }


def laws(one: Oracle, truth: int) -> Law:
    """The law of a report, by the definition of its mechanism."""
    if isinstance(one, RandomizedResponse):
        weights = [math.exp(one.epsilon) if k == truth else 1.0 for k in range(one.categories)]
        return {(k,): Fraction(weight / sum(weights)) for k, weight in enumerate(weights)}
    if isinstance(one, LocalHashing):
        return cells(truth, one)
    if isinstance(one, SubsetSelection):
        return subsets(truth, one)
    return bits(truth, one.keep, one.flip, one.categories)


MECHANISMS: list[Report] = [
    UnaryEncoding(epsilon=1.5, categories=4, relation=AddRemove()),
    UnaryEncoding(epsilon=1.5, categories=4, symmetric=True, relation=AddRemove()),
    Rappor(f=0.5, one=0.75, zero=0.5, categories=4, relation=AddRemove()),
    LocalHashing(epsilon=1.5, categories=8, cells=3, relation=AddRemove()),
    SubsetSelection(epsilon=1.5, categories=6, size=2, relation=AddRemove()),
]

RESPONSE = RandomizedResponse(epsilon=1.5, categories=3, relation=AddRemove())
ORACLES = pytest.mark.parametrize(
    "one", [*MECHANISMS, RESPONSE], ids=lambda one: type(one).__name__
)


def reported(one: Oracle, row: tuple[int, ...]) -> list[object]:
    """One report as its mechanism takes it."""
    return list(row) if isinstance(one, RandomizedResponse) else [list(row)]


@pytest.mark.parametrize("one", MECHANISMS, ids=lambda one: type(one).__name__)
def test_the_pair_is_exact(one: Report) -> None:
    """The stated profile is that of the enumerated laws at any two categories, exactly."""
    pair = one.guarantee().forward.factors[0].pair
    assert isinstance(pair, FinitePair)
    for x, y in itertools.permutations(range(one.categories), 2):
        p, q = laws(one, x), laws(one, y)
        for t in (Fraction(1, 3), Fraction(1), Fraction(3, 2), Fraction(4)):
            truth = sum(max(p[row] - t * q[row], Fraction(0)) for row in p)
            assert truth == sum(
                max(a - t * b, Fraction(0)) for a, b in zip(pair.p, pair.q, strict=True)
            )


@pytest.mark.parametrize("one", MECHANISMS, ids=lambda one: type(one).__name__)
def test_reports_follow_their_law(one: Report) -> None:
    """Frequencies of whole reports stay in their band, except with probability 1e-8 each."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    size, law = 20_000, laws(one, 1)
    outputs = one.release_many(1, size, rng=np.random.default_rng(seed))
    rows = sorted(law)
    place = {row: k for k, row in enumerate(rows)}
    found = np.bincount([place[tuple(row)] for row in outputs.tolist()], minlength=len(rows))
    expected = np.cumsum([float(law[row]) for row in rows])
    band = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * size))

    assert np.abs(np.cumsum(found) / size - expected).max() <= band


@ORACLES
def test_frequencies_are_unbiased(one: Oracle) -> None:
    """The mean over the law of a report's own estimate is 1 for its category and 0 for others."""
    law = laws(one, 2)
    mean = sum(
        float(chance) * one.frequencies(reported(one, row)).estimate for row, chance in law.items()
    )

    assert np.allclose(mean, np.arange(one.categories) == 2, atol=1e-9)
    wide = one.frequencies(reported(one, next(iter(law))))
    assert (wide.lower == 0.0).all()
    assert (wide.upper == 1.0).all()


def test_intervals_hold_the_truth() -> None:
    """At confidence 1 - 1e-8 all intervals of ten thousand reports hold the true frequencies."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    one, rng = (
        UnaryEncoding(epsilon=2, categories=3, relation=AddRemove()),
        np.random.default_rng(seed),
    )
    reports = np.concatenate([one.release_many(k, n, rng=rng) for k, n in ((0, 7000), (1, 3000))])
    found = one.frequencies(reports, confidence=1 - 1e-8)

    assert (found.lower <= [0.7, 0.3, 0.0]).all()
    assert (found.upper >= [0.7, 0.3, 0.0]).all()
    assert (found.upper - found.lower).max() < 0.25


def test_a_hundred_attributes() -> None:
    """100 reports at epsilon 0.5, delta 1e-6: 21.73 by the pair, 33.32 by randomised response."""
    guarantee = (
        UnaryEncoding(epsilon=0.5, categories=10, relation=AddRemove()).repeat(100).guarantee()
    )

    assert (
        UnaryEncoding(epsilon=0.5, categories=10, relation=AddRemove())
        .guarantee()
        .epsilon(delta=0)
        .upper
        < 0.5 + 1e-12
    )
    assert 21.7 < guarantee.epsilon(delta=1e-6).upper < 21.73


@pytest.mark.parametrize("reports", [[[0, 2, 0]], [[0, 1]], [], [[0.5, 0, 1]], 3])
def test_refuses_other_reports(reports: object) -> None:
    """Bits of the right shape."""
    with pytest.raises(ParameterError):
        UnaryEncoding(epsilon=1, categories=3, relation=AddRemove()).frequencies(reports)


@ORACLES
def test_standard_error_is_that_of_the_law(one: Oracle) -> None:
    """Of a thousand people of one category: by the law of one report, over the root of 1000."""
    law = laws(one, 2)
    values = [float(one.frequencies(reported(one, row)).estimate[2]) for row in law]
    spread = np.dot((np.array(values) - 1) ** 2, [float(chance) for chance in law.values()])
    truly, falsely = one.chances
    stated = float(truly * (1 - truly)) / float(truly - falsely) ** 2
    assert stated == pytest.approx(float(spread), rel=1e-9)


def test_projection_is_the_nearest_point_of_the_simplex() -> None:
    """No random point at or above 0 of sum 1 is nearer; a point of the simplex stays."""
    rng = np.random.default_rng(4)
    for _ in range(20):
        estimate = rng.normal(0.2, 0.4, size=5)
        found = estimates(estimate).projected()
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1)
        others = rng.dirichlet(np.ones(5), size=200)
        assert np.linalg.norm(others - estimate, axis=1).min() >= np.linalg.norm(found - estimate)
    inside = np.array([0.25, 0.75, 0.0])
    assert np.allclose(estimates(inside).projected(), inside)


def estimates(values: NDArray[np.float64]) -> Frequencies:
    """Estimates with intervals of no width."""
    return Frequencies(values, values, values, np.zeros(len(values)), 0.95)


def test_guaranteed_intervals_invert_the_divergence() -> None:
    """At each end n KL is log(2/alpha); they lie inside of Hoeffding's; names go with them."""
    one = UnaryEncoding(epsilon=3, categories=2, relation=AddRemove())
    bits = np.repeat([[1, 0], [0, 0], [0, 1]], [30, 55, 15], axis=0)
    found = one.frequencies(bits, confidence=0.9, names=("<b>", "no"))
    truly, falsely = (float(chance) for chance in one.chances)
    means = falsely + np.stack([found.lower, found.upper]) * (truly - falsely)
    hoeffding = math.sqrt(math.log(20) / 200)
    for share, low, high in zip((0.3, 0.15), *means, strict=True):
        assert share - hoeffding < low < share < high < share + hoeffding
        for mean in {low, high} - {falsely}:  # cut at the frequency 0
            yes, no = (a * mpmath.log(a / b) for a, b in ((share, mean), (1 - share, 1 - mean)))
            assert float(100 * (yes + no)) == pytest.approx(math.log(20), rel=1e-6)
    assert found.names == ("<b>", "no")
    assert "<th>&lt;b&gt;</th>" in found._repr_html_()
    interval = f"{found.estimate[0]:.4g}, in [{found.lower[0]:.4g}, {found.upper[0]:.4g}]"
    assert str(found).splitlines()[1] == f"  <b>: {interval}"
    numbered: Any = (10, 20)
    shown = one.frequencies(bits, names=numbered)
    assert shown.names == ("10", "20")
    assert "<th>20</th>" in shown._repr_html_()
    with pytest.raises(ParameterError, match="2 of them"):
        one.frequencies(bits, names=("yes",))
    for high in (1 - 2**-53, Fraction(10**20 - 1, 10**20)):
        with pytest.raises(ParameterError, match="confidence"):
            one.frequencies(bits, confidence=high)
    assert np.isfinite(one.frequencies(bits, confidence=1 - 2**-52).normal()).all()


def test_responses_are_counted() -> None:
    """Intervals hold the truth except with probability 3e-8; those of normal size lie inside."""
    seed = secrets.randbits(64)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails, to replay it
    rng = np.random.default_rng(seed)
    drawn = [RESPONSE.release_many(k, n, rng=rng) for k, n in ((0, 600), (2, 400))]
    reports = np.concatenate(drawn)
    found = RESPONSE.frequencies(reports, confidence=1 - 1e-8)
    assert (found.lower <= [0.6, 0.0, 0.4]).all()
    assert (found.upper >= [0.6, 0.0, 0.4]).all()
    low, high = found.normal()
    assert (low >= found.lower).all()
    assert (high <= found.upper).all()


@pytest.mark.parametrize("reports", [[3], [[0]], [0.5], [], "a", [-1]])
def test_refuses_other_responses(reports: object) -> None:
    """Categories, one a person; too many of them, or too small an epsilon, are not estimated."""
    with pytest.raises(ParameterError):
        RESPONSE.frequencies(reports)


def test_refuses_what_says_nothing() -> None:
    """Categories beyond a table, and laws that are equal as floats."""
    many = RandomizedResponse(epsilon=1, categories=2**21, relation=AddRemove())
    alike = RandomizedResponse(epsilon=1e-30, categories=2, relation=AddRemove())
    for one, said in ((many, "2\\^20"), (alike, "reports say nothing")):
        with pytest.raises(ParameterError, match=said):
            one.frequencies([0])
