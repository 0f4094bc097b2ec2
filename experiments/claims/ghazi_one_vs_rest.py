"""Ghazi, Kumar, Manurangsi & Nguyen, section 5: ten classes."""

from __future__ import annotations

from fractions import Fraction

from dpproof.accountant import AddRemove
from dpproof.mechanisms import BatchPerceptron, OneVsRest
from experiments.claims.claim import Claim, Verdict


def check() -> str:
    """Account for ten classifiers at the noise of one."""
    one = BatchPerceptron(
        margin=0, steps=120, sigma=0.871199, rate=Fraction(1, 120), relation=AddRemove()
    )
    single = one.guarantee().epsilon(delta=1e-5)
    ten = OneVsRest(base=one, classes=10).guarantee().epsilon(delta=1e-5)
    assert 0.999 < single.upper < 1.001
    assert 2.24 < ten.lower <= ten.upper < 2.26
    return f"noise that costs one classifier ε = {single.upper:.3f} costs ten {ten.upper:.3f}"


CLAIM = Claim(
    title="Training every class costs what training one does",
    source="Ghazi, Kumar, Manurangsi & Nguyen, arXiv:2011.14580, section 5",
    printed="a fixed (ε, δ) budget, no factor for the ten classes that see every record",
    verdict=Verdict.UNPROVED,
    check=check,
    shipped="`OneVsRest` pays for every class; `KeslerPerceptron` learns all in one run for √2",
)
