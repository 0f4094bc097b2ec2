"""The checker's sums for one of several rounds, beside integrals and the library."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import pytest
from flint import arb, ctx

from dpproof.accountant.subsampling.allocated import AllocatedGaussianPair as Theirs
from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.sampled.allocated import AllocatedGaussianPair
from dpproof.proofs.sums.contour import Line
from tests.accountant.subsampling.builders import shortfall_of_two

F = Fraction
SIDE = {"runs": [{"stride": 1, "count": 20}], "lines": []}


def line(c: str, step: str, nodes: int, tau: str = "0") -> Line:
    """A line."""
    return Line(F(c), F(step), nodes, F(tau))


@pytest.mark.parametrize("noise", ["2", "1"])
def test_two_rounds_are_a_double_integral(noise: str) -> None:
    """A line encloses the integral over two rounds, in both orders."""
    for removal in (True, False):
        pair = AllocatedGaussianPair(1 / F(noise) ** 2, 2, removal)
        bound = pair.enclosed_profile([line("8", "1", 1200)]).bound
        for epsilon in (0.0, 0.25):
            with mpmath.workdps(25):
                t, a = mpmath.exp(epsilon), 1 / mpmath.mpf(noise)
                value = (
                    1 - t + shortfall_of_two(t, a) if removal else t * shortfall_of_two(1 / t, a)
                )
            with ctx.workprec(128):
                found = bound(arb(epsilon), 0)
                exact = arb(mpmath.nstr(value, 18)) + arb(0, 1e-15)

                assert found.overlaps(exact)
                assert found.rad() < 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_any_line_bounds_from_above(seed: int) -> None:
    """Random lines, with and without a Gaussian, never say less than the library's lower end."""
    rng = random.Random(seed)  # noqa: S311  # not for secrets
    for _ in range(6):
        rounds, mu2 = rng.choice([2, 7, 100, 10**6]), F(rng.randint(1, 40), 10)
        removal, epsilon = rng.random() < 0.5, F(rng.randint(0, 30), 10)
        pair = AllocatedGaussianPair(mu2, rounds, removal)
        scale = math.exp(-float(epsilon) if removal else float(epsilon))
        along = Line(
            F(scale * rng.uniform(0.2, 30)),
            F(scale * rng.uniform(0.3, 20)),
            rng.randint(1, 60),
            F(rng.choice([0.0, 0.1, 1.0]) / scale),
        )
        with ctx.workprec(64):
            found = pair.bounds([along])(ball(epsilon), 0)
        known = Theirs(mu_squared=mu2, rounds=rounds, removal=removal).delta(float(epsilon))

        assert not found < known.lower * (1 - 1e-12)


def test_a_gaussian_raises_and_more_of_it_raises_more() -> None:
    """Sums with a Gaussian added to c are above those without, in order."""
    pair = AllocatedGaussianPair(F(1), 50, removal=True)
    values = [
        pair.bounds([line("8", "2", 300, tau)])(arb(1), 0).upper() for tau in ("0", "1/50", "1/20")
    ]

    assert values[0] < values[1] < values[2] < 2 * values[0]


def test_tables_enclose_the_pair() -> None:
    """M of tables above and below by lines, in both orders, at a real argument."""
    lines = [{"points": 1, "c": "8", "step": "3/2", "nodes": 200, "tau": "0"}]
    side = {**SIDE, "lines": lines}
    table = {"span": "1/16", "level": "0", "forward": side, "backward": side}
    for removal in (True, False):
        pair = AllocatedGaussianPair(F(1), 50, removal)
        with ctx.workprec(128):
            (above,) = pair.moments(table).along(F(1, 2), arb(0), 1)
            (below,) = pair.moments_below(table).along(F(1, 2), arb(0), 1)

            assert below.real < above.real < below.real * 1.01


def test_refuses_what_it_does_not_know() -> None:
    """No lines, bounds from below beside a Gaussian or beyond a period, and the profile."""
    pair = AllocatedGaussianPair(F(1), 50, removal=True)
    for wrong in (line("8", "2", 9, "1"), line("8", "20", 9)):
        with pytest.raises(RefusedError, match="bounds from below"):
            pair.enclosed_profile([wrong]).bound(arb(1), 0)
    with pytest.raises(RefusedError, match="no profile in closed form"):
        pair.bounds([])
    with pytest.raises(RefusedError, match="no profile in closed form"):
        pair.profile(arb(1))
