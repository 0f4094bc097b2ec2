"""Trying to make the checker accept what is false: random hints for claims just below the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st

from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.gaussian import DiscreteGaussianPair, GaussianPair
from dpproof.accountant.pairs.laplace import LaplacePair, LogisticPair, RandomizedResponsePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.accountant.pairs.subsampled_gaussian import SubsampledGaussianPair
from dpproof.proofs import Rejected, Step, Verdict, check
from dpproof.proofs.certificate import show_rational
from tests.proofs.builders import F, attempt, attempt_below, lower_witness, sizes, taus, wholes
from tests.proofs.support import certificate, factor, facts, pairs, said, stated

TENTH = F(1, 10)
SAMPLED = SubsampledGaussianPair(mu_squared=F(1), sampling_rate=TENTH, removal=True)
PRODUCTS = {
    "gaussian": Product((Factor(GaussianPair(mu_squared=F(1, 4)), 5),)),
    "laplace": Product(
        (Factor(LaplacePair(epsilon=F(1, 2)), 4), Factor(GaussianPair(mu_squared=F(1, 9)), 3))
    ),
    "logistic": Product((Factor(LogisticPair(epsilon=F(1, 4)), 30),)),
    "sampled": Product((Factor(SAMPLED, 40),)),
    "added": Product((Factor(SAMPLED.swapped(), 40),)),
    "told": Product(
        (
            Factor(RandomizedResponsePair(epsilon=F(1, 4), infinite=F(1, 1000)), 9),
            Factor(GaussianPair(mu_squared=F(1, 9)), 3),
        )
    ),
    "finite": Product(
        (
            Factor(FinitePair(p=(F(2, 3), F(1, 3)), q=(F(1, 4), F(3, 4))), 3),
            Factor(GaussianPair(mu_squared=F(1, 4)), 3),
        )
    ),
}
LATTICES = {
    "told": Product((Factor(RandomizedResponsePair(epsilon=F(1, 4), infinite=F(1, 100)), 9),)),
    "response": Product((Factor(RandomizedResponsePair(epsilon=F(1, 4)), 30),)),
    "discrete": Product(
        (
            Factor(DiscreteGaussianPair(sigma_squared=F(4), shift=1), 8),
            Factor(RandomizedResponsePair(epsilon=F(1, 4), categories=3), 8),
        )
    ),
}
ROUGH = Product(
    (
        Factor(LaplacePair(epsilon=F(1, 2)), 3),
        Factor(RandomizedResponsePair(epsilon=F(2, 7), infinite=F(1, 50)), 2),
    )
)
RESPONSE = factor("randomized-response", epsilon="1", categories=2, infinite="0")

shifts = st.floats(-7, 0).map(lambda power: F(1.5 * 2.0**power))
lines = st.fixed_dictionaries(
    {
        "shift": shifts.map(show_rational),
        "step": sizes.map(show_rational),
        "left": wholes,
        "right": wholes,
    }
)


def _by_contour(name: str, data: st.DataObject) -> Verdict:
    product = PRODUCTS[name]
    hints = [
        {"nodes": data.draw(lines), "tail": data.draw(lines)}
        if isinstance(factor.pair, SubsampledGaussianPair)
        else None
        for factor in product.factors
    ]
    witness = {
        "c": show_rational(data.draw(sizes)),
        "step": show_rational(data.draw(sizes)),
        "nodes": data.draw(wholes),
        "tau": show_rational(data.draw(taus)),
        "factors": hints,
    }

    return attempt("contour", product, witness, -1e-6)


@pytest.mark.parametrize("name", PRODUCTS)
@settings(max_examples=10)
@given(data=st.data())
def test_no_contour_proves_what_is_false(name: str, data: st.DataObject) -> None:
    """Whatever the line, its nodes, tau and the quadratures, the sum is no smaller."""
    assert isinstance(_by_contour(name, data), Rejected)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRODUCTS)
@settings(max_examples=40)
@given(data=st.data())
def test_many_contours_prove_nothing_false(name: str, data: st.DataObject) -> None:
    """The same, longer."""
    assert isinstance(_by_contour(name, data), Rejected)


@pytest.mark.parametrize("name", LATTICES)
@settings(max_examples=15)
@given(data=st.data())
def test_no_folded_sum_proves_what_is_false(name: str, data: st.DataObject) -> None:
    """Nor does any sum over one period."""
    product = LATTICES[name]
    witness = {
        "c": show_rational(data.draw(sizes)),
        "span": show_rational(data.draw(st.sampled_from([F(1, 4), F(1, 8), F(1, 2), F(1)]))),
        "nodes": data.draw(wholes),
        "factors": [None] * len(product.factors),
    }

    assert isinstance(attempt("lattice", product, witness, -1e-6), Rejected)


@pytest.mark.parametrize("name", [*PRODUCTS, *LATTICES])
@settings(max_examples=5)
@given(data=st.data())
def test_chernoff_proves_nothing_false(name: str, data: st.DataObject) -> None:
    """Nor does any order of Chernoff's bound."""
    product = {**PRODUCTS, **LATTICES}[name]
    hints = [
        {"nodes": data.draw(lines), "tail": data.draw(lines)}
        if isinstance(factor.pair, SubsampledGaussianPair)
        else None
        for factor in product.factors
    ]
    witness: dict[str, object] = {"c": show_rational(data.draw(sizes)), "factors": hints}

    assert isinstance(attempt("chernoff", product, witness, -1e-6), Rejected)


