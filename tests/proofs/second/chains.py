"""Random certificates of the core: mechanisms, samples, compositions, and a claim at its number."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

from mpmath import iv, mp

from tests.proofs.second import cases as c, intervals as balls
from tests.proofs.second.intervals import of
from tests.proofs.second.rules import profile
from tests.proofs.second.statements import product as read_product

Json = dict[str, Any]


def chain(rng: random.Random) -> str:
    """Return a certificate whose claim is right, or too small by a hair or by much."""
    steps: list[Json] = []
    relation = rng.choice(("add-remove", "zero-out"))
    rng.choice((_gaussians, _one_pair))(steps, rng, relation)
    if rng.random() < 0.4:
        steps.append({**c.step("post-process", steps[-1]["conclusion"], len(steps) - 1)})
        steps[-1]["witness"] = {"description": "the mean of a column"}
    dominating, conclusion = len(steps) - 1, steps[-1]["conclusion"]
    directions = [conclusion["forward"]]
    if conclusion["backward"] != conclusion["forward"]:
        directions.append(conclusion["backward"])
    epsilon = Fraction(rng.randrange(9), rng.choice((1, 2, 4, 7)))
    delta = max(_upper(one, epsilon) for one in directions)
    delta = min(delta * _margin(rng), Fraction(1))
    point = str(epsilon), str(delta)
    steps += [c.step("hockey-stick/closed", c.fact(one, point)) for one in directions]
    claim = c.approx(str(epsilon), str(delta), relation=relation)
    steps.append(c.step("convert/pair-approx", claim, *range(dominating, len(steps))))
    _attack(steps, rng, epsilon, delta, relation)
    return c.text(steps)


def _margin(rng: random.Random) -> Fraction:
    small = Fraction(1, 2 ** rng.choice((3, 10, 40, 70, 100)))
    return 1 + small * rng.choice((1, 1, 1, -1))


def _gaussians(steps: list[Json], rng: random.Random, relation: str) -> None:
    """Gaussian noise composed as such or as pairs, and perhaps on samples."""
    total = Fraction(0)
    for place in range(rng.randrange(1, 4)):
        sigma, moved = Fraction(rng.randrange(1, 40), 8), Fraction(rng.randrange(1, 9), 3)
        total += (moved / sigma) ** 2
        said = c.gdp(str((moved / sigma) ** 2), relation=relation)
        witness = {"sigma": str(sigma), "sensitivity": str(moved)}
        steps.insert(place, c.step("mechanism/gaussian", said, **witness))
    if len(steps) > 1:
        parts = range(len(steps))
        steps.append(c.step("compose/gdp", c.gdp(str(total), relation=relation), *parts))
    made = [c.gauss(str(total))]
    steps.append(c.step("dominate/gdp", c.pairs(made, relation=relation), len(steps) - 1))
    if rng.random() < 0.5:
        count = rng.choice((2, 10, 1000))
        made = [c.gauss(str(total), count)]
        conclusion = c.pairs(made, relation=relation)
        steps.append(c.step("compose/pair", conclusion, len(steps) - 1, count=count))
        total *= count
    if rng.random() < 0.5:
        rate = str(Fraction(rng.randrange(1, 50), 100))
        both = [[c.rare(str(total), rate, removal=one)] for one in (True, False)]
        conclusion = c.pairs(*both, relation=relation)
        steps.append(c.step("subsample/poisson", conclusion, len(steps) - 1, sampling_rate=rate))


def _one_pair(steps: list[Json], rng: random.Random, relation: str) -> None:
    """One mechanism of another kind, made or stated."""
    epsilon = str(Fraction(rng.randrange(1, 60), 10))
    delta = str(Fraction(rng.randrange(1, 9), 1000))
    categories = rng.choice((2, 3, 100))
    witness: Json
    match rng.randrange(5):
        case 0:
            made = [c.laplace(epsilon)]
            witness = {"scale": "1", "sensitivity": epsilon}
            conclusion = c.pairs(made, relation=relation)
            steps.append(c.step("mechanism/laplace", conclusion, **witness))
        case 1:
            made = [c.response(epsilon, categories)]
            conclusion = c.pairs(made, relation=relation)
            witness = {"epsilon": epsilon, "categories": categories}
            steps.append(c.step("mechanism/randomized-response", conclusion, **witness))
        case 2:
            made = [c.response(epsilon)]
            said = c.said("pure-dp", epsilon=epsilon, relation=relation)
            steps.append(c.step("state/pure-dp", said))
            steps.append(c.step("dominate/pure-dp", c.pairs(made, relation=relation), 0))
        case 3:
            made = [c.response(epsilon, infinite=delta)]
            steps.append(c.step("state/approx-dp", c.approx(epsilon, delta, relation=relation)))
            steps.append(c.step("dominate/approx-dp", c.pairs(made, relation=relation), 0))
        case _:
            forward, backward = [_finite(rng)], [_finite(rng)]
            made = forward
            conclusion = c.pairs(forward, backward, relation=relation)
            steps.append(c.step("state/dominating-pair", conclusion))


def _finite(rng: random.Random) -> Json:
    return c.finite(_law(rng), _law(rng))


def _law(rng: random.Random) -> str:
    masses = [rng.randrange(10) for _ in range(5)] + [1]
    return " ".join(str(Fraction(one, sum(masses))) for one in masses)


def _upper(product: list[Json], epsilon: Fraction) -> Fraction:
    iv.prec = 256
    one, t = product[0]["pair"], balls.exp(of(epsilon))
    if one["kind"] == "randomized-response":
        own, infinite = Fraction(one["epsilon"]), Fraction(one["infinite"])
        top = balls.exp(of(own))
        rest = (top - t) / (top + of(Fraction(one["categories"] - 1)))
        told = of(infinite) + of(1 - infinite) * (rest if epsilon < own else of(0))
        return _rational(told)
    if one["kind"] == "finite":
        masses = zip(one["p"], one["q"], strict=True)
        exceeding = (of(Fraction(p)) - t * of(Fraction(q)) for p, q in masses)
        return _rational(sum((balls.largest(x, of(0)) for x in exceeding), of(0)))
    return _rational(profile(read_product(product), epsilon))


def _rational(value: Any) -> Fraction:  # noqa: ANN401  # an interval
    mp.prec = 256
    man, exponent = mp.mpf(value.b).man_exp
    return max(Fraction(int(man)) * Fraction(2) ** int(exponent), Fraction(1, 2**120))


def _attack(
    steps: list[Json], rng: random.Random, epsilon: Fraction, delta: Fraction, relation: str
) -> None:
    """Perhaps say what an attacker reaches."""
    iv.prec = 256
    t = iv.exp(iv.mpf(epsilon.numerator) / epsilon.denominator)
    low = iv.mpf(delta.numerator) / delta.denominator
    match rng.randrange(3):
        case 0:
            best = low + (1 - low) * (1 - 2 / (t + 1))
            stated = str(min(_rational(best) * _margin(rng), Fraction(1)))
            conclusion = c.said("advantage", advantage=stated, relation=relation)
            steps.append(c.step("convert/approx-advantage", conclusion, len(steps) - 1))
        case 1:
            rate = Fraction(rng.randrange(1, 20), 40)
            a = iv.mpf(rate.numerator) / rate.denominator
            best = min(_rational(t * a + low), _rational(1 - (1 - a - low) / t), Fraction(1))
            stated = str(min(best * _margin(rng), Fraction(1)))
            rates: Json = {"false_positive_rate": str(rate), "true_positive_rate": stated}
            conclusion = c.said("true-positive-rate", relation=relation, **rates)
            rule = "convert/approx-true-positive-rate"
            steps.append(c.step(rule, conclusion, len(steps) - 1))
