"""What ``certify`` says where it has no proof: no Python, and no advice for another question."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpproof import mechanisms as m
from dpproof.accountant import (
    GDP,
    L1,
    L2,
    AddRemove,
    Guarantee,
    LInf,
    NotCertified,
    Poisson,
    TruncatedNegativeBinomial,
    compose,
    select,
)
from dpproof.accountant.guarantees.guarantee import pair_in_words
from dpproof.accountant.run_counts.law import PoissonRuns
from tests.accountant.certificates.pipelines import PYTHON, misplaced

RUNS = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))


def _canonical() -> Guarantee[Any]:
    noise = m.CanonicalNoise(epsilon=2, delta=1e-3, sensitivity=L1(1))
    return noise.subsample(Poisson(sampling_rate=Fraction(41, 1000))).repeat(2).guarantee()


def _best() -> Guarantee[Any]:
    return m.ExponentialMechanism(epsilon=1, sensitivity=LInf(1)).select(RUNS).guarantee()


def _little_noise() -> Guarantee[Any]:
    sampled = m.Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.01))
    return sampled.repeat(3).guarantee()


REFUSED: list[tuple[Any, dict[str, Any]]] = [
    (_canonical, {"delta": 1e-7}),
    (_canonical, {"order": 17}),
    (_best, {"advantage": True, "lower": True}),
    (_best, {"false_positive_rate": 0.01, "lower": True}),
    (lambda: select(compose(_best(), GDP(mu=1)), RUNS), {"delta": 1e-6, "lower": True}),
    (_little_noise, {"order": 1500}),
    (_little_noise, {"order": 1500, "lower": True}),
]
"""Questions without a certificate, each for another reason."""


@pytest.mark.parametrize(
    ("make", "asked"), REFUSED, ids=lambda one: getattr(one, "__name__", str(one))
)
def test_refusals_are_for_readers(make: Any, asked: dict[str, Any]) -> None:  # noqa: ANN401
    """A refusal shows no Python, and names no parameter that was not asked for."""
    with pytest.raises(NotCertified) as refused:
        make().certify(**asked)
    text = str(refused.value)

    assert not PYTHON.search(text), text
    assert misplaced(text, asked) == []


@pytest.mark.parametrize(
    ("rate", "epsilon"), [(Fraction(1, 10**4), 1), (Fraction(1, 10**6), Fraction(1, 10))]
)
def test_next_to_nothing_is_proved_by_chernoff(rate: Fraction, epsilon: Fraction) -> None:
    """Of much noise a delta below all floats is proved as some tiny one, and not refused."""
    noise = m.Gaussian(sigma=20, sensitivity=L2(1)).subsample(Poisson(sampling_rate=rate))
    guarantee = noise.repeat(10).guarantee()
    claim = guarantee.certify(epsilon=epsilon).claim

    assert guarantee.delta(epsilon=epsilon).upper <= Fraction(str(claim["delta"])) <= 1e-30


@pytest.mark.parametrize(
    ("make", "epsilon"),
    [
        (lambda: m.Histogram(scale=11, noise="gaussian", relation=AddRemove()), Fraction(13, 4)),
        (
            lambda: (
                m.Gaussian(sigma=2, sensitivity=L2(1))
                .subsample(Poisson(sampling_rate=Fraction(36, 10_000)))
                .repeat(100)
            ),
            Fraction(3, 2),
        ),
    ],
    ids=["counts", "training"],
)
def test_tiny_deltas_that_no_sum_is_near(make: Any, epsilon: Fraction) -> None:  # noqa: ANN401
    """A delta below 1e-31 is proved as a larger one of at most 1e-30."""
    guarantee = make().guarantee()
    claim = guarantee.certify(epsilon=epsilon).claim

    assert 0 < guarantee.delta(epsilon=epsilon).upper <= Fraction(str(claim["delta"])) <= 1e-30


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", [{"advantage": True}, {"false_positive_rate": 0.01}], ids=["advantage", "power"]
)
def test_attacks_on_rare_samples(asked: dict[str, Any]) -> None:
    """Two rare samples leak so little that only tilts far to the left are short enough."""
    noise = m.Gaussian(sigma=4, sensitivity=L2(1)).subsample(Poisson(sampling_rate=0.001))
    guarantee = noise.repeat(2).guarantee()
    claim = guarantee.certify(**asked).claim
    known = guarantee.advantage() if "advantage" in asked else None
    bound = guarantee.true_positive_rate(false_positive_rate=0.01) if known is None else known
    proved = Fraction(str(claim["advantage" if known else "true_positive_rate"]))

    assert bound.upper <= proved <= bound.upper * 1.02  # a long contour would be 1e-6 above


def test_pairs_in_words() -> None:
    """Kinds and plain numbers, without the parts that a pair is made of."""
    ((one,),) = [noise.to_pair().forward.factors for noise in (_little_noise(),)]

    expected = "a subsampled Gaussian pair with mu squared = 1, sampling rate = 0.01"
    assert pair_in_words(one.pair) == expected
    assert pair_in_words(PoissonRuns(rate=2)) == "Poisson runs with rate = 2"
    finite = m.FiniteMechanism(
        [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 4), Fraction(3, 4)]], relation=AddRemove()
    )
    assert finite.repeat(3).guarantee().describe() == "dominated by a finite pair, 3 times"
