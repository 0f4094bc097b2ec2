"""The checker's Gaussian mixtures against a point, beside the library's."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx

from dpproof.accountant.sampling import TruncatedPoisson, UserPoisson, WithReplacement
from dpproof.accountant.subsampling.counted_gaussians import CountedGaussiansPair as Theirs
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.sampled.counted_gaussians import CountedGaussiansPair, read_scheme
from dpproof.proofs.sums.contour import Line

F = Fraction
USER = {"kind": "user-poisson", "sampling_rate": "1/100", "contributions": 4}
DRAWS = {"kind": "with-replacement", "sample_size": 40, "population_size": 20}
CUT = {"kind": "truncated-poisson", "sampling_rate": "1/5", "largest": 3, "population_size": 22}
BOTH = [
    (USER, UserPoisson(sampling_rate=F(1, 100), contributions=4)),
    (DRAWS, WithReplacement(sample_size=40, population_size=20)),
    (CUT, TruncatedPoisson(sampling_rate=F(1, 5), largest=3, population_size=22)),
    (
        {"kind": "with-replacement", "sample_size": 100, "population_size": 1000},
        WithReplacement(sample_size=100, population_size=1000),
    ),
    *(
        (
            {**CUT, "sampling_rate": "9/10", "largest": largest},
            TruncatedPoisson(sampling_rate=F(9, 10), largest=largest, population_size=22),
        )
        for largest in (15, 21, 22)
    ),
]
SIDE = {"runs": [{"stride": 1, "count": 200}], "lines": []}
TABLE = {"span": "1/64", "level": "0", "forward": SIDE, "backward": SIDE}


@pytest.mark.parametrize(("said", "scheme"), BOTH)
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("mu", [F(1, 10), F(2)])
def test_profiles_agree(said: Any, scheme: Any, mu: Fraction, *, removal: bool) -> None:  # noqa: ANN401
    """The enclosures of both overlap, and the checker's is narrow."""
    pair = CountedGaussiansPair(mu**2, read_scheme(said), removal)
    other = Theirs(mu_squared=mu**2, scheme=scheme, removal=removal)
    for epsilon in (0.0, 0.05, 0.7, 3.0):
        low, high = (float(one[0]) for one in other.profile(np.array([epsilon])))
        with ctx.workprec(128):
            found = pair.profile(arb(epsilon))
            assert not found < low * (1 - 1e-15)
            assert not found > high * (1 + 1e-15)
            assert found.rad() < 1e-30


@pytest.mark.parametrize("removal", [True, False])
def test_rare_counts_are_enclosed_at_few_digits(*, removal: bool) -> None:
    """With 64 bits the place of the threshold is not seen, and the enclosure wide, but true."""
    scheme = read_scheme({**USER, "sampling_rate": "1/1" + 20 * "0"})
    pair = CountedGaussiansPair(F(1), scheme, removal)
    epsilon = arb("1e-21")
    with ctx.workprec(64):
        wide = pair.profile(epsilon)
    with ctx.workprec(256):
        narrow = pair.profile(epsilon)
        assert wide.overlaps(narrow)
        assert narrow > 0


def test_tables_enclose_the_pair() -> None:
    """M of the tables above and below, at a real argument."""
    pair = CountedGaussiansPair(F(1, 4), read_scheme(USER), removal=False)
    with ctx.workprec(128):
        (above,) = pair.moments(TABLE).along(F(2), arb(0), 1)
        (below,) = pair.moments_below(TABLE).along(F(2), arb(0), 1)
        assert below.real < above.real < below.real * 1.01
        assert (pair.moment(TABLE, F(2)) - above.real).contains(0)


def test_refuses_what_it_does_not_know() -> None:
    """Lines, moments beyond a table, and the largest loss of a removal."""
    pair = CountedGaussiansPair(F(1), read_scheme(USER), removal=True)
    with pytest.raises(RefusedError, match="takes no lines"):
        pair.bounds([Line(F(1), F(1), 1, F(0))])
    with pytest.raises(RefusedError, match="counts as infinite"):
        pair.moment(TABLE, F(1))
    with pytest.raises(RefusedError, match="have no bound"):
        pair.largest()
    assert pair.swapped().largest().overlaps(-4 * (arb(99) / 100).log())


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "poisson"}, "no scheme is called"),
        ({"sampling_rate": "1"}, "below 1"),
        ({"contributions": 0}, "whole number"),
        ({"more": 1}, "unknown fields"),
    ],
)
def test_refuses_other_schemes(changes: dict[str, object], why: str) -> None:
    """Every field of a scheme is read, and no other."""
    with pytest.raises(RefusedError, match=why):
        read_scheme({**USER, **changes})


def test_refuses_too_many_counts() -> None:
    """A record that counts a thousand times."""
    scheme = read_scheme({"kind": "with-replacement", "sample_size": 10**4, "population_size": 5})
    with pytest.raises(RefusedError, match="more than 400"):
        CountedGaussiansPair(F(1), scheme, removal=True).profile(arb(1))
