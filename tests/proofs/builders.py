"""What the tests of this folder share."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpproof.accountant import answers
from dpproof.accountant.certificates.serialize import factors
from dpproof.accountant.pairs.product import Product
from dpproof.accountant.run_counts.finite import FiniteRuns
from dpproof.accountant.run_counts.law import (
    BinomialRuns,
    FixedRuns,
    PoissonRuns,
    RunLaw,
    TruncatedNegativeBinomial,
)
from dpproof.accountant.selection.finite_base import Outcomes
from dpproof.proofs import Step, Verdict, check
from dpproof.proofs.certificate import show_rational
from tests.proofs.support import certificate, fact

F = Fraction

EPSILON = 1.0

sizes = st.floats(-7, 5).map(lambda power: F(2.0**power))

wholes = st.floats(0, 9).map(lambda power: math.ceil(2**power))

taus = st.one_of(st.just(F(0)), sizes)


def attempt(rule: str, product: Product, witness: dict[str, object], relative: float) -> Verdict:
    """What the checker says of a delta that far from the truth."""
    truth = answers.delta(product, EPSILON)
    end = truth.upper if relative > 0 else truth.lower
    delta = show_rational(F(end * (1 + relative)))
    step = Step(
        rule=f"hockey-stick/{rule}",
        premises=(),
        witness=witness,  # type: ignore[arg-type]
        conclusion=fact(factors(product), "1", delta),  # type: ignore[arg-type]
    )
    return check(certificate(step))


def lower_witness(rule: str, factors: list[Any], data: st.DataObject) -> dict[str, Any]:
    """Any line with any places for the aliases, without the span of a lattice."""
    side = st.fixed_dictionaries({"c": sizes.map(show_rational), "factors": st.just(factors)})
    own: dict[str, Any] = {}
    if rule != "lattice":
        own["step"] = show_rational(data.draw(sizes))
    if rule == "smoothed":
        own["tau"] = show_rational(data.draw(sizes) / 8)
        own["width"] = show_rational(data.draw(sizes))
    return {
        "c": show_rational(data.draw(sizes)),
        "nodes": data.draw(wholes),
        "factors": factors,
        "before": data.draw(side),
        "after": data.draw(side),
        **own,
    }


def attempt_below(
    rule: str, product: Product, witness: dict[str, object], relative: float
) -> Verdict:
    """What the checker says of a lower bound that far from the truth."""
    truth = answers.delta(product, EPSILON)
    end = truth.upper if relative > 0 else truth.lower
    said = {**fact(factors(product), "1", show_rational(F(end * (1 + relative))))}  # type: ignore[arg-type]
    said["notion"] = "hockey-stick-at-least"
    step = Step(rule=f"at-least/{rule}", premises=(), witness=witness, conclusion=said)  # type: ignore[arg-type]
    return check(certificate(step))


Array = NDArray[np.float64]

LONG = 3000  # masses of the number of runs beyond are below 1e-16 for every law drawn here

ROUNDING = 1e-10


@dataclass(frozen=True)
class Runs:
    """A law next to its masses, written from the definition of the law, not taken from it."""

    law: RunLaw
    masses: Array

    def none_above(self, mass: Array) -> Array:
        """The probability that no run's outcome lies in a set of some mass: sum p_k (1-a)^k."""
        kept = self.masses[: int(np.flatnonzero(self.masses > 1e-18)[-1]) + 1]
        value = np.polynomial.polynomial.polyval(np.clip(1.0 - mass, 0.0, 1.0), kept)
        return np.asarray(value, dtype=np.float64)


def drawn_runs(rng: np.random.Generator) -> Runs:
    """A law of any kind."""
    k = np.arange(LONG)
    kind = rng.integers(5)
    if kind == 0:
        eta, gamma = rng.choice([0.0, 1.0, rng.uniform(-0.95, 3)]), rng.uniform(0.1, 0.95)
        logs = [k[1] * math.log(1 - gamma)]
        for i in range(1, LONG - 1):
            logs.append(logs[-1] + math.log((1 - gamma) * (i + eta) / (i + 1)))
        masses = np.exp(np.array(logs))
        law: RunLaw = TruncatedNegativeBinomial(eta=eta, gamma=gamma)
        return Runs(law, np.insert(masses / masses.sum(), 0, 0.0))
    if kind == 1:
        rate = rng.uniform(0.05, 8)
        masses = np.exp(k * math.log(rate) - rate - [math.lgamma(i + 1) for i in k])
        return Runs(PoissonRuns(rate=rate), masses)
    if kind == 2:
        n, p = int(rng.integers(1, 9)), rng.uniform(0.05, 0.95)
        masses = np.array([math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n + 1)])
        return Runs(BinomialRuns(trials=n, probability=p), masses)
    if kind == 3:
        n = int(rng.integers(1, 8))
        return Runs(FixedRuns(count=n), np.eye(n + 1)[n])
    whole = rng.integers(0, 9, size=int(rng.integers(2, 9)))
    whole[-1] += 1
    exact = [Fraction(int(one), int(whole.sum())) for one in whole]
    return Runs(FiniteRuns(probabilities=exact), whole / whole.sum())


