"""``python -m tests.hunt.sabotage``: break the library on purpose, and see the hunt notice.

Each break runs in a process of its own; what it leaves in caches ends with it.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from typing import Any

from tests.hunt import _one_core  # noqa: F401  # first
from tests.hunt.case import Outcome, run
from tests.hunt.hunter import drawn

Change = Callable[[Any], Any]
MOST_CASES = 3000


def _replace(home: str, name: str, change: Change) -> None:
    """Give a name in a module, or in a class of one, another value."""
    module, _, owner = home.partition(":")
    place = getattr(import_module(module), owner) if owner else import_module(module)
    setattr(place, name, change(getattr(place, name, None)))


def _smaller_upper(profile: Any) -> Any:  # noqa: ANN401  # any function
    """A profile whose upper end is a thousandth too small."""

    def broken(*arguments: Any) -> Any:  # noqa: ANN401
        lower, upper = profile(*arguments)
        return lower * 0.999, upper * 0.999

    return broken


def _profiles(factor: float) -> Change:
    """A profile both ends of which are multiplied."""
    return lambda function: lambda *arguments: tuple(end * factor for end in function(*arguments))


def _scaled(factor: float) -> Change:
    """A function whose value is multiplied."""
    return lambda function: lambda *arguments: function(*arguments) * factor


def _shorter(sensitivity: Any) -> Any:  # noqa: ANN401
    """A squared sensitivity that is two thousandths too small."""

    def broken(*arguments: Any) -> Any:  # noqa: ANN401
        found = sensitivity(*arguments)
        return replace(found, value=found.value * 998 / 1000)

    return broken


def _forgetful(found: Any) -> Any:  # noqa: ANN401
    """A finite sum whose error leaves out the terms that cancelled."""

    def broken(product: Any) -> Any:  # noqa: ANN401
        exact = found(product)
        return exact and replace(exact, sizes=abs(exact.weights))

    return broken


BREAKS: dict[str, tuple[str, str, str, Change]] = {
    "a part that is repeated counts once": (
        "products",
        "dpproof.accountant.pairs.product:Product",
        "times",
        lambda _: lambda product, _: product,
    ),
    "delta of Laplace noise is a thousandth too small": (
        "formulas",
        "dpproof.accountant.pairs.laplace:LaplacePair",
        "profile",
        _smaller_upper,
    ),
    "delta of a removal from a sample is a thousandth too small": (
        "samples",
        "dpproof.accountant.subsampling.subsampled",
        "removal_profile",
        _smaller_upper,
    ),
    "delta of an addition to a sample is a thousandth too small": (
        "sampled-formulas",
        "dpproof.accountant.subsampling.subsampled",
        "addition_profile",
        _smaller_upper,
    ),
    "the slope of a Poisson law is 1e-10 too small": (
        "run-laws",
        "dpproof.accountant.run_counts.law:PoissonRuns",
        "derivative",
        _scaled(1 - 1e-10),
    ),
    "the cost of all binomial runs is 1e-3 too small": (
        "renyi-selections",
        "dpproof.accountant.run_counts.law:BinomialRuns",
        "log_moment_up",
        _scaled(0.999),
    ),
    "the worst order of a selection costs a tenth less": (
        "selections",
        "dpproof.accountant.selection.worst_order:Lines",
        "delta",
        _scaled(0.9),
    ),
    "the best of disjoint parts counts": (
        "data",
        "dpproof.accountant.theorems.parallel",
        "max",
        lambda _: min,
    ),
    "a group of pure DP is one record": (
        "converted-groups",
        "dpproof.accountant.theorems.group",
        "_THEOREMS",
        lambda table: [(table[0][0], lambda guarantee, **_: guarantee), *table[1:]],
    ),
    "delta of a Renyi curve is a fifth too small": (
        "conversions",
        "dpproof.accountant.guarantees.rdp",
        "log_delta_terms",
        lambda function: lambda *arguments: function(*arguments) - 0.25,
    ),
    "terms of a finite sum cancel with their errors": (
        "mixed",
        "dpproof.accountant.engine.profile",
        "exponential_sum",
        _forgetful,
    ),
    "only the first neighbours of a finite mechanism count": (
        "mechanisms",
        "dpproof.mechanisms.noise.finite_mechanism",
        "smallest_pair_above",
        lambda function: lambda laws: function([next(iter(laws))]),
    ),
    "a budget of (epsilon, delta)-DP is worth four times its rho": (
        "filters",
        "dpproof.accountant.adaptive.privacy_filter",
        "_largest_rho",
        _scaled(4),
    ),
    "an odometer says seven tenths of what its mixture says": (
        "odometers",
        "dpproof.accountant.adaptive.privacy_filter",
        "mixture_bound",
        _scaled(0.7),
    ),
    "delta of a mixture is a thousandth too small": (
        "data",
        "dpproof.accountant.subsampling.mixture:MixturePair",
        "profile",
        _smaller_upper,
    ),
    "the first and the last record of a partition are not seen": (
        "mechanisms",
        "dpproof.mechanisms.selection.partition_selection",
        "pairwise",
        lambda function: lambda kept: list(function(kept))[1:-1],
    ),
    "one number less is on the highest step of a staircase": (
        "mechanisms",
        "dpproof.mechanisms.noise.laplace:Staircase",
        "_central",
        lambda function: lambda noise: function(noise) - 1,
    ),
    "Skellam noise has a hundredth more variance": (
        "mechanisms",
        "dpproof.mechanisms.noise.gaussian",
        "skellam_pair",
        lambda function: (
            lambda variance, shift: function(variance=variance * 101 / 100, shift=shift)
        ),
    ),
    "truncated noise moves in one direction": (
        "mechanisms",
        "dpproof.mechanisms.noise.laplace",
        "smallest_pair_above",
        lambda function: lambda laws: function(list(laws)[:1]),
    ),
    "canonical noise falls by e^epsilon to two bits": (
        "mechanisms",
        "dpproof.mechanisms.noise.laplace",
        "_CANONICAL_BITS",
        lambda _: 2,
    ),
    "a record moves a learner's sums by half of what it does": (
        "learners",
        "dpproof.mechanisms.learning.bounded_updates:NoisySums",
        "contribution",
        lambda _: property(
            lambda sums: import_module("dpproof.accountant").L2Contribution(sums.norm / 2)
        ),
    ),
    "the checker compares nothing": (
        "certificates",
        "dpproof.proofs.core.rules",
        "require_at_most",
        lambda _: lambda *_: None,
    ),
    "the checker compares no lower end": (
        "lower-certificates",
        "dpproof.proofs.rules.lower_bound",
        "require_at_most",
        lambda _: lambda *_: None,
    ),
    "delta of a sample that is repeated is a thousandth too small": (
        "repeated-samples",
        "dpproof.accountant.subsampling.subsampled:SubsampledPair",
        "profile",
        _smaller_upper,
    ),
    "delta of two samples is a thousandth too small": (
        "data-twice",
        "dpproof.accountant.subsampling.released_few",
        "product_profile",
        _scaled(0.999),
    ),
    "delta of the first run above a threshold is that of a larger epsilon": (
        "thresholds",
        "dpproof.accountant.selection.thresholded_pair:ThresholdedPair",
        "delta",
        lambda function: lambda pair, epsilon: function(pair, epsilon + 0.1),
    ),
    "the checker compares no delta of a selection's curve": (
        "selected-certificates",
        "dpproof.proofs.rules.convert",
        "require_at_most",
        lambda _: lambda *_: None,
    ),
    "delta of a sample that displaces records is a thousandth too small": (
        "one-step",
        "dpproof.accountant.subsampling.counted_gaussians:CountedGaussiansPair",
        "profile",
        _smaller_upper,
    ),
    "delta of a random allocation is half of what it is": (
        "allocation",
        "dpproof.accountant.subsampling.allocated:AllocatedGaussianPair",
        "profile",
        _profiles(0.5),
    ),
    "delta of shuffled batches is a third too small": (
        "shuffled",
        "dpproof.accountant.subsampling.shuffled:ShuffledGaussianPair",
        "profile",
        _profiles(0.67),
    ),
    "delta of shuffled reports is a tenth too small": (
        "shuffle-model",
        "dpproof.accountant.subsampling.shuffled_reports:ShuffledReportsPair",
        "profile",
        _profiles(0.9),
    ),
    "the sensitivity of a factor is a thousandth too small": (
        "matrix",
        "dpproof.mechanisms.correlated.factors",
        "squared_sensitivity",
        _shorter,
    ),
    "the largest column of a factor is a thousandth too short": (
        "parts-in-turn",
        "dpproof.mechanisms.correlated.factors",
        "squared_sensitivity",
        _shorter,
    ),
    "every lower end is said to be attained": (
        "two-ways",
        "dpproof.accountant.guarantees.derivation:Attained",
        "of_premises",
        lambda _: lambda level, *_, **__: type(level).WHOLE,
    ),
    "epsilon of a Renyi curve is a tenth too small": (
        "two-ways",
        "dpproof.accountant.guarantees.rdp",
        "epsilon_terms",
        _scaled(0.9),
    ),
    "an epsilon of pure DP that is large divides by zero": (
        "extremes",
        "dpproof.accountant.pairs.laplace:RandomizedResponsePair",
        "max_loss",
        lambda _: property(lambda pair: 1.0 / (pair.epsilon < 50)),
    ),
}


def _hunt(name: str) -> None:
    """Break one thing and exit with 0 if a case of its family is violated."""
    family, home, attribute, change = BREAKS[name]
    _replace(home, attribute, change)
    start = time.process_time()
    for number in range(MOST_CASES):
        case, _ = drawn(f"{family}:{number}")
        if run(case).outcome is Outcome.VIOLATED:
            spent = time.process_time() - start
            print(f"{family}: {name}: case {number + 1}, {spent:.1f} s", flush=True)  # noqa: T201
            sys.exit(0)
    sys.exit(1)


def caught(name: str, seconds: float = 120.0) -> bool:
    """Whether the hunt notices a break in time."""
    process = multiprocessing.get_context("spawn").Process(target=_hunt, args=(name,))
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
    return process.exitcode == 0


if __name__ == "__main__":
    missed = [name for name in BREAKS if not caught(name)]
    sys.exit(f"not noticed: {missed}" if missed else 0)
