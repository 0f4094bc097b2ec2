"""Tables of sampled pairs against exact profiles, and attempts to prove too much with them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings, strategies as st

from dpproof.accountant.pairs.gaussian import GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.subsampling.subsampled import Direction as Way, SubsampledPair
from dpproof.proofs import Rejected
from dpproof.proofs.certificate import show_rational
from dpproof.proofs.core.arithmetic import ball
from dpproof.proofs.core.pairs import LaplacePair as CheckedLaplace
from dpproof.proofs.pairs.finite import FinitePair
from dpproof.proofs.pairs.pair import DiscreteGaussianPair, moments
from dpproof.proofs.sampled import table
from dpproof.proofs.sampled.sampled import Direction, SampledPair
from dpproof.proofs.sampled.table import Table
from tests.proofs.builders import attempt, attempt_below, lower_witness, sizes, taus

F = Fraction
QUARTER = F(1, 4)
P, Q = (F(1, 2), F(1, 8), F(1, 4), F(1, 8)), (F(1, 8), F(1, 2), F(3, 8), F(0))
MIXED = tuple((1 - QUARTER) * b + QUARTER * a for a, b in zip(P, Q, strict=True))
MIXED_BACK = tuple((1 - QUARTER) * a + QUARTER * b for a, b in zip(P, Q, strict=True))
EXACT = {Direction.REMOVAL: (MIXED, Q), Direction.ADDITION: (P, MIXED_BACK)}
HINT: dict[str, Any] = {
    "span": "1/64",
    "level": "1/100",
    "forward": {"runs": [{"stride": 1, "count": 90}, {"stride": 4, "count": 20}], "lines": []},
    "backward": {"runs": [{"stride": 1, "count": 120}], "lines": []},
}


def _table(pair: SampledPair, hint: dict[str, Any]) -> Table:
    found = pair.moments(hint)
    assert isinstance(found, Table)
    return found


def _profile(table: Table, epsilon: float) -> float:
    """H_epsilon of the table's finite pair."""
    gaps = (
        float(mass.mid()) * max(0.0, 1 - math.exp(epsilon - k * float(table.span)))
        for k, mass in table.masses.items()
    )
    return float(table.rest.mid()) + sum(gaps)


@pytest.mark.parametrize("direction", EXACT)
@pytest.mark.parametrize("epsilon", [-1.5, -0.7, -0.2, 0.0, 0.01, 0.13, 0.5, 1.1, 4.0])
def test_a_table_is_above_the_sampled_pair(direction: Direction, epsilon: float) -> None:
    """Its profile is at or above the exact one at every epsilon of both signs, and close to it."""
    pair = SampledPair(((FinitePair(P, Q), 1),), QUARTER, direction)
    first, second = EXACT[direction]
    t = math.exp(epsilon)
    exact = sum(max(0.0, float(a) - t * float(b)) for a, b in zip(first, second, strict=True))
    with ctx.workprec(96):
        found = _profile(_table(pair, HINT), epsilon)

    assert exact <= found + 1e-12
    assert found <= exact + 1e-3


@pytest.mark.parametrize("direction", EXACT)
@pytest.mark.parametrize("epsilon", [-1.5, -0.7, -0.2, 0.0, 0.01, 0.13, 0.5, 1.1, 4.0])
def test_a_table_below_is_below_the_sampled_pair(direction: Direction, epsilon: float) -> None:
    """Its profile is at or below the exact one at every epsilon of both signs, and close to it."""
    pair = SampledPair(((FinitePair(P, Q), 1),), QUARTER, direction)
    first, second = EXACT[direction]
    t = math.exp(epsilon)
    exact = sum(max(0.0, float(a) - t * float(b)) for a, b in zip(first, second, strict=True))
    with ctx.workprec(96):
        below = pair.moments_below(HINT)
        assert isinstance(below, Table)
        found = _profile(below, epsilon)
        total = sum(below.masses.values(), below.infinite)

    assert found <= exact + 1e-12
    assert found >= exact - 1e-2
    assert abs(float(total.mid()) - 1) < 1e-15


