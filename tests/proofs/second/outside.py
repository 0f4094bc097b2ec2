"""Certificates of rules outside the core, made by hand from the document, right and wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tests.proofs.second.cases import (
    Json,
    approx,
    fact,
    finite,
    gauss,
    gdp,
    laplace,
    pairs,
    rare,
    response,
    said,
    step,
    text,
    times,
)

Try = tuple[str, str, bool]
"""A name, a certificate, and whether the document has it accepted."""

Row = tuple[str, list[Json], Json, Json, Json]
"""A rule, what its premises state, a right and a wrong conclusion, and the witness."""


def tries() -> Iterator[Try]:
    """Return every try, the right one and then the wrong one."""
    for place, (rule, premises, good, bad, witness) in enumerate((*_FOLLOWING, *_MADE)):
        stated = [step("state/" + one["notion"], one) for one in premises]
        for conclusion, right in ((good, True), (bad, False)):
            made = {**step(rule, conclusion, *range(len(stated))), "witness": witness}
            name = f"outside: {rule} {place}, {'right' if right else 'wrong'}"
            yield name, text([*stated, made]), right


def _pure(epsilon: str, **fields: Any) -> Json:  # noqa: ANN401  # as `said`
    return said("pure-dp", epsilon=epsilon, **fields)


def _zcdp(rho: str, **fields: Any) -> Json:  # noqa: ANN401
    return said("zcdp", rho=rho, **fields)


def _range(epsilon: str, **fields: Any) -> Json:  # noqa: ANN401
    return said("bounded-range", epsilon=epsilon, **fields)


def _metric(epsilon: str, **fields: Any) -> Json:  # noqa: ANN401
    return said("metric-dp", epsilon=epsilon, **fields)


def _rdp(*points: tuple[str, str], **fields: Any) -> Json:  # noqa: ANN401
    return said("rdp", points=[list(one) for one in points], **fields)


def _profile(*points: tuple[str, str], **fields: Any) -> Json:  # noqa: ANN401
    return said("privacy-profile", points=[list(one) for one in points], **fields)


_ONE: Final[Json] = {"relation": "replace-one"}
_BLANK: Final[Json] = {"relation": "zero-out"}
_LABEL: Final[Json] = {"relation": "replace-label"}

_RESTATED: Final[tuple[Row, ...]] = (
    ("convert/pure-approx", [_pure("1")], approx("1", "0"), approx("1", "1/2"), {}),
    ("convert/approx-pure", [approx("1", "0")], _pure("1"), _pure("2"), {}),
    ("convert/approx-pure", [approx("1", "0")], _pure("1"), _pure("1/2"), {}),
    ("convert/bounded-range-pure", [_range("1")], _pure("1"), _pure("1/2"), {}),
    ("convert/metric-pure", [_metric("1")], _pure("1"), _pure("1/2"), {}),
    ("convert/pure-bounded-range", [_pure("1")], _range("2"), _range("1"), {}),
    ("convert/pure-zcdp", [_pure("1")], _zcdp("463/1000"), _zcdp("231/500"), {}),
    ("convert/bounded-range-zcdp", [_range("1")], _zcdp("1/8"), _zcdp("31/250"), {}),
    ("convert/gdp-zcdp", [gdp("1")], _zcdp("1/2"), _zcdp("1"), {}),
    ("convert/pure-gdp", [_pure("1")], gdp("38/25"), gdp("3/2"), {}),
    ("convert/zcdp-rdp", [_zcdp("1/2")], _rdp(("2", "1"), ("3", "2")), _rdp(("2", "999/1000")), {}),
    ("convert/rdp-rdp", [_rdp(("2", "1"), ("4", "3"))], _rdp(("3", "5/2")), _rdp(("3", "2")), {}),
    ("convert/rdp-rdp", [_rdp(("2", "1"))], _rdp(("3/2", "1")), _rdp(("3", "9")), {}),
    ("convert/bounded-range-rdp", [_range("1")], _rdp(("2", "1/4")), _rdp(("2", "1/5")), {}),
    ("convert/point", [_pure("1")], approx("1", "0"), approx("1/2", "0"), {}),
    ("convert/point", [_range("1")], approx("2", "1/2"), approx("1/2", "1/2"), {}),
    ("convert/point", [approx("1", "1/4")], approx("2", "1/2"), approx("2", "1/8"), {}),
    (
        "convert/point",
        [_profile(("1", "1/4"), ("2", "1/8"))],
        approx("3/2", "1/4"),
        approx("3/2", "1/5"),
        {},
    ),
    (
        "convert/renyi-approx",
        [_zcdp("1/2")],
        approx("4", "1/50"),
        approx("4", "1/10000"),
        {"order": "4"},
    ),
    (
        "convert/renyi-profile",
        [_zcdp("1/2")],
        _profile(("2", "1/2"), ("4", "1/50")),
        _profile(("2", "1/2"), ("4", "1/10000")),
        {"orders": ["2", "4"]},
    ),
    ("restrict/relation", [gdp("1", **_ONE)], gdp("1", **_LABEL), gdp("1/2", **_LABEL), {}),
    ("restrict/relation", [gdp("1", **_ONE)], gdp("1", **_LABEL), gdp("1", **_BLANK), {}),
    ("convert/pair-pure", [pairs([laplace("1", 3)])], _pure("3"), _pure("29/10"), {}),
    ("convert/pair-pure", [pairs([response("2")])], _pure("2"), _pure("1"), {}),
    (
        "convert/pair-unsampled",
        [pairs([times(1, "sampled", base=[laplace()], sampling_rate="1/2", direction="removal")])],
        pairs([laplace()]),
        pairs([laplace("1/2")]),
        {},
    ),
    (
        "convert/pair-gdp",
        [pairs([gauss("1"), laplace("1")])],
        gdp("63/25"),
        gdp("5/2"),
        {"parts": ["1", "38/25"], "epsilons": []},
    ),
    (
        "dominate/trade-off",
        [said("trade-off", points=[["0", "3/4"], ["3/4", "0"]])],
        pairs([finite("1/4 3/4 0", "0 3/4 1/4")]),
        pairs([finite("1/5 4/5 0", "0 4/5 1/5")]),
        {},
    ),
    (
        "dominate/bounded-range",
        [_range("1")],
        pairs([times(1, "logistic", epsilon="1")]),
        pairs([]),
        {},
    ),
    ("dominate/metric-dp", [_metric("1")], pairs([laplace()]), pairs([response()]), {}),
    (
        "dominate/privacy-profile",
        [_profile(("0", "1/2"))],
        pairs([finite("1/2 1/2 0", "0 1/2 1/2")]),
        pairs([finite("1/4 3/4 0", "0 3/4 1/4")]),
        {},
    ),
)
_GROUPED: Final[tuple[Row, ...]] = (
    ("group/pure-dp", [_pure("1")], _pure("3", steps=3), _pure("2", steps=3), {"size": 3}),
    ("group/pure-dp", [_pure("1", steps=2)], _pure("3", steps=6), _pure("3", steps=3), {"size": 3}),
    ("group/bounded-range", [_range("1")], _range("2", steps=2), _range("1", steps=2), {"size": 2}),
    ("group/metric-dp", [_metric("1")], _metric("2", steps=2), _metric("1", steps=2), {"size": 2}),
    ("group/gdp", [gdp("1")], gdp("9", steps=3), gdp("3", steps=3), {"size": 3}),
    ("group/zcdp", [_zcdp("1")], _zcdp("9", steps=3), _zcdp("3", steps=3), {"size": 3}),
    (
        "group/approx-dp",
        [approx("0", "1/8")],
        approx("0", "1/4", steps=2),
        approx("0", "1/5", steps=2),
        {"size": 2},
    ),
    (
        "group/approx-dp",
        [approx("1", "1/100")],
        approx("2", "19/500", steps=2),
        approx("2", "37/1000", steps=2),
        {"size": 2},
    ),
    (
        "group/pair",
        [pairs([gauss("1"), gauss("2")])],
        pairs([gauss("4"), gauss("8")], steps=2),
        pairs([gauss("2"), gauss("4")], steps=2),
        {"size": 2},
    ),
    (
        "group/pair",
        [pairs([laplace()])],
        pairs([laplace("3")], steps=3),
        pairs([laplace("2")], steps=3),
        {"size": 3},
    ),
    ("parallel", [gdp("1"), gdp("2")], gdp("2"), gdp("1"), {}),
    ("parallel", [_rdp(("2", "1"))] * 2, _rdp(("2", "1")), _rdp(("2", "1/2")), {}),
    (
        "parallel",
        [gdp("1", **_BLANK), gdp("2", **_BLANK)],
        gdp("2", **_BLANK),
        gdp("3", **_BLANK),
        {},
    ),
    ("parallel", [pairs([gauss()])] * 2, pairs([gauss()]), pairs([gauss("2")]), {}),
    (
        "parallel/position",
        [gdp("1", **_ONE), gdp("2", **_ONE)],
        gdp("2", **_ONE),
        gdp("1", **_ONE),
        {},
    ),
    ("choice", [_pure("1"), _pure("2")], _pure("2"), _pure("1"), {}),
    ("choice", [pairs([gauss()])] * 2, pairs([gauss()]), pairs([gauss("2")]), {}),
    ("compose/zcdp", [_zcdp("1"), _zcdp("2")], _zcdp("3"), _zcdp("2"), {}),
    ("compose/rdp", [_rdp(("2", "1")), _rdp(("2", "2"))], _rdp(("2", "3")), _rdp(("2", "2")), {}),
    ("compose/rdp", [_rdp(("2", "1"))], _rdp(("2", "3")), _rdp(("2", "2")), {"count": 3}),
)
_FILTERED: Final[tuple[Row, ...]] = (
    ("filter/zcdp", [_zcdp("1"), _zcdp("2")], _zcdp("3"), _zcdp("2"), {}),
    ("filter/zcdp", [], _zcdp("3"), _zcdp("3", steps=2), {}),
    ("filter/gdp", [gdp("1")], gdp("2"), gdp("1/2"), {}),
    ("filter/renyi", [_rdp(("2", "1"))], _rdp(("2", "1")), _rdp(("2", "1/2")), {}),
    (
        "filter/approx-dp",
        [approx("0", "1/8")],
        approx("0", "1/8"),
        approx("0", "1/9"),
        {"rho": "0", "failures": "1/8", "order": "2"},
    ),
    (
        "filter/several",
        [],
        approx("1", "1/8"),
        approx("1", "1/9"),
        {"filters": [{"way": "basic", "epsilon": "1", "delta": "1/8"}]},
    ),
)
_MANY: Final[Json] = {"kind": "poisson", "rate": "2"}
_GEOMETRIC: Final[Json] = {"kind": "truncated-negative-binomial", "eta": "1", "gamma": "1/10"}
_FIRST: Final[Json] = {"rounds": 4, "chosen": 1, "epochs": 1}


def _sampled(rate: str, direction: str) -> list[Json]:
    fields = {"base": [laplace()], "sampling_rate": rate, "direction": direction}
    return [times(1, "sampled", **fields)]


def _allocated(mu_squared: str) -> Json:
    fields: Json = {"mu_squared": mu_squared, "rounds": 4}
    return pairs(
        *([times(1, "allocated-gaussian", **fields, removal=one)] for one in (True, False))
    )


_SELECTED: Final[tuple[Row, ...]] = (
    ("select/pure", [_pure("1")], _pure("3"), _pure("3/2"), {"runs": _MANY}),
    ("select/pure", [_pure("1")], _pure("3"), _pure("1"), {"runs": _GEOMETRIC}),
    (
        "subsample/without-replacement",
        [pairs([laplace()], **_ONE)],
        pairs(_sampled("1/10", "replacement"), **_ONE),
        pairs(_sampled("1/11", "replacement"), **_ONE),
        {"sample_size": 10, "population_size": 100},
    ),
    (
        "subsample/poisson",
        [pairs([laplace()])],
        pairs(_sampled("1/10", "removal"), _sampled("1/10", "addition")),
        pairs(_sampled("1/10", "addition"), _sampled("1/10", "removal")),
        {"sampling_rate": "1/10"},
    ),
    ("allocate/random", [pairs([gauss()])], _allocated("1"), _allocated("2"), _FIRST),
)


def _local(u: str, w: str, rest: str) -> Json:
    return pairs([finite(f"{u} {w} {rest}", f"{w} {u} {rest}")], **_ONE)


def _counted(**fields: str) -> Json:
    made: Json = {"mu_squared": "1", "scheme": _TWICE, **fields}
    return pairs(*([times(1, "counted-gaussians", **made, removal=one)] for one in (True, False)))


_TWICE: Final[Json] = {"kind": "user-poisson", "sampling_rate": "1/10", "contributions": 2}
_LOGISTIC: Final[Json] = times(1, "logistic", epsilon="1")
_OPPOSITE: Final[Json] = times(1, "opposite-gaussians", mu_squared="1", sampling_rate="1/10")

_NOISES: Final[tuple[tuple[str, Json, Json, Json], ...]] = (
    (
        "mechanism/laplace-joint",
        pairs([laplace("1", 2), laplace("1/2")]),
        pairs([laplace("1", 3)]),
        {"scale": "1", "sensitivity": "5/2", "largest": "1"},
    ),
    (
        "mechanism/laplace-joint",
        pairs([laplace("1", 2)]),
        pairs([laplace("2")]),
        {"scale": "1", "sensitivity": "2", "largest": "1"},
    ),
    (
        "mechanism/correlated-gaussian",
        gdp("5"),
        gdp("4"),
        {
            "factor": [["1", "0"], ["1", "1"]],
            "sigmas": ["1", "1"],
            "differences": [["1", "3"]],
            "radius": "0",
        },
    ),
    (
        "mechanism/discrete-laplace",
        pairs([times(1, "discrete-laplace", scale="2", shift=3)]),
        pairs([times(1, "discrete-laplace", scale="2", shift=2)]),
        {"scale": "2", "shift": 3},
    ),
    (
        "mechanism/discrete-gaussian",
        pairs([times(1, "discrete-gaussian", sigma_squared="4", shift=3)]),
        pairs([times(1, "discrete-gaussian", sigma_squared="2", shift=3)]),
        {"sigma": "2", "units": 3, "norm": "L1"},
    ),
    (
        "mechanism/discrete-gaussian",
        pairs([times(3, "discrete-gaussian", sigma_squared="4", shift=1)]),
        pairs([times(1, "discrete-gaussian", sigma_squared="4", shift=3)]),
        {"sigma": "2", "units": 3, "norm": "L2"},
    ),
    ("mechanism/discrete-gaussian-zcdp", _zcdp("3/8"), _zcdp("9/8"), {"sigma": "2", "units": 3}),
    (
        "mechanism/histogram",
        pairs([times(2, "discrete-laplace", scale="2", shift=1)]),
        pairs([times(1, "discrete-laplace", scale="2", shift=1)]),
        {"noise": "laplace", "scale": "2", "cells": 2, "largest": 1},
    ),
    (
        "mechanism/local-report",
        _local("3/8", "1/8", "1/2"),
        _local("1/4", "1/8", "5/8"),
        {"kind": "bits", "categories": 3, "keep": "1/2", "flip": "1/4"},
    ),
    (
        "mechanism/local-report",
        _local("3/8", "1/8", "1/2"),
        _local("3/8", "1/4", "3/8"),
        {"kind": "hash", "categories": 9, "keep": "3/4", "cells": 2},
    ),
    (
        "mechanism/local-report",
        _local("1/2", "1/6", "1/3"),
        _local("1/2", "1/4", "1/4"),
        {"kind": "subset", "categories": 4, "keep": "3/4", "size": 2},
    ),
    (
        "mechanism/finite",
        pairs([finite("3/4 1/4", "1/4 3/4")], **_ONE),
        pairs([finite("1/2 1/2", "1/4 3/4")], **_ONE),
        {"table": [["3/4", "1/4"], ["1/4", "3/4"]], "neighbours": [[0, 1], [1, 0]]},
    ),
    ("mechanism/smooth-sensitivity", _pure("3/2"), _pure("1"), {"beta": "1/2", "scale": "1"}),
    (
        "mechanism/propose-test-release",
        pairs([laplace("2"), laplace("1/2"), finite("1/8 7/8 0", "0 7/8 1/8")]),
        pairs([laplace("2"), finite("1/8 7/8 0", "0 7/8 1/8")]),
        {
            "noise": "laplace",
            "scale": "1/2",
            "sensitivity": "1",
            "epsilon": "1/2",
            "delta": "1/8",
            "margin": "2",
        },
    ),
    (
        "mechanism/exponential",
        _range("2"),
        _range("1"),
        {"factor": "1", "sensitivity": "1", "monotone": False},
    ),
    (
        "mechanism/exponential",
        _range("1"),
        _range("1/2"),
        {"factor": "1", "sensitivity": "1", "monotone": True},
    ),
    (
        "mechanism/permute-and-flip",
        _metric("4"),
        _metric("2"),
        {"scale": "1/2", "sensitivity": "1", "monotone": False},
    ),
    (
        "mechanism/report-noisy-max",
        _metric("4"),
        _metric("2"),
        {"noise": "laplace", "scale": "1/2", "sensitivity": "1", "monotone": False},
    ),
    (
        "mechanism/logistic-objective",
        gdp("1/4"),
        gdp("1/5"),
        {"norm": "1", "sigma": "2", "regulariser": "8"},
    ),
    (
        "mechanism/logistic-objective",
        gdp("1", **_ONE),
        gdp("1/4", **_ONE),
        {"norm": "1", "sigma": "2", "regulariser": "8"},
    ),
    (
        "mechanism/logistic-objective-pure",
        _pure("1/2"),
        _pure("1/4"),
        {"norm": "1", "scale": "2", "regulariser": "2"},
    ),
    (
        "mechanism/gaussian-separator",
        pairs([times(3, "folded-gaussian", mu_squared="1/4")]),
        pairs([times(3, "folded-gaussian", mu_squared="1/2")]),
        {"places": 3, "shift": 1, "sigma": "2"},
    ),
    ("mechanism/sphere-lift", _pure("3/2"), _pure("7/5"), {"shift": 1, "length": 2, "scale": "1"}),
    (
        "mechanism/separator-perturbation",
        _pure("6"),
        _pure("3"),
        {"noise": "laplace", "places": 3, "shift": 2, "scale": "1"},
    ),
    (
        "mechanism/gaussian-above-threshold",
        gdp("1/5"),
        gdp("1/6"),
        {
            "threshold_sigma": "1",
            "query_sigma": "2",
            "queries": 1,
            "cutoff": 1,
            "sensitivity": "1",
            "monotone": False,
            "rising": False,
        },
    ),
    (
        "subsample/gaussian-sum",
        pairs([times(1, "opposite-gaussians", mu_squared="1/4", sampling_rate="1/10")], **_ONE),
        pairs([times(1, "opposite-gaussians", mu_squared="1", sampling_rate="1/10")], **_ONE),
        {"contribution": "1", "sigma": "2", "sampling_rate": "1/10"},
    ),
    (
        "subsample/counted-sum",
        pairs([rare("1/4", "1/10")], [rare("1/4", "1/10", removal=False)]),
        pairs([rare("1", "1/10")], [rare("1", "1/10", removal=False)]),
        {
            "contribution": "1",
            "sigma": "2",
            "scheme": {"kind": "user-poisson", "sampling_rate": "1/10", "contributions": 1},
        },
    ),
    (
        "allocate/shuffled",
        pairs([gauss("3")], **_ONE),
        pairs([gauss("3/4")], **_ONE),
        {"contribution": "1", "sigma": "2", "batches": 5, "epochs": 3},
    ),
    (
        "allocate/shuffled",
        pairs([gauss("3/4")], **_BLANK),
        pairs([gauss("1/2")], **_BLANK),
        {"contribution": "1", "sigma": "2", "batches": 5, "epochs": 3},
    ),
    (
        "mechanism/matrix",
        gdp("3/4"),
        gdp("7/10"),
        {
            "factor": "tree",
            "rounds": 4,
            "bands": 4,
            "listed": [],
            "separation": 4,
            "participations": 1,
            "fixed": True,
            "method": "tree",
            "duals": [],
            "sensitivity": "1",
            "sigma": "2",
        },
    ),
    (
        "subsample/counted-sum",
        _counted(),
        _counted(relation="add-remove"),
        {"contribution": "1", "sigma": "1", "scheme": _TWICE},
    ),
    *(
        (
            "hockey-stick/closed",
            fact(product, (epsilon, above)),
            fact(product, (epsilon, below)),
            {},
        )
        for product, epsilon, above, below in (
            ([_LOGISTIC], "0", "49/200", "6/25"),
            ([times(1, "discrete-laplace", scale="2", shift=3)], "1/2", "2/5", "39/100"),
            ([times(1, "discrete-gaussian", sigma_squared="4", shift=3)], "1/2", "43/100", "21/50"),
            ([laplace(), times(1, "logistic", epsilon="1/2")], "1/2", "23/100", "229/1000"),
            ([_OPPOSITE], "1/10", "17/500", "1/30"),
            ([times(1, "floored-gaussian", mu_squared="1", floor="1/2")], "1/4", "41/100", "2/5"),
            ([times(1, "folded-gaussian", mu_squared="1")], "1", "51/200", "1/4"),
        )
    ),
)
_FOLLOWING: Final[tuple[Row, ...]] = (*_RESTATED, *_GROUPED, *_FILTERED, *_SELECTED)
_MADE: Final[tuple[Row, ...]] = tuple(
    (rule, [], good, bad, witness) for rule, good, bad, witness in _NOISES
)
