"""Our brackets behind the accountant of dp-accounting, and in the libraries that take one."""

from __future__ import annotations

from typing import Any

import pytest

import dpproof as dp
from dpproof.accountant import compose
from dpproof.accountant.relation import Relation
from dpproof.errors import InputError

accounting = pytest.importorskip("dp_accounting")
interop = pytest.importorskip("dpproof.interop")

DELTA = 1e-5
RELATIONS = (
    (accounting.NeighboringRelation.ADD_OR_REMOVE_ONE, dp.AddRemove()),
    (accounting.NeighboringRelation.REPLACE_ONE, dp.ReplaceOne()),
    (accounting.NeighboringRelation.REPLACE_SPECIAL, dp.ZeroOut()),
)


def step(noise: float = 1.1, rate: float = 0.01) -> Any:  # noqa: ANN401  # of a library without types
    """Return the event of a Poisson-sampled Gaussian, one step of DP-SGD."""
    return accounting.PoissonSampledDpEvent(rate, accounting.GaussianDpEvent(noise))


@pytest.mark.parametrize(("theirs", "ours"), RELATIONS)
def test_answers_are_upper_ends_of_the_composition(theirs: Any, ours: Relation) -> None:  # noqa: ANN401  # an enumeration of theirs
    """Both answers are those of the guarantee composed by hand, under each relation."""
    found = interop.EventAccountant(theirs)
    assert found.compose(step(), 500).compose(accounting.GaussianDpEvent(40.0)) is found

    parts = [interop.from_dp_event(one, relation=ours) for one in (step(), found.ledger.events[1])]
    expected = compose(dp.self_compose(parts[0], count=500), parts[1])
    assert found.get_epsilon(DELTA) == expected.epsilon(delta=DELTA).upper
    assert found.get_delta(1.0) == expected.delta(epsilon=1).upper
    bracket = found.guarantee().epsilon(delta=DELTA)
    assert 0 < bracket.lower <= bracket.upper == found.get_epsilon(DELTA)


def test_pld_of_dp_accounting_agrees() -> None:
    """PLD, which rounds up in steps of 1e-4, is above our lower end and at most 1 % above it."""
    peer = pytest.importorskip("dp_accounting.pld").PLDAccountant().compose(step(), 500)
    ours = interop.EventAccountant().compose(step(), 500)
    lower = ours.guarantee().epsilon(delta=DELTA).lower
    assert lower <= peer.get_epsilon(DELTA) <= 1.01 * lower


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (accounting.UnsupportedDpEvent(), "without a description"),
        (
            accounting.SelfComposedDpEvent(
                accounting.SampledWithReplacementDpEvent(100, 10, accounting.LaplaceDpEvent(1.0)), 3
            ),
            "bounded for Gaussian sums alone",
        ),
        (accounting.GaussianDpEvent(-1.0), "sigma"),
        (accounting.RandomizedResponseDpEvent(0.5, 4), "without a record there is no answer"),
    ],
)
def test_refuses_with_the_reason(event: Any, reason: str) -> None:  # noqa: ANN401  # of a library without types
    """What no theorem covers is refused, says why, and leaves what was composed as it was."""
    found = interop.EventAccountant().compose(step())
    before = found.get_epsilon(DELTA)
    assert not found.supports(event)
    with pytest.raises(accounting.UnsupportedEventError, match=reason):
        found.compose(event)
    assert found.get_epsilon(DELTA) == before
    assert found.supports(step())


def test_starts_at_nothing() -> None:
    """Nothing composed costs nothing; a relation of another kind is refused."""
    assert interop.EventAccountant().get_epsilon(0) == 0
    refused: tuple[Any, ...] = (dp.AddRemove(), [], None)
    for bad in refused:
        with pytest.raises(InputError, match="NeighboringRelation"):
            interop.EventAccountant(bad)


def test_calibrates_in_dp_accounting() -> None:
    """The noise that dp-accounting's own search finds with it meets the target."""
    noise = accounting.calibrate_dp_mechanism(
        interop.EventAccountant,
        lambda sigma: accounting.SelfComposedDpEvent(step(sigma), 1000),
        target_epsilon=3.0,
        target_delta=DELTA,
        bracket_interval=accounting.ExplicitBracketInterval(0.5, 5.0),
    )
    assert noise == pytest.approx(0.813, abs=2e-3)


@pytest.mark.peer
@pytest.mark.slow
def test_serves_jax_privacy() -> None:
    """The class is the configuration of an accountant there."""
    library = pytest.importorskip("jax_privacy.accounting")
    training = library.DpsgdTrainingAccountant(dp_accountant_config=interop.EventAccountant)
    params = library.DpParams(
        noise_multipliers=1.1, num_samples=10_000, batch_size=100, delta=DELTA
    )
    ours = interop.EventAccountant().compose(step(), 1000).get_epsilon(DELTA)
    assert training.compute_epsilon(1000, params) == pytest.approx(ours, rel=1e-9)
