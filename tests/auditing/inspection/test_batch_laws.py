"""p-values of the laws of schemes: exact by enumeration, never too small, and false alarms."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

from dpproof.auditing import inspect_loader
from dpproof.auditing.inspection import batch_laws as laws
from dpproof.auditing.inspection.batch_laws import BatchLog
from dpproof.auditing.inspection.loader import CANDIDATES, SHARES, rate_limits
from tests.auditing.inspection import loaders

Epochs = tuple[tuple[tuple[int, ...], ...], ...]
Law = Callable[[BatchLog], float]
NEW, KEPT, ALLOCATION, BINS, SUBSET, REPLACEMENT, COINS = CANDIDATES


def logged(epochs: Epochs, records: int) -> BatchLog:
    """A log of these batches."""
    return BatchLog(
        tuple(tuple(np.array(batch, np.int64) for batch in run) for run in epochs), records
    )


def cut(order: Iterable[int], sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Batches of these sizes; the rest is left out."""
    stream = iter(order)
    return tuple(tuple(itertools.islice(stream, size)) for size in sizes)


def again(epoch: Iterable[tuple[tuple[int, ...], ...]], epochs: int) -> list[Epochs]:
    """All sequences of epochs."""
    return list(itertools.product(epoch, repeat=epochs))


def orders(n: int, sizes: tuple[int, ...]) -> list[tuple[tuple[int, ...], ...]]:
    """Epochs of all orders of n records, equally likely."""
    return [cut(order, sizes) for order in itertools.permutations(range(n))]


def choices(n: int, batches: int) -> list[tuple[tuple[int, ...], ...]]:
    """Epochs of all choices of a batch by n records."""
    return [
        tuple(tuple(i for i in range(n) if bins[i] == t) for t in range(batches))
        for bins in itertools.product(range(batches), repeat=n)
    ]


def subsets(n: int, sizes: Iterable[int], batches: int) -> list[tuple[tuple[int, ...], ...]]:
    """Epochs of all subsets of these sizes."""
    each = [one for size in sizes for one in itertools.combinations(range(n), size)]
    return list(itertools.product(each, repeat=batches))


def draws(n: int, size: int, batches: int) -> list[tuple[tuple[int, ...], ...]]:
    """Epochs of all draws with replacement."""
    return list(itertools.product(itertools.product(range(n), repeat=size), repeat=batches))


def p_values(law: Law, outcomes: list[Epochs], records: int) -> np.ndarray:
    """The p-value of each outcome."""
    return np.array([law(logged(one, records)) for one in outcomes])


EXACT: dict[str, tuple[Law, list[Epochs], int, Callable[[Epochs], bool]]] = {
    "new partition": (
        laws.new_partition,
        again(orders(4, (2, 2)), 2),
        4,
        lambda run: sorted(map(sorted, run[0])) == sorted(map(sorted, run[1])),
    ),
    "once an epoch": (
        laws.once_an_epoch,
        again(subsets(4, [2], 2), 2),
        4,
        lambda run: all(len({*a, *b}) == 4 for a, b in run),
    ),
    "never": (
        laws.never,
        again(subsets(2, [1], 2), 2),
        2,
        lambda run: len({i for one in run for batch in one for i in batch}) < 2,
    ),
    "no repeats": (
        laws.no_repeats,
        again(draws(3, 2, 2), 1),
        3,
        lambda run: all(a != b for a, b in run[0]),
    ),
}


@pytest.mark.parametrize("name", EXACT)
def test_p_values_are_the_probability_of_their_event(name: str) -> None:
    """The event is counted among all outcomes; other outcomes have p-value 1."""
    law, outcomes, records, event = EXACT[name]
    values, holds = p_values(law, outcomes, records), np.array([event(one) for one in outcomes])
    largest = values[holds].max()

    assert (values[~holds] == 1).all()
    assert largest == pytest.approx(holds.mean() * laws.MARGIN, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "sizes"), [(6, (2, 2, 2)), (6, (3, 2, 1)), (6, (2, 2)), (5, (1,) * 5)]
)
def test_the_law_of_the_lead_is_exact(n: int, sizes: tuple[int, ...]) -> None:
    """Among all orders as many have no larger lead as the p-value says, for every lead."""
    logs = [logged((epoch,), n) for epoch in orders(n, sizes)]
    leads = Counter(log.lead for log in logs)
    for lead in leads:
        no_larger = sum(count for other, count in leads.items() if other <= lead)
        value = next(laws.file_order(log) for log in logs if log.lead == lead)
        assert value == pytest.approx(min(1.0, no_larger / len(logs) * laws.MARGIN), rel=1e-9)


