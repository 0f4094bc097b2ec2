"""What every notion owes: inherit, name the instances, and the battery runs."""

from __future__ import annotations

import copy
import dataclasses
import functools
import math
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pytest

from dpproof.accountant.bound import Bound
from dpproof.accountant.errors import NotImplied, ParameterError, RelationMismatch
from dpproof.accountant.guarantees.approx_dp import ApproxDP, PrivacyProfile, TradeOff
from dpproof.accountant.guarantees.derivation import Attained, Derivation, Theorem
from dpproof.accountant.guarantees.guarantee import Guarantee, rederived
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.guarantees.rdp import RDP
from dpproof.accountant.relation import AddRemove, ReplaceOne
from dpproof.accountant.theorems.composition import compose, post_process, self_compose
from dpproof.accountant.theorems.conversion import convert, reachable
from dpproof.accountant.theorems.group import group

DELTAS = (0.3, 1e-6)
EPSILONS = (-1.0, 0.25, 1.0, 3.0)
ORDERS = (1.5, 3.0)
RATES = (0.01, 0.3)
NOT_NUMBERS: tuple[Any, ...] = (float("nan"), float("inf"), "1", None, True, 1j)
SLACK = 1e-9


def answers(guarantee: Guarantee[Any]) -> list[Bound]:
    """Every question at a few places, as numbers where a larger one is worse."""
    return [
        *(guarantee.epsilon(delta=delta) for delta in DELTAS),
        *(guarantee.delta(epsilon=epsilon) for epsilon in EPSILONS),
        *(guarantee.rdp(order=order) for order in ORDERS),
        guarantee.true_positive_rate(false_positive_rate=0.1),
        guarantee.zcdp(),
        guarantee.advantage(),
    ]


def no_stronger(weak: Guarantee[Any], strong: Guarantee[Any]) -> None:
    """Whatever the weak guarantee claims, the strong one does not certainly contradict."""
    for weaker, stronger in zip(answers(weak), answers(strong), strict=True):
        assert weaker.upper >= stronger.lower


def same(left: Guarantee[Any], right: Guarantee[Any]) -> None:
    """Both answer every question with brackets that overlap."""
    for one, other in zip(answers(left), answers(right), strict=True):
        assert one.lower <= other.upper
        assert other.lower <= one.upper


def converted(guarantee: Guarantee[Any], notion: type[Guarantee[Any]]) -> Guarantee[Any]:
    """Convert with a usual option where the notion asks for one."""
    if notion is RDP:
        return convert(guarantee, to=RDP, orders=[1.25, 1.5, 2, 3, 8])
    if notion is ApproxDP:
        return convert(guarantee, to=ApproxDP, delta=1e-6)
    if notion is PrivacyProfile:
        return convert(guarantee, to=PrivacyProfile, epsilons=[0, 0.5, 1, 2, 4])
    if notion is TradeOff:
        return convert(guarantee, to=TradeOff, epsilons=[0, 0.5, 1, 2, 4])
    return convert(guarantee, to=notion)  # type: ignore[arg-type]


def each(build: Callable[[Any], object], values: Sequence[Any]) -> list[Callable[[], object]]:
    """The calls of one function with every value."""
    return [functools.partial(build, value) for value in values]


def each_of(
    builds: Sequence[Callable[[Any], object]], values: Sequence[Any]
) -> list[Callable[[], object]]:
    """The calls of every function with every value."""
    return [call for build in builds for call in each(build, values)]


