"""No public call that takes data shows a value of it, whatever becomes of the call."""

from __future__ import annotations

import inspect
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import dpproof
from dpproof import mechanisms
from dpproof.accountant.form import TAKES_DATA, takes_data
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1, LInf
from dpproof.mechanisms import Laplace, Mechanism, ReplayRng
from tests.contracts.every_mechanism import contracts
from tests.contracts.markers import NUMBER, TEXT, bad_data, data_methods, kept, leaks, marked

# What else a call may need. Names beside these are data, and get a marker.
OTHERS: dict[str, Any] = {
    "count": 2,
    "size": 2,
    "rng": ReplayRng(1),
    "weights": np.ones((1, 2)),
    "failure": 0.1,
    "width": 2,
    "space": mechanisms.Cube(2),
    "margins": np.ones((1, 1)),
    "sums": np.ones(1, dtype=np.int64),
}
# Objects of other public classes whose methods take data.
OBJECTS: dict[str, Callable[[], Any]] = {
    "ClippedSum": lambda: mechanisms.ClippedSum(lower=0, upper=1),
    "Conjunctions": lambda: mechanisms.Conjunctions(2),
    "Count": mechanisms.Count,
    "Cube": lambda: mechanisms.Cube(2),
    "FourierFeatures": lambda: mechanisms.FourierFeatures(
        features=2, frequencies=2, width=1, seed=1
    ),
    "GaussianProjection": lambda: mechanisms.GaussianProjection(features=2, dimension=1, seed=1),
    "Grid": lambda: mechanisms.Grid(2, 1),
    "ScatteringFeatures": lambda: mechanisms.ScatteringFeatures(features=2, height=1, scales=1),
    "HingeLoss": lambda: mechanisms.HingeLoss(bound=3),
    "MechanismSampler": lambda: Laplace(scale=1, sensitivity=L1(1)).sampler(),
    "MonomialFeatures": lambda: mechanisms.MonomialFeatures(features=2, degree=2, offset=1, norm=8),
    "NoisyMistakes": lambda: mechanisms.NoisyMistakes(sigma=1, relation=AddRemove()),
    "NumericAnswers": lambda: mechanisms.NumericAnswers(query=list, scale=4, sensitivity=LInf(1)),
    "Parities": lambda: mechanisms.Parities(2),
    "ParityLoss": mechanisms.ParityLoss,
    "RademacherProjection": lambda: mechanisms.RademacherProjection(
        features=2, dimension=1, seed=1
    ),
    "Records": lambda: mechanisms.Records,
    "Scores": lambda: mechanisms.Scores(candidates=(1, 2), score=lambda data, one: data.count(one)),
    "SignProjection": lambda: mechanisms.SignProjection(features=2, dimension=1, seed=1),
    "SmoothMedian": lambda: mechanisms.SmoothMedian(lower=0, upper=100, beta=0.5),
    "Subsets": lambda: mechanisms.Subsets(2, 1),
    "WithinBound": lambda: mechanisms.WithinBound(
        statistic="sum", noise_multiplier=1, relation=AddRemove()
    ),
    "ZeroOne": mechanisms.ZeroOne,
}
FUNCTIONS: dict[str, Callable[[Any], object]] = {
    "bound_contributions": lambda data: mechanisms.bound_contributions(data, most=1),
    "whole_values": lambda data: (
        mechanisms.whole_values(None, data),
        mechanisms.whole_values(list, data),
    ),
}
ABSTRACT = {"Additive", "FeatureMap", "FollowUp", "Mechanism"}
PUBLIC = {"LowerTriangular"}  # rows of a factor that is stated


def calls(thing: Any, names: list[str]) -> Iterator[tuple[str, Callable[[], object]]]:  # noqa: ANN401
    """Every call of some methods with every kind of data."""
    for name in names:
        method = getattr(thing, name)
        needed = [
            key
            for key, one in inspect.signature(method).parameters.items()
            if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        ]
        for data in bad_data():
            given = {key: OTHERS.get(key, data) for key in needed}
            if "datasets" in given or "samples" in given:
                given |= {key: [data] for key in ("datasets", "samples") if key in given}
            yield f"{type(thing).__name__}.{name} on {type(data)}", partial(method, **given)
            if "outputs" in given:
                yield name, partial(method, **{**given, "outputs": np.zeros(1)})


@pytest.mark.parametrize("contract", list(contracts()), ids=lambda one: one.__name__)
def test_no_call_of_a_mechanism_shows_data(contract: type[Any]) -> None:
    """Every method that takes data, on data of many kinds; and nothing of it stays."""
    mechanism = contract().mechanism()
    methods = data_methods(type(mechanism))

    assert {"release", "release_many", "draw"} <= set(methods)
    for name, call in calls(mechanism, [one for one in methods if one != "sampler"]):
        assert not leaks(call), name
    assert not kept(mechanism)


