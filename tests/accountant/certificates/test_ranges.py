"""Certificates of composed bounded ranges prove nearly what the recursion brackets."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

import dpproof as dp
from dpproof import proofs
from dpproof.accountant import BoundedRange, compose, group, post_process, self_compose
from dpproof.accountant.certificates import base_profile
from dpproof.accountant.errors import NotCertified
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.proofs import Certificate, Rejected, VerifiedUnder
from dpproof.proofs.certificate import show_rational

RULE = "compose/ranges"
DELTA = 1e-6
ONE = dp.LInf(1)


def picked(epsilon: float) -> Any:  # noqa: ANN401
    """The exponential mechanism."""
    return dp.ExponentialMechanism(epsilon=epsilon, sensitivity=ONE)


def proved(guarantee: Guarantee[Any], delta: float = DELTA) -> tuple[float, Certificate]:
    """The epsilon that a verified certificate proves."""
    certificate = guarantee.certify(delta=delta)
    assert isinstance(proofs.check(certificate), VerifiedUnder)
    return float(Fraction(str(certificate.claim["epsilon"]))), certificate


def rules(certificate: Certificate) -> list[str]:
    """The rules of its steps."""
    return [step.rule for step in certificate.steps]


@pytest.mark.slow
def test_a_hundred_exponential_mechanisms() -> None:
    """The public call proves 34.88, where a product of logistic pairs has 41.497."""
    guarantee = picked(1).repeat(100).guarantee()
    found, certificate = proved(guarantee)
    verdict = proofs.check(certificate)

    assert isinstance(verdict, VerifiedUnder)
    assert guarantee.epsilon(delta=DELTA).lower < found < 34.88
    assert "runs M1 100 times" in verdict.assumptions[1]
    assert RULE in rules(certificate)


@pytest.mark.slow
def test_beside_gaussian_noise() -> None:
    """50 of them and five Gaussian releases: less than zCDP implies, 25.20."""
    noisy = dp.Gaussian(sigma=2, sensitivity=dp.L2(1)).repeat(5)
    guarantee = dp.compose(picked(1).repeat(50), noisy).guarantee()
    found, _ = proved(guarantee)
    bracket = guarantee.epsilon(delta=DELTA)

    assert bracket.lower < found < bracket.upper * (1 + 3e-4) < 23.4


MECHANISMS: dict[str, Callable[[], Any]] = {
    "top k": lambda: dp.TopK(picked(1), k=5).repeat(3),
    "quantile": lambda: dp.Quantile(
        epsilon=1, q=0.5, candidates=[1, 2, 3], relation=dp.AddRemove()
    ).repeat(5),
    "gumbel": lambda: dp.ReportNoisyMax(epsilon=0.5, noise="gumbel", sensitivity=dp.LInf(1)).repeat(
        9
    ),
    "generalised": lambda: dp.mechanisms.GeneralisedExponential(
        epsilon=1, sensitivities=[1, 2], relation=dp.AddRemove()
    ).repeat(4),
    "one by one": lambda: dp.compose(*[picked(1) for _ in range(4)]),
    "two lengths": lambda: dp.compose(picked(1).repeat(3), picked(0.5).repeat(3), picked(2)),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_of_bounded_range(name: str) -> None:
    """Whatever states a bounded range has such a certificate, and no lower end of a pair."""
    guarantee = MECHANISMS[name]().guarantee()
    found, certificate = proved(guarantee)
    bracket = guarantee.epsilon(delta=DELTA)

    assert RULE in rules(certificate)
    assert bracket.lower <= found <= bracket.upper * (1 + 5e-4)
    with pytest.raises(NotCertified, match="no one pair that attains"):
        guarantee.certify(delta=DELTA, lower=True)


@pytest.mark.parametrize(
    "seed", [0, 3, 4, 7, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2, 5, 6))]
)
def test_never_below_the_bracket(seed: int) -> None:
    """At random ranges, counts and deltas the proved number is next to the bracket, and above."""
    rng = random.Random(seed)  # noqa: S311  # reproducible
    epsilon, count = 10 ** rng.uniform(-2, 0.7), rng.randint(2, 30)
    guarantee, delta = (
        self_compose(BoundedRange(epsilon=epsilon), count),
        10 ** rng.uniform(-12, -1),
    )
    found, certificate = proved(guarantee, delta)
    bracket = guarantee.epsilon(delta=delta)

    assert RULE in rules(certificate)
    assert bracket.lower <= found <= bracket.upper * (1 + 1e-3)


def test_other_questions() -> None:
    """Delta at an epsilon, the advantage, and what follows a composition."""
    guarantee = post_process(self_compose(BoundedRange(epsilon=0.5), 6), description="rounding")
    for question in ({"epsilon": 1}, {"advantage": True}, {"false_positive_rate": 0.01}):
        certificate = guarantee.certify(**question)

        assert isinstance(proofs.check(certificate), VerifiedUnder)
        assert RULE in rules(certificate)


def test_of_groups() -> None:
    """Ranges of groups are counted as those of records are."""
    wide = group(BoundedRange(epsilon=0.25), size=2)
    found, certificate = proved(self_compose(wide, 6))

    assert certificate.claim["steps"] == 2
    assert found == pytest.approx(proved(self_compose(BoundedRange(epsilon=0.5), 6))[0], rel=1e-6)


@pytest.mark.slow
def test_more_than_one_recursion_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six are two pairs above three; that costs more than one pair above six."""
    guarantee = self_compose(BoundedRange(epsilon=1), 6)
    together = proved(guarantee)[0]
    monkeypatch.setattr(base_profile, "_MOST_AT_ONCE", 3)
    found, certificate = proved(guarantee)
    step = next(step for step in certificate.steps if step.rule == RULE)

    forward: Any = step.conclusion["forward"]
    assert forward[0]["count"] == 2
    assert together < found < 6


