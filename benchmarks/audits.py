"""Tables of docs/AUDITS.md: error rates of audits, their tightness, and the violations found.

    python -m benchmarks.audits alarms 1000
    python -m benchmarks.audits tightness 40
    python -m benchmarks.audits power 20
    python -m benchmarks.audits nights 9

The number is how many times every audit is repeated, with seeds 0, 1, 2, ....
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable
from fractions import Fraction

import numpy as np

from dpproof import auditing
from dpproof.accountant import GDP, DominatingPair
from dpproof.accountant.pairs.laplace import LaplacePair
from dpproof.accountant.pairs.product import Product
from dpproof.auditing import Outcome
from tests.auditing import samplers
from tests.auditing.builders import BROKEN
from tests.auditing.samplers import Case, gaussian, laplace, randomized_response, subsampled_run

LAPLACE = DominatingPair(forward=Product.of(LaplacePair(epsilon=Fraction(1))))
CONTROLS = [
    Case("equal distributions, (0, 0)", laplace(1.0), 0.0, 0.0, (0, 0), 1_000),
    Case("Laplace, (1, 0)", laplace(1.0), 0.0, 1.0, (1, 0), 1_000),
    Case("Laplace, its own curve", laplace(1.0), 0.0, 1.0, LAPLACE, 1_000),
    Case("randomised response, (1, 0)", randomized_response(1), 0.0, 1.0, (1, 0), 200),
    Case("response, (1, 0.001)", randomized_response(1, 1e-3), 0.0, 1.0, (1, 1e-3), 2_000),
    Case("response, (1, 0.05)", randomized_response(1, 0.05), 0.0, 1.0, (1, 0.05), 1_000),
    Case("Gaussian, GDP(1)", gaussian(1.0), 0.0, 1.0, GDP(mu=1), 1_000),
    Case("Gaussian, GDP(0.27)", gaussian(1 / 0.27), 0.0, 1.0, GDP(mu=0.27), 5_000),
]
# sigma at which (epsilon, 1e-5) is exact for sensitivity 1.
EXACT = {0.5: 7.0318, 1: 3.7306, 2: 1.9938, 4: 1.0812}
TIGHTNESS = [
    *(
        Case(f"randomised response {e}", randomized_response(e), 0.0, 1.0, (e, 0), 10_000)
        for e in (0.5, 1, 2, 4)
    ),
    *(Case(f"Laplace {e}", laplace(1 / e), 0.0, 1.0, (e, 0), 10_000) for e in (0.5, 1, 2, 4)),
    *(Case(f"Gaussian {e}, 1e-5", gaussian(EXACT[e]), 0.0, 1.0, (e, 1e-5), 10_000) for e in EXACT),
    Case("500 steps", subsampled_run(0.01, 1, 500), 1.0, 0.0, (1.32604, 1e-5), 10_000),
    Case("1000 steps", subsampled_run(0.01, 0.8, 1_000), 1.0, 0.0, (3.14101, 1e-5), 10_000),
]
SMALL = [
    Case("Laplace, 10 % short", laplace(1 / 1.1), 0.0, 1.0, (1, 0), 10_000),
    Case("Laplace, 5 % short", laplace(1 / 1.05), 0.0, 1.0, (1, 0), 100_000),
    Case("Gaussian, 5 % short, GDP(1)", gaussian(1 / 1.05), 0.0, 1.0, GDP(mu=1), 20_000),
    Case("Gaussian, 3 % short, GDP(1)", gaussian(1 / 1.03), 0.0, 1.0, GDP(mu=1), 100_000),
    Case("response at 1.05, (1, 0.05)", randomized_response(1.05, 0.05), 0, 1, (1, 0.05), 20_000),
]
_MOST_NIGHTS = 60


def alarms(case: Case, repeats: int) -> str:
    """Return the share of audits of a control that alarmed."""
    return f"{samplers.alarms(case, repeats)} of {repeats}"


def tightness(case: Case, repeats: int) -> str:
    """Return the mean of the bound over the truth, at 10^4, 10^5 and 10^6 samples a dataset."""
    shares = []
    for factor, times in ((1, repeats), (10, repeats), (100, max(2, repeats // 10))):
        bounds = [
            auditing.audit(
                case.draw,
                (case.data, case.neighbour),
                case.claim,
                samples=factor * case.samples,
                seed=seed,
            ).epsilon_lower
            for seed in range(times)
        ]
        shares.append(f"{np.mean(bounds) / float(case.claim[0]):.3f}")
    return " | ".join(shares)


def power(case: Case, repeats: int) -> str:
    """Return the share of audits that catch a broken implementation with thrice its samples."""
    caught = sum(
        auditing.audit(
            case.draw,
            (case.data, case.neighbour),
            case.claim,
            samples=3 * case.samples,
            seed=seed,
            pilot=case.pilot,
        ).outcome
        is Outcome.VIOLATION
        for seed in range(repeats)
    )
    return f"{caught} of {repeats}"


def nights(case: Case, repeats: int) -> str:
    """Return the number of nightly audits that refute the claim at 1e-6, together and alone."""
    level, needed, alone, audits = 0.5e-6, [], 0, 0
    for repeat in range(repeats):
        total, night = 0.0, 0
        while total < -math.log(level) and night < _MOST_NIGHTS:
            report = auditing.audit(
                case.draw,
                (case.data, case.neighbour),
                case.claim,
                samples=case.samples,
                significance=level,
                seed=1_000 * repeat + night,
            )
            total, night = total + report.log_evidence, night + 1
            alone += report.outcome is Outcome.VIOLATION
            audits += 1
        needed.append(night)
    low, middle, high = np.quantile(needed, [0, 0.5, 1], method="higher")
    return f"{middle} ({low} to {high}) | {alone} of {audits}"


TABLES = {
    "alarms": (alarms, CONTROLS),
    "tightness": (tightness, TIGHTNESS),
    "power": (power, BROKEN),
    "nights": (nights, SMALL),
}


def main(arguments: Iterable[str]) -> None:
    """Print one table."""
    name, repeats = arguments
    measure, cases = TABLES[name]
    for case in cases:
        started = time.monotonic()
        found = measure(case, int(repeats))
        print(f"| {case.name} | {case.samples:,} | {found} | {time.monotonic() - started:.0f} s |")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
