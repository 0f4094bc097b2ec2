"""Every learner is attacked exactly: laws or sensitivities on all neighbours of small instances."""

from __future__ import annotations

import importlib
import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpproof.accountant import AddRemove, ReplaceOne
from dpproof.mechanisms import (
    Cube,
    EnumeratedExponential,
    GaussianSeparator,
    Grid,
    ParityLoss,
    Records,
    Subsets,
)
from dpproof.mechanisms.learning.separators import objective_perturbation
from dpproof.mechanisms.learning.separators.oracles import Problem, vectors
from dpproof.mechanisms.learning.separators.spaces import patterns
from tests.architecture.tree import ROOT
from tests.contracts.learner_contract import LearnerContract
from tests.mechanisms.every_mechanism import final_mechanisms

TESTS = "tests.mechanisms"
RANGE = "test_the_range_on_all_small_datasets"
# Where the exact attack of a learner stands, if it is not in the contract of learners that sum.
ATTACKS = {
    "Aggregated": ("learning.test_aggregation", "test_one_record_moves_two_counts_by_one"),
    "AveragedPerturbation": (
        "learning.test_averaged_perturbation",
        "test_exact_laws_are_within_the_statement",
    ),
    "ClassMeans": ("learning.test_class_means", "test_sensitivity_is_attained_and_not_exceeded"),
    "EnumeratedExponential": ("learning.test_exact_attacks", "test_picks_stay_in_their_range"),
    "ExponentialHalfspaces": ("learning.test_exponential_halfspaces", RANGE),
    "Featured": (
        "learning.test_margin_descent",
        "test_sums_after_clipping_have_the_norm_for_every_map",
    ),
    "GaussianSeparator": ("learning.test_exact_attacks", "test_gaussian_choices_obey_their_pairs"),
    "LogisticObjective": ("learning.test_logistic_theorem", "test_no_densities_exceed_the_bound"),
    "NoisyLloyd": ("learning.test_class_means", "test_sensitivity_is_attained_and_not_exceeded"),
    "PhasedHinge": (
        "learning.test_phased_hinge",
        "test_one_record_moves_the_mean_by_no_more_than_stated",
    ),
    "Projected": (
        "learning.test_margin_descent",
        "test_sums_after_clipping_have_the_norm_for_every_map",
    ),
    "PureLogisticObjective": (
        "learning.test_pure_logistic",
        "test_density_ratios_are_within_epsilon",
    ),
    "SecondMoments": (
        "statistics.test_second_moments",
        "test_the_sensitivity_is_attained_and_never_exceeded",
    ),
    "SeparatorPerturbation": (
        "learning.test_separator_perturbation",
        "test_no_lattice_exceeds_epsilon",
    ),
    "SphereLift": ("learning.test_exact_attacks", "test_lifted_choices_stay_within_epsilon"),
}


def test_every_learner_is_attacked_exactly() -> None:
    """A learner is in the contract of sums, or in the table above, whose tests exist."""
    learners = {
        one.__name__: one.__module__.split(".")[2]
        for one in final_mechanisms()
        if "learning" in one.__module__ or one.__name__ in ("SecondMoments", "NoisyLloyd")
    }
    for name, folder_name in learners.items():
        if name in ATTACKS:
            module, test = ATTACKS[name]
            assert hasattr(importlib.import_module(f"{TESTS}.{module}"), test), name
        else:
            folder = ROOT / "tests" / "mechanisms" / folder_name
            sources = sorted(folder.glob("test_*.py"))
            holding = [one.stem for one in sources if f"class Test{name}(" in one.read_text()]
            assert len(holding) == 1, name
            held = vars(importlib.import_module(f"{TESTS}.{folder_name}.{holding[0]}"))
            assert issubclass(held[f"Test{name}"], LearnerContract), name
    assert set(ATTACKS) <= set(learners)


def datasets(width: int) -> list[list[Any]]:
    """All datasets of up to two records with features -1, 0 and 1, and either label."""
    rows = itertools.product((-1, 0, 1), repeat=width)
    records = [(row, label) for row in rows for label in (1, -1)]
    return [
        list(some)
        for size in range(3)
        for some in itertools.combinations_with_replacement(records, size)
    ]


def totals(problem_of: Any, data: list[Any], loss: Any) -> NDArray[np.int64]:  # noqa: ANN401
    """Losses of all candidates of a space."""
    width = problem_of.coordinates
    records: Any = Records(*zip(*data, strict=True)) if data else []
    seen = patterns(records, width, loss.largest_feature)
    found = Problem(problem_of, loss, seen, 1).totals().reshape(-1)
    return found[found >= 0]


