"""Events of sums over samples in which records count several times, or push others out."""

from __future__ import annotations

from typing import Any

import pytest
from dp_accounting import NeighboringRelation, dp_event
from dp_accounting.pld import PLDAccountant
from scipy import stats

import dpproof as dp
from dpproof.interop import from_dp_event, to_dp_event
from dpproof.interop.event import Event, event_to_json
from dpproof.interop.to_event import exported
from dpproof.mechanisms import MinSeparation, SquareRoot

ADD = dp.AddRemove()
NOISE = dp_event.GaussianDpEvent(1.0)
SUM = dp.Gaussian(sigma=2, sensitivity=dp.L2Contribution(2))
SCHEMES = (
    (
        dp.WithReplacement(sample_size=10, population_size=1000),
        dp_event.SampledWithReplacementDpEvent(1000, 10, NOISE),
    ),
    (
        dp.WithoutReplacement(sample_size=10, population_size=1000),
        dp_event.SampledWithoutReplacementDpEvent(1000, 10, NOISE),
    ),
    (
        dp.TruncatedPoisson(sampling_rate=0.25, largest=4, population_size=9),
        dp_event.TruncatedSubsampledGaussianDpEvent(9, 0.25, 4, 1.0),
    ),
)


@pytest.mark.parametrize(("scheme", "event"), SCHEMES, ids=str)
def test_schemes_and_events_are_each_other(scheme: Any, event: Any) -> None:  # noqa: ANN401  # untyped library
    """A scheme's guarantee is the event's, and comes back; noise is relative to a record's."""
    guarantee: Any = SUM.subsample(scheme).guarantee()
    found: Any = from_dp_event(event, relation=ADD)

    assert found.forward == guarantee.forward
    assert to_dp_event(guarantee) == event


@pytest.mark.parametrize("count", [2, 5, 40])
def test_users_are_mixtures(count: int) -> None:
    """A user's binomial shifts in floats are read at a rate that is hardly larger."""
    chances = [float(stats.binom.pmf(j, count, 0.03)) for j in range(count + 1)]
    event = dp_event.MixtureOfGaussiansDpEvent(1.0, [2.0 * j for j in range(count + 1)], chances)
    scheme = dp.UserPoisson(sampling_rate=0.03, contributions=count)
    mine = dp.Gaussian(sigma=1, sensitivity=dp.L2Contribution(2)).subsample(scheme).guarantee()
    found = from_dp_event(event, relation=ADD).delta(epsilon=1)
    exact = mine.delta(epsilon=1)

    assert exact.lower <= found.upper <= exact.upper * (1 + 1e-7)
    back = from_dp_event(to_dp_event(mine), relation=ADD).delta(epsilon=1)
    assert exact.lower <= back.upper <= exact.upper * (1 + 1e-7)


def test_shifts_that_are_less_than_binomial_are_bounded() -> None:
    """A law below a binomial one of its mean is read; one of a heavier tail is refused."""
    light = dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.5, 0.5, 0.0])
    heavy = dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], [0.7, 0.1, 0.2])

    assert from_dp_event(light, relation=ADD).epsilon(delta=1e-3).upper > 0
    with pytest.raises(dp.NotImplied, match="not binomial"):
        from_dp_event(heavy, relation=ADD)
    many = dp.UserPoisson(sampling_rate=0.03, contributions=300)
    with pytest.raises(dp.NotImplied, match="no event"):
        exported(SUM.subsample(many).guarantee())


def test_samples_of_nothing_and_sums_without_noise() -> None:
    """They cost nothing, and everything."""
    nothing = [
        dp_event.SampledWithReplacementDpEvent(10, 0, NOISE),
        dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.0, 3, 1.0),
        dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.5, 0, 1.0),
    ]
    bare = dp_event.GaussianDpEvent(0.0)
    everything = [
        dp_event.SampledWithReplacementDpEvent(10, 2, bare),
        dp_event.TruncatedSubsampledGaussianDpEvent(10, 0.5, 3, 0.0),
    ]
    for event, delta in (
        (one, d) for d, events in ((0, nothing), (1, everything)) for one in events
    ):
        assert from_dp_event(event, relation=ADD).delta(epsilon=1).upper == delta


def test_parts_in_turn_are_poisson_samples() -> None:
    """As jax-privacy writes them: noise over the largest column, once for each cycle."""
    noise = dp.MatrixMechanism(
        factor=SquareRoot(rounds=10, bands=3),
        sigma=4,
        sensitivity=dp.L2Contribution(2),
        participation=MinSeparation(3),
    )
    found = noise.allocate(dp.CyclicPoisson(sampling_rate=0.1, cycle=3)).guarantee()
    event = exported(found)
    inner = event.fields["event"]

    assert (event.name, event.fields["count"]) == ("SelfComposedDpEvent", 4)
    assert inner.fields["sampling_probability"] == 0.1
    assert inner.fields["event"] == Event(
        "GaussianDpEvent", {"noise_multiplier": pytest.approx(2 / (1 + 1 / 4 + 9 / 64) ** 0.5)}
    )
    read = from_dp_event(event, relation=ADD)
    assert read.epsilon(delta=1e-6).upper == pytest.approx(found.epsilon(delta=1e-6).upper)


