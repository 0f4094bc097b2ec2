"""Lower ends of powers, advantages and Renyi divergences: verified, and close to the engine's."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    RDP,
    AddRemove,
    Bound,
    BoundedRange,
    NotCertified,
    ParameterError,
    Poisson,
    TruncatedNegativeBinomial,
    group,
    select,
    self_compose,
)
from dpproof.mechanisms import Gaussian, Laplace, RandomizedResponse
from dpproof.proofs import Certificate, Rejected, Verified
from tests.accountant.certificates.hockey_sticks import KNOWN

EXACT = ("training", "noises", "integers", "choices", "gdp", "pure", "laplace", "responses")
TABLES = ("sampled whole noise", "samples beside noise")
SLOW = [name for name in KNOWN if name not in {*EXACT, *TABLES, "sampled once", "rough"}]
MORE = [
    *EXACT,
    "sampled once",
    *TABLES,
    *(pytest.param(one, marks=pytest.mark.slow) for one in SLOW),
]


def verified(certificate: Certificate, notion: str, name: str) -> Fraction:
    """The number of a fact, if the checker accepts it without any assumption."""
    verdict = proofs.check(certificate)
    assert isinstance(verdict, Verified), verdict
    assert certificate.claim["notion"] == notion
    return Fraction(str(certificate.claim[name]))


def close(found: Fraction, bound: Bound, slip: float) -> bool:
    """Whether a number is at most the upper end, and at most so much below the lower one."""
    return bound.lower * (1 - slip) <= found <= bound.upper


@pytest.mark.some(8)
@pytest.mark.parametrize("rate", [0.01, 0.6])
@pytest.mark.parametrize("name", MORE)
def test_powers(name: str, rate: float) -> None:
    """Two millionths below the engine's lower end, a thousandth where the checker has tables."""
    guarantee = KNOWN[name]()
    certificate = guarantee.certify(false_positive_rate=rate, lower=True)
    found = verified(certificate, "true-positive-rate-at-least", "true_positive_rate")
    bound = guarantee.true_positive_rate(false_positive_rate=rate)

    assert Fraction(str(certificate.claim["false_positive_rate"])) == Fraction(rate)
    assert close(found, bound, 3e-6 if name in {*EXACT, "sampled once"} else 2e-3)


@pytest.mark.parametrize("name", MORE)
def test_renyi_divergences(name: str) -> None:
    """A hundred-millionth below the engine's lower end where M is known in closed form."""
    guarantee = KNOWN[name]()
    found = verified(guarantee.certify(order=3, lower=True), "renyi-at-least", "value")

    slip = 1e-8 if name in {*EXACT, "sampled once"} else 1e-3
    assert close(found, guarantee.rdp(order=3), slip)


@pytest.mark.parametrize("name", MORE)
def test_advantages(name: str) -> None:
    """Delta at epsilon 0."""
    guarantee = KNOWN[name]()
    found = verified(
        guarantee.certify(advantage=True, lower=True), "hockey-stick-at-least", "delta"
    )

    slip = 1e-4 if name == "samples of whole noise" else 1e-6  # the engine knows their corners
    assert close(found, guarantee.advantage(), slip)


def test_both_ends_of_a_power() -> None:
    """One certificate from above, one from below, less than two millionths apart."""
    guarantee = KNOWN["training"]()
    low, high = (
        Fraction(str(guarantee.certify(false_positive_rate=0.01, lower=low).claim[RATE]))
        for low in (True, False)
    )

    assert low < high < low * (1 + Fraction(2, 10**6))


RATE = "true_positive_rate"