@pytest.mark.parametrize(
    "make",
    [
        lambda: self_compose(BoundedRange(epsilon=40), 3),
        lambda: self_compose(BoundedRange(epsilon=30), 25),
        pytest.param(lambda: self_compose(BoundedRange(epsilon=15), 46), marks=pytest.mark.slow),
        lambda: compose(BoundedRange(epsilon=1), BoundedRange(epsilon=2)),
    ],
    ids=["long", "many bits", "far", "one of each"],
)
def test_logistic_pairs_are_left(make: Callable[[], Guarantee[Any]]) -> None:
    """Ranges that are too long, or of which each is there once, are certified as before."""
    assert RULE not in rules(proved(make())[1])


def forged(certificate: Certificate, change: Callable[[list[Any]], None]) -> proofs.Verdict:
    """What the checker says to a certificate with other steps."""
    document = json.loads(certificate.to_json())
    change(document["steps"])
    document["claim"] = document["steps"][-1]["conclusion"]
    return proofs.check_text(json.dumps(document))


def claimed(epsilon: float) -> Callable[[list[Any]], None]:
    """Another epsilon, in the claim and in the fact that it rests on."""

    def change(steps: list[Any]) -> None:
        for step in steps[-2:]:
            step["conclusion"]["epsilon"] = show_rational(Fraction(epsilon))

    return change


def counted(steps: list[Any]) -> None:
    """One mechanism more."""
    steps[1]["witness"]["counts"] = [7]


def coarse(steps: list[Any]) -> None:
    """Few cells."""
    steps[1]["witness"]["grids"][0]["cells"] = 8


def longer(steps: list[Any]) -> None:
    """A longer range."""
    steps[0]["conclusion"]["epsilon"] = "1000001/1000000"


def test_forged_certificates() -> None:
    """A smaller number, more mechanisms, a longer range and a coarser grid are rejected."""
    guarantee = self_compose(BoundedRange(epsilon=1), 6)
    certificate = guarantee.certify(delta=DELTA)
    low = guarantee.epsilon(delta=DELTA).lower

    assert isinstance(forged(certificate, lambda _: None), VerifiedUnder)
    for change in (claimed(low * (1 - 1e-9)), counted, coarse, longer):
        assert isinstance(forged(certificate, change), Rejected), change
