"""Poisson-sampled Gaussian sums under replace-one, against the mixtures that they are."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    AddRemove,
    L2Contribution,
    NotImplied,
    ParameterError,
    Poisson,
    ReplaceLabel,
    ReplaceOne,
    ZeroOut,
    group,
    self_compose,
)
from dpproof.accountant.arithmetic.enclosure import Reals
from dpproof.accountant.engine.profile import deltas
from dpproof.accountant.sensitivity import L2
from dpproof.accountant.subsampling.mixture import occurrences
from dpproof.accountant.theorems.subsampling import repeated_positions, subsample_gaussian_sum
from dpproof.mechanisms import ClippedSum, Gaussian

ORDERS = np.array([0.3, 0.8, 0.97, 1.0, 1.01, 1.1, 1.5, 3.0, 10.0])
GRID_ERROR = 1e-7  # of sums of smooth densities on grids as fine as these


def densities(points: Sequence[Reals], vectors: Reals, rate: float) -> Reals:
    """Density, on a grid of outputs, of the sum over a Poisson sample with unit noise."""
    total = np.zeros(np.broadcast_shapes(*(one.shape for one in points)))
    for drawn in itertools.product((0, 1), repeat=len(vectors)):
        mass = math.prod(rate if one else 1 - rate for one in drawn)
        centre = np.array(drawn) @ vectors
        away = sum((x - m) ** 2 for x, m in zip(points, centre, strict=True))
        total = total + mass * np.exp(-0.5 * away) / (2 * math.pi) ** (len(points) / 2)
    return np.asarray(total)


def hockey_sticks(one: Reals, other: Reals, cell: float) -> Reals:
    """The divergences at every order, by the sum over a grid."""
    return np.array([np.maximum(one - t * other, 0.0).sum() * cell for t in ORDERS])


def pair_profile(bound: float, rate: float) -> Reals:
    """Upper ends of the pair's divergences at every order."""
    found = subsample_gaussian_sum(
        sigma=1,
        contribution=L2Contribution(bound, ReplaceOne()),
        scheme=Poisson(sampling_rate=rate),
    )
    return deltas(found.forward, np.log(ORDERS))[1]


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_no_neighbours_are_further_apart(dimension: int) -> None:
    """Sums with arbitrary other records, in both orders, never exceed the pair."""
    rng = np.random.default_rng(14 + dimension)
    for _ in range({1: 60, 2: 12, 3: 2}[dimension]):
        rate, bound = rng.uniform(0.02, 0.98), math.exp(rng.uniform(-1.5, 1.0))
        others = rng.normal(size=({1: 2, 2: 1, 3: 0}[dimension], dimension))
        raw = rng.normal(size=(2, dimension))
        norms = bound * rng.choice([1.0, rng.uniform()], size=(2, 1))
        ours = raw / np.linalg.norm(raw, axis=1, keepdims=True) * norms
        reach = bound + float(np.abs(others).sum()) + 7.0
        axis, step = np.linspace(-reach, reach, {1: 2001, 2: 241, 3: 91}[dimension], retstep=True)
        points = np.meshgrid(*[axis] * dimension, indexing="ij", sparse=True)
        laws = [densities(points, np.vstack([others, [one]]), rate) for one in ours]
        allowed = pair_profile(bound, rate) + GRID_ERROR
        cell = float(step) ** dimension
        assert (hockey_sticks(laws[0], laws[1], cell) <= allowed).all()
        assert (hockey_sticks(laws[1], laws[0], cell) <= allowed).all()


def test_opposite_records_attain_it() -> None:
    """Two records that contribute C and -C differ by exactly the pair's divergences."""
    axis, step = np.linspace(-12.0, 12.0, 4001, retstep=True)
    laws = [densities([axis], np.array([[one]]), 0.2) for one in (1.5, -1.5)]
    found = hockey_sticks(laws[0], laws[1], float(step))
    assert found == pytest.approx(pair_profile(1.5, 0.2), abs=1e-6)


