"""Everything that a report for a review board says, computed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, final

from dpproof.accountant.errors import PrivacyError
from dpproof.accountant.guarantees.guarantee import Guarantee
from dpproof.accountant.relation import Relation
from dpproof.commands.budget import Budget, StageCost, spend, total
from dpproof.pipeline.pipeline import Pipeline, Stage
from dpproof.proofs import Rejected, check

DELTAS: Final = tuple(10.0**-k for k in range(2, 13))
SMALL: Final = 6  # epsilons below that of the largest delta, for the middle of the trade-off
RATES: Final = tuple(k / 40 for k in range(41))
NOISES: Final = ("noise_multiplier", "sigma", "scale")
MORE: Final = Fraction(11, 10)
MOST_STAGES: Final = 40  # of the what-if table: each of its lines is a total of its own


@final
@dataclass(frozen=True, slots=True)
class WhatIf:
    """The gain of more noise in one stage.

    Attributes:
        stage: its name.
        changed: the numbers that were raised by a tenth.
        epsilon: of everything together then.
    """

    stage: str
    changed: tuple[str, ...]
    epsilon: float


@final
@dataclass(frozen=True, slots=True)
class Proof:
    """The certificate of the total.

    Attributes:
        digest: SHA-256 of its text; empty if there is none.
        claim: in the checker's words, or why there is no certificate.
        assumptions: everything that the claim takes for granted.
        labels: the stage of each mechanism of the assumptions.
    """

    digest: str
    claim: str
    assumptions: tuple[str, ...]
    labels: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Facts:
    """The facts that a report states.

    Attributes:
        budget: costs, attack risk and theorems.
        curve: delta and the upper end of epsilon there.
        trade_off: false-alarm rate, and a lower bound of every attack's miss rate.
        what_if: a line for each stage that has noise.
        proof: of the total.
    """

    budget: Budget
    curve: tuple[tuple[float, float], ...]
    trade_off: tuple[tuple[float, float], ...]
    what_if: tuple[WhatIf, ...]
    proof: Proof


def collect(pipeline: Pipeline, step: Callable[[str], None] = lambda _: None) -> Facts:
    """Compute everything that a report says of a pipeline.

    Raises:
        InputError: a stage or the whole is refused; one line.
    """
    budget = spend(pipeline, step)
    whole = total([cost.guarantee for cost in budget.stages], budget.pipeline.delta)
    step("curves")
    curve = epsilons(whole)
    trade_off = missed((*curve, *small_epsilons(whole, curve[0][1])))
    step("what if")
    changes = tuple(_what_ifs(budget))
    step("certificate")
    return Facts(budget, curve, trade_off, changes, _proof(whole, pipeline.delta))


def epsilons(whole: Guarantee[Any]) -> tuple[tuple[float, float], ...]:
    """Return delta and the upper end of epsilon there, from the largest delta on."""
    return tuple(zip(DELTAS, whole.epsilons(deltas=DELTAS).upper.tolist(), strict=True))


def small_epsilons(whole: Guarantee[Any], largest: float) -> tuple[tuple[float, float], ...]:
    """Return the upper end of delta, and epsilon, for epsilons from 0 up to a largest one."""
    if not math.isfinite(largest):
        largest = 0.0
    points = [largest * k / SMALL for k in range(SMALL)]
    return tuple(
        zip(whole.deltas(epsilons=points).upper.clip(max=1.0).tolist(), points, strict=True)
    )


def missed(
    curve: Sequence[tuple[float, float]], rates: Sequence[float] = RATES
) -> tuple[tuple[float, float], ...]:
    """Return a lower bound of the miss rate at every false-alarm rate.

    Each (epsilon, delta) gives miss >= max(1 - delta - e^epsilon a, e^-epsilon (1 - delta - a)).
    """
    found = []
    for rate in rates:
        bounds = [0.0]
        for delta, epsilon in curve:
            if epsilon < math.log(1e300):
                odds = math.exp(epsilon)
                bounds += [1 - delta - odds * rate, (1 - delta - rate) / odds]
        found.append((rate, max(bounds) * (1 - 1e-12)))
    return tuple(found)


def _what_ifs(budget: Budget) -> list[WhatIf]:
    guarantees = [cost.guarantee for cost in budget.stages]
    found = []
    for position, cost in enumerate(budget.stages[:MOST_STAGES]):
        changed = _noisier(cost, budget.pipeline.relation)
        if changed is None:
            continue
        names, guarantee = changed
        others = [*guarantees[:position], guarantee, *guarantees[position + 1 :]]
        epsilon = total(others, budget.pipeline.delta).epsilon(delta=budget.pipeline.delta).upper
        found.append(WhatIf(cost.stage.name, names, epsilon))
    return found


def _noisier(
    cost: StageCost, relation: Relation
) -> tuple[tuple[str, ...], Guarantee[Relation]] | None:
    """Return which numbers of a stage are its noise, and its guarantee with a tenth more of it."""
    stage, numbers = cost.stage, cost.stage.numbers()
    names = noise_addresses(stage)
    if not names:
        return None
    for name in names:
        stage = stage.replaced(name, numbers[name] * MORE)
    try:
        return tuple(names), stage.guarantee(relation)
    except PrivacyError:  # integers alone are allowed there, or the noise ends what is computed
        return None


def noise_addresses(stage: Stage) -> list[str]:
    """Return the addresses of the noise of a stage, each number by one of them."""
    names = [name for name in stage.numbers() if name.rpartition(".")[2] in NOISES]
    dotted = {name.rpartition(".")[2] for name in names if "." in name}
    return [name for name in names if name not in dotted]


def _proof(whole: Guarantee[Relation], delta: Fraction) -> Proof:
    try:
        certificate = whole.certify(delta=delta)
    except PrivacyError as refusal:
        reason = " ".join(str(refusal).split())
        return Proof("", f"no certificate: {reason}", whole.derivation.all_assumptions())
    verdict = check(certificate)
    if isinstance(verdict, Rejected):
        return Proof("", f"no certificate: {verdict.reason}", whole.derivation.all_assumptions())
    digest = hashlib.sha256(certificate.to_json().encode()).hexdigest()
    assumptions = tuple(getattr(verdict, "assumptions", ()))
    return Proof(digest, verdict.claim, assumptions, verdict.labels)
