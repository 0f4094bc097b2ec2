"""What ``certify`` returns was verified, on calls that used to return what the checker rejects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dpproof import mechanisms as m, proofs
from dpproof.accountant import (
    GDP,
    L2,
    AddRemove,
    ApproxDP,
    Guarantee,
    LInf,
    NotCertified,
    Poisson,
    PrivacyProfile,
    PureDP,
    ReplaceOne,
    WithoutReplacement,
    compose,
    convert,
    group,
    mixture,
    select,
    select_above,
    self_compose,
)
from dpproof.accountant.certificates import certify
from dpproof.accountant.certificates.checked import checked
from dpproof.accountant.certificates.prove import prove_point
from dpproof.accountant.run_counts.truncated_negative_binomial import TruncatedNegativeBinomial
from dpproof.proofs import Certificate
from dpproof.proofs.certificate import show_rational

RUNS = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))
SUBSET = WithoutReplacement(sample_size=100, population_size=1000)
REPLACED = ReplaceOne()


def _response(epsilon: float) -> Any:  # noqa: ANN401
    return m.RandomizedResponse(epsilon=epsilon, relation=REPLACED).subsample(SUBSET)


def _best() -> Any:  # noqa: ANN401
    return m.ExponentialMechanism(epsilon=1, sensitivity=LInf(1), relation=REPLACED).select(RUNS)


def _objective() -> Any:  # noqa: ANN401
    sampled = m.LogisticObjective(sigma=3, regulariser=1)
    return sampled.subsample(Poisson(sampling_rate=Fraction(1, 100))).repeat(2)


@pytest.mark.parametrize("asked", [{"delta": 1e-6}, {"epsilon": 1}])
def test_samples_of_floored_pairs(asked: dict[str, Any]) -> None:
    """Two minima of sampled objectives with little regularisation are certified at the number."""
    guarantee = _objective().guarantee()
    claim = guarantee.certify(**asked).claim
    known = guarantee.epsilon(delta=1e-6) if "delta" in asked else guarantee.delta(epsilon=1)
    proved = Fraction(str(claim["epsilon" if "delta" in asked else "delta"]))

    assert known.upper <= proved <= known.upper * (1 + 1e-6)


@pytest.mark.parametrize("order", [2, 32])
@pytest.mark.parametrize("epsilon", [0.25, 2])
def test_divergences_of_samples_beside_a_selection(epsilon: float, order: int) -> None:
    """The divergence of a fixed-size sample is stated at what its table proves."""
    both = m.compose(_response(epsilon), _best()).guarantee()
    alone = _response(epsilon).guarantee().rdp(order=order).lower
    ((_, value),) = _points(both.certify(order=order))

    assert value > alone


@pytest.mark.slow
def test_a_selection_of_a_thousand_sparse_vectors() -> None:
    """Bounds that are 1 at small epsilons, and costs of 1e-90, do not spoil a certificate."""
    once = m.AboveThreshold(threshold_scale=2, query_scale=4, sensitivity=LInf(1))
    guarantee = once.repeat(1000).select(RUNS).guarantee()
    proved = Fraction(str(guarantee.certify(delta=1e-6).claim["epsilon"]))
    upper = guarantee.epsilon(delta=1e-6).upper

    assert upper <= proved <= upper * (1 + 2e-4)


def test_a_fact_at_which_nothing_is_claimed() -> None:
    """A delta of 1 at a small epsilon beside others costs a group nothing."""
    finite = m.FiniteMechanism(
        table=[[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)]],
        neighbours=[(0, 1), (1, 0)],
    )
    chosen = m.ExponentialMechanism(epsilon=1, sensitivity=LInf(1))
    parts = [self_compose(one.guarantee(), 100) for one in (finite, chosen)]
    try:
        certificate = group(compose(*parts), size=2).certify(delta=1e-6)
    except NotCertified as refusal:
        assert "the checker rejects" not in str(refusal)  # noqa: PT017  # refused is allowed
    else:
        assert proofs.check(certificate).ok


def _ranges() -> Guarantee[Any]:
    return self_compose(_chosen(1), 2)


def _chosen(epsilon: float) -> Guarantee[Any]:
    return m.ExponentialMechanism(epsilon=epsilon, sensitivity=LInf(1)).guarantee()


@pytest.mark.parametrize(
    ("make", "asked"),
    [
        (lambda: group(_ranges(), size=2), {"delta": 1e-6}),
        (lambda: group(_ranges(), size=3), {"advantage": True}),
        (lambda: convert(_ranges(), to=PrivacyProfile, epsilons=[0.5, 1, 2]), {}),
        (lambda: convert(_ranges(), to=ApproxDP, delta=1e-6), {}),
        (lambda: convert(_ranges(), to=PureDP), {}),
        pytest.param(lambda: select(_ranges(), RUNS), {"delta": 1e-6}, marks=pytest.mark.slow),
        pytest.param(
            lambda: compose(select(_ranges(), RUNS), GDP(mu=1)),
            {"delta": 1e-6},
            marks=pytest.mark.slow,
        ),
        (lambda: select_above(_ranges(), RUNS), {"delta": 1e-6}),
        (lambda: mixture([_ranges(), _chosen(0.5)], weights=[0.5, 0.5]), {"delta": 1e-6}),
    ],
    ids=["group", "attack", "profile", "approx", "pure", "best", "beside", "above", "either"],
)
def test_what_follows_from_composed_bounded_ranges(
    make: Callable[[], Guarantee[Any]], asked: dict[str, Any]
) -> None:
    """Their exact worst case has no rule: whatever is made of them is proved of logistic pairs."""
    assert proofs.check(make().certify(**asked)).ok


def test_what_is_rejected_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A producer that claims too little is found out at the door, with the checker's reason."""

    def too_small(steps: Any, *others: Any) -> None:  # noqa: ANN401
        prove_point(steps, *others)
        last = steps.listed[-1]
        epsilon = show_rational(Fraction(str(last.conclusion["epsilon"])) / 2)
        steps.listed[-1] = replace(last, conclusion={**last.conclusion, "epsilon": epsilon})

    monkeypatch.setattr(certify, "prove_point", too_small)

    with pytest.raises(
        NotCertified, match=r"the checker rejects .*convert/pair-approx: no bound of each"
    ):
        m.Gaussian(sigma=1, sensitivity=L2(1)).guarantee().certify(delta=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        lambda: GDP(mu=1, relation=AddRemove()).certify(delta=1e-6),
        lambda: PureDP(epsilon=1, relation=AddRemove()).certify(),
        lambda: GDP(mu=1, relation=AddRemove()).certify(delta=1e-6, lower=True),
    ],
)
def test_every_way_out_is_checked(
    make: Callable[[], Certificate], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upper ends, statements and lower ends all pass the same door."""
    asked: list[Certificate] = []

    def seen(certificate: Certificate) -> Certificate:
        asked.append(certificate)
        return checked(certificate)

    monkeypatch.setattr(certify, "checked", seen)

    assert asked == [make()]


def _points(certificate: Certificate) -> list[tuple[Fraction, Fraction]]:
    """Return the points of a claim."""
    points: Any = certificate.claim["points"]
    return [(Fraction(order), Fraction(value)) for order, value in points]
