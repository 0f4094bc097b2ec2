"""Certificates at the edges of docs/CERTIFICATE.md, made by hand, each with what it tries."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

Json = dict[str, Any]
Case = tuple[str, str]
Facts = tuple[tuple[list[Json], *tuple[tuple[str, str], ...]], ...]
RATE: Final = {"sampling_rate": "1/10"}


def text(steps: Sequence[Json], **others: object) -> str:
    """Return the certificate of some steps, whose claim is the last conclusion."""
    head = {"format": "dpproof-certificate", "version": 1, "steps": list(steps)}
    return json.dumps({**head, "claim": steps[-1].get("conclusion"), **others})


def step(rule: str, conclusion: Json, *premises: int, **witness: object) -> Json:
    """Return one step."""
    parts = {"premises": list(premises), "witness": witness, "conclusion": conclusion}
    return {"rule": rule, **parts}


def said(notion: str, relation: str = "add-remove", steps: int = 1, **fields: object) -> Json:
    """Return a statement about a mechanism."""
    return {"notion": notion, "relation": relation, "steps": steps, **fields}


def gdp(mu_squared: str, **fields: Any) -> Json:  # noqa: ANN401
    """Return a statement of Gaussian differential privacy."""
    return said("gdp", mu_squared=mu_squared, **fields)


def approx(epsilon: str, delta: str, **fields: Any) -> Json:  # noqa: ANN401
    """Return a statement of (epsilon, delta)-differential privacy."""
    return said("approx-dp", epsilon=epsilon, delta=delta, **fields)


def pairs(forward: list[Json], backward: list[Json] | None = None, **fields: Any) -> Json:  # noqa: ANN401
    """Return a dominating pair, the same in both directions if the second is left out."""
    other = forward if backward is None else backward
    return said("dominating-pair", forward=forward, backward=other, **fields)


def fact(product: list[Json], *points: tuple[str, str]) -> Json:
    """Return a fact about a product, at one point or at several."""
    if len(points) == 1:
        (epsilon, delta) = points[0]
        return {"notion": "hockey-stick", "product": product, "epsilon": epsilon, "delta": delta}
    return {"notion": "hockey-sticks", "product": product, "points": [list(one) for one in points]}


def times(count: int, kind: str, **fields: object) -> Json:
    """Return a factor of a product."""
    return {"count": count, "pair": {"kind": kind, **fields}}


def gauss(mu_squared: str = "1", count: int = 1) -> Json:
    """Return a Gaussian factor."""
    return times(count, "gaussian", mu_squared=mu_squared)


def laplace(epsilon: str = "1", count: int = 1) -> Json:
    """Return a Laplace factor."""
    return times(count, "laplace", epsilon=epsilon)


def response(epsilon: str = "1", categories: int = 2, infinite: str = "0", count: int = 1) -> Json:
    """Return a factor of randomised response."""
    fields = {"epsilon": epsilon, "categories": categories, "infinite": infinite}
    return times(count, "randomized-response", **fields)


def finite(p: str, q: str, count: int = 1) -> Json:
    """Return a finite factor, its masses parted by blanks."""
    return times(count, "finite", p=p.split(), q=q.split())


def rare(mu_squared: str = "1", rate: str = "1/10", *, removal: bool = True) -> Json:
    """Return a subsampled Gaussian factor."""
    fields = {"mu_squared": mu_squared, "sampling_rate": rate, "removal": removal}
    return times(1, "subsampled-gaussian", **fields)


def cases() -> Iterator[Case]:
    """Return every case with its name."""
    for part in (
        _texts,
        _statements,
        _noises,
        _compositions,
        _followers,
        _samples,
        _claims,
        _facts,
        _extensions,
    ):
        for name, made in part():
            yield f"{part.__name__[1:]}: {name}", made


NOISE: Final = step("mechanism/gaussian", gdp("1/4"), sigma="2", sensitivity="1")


def _texts() -> Iterator[Case]:
    plain = text([NOISE])
    yield "one step", plain
    yield "a byte-order mark", "\ufeff" + plain
    yield "two byte-order marks", "\ufeff\ufeff" + plain
    yield "blanks around", f" \n{plain}\r\n\t"
    yield "something after", plain + "x"
    yield "a key twice", plain.replace('"version": 1', '"version": 1, "version": 1')
    yield "an escaped key twice", plain.replace('"version": 1', '"version": 1, "\\u0076ersion": 1')
    for other in ("1.0", "1e0", "true", "2", "01", '"1"', "NaN", "-1"):
        yield f"version {other}", plain.replace('"version": 1', f'"version": {other}')
    for name, change in _DAMAGES.items():
        document = json.loads(plain)
        change(document)
        yield name, json.dumps(document)
    yield "an integer of 21 digits", plain.replace('"version": 1', f'"version": {"1" * 21}')
    for steps in (10**19, -(10**18), 10**20, -(10**19)):
        length = len(str(steps))
        yield f"{steps} steps, {length} characters", text([_stated(gdp("1", steps=steps))])
    yield "-0 steps", text([_stated(gdp("1", steps=0))]).replace('"steps": 0', '"steps": -0')
    used = text([NOISE, _described(gdp("1/4"))])
    yield "premise -0", used.replace('"premises": [0]', '"premises": [-0]')
    most = plain.ljust(4_000_000)
    yield "a byte-order mark and 4,000,000 characters", "\ufeff" + most
    yield "4,000,001 characters", most + " "
    nested = "[" * 29 + "]" * 29
    yield "33 deep", plain.replace('"sigma": "2"', f'"sigma": "2", "x": {nested}')


def _damage(*path: object, value: object) -> Callable[[Any], None]:
    def change(document: Any) -> None:  # noqa: ANN401
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


_DAMAGES: Final[dict[str, Callable[[Any], None]]] = {
    "another format": _damage("format", value="dpproof"),
    "an unknown field": _damage("x", value=1),
    "no steps": _damage("steps", value=[]),
    "a claim of other steps": _damage("claim", "steps", value=2),
    "a claim of steps true": _damage("claim", "steps", value=True),
    "a step with another field": _damage("steps", 0, "x", value=1),
    "a rule of 61 characters": _damage("steps", 0, "rule", value="x" * 61),
    "a rule that there is not": _damage("steps", 0, "rule", value="mechanism/none"),
    "an empty rule": _damage("steps", 0, "rule", value=""),
    "a rule with a line break": _damage("steps", 0, "rule", value="a\nb"),
    "a witness that is a list": _damage("steps", 0, "witness", value=[]),
    "premises that are text": _damage("steps", 0, "premises", value=""),
    "a premise true": _damage("steps", 0, "premises", value=[True]),
    "a premise that is itself": _damage("steps", 0, "premises", value=[0]),
    "a negative premise": _damage("steps", 0, "premises", value=[-1]),
    "a label": _damage("steps", 0, "label", value="The caf\u00e9's noise"),
    "a label of 200": _damage("steps", 0, "label", value="a" * 200),
    "a label of 201": _damage("steps", 0, "label", value="a" * 201),
    "a label with blanks around": _damage("steps", 0, "label", value=" a "),
    "an empty label": _damage("steps", 0, "label", value=""),
    "a null label": _damage("steps", 0, "label", value=None),
    "a label with a line break": _damage("steps", 0, "label", value="a\nb"),
    "a label with a no-break space": _damage("steps", 0, "label", value="a\u00a0b"),
    "a label that turns the text": _damage("steps", 0, "label", value="a\u202eb"),
}


def _described(conclusion: Json, premise: int = 0) -> Json:
    return step("post-process", conclusion, premise, description="a median")


def _stated(conclusion: Json) -> Json:
    return step("state/" + conclusion["notion"], conclusion)


def _statements() -> Iterator[Case]:
    for value in "0 1 1/2 -1 -0 00 01 +1 0/1 1/1 2/4 1/0 1/-2 -1/2 1. .5 1e3 1_0 / - x".split():  # noqa: SIM905
        yield f"mu^2 = {value}", text([_stated(gdp(value))])
    yield "mu^2 of no characters", text([_stated(gdp(""))])
    yield "mu^2 and a blank", text([_stated(gdp("1 "))])
    yield "mu^2 in Arabic digits", text([_stated(gdp("\u0662"))])
    yield "mu^2 of 1,100 digits", text([_stated(gdp("1" * 1_100))])
    yield "mu^2 of 1,101 digits", text([_stated(gdp("1" * 1_101))])
    yield "mu^2 that is a number", text([_stated(said("gdp", mu_squared=1))])
    for epsilon, delta in (("0", "0"), ("1", "1"), ("1", "2"), ("-1", "0"), ("1", "-1/2")):
        yield f"({epsilon}, {delta})-DP", text([_stated(approx(epsilon, delta))])
    for steps in (2, 10**12, 10**12 + 1, 0, -1, True, "1"):
        yield f"of {steps} steps", text([_stated(gdp("1", steps=steps))])
    for relation in ("replace-one", "zero-out", "replace-label", "swap", "", None):
        yield f"under {relation}", text([_stated(gdp("1", relation=relation))])
    yield "no steps", text([step("state/gdp", {"notion": "gdp", "mu_squared": "1"})])
    yield "another field", text([_stated(gdp("1", x="1"))])
    yield "another notion", text([step("state/gdp", said("pure-dp", epsilon="1"))])
    yield "no such notion", text([_stated(said("concentrated", rho="1"))])
    yield "a stated fact", text([_stated(fact([gauss()], ("1", "1")))])
    yield "a witness", text([step("state/gdp", gdp("1"), x=1)])
    for name, product in _products().items():
        yield name, text([_stated(pairs(product))])
    different = ([gauss("1")], [gauss("2")])
    for relation in ("add-remove", "zero-out", "replace-one", "replace-label"):
        yield f"directions under {relation}", text([_stated(pairs(*different, relation=relation))])
    yield "directions of 2 steps", text([_stated(pairs(*different, steps=2))])
    orders = ([gauss(), laplace()], [laplace(), gauss()])
    yield "orders of 2 steps", text([_stated(pairs(*orders, steps=2))])
    yield "orders", text([_stated(pairs(*orders))])


def _products() -> dict[str, list[Json]]:
    many = " ".join(["1/2000"] * 2_000)
    return {
        "the empty product": [],
        "a pair twice": [gauss(), gauss()],
        "a pair twice, its keys in another order": [
            response(),
            times(1, "randomized-response", infinite="0", categories=2, epsilon="1"),
        ],
        "a Gaussian of mu 0": [gauss("0")],
        "no pair, counted": [gauss(count=0)],
        "10^12 pairs": [gauss(count=10**12)],
        "10^12 + 1 pairs": [gauss(count=10**12 + 1)],
        "one pair, true times": [gauss(count=True)],
        "a response of epsilon 0": [response("0")],
        "a response of one category": [response(categories=1)],
        "a response of 10^12 categories": [response(categories=10**12)],
        "a response of 10^12 + 1 categories": [response(categories=10**12 + 1)],
        "a response that always tells": [response(infinite="1")],
        "one outcome": [finite("1", "1")],
        "no outcome": [finite("", "")],
        "two laws apart": [finite("1 0", "0 1")],
        "an outcome of mass 0": [finite("1 0 0", "0 0 1")],
        "masses of two lengths": [finite("1/2 1/2", "1")],
        "masses of 5/6": [finite("1/2 1/3", "1/2 1/2")],
        "a negative mass": [finite("-1 2", "1/2 1/2")],
        "2,000 outcomes": [finite(many, many)],
        "2,001 outcomes": [finite(many + " 0", many + " 0")],
        "masses with a long common denominator": [finite(_LONG, _LONG)],
        "the same masses, whose sums are short": [finite(_SHORT, _SHORT)],
        "a sampling rate of 1": [rare(rate="1")],
        "a sampling rate of 0": [rare(rate="0")],
        "a flag that is 1": [{"count": 1, "pair": {**rare()["pair"], "removal": 1}}],
        "no such kind": [times(1, "cauchy", scale="1")],
        "a kind that is a number": [{"count": 1, "pair": {"kind": 1}}],
        "a pair with another field": [times(1, "gaussian", mu_squared="1", x="1")],
        "a factor with another field": [{**gauss(), "x": 1}],
    }


def _noises() -> Iterator[Case]:
    for sigma, sensitivity, mu_squared in (
        ("2", "3", "9/4"),
        ("2", "3", "9/5"),
        ("0", "1", "0"),
        ("-2", "1", "1/4"),
        ("2", "0", "0"),
        ("1/3", "1/7", "9/49"),
    ):
        noise = {"sigma": sigma, "sensitivity": sensitivity}
        name = f"{noise}, mu^2 = {mu_squared}"
        yield name, text([step("mechanism/gaussian", gdp(mu_squared), **noise)])
    lap = {"scale": "4", "sensitivity": "1"}
    yield "Laplace", text([step("mechanism/laplace", pairs([laplace("1/4")]), **lap)])
    yield "Laplace, other", text([step("mechanism/laplace", pairs([laplace("1/5")]), **lap)])
    yield "Laplace, twice", text([step("mechanism/laplace", pairs([laplace("1/4", 2)]), **lap)])
    yield "Laplace forward", text([step("mechanism/laplace", pairs([laplace("1/4")], []), **lap)])
    yield "Laplace as a Gaussian", text([step("mechanism/laplace", gdp("1/4"), **lap)])
    witness: Json
    for categories in (2, 3, 10**12, 1, True, "2"):
        witness = {"epsilon": "1", "categories": categories}
        pair = pairs([times(1, "randomized-response", **witness, infinite="0")])
        yield f"{witness}", text([step("mechanism/randomized-response", pair, **witness)])
    told = pairs([response(infinite="1/10")])
    witness = {"epsilon": "1", "categories": 2}
    yield "a response that tells", text([step("mechanism/randomized-response", told, **witness)])
    for witness in ({"sigma": "2"}, {"sigma": 2, "sensitivity": "1"}, {}):
        yield f"{witness}", text([step("mechanism/gaussian", gdp("1/4"), **witness)])
    more = {"sigma": "2", "sensitivity": "1", "x": "1"}
    yield "an unknown parameter", text([step("mechanism/gaussian", gdp("1/4"), **more)])
    yield "a premise", text([NOISE, {**NOISE, "premises": [0]}])
    for relation in ("replace-one", "zero-out", "replace-label"):
        conclusion = gdp("1/4", relation=relation)
        yield relation, text([{**NOISE, "conclusion": conclusion}])
    yield "2 steps", text([{**NOISE, "conclusion": gdp("1/4", steps=2)}])


def _compositions() -> Iterator[Case]:
    one, other = _stated(gdp("1")), _stated(gdp("1/2"))
    for rule in ("compose/gdp", "repeat/gdp"):
        yield f"{rule} of two", text([one, other, step(rule, gdp("3/2"), 0, 1)])
        yield f"{rule} of three", text([one, step(rule, gdp("3"), 0, count=3)])
    for rule in ("repeat/none", "repeat"):
        yield rule, text([one, step(rule, gdp("3"), 0, count=3)])
    yield "one premise twice", text([one, step("compose/gdp", gdp("2"), 0, 0)])
    yield "a larger sum", text([one, other, step("compose/gdp", gdp("2"), 0, 1)])
    yield "one premise", text([one, step("compose/gdp", gdp("1"), 0)])
    yield "two and a count", text([one, other, step("compose/gdp", gdp("3"), 0, 1, count=2)])
    for count in (1, 0, -2, 10**12 + 1, True, "2", None):
        yield f"count {count!r}", text([one, step("compose/gdp", gdp("2"), 0, count=count)])
    yield "10^12 times", text([one, step("compose/gdp", gdp("1" + "0" * 12), 0, count=10**12)])
    yield "falling premises", text([one, other, step("compose/gdp", gdp("3/2"), 1, 0)])
    yield "an unused step", text([one, other, step("compose/gdp", gdp("1"), 1, 1)])
    zero = _stated(gdp("1/2", relation="zero-out"))
    yield "two relations", text([one, zero, step("compose/gdp", gdp("3/2"), 0, 1)])
    conclusion = gdp("3/2", relation="zero-out")
    yield "another relation", text([one, other, step("compose/gdp", conclusion, 0, 1)])
    far = _stated(gdp("1/2", steps=2))
    yield "two distances", text([one, far, step("compose/gdp", gdp("3/2"), 0, 1)])
    yield "two steps", text([far, step("compose/gdp", gdp("1", steps=2), 0, count=2)])
    pure = _stated(said("pure-dp", epsilon="1"))
    yield "two notions", text([one, pure, step("compose/gdp", gdp("2"), 0, 1)])
    g, other = _stated(pairs([gauss()])), _stated(pairs([laplace()]))
    yield "pairs", text([g, other, step("compose/pair", pairs([gauss(), laplace()]), 0, 1)])
    yield (
        "pairs, reordered",
        text([g, other, step("compose/pair", pairs([laplace(), gauss()]), 0, 1)]),
    )
    mixed = [_stated(pairs([gauss(), laplace()])), _stated(pairs([laplace(), gauss()]))]
    sums = pairs([gauss(count=2), laplace(count=2)])
    yield "equal pairs counted", text([*mixed, step("compose/pair", sums, 0, 1)])
    each = [_stated(pairs([gauss()], [laplace()])), _stated(pairs([laplace()], [gauss()]))]
    ordered = pairs([gauss(), laplace()], [laplace(), gauss()])
    yield "each direction in its order", text([*each, step("compose/pair", ordered, 0, 1)])
    crossed = pairs([gauss(), laplace()], [gauss(), laplace()])
    yield "directions in one order", text([*each, step("compose/pair", crossed, 0, 1)])
    seven = step("compose/pair", pairs([]), 0, count=7)
    yield "nothing seven times", text([_stated(pairs([])), seven])
    full = _stated(pairs([gauss(count=10**12)]))
    again = pairs([gauss(count=10**12)])
    yield "too many pairs", text([full, step("compose/pair", again, 0, count=2)])


def _followers() -> Iterator[Case]:
    for name, (premise, product) in _dominations().items():
        conclusion = pairs(product, relation=premise["relation"], steps=premise["steps"])
        rule = "dominate/" + premise["notion"]
        yield f"dominate {name}", text([_stated(premise), step(rule, conclusion, 0)])
    yield (
        "dominate: unequal directions",
        text([_stated(gdp("1")), step("dominate/gdp", pairs([gauss()], [gauss("2")]), 0)]),
    )
    yield (
        "dominate: two premises",
        text([_stated(gdp("1")), step("dominate/gdp", pairs([gauss()]), 0, 0)]),
    )
    yield "dominate: no premise", text([step("dominate/gdp", pairs([gauss()]))])
    yield (
        "dominate: a witness",
        text([_stated(gdp("1")), step("dominate/gdp", pairs([gauss()]), 0, x=1)]),
    )
    for length in (0, 1, 300, 301):
        premise, description = _stated(gdp("1")), "a" * length
        made = step("post-process", gdp("1"), 0, description=description)
        yield f"a description of {length}", text([premise, made])
    for other in (" x", "x ", "a\nb", "caf\u00e9", "a\u00a0b", 5, None):
        made = step("map-records", gdp("1"), 0, description=other)
        yield f"the description {other!r}", text([_stated(gdp("1")), made])
    yield "no description", text([_stated(gdp("1")), step("post-process", gdp("1"), 0)])
    yield "more than the premise", text([_stated(gdp("1")), _described(gdp("2"))])
    yield (
        "a fact processed",
        text([step("hockey-stick/closed", fact([], ("0", "0"))), _described(fact([], ("0", "0")))]),
    )


def _dominations() -> dict[str, tuple[Json, list[Json]]]:
    told = [finite("1/10 9/10 0", "0 9/10 1/10")]
    return {
        "mu^2 = 1": (gdp("1"), [gauss()]),
        "mu^2 = 0": (gdp("0"), []),
        "mu^2 = 1 as two": (gdp("1"), [gauss("1/2", 2)]),
        "pure": (said("pure-dp", epsilon="1"), [response()]),
        "pure of 0": (said("pure-dp", epsilon="0"), []),
        "pure by Laplace": (said("pure-dp", epsilon="1"), [laplace()]),
        "pure by three categories": (said("pure-dp", epsilon="1"), [response(categories=3)]),
        "approximate": (approx("1", "1/10"), [response(infinite="1/10")]),
        "approximate, delta 0": (approx("1", "0"), [response()]),
        "approximate, epsilon 0": (approx("0", "1/10"), told),
        "approximate, epsilon 0, other order": (
            approx("0", "1/10"),
            [finite("0 9/10 1/10", "1/10 9/10 0")],
        ),
        "approximate, delta 1": (approx("1", "1"), [finite("1 0 0", "0 0 1")]),
        "approximate, delta 1, two outcomes": (approx("1", "1"), [finite("1 0", "0 1")]),
        "approximate, both 0": (approx("0", "0"), []),
        "approximate, 0 and 1": (approx("0", "1"), [finite("1 0 0", "0 0 1")]),
        "replaced": (gdp("1", relation="replace-one"), [gauss()]),
        "two steps": (gdp("1", steps=2), [gauss()]),
    }


def _samples() -> Iterator[Case]:
    both = [rare()], [rare(removal=False)]
    for name, (product, other, made) in {
        "one": ([gauss()], None, both),
        "several": ([gauss(count=3), gauss("2")], None, _rare("5", "5")),
        "several, one of them": ([gauss(count=3), gauss("2")], None, _rare("3", "3")),
        "directions exchanged": ([gauss()], None, both[::-1]),
        "two directions": ([gauss()], [gauss("2")], _rare("1", "2")),
        "two directions exchanged": ([gauss()], [gauss("2")], _rare("2", "1")),
        "nothing": ([], None, ([], [])),
        "not sampled": ([gauss()], None, ([gauss()], [gauss()])),
    }.items():
        base = _stated(pairs(product, other))
        yield name, text([base, step("subsample/poisson", pairs(*made), 0, **RATE)])
    base = _stated(pairs([gauss()]))
    for rate in ("1", "0", "1/11", "-1/10"):
        sampled = step("subsample/poisson", pairs(*both), 0, sampling_rate=rate)
        yield f"rate {rate}", text([base, sampled])
    for relation in ("zero-out", "replace-one", "replace-label"):
        under = _stated(pairs([gauss()], relation=relation))
        conclusion = pairs(*both, relation=relation)
        yield relation, text([under, step("subsample/poisson", conclusion, 0, **RATE)])
        conclusion = pairs([rare()], relation=relation)
        yield f"{relation}, equal", text([under, step("subsample/poisson", conclusion, 0, **RATE)])
    stated = _stated(gdp("1"))
    yield "of mu^2", text([stated, step("subsample/poisson", pairs(*both), 0, **RATE)])


def _rare(first: str, second: str) -> tuple[list[Json], list[Json]]:
    return [rare(first)], [rare(second, removal=False)]


def _claims() -> Iterator[Case]:
    g, other = [gauss()], [laplace()]
    near, point = ("1", "1/2"), approx("1", "1/2")
    for name, (forward, backward, facts, claim) in {
        "one direction": (g, None, [fact(g, near)], point),
        "a fact twice": (g, None, [fact(g, near)] * 2, point),
        "no fact": (g, None, [], point),
        "a larger delta": (g, None, [fact(g, near)], approx("1", "3/4")),
        "a larger epsilon": (g, None, [fact(g, near)], approx("2", "1/2")),
        "two directions": (g, other, [fact(g, near), fact(other, near)], point),
        "two directions exchanged": (g, other, [fact(other, near), fact(g, near)], point),
        "one of two directions": (g, other, [fact(g, near)], point),
        "a fact of two points": (g, None, [fact(g, near, ("2", "1/2"))], point),
        "a fact about something else": (g, None, [fact(other, near)], point),
        "nothing": ([], None, [fact([], ("0", "0"))], approx("0", "0")),
    }.items():
        steps = [step("hockey-stick/closed", one) for one in facts]
        made = step("convert/pair-approx", claim, *range(len(facts) + 1))
        yield name, text([_stated(pairs(forward, backward)), *steps, made])
    shown = step("hockey-stick/closed", fact(g, near))
    stated, claim = _stated(pairs(g)), step("convert/pair-approx", point, 0, 1)
    listed = {"notion": "hockey-sticks", "product": g, "points": [near]}
    yield "the fact first", text([shown, stated, claim])
    yield ("a fact of one listed point", text([stated, step("hockey-stick/closed", listed), claim]))
    yield "two pairs", text([stated, stated, shown, step("convert/pair-approx", point, 0, 1, 2)])
    yield "a fact with a label", text([stated, {**shown, "label": "noise"}, claim])
    yield "a claim with a label", text([stated, shown, {**claim, "label": "noise"}])
    far = _stated(pairs(g, steps=2))
    conclusion = approx("1", "1/2", steps=2)
    yield "two steps", text([far, shown, step("convert/pair-approx", conclusion, 0, 1)])
    yield "two distances", text([far, shown, claim])
    for (epsilon, delta), (a, b) in _RATES:
        conclusion = said("true-positive-rate", false_positive_rate=a, true_positive_rate=b)
        made = step("convert/approx-true-positive-rate", conclusion, 0)
        name = f"({epsilon}, {delta})-DP: true positives {b} at {a}"
        yield name, text([_stated(approx(epsilon, delta)), made])
    for (epsilon, delta), largest in _ADVANTAGES:
        made = step("convert/approx-advantage", said("advantage", advantage=largest), 0)
        name = f"({epsilon}, {delta})-DP: an advantage of {largest}"
        yield name, text([_stated(approx(epsilon, delta)), made])


_RATES: Final = (
    (("1", "0"), ("1/10", "1")),
    (("1", "0"), ("1/10", "2719/10000")),
    (("1", "0"), ("1/10", "2717/10000")),
    (("1", "0"), ("0", "0")),
    (("1", "0"), ("1", "1")),
    (("1", "0"), ("1", "99/100")),
    (("1", "0"), ("1/10", "2")),
    (("0", "1/8"), ("1/4", "3/8")),
    (("0", "1/8"), ("1/4", "1/4")),
    (("5", "0"), ("1/2", "997/1000")),
    (("5", "0"), ("1/2", "199/200")),
    (("1", "1/8"), ("0", "1/8")),
    (("1", "1/8"), ("0", "1/9")),
    (("1", "1/2"), ("3/4", "99/100")),
    (("1000", "0"), ("1/2", "99/100")),
    (("0", "1/3"), ("1/3", "2/3")),
    (("0", "1/3"), ("1/3", "133/200")),
    (("1/3", "1/3"), ("0", "1/3")),
    (("1/3", "1/3"), ("2/3", "1")),
    (("1" + "0" * 300, "1/3"), ("1/3", "1")),
)
_ADVANTAGES: Final = (
    (("1", "0"), "1"),
    (("1", "0"), "2311/5000"),
    (("1", "0"), "4621/10000"),
    (("0", "1/8"), "1/8"),
    (("0", "1/8"), "1/9"),
    (("0", "0"), "0"),
    (("500", "0"), "99999/100000"),
    (("1", "1"), "1"),
    (("1", "1/10"), "1/2"),
    (("1", "1/10"), "13/25"),
    (("0", "1/3"), "1/3"),
    (("0", "1/3"), "333/1000"),
    (("1/3", "1"), "1"),
)


def _facts() -> Iterator[Case]:
    for rule, kinds in (("bounded", _BOUNDED), ("closed", _CLOSED)):
        for product, *points in kinds:
            made = step(f"hockey-stick/{rule}", fact(product, *points))
            yield (
                f"{rule} {_named(product)} {points if len(points) < 9 else len(points)}",
                text([made]),
            )
    losses = [laplace(f"{one}/{3**2_082}", 3**25) for one in (1, 2, 4, 5, 7)]
    made = step("hockey-stick/bounded", fact(losses, (f"19/{3**2_057}", "0")))
    yield "bounded: denominators that counts shorten to 2^14 bits", text([made])
    g = [gauss()]
    shown = step("hockey-stick/closed", fact(g, ("0", "1")))
    yield "a premise", text([shown, {**shown, "premises": [0]}])
    yield "a witness", text([step("hockey-stick/closed", fact(g, ("0", "1")), c="1")])
    yield (
        "a relation",
        text([step("hockey-stick/closed", {**fact(g, ("0", "1")), "relation": "add-remove"})]),
    )
    yield "another notion", text([step("hockey-stick/closed", gdp("1"))])


def _named(product: list[Json]) -> str:
    pairs_of = [" ".join(map(str, one["pair"].values())) for one in product]
    return ", ".join(f"{one['count']} {pair}" for one, pair in zip(product, pairs_of, strict=True))


_NEGATIVE: Final = finite("1/2 1/2 0", "0 3/4 1/4")
_POWERS: Final = [n ** int(1_720 / math.log2(n)) for n in (3, 7, 11, 13, 17, 19, 23, 29, 31, 37)]
_PARTS: Final = [(str(Fraction(1, n)), str(Fraction(1, 10) - Fraction(1, n))) for n in _POWERS]
_LONG: Final = " ".join([*(one for one, _ in _PARTS), *(rest for _, rest in _PARTS)])
_SHORT: Final = " ".join(f"{one} {rest}" for one, rest in _PARTS)
_HUGE: Final = "1" + "0" * 300
_THIRDS: Final = finite("1/3 2/3", "2/3 1/3")
_TILTED: Final = finite("3/4 1/4", "1/4 3/4")
_MANY: Final = [(str(one), "1") for one in range(2_001)]
_BOUNDED: Final[Facts] = (
    ([laplace()], ("1", "0")),
    ([laplace()], ("1/2", "0")),
    ([laplace()], ("1/2", "1")),
    ([laplace()], ("1", "0"), ("2", "0")),
    ([laplace()], ("2", "0"), ("1", "0")),
    ([laplace()], ("1", "0"), ("1", "0")),
    ([laplace()], ("-1", "1")),
    ([laplace()], ("1", "2")),
    ([laplace(count=3)], ("3", "0")),
    ([laplace(count=3)], ("29/10", "0")),
    ([gauss()], ("1", "1")),
    ([response(infinite="1/8")], ("1", "1/8")),
    ([response(infinite="1/8")], ("1", "1/9")),
    ([response(infinite="1/8", count=2)], ("2", "15/64")),
    ([response(infinite="1/8", count=2)], ("2", "7/32")),
    ([response(infinite="1/10", count=10**12)], ("1" + "0" * 12, "99/100")),
    ([], ("0", "0")),
    ([rare(rate="1/2")], ("9", "0")),
    ([rare(rate="1/2", removal=False)], ("7/10", "0")),
    ([rare(rate="1/2", removal=False)], ("69/100", "0")),
    ([finite("1 0", "0 1")], ("0", "1")),
    ([finite("1 0", "0 1")], ("0", "1/2")),
    ([_NEGATIVE], ("0", "1/2")),
    ([_NEGATIVE, laplace()], ("3/5", "1/2")),
    ([_NEGATIVE, laplace()], ("59/100", "1/2")),
    ([_TILTED], ("11/10", "0")),
    ([_TILTED], ("1", "0")),
    ([laplace("1/10")], ("1/10", "0")),
    ([laplace("1/10"), response("1/3", 3, "1/7", 2)], ("23/30", "13/49")),
    ([laplace("1/10"), response("1/3", 3, "1/7", 2)], ("23/30", "13/50")),
    ([response("1/3", infinite="1/3")], (_HUGE, "1/3")),
    ([response(count=10**12), response("1/3", infinite="1/7")], (_HUGE, "1/7")),
    ([laplace("5"), gauss()], ("1", "1")),
    ([laplace("5"), gauss()], ("6", "1")),
)
_CLOSED: Final[Facts] = (
    ([gauss()], ("0", "383/1000")),
    ([gauss()], ("0", "3829/10000")),
    ([gauss(), gauss("2")], ("0", "3068/5000")),
    ([gauss(), gauss("2")], ("0", "307/500")),
    ([gauss(count=10**12)], ("0", "99/100")),
    ([gauss()], ("1000", "1/1" + "0" * 500)),
    ([gauss()], ("40", "1/1" + "0" * 400)),
    ([gauss()], ("100", "0")),
    ([gauss()], ("0", "383/1000"), ("1", "1/5"), ("2", "1/20")),
    ([gauss()], ("0", "383/1000"), ("1", "1/5"), ("2", "1/1000")),
    ([gauss()], *_MANY[:2_000]),
    ([gauss()], *_MANY),
    ([gauss("1/1000000")], ("0", "399/1000000")),
    ([gauss("1/1000000")], ("0", "199/500000")),
    ([laplace()], ("1/2", "2213/10000")),
    ([laplace()], ("1/2", "2211/10000")),
    ([laplace()], ("1", "0")),
    ([laplace()], ("2", "0")),
    ([response()], ("1", "0")),
    ([response("3", 5)], ("1", "18/25")),
    ([response("3", 5)], ("1", "7/10")),
    ([response(infinite="1/8")], ("2", "1/8")),
    ([response(infinite="1/8")], ("2", "1/9")),
    ([_TILTED], ("0", "1/2")),
    ([_TILTED], ("1/2", "17/50")),
    ([_TILTED], ("1/2", "1/3")),
    ([_TILTED], ("2", "0")),
    ([rare()], ("0", "383/10000")),
    ([rare()], ("0", "3829/100000")),
    ([rare()], ("1", "1/500")),
    ([rare(removal=False)], ("0", "383/10000")),
    ([rare(removal=False)], ("1", "0")),
    ([rare(removal=False)], ("1/20", "1/50")),
    ([rare(removal=False)], ("1/20", "1/100")),
    ([], ("5", "0")),
    ([laplace("1/10")], ("1/10", "0")),
    ([laplace("1/10")], (_HUGE, "0")),
    ([response("1/3", 3, "1/7")], ("1/3", "1/7")),
    ([response("1/3", 3, "1/7")], (_HUGE, "1/8")),
    ([_THIRDS], ("0", "1/3")),
    ([_THIRDS], ("0", "333/1000")),
    ([_THIRDS], (_HUGE, "0")),
    ([_NEGATIVE], (_HUGE, "1/2")),
    ([rare()], (_HUGE, "1/1" + "0" * 300)),
    ([rare(removal=False)], (_HUGE, "0")),
    ([gauss()], (_HUGE, "1/1" + "0" * 300)),
)


def _extensions() -> Iterator[Case]:
    """Domains and cases that only an extension reads: the core accepts these, or leaves them."""
    for name, points in _TRADE_OFFS.items():
        listed = [one.split(",") for one in points.split()]
        yield f"a trade-off {name}", text([_stated(said("trade-off", points=listed))])
    nothing = _sampled([])
    for name, base in (("nothing", nothing), ("a sample of nothing", _sampled(nothing))):
        yield f"a sample of {name}", text([_stated(pairs(base))])
    for name, (first, second), point in (
        ("2:3", (response("2", count=60), response("3", count=60)), ("200", "2499/2500")),
        ("2:3", (response("2", count=60), response("3", count=60)), ("200", "999/1000")),
        ("1/63 and 4,000 losses", (response(count=60), response("1/63", count=219)), ("0", "1")),
        ("1/63 and 4,001 losses", (response(count=60), response("1/63", count=220)), ("0", "1")),
    ):
        made = step("hockey-stick/closed", fact([first, second], point))
        yield f"spans of {name} {point}", text([made])


def _sampled(base: list[Json]) -> list[Json]:
    return [times(1, "sampled", base=base, sampling_rate="1/2", direction="removal")]


_TRADE_OFFS: Final = {
    "of one point": "0,0",
    "of one other point": "0,1/2",
    "of equal slopes": "0,1 1/2,1/2 1,0",
    "whose end is flat": "0,1/2 1/2,0 1,0",
    "that is flat elsewhere": "0,1/2 1/4,1/2 1/2,0",
    "whose slopes decrease": "0,1/2 1/4,3/8 1/2,0",
    "that rises": "0,0 1/2,1/4 3/4,0",
    "from a type I above 0": "1/4,1/2 1/2,0",
    "to a type II above 0": "0,1/2 1/2,1/4",
    "above 1 - type I": "0,1 1/2,3/4 1,0",
    "beyond a type I of 1": "0,1 3/2,0",
}
