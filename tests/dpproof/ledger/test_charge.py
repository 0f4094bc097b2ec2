"""What a spend costs in each way, and how many of them a budget of (epsilon, delta) admits."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

import dpproof as dp
from dpproof.accountant import answers
from dpproof.accountant.theorems.composition import compose
from dpproof.ledger.ledger import Ledger
from dpproof.proofs import VerifiedUnder, check
from tests.dpproof.ledger.trainings import training


@pytest.mark.parametrize(
    ("before", "epsilon", "least"), [(0, 8, 50), (5, 8, 48), (0, 3, 8)], ids=str
)
def test_trainings_are_charged_as_divergences(
    tmp_path: Path, before: int, epsilon: int, least: int
) -> None:
    """Sampled trainings go on at a Renyi order where sums of epsilon end, after tables too."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=epsilon, delta=1e-6))
    table, run = dp.Gaussian(sigma=40, sensitivity=dp.L2(1)).guarantee(), training(1)
    for number in range(before):
        ledger.spend(table, key=f"table {number}")
    for number in range(least):
        ledger.spend(run, key=str(number))

    everything = compose(*[table] * before, *[run] * least)
    status = ledger.status().budgets[0]
    assert everything.epsilon(delta=1e-6).upper < epsilon
    assert not status.ways["basic"].open or least == 8
    assert ledger.verify().uncertified == ()
    assert isinstance(check(status.guarantee.certify()), VerifiedUnder)
    assert status.guarantee.certify().claim["epsilon"] == str(epsilon)
    with pytest.raises(dp.BudgetExceeded, match="divergence at order"):
        ledger.spend(compose(*[run] * 9), key="more")


def test_tables_after_a_training_are_charged_as_divergences(tmp_path: Path) -> None:
    """One training does not make later tables pay sums of epsilon."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=3, delta=1e-6))
    ledger.spend(training(1), key="training")
    for number in range(7):
        ledger.spend(dp.ZCDP(rho=Fraction(1, 50)), key=str(number))

    assert ledger.verify().uncertified == ()


def test_tables_alone_are_admitted_as_before(tmp_path: Path) -> None:
    """Shares of delta for divergences take none from Gaussians: 78 of sigma 40 in (1, 1e-6)."""
    ledger = Ledger.create(tmp_path / "ledger", budget=dp.ApproxDP(epsilon=1, delta=1e-6))
    for number in range(78):
        ledger.spend(dp.Gaussian(sigma=40, sensitivity=dp.L2(1)).guarantee(), key=str(number))

    assert ledger.status().budgets[0].ways["gdp"].open


def test_an_unbounded_loss_is_not_asked_for_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no epsilon bounds is told by its largest loss, without a search at delta = 0."""
    monkeypatch.setattr(answers, "larger_epsilon", None)
    with pytest.raises(dp.NotImplied, match="the loss is unbounded"):
        dp.convert(training(1), to=dp.PureDP)
