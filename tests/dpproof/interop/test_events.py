"""Events of dp-accounting: every class, both ways, against the library's own numbers."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, strategies as st

import dpproof as dp
from dpproof.accountant.relation import Relation
from dpproof.errors import InputError
from dpproof.interop import event_from_json, event_to_json, from_dp_event, to_dp_event
from dpproof.interop.event import FIELDS, Event
from dpproof.interop.to_event import exported

DELTA = 1e-6
ADD, REPLACE, ZERO = dp.AddRemove(), dp.ReplaceOne(), dp.ZeroOut()
RELATIONS = {
    ADD: NeighboringRelation.ADD_OR_REMOVE_ONE,
    REPLACE: NeighboringRelation.REPLACE_ONE,
    ZERO: NeighboringRelation.REPLACE_SPECIAL,
}
GAUSSIAN = dp_event.GaussianDpEvent(2.0)
SGD = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
HALF = dp_event.RandomizedResponseDpEvent(0.5, 2)
PLD = [  # what the library's PLD answers: event, relation
    (dp_event.NoOpDpEvent(), ADD),
    (dp_event.NonPrivateDpEvent(), ADD),
    (HALF, REPLACE),
    (dp_event.RandomizedResponseDpEvent(0.25, 4), REPLACE),
    (GAUSSIAN, ADD),
    (GAUSSIAN, REPLACE),
    (GAUSSIAN, ZERO),
    (dp_event.LaplaceDpEvent(2.0), ADD),
    (dp_event.DiscreteLaplaceDpEvent(0.5, 2), ADD),
    (dp_event.SelfComposedDpEvent(dp_event.LaplaceDpEvent(8.0), 20), ADD),
    (dp_event.ComposedDpEvent([GAUSSIAN, dp_event.LaplaceDpEvent(4.0)]), ADD),
    (dp_event.SelfComposedDpEvent(SGD, 100), ADD),
    (dp_event.SelfComposedDpEvent(SGD, 100), REPLACE),
]
RDP = [  # what only its RDP answers, from above
    (dp_event.SingleEpochTreeAggregationDpEvent(4.0, 7), ZERO),
    (dp_event.SingleEpochTreeAggregationDpEvent(4.0, [3, 8]), ZERO),
    (dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 5.0, 1.0), ADD),
    (dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 5.0, math.inf), ADD),
    (dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 5.0, 0.5), ADD),
    (dp_event.ZCDpEvent(0.1), ADD),
    (dp_event.ZCDpEvent(0.1, 0.25), ADD),
]
REST = [
    (dp_event.SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN), REPLACE),
    (dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0], [0.75, 0.25]), ADD),
    (dp_event.MixtureOfGaussiansDpEvent(2.0, [1.0], [1.0]), ADD),
    (dp_event.MixtureOfGaussiansDpEvent(2.0, [0.0, 3.0, 6.0], [0.5625, 0.375, 0.0625]), ADD),
    (dp_event.SampledWithReplacementDpEvent(1000, 10, GAUSSIAN), ADD),
    (dp_event.SampledWithoutReplacementDpEvent(1000, 10, GAUSSIAN), ADD),
    (dp_event.TruncatedSubsampledGaussianDpEvent(1000, 0.01, 15, 1.0), ADD),
]
LATER = [  # classes of newer versions than the one that may be installed
    (Event("EpsilonDeltaDpEvent", {"epsilon": 1.0, "delta": 1e-7}), ADD, 1.0),
    (Event("ExponentialMechanismDpEvent", {"epsilon": 1.0}), REPLACE, 1.0),
    (Event("PermuteAndFlipDpEvent", {"epsilon": 1.0}), REPLACE, 1.0),
    (
        Event("DiscreteGaussianDpEvent", {"sigma": 4.0, "sensitivity": 1.0, "dimension": 1}),
        ADD,
        1.0635,
    ),
]


def _names(cases: list[Any]) -> list[str]:
    return [f"{type(case[0]).__name__}-{case[1]}" for case in cases]


@pytest.mark.parametrize(("event", "relation"), PLD, ids=_names(PLD))
def test_pld_lies_in_the_bracket(event: Any, relation: Relation) -> None:  # noqa: ANN401  # untyped library
    """Its value is in our bracket, but for the discretisation, which it rounds up."""
    theirs = PLDAccountant(RELATIONS[relation]).compose(event).get_epsilon(DELTA)
    ours = from_dp_event(event, relation=relation).epsilon(delta=DELTA)

    if math.isinf(theirs):
        assert ours.lower == math.inf
    else:
        assert ours.lower - 1e-9 <= theirs <= ours.upper + 2e-3


@pytest.mark.parametrize(("event", "relation"), RDP, ids=_names(RDP))
def test_rdp_lies_above_the_bracket(event: Any, relation: Relation) -> None:  # noqa: ANN401  # as above
    """An upper bound by Renyi divergences is not below our upper end."""
    theirs = RdpAccountant(neighboring_relation=RELATIONS[relation]).compose(event)
    ours = from_dp_event(event, relation=relation).epsilon(delta=DELTA)

    assert ours.upper <= theirs.get_epsilon(DELTA) * (1 + 1e-2)


def test_rdp_without_replacement_is_refuted() -> None:
    """It takes the noise as relative to what replacing moves, which is twice a record's value."""
    event, relation = REST[0]
    theirs = RdpAccountant(neighboring_relation=RELATIONS[relation]).compose(event)

    assert from_dp_event(event, relation=relation).epsilon(delta=DELTA).lower > theirs.get_epsilon(
        DELTA
    )


