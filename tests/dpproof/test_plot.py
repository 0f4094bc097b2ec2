"""``dp.plot``: what the lines of a picture are, against the numbers that they stand for."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import dpproof as dp
from dpproof import auditing
from dpproof.auditing.counts import MissingDependency
from dpproof.pipeline.parse import parse
from dpproof.plot import save_pipeline
from tests.auditing.samplers import laplace

ONE_STAGE = """
pipeline = { relation = "add-remove", delta = 1e-6 }

[[stage]]
name = "noise"
mechanism = "gaussian"
sigma = 2
sensitivity = { l2 = 1 }
"""
GAUSSIAN = dp.Gaussian(sigma=1, sensitivity=dp.L2(1))


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Nothing is shown, and nothing stays open."""
    mpl.use("Agg")
    yield
    plt.close("all")


def line(axes: Axes, label: str) -> tuple[list[float], list[float]]:
    """The line whose label begins so."""
    found = next(one for one in axes.lines if str(one.get_label()).startswith(label))
    return np.asarray(found.get_xdata()).tolist(), np.asarray(found.get_ydata()).tolist()


def test_trade_off_is_a_bound_next_to_the_curve() -> None:
    """No point is above the exact curve, none is far below, and the marked one errs equally."""
    axes = dp.plot.trade_off(GAUSSIAN, budget=dp.ApproxDP(epsilon=1, delta=1e-6))
    assert axes.get_title(loc="left") == "Trade-off of attacks"
    exact = GAUSSIAN.guarantee()
    for rate, missed in list(zip(*line(axes, "every"), strict=True))[::20]:
        truth = exact.type_ii_error(type_i_error=rate).upper
        assert truth - 1e-3 < missed <= truth
    (x,), (y,) = line(axes, "errs")
    assert x == y == pytest.approx(0.3085, abs=1e-3)
    assert line(axes, "budget")[1] != line(axes, "every")[1]


def test_profile_is_the_upper_end() -> None:
    """The curve, the present point and the budget are where they are computed to be."""
    axes = dp.plot.profile(GAUSSIAN, delta=1e-13, epsilon=4.5)
    deltas, epsilons = line(axes, "upper end")
    assert epsilons == [GAUSSIAN.guarantee().epsilon(delta=one).upper for one in deltas]
    assert min(deltas) == 1e-13
    assert line(axes, "ε = ")[1] == [GAUSSIAN.guarantee().epsilon(delta=1e-13).upper]
    assert set(line(axes, "budget ε = 4.5")[1]) == {4.5}
    with pytest.raises(dp.ParameterError):
        dp.plot.profile(GAUSSIAN, delta=0)


def test_sweep_leaves_out_what_is_refused() -> None:
    """Values are drawn in their order, refused ones are not, and one alone is no curve."""
    built = [2.0, 1.0, -1.0, 3.0]
    figure, axes = plt.subplots()
    drawn = dp.plot.sweep(
        lambda sigma: dp.Gaussian(sigma=sigma, sensitivity=dp.L2(1)),
        built,
        delta=1e-6,
        present=2,
        name="sigma",
        axes=axes,
    )
    assert drawn is axes
    assert drawn.figure is figure
    assert line(axes, "upper end")[0] == [1, 2, 3]
    assert line(axes, "ε = ")[1] == [line(axes, "upper end")[1][1]]
    with pytest.raises(dp.ParameterError, match="at least two"):
        dp.plot.sweep(lambda rho: dp.ZCDP(rho=rho), [-1, 1], delta=1e-6)


def test_ledger_shows_each_way(tmp_path: Path) -> None:
    """A bar is the share spent of its way, rounded up in words; a closed way says so."""
    ledger = dp.Ledger.create(
        str(tmp_path / "ledger.db"), budget=dp.ApproxDP(epsilon=3, delta=1e-6)
    )
    ledger.spend(dp.GDP(mu=0.3), key="first")
    axes = dp.plot.ledger(ledger)
    ways = ledger.status().budgets[0].ways
    widths = [bar.get_width() for bar in axes.patches if isinstance(bar, Rectangle)]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert [name.split(": ")[1].split(",")[0] for name in names] == list(ways)
    for width, name, way in zip(widths, names, ways.values(), strict=True):
        shares = [s / most for s, most in zip(way.spent, way.limit, strict=True) if most]
        assert width == pytest.approx(float(max(shares)))
        assert name.endswith("closed") is not way.open
    assert axes.get_title(loc="left") == "1 spent, 0 reserved"


def test_audit_draws_both_axes() -> None:
    """The picture of an audit is that of the command line."""
    claim = dp.PureDP(epsilon=1)
    report = auditing.audit(laplace(1.0), (0.0, 1.0), claim, samples=2_000, seed=1)
    plain, normal = dp.plot.audit(report, claim)
    assert plain.get_title(loc="left") == "Trade-off curve"
    assert normal.figure is plain.figure


def test_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without matplotlib a picture is refused in words."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingDependency, match=r"pip install 'dpproof\[plots\]'"):
        dp.plot.profile(GAUSSIAN)


def test_sweep_asks_for_the_values_themselves() -> None:
    """Counts stay whole numbers, fractions exact; a refusal of every value is the cause."""
    given: list[object] = []

    def build(mu: Any) -> dp.GDP[dp.AddRemove]:  # noqa: ANN401  # any number
        given.append(mu)
        return dp.GDP(mu=mu)

    asked: list[Any] = [1, Fraction(10, 3), np.int64(2)]
    drawn = dp.plot.sweep(build, asked, delta=1e-6, present=Fraction(10, 3))
    assert [type(one) for one in given] == [int, int, Fraction, Fraction]
    assert line(drawn, "upper end")[0] == [1, 2, 10 / 3]
    drawn = dp.plot.sweep(lambda count: dp.self_compose(dp.GDP(mu=1), count), [1, 2, 3], delta=1e-6)
    assert line(drawn, "upper end")[0] == [1, 2, 3]
    with pytest.raises(dp.ParameterError, match="at least two") as refused:
        dp.plot.sweep(lambda _: None, [1, 2], delta=1e-6)  # type: ignore[arg-type,return-value]
    assert "a guarantee, or a mechanism" in str(refused.value.__cause__)


def test_refuses_what_has_no_picture() -> None:
    """Values without a guarantee, and a delta that a float does not hold."""
    for bad in (None, 1.0, dp.Gaussian):
        for draw in (dp.plot.trade_off, dp.plot.profile):
            with pytest.raises(dp.ParameterError, match="a guarantee, or a mechanism"):
                draw(bad)  # type: ignore[arg-type]  # bad on purpose
    with pytest.raises(dp.ParameterError, match="delta"):
        dp.plot.profile(GAUSSIAN, delta=Fraction(1, 10**400))
    with pytest.raises(dp.ParameterError, match="a Ledger, or its status"):
        dp.plot.ledger(cast("dp.Ledger", 5))


def test_dollar_signs_in_file_names_are_shown(tmp_path: Path) -> None:
    """A name that reads as a broken formula is the picture's title all the same."""
    found = replace(parse(tomllib.loads(ONE_STAGE), "x"), file=r"$\frac$.toml")
    out = tmp_path / "picture.png"
    save_pipeline(found, str(out))
    assert out.stat().st_size > 0