def test_every_public_class_that_takes_data_is_among_the_objects() -> None:
    """A new class with a method that takes data has to be added to the objects here."""
    public = {name: getattr(mechanisms, name) for name in vars(mechanisms)["__all__"]}
    classes = {
        name: one
        for name, one in public.items()
        if inspect.isclass(one) and not issubclass(one, Exception)
    }
    taking = {
        name
        for name, one in classes.items()
        if not issubclass(one, Mechanism)
        and (data_methods(one) or TAKES_DATA & set(inspect.signature(one).parameters))
    }

    assert taking - ABSTRACT - PUBLIC == set(OBJECTS)


@pytest.mark.parametrize("name", OBJECTS)
def test_no_call_of_an_object_shows_data(name: str) -> None:
    """Queries, maps, spaces, losses and second parts, on data of many kinds."""
    thing: Any = OBJECTS[name]()
    if isinstance(thing, type):
        for data in bad_data():
            made: Callable[..., object] = thing
            assert not leaks(partial(made, data, data))
        assert not marked(repr(thing(np.full((2, 1), NUMBER), np.zeros(2))))
        return
    for told, call in calls(thing, data_methods(type(thing))):
        assert not leaks(call), told


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_shows_data(name: str) -> None:
    """What is made of records before a release, on data of many kinds."""
    for data in bad_data():
        for given in (data, [data, data], [(data, data)]):
            assert not leaks(partial(FUNCTIONS[name], given))


def test_every_public_function_that_takes_data_is_among_these() -> None:
    """A new function of mechanisms that takes data has to be added here."""
    public = {name: getattr(mechanisms, name) for name in vars(mechanisms)["__all__"]}
    functions = {name: one for name, one in public.items() if inspect.isfunction(one)}

    assert {name for name, one in functions.items() if takes_data(one)} == set(FUNCTIONS)


@pytest.mark.parametrize("name", ["select", "select_above", "subsample", "repeat"])
def test_no_combination_shows_data(name: str) -> None:
    """What is made of a mechanism is asked as the mechanism is."""
    noise = Laplace(scale=1, sensitivity=L1(1), query=len)
    law = dpproof.FixedRuns(count=2)
    made: dict[str, Callable[[], Any]] = {
        "select": lambda: noise.select(law),
        "select_above": lambda: noise.select_above(law, threshold=0),
        "subsample": lambda: noise.subsample(dpproof.Poisson(sampling_rate=0.5)),
        "repeat": lambda: noise.repeat(2),
    }
    for told, call in calls(made[name](), ["release", "release_many"]):
        assert not leaks(call), told


def test_data_in_the_place_of_a_parameter_is_not_shown() -> None:
    """Nested data, and what is long, is told by its type and size wherever a parameter is asked."""
    for data in (
        [{"name": TEXT}],
        [[NUMBER, 1.0]],
        {TEXT: [NUMBER]},
        [([NUMBER], TEXT)],
        [NUMBER] * 20,
    ):
        calls: tuple[Callable[[Any], object], ...] = (
            dpproof.compose,
            lambda given: dpproof.Shuffle(records=given),
            lambda given: Laplace(scale=given, sensitivity=L1(1)),
            lambda given: dpproof.GDP(mu=given),
        )
        for call in calls:
            with pytest.raises(Exception, match="got") as refused:
                call(data)
            assert not marked(str(refused.value))


def test_errors_of_queries_and_scores_do_not_quote_data() -> None:
    """A caller's function that raises an error with a record in it is told by its type."""

    def quoting(record: object) -> float:
        raise ValueError(f"bad record {record} {TEXT}")

    for mechanism in (
        Laplace(scale=1, sensitivity=L1(1), query=quoting),
        mechanisms.ExponentialMechanism(epsilon=1, sensitivity=LInf(1), query=quoting),
        Laplace(scale=1, sensitivity=L1(1)).select(dpproof.FixedRuns(count=2), score=quoting),
    ):
        for call in (
            partial(mechanism.release, NUMBER),
            partial(mechanism.release_many, NUMBER, 2),
        ):
            assert not leaks(call)


def test_the_markers_are_found() -> None:
    """A call that shows a marker in any way is seen, so that the tests above can fail."""

    def chained() -> None:
        try:
            dict[str, int]()[TEXT]
        except KeyError:
            raise ValueError("no data here") from None

    assert leaks(chained)
    assert leaks(lambda: sys.stdout.write(str(NUMBER)))
    assert leaks(lambda: warnings.warn(TEXT, stacklevel=1))
    assert leaks(lambda: float(TEXT))
    assert kept({"a": np.array([NUMBER])}) == ["repr", "text", "pickle"]
    assert marked(pickle.dumps(NUMBER))
