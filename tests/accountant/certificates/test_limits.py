"""The library prices its proofs as the checker does."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dpproof import proofs
from dpproof.accountant import L1, L2, DominatingPair, Guarantee, Poisson, compose
from dpproof.accountant.certificates.contour import Subject, work_along
from dpproof.mechanisms import DiscreteGaussian, Gaussian, Laplace
from dpproof.proofs.core.rule import Budget


def _mixed() -> Guarantee[Any]:
    laplace = Laplace(scale=2, sensitivity=L1(1)).repeat(30)
    return compose(laplace.guarantee(), Gaussian(sigma=2, sensitivity=L2(1)).guarantee())


def _sampled() -> Guarantee[Any]:
    step = Gaussian(sigma=1, sensitivity=L2(1)).subsample(Poisson(sampling_rate=Fraction(1, 64)))
    return step.repeat(1_000).guarantee()


def _whole() -> Guarantee[Any]:
    parts = [DiscreteGaussian(sigma=9, sensitivity=L1(k)).repeat(40).guarantee() for k in (1, 3)]
    return compose(*parts, Laplace(scale=3, sensitivity=L1(1)).guarantee())


@pytest.mark.parametrize("make", [_mixed, _sampled, _whole])
def test_lines_cost_what_the_library_says(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ANN401
    """The price of a line is what the checker spends on its step, but for what is made once."""
    guarantee = make()
    certificate = guarantee.certify(delta=1e-6)
    spent: list[int] = []
    spend = Budget.spend

    def noted(self: Budget, amount: int) -> None:
        spent.append(amount)
        spend(self, amount)

    monkeypatch.setattr(Budget, "spend", noted)

    assert not isinstance(proofs.check(certificate), proofs.Rejected)
    assert isinstance(guarantee, DominatingPair)
    lines = [step for step in certificate.steps if step.rule == "hockey-stick/contour"]
    directions = (guarantee.forward, guarantee.backward)
    price = sum(
        work_along(
            Subject.plain(product),
            float(Fraction(str(step.witness["c"]))),
            int(str(step.witness["nodes"])) + 1,
            1,
        )
        for step, product in zip(lines, directions, strict=False)
    )

    assert lines
    assert price == pytest.approx(sum(spent), rel=0.1, abs=30_000)