def test_pld_is_at_our_upper_end() -> None:
    """Its value of a user's mixture is ours, rounded up to its grid, but for its round-off."""
    chances = [float(stats.binom.pmf(j, 2, 0.05)) for j in range(3)]
    event = dp_event.MixtureOfGaussiansDpEvent(1.0, [0.0, 1.0, 2.0], chances)
    theirs = PLDAccountant(NeighboringRelation.ADD_OR_REMOVE_ONE, 1e-2).compose(event)
    for epsilon in (0.1, 1.0):
        ours = from_dp_event(event, relation=ADD).delta(epsilon=epsilon).upper

        assert ours * (1 - 1e-8) <= theirs.get_delta(epsilon) <= ours * (1 + 1e-2)


@pytest.mark.parametrize("shifts", [[0.0, "inf"], [0.0, float("nan")], [0.0, "x"], 1.0])
def test_shifts_that_are_no_numbers_are_refused_by_name(shifts: Any) -> None:  # noqa: ANN401  # bad on purpose
    """A mixture's shifts are finite numbers in a list."""
    event = {
        "class_name": "MixtureOfGaussiansDpEvent",
        "standard_deviation": 1.0,
        "sensitivities": shifts,
        "sampling_probs": [0.5, 0.5],
    }

    with pytest.raises(dp.ParameterError, match="sensitivities"):
        from_dp_event(event, relation=ADD)


def test_a_law_that_lacks_mass_is_refused() -> None:
    """What probabilities leave out might be any shift."""
    rate = 1e-4
    law = [(1 - rate) ** 2 - 9e-10, 2 * rate * (1 - rate), rate**2]
    event = dp_event.MixtureOfGaussiansDpEvent(0.05, [0.0, 1.0, 2.0], law)

    with pytest.raises(dp.NotImplied, match="add up to 1"):
        from_dp_event(event, relation=ADD)


@pytest.mark.parametrize(
    "scheme",
    [
        dp.RandomAllocation(steps=50),
        dp.RandomAllocation(steps=50, chosen=3),
        dp.BallsInBins(steps=50, epochs=4),
    ],
    ids=str,
)
def test_allocations_are_read_and_written(scheme: Any) -> None:  # noqa: ANN401  # two schemes
    """The event of dp-accounting after 0.6.0; kept rounds are an allocation of several runs."""
    for relation in (dp.AddRemove(), dp.ZeroOut()):
        noise = dp.Gaussian(sigma=2, sensitivity=dp.L2(1, relation))
        guarantee: Any = noise.allocate(scheme).guarantee()
        event = exported(guarantee)
        found: Any = from_dp_event(event_to_json(event), relation=relation)

        assert event.name == "RandomAllocationDpEvent"
        assert found.forward == guarantee.forward


def test_allocations_of_nothing_and_of_other_mechanisms() -> None:
    """Of no rounds, of no noise, of bounded and unbounded losses, and under replace-one."""

    def allocated(inner: Event, chosen: int) -> Event:
        fields = {"event": inner, "num_selected": chosen, "num_steps": 9}
        return Event("RandomAllocationDpEvent", fields)

    gauss, laplace = (
        Event(name, {"noise_multiplier": 1.0}) for name in ("GaussianDpEvent", "LaplaceDpEvent")
    )
    bare = Event("GaussianDpEvent", {"noise_multiplier": 0.0})
    assert from_dp_event(allocated(gauss, 0), relation=ADD).epsilon(delta=0).upper == 0
    assert from_dp_event(allocated(bare, 1), relation=ADD).delta(epsilon=1).lower == 1
    found = from_dp_event(allocated(laplace, 1), relation=ADD)
    stated = dp.PureDP(epsilon=1).epsilon(delta=1e-3)
    assert 0 < found.epsilon(delta=1e-3).upper < stated.upper
    again = from_dp_event(event_to_json(exported(found)), relation=ADD)
    assert again.epsilon(delta=1e-3) == found.epsilon(delta=1e-3)
    assert exported(found).fields["event"] == laplace
    rare = Event("PoissonSampledDpEvent", {"event": gauss, "sampling_probability": 0.5})
    with pytest.raises(dp.NotImplied, match="largest loss"):
        from_dp_event(allocated(rare, 1), relation=ADD)
    with pytest.raises(dp.NotImplied, match="size=2"):
        from_dp_event(allocated(gauss, 1), relation=dp.ReplaceOne())
