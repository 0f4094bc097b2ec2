"""Random natural pipelines: which questions are slowest, and which brackets widest.

Noise, randomised response or both, on all records, on Poisson samples or on samples of a fixed
size, some thousand times; one question each. The goal is that none takes a second or leaves a
bracket wider than a relative 1e-4.
"""

from __future__ import annotations

import math
import random
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn, final

from accountant import (
    L1,
    L2,
    AddRemove,
    Bound,
    Guarantee,
    Poisson,
    PrivacyError,
    Relation,
    ReplaceOne,
    WithoutReplacement,
    compose,
    self_compose,
)
from benchmarks.report import Goal, Progress, Section, seconds
from benchmarks.worker import Workers
from mechanisms import DiscreteGaussian, DiscreteLaplace, Gaussian, Laplace, RandomizedResponse

SEED = 20
_DRAWS = 50  # questions a repeat
_WORST = 10
SLOW, WIDE = 1.0, 1e-4
_PATIENCE = 10  # processor seconds after which a question is given up
_QUESTIONS = ("epsilon", "delta", "advantage", "power", "mu", "rdp")


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
    """Ask random questions of random pipelines; the ten slowest and the ten widest."""
    rng = random.Random(SEED)  # noqa: S311 -- draws questions, protects nothing
    asked = []
    for number in range(_DRAWS * repeats):
        words, guarantee = pipeline(rng)
        question, ask = _question(rng, guarantee)
        progress(f"{number}: {question} of {words}")
        asked.append(measured(f"{question} of {words}", ask))
    section = Section(
        name="natural",
        title=f"{len(asked)} random pipelines: the slowest and the widest",
        columns=("question", "time", "width", "answer"),
    )
    slowest = sorted(asked, key=lambda one: -one.cpu)[:_WORST]
    widest = sorted(asked, key=lambda one: -one.width)[:_WORST]
    for one in (*slowest, *widest):
        section.rows.append((one.what, seconds(one.cpu), f"{one.width:.1e}", one.answer))
    section.data = [_row(one) for one in asked]
    slow = sum(one.cpu > SLOW for one in asked)
    wide = sum(one.width > WIDE for one in asked)
    section.notes.append(f"{slow} took more than {SLOW:g} s, {wide} are wider than {WIDE:g}.")
    section.goals = [
        Goal("slowest natural question", "1 s", seconds(slowest[0].cpu), slow == 0),
        Goal("widest natural bracket", "1e-4", f"{widest[0].width:.1e}", wide == 0),
    ]
    return section


def pipeline(rng: random.Random) -> tuple[str, Guarantee[Any]]:
    """A random pipeline of one or two stages, in words and as a guarantee."""
    scheme = rng.choice(("none", "poisson", "fixed"))
    relation: Relation = ReplaceOne() if scheme == "fixed" else AddRemove()
    stages, words = [], []
    for _ in range(rng.choice((1, 1, 2))):
        mechanism, name = _mechanism(rng, relation)
        if scheme == "poisson":
            rate = _rounded(10 ** rng.uniform(-5, -0.5))
            mechanism = mechanism.subsample(Poisson(sampling_rate=rate))
            name += f" at rate {float(rate):g}"
        elif scheme == "fixed":
            size, records = rng.choice(((1, 1000), (100, 60_000), (256, 5000), (50, 200)))
            mechanism = mechanism.subsample(
                WithoutReplacement(sample_size=size, population_size=records)
            )
            name += f" on {size} of {records}"
        count = rng.choice((1, 2, 3, round(10 ** rng.uniform(0, 5))))
        stages.append(self_compose(mechanism.guarantee(), count))
        words.append(f"{count} x {name}")
    return " + ".join(words), compose(*stages)


def _mechanism(rng: random.Random, relation: Relation) -> tuple[Any, str]:
    """One release of sensitivity 1, or a randomised response."""
    noise = _rounded(10 ** rng.uniform(-0.3, 1.5))
    match rng.choice(("gaussian", "laplace", "discrete-gaussian", "discrete-laplace", "response")):
        case "gaussian":
            return Gaussian(sigma=noise, sensitivity=L2(1), relation=relation), f"Gauss({noise})"
        case "laplace":
            return Laplace(scale=noise, sensitivity=L1(1), relation=relation), f"Laplace({noise})"
        case "discrete-gaussian":
            norm = L1(rng.choice((1, 2, 5)))
            words = f"DiscreteGauss({noise}, {norm.value})"
            return DiscreteGaussian(sigma=noise, sensitivity=norm, relation=relation), words
        case "discrete-laplace":
            norm = L1(rng.choice((1, 2, 5)))
            words = f"DiscreteLaplace({noise}, {norm.value})"
            return DiscreteLaplace(scale=noise, sensitivity=norm, relation=relation), words
        case _:
            epsilon, categories = _rounded(rng.uniform(0.1, 4)), rng.choice((2, 2, 5))
            response = RandomizedResponse(epsilon=epsilon, categories=categories, relation=relation)
            return response, f"RR({epsilon}, {categories})"


def _question(rng: random.Random, guarantee: Guarantee[Any]) -> tuple[str, Callable[[], Bound]]:
    """A random question, in words and as a call."""
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
    return Asked(what, cpu, found.relative_width, f"[{found.lower:.6g}, {found.upper:.6g}]")


def _give_up(*_: object) -> NoReturn:
    raise TimeoutError(f"given up after {_PATIENCE} s")


def _rounded(value: float) -> Fraction:
    """Three digits, as people write parameters."""
    return Fraction(f"{value:.3g}")


def _row(one: Asked) -> dict[str, Any]:
    return {"what": one.what, "cpu": one.cpu, "width": one.width, "answer": one.answer}
