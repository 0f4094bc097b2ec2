"""Write certificates short, and at length again: version 3 leaves out what follows.

Nothing here is trusted: what is checked is the text at length, of version 1, every step of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final, TypeAlias, final

from dpproof.proofs.core.certificate import FORMAT, Step, read_rational
from dpproof.proofs.core.errors import CertificateError
from dpproof.proofs.core.limits import MAX_CHARACTERS

SHORT: Final = 3
_FACTORS: Final = MAX_CHARACTERS // 32  # that are merged; as many pairs are longer than a text
_SUMMED: Final = 100  # squares of one sample
_WAYS: Final = ("forward", "backward")

Object: TypeAlias = dict[str, Any]


def expanded(text: str) -> str:
    """Return the text at length of one of version 3, any other text as it is.

    Raises:
        CertificateError: it is longer than a text may be.
    """
    if type(text).__name__ != "str" or len(text) > MAX_CHARACTERS + 1:
        return text
    try:
        document = json.loads(text.removeprefix("\ufeff"), object_pairs_hook=_unique)
        return _expanded(document) if _is_short(document) else text
    except (ValueError, RecursionError):
        return text  # the reader says what is wrong


def _is_short(document: object) -> bool:
    """Tell whether a document is of version 3, with a list of steps."""
    if not isinstance(document, dict) or type(document.get("version")) is not int:
        return False
    return document["version"] == SHORT and isinstance(document.get("steps"), list)


def _expanded(document: Object) -> str:
    known, lines, length = _Known(document.get("claim")), list[str](), 0
    for short in document.pop("steps"):
        step = known.at_length(short)
        known.listed.append(step.get("conclusion") if isinstance(step, dict) else None)
        lines.append(_compact(step))
        length += len(lines[-1])
        if length > MAX_CHARACTERS:
            raise CertificateError(f"longer than {MAX_CHARACTERS} characters at length")
    return f'{_compact({**document, "version": 1})[:-1]},"steps":[{",".join(lines)}]}}'


def abbreviated(steps: Sequence[Step]) -> str:
    """Return the text of version 3: of every step what ``expanded`` does not find by itself."""
    known, products, lines = _Known(steps[-1].conclusion), dict[str, Object](), list[str]()
    for place, step in enumerate(steps):
        short: Object = {"rule": step.rule}
        if step.premises != (place - 1,):
            short["premises"] = list(step.premises)
        if step.witness:
            short["witness"] = step.witness
        stated: Object = dict(step.conclusion)
        if _canonical(known.at_length(short).get("conclusion")) != _canonical(stated):
            cited = products.get(_canonical(stated.get("product")))
            short["conclusion"] = {**stated, "product": cited} if cited else _one_way(stated)
        lines.append(_compact({**short, **({"label": step.label} if step.label else {})}))
        known.listed.append(stated)
        for way in _WAYS:
            if stated.get(way):
                products.setdefault(_canonical(stated[way]), {"step": place, "way": way})
    head = f'"format":"{FORMAT}",\n"version":{SHORT},\n"claim":{_compact(known.claim)}'
    return f'{{{head},\n"steps":[\n' + ",\n".join(lines) + "\n]}\n"


@final
class _Known:
    """The claim and the conclusions so far, as JSON; any of them may be nonsense."""

    def __init__(self, claim: Any) -> None:  # noqa: ANN401  # JSON
        self.claim = claim
        self.listed: list[Any] = []
        self._left = _FACTORS

    def at_length(self, short: Any) -> Any:  # noqa: ANN401  # JSON
        """Return the next step with what was left out of it, as far as that follows."""
        if not isinstance(short, dict):
            return short
        step = {"premises": [len(self.listed) - 1], "witness": {}, **short}
        try:
            if "conclusion" not in step:
                said = self._conclusion(step["rule"], step["premises"], step["witness"])
            elif "product" in step["conclusion"]:
                said = {**step["conclusion"], "product": self._cited(step["conclusion"]["product"])}
            else:
                said = {**step["conclusion"]}
                said.setdefault("backward", said["forward"])
        except (AttributeError, CertificateError, LookupError, TypeError, ValueError):
            return step
        except ZeroDivisionError:
            return step
        return {**step, "conclusion": said}

    def _cited(self, product: Object) -> object:
        """Return the product of an earlier step that is named by its place and direction."""
        place, way = product["step"], product["way"]
        if type(place) is not int or place < 0 or way not in _WAYS or len(product) > len(_WAYS):
            raise CertificateError("no product of an earlier step")
        return self.listed[place][way]

    def _conclusion(self, rule: str, places: Sequence[int], witness: Object) -> Object:
        """Return what a step concludes by its rule."""
        premises = [self.listed[place] for place in places]
        if rule == "mechanism/gaussian" and not premises:
            ratio = read_rational(witness["sensitivity"]) / read_rational(witness["sigma"])
            return _about(self.claim, {"notion": "gdp", "mu_squared": str(ratio**2)})
        if rule == "compose/pair":
            count = witness.get("count", 1)
            return _pairs(premises[0], *(self._merged(premises, way, count) for way in _WAYS))
        (one,) = premises
        if rule == "dominate/gdp":
            pair = {"kind": "gaussian", "mu_squared": one["mu_squared"]}
            way = [] if one["mu_squared"] == "0" else [{"count": 1, "pair": pair}]
            return _pairs(one, way, way)
        if rule == "subsample/poisson":
            return _pairs(one, *(_sampled(one[way], witness, way) for way in _WAYS))
        if rule in {"post-process", "map-records"}:
            return {**one}
        raise CertificateError("what follows by other rules is not found")

    def _merged(self, premises: Sequence[Object], way: str, count: int) -> list[Object]:
        """Return the product of products: pairs in order of appearance, their counts added up."""
        self._left -= sum(len(one[way]) for one in premises)
        if self._left < 0:
            raise CertificateError("too many factors")
        counts: dict[str, Object] = {}
        for factor in (factor for one in premises for factor in one[way]):
            empty = {"count": 0, "pair": factor["pair"]}
            counts.setdefault(_canonical(factor["pair"]), empty)["count"] += factor["count"] * count
        return list(counts.values())


def _one_way(stated: Object) -> Object:
    """Return a conclusion without its backward product if that is the forward one."""
    both = [_canonical(stated.get(way)) for way in _WAYS]
    alike = "forward" in stated and both[0] == both[1]
    return {key: one for key, one in stated.items() if not (alike and key == "backward")}


def _about(one: Mapping[str, Any], claim: Object) -> Object:
    """Return a claim about the datasets of another."""
    return {**claim, "relation": one["relation"], "steps": one["steps"]}


def _pairs(one: Object, forward: list[Object], backward: list[Object]) -> Object:
    """Return a dominating pair about the datasets of a premise."""
    return _about(one, {"notion": "dominating-pair", "forward": forward, "backward": backward})


def _sampled(product: Sequence[Object], witness: Object, way: str) -> list[Object]:
    """Return the sample of a product of Gaussian pairs."""
    if not 0 < len(product) <= _SUMMED:
        raise CertificateError("no pair, or too many")
    total = Fraction(0)
    for factor in product:
        pair = factor["pair"]
        if pair["kind"] != "gaussian" or len(pair) > 2 or type(factor["count"]) is not int:
            raise CertificateError("a sample of other pairs")
        total = read_rational(str(total + factor["count"] * read_rational(pair["mu_squared"])))
    rate = {"sampling_rate": witness["sampling_rate"], "removal": way == "forward"}
    return [{"count": 1, "pair": {"kind": "subsampled-gaussian", "mu_squared": str(total), **rate}}]


def _unique(pairs: list[tuple[str, Any]]) -> Object:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("an object has the same key twice")
    return made


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True)
