"""Does the same sample twice find more? ``python -m benchmarks.cross_fitting``.

Of every broken claim of the auditors' benchmark, and of a shift of many coordinates along an
unknown direction, the power at 5 % of: the audit as it is, a tenth of the trials as its pilot; the
same with half of them; and two tests at 2.5 % each, of either half of the trials, that the other
half chooses. proofs/theory/cross_fitting.md says what may be combined how.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import dpproof as dp
from benchmarks.auditors.claims import Outputs, Question, questions
from dpproof import auditing
from dpproof.auditing.audit import WITNESSES, _chosen, _Run
from dpproof.auditing.counts import Claim
from dpproof.auditing.evidence import training_counts
from dpproof.auditing.trials.encoding import Pair
from dpproof.auditing.trials.trials import Trials

LEVEL, COORDINATES = 0.05, 50


def sampler(question: Question) -> Callable[[int, int, np.random.Generator], Outputs]:
    """The two laws as one sampler."""
    return lambda which, size, rng: (question.other if which else question.draw)(size, rng)


def alone(question: Question, budget: int, seed: int, pilot: float) -> tuple[bool, float]:
    """One test of the trials that did not choose it, and its log e-value."""
    report = auditing.audit(
        sampler(question), (0, 1), question.claim, samples=budget, seed=seed, pilot=pilot
    )
    return report.outcome is auditing.Outcome.VIOLATION, report.log_evidence


def crossed(question: Question, budget: int, seed: int) -> tuple[bool, float]:
    """Two tests at half the significance each, and the log of the mean of their e-values."""
    trials = Trials(sampler(question), Pair.of((0, 1)), seed=seed)
    halves = trials.training(2 * budget).halves()
    refuted, logs = False, []
    for fit, rest in (halves, halves[::-1]):
        run = _Run(Claim.of(question.claim, None), Pair.of((0, 1)), LEVEL, 0, WITNESSES, 0.5)
        test = _chosen(run, fit, len(rest))
        counts = [training_counts(asked, rest) for asked in test.questions]
        test.gain(run, counts)
        test.make(run, counts, LEVEL / 2)
        refuted |= run.violated
        logs.append(run.log_evidence)
    return refuted, float(np.logaddexp.reduce(logs) - np.log(2))


def many(factor: float) -> Question:
    """A shift of mu = factor along a dense direction of many coordinates, claimed to be 1-GDP."""
    direction = np.random.default_rng(0).normal(size=COORDINATES)
    direction *= factor / np.linalg.norm(direction)

    def draw(shift: float) -> Callable[[int, np.random.Generator], Outputs]:
        return lambda size, rng: rng.normal(size=(size, COORDINATES)) + shift * direction

    claim = dp.GDP(mu=1)
    epsilon = claim.epsilon(delta=1e-3).upper
    name = f"{COORDINATES} coordinates, mu {factor:g}"
    return Question(name, "many", epsilon, 1e-3, claim, draw(1), draw(0), factor)


def main(audits: int) -> None:
    """Print a table: power, and the mean log e-value, of every way."""
    broken = [one for one in questions() if one.factor > 1 and one.kind != "learner"]
    ways: dict[str, Callable[[Question, int, int], tuple[bool, float]]] = {
        "a tenth": lambda question, budget, seed: alone(question, budget, seed, 0.1),
        "half": lambda question, budget, seed: alone(question, budget, seed, 0.5),
        "crossed": crossed,
    }
    totals: dict[tuple[int, str], list[tuple[float, float]]] = {}
    print("samples", "claim", *ways, sep=" | ")
    for budget in (250, 1_000):
        for question in [*broken, many(1.3), many(2.0)]:
            cells = []
            for name, way in ways.items():
                found = [way(question, budget, seed) for seed in range(audits)]
                power, log = (float(np.mean(column)) for column in zip(*found, strict=True))
                totals.setdefault((budget, name), []).append((power, log))
                cells.append(f"{100 * power:.0f} % ({log:.1f})")
            print(budget, question.name, *cells, sep=" | ", flush=True)
        means = [np.mean(totals[budget, name], axis=0) for name in ways]
        print(budget, "all", *(f"{100 * p:.1f} % ({log:.1f})" for p, log in means), sep=" | ")


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 40)
