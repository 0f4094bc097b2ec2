"""The checker's pairs against direct integration and summation to many digits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import acb, arb, ctx

from dpproof.proofs.core.arithmetic import ball as arb_of
from dpproof.proofs.core.pairs import GaussianPair, LaplacePair, Pair, SubsampledGaussianPair
from dpproof.proofs.pairs.finite import FinitePair, RandomizedResponsePair
from dpproof.proofs.pairs.gaussian_above_floor import OppositeGaussiansPair
from dpproof.proofs.pairs.pair import (
    DiscreteGaussianPair,
    DiscreteLaplacePair,
    LogisticPair,
    lattice_of,
    moments,
)

F = Fraction
TENTH, HALF = F(1, 10), F(1, 2)
RULE = {"shift": "5/4", "step": "1/10", "left": 150, "right": 200}
ROUGH = {"shift": "1/4", "step": "1/20", "left": 200, "right": 250}
WITNESS = {"nodes": RULE, "tail": ROUGH}


def _integral(
    p: Callable[[Any], Any], q: Callable[[Any], Any], ends: list[Any]
) -> Callable[[Any], Any]:
    """M from two densities."""
    return lambda s: mpmath.quad(lambda x: p(x) ** (s + 1) * q(x) ** (-s), ends)


def _sum(p: Callable[[int], Any], q: Callable[[int], Any], reach: int) -> Callable[[Any], Any]:
    """M from masses on whole numbers."""

    def moment(s: Any) -> Any:  # noqa: ANN401  # mpmath's numbers have no types
        top = mpmath.fsum(p(x) for x in range(-reach, reach + 1))
        bottom = mpmath.fsum(q(x) for x in range(-reach, reach + 1))
        total = mpmath.fsum(p(x) ** (s + 1) * q(x) ** (-s) for x in range(-reach, reach + 1))
        return total / top ** (s + 1) * bottom**s

    return moment


def _normal(mean: Any = 0) -> Callable[[Any], Any]:  # noqa: ANN401
    return lambda x: mpmath.npdf(x, mean, 1)


def _mixture(x: Any) -> Any:  # noqa: ANN401
    return mpmath.mpf("0.9") * mpmath.npdf(x) + mpmath.npdf(x, 1, 1) / 10


def _mirrored(x: Any) -> Any:  # noqa: ANN401
    return _mixture(-x)


def _logistic(shift: Any) -> Callable[[Any], Any]:  # noqa: ANN401
    return lambda x: mpmath.e ** (x - shift) / (1 + mpmath.e ** (x - shift)) ** 2


LINE = [-14, -5, -1, 0, 0.5, 1, 2, 4, 9, 18]
FAR = [-90, -20, -5, 0, 1, 5, 20, 90]
CASES: list[tuple[Pair, object, Callable[[Any], Any]]] = [
    (GaussianPair(F(1)), None, _integral(_normal(1), _normal(), LINE)),
    (
        LaplacePair(HALF),
        None,
        _integral(
            lambda x: mpmath.e ** -abs(x - 0.5) / 2,
            lambda x: mpmath.e ** -abs(x) / 2,
            [-90, -20, -5, 0, 0.5, 5, 20, 90],
        ),
    ),
    (LogisticPair(HALF), None, _integral(_logistic(0.5), _logistic(0), FAR)),
    (
        RandomizedResponsePair(HALF, 3, TENTH),
        None,
        lambda s: mpmath.mpf("0.9")
        * (mpmath.e ** ((s + 1) / 2) + mpmath.e ** (-s / 2) + 1)
        / (mpmath.e**0.5 + 2),
    ),
    (
        FinitePair((HALF, F(1, 4), F(1, 4), F(0)), (F(1, 4), HALF, F(0), F(1, 4))),
        None,
        lambda s: mpmath.mpf(2) ** s / 2 + mpmath.mpf(2) ** (-s) / 4,
    ),
    (
        DiscreteLaplacePair(F(2), 3),
        None,
        _sum(lambda x: mpmath.e ** (-abs(x - 3) / mpmath.mpf(2)),
             lambda x: mpmath.e ** (-abs(x) / mpmath.mpf(2)), 250),
    ),
    (
        DiscreteGaussianPair(F(2), 3),
        None,
        _sum(lambda x: mpmath.e ** (-mpmath.mpf(x - 3) ** 2 / 4),
             lambda x: mpmath.e ** (-mpmath.mpf(x) ** 2 / 4), 60),
    ),
    (
        SubsampledGaussianPair(F(1), TENTH, removal=True), WITNESS,
        _integral(_mixture, _normal(), LINE),
    ),
    (
        OppositeGaussiansPair(F(1), TENTH), WITNESS,
        _integral(_mixture, _mirrored, LINE),
    ),
    (
        SubsampledGaussianPair(F(1), TENTH, removal=False), WITNESS,
        _integral(_normal(), _mixture, LINE),
    ),
]  # fmt: skip


def _close(ball: acb, value: Any) -> bool:  # noqa: ANN401
    """Whether an enclosure is narrow and around a value known to 18 digits."""
    wide = max(float(ball.real.rad()), float(ball.imag.rad()))
    distance = abs(complex(float(ball.real.mid()), float(ball.imag.mid())) - complex(value))
    return wide < 1e-9 and distance < 1e-9 + wide


@pytest.mark.parametrize(("pair", "witness", "moment"), CASES, ids=lambda x: type(x).__name__)
def test_moments(pair: Pair, witness: object, moment: Callable[[Any], Any]) -> None:
    """M along a line agrees with its definition, and encloses what the ball says."""
    with ctx.workprec(96), mpmath.workdps(15):
        found = moments(pair, witness).along(F(3, 2), arb(1.5), 2)
        for k, ball in enumerate(found):
            assert _close(ball, moment(mpmath.mpc(1.5, 1.5 * k)))


@pytest.mark.parametrize(("pair", "witness", "moment"), CASES, ids=lambda x: type(x).__name__)
def test_ceilings(pair: Pair, witness: object, moment: Callable[[Any], Any]) -> None:
    """|M| is at or below the ceiling from y on, and the ceiling does not grow."""
    del moment
    with ctx.workprec(96):
        found = moments(pair, witness)
        line = found.along(F(3, 2), arb(0.5), 60)
        before = None
        for start in (0, 1, 7, 20, 40):
            ceiling = found.ceiling(F(3, 2), arb(0.5) * start, None)
            assert all(ball.abs_lower() <= ceiling.upper() for ball in line[start:])
            assert before is None or ceiling.lower() <= before
            before = ceiling.upper()


def test_a_long_line_stays_narrow() -> None:
    """Four thousand nodes of mixtures are as sharp as the first, and are where they are alone."""
    for pair in (case[0] for case in CASES if case[1] is WITNESS):
        with ctx.workprec(64):
            line = moments(pair, WITNESS).along(F(3, 2), arb(0.01), 4_000)

            assert len(line) == 4_000
            assert max(float(ball.real.rad()) for ball in line) < 1e-9
        with ctx.workprec(256):
            for k in (1, 2, 63, 64, 65, 2_050, 3_999):
                _, alone = moments(pair, WITNESS).along(F(3, 2), arb(0.01) * k, 2)
                assert alone.overlaps(line[k])


@pytest.mark.parametrize("pair", [case[0] for case in CASES], ids=lambda x: type(x).__name__)
def test_infinite_mass_completes_the_law(pair: Pair) -> None:
    """M(0) and the infinite mass add up to 1: M near 0 is at most 1 - infinite."""
    with ctx.workprec(96):
        sampled = isinstance(pair, SubsampledGaussianPair | OppositeGaussiansPair)
        witness = WITNESS if sampled else None
        (ball,) = moments(pair, witness).along(F(1, 10**12), arb(0), 1)

        assert abs(float(ball.real.mid()) + float(pair.infinite) - 1) < 1e-9


@pytest.mark.parametrize(
    ("pair", "epsilon"),
    [
        (SubsampledGaussianPair(F(1), TENTH, removal=True), F(1, 5)),
        (SubsampledGaussianPair(F(1), TENTH, removal=False), F(1, 20)),
    ],
    ids=["removal", "addition"],
)
def test_profiles_of_samples(pair: SubsampledGaussianPair, epsilon: Fraction) -> None:
    """The closed profile is the integral of (p - t q)_+."""
    first, second = (_mixture, _normal()) if pair.removal else (_normal(), _mixture)
    with mpmath.workdps(25), ctx.workprec(96):
        t = mpmath.e ** (mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        edge = mpmath.findroot(lambda x: first(x) - t * second(x), 0.5 if pair.removal else -0.2)
        ends = [edge, edge + 2, edge + 20] if pair.removal else [edge - 20, edge - 2, edge]
        value = mpmath.quad(lambda x: first(x) - t * second(x), ends)

        assert _close(acb(pair.profile(arb_of(epsilon))), value)


@pytest.mark.parametrize("epsilon", [F(0), F(1, 5), F(3)])
def test_profiles_of_opposite_mixtures(epsilon: Fraction) -> None:
    """The closed profile is the integral of (p - t q)_+."""
    with mpmath.workdps(25), ctx.workprec(96):
        t = mpmath.e ** (mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        edge = mpmath.findroot(
            lambda x: mpmath.log(_mixture(x) / _mirrored(x) / t), (-1, 20), solver="anderson"
        )
        value = mpmath.quad(
            lambda x: _mixture(x) - t * _mirrored(x), [edge, edge + 2, edge + 6, edge + 20]
        )

        assert _close(acb(OppositeGaussiansPair(F(1), TENTH).profile(arb_of(epsilon))), value)


@pytest.mark.parametrize("shift", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [F(0), F(1, 3), F(1), F(5, 2)])
def test_profiles_on_whole_numbers(shift: int, epsilon: Fraction) -> None:
    """The closed profiles are the sums of (p - t q)_+ over the whole numbers."""
    laws: dict[Pair, Callable[[int], Any]] = {
        DiscreteLaplacePair(F(2), shift): lambda x: mpmath.e ** (-abs(x) / mpmath.mpf(2)),
        DiscreteGaussianPair(F(2), shift): lambda x: mpmath.e ** (-(mpmath.mpf(x) ** 2) / 4),
    }
    for pair, mass in laws.items():
        with mpmath.workdps(25), ctx.workprec(96):
            t = mpmath.e ** (mpmath.mpf(epsilon.numerator) / epsilon.denominator)
            points = range(-200, 200)
            gaps = (max(mpmath.mpf(0), mass(x - shift) - t * mass(x)) for x in points)
            value = mpmath.fsum(gaps) / mpmath.fsum(mass(x) for x in points)

            assert _close(acb(pair.profile(arb_of(epsilon))), value)


def test_a_profile_is_0_where_the_sample_cannot_tell() -> None:
    """Adding a record multiplies no probability by more than 1/(1 - q)."""
    pair = SubsampledGaussianPair(F(1), TENTH, removal=False)

    assert pair.profile(arb_of(F(1, 5))) == 0


def test_lattices() -> None:
    """Offset and span say where every loss is; other pairs have none."""
    assert lattice_of(RandomizedResponsePair(HALF, 2, F(0))) == (-HALF, F(1))
    assert lattice_of(RandomizedResponsePair(HALF, 3, F(0))) == (-HALF, HALF)
    assert DiscreteLaplacePair(F(2), 3).lattice == (F(-3, 2), F(1))
    assert DiscreteGaussianPair(F(2), 3).lattice == (F(9, 4), F(3, 2))
    for pair, _, _ in CASES:
        if not isinstance(
            pair, RandomizedResponsePair | DiscreteLaplacePair | DiscreteGaussianPair
        ):
            assert lattice_of(pair) is None
        assert pair.describe()
