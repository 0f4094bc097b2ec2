"""Samples in which a record counts several times, or pushes another one out."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpproof.accountant import (
    GDP,
    L2,
    AddRemove,
    L2Contribution,
    Poisson,
    ReplaceOne,
    TruncatedPoisson,
    UserPoisson,
    WithoutReplacement,
    WithReplacement,
    ZeroOut,
    certify,
    self_compose,
)
from dpproof.accountant.errors import NotCertified, NotImplied, ParameterError
from dpproof.accountant.guarantees.derivation import Attained
from dpproof.accountant.guarantees.dominating_pair import DominatingPair
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.accountant.sampling import OneStepScheme
from dpproof.accountant.subsampling.count_laws import Counts, laws
from dpproof.accountant.theorems.subsampling import subsample_counted_sum, subsample_poisson
from dpproof.proofs import check
from dpproof.proofs.certificate import Certificate

ONE = L2Contribution(1)
HALF = Fraction(1, 2)
LOADER = TruncatedPoisson(sampling_rate=Fraction(1, 100), largest=15, population_size=1000)
DRAWS = WithReplacement(sample_size=100, population_size=1000)
Law = Mapping[float, float]


def step(scheme: OneStepScheme, sigma: float = 1) -> DominatingPair[AddRemove]:
    """Noise on a sum over a sample."""
    return subsample_counted_sum(sigma=sigma, contribution=ONE, scheme=scheme)


@pytest.mark.parametrize(
    ("sigma", "epsilon", "delta"),
    [(1, 0.1, 0.05416644), (1, 1, 0.02102480), (4, 0.1, 0.002643732), (4, 1, 1.774346e-8)],
)
def test_draws_with_replacement_have_the_values_of_the_specification(
    sigma: int, epsilon: float, delta: float
) -> None:
    """A hundred of a thousand records, by two other programs; the addition is far below."""
    found = step(DRAWS, sigma)

    assert found.delta(epsilon=epsilon).upper == pytest.approx(delta, rel=3e-7)
    if (sigma, epsilon) == (1, 0.1):
        added = found.backward.factors[0].pair.profile(np.array([0.1]))
        assert added is not None
        assert added[1][0] == pytest.approx(4.843042e-8, rel=1e-6)


@pytest.mark.parametrize(
    ("records", "delta"), [(9, 0.030442), (15, 0.047244), (22, 0.052460), (30, 0.046411)]
)
def test_cut_samples_take_the_worse_of_two_numbers_of_records(records: int, delta: float) -> None:
    """The specification's values, of one number each: the larger one of a neighbour counts."""
    scheme = TruncatedPoisson(sampling_rate=0.2, largest=3, population_size=records)
    before = TruncatedPoisson(sampling_rate=0.2, largest=3, population_size=records - 1)
    found, other = (step(one, 0.7).delta(epsilon=1).upper for one in (scheme, before))

    assert min(found, other) == pytest.approx(delta, rel=2e-5) or delta <= found
    assert found >= delta * (1 - 2e-5)


@pytest.mark.parametrize("removal", [True, False])
def test_agrees_with_the_mixtures_of_another_library(*, removal: bool) -> None:
    """Users' samples are the mixtures of dp-accounting."""
    loss = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    weights = [math.comb(4, j) * 0.1**j * 0.9 ** (4 - j) for j in range(5)]
    kind = loss.AdjacencyType.REMOVE if removal else loss.AdjacencyType.ADD
    theirs = loss.MixtureGaussianPrivacyLoss(1.5, [0, 1, 2, 3, 4], weights, adjacency_type=kind)
    found = step(UserPoisson(sampling_rate=Fraction(1, 10), contributions=4), 1.5)
    way = found.forward if removal else found.backward

    ours = way.factors[0].pair.profile(np.array([0.0, 0.2, 0.5]))
    assert ours is not None
    assert theirs.get_delta_for_epsilon([0.0, 0.2, 0.5]) == pytest.approx(ours[1], rel=1e-6)


def sums(scheme: OneStepScheme, records: Sequence[float]) -> Law:
    """The law of the sampled sum, by listing every sample."""
    law: dict[float, float] = defaultdict(float)
    for counts, chance in _samples(scheme, len(records)):
        law[round(sum(c * x for c, x in zip(counts, records, strict=True)), 9)] += chance
    return law