def test_a_replacement_below_is_below_both_its_bounds() -> None:
    """At epsilon and at -epsilon, of the sampled base."""
    pair = SampledPair(((_checkers_laplace(), 1),), QUARTER, Direction.REPLACEMENT)
    with ctx.workprec(96):
        below = pair.moments_below(HINT)
        assert isinstance(below, Table)
        for epsilon in (0.0, 0.01, 0.07, 0.14, 0.3):
            t = math.exp(epsilon)
            argument = math.log1p(4 * (t - 1))
            most = 0.25 * max(0.0, -math.expm1(0.5 * (argument - 0.5)))
            assert most - 5e-3 <= _profile(below, epsilon) <= most + 1e-12
            assert _profile(below, -epsilon) <= 1 - 1 / t + most / t + 1e-12


@pytest.mark.parametrize(
    ("height", "share"), [(F(5, 8), F(0)), (F(9, 16), F(1, 2)), (F(1, 2), F(1)), (F(2, 5), F(1))]
)
def test_a_point_below_the_polygon_costs_a_share(height: Fraction, share: Fraction) -> None:
    """As much of equal laws as takes the line from (0, 1) to (1, 1/4) down to the point."""
    points = [(0, arb(0), arb(1)), (-1, arb(0.5), ball(height)), (0, arb(1), arb(0.25))]
    found = table._excess(points, [0, 2])

    assert found == ball(share)


@pytest.mark.parametrize("direction", EXACT)
def test_few_losses_are_the_sampled_pair(direction: Direction) -> None:
    """M and the infinite mass are those of the mixed masses."""
    pair = SampledPair(((FinitePair(P, Q), 1),), QUARTER, direction)
    with ctx.workprec(96):
        mixed = moments(FinitePair(*EXACT[direction]), None)
        found = pair.moments_below(None)
        for c in (F(1, 8), F(1), F(9, 2)):
            both = (one.along(c, arb(1) / 3, 7) for one in (found, mixed))
            assert all(
                a.overlaps(b) and abs(a - b).upper() < 1e-20 for a, b in zip(*both, strict=True)
            )
        assert found.infinite.overlaps(mixed.infinite)


def test_few_losses_of_several_releases() -> None:
    """Two different pairs, one of them twice, against the product enumerated."""
    first, second = FinitePair(P, Q), FinitePair((F(3, 4), F(1, 4)), (F(1, 2), F(1, 2)))
    base = ((first, 1), (second, 2))
    p, q = [F(1)], [F(1)]
    for one in (first, second, second):
        p = [a * b for a in p for b in one.p]
        q = [a * b for a in q for b in one.q]
    mixed = tuple((1 - QUARTER) * b + QUARTER * a for a, b in zip(p, q, strict=True))
    with ctx.workprec(96):
        whole = moments(FinitePair(mixed, tuple(q)), None)
        found = SampledPair(base, QUARTER, Direction.REMOVAL).moments_below(None)
        (mine,), (other,) = (one.along(F(2), arb(0), 1) for one in (found, whole))

    assert abs(mine - other).upper() < 1e-20


def test_a_replacement_is_its_own_swap() -> None:
    """At -epsilon its table is 1 - t + t times that at epsilon."""
    pair = SampledPair(((FinitePair(P, Q), 1),), QUARTER, Direction.REPLACEMENT)
    even = {**HINT, "forward": HINT["backward"]}
    with ctx.workprec(96):
        table = _table(pair, even)
        for epsilon in (0.01, 0.2, 0.6):
            t = math.exp(-epsilon)
            mirrored = 1 - t + t * _profile(table, epsilon)
            exact = QUARTER * sum(
                max(0.0, float(a) - (1 + 4 * (math.exp(epsilon) - 1)) * float(b))
                for a, b in zip(P, Q, strict=True)
            )
            assert _profile(table, -epsilon) == pytest.approx(mirrored, abs=1e-12)
            assert float(exact) <= _profile(table, epsilon) + 1e-12


