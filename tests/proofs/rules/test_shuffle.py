"""The checker's rules for shuffled local reports."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import BallsInBins, PureDP, ReplaceOne, Shuffle
from dpproof.accountant.theorems.allocation import allocate_random
from dpproof.accountant.theorems.parallel import shuffle_pure, shuffle_randomized_response
from dpproof.proofs import Rejected, VerifiedUnder
from dpproof.proofs.balls.integer_laws import Counts
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.limits import MAX_LAYERS
from dpproof.proofs.rules.shuffle import Reports

Document = dict[str, Any]


@functools.cache
def certified(categories: int | None, records: int = 20) -> str:
    """A certificate of shuffled reports, of randomised response or of any."""
    scheme = Shuffle(records=records)
    if categories is None:
        report = PureDP(epsilon=1, relation=ReplaceOne())
        return shuffle_pure(report, scheme=scheme).certify(delta=1e-3).to_json()
    found = shuffle_randomized_response(
        epsilon=1, categories=categories, scheme=scheme, relation=ReplaceOne()
    )
    return found.certify(delta=1e-3).to_json()


def response(records: int = 20, categories: int = 3) -> Document:
    """A certificate of shuffled randomised response."""
    document: Document = json.loads(certified(categories, records))
    return document


def clones() -> Document:
    """A certificate of any shuffled reports."""
    document: Document = json.loads(certified(None))
    return document


@functools.cache
def _allocated() -> str:
    epoch = allocate_random(PureDP(epsilon=1), BallsInBins(steps=20, epochs=2))
    return epoch.certify(delta=1e-3).to_json()


def bits() -> Document:
    """A certificate of rounds that a record draws."""
    document: Document = json.loads(_allocated())
    return document


def step_of(document: Document, rule: str) -> Document:
    """The step of a rule."""
    step: Document = next(one for one in document["steps"] if one["rule"] == rule)
    return step


def verdict(document: Document) -> Any:  # noqa: ANN401
    """What the checker says."""
    return proofs.check_text(json.dumps(document))


def rejections(rule: str) -> list[bool]:
    """Whether the checker rejects a certificate by a rule, and the same of fewer records."""
    make = {"shuffle/pure-dp": clones, "allocate/pure-dp": bits}.get(rule, response)
    false = make()
    step_of(false, rule)["witness"].update({"rounds" if make is bits else "records": 19})
    return [isinstance(verdict(document), Rejected) for document in (make(), false)]


def test_accepts_and_says_what_is_assumed() -> None:
    """The categories, the number of records, and that only the histogram is seen."""
    found = verdict(response())

    assert isinstance(found, VerifiedUnder)
    assert "each of 20 records one of 3 categories" in found.assumptions[0]
    assert "how often each category was reported" in found.assumptions[0]
    assert isinstance(verdict(clones()), VerifiedUnder)
    assert isinstance(verdict(response(categories=2)), VerifiedUnder)
    allocated = verdict(bits())
    assert isinstance(allocated, VerifiedUnder)
    assert "all rounds 2 times, rounds of which every record draws 1 of 20" in " ".join(
        allocated.assumptions
    )


SABOTAGE: dict[str, tuple[Callable[[Document], object], str]] = {
    "fewer records": (lambda s: s["witness"].update(records=19), "may be"),
    "less noise": (lambda s: s["witness"].update(epsilon="11/10"), "may be"),
    "no first node": (lambda s: s["witness"].update(nodes=s["witness"]["nodes"][1:]), "begin at 0"),
    "one node": (lambda s: s["witness"].update(nodes=[0]), "third category"),
    "nodes that fall": (lambda s: s["witness"].update(nodes=[0, 3, 2]), "must grow"),
    "a gap": (lambda s: s["witness"].update(groups=[[0, 3], [4, 21]]), "follow each other"),
    "no blocks": (lambda s: s["witness"].update(groups=[]), "follow each other"),
    "few blocks": (lambda s: s["witness"].update(groups=[[6, 7]]), "may be"),
    "a large epsilon": (lambda s: s["witness"].update(epsilon="33"), "at most 32"),
    "next to nothing": (lambda s: s["witness"].update(epsilon="1/" + "9" * 25), "too small"),
    "another relation": (lambda s: s["conclusion"].update(relation="add-remove"), "replace-one"),
    "many layers": (lambda s: s["witness"].update(nodes=[*range(MAX_LAYERS)]), "layers"),
    "many records": (lambda s: s["witness"].update(records=10**9), "whole number"),
}


def _swapped(step: Document) -> None:
    claim = step["conclusion"]
    claim["forward"], claim["backward"] = claim["backward"], claim["forward"]


def _alike(step: Document, **said: object) -> None:
    claim = step["conclusion"]
    claim.update(backward=claim["forward"], **said)


FALSE_BITS: dict[str, tuple[Callable[[Document], object], str]] = {
    "fewer rounds": (lambda s: s["witness"].update(rounds=19), "may be"),
    "more epochs": (lambda s: s["witness"].update(epochs=3), "may be"),
    "two of them": (lambda s: s["witness"].update(chosen=2), "draws one round"),
    "long kept": (lambda s: s["witness"].update(epochs=33), "at most 32"),
    "swapped": (_swapped, "may be"),
    "a replacement": (lambda s: _alike(s, relation="replace-one"), "add-remove"),
    "of several records": (lambda s: _alike(s, steps=2), "one record"),
}


@pytest.mark.parametrize("name", [*SABOTAGE, *FALSE_BITS])
def test_rejects_sabotage(name: str) -> None:
    """Whatever would make the pair too small, or the layers no cover."""
    change, reason = {**SABOTAGE, **FALSE_BITS}[name]
    document = bits() if name in FALSE_BITS else response()
    rule = "allocate/pure-dp" if name in FALSE_BITS else "shuffle/randomized-response"
    change(step_of(document, rule))
    found = verdict(document)

    assert isinstance(found, Rejected)
    assert reason in found.reason


def test_rejects_clones_of_a_weaker_report() -> None:
    """The premise's epsilon counts, and only pure DP is a premise."""
    document = clones()
    for step in document["steps"]:
        if step["rule"] == "state/pure-dp":
            step["conclusion"]["epsilon"] = "6/5"
    found = verdict(document)

    assert isinstance(found, Rejected)
    assert "may be" in found.reason


