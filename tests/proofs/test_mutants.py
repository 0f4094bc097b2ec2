"""Certificates that were damaged: rejected, every one."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import islice

import pytest

from dpproof.accountant import answers
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Factor, Product
from dpproof.proofs import Rejected, Verified, VerifiedUnder, check_text
from tests.proofs.corpus import FOLDER
from tests.proofs.mutants import hints, mutants

QUICK = (
    "chained",
    "choices",
    "groups",
    "disjoint",
    "concentrated",
    "noises",
    "chosen",
    "sample",
    "subsets",
    "attack",
    "advantage",
    "unsampled",
    "divergence",
    "ruled-out",
    "listed",
)
LONG = {
    "training": 1,
    "integers": 1,
    "curves": 5,
    "points": 3,
    "selected": 1,
    "tuned": 1,
    "restated": 7,
    "samples": 23,
    "rough": 41,
    "converted": 11,
    "mixed": 1,
}  # every n-th mutant


def _survivors(name: str, stride: int = 1) -> list[str]:
    """Mutants that verify although they claim no less and assume the same."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    original = check_text(text)
    assert isinstance(original, VerifiedUnder)
    found = []
    for what, document, weaker in islice(mutants(text), 0, None, stride):
        verdict = check_text(json.dumps(document))
        if isinstance(verdict, Rejected) or weaker:
            continue
        assert isinstance(verdict, VerifiedUnder)
        if verdict.assumptions == original.assumptions:
            found.append(what)
    return found


@pytest.mark.parametrize("stride", [4, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", QUICK)
def test_mutants_are_rejected(name: str, stride: int) -> None:
    """No damage survives, but for a weaker statement or one that the verdict shows as assumed."""
    assert _survivors(name, stride) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_mutants_of_long_certificates_are_rejected(name: str) -> None:
    """The same for certificates that take longer to check, at the longest for a part of them."""
    assert _survivors(name, LONG[name]) == []


def test_mutants_of_a_lower_bound_are_true_or_rejected() -> None:
    """A damaged certificate that verifies says what is true of the product that it names."""
    text = (FOLDER / "lower-rough.json").read_text(encoding="utf-8")
    assert isinstance(check_text(text), Verified)
    accepted, rejected = 0, 0
    for _, document, _ in islice((*mutants(text), *hints(text)), 0, None, 4):
        if isinstance(check_text(json.dumps(document)), Rejected):
            rejected += 1
            continue
        claim = document["claim"]
        (factor,) = claim["product"]
        pair = LaplacePair(epsilon=Fraction(factor["pair"]["epsilon"]))
        product = Product((Factor(pair, factor["count"]),))
        epsilon, delta = float(Fraction(claim["epsilon"])), Fraction(claim["delta"])
        assert delta <= Fraction(answers.delta(product, epsilon).upper)
        accepted += 1

    assert accepted < rejected


@pytest.mark.parametrize("name", ["choices", "disjoint"])
def test_hints_change_no_claim(name: str) -> None:
    """Another hint proves the same claim or nothing."""
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    original = check_text(text)
    for _, document, _ in hints(text):
        verdict = check_text(json.dumps(document))
        assert isinstance(verdict, Rejected) or verdict == original


def test_statements_that_are_assumed_are_shown() -> None:
    """A parameter that only an assumption holds is visible in the verdict."""
    text = (FOLDER / "disjoint.json").read_text(encoding="utf-8")
    changed = text.replace('"epsilon": "1/2", "relation"', '"epsilon": "1/4", "relation"', 1)
    before, after = check_text(text), check_text(changed)

    assert isinstance(before, VerifiedUnder)
    assert isinstance(after, VerifiedUnder)
    assert before.assumptions != after.assumptions
