"""Budgets that are spent after looking at outputs; proofs in proofs/theory/filters.md."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import partial
from typing import Final

from flint import arb

from dpproof.proofs.balls.arithmetic import exact_sum
from dpproof.proofs.core.arithmetic import ball, exact, require_at_most, show
from dpproof.proofs.core.errors import RefusedError
from dpproof.proofs.core.fields import Fields
from dpproof.proofs.core.pairs import GaussianPair
from dpproof.proofs.core.rule import ALONE, Application
from dpproof.proofs.core.statements import GDP, ApproxDP, PureDP
from dpproof.proofs.core.verdict import openable
from dpproof.proofs.limits import PER_COMPARISON
from dpproof.proofs.logic.statement import RDP, ZCDP
from dpproof.proofs.rules.compose import divergences, look_up
from dpproof.proofs.rules.convert import delta_at

_MOST_FILTERS: Final = 10
_LOOKING: Final = (
    "runs mechanisms one after another, each chosen after looking at what was released before and "
    "at nothing else of the data"
)


def zcdp(step: Application) -> tuple[str, ...]:
    """Check that all outputs are rho-zCDP if the rho_i add up to at most rho on every path.

    Source: Whitehouse, Ramdas, Rogers & Wu (arXiv:2203.05481). Proof: filters.md, 2.
    """
    parts, most = step.every(ZCDP, least=0), step.concludes(ZCDP).rho
    return _adds_up(step, (part.rho for part in parts), most, ("zCDP", "rho", "rho"))


def gdp(step: Application) -> tuple[str, ...]:
    """Check that all outputs are mu-GDP if the mu_i^2 add up to at most mu^2 on every path.

    Source: Smith & Thakurta (arXiv:2210.17520). Proof: filters.md, 3.
    """
    parts, most = step.every(GDP, least=0), step.concludes(GDP).mu_squared
    return _adds_up(step, (part.mu_squared for part in parts), most, ("GDP", "mu", "mu^2"))


def _adds_up(
    step: Application, spent: Iterable[Fraction], most: Fraction, words: tuple[str, str, str]
) -> tuple[str, ...]:
    notion, number, added = words
    _within(exact_sum(spent), most, added)
    each = f"is {number}-{notion} for a {number} that is fixed by that"
    return _assumed(step, each, f"on every path these {added} add up to at most {exact(most)}")


def renyi(step: Application) -> tuple[str, ...]:
    """Check at one order that the divergences of all parts add up to at most a bound.

    Source: Feldman & Zrnic (arXiv:2008.11193). Proof: filters.md, 1.
    """
    points = step.concludes(RDP).points
    if len(points) != 1:
        raise RefusedError("the rule concludes about one order, which is fixed in advance")
    ((order, most),) = points
    parts = step.every(RDP, least=0)
    step.budget.spend(sum(look_up(part.points) for part in parts))
    _within(exact_sum(divergences(part.points)(order) for part in parts), most, "divergences")
    return _assumed(
        step,
        f"has a Renyi divergence at order {exact(order)} below a bound that is fixed by that",
        f"on every path these bounds add up to at most {exact(most)}",
    )


def approx_dp(step: Application) -> tuple[str, ...]:
    """Check (epsilon, delta)-DP if rho-zCDP implies (epsilon, delta - failures)-DP.

    Premises are rho_i-zCDP, e_i-DP or (e_i, d_i)-DP; e_i tanh(e_i/2) and the other rho_i add up to
    at most rho, the d_i to at most failures.
    Source: Whitehouse, Ramdas, Rogers & Wu (arXiv:2203.05481). Proof: filters.md, 4.
    """
    claim = step.concludes(ApproxDP)
    rho = step.witness.rational("rho", least=0)
    failures = step.witness.rational("failures", least=0, most=claim.delta)
    order = step.witness.rational("order")
    concentrated, pure, failed = [], [], []
    for part in step.every(object, least=0):
        if isinstance(part, ZCDP):
            concentrated.append(part.rho)
        elif isinstance(part, PureDP):
            pure.append(part.epsilon)
        elif isinstance(part, ApproxDP):
            pure.append(part.epsilon)
            failed.append(part.delta)
        else:
            raise RefusedError("the rule takes zcdp, pure-dp and approx-dp")
    step.budget.spend(PER_COMPARISON * len(pure))
    _within(exact_sum(failed), failures, "deltas")
    total, epsilons = exact_sum(concentrated), [epsilon for epsilon in pure if epsilon]
    if epsilons:

        def added() -> arb:
            return sum((ball(e) * ball(e / 2).tanh() for e in epsilons), ball(total))

        require_at_most(added, partial(ball, rho), "the sum of rho")
    else:
        _within(total, rho, "rho")
    _divergent(rho * order, order, claim.epsilon, claim.delta - failures)
    return _assumed(
        step,
        "is rho-zCDP, or (e, d)-DP with rho = e tanh(e/2), for numbers that are fixed by that",
        f"on every path these rho add up to at most {exact(rho)} and these d to at most "
        f"{exact(failures)}",
    )


def several(step: Application) -> tuple[str, ...]:
    """Check filters of (epsilon, delta_j)-DP each, of which one admits all that runs. Proof: 7.

    The delta_j add up to at most delta.
    """
    step.axiom()
    claim = step.concludes(ApproxDP)
    listed = [Fields(item, "a filter") for item in step.witness.items("filters")]
    if not 0 < len(listed) <= _MOST_FILTERS:
        raise RefusedError(f"the rule takes 1 to {_MOST_FILTERS} filters")
    step.budget.spend(PER_COMPARISON * len(listed))
    shares, words = [], []
    for one in listed:
        share = one.rational("delta", least=0, most=1)
        shares.append(share)
        words.append(_one_of_several(one, claim.epsilon, share))
        one.close()
    _within(exact_sum(shares), claim.delta, "shares of delta")
    filters = openable("; ".join(words))
    told = (
        f"{_LOOKING}, and only if one of these budgets has admitted it and every one before it; "
        "what it costs there is fixed by what was released before, and true of it given that, "
        f"between {step.conclusion.relation} neighbours: {filters}"
    )
    return told, ALONE


def _one_of_several(one: Fields, epsilon: Fraction, share: Fraction) -> str:
    """Accept a budget that implies (epsilon, share)-DP, and say what it is."""
    way = one.words("way")
    if way == "basic":
        size = one.rational("epsilon", least=0)
        _within(size, epsilon, "epsilon")
        return f"sums of e at most {exact(size)} and of d at most {exact(share)} of (e, d)-DP"
    if way == "zcdp":
        rho = one.rational("rho", least=0)
        order = one.rational("order")
        _divergent(rho * order, order, epsilon, share)
        return f"a sum of rho at most {exact(rho)} of rho-zCDP"
    if way == "gdp":
        squared = one.rational("mu_squared", least=0)
        if squared:
            profile = GaussianPair(squared).profile
            what = "delta of the sum of mu^2"
            require_at_most(lambda: profile(ball(epsilon)), partial(ball, share), what)
        return f"a sum of mu^2 at most {exact(squared)} of mu-GDP"
    if way == "renyi":
        order, divergence = one.rational("order"), one.rational("divergence", least=0)
        _divergent(divergence, order, epsilon, share)
        words = f"at order {exact(order)}, which is fixed in advance"
        return f"a sum of Renyi divergences {words}, at most {exact(divergence)}"
    raise RefusedError("a filter is basic, zcdp, gdp or renyi")


def _divergent(divergence: Fraction, order: Fraction, epsilon: Fraction, delta: Fraction) -> None:
    """Accept if a Renyi divergence at an order above 1 implies (epsilon, delta)-DP."""
    if order <= 1:
        raise RefusedError("a Renyi order must be above 1")
    if divergence:
        require_at_most(
            lambda: delta_at(ball(divergence), order, ball(epsilon)),
            partial(ball, delta),
            "delta of the sum of divergences",
        )


def _within(total: Fraction, most: Fraction, what: str) -> None:
    if total > most:
        raise RefusedError(f"the {what} add up to {show(total)}, above {show(most)}")


def _assumed(step: Application, each: str, paths: str) -> tuple[str, ...]:
    """Return, in words, what runs under a budget, and which mechanisms did."""
    if step.conclusion.steps != 1:
        raise RefusedError("a filter is about neighbours, one step apart")
    names = openable(" and ".join(name for name in step.mechanisms if name))
    near = f"between {step.conclusion.relation} neighbours"
    ran = f", in this run {names}" if step.mechanisms else ""
    words = f"{_LOOKING}{ran}; given what was released before each {each}, {near}, and {paths}"
    return words, ALONE