def test_rejects_clones_of_several_records() -> None:
    """The theorem is about one record."""
    document = clones()
    step_of(document, "shuffle/pure-dp")["conclusion"].update(steps=2)
    found = verdict(document)

    assert isinstance(found, Rejected)
    assert "one record" in found.reason


def test_refuses_rough_odds() -> None:
    """A law between odds that are far apart has no digits."""
    reports = Reports(
        records=10, power=(Fraction(2), Fraction(3)), spare=1, clones=False, groups=[], nodes=[0]
    )
    with pytest.raises(RefusedError, match="too small"):
        reports.law(10, (Fraction(1), Fraction(3, 2)))


def test_rejects_the_pair_of_three_atoms() -> None:
    """It forgets that nobody sees whose report is elsewhere, and is below the truth."""
    own, other = math.e / (math.e + 2), 1 / (math.e + 2)
    law: dict[tuple[int, int], list[float]] = {}
    for bits, chance in (((1, 0), other), ((0, 1), other), ((0, 0), 1 - 2 * other)):
        for first, second, p, q in (
            (1, 0, own, other),
            (0, 1, other, own),
            (0, 0, 1 - own - other, 1 - own - other),
        ):
            at = law.setdefault((bits[0] + first, bits[1] + second), [0.0, 0.0])
            at[0] += chance * p
            at[1] += chance * q
    laws = []
    for k in (0, 1):
        masses = [Fraction(round(2**40 * one[k]), 2**40) for one in law.values()]
        laws.append([str(one) for one in (1 - sum(masses[1:]), *masses[1:])])
    pair = {"kind": "finite", "p": laws[0], "q": laws[1]}
    document = response(records=2)
    step = step_of(document, "shuffle/randomized-response")
    factor = [{"count": 1, "pair": pair}]
    step["conclusion"].update(forward=factor, backward=factor)
    document.update(steps=[step], claim=step["conclusion"])
    found = verdict(document)

    assert isinstance(found, Rejected)
    assert "may be" in found.reason


@pytest.mark.some(6)
@pytest.mark.parametrize("trials", [0, 1, 40, 300])
@pytest.mark.parametrize("odds", [Fraction(1), Fraction(1, 9), Fraction(50)], ids=str)
def test_counts_enclose_exact_masses(trials: int, odds: Fraction) -> None:
    """Masses from above, tails from below, and no more than slips away."""
    law, rate = Counts(trials, odds), odds / (1 + odds)
    exact = [math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(trials + 1)]
    for k in range(-1, trials + 3):
        mass, tail = exact[k] if 0 <= k <= trials else 0, sum(exact[max(k, 0) :])
        assert mass <= Fraction(law.mass(k), law.total)
        assert Fraction(law.tail(k), law.total) <= tail
        assert tail - Fraction(law.tail(k) + 2 * law.lost, law.total) <= 0
