"""What choices and local reports cost over many uses, by the pairs here and by what others count.

    python -m benchmarks.choices

prints the tables of docs/BENCHMARKS.md. Of each mechanism with the same noise, epsilon at delta =
1e-6: by its pair, by composing epsilon-DP exactly (randomised response), and by zCDP of epsilon-DP.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from accountant import L1, ZCDP, Guarantee, LInf, PureDP, convert, self_compose
from mechanisms import (
    AboveThreshold,
    ExponentialMechanism,
    LocalHashing,
    Mechanism,
    PermuteAndFlip,
    Staircase,
    SubsetSelection,
    UnaryEncoding,
)

DELTA = Fraction(1, 10**6)
USES = (1, 10, 100)
Make = Callable[[Fraction], Mechanism[Any]]

CHOICES: dict[str, Make] = {
    "permute-and-flip, noisy max (exponential, Laplace)": lambda e: PermuteAndFlip(epsilon=e),
    "noisy max (Gumbel), exponential mechanism": lambda e: ExponentialMechanism(
        epsilon=e, sensitivity=LInf(1)
    ),
    "AboveThreshold": lambda e: AboveThreshold(threshold_scale=2 / e, query_scale=4 / e),
    "AboveThreshold, monotone queries, half the noise on them": lambda e: AboveThreshold(
        threshold_scale=2 / e, query_scale=2 / e, monotone=True
    ),
    "AboveThreshold, rising queries, half the noise on them": lambda e: AboveThreshold(
        threshold_scale=2 / e, query_scale=2 / e, rising=True
    ),
    "staircase noise of the least size, sensitivity 1000": lambda e: Staircase(
        epsilon=e, sensitivity=L1(1000)
    ),
    "optimised unary encoding": lambda e: UnaryEncoding(epsilon=e, categories=10),
    "local hashing": lambda e: LocalHashing(epsilon=e, categories=10),
    "subset selection of 10 categories": lambda e: SubsetSelection(epsilon=e, categories=10),
}


def cost(guarantee: Guarantee[Any], uses: int) -> float:
    """Return epsilon of so many uses."""
    return self_compose(guarantee, uses).epsilon(delta=DELTA).upper


def table(epsilon: Fraction) -> list[str]:
    """Return the rows of one epsilon."""
    pure = PureDP(epsilon=epsilon)
    curve = convert(pure, to=ZCDP)
    rows = [f"| ε = {float(epsilon):g} each | " + " | ".join(f"{n} uses" for n in USES) + " |"]
    rows.append("|---|" + "---|" * len(USES))
    known: dict[str, Guarantee[Any]] = {
        "ε-DP composed exactly": pure,
        "ε-DP composed by zCDP": curve,
        **{name: make(epsilon).guarantee() for name, make in CHOICES.items()},
    }
    for name, guarantee in known.items():
        rows.append(f"| {name} | " + " | ".join(f"{cost(guarantee, n):.3f}" for n in USES) + " |")
    return rows


if __name__ == "__main__":
    for each in (Fraction(1), Fraction(1, 10)):
        sys.stdout.write("\n".join([*table(each), "", ""]))