@pytest.mark.parametrize(("n", "sizes"), [(6, (2, 2, 2)), (5, (3, 1)), (5, (2, 2, 1)), (1, (1,))])
def test_bets_on_pairs_are_fair(n: int, sizes: tuple[int, ...]) -> None:
    """The e-value of a uniform partition has mean 1, whatever the sizes and the pairs."""
    logs = [logged((epoch,), n) for epoch in orders(n, sizes)]
    for order in (np.arange(n), np.arange(n)[::-1]):
        bets = [math.exp(laws.log_bets(log, order, 0)) for log in logs]
        assert sum(bets) / len(bets) == pytest.approx(1)


def test_pairs_that_are_always_together_lose_the_bet_of_chance() -> None:
    """Forty records in the order of the file."""
    assert laws.file_neighbours(logged((cut(range(40), (10,) * 4),), 40)) < 1e-5


def test_laws_of_sizes_are_exact_or_above() -> None:
    """Against scipy: equal sizes of three Poisson samples, and bins of four records."""
    n, size = 9, 4
    equal = logged(((tuple(range(size)),) * 3,), n)
    sizes = stats.multivariate_hypergeom(m=[n, n], n=2 * size)  # the last of an epoch is no body
    assert laws.equal_samples(equal) == pytest.approx(sizes.pmf([size, size]) * laws.MARGIN)
    outcomes = again(choices(4, 3), 1)
    values = p_values(laws.equal_bins, outcomes, 4)
    assert values.min() >= (values == values.min()).mean()
    one = logged((((0, 1), (2,), (3,)),), 4)
    even = Fraction(math.comb(3, 1) * 12, 3**4)  # 2, 1, 1 in some order
    level = Fraction(
        sum(
            math.factorial(4) // (math.factorial(m) ** 2 * math.factorial(4 - 2 * m))
            for m in range(3)
        ),
        3**4,
    )
    assert laws.equal_bins(one) == pytest.approx(min(1.0, float(even + level) * laws.MARGIN))


OUTCOMES = [
    (NEW, again(orders(4, (2, 2)), 2), 4),
    (NEW, again(orders(4, (1, 1, 1)), 2), 4),
    (KEPT, again(orders(6, (2, 2, 2)), 1), 6),
    (ALLOCATION, again(choices(4, 2), 2), 4),
    (BINS, again(choices(5, 3), 1), 5),
    (SUBSET, again(subsets(4, [2], 2), 2), 4),
    (REPLACEMENT, again(draws(3, 2, 2), 1), 3),
    (REPLACEMENT, again(draws(2, 2, 2), 2), 2),
    (COINS, again(subsets(3, range(4), 2), 2), 3),
]


@pytest.mark.some(16)
@pytest.mark.parametrize(
    ("scheme", "outcomes", "records", "name"),
    [(one, outcomes, n, name) for one, outcomes, n in OUTCOMES for name in one.laws],
    ids=lambda item: item if isinstance(item, str) else "",
)
def test_no_p_value_is_too_small(
    scheme: object, outcomes: list[Epochs], records: int, name: str
) -> None:
    """Over all outcomes of a small loader: a p-value of u or less has at most probability u.

    Samples by coins are weighed by rates of 1/2 and 1/5.
    """
    law = next(one.laws[name] for one in CANDIDATES if one is scheme)
    values = p_values(law, outcomes, records)
    for rate in (0.5, 0.2) if scheme is COINS else (0.5,):
        odds = rate / (1 - rate)
        weights = np.array([odds ** sum(len(b) for run in one for b in run) for one in outcomes])
        if scheme is not COINS:
            weights = np.ones(len(outcomes))
        for u in np.unique(values):
            assert weights[values <= u].sum() / weights.sum() <= u


