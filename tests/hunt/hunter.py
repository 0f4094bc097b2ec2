"""The hunt: draw cases, run them, keep count, and make what fails smaller."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import final

from tests.hunt.case import Case, Outcome, Result, run
from tests.hunt.draw import Draw
from tests.hunt.registry import FAMILIES

SHRINKING = 20.0  # seconds to look for a smaller case


@final
@dataclass
class Tally:
    """What a family's cases came to.

    Attributes:
        outcomes: how many of each.
        seconds: processor time that they took.
        slowest: the longest time, and the seed of that case.
    """

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    seconds: float = 0.0
    slowest: tuple[float, str] = (0.0, "")

    @property
    def cases(self) -> int:
        """How many there were."""
        return self.outcomes.total()


@final
@dataclass(frozen=True)
class Violation:
    """A case that failed, as small as was found.

    Attributes:
        seed: what draws the case that was found first.
        case: the small one.
        reason: what is wrong with its answer.
    """

    seed: str
    case: Case
    reason: str


def seeds(first: int, families: Sequence[str]) -> Iterator[str]:
    """Names of cases without end: a family and a number, families by weight."""
    weights = [FAMILIES[name].weight for name in families]
    source = random.Random(first)  # noqa: S311  # not secret
    number = first
    while True:
        yield f"{source.choices(families, weights)[0]}:{number}"
        number += 1


def drawn(seed: str) -> tuple[Case, Draw]:
    """The case of a seed, and its choices."""
    source = Draw(seed)
    return FAMILIES[seed.partition(":")[0]].draw(source), source


def pursue(seed: str, tallies: dict[str, Tally]) -> Violation | None:
    """Run one case, count it, and make it smaller if it fails."""
    name = seed.partition(":")[0]
    start = time.process_time()
    case, source = drawn(seed)
    result = run(case)
    spent = time.process_time() - start
    tally = tallies.setdefault(name, Tally())
    tally.outcomes[result.outcome] += 1
    tally.seconds += spent
    tally.slowest = max(tally.slowest, (spent, seed))
    if result.outcome is not Outcome.VIOLATED:
        return None
    case, result = smaller(name, source.choices, case, result)
    return Violation(seed, case, result.reason)


def smaller(
    name: str, choices: Sequence[int], case: Case, result: Result, seconds: float = SHRINKING
) -> tuple[Case, Result]:
    """The case with the simplest choices that was found within a time and fails as well."""
    best, end = list(choices), time.process_time() + seconds
    shrunk = True
    while shrunk:
        shrunk = False
        for trial in _simpler(best):
            if time.process_time() > end:
                return case, result
            source = Draw(replay=trial)
            candidate = FAMILIES[name].draw(source)
            if (len(source.choices), source.choices) >= (len(best), best):
                continue
            found = run(candidate)
            if found.outcome is Outcome.VIOLATED:
                best, case, result, shrunk = source.choices, candidate, found, True
                break
    return case, result


def _simpler(choices: Sequence[int]) -> Iterator[list[int]]:
    """Choices with one left out, set to 0, halved, or lowered by 1."""
    for place in range(len(choices)):
        yield [*choices[:place], *choices[place + 1 :]]
    for place, value in enumerate(choices):
        for lower in dict.fromkeys((0, value // 2, value - 1)):
            if 0 <= lower < value:
                yield [*choices[:place], lower, *choices[place + 1 :]]
