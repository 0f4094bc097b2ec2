"""Certificates of lower ends: verified, and just below what the engine finds."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    ZCDP,
    ApproxDP,
    NotCertified,
    ParameterError,
    PureDP,
    TruncatedNegativeBinomial,
    answers,
    select,
)
from dpproof.mechanisms import DiscreteGaussian, Laplace, compose as mechanism_compose
from dpproof.proofs import Certificate, Rejected, Verified
from tests.accountant.certificates.hockey_sticks import KNOWN, samples
from tests.proofs.corpus import COMPUTATIONS, DELTA


def verified(certificate: Certificate) -> tuple[Fraction, Fraction]:
    """Epsilon and delta of the claim, if the checker accepts it without any assumption."""
    verdict = proofs.check(certificate)
    assert isinstance(verdict, Verified), verdict
    assert certificate.claim["notion"] == "hockey-stick-at-least"
    epsilon, delta = (certificate.claim[name] for name in ("epsilon", "delta"))
    return Fraction(str(epsilon)), Fraction(str(delta))


# The engine knows the corners of these samples, certificates place losses on a lattice.
BEHIND = {"samples of whole noise": 1e-3}


SLOW = {"samples of whole noise", "rough"}
NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in KNOWN]


@pytest.mark.parametrize("name", NAMES)
def test_epsilon_at_delta(name: str) -> None:
    """At the engine's lower end, or a millionth below."""
    guarantee = KNOWN[name]()
    epsilon, delta = verified(guarantee.certify(delta=DELTA, lower=True))
    lower = guarantee.epsilon(delta=DELTA).lower

    assert delta >= Fraction(DELTA)
    assert lower * (1 - BEHIND.get(name, 1e-6)) <= epsilon <= lower


@pytest.mark.parametrize("name", NAMES)
def test_delta_at_epsilon(name: str) -> None:
    """The same for delta."""
    guarantee = KNOWN[name]()
    epsilon, delta = verified(guarantee.certify(epsilon=0.75, lower=True))
    lower = guarantee.delta(epsilon=0.75).lower

    assert epsilon == Fraction(3, 4)
    assert lower * (1 - BEHIND.get(name, 1e-6)) <= delta <= lower


def test_beyond_the_largest_loss() -> None:
    """What is told outright stays, where the profile has a closed form."""
    told = ApproxDP(epsilon=1, delta=1e-3)
    epsilon, delta = verified(told.certify(epsilon=2, lower=True))

    assert epsilon == 2
    assert Fraction(1e-3) * (1 - Fraction(1, 10**6)) <= delta <= Fraction(1e-3)


def test_both_ends_enclose_the_answer() -> None:
    """One certificate from above, one from below, less than two millionths apart."""
    guarantee = COMPUTATIONS["training"]()
    low, _ = verified(guarantee.certify(delta=DELTA, lower=True))
    high = Fraction(str(guarantee.certify(delta=DELTA).claim["epsilon"]))

    assert low < high < low * (1 + Fraction(2, 10**6))


def test_a_larger_claim_is_rejected() -> None:
    """What is a hundred-millionth too large has no such proof."""
    certificate = GDP(mu=1).certify(delta=DELTA, lower=True)
    old = str(certificate.claim["epsilon"])
    new = str(Fraction(old) * (1 + Fraction(1, 10**8)))
    verdict = proofs.check_text(certificate.to_json().replace(f'"{old}"', f'"{new}"'))

    assert isinstance(verdict, Rejected)


def test_what_no_rule_covers_is_refused_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a number that no certificate can show."""

    def late(*_: object) -> None:
        raise AssertionError("the number was asked for")

    monkeypatch.setattr(answers, "delta", late)
    chosen = select(GDP(mu=1), TruncatedNegativeBinomial(eta=1, gamma=0.5))
    with pytest.raises(NotCertified, match="not written for"):
        chosen.certify(epsilon=1, lower=True)


@pytest.mark.slow
def test_what_is_refused() -> None:
    """No pair, no formula for it, no finite number, no question."""
    with pytest.raises(NotCertified, match="no dominating pair"):
        ZCDP(rho=1).certify(delta=DELTA, lower=True)
    with pytest.raises(NotCertified, match="not written for"):
        select(GDP(mu=1), TruncatedNegativeBinomial(eta=1, gamma=0.5)).certify(
            delta=DELTA, lower=True
        )
    with pytest.raises(NotCertified, match="at delta = 0"):
        GDP(mu=1).certify(delta=0, lower=True)
    with pytest.raises(NotCertified, match="no finite lower end above 0"):
        GDP(mu=0).certify(epsilon=1, lower=True)
    with pytest.raises(NotCertified, match="no finite lower end above 0"):
        PureDP(epsilon=1).certify(epsilon=1, lower=True)
    whole = DiscreteGaussian(sigma=2, sensitivity=L2(1))
    both = mechanism_compose(whole, Laplace(scale=2, sensitivity=L1(1)))
    with pytest.raises(NotCertified, match="too rough"):
        samples(both, 10).certify(epsilon=0.1, lower=True)
    with pytest.raises(ParameterError):
        GDP(mu=1).certify(lower=True)
