"""Random natural pipelines: which questions are slowest, and which brackets widest.

The goals are that none takes a second, that none leaves a bracket wider than a relative 1e-4, and
that none is infinite or half as wide as its upper end. A delta below 1e-300 has no digits to tell
ends apart, and counts as a point.
"""

from __future__ import annotations

import math
import random
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, final

from benchmarks.pipelines import pipeline, training
from benchmarks.report import Goal, Progress, Section, seconds
from benchmarks.worker import Workers
from dpproof.accountant import (
    Bound,
    Guarantee,
    PoissonRuns,
    PrivacyError,
    TruncatedNegativeBinomial,
    select,
)
from dpproof.accountant.arithmetic.enclosure import LEAST_DELTA

SEED = 20
_DRAWS = 100  # questions a repeat
_WORST = 20
_TRAININGS = 38
SLOW, WIDE, USELESS = 1.0, 1e-4, 0.5
_PATIENCE = 12  # processor seconds after which a question is given up
_QUESTIONS = ("epsilon", "delta", "advantage", "power", "mu", "rdp", "rho")


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """One question and what came of it.

    Attributes:
        what: pipeline and question in words.
        cpu: processor seconds, as other work may share the machine.
        width: (upper - lower) / upper; infinite if there was no answer.
        answer: the bracket, or why there is none.
    """

    what: str
    cpu: float
    width: float
    answer: str


def natural(_: Workers, repeats: int, progress: Progress) -> Section:
    """Ask random questions of random pipelines; the twenty slowest and the twenty widest."""
    asked = []
    for number, (what, ask) in enumerate(questions(_DRAWS * repeats)):
        progress(f"{number}: {what}")
        asked.append(measured(what, ask))
    section = Section(
        name="natural",
        title=f"{len(asked)} random pipelines: the slowest and the widest",
        columns=("question", "time", "width", "answer"),
    )
    slowest = sorted(asked, key=lambda one: -one.cpu)[:_WORST]
    widest = sorted(asked, key=lambda one: -one.width)[:_WORST]
    for one in dict.fromkeys((*slowest, *widest)):
        section.rows.append((one.what, seconds(one.cpu), f"{one.width:.1e}", one.answer))
    section.data = [_row(one) for one in asked]
    section.notes.append(_counts(asked))
    section.goals = [
        Goal("slowest natural question", "1 s", seconds(slowest[0].cpu), slowest[0].cpu <= SLOW),
        Goal("widest natural bracket", "1e-4", f"{widest[0].width:.1e}", widest[0].width <= WIDE),
        _useful("natural", asked),
    ]
    return section


def questions(count: int) -> Iterator[tuple[str, Callable[[], Bound]]]:
    """Yield random questions of random pipelines, in words and as calls."""
    rng = random.Random(SEED)  # noqa: S311 -- draws questions, protects nothing
    for _ in range(count):
        words, guarantee = pipeline(rng)
        question, ask = _question(rng, guarantee)
        yield f"{question} of {words}", ask


