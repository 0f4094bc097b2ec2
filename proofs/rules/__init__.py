"""The table of all rules: those of the core, and extensions by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from dpproof.proofs.core.certificate import Json, Step
from dpproof.proofs.core.kernel import RESTRICT, System
from dpproof.proofs.core.rule import Rule
from dpproof.proofs.core.rules import CORE_RULES, stated
from dpproof.proofs.logic import statement
from dpproof.proofs.rules import (
    above_threshold,
    compose,
    convert,
    filters,
    finite_pair,
    gdp_zcdp,
    hockey_stick,
    lower_bound,
    matrix,
    mechanisms,
    objective_perturbation,
    select,
    select_threshold,
    shuffle,
)

EXTENSIONS: Final[Mapping[str, Mapping[str, Rule]]] = MappingProxyType(
    {
        "contour": {
            "hockey-stick/contour": hockey_stick.contour,
            "hockey-stick/bounded": hockey_stick.bounded,
            "hockey-stick/chernoff": hockey_stick.chernoff,
        },
        "renyi": {
            "state/zcdp": stated(statement.ZCDP),
            "state/rdp": stated(statement.RDP),
            "compose/zcdp": compose.zcdp,
            "compose/rdp": compose.rdp,
            "convert/pure-zcdp": convert.pure_to_zcdp,
            "convert/gdp-zcdp": convert.gdp_to_zcdp,
            "convert/pair-rdp": convert.pair_to_rdp,
            "convert/zcdp-rdp": convert.zcdp_to_rdp,
            "convert/rdp-rdp": convert.rdp_to_rdp,
            "convert/renyi-approx": convert.renyi_to_approx,
            "convert/renyi-profile": convert.renyi_to_profile,
            "convert/renyi-true-positive-rate": convert.renyi_true_positive_rate,
        },
        "discrete": {
            "mechanism/randomized-response": mechanisms.randomized_response,
            "dominate/pure-dp": compose.pure_dp,
            "dominate/approx-dp": compose.approx_dp,
            "mechanism/discrete-laplace": mechanisms.discrete_laplace,
            "mechanism/discrete-gaussian": mechanisms.discrete_gaussian,
            "mechanism/discrete-gaussian-zcdp": mechanisms.discrete_gaussian_zcdp,
            "mechanism/histogram": mechanisms.histogram,
            "mechanism/local-report": mechanisms.local_report,
            "mechanism/finite": mechanisms.finite,
            "mechanism/partition-selection": mechanisms.partition_selection,
            "mechanism/thresholded-counts": mechanisms.thresholded_counts,
            "mechanism/skellam": mechanisms.skellam,
            "hockey-stick/lattice": hockey_stick.lattice,
        },
        "curves": {
            "state/bounded-range": stated(statement.BoundedRange),
            "state/metric-dp": stated(statement.MetricDP),
            "state/privacy-profile": stated(statement.Profile),
            "state/trade-off": stated(statement.TradeOff),
            "convert/point": convert.point,
            "mechanism/correlated-gaussian": mechanisms.correlated_gaussian,
            "mechanism/laplace-joint": mechanisms.laplace_joint,
            "mechanism/smooth-sensitivity": mechanisms.smooth_sensitivity,
            "mechanism/propose-test-release": mechanisms.propose_test_release,
            "mechanism/exponential": mechanisms.exponential,
            "mechanism/logistic-objective": objective_perturbation.logistic,
            "mechanism/report-noisy-max": mechanisms.report_noisy_max,
            "mechanism/permute-and-flip": mechanisms.permute_and_flip,
            "mechanism/above-threshold": above_threshold.above_threshold,
            "mechanism/gaussian-above-threshold": above_threshold.gaussian_above_threshold,
            "mechanism/logistic-objective-pure": objective_perturbation.logistic_pure,
            "mechanism/gaussian-separator": objective_perturbation.gaussian_separator,
            "mechanism/separator-perturbation": objective_perturbation.separator,
            "mechanism/sphere-lift": objective_perturbation.sphere_lift,
            "mechanism/averaged-perturbation": objective_perturbation.averaged_perturbation,
            "dominate/bounded-range": compose.bounded_range,
            "dominate/metric-dp": compose.metric_dp,
            "compose/ranges": finite_pair.compose_ranges,
            "dominate/privacy-profile": compose.privacy_profile,
            "dominate/trade-off": compose.trade_off,
            "dominate/pair": finite_pair.above,
            "mixture": finite_pair.mixture,
            "convert/pure-bounded-range": convert.pure_to_bounded_range,
            "convert/bounded-range-pure": convert.bounded_range_to_pure,
            "convert/metric-pure": convert.metric_to_pure,
            "convert/bounded-range-zcdp": convert.bounded_range_to_zcdp,
            "convert/bounded-range-rdp": convert.bounded_range_to_rdp,
            "convert/pair-profile": convert.pair_to_profile,
            "convert/profile-trade-off": convert.profile_to_trade_off,
        },
        "samples": {
            "subsample/without-replacement": shuffle.without_replacement,
            "subsample/gaussian-sum": shuffle.gaussian_sum,
            "subsample/counted-sum": shuffle.counted_sum,
            "subsample/positions": above_threshold.repeated_positions,
            "allocate/shuffled": shuffle.shuffled,
            "allocate/random": shuffle.random,
            "allocate/several": shuffle.random,
            "allocate/pure-dp": shuffle.allocated,
            "shuffle/randomized-response": shuffle.randomized_response,
            "shuffle/pure-dp": shuffle.pure,
            "convert/pair-unsampled": gdp_zcdp.forget_samples,
            "hockey-stick/sampled": hockey_stick.sampled,
        },
        "matrix": {
            "mechanism/matrix": matrix.matrix,
            "allocate/cyclic-poisson": matrix.cyclic_poisson,
        },
        "selection": {
            "select/pure": select.pure,
            "select/rdp": select.renyi,
            "select/profile": select.profile,
            "select/pair": select.pair,
            "select/above-pair": select_threshold.pair,
        },
        "adaptive": {
            "filter/zcdp": filters.zcdp,
            "filter/gdp": filters.gdp,
            "filter/renyi": filters.renyi,
            "filter/approx-dp": filters.approx_dp,
            "filter/several": filters.several,
        },
        "groups": {
            "map-records": compose.map_records,
            "choice": compose.choice,
            "compose/concurrent": compose.concurrent,
            "parallel": compose.parallel,
            "parallel/position": compose.parallel_positions,
            RESTRICT: convert.relation,
            "group/pure-dp": gdp_zcdp.pure_dp,
            "group/approx-dp": gdp_zcdp.approx_dp,
            "group/bounded-range": gdp_zcdp.bounded_range,
            "group/metric-dp": gdp_zcdp.metric_dp,
            "group/gdp": gdp_zcdp.gdp,
            "group/zcdp": gdp_zcdp.zcdp,
            "group/rdp": gdp_zcdp.rdp,
            "group/pair": gdp_zcdp.pair,
            "group/trade-off": gdp_zcdp.trade_off,
        },
        "numbers": {
            "compose/gdp": compose.compose_gdp,
            "convert/pure-approx": convert.pure_to_approx,
            "convert/approx-pure": convert.approx_to_pure,
            "convert/pair-pure": convert.pair_to_pure,
            "convert/pure-gdp": convert.pure_to_gdp,
            "convert/pair-gdp": gdp_zcdp.pair_to_gdp,
            "convert/profile-gdp": gdp_zcdp.profile_to_gdp,
            "convert/pair-zcdp": gdp_zcdp.pair_to_zcdp,
        },
        "lower": {
            "at-least/closed": lower_bound.closed,
            "at-least/contour": lower_bound.contour,
            "at-least/smoothed": lower_bound.smoothed,
            "at-least/lattice": lower_bound.lattice,
            "at-least/cells": lower_bound.cells,
            "at-least/allocated": lower_bound.allocated,
            "at-least/shuffled-reports": shuffle.at_least,
            "at-least/renyi": lower_bound.renyi,
            "at-least/true-positive-rate": lower_bound.true_positive_rate,
        },
    }
)
"""Every rule beside the core's, under the extension that it belongs to."""