@settings(max_examples=150)
@given(data=st.data())
def test_no_sum_proves_too_large_a_lower_bound(data: st.DataObject) -> None:
    """Whatever the line, the Gaussian and the aliases' places, none above the truth is proved."""
    name = data.draw(st.sampled_from(["gaussian", "logistic", "response", "rough"]))
    product = {**PRODUCTS, **LATTICES, "rough": ROUGH}[name]
    rules = {"response": ["lattice", "smoothed"], "rough": ["smoothed"]}
    rule = data.draw(st.sampled_from(rules.get(name, ["contour", "smoothed"])))
    witness = lower_witness(rule, [None] * len(product.factors), data)
    if rule == "lattice":
        witness["span"] = show_rational(data.draw(st.sampled_from([F(1, 4), F(1, 2)])))

    assert isinstance(attempt_below(rule, product, witness, 1e-6), Rejected)


@pytest.mark.some(4)
@pytest.mark.parametrize("tau", [F(1, 10), F(1, 40), F(1, 200)])
@pytest.mark.parametrize("width", [F(5), F(6), F(8)])
def test_the_attack_on_lower_bounds_would_see_a_wrong_rule(tau: Fraction, width: Fraction) -> None:
    """Below the truth by what the tent costs, the same claims have a proof."""
    side = {"c": "1/4", "factors": [None, None]}
    witness = {
        "c": "1",
        "step": "1/4",
        "nodes": 8 * math.ceil(10 / tau),
        "factors": [None, None],
        "tau": show_rational(tau),
        "width": show_rational(width * tau),
        "before": side,
        "after": {**side, "c": "4"},
    }
    cost = float(40 * tau * tau) + 1e-5

    assert not isinstance(attempt_below("smoothed", ROUGH, witness, -cost), Rejected)


SELECTED = "21/100"  # the least likely answer first, then a coin, costs 0.21028...
heights = st.integers(0, 64).map(lambda part: F(part, 32))
masses = st.integers(1, 31).map(lambda part: F(part, 32))


def selection_claim(delta: str, corners: list[list[str]], tangents: list[int]) -> Verdict:
    """The better of two runs of randomised response at 1, at epsilon = 3/2."""
    known = facts([RESPONSE], ("0", "231059/500000"), ("1/2", "2877/10000"), ("1", "0"))
    step = Step(
        rule="select/profile",
        premises=(0, 1),
        witness={
            "runs": {"kind": "binomial", "trials": 2, "probability": "1"},
            "forward": {"corners": corners, "tangents": tangents},
        },
        conclusion=said("privacy-profile", points=[["3/2", delta]]),
    )
    return check(certificate(stated(pairs([RESPONSE])), stated(known), step))


@settings(max_examples=150)
@given(data=st.data())
def test_no_polygon_proves_what_is_false(data: st.DataObject) -> None:
    """Whatever the corners and tangents, delta of a real selection is not undercut."""
    inside = sorted(data.draw(st.sets(masses, min_size=1, max_size=4)))
    cells = len(inside) + 1
    levels = sorted(data.draw(st.lists(heights, min_size=cells + 1, max_size=cells + 1)))
    corners = [[str(c), str(y)] for c, y in zip([F(0), *inside, F(1)], levels, strict=True)]
    tangents = data.draw(st.lists(st.integers(0, 5), min_size=cells, max_size=cells))

    assert isinstance(selection_claim(SELECTED, corners, tangents), Rejected)


def test_the_attack_on_selections_would_see_a_wrong_rule() -> None:
    """A little above the truth the same claim has a proof."""
    corners = [["0", "0"], ["1/100", "0"], ["3/4", "11/20"], ["1", "199/100"]]

    assert not isinstance(selection_claim("1/2", corners, [0, 5, 1]), Rejected)


def test_the_attack_would_see_a_wrong_rule() -> None:
    """The same attempt goes through when the claim is true: it is the claim that is refused."""
    witness: dict[str, object] = {
        "c": "1/2",
        "step": "1/8",
        "nodes": 200,
        "tau": "0",
        "factors": [None],
    }

    assert not isinstance(attempt("contour", PRODUCTS["gaussian"], witness, 1e-6), Rejected)
