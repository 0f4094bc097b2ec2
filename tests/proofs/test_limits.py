"""What the checker's work costs: priced as it is measured, and limited."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest

from dpproof.proofs import Rejected, Step, check
from dpproof.proofs.core.rule import Budget
from dpproof.proofs.limits import MAX_WORK, PRECISIONS, at_precision
from tests.proofs.support import Object, certificate, fact, factor, gaussian, pairs, said, stated

HUGE = "1" + "0" * 1_000
LINE = {"c": "3/2", "step": "1/100", "tau": "1/7", "factors": [None]}


def contour(pair: Object, nodes: int) -> Step:
    """A sum over so many nodes."""
    return Step(
        rule="hockey-stick/contour",
        premises=(),
        witness={**LINE, "nodes": nodes},
        conclusion=fact([pair], "1/4", "1/1000"),
    )


def masses(outcomes: int) -> list[str]:
    """Masses that grow."""
    return [str(Fraction(2 * k + 1, outcomes**2)) for k in range(outcomes)]


MANY = factor("finite", p=masses(1_000), q=masses(1_000)[::-1])
SAMPLED = factor("sampled", base=[gaussian("1")], sampling_rate="1/2", direction="removal")
LINES = [{"c": "2", "step": "1/20", "nodes": 200_000, "tau": "0", "points": 1}]
SIDE = {"runs": [{"stride": 1, "count": 2}], "lines": LINES}
TABLE: Object = {"span": "1", "level": "1/100", "forward": SIDE, "backward": SIDE}
LONG = {"runs": [{"stride": 1, "count": 4_000}], "lines": []}
FINE: Object = {"span": "1/4000", "level": "1/100", "forward": LONG, "backward": LONG}
BLURRED = factor("sampled", base=[MANY], sampling_rate="1/2", direction="removal")
LONG_ORDERS = [[str(2**60 + 2 * k + 1), HUGE] for k in range(100)]
THIRDS = [[str(Fraction(2**1_700, 3 * 2**1_700 + k)) for _ in range(2)] for k in (1, 2)]
for row in THIRDS:
    row.append(str(1 - sum(map(Fraction, row))))
SHARES = [[str(Fraction(i * j + 1, 2**40 + 1)) for j in range(i)] for i in range(32)]
HOSTILE: dict[str, tuple[Step, ...]] = {
    "undecided at every precision": (contour(gaussian(HUGE), 10_000),),
    "shifts and counts": (
        contour(factor("discrete-gaussian", 10**12, sigma_squared="1", shift=10**11), 10_000),
    ),
    "terms at nodes": (contour(MANY, 100_000),),
    "lines of a table": (
        Step(
            rule="hockey-stick/chernoff",
            premises=(),
            witness={"c": "3/2", "factors": [TABLE]},
            conclusion=fact([SAMPLED], "1/4", "1/1000"),
        ),
    ),
    "values at many outcomes": (
        Step(
            rule="hockey-stick/chernoff",
            premises=(),
            witness={"c": "3/2", "factors": [FINE]},
            conclusion=fact([BLURRED], "1/4", "1/1000"),
        ),
    ),
    "neighbours at many corners": (
        Step(
            rule="mechanism/finite",
            premises=(),
            witness={
                "table": [masses(60)] * 60,
                "neighbours": [[x, y] for x in range(60) for y in range(60) if x != y],
            },
            conclusion=pairs([MANY]),
        ),
    ),
    "the same neighbours of long masses": (
        Step(
            rule="mechanism/finite",
            premises=(),
            witness={"table": THIRDS, "neighbours": [[0, 1]] * 60_000},
            conclusion=pairs([factor("finite", p=THIRDS[0], q=THIRDS[1])]),
        ),
    ),
    "a long sum of long orders": (
        stated(said("rdp", points=[["3/2", "1/7"], [HUGE, HUGE]])),
        Step(
            rule="group/rdp",
            premises=(0,),
            witness={"size": 1_000},
            conclusion=said("rdp", steps=1_000, points=LONG_ORDERS),
        ),
    ),
    "minors of a large matrix": (
        Step(
            rule="mechanism/correlated-gaussian",
            premises=(),
            witness={
                "factor": [[*row, "1", *["0"] * (31 - k)] for k, row in enumerate(SHARES)],
                "sigmas": [f"{2**40 + 1}/{k + 7}" for k in range(32)],
                "differences": [],
                "radius": "1",
            },
            conclusion=said("gdp", mu_squared=HUGE),
        ),
    ),
    "citing a long statement": (
        stated(pairs([MANY])),
        Step(
            rule="compose/pair",
            premises=(0,) * 20_000,
            witness={},
            conclusion=pairs([gaussian("1")]),
        ),
    ),
}


SLOW = "shifts and counts"  # takes seconds


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == SLOW)) for name in HOSTILE]
)
def test_hostile_certificates_are_rejected_soon(name: str) -> None:
    """Whatever is asked for, the verdict comes in seconds."""
    start = time.process_time()

    assert isinstance(check(certificate(*HOSTILE[name])), Rejected)
    assert time.process_time() - start < 10


def test_every_precision_counts() -> None:
    """Work at a higher precision takes more of the budget."""
    costs = [at_precision(1_000, precision) for precision in PRECISIONS]
    budget = Budget(costs[0] + costs[-1])
    budget.spend(1_000)
    budget.precision = PRECISIONS[-1]
    budget.spend(1_000)

    assert costs == sorted(set(costs))
    assert costs[0] == 1_000
    assert sum(at_precision(MAX_WORK, precision) for precision in PRECISIONS) > 8 * MAX_WORK
