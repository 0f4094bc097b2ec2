"""Version 3 at length, written from docs/CERTIFICATE.md alone: what follows is put in again."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

from tests.proofs.second.statements import rational
from tests.proofs.second.text import Refusal, canonical

Said = dict[str, Any]
ENDS: Final = ("relation", "steps")


class Unfound(Exception):  # no error: it is left out
    """A conclusion does not follow by one of the rules of the table."""


def at_length(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document of version 1 with the same steps."""
    said: list[Any] = []
    steps: list[Any] = []
    for place, short in enumerate(document["steps"]):
        steps.append(_step(short, place, said, document.get("claim")))
        said.append(steps[-1].get("conclusion") if isinstance(steps[-1], dict) else None)
    return {**document, "version": 1, "steps": steps}


def _step(short: Any, place: int, said: list[Any], claim: Any) -> Any:  # noqa: ANN401  # JSON
    if not isinstance(short, dict):
        return short
    step = {"premises": [place - 1], "witness": {}, **short}
    try:
        if "conclusion" in step and "product" not in step["conclusion"]:
            both = {"backward": step["conclusion"]["forward"], **step["conclusion"]}
            return {**step, "conclusion": both}
        if "conclusion" in step:
            cited = _cited(step["conclusion"]["product"], said)
            return {**step, "conclusion": {**step["conclusion"], "product": cited}}
        premises = [said[one] for one in step["premises"]]
        return {**step, "conclusion": FOLLOWS[step["rule"]](premises, step["witness"], claim)}
    except (Unfound, Refusal, KeyError, IndexError, TypeError, AttributeError, ValueError):
        return step
    except ZeroDivisionError:
        return step


def _cited(product: Said, said: list[Any]) -> Any:  # noqa: ANN401  # JSON
    if set(product) != {"step", "way"} or type(product["step"]) is not int:
        raise Unfound
    if product["step"] < 0 or product["way"] not in ("forward", "backward"):
        raise Unfound
    return said[product["step"]][product["way"]]


def _gaussian(premises: list[Said], witness: Said, claim: Said) -> Said:
    if premises:
        raise Unfound
    mu = rational(witness["sensitivity"]) / rational(witness["sigma"])
    return {"notion": "gdp", "mu_squared": str(mu * mu), **{end: claim[end] for end in ENDS}}


def _alone(premises: list[Said]) -> Said:
    if len(premises) != 1:
        raise Unfound
    return premises[0]


def _both(about: Said, way: Callable[[str], list[Said]]) -> Said:
    ends = {end: about[end] for end in ENDS}
    both = {"forward": way("forward"), "backward": way("backward")}
    return {"notion": "dominating-pair", **both, **ends}


def _dominated(premises: list[Said], _: Said, __: Said) -> Said:
    one = _alone(premises)
    mu = one["mu_squared"]
    made = [] if mu == "0" else [{"count": 1, "pair": {"kind": "gaussian", "mu_squared": mu}}]
    return _both(one, lambda _: made)


def _sampled(premises: list[Said], witness: Said, _: Said) -> Said:
    one = _alone(premises)

    def way(name: str) -> list[Said]:
        if not 1 <= len(one[name]) <= 100:
            raise Unfound
        total = Fraction(0)
        for factor in one[name]:
            pair, count = factor["pair"], factor["count"]
            if pair["kind"] != "gaussian" or set(pair) != {"kind", "mu_squared"}:
                raise Unfound
            if type(count) is not int:
                raise Unfound
            total = rational(str(total + count * rational(pair["mu_squared"])))
        shown = {"mu_squared": str(total), "sampling_rate": witness["sampling_rate"]}
        pair = {"kind": "subsampled-gaussian", **shown, "removal": name == "forward"}
        return [{"count": 1, "pair": pair}]

    return _both(one, way)


def _composed(premises: list[Said], witness: Said, _: Said) -> Said:
    times = witness.get("count", 1)

    def way(name: str) -> list[Said]:
        pairs: dict[str, Any] = {}
        counts: dict[str, Any] = {}
        for factor in [one for premise in premises for one in premise[name]]:
            text = canonical(factor["pair"])
            pairs.setdefault(text, factor["pair"])
            counts[text] = counts.get(text, 0) + factor["count"] * times
        return [{"count": counts[text], "pair": pair} for text, pair in pairs.items()]

    return _both(premises[0], way)


FOLLOWS: Final[dict[str, Callable[[list[Said], Said, Said], Said]]] = {
    "mechanism/gaussian": _gaussian,
    "dominate/gdp": _dominated,
    "subsample/poisson": _sampled,
    "compose/pair": _composed,
    "post-process": lambda premises, _, __: {**_alone(premises)},
    "map-records": lambda premises, _, __: {**_alone(premises)},
}
