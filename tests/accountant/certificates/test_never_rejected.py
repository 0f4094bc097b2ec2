"""No certificate that the library writes is rejected: random compositions of selections.

The shares of the checker's work are made small, so that each certificate takes a second.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from dpproof.accountant import (
    GDP,
    L2,
    ApproxDP,
    BinomialRuns,
    DominatingPair,
    FixedRuns,
    Guarantee,
    NotCertified,
    Poisson,
    PoissonRuns,
    PureDP,
    TruncatedNegativeBinomial,
    compose,
    select,
    select_above,
)
from dpproof.accountant.certificates import best_of_runs, finite_pairs, threshold
from dpproof.accountant.certificates.best_of_runs import exact_curve
from dpproof.accountant.pairs.finite import FinitePair
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.law import RunLaw
from dpproof.mechanisms import Gaussian
from dpproof.proofs import Certificate, Rejected, check, limits
from dpproof.proofs.core.rule import Budget

QUARTER = Fraction(1, 4)
EIGHTH = PureDP(epsilon=Fraction(1, 8))
GEOMETRIC = TruncatedNegativeBinomial(eta=1, gamma=0.5)
BESIDE: dict[str, tuple[RunLaw, Guarantee[Any]]] = {
    "pure": (FixedRuns(count=2), EIGHTH),
    "approximate": (FixedRuns(count=2), ApproxDP(epsilon=Fraction(1, 8), delta=1e-4)),
    "gaussian": (GEOMETRIC, GDP(mu=1)),
}


@pytest.fixture(autouse=True)
def _short_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut the work and the ratios of every proof to a fortieth and to a few."""
    for name in ("_ALONE", "_AMONG"):
        monkeypatch.setattr(best_of_runs, name, getattr(best_of_runs, name) // 40)
    monkeypatch.setattr(best_of_runs, "_COUNT", 64)
    monkeypatch.setattr(finite_pairs, "_COUNT", 48)


def _part(rng: random.Random, *, delta: bool) -> Guarantee[Any]:
    """Return a pure, an approximate or a Gaussian guarantee."""
    epsilon = Fraction(rng.randint(1, 20), rng.choice([8, 10, 16]))
    kinds: list[Guarantee[Any]] = [PureDP(epsilon=epsilon), GDP(mu=epsilon)]
    return rng.choice([*kinds, ApproxDP(epsilon=epsilon, delta=1e-6)] if delta else kinds)


def _runs(rng: random.Random) -> RunLaw:
    """Return the law of a small number of runs."""
    share = Fraction(rng.randint(1, 3), 4)
    return rng.choice(
        [
            FixedRuns(count=rng.randint(2, 3)),
            PoissonRuns(rate=rng.randint(1, 5)),
            BinomialRuns(trials=rng.randint(2, 6), probability=share),
            TruncatedNegativeBinomial(eta=rng.choice([0, 1, 2]), gamma=share),
        ]
    )


def _accepted(certificate: Certificate) -> None:
    """Require that the checker accepts a certificate, under assumptions or without."""
    verdict = check(certificate)
    assert not isinstance(verdict, Rejected), verdict


@pytest.mark.parametrize("name", BESIDE)
def test_two_runs_beside_another_part(name: str) -> None:
    """Cuts at the corner of a pure base are at or beyond it, on the side that the checker sees."""
    runs, part = BESIDE[name]
    _accepted(compose(select(EIGHTH, runs), part).certify(delta=1e-2))


@pytest.mark.slow
@pytest.mark.parametrize("choose", [select, select_above])
def test_a_base_whose_directions_differ(
    choose: Callable[[Guarantee[Any], RunLaw], Guarantee[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither direction stands for the other, alone or beside another part."""
    monkeypatch.setattr(threshold, "_SHARE", threshold._SHARE // 20)
    one = Product.of(FinitePair(p=(Fraction(1, 2), Fraction(1, 2)), q=(Fraction(3, 4), QUARTER)))
    chosen = choose(DominatingPair(forward=one, backward=one.swapped()), FixedRuns(count=2))
    for total in (chosen, compose(chosen, EIGHTH)):
        certificate = total.certify(delta=1e-2)
        _accepted(certificate)
        assert Fraction(str(certificate.claim["epsilon"])) < 2


@pytest.mark.some(2)
@pytest.mark.parametrize("seed", [0, 1, 2, 4])
def test_compositions_of_selections(seed: int) -> None:
    """Whatever is composed with a selection, its certificate is accepted."""
    rng = random.Random(seed)  # noqa: S311  # reproducible
    chosen = select(_part(rng, delta=seed % 2 == 0), _runs(rng))
    others = [_part(rng, delta=True) for _ in range(rng.randint(0, 2))]
    _accepted(compose(chosen, *others).certify(delta=1e-2))


@pytest.mark.parametrize("seed", range(12))
def test_lower_ends(seed: int) -> None:
    """Lower ends of compositions are accepted, or refused where nothing can be shown."""
    rng = random.Random(seed)  # noqa: S311  # reproducible
    total = compose(*[_part(rng, delta=True) for _ in range(rng.randint(1, 6))])
    try:
        certificate = total.certify(delta=10.0 ** -rng.randint(2, 5), lower=True)
    except NotCertified as refusal:
        assert "lower" in str(refusal)  # noqa: PT017  # refusing is right, too
    else:
        _accepted(certificate)


def different_samples(count: int) -> Guarantee[Any]:
    """Return a composition of so many different subsampled Gaussians."""
    steps = [
        Gaussian(sigma=1 + Fraction(k, 50), sensitivity=L2(1))
        .subsample(Poisson(sampling_rate=Fraction(k + 1, 1000)))
        .guarantee()
        for k in range(count)
    ]
    return compose(*steps)


@pytest.mark.slow
def test_lower_ends_beyond_the_checkers_work_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer prices all rules of a lower end, and refuses what is above the limit."""
    spent: list[int] = []
    spend = Budget.spend

    def counted(self: Budget, amount: int) -> None:
        spent.append(amount)
        spend(self, amount)

    monkeypatch.setattr(Budget, "spend", counted)
    total = different_samples(20)
    certificate = total.certify(delta=1e-5, lower=True)
    spent.clear()
    _accepted(certificate)
    monkeypatch.setattr(limits, "MAX_WORK", sum(spent) - 1)
    with pytest.raises(NotCertified, match="more work than the checker accepts; certify"):
        total.certify(delta=1e-5, lower=True)


def test_corners_are_compared_exactly() -> None:
    """A float is at or beyond a rounded corner exactly if it is at or beyond the corner."""
    rng = random.Random(7)  # noqa: S311  # reproducible
    for _ in range(200):
        p = sorted(Fraction(rng.getrandbits(60), 1 << 60) for _ in range(2))
        masses = p[0], p[1] - p[0], 1 - p[1]
        base = exact_curve(FinitePair(p=masses, q=masses[::-1]))
        by_loss = sorted(zip(masses, masses[::-1], strict=True), key=lambda one: one[1] / one[0])
        corner = by_loss[0][0]
        for near in (float(corner), base.k[1], float(corner) * (1 - 2**-53)):
            assert (near >= base.k[1]) == (Fraction(near) >= corner)