class GuaranteeContract(ABC):
    """The battery; a test class inherits it and implements the abstract methods."""

    @abstractmethod
    def instances(self) -> Sequence[Guarantee[AddRemove]]:
        """Typical instances."""

    @abstractmethod
    def replace_one(self) -> Guarantee[ReplaceOne]:
        """An instance under the other relation."""

    @abstractmethod
    def bad_constructions(self) -> Sequence[Callable[[], object]]:
        """Constructions with a number outside its domain."""

    def test_is_a_frozen_value(self) -> None:
        """Equal to its copies, hashable, picklable, immutable; its derivation does not count."""
        for instance in self.instances():
            other = Derivation(theorem=Theorem("x", "z", Attained.NO), statement="y")
            assert rederived(instance, other) == instance
            assert copy.deepcopy(instance) == instance
            assert pickle.loads(pickle.dumps(instance)) == instance  # noqa: S301
            assert hash(copy.copy(instance)) == hash(instance)
            with pytest.raises(dataclasses.FrozenInstanceError):
                instance.relation = AddRemove()  # type: ignore[misc]

    def test_states_its_assumption(self) -> None:
        """Stated without a derivation it is an assumption under its relation."""
        stated: list[Guarantee[Any]] = [*self.instances(), self.replace_one()]
        for instance in stated:
            assert str(instance.relation) in instance.derivation.statement
            assert instance.derivation.all_assumptions()

    def test_refuses_bad_numbers(self) -> None:
        """A number outside its domain is refused where it enters, by name."""
        for build in self.bad_constructions():
            with pytest.raises(ParameterError):
                build()

    def test_questions_refuse_bad_numbers(self) -> None:
        """No question takes nan, an infinity, text, a bool or a complex number."""
        instance = self.instances()[0]
        questions: tuple[Callable[[Any], Bound], ...] = (
            lambda bad: instance.epsilon(delta=bad),
            lambda bad: instance.delta(epsilon=bad),
            lambda bad: instance.rdp(order=bad),
            lambda bad: instance.gdp(smallest_delta=bad),
            lambda bad: instance.type_ii_error(type_i_error=bad),
            lambda bad: instance.true_positive_rate(false_positive_rate=bad),
        )
        for ask in each_of(questions, NOT_NUMBERS):
            with pytest.raises(ParameterError):
                ask()

    def test_questions_refuse_numbers_outside(self) -> None:
        """Deltas and rates lie in [0, 1], orders above 1."""
        for instance in self.instances():
            with pytest.raises(ParameterError, match="delta"):
                instance.epsilon(delta=1.5)
            with pytest.raises(ParameterError, match="order"):
                instance.rdp(order=1)
            with pytest.raises(ParameterError, match="false_positive_rate"):
                instance.true_positive_rate(false_positive_rate=-0.5)

    def test_ends_of_the_domain(self) -> None:
        """At delta 1, at rate 1, at a very large epsilon: the right answer or infinity."""
        for instance in self.instances():
            assert instance.epsilon(delta=1) == Bound(0.0, 0.0)
            assert instance.true_positive_rate(false_positive_rate=1) == Bound(1.0, 1.0)
            assert instance.type_ii_error(type_i_error=1) == Bound(0.0, 0.0)
            assert 0 <= instance.delta(epsilon=1e6).upper <= 1
            assert instance.delta(epsilon=-1e6).upper == 1.0
            assert not math.isnan(instance.epsilon(delta=0).upper)
            assert 0 <= instance.true_positive_rate(false_positive_rate=0).upper <= 1

    def test_epsilon_and_delta_agree(self) -> None:
        """Delta at the claimed epsilon is not certainly above the delta asked for."""
        for instance in self.instances():
            for delta in DELTAS:
                epsilon = instance.epsilon(delta=delta)
                assert epsilon.lower >= 0
                if math.isfinite(epsilon.upper):
                    assert instance.delta(epsilon=epsilon.upper).lower <= delta

    def test_curves_are_monotone(self) -> None:
        """Delta falls with epsilon, epsilon with delta, divergences and power grow."""
        for instance in self.instances():
            falling = [instance.delta(epsilon=epsilon) for epsilon in EPSILONS]
            assert all(a.upper >= b.lower for a, b in pairwise(falling))
            growing = [
                [instance.epsilon(delta=delta) for delta in DELTAS],
                [instance.rdp(order=order) for order in ORDERS],
                [instance.true_positive_rate(false_positive_rate=rate) for rate in RATES],
            ]
            for curve in growing:
                assert all(b.upper >= a.lower for a, b in pairwise(curve))

    def test_power_and_misses_add_up(self) -> None:
        """Type II error is one minus power, power at least the rate, advantage delta at 0."""
        for instance in self.instances():
            assert instance.advantage() == instance.delta(epsilon=0)
            for rate in RATES:
                power = instance.true_positive_rate(false_positive_rate=rate)
                misses = instance.type_ii_error(type_i_error=rate)
                assert power.upper >= rate
                assert misses.lower <= 1 - power.upper <= 1 - power.lower <= misses.upper

    def test_self_compose_is_repeated_compose(self) -> None:
        """Three times over is composing three copies; once is the guarantee itself."""
        for instance in self.instances():
            assert self_compose(instance, 1) is instance
            assert self_compose(instance, 3) == compose(instance, instance, instance)

    def test_composing_with_nothing_changes_nothing(self) -> None:
        """A part that reveals nothing leaves every answer, and more parts never gain."""
        for instance in self.instances():
            orders = None if instance not in _without_pair(instance) else [1.5, 2, 3]
            total = compose(instance, PureDP(epsilon=0), orders=orders)
            no_stronger(total, instance)

    def test_relations_do_not_mix(self) -> None:
        """Composing with a guarantee under another relation is refused, naming both."""
        mixed: list[Guarantee[Any]] = [self.instances()[0], self.replace_one()]
        with pytest.raises(RelationMismatch, match="part 0 is AddRemove, part 1 is ReplaceOne"):
            compose(*mixed)

    def test_post_processing_is_recorded_and_free(self) -> None:
        """The same guarantee with one more node."""
        for instance in self.instances():
            after = post_process(instance, description="rounding")
            assert after == instance
            assert after.derivation.premises == (instance.derivation,)

    def test_groups_never_gain(self) -> None:
        """A group of one is the guarantee, and of two no stronger, or refused."""
        for instance in self.instances():
            same(group(instance, size=1), instance)
            try:
                pair = group(instance, size=2)
            except NotImplied:
                continue
            no_stronger(pair, instance)

    def test_conversions_never_strengthen(self) -> None:
        """What a conversion implies is not certainly below what it came from."""
        for instance in self.instances():
            for notion in reachable(instance):
                try:
                    result = converted(instance, notion)
                except NotImplied:
                    continue
                assert type(result) is notion
                assert result.relation == instance.relation
                no_stronger(result, instance)


def _without_pair(instance: Guarantee[Any]) -> tuple[Guarantee[Any], ...]:
    try:
        instance.to_pair()
    except NotImplied:
        return (instance,)
    return ()