def test_mixtures_of_one_shift_are_sampled_gaussians() -> None:
    """A shift or none is a Poisson sample; the library's own value takes it half a minute."""
    sampled = dp_event.PoissonSampledDpEvent(0.25, GAUSSIAN)
    mixed, alone = REST[1][0], REST[2][0]

    assert from_dp_event(mixed, relation=ADD) == from_dp_event(sampled, relation=ADD)
    assert from_dp_event(alone, relation=ADD) == from_dp_event(GAUSSIAN, relation=ADD)


@pytest.mark.parametrize(("event", "relation", "epsilon"), LATER)
def test_events_of_newer_versions(event: Event, relation: Relation, epsilon: float) -> None:
    """They are read by name, cost what they state at most, and come back."""
    found = from_dp_event(event_to_json(event), relation=relation)

    assert 0.9 * epsilon < found.epsilon(delta=DELTA).upper <= epsilon
    assert exported(found) == event


@pytest.mark.parametrize(
    ("event", "relation"), PLD + RDP[:-1] + REST, ids=_names(PLD + RDP[:-1] + REST)
)
def test_events_come_back_with_the_same_numbers(event: Any, relation: Relation) -> None:  # noqa: ANN401  # as above
    """Event to guarantee to event to guarantee: the second one is the first, but for roundings."""
    first = from_dp_event(event, relation=relation)
    document = json.loads(json.dumps(event_to_json(to_dp_event(first))))
    second = from_dp_event(event_from_json(document), relation=relation)

    for at in (DELTA, 1e-3):
        before, after = first.epsilon(delta=at), second.epsilon(delta=at)
        assert after.upper >= before.lower
        if math.isfinite(before.upper):
            assert after.upper == pytest.approx(before.upper, rel=1e-9)


@pytest.mark.parametrize("event", [GAUSSIAN, dp_event.SelfComposedDpEvent(SGD, 7)])
def test_plain_events_come_back_as_they_were(event: Any) -> None:  # noqa: ANN401  # as above
    """Where nothing is rounded the event is equal."""
    returned = to_dp_event(from_dp_event(event, relation=ADD))

    assert str(returned)[:60] == str(event)[:60]


def test_every_class_is_known() -> None:
    """The library has no class that is not, and there are 22: one of its next version."""
    theirs = {
        name
        for name, found in vars(dp_event).items()
        if name.endswith("DpEvent") and name != "DpEvent" and isinstance(found, type)
    }

    assert theirs <= set(FIELDS)
    assert len(FIELDS) == 22


def test_named_tuples_and_json_are_read() -> None:
    """The library's own portable form is the same event."""
    event = dp_event.SelfComposedDpEvent(SGD, 3)

    assert event_to_json(event.to_named_tuple()) == event_to_json(event)