def _samples(scheme: OneStepScheme, size: int) -> Iterator[tuple[Sequence[int], float]]:
    """Every sample of so many records as counts, with its probability."""
    match scheme:
        case WithoutReplacement():
            chosen = list(itertools.combinations(range(size), scheme.sample_size))
            for one in chosen:
                yield [int(i in one) for i in range(size)], 1 / len(chosen)
        case WithReplacement():
            for draws in itertools.product(range(size), repeat=scheme.sample_size):
                yield [draws.count(i) for i in range(size)], float(size) ** -scheme.sample_size
        case UserPoisson():
            rate, most = float(scheme.sampling_rate), scheme.contributions
            each = [
                math.comb(most, j) * rate**j * (1 - rate) ** (most - j) for j in range(most + 1)
            ]
            for counts in itertools.product(range(most + 1), repeat=size):
                yield counts, math.prod(each[j] for j in counts)
        case TruncatedPoisson():
            rate = float(scheme.sampling_rate)
            for mask in itertools.product((0, 1), repeat=size):
                chance = math.prod(rate if bit else 1 - rate for bit in mask)
                drawn = [i for i in range(size) if mask[i]]
                kept = list(itertools.combinations(drawn, min(len(drawn), scheme.largest)))
                for one in kept:
                    yield [int(i in one) for i in range(size)], chance / len(kept)


def divergence(first: Law, second: Law, sigma: float, epsilon: float) -> float:
    """The hockey-stick divergence of two mixtures of normal laws, on a grid."""
    x = np.linspace(-8 * sigma - 4, 8 * sigma + 4, 6001)

    def density(law: Law) -> Any:  # noqa: ANN401  # an array
        shapes = [w * np.exp(-0.5 * ((x - at) / sigma) ** 2) for at, w in law.items()]
        return np.sum(shapes, axis=0) / (sigma * math.sqrt(2 * math.pi))

    excess = np.maximum(density(first) - math.exp(epsilon) * density(second), 0.0)
    return float(excess.sum() * (x[1] - x[0]))


SMALL: list[tuple[OneStepScheme, int]] = [
    (WithoutReplacement(sample_size=2, population_size=4), 4),
    (WithReplacement(sample_size=3, population_size=3), 3),
    (TruncatedPoisson(sampling_rate=0.5, largest=2, population_size=4), 4),
    (TruncatedPoisson(sampling_rate=0.25, largest=1, population_size=3), 4),
    (UserPoisson(sampling_rate=0.25, contributions=2), 3),
]


@pytest.mark.parametrize(("scheme", "size"), SMALL)
@pytest.mark.parametrize("sigma", [0.5, 1.5])
def test_bounds_every_small_dataset(scheme: OneStepScheme, size: int, sigma: float) -> None:
    """All samples of datasets on a grid of contributions, both orders, none above the pair."""
    found = step(scheme, sigma)
    worst = dict.fromkeys(itertools.product((True, False), (0.0, 0.4, 1.0)), 0.0)
    for record in (1.0, -0.5):
        for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), size - 1):
            laws = sums(scheme, [record, *others]), sums(scheme, others)
            for removal, epsilon in worst:
                true = divergence(*(laws if removal else laws[::-1]), sigma, epsilon)
                worst[removal, epsilon] = max(worst[removal, epsilon], true)
    for (removal, epsilon), true in worst.items():
        way = found.forward if removal else found.backward
        ends = way.factors[0].pair.profile(np.array([epsilon]))
        assert ends is not None
        assert true <= ends[1][0] + 1e-6
        if not isinstance(scheme, TruncatedPoisson):  # else another number of records may be worse
            assert true >= ends[0][0] - 1e-6


def test_cut_samples_are_bounded_and_no_others_are_attained() -> None:
    """Whether a sample was cut is not released, so that no dataset reaches the bound."""
    levels = {type(scheme): step(scheme).derivation.attained for scheme, _ in SMALL}

    assert levels.pop(TruncatedPoisson) is Attained.NO
    assert set(levels.values()) == {Attained.WHOLE}


