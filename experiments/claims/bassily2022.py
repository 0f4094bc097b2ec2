"""Bassily, Mohri & Suresh: margins, covers, kernels and sampling."""

from __future__ import annotations

import math

import numpy as np

from dpproof.accountant import GDP, ReplaceOne, group
from dpproof.mechanisms import PhasedHinge
from experiments.claims.claim import Claim, Verdict
from experiments.plans.published_cover import published_cover

PAPER = "Bassily, Mohri & Suresh 2022, DP Learning with Margin Guarantees"


def activation() -> str:
    """Compare slopes of (1 - e^(-a/2)) / (1 + e^(-a/2)) with 1/4, the slope of tanh(a/4) at 0."""
    points = np.linspace(-40, 40, 80_001)
    values = (1 - np.exp(-points / 2)) / (1 + np.exp(-points / 2))
    steepest = float(np.max(np.diff(values) / np.diff(points)))
    assert np.allclose(values, np.tanh(points / 4), atol=1e-12)
    assert 0.2499 < steepest <= 0.25
    return f"at eta = 1 the steepest slope is {steepest:.4f}; in L layers that is 4^L, 16^L in k"


def cover() -> str:
    """Count the candidates at the largest margin there can be."""
    found = published_cover(ratio=1, records=10_000)
    assert not found.feasible
    assert found.log10_size > 9_000
    size = f"10^{found.log10_size:.0f} candidates by our constants"
    return f"at margin = Lambda r, the largest, and 10,000 records it has {size}"


def kernel() -> str:
    """Write the features of (<x, x'> + 1)^2 out in two dimensions."""
    x = np.array([0.6, 0.8])
    features = np.array([x[0] ** 2, x[1] ** 2, 2**0.5 * x[0] * x[1], *(2**0.5 * x), 1.0])
    length = float(np.linalg.norm(features))
    assert abs(features @ features - (x @ x + 1) ** 2) < 1e-12
    assert abs(length - 2) < 1e-12
    return f"r = c = 1, p = 2: a feature vector has norm {length:.6f}, printed 1"


def every_budget() -> str:
    """Find budgets inside the theorem's range and outside that of the lemma it rests on."""
    records, outside = 1000, [(2.0, 0.2), (1.0, 0.01)]
    assert all(delta >= 1 / records or epsilon > math.log(1 / delta) for epsilon, delta in outside)
    named = ", ".join(f"({epsilon:g}, {delta:g})" for epsilon, delta in outside)
    return f"with m = {records} the lemma needs δ < 1/m and ε ≤ ln 1/δ, which leaves out {named}"


RECORDS, DELTA, LIKELY = 10_000, 1e-6, 9


def replacement() -> str:
    """Price one record by how often it is drawn, and as a group of as many as are likely."""
    exact = PhasedHinge(
        margin=1,
        norm_bound=1,
        mu=0.1,
        records=RECORDS,
        sampling="with-replacement",
        relation=ReplaceOne(),
    )
    found = exact.guarantee().epsilon(delta=DELTA).upper
    grouped = group(GDP(mu=0.1, relation=ReplaceOne()), size=LIKELY).epsilon(delta=DELTA / 2).lower
    plain = (
        PhasedHinge(margin=1, norm_bound=1, mu=0.1, relation=ReplaceOne())
        .guarantee()
        .epsilon(delta=DELTA)
        .upper
    )
    assert plain < found < grouped / 3
    return (
        f"{RECORDS:,} records, phases of mu 0.1: epsilon {found:.3f}, {grouped:.2f} as a group of "
        f"{LIKELY}, {plain:.3f} on a permutation"
    )


CLAIMS = (
    Claim(
        title="The activation of a network is eta-Lipschitz",
        source=f"{PAPER}, section 5",
        printed="sigma_eta is eta-Lipschitz, which the dimension and the cover of Theorem 5.1 use",
        verdict=Verdict.LOOSE,
        check=activation,
        shipped="`ExponentialNetworks` with tanh(eta a / 4), whose constant is eta / 4",
    ),
    Claim(
        title="A pure learner by the exponential mechanism over a cover",
        source=f"{PAPER}, Algorithm 1 and Theorem 3.1",
        printed="epsilon-DP with the stated error",
        verdict=Verdict.HOLDS,
        check=cover,
        shipped="`ExponentialHalfspaces` over covers that can be listed, at epsilon-bounded range",
    ),
    Claim(
        title="Polynomial features have norm r^p",
        source=f"{PAPER}, on polynomial kernels",
        printed="κ_p(x, x) can be as large as r^p",
        verdict=Verdict.FALSE,
        check=kernel,
        shipped="(r² + c)^(p/2); the paper's algorithm clips, so that its privacy survives",
    ),
    Claim(
        title="(ε, δ)-DP for every ε > 0 and δ in (0, 1)",
        source=f"{PAPER}, Theorem 4.2",
        printed="no condition on ε and δ",
        verdict=Verdict.UNPROVED,
        check=every_budget,
        shipped="full-batch noisy descent, exactly μ-GDP for every budget",
    ),
    Claim(
        title="Phases that draw with replacement are private by groups of O(log 1/delta)",
        source=f"{PAPER}, Lemma 3.1 (its proof is in an appendix that was not at hand)",
        printed="(epsilon, delta)-DP with noise that grows by log(1/delta)^(3/2)",
        verdict=Verdict.LOOSE,
        check=replacement,
        shipped="`PhasedHinge`: the exact law of the occurrences, or a permutation, exactly mu-GDP",
    ),
)