@pytest.mark.parametrize(
    ("event", "relation", "error"),
    [
        (GAUSSIAN, None, dp.ParameterError),
        (dp_event.UnsupportedDpEvent(), ADD, dp.NotImplied),
        (
            dp_event.SampledWithReplacementDpEvent(10, 2, dp_event.LaplaceDpEvent(1.0)),
            ADD,
            dp.NotImplied,
        ),
        (dp_event.SampledWithoutReplacementDpEvent(10, 10, GAUSSIAN), ADD, dp.NotImplied),
        (dp_event.SingleEpochTreeAggregationDpEvent(4.0, 7), ADD, dp.NotImplied),
        (dp_event.TruncatedSubsampledGaussianDpEvent(100, 1.0, 20, 1.0), ADD, dp.ParameterError),
        (dp_event.TruncatedSubsampledGaussianDpEvent(0, 0.1, 20, 1.0), ADD, dp.ParameterError),
        (
            dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 1.5], [0.5, 0.25, 0.25]),
            ADD,
            dp.NotImplied,
        ),
        (
            dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.5, 0.25, 0.25]),
            ADD,
            dp.NotImplied,
        ),
        (dp_event.PoissonSampledDpEvent(0.1, dp_event.LaplaceDpEvent(1.0)), REPLACE, dp.NotImplied),
        (dp_event.PoissonSampledDpEvent(0.1, dp_event.ZCDpEvent(1.0)), ADD, dp.NotImplied),
        (dp_event.GaussianDpEvent(float("nan")), ADD, dp.ParameterError),
        (dp_event.GaussianDpEvent(-1.0), ADD, dp.ParameterError),
        (dp_event.RandomizedResponseDpEvent(1.5, 2), REPLACE, dp.ParameterError),
        (HALF, ADD, dp.NotImplied),
        (dp_event.RepeatAndSelectDpEvent(GAUSSIAN, 0.5, 0.5), ADD, dp.ParameterError),
        ({"class_name": "GaussianDpEvent"}, ADD, InputError),
        ({"class_name": "GaussianDpEvent", "noise_multiplier": 1.0, "x": 1}, ADD, InputError),
        ({"class_name": "Other"}, ADD, InputError),
        (3, ADD, InputError),
    ],
)
def test_refusals(event: Any, relation: Any, error: type[Exception]) -> None:  # noqa: ANN401  # as above
    """No relation, no theorem, bad numbers and other objects are refused by type."""
    with pytest.raises(error):
        from_dp_event(event, relation=relation)


def test_metric_dp_is_the_event_of_laplace_noise() -> None:
    """The notion holds for Laplace noise, which an event of permute-and-flip does not cover."""
    for guarantee in (
        dp.accountant.MetricDP(epsilon=0.5),
        dp.ReportNoisyMax(epsilon=0.5, sensitivity=dp.LInf(1)).guarantee(),
    ):
        assert to_dp_event(guarantee) == dp_event.LaplaceDpEvent(2.0)
    replaced = dp.accountant.MetricDP(epsilon=0.5, relation=REPLACE)
    assert to_dp_event(replaced) == dp_event.LaplaceDpEvent(4.0)
    assert exported(dp.accountant.MetricDP(epsilon=0)) == Event("NoOpDpEvent", {})


def test_pure_dp_is_randomised_response_under_replace_one_alone() -> None:
    """Under zero-out the library reads that event as less than epsilon, and refuses it else."""
    replaced = to_dp_event(dp.PureDP(epsilon=1, relation=REPLACE))
    cheap = PLDAccountant(RELATIONS[ZERO]).compose(replaced)
    pair = dp.RandomizedResponse(epsilon=1, categories=3, relation=ZERO).guarantee()

    assert cheap.get_epsilon(1e-9) < 0.7
    for guarantee in (dp.PureDP(epsilon=1, relation=ZERO), dp.PureDP(epsilon=1), pair):
        assert exported(guarantee) == Event("EpsilonDeltaDpEvent", {"epsilon": 1.0, "delta": 0.0})


@given(eta=st.fractions(0, 5, max_denominator=10**20), gamma=st.fractions(Fraction(1, 100), 0.99))
def test_selections_are_exported_with_no_fewer_runs(eta: Fraction, gamma: Fraction) -> None:
    """Shape and mean are rounded up, the mean of the rounded shape, against sixty digits."""
    runs = dp.TruncatedNegativeBinomial(eta=eta, gamma=gamma)
    fields = exported(dp.select(dp.GDP(mu=1), runs)).fields
    with mpmath.workdps(60):
        shape = mpmath.mpf(fields["shape"])
        g = mpmath.mpf(gamma.numerator) / gamma.denominator
        mean = (1 - g) / g / -mpmath.log(g)
        if shape:
            mean = shape * (1 - g) / (g * (1 - g**shape))
        assert Fraction(fields["shape"]) >= eta
        assert fields["mean"] >= mean
        assert fields["mean"] <= mean * (1 + mpmath.mpf(10) ** -9)


def test_what_no_event_says_is_not_exported() -> None:
    """A disjoint group, a curve and a bounded number of runs have no event."""
    for guarantee in (
        dp.RDP(points=((2, 1), (3, 1.2), (4, 2))),
        dp.RDP(points=((2, 2), (3, 3), (4, 4))),
        dp.select(dp.GDP(mu=1), dp.accountant.BinomialRuns(trials=3, probability=0.5)),
        dp.group(dp.GDP(mu=1), size=2),
    ):
        with pytest.raises(dp.NotImplied):
            to_dp_event(guarantee)