@pytest.mark.parametrize("records", [4, 5])
def test_what_is_revealed_of_cut_samples_attains_their_bound(records: int) -> None:
    """With the others' number up to the largest size released, records at -1 reach every point."""
    rate, largest, others = 0.5, 2, records - 1
    scheme = TruncatedPoisson(sampling_rate=rate, largest=largest, population_size=records)
    with_it: dict[float, float] = defaultdict(float)
    without: dict[float, float] = defaultdict(float)
    for drawn in range(others + 1):
        chance = math.comb(others, drawn) * rate**others
        kept = rate * (1 if drawn < largest else largest / (drawn + 1))
        place = 100.0 * min(drawn, largest)  # a public number, far apart
        without[place] += chance
        with_it[place] += chance * (1 - kept)
        with_it[place + (1.0 if drawn < largest else 2.0)] += chance * kept
    both = laws(scheme)[0]
    for removal, epsilon in itertools.product((True, False), (0.0, 0.4)):
        first, second = (with_it, without) if removal else (without, with_it)
        true = sum(
            divergence(_near(first, place), _near(second, place), 1.0, epsilon) for place in without
        )
        assert true == pytest.approx(_mean(both, epsilon, removal=removal), abs=1e-6)


def _near(law: Law, place: float) -> Law:
    """The part of a law around a place, moved there."""
    return {at - place: w for at, w in law.items() if 0 <= at - place < 50}


def _mean(cases: Sequence[Counts], epsilon: float, *, removal: bool) -> float:
    """The mean of the profiles of Poisson samples, over what is revealed."""
    total = 0.0
    for law in cases:
        pair = SubsampledGaussianPair(
            mu_squared=Fraction(float(law.shifts[0])) ** 2,
            sampling_rate=Fraction(float(law.masses[0])),
            removal=removal,
        )
        total += law.share[1] * float(pair.profile(np.array([epsilon]))[1][0])
    return total


def test_degenerate_schemes_are_poisson_samples() -> None:
    """One contribution, a cut that never happens, and one draw, a subset of one."""
    plain = subsample_poisson(GDP(mu=HALF), Poisson(sampling_rate=HALF))
    once = step(UserPoisson(sampling_rate=HALF, contributions=1), 2)
    whole = step(TruncatedPoisson(sampling_rate=HALF, largest=9, population_size=8), 2)
    draw = step(WithReplacement(sample_size=1, population_size=8), 2)
    subset = step(WithoutReplacement(sample_size=1, population_size=8), 2)

    assert once.forward == whole.forward == plain.forward
    assert once.backward == plain.backward
    assert draw.forward == subset.forward


def test_rounds_of_micro_batches_cost_more_than_the_rate_added_up() -> None:
    """Four samples of rate 1 % are not one of 4 %."""
    step_of = UserPoisson(sampling_rate=Fraction(1, 100), contributions=4)
    poisson = subsample_poisson(GDP(mu=1), Poisson(sampling_rate=Fraction(4, 100)))

    assert step(step_of).epsilon(delta=1e-6).lower > poisson.epsilon(delta=1e-6).upper


def test_costs_grow_with_draws_and_noise_lowers_them() -> None:
    """Monotone in the number of draws and in mu."""
    few, many = (WithReplacement(sample_size=m, population_size=50) for m in (2, 5))

    assert step(few).delta(epsilon=0.5).upper < step(many).delta(epsilon=0.5).lower
    assert step(many, 2).delta(epsilon=0.5).upper < step(many).delta(epsilon=0.5).lower


@pytest.mark.parametrize("scheme", [UserPoisson(sampling_rate=0.01, contributions=3), LOADER])
def test_composes_in_narrow_brackets(scheme: OneStepScheme) -> None:
    """A hundred steps, relative width 1e-4."""
    found = self_compose(step(scheme, 2), 100).epsilon(delta=1e-6)

    assert 0 < found.upper - found.lower < 1e-4 * found.upper


@pytest.mark.parametrize(("scheme", "size"), SMALL)
def test_both_ends_of_one_step_have_certificates(scheme: OneStepScheme, size: int) -> None:
    """The checker accepts the upper and the lower end."""
    assert size
    for lower in (False, True):
        assert check(certify(step(scheme), delta=1e-4, lower=lower)).ok


@pytest.mark.slow
def test_both_ends_of_many_steps_have_certificates() -> None:
    """A hundred steps, by tables."""
    steps = self_compose(step(UserPoisson(sampling_rate=0.01, contributions=3), 2), 100)
    for lower in (False, True):
        assert check(certify(steps, delta=1e-6, lower=lower)).ok


