"""Pairs as JSON: what is read, and what every kind refuses."""

from __future__ import annotations

from typing import Any

import pytest

from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.logic.statement import KINDS, LANGUAGE

GAUSSIAN: dict[str, Any] = {"kind": "gaussian", "mu_squared": "1/9"}
RATE = ("0", "1", "9/8", "-1/8")
NOT_POSITIVE = ("0", "-1/9", "0.5")
DOMAINS: dict[str, tuple[dict[str, Any], dict[str, tuple[Any, ...]]]] = {
    "gaussian": ({"mu_squared": "1/9"}, {"mu_squared": NOT_POSITIVE}),
    "laplace": ({"epsilon": "1/9"}, {"epsilon": NOT_POSITIVE}),
    "logistic": ({"epsilon": "1/9"}, {"epsilon": NOT_POSITIVE}),
    "randomized-response": (
        {"epsilon": "1/9", "categories": 2, "infinite": "0"},
        {"epsilon": NOT_POSITIVE, "categories": (1, 0, -2, "2"), "infinite": ("1", "-1/9", "2")},
    ),
    "finite": (
        {"p": ["1/3", "2/3"], "q": ["1", "0"]},
        {"p": (["1/3", "1/3"], ["1"], ["-1/3", "4/3"]), "q": (["1/2", "1/4"], [], ["2", "-1"])},
    ),
    "discrete-laplace": ({"scale": "2", "shift": 1}, {"scale": NOT_POSITIVE, "shift": (0, -1)}),
    "discrete-gaussian": (
        {"sigma_squared": "2", "shift": 1},
        {"sigma_squared": NOT_POSITIVE, "shift": (0, -1)},
    ),
    "subsampled-gaussian": (
        {"mu_squared": "1", "sampling_rate": "1/8", "removal": True},
        {"mu_squared": NOT_POSITIVE, "sampling_rate": RATE, "removal": (1, "true")},
    ),
    "opposite-gaussians": (
        {"mu_squared": "1", "sampling_rate": "1/8"},
        {"mu_squared": NOT_POSITIVE, "sampling_rate": RATE},
    ),
    "floored-gaussian": (
        {"mu_squared": "1", "floor": "0"},
        {"mu_squared": NOT_POSITIVE, "floor": ("-1/8", "4801/8")},
    ),
    "folded-gaussian": ({"mu_squared": "1"}, {"mu_squared": NOT_POSITIVE}),
    "largest-of-gaussians": (
        {"mu_squared": "1", "batches": 3, "replaced": True, "removal": False},
        {
            "mu_squared": NOT_POSITIVE,
            "batches": (0, -1, "3"),
            "replaced": (1, "true"),
            "removal": (0, "false"),
        },
    ),
    "shuffled-reports": (
        {"epsilon": "1", "categories": 3, "records": 2, "removal": True},
        {
            "epsilon": NOT_POSITIVE,
            "categories": (1, -1, "3"),
            "records": (0, "3"),
            "removal": (1, "true"),
        },
    ),
    "allocated-gaussian": (
        {"mu_squared": "1", "rounds": 2, "removal": True},
        {"mu_squared": NOT_POSITIVE, "rounds": (1, 0, "3"), "removal": (1, "true")},
    ),
    "counted-gaussians": (
        {
            "mu_squared": "1",
            "scheme": {"kind": "with-replacement", "sample_size": 2, "population_size": 9},
            "removal": True,
        },
        {
            "mu_squared": NOT_POSITIVE,
            "scheme": (
                {"kind": "poisson", "sampling_rate": "1/8"},
                {"kind": "user-poisson", "sampling_rate": "1", "contributions": 2},
                {"kind": "with-replacement", "sample_size": 2, "population_size": 1},
                {"kind": "without-replacement", "sample_size": 9, "population_size": 9},
                {"kind": "with-replacement", "sample_size": 2},
            ),
            "removal": (1, "true"),
        },
    ),
    "sampled": (
        {"base": [{"pair": GAUSSIAN, "count": 1}], "sampling_rate": "1/8", "direction": "removal"},
        {"base": ([GAUSSIAN],), "sampling_rate": RATE, "direction": ("both", 1)},
    ),
}


def refused(value: object) -> bool:
    """Whether a pair is refused by type."""
    try:
        LANGUAGE.pair(value)
    except RefusedError:
        return True
    return False


def test_every_kind_has_its_domain_here() -> None:
    """A kind without a row is not tested below."""
    assert set(DOMAINS) == set(KINDS)


@pytest.mark.parametrize("kind", DOMAINS)
def test_domains(kind: str) -> None:
    """The good one is read; any other value, any other field and any less is refused."""
    fields, bad = DOMAINS[kind]
    good = {"kind": kind, **fields}
    assert not refused(good)
    assert refused({**good, "other": "1"})
    for name, values in bad.items():
        assert refused({key: value for key, value in good.items() if key != name}), name
        for value in values:
            assert refused({**good, name: value}), (name, value)


def test_products_count_equal_pairs() -> None:
    """A pair is listed once, with a count from 1."""
    assert len(LANGUAGE.product([{"pair": GAUSSIAN, "count": 3}])) == 1
    wrong: list[list[object]] = [
        [{"pair": GAUSSIAN, "count": 1}, {"pair": GAUSSIAN, "count": 2}],
        [{"pair": GAUSSIAN, "count": 0}],
        [{"pair": {"kind": "normal"}, "count": 1}],
    ]
    for factors in wrong:
        with pytest.raises(RefusedError):
            LANGUAGE.product(factors)
