"""Neel, Roth, Vietri & Wu, Theorem 1: OPDisc."""

from __future__ import annotations

from experiments.claims.claim import NEEL, Claim, Verdict
from experiments.claims.parity import opdisc

TRUE = {100: 1.560, 1000: 4.030, 10_000: 11.312}
FIRST = 35


def check() -> str:
    """Compute the true epsilon of the parity instance."""
    found = {d: opdisc(d, 1, 0.01).epsilon(0.01) for d in TRUE}
    assert all(abs(found[d] - TRUE[d]) < 5e-4 for d in TRUE), found
    assert opdisc(FIRST, 1, 0.01).epsilon(0.01) > 1 > opdisc(FIRST - 1, 1, 0.01).epsilon(0.01)
    values = ", ".join(f"{found[d]:.3f} at d = {d}" for d in TRUE)
    return f"claimed (1, 0.01), true ε on the parity instance: {values}; above 1 from d = {FIRST}"


CLAIM = Claim(
    title="OPDisc is (ε, δ)-DP",
    source=f"{NEEL}, Theorem 1",
    printed="Gaussian noise of σ = 7GD²√(ln 1/δ)/(τε), free of the dimension, gives (ε, δ)-DP",
    verdict=Verdict.FALSE,
    check=check,
    shipped='`SeparatorPerturbation(noise="sphere")` or cube-norm noise: ε-DP in every dimension. '
    "The losses of the paper's own experiment, halfspaces, are not the refuting ones",
)
