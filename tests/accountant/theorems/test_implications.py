"""Restriction to datasets that differ in one label."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    RDP,
    BoundedRange,
    DominatingPair,
    Guarantee,
    L2Contribution,
    Poisson,
    PureDP,
    ReplaceLabel,
    ReplaceOne,
    WithoutReplacement,
    ZeroOut,
    compose,
    group,
    restrict,
)
from dpproof.accountant.errors import NotImplied, ParameterError
from dpproof.mechanisms import Gaussian, RandomizedResponse

ONE, LABEL = ReplaceOne(), ReplaceLabel()


def _sampled() -> DominatingPair[ReplaceOne]:
    noise = Gaussian(sigma=2, sensitivity=L2Contribution(1, ONE))
    found = noise.subsample(Poisson(sampling_rate=0.125)).guarantee()
    assert isinstance(found, DominatingPair)
    return found


@pytest.mark.parametrize(
    "guarantee",
    [
        GDP(mu=1, relation=ONE),
        PureDP(epsilon=1, relation=ONE),
        BoundedRange(epsilon=1, relation=ONE),
        RDP(points=((2, 1),), relation=ONE),
        group(GDP(mu=1, relation=ONE), size=3),
        _sampled(),
    ],
    ids=lambda guarantee: type(guarantee).__name__,
)
def test_answers_stay_and_certificates_follow(guarantee: Guarantee[ReplaceOne]) -> None:
    """The same numbers under the smaller relation, and the checker says which one."""
    found = restrict(guarantee)
    verdict = proofs.check(found.certify(delta=1e-5))

    assert found.relation == LABEL
    assert found.epsilon(delta=1e-5) == guarantee.epsilon(delta=1e-5)
    assert found.derivation.apart == guarantee.derivation.apart
    assert isinstance(verdict, proofs.VerifiedUnder)
    assert "for replace-label" in verdict.claim
    with pytest.raises(NotImplied, match="does not speak of a changed label"):
        restrict(found)  # type: ignore[arg-type]


def test_two_steps_of_add_remove_are_a_replacement() -> None:
    """Twice the mu, as Gaussian noise has it; the checker says which relation."""
    found = restrict(group(GDP(mu=1), size=2))
    verdict = proofs.check(found.certify(delta=1e-5))

    assert found.relation == ReplaceOne()
    assert found.derivation.apart == 1
    assert found.epsilon(delta=1e-5) == GDP(mu=2).epsilon(delta=1e-5)
    assert isinstance(verdict, proofs.VerifiedUnder)
    assert "for replace-one" in verdict.claim
    with pytest.raises(NotImplied, match="under ReplaceOne"):
        restrict(group(GDP(mu=1), size=3))


def test_other_relations_are_refused() -> None:
    """One step of add-remove or zero-out is no changed label; neither is a number."""
    wrong: Any
    for wrong in (GDP(mu=1), GDP(mu=1, relation=ZeroOut())):
        with pytest.raises(NotImplied, match="under ReplaceOne"):
            restrict(wrong)
    with pytest.raises(ParameterError, match="guarantee"):
        restrict(1)  # type: ignore[call-overload]


def test_it_composes_with_what_is_stated_for_labels() -> None:
    """A restricted guarantee and one stated under replace-label are under one relation."""
    both = compose(restrict(GDP(mu=3, relation=ONE)), GDP(mu=4, relation=LABEL))

    assert both == GDP(mu=5, relation=LABEL)


def test_sampling_under_replace_label_is_refused() -> None:
    """No scheme has an amplification, whether or not the query is a sum of contributions."""
    noise = Gaussian(sigma=2, sensitivity=L2Contribution(1, LABEL))
    answer = RandomizedResponse(epsilon=1, relation=LABEL)
    for base in (noise, answer):
        for scheme in (
            Poisson(sampling_rate=0.5),
            WithoutReplacement(sample_size=1, population_size=2),
        ):
            with pytest.raises(NotImplied):
                base.subsample(scheme).guarantee()


def test_a_changed_label_moves_a_sum_by_two_contributions() -> None:
    """As under replace-one: opposite labels turn a contribution around."""
    assert L2Contribution(1, LABEL).as_l2().value == 2
    assert Gaussian(sigma=4, sensitivity=L2Contribution(1, LABEL)).guarantee().mu == (
        Fraction(1, 2)
    )


def test_amplification_would_be_false() -> None:
    """Randomised response on a sample with its public features has epsilon 1 at every rate."""
    rate, kept = Fraction(1, 10), Fraction(3, 4)  # e^epsilon = 3

    def law(label: int) -> dict[tuple[bool, int], Fraction]:
        answers = {said: kept if said == label else 1 - kept for said in (0, 1)}
        found = {(True, said): rate * mass for said, mass in answers.items()}
        return {**found, (False, 0): 1 - rate}

    ratios = [law(a)[key] / law(b)[key] for a, b in product((0, 1), repeat=2) for key in law(a)]
    claimed = 1 + rate * (3 - 1)

    assert max(ratios) == 3 > claimed
