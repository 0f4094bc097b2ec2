"""Poisson sampling of Gaussians."""

from __future__ import annotations

import pytest

from tests.proofs.support import Case, Object, factor, gaussian, pairs

OTHER = "not the one that follows"
RATE = {"sampling_rate": "1/10"}


def sampled(removal: bool, mu_squared: str = "1", rate: str = "1/10") -> Object:  # noqa: FBT001
    """A subsampled Gaussian factor."""
    fields = {"mu_squared": mu_squared, "sampling_rate": rate, "removal": removal}
    return factor("subsampled-gaussian", **fields)  # type: ignore[arg-type]


BOTH = pairs([sampled(True)], [sampled(False)])
BASE = pairs([gaussian("1")])

CASES = [
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
    Case(
        "subsample/poisson",
        BOTH,
        [pairs([factor("laplace", epsilon="1")])],
        RATE,
        "base of Gaussian",
    ),
    Case("subsample/poisson", BOTH, [pairs([])], RATE, "base of Gaussian"),
    Case(
        "subsample/poisson",
        pairs([sampled(False)], [sampled(True)]),
        [BASE],
        RATE,
        OTHER,
    ),
    Case("subsample/poisson", pairs([sampled(True)]), [BASE], RATE, OTHER),
    Case(
        "subsample/poisson",
        {**BOTH, "relation": "replace-one"},
        [{**BASE, "relation": "replace-one"}],
        RATE,
        "replace-one",
    ),
    Case("subsample/poisson", {**BOTH, "steps": 2}, [{**BASE, "steps": 2}], RATE, "one record"),
    Case("subsample/poisson", {**BOTH, "steps": 1}, [{**BASE, "steps": 2}], RATE, "distance"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_poisson(case: Case) -> None:
    """Both directions are as the theorem says, and nothing else is accepted."""
    case.holds()
