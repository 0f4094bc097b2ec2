"""Bassily, Mohri & Suresh: margins, covers, kernels and sampling."""

from __future__ import annotations

import itertools
import math

import numpy as np

from dpproof.accountant import GDP, AddRemove, ReplaceOne, group
from dpproof.mechanisms import PhasedHinge, Records
from experiments.claims.claim import Claim, Verdict
from experiments.claims.ranges import widest_range
from experiments.exponential_networks import ExponentialNetworks
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
        norm=1,
        mu=0.1,
        records=RECORDS,
        sampling="with-replacement",
        relation=ReplaceOne(),
    )
    found = exact.guarantee().epsilon(delta=DELTA).upper
    grouped = group(GDP(mu=0.1, relation=ReplaceOne()), size=LIKELY).epsilon(delta=DELTA / 2).lower
    plain = (
        PhasedHinge(margin=1, norm=1, mu=0.1, relation=ReplaceOne())
        .guarantee()
        .epsilon(delta=DELTA)
        .upper
    )
    assert plain < found < grouped / 3
    return (
        f"{RECORDS:,} records, phases of mu 0.1: epsilon {found:.3f}, {grouped:.2f} as a group of "
        f"{LIKELY}, {plain:.3f} on a permutation"
    )


def labels() -> str:
    """Enumerate how five counts can move if one label changes, at factor ε/2."""
    found = widest_range(0.5, (-1, 0, 1))
    assert abs(found - 1) < 1e-12
    return f"over all moves of five counts log-ratios have a range of {found:.4f} at ε = 1"


def networks() -> str:
    """Enumerate the picks among public networks, for every record of a grid added to 40 others."""
    learner = ExponentialNetworks(
        architecture=(2, 3), candidates=50, seed=1, epsilon=1, eta=8, relation=AddRemove()
    )
    rng = np.random.default_rng(1)
    rows, signs = rng.uniform(-0.7, 0.7, (40, 2)), rng.choice([-1, 1], 40)
    widest = 0.0
    for row in itertools.product((-0.7, 0.0, 0.3), repeat=2):
        data = [Records(rows, signs), Records(np.vstack([rows, row]), np.append(signs, 1))]
        laws = [-float(learner.epsilon) * learner.mistakes(one) for one in data]
        widest = max(widest, float(np.ptp(laws[0] - laws[1])))
    assert 0.999 < widest <= 1
    return f"one record more: log-ratios of 50 networks have a range of {widest:.4f}, ε = 1"


def normaliser() -> str:
    """Compute scores of random losses and of those with one record more, for both normalisers."""
    rng = np.random.default_rng(1)
    most = {"sum": 0.0, "largest": 0.0}
    for _ in range(1_000):
        moved = 1 / rng.uniform(0.1, 1, 4)
        before = rng.exponential(2, 4)
        after = before + moved * rng.choice([0, 1], 4)
        sums, largest = moved[:, None] + moved, np.maximum(moved[:, None], moved)
        for name, scale in (("sum", sums), ("largest", largest)):
            found = [
                (((q + moved)[:, None] - (q + moved)) / scale).max(axis=1) for q in (before, after)
            ]
            most[name] = max(most[name], float(np.abs(found[0] - found[1]).max()))
    assert 0.95 < most["largest"] <= 1 + 1e-12
    assert most["sum"] < most["largest"]
    return (
        f"1,000 random losses, one record more: the largest of both normalises scores that move by "
        f"{most['largest']:.3f}, their sum, printed, by {most['sum']:.3f}"
    )


CLAIMS = (
    Claim(
        title="The activation of a network is eta-Lipschitz",
        source=f"{PAPER}, section 5",
        printed="sigma_eta is eta-Lipschitz, which the dimension and the cover of Theorem 5.1 use",
        verdict=Verdict.LOOSE,
        check=activation,
        shipped="`experiments/exponential_networks.py`: tanh(eta a / 4), of constant eta / 4",
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
        shipped="`MonomialFeatures`, of norm (r² + c)^(p/2); the paper's algorithm clips: private",
    ),
    Claim(
        title="(ε, δ)-DP for every ε > 0 and δ in (0, 1)",
        source=f"{PAPER}, Theorem 4.2",
        printed="no condition on ε and δ",
        verdict=Verdict.UNPROVED,
        check=every_budget,
        shipped="`MarginDescent` on all records, exactly μ-GDP for every budget",
    ),
    Claim(
        title="Phases that draw with replacement are private by groups of O(log 1/delta)",
        source=f"{PAPER}, Lemma 3.1 (its proof is in an appendix that was not at hand)",
        printed="(epsilon, delta)-DP with noise that grows by log(1/delta)^(3/2)",
        verdict=Verdict.LOOSE,
        check=replacement,
        shipped="`PhasedHinge`: the exact law of the occurrences, or a permutation, exactly mu-GDP",
    ),
    Claim(
        title="Labels alone are protected by the exponential mechanism on a cover of the features",
        source=f"{PAPER}, appendix E (not at hand; as the paper's text describes it)",
        printed="ε-DP for one label, the cover may depend on the features",
        verdict=Verdict.HOLDS,
        check=labels,
        shipped="`ExponentialHalfspaces`, at ε-bounded range under `ReplaceLabel`",
    ),
    Claim(
        title="Networks by the exponential mechanism over a cover are ε-DP",
        source=f"{PAPER}, Theorem 5.1",
        printed="pure privacy, and the stated error",
        verdict=Verdict.HOLDS,
        check=networks,
        shipped="no networks in the package; `ExponentialHalfspaces` is the same on halfspaces",
    ),
    Claim(
        title="The generalised exponential mechanism divides by the sum of both sensitivities",
        source=f"{PAPER}, appendix F (not at hand), after Raskhodnikova & Smith, FOCS 2016",
        printed="scores of sensitivity 1",
        verdict=Verdict.LOOSE,
        check=normaliser,
        shipped="`GeneralisedExponential`, with the sum: under add-remove the larger one would do, "
        "half as much noise at best",
    ),
)
