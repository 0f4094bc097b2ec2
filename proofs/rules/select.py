"""Private selection from pure differential privacy or Renyi divergences.

The best of K runs is released, K drawn independently of everything. Proofs:
proofs/theory/selection.md.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Final, TypeAlias

from flint import arb

from dpproof.proofs.balls.run_counts import Poisson, Runs, TruncatedNegativeBinomial, read_runs
from dpproof.proofs.core.arithmetic import ball, require_at_most
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.rule import ALONE, FRESH, Application
from dpproof.proofs.core.statements import PureDP
from dpproof.proofs.logic.statement import RDP, ZCDP
from dpproof.proofs.rules.compose import divergence, look_up
from dpproof.proofs.rules.convert import delta_at, total_variation

HIDDEN: Final = "neither the number of runs, nor which of them it was, nor anything else"
Curve: TypeAlias = Callable[[Fraction], Fraction]
Bound: TypeAlias = Callable[[], arb]


def pure(step: Application) -> tuple[str, ...]:
    """Check epsilon + log phi'(z)/phi'(1-z), z = e^eps/(1+e^eps).

    The rule wants a phi''(1-a)/phi'(1-a) that grows.

    At most n runs, all of them released, cost n epsilon, which is compared exactly: of n runs it is
    that number, and no ball decides between equals.
    Source: proofs/theory/selection.md, Corollary 3, and post-processing.
    """
    base, claimed = step.only(PureDP).epsilon, step.concludes(PureDP).epsilon
    runs = read_runs(step.witness.take("runs"))
    if runs.largest is not None and claimed >= runs.largest * base:
        return selects(step, runs)
    if not runs.corner_is_worst:
        raise RefusedError("the rule takes runs whose worst case is known to be at the corner")

    def total() -> arb:
        z = 1 / (1 + ball(-base).exp())
        return ball(base) + (runs.phi(1, z) / runs.phi(1, 1 - z)).log()

    require_at_most(total, partial(ball, claimed), "epsilon")
    return selects(step, runs)


def renyi(step: Application) -> tuple[str, ...]:
    """Check every listed order by the bound that the order's witness names.

    Source: Papernot & Steinke (arXiv:2110.03620), Theorems 2 and 6; proofs/theory/selection.md,
    Section 5.
    """
    (premise,) = step.every(object, most=1)
    if not isinstance(premise, ZCDP | RDP):
        raise RefusedError("the rule takes zCDP or Renyi divergences")
    points, base = step.concludes(RDP).points, premise.points if isinstance(premise, RDP) else ()
    runs, listed = read_runs(step.witness.take("runs")), step.witness.items("orders")
    if len(listed) != len(points):
        raise RefusedError("the rule takes one witness an order")
    step.budget.spend(len(points) * (2 * look_up(base) + 4 * runs.work))

    def curve(order: Fraction) -> Fraction:
        return premise.rho * order if isinstance(premise, ZCDP) else divergence(base, order)

    for (order, value), item in zip(points, listed, strict=True):
        hint = Fields(item, "an order's witness")
        name = hint.take("by")
        if not isinstance(name, str) or name not in BOUNDS:
            raise RefusedError(f"no bound is called {name!r:.60}")
        bound = BOUNDS[name](runs, order, curve, hint)
        hint.close()
        require_at_most(bound, partial(ball, value), f"the divergence at order {order}")
    return selects(step, runs)


def selects(step: Application, runs: Runs) -> tuple[str, ...]:
    """Return, in words, what the theorem assumes about the runs, the score and the release."""
    name = next(name for name in step.mechanisms if name)
    drawn = f"a number of times that is drawn independently of everything ({runs.describe()})"
    score = "the best is by a score that is the same for all datasets and looks at an output alone"
    best = f"its result is of the outputs only the best, or that there was none; it says {HIDDEN}"
    made = f"runs {name} on the same data {drawn}"
    return f"{made}; {best}; {score}; ties are broken at random whatever the data", FRESH, ALONE


def _by_shape(runs: Runs, a: Fraction, curve: Curve, hint: Fields) -> Bound:
    """Return R(a) + (1+eta)((1-1/b) R(b) + log(1/gamma)/b) + log(m)/(a-1), any b >= 1.

    Source: Theorem 2.
    """
    b = hint.rational("order", least=1)
    if not isinstance(runs, TruncatedNegativeBinomial):
        raise RefusedError("the bound is for truncated negative binomial runs")
    total = curve(a) + ((1 + runs.eta) * (1 - 1 / b) * curve(b) if b > 1 else 0)

    def bound() -> arb:
        rest = ball((1 + runs.eta) / b) * -ball(runs.gamma).log()
        return ball(total) + rest + runs.phi(1, arb(1)).log() / ball(a - 1)

    return bound


def _by_rate(runs: Runs, a: Fraction, curve: Curve, hint: Fields) -> Bound:
    """Return log(e^-m + m e^((a-1)(R(a) + m d)))/(a-1), d a delta at log(a/(a-1)).

    Source: Theorem 6.

    d from the divergence at an order b (``divergence.delta_at``), or the total variation.
    """
    b = hint.rational("order")
    if not isinstance(runs, Poisson) or b <= 1:
        raise RefusedError("the bound is for Poisson runs and an order above 1")
    value, other = curve(a), curve(b)

    def bound() -> arb:
        m, rho = ball(runs.rate), ball(other)
        delta = delta_at(rho, b, -ball(1 - 1 / a).log()).min(total_variation(rho))
        grown = m * (ball(a - 1) * (ball(value) + m * delta)).exp()
        return ((-m).exp() + grown).log() / ball(a - 1)

    return bound


def _by_all(runs: Runs, a: Fraction, curve: Curve, hint: Fields) -> Bound:
    """Return log phi(e^((a-1) R(a)))/(a-1): the cost of releasing every run, given K."""
    del hint
    if isinstance(runs, TruncatedNegativeBinomial):
        raise RefusedError("the bound is for runs that have every exponential moment")
    value = curve(a)
    return lambda: runs.phi(0, ball((a - 1) * value).exp()).log() / ball(a - 1)


def _by_ratio(runs: Runs, a: Fraction, curve: Curve, hint: Fields) -> Bound:
    """Return R(a) + log(phi'(1)/phi'(0)) + log(m + P(K = 0))/(a-1).

    phi' is between its ends.
    """
    del hint
    value = curve(a)

    def bound() -> arb:
        mean, first = runs.phi(1, arb(1)), runs.phi(1, arb(0))
        return ball(value) + (mean / first).log() + (mean + runs.phi(0, arb(0))).log() / ball(a - 1)

    return bound


BOUNDS: Final[dict[str, Callable[[Runs, Fraction, Curve, Fields], Bound]]] = {
    "shape": _by_shape,
    "rate": _by_rate,
    "all": _by_all,
    "ratio": _by_ratio,
}
