"""The hat functions of Lemma (tent) against integrals, and the lemma on finite pairs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import mpmath
import pytest
from flint import arb, ctx
from hypothesis import given, settings, strategies as st

from dpproof.proofs.balls.run_counts import Tent

F = Fraction
TENTS = [Tent(F(1, 2), F(1, 3)), Tent(F(1, 10), F(3, 5)), Tent(F(1), F(4)), Tent(F(1, 50), F(1, 5))]
PHI = NormalDist().cdf


def _expected(tent: Tent, value: Any, *ends: float) -> Any:  # noqa: ANN401  # mpmath's numbers
    """E of a function of X between some ends of log X, by quadrature."""
    tau = mpmath.mpf(float(tent.tau))

    def term(x: Any) -> Any:  # noqa: ANN401
        n = x / tau + tau / 2
        return value(mpmath.exp(x)) * mpmath.npdf(n) / tau

    return sum(mpmath.quad(term, mpmath.linspace(a, b, 9)) for a, b in pairwise(ends))


@pytest.mark.parametrize("tent", TENTS, ids=str)
def test_hats(tent: Tent) -> None:
    """Each is its integral, to 15 digits."""
    w = float(tent.width)
    u, v = math.exp(-w), math.exp(w)
    with mpmath.workdps(25), ctx.workprec(128):
        left, middle, right = tent.hats()
        wanted = [
            _expected(tent, lambda x: (1 - x) / (1 - u), -w, 0.0),
            _expected(tent, lambda x: (x - u) / (1 - u), -w, 0.0)
            + _expected(tent, lambda x: (v - x) / (v - 1), 0.0, w),
            _expected(tent, lambda x: (x - 1) / (v - 1), 0.0, w),
        ]
        for found, value in zip((left, middle, right), wanted, strict=True):
            assert abs(float(found.mid()) - float(value)) < 1e-15


@pytest.mark.parametrize("tent", TENTS, ids=str)
@pytest.mark.parametrize("c", [F(1, 4), F(1), F(5)])
def test_outside(tent: Tent, c: Fraction) -> None:
    """What lies beyond the hats is its integral, over the whole."""
    w, far = float(tent.width), float(tent.width + 30 * tent.tau * (1 + (c + 1) * tent.tau))
    with mpmath.workdps(25), ctx.workprec(128):
        power = float(c)
        beyond = _expected(tent, lambda x: x**-power, -far, -w)
        beyond += _expected(tent, lambda x: x**-power, w, far)
        whole = mpmath.exp(float(tent.tau**2 * c * (c + 1) / 2))
        found = tent.outside(c)

    assert float(found.mid()) == pytest.approx(float(beyond / whole), rel=1e-9, abs=1e-15)


@settings(max_examples=100)
@given(
    p=st.lists(st.integers(1, 40), min_size=2, max_size=5),
    q=st.lists(st.integers(1, 40), min_size=5, max_size=5),
    t=st.floats(0.2, 5),
    tau=st.floats(0.02, 0.7),
    reach=st.floats(1, 8),
    c=st.floats(0.1, 5),
)
def test_the_lemma(
    *, p: list[int], q: list[int], t: float, tau: float, reach: float, c: float
) -> None:
    """Of a finite pair, what is left of g is at or below delta, wherever t, u and v are."""
    pairs = [(a / sum(p), b / sum(q[: len(p)])) for a, b in zip(p, q, strict=False)]
    tent = Tent(F(tau), F(reach * tau))

    def delta(t: float) -> float:
        return sum(max(a - t * b, 0.0) for a, b in pairs)

    def g(t: float) -> float:
        """E delta(tX): a Black-Scholes formula for every outcome."""
        shifts = [math.log(a / (t * b)) / tau for a, b in pairs]
        both = zip(pairs, shifts, strict=True)
        return sum(a * PHI(x + tau / 2) - t * b * PHI(x - tau / 2) for (a, b), x in both)

    moment = sum(a * (a / b) ** c for a, b in pairs) * c**c / (1 + c) ** (1 + c)
    with ctx.workprec(64):
        left, middle, right = (float(one.mid()) for one in tent.hats())
        outside = float(tent.outside(F(c)).mid()) * math.exp(tau * tau * c * (c + 1) / 2)
    u, v = math.exp(-reach * tau), math.exp(reach * tau)
    rest = left * g(u * t) + right * g(v * t) + moment * t**-c * outside

    assert g(t) - rest <= delta(t) * middle + 1e-12


def test_hats_of_a_narrow_tent() -> None:
    """Together they are the probability that X lies between, and none is negative."""
    tent = Tent(F(1, 1000), F(1, 10**6))
    with ctx.workprec(256):
        hats = tent.hats()
        assert all(one > 0 for one in hats)
        assert sum(hats, arb(0)) < arb(1) / 1000
