"""Halfspaces by the exponential mechanism over public covers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof import proofs
from dpproof.accountant import AddRemove, BoundedRange, ReplaceLabel, ReplaceOne, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    CoverUnion,
    CubeSurface,
    ExponentialHalfspaces,
    FiniteCover,
    FourierFeatures,
    Polygon,
    RademacherProjection,
    RandomDirections,
    Records,
    ReplayRng,
)
from dpproof.mechanisms.learning import exponential_halfspaces
from dpproof.mechanisms.learning.exponential_halfspaces import Mistakes, _located, _parts
from tests.contracts.mechanism_contract import NOT_POSITIVE, MechanismContract, one_bad

COVER = FiniteCover([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0], [0.6, -0.8]])
GOOD: dict[str, Any] = {"cover": COVER, "epsilon": 1}
UNIVERSE = [
    (row, label)
    for row in ([1.0, 0.0], [0.3, 0.9], [-3.0, 4.0], [0.8, 0.6], [0.0, 0.0], [np.nan, 0.0])
    for label in (1, -1, 0)
]


class TestExponentialHalfspaces(MechanismContract):
    """Four directions of the plane, under add-remove."""

    def mechanism(self) -> ExponentialHalfspaces[AddRemove]:
        """Return the mechanism at epsilon 1."""
        return ExponentialHalfspaces(**GOOD, relation=AddRemove())

    def data(self) -> Records:
        """Rows on every side."""
        return Records([[0.6, 0.8], [-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [1, -1, 1, 1])

    def increasing_noise(self) -> Sequence[ExponentialHalfspaces[AddRemove]]:
        """Epsilon from 4 to a hundredth."""
        return [
            ExponentialHalfspaces(cover=COVER, epsilon=e, relation=AddRemove())
            for e in (4, 1, 0.1, 0.01)
        ]

    def invalid(self) -> Sequence[Callable[[], object]]:
        """One bad argument each."""
        plan = RademacherProjection(features=9, dimension=3, seed=1)
        bad: dict[str, Sequence[Any]] = {
            "cover": (None, [[1, 0]], 4),
            "epsilon": NOT_POSITIVE,
            "map": ("identity", plan),
            "prior": ([], [1, 1], [1, 2, 3, 0], [1, 2, 3, -1], 4, "abcd"),
            "relation": ("add-remove", None),
            "records": (0, 1.5),
            "progress": (3,),
        }
        listed = one_bad(ExponentialHalfspaces, good={**GOOD, "relation": ReplaceOne()}, bad=bad)
        several: list[dict[str, Any]] = [
            {"cover": COVER},
            {"cover": COVER, "epsilon": 1, "factor": 1},
            {"cover": COVER, "factor": 0},
            {"cover": Polygon(corners=8), "epsilon": 1, "prior": [1] * 8},
            {
                "cover": CoverUnion(covers=(Polygon(corners=8),), maps=(None,)),
                "map": RademacherProjection(features=9, dimension=2, seed=1),
                "epsilon": 1,
            },
        ]
        return [
            *listed,
            *(
                lambda given=given: ExponentialHalfspaces(**given, relation=ReplaceOne())
                for given in several
            ),
        ]


def _probabilities(learner: ExponentialHalfspaces[Any], data: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Of every candidate, by the definition."""
    mistakes = learner.mistakes(data).astype(float)
    weights = np.exp(-float(learner.factor) * (mistakes - mistakes.min()))
    prior = np.concatenate([[float(w)] * n for n, w in learner._weights()])
    return np.asarray(weights * prior / (weights * prior).sum())


@pytest.mark.parametrize("prior", [None, [1, Fraction(1, 3), 0.25, 7]])
def test_the_range_on_all_small_datasets(prior: list[Any] | None) -> None:
    """Factor under add-remove and zero-out, twice that if records or labels change: attained."""
    learner = ExponentialHalfspaces(cover=COVER, factor=0.7, prior=prior, relation=ReplaceOne())
    blank = ([0.0, 0.0], 1)
    laws = {
        (i, j): np.log(_probabilities(learner, [UNIVERSE[i], UNIVERSE[j]]))
        for i, j in itertools.product(range(len(UNIVERSE)), repeat=2)
    }
    single = [np.log(_probabilities(learner, [one])) for one in UNIVERSE]
    blanked = [np.log(_probabilities(learner, [one, blank])) for one in UNIVERSE]
    added = replaced = relabelled = 0.0
    for (i, j), law in laws.items():
        added = max(added, np.ptp(law - single[i]), np.ptp(law - blanked[i]))
        for k, record in enumerate(UNIVERSE):
            moved = float(np.ptp(law - laws[i, k]))
            replaced = max(replaced, moved)
            if record[0] == UNIVERSE[j][0]:
                relabelled = max(relabelled, moved)

    assert added == pytest.approx(0.7)
    assert replaced == pytest.approx(1.4)
    assert relabelled == pytest.approx(1.4)
    for relation, total in (
        (AddRemove(), 0.7),
        (ZeroOut(), 0.7),
        (ReplaceOne(), 1.4),
        (ReplaceLabel(), 1.4),
    ):
        stated = ExponentialHalfspaces(cover=COVER, factor=0.7, prior=prior, relation=relation)
        assert float(stated.guarantee().stated_epsilon) == pytest.approx(total)
        assert stated.factor == Fraction(0.7)


