"""The states of all steps, where they are asked for."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

from dpproof import auditing, proofs
from dpproof.accountant import AddRemove, ReplaceLabel, ReplaceOne, WithoutReplacement, ZeroOut
from dpproof.accountant.errors import ParameterError
from dpproof.mechanisms import (
    BatchPerceptron,
    ChooseIterate,
    GaussianStop,
    KeslerPerceptron,
    LaplaceStop,
    NormStop,
    Projected,
    Records,
    ReplayRng,
    SignProjection,
)
from tests.contracts.mechanism_contract import AUDIT_ALARM

ROWS = np.random.default_rng(4).normal(size=(60, 4))
DATA = Records(ROWS, np.where(ROWS[:, 0] > 0, 1, -1))
CLASSES = Records(ROWS, np.arange(60) % 3)
STEPS: dict[str, Any] = {"margin": 0.1, "steps": 6, "sigma": 4, "norm": 2}


def run(learner: Any, data: Records = DATA, seed: int = 1) -> Any:  # noqa: ANN401
    """Five runs by a seed."""
    return learner.release_many(data, 5, rng=np.random.default_rng(seed))


@pytest.mark.parametrize("average", [True, False])
def test_the_weights_are_a_function_of_the_iterates(*, average: bool) -> None:
    """The last state, or the mean of the last half; without being asked nothing is different."""
    learner = BatchPerceptron(**STEPS, average=average, iterates=True, relation=AddRemove())
    released, plain = (
        run(learner),
        run(BatchPerceptron(**STEPS, average=average, relation=AddRemove())),
    )
    states = released["iterates"]
    expected = states[:, 3:].mean(axis=1) if average else states[:, -1]

    assert states.shape == (5, 6, 4)
    assert released["weights"] == pytest.approx(expected, rel=1e-12)
    assert (released["weights"] == plain["weights"]).all()
    assert plain.dtype.names == ("stopped", "steps", "weights")
    assert learner.guarantee() == BatchPerceptron(**STEPS, relation=AddRemove()).guarantee()


def test_a_stopped_run_has_no_later_states() -> None:
    """From the step on at which it stopped they are nan, and the state before is its weights."""
    stop = GaussianStop(sigma=9, below=25)
    learner = BatchPerceptron(
        **STEPS | {"steps": 30}, stop=stop, iterates=True, relation=AddRemove()
    )
    released = run(learner, seed=3)
    assert released["stopped"].any()
    for one in released:
        made = int(one["steps"])
        assert np.isfinite(one["iterates"][:made]).all()
        assert np.isnan(one["iterates"][made:]).all()
        if one["stopped"] and made:
            assert (one["weights"] == one["iterates"][made - 1]).all()


def test_a_chosen_state_is_among_them() -> None:
    """Without averages the pick is the iterate of its number."""
    learner = BatchPerceptron(
        **STEPS, stop=ChooseIterate(epsilon=1), average=False, iterates=True, relation=AddRemove()
    )
    for one in run(learner):
        assert (one["weights"] == one["iterates"][int(one["steps"]) - 1]).all()


def test_learners_made_of_others_pass_them_on() -> None:
    """Of Kesler's perceptron, and before projecting."""
    kesler = KeslerPerceptron(**STEPS, classes=3, iterates=True, relation=AddRemove())
    base = BatchPerceptron(**STEPS, average=False, iterates=True, relation=AddRemove())
    plan = SignProjection(features=4, dimension=2, seed=1)
    mapped = run(Projected(base=base, projection=plan))

    assert run(kesler, CLASSES)["iterates"].shape == (5, 6, 3, 4)
    assert mapped["iterates"].shape == (5, 6, 4)
    assert (mapped["iterates"][:, -1] == mapped["weights"]).all()
    wrong: dict[str, Any] = {"iterates": 1}
    with pytest.raises(ParameterError, match="iterates must be True or False"):
        BatchPerceptron(**STEPS, **wrong, relation=AddRemove())


HALF = WithoutReplacement(sample_size=1, population_size=2)


def perceptron(**changes: Any) -> BatchPerceptron[ReplaceOne]:  # noqa: ANN401
    """One step, in which every record is a mistake."""
    given = {"margin": 2, "steps": 1, "sigma": 2, "relation": ReplaceOne(), "batch": HALF}
    return BatchPerceptron(**{**given, **changes})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sigma", "share", "steps", "epsilon"),
    [(0.871199, 120, 120, 9.3785), (3.812816832, 100, 10_000, 2.7426)],
)
def test_cost_is_that_of_the_literature(
    sigma: float, share: int, steps: int, epsilon: float
) -> None:
    """At delta 1e-5, with and without a Gaussian test of sigma_c = sigma / sqrt(3), free."""
    batch = WithoutReplacement(sample_size=1, population_size=share)
    plain = perceptron(sigma=sigma, steps=steps, batch=batch)
    tested = perceptron(
        sigma=sigma, steps=steps, batch=batch, stop=GaussianStop(sigma=sigma / 1.732, below=0)
    )

    assert plain.guarantee().epsilon(delta=1e-5).upper == pytest.approx(epsilon, abs=1e-4)
    assert tested.guarantee().epsilon(delta=1e-5) == plain.guarantee().epsilon(delta=1e-5)


