"""Wang, Zhu & Wang: adapting to separable subsets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from dpproof.accountant import GDP, ReplaceOne, TruncatedNegativeBinomial, select
from dpproof.mechanisms import MarginDescent, Records
from dpproof.mechanisms.learning.risk_bounds import mistakes
from dpproof.mechanisms.samplers.rng import ReplayRng
from experiments.claims.claim import Claim, Verdict

PAPER = "Wang et al. 2025, Adapting to Linear Separable Subsets with Large-Margin"


def outliers() -> str:
    """Compare mistakes of 20 runs on planted rows with the bounds that have our constants."""
    rng, size, gamma = np.random.default_rng(1), 1_000, 0.5
    high = rng.uniform(gamma, 1, size)
    rows = np.stack([high, np.sqrt(1 - high**2) * rng.choice([-1, 1], size)], axis=1)
    shown = []
    for outliers, average in ((0, True), (10, True), (10, False)):
        learner = MarginDescent(
            margin=gamma / 2,
            norm=1,
            steps=1_600,
            mu=0.5,
            records=size,
            average=average,
            relation=ReplaceOne(),
        )
        data = Records(rows, np.where(np.arange(size) < outliers, -1, 1))
        runs = learner.draw([data], 20, ReplayRng(outliers))[0]
        made = mistakes(np.asarray(runs["weights"]), data)
        stated: dict[str, int] = {"records": size, "width": 2, "outliers": outliers}
        bound = learner.mistakes(**stated, failure=None if average else 1e-3)
        count = made.mean() if average else made.max()
        assert outliers <= count <= bound
        state = "in the mean" if average else "at most in the last state"
        shown.append(
            f"{outliers} outliers: {count:.0f} mistakes {state}, at most {bound:.0f} proved"
        )
    return f"{size} rows, margin {gamma}, mu 0.5, 20 runs; " + "; ".join(shown)


def relation() -> str:
    """Remove a record that changes no error: the penalty moves with the number of records."""
    records = dimension = 1000
    penalty = [2.5 * dimension * math.log(2 * n) / n for n in (records, records + 1)]
    moved = (penalty[0] - penalty[1]) * records
    assert 16 < moved < 17
    return f"n = k = {records}: the score moves by {moved:.1f}/n under add-remove, used is 1/n"


def tuning() -> str:
    """Price the noise at which the exact calculus says 1."""
    base = GDP(mu=1 / Fraction("7.652"))
    runs = TruncatedNegativeBinomial(eta=1, gamma=Fraction("0.0075188"))
    found = select(base, runs).epsilon(delta=1e-5)
    assert 0.99 < found.lower <= found.upper < 1.005
    return (
        f"8 candidates, on average 133 runs, δ = 1e-5: ε = {found.upper:.4f} at noise 7.652, where "
        "the published bound needs 9.956"
    )


def conversion() -> str:
    """Price the largest mu that the simplified conversion allows at (1, 1e-5)."""
    simplified, exact = GDP(mu=0.1042), GDP(mu=0.26805)
    price, whole = simplified.epsilon(delta=1e-5), exact.epsilon(delta=1e-5)
    assert 0.9999 < whole.lower <= whole.upper < 1.0001
    assert price.upper < 0.36
    return (
        f"at (1, 1e-5) it allows mu = 0.1042, whose ε is {price.upper:.3f}; mu = 0.26805 is "
        "allowed, 2.57 times less noise"
    )


def many_runs() -> str:
    """Count the runs that miss one of 14 candidates with probability 1/n."""
    candidates, records = 14, 10_000
    needed = (candidates - 1) * (records - 1)
    gamma = Fraction(1, needed)
    others = Fraction(candidates - 1, candidates)
    # A geometric number of runs: E[others^J] = gamma others / (1 - (1 - gamma) others).
    missed = gamma * others / (1 - (1 - gamma) * others)
    assert missed == Fraction(1, records)
    assert round(TruncatedNegativeBinomial(eta=1, gamma=gamma).mean) == needed
    return f"{candidates} candidates, n = {records}: on average {needed:,} runs, exactly"


CLAIMS = (
    Claim(
        title="Mistakes grow with the outliers over the margin and with one over its square",
        source=f"{PAPER}, Theorems 6.3 and 6.5",
        printed="error of order 1/(gamma^2 epsilon n) + outliers/(gamma n), up to logarithms",
        verdict=Verdict.HOLDS,
        check=outliers,
        shipped="`MarginDescent.mistakes`, on average or with a probability, with our "
        "constants, as the printed ones are not at hand",
    ),
    Claim(
        title="The penalised error has sensitivity 1/n",
        source=f"{PAPER}, Algorithm 2, Equation 3",
        printed="stated for datasets that differ in one element",
        verdict=Verdict.UNPROVED,
        check=relation,
        shipped="`NoisyMistakes`, a count; the printed score stands under replace-one, n public",
    ),
    Claim(
        title="Tuning by a geometric number of runs costs a factor",
        source=f"{PAPER}, Theorem 7.1",
        printed="the bound of Papernot & Steinke and its refinements for the best of random runs",
        verdict=Verdict.LOOSE,
        check=tuning,
        shipped="`.select`, priced exactly: 23 % less noise here",
    ),
    Claim(
        title="In high privacy mu-GDP is (2 mu sqrt(2 ln 1/δ), δ)-DP",
        source=f"{PAPER}, Corollary E.2",
        printed="a simplified conversion, under a condition on mu",
        verdict=Verdict.LOOSE,
        check=conversion,
        shipped="`GDP`, by its exact profile",
    ),
    Claim(
        title="To miss the best margin with probability 1/n takes many runs",
        source=f"{PAPER}, Lemma 7.2",
        printed="polynomially many in n",
        verdict=Verdict.HOLDS,
        check=many_runs,
        shipped="`TruncatedNegativeBinomial` with a miss of .05 or .1, which is utility alone",
    ),
)