@pytest.mark.parametrize("count", [40, 600])
def test_both_ways_to_sum_agree(count: int) -> None:
    """Few masses and many give M as the sum over the masses defines it, and the infinite mass."""
    response = SampledPair(((FinitePair(P, Q), 1),), QUARTER, Direction.REMOVAL)
    laplace = SampledPair(((_checkers_laplace(), 1),), QUARTER, Direction.ADDITION)
    for pair in (response, laplace):
        with ctx.workprec(96):
            table = _table(pair, HINT)
            found = table.along(F(3, 2), arb(1) / 4, count)
            for k in (0, 1, count // 2, count - 1):
                s = acb(arb(3) / 2, arb(k) / 4)
                terms = (m * (s * j / 64).exp() for j, m in table.masses.items())
                assert abs(found[k] - sum(terms, acb(0))).upper() < 1e-20
                assert float(found[k].real.rad()) < 1e-20
            total = sum(table.masses.values(), table.rest)
            assert abs(float(total.mid()) - 1) < 1e-15


def _checkers_laplace() -> CheckedLaplace:
    return CheckedLaplace(F(1, 2))


@pytest.mark.parametrize("level", ["0", "1/1000", "1/50", "1"])
def test_ceilings(level: str) -> None:
    """|M| is below the ceiling from y to the top, whatever the level."""
    pair = SampledPair(((_checkers_laplace(), 1),), QUARTER, Direction.REMOVAL)
    with ctx.workprec(96):
        table = _table(pair, {**HINT, "level": level})
        top = table.top
        assert top == 192
        line = table.along(F(2), arb(1), 193)
        flat = table.ceiling(F(2), arb(5), None)
        for start in (1, 5, 40, 150):
            ceiling = table.ceiling(F(2), arb(start), top)
            assert all(value.abs_lower() <= ceiling.upper() for value in line[start:])
            assert ceiling.lower() <= flat.upper()
        assert table.ceiling(F(2), arb(5), top + 1).overlaps(flat)


def test_only_a_table_has_a_lattice() -> None:
    """The losses of a sampled pair themselves are anywhere."""
    assert SampledPair(((_checkers_laplace(), 1),), QUARTER, Direction.ADDITION).lattice is None


def test_losses_without_a_fine_grid_have_no_top() -> None:
    """A side that starts coarser leaves only the flat ceiling."""
    pair = SampledPair(((_checkers_laplace(), 1),), QUARTER, Direction.REMOVAL)
    coarse = {"runs": [{"stride": 2, "count": 60}], "lines": []}
    with ctx.workprec(96):
        assert _table(pair, {**HINT, "forward": coarse}).top is None


LAPLACE = Product.of(LaplacePair(epsilon=F(1, 2)))
BOTH = Product.of(LaplacePair(epsilon=F(1, 2)), GaussianPair(mu_squared=F(1)))
RESPONSE = Product.of(RandomizedResponsePair(epsilon=F(1), categories=3))
TARGETS: dict[str, Callable[[], Product]] = {
    "laplace": lambda: _sampled(LAPLACE, Way.REMOVAL, 12),
    "laplace, added": lambda: _sampled(LAPLACE, Way.ADDITION, 12),
    "both": lambda: _sampled(BOTH, Way.REMOVAL, 30),
    "response": lambda: _sampled(RESPONSE, Way.REPLACEMENT, 20),
    "few": lambda: _sampled(RESPONSE, Way.REMOVAL, 20),
}
grids = st.lists(
    st.tuples(st.sampled_from([1, 1, 2, 7]), st.integers(1, 60)), min_size=1, max_size=4
)


def _sampled(base: Product, way: Way, count: int) -> Product:
    pair = SubsampledPair(base=base, sampling_rate=F(1, 4), direction=way)
    return Product((Factor(pair, count),))


def _drawn(name: str, data: st.DataObject) -> dict[str, Any]:
    """Any grid, level and lines, which only a base without a closed profile takes."""
    lines: list[Any] = []
    if name == "both":
        size = st.floats(-4, 3).map(lambda power: show_rational(F(2.0**power)))
        one = {"c": size, "step": size, "nodes": st.integers(1, 60), "tau": st.just("0")}
        line = st.fixed_dictionaries({"points": st.integers(1, 50), **one})
        lines = data.draw(st.lists(line, min_size=1, max_size=3))
    sides = [
        {"runs": [{"stride": a, "count": n} for a, n in data.draw(grids)], "lines": lines}
        for _ in range(2)
    ]
    span = show_rational(F(1, data.draw(st.sampled_from([16, 100, 512]))))
    level = show_rational(data.draw(sizes) / 100)
    return {"span": span, "level": level, "forward": sides[0], "backward": sides[1]}


@pytest.mark.some(3)
@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=4)
@given(data=st.data())
def test_no_table_proves_what_is_false(name: str, data: st.DataObject) -> None:
    """Whatever the grid, the level, the lines and the sum: no claim below the truth."""
    hint = _drawn(name, data)
    c = show_rational(data.draw(sizes))
    rule = data.draw(st.sampled_from(["contour", "lattice", "chernoff"]))
    witness: dict[str, Any] = {"c": c, "factors": [hint]}
    if rule != "chernoff":
        witness["nodes"] = data.draw(st.integers(1, 400))
    if rule == "contour":
        witness["step"] = show_rational(data.draw(sizes))
        witness["tau"] = show_rational(data.draw(taus))
    if rule == "lattice":
        witness["span"] = hint["span"]

    assert isinstance(attempt(rule, TARGETS[name](), witness, -1e-6), Rejected)


