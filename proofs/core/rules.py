"""The rules that most certificates need; proofs that are ours are in proofs/theory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from types import MappingProxyType
from typing import Final

from flint import arb

from . import limits, pairs as kinds
from .arithmetic import Number, ball, exact, require_at_most
from .errors import BeyondError, RefusedError
from .pairs import Pair, Product
from .rule import ALONE, FIXED, FRESH, Application, Rule
from .statements import (
    GDP,
    SYMMETRIC,
    Advantage,
    ApproxDP,
    C,
    Claim,
    HockeyStick,
    Pairs,
    Power,
    PureDP,
    merged,
    rate,
)
from .verdict import openable, quoted


def gaussian(step: Application) -> tuple[str, ...]:
    """Check mu = L2 sensitivity/sigma. Source: Dong, Roth & Su (arXiv:1905.02383), Theorem 2.7."""
    step.axiom()
    sensitivity, sigma = step.witness.positive("sensitivity"), step.witness.positive("sigma")
    step.expect(GDP((sensitivity / sigma) ** 2))
    noise = f"Gaussian noise of mean 0 and standard deviation {exact(sigma)}"
    return adds(step, noise, f"{exact(sensitivity)} in L2 norm")


def laplace(step: Application) -> tuple[str, ...]:
    """Check a shift by L1 sensitivity/scale. Source: docs/shift-lemma.md, Corollary 1."""
    step.axiom()
    sensitivity, scale = step.witness.positive("sensitivity"), step.witness.positive("scale")
    step.expect(both(kinds.LaplacePair(sensitivity / scale)))
    noise = f"Laplace noise of scale {exact(scale)}, of density proportional to e^(-|x|/scale)"
    return adds(step, noise, f"{exact(sensitivity)} in L1 norm")


def adds(
    step: Application, noise: str, moves: str, kind: str = "", *, independent: bool = True
) -> tuple[str, ...]:
    """Say what a noise mechanism assumes: its sensitivity, its sampler, what it releases."""
    how = moves if moves.startswith("at most") else f"that moves by at most {moves}"
    each = ", independent in every coordinate" if independent else ""
    value = f"a list of {kind}numbers, as long for every dataset, {how}"
    between = f"between {step.conclusion.relation} neighbours"
    return f"adds {noise}{each}, to {value} {between}", FRESH, ALONE


def stated(kind: type[Claim]) -> Rule:
    """Return the rule that takes a statement of one notion for granted, in words."""

    def assume(step: Application) -> tuple[str, ...]:
        if step.premises:
            raise RefusedError("the rule takes no premise")
        step.concludes(kind)
        return (f"is, by assumption, {step.conclusion.describe()}",)

    return assume


def dominate_gdp(step: Application) -> tuple[str, ...]:
    """Check the pair N(mu, 1) over N(0, 1). Source: arXiv:1905.02383, Definition 2.6."""
    squared = step.only(GDP).mu_squared
    step.expect(both(kinds.GaussianPair(squared) if squared else None))
    return ()


def both(pair: Pair | None, count: int = 1) -> Pairs:
    """Return one pair, or two equal laws, in both directions."""
    product = () if pair is None else ((pair, count),)
    return Pairs(product, product)


def compose_pair(step: Application) -> tuple[str, ...]:
    """Check the product of the pairs. Source: Zhu, Dong & Wang (arXiv:2106.08567), Theorem 10."""
    parts, count = composed(step, Pairs)
    step.budget.spend(sum(len(part.forward) + len(part.backward) for part in parts))
    ways = merged(*(one.forward for one in parts)), merged(*(one.backward for one in parts))
    forward, backward = (tuple((one, times * count) for one, times in way) for way in ways)
    step.expect(Pairs(forward, backward))
    return same_data(step, count)


def composed(step: Application, kind: type[C]) -> tuple[Sequence[C], int]:
    """Return what runs, and how often: several parts once, or one as often as the witness says."""
    if not step.witness.has("count"):
        return step.every(kind, least=2), 1
    return [step.only(kind)], step.witness.whole("count", least=2)


def same_data(step: Application, count: int) -> tuple[str, ...]:
    """Return, in words, what composition of several parts, or of equal ones, assumes."""
    names = openable(" and ".join(step.mechanisms))
    often = f"{step.mechanisms[0]} {count} times" if count > 1 else names
    return f"runs {often} on the same data", FIXED, FRESH, ALONE


def post_process(step: Application) -> tuple[str, ...]:
    """Check that a function of the outputs does the same. arXiv:1905.02383, Proposition 2.8."""
    name, said = described(step)
    alone = "that is the same for all datasets and depends on nothing else"
    return f"has as its result a function of that of {name} {alone}, {said}", ALONE


def described(step: Application) -> tuple[str, str]:
    """Return the mechanism of the one premise, which is the conclusion, and its description."""
    description = step.witness.words("description")
    (claim,) = step.every(object, most=1)
    if step.conclusion.claim != claim:
        raise RefusedError("the conclusion is not the premise")
    (name,) = step.mechanisms
    return name, f"which the certificate's author describes as {quoted(description)}"


def poisson_by(sample: Callable[..., Pair]) -> Rule:
    """Return the rule of Poisson samples, by the pair of a product, a rate and a direction."""

    def poisson(step: Application) -> tuple[str, ...]:
        if step.conclusion.relation in SYMMETRIC:
            raise RefusedError(f"under {step.conclusion.relation} Poisson sampling is not this")
        if step.conclusion.steps != 1:
            raise RefusedError("the formula is about one record")
        base, q = step.only(Pairs), rate(step.witness)
        if not (base.forward and base.backward):
            raise RefusedError("the rule takes a base of at least one pair")
        ways = sample(base.forward, q, removal=True), sample(base.backward, q, removal=False)
        step.expect(Pairs(*(((pair, 1),) for pair in ways)))
        drawn = f"a sample that holds every record independently with probability {exact(q)}"
        blank = ["treats a blank record as if it were not there"]
        empty = blank * (step.conclusion.relation == "zero-out")
        return f"runs {step.mechanisms[0]} on {drawn}", *empty, FRESH, ALONE

    return poisson


def gaussian_sample(base: Product, q: Fraction, *, removal: bool) -> Pair:
    """Return ((1-q)Q + qP, Q) of Gaussian pairs, one in all, for removal, else (P, (1-q)P + qQ).

    Source: arXiv:2106.08567, Theorem 11; false under replace-one (Lebeda et al., 2405.20769).
    """
    squares = [pair.mu_squared * n for pair, n in base if isinstance(pair, kinds.GaussianPair)]
    if len(squares) < len(base):
        raise BeyondError("a sample of other pairs than Gaussian ones")
    return kinds.SubsampledGaussianPair(sum(squares, Fraction(0)), q, removal)


def pair_to_approx(step: Application) -> tuple[str, ...]:
    """Check (epsilon, delta)-DP: H_eps of the product of each direction is at most delta.

    Premises: the pairs, a bound for each direction. Source: arXiv:2106.08567, Definition 7.
    """
    claim = step.concludes(ApproxDP)
    pairs, facts = split(step)
    points = ((claim.epsilon, claim.delta),)
    if facts != [HockeyStick(product, points) for product in directions(pairs)]:
        raise RefusedError(f"no bound of each direction at {step.conclusion.describe()}")
    return ()


def split(step: Application) -> tuple[Pairs, list[HockeyStick]]:
    """Return the pairs among the premises, and the facts about them, in order."""
    apart = step.conclusion.steps
    pairs = [p.claim for p in step.premises if isinstance(p.claim, Pairs) and p.steps == apart]
    facts = [p.claim for p in step.premises if isinstance(p.claim, HockeyStick)]
    if len(pairs) != 1 or len(facts) + 1 != len(step.premises):
        raise RefusedError("the rule takes pairs and hockey-stick bounds")
    return pairs[0], facts


def directions(pairs: Pairs) -> list[Product]:
    """Return the different directions, forward first."""
    return list(dict.fromkeys((pairs.forward, pairs.backward)))


def true_positive_rate(step: Application) -> tuple[str, ...]:
    """Check the power e^epsilon a + delta, 1 - (1 - a - delta) e^-epsilon, or 1, a that under Q.

    Source: arXiv:1311.0776, Theorem 2.1. Proof: proofs/theory/conversions.md, section 10.
    """
    implied, claim = step.only(ApproxDP), step.concludes(Power)
    a, rational = claim.false_positive_rate, claim.false_positive_rate + implied.delta

    def bound() -> Number:
        if not a or not implied.epsilon or max(rational, claim.true_positive_rate) >= 1:
            return min(rational, Fraction(1))
        ratio = ball(implied.epsilon)
        by_event = ratio.exp() * ball(a) + ball(implied.delta)
        by_rest = 1 - ball(1 - rational) * (-ratio).exp()
        return by_event.min(by_rest) if by_event.is_finite() else by_rest

    require_at_most(bound, partial(Fraction, claim.true_positive_rate), "the true-positive rate")
    return ()


def advantage(step: Application) -> tuple[str, ...]:
    """Check delta + (1 - delta) tanh(epsilon/2). Source: arXiv:1311.0776, Theorem 2.1."""
    implied, claim = step.only(ApproxDP), step.concludes(Advantage)

    def bound() -> Number:
        if not implied.epsilon or implied.delta == 1:
            return implied.delta
        return ball(implied.delta) + ball(1 - implied.delta) * ball(implied.epsilon / 2).tanh()

    require_at_most(bound, partial(Fraction, claim.advantage), "the advantage")
    return ()


def closed(step: Application) -> tuple[str, ...]:
    """Check a profile in closed form: of no pair, of one pair, once, or of Gaussian pairs."""
    claim = fact(step)
    profile = closed_profile(claim.product)
    if profile is None:
        raise BeyondError("the rule takes one pair, once, or Gaussian pairs")
    step.budget.spend(limits.VALUE * len(claim.product) * (16 + len(claim.points)))
    return at_most(lambda: exactly(claim.product, profile), claim)


def exactly(product: Product, profile: Callable[[arb], arb]) -> Callable[[Fraction], Number]:
    """Return a closed profile, at an epsilon where it is known to be rational exactly."""
    alone = product[0][0].rational_at() if len(product) == 1 == product[0][1] else None

    def value(epsilon: Fraction) -> Number:
        rational = alone(epsilon) if alone else None if product else Fraction(0)
        return profile(ball(epsilon)) if rational is None else rational

    return value


def closed_profile(product: Product) -> Callable[[arb], arb] | None:
    """Return the closed profile of no pair, of Gaussian pairs, or of one pair, once; else None."""
    if not product:
        return lambda _: arb(0)
    squares = [n * pair.mu_squared for pair, n in product if isinstance(pair, kinds.GaussianPair)]
    if len(squares) == len(product):
        return kinds.GaussianPair(sum(squares, Fraction(0))).profile
    return product[0][0].profile_at() if len(product) == product[0][1] == 1 else None


def fact(step: Application) -> HockeyStick:
    """Return the concluded fact of a rule without premises."""
    if step.premises:
        raise RefusedError("the rule takes no premise")
    return step.concludes(HockeyStick)


def at_most(
    bounds: Callable[[], Callable[[Fraction], Number]], claim: HockeyStick
) -> tuple[str, ...]:
    """Accept if the bound, made once, shows every point; a delta of 1 is true without it."""
    bound = bounds()
    for epsilon, delta in claim.points:
        if delta < 1:
            what = "the hockey-stick divergence"
            require_at_most(partial(bound, epsilon), partial(Fraction, delta), what)
    return ()


CORE_RULES: Final = MappingProxyType(
    {
        "state/pure-dp": stated(PureDP),
        "state/approx-dp": stated(ApproxDP),
        "state/gdp": stated(GDP),
        "state/dominating-pair": stated(Pairs),
        "mechanism/gaussian": gaussian,
        "mechanism/laplace": laplace,
        "dominate/gdp": dominate_gdp,
        "compose/pair": compose_pair,
        "post-process": post_process,
        "subsample/poisson": poisson_by(gaussian_sample),
        "convert/pair-approx": pair_to_approx,
        "convert/approx-true-positive-rate": true_positive_rate,
        "convert/approx-advantage": advantage,
        "hockey-stick/closed": closed,
    }
)