@pytest.mark.parametrize("relation", [ZeroOut(), ReplaceOne()])
def test_no_dataset_attains_compositions_of_subsets_of_a_fixed_number(relation: Any) -> None:  # noqa: ANN401
    """Each order has a dataset of its own: one step is attained, and of two the pair is."""
    one = fixed(WithoutReplacement(sample_size=1, population_size=2), relation)

    assert one.derivation.attained is Attained.POINTS
    assert one.delta(epsilon=0.5).attained
    assert not self_compose(one, 2).delta(epsilon=0.5).attained


def test_one_draw_is_a_subset_of_one_of_a_fixed_number() -> None:
    """Not only under add-remove: the checker's number, so that its lower end is accepted."""
    draw = WithReplacement(sample_size=1, population_size=3)
    subset = WithoutReplacement(sample_size=1, population_size=3)
    for relation in (ZeroOut(), ReplaceOne()):
        ours, theirs = fixed(draw, relation), fixed(subset, relation)
        for epsilon in (0.0, 0.3):
            assert ours.delta(epsilon=epsilon).upper == theirs.delta(epsilon=epsilon).upper
        assert check(certify(ours, epsilon=0.3, lower=True)).ok


FIXED: list[tuple[OneStepScheme, int, Any]] = [
    (scheme, size, relation)
    for scheme, size in (
        (WithoutReplacement(sample_size=2, population_size=4), 4),
        (WithReplacement(sample_size=3, population_size=3), 3),
        (TruncatedPoisson(sampling_rate=0.5, largest=2, population_size=4), 4),
        (TruncatedPoisson(sampling_rate=0.25, largest=1, population_size=3), 3),
        (TruncatedPoisson(sampling_rate=0.25, largest=3, population_size=3), 3),
    )
    for relation in (ZeroOut(), ReplaceOne())
]


def fixed(scheme: OneStepScheme, relation: Any, sigma: float = 1) -> DominatingPair[Any]:  # noqa: ANN401
    """Noise on a sum over a sample of records whose number is public."""
    contribution: Any = L2Contribution(1, relation)
    return subsample_counted_sum(sigma=sigma, contribution=contribution, scheme=scheme)


@pytest.mark.parametrize(("scheme", "size", "relation"), FIXED, ids=str)
def test_bounds_every_small_dataset_of_one_size(
    scheme: OneStepScheme,
    size: int,
    relation: Any,  # noqa: ANN401
) -> None:
    """A record against a blank, or another record: both orders, none above, subsets attained."""
    found, zeroed = fixed(scheme, relation, 0.9), isinstance(relation, ZeroOut)
    worst = dict.fromkeys(itertools.product((True, False), (0.0, 0.4, 1.0)), 0.0)
    for record, other in ((1.0, 0.0), (-0.5, 0.0)) if zeroed else ((1.0, -1.0), (1.0, 0.3)):
        for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), size - 1):
            laws = sums(scheme, [record, *others]), sums(scheme, [other, *others])
            for removal, epsilon in worst:
                true = divergence(*(laws if removal else laws[::-1]), 0.9, epsilon)
                worst[removal, epsilon] = max(worst[removal, epsilon], true)
    for (removal, epsilon), true in worst.items():
        way = found.forward if removal else found.backward
        ends = way.factors[0].pair.profile(np.array([epsilon, -epsilon]))
        assert ends is not None
        assert true <= ends[1][0] + 1e-6
        if isinstance(scheme, WithoutReplacement):
            assert true >= ends[0][0] - 1e-6
        mirror = 1 - math.exp(-epsilon) + math.exp(-epsilon) * worst[not removal, epsilon]
        assert mirror <= ends[1][1] + 1e-6


@pytest.mark.parametrize(
    ("relation", "epsilon", "delta"),
    [
        (ZeroOut(), 0.1, 1.8244762e-4),
        (ZeroOut(), 1, 1.0725299e-5),
        (ZeroOut(), 2, 1.4650781e-6),
        (ReplaceOne(), 0.1, 2.6005741e-4),
        (ReplaceOne(), 1, 1.6986382e-5),
    ],
    ids=str,
)
def test_cut_samples_of_one_size_have_the_values_of_the_specification(
    relation: Any,  # noqa: ANN401
    epsilon: float,
    delta: float,
) -> None:
    """By another program; no larger than dp-accounting's numbers of the same event."""
    assert fixed(LOADER, relation).delta(epsilon=epsilon).upper == pytest.approx(delta, rel=3e-7)


