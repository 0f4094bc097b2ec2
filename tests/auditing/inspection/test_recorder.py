"""Recorded runs: what the data decides that it should not, seen with one run a dataset."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import L1, L2, AddRemove
from dpproof.accountant.errors import ParameterError
from dpproof.auditing import ClaimRefuted, Fact, FactKind, Inspection, Pair, Recorder, neighbours
from tests.auditing import samplers
from tests.auditing.inspection.sound import (
    in_place_sums,
    into_noise,
    located_sum,
    noisy_sum,
    one_by_one,
    summed_noise,
    through_tuples,
    whole_noise,
)

Rng = np.random.Generator
PAIR = [1.0, 1.0, 0.5], [1.0, 1.0]


def look(sampler: Callable[..., Any], pair: Any = PAIR, **options: Any) -> Inspection:  # noqa: ANN401
    """What a recorder sees of a sampler on one pair."""
    return Recorder(**options).inspect(sampler, [pair], seed=1)


def only(sampler: Callable[..., Any], pair: Any = PAIR, **options: Any) -> Fact:  # noqa: ANN401
    """The one fact that is seen."""
    (fact,) = look(sampler, pair, **options).facts
    return fact


def sparse_vector(queries: list[float], _size: int, rng: Rng) -> Any:  # noqa: ANN401
    """Ends at the first noisy value above a noisy threshold: control flow by released answers."""
    threshold = 1.0 + rng.laplace(scale=2.0)
    for place, query in enumerate(queries):
        if query + rng.laplace(scale=4.0) >= threshold:
            return [place]
    return [-1]


@pytest.mark.parametrize(
    "sampler",
    [
        noisy_sum,
        located_sum,
        in_place_sums,
        into_noise,
        one_by_one,
        whole_noise,
        summed_noise,
        through_tuples,
    ],
)
def test_sound_implementations_show_nothing(sampler: Callable[..., Any]) -> None:
    """No fact, and the movement of the value is measured: half a record, or one."""
    moved = 1.0 if sampler is whole_noise else 0.5
    expected = 2 * moved if sampler is in_place_sums else moved
    seen = look(sampler, sensitivity=L1(1))

    assert seen.facts == (), str(seen)
    assert max(movement.measured for movement in seen.movements) == expected
    assert seen.require() is seen


def test_one_pair_needs_no_list() -> None:
    """A ``Pair`` is inspected as it is given to ``audit``."""
    recorder = Recorder(sensitivity=L1(1))
    alone = recorder.inspect(noisy_sum, Pair(*PAIR), seed=1)
    assert alone == recorder.inspect(noisy_sum, [PAIR], seed=1)
    assert alone.pairs == 1


def test_control_flow_by_answers_is_no_fact() -> None:
    """A run on D' is answered as the one on D was, so it stops where that stopped."""
    queries = [0.0, 1.0] * 10, [1.0, 0.0] * 10
    recorder = Recorder(sensitivity=L1(1))

    assert [recorder.inspect(sparse_vector, [queries], seed=seed).facts for seed in range(8)] == [
        ()
    ] * 8


def test_a_noise_scale_from_the_data() -> None:
    """The scale is max(data): a parameter that is not the same; its values are not shown."""
    fact = only(samplers.data_scale, (np.ones(2), np.array([1.0, 5.0])))

    assert fact.kind is FactKind.PARAMETER
    assert fact.where == "call 1, laplace, scale"
    assert (fact.on_data, fact.on_neighbour) == ("a float", "a float, another")


def test_a_mean_with_a_private_count() -> None:
    """1/n as the scale."""
    fact = only(samplers.private_mean, (np.zeros(1), np.zeros(2)))

    assert (fact.kind, fact.on_data, fact.on_neighbour) == (
        FactKind.PARAMETER,
        "a float",
        "a float, another",
    )