@pytest.mark.some(3)
@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=6)
@given(data=st.data())
def test_no_table_below_proves_what_is_false(name: str, data: st.DataObject) -> None:
    """Whatever the grid, the level and the sum: no lower bound above the truth."""
    product = TARGETS[name]()
    hint = _drawn(name, data)
    few = data.draw(st.booleans()) and name == "few"
    rule = data.draw(st.sampled_from(["smoothed", "contour", "lattice"]))
    witness: dict[str, Any] = lower_witness(rule, [None if few else hint], data)
    if rule == "lattice":
        witness["span"] = hint["span"]

    assert isinstance(attempt_below(rule, product, witness, 1e-6), Rejected)


def test_the_addition_formula_by_integration() -> None:
    """With r = 1 - t(1-q), r H_{qt/r}(P|Q) is the integral of (p - t((1-q) p + q q'))_+."""
    pair = SampledPair(((_checkers_laplace(), 1),), QUARTER, Direction.ADDITION)
    with mpmath.workdps(25), ctx.workprec(96):
        t = mpmath.e ** mpmath.mpf("0.05")

        def gap(x: Any) -> Any:  # noqa: ANN401
            p, q = mpmath.e ** -abs(x - 0.5) / 2, mpmath.e ** -abs(x) / 2
            return max(mpmath.mpf(0), p - t * (0.75 * p + 0.25 * q))

        edge = mpmath.findroot(
            lambda x: mpmath.log(1 - 0.75 * t) + 0.5 * x * 4 - 0.5 - mpmath.log(0.25 * t), 0.3
        )
        value = mpmath.quad(gap, [-40, -10, 0, edge, 0.5, 10, 60])
        found = pair.profile(arb(5) / 100)

        assert abs(float(found.mid()) - float(value)) < 1e-9


def test_chernoff_completes_a_table_that_ends_early() -> None:
    """E e^L of a sample of discrete Gaussian noise is 1 - q^2 + q^2 e^{1/sigma^2}."""
    noise = DiscreteGaussianPair(sigma_squared=F(1), shift=1)
    pair = SampledPair(((noise, 1),), QUARTER, Direction.REMOVAL)
    short = {"runs": [{"stride": 1, "count": 64}], "lines": []}
    given_table = {"span": "1/128", "level": "0", "forward": short, "backward": short}
    found = pair.moment({"beyond": "2", "table": given_table}, F(1))
    true = 1 + ball(QUARTER) ** 2 * (arb(1).exp() - 1)
    assert found >= true
    assert found <= true * ball(F(23, 20))