@pytest.mark.parametrize(
    ("question", "field"),
    [
        ({"false_positive_rate": 0.01}, RATE),
        ({"order": 3}, "value"),
        ({"advantage": True}, "delta"),
    ],
)
def test_a_larger_claim_is_rejected(question: dict[str, float], field: str) -> None:
    """What is a millionth too large has no such proof."""
    certificate = GDP(mu=1).certify(lower=True, **question)  # type: ignore[arg-type]
    old = str(certificate.claim[field])
    new = str(Fraction(old) * (1 + Fraction(1, 10**6)))
    verdict = proofs.check_text(certificate.to_json().replace(f'"{old}"', f'"{new}"'))

    assert isinstance(verdict, Rejected)


@pytest.mark.parametrize("rate", [Fraction(1, 500), Fraction(1, 10**8), Fraction(1, 10**15)])
@pytest.mark.parametrize(
    "make",
    [
        lambda rate: Gaussian(sigma=Fraction(26, 5), sensitivity=L2(1)).subsample(rate),
        lambda rate: RandomizedResponse(epsilon=0.1, relation=AddRemove()).subsample(rate),
    ],
    ids=["gaussian", "response"],
)
def test_small_divergences(make: Callable[[Poisson], Any], rate: Fraction) -> None:
    """However little a rare sample tells, it is proved to a millionth of itself."""
    sampled = make(Poisson(sampling_rate=rate)).guarantee()
    bound = sampled.rdp(order=6)
    found = verified(sampled.certify(order=6, lower=True), "renyi-at-least", "value")

    assert bound.lower > 0
    assert close(found, bound, 1e-6)


def test_divergences_that_a_table_does_not_show() -> None:
    """A table knows M - 1 to 2^-52 only: what is not much larger has no such proof."""
    noise = Laplace(scale=2, sensitivity=L1(1))
    common, rare = (noise.subsample(Poisson(sampling_rate=q)).guarantee() for q in (1e-2, 1e-6))
    found = verified(common.certify(order=6, lower=True), "renyi-at-least", "value")

    assert close(found, common.rdp(order=6), 1e-3)
    with pytest.raises(NotCertified, match="larger order"):
        rare.certify(order=6, lower=True)


def test_an_understated_curve_is_refuted() -> None:
    """What holds asymptotically is claimed of a thousand steps: the truth is twice as much."""
    run = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01)).repeat(1_000)
    quoted = RDP(points=[(8, 1_000 * 8 * 0.01**2 / 2)]).rdp(order=8).upper
    found = verified(run.guarantee().certify(order=8, lower=True), "renyi-at-least", "value")

    assert found > 2 * quoted


def test_small_rates_of_bounded_losses() -> None:
    """Past the largest loss the true-positive rate is e^loss times the rate, or nearly."""
    rate = 1e-4
    noise = Laplace(scale=1, sensitivity=L1(1)).guarantee()
    certificate = noise.certify(false_positive_rate=rate, lower=True)

    assert verified(certificate, "true-positive-rate-at-least", RATE) > 2.7 * rate


def test_what_is_refused() -> None:
    """No question, no name for the pair, nothing between the rate and 1, no divergence."""
    chosen = select(GDP(mu=1), TruncatedNegativeBinomial(eta=1, gamma=0.5))
    with pytest.raises(NotCertified, match="not written for"):
        chosen.certify(false_positive_rate=0.1, lower=True)
    with pytest.raises(NotCertified, match="another rate"):
        GDP(mu=1).certify(false_positive_rate=0, lower=True)
    with pytest.raises(NotCertified, match="another rate"):
        GDP(mu=0).certify(false_positive_rate=0.5, lower=True)
    with pytest.raises(NotCertified, match="larger order"):
        GDP(mu=0).certify(order=2, lower=True)
    with pytest.raises(NotCertified, match="no finite lower end"):
        GDP(mu=1).certify(delta=Fraction(1, 2), lower=True)
    ranges = self_compose(BoundedRange(epsilon=0.1), 2)
    with pytest.raises(NotCertified, match="delta has no finite lower end above 0 at epsilon = 3"):
        group(ranges, size=2).certify(epsilon=3, lower=True)
    with pytest.raises(ParameterError):
        GDP(mu=1).certify(lower=True)