def test_a_scale_that_multiplies_noise() -> None:
    """The same, with standard noise that is scaled afterwards."""

    def scaled(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        return 0.0 + rng.standard_normal(size) * max(records)

    fact = only(scaled, ([1.0, 7.0], [1.0]))

    assert fact.where == "call 2, standard_normal, then multiply, operand 0"
    assert (fact.on_data, fact.on_neighbour) == ("a float", "a float, another")


def test_a_loop_count_from_the_data() -> None:
    """One draw a record: the run on D' ends a call earlier."""

    def record_by_record(records: list[float], _size: int, rng: Rng) -> Any:  # noqa: ANN401
        return [max(rng.normal() for _ in records)]

    fact = only(record_by_record)

    assert fact.kind is FactKind.SEQUENCE
    assert (fact.on_data, fact.on_neighbour) == ("normal, 3 calls", "nothing more")


def test_a_number_of_draws_from_the_data() -> None:
    """As many as there are records, in one call."""

    def in_one_call(records: list[float], _size: int, rng: Rng) -> Any:  # noqa: ANN401
        return [rng.normal(size=len(records)).sum()]

    assert only(in_one_call).where == "call 1, normal, size"


def test_a_parameter_that_is_given_on_one_side() -> None:
    """The default scale on one dataset, and the same scale written out on the other."""

    def sometimes(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        return rng.normal(size=size) if len(records) > 2 else rng.normal(scale=1.0, size=size)

    fact = only(sometimes)

    assert (fact.where, fact.on_data, fact.on_neighbour) == (
        "call 1, normal, scale",
        "absent",
        "there",
    )


def test_a_primitive_chosen_by_the_data() -> None:
    """Laplace noise for many records, Gaussian for few."""

    def chosen(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        return rng.laplace(size=size) if len(records) > 2 else rng.normal(size=size)

    fact = only(chosen)

    assert (fact.kind, fact.on_data, fact.on_neighbour) == (FactKind.SEQUENCE, "laplace", "normal")


def test_a_sensitivity_below_the_measured_one() -> None:
    """A sum without clipping: the record of 10 moves it by 10, where 1 is declared."""
    fact = only(samplers.unclipped_sum, (np.array([10.0]), np.zeros(0)), sensitivity=L1(1))

    assert (fact.kind, fact.measured, fact.declared) == (FactKind.SENSITIVITY, 10.0, 1.0)


def test_sensitivity_is_exact() -> None:
    """The last bit counts: 0.1 + 0.2 - 0.2 is above 0.1, and just at the exact difference."""

    def total(value: float, size: int, rng: Rng) -> Any:  # noqa: ANN401
        return value + rng.laplace(size=size)

    pair = 0.1 + 0.2, 0.2
    difference = (0.1 + 0.2) - 0.2

    assert difference > 0.1
    assert only(total, pair, sensitivity=L2(0.1)).kind is FactKind.SENSITIVITY
    assert look(total, pair, sensitivity=L2(difference)).facts == ()
    assert look(total, pair, sensitivity={"laplace": L1(1), "normal": L1(0.1)}).facts == ()


def test_sensitivities_of_a_histogram_add_up() -> None:
    """A record that changes its cell moves two values by 1 each: 2 together, not 1."""

    def histogram(records: list[str], _size: int, rng: Rng) -> Any:  # noqa: ANN401
        return [{key: records.count(key) + rng.laplace() for key in "abc"}]

    pair = list("abca"), list("abcb")

    assert look(histogram, pair, sensitivity=L1(1)).facts == ()
    assert only(histogram, pair, sensitivity=L1(1), together=True).measured == 2.0
    assert only(histogram, pair, sensitivity=L1(0.5), together=True).measured == 2.0
    assert look(histogram, pair, sensitivity=L1(2), together=True).facts == ()


def test_data_around_the_primitives() -> None:
    """Keys that are there, an exact count beside a noisy sum: the output differs."""

    def with_count(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        return [(len(records), float(total)) for total in noisy_sum(records, size, rng)]

    assert only(with_count).kind is FactKind.OUTPUT
    keys = look(samplers.present_keys, (["a"], ["a", "b"]))
    assert keys.kinds <= {FactKind.PARAMETER, FactKind.SEQUENCE, FactKind.OUTPUT}
    assert keys.facts


def test_randomness_from_elsewhere() -> None:
    """The same data gives another output: what the recorder sees is not all there is."""

    def hidden(_records: list[float], _size: int, _rng: Rng) -> Any:  # noqa: ANN401
        return [random.gauss(0, 1)]

    assert only(hidden).kind is FactKind.UNRECORDED


def test_errors_are_facts() -> None:
    """An error on one side is visible to all; one on both sides means that nothing was seen."""

    def refuses(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        if len(records) > 2:
            raise ValueError("too many")
        return noisy_sum(records, size, rng)

    fact = only(refuses)

    assert (fact.kind, fact.on_data, fact.on_neighbour) == (
        FactKind.RAISED,
        fact.on_data,
        "no error",
    )
    assert fact.on_data.startswith("ValueError at test_recorder.py:")
    assert only(lambda _: 0).kind is FactKind.RAISED


def test_any_primitive_can_be_watched() -> None:
    """A noise function of one's own: followed to what it is added to, or told its value."""
    recorder = Recorder()
    noise = recorder.watch(lambda scale: random.gauss(0, scale), name="noise", sensitivity=L1(1))
    release = recorder.watch(
        lambda value, scale: value + random.gauss(0, scale),
        name="release",
        value="value",
        sensitivity=L1(1),
    )
    for primitive in (lambda x: x + noise(2.0), lambda x: release(x, scale=2.0)):
        seen = recorder.inspect(lambda x, _, __, run=primitive: [run(x)], [(0.0, 1.0), (0.0, 3.0)])

        assert [(fact.kind, fact.measured) for fact in seen.facts] == [(FactKind.SENSITIVITY, 3.0)]
    assert isinstance(noise(2.0), float)


def test_answers_of_any_type_are_replayed() -> None:
    """Tuples, lists, dictionaries and None: a run on D' gets the ones of the run on D."""
    counter = iter(range(10**6))
    for answer in (lambda n: (n, [n]), lambda n: [n], lambda n: {"n": n}, lambda _: None):
        recorder = Recorder()
        ask = recorder.watch(lambda _, make=answer: make(next(counter)), name="ask", value="_")
        seen = recorder.inspect(lambda x, _, __, ask=ask: [ask(x)], [(0.0, 3.0)])

        assert seen.facts == (), str(seen)


def test_answers_into_an_array_are_replayed() -> None:
    """A primitive that fills what it is given fills it as it did on D."""

    def fill(out: Any) -> None:  # noqa: ANN401
        out[...] = random.random()  # noqa: S311

    recorder = Recorder()
    filled = recorder.watch(fill)

    def release(_records: list[float], size: int, _rng: Rng) -> Any:  # noqa: ANN401
        target = np.zeros(size)
        assert filled(target) is None
        assert 0 < target[0] < 1
        return target

    assert recorder.inspect(release, [PAIR]).facts == ()


def test_an_answer_of_another_form_is_not_replayed() -> None:
    """Then the outputs may differ by it, and nothing is said about them."""
    recorder = Recorder()
    tell = recorder.watch(lambda x: x if x > 0 else "nothing", value="x")

    assert recorder.inspect(lambda x, _, __: [tell(x)], [(1.0, 0.0)]).facts == ()


def test_every_run_has_its_own_data() -> None:
    """What a run does to its records is not seen by the next, nor by the caller."""

    def eats(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        total = 0.0
        while records:
            total += min(max(records.pop(), 0.0), 1.0)
        return total + rng.laplace(size=size)

    seen = look(eats, sensitivity=L1(1))

    assert seen.facts == (), str(seen)
    assert seen.movements[0].measured == 0.5
    assert PAIR == ([1.0, 1.0, 0.5], [1.0, 1.0])


def test_the_generator_passes_for_numpys() -> None:
    """It is one; what it draws is what numpy's draws from the same seed; children are recorded."""
    drawn: list[Any] = []

    def takes_generators(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        assert isinstance(rng, np.random.Generator)
        assert np.random.default_rng(rng) is rng
        (child,) = rng.spawn(1)
        drawn.append([rng.integers(100, size=3), rng.choice(5), rng.permutation(4)])
        target = np.empty(size)
        child.standard_normal(out=target)
        rng.shuffle(records)
        return target

    seen = look(takes_generators, ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]))
    plain = np.random.default_rng(1)

    assert seen.facts == ()
    assert drawn[0][0].tolist() == plain.integers(100, size=3).tolist()
    assert drawn[0][1] == plain.choice(5)
    assert drawn[0][2].tolist() == plain.permutation(4).tolist()


def test_ignored_methods_are_not_recorded() -> None:
    """An order, whose length is that of the records."""

    def ordered(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        order = rng.permutation(len(records))
        return np.clip(records, 0, 1)[order].sum() + rng.normal(size=size)

    assert only(ordered).where == "call 1, permutation, x"
    assert look(ordered, ignore={"permutation", "shuffle"}, sensitivity=L2(1)).facts == ()


ROWS = np.vstack([np.eye(3), np.eye(3) * 0.5])


def loop(bug: str = "") -> Callable[..., Any]:
    """DP-SGD of eight steps on rows of norm 1: all its noisy sums."""

    def run(rows: Any, size: int, rng: Rng) -> Any:  # noqa: ANN401
        coins = rng.random((size, 8, len(rows))) < 0.5
        noise = rng.normal(scale=1 if bug == "scale" else 2, size=(size, 8, 3))
        if bug == "reused":
            noise = noise[:, :1]
        if bug == "halved":
            noise = noise / 2
        sums = np.matmul(coins, 3 * rows if bug == "clipping" else rows) + noise
        if bug == "divisor":
            sums /= np.maximum(coins.sum(axis=2, keepdims=True), 1)
        return sums.reshape(size, -1)

    return run


@pytest.mark.parametrize("place", [0, 2, 5])
@pytest.mark.parametrize("removed", [True, False])
def test_coins_are_aligned_by_record(place: int, removed: bool) -> None:  # noqa: FBT001
    """A right Poisson sampler is clean on add-remove pairs, wherever the record is."""
    fewer = np.delete(ROWS, place, axis=0)
    pair = (ROWS, fewer) if removed else (fewer, ROWS)
    seen = look(loop(), pair, sensitivity=L2(3), scale={"normal": 2})

    assert seen.facts == (), str(seen)
    assert seen.movements[0].measured > 0.5


@pytest.mark.parametrize(
    ("bug", "kind"),
    [
        ("reused", FactKind.REUSED),
        ("scale", FactKind.SCALE),
        ("halved", FactKind.SCALE),
        ("clipping", FactKind.SENSITIVITY),
        ("divisor", FactKind.DIVISOR),
    ],
)
def test_a_broken_loop_is_named(bug: str, kind: FactKind) -> None:
    """Each of them by its own fact, and no other."""
    pair = ROWS, np.delete(ROWS, 1, axis=0)
    seen = look(loop(bug), pair, sensitivity=L2(3), scale={"normal": 2})

    assert seen.kinds == {kind}, str(seen)


def test_one_noise_in_two_calls() -> None:
    """Added twice, with either sign; noise of few bits is equal by chance, and left alone."""

    def twice(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        noise = rng.laplace(size=size)
        return [(sum(records) + noise, len(records) - noise)]

    def whole(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        return sum(records) + rng.geometric(0.5, size=(size, 50)) + rng.poisson(1.0, size=(size, 1))

    fact = next(iter(look(twice, sensitivity=L1(1)).facts))
    assert (fact.kind, fact.where) == (FactKind.REUSED, "call 3, laplace, then subtract")
    assert FactKind.REUSED not in look(whole).kinds


def test_sound_scales() -> None:
    """Noise of the declared scale, in one step or two, and of one that is not known."""

    def scaled(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        one = sum(records) + 4 * rng.standard_normal(size) / 2
        return [(one, sum(records) + rng.normal(0, 2, size), rng.normal(sum(records), 2, size))]

    def two(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        inverse = sum(records) + 1 / rng.normal(scale=0.1, size=size)
        return [(sum(records) + (rng.normal(size=size) + rng.normal(size=size)), inverse)]

    least = {"normal": 2, "standard_normal": 2}
    assert look(scaled, scale=least).facts == ()
    assert look(two, scale=least).facts == ()
    more = dict.fromkeys(least, 2.01)
    assert [fact.kind for fact in look(scaled, scale=more).facts] == [FactKind.SCALE]


def test_a_stream_of_pairs() -> None:
    """Generated neighbours: nan and infinities get past a comparison, 1e6 does not."""

    def clipped(records: list[float], size: int, rng: Rng) -> Any:  # noqa: ANN401
        total = sum(record if not (record > 1 or record < 0) else 1.0 for record in records)
        return total + rng.laplace(size=size)

    seen = Recorder(sensitivity=L1(1)).inspect(clipped, neighbours([0.5], relation=AddRemove()))

    assert [fact.pair for fact in seen.facts] == ["nan added"]
    assert seen.pairs > 8
    assert seen.movements[0].measured == math.inf


def test_facts_are_asserted_and_exported() -> None:
    """``require`` raises with the page; the JSON has every fact and the seed."""
    seen = look(samplers.data_scale, (np.ones(2), np.array([1.0, 5.0])))
    with pytest.raises(ClaimRefuted, match="a parameter is not the same"):
        seen.require()
    told = json.loads(seen.to_json())

    assert told["facts"][0]["kind"] == "parameter"
    assert told["seed"] == 1
    assert told["pairs"] == 1


@pytest.mark.parametrize("sensitivity", [1, "L1", {"laplace": 1.0}])
def test_refuses_what_is_no_sensitivity(sensitivity: Any) -> None:  # noqa: ANN401
    """A number does not say in which norm."""
    with pytest.raises(ParameterError, match="L1"):
        Recorder(sensitivity=sensitivity)


def test_refuses_no_pairs() -> None:
    """Nothing seen on no pairs would look like privacy."""
    with pytest.raises(ParameterError, match="pairs"):
        Recorder().inspect(noisy_sum, [])