def test_adaptive_runs_stay_below_the_product() -> None:
    """Two steps, the second contribution chosen by the first output: below the composed pair."""
    rng = np.random.default_rng(17)
    axis, step = np.linspace(-14.0, 14.0, 701, retstep=True)
    for _ in range(6):
        rate, bound = rng.uniform(0.05, 0.9), rng.uniform(0.3, 2.0)
        laws = []
        for sign in (1.0, -1.0):
            first = densities([axis], np.array([[sign * bound]]), rate)
            chosen = rng.choice([-bound, 0.0, bound], size=9)
            vectors = chosen[np.searchsorted(np.sort(rng.uniform(-5, 5, 8)), axis)]
            rows = [densities([axis], np.array([[one]]), rate) for one in vectors]
            laws.append(first[:, None] * np.stack(rows))
        found = subsample_gaussian_sum(
            sigma=1,
            contribution=L2Contribution(bound, ReplaceOne()),
            scheme=Poisson(sampling_rate=rate),
        )
        twice = self_compose(found, 2)
        allowed = [twice.delta(epsilon=math.log(t)).upper + GRID_ERROR for t in ORDERS]
        assert (hockey_sticks(laws[0], laws[1], float(step) ** 2) <= allowed).all()
        assert (hockey_sticks(laws[1], laws[0], float(step) ** 2) <= allowed).all()


def test_a_sensitivity_is_not_enough() -> None:
    """A value that moves by at most 2 between neighbours, but by 11 if a record is left out."""
    axis, step = np.linspace(-8.0, 20.0, 4001, retstep=True)
    empty = densities([axis], np.array([[0.0]]), 0.0)
    laws = [0.8 * empty + 0.2 * densities([axis], np.array([[one]]), 1.0) for one in (11.0, 9.0)]
    found = hockey_sticks(laws[0], laws[1], float(step))
    excess = found - pair_profile(1.0, 0.2)
    assert excess[ORDERS == 1.5] > 0.01
    step_of_plain = Gaussian(sigma=1, sensitivity=L2(2, ReplaceOne()))
    with pytest.raises(NotImplied, match="L2Contribution"):
        step_of_plain.subsample(Poisson(sampling_rate=0.2)).guarantee()


def test_the_mechanism_states_it() -> None:
    """A stated contribution gives 2C/sigma-GDP, the theorem on samples, and its conditions."""
    noise = Gaussian(sigma=0.871199, sensitivity=L2Contribution(1, ReplaceOne()))
    assert noise.moved == 2
    assert noise.guarantee().mu == 2 / noise.sigma
    step = noise.subsample(Poisson(sampling_rate=1 / 120)).repeat(120).guarantee()
    assert step.epsilon(delta=1e-5).upper == pytest.approx(1.1347196117, rel=1e-9)
    stated = "\n".join(step.derivation.all_assumptions())
    assert "is a sum over the records" in stated
    assert "independently with probability" in stated
    whole = noise.subsample(Poisson(sampling_rate=1)).guarantee()
    assert whole == noise.guarantee().to_pair()


@pytest.mark.parametrize("relation", [AddRemove(), ZeroOut()])
def test_other_relations_keep_their_theorem(relation: AddRemove | ZeroOut) -> None:
    """Under add-remove and zero-out a contribution is a sensitivity."""
    summed = Gaussian(sigma=2, sensitivity=L2Contribution(3, relation))
    plain = Gaussian(sigma=2, sensitivity=L2(3, relation))
    scheme = Poisson(sampling_rate=0.1)
    assert summed.guarantee() == plain.guarantee()
    assert summed.subsample(scheme).guarantee() == plain.subsample(scheme).guarantee()


def test_it_runs_on_records() -> None:
    """The stated mechanism releases a number."""
    query = ClippedSum(lower=-1, upper=1)
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, ReplaceOne()), query=query)
    assert isinstance(noise.subsample(Poisson(sampling_rate=0.5)).release([0.5, -3.0]), float)


def test_refusals() -> None:
    """Other relations, a bare sensitivity, no noise, and a sample of everything are refused."""
    good: dict[str, Any] = {
        "sigma": 1,
        "contribution": L2Contribution(1, ReplaceOne()),
        "scheme": Poisson(sampling_rate=0.5),
    }
    for name, value, refusal in (
        ("contribution", L2Contribution(1), NotImplied),
        ("contribution", L2(1), ParameterError),
        ("sigma", 0, ParameterError),
        ("scheme", Poisson(sampling_rate=1), ParameterError),
    ):
        with pytest.raises(refusal):
            subsample_gaussian_sum(**{**good, name: value})
    with pytest.raises(ParameterError, match="> 0"):
        L2Contribution(0)