def rare(_: Workers, __: int, progress: Progress) -> Section:
    """Ask everything of random DP-SGD runs, most of them rarely sampled; one row a question."""
    rng = random.Random(SEED)  # noqa: S311 -- draws questions, protects nothing
    runs = [training(rng) for _ in range(_TRAININGS)]
    section = Section(
        name="rare",
        title=f"{_TRAININGS} random DP-SGD runs",
        columns=("question", "median", "slowest", "> 1 s", "> 1e-4", "> 1e-2", "> 50 %"),
    )
    every = []
    for question, ask in _scan().items():
        asked = []
        for words, guarantee in runs:
            progress(f"{question} of {words}")
            what = f"{question} of {words}"
            asked.append(measured(what, lambda given=guarantee, ask=ask: ask(given)))  # type: ignore[misc]
        every += asked
        times = sorted(one.cpu for one in asked)
        section.rows.append(
            (
                question,
                seconds(times[len(times) // 2]),
                seconds(times[-1]),
                str(sum(one > SLOW for one in times)),
                *(str(sum(one.width > wide for one in asked)) for wide in (WIDE, 1e-2, USELESS)),
            )
        )
    section.data = [_row(one) for one in every]
    section.notes += [_counts(every), *_listed(every)]
    section.goals = [_useful("DP-SGD", every)]
    return section


def _scan() -> dict[str, Callable[[Guarantee[Any]], Bound]]:
    """Return the questions that are asked of every training."""
    geometric = TruncatedNegativeBinomial(eta=1, gamma=Fraction(1, 10))
    few = PoissonRuns(rate=5)
    return {
        "epsilon at 1e-6": lambda one: one.epsilon(delta=1e-6),
        "advantage": lambda one: one.advantage(),
        "power at 1e-2": lambda one: one.true_positive_rate(false_positive_rate=1e-2),
        "power at 1e-3": lambda one: one.true_positive_rate(false_positive_rate=1e-3),
        "mu above 1e-6": lambda one: one.gdp(smallest_delta=1e-6),
        "epsilon at 1e-6, best of geometric 10": lambda one: select(one, geometric).epsilon(
            delta=1e-6
        ),
        "advantage, best of geometric 10": lambda one: select(one, geometric).advantage(),
        "epsilon at 1e-6, best of Poisson 5": lambda one: select(one, few).epsilon(delta=1e-6),
    }


def _counts(asked: Sequence[Asked]) -> str:
    """Return the numbers of slow, wide and useless answers in a sentence."""
    slow = sum(one.cpu > SLOW for one in asked)
    wide = sum(one.width > WIDE for one in asked)
    useless = sum(one.width > USELESS for one in asked)
    return (
        f"Of {len(asked)}, {slow} took more than {SLOW:g} s, {wide} are wider than {WIDE:g}, and "
        f"{useless} are infinite, wider than half of their upper end or given up after "
        f"{_PATIENCE} s."
    )


def _listed(asked: Sequence[Asked]) -> list[str]:
    """Return the slow and the wide answers, one a line."""
    return [
        f"- {one.what}: {seconds(one.cpu)}, {one.width:.1e} wide, {one.answer}"
        for one in asked
        if one.cpu > SLOW or one.width > WIDE
    ]


def _useful(kind: str, asked: Sequence[Asked]) -> Goal:
    useless = sum(one.width > USELESS for one in asked)
    return Goal(f"{kind} answers infinite or half as wide", "0", str(useless), useless == 0)


def _question(rng: random.Random, guarantee: Guarantee[Any]) -> tuple[str, Callable[[], Bound]]:
    """Return a random question, in words and as a call."""
    small = 10 ** rng.uniform(-12, -3)
    match rng.choice(_QUESTIONS):
        case "epsilon":
            return f"epsilon at {small:.1e}", lambda: guarantee.epsilon(delta=small)
        case "delta":
            at = rng.uniform(0.01, 5)
            return f"delta at {at:.2f}", lambda: guarantee.delta(epsilon=at)
        case "advantage":
            return "advantage", guarantee.advantage
        case "power":
            rate = 10 ** rng.uniform(-6, -1)
            return f"power at {rate:.1e}", lambda: guarantee.true_positive_rate(
                false_positive_rate=rate
            )
        case "mu":
            return f"mu above {small:.1e}", lambda: guarantee.gdp(smallest_delta=small)
        case "rho":
            return "rho", guarantee.zcdp
        case _:
            order = rng.choice((2, 8, 32))
            return f"Renyi at {order}", lambda: guarantee.rdp(order=order)


def measured(what: str, ask: Callable[[], Bound]) -> Asked:
    """Ask once, with cold caches of this pipeline, until patience ends."""
    signal.signal(signal.SIGPROF, _give_up)
    signal.setitimer(signal.ITIMER_PROF, _PATIENCE)
    start = time.process_time()
    try:
        found = ask()
    except (PrivacyError, TimeoutError) as error:
        return Asked(what, time.process_time() - start, math.inf, str(error)[:60])
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    cpu = time.process_time() - start
    width = found.relative_width if found.upper > LEAST_DELTA else 0.0
    return Asked(what, cpu, width, f"[{found.lower:.6g}, {found.upper:.6g}]")


def _give_up(*_: object) -> NoReturn:
    raise TimeoutError(f"given up after {_PATIENCE} s")


def _row(one: Asked) -> dict[str, Any]:
    return {"what": one.what, "cpu": one.cpu, "width": one.width, "answer": one.answer}