RULES: Final[Mapping[str, Rule]] = MappingProxyType(
    {
        **CORE_RULES,
        **{name: rule for rules in EXTENSIONS.values() for name, rule in rules.items()},
        "subsample/poisson": shuffle.poisson,
        "hockey-stick/closed": hockey_stick.closed,
    }
)
"""Every rule; two of the core's have more cases here."""

PAIRS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "randomized-response": "discrete",
        "finite": "discrete",
        "logistic": "curves",
        "discrete-laplace": "discrete",
        "discrete-gaussian": "discrete",
        "sampled": "samples",
        "opposite-gaussians": "samples",
        "floored-gaussian": "curves",
        "folded-gaussian": "curves",
        "largest-of-gaussians": "lower",
        "shuffled-reports": "lower",
    }
)
"""The extension of every kind of pair that the core does not know."""

_EXTENSION_OF: Final = {name: one for one, rules in EXTENSIONS.items() for name in rules}


def extensions(step: Step) -> set[str]:
    """Return the extensions that a step needs: its rule's, and those of the pairs it names.

    A fact at several points needs ``curves``, and the closed profile of several pairs that are not
    all Gaussian ``sums``.
    """
    factors = list(_factors(step.conclusion))
    extensions_used = {_EXTENSION_OF[step.rule]} if step.rule in _EXTENSION_OF else set()
    extensions_used |= {PAIRS[kind] for kind, _ in factors if kind in PAIRS}
    if step.conclusion.get("notion") == "hockey-sticks":
        extensions_used.add("curves")
    several = sum(count for _, count in factors) > 1
    if step.rule == "hockey-stick/closed" and several and {k for k, _ in factors} != {"gaussian"}:
        extensions_used.add("sums")
    return extensions_used


SYSTEM: Final = System(RULES, statement.LANGUAGE, extensions)
"""The whole checker."""


def _factors(value: Json) -> Iterator[tuple[str, int]]:
    """Yield the kind of every pair inside a conclusion, with its count."""
    if isinstance(value, Mapping):
        pair, count = value.get("pair"), value.get("count")
        if isinstance(pair, Mapping) and isinstance(count, int):
            yield str(pair.get("kind")), count
        for one in value.values():
            yield from _factors(one)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for one in value:
            yield from _factors(one)