def test_a_precise_test_costs_and_a_norm_test_does_not() -> None:
    """Below sigma / sqrt(3) the Gaussian test costs; a Laplace test always does."""
    plain, normed, precise, laplace = (
        perceptron(stop=stop).guarantee().epsilon(delta=1e-5)
        for stop in (
            None,
            NormStop(below=1),
            GaussianStop(sigma=1.1, below=0),
            LaplaceStop(scale=9, below=0),
        )
    )

    assert normed == plain
    assert precise.lower > plain.upper
    assert laplace.lower > plain.upper


@pytest.mark.parametrize(("size", "others"), [(1, [0.3]), (1, [1.0, -1.0]), (2, [1.0, 0.2])])
@pytest.mark.parametrize("replaced", [(1.0, -1.0), (1.0, 0.0), (0.6, -1.0)])
def test_exact_laws_stay_below_the_statement(
    size: int, others: list[float], replaced: tuple[float, float]
) -> None:
    """On three records of one feature: the mixtures over all subsets, integrated numerically."""
    batch = WithoutReplacement(sample_size=size, population_size=1 + len(others))
    claim = perceptron(sigma=0.8, batch=batch).guarantee()
    grid = np.linspace(-9, 9, 40_001)
    laws = []
    for value in replaced:
        records = np.array([value, *others])
        if size == 1:
            sums = records
        else:
            sums = np.array([records[:2].sum(), records[1:].sum(), records[::2].sum()])
        laws.append(norm.pdf(grid[:, np.newaxis], sums, 0.8).mean(axis=1) * (grid[1] - grid[0]))
    for epsilon in (0.0, 0.5, 1.0, 2.0):
        truth = max(np.maximum(p - np.exp(epsilon) * q, 0).sum() for p, q in (laws, laws[::-1]))

        assert truth <= claim.delta(epsilon=epsilon).upper + 1e-6
    if size == 1 and replaced == (1.0, -1.0):
        gap = claim.delta(epsilon=0).upper - np.maximum(laws[0] - laws[1], 0).sum()
        assert abs(gap) < 1e-6


def test_every_subset_of_all_records_is_drawn_equally_often() -> None:
    """Also if some records contribute nothing: the others are in as often as without them."""
    data = Records([[1.0, 0.0], [np.nan, 0.0], [0.0, 1.0], [0.5, 0.0]], [1, 1, 1, 7])
    batch = WithoutReplacement(sample_size=2, population_size=4)
    learner = perceptron(sigma=2.0**-40, batch=batch, average=False)
    sums = np.rint(learner.release_many(data, 12_000)["weights"]).astype(int)
    kinds, counts = np.unique(sums, axis=0, return_counts=True)

    # Of the six pairs: both of two records once, one of them twice each, none of them once.
    assert kinds.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert counts / 12_000 == pytest.approx([1 / 6, 1 / 3, 1 / 3, 1 / 6], abs=0.03)


@pytest.mark.parametrize(
    "learner",
    [
        perceptron(stop=GaussianStop(sigma=2, below=0)),
        KeslerPerceptron(classes=2, margin=2, steps=1, sigma=3, relation=ReplaceOne(), batch=HALF),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_every_learner_keeps_its_promise(learner: Any) -> None:  # noqa: ANN401
    """Runs on worst neighbours do not refute it, its certificate is verified, replays agree."""
    labels = (0.0, 1.0) if isinstance(learner, KeslerPerceptron) else (-1.0, 1.0)
    one, other = (Records([[1.0, 0.0], [0.0, 1.0]], [label, labels[1]]) for label in labels)
    claim = learner.guarantee()
    report = auditing.audit(
        learner.sampler(), (one, other), claim, samples=2_000, significance=AUDIT_ALARM
    )
    first, again = (learner.release(one, rng=ReplayRng(1)).weights for _ in range(2))

    assert report.outcome is not auditing.Outcome.VIOLATION, str(report)
    assert isinstance(proofs.check(claim.certify(delta=1e-5)), proofs.VerifiedUnder)
    assert (first == again).all()


def test_a_batch_priced_as_half_of_it_is_caught() -> None:
    """All of two records, claimed to be one of them."""
    claim = perceptron(sigma=1).guarantee()
    both = perceptron(sigma=1, batch=WithoutReplacement(sample_size=2, population_size=2))
    one, other = (Records([[1.0, 0.0], [0.0, 1.0]], [label, 1]) for label in (1, -1))
    report = auditing.audit(
        both.sampler(), (one, other), claim, samples=4_000, significance=AUDIT_ALARM
    )

    assert report.outcome is auditing.Outcome.VIOLATION


def test_refusals() -> None:
    """A fixed size is for replace-one, without a rate, and for as many records as it says."""
    for relation in (AddRemove(), ZeroOut(), ReplaceLabel()):
        with pytest.raises(ParameterError, match="ReplaceOne"):
            perceptron(relation=relation)
    for bad in ({"batch": 3}, {"batch": Fraction(1, 2)}, {"rate": 0.5}):
        with pytest.raises(ParameterError):
            perceptron(**bad)
    with pytest.raises(ParameterError, match="2 records"):
        perceptron().release(Records(np.eye(3), [1, 1, 1]))


def test_refuses_a_fixed_size_that_is_not_public() -> None:
    """A fixed size under add-remove, or beside a rate."""
    with pytest.raises(ParameterError):
        BatchPerceptron(margin=0, steps=1, sigma=1, relation=AddRemove(), batch=HALF)
    with pytest.raises(ParameterError):
        BatchPerceptron(margin=0, steps=1, sigma=1, rate=0.5, relation=ReplaceOne(), batch=HALF)
