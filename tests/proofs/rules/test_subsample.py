"""Poisson samples and samples of a fixed size."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.proofs.rules.builders import sampled
from tests.proofs.support import Case, Object, factor, gaussian, pairs

OTHER = "not the one that follows"
RATE = {"sampling_rate": "1/10"}


BOTH = pairs([sampled(True)], [sampled(False)])
BASE = pairs([gaussian("1")])

LAPLACE = factor("laplace", epsilon="1")
FINITE = factor("finite", p=["1/2", "1/2"], q=["1/4", "3/4"])
OTHER_WAY = factor("finite", p=["1/4", "3/4"], q=["1/2", "1/2"])
BASES = [LAPLACE, gaussian("1", 3)]


def drawn(direction: str, base: Sequence[Object] = BASES, rate: str = "1/10") -> Object:
    """A factor of what is released on one sample."""
    return factor("sampled", base=base, sampling_rate=rate, direction=direction)


SAMPLED = pairs([drawn("removal")], [drawn("addition")])
REPLACED = {**pairs([drawn("replacement")]), "relation": "replace-one"}
WHOLE = {**pairs(BASES), "relation": "replace-one"}
SIZES = {"sample_size": 3, "population_size": 30}
FIXED = "subsample/without-replacement"

OPPOSITE = factor("opposite-gaussians", mu_squared="1/4", sampling_rate="1/10")
SUM = {**pairs([OPPOSITE]), "relation": "replace-one"}
NOISE = {"sigma": "6", "contribution": "3", **RATE}
SUMMED = "subsample/gaussian-sum"

COUNTED = "subsample/counted-sum"
USER: Object = {"kind": "user-poisson", "sampling_rate": "1/10", "contributions": 3}
DRAWS: Object = {"kind": "with-replacement", "sample_size": 3, "population_size": 10}
SUBSET: Object = {"kind": "without-replacement", "sample_size": 1, "population_size": 10}
CUT: Object = {
    "kind": "truncated-poisson",
    "sampling_rate": "1/10",
    "largest": 2,
    "population_size": 10,
}


def mixed(scheme: Object, mu_squared: str = "1/4") -> Object:
    """Gaussian mixtures against a point, and swapped."""
    ways = (
        factor("counted-gaussians", mu_squared=mu_squared, scheme=scheme, removal=removal)
        for removal in (True, False)
    )
    return pairs(*([one] for one in ways))


def fixed(scheme: Object, relation: str) -> Object:
    """Mixtures on both sides, where the number of records is public."""
    found = mixed(scheme)
    for way in ("forward", "backward"):
        pair = found[way][0]["pair"]
        pair["relation"] = relation
        if relation == "replace-one":
            pair["removal"] = True
    return {**found, "relation": relation}


def noisy(scheme: Object) -> Object:
    """A witness."""
    return {"sigma": "6", "contribution": "3", "scheme": scheme}


def plain(mu_squared: str) -> Object:
    """The pair of a Poisson sample."""
    return pairs([sampled(True, mu_squared)], [sampled(False, mu_squared)])


COUNTED_CASES = [
    Case(COUNTED, mixed(USER), [], noisy(USER)),
    Case(COUNTED, mixed(DRAWS), [], noisy(DRAWS)),
    Case(COUNTED, mixed(CUT), [], noisy(CUT)),
    Case(COUNTED, plain("1"), [], noisy(SUBSET)),
    Case(COUNTED, plain("1"), [], noisy({**DRAWS, "sample_size": 1})),
    Case(COUNTED, plain("1/4"), [], noisy({**USER, "contributions": 1})),
    Case(COUNTED, plain("1/4"), [], noisy({**CUT, "largest": 11})),
    Case(COUNTED, plain("1/4"), [], noisy(SUBSET), OTHER),
    Case(COUNTED, mixed(USER), [], noisy({**USER, "contributions": 2}), OTHER),
    Case(COUNTED, mixed(USER, "1/5"), [], noisy(USER), OTHER),
    Case(COUNTED, mixed({**CUT, "population_size": 11}), [], noisy(CUT), OTHER),
    Case(COUNTED, mixed({**DRAWS, "population_size": 11}), [], noisy(DRAWS), OTHER),
    Case(COUNTED, {**mixed(USER), "relation": "zero-out"}, [], noisy(USER)),
    *[Case(COUNTED, fixed(one, "zero-out"), [], noisy(one)) for one in (DRAWS, CUT, SUBSET)],
    *[Case(COUNTED, fixed(one, "replace-one"), [], noisy(one)) for one in (DRAWS, CUT)],
    Case(COUNTED, {**mixed(DRAWS), "relation": "zero-out"}, [], noisy(DRAWS), OTHER),
    Case(COUNTED, {**fixed(CUT, "replace-one"), "relation": "zero-out"}, [], noisy(CUT), OTHER),
    Case(COUNTED, fixed(CUT, "replace-label"), [], noisy(CUT), "is known under"),
    Case(COUNTED, fixed(USER, "zero-out"), [], noisy(USER), "is known under"),
    Case(COUNTED, {**BASE, "relation": "replace-one"}, [], noisy(USER), "of fixed sizes"),
    Case(COUNTED, {**BASE, "relation": "replace-label"}, [], noisy(DRAWS), "of fixed sizes"),
    Case(COUNTED, {**BASE, "steps": 2}, [], noisy(USER), "one step apart"),
    Case(COUNTED, mixed(USER), [BASE], noisy(USER), "no premise"),
    Case(COUNTED, plain("1"), [], noisy({**SUBSET, "sample_size": 10}), "whole number 11"),
]

CASES = [
    *COUNTED_CASES,
    Case(SUMMED, SUM, [], NOISE),
    Case(SUMMED, pairs([OPPOSITE]), [], NOISE, "about replace-one"),
    Case(SUMMED, {**pairs([OPPOSITE]), "relation": "zero-out"}, [], NOISE, "about replace-one"),
    Case(SUMMED, {**SUM, "steps": 2}, [], NOISE, "one step apart"),
    Case(SUMMED, SUM, [{**BASE, "relation": "replace-one"}], NOISE, "no premise"),
    Case(SUMMED, SUM, [], {**NOISE, "sigma": "5"}, OTHER),
    Case(SUMMED, SUM, [], {**NOISE, "contribution": "6"}, OTHER),
    Case(SUMMED, SUM, [], {**NOISE, "sampling_rate": "1/9"}, OTHER),
    Case(SUMMED, SUM, [], {**NOISE, "sampling_rate": "1"}, "below 1"),
    Case(SUMMED, SUM, [], {**NOISE, "sigma": "0"}, "above 0"),
    Case(
        SUMMED, {**pairs([{**OPPOSITE, "count": 2}]), "relation": "replace-one"}, [], NOISE, OTHER
    ),
    Case(SUMMED, {**pairs([sampled(True, "1/4")]), "relation": "replace-one"}, [], NOISE, OTHER),
    Case(FIXED, REPLACED, [WHOLE], SIZES),
    Case(FIXED, REPLACED, [WHOLE], {"sample_size": 1, "population_size": 10}),
    Case(FIXED, REPLACED, [WHOLE], {**SIZES, "sample_size": 2}, OTHER),
    Case(FIXED, REPLACED, [WHOLE], {**SIZES, "population_size": 31}, OTHER),
    Case(FIXED, REPLACED, [WHOLE], {"sample_size": 30, "population_size": 30}, "whole number"),
    Case(FIXED, REPLACED, [WHOLE], {"sample_size": 0, "population_size": 10}, "whole number"),
    Case(FIXED, {**pairs([drawn("removal")]), "relation": "replace-one"}, [WHOLE], SIZES, OTHER),
    Case(FIXED, pairs([drawn("replacement")]), [pairs(BASES)], SIZES, "under replace-one"),
    Case(FIXED, {**REPLACED, "steps": 2}, [{**WHOLE, "steps": 2}], SIZES, "one record"),
    Case(
        FIXED,
        {**pairs([]), "relation": "replace-one"},
        [{**pairs([]), "relation": "replace-one"}],
        SIZES,
        "at least one pair",
    ),
    Case("subsample/poisson", BOTH, [BASE], RATE),
    Case("subsample/poisson", BOTH, [pairs([gaussian("1/4", 2), gaussian("1/2")])], RATE),
    Case(
        "subsample/poisson",
        {**BOTH, "relation": "zero-out"},
        [{**BASE, "relation": "zero-out"}],
        RATE,
    ),
    Case("subsample/poisson", BOTH, [BASE], {"sampling_rate": "1/9"}, OTHER),
    Case("subsample/poisson", BOTH, [BASE], {"sampling_rate": "1"}, "below 1"),
    Case("subsample/poisson", BOTH, [BASE], {"sampling_rate": "0"}, "above 0"),
    Case("subsample/poisson", BOTH, [BASE], {}, "has no sampling_rate"),
    Case("subsample/poisson", BOTH, [pairs([gaussian("2")])], RATE, OTHER),
    Case("subsample/poisson", BOTH, [pairs([LAPLACE])], RATE, OTHER),
    Case("subsample/poisson", BOTH, [pairs([])], RATE, "at least one pair"),
    Case("subsample/poisson", SAMPLED, [pairs(BASES)], RATE),
    Case("subsample/poisson", SAMPLED, [pairs([LAPLACE])], RATE, OTHER),
    Case("subsample/poisson", SAMPLED, [pairs(BASES)], {"sampling_rate": "1/9"}, OTHER),
    Case(
        "subsample/poisson",
        pairs([drawn("addition")], [drawn("removal")]),
        [pairs(BASES)],
        RATE,
        OTHER,
    ),
    Case("subsample/poisson", pairs([drawn("removal")]), [pairs(BASES)], RATE, OTHER),
    Case("subsample/poisson", pairs([drawn("replacement")]), [pairs(BASES)], RATE, OTHER),
    Case("subsample/poisson", pairs([drawn("away")]), [pairs(BASES)], RATE, "no direction"),
    Case(
        "subsample/poisson",
        pairs([{**drawn("removal"), "count": 2}], [drawn("addition")]),
        [pairs(BASES)],
        RATE,
        OTHER,
    ),
    Case(
        "subsample/poisson",
        pairs([drawn("removal", [FINITE])], [drawn("addition", [OTHER_WAY])]),
        [pairs([FINITE], [OTHER_WAY])],
        RATE,
    ),
    Case(
        "subsample/poisson",
        pairs([drawn("removal", [FINITE])], [drawn("addition", [FINITE])]),
        [pairs([FINITE], [OTHER_WAY])],
        RATE,
        OTHER,
    ),
    Case("subsample/poisson", pairs([sampled(False)], [sampled(True)]), [BASE], RATE, OTHER),
    Case("subsample/poisson", pairs([sampled(True)]), [BASE], RATE, OTHER),
    Case(
        "subsample/poisson",
        {**BASE, "relation": "replace-one"},
        [{**BASE, "relation": "replace-one"}],
        RATE,
        "Poisson sampling is not this",
    ),
    Case("subsample/poisson", {**BASE, "steps": 2}, [{**BASE, "steps": 2}], RATE, "one record"),
    Case("subsample/poisson", {**BOTH, "steps": 1}, [{**BASE, "steps": 2}], RATE, "distance"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_samples(case: Case) -> None:
    """Both directions are as the theorem says, and nothing else is accepted."""
    case.holds()
