"""No audit shows a value of the datasets, whatever the sampler does."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from dpproof import auditing
from dpproof.accountant.public_names import homes_of
from dpproof.accountant.relation import AddRemove
from dpproof.accountant.sensitivity import L1
from tests.contracts.markers import NUMBER, TEXT, bad_data, leaks, marked

SAMPLERS: dict[str, Callable[..., Any]] = {
    "counts": lambda data, size, rng: len(np.atleast_1d(data)) + rng.laplace(size=size),
    "quotes": lambda data, _, __: [][int(f"{data}{TEXT}")],
    "objects": lambda _, size, __: [object()] * size,
    "short": lambda _, __, ___: [TEXT],
    "scale": lambda data, size, rng: rng.laplace(0.0, 1 + abs(float(data[0])), size),
    "value": lambda data, size, rng: data[0] + rng.laplace(size=size),
}
PAIR = ([NUMBER, 2.0], [2.0])
AUDITED: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "audit": lambda sampler: auditing.audit(sampler, PAIR, (0.1, 0), samples=400, seed=1),
    "features": lambda sampler: auditing.audit(
        SAMPLERS["value"],
        PAIR,
        (0.1, 0),
        samples=400,
        seed=1,  # of others one in a hundred shows an output, which is published
        features=lambda outputs: sampler(outputs, len(outputs), np.random.default_rng(1)),
    ),
    "audit_canaries": lambda sampler: auditing.audit_canaries(
        lambda rows, rng: sampler(rows, len(rows), rng),
        [NUMBER] * 20,
        (0.1, 0),
        data=[NUMBER],
        score=lambda _, canaries: np.zeros(len(canaries)),
        seed=1,
    ),
    "watch": lambda sampler: auditing.watch(sampler, PAIR, (0.1, 0), samples=400, seed=1),
    "check_query": lambda sampler: auditing.check_query(
        lambda data: sampler(data, 1, np.random.default_rng(1)), PAIR[0], sensitivity=L1(1)
    ),
    "Recorder": lambda sampler: auditing.Recorder(sensitivity=L1(1)).inspect(
        sampler, [PAIR], seed=1
    ),
}
NAMED: dict[str, Callable[[], list[str]]] = {
    "neighbours": lambda: [
        one.name
        for data in ([NUMBER, 2.0], [TEXT, "b"], [[NUMBER, 1.0]], np.array([NUMBER]))
        for one in auditing.neighbours(data, relation=AddRemove(), records=[NUMBER, TEXT])
    ],
    "crowded": lambda: [
        one.name
        for data in ([NUMBER, 2.0], [TEXT, "b"])
        for one in auditing.crowded(data, relation=AddRemove(), sizes=[3])
    ],
    "permuted": lambda: [one.name for one in auditing.permuted([NUMBER, 1.0])],
    "suggested_pairs": lambda: [
        f"{hidden} {one.name} {one!r}"
        for longer in ([NUMBER, 1.0], [[NUMBER, 1.0]], [TEXT], [object()])
        for hidden, one in auditing.suggested_pairs((longer, longer[1:]))
    ],
    "all_differ": lambda: [one.name for one in auditing.all_differ([NUMBER, 1.0], 1.0)],
}
VARIANTS = {"features"}  # of audit
# Names of parameters that are data; the canaries that are planned are a number.
DATA = {"data", "pair", "pairs", "value", "values", "loader", "scores", "included", "model"}
RETURNING_DATA = {"records_like", "identity"}  # records to try, and a digest


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", AUDITED)
def test_no_audit_shows_data(name: str, sampler: str) -> None:
    """Neither an error nor a report, as a page, as JSON or as a repr."""
    found: list[Any] = []
    assert not leaks(lambda: found.append(AUDITED[name](SAMPLERS[sampler])))
    if sampler == "value" and name in ("audit", "watch"):
        return  # outputs next to a record are published outputs
    for report in found:
        page = report.to_json() if hasattr(report, "to_json") else ""
        assert not marked(f"{report} {report!r} {page}")


def test_a_pair_does_not_show_its_datasets() -> None:
    """The repr of a pair is its name."""
    assert repr(auditing.Pair([NUMBER], [TEXT], "ends")) == "Pair(name='ends')"


def test_every_audit_function_is_among_these() -> None:
    """A new public function of audits that takes data has to be added here."""
    public = {name: getattr(auditing, name) for name in homes_of("dpproof.auditing")}
    taking = {
        name
        for name, one in public.items()
        if inspect.isfunction(one) and DATA & set(inspect.signature(one).parameters)
    }

    assert taking == {*TAKING} - {"Recorder"}


class Guessing:
    """A classifier that tells what it is given."""

    classes_ = np.array([0, 1])

    def decision_function(self, rows: object) -> object:
        """Return the rows, as numbers."""
        return np.asarray(rows, dtype=float)


class Twice:
    """A loader of the same batch, twice."""

    def __init__(self, batch: object) -> None:
        self._batch = batch

    def __iter__(self) -> Iterator[Any]:
        return iter((self._batch, self._batch))


TAKING: dict[str, Callable[[Any], object]] = {
    "audit": lambda data: auditing.audit(SAMPLERS["counts"], data, (0.1, 0), samples=400, seed=1),
    "watch": lambda data: auditing.watch(SAMPLERS["counts"], data, (0.1, 0), samples=400, seed=1),
    "check_query": lambda data: auditing.check_query(len, data, sensitivity=L1(1)),
    "Recorder": lambda data: auditing.Recorder(sensitivity=L1(1)).inspect(
        SAMPLERS["counts"], [data, (data, [1.0])], seed=1
    ),
    "audit_canaries": lambda data: auditing.audit_canaries(
        lambda rows, _: len(rows), data, (0.1, 0), data=data, score=lambda _, those: those, seed=1
    ),
    "neighbours": lambda data: [*auditing.neighbours(data, relation=AddRemove())],
    "crowded": lambda data: [*auditing.crowded(data, relation=AddRemove(), sizes=[3])],
    "permuted": lambda data: [*auditing.permuted(data)],
    "suggested_pairs": lambda data: [*auditing.suggested_pairs(data)],
    "all_differ": lambda data: [*auditing.all_differ(data, 1.0)],
    "records_like": auditing.records_like,
    "identity": auditing.identity,
    "bound_membership": lambda data: (
        auditing.bound_membership(data, [True] * 3, (1, 0)),
        auditing.bound_membership([1.0] * 3, data, (1, 0)),
    ),
    "search_pairs": lambda data: (
        auditing.search_pairs(SAMPLERS["scale"], [(data, [1.0])], (1, 0), samples=100),
        auditing.search_pairs(SAMPLERS["counts"], data, (1, 0), samples=100),
    ),
    "margin_score": lambda data: auditing.margin_score(Guessing(), data),
    "inspect_loader": lambda data: [
        auditing.inspect_loader(loader, epochs=2, dataset=dataset)
        for loader, dataset in ((data, None), (Twice(data), None), (Twice([data]), data))
    ],
}


LONG = ("check_query", "identity")  # take seconds


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in TAKING]
)
def test_no_refusal_of_a_dataset_shows_it(name: str) -> None:
    """Data of many kinds, which is no dataset, or raises errors that quote it."""
    assert {*AUDITED, *NAMED, *RETURNING_DATA} - VARIANTS <= {*TAKING}
    for data in bad_data():
        assert not leaks(partial(TAKING[name], data)), type(data)


@pytest.mark.parametrize("name", NAMED)
def test_no_pair_is_named_by_a_record(name: str) -> None:
    """Names of generated pairs are in reports."""
    assert not any(map(marked, NAMED[name]()))