@pytest.mark.parametrize("space", [Cube(2), Grid(1, 2), Subsets(2, 1)], ids=str)
@pytest.mark.parametrize("relation", [AddRemove(), ReplaceOne()], ids=str)
def test_picks_stay_in_their_range(space: Any, relation: Any) -> None:  # noqa: ANN401
    """Log ratios of neighbours span epsilon at most, and some do; for all datasets of two."""
    pick = EnumeratedExponential(epsilon=1, space=space, relation=relation)
    inner = pick._mechanism()
    rate = float(inner.epsilon) if inner.monotone else float(inner.epsilon) / 2
    found = [(data, totals(space, data, pick.loss)) for data in datasets(space.coordinates)]
    spans = [0.0]
    for (one, a), (other, b) in itertools.combinations(found, 2):
        gone, come = (
            (Counter(one) - Counter(other)).total(),
            (Counter(other) - Counter(one)).total(),
        )
        if (gone, come) == ((0, 1) if relation == AddRemove() else (1, 1)):
            moved = rate * (a - b)
            spans.append(float(moved.max() - moved.min()))

    assert max(spans) == pytest.approx(1)
    counts = np.bincount(
        [
            next(i for i, v in enumerate(_weights(space)) if (v == w).all())
            for w in pick.release_many([((1,) * space.coordinates, 1)], 4_000)["weights"]
        ],
        minlength=len(found[0][1]),
    )
    mass = np.exp(-rate * totals(space, [((1,) * space.coordinates, 1)], pick.loss))
    assert stats.chisquare(counts, 4_000 * mass / mass.sum()).pvalue > 1e-9


def _weights(space: Any) -> list[NDArray[np.int64]]:  # noqa: ANN401
    return [np.array(space.levels)[levels] for levels in vectors(space)]


@pytest.mark.parametrize("space", [Cube(2), Grid(1, 1)], ids=str)
def test_lifted_choices_stay_within_epsilon(
    space: Any,  # noqa: ANN401
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Laws of the minimum under all noise of a lattice, for losses that a record can have moved.

    On the lattice the density e^(-|k|/scale) has the same shifts as the rounded one.
    """
    monkeypatch.setattr(objective_perturbation, "_FINE_LIFT", 4)
    lift = objective_perturbation.Lift(space)
    levels = list(vectors(space))
    y = np.array(lift.values)[levels]
    psi = lift.fineness * y
    if lift.heights is not None:
        psi = np.column_stack([psi, lift.heights[(y**2).sum(axis=1)]])
    worth = int(lift.gain)  # of one loss, if the noise moves by one lift
    scale = lift.length**0.5
    reach = int(26 * scale)
    axis = np.arange(-reach, reach + 1)
    noise = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    mass = np.exp(-np.hypot(*noise.T) / scale)
    mass /= mass.sum()
    products = noise @ psi.T
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(12):
        base = rng.integers(-3, 4, size=len(levels))
        laws = []
        for moved in (0, rng.integers(0, 2, size=len(levels))):
            winners = (worth * (base + moved) - products).argmin(axis=1)
            laws.append(np.bincount(winners, weights=mass, minlength=len(levels)))
        worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))

    assert 0.1 < worst <= 1 + 1e-6


def test_gaussian_choices_obey_their_pairs() -> None:
    """Delta of exact laws on neighbours, by quadrature over two places, at three epsilons."""
    loss, space, sigma = ParityLoss(), Cube(2), 3.0
    pick = GaussianSeparator(sigma=sigma, space=space, loss=loss, relation=AddRemove())
    guarantee = pick.guarantee()
    middle = (np.arange(640) + 0.5) / 40 - 8
    mass = np.multiply.outer(*[stats.norm.pdf(middle) / 40] * 2).reshape(-1)
    places = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2) * sigma
    noise = places @ np.array([(w > 0).astype(int) for w in _weights(space)]).T
    laws = {}
    for data in datasets(2)[:19]:  # none, and one record
        winners = (noise + totals(space, data, loss)).argmin(axis=1)
        laws[str(data)] = np.bincount(winners, weights=mass, minlength=4)
    nobody, *others = laws.values()
    near = 0.0
    for law, epsilon in itertools.product(others, (0.05, 0.2, 0.5)):
        proved = guarantee.delta(epsilon=epsilon).upper
        for one, other in ((nobody, law), (law, nobody)):
            found = np.maximum(one - np.exp(epsilon) * other, 0).sum()
            near = max(near, found / proved)
            assert found <= proved + 1e-3

    assert near > 0.4
