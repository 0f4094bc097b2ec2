"""Planners are inverse to what they plan by: what is planned suffices, one less does not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant import ReplaceOne, TruncatedNegativeBinomial
from dpproof.accountant.arithmetic.crossing import least_count
from dpproof.accountant.calibration import plan_selection
from dpproof.mechanisms import (
    ExponentialHalfspaces,
    MarginDescent,
    NoisyCount,
    RandomDirections,
    finite_class_risk,
    halfspace_risk,
    margin_risk,
    relative_margin_risk,
)

CHANCES = st.floats(1e-9, 0.5)
QUICK = settings(max_examples=25, deadline=None)


def _counted(share: float, records: int) -> NoisyCount:
    return NoisyCount(value=share * records, sigma=5, records=records, relation=ReplaceOne())


COVER = RandomDirections(size=100, dimension=3, seed=1)
DESCENT = MarginDescent(margin=0.5, norm=1, steps=400, mu=1, relation=ReplaceOne())
NORMS = {"weight_norm": 3, "norm": 1, "margin": 0.5}
BOUNDS: dict[str, Callable[[float], Callable[[int], float]]] = {
    "finite class": lambda s: lambda n: finite_class_risk(_counted(s, n), candidates=50).risk,
    "halfspaces": lambda s: lambda n: halfspace_risk(_counted(s, n), dimension=4).risk,
    "ramps": lambda s: lambda n: margin_risk(_counted(s, n), **NORMS).risk,
    "margins": lambda s: lambda n: relative_margin_risk(_counted(s, n), **NORMS).risk,
    "descent": lambda _: lambda n: DESCENT.excess(records=n, width=4) / n,
    "cover": lambda s: (
        lambda n: ExponentialHalfspaces(
            cover=COVER, epsilon=0.1 + s, records=n, relation=ReplaceOne()
        ).excess_rate(failure=0.05)
    ),
}


@pytest.mark.parametrize("name", BOUNDS)
@settings(max_examples=8, deadline=None)
@given(share=st.floats(0, 0.2), above=st.floats(0.1, 0.4))
def test_records(name: str, share: float, above: float) -> None:
    """The fewest records for which a risk bound, or an excess a record, is as small as wanted."""
    bound = BOUNDS[name](share)
    found = least_count(lambda n: bound(n) <= share + above, 10**12)

    assert found is not None
    assert bound(found) <= share + above
    assert found == 1 or bound(found - 1) > share + above


@QUICK
@given(candidates=st.integers(2, 1000), miss=CHANCES)
def test_the_number_of_runs(candidates: int, miss: float) -> None:
    """Geometric runs miss a given candidate with probability g (K - 1) / (1 + g (K - 1))."""
    laws, _ = plan_selection._laws(candidates, 1 - miss)
    geometric = [law for law in laws if isinstance(law, TruncatedNegativeBinomial) and law.eta == 1]

    assert all(law.probability_drawn(candidates=candidates) >= 1 - miss for law in laws)
    for law in geometric:
        odds = float(law.gamma) * (candidates - 1)
        assert odds / (1 + odds) == pytest.approx(miss, rel=1e-6)