def test_two_stated_sums_on_one_sample_are_refused() -> None:
    """Only one sum a sample: their joint release is one sum of stacked contributions."""
    noise = Gaussian(sigma=1, sensitivity=L2Contribution(1, ReplaceOne()))
    with pytest.raises(NotImplied, match="Gaussian sums alone"):
        noise.repeat(2).subsample(Poisson(sampling_rate=0.5)).guarantee()


HALVES = [10_000 >> phase for phase in range(1, 14)]


@pytest.mark.parametrize(("mu", "epsilon"), [(0.05, 0.556), (0.1, 1.246), (0.2, 2.875)])
def test_numbers_of_the_specification(mu: float, epsilon: float) -> None:
    """At n = 10^4 and delta = 1e-6, from above, within 0.2 %."""
    one = GDP(mu=mu, relation=ReplaceOne())
    found = repeated_positions(one, records=10_000, draws=HALVES).epsilon(delta=1e-6)

    assert epsilon * 0.999 < found.upper < epsilon * 1.002


def test_the_law_is_that_of_enumeration() -> None:
    """Three phases of a few draws from five positions, every outcome listed."""
    records, draws = 5, (3, 2, 1)
    masses, beyond = occurrences(records, draws)
    exact = np.zeros(len(masses))
    for times in product(*(range(n + 1) for n in draws)):
        mass = 1.0
        for n, c in zip(draws, times, strict=True):
            mass *= comb(n, c) * 0.2**c * 0.8 ** (n - c)
        exact[sum(c * c for c in times)] += mass

    assert masses == pytest.approx(exact, abs=1e-15)
    assert 0 < beyond < 1e-11
    listed = repeated_positions(GDP(mu=1, relation=ReplaceOne()), records=5, draws=draws)
    assert len(listed.derivation.assumptions) == 3
    assert "uniformly from 5" in listed.derivation.assumptions[0]
    assert occurrences(1, [3])[0][9] == 1


def test_the_profile_is_the_mean_and_above_it() -> None:
    """At listed epsilons next to the mean of Gaussian profiles; never below it in between."""
    one = GDP(mu=0.5, relation=ReplaceLabel())
    found = repeated_positions(one, records=50, draws=[25, 12, 6, 3, 1])
    masses, _ = occurrences(50, [25, 12, 6, 3, 1])
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        parts = [
            mass * GDP(mu=0.5 * total**0.5).delta(epsilon=epsilon).upper
            for total, mass in enumerate(masses)
            if mass > 0 and total
        ]
        mean = float(sum(parts))

        assert mean * (1 - 1e-9) <= found.delta(epsilon=epsilon).upper <= mean * 1.01


def test_one_draw_is_the_release_of_one_position() -> None:
    """One phase with one draw of n: delta / n, the classic upper end."""
    one = GDP(mu=1, relation=ZeroOut())
    found = repeated_positions(one, records=4, draws=[1])

    assert found.delta(epsilon=0).upper == pytest.approx(
        GDP(mu=1).delta(epsilon=0).upper / 4, rel=1e-6
    )


def test_repeated_positions_refusals() -> None:
    """Other notions, add-remove, groups and counts."""
    one = GDP(mu=1, relation=ReplaceOne())
    wrong: Any = 3
    with pytest.raises(ParameterError):
        repeated_positions(wrong, records=4, draws=[1])
    with pytest.raises(NotImplied, match="positions"):
        repeated_positions(GDP(mu=1), records=4, draws=[1])
    grouped: Any = group(one, size=2)
    with pytest.raises(NotImplied, match="one record"):
        repeated_positions(grouped, records=4, draws=[1])
    listed: list[dict[str, Any]] = [{"records": 0}, {"draws": []}, {"draws": [0]}]
    for bad in listed:
        with pytest.raises(ParameterError):
            repeated_positions(one, **{"records": 4, "draws": [1], **bad})


def test_the_certificate_states_what_the_engine_does() -> None:
    """Within 1e-6 of it, for positions drawn in several phases, and says how many are drawn."""
    found = repeated_positions(GDP(mu=0.5, relation=ReplaceOne()), records=50, draws=[4, 2, 1])
    verdict = proofs.check(found.certify(delta=1e-6))

    assert isinstance(verdict, proofs.VerifiedUnder)
    said = float(verdict.claim.split("(")[1].split(",")[0])
    assert 0 <= said - found.epsilon(delta=1e-6).upper < 1e-6
    for asked in ("4, 2, 1 of them", "uniformly and independently from 50, whatever the data"):
        assert any(asked in said for said in verdict.assumptions)