def test_levels_and_ranks_are_those_of_enumeration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number of mistakes counts its candidates, every rank finds another one of them."""
    rng = np.random.default_rng(5)
    data = Records(rng.normal(size=(23, 3)), rng.choice([-1, 1], size=23))
    cover = RandomDirections(size=30_001, dimension=3, seed=2)
    learner = ExponentialHalfspaces(cover=cover, epsilon=1, relation=ReplaceOne())
    mistakes, asked = learner.mistakes(data), []

    def watched(scores: Any, *args: Any, **given: Any) -> Any:  # noqa: ANN401
        asked.append((np.array(scores), given["multiplicities"], given["factor"]))
        return np.zeros(1, np.int64) if args else None

    monkeypatch.setattr(exponential_halfspaces, "categorical_exp", watched)
    learner.release(data, rng=ReplayRng(1))
    ((scores, times, factor),) = asked
    parts = list(_parts([_block(learner, data)], None))

    assert len(parts) == 4
    assert factor == Fraction(1, 2)
    assert dict(zip((-scores).tolist(), times, strict=True)) == {
        int(level): int((mistakes == level).sum()) for level in np.unique(mistakes)
    }
    for level in np.unique(mistakes):
        expected = np.flatnonzero(mistakes == level)
        found = _located(parts, int(level), np.arange(len(expected)))
        assert (found == expected).all()


def _block(learner: ExponentialHalfspaces[Any], data: Records) -> exponential_halfspaces.Block:
    """The one block of a cover without a prior."""
    assert isinstance(learner.cover, RandomDirections)
    signed = learner._signed(data, learner.cover, None)
    return exponential_halfspaces.Block(learner.cover, signed, 0, Fraction(1))


@pytest.mark.parametrize("kind", ["finite", "prior", "random", "cube", "union"])
def test_picks_have_the_exact_probabilities(kind: str) -> None:
    """Of 40,000 picks each candidate has its share.

    Six standard errors, at most 24 candidates, five kinds: a false alarm below 120 x 2e-9.
    """
    data = Records(
        [[0.6, 0.8], [-1.0, 0.1], [0.1, 1.0], [1.0, 0.0], [0.5, -0.7]], [1, -1, 1, 1, -1]
    )
    union = CoverUnion(covers=(Polygon(corners=4), COVER))
    given: dict[str, dict[str, Any]] = {
        "finite": {"cover": COVER},
        "prior": {"cover": COVER, "prior": [1, Fraction(1, 3), 0.25, 2]},
        "random": {"cover": RandomDirections(size=11, dimension=2, seed=3)},
        "cube": {"cover": CubeSurface(dimension=2, cells=6)},
        "union": {"cover": union, "prior": [3, Fraction(1, 2)]},
    }
    learner = ExponentialHalfspaces(**given[kind], epsilon=1.5, relation=ReplaceOne())
    expected = _probabilities(learner, data)
    picked = learner.release_many(data, 40_000)
    seen = np.bincount(picked["index"], minlength=learner.cover.size) / 40_000

    assert len(expected) == learner.cover.size
    assert np.abs(seen - expected).max() < 6 * 0.5 / math.sqrt(40_000)
    directions = np.array([learner.coefficients(i) for i in range(learner.cover.size)])
    assert (picked["weights"] == directions[picked["index"]]).all()


def test_counts_are_those_of_exact_integers() -> None:
    """Products next to zero, ties among them, are decided as integers, whatever binary32 says."""
    rng = np.random.default_rng(9)
    for width, records in ((2, 400), (5, 64), (200, 33)):
        half = rng.integers(-(2**20), 2**20, size=(records, width)).astype(float)
        vectors = rng.integers(-(2**22), 2**22, size=(12, width)).astype(float)
        # Rows orthogonal to some vector, and rows one unit off.
        for row in range(0, records, 2):
            half[row, :2] = vectors[row % 12, 1], -vectors[row % 12, 0]
            half[row, 2:] = 0
            half[row, 0] += row % 3 - 1
        exact = np.array(
            [
                [sum(int(a) * int(b) for a, b in zip(w, x, strict=True)) for x in half]
                for w in vectors
            ]
        )
        counts = Mistakes(half, paired=True).counts(vectors)

        assert (counts[::2] == (exact <= 0).sum(axis=1)).all()
        assert (counts[1::2] == (exact >= 0).sum(axis=1)).all()
        assert (exact == 0).any()


def test_the_largest_error_of_binary32_is_within_the_slack() -> None:
    """Rows of largest norm in many dimensions: products are off by less than what is allowed."""
    rng = np.random.default_rng(2)
    for width in (1, 3, 50, 3_000):
        rows = rng.normal(size=(200, width))
        rows = np.trunc(rows * (2.0**24 / np.linalg.norm(rows, axis=1, keepdims=True)))
        vectors = rng.normal(size=(16, width))
        vectors = np.trunc(vectors * (2.0**28 / np.linalg.norm(vectors, axis=1, keepdims=True)))
        counter = Mistakes(rows, paired=False)
        rough = vectors.astype(np.float32) @ counter._rough
        off = np.abs(rough.astype(np.float64) - vectors @ rows.T).max()

        assert off <= float(counter._slack)


def test_a_cover_of_parts_reports_progress_and_finds_the_best() -> None:
    """All candidates are counted, in steps; with a large factor the pick is the best one."""
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(300, 4))
    data = Records(rows, np.where(rows @ [1, 2, -1, 0.5] > 0, 1, -1))
    seen: list[tuple[int, int]] = []
    learner = ExponentialHalfspaces(
        cover=RandomDirections(size=20_000, dimension=4, seed=1),
        epsilon=200,
        progress=lambda done, total: seen.append((done, total)),
        relation=ReplaceOne(),
    )
    index = int(learner.release(data).index)
    mistakes = learner.mistakes(data)

    assert mistakes[index] == mistakes.min()
    assert seen[-1] == (20_000, 20_000)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    part = learner.mistakes(data, start=1_000, stop=1_234)
    assert (part == mistakes[1_000:1_234]).all()


def test_maps_and_unions_of_maps() -> None:
    """Weights are for rows before a linear map; a union picks among maps at the price of one."""
    rng = np.random.default_rng(8)
    side = rng.choice([-1.0, 1.0], size=500)
    rows = np.column_stack([side, rng.normal(size=(500, 9)) / 9])
    data = Records(rows, side)
    good = RademacherProjection(features=10, dimension=4, seed=1)
    plain = FourierFeatures(features=10, frequencies=1, width=50, seed=1)
    one = ExponentialHalfspaces(
        map=good,
        cover=RandomDirections(size=2_000, dimension=4, seed=1),
        epsilon=2,
        relation=ReplaceOne(),
    )
    covers = (RandomDirections(size=2_000, dimension=4, seed=1), Polygon(corners=8))
    both = ExponentialHalfspaces(
        cover=CoverUnion(covers=covers, maps=(good, plain)), epsilon=2, relation=ReplaceOne()
    )
    weights = one.release(data).weights
    released = both.release(data)

    assert np.mean(np.sign(rows @ weights) == side) > 0.95
    assert both.guarantee() == one.guarantee() == BoundedRange(epsilon=2, relation=ReplaceOne())
    assert released.weights.shape == (10,)
    assert released.index < 2_000
    assert (released.weights == both.coefficients(int(released.index))).all()
    assert both.coefficients(2_003).shape == (2,)
    with pytest.raises(ParameterError, match="index"):
        both.coefficients(2_008)


def test_what_a_pick_is_worth() -> None:
    """The stated excess holds in far more than 95 % of picks, and says when there is no utility."""
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(400, 3))
    data = Records(rows, np.where(rows[:, 0] > 0, 1, -1))
    cover = RandomDirections(size=3_000, dimension=3, seed=1)
    learner = ExponentialHalfspaces(cover=cover, epsilon=1, records=400, relation=ReplaceOne())
    mistakes = learner.mistakes(data)
    picked = learner.release_many(data, 400, rng=rng)["index"]
    bound = learner.excess(failure=0.05)

    assert bound == pytest.approx(2 * math.log(3_000 / 0.05))
    assert np.mean(mistakes[picked] > mistakes.min() + bound) <= 0.05
    assert learner.excess_rate(failure=0.05) == pytest.approx(bound / 400)
    few = ExponentialHalfspaces(cover=cover, epsilon=1, records=20, relation=ReplaceOne())
    assert few.excess_rate(failure=0.05) > 1
    with pytest.raises(ParameterError, match="records"):
        ExponentialHalfspaces(cover=cover, epsilon=1, relation=ReplaceOne()).excess_rate(
            failure=0.05
        )
    union = CoverUnion(covers=(Polygon(corners=8), Polygon(corners=80)))
    pick = ExponentialHalfspaces(cover=union, epsilon=2, prior=[3, 1], relation=ReplaceOne())
    assert pick.excess(failure=0.5, part=0) == pytest.approx(math.log(8 * 4 / 3 / 0.5))
    assert pick.excess(failure=0.5) == pytest.approx(math.log(80 * 4 / 0.5))


def test_the_derivation_names_map_cover_and_prior() -> None:
    """What was fixed in advance can be read off the certificate."""
    plan = RademacherProjection(features=9, dimension=2, seed=5)
    learner = ExponentialHalfspaces(
        map=plan, cover=COVER, epsilon=1, prior=[1, 2, 3, 4], relation=ReplaceOne()
    )
    verdict = proofs.check(learner.guarantee().certify(delta=1e-6))

    assert isinstance(verdict, proofs.VerifiedUnder)
    said = " ".join(verdict.assumptions)
    for word in ("FiniteCover", "RademacherProjection", "seed 5", "prior"):
        assert word in said