SCHEMES: list[tuple[object, Callable[..., loaders.Start]]] = [
    (NEW, loaders.shuffled),
    (NEW, loaders.drop_last),
    (KEPT, loaders.cached),
    (ALLOCATION, loaders.allocation),
    (BINS, loaders.balls_in_bins),
    (SUBSET, loaders.fixed_size),
    (REPLACEMENT, loaders.replacement),
    (COINS, loaders.poisson),
]


@pytest.mark.parametrize(
    ("scheme", "make"), SCHEMES, ids=lambda item: getattr(item, "__name__", "")
)
def test_a_loader_is_seldom_refuted_to_be_what_it_is(
    scheme: object, make: Callable[..., loaders.Start]
) -> None:
    """At a significance of 20 % at most 22 of 60 times: more have probability 0.1 %."""
    alarms, place = 0, CANDIDATES.index(scheme)
    for seed in range(60):
        start = make(np.random.default_rng(seed), 50, 6)
        report = inspect_loader(start, epochs=3, records=50, significance=0.2)
        alarms += bool(report.verdicts[place].refuted_by)

    assert alarms <= 22
    assert stats.binom.sf(22, 60, 0.2) < 0.001


def test_limits_of_a_rate_hold() -> None:
    """At most 35 of 2,000 loaders have their rate outside of 99 % limits: 20 are expected."""
    rng, outside = np.random.default_rng(4), 0
    for hits in rng.binomial(40 * 10, 0.1, 2_000):
        one = np.zeros(int(hits), np.int64)
        low, high = rate_limits(logged(((tuple(one.tolist()),) + ((),) * 9,), 40), 0.01)
        outside += not low <= 0.1 <= high

    assert outside <= 35
    assert stats.binom.sf(35, 2_000, 0.01) < 0.001


@pytest.mark.parametrize(("hits", "trials", "share"), [(3, 20, 0.4), (15, 20, 0.4), (0, 9, 0.3)])
def test_chernoffs_bound_is_above_both_tails(hits: int, trials: int, share: float) -> None:
    """Twice the smaller tail of a binomial variable is at most the bound."""
    tails = stats.binom.cdf(hits, trials, share), stats.binom.sf(hits - 1, trials, share)

    assert 2 * min(tails) <= laws.chernoff(hits, trials, share) <= 1


def test_shares_are_enough_for_the_longest_list_of_laws() -> None:
    """And one for the limits of the rate."""
    assert max(len(one.laws) for one in CANDIDATES) + 1 == SHARES


def test_laws_see_what_they_are_for() -> None:
    """Each has a loader whose p-value is below 1e-6, and none above 1."""
    rng = np.random.default_rng(2)
    broken: dict[str, tuple[Law, Callable[..., loaders.Start]]] = {
        "buffer": (laws.file_order, partial(loaders.buffer, room=100)),
        "shards": (laws.file_neighbours, loaders.shards),
        "lengths": (laws.first_companions, loaders.by_length),
        "users": (laws.file_neighbours_of_samples, loaders.users),
        "seed": (laws.new_samples, loaders.seeded),
        "again": (laws.new_partition, loaders.shuffled_batches),
        "rank": (laws.once_an_epoch, loaders.rank),
        "part": (
            laws.never,
            lambda *_: lambda: [rng.choice(399, 133, replace=False) for _ in range(9)],
        ),
        "weights": (laws.often, loaders.weighted),
        "cut": (laws.poisson_sizes, loaders.truncated),
        "fixed": (laws.equal_samples, loaders.fixed_size),
        "even": (laws.equal_bins, loaders.split),
        "coins": (laws.bin_sizes, lambda *_: lambda: [np.arange(300), np.arange(300, 400)]),
        "distinct": (laws.no_repeats, loaders.fixed_size),
    }
    for name, (law, make) in broken.items():
        log = BatchLog.of(make(rng, 400, 20), 8, records=400)
        assert law(log) < 1e-6, name


def test_pairs_in_samples_are_counted() -> None:
    """Two pairs, of which one is in each of two samples of two: 2 of 4, and 1/6 by chance."""
    value = laws.file_neighbours_of_samples(logged((((0, 1),), ((0, 1),)), 4))
    divergence = stats.entropy([1 / 2, 1 / 2], [1 / 6, 5 / 6])

    assert value == pytest.approx(2 * math.exp(-4 * divergence) * laws.MARGIN)
