"""The rules of the core, each as its row of the table in docs/CERTIFICATE.md states it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from tests.proofs.second import intervals as balls
from tests.proofs.second.extensions import OTHER_PAIRS
from tests.proofs.second.intervals import Interval, Undecided, of
from tests.proofs.second.statements import SYMMETRIC, Fields, Pair, Product, Statement, pair
from tests.proofs.second.text import Refusal, is_line


class NotHere(Exception):
    """A step is left to an extension, which is named."""


@dataclass(frozen=True)
class Question:
    """One step that a rule is asked about."""

    premises: Sequence[Statement]
    conclusion: Statement
    witness: Fields


@dataclass(frozen=True)
class Rule:
    """A rule of the core: its check, and the notions of its premises and of its conclusion."""

    check: Callable[[Question], None]
    premises: str | None
    concludes: str
    makes: bool = False  # whether it states what a new mechanism does
    several: bool = False  # whether the number of its premises is its own affair


ANY: Final = "any"
FACTS: Final = "one pair, and facts"
PAIRS: Final = "dominating-pair"
ZERO: Final = Fraction(0)


def _follows(asked: Question, *numbers: Fraction, products: Sequence[Product] = ()) -> None:
    if (asked.conclusion.numbers, asked.conclusion.products) != (numbers, tuple(products)):
        raise Refusal("conclusion", "the conclusion is not what follows")


def _dominated(asked: Question, product: Product) -> None:
    _follows(asked, products=(product, product))


def _once(kind: str, **fields: object) -> Product:
    texts = {k: str(v) if isinstance(v, Fraction) else v for k, v in fields.items()}
    return ((1, pair({"kind": kind, **texts})),)


def _at_most(bound: Interval | Fraction, stated: Fraction, what: str) -> None:
    limit = of(stated)
    if bound <= stated if isinstance(bound, Fraction) else bound.b <= limit.a:
        return
    if isinstance(bound, Fraction) or bound.a > limit.b:
        raise Refusal("number", f"{what} is certainly larger than stated")
    raise Undecided


def gaussian_noise(asked: Question) -> None:
    """Check `mechanism/gaussian`: mu^2 = (sensitivity/sigma)^2."""
    sigma = asked.witness.rational("sigma", "above 0")
    _follows(asked, (asked.witness.rational("sensitivity", "above 0") / sigma) ** 2)


def laplace_noise(asked: Question) -> None:
    """Check `mechanism/laplace`: the Laplace pair at sensitivity/scale, in both directions."""
    scale = asked.witness.rational("scale", "above 0")
    moved = asked.witness.rational("sensitivity", "above 0")
    _dominated(asked, _once("laplace", epsilon=moved / scale))


def granted(_: Question) -> None:
    """Check `state/NOTION`: whatever it says is an assumption."""


def dominate_gdp(asked: Question) -> None:
    """Check `dominate/gdp`."""
    (mu_squared,) = asked.premises[0].numbers
    _dominated(asked, _once("gaussian", mu_squared=mu_squared) if mu_squared else ())


def _parts(asked: Question) -> list[tuple[int, Statement]]:
    count = asked.witness.whole("count", least=2) if "count" in asked.witness else 1
    wanted = 1 if count > 1 else len(asked.premises)
    if len(asked.premises) != wanted or wanted * count < 2:
        raise Refusal("premises", "wanted: two premises or more, or one and a count")
    return [(count, one) for one in asked.premises]


def compose_pair(asked: Question) -> None:
    """Check `compose/pair`: counts of equal pairs add up, in order of appearance."""
    sums: list[dict[Pair, int]] = [{}, {}]
    for times, one in _parts(asked):
        for counts, factors in zip(sums, one.products, strict=True):
            for count, factor in factors:
                counts[factor] = counts.get(factor, 0) + times * count
    _follows(asked, products=[tuple((n, one) for one, n in counts.items()) for counts in sums])


def same(asked: Question) -> None:
    """Check `post-process`: the statement of the premise, with a description."""
    description = asked.witness.take("description")
    if not is_line(description, 300) or description != description.strip():
        raise Refusal("domain", "the description is no line of 1 to 300 printable characters")
    if asked.conclusion != asked.premises[0]:
        raise Refusal("conclusion", "the conclusion is not the premise")


def poisson(asked: Question) -> None:
    """Check `subsample/poisson` of Gaussian pairs: one subsampled Gaussian in each direction."""
    rate = asked.witness.rational("sampling_rate", "(0, 1)")
    if asked.conclusion.relation in SYMMETRIC or asked.conclusion.steps != 1:
        raise Refusal("relation", "the rule is about one record that is there or not")
    products = asked.premises[0].products
    if not all(products):
        raise Refusal("premises", "the premise has an empty product")
    if any(one.kind != "gaussian" for factors in products for _, one in factors):
        raise NotHere("samples")
    made = [
        _once(
            "subsampled-gaussian", mu_squared=_mu_squared(one), sampling_rate=rate, removal=removal
        )
        for one, removal in zip(products, (True, False), strict=True)
    ]
    _follows(asked, products=made)


def _mu_squared(product: Product) -> Fraction:
    return sum((count * one.numbers[0] for count, one in product), ZERO)


def pair_approx(asked: Question) -> None:
    """Check `convert/pair-approx`: the pairs, and a fact at the same point for each direction."""
    pairs = [one for one in asked.premises if one.notion == "dominating-pair"]
    facts = [one for one in asked.premises if one.notion == "hockey-stick"]
    if len(pairs) != 1 or len(facts) + 1 != len(asked.premises):
        raise Refusal("premises", "wanted: one pair, and facts of the kind hockey-stick")
    wanted = [
        Statement("hockey-stick", None, 0, products=(one,), points=(asked.conclusion.numbers,))
        for one in dict.fromkeys(pairs[0].products)
    ]
    if facts != wanted:
        raise Refusal("premises", "the facts are not those of the directions at this point")


def detected(asked: Question) -> None:
    """Check `convert/approx-true-positive-rate`."""
    (epsilon, delta), (a, b) = asked.premises[0].numbers, asked.conclusion.numbers
    up, down = balls.exp(of(epsilon)), balls.exp(of(-epsilon))
    bound = balls.least(up * of(a) + of(delta), 1 - of(1 - a - delta) * down)
    exact = not a or not epsilon or a + delta >= 1
    least = min(Fraction(1), a + delta) if exact else balls.least(bound, of(1))
    _at_most(least, b, "the true-positive rate")


def advantage(asked: Question) -> None:
    """Check `convert/approx-advantage`: at least delta + (1 - delta) tanh(epsilon/2)."""
    epsilon, delta = asked.premises[0].numbers
    tanh = 1 - 2 / (balls.exp(of(epsilon)) + 1)
    bound = delta if not epsilon or delta == 1 else of(delta) + of(1 - delta) * tanh
    _at_most(bound, asked.conclusion.numbers[0], "the advantage")


def closed(asked: Question) -> None:
    """Check `hockey-stick/closed` of Gaussian pairs, or of one pair, once."""
    (factors,), points = asked.conclusion.products, asked.conclusion.points
    once = len(factors) == 1 and factors[0][0] == 1
    if not once and any(one.kind != "gaussian" for _, one in factors):
        raise NotHere("sums")
    for epsilon, delta in points:
        if delta < 1:
            known = _rational(factors, epsilon)
            bound = profile(factors, epsilon) if known is None else known
            _at_most(bound, delta, "the hockey-stick divergence")


def _rational(factors: Product, epsilon: Fraction) -> Fraction | None:
    """Return H_epsilon of no pair, or of one pair, once, where it is a rational."""
    if not factors:
        return ZERO
    (count, one), *others = factors
    if others or count > 1 or one.kind in ("gaussian", *OTHER_PAIRS) or one.flag:
        return None
    past = one.numbers[0]
    if one.kind == "subsampled-gaussian":
        past = Fraction(math.ceil(1 / (1 - one.numbers[1])).bit_length())
    return ZERO if epsilon >= past else None


def profile(factors: Product, epsilon: Fraction) -> Interval:
    """Enclose H_epsilon of Gaussian pairs, or of one pair, once."""
    if not factors:
        return of(0)
    t, one = balls.exp(of(epsilon)), factors[0][1]
    match one.kind:
        case "gaussian":
            return _gaussian(_mu_squared(factors), of(epsilon), t)
        case "laplace":
            (own,) = one.numbers
            return 1 - balls.exp(of((epsilon - own) / 2)) if epsilon < own else of(0)
        case "subsampled-gaussian":
            return _sampled(one, epsilon, t)
        case _:
            raise NotHere(OTHER_PAIRS[one.kind])


def _gaussian(mu_squared: Fraction, epsilon: Interval, t: Interval) -> Interval:
    mu = balls.root(of(mu_squared))
    return balls.normal(mu / 2 - epsilon / mu) - t * balls.normal(-mu / 2 - epsilon / mu)


def _sampled(one: Pair, epsilon: Fraction, t: Interval) -> Interval:
    """Return H_t of a mixture: q H of the Gaussian pair at another ratio; below 0 there is none."""
    (mu_squared, rate), q = one.numbers, of(one.numbers[1])
    if one.flag:
        ratio, weight = 1 + (t - 1) / q, q
    else:
        weight = 1 - t * of(1 - rate)
        if weight.b <= 0:
            return of(0)
        if not weight.a > 0:
            return balls.hull(of(0), weight)  # no H is above 1
        ratio = t * q / weight
    if epsilon == 0:
        ratio = of(1)
    return weight * _gaussian(mu_squared, balls.log(ratio), ratio)


RULES: Final[dict[str, Rule]] = {
    "mechanism/gaussian": Rule(gaussian_noise, None, "gdp", makes=True),
    "mechanism/laplace": Rule(laplace_noise, None, PAIRS, makes=True),
    "state/pure-dp": Rule(granted, None, "pure-dp", makes=True),
    "state/approx-dp": Rule(granted, None, "approx-dp", makes=True),
    "state/gdp": Rule(granted, None, "gdp", makes=True),
    "state/dominating-pair": Rule(granted, None, PAIRS, makes=True),
    "dominate/gdp": Rule(dominate_gdp, "gdp", PAIRS),
    "compose/pair": Rule(compose_pair, PAIRS, PAIRS, makes=True, several=True),
    "post-process": Rule(same, ANY, ANY, makes=True),
    "subsample/poisson": Rule(poisson, PAIRS, PAIRS, makes=True),
    "convert/pair-approx": Rule(pair_approx, FACTS, "approx-dp", several=True),
    "convert/approx-true-positive-rate": Rule(detected, "approx-dp", "true-positive-rate"),
    "convert/approx-advantage": Rule(advantage, "approx-dp", "advantage"),
    "hockey-stick/closed": Rule(closed, None, "hockey-stick"),
}
"""The fourteen rules of the core."""
