"""Certificates of lower ends: verified, at most the truth, and refused once raised above it."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

from dpproof import proofs
from dpproof.proofs.certificate import Certificate
from tests.hunt.case import Case
from tests.hunt.draw import Draw, text
from tests.hunt.families import formulas
from tests.hunt.families.products import composed
from tests.hunt.families.samples import sampled
from tests.hunt.questions import Pipeline
from tests.hunt.truth import MP, Real, Truth, real

_RAISED = (2, 1 + Fraction(1, 100), 1 + Fraction(1, 10**6))
_TRUTHS: dict[str, Callable[[Truth, dict[str, str]], Real]] = {
    "delta": lambda truth, claim: truth.delta(real(Fraction(claim["epsilon"]))),
    "value": lambda truth, claim: truth.renyi(Fraction(claim["order"])),
    "true_positive_rate": lambda truth, claim: truth.power(Fraction(claim["false_positive_rate"])),
}
"""What each number of a claim is at most."""


def draw(source: Draw) -> Case:
    """A lower end of a composition, of a sample, or of noise whose truth is a formula."""
    kinds = _composed, _sampled, formulas.one, formulas.sample
    pipeline = source.choose(kinds)(source)
    asked = (
        f"delta={text(Fraction(1, 10 ** source.integer(1, 9)))}",
        f"epsilon={text(source.positive())}",
        f"order={text(1 + Fraction(source.integer(1, 32), 8))}",
        f"false_positive_rate={text(source.fraction_below_one())}",
        "advantage=True",
    )
    return _case(f"{pipeline.source}.certify({source.choose(asked)}, lower=True)", pipeline)


def _composed(draw: Draw) -> Pipeline:
    return composed(draw).pipeline()


def _sampled(draw: Draw) -> Pipeline:
    return sampled(draw, extreme=draw.rarely(4)).pipeline()


def _case(source: str, pipeline: Pipeline) -> Case:
    """Claims about pairs that stand above the truth may exceed it: they are only verified."""

    def judge(answer: object) -> str:
        if not isinstance(answer, Certificate):
            return f"no certificate: {answer!r}"
        verdict = proofs.check(answer)
        if isinstance(verdict, proofs.Rejected):
            return f"rejected at step {verdict.step}, {verdict.rule}: {verdict.reason}"
        if not pipeline.attained:
            return ""
        if _is_false(dict(answer.claim), pipeline.truth):  # type: ignore[arg-type]  # texts
            return f"verified, and false: {verdict.claim}"
        return _forged(answer, pipeline.truth)

    return Case(source, judge)


def _is_false(claim: dict[str, str], truth: Truth) -> bool:
    """Whether a claimed number is above the truth, where that is known."""
    name = next(name for name in _TRUTHS if name in claim)
    try:
        most = _TRUTHS[name](truth, claim)
    except NotImplementedError:
        return False
    return bool(real(Fraction(claim[name])) > most + MP.mpf(10) ** -60 * (1 + abs(most)))


def _forged(certificate: Certificate, truth: Truth) -> str:
    """What is wrong if the checker believes the same proof of more."""
    name = next(name for name in _TRUTHS if name in certificate.claim)
    old, written = str(certificate.claim[name]), certificate.to_json()
    if old in {"0", "1"}:
        return ""
    for factor in _RAISED:
        raised = written.replace(f'"{old}"', f'"{Fraction(old) * factor}"')
        if not _is_false(json.loads(raised)["claim"], truth):
            continue
        if not isinstance(proofs.check_text(raised), proofs.Rejected):
            return f"{name} raised to {float(factor):g} of itself is verified, and false"
    return ""