@pytest.mark.parametrize(
    ("sigma", "epsilon", "delta"),
    [(1, 0.1, 0.05470517), (1, 1, 0.02116170), (4, 0.1, 0.002793586), (4, 1, 1.6000955e-5)],
)
def test_draws_of_one_size_have_the_values_of_the_specification(
    sigma: int, epsilon: float, delta: float
) -> None:
    """By another program, the same for a blank and another record."""
    for relation in (ZeroOut(), ReplaceOne()):
        found = fixed(DRAWS, relation, sigma).delta(epsilon=epsilon)
        assert found.upper == pytest.approx(delta, rel=3e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "size", "relation"), [*FIXED[:2], *FIXED[3:5]], ids=str)
def test_both_ends_of_steps_of_one_size_have_certificates(
    scheme: OneStepScheme,
    size: int,
    relation: Any,  # noqa: ANN401
) -> None:
    """Three steps, by tables; those of draws under zero-out are more work than is accepted."""
    assert size
    for lower in (False, True):
        assert check(certify(self_compose(fixed(scheme, relation), 3), delta=1e-4, lower=lower)).ok


@pytest.mark.parametrize(("scheme", "size", "relation"), FIXED, ids=str)
def test_both_ends_of_one_size_have_certificates(
    scheme: OneStepScheme,
    size: int,
    relation: Any,  # noqa: ANN401
) -> None:
    """The checker accepts both ends, and no smaller upper end."""
    assert size
    for lower in (False, True):
        assert check(certify(fixed(scheme, relation), delta=1e-4, lower=lower)).ok
    certificate = certify(fixed(scheme, relation), epsilon=1)
    delta = Fraction(str(certificate.claim["delta"]))
    false = certificate.to_json().replace(str(delta), str(delta * Fraction(99, 100)))
    assert not check(Certificate.from_json(false)).ok


BLANK = L2Contribution(1, ZeroOut())


def test_users_may_be_zeroed_out() -> None:
    """Every small dataset with a blank in the record's place is covered, and one attains the pair.

    Under replace-one it would not be: a record of the other sign is further away.
    """
    scheme = UserPoisson(sampling_rate=0.25, contributions=2)
    found = subsample_counted_sum(sigma=1, contribution=BLANK, scheme=scheme)
    worst = dict.fromkeys((True, False), 0.0)
    replaced = 0.0
    for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), 2):
        record, blank, other = (sums(scheme, [x, *others]) for x in (1.0, 0.0, -1.0))
        worst[True] = max(worst[True], divergence(record, blank, 1, 0.4))
        worst[False] = max(worst[False], divergence(blank, record, 1, 0.4))
        replaced = max(replaced, divergence(record, other, 1, 0.4))
    for removal, way in ((True, found.forward), (False, found.backward)):
        ends = way.factors[0].pair.profile(np.array([0.4]))
        assert ends is not None
        assert ends[0][0] - 1e-6 <= worst[removal] <= ends[1][0] + 1e-6
    assert replaced > max(worst.values()) + 0.01
    assert found.forward == step(scheme).forward
    assert check(certify(found, epsilon=0.4)).ok
    with pytest.raises(NotImplied, match="no guarantee under ReplaceOne"):
        subsample_counted_sum(sigma=1, contribution=L2Contribution(1, ReplaceOne()), scheme=scheme)


def test_refuses_sensitivities_and_subsets_of_all() -> None:
    """A sensitivity says nothing of a record that contribution matters."""
    with pytest.raises(ParameterError, match="contribution matters"):
        subsample_counted_sum(sigma=1, contribution=L2(1), scheme=DRAWS)  # type: ignore[arg-type]
    with pytest.raises(NotImplied, match="sample_size below population_size"):
        step(WithoutReplacement(sample_size=5, population_size=5))


def test_refuses_more_counts_than_it_lists() -> None:
    """A record that counts a thousand times, and samples of too many records."""
    often = WithReplacement(sample_size=10_000, population_size=5)
    huge = TruncatedPoisson(sampling_rate=0.01, largest=10, population_size=10**8)
    for scheme, words in ((often, "about 2e\\+03 times"), (huge, "up to 10000000 records")):
        with pytest.raises(NotCertified, match=words):
            step(scheme).delta(epsilon=1)
