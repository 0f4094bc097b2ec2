"""Short reprs."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import dpproof as dp
from dpproof import mechanisms
from dpproof.accountant.guarantees.pure_dp import PureDP
from dpproof.accountant.readable import Readable, readable

NAMES = [
    "AddRemove",
    "Gaussian",
    "L1",
    "ApproxDP",
    "L2",
    "Laplace",
    "Poisson",
    "PureDP",
    "ReplaceOne",
    "Subsampled",
]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (dp.GDP(mu=0.5), "GDP(mu_squared=0.25, relation=AddRemove())"),
        (dp.L2(Fraction(1, 3)), "L2(Fraction(1, 3))"),
        (dp.Poisson(sampling_rate=0.01), "Poisson(sampling_rate=0.01)"),
        (Fraction(1, 10**400), "≈1e-400"),
        (Fraction(-(10**400) - 1, 3), "≈-1e+399"),
        (Fraction(10**30 + 1, 3**40), "≈8.22526e+10"),
        (Fraction(10**6000 + 1, 10**6000 - 1), "≈1"),
        (Fraction(10**5000), "≈1e+5000"),
        (tuple(range(2000)), "(0, 1, 2, … 2000 in all)"),
        ((Fraction(1, 2),), "(0.5,)"),
        (np.zeros((3, 2)), "<array of shape (3, 2)>"),
        (len, "len"),
        ("a" * 400, "'" + "a" * 298 + "…"),
    ],
)
def test_texts(value: object, text: str) -> None:
    """Numbers are shown as they are typed if that is short, and what is long by its start."""
    assert readable(value) == text


def test_what_is_typed_back_is_the_same() -> None:
    """Exact numbers survive, so that a short repr makes an equal object."""
    for value in (
        dp.PureDP(epsilon=Fraction(0.1)),
        dp.ApproxDP(epsilon=2, delta=1e-6, relation=dp.ReplaceOne()),
        dp.Gaussian(sigma=1.1, sensitivity=dp.L2(Fraction(2, 7), dp.ReplaceOne())),
        dp.Laplace(scale=20, sensitivity=dp.L1(1)).subsample(dp.Poisson(sampling_rate=0.1)),
    ):
        text = repr(value)
        names = {
            name: getattr(mechanisms if hasattr(mechanisms, name) else dp, name) for name in NAMES
        } | {"Fraction": Fraction}
        assert eval(text, names) == value  # noqa: S307  # our own text


def test_a_repr_of_their_own_is_kept() -> None:
    """Classes that write one, and those that are no dataclass, are left alone."""

    class Own(Readable):
        def __repr__(self) -> str:
            return "own"

    class Plain(Readable):
        pass

    assert repr(Own()) == "own"
    assert repr(Plain()).startswith("<")
    assert "derivation" not in repr(PureDP(epsilon=1))


def test_notebooks_show_tables_of_escaped_fields() -> None:
    """A mechanism by its parameters, a guarantee by its statement, a calibration by its numbers."""
    noise = dp.Gaussian(sigma=2, sensitivity=dp.L2(1), query=lambda rows: len(rows))  # noqa: PLW0108  # a name with angle brackets
    shown = noise._repr_html_()
    assert shown.startswith("<table><caption>Gaussian</caption>")
    assert "<th>sigma</th><td>2</td>" in shown
    assert "&lt;lambda&gt;" in shown
    assert "<lambda>" not in shown

    stated = noise.guarantee()._repr_html_()
    assert "<th>neighbours</th><td>add-remove</td>" in stated
    assert "<th>statement</th><td>0.5-GDP" in stated

    found = dp.calibrate(lambda mu: dp.GDP(mu=mu), epsilon=1, delta=1e-6)
    assert "<b>1</b> <small>(in [" in found._repr_html_()
    assert "target=1, delta=1e-06" in repr(found)


def test_arguments_of_a_partial_query_are_not_shown() -> None:
    """They may be data."""
    noise = dp.Laplace(scale=1, sensitivity=dp.L1(1), query=partial(max, "xq7zv"))
    assert "xq7zv" not in repr(noise) + noise._repr_html_()
    assert "partial(max, …)" in repr(noise)