def drawn_masses(rng: np.random.Generator, size: int) -> tuple[list[Fraction], list[Fraction]]:
    """Two distributions, some outcomes with mass under only one of them."""
    p, q = rng.integers(0, 12, size), rng.integers(0, 12, size)
    p[rng.integers(size)] += 1
    q[rng.integers(size)] += 1
    alive = (p > 0) | (q > 0)
    return (
        [Fraction(int(one), int(p.sum())) for one in p[alive]],
        [Fraction(int(one), int(q.sum())) for one in q[alive]],
    )


def worst_of_all_orders(runs: Runs, p: Array, q: Array, epsilon: float) -> float:
    """The largest hockey-stick divergence of the selected outcomes, over every order."""
    orders = np.array(list(itertools.permutations(range(p.size))))
    chances = []
    for masses in (p, q):
        above = np.concatenate([np.zeros((len(orders), 1)), masses[orders].cumsum(axis=1)], axis=1)
        best_is_below = runs.none_above(above)
        chances.append(best_is_below[:, :-1] - best_is_below[:, 1:])
    none = max(float(runs.masses[0]) * -math.expm1(epsilon), 0.0)
    gains = np.maximum(chances[0] - math.exp(epsilon) * chances[1], 0.0).sum(axis=1)
    return float(gains.max()) + none


def outcomes(p: Array, q: Array) -> Outcomes:
    """By falling loss; what has no mass under the first is set apart."""
    kept = p > 0
    unseen = float(q[~kept].sum())
    with np.errstate(divide="ignore"):
        loss = np.log(p[kept]) - np.log(q[kept])
    order = np.argsort(-loss, kind="stable")
    return Outcomes(p[kept][order], q[kept][order], loss[order], unseen)


def halved(masses: list[Fraction], most: int) -> Array:
    """As floats, every outcome cut in two by a coin where that leaves few enough to permute."""
    exact = np.array([float(one) for one in masses])
    return np.repeat(exact / 2, 2) if exact.size * 2 <= most else exact


def capped_geometric(gamma: Fraction, cap: int) -> Runs:
    """The smaller of a geometric number and a cap."""
    exact = [Fraction(0)] + [gamma * (1 - gamma) ** k for k in range(cap)]
    exact[-1] = (1 - gamma) ** (cap - 1)
    return Runs(FiniteRuns(probabilities=exact), np.array([float(one) for one in exact]))


def some_runs(rng: np.random.Generator) -> Runs:
    """A law of any kind, a capped geometric one as often as any other."""
    if rng.integers(6) == 0:
        gamma = Fraction(int(rng.integers(1, 20)), 20)
        return capped_geometric(gamma, int(rng.integers(1, 12)))
    return drawn_runs(rng)


def released(runs: Runs, masses: Array, accepted: Array) -> Array:
    """The law of what is released, run by run: each accepted outcome, and nothing."""
    mass = float(masses[accepted].sum())
    last = int(np.flatnonzero(runs.masses > 1e-18)[-1])
    at_least = np.cumsum(runs.masses[: last + 1][::-1])[::-1]  # P(K >= k)
    made = float((at_least[1:] * np.maximum(1.0 - mass, 0.0) ** np.arange(last)).sum())
    nothing = float(runs.none_above(np.array([mass]))[0])
    return np.append(np.where(accepted, masses * made, 0.0), nothing)


def worst_of_all_sets(runs: Runs, p: Array, q: Array, epsilon: Array) -> Array:
    """The largest hockey-stick divergences over every set of accepted outcomes."""
    best = np.zeros(epsilon.size)
    for rule in itertools.product((False, True), repeat=p.size):
        accepted = np.array(rule)
        ours, theirs = released(runs, p, accepted), released(runs, q, accepted)
        gains = np.maximum(ours - np.exp(epsilon)[:, None] * theirs, 0.0).sum(axis=1)
        best = np.maximum(best, gains)
    return best
