"""Neel, Roth, Vietri & Wu, Algorithm 3: Gaussian RSPM."""

from __future__ import annotations

from experiments.claims.claim import NEEL, Claim, Verdict
from experiments.claims.parity import rspm

TRUE = {100: 0.864, 1000: 2.265, 10_000: 5.994}
FIRST = 141


def check() -> str:
    """Compute the true epsilon of the parity instance."""
    found = {m: rspm(m, 1, 0.01).epsilon(0.01) for m in TRUE}
    assert all(abs(found[m] - TRUE[m]) < 5e-4 for m in TRUE), found
    assert rspm(FIRST, 1, 0.01).epsilon(0.01) > 1 > rspm(FIRST - 1, 1, 0.01).epsilon(0.01)
    values = ", ".join(f"{found[m]:.3f} at m = {m}" for m in TRUE)
    return (
        f"implied (1, 0.01), true ε on the parity instance: {values}; above 1 from m = {FIRST} on"
    )


CLAIM = Claim(
    title="Gaussian RSPM is (ε, δ)-DP",
    source=f"{NEEL}, Algorithm 3; privacy as implied by its parameters "
    "and credited to Neel, Roth & Wu 2019 (Theorem 6 is about utility alone)",
    printed="Gaussian noise of σ = 7√(m ln 1/δ)/ε on m separators gives (ε, δ)-DP",
    verdict=Verdict.FALSE,
    check=check,
    shipped="`SeparatorPerturbation`: noise has to grow like m, and cube-norm noise does with "
    "0.577 m/ε, purely private",
)
