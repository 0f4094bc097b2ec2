"""Choices by noise on separating features."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dpproof import auditing, proofs
from dpproof.accountant import AddRemove, ApproxDP, PureDP, ReplaceLabel, ReplaceOne
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import Outcome
from dpproof.mechanisms import (
    Conjunctions,
    Cube,
    EnumerationOracle,
    Grid,
    MilpOracle,
    Parities,
    ParityLoss,
    Records,
    SeparatorPerturbation,
    Subsets,
    ZeroOne,
)
from dpproof.mechanisms.learning.separators import oracles
from dpproof.mechanisms.learning.separators.oracles import Problem, charges, vectors
from dpproof.mechanisms.learning.separators.separator_perturbation import LAWS, Shape
from dpproof.mechanisms.learning.separators.spaces import patterns
from dpproof.mechanisms.samplers.rng import SystemRng
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

GOOD: dict[str, Any] = {"epsilon": 1, "space": Cube(3)}
AUDIT_ALARM = 1e-9


class TestSeparatorPerturbation(MechanismContract):
    """Three signs, cube-norm noise."""

    def mechanism(self) -> SeparatorPerturbation[AddRemove]:
        """Return the mechanism at epsilon 1."""
        return SeparatorPerturbation(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Integer rows of both labels."""
        return Records([[1, 0, 2], [-1, 1, 0], [0, 1, 1], [1, 1, 1]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[SeparatorPerturbation[AddRemove]]:
        """Epsilon from 4 to a tenth."""
        return [
            SeparatorPerturbation(epsilon=e, space=Cube(3), relation=AddRemove())
            for e in (4, 1, 0.1)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        bad: dict[str, Sequence[Any]] = {
            "epsilon": (*NOT_POSITIVE, 2000),
            "space": (3, None, Cube, Cube(40)),
            "noise": ("gaussian", None, 1),
            "loss": ("zero-one", 3),
            "oracle": ("milp", 3),
            "relation": ("add-remove", None),
        }
        return one_bad(SeparatorPerturbation, good={**GOOD, "relation": AddRemove()}, bad=bad)


def by_definition(problem: Problem, noise: Any) -> tuple[int, ...]:  # noqa: ANN401
    """The first candidate of least objective, one at a time."""
    return min(
        (problem.objective(levels, noise), tuple(map(int, levels)))
        for levels in vectors(problem.space)
    )[1]


SPACES = [Cube(4), Grid(2, 2), Conjunctions(4), Parities(4), Subsets(5, 2)]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_enumeration_is_the_definition(space: Any) -> None:  # noqa: ANN401
    """Ties included, on coarse noise; and patterns differ in as many places as stated."""
    rng = np.random.default_rng(2)
    rows = rng.integers(0, 2, size=(30, space.coordinates))
    data = patterns(Records(rows, rng.choice([1, -1], size=30)), space.coordinates)
    problem = Problem(space, ZeroOne(), data, 2)
    noises = rng.integers(-6, 7, size=(40, space.separators))
    found = EnumerationOracle().minima(problem, noises)
    everything = [tuple(map(int, levels)) for levels in vectors(space)]
    places = [_pattern(space, levels) for levels in everything]
    distances = [int((a != b).sum()) for a, b in itertools.combinations(places, 2)]

    assert [tuple(map(int, one)) for one in found] == [by_definition(problem, k) for k in noises]
    assert len(everything) == space.size
    assert min(distances) == space.distance


def _pattern(space: Any, levels: tuple[int, ...]) -> Any:  # noqa: ANN401
    """The pattern, read off from what each place charges."""
    units = np.eye(space.separators, dtype=np.int64)
    return np.array([sum(charges(space, u)[j, k] for j, k in enumerate(levels)) for u in units])


@pytest.mark.parametrize("space", [s for s in SPACES if not isinstance(s, Parities)], ids=str)
def test_integer_programming_agrees_with_enumeration(space: Any) -> None:  # noqa: ANN401
    """Whatever both solve, and what the solver may not finish is finished exactly."""
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 2, size=(25, space.coordinates))
    data = patterns(Records(rows, rng.choice([1, -1], size=25)), space.coordinates)
    problem = Problem(space, ZeroOne(), data, 2**20)
    noises = rng.integers(-(2**22), 2**22, size=(3, space.separators))
    exact = EnumerationOracle().minima(problem, noises)

    assert (MilpOracle().minima(problem, noises) == exact).all()
    assert (MilpOracle(time_limit=1e-9).minima(problem, noises) == exact).all()


def test_large_noise_does_not_overflow() -> None:
    """Noise next to the limits of 64 bits gives the candidate that long integers give."""
    space = Grid(3, 2)
    data = patterns(Records([[1, 0, 2]], [1]), 3)
    problem, rng = Problem(space, ZeroOne(), data, 2**40), np.random.default_rng(8)
    noises = rng.integers(-(2**63) + 1, 2**63 - 1, size=(20, space.separators))
    found = EnumerationOracle().minima(problem, noises)

    assert [tuple(map(int, one)) for one in found] == [
        by_definition(problem, noise.astype(np.object_)) for noise in noises
    ]


def test_totals_are_the_same_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """By products in single and double precision, of whole numbers, and margin by margin."""
    rng = np.random.default_rng(6)
    space = Grid(4, 1)
    rows = rng.integers(-3, 4, size=(40, 4))
    data = patterns(Records(rows, rng.choice([1, -1], size=40)), 4)
    margins = np.array(list(itertools.product((-1, 0, 1), repeat=4))) @ data.rows.T
    wrong = np.where(margins >= 1, data.negative, data.positive).sum(axis=1)
    for name, value in {"_BLOCK": 3, "_SINGLE": 0, "_DOUBLE": 0, "_PAIRS_A_ROW": 0}.items():
        assert (oracles.total_losses(space, ZeroOne(), data).reshape(-1) == wrong).all()
        monkeypatch.setattr(oracles, name, value)
    assert (oracles.total_losses(space, ZeroOne(), data).reshape(-1) == wrong).all()


@pytest.mark.parametrize("places", [1, 2, 5])
def test_near_ties_of_spherical_noise(places: int) -> None:
    """Without losses the gap is the least |k_i|: its law is below the lemma, and not far.

    False alarm: 10^-9.
    """
    law, size = LAWS["sphere"], 4_000
    shape = Shape(places, 8, Fraction(1))
    drawn = np.abs(law.draw(shape, size, SystemRng())).min(axis=1)
    near = float((drawn <= 2).mean())
    bound = places * 5 * float(law.densest(shape))

    assert 0.4 * bound - 6.2 * math.sqrt(bound / size) < near
    assert near < bound + 6.2 * math.sqrt(bound / size)


def test_nothing_but_optimal_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong bound, or none, sends the same noise to enumeration."""
    space = Cube(3)
    data = patterns(Records([[1, 0, 2], [-1, 1, 0]], [1, -1]), 3)
    problem, noise = Problem(space, ZeroOne(), data, 2**20), np.array([[5, -7, 2]]) * 2**19
    asked: list[int] = []
    solve = EnumerationOracle.minima

    def watched(self: EnumerationOracle, given: Problem, noises: Any) -> Any:  # noqa: ANN401
        asked.append(len(noises))
        return solve(self, given, noises)

    monkeypatch.setattr(EnumerationOracle, "minima", watched)
    plain = MilpOracle().minima(problem, noise)
    monkeypatch.setattr(oracles, "TOLERANCE", Fraction(-1))
    forced = MilpOracle().minima(problem, noise)
    monkeypatch.undo()
    monkeypatch.setattr(EnumerationOracle, "minima", watched)
    solved = optimize.milp

    def without_bound(*given: Any, **more: Any) -> Any:  # noqa: ANN401
        found = solved(*given, **more)
        found.mip_dual_bound = None
        return found

    monkeypatch.setattr(optimize, "milp", without_bound)
    unbounded = MilpOracle().minima(problem, noise)

    assert asked == [1, 1]
    assert (plain == forced).all()
    assert (plain == unbounded).all()


@pytest.mark.parametrize("noise", ["linf", "laplace"])
@pytest.mark.parametrize("price", [0.5, 1.0])
def test_no_lattice_exceeds_epsilon(noise: str, price: float) -> None:
    """The laws of the outputs on neighbours, added up over all noise of two places."""
    shift = 2
    scale = shift / price if noise == "linf" else 2 * shift / price
    reach = int(26 * scale)
    k = np.stack(np.meshgrid(*[np.arange(-reach, reach + 1)] * 2), axis=-1).reshape(-1, 2)
    size = np.abs(k).max(axis=1) if noise == "linf" else np.abs(k).sum(axis=1)
    mass = np.exp(-size / scale)
    mass /= mass.sum()
    e = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rng = np.random.default_rng(5)
    worst = 0.0
    for _ in range(12):
        base = rng.integers(-3, 4, size=4)
        laws = []
        for loss in (np.zeros(4, dtype=int), rng.integers(0, 2, size=4)):
            winners = ((base + loss) * shift + k @ e.T).argmin(axis=1)
            laws.append(np.bincount(winners, weights=mass, minlength=4))
        worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))

    assert price / 2 < worst <= price + 1e-6


@pytest.mark.parametrize("noise", ["linf", "laplace"])
@pytest.mark.parametrize("places", [1, 3, pytest.param(10, marks=pytest.mark.slow)])
def test_the_parity_record_attains_epsilon(noise: str, places: int) -> None:
    """P(odd) = e^(-epsilon)/2 with the record, as claimed.

    False alarm: a true claim is refuted with probability at most 10^-9.
    """
    pick = SeparatorPerturbation(
        epsilon=1, space=Cube(places), noise=noise, loss=ParityLoss(), relation=AddRemove()
    )
    record = Records(np.ones((1, places)), [1])
    size = 3_000
    odd = (pick.release_many(record, size)["weights"] == 1).sum(axis=1) % 2

    assert abs(odd.mean() - math.exp(-1) / 2) < 6.2 * math.sqrt(0.15 / size)
    assert pick.guarantee() == PureDP(epsilon=1)


def parity(data: Records, size: int, rng: np.random.Generator) -> Any:  # noqa: ANN401
    """Whether the one sign released is positive, as a number."""
    pick = SeparatorPerturbation(epsilon=1, space=Cube(1), loss=ParityLoss(), relation=AddRemove())
    return (pick.release_many(data, size, rng=rng)["weights"][:, 0] == 1).astype(float)


@pytest.mark.slow
def test_claims_seven_percent_below_are_refuted() -> None:
    """An audit of the parity record contradicts a claim of 0.93 epsilon.

    The lower end of 200,000 runs is near 0.957, with a deviation of 0.006.
    """
    record = Records([[1.0]], [1])
    report = auditing.audit(
        parity,
        (record[:0], record),
        PureDP(epsilon=0.93),
        samples=200_000,
        significance=AUDIT_ALARM,
    )

    assert report.outcome is Outcome.VIOLATION, str(report)


def test_relations_and_tolerances() -> None:
    """Replacement halves what a loss is worth; a tolerance costs delta, with every noise."""
    plain = SeparatorPerturbation(**GOOD, relation=AddRemove())
    for relation in (ReplaceOne(), ReplaceLabel()):
        assert SeparatorPerturbation(**GOOD, relation=relation).unit * 2 == plain.unit
    sets = SeparatorPerturbation(epsilon=1, space=Subsets(4, 2), relation=AddRemove())
    assert sets.unit == 2 * sets.shape.shift
    for noise in ("linf", "laplace", "sphere"):
        tolerant = SeparatorPerturbation(
            **GOOD, noise=noise, oracle=MilpOracle(), relation=AddRemove()
        )
        guarantee = tolerant.guarantee()
        assert isinstance(guarantee, ApproxDP)
        assert 3e-6 < guarantee.stated_delta < 1e-5
        assert isinstance(proofs.check(guarantee.certify(delta=1e-4)), proofs.VerifiedUnder)
    sphere = SeparatorPerturbation(**GOOD, noise="sphere", relation=AddRemove())
    assert isinstance(proofs.check(sphere.guarantee().certify(delta=0)), proofs.VerifiedUnder)
    with pytest.raises(ParameterError, match="oracle"):
        SeparatorPerturbation(
            epsilon=1, space=Parities(3), oracle=MilpOracle(), relation=AddRemove()
        )


def test_records_that_do_not_fit_contribute_nothing() -> None:
    """Fractions, nan, huge numbers, unknown labels and wrong widths; and no data is data."""
    good = [([1, 0], 1), ([0, 1], -1)]
    odd: list[Any] = [([0.5, 0], 1), ([np.nan, 0], 1), ([1e9, 0], 1), ([1, 1], 3), ([1], 1), "ab"]
    plain, mixed = patterns(good, 2), patterns([odd[0], *good, *odd[1:]], 2)

    assert (plain.rows == mixed.rows).all()
    assert (plain.positive == mixed.positive).all()
    assert (plain.negative == mixed.negative).all()
    assert SeparatorPerturbation(epsilon=1, space=Cube(2), relation=AddRemove()).release(
        []
    ).weights.shape == (2,)


def test_finds_the_best_candidate() -> None:
    """With many records the noise is negligible, for every space."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 2, size=(3_000, 5))
    chosen = {
        Conjunctions(5): np.where(rows[:, 0] & rows[:, 3], 1, -1),
        Parities(5): np.where((rows[:, 1] + rows[:, 4]) % 2, 1, -1),
        Subsets(5, 2): np.where(rows[:, 2] | rows[:, 4], 1, -1),
    }
    expected = {Conjunctions: [1, 0, 0, 1, 0], Parities: [0, 1, 0, 0, 1], Subsets: [0, 0, 1, 0, 1]}
    for space, labels in chosen.items():
        pick = SeparatorPerturbation(epsilon=1, space=space, relation=AddRemove())
        assert pick.release(Records(rows, labels)).weights.tolist() == expected[type(space)]
